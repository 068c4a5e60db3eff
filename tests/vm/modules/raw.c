// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "raw.h"

enum {
	/* Of a QP that we drive: 0.64 ms, and 4 tries in 1.1 s. */
	APART_RNR_TIMER = 12,
	APART_ACK_TIMEOUT = 16,
	APART_RETRY = 3,
};

static const struct rdma_conn_param raw_param = {
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 6,
	.rnr_retry_count = 7,
};

static struct sockaddr_storage with_port(const struct sockaddr_storage *addr,
					 u16 port)
{
	struct sockaddr_storage out = *addr;

	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)&out)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)&out)->sin_port = htons(port);
	return out;
}

/* An iWARP provider moves the QP itself. */
static bool is_iwarp(struct raw *raw)
{
	return rdma_protocol_iwarp(raw->id->device, raw->id->port_num);
}

static int create_apart(struct raw *raw, struct ib_qp_init_attr *init)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = raw->id->port_num,
	};
	int mask = IB_QP_STATE | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	struct ib_qp *qp;

	qp = ib_create_qp(raw->pd, init);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	raw->qp = qp;
	if (!is_iwarp(raw))
		mask |= IB_QP_PKEY_INDEX;
	/* Receives can be posted from here on. */
	return ib_modify_qp(qp, &attr, mask);
}

/* To RTS, with what the id knows of the peer. */
static int connect_apart(struct raw *raw)
{
	static const enum ib_qp_state states[] = {
		IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS,
	};
	unsigned int i;
	int ret = 0;

	if (!raw->apart || is_iwarp(raw))
		return 0;
	for (i = 0; !ret && i < ARRAY_SIZE(states); i++) {
		struct ib_qp_attr attr = { .qp_state = states[i] };
		int mask = 0;

		ret = rdma_init_qp_attr(raw->id, &attr, &mask);
		if (ret)
			break;
		attr.min_rnr_timer = APART_RNR_TIMER;
		attr.timeout = APART_ACK_TIMEOUT;
		attr.retry_cnt = APART_RETRY;
		ret = ib_modify_qp(raw->qp, &attr, mask);
	}
	return ret;
}

static int create_qp(struct raw *raw)
{
	struct ib_device *dev = raw->id->device;
	struct ib_cq_init_attr cq_attr = { .cqe = raw->depth };
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = {
			.max_send_wr = raw->depth,
			.max_recv_wr = raw->depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ib_pd *pd;
	struct ib_cq *cq;
	int ret;

	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	raw->pd = pd;
	cq = ib_create_cq(dev, NULL, NULL, NULL, &cq_attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	raw->send_cq = cq;
	cq = ib_create_cq(dev, raw->comp, NULL, raw->comp_context, &cq_attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	raw->recv_cq = cq;
	attr.send_cq = raw->send_cq;
	attr.recv_cq = raw->recv_cq;
	if (raw->apart)
		return create_apart(raw, &attr);
	ret = rdma_create_qp(raw->id, pd, &attr);
	if (!ret)
		raw->qp = raw->id->qp;
	return ret;
}

static void destroy_qp(struct raw *raw)
{
	if (raw->qp && raw->apart)
		ib_destroy_qp(raw->qp);
	else if (raw->qp)
		rdma_destroy_qp(raw->id);
	raw->qp = NULL;
	/* rxe's destroy does not wait for a callback that is under way. */
	if (raw->recv_cq && raw->comp)
		msleep(50);
	if (raw->recv_cq)
		ib_destroy_cq(raw->recv_cq);
	if (raw->send_cq)
		ib_destroy_cq(raw->send_cq);
	if (raw->pd)
		ib_dealloc_pd(raw->pd);
	raw->recv_cq = NULL;
	raw->send_cq = NULL;
	raw->pd = NULL;
}

/* In the handler, so with the handler's mutex, as rdma_accept() wants it. */
static int take_request(struct raw *listener, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = raw_param;
	struct raw *child = listener->child;
	int ret;

	if (!child || child->id) {
		rdma_reject(id, listener->reject, listener->reject_len,
			    IB_CM_REJ_CONSUMER_DEFINED);
		return -ECONNREFUSED;
	}

	id->context = child;
	child->id = id;
	ret = create_qp(child);
	if (!ret && child->ready)
		ret = child->ready(child);
	if (!ret)
		ret = connect_apart(child);
	if (!ret) {
		param.qp_num = child->qp->qp_num;
		ret = rdma_accept(id, &param);
	}
	if (ret) {
		destroy_qp(child);
		child->id = NULL;
	}
	return ret;
}

/* The answer to a DREQ, or to one that crossed ours. */
static void answer_work(struct work_struct *work)
{
	struct raw *raw = container_of(to_delayed_work(work), struct raw,
				       answer);

	if (raw->last_words)
		raw->last_words(raw);
	rdma_disconnect(raw->id);
}

static void disconnected(struct raw *raw, struct rdma_cm_id *id)
{
	if (raw->dreq)
		raw->dreq(raw);
	if (raw->answer_ms)
		schedule_delayed_work(&raw->answer,
				      msecs_to_jiffies(raw->answer_ms));
	else
		rdma_disconnect(id);
}

/* The id does not own the QP, so it leaves the rest of connecting to us. */
static int connect_response(struct raw *raw)
{
	int ret;

	ret = connect_apart(raw);
	return ret ? ret : rdma_accept(raw->id, NULL);
}

/* A status other than 0 has the id destroyed: only for refused children. */
static int handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	enum rdma_cm_event_type what = event->event;
	struct raw *raw = id->context;
	int ret = 0;

	if (what == RDMA_CM_EVENT_CONNECT_REQUEST)
		ret = take_request(raw, id);
	if (what == RDMA_CM_EVENT_CONNECT_RESPONSE)
		what = connect_response(raw) ? RDMA_CM_EVENT_CONNECT_ERROR :
					       RDMA_CM_EVENT_ESTABLISHED;
	if (what == RDMA_CM_EVENT_DISCONNECTED)
		disconnected(raw, id);

	raw->status = event->status;
	raw->pdata_len = min_t(int, event->param.conn.private_data_len,
			       RAW_PDATA);
	if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED ||
	    event->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		raw->pdata_len = 0;
	memcpy(raw->pdata, event->param.conn.private_data, raw->pdata_len);
	/* Pairs with raw_wait(): what was noted goes with the event. */
	smp_store_release(&raw->event, what);
	wake_up(&raw->wait);
	return ret;
}

void raw_init(struct raw *raw)
{
	memset(raw, 0, sizeof(*raw));
	raw->event = -1;
	raw->depth = 64;
	init_waitqueue_head(&raw->wait);
	INIT_DELAYED_WORK(&raw->answer, answer_work);
}

static bool raw_failed(int event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		return true;
	default:
		return false;
	}
}

static bool raw_is(struct raw *raw, enum rdma_cm_event_type event, int *got)
{
	/* Pairs with handler(). */
	*got = smp_load_acquire(&raw->event);
	return *got == (int)event || raw_failed(*got);
}

/**
 * raw_wait() - until an event has come
 * @raw: where
 * @event: which one
 * @ms: so long at most
 *
 * Return: 0; -ETIMEDOUT; -EPROTO if another end of it all came instead.
 */
int raw_wait(struct raw *raw, enum rdma_cm_event_type event, unsigned int ms)
{
	int got;

	wait_event_idle_timeout(raw->wait,
				raw_is(raw, event, &got),
				msecs_to_jiffies(ms));
	if (got == (int)event)
		return 0;
	return raw_failed(got) ? -EPROTO : -ETIMEDOUT;
}

int raw_listen(struct raw *raw, const struct sockaddr_storage *addr, u16 port)
{
	struct sockaddr_storage to = with_port(addr, port);
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, handler, raw, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	raw->id = id;
	ret = rdma_bind_addr(id, (struct sockaddr *)&to);
	if (!ret)
		ret = rdma_listen(id, 16);
	if (ret)
		raw_close(raw);
	return ret;
}

/* Sends a request; raw_wait() tells what became of it. */
int raw_connect(struct raw *raw, const struct sockaddr_storage *from,
		const struct sockaddr_storage *to, u16 port, const void *pdata,
		u8 len)
{
	struct sockaddr_storage src = with_port(from, 0);
	struct sockaddr_storage dst = with_port(to, port);
	struct rdma_conn_param param = raw_param;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, handler, raw, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	raw->id = id;
	ret = rdma_resolve_addr(id, (struct sockaddr *)&src,
				(struct sockaddr *)&dst, 2000);
	if (!ret)
		ret = raw_wait(raw, RDMA_CM_EVENT_ADDR_RESOLVED, 3000);
	if (!ret)
		ret = rdma_resolve_route(id, 2000);
	if (!ret)
		ret = raw_wait(raw, RDMA_CM_EVENT_ROUTE_RESOLVED, 3000);
	if (!ret)
		ret = create_qp(raw);
	if (!ret && raw->ready)
		ret = raw->ready(raw);
	if (!ret) {
		param.private_data = pdata;
		param.private_data_len = len;
		param.qp_num = raw->qp->qp_num;
		ret = rdma_connect(id, &param);
	}
	if (ret)
		raw_close(raw);
	return ret;
}

void raw_close(struct raw *raw)
{
	if (!raw->id)
		return;
	/* From here on no handler leaves anything to the work. */
	rdma_lock_handler(raw->id);
	raw->answer_ms = 0;
	rdma_unlock_handler(raw->id);
	cancel_delayed_work_sync(&raw->answer);

	rdma_disconnect(raw->id);
	if (!raw->apart)
		destroy_qp(raw);
	/* iw_cm has a reference on the QP that goes with the id. */
	rdma_destroy_id(raw->id);
	if (raw->apart)
		destroy_qp(raw);
	raw->id = NULL;
}
