/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites for pools share. */
#ifndef _POOL_KIT_H
#define _POOL_KIT_H

#include <dat/kdat_fmr_pool.h>

#include "../../drivers/kdapl/fmr_pool.h"
#include "mem_kit.h"

#define POOL_VA		0x7000000UL

struct pool_test {
	struct mem *mem;
	struct dat_fmr_pool *pool;
	struct dat_fmr_pool_param param;
	atomic_t flushed;
};

/*
 * Parameters of a pool of 4 that ends nothing by itself, unless the caller changes
 * that, and a pair of EPs.
 */
struct pool_test *pool_prepare(struct kunit *test, int depth);
void pool_create(struct pool_test *t, struct dat_ep *ep);
/* Both, on an EP of its own. */
struct pool_test *pool_default(struct kunit *test);
/* Maps @num pages from page @first on. */
int pool_map_at(struct pool_test *t, struct dat_ep *ep, int first, int num,
		u64 va, struct dat_fmr **fmr);
/* One page at POOL_VA, which has to succeed. */
struct dat_fmr *pool_map(struct pool_test *t, int first);
/* The same on an EP, for a pool of a zone. */
struct dat_fmr *pool_map_on(struct pool_test *t, struct dat_ep *ep, int first);
/* All registrations that were posted are home. */
void pool_home(struct pool_test *t);
unsigned int pool_posts(struct pool_test *t);

#endif /* _POOL_KIT_H */
