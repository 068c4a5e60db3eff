/* SPDX-License-Identifier: GPL-2.0 */
/* Local memory regions. */
#ifndef _KDAPL_LMR_H
#define _KDAPL_LMR_H

#include <rdma/ib_verbs.h>

#include <dat/dat.h>

#include "obj.h"

struct dat_pz;
struct dat_ep;
struct kdapl_wr;

/**
 * struct dat_lmr - registered memory
 * @obj: common head
 * @pz: its protection zone (a user of it)
 * @context: what triplets carry: index in ia->lmrs << 8 | a count of its uses
 * @va: first address that triplets may name
 * @length: bytes behind @va
 * @priv: what may be done with it
 * @lkey: for scatter/gather entries
 * @dma: DMA address of @va, if @contiguous
 * @contiguous: triplets translate by one addition; else through @pages, or the
 *	MR covers the memory and iova arithmetic does
 * @mr: NULL for local-only memory that local_dma_lkey can name
 *
 * Read by posts under RCU; freed after a grace period.
 */
struct dat_lmr {
	struct kdapl_obj obj;
	struct dat_pz *pz;
	u32 context;
	u64 va;
	u64 length;
	enum dat_mem_priv_flags priv;
	u32 lkey;
	u64 dma;
	bool contiguous;
	struct ib_mr *mr;
	u32 rkey;

	enum dat_mem_type mem_type;
	enum dat_va_type va_type;
	union dat_region_description region;
	struct scatterlist *sgl;	/* the pages, DMA mapped */
	unsigned int nents;
	unsigned int mapped;
	enum {
		KDAPL_LMR_READY,
		KDAPL_LMR_DEFERRED,	/* registered on the first connected EP */
	} state;
	struct list_head deferred;	/* on the PZ's list; see lmr.c */
	struct rcu_head rcu;
};

/*
 * Turns @num consumer segments into at most @max_sge entries, checking PZ,
 * range and privilege. Returns the number of entries or a negative errno;
 * *total is the sum of the lengths in bytes. Any context, inside an RCU read
 * section of its own.
 */
int kdapl_lmr_build_sge(struct dat_ep *ep, const struct dat_lmr_triplet *iov,
			int num, enum dat_mem_priv_flags need,
			struct ib_sge *sge, int max_sge, u32 *total);
/*
 * Deferred registrations of an EP's PZ (devices without loopback): called by
 * the EP's work before ESTABLISHED is delivered, and again at each completion.
 * True when nothing is left to wait for.
 */
bool kdapl_lmr_register_deferred(struct dat_ep *ep);
/* A KDAPL_OP_REG request completed; under the EVD lock. */
void kdapl_lmr_reg_done_locked(struct kdapl_wr *wr, enum ib_wc_status status);
void kdapl_lmr_remove_device(struct dat_lmr *lmr);

#endif /* _KDAPL_LMR_H */
