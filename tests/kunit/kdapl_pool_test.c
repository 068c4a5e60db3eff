// SPDX-License-Identifier: GPL-2.0
/* Pools of fast registrations: cache, watermark, bound, growth. */
#include <linux/mm.h>
#include <linux/module.h>

#include "pool_kit.h"

static void kdapl_pool_hit_and_miss(struct kunit *test)
{
	struct pool_test *t = pool_default(test);
	struct dat_fmr *a = pool_map(t, 0), *b, *c;
	unsigned int posts = pool_posts(t);
	u64 va = POOL_VA;

	KUNIT_EXPECT_EQ(test, a->address, va);
	KUNIT_EXPECT_EQ(test, a->length, (u64)PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(a->rmr_context));
	/* The same list: the same mapping, and nothing for the device. */
	b = pool_map(t, 0);
	KUNIT_EXPECT_PTR_EQ(test, b, a);
	KUNIT_EXPECT_EQ(test, pool_posts(t), posts);
	KUNIT_EXPECT_EQ(test, t->pool->stats.hits, 1ULL);
	/* Another page, another length, another address: others. */
	b = pool_map(t, 1);
	KUNIT_EXPECT_PTR_NE(test, b, a);
	KUNIT_ASSERT_EQ(test, pool_map_at(t, NULL, 0, 2, POOL_VA, &c), 0);
	KUNIT_EXPECT_PTR_NE(test, c, a);
	KUNIT_EXPECT_EQ(test, c->length, 2ULL * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, mem_send(t->mem, c->lmr_context, va,
				       2 * PAGE_SIZE), 0);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	KUNIT_ASSERT_EQ(test, pool_map_at(t, NULL, 0, 1, POOL_VA + PAGE_SIZE,
					  &b), 0);
	KUNIT_EXPECT_PTR_NE(test, b, a);
	KUNIT_EXPECT_EQ(test, t->pool->stats.misses, 4ULL);
	/* Two maps want two unmaps. */
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(t->pool), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(c), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(t->pool), 0);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_MR), 0);
}

static void kdapl_pool_no_cache(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *a, *b;

	t->param.cache = false;
	pool_create(t, t->mem->ep);
	a = pool_map(t, 0);
	b = pool_map(t, 0);
	KUNIT_EXPECT_PTR_NE(test, a, b);
	KUNIT_EXPECT_EQ(test, t->pool->stats.hits, 0ULL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->flushed), 1);
}

/* What was unmapped is still valid, and comes back with its key. */
static void kdapl_pool_revival(struct kunit *test)
{
	struct pool_test *t = pool_default(test);
	struct dat_fmr *a = pool_map(t, 0), *b;
	u32 key = a->rmr_context;

	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), 0);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	b = pool_map(t, 0);
	KUNIT_EXPECT_PTR_EQ(test, b, a);
	KUNIT_EXPECT_EQ(test, b->rmr_context, key);
	KUNIT_EXPECT_EQ(test, t->pool->stats.revived, 1ULL);
	/* Revived, it is not flushed; unmapped again, it is. */
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, t->pool->stats.ended, 1ULL);
	/* A key of another use from now on. */
	b = pool_map(t, 0);
	KUNIT_EXPECT_NE(test, b->rmr_context, key);
}

/* At the watermark all that is dirty goes, in one chain with one signal. */
static void kdapl_pool_watermark(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *fmr[3];
	struct fake_wr wr;
	u32 key[3];
	int i;

	t->param.dirty_watermark = 3;
	pool_create(t, t->mem->ep);
	for (i = 0; i < 3; i++) {
		fmr[i] = pool_map(t, i);
		key[i] = fmr[i]->rmr_context;
	}
	pool_home(t);
	fake_script.manual_reg = true;
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr[i]), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, fake_qp_posted(t->mem->qp, true), 0U);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr[2]), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_qp_posted(t->mem->qp, true) ==
					 3));
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, fake_qp_peek(t->mem->qp, true, i, &wr));
		KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_LOCAL_INV);
		/* The longest unmapped first. */
		KUNIT_EXPECT_EQ(test, wr.rkey, key[i]);
		KUNIT_EXPECT_EQ(test, !!(wr.flags & IB_SEND_SIGNALED), i == 2);
	}
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(t->pool->stats.batches) == 1));
	/* On its way it cannot be revived. */
	fmr[0] = pool_map(t, 0);
	KUNIT_EXPECT_NE(test, fmr[0]->rmr_context, key[0]);
	fake_script.manual_reg = false;
	fake_qp_complete(t->mem->qp, true, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(t->pool->num_clean == 3));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&t->flushed) == 1));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_FALSE(test, fake_mr_valid(key[i]));
	/* No event of all this, and no credit lost. */
	pool_home(t);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr[0]), 0);
}

/* Empty: -EAGAIN at once, and what is dirty goes so that the next try succeeds. */
static void kdapl_pool_empty(struct kunit *test)
{
	struct pool_test *t = pool_default(test);
	struct dat_fmr *fmr[4], *out = (void *)5;
	int i;

	for (i = 0; i < 4; i++)
		fmr[i] = pool_map(t, i);
	KUNIT_EXPECT_EQ(test, pool_map_at(t, NULL, 4, 1, POOL_VA, &out),
			-EAGAIN);
	KUNIT_EXPECT_PTR_EQ(test, (void *)out, (void *)5);
	KUNIT_EXPECT_EQ(test, t->pool->stats.empty, 1ULL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr[1]), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!pool_map_at(t, NULL, 4, 1, POOL_VA,
						      &out)));
	KUNIT_EXPECT_EQ(test, t->pool->count, 4);
}

/* Grows while mappings are refused, and gives back what nobody wants. */
static void kdapl_pool_elastic(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *fmr[6];
	int i;

	t->param.min_fmrs = 1;
	t->param.max_fmrs = 6;
	t->param.dirty_watermark = 6;
	pool_create(t, t->mem->ep);
	KUNIT_EXPECT_EQ(test, t->pool->count, 1);
	for (i = 0; i < 6; i++)
		KUNIT_ASSERT_TRUE(test, KIT_WAIT(!pool_map_at(t, NULL, i, 1,
							      POOL_VA,
							      &fmr[i])));
	KUNIT_EXPECT_EQ(test, t->pool->count, 6);
	KUNIT_EXPECT_EQ(test, pool_map_at(t, NULL, 6, 1, POOL_VA, &fmr[0]),
			-EAGAIN);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, t->pool->count, 6);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr[i]), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	/* Out of the count first, then deregistered. */
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(t->pool->count) == 1));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_hca_live(FAKE_MR) == 1));
}

/* Within the bound the key dies, by a request. */
static void kdapl_pool_bound(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *fmr;
	u32 key, i, sum = 0;

	/* A machine may stand still for the other half. */
	t->param.max_exposure_ms = 4000;
	pool_create(t, t->mem->ep);
	fmr = pool_map(t, 0);
	key = fmr->rmr_context;
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(t->pool->stats.ended == 1));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, t->pool->stats.late, 0ULL);
	KUNIT_EXPECT_EQ(test, t->pool->stats.forced, 0ULL);
	for (i = 0; i < KDAPL_POOL_BUCKETS; i++)
		sum += t->pool->stats.exposure[i];
	KUNIT_EXPECT_EQ(test, sum, 1U);
	/* Not before half of the time: below 1,024 ms there is nothing. */
	for (i = 0; i < 11; i++)
		KUNIT_EXPECT_EQ(test, t->pool->stats.exposure[i], 0ULL);
}

/* Strict: the call returns when the key is dead. */
static void kdapl_pool_strict(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_fmr *fmr;
	u32 key;
	int i;

	t->param.max_exposure_ms = 0;
	pool_create(t, t->mem->ep);
	fake_script.manual_reg = true;
	fake_script.complete = FAKE_WORKER;
	fake_script.delay_us = 10000;
	for (i = 0; i < 5; i++) {
		fmr = pool_map(t, i % 3);
		key = fmr->rmr_context;
		KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_mr_valid(key)));
		/* Shared, it stays. */
		KUNIT_ASSERT_PTR_EQ(test, pool_map(t, i % 3), fmr);
		KUNIT_ASSERT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
		KUNIT_ASSERT_TRUE(test, fake_mr_valid(key));
		KUNIT_ASSERT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
		KUNIT_ASSERT_FALSE(test, fake_mr_valid(key));
	}
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
}

/* A pool of a PZ: each map names an EP, and a hit serves all of them. */
static void kdapl_pool_of_pz(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	struct dat_ep *client = t->mem->pair.client;
	struct dat_ep *server = t->mem->pair.server;
	struct dat_fmr *a, *b, *c;

	pool_create(t, NULL);
	KUNIT_EXPECT_EQ(test, pool_map_at(t, NULL, 0, 1, POOL_VA, &a),
			-EINVAL);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, pool_map_at(t, client, 0, 1, POOL_VA, &a), 0);
	/* Not registered yet: good in the queue of its own EP only. */
	KUNIT_ASSERT_EQ(test, pool_map_at(t, client, 0, 1, POOL_VA, &b), 0);
	KUNIT_EXPECT_PTR_EQ(test, b, a);
	KUNIT_ASSERT_EQ(test, pool_map_at(t, server, 0, 1, POOL_VA, &b), 0);
	KUNIT_EXPECT_PTR_NE(test, b, a);
	fake_script.manual_reg = false;
	fake_qp_complete(kit_qp(client), true, 1, IB_WC_SUCCESS);
	fake_qp_complete(kit_qp(server), true, 1, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, pool_map_at(t, server, 1, 1, POOL_VA, &c), 0);
	/* Its completion proves the suppressed ones done. */
	KUNIT_ASSERT_EQ(test, kit_post_send(client, 1, 0), 0);
	fake_qp_complete(kit_qp(client), true, 1, IB_WC_SUCCESS);
	kit_next(t->mem->req);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	KUNIT_ASSERT_EQ(test, pool_map_at(t, server, 0, 1, POOL_VA, &b), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(a), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(b), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(c), 0);
	/* A chain for each EP. */
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(t->pool), 0);
	KUNIT_EXPECT_EQ(test, t->pool->stats.batches, 2ULL);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
}

static void kdapl_pool_arguments(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 32);
	const struct dat_fmr_pool_param good = t->param;
	struct kit *kit = to_kit(test);
	struct dat_fmr_pool *none = (void *)5;
	struct dat_fmr *out = (void *)5;
	u64 page = virt_to_phys(t->mem->memory), odd = page + 8;
	struct dat_pz *pz;

#define CREATE_FAILS(member, value, error)				\
do {									\
	t->param = good;						\
	t->param.member = value;					\
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(kit->ia, kit->pz,	\
						  t->mem->ep, &t->param, \
						  &none), error);	\
} while (0)

	CREATE_FAILS(mem_type, DAT_MEM_TYPE_VIRTUAL, -EINVAL);
	CREATE_FAILS(max_pages, 0, -EINVAL);
	CREATE_FAILS(max_pages, 65, -EMSGSIZE);
	CREATE_FAILS(min_fmrs, 0, -EINVAL);
	CREATE_FAILS(max_fmrs, 3, -EINVAL);
	CREATE_FAILS(dirty_watermark, -1, -EINVAL);
	CREATE_FAILS(dirty_watermark, 5, -EINVAL);
	CREATE_FAILS(privileges, 0x80, -EINVAL);
#undef CREATE_FAILS
	t->param = good;
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(NULL, kit->pz, NULL, &good,
						  &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(kit->ia, NULL, NULL, &good,
						  &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(kit->ia, kit->pz, NULL, NULL,
						  &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(kit->ia, kit->pz, NULL, &good,
						  NULL), -EINVAL);
	KUNIT_ASSERT_EQ(test, dat_pz_create(kit->ia, &pz), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(kit->ia, pz, t->mem->ep,
						  &good, &none), -EPERM);
	fake_hca_fail(FAKE_ALLOC_MR, 3, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(kit->ia, pz, NULL, &good,
						  &none), -ENOMEM);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_MR), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(pz), 0);
	KUNIT_EXPECT_PTR_EQ(test, (void *)none, (void *)5);

	pool_create(t, t->mem->ep);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_map(NULL, NULL, &page, 1, 0, &out),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_map(t->pool, NULL, NULL, 1, 0, &out),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_map(t->pool, NULL, &page, 0, 0,
					       &out), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_map(t->pool, NULL, &page, 5, 0,
					       &out), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_map(t->pool, NULL, &page, 1, 0,
					       NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_map(t->pool, t->mem->pair.server,
					       &page, 1, 0, &out), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_map(t->pool, NULL, &odd, 1, 0, &out),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_map(t->pool, NULL, &page, 1, 8,
					       &out), -EOPNOTSUPP);
	KUNIT_EXPECT_PTR_EQ(test, (void *)out, (void *)5);
	KUNIT_EXPECT_EQ(test, t->pool->num_clean, 4);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_flush(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(NULL), -EINVAL);
	/* Offsets, and DMA addresses. */
	KUNIT_ASSERT_EQ(test, dat_fmr_pool_map(t->pool, NULL, &page, 1, 0,
					       &out), 0);
	KUNIT_EXPECT_EQ(test, mem_send(t->mem, out->lmr_context, 0, PAGE_SIZE),
			0);
	KUNIT_EXPECT_EQ(test, dat_ia_close(kit->ia, DAT_CLOSE_GRACEFUL_FLAG),
			-EBUSY);
}

static struct kunit_case kdapl_pool_cases[] = {
	KUNIT_CASE(kdapl_pool_hit_and_miss),
	KUNIT_CASE(kdapl_pool_no_cache),
	KUNIT_CASE(kdapl_pool_revival),
	KUNIT_CASE(kdapl_pool_watermark),
	KUNIT_CASE(kdapl_pool_empty),
	KUNIT_CASE(kdapl_pool_elastic),
	KUNIT_CASE(kdapl_pool_bound),
	KUNIT_CASE(kdapl_pool_strict),
	KUNIT_CASE(kdapl_pool_of_pz),
	KUNIT_CASE(kdapl_pool_arguments),
	{}
};

static struct kunit_suite kdapl_pool_suite = {
	.name = "kdapl_pool",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_pool_cases,
};

kunit_test_suite(kdapl_pool_suite);

MODULE_DESCRIPTION("Suite: pools of fast registrations");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
