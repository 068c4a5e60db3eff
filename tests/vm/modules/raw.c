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
	return rdma_create_qp(raw->id, pd, &attr);
}

static void destroy_qp(struct raw *raw)
{
	if (raw->id && raw->id->qp)
		rdma_destroy_qp(raw->id);
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
		ret = rdma_accept(id, &param);
	if (ret) {
		destroy_qp(child);
		child->id = NULL;
	}
	return ret;
}

/* A status other than 0 has the id destroyed: only for refused children. */
static int handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct raw *raw = id->context;
	int ret = 0;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		ret = take_request(raw, id);
	if (event->event == RDMA_CM_EVENT_DISCONNECTED)
		rdma_disconnect(id);

	raw->status = event->status;
	raw->pdata_len = min_t(int, event->param.conn.private_data_len,
			       RAW_PDATA);
	if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED ||
	    event->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		raw->pdata_len = 0;
	memcpy(raw->pdata, event->param.conn.private_data, raw->pdata_len);
	/* Pairs with raw_wait(): what was noted goes with the event. */
	smp_store_release(&raw->event, event->event);
	wake_up(&raw->wait);
	return ret;
}

void raw_init(struct raw *raw)
{
	memset(raw, 0, sizeof(*raw));
	raw->event = -1;
	raw->depth = 64;
	init_waitqueue_head(&raw->wait);
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
		ret = rdma_connect(id, &param);
	}
	if (ret)
		raw_close(raw);
	return ret;
}

/* The id goes first: no handler runs after it, and it refers to the QP. */
void raw_close(struct raw *raw)
{
	if (!raw->id)
		return;
	rdma_disconnect(raw->id);
	destroy_qp(raw);
	rdma_destroy_id(raw->id);
	raw->id = NULL;
}
