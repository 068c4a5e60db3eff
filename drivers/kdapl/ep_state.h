/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The endpoint state machine as tables: which call is legal in which state,
 * which state may follow which. Nothing here knows of verbs or of rdma_cm.
 */
#ifndef _KDAPL_EP_STATE_H
#define _KDAPL_EP_STATE_H

#include <linux/types.h>

#include <dat/dat_attr.h>

struct dat_ep;

/* The calls that care for the state of an EP. */
enum kdapl_ep_call {
	KDAPL_CALL_CONNECT,		/* dat_ep_connect, dup_connect's ep */
	KDAPL_CALL_DUP,			/* dat_ep_dup_connect's dup_ep */
	KDAPL_CALL_ACCEPT,		/* dat_cr_accept with an EP given */
	KDAPL_CALL_ACCEPT_OWN,		/* dat_cr_accept of the CR's own EP */
	KDAPL_CALL_DISCONNECT,		/* dat_ep_disconnect, either flag */
	KDAPL_CALL_RESET,
	KDAPL_CALL_FREE,
	KDAPL_CALL_RSP_CREATE,
	KDAPL_CALL_MODIFY_PZ,
	KDAPL_CALL_MODIFY,		/* EVDs, sizes, flags */
	KDAPL_CALL_MODIFY_NAMED,	/* named attributes */
	KDAPL_CALL_POST_RECV,
	KDAPL_CALL_POST_REQUEST,	/* send, RDMA, bind, FMR, invalidate */
	KDAPL_CALL_QUERY,		/* query, get_status, recv_query */
	KDAPL_CALLS,
};

/* All states, also those that kdapl never enters. */
#define KDAPL_EP_STATES	(DAT_EP_STATE_CONNECTED_MULTI_PATH + 1)

/* 0, or the errno of the call in that state. */
int kdapl_ep_check_call(enum kdapl_ep_call call, enum dat_ep_state state);
bool kdapl_ep_may_follow(enum dat_ep_state from, enum dat_ep_state to);
const char *kdapl_ep_state_name(enum dat_ep_state state);
/* The one place that changes ep->state; with it move the queues' gates. */
void kdapl_ep_set_state(struct dat_ep *ep, enum dat_ep_state state);
/* Moves the gates to where state and QP want them, under ep->lock. */
void kdapl_ep_set_gates(struct dat_ep *ep);

#endif /* _KDAPL_EP_STATE_H */
