// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations that the short way does not signal: what completes behind them
 * proves them done, whatever becomes of the rest.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/frmr.h"
#include "../../drivers/kdapl/lmr.h"
#include "mem_kit.h"

enum {
	UNSIGNALLED_DEPTH = 8,
};

static struct mem *unsignalled_init(struct kunit *test)
{
	struct mem *mem = memkit_init(test, UNSIGNALLED_DEPTH);

	fake_script.manual_reg = true;
	return mem;
}

/* A registration that is not signalled; its remote context. */
static u32 unsignalled_fmr(struct mem *mem, struct dat_lmr *lmr, u32 *lctx)
{
	struct kunit *test = mem->test;
	struct fake_wr wr = {};
	u32 rctx = 0;

	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1,
				      DAT_COMPLETION_SUPPRESS_FLAG, lctx,
				      &rctx), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true,
					     fake_qp_posted(mem->qp, true) - 1,
					     &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_REG_MR);
	KUNIT_EXPECT_EQ(test, wr.flags & IB_SEND_SIGNALED, 0U);
	return rctx;
}

static void unsignalled_closed(struct mem *mem, struct dat_ep *ep)
{
	KUNIT_EXPECT_TRUE(mem->test, KIT_WAIT(kit_state(ep) ==
					      DAT_EP_STATE_DISCONNECTED));
}

/* No event, no credit, and no request that names @lmr is left. */
static void unsignalled_idle(struct mem *mem, struct dat_lmr *lmr)
{
	struct kunit *test = mem->test;
	struct dat_event event;
	bool idle = false;

	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(mem->req, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, atomic_read(&lmr->fr->posted), 0);
	dat_ep_get_status(mem->ep, NULL, NULL, &idle);
	KUNIT_EXPECT_TRUE(test, idle);
	KUNIT_EXPECT_EQ(test, mem->ep->req.posted, mem->ep->req.released);
}

/* One event for both, by the short way of a dequeue and by the long one. */
static void kdapl_fmr_unsignalled_pair(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_event events[4];
	u32 lctx, rctx;
	int i;

	for (i = 0; i < 5 * UNSIGNALLED_DEPTH; i++) {
		/* Also on a device that completes whatever it is given. */
		fake_script.signal_all = i % 4 == 3;
		lmr->fr->simple = i % 2;
		rctx = unsignalled_fmr(mem, lmr, &lctx);
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, i % 3 ? 0 :
				DAT_COMPLETION_BARRIER_FENCE_FLAG), 0);
		KUNIT_ASSERT_EQ(test, fake_qp_complete(mem->qp, true, 1,
						       IB_WC_SUCCESS), 1U);
		KUNIT_EXPECT_TRUE(test, fake_mr_valid(rctx));
		KUNIT_EXPECT_TRUE(test, mem_bound(lmr));
		KUNIT_EXPECT_TRUE(test, lmr->fr->mapped);
		KUNIT_ASSERT_EQ(test, fake_qp_complete(mem->qp, true, 1,
						       IB_WC_SUCCESS), 1U);
		if (i % 5) {
			KUNIT_ASSERT_EQ(test, dat_evd_dequeue_batch(mem->req,
								    events, 4),
					1);
		} else {
			KUNIT_ASSERT_EQ(test, dat_evd_dequeue(mem->req, events),
					0);
		}
		KUNIT_EXPECT_EQ(test, (int)events[0].event_data
				.dto_completion_event_data.operation,
				(int)DAT_DTO_LMR_INVALIDATE);
		KUNIT_EXPECT_EQ(test, events[0].event_data
				.dto_completion_event_data.user_cookie.as_index,
				2UL);
		KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));
		KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
		KUNIT_EXPECT_FALSE(test, lmr->fr->mapped);
		unsignalled_idle(mem, lmr);
	}
	KUNIT_EXPECT_EQ(test, fake_qp_overflows(), 0U);
}

/* Two pairs in one batch: each invalidation proves its own, and no other. */
static void kdapl_fmr_unsignalled_mixed(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *a = mem_allocate(mem, 1), *b = mem_allocate(mem, 1);
	u64 va = (uintptr_t)mem->memory;
	u32 lctx_a, lctx_b;
	int i;

	for (i = 0; i < 2 * UNSIGNALLED_DEPTH; i++) {
		unsignalled_fmr(mem, a, &lctx_a);
		unsignalled_fmr(mem, b, &lctx_b);
		/* The keys are good behind them, before anything has completed. */
		KUNIT_ASSERT_EQ(test, mem_send(mem, lctx_b, va, 8), 0);
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, b, 0), 0);
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, a, 0), 0);
		KUNIT_ASSERT_EQ(test, fake_qp_complete(mem->qp, true, 5,
						       IB_WC_SUCCESS), 5U);
		KUNIT_EXPECT_EQ(test, kit_drain(mem->req), 3U);
		unsignalled_idle(mem, a);
		unsignalled_idle(mem, b);
		unsignalled_fmr(mem, a, &lctx_a);
		unsignalled_fmr(mem, b, &lctx_b);
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, a, 0), 0);
		fake_qp_complete(mem->qp, true, 3, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, kit_drain(mem->req), 1U);
		unsignalled_idle(mem, a);
		KUNIT_EXPECT_TRUE(test, b->fr->settled);
		KUNIT_EXPECT_TRUE(test, mem_bound(b));
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, b, 0), 0);
		fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, kit_drain(mem->req), 1U);
		unsignalled_idle(mem, b);
	}
}

/*
 * At least one in half a queue is signalled. A refused post does not make forget how
 * many were not.
 */
static void kdapl_fmr_unsignalled_every_nth(struct kunit *test)
{
	/* The fourth one in a row; and behind a refusal whatever could be it. */
	static const bool signalled[UNSIGNALLED_DEPTH] = { [3] = true, [5] = true };
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr[UNSIGNALLED_DEPTH];
	struct dat_event event;
	u32 lctx = 0, rctx;
	struct fake_wr wr;
	int i;

	for (i = 0; i < UNSIGNALLED_DEPTH; i++)
		lmr[i] = mem_allocate(mem, 1);
	for (i = 0; i < UNSIGNALLED_DEPTH; i++) {
		if (i == 2 || i == 5) {
			fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
			KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr[i], 0, 1,
						      i == 2 ? 0 :
						      DAT_COMPLETION_SUPPRESS_FLAG,
						      &lctx, &rctx), -ENOMEM);
		}
		KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr[i], 0, 1,
					      DAT_COMPLETION_SUPPRESS_FLAG,
					      &lctx, &rctx), 0);
		KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, i, &wr));
		KUNIT_EXPECT_EQ(test, !!(wr.flags & IB_SEND_SIGNALED),
				(int)signalled[i]);
	}
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr[0], 0), -ENOSPC);
	fake_qp_complete(mem->qp, true, UNSIGNALLED_DEPTH, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(mem->req, &event), -EAGAIN);
	for (i = 0; i < UNSIGNALLED_DEPTH; i++) {
		KUNIT_EXPECT_EQ(test, lmr[i]->fr->settled, i < 6);
		KUNIT_EXPECT_TRUE(test, mem_bound(lmr[i]));
	}
	/* Refused as well: it may not make forget the last two. */
	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr[7], 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, mem->ep->req.suppressed, 2U);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr[i], 0), 0);
	fake_qp_complete(mem->qp, true, 6, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(mem->req), 6U);
	for (i = 0; i < UNSIGNALLED_DEPTH; i++)
		unsignalled_idle(mem, lmr[i]);
}

/* Flushed, it is heard of like any failure, and its MR is another one. */
static void kdapl_fmr_unsignalled_flushed(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_event event;
	u32 lctx, rctx;

	rctx = unsignalled_fmr(mem, lmr, &lctx);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	event = mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data
			.user_cookie.as_index, 1UL);
	unsignalled_closed(mem, mem->ep);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!mem_bound(lmr)));
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 1U);
	mem_connect(mem, UNSIGNALLED_DEPTH);
	KUNIT_EXPECT_NE(test, unsignalled_fmr(mem, lmr, &lctx) >> 8, rctx >> 8);
}

/* Done, but its end was flushed: only that is reported. */
static void kdapl_fmr_unsignalled_end_flushed(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_event event;
	u32 lctx, rctx;

	rctx = unsignalled_fmr(mem, lmr, &lctx);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(rctx));
	fake_qp_complete(mem->qp, true, 1, IB_WC_WR_FLUSH_ERR);
	event = mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data
			.user_cookie.as_index, 2UL);
	unsignalled_closed(mem, mem->ep);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(mem->req, &event), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!mem_bound(lmr)));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));
}

/* Done, and then the QP dies: it was a success, and stays one. */
static void kdapl_fmr_unsignalled_then_error(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, rctx;

	rctx = unsignalled_fmr(mem, lmr, &lctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, lmr->fr->settled);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	unsignalled_closed(mem, mem->ep);
	unsignalled_idle(mem, lmr);
	KUNIT_EXPECT_TRUE(test, lmr->fr->settled);
	KUNIT_EXPECT_TRUE(test, mem_bound(lmr));
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(rctx));
	/* Its end on another EP. */
	mem_connect(mem, UNSIGNALLED_DEPTH);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
}

/* The peer's end of @rctx arrives. */
static void unsignalled_remote_end(struct mem *mem, u32 rctx)
{
	struct kunit *test = mem->test;

	KUNIT_ASSERT_EQ(test, kit_post_recv(mem->ep, 9), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_receive(mem->qp, 0, rctx), 1U);
	kit_next(mem->recv);
}

/* The peer has ended it before anything completed; the next one is not that one. */
static void kdapl_fmr_unsignalled_remote(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, first, second;

	first = unsignalled_fmr(mem, lmr, &lctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	unsignalled_remote_end(mem, first);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), -EBADFD);

	second = unsignalled_fmr(mem, lmr, &lctx);
	KUNIT_EXPECT_NE(test, first, second);
	KUNIT_EXPECT_EQ(test, atomic_read(&lmr->fr->posted), 2);
	/* Proves the first only. */
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 1U);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	fake_qp_complete(mem->qp, true, 2, IB_WC_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	unsignalled_idle(mem, lmr);
}

/*
 * As above, but the next one is on another EP when the first EP dies on a device
 * that flushes nothing: what becomes of the first is nothing to the next.
 */
static void kdapl_fmr_unsignalled_stale(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_ep *dying = mem->ep;
	u64 va = (uintptr_t)mem->memory;
	u32 lctx, first, second;

	first = unsignalled_fmr(mem, lmr, &lctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	unsignalled_remote_end(mem, first);

	mem_connect(mem, UNSIGNALLED_DEPTH);
	second = unsignalled_fmr(mem, lmr, &lctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	fake_script.flush = FAKE_FLUSH_NEVER;
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(dying, DAT_CLOSE_ABRUPT_FLAG), 0);
	unsignalled_closed(mem, dying);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&lmr->fr->posted) == 1));
	kit_drain(mem->req);
	KUNIT_EXPECT_EQ(test, (int)kdapl_frmr_state(lmr->fr),
			(int)KDAPL_FRMR_VALID);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(second));
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 8), 0);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	fake_qp_complete(mem->qp, true, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(mem->req), 2U);
	unsignalled_idle(mem, lmr);
	fake_script.flush = FAKE_FLUSH_INLINE;
}

/*
 * The same, and the next one is only being prepared: the MR is of whoever does that,
 * and was known to be free. Nobody may take it from him.
 */
static void kdapl_fmr_unsignalled_stale_taken(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx, first, second;

	first = unsignalled_fmr(mem, lmr, &lctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	unsignalled_remote_end(mem, first);
	/* As dat_lmr_fmr() on another EP does, which is preempted then. */
	KUNIT_ASSERT_TRUE(test, kdapl_frmr_move(lmr->fr, KDAPL_FRMR_FREE,
						KDAPL_FRMR_TAKEN));
	fake_script.flush = FAKE_FLUSH_NEVER;
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	unsignalled_closed(mem, mem->ep);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!atomic_read(&lmr->fr->posted)));
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_ERR_FLUSHED);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, (int)kdapl_frmr_state(lmr->fr),
			(int)KDAPL_FRMR_TAKEN);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DEREG_MR, NULL), 0U);
	kdapl_frmr_move(lmr->fr, KDAPL_FRMR_TAKEN, KDAPL_FRMR_FREE);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	fake_script.flush = FAKE_FLUSH_INLINE;

	mem_connect(mem, UNSIGNALLED_DEPTH);
	second = unsignalled_fmr(mem, lmr, &lctx);
	KUNIT_EXPECT_EQ(test, second >> 8, first >> 8);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(second));
}

/* Nothing will ever complete behind it: free posts what does. */
static void kdapl_fmr_unsignalled_free(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *ended = mem_allocate(mem, 1);
	struct dat_lmr *valid = mem_allocate(mem, 1);
	struct dat_event event;
	struct fake_wr wr;
	u32 lctx, rctx;

	rctx = unsignalled_fmr(mem, ended, &lctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	unsignalled_remote_end(mem, rctx);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(ended), -EBUSY);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, wr.len, 0U);
	/* It is not tried again before the first has completed. */
	KUNIT_EXPECT_EQ(test, dat_lmr_free(ended), -EBUSY);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 1U);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(ended), 0);
	KUNIT_EXPECT_EQ(test, mem->ep->req.posted, mem->ep->req.released);

	/* One that is in force, on a device that works by itself. */
	unsignalled_fmr(mem, valid, &lctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	fake_script.complete = FAKE_INLINE;
	KUNIT_EXPECT_EQ(test, dat_lmr_free(valid), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(mem->req, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, mem->ep->req.posted, mem->ep->req.released);
	fake_script.complete = FAKE_MANUAL;
}

/* What free has posted is flushed: no event of nobody's, and no credit lost. */
static void kdapl_fmr_unsignalled_free_flushed(struct kunit *test)
{
	struct mem *mem = unsignalled_init(test);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u32 lctx;

	unsignalled_fmr(mem, lmr, &lctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), -EBUSY);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	unsignalled_closed(mem, mem->ep);
	unsignalled_idle(mem, lmr);
	KUNIT_EXPECT_TRUE(test, mem_bound(lmr));
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

static struct kunit_case kdapl_fmr_unsignalled_cases[] = {
	KUNIT_CASE(kdapl_fmr_unsignalled_pair),
	KUNIT_CASE(kdapl_fmr_unsignalled_mixed),
	KUNIT_CASE(kdapl_fmr_unsignalled_every_nth),
	KUNIT_CASE(kdapl_fmr_unsignalled_flushed),
	KUNIT_CASE(kdapl_fmr_unsignalled_end_flushed),
	KUNIT_CASE(kdapl_fmr_unsignalled_then_error),
	KUNIT_CASE(kdapl_fmr_unsignalled_remote),
	KUNIT_CASE(kdapl_fmr_unsignalled_stale),
	KUNIT_CASE(kdapl_fmr_unsignalled_stale_taken),
	KUNIT_CASE(kdapl_fmr_unsignalled_free),
	KUNIT_CASE(kdapl_fmr_unsignalled_free_flushed),
	{}
};

static struct kunit_suite kdapl_fmr_unsignalled_suite = {
	.name = "kdapl_fmr_unsignalled",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_fmr_unsignalled_cases,
};

kunit_test_suite(kdapl_fmr_unsignalled_suite);

MODULE_DESCRIPTION("Suite: registrations that are not signalled");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
