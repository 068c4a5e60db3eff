// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: what an endpoint takes from others
 *
 * A protection zone, EVDs as one of their feeders, ring slots and CQ entries in
 * them, contexts for its requests, and a QP. dat_ep_create() and
 * dat_ep_modify() get all of a new configuration before they give up anything
 * of the old one, so a failure leaves the EP as it was.
 */
#include <linux/mutex.h>
#include <linux/slab.h>

#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "ia.h"
#include "kunit.h"
#include "pz.h"
#include "queue.h"
#include "srq.h"

/*
 * Guards dto_type and dto_streams of all EVDs. Changed when EPs are configured,
 * never on a data path.
 */
static DEFINE_MUTEX(res_type_lock);

/* An EVD as the CQ of one direction. */
struct res_share {
	struct dat_evd *evd;
	u32 slots;
	u32 cqes;
};

struct res_shares {
	struct res_share req;
	struct res_share recv;
};

static void res_shares(const struct kdapl_ep_config *config,
		       struct dat_evd *hidden, struct res_shares *shares)
{
	const struct dat_ep_attr *attr = &config->attr;
	struct dat_evd *recv = config->recv_evd;
	struct dat_evd *req = config->request_evd;

	shares->req.evd = req ?: recv ?: hidden;
	shares->req.slots = attr->max_request_dtos;
	shares->req.cqes = attr->max_request_dtos + KDAPL_QUEUE_EXTRA_SEND;
	shares->recv.evd = recv ?: req ?: hidden;
	/* Those of an SRQ are its own affair. */
	shares->recv.slots = config->srq ? 0 : attr->max_recv_dtos;
	shares->recv.cqes = config->srq ? 0 : attr->max_recv_dtos +
						KDAPL_QUEUE_EXTRA_RECV;
}

/* What @new takes beyond @old: none of it if @old is larger. */
static struct res_share res_share_more(const struct res_share *new,
				       const struct res_share *old)
{
	struct res_share more = *new;

	if (new->evd == old->evd) {
		more.slots -= min(new->slots, old->slots);
		more.cqes -= min(new->cqes, old->cqes);
	}
	return more;
}

static int res_reserve(const struct res_share *new, const struct res_share *old)
{
	struct res_share more = res_share_more(new, old);

	return more.evd ? kdapl_evd_reserve(more.evd, more.slots, more.cqes) :
			  0;
}

/* Gives back what @old has beyond @new. */
static void res_unreserve(const struct res_share *old,
			  const struct res_share *new)
{
	struct res_share more = res_share_more(old, new);

	if (more.evd)
		kdapl_evd_unreserve(more.evd, more.slots, more.cqes);
}

static enum dat_completion_flags res_type(enum dat_completion_flags flags)
{
	return flags & (DAT_COMPLETION_UNSIGNALLED_FLAG |
			DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

static int res_type_join(struct dat_evd *evd, enum dat_completion_flags flags,
			 bool force)
{
	enum dat_completion_flags type = res_type(flags);

	if (!evd)
		return 0;
	/* Completions that do not notify mix with nothing that does. */
	if (type && evd->flags & ~(KDAPL_EVD_CQ_STREAMS |
				   DAT_EVD_UPCALL_THREAD_FLAG))
		return -EINVAL;
	if (evd->dto_streams && evd->dto_type != type && !force)
		return -EINVAL;
	evd->dto_type = type;
	evd->dto_streams++;
	return 0;
}

static void res_type_leave(struct dat_evd *evd)
{
	if (evd)
		evd->dto_streams--;
}

static int res_types_change(const struct kdapl_ep_config *old,
			    const struct kdapl_ep_config *new, bool force)
{
	int ret;

	mutex_lock(&res_type_lock);
	res_type_leave(old->recv_evd);
	res_type_leave(old->request_evd);
	ret = res_type_join(new->recv_evd, new->attr.recv_completion_flags,
			    force);
	if (ret)
		goto out_rejoin;
	ret = res_type_join(new->request_evd,
			    new->attr.request_completion_flags, force);
	if (ret)
		goto out_leave;
	mutex_unlock(&res_type_lock);
	return 0;

out_leave:
	res_type_leave(new->recv_evd);
out_rejoin:
	res_type_join(old->recv_evd, old->attr.recv_completion_flags, true);
	res_type_join(old->request_evd, old->attr.request_completion_flags,
		      true);
	mutex_unlock(&res_type_lock);
	return ret;
}

static int res_feeder_get(struct dat_evd *evd, struct dat_ia *ia,
			  enum dat_evd_flags stream)
{
	return evd ? kdapl_evd_get_feeder(evd, ia, stream) : 0;
}

static void res_feeder_put(struct dat_evd *evd)
{
	if (evd)
		kdapl_evd_put_feeder(evd);
}

static int res_handles_get(struct dat_ia *ia,
			   const struct kdapl_ep_config *config)
{
	int ret;

	ret = res_feeder_get(config->recv_evd, ia, DAT_EVD_DTO_FLAG);
	if (ret)
		return ret;
	ret = res_feeder_get(config->request_evd, ia, DAT_EVD_DTO_FLAG);
	if (ret)
		goto out_put_recv;
	ret = res_feeder_get(config->connect_evd, ia, DAT_EVD_CONNECTION_FLAG);
	if (ret)
		goto out_put_request;
	if (config->pz) {
		ret = kdapl_pz_get_user(config->pz, ia);
		if (ret)
			goto out_put_connect;
	}
	if (config->srq) {
		ret = kdapl_srq_get_user(config->srq, ia, config->recv_evd);
		if (ret)
			goto out_put_pz;
	}
	return 0;

out_put_pz:
	if (config->pz)
		kdapl_pz_put_user(config->pz);
out_put_connect:
	res_feeder_put(config->connect_evd);
out_put_request:
	res_feeder_put(config->request_evd);
out_put_recv:
	res_feeder_put(config->recv_evd);
	return ret;
}

static void res_handles_put(const struct kdapl_ep_config *config)
{
	if (config->srq)
		kdapl_srq_put_user(config->srq, config->recv_evd);
	if (config->pz)
		kdapl_pz_put_user(config->pz);
	res_feeder_put(config->connect_evd);
	res_feeder_put(config->request_evd);
	res_feeder_put(config->recv_evd);
}

/* Puts new contexts into the place of old ones, of which none is in use. */
static void res_queue_replace(struct kdapl_queue *queue,
			      struct kdapl_queue *new)
{
	unsigned long flags;
	u32 i;

	for (i = 0; i <= new->mask; i++)
		new->wr[i].queue = queue;

	spin_lock_irqsave(&queue->post_lock, flags);
	queue->evd = new->evd;
	swap(queue->wr, new->wr);
	swap(queue->sge, new->sge);
	queue->mask = new->mask;
	queue->depth = new->depth;
	queue->head = 0;
	queue->tail = 0;
	queue->posted = 0;
	queue->released = 0;
	queue->suppressed = 0;
	spin_unlock_irqrestore(&queue->post_lock, flags);
}

static bool res_queue_used(struct kdapl_queue *queue)
{
	return kdapl_queue_outstanding(queue) ||
	       queue->posted != READ_ONCE(queue->released);
}

static bool res_qp_changes(struct dat_ep *ep,
			   const struct kdapl_ep_config *old,
			   const struct kdapl_ep_config *new)
{
	return !ep->qp || old->pz != new->pz ||
	       old->recv_evd != new->recv_evd ||
	       old->request_evd != new->request_evd ||
	       old->attr.max_recv_dtos != new->attr.max_recv_dtos ||
	       old->attr.max_request_dtos != new->attr.max_request_dtos ||
	       old->attr.max_recv_iov != new->attr.max_recv_iov ||
	       old->attr.max_request_iov != new->attr.max_request_iov ||
	       old->attr.max_rdma_write_iov != new->attr.max_rdma_write_iov;
}

/* Inside the IA's gate, or after removal has taken the CQ. */
static void res_hidden_put(struct dat_evd *evd)
{
	if (!evd)
		return;
	/* No consumer, no upcall: nothing to tear down but the CQ. */
	kdapl_evd_remove_device(evd);
	kdapl_obj_put(&evd->obj);
}

static void res_set_shut(struct dat_ep *ep, bool shut)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	ep->shut = shut;
	kdapl_ep_set_gates(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
}

/*
 * Shuts the EP to posts while its queues change hands; it is not connected. But a
 * service point may still change its state.
 */
static int res_shut(struct dat_ep *ep)
{
	res_set_shut(ep, true);
	if (!res_queue_used(&ep->recv) && !res_queue_used(&ep->req))
		return 0;
	res_set_shut(ep, false);
	return -EBUSY;
}

/**
 * kdapl_ep_res_change - give an EP another configuration
 * @ep: the EP, in a state that allows it, or new and empty
 * @config: checked
 *
 * Context: process; sleeps; inside the IA's gate, under ep->call_lock.
 * Return: 0; -EINVAL: a handle of another IA, an EVD without the stream or with
 * another type of completions; -ENOSPC: an EVD is too small; -EBUSY: receives
 * are posted, or events of the EP queued; -ENOMEM; errnos of the provider.
 */
int kdapl_ep_res_change(struct dat_ep *ep, const struct kdapl_ep_config *config)
{
	struct dat_ia *ia = ep->obj.ia;
	struct dat_evd *hidden = ep->hidden_evd;
	const struct kdapl_ep_config old = ep->config;
	struct kdapl_queue recv = { }, req = { };
	struct res_shares mine, have;
	struct kdapl_ep_qp qp = { };
	struct ib_qp *old_qp = NULL;
	bool remake, need_hidden;
	unsigned long flags;
	int ret;

	kdapl_queue_setup(&req, ep, true);
	kdapl_queue_setup(&recv, ep, false);
	remake = res_qp_changes(ep, &old, config);
	need_hidden = config->pz && !config->recv_evd && !config->request_evd;
	if (config->connect_evd != old.connect_evd &&
	    (READ_ONCE(ep->conn_queued) || READ_ONCE(ep->conn_claimed)))
		return -EBUSY;

	ret = res_handles_get(ia, config);
	if (ret)
		return ret;
	ret = res_types_change(&old, config, false);
	if (ret)
		goto out_put_handles;

	if (need_hidden && !hidden) {
		ret = kdapl_evd_create(ia, KDAPL_QUEUE_EXTRA_SEND +
				       KDAPL_QUEUE_EXTRA_RECV,
				       DAT_UPCALL_DISABLE, NULL,
				       DAT_EVD_DTO_FLAG, true, &hidden);
		if (ret)
			goto out_types;
	}
	res_shares(&old, ep->hidden_evd, &have);
	res_shares(config, need_hidden ? hidden : NULL, &mine);
	if (!remake)
		goto commit;

	ret = res_shut(ep);
	if (ret)
		goto out_hidden;
	ret = res_reserve(&mine.req, &have.req);
	if (ret)
		goto out_open;
	ret = res_reserve(&mine.recv, &have.recv);
	if (ret)
		goto out_unreserve_req;
	ret = kdapl_queue_init(&req, mine.req.evd,
			       config->attr.max_request_dtos);
	if (ret)
		goto out_unreserve_recv;
	ret = kdapl_queue_init(&recv, mine.recv.evd, mine.recv.slots);
	if (ret)
		goto out_free_req;
	if (config->pz) {
		ret = kdapl_ep_qp_create(ep, config, mine.req.evd,
					 mine.recv.evd, &qp);
		if (ret)
			goto out_free_recv;
	}
	res_queue_replace(&ep->req, &req);
	res_queue_replace(&ep->recv, &recv);
	kdapl_queue_free(&req);
	kdapl_queue_free(&recv);

commit:
	spin_lock_irqsave(&ep->lock, flags);
	ep->config = *config;
	if (remake) {
		old_qp = ep->qp;
		ep->qp = qp.qp;
		ep->max_sge_send = qp.max_sge_send;
		ep->max_sge_recv = qp.max_sge_recv;
		ep->shut = false;
	}
	kdapl_ep_set_gates(ep);
	spin_unlock_irqrestore(&ep->lock, flags);

	if (old_qp)
		kdapl_ep_qp_destroy(ep, old_qp);
	if (remake && ep->qp && config->srq)
		kdapl_srq_add_qp(config->srq, ep);
	if (remake) {
		res_unreserve(&have.req, &mine.req);
		res_unreserve(&have.recv, &mine.recv);
	}
	swap(ep->hidden_evd, hidden);
	if (!need_hidden) {
		res_hidden_put(ep->hidden_evd);
		ep->hidden_evd = NULL;
	}
	res_handles_put(&old);
	return 0;

out_free_recv:
	kdapl_queue_free(&recv);
out_free_req:
	kdapl_queue_free(&req);
out_unreserve_recv:
	res_unreserve(&mine.recv, &have.recv);
out_unreserve_req:
	res_unreserve(&mine.req, &have.req);
out_open:
	res_set_shut(ep, false);
out_hidden:
	if (hidden != ep->hidden_evd)
		res_hidden_put(hidden);
out_types:
	res_types_change(config, &old, true);
out_put_handles:
	res_handles_put(config);
	return ret;
}

/**
 * kdapl_ep_res_put - give everything back
 * @ep: the EP, without QP and id, its work done
 *
 * Queued events that name the EP are forgotten first.
 *
 * Context: process; sleeps; inside the IA's gate, or after removal.
 */
void kdapl_ep_res_put(struct dat_ep *ep)
{
	static const struct kdapl_ep_config none;
	const struct kdapl_ep_config old = ep->config;
	struct res_shares have;
	unsigned long flags;

	res_shares(&old, ep->hidden_evd, &have);

	if (have.recv.evd)
		kdapl_evd_purge(have.recv.evd, &ep->recv);
	if (have.req.evd)
		kdapl_evd_purge(have.req.evd, &ep->req);
	if (old.connect_evd) {
		kdapl_evd_purge(old.connect_evd, ep);
		kdapl_evd_unclaim_conn(old.connect_evd, ep);
	}
	if (have.req.evd)
		kdapl_evd_unreserve(have.req.evd, have.req.slots,
				    have.req.cqes);
	if (have.recv.evd)
		kdapl_evd_unreserve(have.recv.evd, have.recv.slots,
				    have.recv.cqes);
	kdapl_queue_free(&ep->req);
	kdapl_queue_free(&ep->recv);
	res_hidden_put(ep->hidden_evd);
	ep->hidden_evd = NULL;
	res_types_change(&old, &none, true);
	/* Those who look under the lock see EVDs that the EP still feeds. */
	spin_lock_irqsave(&ep->lock, flags);
	ep->config = none;
	spin_unlock_irqrestore(&ep->lock, flags);
	res_handles_put(&old);
}
