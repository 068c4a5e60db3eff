// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the queues of an EP: contexts, credits, gate, kdapl's own requests
 *
 * Each direction has one. Contexts are in the order of posting, so the
 * completion of one proves those in front of it done that have none of their own;
 * see queue.h.
 */
#include "queue.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ep.h"
#include "evd.h"
#include "fault.h"
#include "kunit.h"
#include "lmr.h"
#include "trace.h"
#include "upcall.h"

enum {
	/* Completions flushed with interrupts off at a time. */
	QUEUE_FLUSH_BATCH = 64,
};

void kdapl_queue_setup(struct kdapl_queue *queue, struct dat_ep *ep,
		       bool request)
{
	queue->ep = ep;
	queue->request = request;
	queue->gate = KDAPL_QUEUE_CLOSED;
	spin_lock_init(&queue->post_lock);
	if (request) {
		queue->send_one.sg_list = &queue->sge_one;
		queue->send_one.num_sge = 1;
		queue->send_one.opcode = IB_WR_SEND;
		queue->send_one.send_flags = IB_SEND_SIGNALED;
	} else {
		queue->recv_one.sg_list = &queue->sge_one;
		queue->recv_one.num_sge = 1;
	}
}

/**
 * kdapl_queue_init - contexts for a QP
 * @queue: after kdapl_queue_setup(); its gate is closed
 * @evd: where its completions go, a hidden one if the consumer named none
 * @depth: requests of the consumer, may be 0
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int kdapl_queue_init(struct kdapl_queue *queue, struct dat_evd *evd,
		     u32 depth)
{
	u32 extra = queue->request ? KDAPL_QUEUE_EXTRA_SEND :
				     KDAPL_QUEUE_EXTRA_RECV;
	u32 size = roundup_pow_of_two(depth + extra);
	struct kdapl_wr *wr;
	struct ib_sge *sge;
	u32 i;

	might_sleep();

	/* Apart: contexts fill a power of two, and a slab of their own. */
	wr = kvcalloc(size, sizeof(*wr), GFP_KERNEL);
	sge = kcalloc(KDAPL_QUEUE_MAX_SGE, sizeof(*sge), GFP_KERNEL);
	if (!wr || !sge) {
		kvfree(wr);
		kfree(sge);
		return -ENOMEM;
	}
	for (i = 0; i < size; i++) {
		wr[i].queue = queue;
		/* Never posted: it is not the oldest of anything. */
		wr[i].pos = i + 1;
	}

	queue->wr = wr;
	queue->sge = sge;
	queue->mask = size - 1;
	queue->depth = depth;
	queue->evd = evd;
	queue->head = 0;
	queue->tail = 0;
	queue->posted = 0;
	queue->released = 0;
	queue->early = 0;
	queue->suppressed = 0;
	return 0;
}

/* Nothing is outstanding, and the EVD holds no event of the queue any more. */
void kdapl_queue_free(struct kdapl_queue *queue)
{
	kvfree(queue->wr);
	kfree(queue->sge);
	queue->wr = NULL;
	queue->sge = NULL;
	WRITE_ONCE(queue->evd, NULL);
	queue->depth = 0;
}

/*
 * The configuration of the EP changes behind a closed gate, and whoever changes it
 * sets the gate again; so what the short way relies on is settled here.
 */
void kdapl_queue_set_gate_locked(struct kdapl_queue *queue,
				 enum kdapl_queue_gate gate)
{
	const struct dat_ep_attr *attr = &queue->ep->config.attr;
	int iov = queue->request ? min(attr->max_request_iov,
				       attr->max_rdma_write_iov) :
				   attr->max_recv_iov;

	lockdep_assert_held(&queue->post_lock);

	/* Receives go to the SRQ. */
	if (queue->ep->config.srq && !queue->request)
		gate = KDAPL_QUEUE_CLOSED;
	queue->gate = gate;
	queue->limit = gate == KDAPL_QUEUE_OPEN && iov > 0 ? queue->depth : 0;
	queue->window.length = 0;
}

void kdapl_queue_set_gate(struct kdapl_queue *queue, enum kdapl_queue_gate gate)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->post_lock, flags);
	kdapl_queue_set_gate_locked(queue, gate);
	spin_unlock_irqrestore(&queue->post_lock, flags);
}

u32 kdapl_queue_outstanding(const struct kdapl_queue *queue)
{
	u32 tail = READ_ONCE(queue->tail);

	/* Tail first: it never passes a head that is read later. */
	smp_rmb();
	return READ_ONCE(queue->head) - tail;
}

static void queue_flush(struct kdapl_queue *queue, bool all)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };
	/* NULL: the EP is gone, see kdapl_dto_unlock(). */
	struct dat_evd *evd = READ_ONCE(queue->evd);
	struct kdapl_wr *wr;
	unsigned long flags;
	u32 notifying, n, head;
	bool trigger;

	if (!evd)
		return;

	do {
		spin_lock_irqsave(&evd->lock, flags);
		notifying = evd->notifying;
		/* What the provider completed stands in front of it. */
		kdapl_cq_settle_locked(evd);
		/* Pairs with the release in kdapl_queue_publish_locked(). */
		head = smp_load_acquire(&queue->head);
		for (n = 0; n < QUEUE_FLUSH_BATCH && queue->tail != head; n++) {
			wr = &queue->wr[queue->tail & queue->mask];
			if (!all && !(wr->flags & KDAPL_WR_HELD))
				break;
			wc.wr_id = (uintptr_t)wr;
			kdapl_cq_complete_locked(evd, &wc);
		}
		/* Nothing is left of that QP; what follows is another one's. */
		if (all && queue->request && queue->tail == head)
			WRITE_ONCE(queue->ep->req_failed, 0);
		trigger = evd->notifying != notifying;
		spin_unlock_irqrestore(&evd->lock, flags);
		if (trigger)
			kdapl_upcall_trigger(evd);
	} while (n == QUEUE_FLUSH_BATCH);
}

void kdapl_queue_flush(struct kdapl_queue *queue)
{
	queue_flush(queue, true);
}

void kdapl_queue_flush_held(struct kdapl_queue *queue)
{
	queue_flush(queue, false);
}

KDAPL_EXPORT_FOR_TEST(kdapl_queue_flush_held);

/* A context that holds no credit; NULL: all are with the provider. */
static struct kdapl_wr *queue_internal_locked(struct kdapl_queue *queue, u8 op,
					      void *cookie, u16 flags)
{
	struct kdapl_wr *wr;

	if (kdapl_queue_outstanding(queue) > queue->mask)
		return NULL;
	wr = kdapl_queue_next_wr(queue);
	wr->cookie.as_ptr = cookie;
	wr->len = 0;
	wr->op = op;
	wr->flags = KDAPL_WR_INTERNAL | flags;
	kdapl_queue_publish_locked(queue, wr);
	return wr;
}

/* A request that moves nothing. */
static int queue_post_empty_locked(struct kdapl_queue *queue, struct kdapl_wr *wr)
{
	struct ib_rdma_wr send = {
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.wr_id = (uintptr_t)wr,
	};
	struct ib_recv_wr recv = { .wr_id = (uintptr_t)wr };
	int ret;

	ret = kdapl_fault(KDAPL_FAULT_POST);
	if (!ret)
		ret = queue->request ?
		      ib_post_send(queue->ep->qp, &send.wr, NULL) :
		      ib_post_recv(queue->ep->qp, &recv, NULL);
	trace_kdapl_dto_post(queue->ep->obj.id, wr->op, 0, ret);
	if (ret)
		kdapl_queue_retract_locked(queue);
	else if (queue->request)
		queue->suppressed = 0;
	return ret;
}

static int queue_post_marker_locked(struct kdapl_queue *queue, bool settled)
{
	struct kdapl_wr *wr;

	lockdep_assert_held(&queue->post_lock);

	wr = queue_internal_locked(queue, KDAPL_OP_MARKER, NULL,
				   settled ? KDAPL_WR_SETTLED : 0);
	return wr ? queue_post_empty_locked(queue, wr) : -ENOSPC;
}

int kdapl_queue_post_marker_locked(struct kdapl_queue *queue)
{
	return queue_post_marker_locked(queue, false);
}

int kdapl_queue_post_marker(struct kdapl_queue *queue, bool settled)
{
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&queue->post_lock, flags);
	ret = queue_post_marker_locked(queue, settled);
	spin_unlock_irqrestore(&queue->post_lock, flags);
	return ret;
}

KDAPL_EXPORT_FOR_TEST(kdapl_queue_post_marker);

bool kdapl_queue_prove(struct kdapl_queue *queue)
{
	struct kdapl_wr *wr;
	unsigned long flags;
	bool posted = false;

	spin_lock_irqsave(&queue->post_lock, flags);
	if (!queue->suppressed || queue->gate != KDAPL_QUEUE_OPEN ||
	    !kdapl_queue_has_credit(queue, queue->depth))
		goto out_unlock;
	wr = kdapl_queue_next_wr(queue);
	wr->cookie.as_64 = 0;
	wr->len = 0;
	wr->op = KDAPL_OP_PROOF;
	wr->flags = KDAPL_WR_SUPPRESS | KDAPL_WR_SILENT | KDAPL_WR_OWED;
	queue->posted++;
	kdapl_queue_publish_locked(queue, wr);
	posted = !queue_post_empty_locked(queue, wr);
	if (!posted)
		queue->posted--;
out_unlock:
	spin_unlock_irqrestore(&queue->post_lock, flags);
	return posted;
}

int kdapl_queue_post_reg(struct kdapl_queue *queue, struct dat_lmr *lmr, u32 key,
			 int access)
{
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.mr = lmr->mr,
		.key = key,
		.access = access,
	};
	struct kdapl_wr *wr;
	unsigned long flags;
	int ret = -ENOSPC;

	spin_lock_irqsave(&queue->post_lock, flags);
	wr = queue_internal_locked(queue, KDAPL_OP_REG, lmr, 0);
	if (!wr)
		goto out_unlock;

	reg.wr.wr_id = (uintptr_t)wr;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      ib_post_send(queue->ep->qp, &reg.wr, NULL);
	trace_kdapl_dto_post(queue->ep->obj.id, KDAPL_OP_REG, 0, ret);
	if (ret)
		kdapl_queue_retract_locked(queue);
	else
		queue->suppressed = 0;
out_unlock:
	spin_unlock_irqrestore(&queue->post_lock, flags);
	return ret;
}
