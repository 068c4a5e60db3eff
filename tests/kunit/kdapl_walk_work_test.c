// SPDX-License-Identifier: GPL-2.0
/*
 * What work items make on their own, with its n-th step failing, for every n: more
 * registrations for a pool, and an MR in the place of one that nobody trusts. Nobody
 * is told of the failure; what is missing comes by a later attempt.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/frmr.h"
#include "../../drivers/kdapl/lmr.h"
#include "pool_kit.h"
#include "walk.h"

enum {
	WORK_MIN = 4,		/* all of them are mapped */
	WORK_MAX = 6,
};

struct work_objects {
	struct pool_test *t;
	struct kit_pair pair;
	struct dat_fmr *mapped[WORK_MIN];
	struct kdapl_frmr *stale;
};

static int work_map(struct work_objects *o, int page, struct dat_fmr **fmr)
{
	return pool_map_at(o->t, NULL, page, 1, POOL_VA, fmr);
}

static void work_make_full(struct walk *w)
{
	struct work_objects *o = w->priv;
	int i;

	o->t->param.min_fmrs = WORK_MIN;
	o->t->param.max_fmrs = WORK_MAX;
	pool_create(o->t, o->t->mem->ep);
	for (i = 0; i < WORK_MIN; i++)
		KUNIT_ASSERT_EQ(w->test, work_map(o, i, &o->mapped[i]), 0);
	walk_work(w, &o->t->pool->work.work);
}

/* Who is refused has the pool grow by half. */
static int work_grow(struct walk *w)
{
	struct work_objects *o = w->priv;
	struct dat_fmr_pool *pool = o->t->pool;
	struct dat_fmr *fmr;

	KUNIT_EXPECT_EQ(w->test, work_map(o, WORK_MIN, &fmr), -EAGAIN);
	flush_delayed_work(&pool->work);
	KUNIT_EXPECT_EQ(w->test, pool->count, WORK_MIN + pool->num_clean);
	return pool->count == WORK_MAX ? 0 : -ENOMEM;
}

/* Who asks again and again is served. */
static void work_grown(struct walk *w)
{
	struct work_objects *o = w->priv;
	struct dat_fmr *fmr = NULL;
	int i;

	KUNIT_ASSERT_TRUE(w->test, KIT_WAIT(!work_map(o, WORK_MIN, &fmr)));
	KUNIT_EXPECT_TRUE(w->test, fake_mr_valid(fmr->rmr_context));
	KUNIT_EXPECT_EQ(w->test, dat_fmr_pool_unmap(fmr), 0);
	for (i = 0; i < WORK_MIN; i++)
		KUNIT_EXPECT_EQ(w->test, dat_fmr_pool_unmap(o->mapped[i]), 0);
	KUNIT_EXPECT_EQ(w->test, dat_fmr_pool_destroy(o->t->pool), 0);
}

/* One that was unmapped, and an EP that cannot post its invalidation any more. */
static void work_make_stale(struct walk *w)
{
	struct work_objects *o = w->priv;
	struct kit_pair *pair = &o->pair;
	struct mem *mem = o->t->mem;
	struct kdapl_pool_fmr *pf;
	int i;

	kit_pair_connect(w->test, pair,
			 kit_ep(w->test, mem->recv, mem->req, pair->conn_evd, 4),
			 kit_ep(w->test, mem->recv, mem->req, pair->conn_evd, 4));
	o->t->param.min_fmrs = 1;
	o->t->param.max_fmrs = 2;
	o->t->param.dirty_watermark = 2;
	pool_create(o->t, pair->client);
	KUNIT_ASSERT_EQ(w->test, work_map(o, 0, &o->mapped[0]), 0);
	KUNIT_EXPECT_EQ(w->test, dat_fmr_pool_unmap(o->mapped[0]), 0);
	KUNIT_EXPECT_EQ(w->test, dat_ep_disconnect(pair->client,
						   DAT_CLOSE_ABRUPT_FLAG), 0);
	for (i = 0; i < 2; i++)
		KIT_EXPECT_EVENT(w->test, pair->conn_evd,
				 DAT_CONNECTION_EVENT_DISCONNECTED);
	pf = list_first_entry(&o->t->pool->all, struct kdapl_pool_fmr, all);
	o->stale = pf->lmr->fr;
	walk_work(w, &o->stale->replace.work);
}

/* The flush waits until the device gives another one. */
static int work_replace(struct walk *w)
{
	struct work_objects *o = w->priv;
	u32 key = o->mapped[0]->rmr_context;
	int ret;

	KUNIT_EXPECT_TRUE(w->test, fake_mr_valid(key));
	ret = dat_fmr_pool_flush(o->t->pool);
	KUNIT_EXPECT_EQ(w->test, ret, 0);
	KUNIT_EXPECT_FALSE(w->test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(w->test, o->t->pool->num_clean, 1);
	KUNIT_EXPECT_NOT_NULL(w->test, o->stale->mr);
	return ret;
}

static void work_replaced(struct walk *w)
{
	struct work_objects *o = w->priv;

	KUNIT_EXPECT_EQ(w->test, dat_fmr_pool_destroy(o->t->pool), 0);
	KUNIT_EXPECT_EQ(w->test, dat_ep_free(o->pair.client), 0);
	KUNIT_EXPECT_EQ(w->test, dat_ep_free(o->pair.server), 0);
}

static const struct walk_step work_steps[] = {
	{ "a pool grows", work_make_full, work_grow, NULL, work_grown },
	{ "an MR is replaced", work_make_stale, work_replace, NULL,
	  work_replaced },
};

KUNIT_ARRAY_PARAM(work, work_steps, walk_desc);

static void kdapl_walk_works(struct kunit *test)
{
	struct work_objects *o;

	o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, o);
	o->t = pool_prepare(test, 32);
	/* Another pair through the same service point. */
	o->pair = o->t->mem->pair;
	o->pair.conn_evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	fake_script.complete = FAKE_INLINE;
	walk_run(test, test->param_value, o);
}

static void kdapl_walk_works_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	kdapl_walk_works(test);
}

static struct kunit_case kdapl_walk_work_cases[] = {
	KUNIT_CASE_PARAM(kdapl_walk_works, work_gen_params),
	KUNIT_CASE_PARAM(kdapl_walk_works_iwarp, work_gen_params),
	{}
};

static struct kunit_suite kdapl_walk_work_suite = {
	.name = "kdapl_walk_work",
	.init = kit_init,
	.exit = kit_exit_replug,
	.suite_exit = walk_report,
	.test_cases = kdapl_walk_work_cases,
};

kunit_test_suite(kdapl_walk_work_suite);

MODULE_DESCRIPTION("Suite: failures inside work items");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
