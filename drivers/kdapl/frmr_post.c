// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: posting of registrations and invalidations
 *
 * They are requests of the consumer: each takes a credit, has an event and stands
 * in the order of the queue. All that reaches a verb is done under the post lock
 * behind an open gate, so removal cannot take the MR away meanwhile.
 */
#include <linux/export.h>

#include "dto.h"
#include "ep.h"
#include "fault.h"
#include "frmr.h"
#include "ia.h"
#include "pz.h"
#include "queue.h"
#include "trace.h"

/* Everything that can still be refused, before the QP hears of it. */
static int frmr_map_locked(struct kdapl_frmr *fr, u64 iova)
{
	struct ib_mr *mr = fr->mr;
	int nents = fr->nents;
	int n;

	if (fr->map_dma) {
		nents = ib_dma_map_sg(fr->ibdev, fr->sgl, fr->nents,
				      DMA_BIDIRECTIONAL);
		if (unlikely(!nents))
			return -ENOMEM;
		fr->mapped = KDAPL_FRMR_MAPPED_LIST;
	}
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	n = ib_map_mr_sg(mr, fr->sgl, nents, NULL, PAGE_SIZE);
	if (unlikely(n != nents)) {
		kdapl_frmr_unmap(fr);
		return n < 0 ? n : -EMSGSIZE;
	}
	mr->iova = iova;
	WRITE_ONCE(fr->key, mr->rkey);
	return 0;
}

/* The context of the request; counts once it was published. */
static struct kdapl_wr *frmr_wr_locked(struct kdapl_queue *queue,
				       const struct kdapl_frmr_req *req,
				       u8 flags)
{
	struct kdapl_wr *wr = kdapl_queue_next_wr(queue);

	wr->cookie = req->cookie;
	wr->op = req->op;
	wr->flags = flags;
	wr->variant = req->fr->key;
	wr->fr = req->fr;
	if (unlikely(req->op == DAT_DTO_BIND_MW))
		wr->flags |= KDAPL_WR_BIND;
	if (req->silent)
		wr->flags |= KDAPL_WR_SILENT;
	if (req->flags & DAT_COMPLETION_SUPPRESS_FLAG)
		wr->flags |= KDAPL_WR_SUPPRESS | KDAPL_WR_OWED;
	if (req->flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		wr->flags |= KDAPL_WR_UNSIGNALLED;
	return wr;
}

/* Each is signalled, whatever the consumer hears of it: the MR's state waits. */
static int frmr_send_flags(const struct kdapl_frmr_req *req)
{
	int flags = IB_SEND_SIGNALED;

	if (req->flags & (DAT_COMPLETION_BARRIER_FENCE_FLAG |
			  DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG))
		flags |= IB_SEND_FENCE;
	return flags;
}

static int frmr_send_locked(struct kdapl_queue *queue, struct kdapl_wr *wr,
			    struct ib_send_wr *send)
{
	int ret;

	queue->posted++;
	kdapl_queue_publish_locked(queue, wr);
	send->wr_id = (uintptr_t)wr;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      ib_post_send(queue->ep->qp, send, &queue->bad_send);
	trace_kdapl_dto_post(queue->ep->obj.id, wr->op, 0, ret);
	if (unlikely(ret)) {
		kdapl_queue_retract_locked(queue);
		queue->posted--;
		return ret;
	}
	queue->suppressed = 0;
	return 0;
}

static int frmr_check_locked(struct kdapl_queue *queue)
{
	if (unlikely(queue->gate == KDAPL_QUEUE_CLOSED))
		return kdapl_ep_post_error(queue->ep, true);
	return likely(kdapl_dto_has_credit(queue)) ? 0 : -ENOSPC;
}

/*
 * The old registration's end, in front of the new one: a request of its own, with
 * a credit of its own and no event.
 */
static int frmr_old_locked(struct kdapl_queue *queue, struct kdapl_frmr *old)
{
	/* Two credits; pairs with the release that gives one back. */
	bool full = queue->posted + 1 - smp_load_acquire(&queue->released) >=
		    queue->depth;

	/* The peer's end of one that is VALID must not be missed: no way back. */
	if (full)
		return kdapl_frmr_state(old) == KDAPL_FRMR_VALID ? -ENOSPC : 0;
	return kdapl_frmr_add_locked(queue, old);
}

/*
 * The chain of both; what was not posted has not happened. The owner was shown the
 * new one as bound: he is shown the old one again if that is still in force.
 */
static int frmr_send_both_locked(struct kdapl_queue *queue, struct kdapl_wr *wr,
				 struct kdapl_frmr *old, struct kdapl_frmr *fr)
{
	const struct ib_send_wr *bad = &old->inv;
	int ret;

	queue->posted++;
	kdapl_queue_publish_locked(queue, wr);
	fr->reg.wr.wr_id = (uintptr_t)wr;
	old->inv.next = &fr->reg.wr;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      ib_post_send(queue->ep->qp, &old->inv, &bad);
	trace_kdapl_dto_post(queue->ep->obj.id, wr->op, 0, ret);
	if (likely(!ret)) {
		queue->suppressed = 0;
		return 0;
	}
	kdapl_queue_retract_locked(queue);
	queue->posted--;
	if (bad != &old->inv) {
		/* Its completion would have come with the other's. */
		queue->suppressed++;
		kdapl_queue_post_marker_locked(queue);
		return ret;
	}
	kdapl_queue_retract_locked(queue);
	queue->posted--;
	kdapl_frmr_not_ended(old);
	return ret;
}

static int frmr_register_locked(struct kdapl_queue *queue, struct dat_ep *ep,
				const struct kdapl_frmr_req *req)
{
	bool bind = req->op == DAT_DTO_BIND_MW;
	struct kdapl_frmr *fr = req->fr;
	struct kdapl_wr *wr;
	int ret, old = 0;
	u32 key;

	ret = frmr_check_locked(queue);
	if (unlikely(ret))
		return ret;
	ret = frmr_map_locked(fr, req->iova);
	if (unlikely(ret))
		return ret;
	if (unlikely(req->old)) {
		old = frmr_old_locked(queue, req->old);
		if (old < 0) {
			kdapl_frmr_unmap(fr);
			return old;
		}
	}

	fr->ep = ep;
	WRITE_ONCE(fr->settled, false);
	wr = frmr_wr_locked(queue, req, KDAPL_WR_MEM);
	atomic_inc(&fr->posted);
	key = fr->key;
	/* The completion may come inside the post, and fail. */
	atomic_set(&fr->state, KDAPL_FRMR_VALID);
	/* Its event may be out before the post is back, and be acted upon. */
	if (unlikely(bind))
		fr->changed(fr);
	if (unlikely(queue->gate != KDAPL_QUEUE_OPEN)) {
		ret = kdapl_dto_not_posted_locked(queue, wr);
		goto out_posted;
	}

	fr->reg.wr.send_flags = frmr_send_flags(req);
	fr->reg.key = key;
	fr->reg.access = req->access;
	ret = unlikely(old) ?
	      frmr_send_both_locked(queue, wr, req->old, fr) :
	      frmr_send_locked(queue, wr, &fr->reg.wr);
	if (unlikely(ret)) {
		kdapl_frmr_unmap(fr);
		atomic_set(&fr->state, KDAPL_FRMR_TAKEN);
		if (bind)
			fr->changed(fr);
		atomic_dec(&fr->posted);
		return ret;
	}
out_posted:
	if (unlikely(bind))
		*req->key = key;
	return ret;
}

static int frmr_invalidate_locked(struct kdapl_queue *queue, struct dat_ep *ep,
				  const struct kdapl_frmr_req *req)
{
	struct kdapl_frmr *fr = req->fr;
	struct kdapl_wr *wr;
	int ret;

	ret = frmr_check_locked(queue);
	if (unlikely(ret))
		return ret;
	if (unlikely(!READ_ONCE(fr->settled) && fr->ep != ep &&
		     kdapl_frmr_state(fr) == KDAPL_FRMR_VALID))
		return -EBUSY;
	if (unlikely(!kdapl_frmr_end(fr)))
		return -EBADFD;
	fr->changed(fr);

	wr = frmr_wr_locked(queue, req, KDAPL_WR_MEM | KDAPL_WR_INV);
	if (unlikely(queue->gate != KDAPL_QUEUE_OPEN))
		return kdapl_dto_not_posted_locked(queue, wr);

	fr->inv.send_flags = frmr_send_flags(req);
	fr->inv.ex.invalidate_rkey = fr->key;
	fr->inv.next = NULL;
	ret = frmr_send_locked(queue, wr, &fr->inv);
	if (unlikely(ret))
		kdapl_frmr_not_ended(fr);
	return ret;
}

static __always_inline int frmr_post(struct dat_ep *ep,
				     const struct kdapl_frmr_req *req, bool reg)
{
	struct kdapl_queue *queue = &ep->req;
	unsigned int tries = 0;
	unsigned long irq;
	int ret;

	do {
		spin_lock_irqsave(&queue->post_lock, irq);
		ret = reg ? frmr_register_locked(queue, ep, req) :
			    frmr_invalidate_locked(queue, ep, req);
		ret = kdapl_dto_unlock(queue, irq, ret);
	} while (unlikely(ret < 0) && kdapl_dto_retry(ep, ret, &tries));
	return ret;
}

/**
 * kdapl_frmr_register - post the registration of an MR
 * @ep: the EP
 * @req: whose fr is TAKEN, with the entries of its list filled in
 *
 * Context: any.
 * Return: 0, and the key is fr->key; -ENOSPC: no credit; -EMSGSIZE: the list
 * does not fit; the state of the EP; the errno of the provider. On errors the MR
 * is FREE again.
 */
int kdapl_frmr_register(struct dat_ep *ep, const struct kdapl_frmr_req *req)
{
	int ret = frmr_post(ep, req, true);

	if (unlikely(ret))
		kdapl_frmr_move(req->fr, KDAPL_FRMR_TAKEN, KDAPL_FRMR_FREE);
	return ret;
}

/**
 * kdapl_frmr_invalidate - post the invalidation of an MR
 * @ep: the EP
 * @req: fr, cookie, flags and op are looked at
 *
 * Context: any.
 * Return: 0; -EBADFD: it is not registered, or is being invalidated; -EBUSY: its
 * registration stands in the queue of another EP; -ENOSPC: no credit; the state
 * of the EP; the errno of the provider. On errors nothing has changed.
 */
int kdapl_frmr_invalidate(struct dat_ep *ep, const struct kdapl_frmr_req *req)
{
	return frmr_post(ep, req, false);
}
