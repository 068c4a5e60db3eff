/* SPDX-License-Identifier: GPL-2.0 */
/* Service points: what peers connect to. */
#ifndef _KDAPL_SP_H
#define _KDAPL_SP_H

#include <linux/mutex.h>
#include <linux/socket.h>
#include <rdma/rdma_cm.h>

#include <dat/dat_attr.h>

#include "obj.h"

struct dat_ep;
struct dat_evd;

/**
 * struct kdapl_sp - what all service points have in common
 * @obj: common head
 * @mutex: held by who makes it, from before the first request can come until all
 *	know it, by who takes @id, and by who hands a request over to it. Inside the
 *	IA's gate, outside of rdma_cm's handler mutex: no handler takes it
 * @id: the listener; NULL after device removal; changed under @mutex and ia->lock
 * @evd: where its connection requests go; a reference, beside being a feeder
 * @conn_qual: what it listens on
 */
struct kdapl_sp {
	struct kdapl_obj obj;
	struct mutex mutex;	/* @id, and the time before all know it */
	struct rdma_cm_id *id;
	struct dat_evd *evd;
	u64 conn_qual;
};

struct dat_psp {
	struct kdapl_sp sp;
	enum dat_psp_flags flags;
};

/**
 * struct dat_rsp - listens for one request, for one EP
 * @sp: what a PSP has too
 * @ep: reserved from creation to the arrival of the request; a reference
 */
struct dat_rsp {
	struct kdapl_sp sp;
	struct dat_ep *ep;
};

struct dat_csp {
	struct kdapl_sp sp;
	struct dat_comm comm;
	struct sockaddr_storage addr;
};

static inline bool kdapl_sp_makes_eps(const struct kdapl_sp *sp)
{
	return sp->obj.type == DAT_HANDLE_TYPE_PSP &&
	       container_of(sp, struct dat_psp, sp)->flags ==
	       DAT_PSP_PROVIDER_FLAG;
}

/* Of a zeroed one; from here on it ends with kdapl_obj_put(). */
void kdapl_sp_init(struct kdapl_sp *sp, struct dat_ia *ia,
		   enum dat_handle_type type, struct dat_evd *evd,
		   void (*release)(struct kdapl_obj *obj));
/*
 * Listens on @addr, which becomes what it is bound to; @conn_qual 0 stands for
 * the port. A request, whose event names @sp, may come before this returns. So on
 * success the caller has @sp's mutex and a reference: its free call waits, and
 * until kdapl_sp_show() there is time to tell the consumer. Inside the gate;
 * sleeps.
 */
int kdapl_sp_listen(struct kdapl_sp *sp, struct sockaddr_storage *addr,
		    u64 conn_qual);
/* Puts it on the IA's list, and gives both back: it may be gone then. */
void kdapl_sp_show(struct kdapl_sp *sp);
/* Whoever takes the id destroys it: a free call or device removal. Sleeps. */
void kdapl_sp_unlisten(struct kdapl_sp *sp);
/* Ends what all kinds have; the caller drops its own and the reference. */
void kdapl_sp_destroy(struct kdapl_sp *sp);
/* An event of a listener. */
int kdapl_sp_event(struct kdapl_obj *obj, struct rdma_cm_id *id,
		   const struct rdma_cm_event *event);
/* As the free calls, but always: for dat_ia_close(ABRUPT). */
void kdapl_psp_destroy(struct dat_psp *psp);
void kdapl_rsp_destroy(struct dat_rsp *rsp);
void kdapl_csp_destroy(struct dat_csp *csp);

#endif /* _KDAPL_SP_H */
