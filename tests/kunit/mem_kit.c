// SPDX-License-Identifier: GPL-2.0
/* What the suites for memory share; see mem_kit.h. */
#include <linux/module.h>
#include <linux/mm.h>

#include "mem_kit.h"

union dat_context mem_cookie(unsigned long value)
{
	return (union dat_context){ .as_index = value };
}
EXPORT_SYMBOL_GPL(mem_cookie);

static void mem_free_pages(struct kunit_resource *res)
{
	free_pages((unsigned long)res->data, get_order(MEM_BYTES));
}

static int mem_get_pages(struct kunit_resource *res, void *unused)
{
	res->data = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
					     get_order(MEM_BYTES));
	return res->data ? 0 : -ENOMEM;
}

struct mem *memkit_init(struct kunit *test, int depth)
{
	struct mem *mem;

	mem = kunit_kzalloc(test, sizeof(*mem), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	mem->test = test;
	mem->memory = kunit_alloc_resource(test, mem_get_pages, mem_free_pages,
					   GFP_KERNEL, NULL);
	KUNIT_ASSERT_NOT_NULL(test, mem->memory);
	mem->recv = kit_evd(test, 8 * depth, DAT_EVD_DTO_FLAG);
	mem->req = kit_evd(test, 8 * depth, DAT_EVD_DTO_FLAG |
					    DAT_EVD_RMR_BIND_FLAG);
	kit_pair(test, &mem->pair, mem->recv, mem->req, depth);
	mem->ep = mem->pair.client;
	mem->qp = kit_qp(mem->ep);
	return mem;
}
EXPORT_SYMBOL_GPL(memkit_init);

void mem_connect(struct mem *mem, int depth)
{
	struct kunit *test = mem->test;
	struct dat_evd *conn;

	/* The end of a connection before this one may still be on its way. */
	conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	mem->pair.conn_evd = conn;
	kit_pair_connect(test, &mem->pair,
			 kit_ep(test, mem->recv, mem->req, conn, depth),
			 kit_ep(test, mem->recv, mem->req, conn, depth));
	mem->ep = mem->pair.client;
	mem->qp = kit_qp(mem->ep);
}
EXPORT_SYMBOL_GPL(mem_connect);

struct dat_lmr *mem_allocate(struct mem *mem, int pages)
{
	struct kit *kit = to_kit(mem->test);
	struct dat_lmr *lmr = NULL;

	KUNIT_ASSERT_EQ(mem->test, dat_lmr_allocate(kit->ia, kit->pz, pages,
						    DAT_LMR_SCOPE_PZ, &lmr),
			0);
	KUNIT_ASSERT_NOT_NULL(mem->test, lmr);
	return lmr;
}
EXPORT_SYMBOL_GPL(mem_allocate);

int mem_fmr(struct mem *mem, struct dat_lmr *lmr, u32 offset, int pages,
	    enum dat_completion_flags flags, u32 *lctx, u32 *rctx)
{
	union dat_region_description region = {
		.for_va = mem->memory + offset,
	};

	return dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, pages,
			   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, mem->ep,
			   mem_cookie(1), flags, lctx, rctx);
}
EXPORT_SYMBOL_GPL(mem_fmr);

int mem_invalidate(struct mem *mem, struct dat_lmr *lmr,
		   enum dat_completion_flags flags)
{
	return dat_lmr_invalidate(lmr, mem->ep, mem_cookie(2), flags);
}
EXPORT_SYMBOL_GPL(mem_invalidate);

bool mem_bound(struct dat_lmr *lmr)
{
	struct dat_lmr_param param = {};

	dat_lmr_query(lmr, DAT_LMR_FIELD_LMR_STATE, &param);
	return param.lmr_state.bound;
}
EXPORT_SYMBOL_GPL(mem_bound);

struct dat_event mem_expect(struct mem *mem, enum dat_dtos op,
			    enum dat_dto_completion_status status)
{
	struct kunit *test = mem->test;
	struct dat_event event = kit_next(mem->req);
	struct dat_dto_completion_event_data *dto =
		&event.event_data.dto_completion_event_data;

	KUNIT_EXPECT_EQ(test, (int)event.event_number,
			(int)DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, (int)dto->operation, (int)op);
	KUNIT_EXPECT_EQ(test, (int)dto->status, (int)status);
	KUNIT_EXPECT_EQ(test, dto->transfered_length, 0U);
	return event;
}
EXPORT_SYMBOL_GPL(mem_expect);

int mem_send(struct mem *mem, u32 context, u64 addr, u32 length)
{
	struct dat_lmr_triplet iov = {
		.virtual_address = addr,
		.segment_length = length,
		.lmr_context = context,
	};

	return dat_ep_post_send(mem->ep, 1, &iov, mem_cookie(3),
				DAT_COMPLETION_DEFAULT_FLAG);
}
EXPORT_SYMBOL_GPL(mem_send);
