/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pools of fast registrations: kdapl's addition to DAT 2.0. A consumer maps page
 * lists and gets keys for them; the pool keeps what was unmapped for the next one
 * that maps the same, and takes it away from the peer within a time that the
 * consumer sets.
 */
#ifndef _DAT_KDAT_FMR_POOL_H
#define _DAT_KDAT_FMR_POOL_H

#include <dat/dat.h>

struct dat_fmr_pool;

/* For max_exposure_ms: an unmapped key may stay valid for any time. */
#define DAT_FMR_EXPOSURE_UNBOUNDED	((u32)~0U)

/**
 * struct dat_fmr - a mapping
 * @lmr_context: for local segments
 * @rmr_context: for the peer; 0 if the pool has no remote privilege
 * @address: what triplets call the first byte
 * @length: bytes
 *
 * Read-only for the consumer, from dat_fmr_pool_map() to dat_fmr_pool_unmap().
 */
struct dat_fmr {
	u32 lmr_context;
	u32 rmr_context;
	u64 address;
	u64 length;
};

/**
 * struct dat_fmr_pool_param - what a pool is to be
 * @mem_type: %DAT_MEM_TYPE_PHYSICAL: page lists hold physical addresses;
 *	%DAT_MEM_TYPE_IA: DMA addresses of memory that the consumer has mapped
 * @max_pages: pages of PAGE_SIZE in a mapping
 * @privileges: of every mapping
 * @min_fmrs: mappings that the pool always has room for, at least 1
 * @max_fmrs: mappings that it may grow to while they are wanted
 * @dirty_watermark: when so many unmapped keys are valid all of them are
 *	invalidated together; 0: half of @max_fmrs
 * @cache: a page list that is mapped, or was until lately, is found again
 * @max_exposure_ms: milliseconds that an unmapped key may stay valid; 0: not at
 *	all, dat_fmr_pool_unmap() waits; or %DAT_FMR_EXPOSURE_UNBOUNDED
 * @flush_function: called after each batch of invalidations, in process context,
 *	or NULL; may map and unmap, but not flush or destroy
 * @flush_arg: for it
 */
struct dat_fmr_pool_param {
	enum dat_mem_type mem_type;
	int max_pages;
	enum dat_mem_priv_flags privileges;
	int min_fmrs;
	int max_fmrs;
	int dirty_watermark;
	bool cache;
	u32 max_exposure_ms;
	void (*flush_function)(struct dat_fmr_pool *pool, void *flush_arg);
	void *flush_arg;
};

int dat_fmr_pool_create(struct dat_ia *ia, struct dat_pz *pz,
			struct dat_ep *ep,
			const struct dat_fmr_pool_param *param,
			struct dat_fmr_pool **pool);
int dat_fmr_pool_destroy(struct dat_fmr_pool *pool);
int dat_fmr_pool_map(struct dat_fmr_pool *pool, struct dat_ep *ep,
		     const u64 *page_list, int num_pages, u64 address,
		     struct dat_fmr **fmr);
int dat_fmr_pool_unmap(struct dat_fmr *fmr);
int dat_fmr_pool_flush(struct dat_fmr_pool *pool);

#endif /* _DAT_KDAT_FMR_POOL_H */
