// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: making a connection, step by step, on both sides
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
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>

#include "cm.h"
#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "ia.h"
#include "lmr.h"
#include "main.h"

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
	/* MPA's own four bytes come on top, and siw counts both in a byte. */
	CONNECT_IWARP_PDATA = 251,
};

u8 kdapl_connect_max_pdata(struct dat_ia *ia)
{
	return ia->iwarp ? CONNECT_IWARP_PDATA : CONNECT_IB_PDATA;
}

static void connect_clear_notes(struct dat_ep *ep, unsigned long notes)
{
	unsigned int bit;

	for_each_set_bit(bit, &notes, BITS_PER_LONG)
		clear_bit(bit, &ep->todo);
}

void kdapl_connect_drop_notes(struct dat_ep *ep)
{
	connect_clear_notes(ep, BIT(KDAPL_EP_TODO_WATERMARK) - 1);
}

/*
 * No handler of the id runs when this returns, and none left a note: what came
 * with the old id must not be taken for news of the next one.
 */
static void connect_destroy_id(struct dat_ep *ep)
{
	static const unsigned long notes =
		BIT(KDAPL_EP_TODO_ADDR) | BIT(KDAPL_EP_TODO_ROUTE) |
		BIT(KDAPL_EP_TODO_REQUESTED) |
		BIT(KDAPL_EP_TODO_REP) | BIT(KDAPL_EP_TODO_COMM_EST) |
		BIT(KDAPL_EP_TODO_ESTABLISHED) | BIT(KDAPL_EP_TODO_CM_FAILED) |
		BIT(KDAPL_EP_TODO_DISCONNECTED);
	struct rdma_cm_id *id;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	id = ep->id;
	ep->id = NULL;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (!id)
		return;

	kdapl_cm_ops->destroy_id(id);
	connect_clear_notes(ep, notes);
	ep->id_waits = false;
	ep->id_connected = false;
	ep->dreq_due = false;
	/* Or a registration would establish the next attempt before its time. */
	WRITE_ONCE(ep->reg_wait, false);
}

/**
 * kdapl_connect_drop_id - destroy the EP's id, if it has one
 * @ep: the EP
 *
 * Context: the EP's work; waits for handlers, which wait for nothing, and on iWARP
 * for the peer's answer: see kdapl_connect_drop_id_later().
 */
void kdapl_connect_drop_id(struct dat_ep *ep)
{
	connect_destroy_id(ep);
	/* The step was due in this run, and has not begun. */
	ep->connecting = false;
}

/*
 * iw_cm keeps whoever destroys an id until the peer has answered its request, or the
 * provider gives up (siw: 10 s). The QP must be as it is until then: siw would not
 * find the connection behind one in error, and leave the peer's half of it open. So
 * the EP goes to its other work once more, as for rdma_connect().
 */
bool kdapl_connect_drop_id_later(struct dat_ep *ep)
{
	if (!ep->id || !ep->id_waits)
		return false;
	ep->connecting = true;
	return true;
}

static bool connect_late(struct dat_ep *ep)
{
	return ep->timeout_at && time_after_eq(jiffies, ep->timeout_at);
}

static enum dat_event_number connect_error(struct dat_ep *ep, int error)
{
	/* siw's rdma_connect() waits for TCP: nothing else ran meanwhile. */
	if (connect_late(ep))
		return DAT_CONNECTION_EVENT_TIMED_OUT;
	switch (error) {
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EADDRNOTAVAIL:
	/* Our address is on a netdev without RDMA; of a removal: BROKEN. */
	case -ENODEV:
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

	if (src.ss_family != ep->remote_addr.ss_family)
		src = ia->other_addr;
	/* A family that the port has no address of is left to the routes. */
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
		.srq = !!ep->config.srq,
		.qp_num = ep->qp->qp_num,
	};
}

/*
 * siw waits for TCP here, for minutes if the host is mute. So on iWARP the EP goes
 * to a work of its own as soon as this run of ep_work() is over, and comes back with
 * a note. In between ep_work() leaves at its first line: nobody takes id or QP away,
 * and who wants to free the EP waits, as for every step.
 */
static int connect_request(struct dat_ep *ep)
{
	struct rdma_conn_param param;

	if (ep->obj.ia->iwarp) {
		ep->qp_past_init = true;
		ep->connecting = true;
		return 0;
	}
	connect_param(ep, &param);
	return kdapl_cm_ops->connect(ep->id, &param);
}

void kdapl_connect_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(work, struct dat_ep, connect_work);
	struct rdma_conn_param param;

	if (ep->phase == KDAPL_CLOSE_ID) {
		connect_destroy_id(ep);
	} else {
		connect_param(ep, &param);
		ep->connect_result = kdapl_cm_ops->connect(ep->id, &param);
		ep->id_waits = !ep->connect_result;
		/* First: whichever run of ep_work() is the next one finds it. */
		set_bit(KDAPL_EP_TODO_REQUESTED, &ep->todo);
	}
	/* Pairs with the acquire in ep_work(), which has the EP again. */
	smp_store_release(&ep->connecting, false);
	mod_delayed_work(kdapl_wq, &ep->work, 0);
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
	ret = kdapl_cm_ops->accept(ep->id, &param);
	ep->id_waits = !ret && ep->obj.ia->iwarp;
	return ret;
}

/*
 * ESTABLISHED, unless the end was decided in the meantime. An errno if a
 * registration was refused: the peer must not find memory missing that it is told
 * of, and to ask again and again is no help.
 */
static int connect_established(struct dat_ep *ep)
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
	int ret = 0;

	/*
	 * Memory that the peer may be told of must be registered by then. It waits
	 * from the moment of the look on: registrations that another EP carries may
	 * come home behind the look, and only who waits is told. Through a QP that
	 * has flushed nothing is registered, and no memory reached.
	 */
	if (ep->phase == KDAPL_CLOSE_NONE) {
		WRITE_ONCE(ep->reg_wait, true);
		ret = kdapl_lmr_defer_register(ep);
	}
	if (ret == -EINPROGRESS)
		return 0;
	if (ret) {
		WRITE_ONCE(ep->reg_wait, false);
		if (ret != -ENOTCONN)
			return ret;
		/* The QP is going, as if it had flushed: the CM may say why. */
		kdapl_ep_kick(ep, KDAPL_EP_TODO_FLUSHED);
		return 0;
	}

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
	/*
	 * Not before it is CONNECTED, with the acquire in lmr_kick_eps(): who makes
	 * an LMR behind our look must find one or the other, and wait.
	 */
	smp_store_release(&ep->reg_wait, false);
	return 0;
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
	return connect_established(ep);
}

/* We could not go on. */
static void connect_failed(struct dat_ep *ep, int error)
{
	kdapl_close_fail(ep, ep->active ? connect_error(ep, error) :
			 DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
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

/* In DOUBT, too: what the CM says of the attempt is what is waited for there. */
static bool connect_pending(struct dat_ep *ep)
{
	enum dat_ep_state state = READ_ONCE(ep->state);

	return (state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
		state == DAT_EP_STATE_COMPLETION_PENDING) &&
	       (ep->phase == KDAPL_CLOSE_NONE ||
		ep->phase == KDAPL_CLOSE_DOUBT) && !READ_ONCE(ep->terminal);
}

static bool connect_due(struct dat_ep *ep, unsigned long todo,
			enum kdapl_ep_todo bit)
{
	return todo & BIT(bit) && connect_pending(ep) && ep->id;
}

/* The steps of ours that are due; none for a QP that has flushed. */
static int connect_steps(struct dat_ep *ep, unsigned long todo)
{
	int ret = 0;

	if (ep->phase != KDAPL_CLOSE_NONE)
		return 0;

	if (todo & BIT(KDAPL_EP_TODO_CONNECT) && !ep->id)
		ret = connect_start(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_ADDR))
		ret = connect_route(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_ROUTE))
		ret = connect_request(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_REQUESTED))
		ret = ep->connect_result;
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_REP))
		ret = connect_reply(ep);
	if (!ret && connect_due(ep, todo, KDAPL_EP_TODO_ACCEPT))
		ret = connect_accept(ep);
	return ret;
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
	int ret;

	if (!connect_pending(ep)) {
		/* An LMR that was created since; its creator waits for it. */
		if (todo & BIT(KDAPL_EP_TODO_REG) &&
		    READ_ONCE(ep->state) == DAT_EP_STATE_CONNECTED)
			kdapl_lmr_defer_register(ep);
		return;
	}
	active = ep->active;

	ret = connect_steps(ep, todo);
	/* What iw_cm tells of an id it tells when nobody has to wait any more. */
	if (todo & (BIT(KDAPL_EP_TODO_ESTABLISHED) |
		    BIT(KDAPL_EP_TODO_CM_FAILED)))
		ep->id_waits = false;
	if (ret) {
		connect_failed(ep, ret);
		return;
	}
	if (connect_due(ep, todo, KDAPL_EP_TODO_COMM_EST))
		kdapl_cm_ops->notify(ep->id, IB_EVENT_COMM_EST);

	/* A DREQ in place of the RTU says that the peer was connected, too. */
	if (connect_due(ep, todo, KDAPL_EP_TODO_ESTABLISHED) ||
	    (!active && !ep->obj.ia->iwarp &&
	     connect_due(ep, todo, KDAPL_EP_TODO_DISCONNECTED))) {
		ep->id_connected = true;
		ret = connect_established(ep);
	} else if (ep->reg_wait &&
		   connect_due(ep, todo, KDAPL_EP_TODO_REG)) {
		ret = connect_established(ep);
	}
	if (ret) {
		connect_failed(ep, ret);
		return;
	}

	if (todo & BIT(KDAPL_EP_TODO_CM_FAILED) && connect_pending(ep))
		connect_refused(ep);
	if (active && connect_pending(ep) && connect_late(ep))
		kdapl_close_fail(ep, DAT_CONNECTION_EVENT_TIMED_OUT);
}
