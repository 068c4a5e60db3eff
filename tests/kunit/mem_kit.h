/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites for memory share: a connected pair, pages, LMRs of all kinds. */
#ifndef _MEM_KIT_H
#define _MEM_KIT_H

#include "kit.h"

enum {
	MEM_PAGES = 8,
	MEM_BYTES = MEM_PAGES * PAGE_SIZE,
};

#define MEM_LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | \
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

struct mem {
	struct kunit *test;
	struct dat_evd *recv;
	struct dat_evd *req;
	struct kit_pair pair;
	struct dat_ep *ep;	/* the client */
	struct ib_qp *qp;	/* its QP */
	u8 *memory;		/* MEM_BYTES, page-aligned */
};

/* @depth requests each way. */
struct mem *memkit_init(struct kunit *test, int depth);
/* Another pair through the same service point; mem->ep and mem->qp are its. */
void mem_connect(struct mem *mem, int depth);

/* dat_lmr_allocate() with PZ scope. */
struct dat_lmr *mem_allocate(struct mem *mem, int pages);
/* dat_lmr_fmr() of @pages pages at mem->memory + @offset, all privileges. */
int mem_fmr(struct mem *mem, struct dat_lmr *lmr, u32 offset, int pages,
	    enum dat_completion_flags flags, u32 *lctx, u32 *rctx);
int mem_invalidate(struct mem *mem, struct dat_lmr *lmr,
		   enum dat_completion_flags flags);
bool mem_bound(struct dat_lmr *lmr);
/* The next event of the request EVD is this one; returns it. */
struct dat_event mem_expect(struct mem *mem, enum dat_dtos op,
			    enum dat_dto_completion_status status);
/* A send of @length bytes at @addr under @context; what the call said. */
int mem_send(struct mem *mem, u32 context, u64 addr, u32 length);
union dat_context mem_cookie(unsigned long value);

#endif /* _MEM_KIT_H */
