// SPDX-License-Identifier: GPL-2.0
/* What the suites for windows share; see rmr_kit.h. */
#include <linux/module.h>

#include "rmr_kit.h"

struct dat_lmr *rmr_lmr(struct mem *mem, struct dat_pz *pz,
			enum dat_mem_priv_flags priv, u32 *lctx)
{
	union dat_region_description region = { .for_va = mem->memory };
	struct kunit *test = mem->test;
	struct dat_lmr *lmr = NULL;
	u64 length, va;
	u32 rctx;

	KUNIT_ASSERT_EQ(test, dat_lmr_kcreate(to_kit(test)->ia,
					      DAT_MEM_TYPE_VIRTUAL, region,
					      MEM_BYTES, pz, priv,
					      DAT_VA_TYPE_VA, 0, &lmr, lctx,
					      &rctx, &length, &va), 0);
	return lmr;
}
EXPORT_SYMBOL_GPL(rmr_lmr);

struct rmr_test *rmr_init(struct kunit *test, int depth)
{
	struct rmr_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->mem = memkit_init(test, depth);
	t->lmr = rmr_lmr(t->mem, to_kit(test)->pz, MEM_LOCAL, &t->lctx);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(to_kit(test)->pz, &t->rmr), 0);
	return t;
}
EXPORT_SYMBOL_GPL(rmr_init);

struct dat_lmr_triplet rmr_part(struct rmr_test *t, u32 offset, u32 length)
{
	return (struct dat_lmr_triplet){
		.virtual_address = (uintptr_t)t->mem->memory + offset,
		.segment_length = length,
		.lmr_context = t->lctx,
	};
}
EXPORT_SYMBOL_GPL(rmr_part);

int rmr_bind(struct rmr_test *t, u32 offset, u32 length, u32 *key)
{
	struct dat_lmr_triplet part = rmr_part(t, offset, length);

	return dat_rmr_bind(t->rmr, t->lmr, &part, RMR_REMOTE, DAT_VA_TYPE_VA,
			    t->mem->ep, mem_cookie(42), 0, key);
}
EXPORT_SYMBOL_GPL(rmr_bind);

void rmr_expect(struct rmr_test *t, enum dat_dto_completion_status status)
{
	struct kunit *test = t->mem->test;
	struct dat_event event = kit_next(t->mem->req);
	struct dat_rmr_bind_completion_event_data *bind =
		&event.event_data.rmr_completion_event_data;

	KUNIT_EXPECT_EQ(test, (int)event.event_number,
			(int)DAT_RMR_BIND_COMPLETION_EVENT);
	KUNIT_EXPECT_PTR_EQ(test, bind->rmr_handle, t->rmr);
	KUNIT_EXPECT_EQ(test, bind->user_cookie.as_index, 42UL);
	KUNIT_EXPECT_EQ(test, (int)bind->status, (int)status);
}
EXPORT_SYMBOL_GPL(rmr_expect);

u32 rmr_context(struct dat_rmr *rmr)
{
	struct dat_rmr_param param = { .rmr_context = 5 };

	dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param);
	return param.rmr_context;
}
EXPORT_SYMBOL_GPL(rmr_context);
