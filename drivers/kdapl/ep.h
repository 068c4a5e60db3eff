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
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include <dat/dat_attr.h>
#include <dat/dat_event.h>
#include <dat/dat_ib_extensions.h>

#include "cm.h"
#include "ep_state.h"
#include "obj.h"
#include "queue.h"

struct dat_pz;
struct dat_evd;
struct dat_cr;
struct dat_rsp;
struct dat_srq;

/*
 * Notes for the work, set from any context with kdapl_ep_kick(). Those in front of
 * WATERMARK are about one connection and go with it.
 */
enum kdapl_ep_todo {
	KDAPL_EP_TODO_CONNECT,		/* dat_ep_connect() */
	KDAPL_EP_TODO_ACCEPT,		/* dat_cr_accept() */
	KDAPL_EP_TODO_ADDR,		/* address resolved */
	KDAPL_EP_TODO_ROUTE,		/* route resolved */
	KDAPL_EP_TODO_REQUESTED,	/* rdma_connect() has returned (iWARP) */
	KDAPL_EP_TODO_REP,		/* CONNECT_RESPONSE */
	KDAPL_EP_TODO_COMM_EST,		/* a message came before the RTU */
	KDAPL_EP_TODO_ESTABLISHED,
	KDAPL_EP_TODO_CM_FAILED,	/* ep->cm_event says which */
	KDAPL_EP_TODO_DISCONNECTED,	/* DREQ or DREP came, or DREQ timed out */
	KDAPL_EP_TODO_GRACEFUL,		/* dat_ep_disconnect() */
	KDAPL_EP_TODO_ABRUPT,
	KDAPL_EP_TODO_BROKEN,		/* a completion failed, or a QP event */
	KDAPL_EP_TODO_FLUSHED,		/* a flush was seen while connected */
	KDAPL_EP_TODO_PROGRESS,		/* a request completed while closing */
	KDAPL_EP_TODO_REG,		/* a deferred registration completed */
	KDAPL_EP_TODO_WATERMARK,	/* many buffers of the SRQ held */
	KDAPL_EP_TODO_RESET,
	KDAPL_EP_TODO_FREE,
	KDAPL_EP_TODO_REMOVE,		/* device removal */
};

/* Where a close stands; only the work changes it. See close.c. */
enum kdapl_close_phase {
	KDAPL_CLOSE_NONE,
	KDAPL_CLOSE_DRAIN,	/* graceful: posted requests finish */
	KDAPL_CLOSE_DREQ,	/* DREQ sent, DREP awaited, QP alive */
	KDAPL_CLOSE_GRACE,	/* DREQ came, our requests finish, then DREP */
	KDAPL_CLOSE_DOUBT,	/* a flush came: the CM may say why */
	KDAPL_CLOSE_ID,		/* iWARP: the id waits for the peer, and goes */
	KDAPL_CLOSE_FLUSH,	/* QP in error, contexts come home */
	KDAPL_CLOSE_DONE,	/* the terminal event was posted */
};

/**
 * struct kdapl_ep_config - what dat_ep_create() and dat_ep_modify() set
 * @pz: protection zone, or NULL
 * @recv_evd: EVD of the receives, or NULL
 * @request_evd: EVD of all other DTOs, or NULL
 * @connect_evd: EVD of the connection events, or NULL
 * @srq: where the receives come from, or NULL; never changes
 * @attr: the attributes; no named ones
 */
struct kdapl_ep_config {
	struct dat_pz *pz;
	struct dat_evd *recv_evd;
	struct dat_evd *request_evd;
	struct dat_evd *connect_evd;
	struct dat_srq *srq;
	struct dat_ep_attr attr;
};

/* Of @srq_soft and @srq_hard: more than any EP can hold. */
#define KDAPL_EP_NO_WATERMARK	U32_MAX

struct dat_ep {
	struct kdapl_obj obj;
	struct rcu_head rcu;

	/*
	 * Serialises the calls that set an EP up: modify, connect, accept,
	 * reset, rsp_create, set_watermark. The end of the EP takes it once:
	 * whoever has left a note under it is done with the work then. Sleeps;
	 * outermost, but inside the IA's gate.
	 */
	struct mutex call_lock;

	/*
	 * Changed by dat_ep_modify() under @call_lock, in states where no post
	 * and no connection can be under way, and by the end of the EP. Both
	 * hold @lock too, and only then give the old handles up.
	 */
	struct kdapl_ep_config config;
	struct dat_evd *hidden_evd;	/* CQ of an EP without DTO EVDs */
	u32 max_sge_send;
	u32 max_sge_recv;

	struct kdapl_queue req;
	struct kdapl_queue recv;

	/*
	 * Guards @state, @terminal and the CM notes below, and changes of
	 * @config, for those who are not its users. Any context:
	 * irqsave. Inside it: the queues' post locks (to move a gate), then
	 * EVD locks. The completion path does not take it.
	 */
	spinlock_t lock;
	enum dat_ep_state state;
	enum dat_event_number terminal;	/* 0 until the end is decided */
	struct rdma_cm_id *id;		/* changed by the work and accept */
	int cm_event;			/* enum rdma_cm_event_type of a failure */
	int cm_status;
	u8 pdata_in[KDAPL_PRIVATE_DATA_MAX + 1];
	u8 pdata_in_len;
	u8 rd_atomic_in;		/* negotiated: we answer this many reads */
	u8 rd_atomic_out;		/* negotiated: we start this many */

	/* The attempt's parameters; written before the work is kicked. */
	struct sockaddr_storage local_addr;
	struct sockaddr_storage remote_addr;
	u8 pdata_out[KDAPL_PRIVATE_DATA_MAX + 1];
	u8 pdata_out_len;
	bool active;
	u64 remote_qual;
	unsigned long timeout_at;	/* jiffies, 0 = none */
	unsigned long deadline;		/* jiffies: of a close asked for */

	/* The work, and what only it touches once it was first kicked. */
	unsigned long todo;		/* enum kdapl_ep_todo, atomic bits */
	struct delayed_work work;
	/*
	 * @connect_work has the EP while @connecting is set, by the work and as
	 * its last act; it leaves all notes alone until then. See connect.c.
	 */
	struct work_struct connect_work;
	bool connecting;
	bool id_waits;			/* its end would wait for the peer */
	int connect_result;
	struct ib_qp *qp;		/* posts read it behind an open gate */
	bool qp_past_init;
	bool qp_error;			/* moved to error by kdapl */
	union {
		struct {
			enum kdapl_close_phase phase;
			/*
			 * 1: a request has failed, and no other one of this QP
			 * succeeds. Under the lock of the request EVD.
			 */
			u32 req_failed;
		};
		u64 irregular;		/* both at once, mostly 0 */
	};
	unsigned long phase_deadline;
	unsigned int poll_ms;
	u32 hold_head;			/* req.head when the gate went to HOLD */
	u32 flush_head_req;		/* heads when the QP went to error */
	u32 flush_head_recv;
	unsigned long flush_since;	/* jiffies */
	bool id_connected;		/* rdma_disconnect() has something to do */
	bool dreq_due;			/* the CM could not send it: try again */
	bool reg_wait;			/* ESTABLISHED waits for registrations */
	bool freeing;			/* no event any more */
	bool gone;			/* the device was removed */

	/* dat_ep_reset() waits for the work under @call_lock. */
	struct completion reset_done;
	int reset_result;
	struct completion freed;	/* the work is done with a freed EP */
	struct completion removed;	/* the work gave up the verbs objects */

	struct dat_rsp *rsp;		/* that reserved it; under @lock */
	bool tentative;			/* its request frees it; under @lock */
	bool shut;			/* to posts, whatever the state; under @lock */
	/* With an SRQ only. */
	struct hlist_node srq_node;	/* on srq->qps, under srq->lock */
	struct ib_qp *srq_qp;		/* its key there */
	u32 srq_soft;			/* buffers held; under the EVD lock */
	u32 srq_hard;			/* the same */

	/*
	 * Posts under the post locks, receives under the EVD lock, the rest
	 * under @lock; the bases under ia->lock.
	 */
	u64 counters[DCNT_EP_ALL_COUNTERS];
	u64 counter_base[DCNT_EP_ALL_COUNTERS];

	u32 conn_queued;		/* connection events in the ring; evd lock */
	u32 conn_claimed;		/* slots claimed, not yet used; evd lock */
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
	enum kdapl_close_phase phase = READ_ONCE(ep->phase);

	return phase != KDAPL_CLOSE_NONE && phase != KDAPL_CLOSE_DONE;
}

/* What a post returns that found its gate closed. Any context. */
int kdapl_ep_post_error(struct dat_ep *ep, bool request);
/* As dat_ep_create(), with all that can be asked for; OUT untouched on errors. */
int kdapl_ep_create(struct dat_ia *ia, const struct kdapl_ep_config *config,
		    struct dat_ep **ep);
/* As dat_ep_free(), in any state: for dat_ia_close(ABRUPT). Sleeps. */
void kdapl_ep_destroy(struct dat_ep *ep);
/*
 * An EP for a connection request, TENTATIVE, that has nothing yet. Whoever
 * clears ep->tentative takes it over from the request. From a CM handler.
 */
int kdapl_ep_create_tentative(struct dat_ia *ia, struct dat_ep **ep);
/* Takes one back that nobody was told of, without its work. */
void kdapl_ep_drop_tentative(struct dat_ep *ep);
/* True for the one caller that has to free it. Any context. */
bool kdapl_ep_take_tentative(struct dat_ep *ep);
/* Takes the verbs objects away; returns when they are gone. Sleeps. */
void kdapl_ep_remove_device(struct dat_ep *ep);

/* ep_attr.c: pure checks of attributes */
void kdapl_ep_attr_default(struct dat_ep_attr *attr, struct dat_ia *ia,
			   bool recv, bool request);
int kdapl_ep_config_check(struct dat_ia *ia,
			  const struct kdapl_ep_config *config);

/* ep_res.c: what an EP takes from others, all or nothing */
int kdapl_ep_res_change(struct dat_ep *ep,
			const struct kdapl_ep_config *config);
void kdapl_ep_res_put(struct dat_ep *ep);

/* ep_qp.c */
struct kdapl_ep_qp {
	struct ib_qp *qp;
	u32 max_sge_send;
	u32 max_sge_recv;
};

int kdapl_ep_qp_create(struct dat_ep *ep, const struct kdapl_ep_config *config,
		       struct dat_evd *req_evd, struct dat_evd *recv_evd,
		       struct kdapl_ep_qp *out);
/* Nothing can find the QP any more; sleeps. */
void kdapl_ep_qp_destroy(struct dat_ep *ep, struct ib_qp *qp);
int kdapl_ep_qp_connect(struct dat_ep *ep);
int kdapl_ep_qp_error(struct dat_ep *ep);

/* connect.c: steps of the work up to ESTABLISHED */
void kdapl_connect_run(struct dat_ep *ep, unsigned long todo);
void kdapl_connect_drop_id(struct dat_ep *ep);
/* True: that would wait for the peer, so ep->connect_work does it, and kicks. */
bool kdapl_connect_drop_id_later(struct dat_ep *ep);
/* For INIT_WORK(): the step of an EP that has ep->connecting set. */
void kdapl_connect_work(struct work_struct *work);
/* The next attempt hears of nothing that was noted before: no id, no QP. */
void kdapl_connect_drop_notes(struct dat_ep *ep);
/* Private data that a consumer may send with any CM message, in bytes. */
u8 kdapl_connect_max_pdata(struct dat_ia *ia);

/* close.c: steps of the work from then on */
/* What dat_ep_disconnect() asked for. */
void kdapl_close_asked(struct dat_ep *ep, unsigned long todo);
void kdapl_close_run(struct dat_ep *ep, unsigned long todo);
/* The attempt did not reach ESTABLISHED: ends it with @event. */
void kdapl_close_fail(struct dat_ep *ep, enum dat_event_number event);
/* Jiffies of the next look at the EP, 0 for none. */
unsigned long kdapl_close_next_look(struct dat_ep *ep);
/* Begins to take a freed EP down. */
void kdapl_close_free(struct dat_ep *ep);

/* flush.c: the last phase, all in the EP's work */
void kdapl_flush_set_phase(struct dat_ep *ep, enum kdapl_close_phase phase);
/* Moves completions into the rings, for the consumer or not. */
void kdapl_flush_poll(struct dat_ep *ep);
/* Moves a gate if nobody else has; returns the head of that moment. */
u32 kdapl_flush_move_gate(struct kdapl_queue *queue,
			  enum kdapl_queue_gate from, enum kdapl_queue_gate to);
void kdapl_flush_mark(struct dat_ep *ep);
/* The move to error. From here on only the flush is waited for. */
void kdapl_flush_start(struct dat_ep *ep);
void kdapl_flush_look(struct dat_ep *ep);
/* Destroys the QP and reports what it had. */
void kdapl_flush_drop_qp(struct dat_ep *ep);
/* Ends all without waiting: no id, no QP, everything reported. */
void kdapl_flush_now(struct dat_ep *ep, enum dat_event_number event);

#endif /* _KDAPL_EP_H */
