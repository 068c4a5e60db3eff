// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the endpoint state machine
 *
 * Two tables, both from DAT 2.0: which call is legal in which state, and which
 * state may follow which. DAT answers a call in the wrong state with
 * INVALID_STATE and a subtype named after the state; the errnos keep the
 * subtypes apart:
 *
 * -EBUSY     a service point or a connection request has the EP
 * -EALREADY  a connection is being made, or being taken down
 * -EISCONN   the EP is connected
 * -ENOTCONN  the call needs a connection and there is none
 * -EBADFD    the EP must be reset first, or cannot do that at all
 *
 * The UNCONFIGURED_* states and the two refinements of CONNECTED are never
 * entered: every call but a query is -EBADFD there.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>

#include "ep.h"
#include "ep_state.h"
#include "kunit.h"
#include "queue.h"
#include "trace.h"

#define U	DAT_EP_STATE_UNCONNECTED
#define R	DAT_EP_STATE_RESERVED
#define P	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
#define A	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
#define T	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING
#define C	DAT_EP_STATE_CONNECTED
#define DP	DAT_EP_STATE_DISCONNECT_PENDING
#define D	DAT_EP_STATE_DISCONNECTED
#define CP	DAT_EP_STATE_COMPLETION_PENDING

#define STATES_USED	(BIT(U) | BIT(R) | BIT(P) | BIT(A) | BIT(T) | \
			 BIT(C) | BIT(DP) | BIT(D) | BIT(CP))

/* What a call looks for in an EP, which is what makes the errno. */
enum state_need {
	NEED_FREE_EP,		/* one without any connection */
	NEED_CONNECTION,
	NEED_REQUEST,		/* a connection request that waits */
};

static const struct {
	u16 states;		/* where the call is legal */
	u8 need;
} state_calls[KDAPL_CALLS] = {
	[KDAPL_CALL_CONNECT] = { BIT(U), NEED_FREE_EP },
	[KDAPL_CALL_DUP] = { BIT(C), NEED_CONNECTION },
	[KDAPL_CALL_ACCEPT] = { BIT(U), NEED_FREE_EP },
	[KDAPL_CALL_ACCEPT_OWN] = { BIT(P) | BIT(T), NEED_REQUEST },
	[KDAPL_CALL_DISCONNECT] = {
		BIT(A) | BIT(CP) | BIT(C) | BIT(DP) | BIT(D), NEED_CONNECTION
	},
	[KDAPL_CALL_RESET] = { BIT(U) | BIT(D), NEED_FREE_EP },
	[KDAPL_CALL_FREE] = {
		BIT(U) | BIT(A) | BIT(CP) | BIT(C) | BIT(DP) | BIT(D),
		NEED_FREE_EP
	},
	[KDAPL_CALL_RSP_CREATE] = { BIT(U), NEED_FREE_EP },
	[KDAPL_CALL_MODIFY_PZ] = { BIT(U) | BIT(T), NEED_FREE_EP },
	[KDAPL_CALL_MODIFY] = {
		BIT(U) | BIT(R) | BIT(P) | BIT(T), NEED_FREE_EP
	},
	[KDAPL_CALL_MODIFY_NAMED] = { BIT(U), NEED_FREE_EP },
	[KDAPL_CALL_POST_RECV] = { STATES_USED, NEED_CONNECTION },
	[KDAPL_CALL_POST_REQUEST] = { BIT(C) | BIT(D), NEED_CONNECTION },
	[KDAPL_CALL_QUERY] = { GENMASK(KDAPL_EP_STATES - 1, 0), NEED_FREE_EP },
};

/*
 * Row: from; bits: to. D comes from anywhere when the device is removed, R from P
 * when the event of the request found no room.
 */
static const u16 state_follows[KDAPL_EP_STATES] = {
	[U] = BIT(R) | BIT(A) | BIT(CP) | BIT(D),
	[R] = BIT(U) | BIT(P) | BIT(D),
	[P] = BIT(U) | BIT(R) | BIT(CP) | BIT(D),
	[T] = BIT(CP) | BIT(D),
	[A] = BIT(C) | BIT(D),
	[CP] = BIT(C) | BIT(D),
	[C] = BIT(DP) | BIT(D),
	[DP] = BIT(D),
	[D] = BIT(U),
};

static const char * const state_names[KDAPL_EP_STATES] = {
	[U] = "UNCONNECTED",
	[DAT_EP_STATE_UNCONFIGURED_UNCONNECTED] = "UNCONFIGURED_UNCONNECTED",
	[R] = "RESERVED",
	[DAT_EP_STATE_UNCONFIGURED_RESERVED] = "UNCONFIGURED_RESERVED",
	[P] = "PASSIVE_CONNECTION_PENDING",
	[DAT_EP_STATE_UNCONFIGURED_PASSIVE] = "UNCONFIGURED_PASSIVE",
	[A] = "ACTIVE_CONNECTION_PENDING",
	[T] = "TENTATIVE_CONNECTION_PENDING",
	[DAT_EP_STATE_UNCONFIGURED_TENTATIVE] = "UNCONFIGURED_TENTATIVE",
	[C] = "CONNECTED",
	[DP] = "DISCONNECT_PENDING",
	[D] = "DISCONNECTED",
	[CP] = "COMPLETION_PENDING",
	[DAT_EP_STATE_CONNECTED_SINGLE_PATH] = "CONNECTED_SINGLE_PATH",
	[DAT_EP_STATE_CONNECTED_MULTI_PATH] = "CONNECTED_MULTI_PATH",
};

const char *kdapl_ep_state_name(enum dat_ep_state state)
{
	return (unsigned int)state < KDAPL_EP_STATES ? state_names[state] :
						       "unknown";
}

int kdapl_ep_check_call(enum kdapl_ep_call call, enum dat_ep_state state)
{
	if ((unsigned int)call >= KDAPL_CALLS ||
	    (unsigned int)state >= KDAPL_EP_STATES)
		return -EINVAL;
	if (state_calls[call].states & BIT(state))
		return 0;
	if (!(BIT(state) & STATES_USED))
		return -EBADFD;

	switch (state_calls[call].need) {
	case NEED_CONNECTION:
		return -ENOTCONN;
	case NEED_REQUEST:
		return -EBADFD;
	default:
		break;
	}

	switch (state) {
	case R:
	case P:
	case T:
		return -EBUSY;
	case A:
	case CP:
	case DP:
		return -EALREADY;
	case C:
		return -EISCONN;
	default:
		return -EBADFD;
	}
}

KDAPL_EXPORT_FOR_TEST(kdapl_ep_check_call);

bool kdapl_ep_may_follow(enum dat_ep_state from, enum dat_ep_state to)
{
	if ((unsigned int)from >= KDAPL_EP_STATES ||
	    (unsigned int)to >= KDAPL_EP_STATES)
		return false;
	return state_follows[from] & BIT(to);
}

KDAPL_EXPORT_FOR_TEST(kdapl_ep_may_follow);

void kdapl_ep_set_gates(struct dat_ep *ep)
{
	enum kdapl_queue_gate recv = KDAPL_QUEUE_CLOSED;
	enum kdapl_queue_gate req = KDAPL_QUEUE_CLOSED;

	lockdep_assert_held(&ep->lock);

	if (!ep->gone && !ep->shut) {
		if (ep->qp)
			recv = KDAPL_QUEUE_OPEN;
		else if (ep->state == D)
			recv = KDAPL_QUEUE_FLUSH;
		else if (ep->state == DP)
			/* The work has taken the QP already, and flushes these. */
			recv = KDAPL_QUEUE_HOLD;
		if (ep->state == C || ep->state == D)
			req = recv;
	}
	kdapl_queue_set_gate(&ep->recv, recv);
	kdapl_queue_set_gate(&ep->req, req);
}

void kdapl_ep_set_state(struct dat_ep *ep, enum dat_ep_state state)
{
	enum dat_ep_state from = ep->state;

	lockdep_assert_held(&ep->lock);

	if (WARN_ONCE(!kdapl_ep_may_follow(from, state),
		      "kdapl: ep %u: no way from %s to %s\n", ep->obj.id,
		      kdapl_ep_state_name(from), kdapl_ep_state_name(state)))
		return;

	WRITE_ONCE(ep->state, state);
	trace_kdapl_ep_state(ep, from, state);
	kdapl_ep_set_gates(ep);
}
