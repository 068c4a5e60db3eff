/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites for windows share: an LMR, and an RMR to be bound to it. */
#ifndef _RMR_KIT_H
#define _RMR_KIT_H

#include "../../drivers/kdapl/rmr.h"
#include "mem_kit.h"

#define RMR_REMOTE	(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

struct rmr_test {
	struct mem *mem;
	struct dat_lmr *lmr;	/* all of mem->memory */
	struct dat_rmr *rmr;
	u32 lctx;
};

struct rmr_test *rmr_init(struct kunit *test, int depth);
/* dat_lmr_kcreate() of all memory. */
struct dat_lmr *rmr_lmr(struct mem *mem, struct dat_pz *pz,
			enum dat_mem_priv_flags priv, u32 *lctx);
struct dat_lmr_triplet rmr_part(struct rmr_test *t, u32 offset, u32 length);
/* dat_rmr_bind() of that part, with RMR_REMOTE; @length 0 unbinds. */
int rmr_bind(struct rmr_test *t, u32 offset, u32 length, u32 *key);
/* The next event of the request EVD is that of a bind. */
void rmr_expect(struct rmr_test *t, enum dat_dto_completion_status status);
/* As the query tells it. */
u32 rmr_context(struct dat_rmr *rmr);

#endif /* _RMR_KIT_H */
