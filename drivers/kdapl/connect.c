// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: making a connection, the active side's calls and both sides' steps
 *
 * Active: dat_ep_connect() -> CONNECT: id, address -> ADDR: route -> ROUTE:
 * the REQ -> REP: QP to RTS, the RTU, connected. rdma_cm gives the active side
 * no ESTABLISHED when it does not own the QP: an accepted CONNECT_RESPONSE is
 * "connected". An iWARP provider moves the QP itself and answers with
 * ESTABLISHED.
 *
 * Passive: dat_cr_accept() -> ACCEPT: QP to RTS, the REP -> ESTABLISHED.
 *
 * Each step runs in the EP's work, on the note that the step before it is over.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <rdma/ib_cm.h>

#include <dat/kdat.h>

#include "cm.h"
#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "ia.h"
#include "lmr.h"

enum {
	/* For address and route each; a retransmitted ARP fits in. */
	CONNECT_RESOLVE_MS = 5000,
	/* Not 7: rxe takes that as "for ever". */
	CONNECT_RETRY = 6,
	/* For ever: receives may be late. */
	CONNECT_RNR_RETRY = 7,
	/* 4.096 us << 18: 1.07 s, so a dead peer is noticed in 8 s. */
	CONNECT_ACK_TIMEOUT = 18,
	/* REQ without rdma_cm's header, the shortest of the CM's messages. */
	CONNECT_IB_PDATA = 56,
	/* MPA's own four bytes share siw's 256, or the peer's siw hangs up. */
	CONNECT_IWARP_PDATA = 252,
};

u8 kdapl_connect_max_pdata(struct dat_ia *ia)
{
	return ia->iwarp ? CONNECT_IWARP_PDATA : CONNECT_IB_PDATA;
}

static int connect_check(struct dat_ep *ep, const struct sockaddr *addr,
			 u32 timeout, int pdata_len, const void *pdata,
			 enum dat_qos qos, enum dat_connect_flags flags)
{
	if (!timeout || pdata_len < 0 ||
	    pdata_len > kdapl_connect_max_pdata(ep->obj.ia) ||
	    (pdata_len && !pdata))
		return -EINVAL;
	if (flags & ~(DAT_CONNECT_MULTIPATH_REQUESTED_FLAG |
		      DAT_CONNECT_MULTIPATH_REQUIRED_FLAG))
		return -EINVAL;
	if (qos != DAT_QOS_BEST_EFFORT || flags != DAT_CONNECT_DEFAULT_FLAG)
		return -EOPNOTSUPP;
	if (!kdapl_cm_addr_size(addr->sa_family))
		return -EAFNOSUPPORT;
	return 0;
}

/* The rest of dat_ep_connect(): arguments are checked, the gate is held. */
static int connect_begin(struct dat_ep *ep, const struct sockaddr *addr,
			 u64 conn_qual, u32 timeout, u8 pdata_len,
			 const void *pdata)
{
	unsigned long flags;
	int ret;

	mutex_lock(&ep->call_lock);
	ret = kdapl_ep_check_call(KDAPL_CALL_CONNECT, READ_ONCE(ep->state));
	if (ret)
		goto out_unlock;
	ret = -EBADFD;
	if (!ep->config.connect_evd || !ep->qp)
		goto out_unlock;
	ret = kdapl_evd_claim_conn(ep->config.connect_evd, ep);
	if (ret)
		goto out_unlock;

	spin_lock_irqsave(&ep->lock, flags);
	memset(&ep->remote_addr, 0, sizeof(ep->remote_addr));
	memcpy(&ep->remote_addr, addr, kdapl_cm_addr_size(addr->sa_family));
	kdapl_cm_set_port(&ep->remote_addr, kdapl_cm_qual_to_port(conn_qual));
	ep->remote_qual = conn_qual;
	if (pdata_len)
		memcpy(ep->pdata_out, pdata, pdata_len);
	ep->pdata_out_len = pdata_len;
	ep->pdata_in_len = 0;
	ep->rd_atomic_in = min(ep->config.attr.max_rdma_read_in, U8_MAX);
	ep->rd_atomic_out = min(ep->config.attr.max_rdma_read_out, U8_MAX);
	ep->active = true;
	ep->terminal = 0;
	ep->timeout_at = 0;
	if (timeout != DAT_TIMEOUT_INFINITE)
		/* 0 says "none". */
		ep->timeout_at = (jiffies + usecs_to_jiffies(timeout)) ?: 1;
	kdapl_ep_set_state(ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	spin_unlock_irqrestore(&ep->lock, flags);

	kdapl_ep_kick(ep, KDAPL_EP_TODO_CONNECT);
out_unlock:
	mutex_unlock(&ep->call_lock);
	return ret;
}

/**
 * dat_ep_connect - connect to a service point
 * @ep: the EP, unconnected, with PZ and connect EVD
 * @remote_ia_address: AF_INET or AF_INET6; its port is ignored
 * @remote_conn_qual: what the peer listens on: a TCP port, larger values are
 *	mapped as libdapl does
 * @timeout: microseconds from now until TIMED_OUT, not 0;
 *	%DAT_TIMEOUT_INFINITE leaves it to the CM, which gives up with
 *	UNREACHABLE
 * @private_data_size: bytes of @private_data, at most the provider attribute
 *	max_private_data_size
 * @private_data: for the peer's connection request, copied
 * @qos: %DAT_QOS_BEST_EFFORT
 * @flags: %DAT_CONNECT_DEFAULT_FLAG
 *
 * The result is one event on the connect EVD: ESTABLISHED, with the peer's
 * private data, or PEER_REJECTED, NON_PEER_REJECTED, UNREACHABLE, TIMED_OUT,
 * BROKEN, after which the EP is DISCONNECTED. Where the transport does not tell
 * the length of private data, its size is that of the field and the rest is
 * zero. Receives may be posted before. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, timeout 0, qualifier 0 or private data too long;
 * -EAFNOSUPPORT; -EOPNOTSUPP: @qos or @flags; -EISCONN, -EALREADY, -EBUSY,
 * -EBADFD: the state of the EP; -EBADFD also: PZ or connect EVD missing;
 * -ENOSPC: no two slots free in the connect EVD, or the events of the last
 * attempt still in it; -ENODEV: the device is gone.
 */
int dat_ep_connect(struct dat_ep *ep, const struct sockaddr *remote_ia_address,
		   u64 remote_conn_qual, u32 timeout, int private_data_size,
		   const void *private_data, enum dat_qos qos,
		   enum dat_connect_flags flags)
{
	int ret;

	might_sleep();

	if (!ep || !remote_ia_address || !remote_conn_qual)
		return -EINVAL;
	ret = connect_check(ep, remote_ia_address, timeout, private_data_size,
			    private_data, qos, flags);
	if (ret)
		return ret;

	ret = kdapl_ia_enter(ep->obj.ia);
	if (ret)
		return ret;
	ret = connect_begin(ep, remote_ia_address, remote_conn_qual, timeout,
			    private_data_size, private_data);
	kdapl_ia_leave(ep->obj.ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_connect);

/**
 * dat_ep_dup_connect - connect to where another endpoint is connected
 * @ep: the EP, unconnected, with PZ and connect EVD
 * @dup_ep: a connected EP of the same IA; useful only on its active side,
 *	because the passive side knows no qualifier of its peer
 * @timeout: as for dat_ep_connect()
 * @private_data_size: as for dat_ep_connect()
 * @private_data: as for dat_ep_connect()
 * @qos: as for dat_ep_connect()
 *
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: as dat_ep_connect(); -EINVAL also: EPs of different IAs; -ENOTCONN:
 * @dup_ep is not connected.
 */
int dat_ep_dup_connect(struct dat_ep *ep, struct dat_ep *dup_ep, u32 timeout,
		       int private_data_size, const void *private_data,
		       enum dat_qos qos)
{
	struct sockaddr_storage addr;
	unsigned long flags;
	u64 qual;
	int ret;

	might_sleep();

	if (!ep || !dup_ep || ep->obj.ia != dup_ep->obj.ia)
		return -EINVAL;

	spin_lock_irqsave(&dup_ep->lock, flags);
	ret = kdapl_ep_check_call(KDAPL_CALL_DUP, dup_ep->state);
	addr = dup_ep->remote_addr;
	qual = dup_ep->remote_qual;
	spin_unlock_irqrestore(&dup_ep->lock, flags);
	if (ret)
		return ret;
	return dat_ep_connect(ep, (struct sockaddr *)&addr, qual, timeout,
			      private_data_size, private_data, qos,
			      DAT_CONNECT_DEFAULT_FLAG);
}
EXPORT_SYMBOL_GPL(dat_ep_dup_connect);

/**
 * kdapl_connect_drop_id - destroy the EP's id, if it has one
 * @ep: the EP
 *
 * No handler of the id runs when this returns, and none left a note: what came
 * with the old id must not be taken for news of the next one.
 *
 * Context: the EP's work; waits for handlers, which wait for nothing.
 */
void kdapl_connect_drop_id(struct dat_ep *ep)
{
	static const unsigned long notes =
		BIT(KDAPL_EP_TODO_ADDR) | BIT(KDAPL_EP_TODO_ROUTE) |
		BIT(KDAPL_EP_TODO_REP) | BIT(KDAPL_EP_TODO_COMM_EST) |
		BIT(KDAPL_EP_TODO_ESTABLISHED) | BIT(KDAPL_EP_TODO_CM_FAILED) |
		BIT(KDAPL_EP_TODO_DISCONNECTED);
	struct rdma_cm_id *id;
	unsigned long flags;
	unsigned int bit;

	spin_lock_irqsave(&ep->lock, flags);
	id = ep->id;
	ep->id = NULL;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (!id)
		return;

	kdapl_cm_ops->destroy_id(id);
	for_each_set_bit(bit, &notes, BITS_PER_LONG)
		clear_bit(bit, &ep->todo);
	ep->id_connected = false;
	ep->dreq_due = false;
}

static enum dat_event_number connect_error(int error)
{
	switch (error) {
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EADDRNOTAVAIL:
		return DAT_CONNECTION_EVENT_UNREACHABLE;
	default:
		return DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
	}
}

static int connect_start(struct dat_ep *ep)
{
	struct dat_ia *ia = ep->obj.ia;
	struct sockaddr_storage src = ia->addr;
	struct sockaddr *from = NULL;
	struct rdma_cm_id *id;
	unsigned long flags;

	id = kdapl_cm_ops->create_id(ia->net, kdapl_cm_handler, &ep->obj,
				     RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);

	spin_lock_irqsave(&ep->lock, flags);
	ep->id = id;
	spin_unlock_irqrestore(&ep->lock, flags);

	/* An address of the other family is left to the routes. */
	if (src.ss_family == ep->remote_addr.ss_family) {
		kdapl_cm_set_port(&src, 0);
		from = (struct sockaddr *)&src;
	}
	return kdapl_cm_ops->resolve_addr(id, from,
					  (struct sockaddr *)&ep->remote_addr,
					  CONNECT_RESOLVE_MS);
}

static int connect_route(struct dat_ep *ep)
{
	struct dat_ia *ia = ep->obj.ia;

	/* A route through another port cannot serve our QP. */
	if (ep->id->device != ia->ibdev || ep->id->port_num != ia->port)
		return -EHOSTUNREACH;
	if (ia->ib_cm)
		kdapl_cm_ops->set_ack_timeout(ep->id, CONNECT_ACK_TIMEOUT);
	return kdapl_cm_ops->resolve_route(ep->id, CONNECT_RESOLVE_MS);
}

static void connect_param(struct dat_ep *ep, struct rdma_conn_param *param)
{
	*param = (struct rdma_conn_param){
		.private_data = ep->pdata_out,
		.private_data_len = ep->pdata_out_len,
		.responder_resources = ep->rd_atomic_in,
		.initiator_depth = ep->rd_atomic_out,
		.retry_count = CONNECT_RETRY,
		.rnr_retry_count = CONNECT_RNR_RETRY,
		.qp_num = ep->qp->qp_num,
	};
}

static int connect_request(struct dat_ep *ep)
{
	struct rdma_conn_param param;

	connect_param(ep, &param);
	if (ep->obj.ia->iwarp)
		ep->qp_past_init = true;
	return kdapl_cm_ops->connect(ep->id, &param);
}

static int connect_accept(struct dat_ep *ep)
{
	struct rdma_conn_param param;
	int ret;

	if (ep->obj.ia->ib_cm)
		kdapl_cm_ops->set_ack_timeout(ep->id, CONNECT_ACK_TIMEOUT);
	ret = kdapl_ep_qp_connect(ep);
	if (ret)
		return ret;
	connect_param(ep, &param);
	return kdapl_cm_ops->accept(ep->id, &param);
}

/* ESTABLISHED, unless the end was decided in the meantime. */
static void connect_established(struct dat_ep *ep)
{
	struct dat_event event = {
		.event_number = DAT_CONNECTION_EVENT_ESTABLISHED,
		.event_data.connect_event_data.ep_handle = ep,
	};
	struct dat_connection_event_data *data =
		&event.event_data.connect_event_data;
	struct kdapl_post post = {
		.kind = KDAPL_SLOT_CONN,
		.owner = ep,
		.notify = true,
	};
	unsigned long flags;

	/* Memory that the peer may be told of must be registered by then. */
	ep->reg_wait = !kdapl_lmr_defer_register(ep);
	if (ep->reg_wait)
		return;

	spin_lock_irqsave(&ep->lock, flags);
	if (!ep->terminal) {
		ep->timeout_at = 0;
		ep->local_addr = ep->id->route.addr.src_addr;
		if (ep->active) {
			data->private_data_size = ep->pdata_in_len;
			data->private_data = ep->pdata_in_len ? ep->pdata_in :
								NULL;
		}
		kdapl_ep_set_state(ep, DAT_EP_STATE_CONNECTED);
		kdapl_evd_post(ep->config.connect_evd, &event, &post);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

static int connect_reply(struct dat_ep *ep)
{
	int ret;

	ret = kdapl_ep_qp_connect(ep);
	if (ret)
		return ret;
	ret = kdapl_cm_ops->accept(ep->id, NULL);
	if (ret)
		return ret;
	ep->id_connected = true;
	connect_established(ep);
	return 0;
}

/* The CM said no. */
static void connect_refused(struct dat_ep *ep)
{
	struct kdapl_cm_outcome outcome;
	enum dat_event_number event;
	unsigned long flags;
	u8 offset;

	spin_lock_irqsave(&ep->lock, flags);
	outcome = (struct kdapl_cm_outcome){
		.event = ep->cm_event,
		.status = ep->cm_status,
		.iwarp = ep->obj.ia->iwarp,
		.has_data = ep->pdata_in_len,
		.active = ep->active,
		.state = ep->state,
	};
	event = kdapl_cm_map(&outcome);
	if (event == DAT_CONNECTION_EVENT_PEER_REJECTED) {
		offset = kdapl_cm_reject_offset(ep->pdata_in, ep->pdata_in_len);
		ep->pdata_in_len -= offset;
		memmove(ep->pdata_in, ep->pdata_in + offset, ep->pdata_in_len);
	}
	spin_unlock_irqrestore(&ep->lock, flags);

	if (event)
		kdapl_close_fail(ep, event);
}

static bool connect_pending(struct dat_ep *ep)
{
	enum dat_ep_state state = READ_ONCE(ep->state);

	return (state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
		state == DAT_EP_STATE_COMPLETION_PENDING) &&
	       ep->phase == KDAPL_CLOSE_NONE && !READ_ONCE(ep->terminal);
}

static bool connect_due(struct dat_ep *ep, unsigned long todo,
			enum kdapl_ep_todo bit)
{
	return todo & BIT(bit) && connect_pending(ep) && ep->id;
}

/**
 * kdapl_connect_run - go on with a connection that is being made
 * @ep: the EP
 * @todo: the notes of this run
 *
 * Context: the EP's work.
 */
void kdapl_connect_run(struct dat_ep *ep, unsigned long todo)
{
	bool active;
	int ret = 0;

	if (!connect_pending(ep)) {
		/* An LMR that was created since; its creator waits for it. */
		if (todo & BIT(KDAPL_EP_TODO_REG) &&
		    READ_ONCE(ep->state) == DAT_EP_STATE_CONNECTED)
			kdapl_lmr_defer_register(ep);
		return;
	}
	active = ep->active;

	if (todo & BIT(KDAPL_EP_TODO_CONNECT) && !ep->id)
		ret = connect_start(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_ADDR))
		ret = connect_route(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_ROUTE))
		ret = connect_request(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_REP))
		ret = connect_reply(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_ACCEPT))
		ret = connect_accept(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_COMM_EST))
		kdapl_cm_ops->notify(ep->id, IB_EVENT_COMM_EST);
	if (ret) {
		kdapl_close_fail(ep, active ? connect_error(ret) :
				 DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		return;
	}

	/* A DREQ in place of the RTU says that the peer was connected, too. */
	if (connect_due(ep, todo, KDAPL_EP_TODO_ESTABLISHED) ||
	    (!active && !ep->obj.ia->iwarp &&
	     connect_due(ep, todo, KDAPL_EP_TODO_DISCONNECTED))) {
		ep->id_connected = true;
		connect_established(ep);
	} else if (ep->reg_wait &&
		   connect_due(ep, todo, KDAPL_EP_TODO_REG)) {
		connect_established(ep);
	}

	if (todo & BIT(KDAPL_EP_TODO_CM_FAILED) && connect_pending(ep))
		connect_refused(ep);
	if (active && connect_pending(ep) && ep->timeout_at &&
	    time_after_eq(jiffies, ep->timeout_at))
		kdapl_close_fail(ep, DAT_CONNECTION_EVENT_TIMED_OUT);
}
