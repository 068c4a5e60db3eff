/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completions of an EVD.
 *
 * What ib_poll_cq() returned waits in evd->wc, wc_left of them from wc_next on,
 * until somebody has a use for it: a dequeue makes events of it one by one,
 * straight into the consumer's array. Until then nobody has looked at it, and it
 * counts as little as if it still were in the CQ, whose front it is. So whoever
 * asks what is queued, and whoever polls, turns to it first;
 * kdapl_cq_poll_locked() does.
 *
 * A fetched completion keeps nothing alive. Its context is outstanding until it
 * is looked at, and an EP lets go of a queue only after none is, having polled,
 * see flush.c; an EVD is freed, and loses its CQ, after the EPs.
 */
#ifndef _KDAPL_CQ_H
#define _KDAPL_CQ_H

#include <rdma/ib_verbs.h>

#include "ep.h"
#include "evd.h"
#include "queue.h"

/*
 * Polls a batch into evd->wc, where nothing may be left, from an EVD that has a
 * CQ; their number. The caller keeps wc_next and wc_left.
 */
static __always_inline u32 kdapl_cq_fetch_locked(struct dat_evd *evd)
{
	int n = ib_poll_cq(evd->cq, KDAPL_EVD_POLL_BATCH, evd->wc);

	if (likely(!n))
		return 0;
	if (unlikely(n < 0))
		return kdapl_cq_failed(evd, n);
	return n;
}

/*
 * What most completions are: the success of the oldest request of its queue, posted
 * with no flags but @flags, of an EP whose close waits for nothing, and of which
 * no request has failed.
 */
static __always_inline bool kdapl_cq_plain(const struct ib_wc *wc, u16 flags)
{
	const struct kdapl_wr *wr = (struct kdapl_wr *)(uintptr_t)wc->wr_id;
	const struct kdapl_queue *queue = wr->queue;

	if (unlikely(wr->flags & (u16)~flags || wr->pos != queue->tail))
		return false;
	return likely(!((u32)wc->status | READ_ONCE(queue->ep->irregular)));
}

/* Whether a fetched completion is going to make an event. */
static inline bool kdapl_cq_makes_event(const struct ib_wc *wc)
{
	const struct kdapl_wr *wr = (struct kdapl_wr *)(uintptr_t)wc->wr_id;

	if (likely(!(wr->flags & (KDAPL_WR_INTERNAL | KDAPL_WR_SUPPRESS |
				  KDAPL_WR_SILENT))))
		return true;
	/* Only success is suppressed, and there is none behind a failure. */
	return !(wr->flags & (KDAPL_WR_INTERNAL | KDAPL_WR_SILENT)) &&
	       ((u32)wc->status | wr->queue->ep->req_failed);
}

#endif /* _KDAPL_CQ_H */
