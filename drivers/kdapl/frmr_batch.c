// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the invalidations of many MRs in one chain of requests
 *
 * They take credits like others, give them back as they come home, and make no
 * events. Only the last is signalled: it proves those in front of it done.
 */
#include "dto.h"
#include "ep.h"
#include "evd.h"
#include "fault.h"
#include "frmr.h"
#include "queue.h"
#include "trace.h"

bool kdapl_frmr_add_locked(struct kdapl_queue *queue, struct kdapl_frmr *fr)
{
	struct kdapl_wr *wr = kdapl_queue_next_wr(queue);

	if (!kdapl_frmr_end(fr))
		return false;
	wr->cookie.as_64 = 0;
	wr->op = DAT_DTO_LMR_INVALIDATE;
	wr->flags = KDAPL_WR_MEM | KDAPL_WR_INV | KDAPL_WR_SILENT |
		    KDAPL_WR_SUPPRESS;
	/* As kdapl_dto_not_posted_locked() does with what stands behind it. */
	if (unlikely(queue->gate != KDAPL_QUEUE_OPEN))
		wr->flags |= KDAPL_WR_HELD;
	wr->variant = fr->key;
	wr->fr = fr;
	queue->posted++;
	kdapl_queue_publish_locked(queue, wr);

	fr->inv.wr_id = (uintptr_t)wr;
	fr->inv.send_flags = 0;
	fr->inv.ex.invalidate_rkey = fr->key;
	fr->inv.next = NULL;
	return true;
}

/* Takes back what the provider did not take, the last one first. */
static void batch_retract_locked(struct kdapl_queue *queue,
				 struct kdapl_frmr **frs, int from, int n)
{
	while (n-- > from) {
		kdapl_queue_retract_locked(queue);
		queue->posted--;
		kdapl_frmr_not_ended(frs[n]);
	}
}

static int batch_post_locked(struct kdapl_queue *queue,
			     struct kdapl_frmr **frs, int n)
{
	const struct ib_send_wr *bad = &frs[0]->inv;
	struct kdapl_wr *last = (void *)(uintptr_t)frs[n - 1]->inv.wr_id;
	int i, ret, posted = n;

	for (i = 0; i + 1 < n; i++)
		frs[i]->inv.next = &frs[i + 1]->inv;
	frs[n - 1]->inv.send_flags = IB_SEND_SIGNALED;
	last->flags |= KDAPL_WR_OWED;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      ib_post_send(queue->ep->qp, &frs[0]->inv, &bad);
	trace_kdapl_dto_post(queue->ep->obj.id, DAT_DTO_LMR_INVALIDATE, n, ret);
	if (unlikely(ret)) {
		for (posted = 0; posted < n; posted++)
			if (&frs[posted]->inv == bad)
				break;
		batch_retract_locked(queue, frs, posted, n);
	}
	queue->suppressed = ret ? queue->suppressed + posted : 0;
	/* The one that was to prove these done is not among them. */
	if (unlikely(ret && posted))
		kdapl_queue_post_marker_locked(queue);
	return posted ?: ret;
}

/* Moves those that can be posted to the front; returns how many they are. */
static int batch_collect_locked(struct kdapl_queue *queue, struct dat_ep *ep,
				struct kdapl_frmr **frs, int n)
{
	int i, count = 0;

	for (i = 0; i < n && kdapl_dto_has_credit(queue); i++) {
		struct kdapl_frmr *fr = frs[i];

		if ((!READ_ONCE(fr->settled) && fr->ep != ep) ||
		    !kdapl_frmr_add_locked(queue, fr))
			continue;
		fr->changed(fr);
		frs[count++] = fr;
	}
	return count;
}

int kdapl_frmr_end_batch(struct dat_ep *ep, struct kdapl_frmr **frs, int n,
			 struct dat_evd **evd)
{
	struct kdapl_queue *queue = &ep->req;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&queue->post_lock, flags);
	ret = -ENOTCONN;
	if (queue->gate != KDAPL_QUEUE_OPEN)
		goto out_unlock;
	ret = batch_collect_locked(queue, ep, frs, n);
	if (ret > 0)
		ret = batch_post_locked(queue, frs, ret);
	/* Also if none was posted: registrations may still be on their way. */
	*evd = queue->evd;
	kdapl_obj_get(&queue->evd->obj);
out_unlock:
	spin_unlock_irqrestore(&queue->post_lock, flags);
	return ret;
}
