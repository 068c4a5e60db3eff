/* SPDX-License-Identifier: GPL-2.0 */
/* rping's protocol, as a state machine that events drive. */
#ifndef _RPING_PROTOCOL_H
#define _RPING_PROTOCOL_H

#include <linux/types.h>

#include <dat/kdat.h>

struct rping_session;

/* A buffer that the peer may use, as it goes over the wire. */
struct rping_adv {
	__be64 addr;
	__be32 rkey;
	__be32 len;
};

/* What a side has just done, or is about to. */
enum rping_step {
	RPING_IDLE,		/* no connection */
	RPING_CONNECT,		/* connect or accept is under way */
	RPING_SOURCE,		/* client: source offered; server: awaits one */
	RPING_READ,		/* server: reads the source */
	RPING_SINK,		/* client: sink offered; server: awaits one */
	RPING_WRITE,		/* server: writes to the sink */
	RPING_HIDE,		/* client: takes its buffers from the server */
	RPING_CLOSE,		/* the end of the connection is awaited */
};

/* What must have happened before the next step. */
enum rping_pending {
	RPING_PENDING_SEND = 0x1,
	RPING_PENDING_RECV = 0x2,
	RPING_PENDING_RDMA = 0x4,
	RPING_PENDING_ESTABLISHED = 0x8,
	RPING_PENDING_HIDDEN = 0x10,
};

void rping_protocol_start(struct rping_session *s);
void rping_protocol_stop(struct rping_session *s);
void rping_protocol_settle(struct rping_session *s);
void rping_protocol_event(void *context, const struct dat_event *event);

#endif /* _RPING_PROTOCOL_H */
