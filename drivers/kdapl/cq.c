// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: completions of an EVD's CQ, into events of its ring
 *
 * Whoever polls does so under the EVD lock, so completions enter the ring in the
 * order of the CQ. Only status and wr_id of a failed completion mean anything,
 * and wc->qp may name a QP that is gone: all else comes from the context of the
 * work request, which lives until its EP has seen every one of them.
 */
#include <linux/kernel.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "async.h"
#include "counters.h"
#include "cq.h"
#include "ep.h"
#include "errno.h"
#include "evd.h"
#include "fault.h"
#include "frmr.h"
#include "ia.h"
#include "kunit.h"
#include "lmr.h"
#include "queue.h"
#include "rmr.h"
#include "srq.h"
#include "trace.h"
#include "upcall.h"

static atomic_t cq_next_vector;

/**
 * kdapl_cq_create - make a CQ for an EVD
 * @evd: the EVD, whose comp_vector says where; ~0 spreads over all vectors
 * @min_cqe: completions that must fit
 * @cq: the CQ
 *
 * Context: process; sleeps; inside the IA's gate.
 * Return: 0 or the provider's errno.
 */
int kdapl_cq_create(struct dat_evd *evd, u32 min_cqe, struct ib_cq **cq)
{
	struct dat_ia *ia = evd->obj.ia;
	struct ib_cq_init_attr attr = {
		.cqe = min_t(u32, min_cqe, ia->dev_attr.max_cqe),
	};
	u32 vectors = max_t(u32, ia->ibdev->num_comp_vectors, 1);
	struct ib_cq *new;

	might_sleep();

	if (evd->comp_vector == ~0U)
		attr.comp_vector = (u32)atomic_inc_return(&cq_next_vector) % vectors;
	else
		attr.comp_vector = evd->comp_vector;

	new = ERR_PTR(kdapl_fault(KDAPL_FAULT_CREATE)) ?:
	      ib_create_cq(ia->ibdev, kdapl_upcall_comp_handler,
			   kdapl_async_cq_event, evd, &attr);
	if (IS_ERR(new))
		return PTR_ERR(new);
	*cq = new;
	return 0;
}

/* One event for a request; what a failed completion cannot say, @wr does. */
static void cq_event_locked(struct dat_evd *evd, struct kdapl_queue *queue,
			    const struct kdapl_wr *wr, const struct ib_wc *wc)
{
	struct dat_dto_completion_event_data *dto;
	struct kdapl_slot *slot;
	struct kdapl_post post = {
		.kind = KDAPL_SLOT_DTO,
		.owner = queue,
		.notify = !(wr->flags & KDAPL_WR_UNSIGNALLED),
	};

	slot = kdapl_ring_push_locked(evd, &post, DAT_DTO_COMPLETION_EVENT);
	if (WARN_ON_ONCE(!slot))
		return;

	dto = &slot->data.dto_completion_event_data;
	dto->ep_handle = queue->ep;
	dto->user_cookie = wr->cookie;
	dto->operation = wr->op;
	dto->transfered_length = kdapl_queue_wr_len(wr);
	dto->rmr_context = 0;
	if (likely(wc->status == IB_WC_SUCCESS)) {
		dto->status = DAT_DTO_SUCCESS;
		if (!queue->request) {
			dto->transfered_length = wc->byte_len;
			if (unlikely(wc->wc_flags & KDAPL_WC_RARE))
				kdapl_ext_recv_event_locked(slot, wc);
			kdapl_counters_recv(queue->ep, wc);
		}
	} else {
		dto->status = kdapl_errno_wc(wc->status, wr->op);
		dto->transfered_length = 0;
	}
}

static noinline void cq_ext_event_locked(struct dat_evd *evd,
					 struct kdapl_queue *queue,
					 const struct kdapl_wr *wr,
					 const struct ib_wc *wc)
{
	u32 tail = evd->tail;

	cq_event_locked(evd, queue, wr, wc);
	if (wr->flags & KDAPL_WR_EXT && evd->tail != tail)
		kdapl_ext_request_event_locked(kdapl_evd_slot(evd, tail),
					       wr->op);
}

/* By the flags of the EVD: a bind event, or one of data transfer. */
static void cq_bind_event_locked(struct dat_evd *evd, struct kdapl_queue *queue,
				 const struct kdapl_wr *wr,
				 const struct ib_wc *wc, struct kdapl_obj *owner)
{
	struct dat_rmr_bind_completion_event_data *bind;
	struct kdapl_slot *slot;
	struct kdapl_post post = {
		.kind = KDAPL_SLOT_DTO,
		.owner = queue,
		.notify = !(wr->flags & KDAPL_WR_UNSIGNALLED),
	};

	if (!(evd->flags & DAT_EVD_RMR_BIND_FLAG)) {
		cq_event_locked(evd, queue, wr, wc);
		return;
	}
	slot = kdapl_ring_push_locked(evd, &post,
				      DAT_RMR_BIND_COMPLETION_EVENT);
	if (WARN_ON_ONCE(!slot))
		return;
	bind = &slot->data.rmr_completion_event_data;
	bind->rmr_handle = container_of(owner, struct dat_rmr, obj);
	bind->user_cookie = wr->cookie;
	bind->status = kdapl_errno_wc(wc->status, wr->op);
}

/* The same for one that another completion proves done; 1: a credit is free. */
static noinline u32 cq_reclaim_rare_locked(struct dat_evd *evd,
					   struct kdapl_queue *queue,
					   struct kdapl_wr *wr)
{
	static const struct ib_wc flushed = { .status = IB_WC_WR_FLUSH_ERR };
	struct kdapl_obj *owner = NULL;
	bool held = wr->flags & KDAPL_WR_HELD;

	if (wr->flags & KDAPL_WR_MEM) {
		owner = wr->fr->owner;
		kdapl_frmr_done_locked(wr, held ? IB_WC_WR_FLUSH_ERR :
						  IB_WC_SUCCESS);
	}
	if (!held || wr->flags & KDAPL_WR_SILENT)
		return 1;
	if (wr->flags & KDAPL_WR_BIND)
		cq_bind_event_locked(evd, queue, wr, &flushed, owner);
	else
		cq_ext_event_locked(evd, queue, wr, &flushed);
	return 0;
}

/*
 * What stands in front of a completed request is done too: suppressed, then it
 * has succeeded, or held back from the QP while the peer was closing.
 */
static void cq_reclaim_locked(struct dat_evd *evd, struct kdapl_queue *queue,
			      u32 done)
{
	u32 released = queue->released;
	struct kdapl_wr *wr;

	while (queue->tail != done) {
		wr = &queue->wr[queue->tail & queue->mask];
		if (unlikely(wr->flags & (KDAPL_WR_HELD | KDAPL_WR_MEM)))
			released += cq_reclaim_rare_locked(evd, queue, wr);
		else if (!(wr->flags & KDAPL_WR_INTERNAL))
			released++;
		WRITE_ONCE(queue->tail, queue->tail + 1);
	}
	/* Pairs with the acquire of a poster in search of a credit. */
	smp_store_release(&queue->released, released);
}

/* One without an event gives its credit back by itself. */
static void cq_silent_locked(struct kdapl_queue *queue)
{
	/* Pairs with the acquire of a poster in search of a credit. */
	smp_store_release(&queue->released, queue->released + 1);
}

/*
 * A registration or invalidation that is not a suppressed success. Its MR first:
 * whoever sees the event may use it again.
 */
static void cq_mem_locked(struct dat_evd *evd, struct kdapl_queue *queue,
			  struct kdapl_wr *wr, const struct ib_wc *wc)
{
	struct kdapl_obj *owner = wr->fr->owner;

	kdapl_frmr_done_locked(wr, wc->status);
	if (wr->flags & KDAPL_WR_BIND)
		cq_bind_event_locked(evd, queue, wr, wc, owner);
	else if (wr->flags & KDAPL_WR_SILENT)
		cq_silent_locked(queue);
	else
		cq_event_locked(evd, queue, wr, wc);
	WRITE_ONCE(queue->tail, queue->tail + 1);
}

/* kdapl's own requests, those of the extensions, and those on MRs. */
static noinline void cq_special_locked(struct dat_evd *evd,
				       struct kdapl_queue *queue,
				       struct kdapl_wr *wr,
				       const struct ib_wc *wc)
{
	if (wr->flags & KDAPL_WR_INTERNAL) {
		WRITE_ONCE(queue->tail, queue->tail + 1);
		if (wr->op == KDAPL_OP_REG)
			kdapl_lmr_defer_done_locked(wr, wc->status);
	} else if (wr->flags & KDAPL_WR_SUPPRESS &&
		   wc->status == IB_WC_SUCCESS) {
		cq_reclaim_locked(evd, queue, queue->tail + 1);
	} else if (wr->flags & KDAPL_WR_MEM) {
		cq_mem_locked(evd, queue, wr, wc);
	} else if (wr->flags & KDAPL_WR_SILENT) {
		cq_silent_locked(queue);
		WRITE_ONCE(queue->tail, queue->tail + 1);
	} else {
		cq_ext_event_locked(evd, queue, wr, wc);
		WRITE_ONCE(queue->tail, queue->tail + 1);
	}
}

/* The oldest of @queue, by a completion of its own. */
static __always_inline void cq_one_locked(struct dat_evd *evd,
					  struct kdapl_queue *queue,
					  struct kdapl_wr *wr,
					  const struct ib_wc *wc)
{
	if (unlikely(wr->flags & (KDAPL_WR_INTERNAL | KDAPL_WR_EXT |
				 KDAPL_WR_MEM | KDAPL_WR_SILENT))) {
		cq_special_locked(evd, queue, wr, wc);
	} else if (wr->flags & KDAPL_WR_SUPPRESS &&
		   wc->status == IB_WC_SUCCESS) {
		cq_reclaim_locked(evd, queue, queue->tail + 1);
	} else {
		cq_event_locked(evd, queue, wr, wc);
		WRITE_ONCE(queue->tail, queue->tail + 1);
	}
}

/*
 * Those in front of a flushed request. siw of 6.1 flushes what is posted while its
 * QP is on its way to the error state (the state is set, its lock still held) at once,
 * in front of what is queued. Whoever is owed a completion and has none is among
 * these: nothing more is executed, so all of them are flushed now, in order, and
 * their own completions come too late. Elsewhere nobody is owed anything here.
 */
static noinline void cq_flush_ahead_locked(struct dat_evd *evd,
					   struct kdapl_queue *queue, u32 done)
{
	static const struct ib_wc flushed = { .status = IB_WC_WR_FLUSH_ERR };
	struct kdapl_wr *wr;
	bool owed = false;
	u32 i;

	for (i = queue->tail; i != done && !owed; i++) {
		wr = &queue->wr[i & queue->mask];
		owed = !(wr->flags & KDAPL_WR_HELD) &&
		       (!(wr->flags & KDAPL_WR_SUPPRESS) ||
			wr->flags & KDAPL_WR_OWED);
	}
	if (!owed) {
		cq_reclaim_locked(evd, queue, done);
		return;
	}
	while (queue->tail != done)
		cq_one_locked(evd, queue, &queue->wr[queue->tail & queue->mask],
			      &flushed);
}

/**
 * kdapl_cq_complete_locked - a work request is done with
 * @evd: the EVD of its queue, locked
 * @wc: a polled completion, or one made up for a flush in software: only
 *	wr_id, status and, for successful receives, length and flags are read;
 *	of those from an SRQ also the QP
 */
void kdapl_cq_complete_locked(struct dat_evd *evd, const struct ib_wc *wc)
{
	struct kdapl_wr *wr = (struct kdapl_wr *)(uintptr_t)wc->wr_id;
	struct kdapl_queue *queue = wr->queue;
	struct dat_ep *ep = queue->ep;
	u32 ahead;

	lockdep_assert_held(&evd->lock);

	if (unlikely(wr->flags & KDAPL_WR_SRQ)) {
		kdapl_srq_complete_locked(evd, wr, wc);
		return;
	}
	ahead = ((u32)(wr - queue->wr) - queue->tail) & queue->mask;
	if (unlikely(ahead >= READ_ONCE(queue->head) - queue->tail)) {
		/*
		 * Not posted, or completed before: the provider's fault. But
		 * see cq_flush_ahead_locked() for what is flushed.
		 */
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			kdapl_ring_overflow_locked(evd);
		return;
	}
	if (unlikely(ahead && wc->status == IB_WC_WR_FLUSH_ERR))
		cq_flush_ahead_locked(evd, queue, queue->tail + ahead);
	else if (ahead)
		cq_reclaim_locked(evd, queue, queue->tail + ahead);

	trace_kdapl_dto_complete(ep->obj.id, wr->op, wc->status);

	cq_one_locked(evd, queue, wr, wc);

	if (unlikely(wc->status != IB_WC_SUCCESS))
		kdapl_ep_completion_error(ep, wc->status);
	else if (unlikely(kdapl_ep_closing(ep)))
		kdapl_ep_kick(ep, KDAPL_EP_TODO_PROGRESS);
}

/**
 * kdapl_cq_failed - say that the provider cannot poll
 * @evd: the EVD
 * @err: what ib_poll_cq() answered
 *
 * Return: 0, the number of completions.
 */
u32 kdapl_cq_failed(struct dat_evd *evd, int err)
{
	pr_err_ratelimited("%s: evd %u: ib_poll_cq failed: %d\n",
			   evd->obj.ia->name, evd->obj.id, err);
	return 0;
}

/**
 * kdapl_cq_settle_locked - move what was fetched into the ring
 * @evd: the EVD, locked
 *
 * Return: the number of completions, whether they made events or not.
 */
u32 kdapl_cq_settle_locked(struct dat_evd *evd)
{
	u32 n;

	lockdep_assert_held(&evd->lock);

	for (n = 0; evd->wc_left; n++) {
		evd->wc_left--;
		kdapl_cq_complete_locked(evd, evd->wc_next++);
	}
	return n;
}

/**
 * kdapl_cq_settle_one_locked - find out whether what was fetched has an event
 * @evd: the EVD, locked, with an empty ring
 *
 * Afterwards there is an event in the ring, or there was none.
 */
void kdapl_cq_settle_one_locked(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	while (evd->wc_left && !evd->live) {
		evd->wc_left--;
		kdapl_cq_complete_locked(evd, evd->wc_next++);
	}
}

/**
 * kdapl_cq_poll_locked - move one batch of completions into the ring
 * @evd: the EVD, locked
 *
 * Return: the number of completions taken, whether they made events or not.
 */
u32 kdapl_cq_poll_locked(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	if (!evd->wc_left) {
		if (!evd->cq)
			return 0;
		evd->wc_left = kdapl_cq_fetch_locked(evd);
		evd->wc_next = evd->wc;
	}
	return kdapl_cq_settle_locked(evd);
}

/**
 * kdapl_cq_drain - move all completions into the ring
 * @evd: the EVD
 *
 * For the close of an EP, whose completions must come home whether or not the
 * consumer dequeues. The ring has a slot for each of them. Those that were there
 * at the call are in the ring afterwards; later ones need not be: others use the
 * CQ too, and may complete as fast as it is polled.
 *
 * Context: process; sleeps; takes @evd's lock, for one batch at a time.
 */
void kdapl_cq_drain(struct dat_evd *evd)
{
	bool trigger = false;
	u32 n, notifying, most, done = 0;

	do {
		spin_lock_irq(&evd->lock);
		notifying = evd->notifying;
		n = kdapl_cq_poll_locked(evd);
		trigger |= evd->notifying != notifying &&
			   kdapl_evd_policy_on(evd->policy);
		/* A full CQ, and what was fetched from one. */
		most = 2 * evd->cq_size;
		spin_unlock_irq(&evd->lock);
		done += n;
		cond_resched();
	} while (n && done <= most);

	if (trigger)
		kdapl_upcall_trigger(evd);
}

KDAPL_EXPORT_FOR_TEST(kdapl_cq_drain);
