// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the way to rdma_cm, and what its events mean
 *
 * A handler holds the id's handler mutex, so it only copies what the work of
 * the EP will need and kicks it. Who gets an event is said by id->context,
 * which changes under that mutex when a connection request becomes the
 * connection of an EP.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>
#include <asm/unaligned.h>

#include "cm.h"
#include "cr.h"
#include "ep.h"
#include "ia.h"
#include "kunit.h"
#include "sp.h"
#include "trace.h"

/* DAT 2.0, and the version of the provider behind it: ours is 1.0. */
#define CM_REJECT_WORD	(DAT_VERSION_MAJOR << 24 | DAT_VERSION_MINOR << 16 | \
			 1 << 8)

static struct rdma_cm_id *cm_create_id(struct net *net,
				       rdma_cm_event_handler handler,
				       void *context,
				       enum rdma_ucm_port_space ps,
				       enum ib_qp_type qp_type)
{
	return rdma_create_id(net, handler, context, ps, qp_type);
}

static int cm_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int ret;

	rdma_lock_handler(id);
	ret = rdma_accept(id, param);
	rdma_unlock_handler(id);
	return ret;
}

static const struct kdapl_cm_ops cm_rdma_ops = {
	.create_id = cm_create_id,
	.destroy_id = rdma_destroy_id,
	.bind_addr = rdma_bind_addr,
	.listen = rdma_listen,
	.resolve_addr = rdma_resolve_addr,
	.resolve_route = rdma_resolve_route,
	.connect = rdma_connect,
	.accept = cm_accept,
	.reject = rdma_reject,
	.disconnect = rdma_disconnect,
	.notify = rdma_notify,
	.init_qp_attr = rdma_init_qp_attr,
	.set_afonly = rdma_set_afonly,
	.set_ack_timeout = rdma_set_ack_timeout,
	.lock_handler = rdma_lock_handler,
	.unlock_handler = rdma_unlock_handler,
};

const struct kdapl_cm_ops *kdapl_cm_ops = &cm_rdma_ops;

void kdapl_cm_set_ops(const struct kdapl_cm_ops *ops)
{
	kdapl_cm_ops = ops ?: &cm_rdma_ops;
}

KDAPL_EXPORT_FOR_TEST(kdapl_cm_set_ops);

/*
 * A reject by the peer's consumer, not by its CM. On iWARP both look alike but
 * for the data, which our own and libdapl's consumers always send.
 */
static bool cm_consumer_reject(const struct kdapl_cm_outcome *outcome)
{
	if (outcome->iwarp)
		return outcome->has_data &&
		       (outcome->status == -ECONNREFUSED ||
			outcome->status == -ECONNRESET);
	return outcome->status == IB_CM_REJ_CONSUMER_DEFINED;
}

static enum dat_event_number
cm_map_connecting(const struct kdapl_cm_outcome *outcome)
{
	switch (outcome->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return DAT_CONNECTION_EVENT_UNREACHABLE;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return outcome->status == -ETIMEDOUT ?
		       DAT_CONNECTION_EVENT_UNREACHABLE :
		       DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	case RDMA_CM_EVENT_REJECTED:
		return cm_consumer_reject(outcome) ?
		       DAT_CONNECTION_EVENT_PEER_REJECTED :
		       DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	case RDMA_CM_EVENT_ESTABLISHED:
		return DAT_CONNECTION_EVENT_ESTABLISHED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return DAT_CONNECTION_EVENT_BROKEN;
	default:
		return 0;
	}
}

static enum dat_event_number
cm_map_accepting(const struct kdapl_cm_outcome *outcome)
{
	switch (outcome->event) {
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_REJECTED:
		return DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	case RDMA_CM_EVENT_ESTABLISHED:
		return DAT_CONNECTION_EVENT_ESTABLISHED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return DAT_CONNECTION_EVENT_BROKEN;
	default:
		return 0;
	}
}

static enum dat_event_number
cm_map_connected(const struct kdapl_cm_outcome *outcome)
{
	switch (outcome->event) {
	case RDMA_CM_EVENT_DISCONNECTED:
	/* The passive side gave up after we had answered its REP. */
	case RDMA_CM_EVENT_REJECTED:
		return DAT_CONNECTION_EVENT_DISCONNECTED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return DAT_CONNECTION_EVENT_BROKEN;
	default:
		return 0;
	}
}

enum dat_event_number kdapl_cm_map(const struct kdapl_cm_outcome *outcome)
{
	switch (outcome->state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return outcome->active ? cm_map_connecting(outcome) : 0;
	case DAT_EP_STATE_COMPLETION_PENDING:
		return outcome->active ? 0 : cm_map_accepting(outcome);
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return cm_map_connected(outcome);
	default:
		return 0;
	}
}

KDAPL_EXPORT_FOR_TEST(kdapl_cm_map);

u8 kdapl_cm_frame_reject(u8 *out, const void *data, u8 len)
{
	put_unaligned_be32(CM_REJECT_WORD, out);
	if (len)
		memcpy(out + KDAPL_REJECT_HEADER, data, len);
	return KDAPL_REJECT_HEADER + len;
}

KDAPL_EXPORT_FOR_TEST(kdapl_cm_frame_reject);

/*
 * A plain rdma_cm peer sends its bytes as they are. The header is known by the
 * version of DAT in it; the provider's varies.
 */
u8 kdapl_cm_reject_offset(const u8 *data, u8 len)
{
	if (len >= KDAPL_REJECT_HEADER && data[0] == DAT_VERSION_MAJOR &&
	    data[1] == DAT_VERSION_MINOR)
		return KDAPL_REJECT_HEADER;
	return 0;
}

KDAPL_EXPORT_FOR_TEST(kdapl_cm_reject_offset);

u16 kdapl_cm_qual_to_port(u64 conn_qual)
{
	u32 remainder;

	if (conn_qual <= U16_MAX)
		return conn_qual;
	div_u64_rem(conn_qual, 32001, &remainder);
	return remainder + 33534;
}

KDAPL_EXPORT_FOR_TEST(kdapl_cm_qual_to_port);

u16 kdapl_cm_port(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	case AF_INET6:
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	default:
		return 0;
	}
}

void kdapl_cm_set_port(struct sockaddr_storage *addr, u16 port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

size_t kdapl_cm_addr_size(int family)
{
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

static void cm_copy_pdata_locked(struct dat_ep *ep,
				 const struct rdma_conn_param *param)
{
	const u8 *data = param->private_data;
	u8 len = data ? param->private_data_len : 0;

	ep->pdata_in_len = len;
	if (len)
		memcpy(ep->pdata_in, data, len);
}

/* Notes for the work. Failures and the rest of an old attempt: first come. */
static int cm_ep_event(struct dat_ep *ep, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	int todo = -1;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		todo = KDAPL_EP_TODO_ADDR;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		todo = KDAPL_EP_TODO_ROUTE;
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_ESTABLISHED:
		todo = event->event == RDMA_CM_EVENT_ESTABLISHED ?
		       KDAPL_EP_TODO_ESTABLISHED : KDAPL_EP_TODO_REP;
		if (ep->state != DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
			break;
		cm_copy_pdata_locked(ep, param);
		/* An iWARP provider need not know what the peer allows. */
		if (!ep->obj.ia->iwarp || param->responder_resources)
			ep->rd_atomic_in = min(ep->rd_atomic_in,
					       param->responder_resources);
		if (!ep->obj.ia->iwarp || param->initiator_depth)
			ep->rd_atomic_out = min(ep->rd_atomic_out,
						param->initiator_depth);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		if (test_bit(KDAPL_EP_TODO_CM_FAILED, &ep->todo))
			break;
		todo = KDAPL_EP_TODO_CM_FAILED;
		ep->cm_event = event->event;
		ep->cm_status = event->status;
		if (event->event == RDMA_CM_EVENT_REJECTED &&
		    ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
			cm_copy_pdata_locked(ep, param);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		todo = KDAPL_EP_TODO_DISCONNECTED;
		break;
	default:
		/* Removal comes through the ib_client; the rest is no news. */
		break;
	}
	spin_unlock_irqrestore(&ep->lock, flags);

	if (todo >= 0)
		kdapl_ep_kick(ep, todo);
	return 0;
}

int kdapl_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdapl_obj *obj = id->context;

	trace_kdapl_cm_event(obj->id, event);

	switch (obj->type) {
	case DAT_HANDLE_TYPE_EP:
		return cm_ep_event(container_of(obj, struct dat_ep, obj),
				   event);
	case DAT_HANDLE_TYPE_CR:
		return kdapl_cr_event(container_of(obj, struct dat_cr, obj),
				      event);
	default:
		return kdapl_sp_event(obj, id, event);
	}
}
