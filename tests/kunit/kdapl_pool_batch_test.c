// SPDX-License-Identifier: GPL-2.0
/* The batches in which a pool ends what was unmapped: who is faster, and no room. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "pool_kit.h"

/*
 * @fmr is unmapped and in a batch when its peer invalidates it; what is to happen
 * between the two steps of a batch comes behind that.
 */
static void pool_batch_loses(struct pool_test *t, struct dat_fmr *fmr,
			     struct kdapl_pool_fmr **pfs)
{
	struct kunit *test = t->mem->test;
	u32 key = fmr->rmr_context;

	KUNIT_ASSERT_EQ(test, kit_post_recv(t->mem->ep, 1), 0);
	KUNIT_ASSERT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	mutex_lock(&t->pool->work_lock);
	KUNIT_EXPECT_EQ(test, kdapl_pool_collect(t->pool, ktime_get(), pfs), 1);
	KUNIT_EXPECT_EQ(test, fake_qp_receive(t->mem->qp, 0, key), 1U);
	kit_next(t->mem->recv);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
}

static void pool_batch_ends(struct pool_test *t, struct kdapl_pool_fmr **pfs,
			    bool hurry)
{
	KUNIT_EXPECT_EQ(t->mem->test,
			kdapl_pool_end_batch(t->pool, pfs, 1, hurry), 1);
	mutex_unlock(&t->pool->work_lock);
}

static u64 pool_exposures(struct pool_test *t)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < KDAPL_POOL_BUCKETS; i++)
		sum += t->pool->stats.exposure[i];
	return sum;
}

/* The peer is faster than the batch that it was taken into: ended once. */
static void kdapl_pool_batch_ended(struct kunit *test)
{
	struct pool_test *t = pool_default(test);
	struct kdapl_pool_fmr *pfs[KDAPL_POOL_BATCH];
	struct dat_fmr *fmr = pool_map(t, 0);
	unsigned int posts = pool_posts(t);

	pool_batch_loses(t, fmr, pfs);
	pool_batch_ends(t, pfs, false);
	KUNIT_EXPECT_EQ(test, pool_posts(t), posts);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
	KUNIT_EXPECT_EQ(test, t->pool->num_dirty, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->pool->ending));
	KUNIT_EXPECT_EQ(test, t->pool->stats.ended, 1ULL);
	KUNIT_EXPECT_EQ(test, pool_exposures(t), 1ULL);
	/* It serves again, and nothing of the batch sticks to it. */
	fmr = pool_map(t, 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
	KUNIT_EXPECT_EQ(test, t->pool->stats.ended, 2ULL);
}

/* Nor does the batch touch what is mapped on another EP meanwhile. */
static void pool_batch_mapped(struct kunit *test, bool hurry)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct kdapl_pool_fmr *pfs[KDAPL_POOL_BATCH];
	struct dat_fmr *fmr;
	u32 key;

	pool_create(t, NULL);
	fmr = pool_map_on(t, t->mem->ep, 0);
	pool_batch_loses(t, fmr, pfs);
	fmr = pool_map_on(t, t->mem->pair.server, 1);
	key = fmr->rmr_context;
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	pool_batch_ends(t, pfs, hurry);
	/* The work that would deregister it has had its turn. */
	KIT_SETTLE();
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 0U);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 3);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
}

static void kdapl_pool_batch_mapped(struct kunit *test)
{
	pool_batch_mapped(test, false);
}

static void kdapl_pool_batch_hurry(struct kunit *test)
{
	pool_batch_mapped(test, true);
}

/* Completions that nobody dequeues hold all credits of the client. */
static void pool_fill_queue(struct pool_test *t)
{
	struct kunit *test = t->mem->test;
	int i;

	pool_home(t);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, kit_post_send(t->mem->ep, i, 0), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_complete(t->mem->qp, true, 4,
					       IB_WC_SUCCESS), 4U);
}

/* No room for the batch, and the peer is next: back on the list, then ended. */
static void kdapl_pool_batch_full(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 4);
	struct kdapl_pool_fmr *pfs[KDAPL_POOL_BATCH];
	struct dat_fmr *fmr;
	u32 key;

	pool_create(t, t->mem->ep);
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	pool_fill_queue(t);
	KUNIT_ASSERT_EQ(test, kit_post_recv(t->mem->ep, 1), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	mutex_lock(&t->pool->work_lock);
	KUNIT_EXPECT_EQ(test, kdapl_pool_collect(t->pool, ktime_get(), pfs), 1);
	KUNIT_EXPECT_EQ(test, kdapl_pool_end_batch(t->pool, pfs, 1, false), 0);
	mutex_unlock(&t->pool->work_lock);
	KUNIT_EXPECT_EQ(test, t->pool->num_dirty, 1);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, fake_qp_receive(t->mem->qp, 0, key), 1U);
	kit_next(t->mem->recv);
	KUNIT_EXPECT_EQ(test, t->pool->num_dirty, 0);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
	KUNIT_EXPECT_EQ(test, pool_exposures(t), 1ULL);
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 4U);
}

/* What is dirty and finds no room does not keep a processor busy. */
static void kdapl_pool_batch_full_waits(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 4);
	unsigned long begin;
	struct dat_fmr *fmr;
	u32 key, run;

	t->param.dirty_watermark = 1;
	pool_create(t, t->mem->ep);
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	pool_fill_queue(t);
	run = READ_ONCE(t->pool->run);
	begin = jiffies;
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	msleep(200);
	/* One a tick, and the first. */
	run = READ_ONCE(t->pool->run) - run;
	KUNIT_EXPECT_LE(test, (unsigned long)run, jiffies - begin + 2);
	KUNIT_EXPECT_GE(test, run, 2U);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->flushed), 0);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	/* Room is found without another kick. */
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 4U);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(key)));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&t->flushed) == 1));
}

/* Nor does it keep the work from what is dirty on another EP. */
static void kdapl_pool_batch_full_other(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 4);
	struct dat_fmr *a, *b;
	u32 key_a, key_b;

	t->param.dirty_watermark = 1;
	pool_create(t, NULL);
	a = pool_map_on(t, t->mem->ep, 0);
	b = pool_map_on(t, t->mem->pair.server, 1);
	key_a = a->rmr_context;
	key_b = b->rmr_context;
	pool_fill_queue(t);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(key_b)));
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key_a));
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 4U);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(key_a)));
}

/* What is put back stands where it was: the oldest in front, whoever's it is. */
static void kdapl_pool_batch_full_order(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 4);
	struct kdapl_pool_fmr *pfs[KDAPL_POOL_BATCH], *pf;
	struct dat_fmr *fmr[3];
	ktime_t last = 0;
	int i, n;

	pool_create(t, NULL);
	for (i = 0; i < 3; i++)
		fmr[i] = pool_map_on(t, i == 1 ? t->mem->pair.server :
						 t->mem->ep, i);
	pool_fill_queue(t);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr[i]), 0);
		usleep_range(100, 200);
	}
	mutex_lock(&t->pool->work_lock);
	KUNIT_EXPECT_EQ(test, kdapl_pool_collect(t->pool, ktime_get(), pfs), 2);
	KUNIT_EXPECT_EQ(test, kdapl_pool_end_batch(t->pool, pfs, 2, false), 0);
	KUNIT_EXPECT_EQ(test, t->pool->num_dirty, 3);
	list_for_each_entry(pf, &t->pool->dirty, node) {
		KUNIT_EXPECT_TRUE(test, ktime_after(pf->unmapped, last));
		last = pf->unmapped;
	}
	/* The same run asks the other EP, and then none. */
	n = kdapl_pool_collect(t->pool, ktime_get(), pfs);
	KUNIT_EXPECT_EQ(test, n, 1);
	KUNIT_EXPECT_PTR_EQ(test, &pfs[0]->fmr, fmr[1]);
	KUNIT_EXPECT_EQ(test, kdapl_pool_end_batch(t->pool, pfs, n, false), 1);
	n = kdapl_pool_collect(t->pool, ktime_get(), pfs);
	KUNIT_EXPECT_EQ(test, n, 0);
	if (n)
		kdapl_pool_end_batch(t->pool, pfs, n, false);
	mutex_unlock(&t->pool->work_lock);
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 4U);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
}

/* A flush in a thread of its own. */
struct pool_flusher {
	struct work_struct work;
	struct dat_fmr_pool *pool;
	int ret;
	bool done;
};

static void pool_flusher_work(struct work_struct *work)
{
	struct pool_flusher *flusher = container_of(work, struct pool_flusher,
						    work);

	flusher->ret = dat_fmr_pool_flush(flusher->pool);
	WRITE_ONCE(flusher->done, true);
}

/* The flush waits for an invalidation that the client's queue does not get to. */
static struct pool_flusher *pool_flush_stuck(struct pool_test *t,
					     struct dat_fmr *fmr)
{
	struct kunit *test = t->mem->test;
	struct pool_flusher *flusher;

	flusher = kunit_kzalloc(test, sizeof(*flusher), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, flusher);
	INIT_WORK(&flusher->work, pool_flusher_work);
	flusher->pool = t->pool;
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	schedule_work(&flusher->work);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_qp_posted(t->mem->qp, true) == 1));
	/* Others get to theirs. */
	fake_script.manual_reg = false;
	return flusher;
}

static void pool_flush_ends(struct pool_test *t, struct pool_flusher *flusher)
{
	flush_work(&flusher->work);
	KUNIT_EXPECT_TRUE(t->mem->test, flusher->done);
	KUNIT_EXPECT_EQ(t->mem->test, flusher->ret, 0);
}

/* A flush that is stuck on one EP does not suspend the bound of another. */
static void kdapl_pool_batch_stuck_bound(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 4);
	struct pool_flusher *flusher;
	struct dat_fmr *a, *b;
	u32 key_a, key_b;

	t->param.max_exposure_ms = 200;
	pool_create(t, NULL);
	a = pool_map_on(t, t->mem->ep, 0);
	b = pool_map_on(t, t->mem->pair.server, 1);
	key_a = a->rmr_context;
	key_b = b->rmr_context;
	pool_home(t);
	flusher = pool_flush_stuck(t, a);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(key_b)));
	/* Taken from the device: it is out of reach, and the flush is through. */
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(key_a)));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(flusher->done)));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(t->pool->stats.ended == 2));
	KUNIT_EXPECT_EQ(test, t->pool->stats.forced, 1ULL);
	KUNIT_EXPECT_EQ(test, fake_qp_complete(t->mem->qp, true, 1,
					       IB_WC_SUCCESS), 1U);
	pool_flush_ends(t, flusher);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(t->pool->num_clean) == 4));
}

/* Nor the watermark, where there is no bound and the flush has to wait. */
static void kdapl_pool_batch_stuck_watermark(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 4);
	struct pool_flusher *flusher;
	struct dat_fmr *fmr[3];
	u32 key[3];
	int i;

	t->param.dirty_watermark = 2;
	pool_create(t, NULL);
	for (i = 0; i < 3; i++) {
		fmr[i] = pool_map_on(t, i ? t->mem->pair.server : t->mem->ep,
				     i);
		key[i] = fmr[i]->rmr_context;
	}
	pool_home(t);
	flusher = pool_flush_stuck(t, fmr[0]);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr[1]), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr[2]), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(key[1])));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(key[2])));
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key[0]));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(flusher->done));
	KUNIT_EXPECT_EQ(test, fake_qp_complete(t->mem->qp, true, 1,
					       IB_WC_SUCCESS), 1U);
	pool_flush_ends(t, flusher);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key[0]));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(t->pool->num_clean) == 4));
}

/* What was taken away and is not home: refused, and the pool lives on. */
static void kdapl_pool_batch_stuck_destroy(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 4);
	struct dat_fmr *fmr;

	t->param.max_exposure_ms = 50;
	pool_create(t, t->mem->ep);
	fmr = pool_map(t, 0);
	pool_home(t);
	fake_script.manual_reg = true;
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(t->pool), -EBUSY);
	KUNIT_EXPECT_EQ(test, t->pool->stats.forced, 1ULL);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(t->pool->num_clean) == 4));
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(t->pool), 0);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_MR), 0);
}

static struct kunit_case kdapl_pool_batch_cases[] = {
	KUNIT_CASE(kdapl_pool_batch_ended),
	KUNIT_CASE(kdapl_pool_batch_mapped),
	KUNIT_CASE(kdapl_pool_batch_hurry),
	KUNIT_CASE(kdapl_pool_batch_full),
	KUNIT_CASE(kdapl_pool_batch_full_waits),
	KUNIT_CASE(kdapl_pool_batch_full_other),
	KUNIT_CASE(kdapl_pool_batch_full_order),
	KUNIT_CASE(kdapl_pool_batch_stuck_bound),
	KUNIT_CASE(kdapl_pool_batch_stuck_watermark),
	KUNIT_CASE(kdapl_pool_batch_stuck_destroy),
	{}
};

static struct kunit_suite kdapl_pool_batch_suite = {
	.name = "kdapl_pool_batch",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_pool_batch_cases,
};

kunit_test_suite(kdapl_pool_batch_suite);

MODULE_DESCRIPTION("Suite: batches of pools of fast registrations");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
