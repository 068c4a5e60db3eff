/* SPDX-License-Identifier: GPL-2.0 */
/* Connection requests that wait for an answer. */
#ifndef _KDAPL_CR_H
#define _KDAPL_CR_H

#include <linux/socket.h>
#include <rdma/rdma_cm.h>

#include "cm.h"
#include "obj.h"

struct dat_ep;
struct dat_evd;
struct kdapl_sp;

/**
 * struct dat_cr - a connection request
 * @obj: common head
 * @id: the connection; leaves with the EP that accepts it; NULL after device
 *	removal
 * @evd: where its event went
 * @ep: the EP of the RSP that it came through, or one made for it; or NULL
 * @flags: enum kdapl_cr_flags, atomic bits
 * @local_addr: where it came in
 * @remote_addr: the peer's address and port
 * @rd_atomic_in: RDMA reads that the peer wants to have under way
 * @rd_atomic_out: RDMA reads that it answers at once
 * @pdata_len: bytes of @pdata; the size of the field where the transport does
 *	not tell
 * @pdata: the peer's private data
 */
struct dat_cr {
	struct kdapl_obj obj;
	struct rdma_cm_id *id;
	struct dat_evd *evd;
	struct dat_ep *ep;
	unsigned long flags;
	struct sockaddr_storage local_addr;
	struct sockaddr_storage remote_addr;
	u8 rd_atomic_in;
	u8 rd_atomic_out;
	u8 pdata_len;
	u8 pdata[KDAPL_PRIVATE_DATA_MAX];
};

enum kdapl_cr_flags {
	KDAPL_CR_TAKEN,		/* being accepted or rejected */
	KDAPL_CR_GONE,		/* the peer gave up waiting */
};

/* A CR without id for a service point that stays meanwhile; sleeps. */
struct dat_cr *kdapl_cr_alloc(struct kdapl_sp *sp, struct dat_ep *ep);
/*
 * Posts the event, and changes the state of an RSP's EP with it: nobody gets the
 * event and sees the old state. On success the CR is the consumer's.
 */
int kdapl_cr_announce(struct dat_cr *cr, struct kdapl_sp *sp);
/* Its EP without the request: UNCONNECTED again, or gone. Sleeps. */
void kdapl_cr_return_ep(struct dat_cr *cr);
/*
 * From the CM handler of a service point: makes a CR of the new id and posts
 * its event. @ep is the reserved EP of an RSP, which becomes
 * PASSIVE_CONNECTION_PENDING, or one made for the request, or NULL. On failure
 * id and EP stay with the caller.
 */
int kdapl_cr_arrived(struct kdapl_sp *sp, struct dat_ep *ep,
		     struct rdma_cm_id *id, const struct rdma_cm_event *event);
/* An event of the id of a CR that nobody has answered yet. */
int kdapl_cr_event(struct dat_cr *cr, const struct rdma_cm_event *event);
/* Refuses and frees it, whatever its state: for dat_ia_close(ABRUPT). */
void kdapl_cr_destroy(struct dat_cr *cr);
/*
 * The same for those whose event nobody has dequeued: with @evd, which has no
 * feeders and makes no upcalls any more, goes the only way to them. Sleeps.
 */
void kdapl_cr_refuse_queued(struct dat_evd *evd);
void kdapl_cr_remove_device(struct dat_cr *cr);

#endif /* _KDAPL_CR_H */
