/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints. Objects are named by the ids that pr_debug() and debugfs use;
 * no kernel address is recorded.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kdapl

#if !defined(_KDAPL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KDAPL_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <trace/misc/rdma.h>

#include <dat/dat_attr.h>
#include <dat/dat_event.h>

#include "ep.h"

#define kdapl_show_policy(policy)					\
	__print_symbolic(policy,					\
		{ DAT_UPCALL_SINGLE_INSTANCE, "SINGLE_INSTANCE" },	\
		{ DAT_UPCALL_NOTIFY, "NOTIFY" },			\
		{ DAT_UPCALL_MANY, "MANY" })

#define kdapl_show_ep_state(state)					\
	__print_symbolic(state,						\
		{ DAT_EP_STATE_UNCONNECTED, "UNCONNECTED" },		\
		{ DAT_EP_STATE_RESERVED, "RESERVED" },			\
		{ DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, "PASSIVE" },	\
		{ DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, "ACTIVE" },	\
		{ DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, "TENTATIVE" }, \
		{ DAT_EP_STATE_CONNECTED, "CONNECTED" },		\
		{ DAT_EP_STATE_DISCONNECT_PENDING, "DISCONNECT_PENDING" }, \
		{ DAT_EP_STATE_DISCONNECTED, "DISCONNECTED" },		\
		{ DAT_EP_STATE_COMPLETION_PENDING, "COMPLETION_PENDING" })

#define kdapl_show_op(op)						\
	__print_symbolic(op,						\
		{ DAT_DTO_SEND, "SEND" },				\
		{ DAT_DTO_RDMA_WRITE, "RDMA_WRITE" },			\
		{ DAT_DTO_RDMA_READ, "RDMA_READ" },			\
		{ DAT_DTO_RECEIVE, "RECEIVE" },				\
		{ DAT_DTO_RECEIVE_WITH_INVALIDATE, "RECEIVE_INV" },	\
		{ DAT_DTO_BIND_MW, "BIND" },				\
		{ DAT_DTO_LMR_FMR, "LMR_FMR" },				\
		{ DAT_DTO_LMR_INVALIDATE, "LMR_INVALIDATE" },		\
		{ KDAPL_OP_MARKER, "marker" },				\
		{ KDAPL_OP_REG, "reg" },					\
		{ KDAPL_OP_PROOF, "proof" })

TRACE_DEFINE_ENUM(DAT_UPCALL_SINGLE_INSTANCE);
TRACE_DEFINE_ENUM(DAT_UPCALL_NOTIFY);
TRACE_DEFINE_ENUM(DAT_UPCALL_MANY);
TRACE_DEFINE_ENUM(DAT_EP_STATE_UNCONNECTED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_RESERVED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
TRACE_DEFINE_ENUM(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
TRACE_DEFINE_ENUM(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
TRACE_DEFINE_ENUM(DAT_EP_STATE_CONNECTED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_DISCONNECT_PENDING);
TRACE_DEFINE_ENUM(DAT_EP_STATE_DISCONNECTED);
TRACE_DEFINE_ENUM(DAT_EP_STATE_COMPLETION_PENDING);
TRACE_DEFINE_ENUM(DAT_DTO_SEND);
TRACE_DEFINE_ENUM(DAT_DTO_RDMA_WRITE);
TRACE_DEFINE_ENUM(DAT_DTO_RDMA_READ);
TRACE_DEFINE_ENUM(DAT_DTO_RECEIVE);
TRACE_DEFINE_ENUM(DAT_DTO_RECEIVE_WITH_INVALIDATE);
TRACE_DEFINE_ENUM(DAT_DTO_BIND_MW);
TRACE_DEFINE_ENUM(DAT_DTO_LMR_FMR);
TRACE_DEFINE_ENUM(DAT_DTO_LMR_INVALIDATE);
TRACE_DEFINE_ENUM(KDAPL_OP_MARKER);
TRACE_DEFINE_ENUM(KDAPL_OP_REG);
TRACE_DEFINE_ENUM(KDAPL_OP_PROOF);

/* An event entered the ring. */
TRACE_EVENT(kdapl_evd_post,
	TP_PROTO(u32 evd, u32 number),
	TP_ARGS(evd, number),
	TP_STRUCT__entry(
		__field(u32, evd)
		__field(u32, number)
	),
	TP_fast_assign(
		__entry->evd = evd;
		__entry->number = number;
	),
	TP_printk("evd=%u event=0x%05x", __entry->evd, __entry->number)
);

/* dequeue.c: has events take the way that traces, and counts. */
int kdapl_dequeue_trace_on(void);
void kdapl_dequeue_trace_off(void);

/* A consumer, or an upcall for it, took an event. */
TRACE_EVENT_FN(kdapl_evd_dequeue,
	TP_PROTO(u32 evd, u32 number),
	TP_ARGS(evd, number),
	TP_STRUCT__entry(
		__field(u32, evd)
		__field(u32, number)
	),
	TP_fast_assign(
		__entry->evd = evd;
		__entry->number = number;
	),
	TP_printk("evd=%u event=0x%05x", __entry->evd, __entry->number),
	kdapl_dequeue_trace_on, kdapl_dequeue_trace_off
);

/* An enabling policy is in force: the queue was proven empty. */
TRACE_EVENT(kdapl_evd_arm,
	TP_PROTO(u32 evd, int policy),
	TP_ARGS(evd, policy),
	TP_STRUCT__entry(
		__field(u32, evd)
		__field(int, policy)
	),
	TP_fast_assign(
		__entry->evd = evd;
		__entry->policy = policy;
	),
	TP_printk("evd=%u policy=%s", __entry->evd,
		  kdapl_show_policy(__entry->policy))
);

/* Enabling was refused with -EBUSY over @live events. */
TRACE_EVENT(kdapl_evd_busy,
	TP_PROTO(u32 evd, u32 live),
	TP_ARGS(evd, live),
	TP_STRUCT__entry(
		__field(u32, evd)
		__field(u32, live)
	),
	TP_fast_assign(
		__entry->evd = evd;
		__entry->live = live;
	),
	TP_printk("evd=%u live=%u", __entry->evd, __entry->live)
);

/* An upcall is about to be made. */
TRACE_EVENT(kdapl_evd_upcall,
	TP_PROTO(u32 evd, u32 generation, bool more),
	TP_ARGS(evd, generation, more),
	TP_STRUCT__entry(
		__field(u32, evd)
		__field(u32, generation)
		__field(bool, more)
	),
	TP_fast_assign(
		__entry->evd = evd;
		__entry->generation = generation;
		__entry->more = more;
	),
	TP_printk("evd=%u generation=%u more=%u", __entry->evd,
		  __entry->generation, __entry->more)
);

TRACE_EVENT(kdapl_ep_state,
	TP_PROTO(const struct dat_ep *ep, enum dat_ep_state from,
		 enum dat_ep_state to),
	TP_ARGS(ep, from, to),
	TP_STRUCT__entry(
		__field(u32, ep)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->ep = ep->obj.id;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("ep=%u %s -> %s", __entry->ep,
		  kdapl_show_ep_state(__entry->from),
		  kdapl_show_ep_state(__entry->to))
);

/* An event of an rdma_cm id; @owner is its EP, service point or request. */
TRACE_EVENT(kdapl_cm_event,
	TP_PROTO(u32 owner, const struct rdma_cm_event *event),
	TP_ARGS(owner, event),
	TP_STRUCT__entry(
		__field(u32, owner)
		__field(int, event)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->owner = owner;
		__entry->event = event->event;
		__entry->status = event->status;
	),
	TP_printk("owner=%u %s (%d) status=%d", __entry->owner,
		  rdma_show_cm_event(__entry->event), __entry->event,
		  __entry->status)
);

TRACE_EVENT(kdapl_dto_post,
	TP_PROTO(u32 ep, u8 op, u32 len, int result),
	TP_ARGS(ep, op, len, result),
	TP_STRUCT__entry(
		__field(u32, ep)
		__field(u32, len)
		__field(int, result)
		__field(u8, op)
	),
	TP_fast_assign(
		__entry->ep = ep;
		__entry->len = len;
		__entry->result = result;
		__entry->op = op;
	),
	TP_printk("ep=%u %s len=%u result=%d", __entry->ep,
		  kdapl_show_op(__entry->op), __entry->len, __entry->result)
);

TRACE_EVENT_FN(kdapl_dto_complete,
	TP_PROTO(u32 ep, u8 op, int status),
	TP_ARGS(ep, op, status),
	TP_STRUCT__entry(
		__field(u32, ep)
		__field(int, status)
		__field(u8, op)
	),
	TP_fast_assign(
		__entry->ep = ep;
		__entry->status = status;
		__entry->op = op;
	),
	TP_printk("ep=%u %s %s (%d)", __entry->ep,
		  kdapl_show_op(__entry->op),
		  rdma_show_wc_status(__entry->status), __entry->status),
	kdapl_dequeue_trace_on, kdapl_dequeue_trace_off
);

/* A registration ended; @via is the PZ (loopback) or the EP that carried it. */
TRACE_EVENT_FN(kdapl_reg,
	TP_PROTO(u32 lmr, u32 via, u32 key, int result),
	TP_ARGS(lmr, via, key, result),
	TP_STRUCT__entry(
		__field(u32, lmr)
		__field(u32, via)
		__field(u32, key)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->lmr = lmr;
		__entry->via = via;
		__entry->key = key;
		__entry->result = result;
	),
	TP_printk("lmr=%u via=%u key=0x%08x result=%d", __entry->lmr,
		  __entry->via, __entry->key, __entry->result),
	kdapl_dequeue_trace_on, kdapl_dequeue_trace_off
);

/* An invalidation ended, or (ep's) peer sent one along with a message. */
TRACE_EVENT_FN(kdapl_inv,
	TP_PROTO(u32 owner, u32 ep, u32 key, int result),
	TP_ARGS(owner, ep, key, result),
	TP_STRUCT__entry(
		__field(u32, owner)
		__field(u32, ep)
		__field(u32, key)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->owner = owner;
		__entry->ep = ep;
		__entry->key = key;
		__entry->result = result;
	),
	TP_printk("lmr=%u ep=%u key=0x%08x result=%d", __entry->owner,
		  __entry->ep, __entry->key, __entry->result),
	kdapl_dequeue_trace_on, kdapl_dequeue_trace_off
);

#endif /* _KDAPL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
