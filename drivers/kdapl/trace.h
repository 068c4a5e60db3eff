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

#include "ep.h"
#include "evd.h"

/* Numbered from 0 without a gap, so a plain list serves __print_symbolic(). */
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
		{ KDAPL_OP_REG, "reg" })

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

/* An event entered the ring; notify tells whether it may cause an upcall. */
TRACE_EVENT(kdapl_evd_post,
	TP_PROTO(const struct dat_evd *evd, int number, bool notify),
	TP_ARGS(evd, number, notify),
	TP_STRUCT__entry(
		__field(u32, evd)
		__field(u32, number)
		__field(u32, live)
		__field(bool, notify)
	),
	TP_fast_assign(
		__entry->evd = evd->obj.id;
		__entry->number = number;
		__entry->live = evd->live;
		__entry->notify = notify;
	),
	TP_printk("evd=%u event=0x%05x live=%u notify=%u", __entry->evd,
		  __entry->number, __entry->live, __entry->notify)
);

/* A consumer took @count events, @live are left. */
TRACE_EVENT(kdapl_evd_dequeue,
	TP_PROTO(const struct dat_evd *evd, u32 count),
	TP_ARGS(evd, count),
	TP_STRUCT__entry(
		__field(u32, evd)
		__field(u32, count)
		__field(u32, live)
	),
	TP_fast_assign(
		__entry->evd = evd->obj.id;
		__entry->count = count;
		__entry->live = evd->live;
	),
	TP_printk("evd=%u count=%u live=%u", __entry->evd, __entry->count,
		  __entry->live)
);

DECLARE_EVENT_CLASS(kdapl_evd_upcall_class,
	TP_PROTO(const struct dat_evd *evd, int result),
	TP_ARGS(evd, result),
	TP_STRUCT__entry(
		__field(u32, evd)
		__field(int, policy)
		__field(u32, generation)
		__field(u32, live)
		__field(u32, runners)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->evd = evd->obj.id;
		__entry->policy = evd->policy;
		__entry->generation = evd->generation;
		__entry->live = evd->live;
		__entry->runners = evd->runners;
		__entry->result = result;
	),
	TP_printk("evd=%u policy=%d generation=%u live=%u runners=%u result=%d",
		  __entry->evd, __entry->policy, __entry->generation,
		  __entry->live, __entry->runners, __entry->result)
);

#define KDAPL_EVD_UPCALL_EVENT(name)					\
	DEFINE_EVENT(kdapl_evd_upcall_class, name,			\
		     TP_PROTO(const struct dat_evd *evd, int result),	\
		     TP_ARGS(evd, result))

/* Armed: the CQ was proven empty. @result is what notify answered. */
KDAPL_EVD_UPCALL_EVENT(kdapl_evd_arm);
/* Enabling was refused: @result is the errno. */
KDAPL_EVD_UPCALL_EVENT(kdapl_evd_busy);
/* An upcall is about to be made; @result is more_events. */
KDAPL_EVD_UPCALL_EVENT(kdapl_evd_upcall);

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

/* An event of an id; @owner is the id of its EP or service point, 0 if none. */
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

/* @index numbers the request within its queue: joins post and completion. */
TRACE_EVENT(kdapl_dto_post,
	TP_PROTO(const struct kdapl_queue *queue, const struct kdapl_wr *wr,
		 u32 index, int result),
	TP_ARGS(queue, wr, index, result),
	TP_STRUCT__entry(
		__field(u32, ep)
		__field(u32, index)
		__field(u32, len)
		__field(u8, op)
		__field(u8, flags)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->ep = queue->ep->obj.id;
		__entry->index = index;
		__entry->len = wr->len;
		__entry->op = wr->op;
		__entry->flags = wr->flags;
		__entry->result = result;
	),
	TP_printk("ep=%u index=%u %s len=%u flags=0x%x result=%d",
		  __entry->ep, __entry->index, kdapl_show_op(__entry->op),
		  __entry->len, __entry->flags, __entry->result)
);

TRACE_EVENT(kdapl_dto_complete,
	TP_PROTO(const struct kdapl_queue *queue, const struct kdapl_wr *wr,
		 u32 index, enum ib_wc_status status),
	TP_ARGS(queue, wr, index, status),
	TP_STRUCT__entry(
		__field(u32, ep)
		__field(u32, index)
		__field(u8, op)
		__field(u8, flags)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->ep = queue->ep->obj.id;
		__entry->index = index;
		__entry->op = wr->op;
		__entry->flags = wr->flags;
		__entry->status = status;
	),
	TP_printk("ep=%u index=%u %s flags=0x%x status=%s (%d)", __entry->ep,
		  __entry->index, kdapl_show_op(__entry->op), __entry->flags,
		  rdma_show_wc_status(__entry->status), __entry->status)
);

/* A registration ended; @via is the PZ (loopback) or the EP that carried it. */
TRACE_EVENT(kdapl_reg,
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
		  __entry->via, __entry->key, __entry->result)
);

#endif /* _KDAPL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
