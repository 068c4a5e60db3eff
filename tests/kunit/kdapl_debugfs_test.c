// SPDX-License-Identifier: GPL-2.0
/*
 * A reader of debugfs who is about to print an object when its consumer frees it,
 * and then all that it was made of. The reader has a reference on the object alone.
 * That what the line looks at is still there only KASAN can tell for certain.
 */
#include <linux/module.h>
#include <linux/seq_file.h>

#include "../../drivers/kdapl/debugfs.h"
#include "../../drivers/kdapl/lmr.h"
#include "../../drivers/kdapl/pz.h"
#include "../../drivers/kdapl/rmr.h"
#include "pool_kit.h"
#include "rmr_kit.h"

enum {
	READER_BYTES = 512,
};

struct reader {
	struct seq_file seq;
	struct kdapl_obj *obj;
};

static struct reader *reader_get(struct kunit *test, struct kdapl_obj *obj)
{
	struct reader *reader;

	reader = kunit_kzalloc(test, sizeof(*reader), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, reader);
	reader->seq.buf = kunit_kzalloc(test, READER_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, reader->seq.buf);
	reader->seq.size = READER_BYTES;
	kref_get(&obj->ref);
	reader->obj = obj;
	return reader;
}

/* The line begins with these numbers, which nobody else ever has; @ep 0: no EP. */
static void reader_expect(struct kunit *test, struct reader *reader,
			  void (*line)(struct seq_file *s,
				       struct kdapl_obj *obj),
			  u32 pz, u32 ep)
{
	u32 got_obj = 0, got_ia = 0, got_pz = 0, got_ep = 0;
	struct kdapl_obj *obj = reader->obj;
	int got;

	line(&reader->seq, obj);
	KUNIT_EXPECT_FALSE(test, seq_has_overflowed(&reader->seq));
	got = sscanf(reader->seq.buf, "%u %u %u %u", &got_obj, &got_ia,
		     &got_pz, &got_ep);
	KUNIT_EXPECT_GE(test, got, ep ? 4 : 3);
	KUNIT_EXPECT_EQ(test, got_obj, obj->id);
	KUNIT_EXPECT_EQ(test, got_ia, to_kit(test)->ia->obj.id);
	KUNIT_EXPECT_EQ(test, got_pz, pz);
	if (ep)
		KUNIT_EXPECT_EQ(test, got_ep, ep);
	kdapl_obj_put(obj);
}

/* The PZ of the kit, with all that is in it but one object. */
static u32 reader_free_pz(struct kunit *test)
{
	struct dat_pz *pz = to_kit(test)->pz;
	u32 id = pz->obj.id;

	KUNIT_EXPECT_EQ(test, dat_pz_free(pz), 0);
	to_kit(test)->pz = NULL;
	return id;
}

static struct dat_lmr *reader_lmr(struct kunit *test)
{
	union dat_region_description region = {};
	struct kit *kit = to_kit(test);
	struct dat_lmr *lmr = NULL;
	u64 length, addr;
	u32 lctx, rctx;

	region.for_va = kunit_kzalloc(test, READER_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, region.for_va);
	KUNIT_ASSERT_EQ(test, dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL,
					      region, READER_BYTES, kit->pz,
					      MEM_LOCAL, DAT_VA_TYPE_VA, 0,
					      &lmr, &lctx, &rctx, &length,
					      &addr), 0);
	return lmr;
}

static void kdapl_debugfs_lmr_outlives_pz(struct kunit *test)
{
	struct dat_lmr *lmr = reader_lmr(test);
	struct reader *reader = reader_get(test, &lmr->obj);

	KUNIT_ASSERT_EQ(test, dat_lmr_free(lmr), 0);
	reader_expect(test, reader, kdapl_debugfs_lmr_line,
		      reader_free_pz(test), 0);
}

static void kdapl_debugfs_fast_lmr_outlives_pz(struct kunit *test)
{
	struct kit *kit = to_kit(test);
	struct reader *reader;
	struct dat_lmr *lmr;

	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(kit->ia, kit->pz, 4,
					       DAT_LMR_SCOPE_PZ, &lmr), 0);
	reader = reader_get(test, &lmr->obj);
	KUNIT_ASSERT_EQ(test, dat_lmr_free(lmr), 0);
	reader_expect(test, reader, kdapl_debugfs_lmr_line,
		      reader_free_pz(test), 0);
}

static void kdapl_debugfs_rmr_outlives_pz(struct kunit *test)
{
	struct reader *reader;
	struct dat_rmr *rmr;

	KUNIT_ASSERT_EQ(test, dat_rmr_create(to_kit(test)->pz, &rmr), 0);
	reader = reader_get(test, &rmr->obj);
	KUNIT_ASSERT_EQ(test, dat_rmr_free(rmr), 0);
	reader_expect(test, reader, kdapl_debugfs_rmr_line,
		      reader_free_pz(test), 0);
}

static void kdapl_debugfs_pool_outlives_pz_and_ep(struct kunit *test)
{
	const struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = 4,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.min_fmrs = 2,
		.max_fmrs = 2,
		.max_exposure_ms = DAT_FMR_EXPOSURE_UNBOUNDED,
	};
	struct dat_ep *ep = kit_ep(test, NULL, NULL, NULL, 0);
	struct kit *kit = to_kit(test);
	struct dat_fmr_pool *pool;
	struct reader *reader;
	u32 id = ep->obj.id;

	KUNIT_ASSERT_EQ(test, dat_fmr_pool_create(kit->ia, kit->pz, ep, &param,
						  &pool), 0);
	reader = reader_get(test, &pool->obj);
	KUNIT_ASSERT_EQ(test, dat_fmr_pool_destroy(pool), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_free(ep), 0);
	reader_expect(test, reader, kdapl_debugfs_pool_line,
		      reader_free_pz(test), id);
}

static struct kunit_case kdapl_debugfs_cases[] = {
	KUNIT_CASE(kdapl_debugfs_lmr_outlives_pz),
	KUNIT_CASE(kdapl_debugfs_fast_lmr_outlives_pz),
	KUNIT_CASE(kdapl_debugfs_rmr_outlives_pz),
	KUNIT_CASE(kdapl_debugfs_pool_outlives_pz_and_ep),
	{}
};

static struct kunit_suite kdapl_debugfs_suite = {
	.name = "kdapl_debugfs",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_debugfs_cases,
};

kunit_test_suite(kdapl_debugfs_suite);

MODULE_DESCRIPTION("Suite: readers of debugfs beside those who free");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
