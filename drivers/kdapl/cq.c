// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: completions of an EVD's CQ, into events of its ring
 *
 * They come in the order of the CQ, see cq_poll.c. Only status and wr_id of a
 * failed completion mean anything, and wc->qp may name a QP that is gone: all else
 * comes from the context of the work request, which lives until its EP has seen
 * every one of them.
 */
#include <linux/kernel.h>
#include <rdma/ib_verbs.h>

#include "counters.h"
#include "cq.h"
#include "ep.h"
#include "errno.h"
#include "evd.h"
#include "frmr.h"
#include "ia.h"
#include "lmr.h"
#include "queue.h"
#include "rmr.h"
#include "srq.h"
#include "trace.h"

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

/* The oldest of @queue, by the completion of one behind it; 1: a credit is free. */
static __always_inline u32 cq_reclaim_one_locked(struct dat_evd *evd,
						 struct kdapl_queue *queue,
						 struct kdapl_wr *wr)
{
	u32 credit = 1;

	if (unlikely(wr->flags & (KDAPL_WR_HELD | KDAPL_WR_MEM)))
		credit = cq_reclaim_rare_locked(evd, queue, wr);
	WRITE_ONCE(queue->tail, queue->tail + 1);
	return credit;
}

/* A success that was to be suppressed, by a completion of its own. */
static void cq_suppressed_locked(struct dat_evd *evd, struct kdapl_queue *queue,
				 struct kdapl_wr *wr)
{
	u32 credit = cq_reclaim_one_locked(evd, queue, wr);

	/* Pairs with the acquire of a poster in search of a credit. */
	smp_store_release(&queue->released, queue->released + credit);
}

/* Whether @wr is done only when a completion of its own says so. */
static __always_inline bool cq_owed(const struct kdapl_wr *wr)
{
	return (wr->flags & (KDAPL_WR_SUPPRESS | KDAPL_WR_OWED)) !=
	       KDAPL_WR_SUPPRESS && !(wr->flags & KDAPL_WR_HELD);
}

/*
 * What stands in front of a completed request is done too: suppressed, then it
 * has succeeded, or held back from the QP while the peer was closing. But for one
 * that is owed a completion: nothing from there on. True: there was none.
 */
static bool cq_reclaim_locked(struct dat_evd *evd, struct kdapl_queue *queue,
			      u32 done)
{
	u32 released = queue->released;
	struct kdapl_wr *wr;

	while (queue->tail != done) {
		wr = &queue->wr[queue->tail & queue->mask];
		if (unlikely(cq_owed(wr)))
			break;
		released += cq_reclaim_one_locked(evd, queue, wr);
	}
	/* Pairs with the acquire of a poster in search of a credit. */
	smp_store_release(&queue->released, released);
	return queue->tail == done;
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
		/* The device has it, whatever becomes of what is in front of it. */
		if (wr->op == KDAPL_OP_REG)
			kdapl_lmr_defer_done_locked(wr,
						    wr->flags & KDAPL_WR_EARLY ?
						    IB_WC_SUCCESS : wc->status);
	} else if (wr->flags & KDAPL_WR_SUPPRESS &&
		   wc->status == IB_WC_SUCCESS) {
		cq_suppressed_locked(evd, queue, wr);
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
		cq_suppressed_locked(evd, queue, wr);
	} else {
		cq_event_locked(evd, queue, wr, wc);
		WRITE_ONCE(queue->tail, queue->tail + 1);
	}
}

/*
 * A request has succeeded before those in front of it that are owed completions,
 * and waits for them: siw of 6.1 completes what it has sent, also behind a read
 * whose answer is under way. Those take the long way, which looks for it then.
 */
static noinline void cq_early_locked(struct kdapl_queue *queue,
				     struct kdapl_wr *early)
{
	struct kdapl_wr *wr;
	u32 i;

	for (i = queue->tail; i != early->pos; i++) {
		wr = &queue->wr[i & queue->mask];
		if (cq_owed(wr))
			wr->flags |= KDAPL_WR_AWAITED;
	}
	early->flags |= KDAPL_WR_EARLY;
	queue->early++;
}

/* The oldest, whose completion has not come, or has come too early to count. */
static void cq_flush_one_locked(struct dat_evd *evd, struct kdapl_queue *queue)
{
	static const struct ib_wc flushed = { .status = IB_WC_WR_FLUSH_ERR };
	struct kdapl_wr *wr = &queue->wr[queue->tail & queue->mask];

	if (wr->flags & KDAPL_WR_EARLY)
		queue->early--;
	trace_kdapl_dto_complete(queue->ep->obj.id, wr->op, flushed.status);
	cq_one_locked(evd, queue, wr, &flushed);
}

/*
 * The oldest is home, with @status: so are those that waited for nobody else. Behind
 * a failure nothing has succeeded, as everywhere else.
 */
static noinline void cq_late_locked(struct dat_evd *evd,
				    struct kdapl_queue *queue,
				    enum ib_wc_status status)
{
	static const struct ib_wc success = { .status = IB_WC_SUCCESS };
	struct kdapl_wr *wr;
	u32 i;

	while (queue->early && status != IB_WC_SUCCESS)
		cq_flush_one_locked(evd, queue);

	for (i = queue->tail; queue->early; i++) {
		wr = &queue->wr[i & queue->mask];
		if (!(wr->flags & KDAPL_WR_EARLY)) {
			if (cq_owed(wr))
				break;
			continue;
		}
		cq_reclaim_locked(evd, queue, i);
		queue->early--;
		trace_kdapl_dto_complete(queue->ep->obj.id, wr->op,
					 IB_WC_SUCCESS);
		cq_one_locked(evd, queue, wr, &success);
	}
}

/*
 * Whether the failure of @wr leaves open what became of the suppressed requests in
 * front of it. Elsewhere each of them would have completed first, had it not
 * succeeded. siw of 6.1 flushes what is posted while its QP is on the way to the
 * error state in front of what is queued. But for a request that was posted when
 * the way was known to be over: what is in front of that has completed.
 */
static bool cq_unproven(const struct kdapl_queue *queue,
			const struct kdapl_wr *wr, enum ib_wc_status status)
{
	return status == IB_WC_WR_FLUSH_ERR && queue->ep->obj.ia->iwarp &&
	       !(wr->flags & KDAPL_WR_SETTLED);
}

/*
 * In front of a request that has failed, and with it the QP; or of one behind such a
 * one; or of a receive, and these do not wait for each other. Mostly all of them are
 * done. Not so on siw of 6.1: what is posted while its QP is on the way to the error
 * state (the state is set, its lock still held) is flushed at once, in front of what
 * is queued. Whoever is owed a completion and has none is among these: nothing more
 * is executed, so all of them are flushed now, in order, and their own completions
 * come too late.
 */
static void cq_overtaken_locked(struct dat_evd *evd, struct kdapl_queue *queue,
				const struct kdapl_wr *wr,
				enum ib_wc_status status)
{
	bool flush = (queue->request && queue->ep->req_failed) ||
		     cq_unproven(queue, wr, status);
	u32 i, done = wr->pos;

	for (i = queue->tail; i != done && !flush; i++)
		flush = cq_owed(&queue->wr[i & queue->mask]);
	if (!flush)
		cq_reclaim_locked(evd, queue, done);
	while (queue->tail != done)
		cq_flush_one_locked(evd, queue);
}

/*
 * One that has failed; or something in front of it has, or waits for its turn; or the
 * EP's close wants to hear of it.
 *
 * Behind a failure no request succeeds, whatever the provider says: siw of 6.1 sends
 * on while the answer to a read fails. But for an internal registration, which must
 * be known to be with the device to be taken from it.
 */
static noinline void cq_odd_locked(struct dat_evd *evd, struct kdapl_queue *queue,
				   struct kdapl_wr *wr, const struct ib_wc *wc)
{
	static const struct ib_wc flushed = { .status = IB_WC_WR_FLUSH_ERR };
	/* The context is a poster's again as soon as it is done with. */
	u16 flags = wr->flags;
	struct dat_ep *ep = queue->ep;

	if (queue->request && ep->req_failed && wc->status == IB_WC_SUCCESS &&
	    !(flags & KDAPL_WR_INTERNAL))
		wc = &flushed;

	if (wc->status != IB_WC_SUCCESS || !queue->request || ep->req_failed) {
		cq_overtaken_locked(evd, queue, wr, wc->status);
	} else if (!cq_reclaim_locked(evd, queue, wr->pos)) {
		cq_early_locked(queue, wr);
		return;
	}

	trace_kdapl_dto_complete(ep->obj.id, wr->op, wc->status);
	cq_one_locked(evd, queue, wr, wc);
	if (queue->early)
		cq_late_locked(evd, queue, wc->status);

	/* What no QP has seen says nothing of one, nor of the next connection. */
	if (wc->status != IB_WC_SUCCESS && !(flags & KDAPL_WR_HELD)) {
		if (queue->request)
			WRITE_ONCE(ep->req_failed, 1);
		kdapl_ep_completion_error(ep, wc->status);
	} else if (kdapl_ep_closing(ep)) {
		kdapl_ep_kick(ep, KDAPL_EP_TODO_PROGRESS);
	}
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
	u32 ahead;

	lockdep_assert_held(&evd->lock);

	if (unlikely(wr->flags & KDAPL_WR_SRQ)) {
		kdapl_srq_complete_locked(evd, wr, wc);
		return;
	}
	ahead = ((u32)(wr - queue->wr) - queue->tail) & queue->mask;
	if (unlikely(ahead >= READ_ONCE(queue->head) - queue->tail ||
		     wr->flags & KDAPL_WR_EARLY)) {
		/*
		 * Not posted, or completed before: the provider's fault. But
		 * see cq_overtaken_locked() for what is flushed.
		 */
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			kdapl_ring_overflow_locked(evd);
		return;
	}
	if (unlikely((u32)wc->status | queue->early |
		     READ_ONCE(queue->ep->irregular))) {
		cq_odd_locked(evd, queue, wr, wc);
		return;
	}
	if (ahead && unlikely(!queue->request)) {
		cq_overtaken_locked(evd, queue, wr, IB_WC_SUCCESS);
	} else if (ahead && unlikely(!cq_reclaim_locked(evd, queue, wr->pos))) {
		cq_early_locked(queue, wr);
		return;
	}

	trace_kdapl_dto_complete(queue->ep->obj.id, wr->op, IB_WC_SUCCESS);
	cq_one_locked(evd, queue, wr, wc);
}
