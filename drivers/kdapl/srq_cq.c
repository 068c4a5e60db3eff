// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: shared receive queues, from the post of a buffer to its event
 *
 * A buffer takes a credit when it is posted and gives it back when its event is
 * dequeued. Whose message filled it only the completion knows, by the address of
 * its QP. That address is compared, never followed, and it names the right EP:
 * see srq.h.
 */
#include <linux/export.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "async.h"
#include "counters.h"
#include "ep.h"
#include "errno.h"
#include "evd.h"
#include "fault.h"
#include "ia.h"
#include "kunit.h"
#include "lmr.h"
#include "srq.h"
#include "trace.h"

static struct kdapl_srq_wr *srq_get_wr(struct dat_srq *srq)
{
	struct kdapl_srq_wr *wr;

	spin_lock(&srq->lock);
	wr = srq->free;
	if (wr) {
		srq->free = wr->next;
		wr->posted = true;
		srq->posted++;
	}
	spin_unlock(&srq->lock);
	return wr;
}

static void srq_put_wr_locked(struct dat_srq *srq, struct kdapl_srq_wr *wr)
{
	wr->posted = false;
	wr->next = srq->free;
	srq->free = wr;
	srq->posted--;
}

static int srq_post_locked(struct dat_srq *srq, int num,
			   const struct dat_lmr_triplet *iov,
			   union dat_context cookie)
{
	const struct ib_recv_wr *bad;
	struct ib_recv_wr recv = {
		.sg_list = srq->sge,
	};
	struct kdapl_srq_wr *wr;
	u32 total;
	int ret;

	if (!srq->srq)
		return -ENODEV;
	if (atomic_read(&srq->used) >= READ_ONCE(srq->depth))
		return -ENOSPC;
	ret = kdapl_lmr_index_sge(srq->obj.ia, srq->pz, NULL, iov, num,
				  DAT_MEM_PRIV_LOCAL_WRITE_FLAG, srq->sge,
				  srq->max_sge, &total);
	if (ret < 0)
		return ret;
	recv.num_sge = ret;

	wr = srq_get_wr(srq);
	/* A context lost with a QP has kept its credit. */
	if (WARN_ON_ONCE(!wr))
		return -ENOSPC;
	wr->wr.cookie = cookie;
	wr->wr.len = total;
	atomic_inc(&srq->used);

	recv.wr_id = (uintptr_t)&wr->wr;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      ib_post_srq_recv(srq->srq, &recv, &bad);
	trace_kdapl_dto_post(srq->obj.id, DAT_DTO_RECEIVE, total, ret);
	if (ret) {
		spin_lock(&srq->lock);
		srq_put_wr_locked(srq, wr);
		spin_unlock(&srq->lock);
		atomic_dec(&srq->used);
	}
	return ret;
}

/**
 * dat_srq_post_recv - post a buffer for whichever EP gets a message first
 * @srq: the SRQ
 * @num_segments: of @local_iov, 0 for an empty buffer
 * @local_iov: where to, filled in order; needs %DAT_MEM_PRIV_LOCAL_WRITE_FLAG
 * @cookie: given back in the event, which comes on the EP's receive EVD and
 *	always notifies
 *
 * Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL: NULL, too many segments, an unknown lmr_context or a range
 * outside of its LMR; -EPERM: an LMR of another PZ; -EACCES: an LMR without the
 * privilege; -EMSGSIZE: scattered over more pages than the SRQ takes entries;
 * -ENOSPC: max_recv_dtos buffers whose events were not dequeued; -ENODEV: the
 * device is gone; else the errno of the provider.
 */
int dat_srq_post_recv(struct dat_srq *srq, int num_segments,
		      const struct dat_lmr_triplet *local_iov,
		      union dat_context cookie)
{
	unsigned long flags;
	int ret;

	if (!srq || num_segments < 0 || (num_segments && !local_iov) ||
	    num_segments > srq->max_iov)
		return -EINVAL;
	spin_lock_irqsave(&srq->post_lock, flags);
	ret = srq_post_locked(srq, num_segments, local_iov, cookie);
	spin_unlock_irqrestore(&srq->post_lock, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_post_recv);

static struct dat_ep *srq_find_ep_locked(struct dat_srq *srq,
					 const struct ib_qp *qp)
{
	struct dat_ep *ep;

	hash_for_each_possible(srq->qps, ep, srq_node, (uintptr_t)qp)
		if (ep->srq_qp == qp)
			return ep;
	return NULL;
}

/* How many buffers the EP holds now, and whom that alarms. */
static void srq_hold_locked(struct dat_ep *ep)
{
	struct kdapl_queue *queue = &ep->recv;
	u32 held = ++queue->posted - queue->released;

	if (unlikely(held > ep->srq_soft)) {
		ep->srq_soft = KDAPL_EP_NO_WATERMARK;
		kdapl_ep_kick(ep, KDAPL_EP_TODO_WATERMARK);
	}
	if (unlikely(held > ep->srq_hard))
		kdapl_ep_kick(ep, KDAPL_EP_TODO_BROKEN);
}

void kdapl_srq_complete_locked(struct dat_evd *evd, struct kdapl_wr *wr,
			       const struct ib_wc *wc)
{
	struct kdapl_srq_wr *mine = container_of(wr, struct kdapl_srq_wr, wr);
	struct dat_dto_completion_event_data *dto;
	struct kdapl_post post = {
		.kind = KDAPL_SLOT_SRQ,
		.notify = true,
	};
	union dat_context cookie = wr->cookie;
	struct dat_srq *srq = mine->srq;
	struct kdapl_slot *slot;
	struct dat_ep *ep = NULL;
	bool ours;

	lockdep_assert_held(&evd->lock);

	spin_lock(&srq->lock);
	ours = mine->posted;
	if (ours) {
		ep = srq_find_ep_locked(srq, wc->qp);
		if (!ep)
			srq->strays++;
		srq_put_wr_locked(srq, mine);
	}
	spin_unlock(&srq->lock);
	if (unlikely(!ours)) {
		/* Completed before: the provider's fault. */
		kdapl_ring_overflow_locked(evd);
		return;
	}
	if (unlikely(!ep)) {
		atomic_dec(&srq->used);
		return;
	}
	trace_kdapl_dto_complete(ep->obj.id, DAT_DTO_RECEIVE, wc->status);

	post.owner = &ep->recv;
	slot = kdapl_ring_push_locked(evd, &post, DAT_DTO_COMPLETION_EVENT);
	if (WARN_ON_ONCE(!slot)) {
		atomic_dec(&srq->used);
		return;
	}
	dto = &slot->data.dto_completion_event_data;
	*dto = (struct dat_dto_completion_event_data){
		.ep_handle = ep,
		.user_cookie = cookie,
		.operation = DAT_DTO_RECEIVE,
		.status = kdapl_errno_wc(wc->status, DAT_DTO_RECEIVE),
	};
	srq_hold_locked(ep);
	if (wc->status == IB_WC_SUCCESS) {
		dto->transfered_length = wc->byte_len;
		if (wc->wc_flags & KDAPL_WC_RARE)
			kdapl_ext_recv_event_locked(slot, wc);
		kdapl_counters_recv(ep, wc);
		if (unlikely(kdapl_ep_closing(ep)))
			kdapl_ep_kick(ep, KDAPL_EP_TODO_PROGRESS);
	} else {
		kdapl_ep_completion_error(ep, wc->status);
	}
}

void kdapl_srq_release_locked(struct kdapl_queue *queue)
{
	queue->released++;
	atomic_dec(&queue->ep->config.srq->used);
}

static struct kdapl_srq_evd *srq_find_evd(struct dat_srq *srq,
					  const struct dat_evd *evd)
{
	struct kdapl_srq_evd *use;

	lockdep_assert_held(&srq->mutex);

	list_for_each_entry(use, &srq->evds, node)
		if (use->evd == evd)
			return use;
	return NULL;
}

/* A slot and a CQ entry for each buffer, once for all EPs. */
static int srq_use_evd(struct dat_srq *srq, struct dat_evd *evd)
{
	struct kdapl_srq_evd *use;
	int ret;

	use = srq_find_evd(srq, evd);
	if (use) {
		use->users++;
		return 0;
	}
	use = kzalloc(sizeof(*use), GFP_KERNEL);
	if (!use)
		return -ENOMEM;
	ret = kdapl_evd_reserve(evd, srq->depth, srq->depth);
	if (ret) {
		kfree(use);
		return ret;
	}
	use->evd = evd;
	use->users = 1;
	list_add_tail(&use->node, &srq->evds);
	return 0;
}

int kdapl_srq_get_user(struct dat_srq *srq, struct dat_ia *ia,
		       struct dat_evd *evd)
{
	int ret = -EINVAL;

	if (srq->obj.ia != ia)
		return ret;
	mutex_lock(&srq->mutex);
	if (!srq->freed)
		ret = srq_use_evd(srq, evd);
	if (!ret)
		srq->users++;
	mutex_unlock(&srq->mutex);
	return ret;
}

void kdapl_srq_put_user(struct dat_srq *srq, struct dat_evd *evd)
{
	struct kdapl_srq_evd *use;

	mutex_lock(&srq->mutex);
	use = srq_find_evd(srq, evd);
	if (!WARN_ON_ONCE(!use) && !--use->users) {
		list_del(&use->node);
		kdapl_evd_unreserve(evd, srq->depth, srq->depth);
		kfree(use);
	}
	srq->users--;
	mutex_unlock(&srq->mutex);
}

void kdapl_srq_add_qp(struct dat_srq *srq, struct dat_ep *ep)
{
	spin_lock_irq(&srq->lock);
	ep->srq_qp = ep->qp;
	hash_add(srq->qps, &ep->srq_node, (uintptr_t)ep->srq_qp);
	spin_unlock_irq(&srq->lock);
}

int kdapl_srq_destroy_qp(struct dat_srq *srq, struct dat_ep *ep,
			 struct ib_qp *qp)
{
	int ret;

	mutex_lock(&srq->mutex);
	ret = ib_destroy_qp(qp);
	kdapl_cq_drain(ep->recv.evd);
	spin_lock_irq(&srq->lock);
	hash_del(&ep->srq_node);
	ep->srq_qp = NULL;
	spin_unlock_irq(&srq->lock);
	mutex_unlock(&srq->mutex);
	return ret;
}

void kdapl_srq_report_low(struct dat_srq *srq)
{
	kdapl_async_post(srq->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, srq,
			 DAT_SRQ_LOW_WATERMARK_EVENT);
}

/**
 * kdapl_srq_event - a provider's event of an SRQ
 * @event: what it says
 * @context: the SRQ
 *
 * Context: any, also with the provider's locks held.
 */
void kdapl_srq_event(struct ib_event *event, void *context)
{
	struct dat_srq *srq = context;
	unsigned long flags;
	bool was = false;

	switch (event->event) {
	case IB_EVENT_SRQ_LIMIT_REACHED:
		spin_lock_irqsave(&srq->lock, flags);
		swap(was, srq->armed);
		spin_unlock_irqrestore(&srq->lock, flags);
		if (was)
			kdapl_srq_report_low(srq);
		break;
	case IB_EVENT_SRQ_ERR:
		spin_lock_irqsave(&srq->lock, flags);
		was = srq->error;
		srq->error = true;
		spin_unlock_irqrestore(&srq->lock, flags);
		if (!was)
			kdapl_async_post(srq->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN,
					 srq, DAT_SRQ_TRANSFER_TO_ERROR);
		break;
	default:
		break;
	}
}
