/* SPDX-License-Identifier: GPL-2.0 */
/* Remote memory regions: windows into LMRs, for the peer. */
#ifndef _KDAPL_RMR_H
#define _KDAPL_RMR_H

#include <linux/spinlock.h>

#include <dat/dat.h>

#include "frmr.h"
#include "obj.h"

struct dat_ep;
struct dat_lmr;

/* One of the two MRs of an RMR; what is behind it is set by who has that TAKEN. */
struct kdapl_rmr_window {
	struct kdapl_frmr fr;
	struct dat_lmr *lmr;	/* what it shows; held by lmr->binds */
	/* As asked for by the bind. */
	struct dat_lmr_triplet triplet;
	enum dat_mem_priv_flags priv;
	enum dat_va_type va_type;
};

/**
 * struct dat_rmr - a window
 * @obj: common head
 * @pz: its protection zone (a user of it, and a reference until @obj goes)
 * @scope: which EPs may bind it
 * @lock: guards what follows; a leaf, taken under EVD and post locks: irqsave
 * @busy: a bind or unbind is under way
 * @current_window: index of the one that is bound, or is being posted, -1: none
 * @triplet: of @current_window, or the last one that was
 * @priv: the same
 * @va_type: the same
 * @context: the same: its key
 * @window: the one that is bound, and the one that comes next
 * @rcu: for the grace period
 */
struct dat_rmr {
	struct kdapl_obj obj;
	struct dat_pz *pz;
	enum dat_rmr_scope scope;

	spinlock_t lock;		/* see above */
	bool busy;
	int current_window;
	struct dat_lmr_triplet triplet;
	enum dat_mem_priv_flags priv;
	enum dat_va_type va_type;
	u32 context;

	struct kdapl_rmr_window window[2];
	struct rcu_head rcu;
};

/* The request of a bind or unbind is home. Under the EVD lock. */
void kdapl_rmr_done_locked(struct kdapl_frmr *fr, enum ib_wc_status status);
/* The window does not show its LMR any more. Any context. */
void kdapl_rmr_put_lmr(struct kdapl_rmr_window *window);
/*
 * The entry for a read by @ep into a part of a window: 0, or what
 * dat_ep_post_rdma_read_to_rmr() says of the window. Under a post lock.
 */
int kdapl_rmr_sink(const struct dat_ep *ep, const struct dat_rmr_triplet *part,
		   struct ib_sge *sge);
/* Idempotent; sleeps. */
void kdapl_rmr_remove_device(struct dat_rmr *rmr);
/* As dat_rmr_free(), for dat_ia_close(ABRUPT). */
void kdapl_rmr_destroy(struct dat_rmr *rmr);

#endif /* _KDAPL_RMR_H */
