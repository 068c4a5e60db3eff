/* SPDX-License-Identifier: GPL-2.0 */
/* Service points: what peers connect to. */
#ifndef _KDAPL_SP_H
#define _KDAPL_SP_H

#include <rdma/rdma_cm.h>

#include "obj.h"

struct dat_ep;
struct dat_evd;

/**
 * struct kdapl_sp - what PSPs and RSPs have in common
 * @obj: common head
 * @id: the listener; NULL after device removal; changed under ia->lock
 * @evd: where its connection requests go
 * @conn_qual: what it listens on
 */
struct kdapl_sp {
	struct kdapl_obj obj;
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

/* An event of a listener. */
int kdapl_sp_event(struct kdapl_obj *obj, struct rdma_cm_id *id,
		   const struct rdma_cm_event *event);
/* As the free calls, but always: for dat_ia_close(ABRUPT). */
void kdapl_psp_destroy(struct dat_psp *psp);
void kdapl_rsp_destroy(struct dat_rsp *rsp);
void kdapl_psp_remove_device(struct dat_psp *psp);
void kdapl_rsp_remove_device(struct dat_rsp *rsp);

#endif /* _KDAPL_SP_H */
