// SPDX-License-Identifier: GPL-2.0
/* The fake connection manager: the calls that kdapl makes. */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../../drivers/kdapl/cm.h"
#include "fake_cm_priv.h"
#include "fake_priv.h"

static u16 fake_next_port = 40000;

static struct rdma_cm_id *cm_create_id(struct net *net,
				       rdma_cm_event_handler handler,
				       void *context,
				       enum rdma_ucm_port_space ps,
				       enum ib_qp_type qp_type)
{
	struct fake_id *id;
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_CREATE_ID);
	if (ret)
		return ERR_PTR(ret);
	id = fake_id_new(handler, context, ps);
	if (!id)
		return ERR_PTR(-ENOMEM);
	fake_cm_done(FAKE_CM_CREATE_ID, NULL, NULL, 0, 0);
	return &id->id;
}

static void cm_destroy_id(struct rdma_cm_id *cm_id)
{
	struct fake_id *id = to_fake_id(cm_id);

	might_sleep();
	fake_cm_done(FAKE_CM_DESTROY_ID, NULL, NULL, 0, 0);
	fake_cm_destroying(1);
	if (fake_cm_script.destroy_us)
		usleep_range(fake_cm_script.destroy_us,
			     2 * fake_cm_script.destroy_us);
	while (READ_ONCE(fake_cm_script.hold_destroy))
		usleep_range(200, 1000);
	fake_cm_destroying(-1);
	fake_id_unlink(id);
	/* No handler runs from here on, and none is running behind this: */
	cancel_work_sync(&id->work);
	mutex_lock(&id->handler_mutex);
	mutex_unlock(&id->handler_mutex);
	atomic_dec(&fake_live[FAKE_ID]);
	fake_id_put(id);
}

static bool cm_is_any(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return ipv6_addr_any(&((struct sockaddr_in6 *)addr)->sin6_addr);
	return !((struct sockaddr_in *)addr)->sin_addr.s_addr;
}

static bool cm_is_ours(const struct sockaddr *addr)
{
	const struct in6_addr ip6 = FAKE_IP6;

	if (addr->sa_family == AF_INET6)
		return ipv6_addr_equal(&((struct sockaddr_in6 *)addr)->sin6_addr,
				       &ip6);
	return ((struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(FAKE_IP4);
}

static void cm_set_port(struct sockaddr_storage *addr, u16 port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static size_t cm_addr_size(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

/* Gives the id its source; under the port's rules of rdma_bind_addr(). */
static int cm_take_source(struct fake_id *id, const struct sockaddr *addr)
{
	struct sockaddr_storage *src = &id->id.route.addr.src_addr;
	struct ib_device *ibdev = fake_hca_ibdev();
	unsigned long flags;
	int ret = 0;
	u16 port;

	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (!cm_is_any(addr) && (!cm_is_ours(addr) || !ibdev))
		return -EADDRNOTAVAIL;

	spin_lock_irqsave(&fake_cm_lock, flags);
	memcpy(src, addr, cm_addr_size(addr));
	port = fake_id_port(src);
	if (!port) {
		if (++fake_next_port < 40000)
			fake_next_port = 40000;
		cm_set_port(src, fake_next_port);
	} else if (fake_id_listener_locked(port)) {
		memset(src, 0, sizeof(*src));
		ret = -EADDRINUSE;
	}
	if (!ret && !cm_is_any(addr)) {
		id->id.device = ibdev;
		id->id.port_num = fake_cm_script.second_port &&
				  addr->sa_family == AF_INET6 ? 2 : 1;
	}
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return ret;
}

static int cm_bind_addr(struct rdma_cm_id *cm_id, struct sockaddr *addr)
{
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_BIND_ADDR);
	if (!ret)
		ret = cm_take_source(to_fake_id(cm_id), addr);
	if (!ret)
		fake_cm_done(FAKE_CM_BIND_ADDR, NULL, NULL, 0, 0);
	return ret;
}

static int cm_listen(struct rdma_cm_id *cm_id, int backlog)
{
	struct fake_id *id = to_fake_id(cm_id);
	unsigned long flags;
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_LISTEN);
	if (ret)
		return ret;
	spin_lock_irqsave(&fake_cm_lock, flags);
	if (!cm_id->route.addr.src_addr.ss_family)
		ret = -EINVAL;
	else if (fake_id_listener_locked(fake_id_port(&cm_id->route.addr.src_addr)))
		ret = -EADDRINUSE;
	else
		id->listening = true;
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	if (ret)
		return ret;
	fake_cm_done(FAKE_CM_LISTEN, NULL, NULL, 0, backlog);
	if (fake_cm_script.in_listen)
		fake_cm_script.in_listen(cm_id, fake_cm_script.in_listen_ctx);
	return 0;
}

static void cm_answer(struct fake_id *id, enum rdma_cm_event_type type)
{
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	fake_cm_queue_locked(id, type, 0, NULL, NULL);
	spin_unlock_irqrestore(&fake_cm_lock, flags);
}

static int cm_resolve_addr(struct rdma_cm_id *cm_id, struct sockaddr *src_addr,
			   const struct sockaddr *dst_addr,
			   unsigned long timeout_ms)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(FAKE_IP4),
	};
	struct fake_id *id = to_fake_id(cm_id);
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_RESOLVE_ADDR);
	if (ret)
		return ret;
	if (!cm_id->device) {
		ret = cm_take_source(id, src_addr ?: (struct sockaddr *)&any);
		if (ret)
			return ret;
	}
	memcpy(&cm_id->route.addr.dst_addr, dst_addr, cm_addr_size(dst_addr));
	fake_cm_done(FAKE_CM_RESOLVE_ADDR, NULL, NULL, 0, 0);
	if (!fake_cm_script.no_resolve)
		cm_answer(id, RDMA_CM_EVENT_ADDR_RESOLVED);
	return 0;
}

static int cm_resolve_route(struct rdma_cm_id *cm_id, unsigned long timeout_ms)
{
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_RESOLVE_ROUTE);
	if (ret)
		return ret;
	fake_cm_done(FAKE_CM_RESOLVE_ROUTE, NULL, NULL, 0, 0);
	if (!fake_cm_script.no_resolve)
		cm_answer(to_fake_id(cm_id), RDMA_CM_EVENT_ROUTE_RESOLVED);
	return 0;
}

static int cm_connect(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct fake_id *listener, *id = to_fake_id(cm_id);
	/* A test that has seen the call counted may change the script. */
	bool heard = !READ_ONCE(fake_cm_script.no_connect);
	unsigned long flags;
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_CONNECT);
	if (ret)
		return ret;
	if (rdma_ib_or_roce(cm_id->device, 1) && param->private_data_len > 56)
		return -EINVAL;
	fake_cm_done(FAKE_CM_CONNECT, param, param->private_data,
		     param->private_data_len, 0);
	while (READ_ONCE(fake_cm_script.hold_connect))
		usleep_range(200, 1000);

	spin_lock_irqsave(&fake_cm_lock, flags);
	id->mine = *param;
	id->mine.private_data = NULL;
	if (heard) {
		listener = fake_id_listener_locked(fake_id_port(&cm_id->route.addr.dst_addr));
		if (listener)
			fake_cm_queue_locked(listener,
					     RDMA_CM_EVENT_CONNECT_REQUEST, 0,
					     param, id);
		else
			fake_cm_queue_locked(id, RDMA_CM_EVENT_REJECTED,
					     IB_CM_REJ_INVALID_SERVICE_ID, NULL,
					     NULL);
	}
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return 0;
}

static void cm_established_locked(struct fake_id *id, struct fake_id *peer)
{
	id->connected = true;
	peer->connected = true;
	fake_cm_queue_locked(peer, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, NULL);
}

/* On iWARP the device connects the QPs itself, before anybody hears of it. */
static void cm_connect_qps(struct fake_id *id, u32 qp_num)
{
	unsigned long flags;
	u32 other = 0;

	spin_lock_irqsave(&fake_cm_lock, flags);
	if (id->peer && !fake_cm_script.no_connect)
		other = id->peer->mine.qp_num;
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	if (other)
		fake_qp_connect(qp_num, other);
}

static int cm_accept(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct fake_id *peer, *id = to_fake_id(cm_id);
	bool iwarp = rdma_protocol_iwarp(cm_id->device, 1);
	unsigned long flags;
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_ACCEPT);
	if (ret)
		return ret;
	mutex_lock(&id->handler_mutex);
	fake_cm_done(FAKE_CM_ACCEPT, param, param ? param->private_data : NULL,
		     param ? param->private_data_len : 0, 0);
	if (iwarp && param)
		cm_connect_qps(id, param->qp_num);
	spin_lock_irqsave(&fake_cm_lock, flags);
	peer = id->peer;
	id->answered = true;
	if (param) {
		id->mine = *param;
		id->mine.private_data = NULL;
	}
	if (!peer || fake_cm_script.no_connect)
		goto out_unlock;
	if (param) {
		peer->theirs = *param;
		peer->theirs.responder_resources = param->initiator_depth;
		peer->theirs.initiator_depth = param->responder_resources;
		fake_cm_queue_locked(peer, iwarp ?
				     RDMA_CM_EVENT_ESTABLISHED :
				     RDMA_CM_EVENT_CONNECT_RESPONSE, 0, param,
				     NULL);
		if (iwarp)
			cm_established_locked(peer, id);
	} else {
		cm_established_locked(id, peer);
	}
out_unlock:
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	mutex_unlock(&id->handler_mutex);
	return 0;
}

static int cm_reject(struct rdma_cm_id *cm_id, const void *private_data,
		     u8 private_data_len, u8 reason)
{
	struct rdma_conn_param param = {
		.private_data = private_data,
		.private_data_len = private_data_len,
	};
	struct fake_id *id = to_fake_id(cm_id);
	unsigned long flags;
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_REJECT);
	if (ret)
		return ret;
	fake_cm_done(FAKE_CM_REJECT, NULL, private_data, private_data_len,
		     reason);
	spin_lock_irqsave(&fake_cm_lock, flags);
	id->answered = true;
	if (id->peer && !fake_cm_script.no_connect)
		fake_cm_queue_locked(id->peer, RDMA_CM_EVENT_REJECTED,
				     rdma_protocol_iwarp(cm_id->device, 1) ?
				     -ECONNREFUSED :
				     reason ?: IB_CM_REJ_CONSUMER_DEFINED,
				     &param, NULL);
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return 0;
}

/* A DREQ, or the DREP for the peer's; both ends hear of it once. */
static void cm_dreq_locked(struct fake_id *id, struct fake_id *peer)
{
	if (id->dreq_rcvd) {
		id->connected = false;
		peer->connected = false;
		if (peer->dreq_sent && !peer->dreq_rcvd &&
		    !fake_cm_script.no_drep) {
			peer->dreq_rcvd = true;
			fake_cm_queue_locked(peer, RDMA_CM_EVENT_DISCONNECTED,
					     0, NULL, NULL);
			fake_cm_queue_locked(peer, RDMA_CM_EVENT_TIMEWAIT_EXIT,
					     0, NULL, NULL);
		}
		return;
	}
	if (id->dreq_sent)
		return;
	id->dreq_sent = true;
	if (!peer->dreq_rcvd) {
		peer->dreq_rcvd = true;
		fake_cm_queue_locked(peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL,
				     NULL);
	}
	/* DREQs that cross answer each other. */
	if (peer->dreq_sent && !id->dreq_rcvd) {
		id->dreq_rcvd = true;
		fake_cm_queue_locked(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL,
				     NULL);
	}
}

static int cm_disconnect(struct rdma_cm_id *cm_id)
{
	struct fake_id *id = to_fake_id(cm_id);
	unsigned long flags;
	int ret;

	might_sleep();
	ret = fake_cm_begin(FAKE_CM_DISCONNECT);
	if (ret)
		return ret;
	fake_cm_done(FAKE_CM_DISCONNECT, NULL, NULL, 0, 0);
	spin_lock_irqsave(&fake_cm_lock, flags);
	if (id->peer && !fake_cm_script.no_connect)
		cm_dreq_locked(id, id->peer);
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return 0;
}

static int cm_notify(struct rdma_cm_id *cm_id, enum ib_event_type event)
{
	return 0;
}

static int cm_init_qp_attr(struct rdma_cm_id *cm_id, struct ib_qp_attr *attr,
			   int *mask)
{
	struct fake_id *id = to_fake_id(cm_id);
	unsigned long flags;
	int ret;

	ret = fake_cm_begin(FAKE_CM_INIT_QP_ATTR);
	if (ret)
		return ret;
	fake_cm_done(FAKE_CM_INIT_QP_ATTR, NULL, NULL, 0, attr->qp_state);
	spin_lock_irqsave(&fake_cm_lock, flags);
	*mask = IB_QP_STATE;
	if (attr->qp_state == IB_QPS_INIT) {
		attr->port_num = 1;
		attr->pkey_index = 0;
		/* As in rdma_cm: only when the peer has been heard of. */
		attr->qp_access_flags = id->theirs.qp_num ?
			IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
			IB_ACCESS_REMOTE_ATOMIC : 0;
		*mask |= IB_QP_PORT | IB_QP_ACCESS_FLAGS;
		if (!rdma_protocol_iwarp(cm_id->device, 1))
			*mask |= IB_QP_PKEY_INDEX;
	} else if (rdma_protocol_iwarp(cm_id->device, 1)) {
		*mask |= IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	} else if (attr->qp_state == IB_QPS_RTR) {
		attr->ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
		rdma_ah_set_port_num(&attr->ah_attr, 1);
		rdma_ah_set_dlid(&attr->ah_attr, 1);
		attr->path_mtu = IB_MTU_4096;
		attr->dest_qp_num = id->theirs.qp_num;
		attr->rq_psn = 1;
		attr->max_dest_rd_atomic = id->theirs.responder_resources;
		attr->min_rnr_timer = 0;
		*mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			 IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			 IB_QP_MIN_RNR_TIMER;
	} else {
		attr->sq_psn = 1;
		attr->retry_cnt = id->theirs.retry_count;
		attr->rnr_retry = id->theirs.rnr_retry_count;
		attr->max_rd_atomic = id->theirs.initiator_depth;
		attr->timeout = 14;
		*mask |= IB_QP_SQ_PSN | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			 IB_QP_MAX_QP_RD_ATOMIC | IB_QP_TIMEOUT;
	}
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return 0;
}

static int cm_set_afonly(struct rdma_cm_id *cm_id, int afonly)
{
	return 0;
}

static int cm_set_ack_timeout(struct rdma_cm_id *cm_id, u8 timeout)
{
	return 0;
}

static void cm_lock_handler(struct rdma_cm_id *cm_id)
{
	while (READ_ONCE(fake_cm_script.hold_lock))
		usleep_range(500, 1000);
	mutex_lock(&to_fake_id(cm_id)->handler_mutex);
}

static void cm_unlock_handler(struct rdma_cm_id *cm_id)
{
	mutex_unlock(&to_fake_id(cm_id)->handler_mutex);
}

const struct kdapl_cm_ops fake_cm_ops = {
	.create_id = cm_create_id,
	.destroy_id = cm_destroy_id,
	.bind_addr = cm_bind_addr,
	.listen = cm_listen,
	.resolve_addr = cm_resolve_addr,
	.resolve_route = cm_resolve_route,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.disconnect = cm_disconnect,
	.notify = cm_notify,
	.init_qp_attr = cm_init_qp_attr,
	.set_afonly = cm_set_afonly,
	.set_ack_timeout = cm_set_ack_timeout,
	.lock_handler = cm_lock_handler,
	.unlock_handler = cm_unlock_handler,
};
