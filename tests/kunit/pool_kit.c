// SPDX-License-Identifier: GPL-2.0
/* What the suites for pools share; see pool_kit.h. */
#include <linux/mm.h>
#include <linux/module.h>

#include "pool_kit.h"

static void pool_flushed(struct dat_fmr_pool *pool, void *arg)
{
	struct pool_test *t = arg;

	if (pool == t->pool)
		atomic_inc(&t->flushed);
}

/* A pool that ends nothing by itself, unless the caller changes that. */
struct pool_test *pool_prepare(struct kunit *test, int depth)
{
	struct pool_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->mem = memkit_init(test, depth);
	t->param = (struct dat_fmr_pool_param){
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = 4,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.min_fmrs = 4,
		.max_fmrs = 4,
		.dirty_watermark = 4,
		.cache = true,
		.max_exposure_ms = DAT_FMR_EXPOSURE_UNBOUNDED,
		.flush_function = pool_flushed,
		.flush_arg = t,
	};
	return t;
}
EXPORT_SYMBOL_GPL(pool_prepare);

void pool_create(struct pool_test *t, struct dat_ep *ep)
{
	struct kunit *test = t->mem->test;
	struct kit *kit = to_kit(test);

	KUNIT_ASSERT_EQ(test, dat_fmr_pool_create(kit->ia, kit->pz, ep,
						  &t->param, &t->pool), 0);
	KUNIT_ASSERT_NOT_NULL(test, t->pool);
}
EXPORT_SYMBOL_GPL(pool_create);

struct pool_test *pool_default(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);

	pool_create(t, t->mem->ep);
	return t;
}
EXPORT_SYMBOL_GPL(pool_default);

/* Maps @num pages from page @first on. */
int pool_map_at(struct pool_test *t, struct dat_ep *ep, int first,
		int num, u64 va, struct dat_fmr **fmr)
{
	u64 pages[8];
	int i;

	for (i = 0; i < num && i < 8; i++)
		pages[i] = virt_to_phys(t->mem->memory) +
			   (first + i) * PAGE_SIZE;
	return dat_fmr_pool_map(t->pool, ep, pages, num, va, fmr);
}
EXPORT_SYMBOL_GPL(pool_map_at);

struct dat_fmr *pool_map_on(struct pool_test *t, struct dat_ep *ep, int first)
{
	struct dat_fmr *fmr = NULL;

	KUNIT_ASSERT_EQ(t->mem->test,
			pool_map_at(t, ep, first, 1, POOL_VA, &fmr), 0);
	return fmr;
}
EXPORT_SYMBOL_GPL(pool_map_on);

struct dat_fmr *pool_map(struct pool_test *t, int first)
{
	return pool_map_on(t, NULL, first);
}
EXPORT_SYMBOL_GPL(pool_map);

/* All registrations that were posted are home. */
void pool_home(struct pool_test *t)
{
	struct kunit *test = t->mem->test;

	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_qp_posted(t->mem->qp, true)));
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 0U);
}
EXPORT_SYMBOL_GPL(pool_home);

unsigned int pool_posts(struct pool_test *t)
{
	return fake_log_count(FAKE_POST_SEND, t->mem->qp);
}
EXPORT_SYMBOL_GPL(pool_posts);
