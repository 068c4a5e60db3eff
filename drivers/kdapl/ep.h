/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endpoints. All that happens to a connection happens in the EP's own work
 * item: consumer calls, CM handlers and completions only leave a note in
 * ep->todo and kick it. So nothing waits in a CM handler, no id is destroyed
 * in its own handler, and QP changes need no lock.
 */
#ifndef _KDAPL_EP_H
#define _KDAPL_EP_H

#include <linux/completion.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include <dat/dat_attr.h>

#include "dto.h"
#include "obj.h"

struct dat_pz;
struct dat_evd;
struct dat_cr;
struct dat_rsp;

/* The largest private data of any transport: conn_param's length is a u8. */
#define KDAPL_PRIVATE_DATA_MAX	255

/* Notes for the work, set from any context with kdapl_ep_kick(). */
enum kdapl_ep_todo {
	KDAPL_EP_TODO_CONNECT,		/* dat_ep_connect() */
	KDAPL_EP_TODO_ACCEPT,		/* dat_cr_accept() */
	KDAPL_EP_TODO_ADDR,		/* address resolved */
	KDAPL_EP_TODO_ROUTE,		/* route resolved */
	KDAPL_EP_TODO_REP,		/* CONNECT_RESPONSE */
	KDAPL_EP_TODO_ESTABLISHED,
	KDAPL_EP_TODO_CM_FAILED,	/* ep->cm_event says which */
	KDAPL_EP_TODO_DISCONNECTED,	/* DREQ or DREP came, or DREQ timed out */
	KDAPL_EP_TODO_GRACEFUL,		/* dat_ep_disconnect() */
	KDAPL_EP_TODO_ABRUPT,
	KDAPL_EP_TODO_BROKEN,		/* a completion failed, or a QP event */
	KDAPL_EP_TODO_FLUSHED,		/* a flush was seen while connected */
	KDAPL_EP_TODO_PROGRESS,		/* a request completed while closing */
	KDAPL_EP_TODO_REG,		/* a deferred registration completed */
	KDAPL_EP_TODO_FREE,
	KDAPL_EP_TODO_REMOVE,		/* device removal */
};

/* Where a close stands; only the work changes it. See close.c. */
enum kdapl_close_phase {
	KDAPL_CLOSE_NONE,
	KDAPL_CLOSE_DRAIN,	/* graceful: posted requests finish */
	KDAPL_CLOSE_DREQ,	/* DREQ sent, DREP awaited, QP alive */
	KDAPL_CLOSE_GRACE,	/* DREQ came, our requests finish, then DREP */
	KDAPL_CLOSE_FLUSH,	/* QP in error, contexts come home */
	KDAPL_CLOSE_DONE,	/* the terminal event was posted */
};

struct dat_ep {
	struct kdapl_obj obj;

	/*
	 * Configuration: changed by dat_ep_modify() in states where no post
	 * and no connection can be under way, under @lock.
	 */
	struct dat_pz *pz;
	struct dat_evd *recv_evd;	/* as the consumer gave them */
	struct dat_evd *request_evd;
	struct dat_evd *connect_evd;
	struct dat_evd *hidden_evd;	/* CQ of an EP without DTO EVDs */
	struct dat_ep_attr attr;
	u32 max_sge_send;
	u32 max_sge_recv;

	struct kdapl_queue req;
	struct kdapl_queue recv;

	/*
	 * Guards @state, @terminal and the CM notes below. Any context:
	 * irqsave. Inside it: the queues' post locks (to move a gate), then
	 * EVD locks. The completion path does not take it.
	 */
	spinlock_t lock;
	enum dat_ep_state state;
	enum dat_event_number terminal;	/* 0 until the end is decided */
	struct rdma_cm_id *id;
	int cm_event;			/* enum rdma_cm_event_type of a failure */
	int cm_status;
	u8 pdata_in[KDAPL_PRIVATE_DATA_MAX + 1];
	u8 pdata_in_len;

	/* The attempt's parameters; written before the work is kicked. */
	struct sockaddr_storage local_addr;
	struct sockaddr_storage remote_addr;
	u8 pdata_out[KDAPL_PRIVATE_DATA_MAX + 1];
	u8 pdata_out_len;
	u8 rd_atomic_in;		/* negotiated: we answer this many reads */
	u8 rd_atomic_out;		/* negotiated: we start this many */
	bool active;
	u64 remote_qual;
	unsigned long timeout_at;	/* jiffies, 0 = none */

	/* The work and what only it touches. */
	unsigned long todo;		/* enum kdapl_ep_todo, atomic bits */
	struct delayed_work work;
	struct ib_qp *qp;
	bool qp_past_init;
	enum kdapl_close_phase phase;
	bool id_connected;		/* rdma_disconnect() has something to do */
	unsigned long deadline;		/* jiffies: of the whole close */
	unsigned long phase_deadline;
	struct completion freed;	/* the work is done with a freed EP */

	struct dat_rsp *rsp;		/* reserved by it */
	u32 conn_queued;		/* connection events in the ring; evd lock */
	u32 conn_claimed;		/* slots claimed, not yet used; evd lock */
	union {
		struct sockaddr_storage query_local;
	};
};

/* Any context, also under an EVD lock. */
void kdapl_ep_kick(struct dat_ep *ep, enum kdapl_ep_todo todo);
/*
 * A work request of the EP completed. Called under the EVD lock of the queue
 * for every status but IB_WC_SUCCESS.
 */
void kdapl_ep_completion_error(struct dat_ep *ep, enum ib_wc_status status);
/* True while the work wants to hear of each completion. Any context. */
static inline bool kdapl_ep_closing(struct dat_ep *ep)
{
	return READ_ONCE(ep->phase) != KDAPL_CLOSE_NONE;
}
/* Takes the verbs objects away; returns when they are gone. Sleeps. */
void kdapl_ep_remove_device(struct dat_ep *ep);

#endif /* _KDAPL_EP_H */
