/* SPDX-License-Identifier: GPL-2.0 */
/* Protection zones: an ib_pd, and what is needed to register memory in it. */
#ifndef _KDAPL_PZ_H
#define _KDAPL_PZ_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>

#include "obj.h"

struct kdapl_reg_qp;

/**
 * struct dat_pz - a protection zone
 * @obj: common head
 * @pd: NULL after device removal
 * @users: LMRs, RMRs, EPs and SRQs in it; free is refused while not 0; negative
 *	once it is being freed
 * @reg_lock: guards @reg and serialises the registrations through it; sleeps;
 *	taken inside the IA's gate, never by a CM handler or an EP's work
 * @reg: the loopback QP that registers remote LMRs, made at first use
 * @lmr_lock: guards @deferred and the state of the LMRs on it; a leaf, taken
 *	under EVD locks: irqsave
 * @deferred: LMRs that wait for a connected EP, or for its answer
 * @lmr_wait: one of them has changed its state
 */
struct dat_pz {
	struct kdapl_obj obj;
	struct ib_pd *pd;
	atomic_t users;
	struct mutex reg_lock;		/* registration through @reg */
	struct kdapl_reg_qp *reg;

	spinlock_t lmr_lock;		/* deferred registrations */
	struct list_head deferred;
	wait_queue_head_t lmr_wait;
};

/* -EINVAL: no PZ, another IA's, or one that is being freed. */
int kdapl_pz_get_user(struct dat_pz *pz, struct dat_ia *ia);
void kdapl_pz_put_user(struct dat_pz *pz);
/* Idempotent; sleeps; nothing uses the PD any more. */
void kdapl_pz_remove_device(struct dat_pz *pz);
/* As dat_pz_free(), for dat_ia_close(ABRUPT). */
void kdapl_pz_destroy(struct dat_pz *pz);

#endif /* _KDAPL_PZ_H */
