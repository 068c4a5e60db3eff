/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection manager in the place of rdma_cm. Left alone it resolves every
 * address and connects an id to the listener of the port it asks for, with the
 * events, statuses and private data sizes that rdma_cm has on InfiniBand.
 * A test may turn that off, and then makes each event itself.
 */
#ifndef _FAKE_CM_H
#define _FAKE_CM_H

#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

enum fake_cm_call {
	FAKE_CM_ANY,		/* fail only */
	FAKE_CM_CREATE_ID,
	FAKE_CM_BIND_ADDR,
	FAKE_CM_LISTEN,
	FAKE_CM_RESOLVE_ADDR,
	FAKE_CM_RESOLVE_ROUTE,
	FAKE_CM_CONNECT,
	FAKE_CM_ACCEPT,
	FAKE_CM_REJECT,
	FAKE_CM_DISCONNECT,
	FAKE_CM_INIT_QP_ATTR,
	FAKE_CM_DESTROY_ID,	/* never fails */
	FAKE_CM_CALLS,
};

/* The last call of a kind. */
struct fake_cm_record {
	struct rdma_conn_param param;
	u8 pdata[256];
	u8 pdata_len;
	u8 reason;
};

/**
 * struct fake_cm_script - what happens by itself
 * @no_resolve: resolve_addr and resolve_route cause no event
 * @no_connect: connect, accept, reject and disconnect cause none
 * @no_drep: a disconnect reaches the peer, its answer does not come back
 * @second_port: FAKE_IP6 is an address of the second port
 * @destroy_us: so long at least sleeps whoever destroys an id
 * @hold_lock: as if a handler were running on every id
 * @hold_connect: whoever connects an id stays inside while it is set, as siw does
 *	until TCP has an answer
 * @hold_destroy: whoever destroys an id stays inside while it is set, as in iw_cm
 *	until the peer has an answer
 * @in_listen: called on the stack of whoever lets an id listen, once requests come
 * @in_listen_ctx: for it
 */
struct fake_cm_script {
	bool no_resolve;
	bool no_connect;
	bool no_drep;
	bool second_port;
	unsigned int destroy_us;
	bool hold_connect;
	bool hold_destroy;
	bool hold_lock;
	void (*in_listen)(struct rdma_cm_id *id, void *ctx);
	void *in_listen_ctx;
};

extern struct fake_cm_script fake_cm_script;

/* As fake_hca_fail(), for calls of the CM. */
void fake_cm_fail(enum fake_cm_call call, unsigned int nth, unsigned int count,
		  int error);
unsigned int fake_cm_fail_left(void);
/* Calls that succeeded since the last reset. */
unsigned int fake_cm_count(enum fake_cm_call call);
/* How many were inside of destroy_id at once since then, at most. */
unsigned int fake_cm_destroying_most(void);
void fake_cm_last(enum fake_cm_call call, struct fake_cm_record *record);

/*
 * Calls the id's handler as the CM would, with its handler lock held, and
 * returns when it has returned. -ENOENT: the id is gone. 1: the handler asked
 * for its destruction and got it.
 */
int fake_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type type,
		  int status, const void *pdata, u8 pdata_len);
/*
 * A CONNECT_REQUEST for the listener of @port. The new id, or NULL if nobody
 * listens there or the handler refused it.
 */
struct rdma_cm_id *fake_cm_request(u16 port, const void *pdata, u8 pdata_len);
/* True while the id has not been destroyed. */
bool fake_cm_alive(struct rdma_cm_id *id);

#endif /* _FAKE_CM_H */
