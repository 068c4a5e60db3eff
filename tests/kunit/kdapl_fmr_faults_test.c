// SPDX-License-Identifier: GPL-2.0
/*
 * Fast registration when requests fail: the MR of a failed one is never used
 * again, and memory is out of reach before it is unmapped or given back.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/frmr.h"
#include "../../drivers/kdapl/lmr.h"
#include "../../drivers/kdapl/main.h"
#include "pool_kit.h"

/* Both ends have been told, and nothing is left in the queue. */
static void faults_wait_closed(struct mem *mem)
{
	struct kunit *test = mem->test;

	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(mem->pair.client) ==
					 DAT_EP_STATE_DISCONNECTED &&
					 kit_state(mem->pair.server) ==
					 DAT_EP_STATE_DISCONNECTED));
}

/* The MR is another one, and the old key is dead. */
static void faults_replaced(struct mem *mem, struct dat_lmr *lmr, u32 old)
{
	struct kunit *test = mem->test;
	u32 lctx, rctx;

	KUNIT_ASSERT_TRUE(test, KIT_WAIT(!mem_bound(lmr)));
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_ALLOC_MR, NULL), 2U);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 1U);
	fake_script.manual_reg = false;
	mem_connect(mem, 8);
	kit_drain(mem->req);
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_NE(test, rctx >> 8, old >> 8);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(rctx));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(old));
}

static void kdapl_fmr_faults_registration_flushed(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, rctx;

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_FLUSHED);
	faults_wait_closed(mem);
	faults_replaced(mem, lmr, rctx);
}

static void kdapl_fmr_faults_invalidation_flushed(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_ERR_FLUSHED);
	/* The peer could still write: the key dies before it is unbound. */
	faults_wait_closed(mem);
	faults_replaced(mem, lmr, rctx);
}

/* Posted in DISCONNECTED: taken, flushed, and the MR replaced all the same. */
static void kdapl_fmr_faults_disconnected(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	faults_wait_closed(mem);
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_FLUSHED);
	faults_replaced(mem, lmr, rctx);
}

/* The QP is gone, as it did not flush: what is posted now kdapl flushes itself. */
static void kdapl_fmr_faults_without_qp(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_lmr *other = mem_allocate(mem, 1);
	u32 lctx, rctx, key;

	KUNIT_ASSERT_EQ(test, mem_fmr(mem, other, 0, 1, 0, &lctx, &key), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	fake_script.flush = FAKE_FLUSH_NEVER;
	KUNIT_ASSERT_EQ(test, kit_post_send(mem->ep, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(mem->ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_EQ(test, kit_drain(mem->req), 1U);

	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_FLUSHED);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, other, 0), 0);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!mem_bound(lmr) && !mem_bound(other)));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 2U);
}

/* A registration fails with three invalidations behind it. */
static void kdapl_fmr_faults_registration_fails(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr[4];
	struct dat_event event;
	u32 lctx, rctx[4];
	int i, broken = 0;

	for (i = 0; i < 4; i++)
		lmr[i] = mem_allocate(mem, 1);
	for (i = 1; i < 4; i++)
		KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr[i], 0, 1, 0, &lctx,
					      &rctx[i]), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_drain(mem->req) ||
					 !fake_qp_posted(mem->qp, true)));
	kit_drain(mem->req);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr[0], 0, 1, 0, &lctx, &rctx[0]),
			0);
	for (i = 1; i < 4; i++)
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr[i], 0), 0);
	kit_drain(mem->pair.conn_evd);
	fake_qp_complete(mem->qp, true, 1, IB_WC_LOC_QP_OP_ERR);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_LOCAL_MM_ERROR);
	for (i = 1; i < 4; i++)
		mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_ERR_FLUSHED);
	faults_wait_closed(mem);
	/* One of each end; the state is there before its event. */
	for (i = 0; i < 2; i++) {
		event = kit_next(mem->pair.conn_evd);
		if (event.event_data.connect_event_data.ep_handle == mem->ep)
			broken += event.event_number ==
				  DAT_CONNECTION_EVENT_BROKEN;
	}
	KUNIT_EXPECT_EQ(test, broken, 1);
	/* Four of the fmr, three of the invalidate: and no post after those. */
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_POST_SEND, mem->qp), 7U);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, KIT_WAIT(!mem_bound(lmr[i])));
	for (i = 1; i < 4; i++)
		KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx[i]));
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 4U);
}

/* A suppressed one that fails is reported; operation and cookie are its own. */
static void kdapl_fmr_faults_suppressed_fails(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_event event;
	u32 lctx, rctx;

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1,
				      DAT_COMPLETION_SUPPRESS_FLAG, &lctx,
				      &rctx), 0);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	fake_qp_complete(mem->qp, true, 1, IB_WC_LOC_PROT_ERR);
	event = mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_LOCAL_MM_ERROR);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data
			.user_cookie.as_index, 1UL);
	event = mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data
			.user_cookie.as_index, 2UL);
}

/* Another MR not before all that names the old one is home. */
static void kdapl_fmr_faults_waits_for_all(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, rctx;

	fake_script.manual_reg = true;
	fake_script.flush = FAKE_FLUSH_MANUAL;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	fake_qp_complete(mem->qp, true, 1, IB_WC_LOC_QP_OP_ERR);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_LOCAL_MM_ERROR);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 0U);
	KUNIT_EXPECT_TRUE(test, mem_bound(lmr));
	fake_script.flush = FAKE_FLUSH_INLINE;
	fake_qp_flush(mem->qp);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!mem_bound(lmr)));
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 1U);
}

/* Unmapped when the invalidation has completed, and never before. */
static void kdapl_fmr_faults_unmap_order(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_TRUE(test, lmr->fr->mapped);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(rctx));
	KUNIT_EXPECT_TRUE(test, lmr->fr->mapped);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), -EBUSY);
	KUNIT_EXPECT_TRUE(test, lmr->fr->mapped);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_FALSE(test, lmr->fr->mapped);

	/* A flushed one: not before the key was taken from the peer. */
	fake_script.manual_reg = false;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	fake_qp_complete(mem->qp, true, 1, IB_WC_WR_FLUSH_ERR);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!mem_bound(lmr)));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));
	KUNIT_EXPECT_FALSE(test, lmr->fr->mapped);
}

/* The device gives no other MR at first: -EAGAIN, and it is asked again. */
static void kdapl_fmr_faults_no_replacement(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, rctx;

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	fake_hca_fail(FAKE_ALLOC_MR, 1, 3, -ENOMEM);
	fake_qp_complete(mem->qp, true, 1, IB_WC_WR_FLUSH_ERR);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_FLUSHED);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_hca_fail_left() < 3));
	KUNIT_EXPECT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx),
			-EAGAIN);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!mem_bound(lmr)));
	KUNIT_EXPECT_EQ(test, fake_hca_fail_left(), 0U);
	faults_wait_closed(mem);
	faults_replaced(mem, lmr, rctx);
}

/* Refused by the provider: as if it had not been tried. */
static void kdapl_fmr_faults_post_fails(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u64 va = (uintptr_t)mem->memory;
	u32 lctx = 7, rctx = 7;
	int i;

	fake_hca_fail(FAKE_POST_SEND, 1, 100, -ENOMEM);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx),
				-ENOMEM);
	KUNIT_EXPECT_EQ(test, lctx, 7U);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	fake_hca_fail(FAKE_MAP_MR_SG, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), -EIO);
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), -ENOMEM);
	/* Still registered, and to be used. */
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 8), 0);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 0U);
}

/* A full queue is refused before the MR is touched. */
static void kdapl_fmr_faults_queue_full(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 2);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	KUNIT_ASSERT_EQ(test, kit_post_send(mem->ep, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), -ENOSPC);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(rctx));
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
}

/* A removal with registered memory, and with requests under way. */
static void kdapl_fmr_faults_removal(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1), *other;
	u32 lctx, rctx;

	other = mem_allocate(mem, 1);
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, other, 0, 1, 0, &lctx, &rctx), 0);
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_MR), 0);
	KUNIT_EXPECT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), -ENODEV);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(other), 0);
	kit_close(to_kit(test));
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
}

struct faults_forced {
	struct pool_test *t;
	struct kdapl_frmr *fr;
	struct ib_qp *qp;	/* where its invalidation is stuck */
	struct dat_ep *ep;	/* where it is mapped next */
	struct dat_fmr *fmr;
	int ret;
	bool done;
};

/* The device takes its time to take an overdue MR away. */
static void faults_while_forced(enum fake_verb verb, const void *object,
				void *ctx)
{
	struct faults_forced *f = ctx;
	int i;

	if (verb != FAKE_DEREG_MR)
		return;
	WRITE_ONCE(fake_script.verb_hook, NULL);
	/* Meanwhile its last request comes home, */
	fake_qp_complete(f->qp, true, 1, IB_WC_WR_FLUSH_ERR);
	kit_drain(f->t->mem->req);
	/* and the work runs that an earlier failure may have left behind. */
	mod_delayed_work(kdapl_wq, &f->fr->replace, 0);
	for (i = 0; i < 50 && kdapl_frmr_state(f->fr) != KDAPL_FRMR_FREE; i++)
		usleep_range(1000, 2000);
	fake_script.manual_reg = false;
	f->ret = pool_map_at(f->t, f->ep, 1, 1, POOL_VA, &f->fmr);
	/* Pairs with the acquire of the test, which looks at all of it. */
	smp_store_release(&f->done, true);
}

/* Nobody gets the MR before it was taken away and unmapped altogether. */
static void kdapl_fmr_faults_forced(struct kunit *test)
{
	struct pool_test *t = pool_prepare(test, 8);
	struct dat_ep *stuck = t->mem->ep;
	struct faults_forced *f;
	struct dat_fmr *fmr;

	/* The hook may come as late as in kit_exit(). */
	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->t = t;
	f->qp = t->mem->qp;
	mem_connect(t->mem, 8);
	f->ep = t->mem->ep;
	t->param.min_fmrs = 1;
	t->param.max_fmrs = 1;
	t->param.dirty_watermark = 1;
	t->param.max_exposure_ms = 100;
	pool_create(t, NULL);
	KUNIT_ASSERT_EQ(test, pool_map_at(t, stuck, 0, 1, POOL_VA, &fmr), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(!fake_qp_posted(f->qp, true)));
	kit_drain(t->mem->req);
	f->fr = container_of(fmr, struct kdapl_pool_fmr, fmr)->lmr->fr;
	KUNIT_EXPECT_TRUE(test, f->fr->settled);

	fake_script.manual_reg = true;
	fake_script.hook_ctx = f;
	WRITE_ONCE(fake_script.verb_hook, faults_while_forced);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_unmap(fmr), 0);
	/* Pairs with the release of the hook. */
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(smp_load_acquire(&f->done)));
	KUNIT_EXPECT_EQ(test, f->ret, -EAGAIN);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(t->pool->stats.forced == 1));
	if (f->ret) {
		KUNIT_ASSERT_TRUE(test,
				  KIT_WAIT(READ_ONCE(t->pool->num_clean)));
		KUNIT_ASSERT_EQ(test, pool_map_at(t, f->ep, 1, 1, POOL_VA,
						  &f->fmr), 0);
	}
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, (int)f->fr->mapped, (int)KDAPL_FRMR_MAPPED_LIST);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(f->fmr->rmr_context));
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 1U);
}

static struct kunit_case kdapl_fmr_faults_cases[] = {
	KUNIT_CASE(kdapl_fmr_faults_registration_flushed),
	KUNIT_CASE(kdapl_fmr_faults_invalidation_flushed),
	KUNIT_CASE(kdapl_fmr_faults_disconnected),
	KUNIT_CASE(kdapl_fmr_faults_without_qp),
	KUNIT_CASE(kdapl_fmr_faults_registration_fails),
	KUNIT_CASE(kdapl_fmr_faults_suppressed_fails),
	KUNIT_CASE(kdapl_fmr_faults_waits_for_all),
	KUNIT_CASE(kdapl_fmr_faults_unmap_order),
	KUNIT_CASE(kdapl_fmr_faults_no_replacement),
	KUNIT_CASE(kdapl_fmr_faults_post_fails),
	KUNIT_CASE(kdapl_fmr_faults_queue_full),
	KUNIT_CASE(kdapl_fmr_faults_removal),
	KUNIT_CASE(kdapl_fmr_faults_forced),
	{}
};

static struct kunit_suite kdapl_fmr_faults_suite = {
	.name = "kdapl_fmr_faults",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_fmr_faults_cases,
};

kunit_test_suite(kdapl_fmr_faults_suite);

MODULE_DESCRIPTION("Suite: failures of fast registration");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
