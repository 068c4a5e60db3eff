// SPDX-License-Identifier: GPL-2.0
/* Every call on memory that exists, with its n-th step failing, for every n. */
#include <linux/module.h>

#include "pool_kit.h"
#include "rmr_kit.h"
#include "walk.h"

/* A connected pair, and memory of all kinds. */
struct walk_objects {
	struct pool_test *t;
	struct mem *mem;
	struct dat_lmr *lmr;	/* for local use */
	u32 lctx;
	struct dat_lmr *fmr;
	bool ended;		/* its invalidation was posted */
	struct dat_rmr *rmr;
	struct dat_fmr *mapped;
};

static struct walk_objects *walk_objects(struct walk *w)
{
	return w->priv;
}

static int walk_fmr(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);
	u32 lctx = 0, rctx = 0;
	int ret;

	ret = mem_fmr(o->mem, o->fmr, 0, 2, 0, &lctx, &rctx);
	KUNIT_EXPECT_EQ(w->test, !lctx && !rctx, !!ret);
	KUNIT_EXPECT_EQ(w->test, mem_bound(o->fmr), !ret);
	return ret;
}

static void walk_fmr_undo(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);

	mem_expect(o->mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(w->test, mem_invalidate(o->mem, o->fmr, 0), 0);
	mem_expect(o->mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
}

static void walk_fmr_make(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);
	u32 lctx, rctx;

	KUNIT_EXPECT_EQ(w->test, mem_fmr(o->mem, o->fmr, 0, 2, 0, &lctx, &rctx),
			0);
	mem_expect(o->mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
}

static int walk_invalidate(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);
	int ret;

	ret = mem_invalidate(o->mem, o->fmr, 0);
	o->ended = !ret;
	return ret;
}

static void walk_invalidated(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);

	/* A failure has changed nothing. */
	if (!o->ended)
		KUNIT_EXPECT_EQ(w->test, mem_invalidate(o->mem, o->fmr, 0), 0);
	mem_expect(o->mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_FALSE(w->test, mem_bound(o->fmr));
}

static int walk_bind_length(struct walk *w, u32 length)
{
	struct walk_objects *o = walk_objects(w);
	struct dat_lmr_triplet part = {
		.virtual_address = (uintptr_t)o->mem->memory,
		.segment_length = length,
		.lmr_context = o->lctx,
	};
	u32 key;

	return dat_rmr_bind(o->rmr, o->lmr, &part,
			    RMR_REMOTE, DAT_VA_TYPE_VA, o->mem->ep,
			    mem_cookie(1), 0, &key);
}

static int walk_bind(struct walk *w)
{
	return walk_bind_length(w, 100);
}

static void walk_bind_undo(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);

	KIT_EXPECT_EVENT(w->test, o->mem->req, DAT_RMR_BIND_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(w->test, walk_bind_length(w, 0), 0);
	KIT_EXPECT_EVENT(w->test, o->mem->req, DAT_RMR_BIND_COMPLETION_EVENT);
}

/* Over a bind that is in force: the old one's end, and the new one. */
static void walk_bound(struct walk *w)
{
	KUNIT_EXPECT_EQ(w->test, walk_bind_length(w, 50), 0);
	KIT_EXPECT_EVENT(w->test, walk_objects(w)->mem->req,
			 DAT_RMR_BIND_COMPLETION_EVENT);
}

static int walk_unbind(struct walk *w)
{
	return walk_bind_length(w, 0);
}

static void walk_bind_done(struct walk *w)
{
	KIT_EXPECT_EVENT(w->test, walk_objects(w)->mem->req,
			 DAT_RMR_BIND_COMPLETION_EVENT);
}

/*
 * A bind that failed leaves the old one in force, or has ended it: not an RMR that
 * can neither be bound nor unbound, and no key that works and is not told.
 */
static void walk_unbound(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);
	u32 key;
	int ret;

	/* Until then the end of the old one is on its way. */
	kit_drain(o->mem->req);
	key = rmr_context(o->rmr);
	KUNIT_EXPECT_TRUE(w->test, !key || fake_mr_valid(key));
	ret = walk_bind_length(w, 0);
	KUNIT_EXPECT_EQ(w->test, ret, key ? 0 : -EBADFD);
	if (!ret)
		KIT_EXPECT_EVENT(w->test, o->mem->req,
				 DAT_RMR_BIND_COMPLETION_EVENT);
	KUNIT_EXPECT_FALSE(w->test, key && fake_mr_valid(key));
}

/* Into the window. */
static int walk_read_to_rmr(struct walk *w)
{
	const struct dat_rmr_triplet remote = {
		.virtual_address = 0x1000,
		.segment_length = 8,
		.rmr_context = 0xfeed,
	};
	struct walk_objects *o = walk_objects(w);
	struct dat_rmr_triplet local = {
		.virtual_address = (uintptr_t)o->mem->memory,
		.segment_length = 8,
		.rmr_context = rmr_context(o->rmr),
	};

	return dat_ep_post_rdma_read_to_rmr(o->mem->ep, &local, mem_cookie(1),
					    &remote, 0);
}

static void walk_read_done(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);

	fake_qp_complete(o->mem->qp, true, 1, IB_WC_SUCCESS);
	KIT_EXPECT_EVENT(w->test, o->mem->req, DAT_DTO_COMPLETION_EVENT);
}

static int walk_map(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);

	o->mapped = NULL;
	return pool_map_at(o->t, NULL, 0, 2, POOL_VA, &o->mapped);
}

static void walk_unmap(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);

	KUNIT_EXPECT_EQ(w->test, dat_fmr_pool_unmap(o->mapped), 0);
}

/* Nothing stays behind for the next map to find. */
static void walk_flush(struct walk *w)
{
	KUNIT_EXPECT_EQ(w->test, dat_fmr_pool_flush(walk_objects(w)->t->pool),
			0);
	pool_home(walk_objects(w)->t);
}

static void walk_mapped(struct walk *w)
{
	KUNIT_EXPECT_EQ(w->test, walk_map(w), 0);
	walk_unmap(w);
}

static int walk_pool_flush(struct walk *w)
{
	return dat_fmr_pool_flush(walk_objects(w)->t->pool);
}

static const struct walk_step walk_steps[] = {
	{ "dat_lmr_fmr", NULL, walk_fmr, walk_fmr_undo },
	{ "dat_lmr_invalidate", walk_fmr_make, walk_invalidate, NULL,
	  walk_invalidated },
	{ "dat_rmr_bind", NULL, walk_bind, walk_bind_undo },
	{ "dat_rmr_bind over another", walk_bound, walk_bind, NULL,
	  walk_unbound },
	{ "dat_rmr_bind of nothing", walk_bound, walk_unbind, walk_bind_done,
	  walk_unbound },
	{ "dat_ep_post_rdma_read_to_rmr", walk_bound, walk_read_to_rmr,
	  walk_read_done, walk_unbound },
	{ "dat_fmr_pool_map", NULL, walk_map, walk_unmap, walk_flush },
	{ "dat_fmr_pool_flush", walk_mapped, walk_pool_flush, NULL,
	  walk_flush },
};

KUNIT_ARRAY_PARAM(walk, walk_steps, walk_desc);

static void kdapl_walk_mem_calls(struct kunit *test)
{
	struct walk_objects *o;

	o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, o);
	o->t = pool_default(test);
	o->mem = o->t->mem;
	o->fmr = mem_allocate(o->mem, 4);
	o->lmr = rmr_lmr(o->mem, to_kit(test)->pz, MEM_LOCAL, &o->lctx);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(to_kit(test)->pz, &o->rmr), 0);
	/* Also the marker that brings home what was posted in part. */
	fake_script.complete = FAKE_INLINE;
	walk_run(test, test->param_value, o);
}

static void kdapl_walk_mem_calls_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	kdapl_walk_mem_calls(test);
}

static struct kunit_case kdapl_walk_mem_cases[] = {
	KUNIT_CASE_PARAM(kdapl_walk_mem_calls, walk_gen_params),
	KUNIT_CASE_PARAM(kdapl_walk_mem_calls_iwarp, walk_gen_params),
	{}
};

static struct kunit_suite kdapl_walk_mem_suite = {
	.name = "kdapl_walk_mem",
	.init = kit_init,
	.exit = kit_exit_replug,
	.suite_exit = walk_report,
	.test_cases = kdapl_walk_mem_cases,
};

kunit_test_suite(kdapl_walk_mem_suite);

MODULE_DESCRIPTION("Suite: failures inside calls on memory");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
