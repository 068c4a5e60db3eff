// SPDX-License-Identifier: GPL-2.0
/* Pools of fast registrations when requests fail, get stuck, or have no room. */
#include <linux/mm.h>
#include <linux/module.h>

#include "pool_kit.h"

/* The queue is stuck: the bound holds all the same. */
static void kdapl_pool_faults_bound_enforced(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *fmr;
	ktime_t begin;
	u32 key;

	t->param.max_exposure_ms = 200;
	pool_create(t, t->mem->ep);
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	pool_home(t);
	fake_script.manual_reg = true;
	begin = ktime_get();
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(key)));
	/* Not by an end of its request: there is none. Two ticks are the pool's margin. */
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), begin),
			200LL - 2 * jiffies_to_msecs(1));
	KUNIT_EXPECT_LE(test, ktime_ms_delta(ktime_get(), begin), 20000LL);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(t->pool->stats.forced == 1));
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 3);
	/* It comes home at last, and its MR is another one. */
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(t->pool->num_clean) == 4));
	KUNIT_EXPECT_EQ(test, t->pool->stats.ended, 1ULL);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 1U);
}

/* Strict on an EP that cannot post any more: deregistered instead. */
static void kdapl_pool_faults_strict_disconnected(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *fmr;
	u32 key;

	t->param.max_exposure_ms = 0;
	pool_create(t, t->mem->ep);
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(t->mem->ep,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(t->mem->ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, dat_ep_free(t->mem->ep), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(t->pool), 0);
}

/* None is posted, and nobody has fetched the end of the registration. */
static void kdapl_pool_faults_flush_unposted(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *fmr;
	u32 key;

	pool_create(t, t->mem->ep);
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_qp_posted(t->mem->qp, true)));
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_EQ(test, fake_hca_fail_left(), 0U);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
}

/* All credits are held by events that the flushing thread should dequeue. */
static void kdapl_pool_faults_flush_full_queue(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 4);
	struct dat_fmr *fmr;
	u32 key;
	int i;

	pool_create(t, t->mem->ep);
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	pool_home(t);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, kit_post_send(t->mem->ep, i, 0), 0);
	fake_qp_complete(t->mem->qp, true, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 4U);
}

/*
 * Registrations that fail under way come back with another MR. No consumer has
 * posted them, so none gets an event.
 */
static void kdapl_pool_faults_flushed_registration(struct kunit *test)
{
	struct pool_test *t = pool_default(test);
	struct dat_fmr *fmr, *again;
	u32 key;

	fake_script.manual_reg = true;
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(t->mem->ep,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(t->mem->ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 0U);
	/* The cache does not hand out what has failed. */
	KUNIT_ASSERT_EQ(test, pool_map_at(t, NULL, 0, 1, POOL_VA, &again), 0);
	KUNIT_EXPECT_PTR_NE(test, again, fmr);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(again), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(t->pool->num_clean) == 4));
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 2U);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
}

/* The peer invalidates a mapping: it is clean as soon as it is unmapped. */
static void kdapl_pool_faults_remote_invalidation(struct kunit *test)
{
	struct pool_test *t = pool_default(test);
	struct dat_fmr *fmr = pool_map(t, 0), *again;
	u32 key = fmr->rmr_context;
	unsigned int posts;

	KUNIT_ASSERT_EQ(test, kit_post_recv(t->mem->ep, 1), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_receive(t->mem->qp, 0, key), 1U);
	kit_next(t->mem->recv);
	again = pool_map(t, 0);
	KUNIT_EXPECT_PTR_NE(test, again, fmr);
	posts = pool_posts(t);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 3);
	KUNIT_EXPECT_EQ(test, pool_posts(t), posts);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(again), 0);
}

/* The peer has ended a mapping before its registration was fetched, and it is clean. */
static void pool_end_by_peer(struct pool_test *t, struct dat_fmr *fmr)
{
	struct kunit *test = t->mem->test;

	KUNIT_ASSERT_EQ(test, kit_post_recv(t->mem->ep, 1), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_receive(t->mem->qp, 0, fmr->rmr_context),
			1U);
	kit_next(t->mem->recv);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
}

/* What is fetched behind a destroy finds no registration that has gone. */
static void kdapl_pool_faults_destroy_unfetched(struct kunit *test)
{
	struct pool_test *t = pool_default(test);

	pool_end_by_peer(t, pool_map(t, 0));
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(t->pool), 0);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 0U);
}

/* It is stuck behind a request of the consumer: refused, and the pool lives on. */
static void kdapl_pool_faults_destroy_stuck(struct kunit *test)
{
	struct pool_test *t = pool_default(test);
	struct dat_fmr *fmr;
	u32 key;

	KUNIT_ASSERT_EQ(test, kit_post_send(t->mem->ep, 1, 0), 0);
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	pool_end_by_peer(t, fmr);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
	KUNIT_ASSERT_EQ(test, dat_fmr_pool_destroy(t->pool), -EBUSY);
	rcu_barrier();
	fake_qp_complete(t->mem->qp, true, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 1U);
	/* The fake device registers behind its end; others could not. */
	KUNIT_ASSERT_EQ(test, kit_post_recv(t->mem->ep, 2), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_receive(t->mem->qp, 0, key), 1U);
	kit_next(t->mem->recv);
	fmr = pool_map(t, 1);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(t->pool), 0);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_MR), 0);
}

/* Nor does a pool that gets smaller give it back. */
static void kdapl_pool_faults_shrink_unfetched(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *a, *b;

	t->param.min_fmrs = 1;
	t->param.max_fmrs = 2;
	t->param.dirty_watermark = 2;
	pool_create(t, t->mem->ep);
	a = pool_map(t, 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(!pool_map_at(t, NULL, 1, 1, POOL_VA,
						      &b)));
	pool_end_by_peer(t, a);
	pool_end_by_peer(t, b);
	/* Two looks at what is not wanted. */
	msleep(2500);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, READ_ONCE(t->pool->count), 2);
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 0U);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(t->pool->count) == 1));
}

/* Removal with mappings, dirty and under way; then the handles go. */
static void kdapl_pool_faults_removal(struct kunit *test)
{
	struct pool_test *t = pool_default(test);
	struct dat_fmr *a = pool_map(t, 0), *b = pool_map(t, 1), *out;

	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	fake_script.manual_reg = true;
	pool_map(t, 2);
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_MR), 0);
	KUNIT_EXPECT_EQ(test, pool_map_at(t, NULL, 3, 1, POOL_VA, &out),
			-ENODEV);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), 0);
	kit_close(to_kit(test));
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
}

static struct kunit_case kdapl_pool_faults_cases[] = {
	KUNIT_CASE(kdapl_pool_faults_bound_enforced),
	KUNIT_CASE(kdapl_pool_faults_strict_disconnected),
	KUNIT_CASE(kdapl_pool_faults_flush_unposted),
	KUNIT_CASE(kdapl_pool_faults_flush_full_queue),
	KUNIT_CASE(kdapl_pool_faults_flushed_registration),
	KUNIT_CASE(kdapl_pool_faults_remote_invalidation),
	KUNIT_CASE(kdapl_pool_faults_destroy_unfetched),
	KUNIT_CASE(kdapl_pool_faults_destroy_stuck),
	KUNIT_CASE(kdapl_pool_faults_shrink_unfetched),
	KUNIT_CASE(kdapl_pool_faults_removal),
	{}
};

static struct kunit_suite kdapl_pool_faults_suite = {
	.name = "kdapl_pool_faults",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_pool_faults_cases,
};

kunit_test_suite(kdapl_pool_faults_suite);

MODULE_DESCRIPTION("Suite: failures in pools of fast registrations");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
