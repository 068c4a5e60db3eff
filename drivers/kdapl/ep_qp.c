// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the QP of an endpoint
 *
 * kdapl makes the QP itself and never gives it to the rdma_cm_id: rdma_cm moves
 * a QP that it owns to error before the DREQ leaves, and the peer's last send
 * dies with it. So the states are driven here, with the attributes that rdma_cm
 * computes.
 */
#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "async.h"
#include "cm.h"
#include "ep.h"
#include "evd.h"
#include "fault.h"
#include "ia.h"
#include "pz.h"
#include "queue.h"
#include "srq.h"

/* RNR NAK timer: 0.64 ms; ib_cm's 0 means 655 ms. */
#define EP_QP_MIN_RNR_TIMER	12

static int ep_qp_init(struct dat_ep *ep, struct ib_qp *qp)
{
	struct dat_ia *ia = ep->obj.ia;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = ia->port,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_READ,
	};
	int mask = IB_QP_STATE | IB_QP_PORT | IB_QP_ACCESS_FLAGS;

	if (!ia->iwarp)
		mask |= IB_QP_PKEY_INDEX;
	return kdapl_fault(KDAPL_FAULT_MODIFY) ?: ib_modify_qp(qp, &attr, mask);
}

static u32 ep_qp_max_recv_wr(const struct kdapl_ep_config *config)
{
	return config->srq ? 0 :
	       config->attr.max_recv_dtos + KDAPL_QUEUE_EXTRA_RECV;
}

/**
 * kdapl_ep_qp_create - make a QP and bring it to INIT, so that receives can be
 *	posted
 * @ep: the EP
 * @config: what the QP is to serve, complete
 * @req_evd: EVD whose CQ gets the requests' completions
 * @recv_evd: EVD whose CQ gets those of the receives
 * @out: the QP and its limits
 *
 * Room is left for segments of vmalloc memory, one entry a page, as far as the
 * device goes along.
 *
 * Context: process; sleeps; inside the IA's gate.
 * Return: 0 or the errno of the provider.
 */
int kdapl_ep_qp_create(struct dat_ep *ep, const struct kdapl_ep_config *config,
		       struct dat_evd *req_evd, struct dat_evd *recv_evd,
		       struct kdapl_ep_qp *out)
{
	struct dat_ia *ia = ep->obj.ia;
	const struct dat_ep_attr *attr = &config->attr;
	const struct ib_device_attr *dev = &ia->dev_attr;
	struct ib_qp_init_attr init = {
		.event_handler = kdapl_async_qp_event,
		.qp_context = ep,
		.send_cq = req_evd->cq,
		.recv_cq = recv_evd->cq,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = ia->port,
	};
	u32 send = min_t(u32, dev->max_send_sge, KDAPL_QUEUE_MAX_SGE);
	u32 recv = min_t(u32, dev->max_recv_sge, KDAPL_QUEUE_MAX_SGE);
	struct dat_srq *srq = config->srq;
	struct ib_qp *qp;
	int ret;

	might_sleep();

	if (srq) {
		init.srq = srq->srq;
		mutex_lock(&srq->mutex);
	}
	init.cap.max_send_wr = attr->max_request_dtos + KDAPL_QUEUE_EXTRA_SEND;
	init.cap.max_recv_wr = ep_qp_max_recv_wr(config);
	init.cap.max_send_sge = max(send, 1U);
	init.cap.max_recv_sge = srq ? 0 : max(recv, 1U);
	qp = ERR_PTR(kdapl_fault(KDAPL_FAULT_CREATE)) ?:
	     ib_create_qp(config->pz->pd, &init);
	if (IS_ERR(qp)) {
		/* Long lists may not fit into long queues. */
		init.cap.max_send_sge = max3(attr->max_request_iov,
					     attr->max_rdma_write_iov, 1);
		init.cap.max_recv_sge = srq ? 0 : max(attr->max_recv_iov, 1);
		init.cap.max_send_wr =
			attr->max_request_dtos + KDAPL_QUEUE_EXTRA_SEND;
		init.cap.max_recv_wr = ep_qp_max_recv_wr(config);
		qp = ERR_PTR(kdapl_fault(KDAPL_FAULT_CREATE)) ?:
		     ib_create_qp(config->pz->pd, &init);
	}
	if (srq)
		mutex_unlock(&srq->mutex);
	if (IS_ERR(qp))
		return PTR_ERR(qp);

	ret = ep_qp_init(ep, qp);
	if (ret) {
		ib_destroy_qp(qp);
		return ret;
	}
	out->qp = qp;
	out->max_sge_send = min_t(u32, init.cap.max_send_sge,
				  KDAPL_QUEUE_MAX_SGE);
	out->max_sge_recv = min_t(u32, init.cap.max_recv_sge,
				  KDAPL_QUEUE_MAX_SGE);
	return 0;
}

void kdapl_ep_qp_destroy(struct dat_ep *ep, struct ib_qp *qp)
{
	struct dat_srq *srq = ep->config.srq;
	int ret;

	ret = srq ? kdapl_srq_destroy_qp(srq, ep, qp) : ib_destroy_qp(qp);
	if (ret)
		pr_err("%s: ep %u: ib_destroy_qp failed: %d\n",
		       ep->obj.ia->name, ep->obj.id, ret);
}

static int ep_qp_modify(struct dat_ep *ep, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = 0;
	int ret;

	ret = kdapl_cm_ops->init_qp_attr(ep->id, &attr, &mask);
	if (ret)
		return ret;
	/* The CM knows what the peer asked for, not what we agreed to. */
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		attr.max_dest_rd_atomic = ep->rd_atomic_in;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		attr.max_rd_atomic = ep->rd_atomic_out;
	if (mask & IB_QP_MIN_RNR_TIMER)
		attr.min_rnr_timer = EP_QP_MIN_RNR_TIMER;
	return kdapl_fault(KDAPL_FAULT_MODIFY) ?:
	       ib_modify_qp(ep->qp, &attr, mask);
}

/**
 * kdapl_ep_qp_connect - bring the QP to RTS
 * @ep: the EP, whose id knows the peer
 *
 * INIT comes a second time, because only now the id knows pkey and access
 * flags. An iWARP provider moves the QP itself.
 *
 * Context: the EP's work.
 * Return: 0 or an errno.
 */
int kdapl_ep_qp_connect(struct dat_ep *ep)
{
	static const enum ib_qp_state states[] = {
		IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS,
	};
	unsigned int i;
	int ret;

	if (ep->obj.ia->iwarp) {
		ep->qp_past_init = true;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		ret = ep_qp_modify(ep, states[i]);
		if (ret)
			return ret;
		ep->qp_past_init = states[i] != IB_QPS_INIT;
	}
	return 0;
}

/**
 * kdapl_ep_qp_error - move the QP to error, where it flushes
 * @ep: the EP
 *
 * Context: the EP's work.
 * Return: 0 or the errno of the provider.
 */
int kdapl_ep_qp_error(struct dat_ep *ep)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ib_modify_qp(ep->qp, &attr, IB_QP_STATE);
}
