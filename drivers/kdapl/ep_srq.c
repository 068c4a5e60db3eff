// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: endpoints whose receives come from an SRQ
 *
 * Such an EP holds a buffer from its completion until the event was dequeued.
 * What is said of those that a message is just filling nobody knows but the
 * provider, and it does not tell.
 */
#include <linux/export.h>
#include <linux/mutex.h>

#include <dat/kdat.h>

#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "ia.h"
#include "srq.h"

/* Under call_lock, or of an EP that nobody knows yet. */
static void ep_srq_set_watermarks(struct dat_ep *ep, int soft, int hard)
{
	struct dat_evd *evd = ep->config.recv_evd;
	struct kdapl_queue *queue = &ep->recv;
	bool soft_now, hard_now;
	u32 held;

	spin_lock_irq(&evd->lock);
	held = queue->posted - queue->released;
	/* DAT_WATERMARK_INFINITE becomes KDAPL_EP_NO_WATERMARK. */
	ep->srq_soft = soft;
	ep->srq_hard = hard;
	soft_now = held > ep->srq_soft;
	hard_now = held > ep->srq_hard;
	if (soft_now)
		ep->srq_soft = KDAPL_EP_NO_WATERMARK;
	spin_unlock_irq(&evd->lock);

	if (soft_now)
		kdapl_ep_kick(ep, KDAPL_EP_TODO_WATERMARK);
	if (hard_now)
		kdapl_ep_kick(ep, KDAPL_EP_TODO_BROKEN);
}

/**
 * dat_ep_create_with_srq - create an endpoint that receives from an SRQ
 * @ia: the IA
 * @pz: the protection zone of @srq
 * @recv_evd: EVD with the DTO stream, for receives
 * @request_evd: as for dat_ep_create()
 * @connect_evd: as for dat_ep_create()
 * @srq: the SRQ, for the whole life of the EP
 * @attr: as for dat_ep_create(), not NULL; max_recv_iov is ignored,
 *	max_recv_dtos and srq_soft_hw are the hard and the soft watermark of
 *	dat_ep_set_watermark()
 * @ep: OUT: the EP, UNCONNECTED
 *
 * dat_ep_post_recv() is refused; the completions of its receives always notify.
 * The first EP of the SRQ to use @recv_evd reserves a slot of it for each buffer
 * of the SRQ. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: as dat_ep_create(); -EINVAL also: no @pz, @recv_evd, @srq or @attr, an
 * SRQ of another IA or PZ, recv_completion_flags, max_recv_dtos 0.
 */
int dat_ep_create_with_srq(struct dat_ia *ia, struct dat_pz *pz,
			   struct dat_evd *recv_evd,
			   struct dat_evd *request_evd,
			   struct dat_evd *connect_evd, struct dat_srq *srq,
			   const struct dat_ep_attr *attr, struct dat_ep **ep)
{
	struct kdapl_ep_config config = {
		.pz = pz,
		.recv_evd = recv_evd,
		.request_evd = request_evd,
		.connect_evd = connect_evd,
		.srq = srq,
	};
	struct dat_ep *new;
	int ret;

	might_sleep();

	if (!ia || !pz || !recv_evd || !srq || !attr || !ep ||
	    attr->recv_completion_flags || !attr->max_recv_dtos)
		return -EINVAL;
	config.attr = *attr;
	config.attr.max_recv_iov = srq->max_iov;
	ret = kdapl_ep_create(ia, &config, &new);
	if (ret)
		return ret;
	ep_srq_set_watermarks(new, attr->srq_soft_hw, attr->max_recv_dtos);
	*ep = new;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ep_create_with_srq);

/**
 * dat_ep_recv_query - receive buffers that an endpoint holds at this moment
 * @ep: the EP
 * @nbufs_allocated: OUT: buffers posted, or taken from its SRQ, whose events
 *	were not dequeued; may be NULL
 * @bufs_alloc_span: OUT: how far they are spread over the queue: no farther,
 *	since messages take them in order; may be NULL
 *
 * A buffer of an SRQ that a message is just filling is not counted yet.
 * Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0, or -EINVAL: @ep is NULL.
 */
int dat_ep_recv_query(struct dat_ep *ep, int *nbufs_allocated,
		      int *bufs_alloc_span)
{
	struct kdapl_queue *queue;
	u32 released, held;

	if (!ep)
		return -EINVAL;
	queue = &ep->recv;
	released = READ_ONCE(queue->released);
	/* Pairs with the order of post and release: never less than none. */
	smp_rmb();
	held = READ_ONCE(queue->posted) - released;
	if (nbufs_allocated)
		*nbufs_allocated = held;
	if (bufs_alloc_span)
		*bufs_alloc_span = held;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ep_recv_query);

/**
 * dat_ep_set_watermark - be told when an endpoint holds many buffers of its SRQ
 * @ep: the EP, with an SRQ, in any state
 * @soft_high_watermark: holding more than that makes one event on the async EVD,
 *	%DAT_ASYNC_ERROR_EP_BROKEN with %DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT as its
 *	reason; %DAT_WATERMARK_INFINITE: never
 * @hard_high_watermark: holding more than that breaks the connection;
 *	%DAT_WATERMARK_INFINITE: never
 *
 * Either can happen at once. The next event takes another call. Buffers count as
 * for dat_ep_recv_query(). Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, negative values; -EOPNOTSUPP: the EP has no SRQ.
 */
int dat_ep_set_watermark(struct dat_ep *ep, int soft_high_watermark,
			 int hard_high_watermark)
{
	might_sleep();

	if (!ep || soft_high_watermark < DAT_WATERMARK_INFINITE ||
	    hard_high_watermark < DAT_WATERMARK_INFINITE)
		return -EINVAL;
	if (!ep->config.srq)
		return -EOPNOTSUPP;
	/* As in dat_ep_connect(): the hard one may end the connection. */
	kdapl_obj_get(&ep->obj);
	mutex_lock(&ep->call_lock);
	ep->config.attr.srq_soft_hw = soft_high_watermark;
	ep->config.attr.max_recv_dtos = hard_high_watermark;
	ep_srq_set_watermarks(ep, soft_high_watermark, hard_high_watermark);
	mutex_unlock(&ep->call_lock);
	kdapl_obj_put(&ep->obj);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ep_set_watermark);
