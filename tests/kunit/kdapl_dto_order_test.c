// SPDX-License-Identifier: GPL-2.0
/*
 * Completions that do not come in the order of the requests, as siw makes them: what
 * was sent completes before a read in front of it whose answer is under way. Each
 * request has one event, in the order of posting, that says what became of it. What
 * fails is in kdapl_dto_failed_test.c.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/frmr.h"
#include "../../drivers/kdapl/lmr.h"
#include "mem_kit.h"
#include "order_kit.h"

/* How a consumer asks for events. */
struct order_way {
	const char *name;
	bool batch;
	bool upcall;
};

static const struct order_way order_ways[] = {
	{ "one by one" },
	{ "batch", .batch = true },
	{ "behind an enable", .upcall = true },
};

static void order_way_desc(const struct order_way *way, char *desc)
{
	strscpy(desc, way->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(order_way, order_ways, order_way_desc);

/*
 * 1 and 3 complete before 0 and 2: nothing is heard of them; with 0 comes 1, with 2
 * comes 3. An enable is not kept from arming by what makes no event.
 */
static void kdapl_dto_order_early(struct kunit *test)
{
	const struct order_way *way = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct order *o = order_init(test);
	struct dat_event events[4];
	int i;

	for (i = 0; i < 4; i++)
		order_post(o, 0);
	order_complete(o, 1, IB_WC_SUCCESS);
	order_complete(o, 3, IB_WC_SUCCESS);
	if (way->upcall)
		KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(o->evd,
							    DAT_UPCALL_NOTIFY,
							    &up->object,
							    DAT_UPCALL_INVOC_NEW), 0);
	else
		order_expect_none(o);
	KUNIT_EXPECT_EQ(test, o->ep->req.early, 2U);
	KUNIT_EXPECT_EQ(test, o->ep->req.released, 0U);

	order_complete(o, 0, IB_WC_SUCCESS);
	if (way->upcall)
		KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->calls) == 1));
	if (way->batch) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue_batch(o->evd, events, 4), 2);
		for (i = 0; i < 2; i++)
			KUNIT_EXPECT_EQ(test,
					order_dto(&events[i])->user_cookie.as_64,
					(u64)i);
	} else {
		order_expect(o, 0, DAT_DTO_SUCCESS);
		order_expect(o, 1, DAT_DTO_SUCCESS);
	}
	order_expect_none(o);
	KUNIT_EXPECT_EQ(test, o->ep->req.early, 1U);
	order_complete(o, 2, IB_WC_SUCCESS);
	order_expect(o, 2, DAT_DTO_SUCCESS);
	order_expect(o, 3, DAT_DTO_SUCCESS);
	order_expect_idle(o);
}

/* Those not signalled have gone with what is behind them, when its turn comes. */
static void kdapl_dto_order_suppressed(struct kunit *test)
{
	struct order *o = order_init(test);

	order_post(o, DAT_COMPLETION_SUPPRESS_FLAG);
	order_post(o, 0);
	order_post(o, DAT_COMPLETION_SUPPRESS_FLAG);
	order_post(o, 0);
	order_post(o, 0);
	order_complete(o, 3, IB_WC_SUCCESS);
	order_expect_none(o);
	/* That 3 was sent proves that 0 was; 2 stands behind one that may fail. */
	KUNIT_EXPECT_EQ(test, o->ep->req.released, 1U);
	order_complete(o, 1, IB_WC_SUCCESS);
	order_expect(o, 1, DAT_DTO_SUCCESS);
	order_expect(o, 3, DAT_DTO_SUCCESS);
	order_expect_none(o);
	order_complete(o, 4, IB_WC_SUCCESS);
	order_expect(o, 4, DAT_DTO_SUCCESS);
	order_expect_idle(o);
}

/* Nothing has succeeded behind one that has failed, suppressed or not. */
static void kdapl_dto_order_early_then_flushed(struct kunit *test)
{
	struct order *o = order_init(test);

	order_post(o, 0);
	order_post(o, DAT_COMPLETION_SUPPRESS_FLAG);
	order_post(o, 0);
	order_post(o, 0);
	order_complete(o, 2, IB_WC_SUCCESS);
	order_expect_none(o);
	order_complete(o, 0, IB_WC_WR_FLUSH_ERR);
	order_expect(o, 0, DAT_DTO_ERR_FLUSHED);
	order_expect(o, 1, DAT_DTO_ERR_FLUSHED);
	order_expect(o, 2, DAT_DTO_ERR_FLUSHED);
	order_expect_none(o);
	/* As siw does with what is not signalled. */
	order_complete(o, 1, IB_WC_WR_FLUSH_ERR);
	order_complete(o, 3, IB_WC_WR_FLUSH_ERR);
	order_expect(o, 3, DAT_DTO_ERR_FLUSHED);
	order_expect_idle(o);
}

/* The same if the flush comes out of order too. */
static void kdapl_dto_order_early_then_overtaken(struct kunit *test)
{
	struct order *o = order_init(test);
	int i;

	for (i = 0; i < 4; i++)
		order_post(o, 0);
	order_complete(o, 1, IB_WC_SUCCESS);
	order_expect_none(o);
	order_complete(o, 3, IB_WC_WR_FLUSH_ERR);
	order_expect(o, 0, DAT_DTO_ERR_FLUSHED);
	order_expect(o, 1, DAT_DTO_ERR_FLUSHED);
	order_expect(o, 2, DAT_DTO_ERR_FLUSHED);
	order_expect(o, 3, DAT_DTO_ERR_FLUSHED);
	order_complete(o, 0, IB_WC_WR_FLUSH_ERR);
	order_complete(o, 2, IB_WC_WR_FLUSH_ERR);
	order_expect_idle(o);
}

/* The one in front never completes: the end of the EP brings both home. */
static void kdapl_dto_order_early_at_the_end(struct kunit *test)
{
	struct order *o = order_init(test);

	fake_script.flush = FAKE_FLUSH_INLINE;
	order_post(o, 0);
	order_post(o, 0);
	order_complete(o, 1, IB_WC_SUCCESS);
	order_expect_none(o);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(o->ep, DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(o->ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	order_expect(o, 0, DAT_DTO_ERR_FLUSHED);
	order_expect(o, 1, DAT_DTO_ERR_FLUSHED);
	order_expect_idle(o);
}

/* A second completion of one that waits is the provider's fault. */
static void kdapl_dto_order_early_twice(struct kunit *test)
{
	struct order *o = order_init(test);

	order_post(o, 0);
	order_post(o, 0);
	order_complete(o, 1, IB_WC_SUCCESS);
	order_complete(o, 1, IB_WC_SUCCESS);
	order_expect_none(o);
	KUNIT_EXPECT_EQ(test, o->evd->stats.overflow, 1ULL);
	order_complete(o, 0, IB_WC_SUCCESS);
	order_expect(o, 0, DAT_DTO_SUCCESS);
	order_expect(o, 1, DAT_DTO_SUCCESS);
	order_expect_none(o);
}

/* Nobody may use an MR again while the event of its invalidation waits. */
static void kdapl_dto_order_early_invalidation(struct kunit *test)
{
	struct mem *mem = memkit_init(test, ORDER_DEPTH);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_event event;
	struct fake_wr wr = {};
	struct ib_wc wc = { .status = IB_WC_SUCCESS };
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_send(mem, lctx, (uintptr_t)mem->memory, 8), 0);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 1, &wr));
	KUNIT_ASSERT_EQ(test, (int)wr.opcode, (int)IB_WR_LOCAL_INV);
	wc.wr_id = wr.wr_id;
	KUNIT_ASSERT_TRUE(test, fake_cq_push(kit_cq(mem->req), &wc));
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(mem->req, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, kdapl_frmr_state(lmr->fr), KDAPL_FRMR_ENDING);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	event = kit_next(mem->req);
	KUNIT_EXPECT_EQ(test, (int)order_dto(&event)->operation, (int)DAT_DTO_SEND);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, kdapl_frmr_state(lmr->fr), KDAPL_FRMR_FREE);
}

/* On iWARP nothing behind a read says that it is done: it completes by itself. */
static void kdapl_dto_order_suppressed_read(struct kunit *test)
{
	static const enum fake_proto protos[] = { FAKE_PROTO_IB, FAKE_PROTO_IWARP };
	struct dat_rmr_triplet remote = { .segment_length = 64 };
	struct dat_lmr_triplet iov = { .segment_length = 64 };
	struct dat_event event;
	struct fake_wr wr = {};
	struct dat_lmr *lmr;
	struct mem *mem;
	u32 rctx;
	int i;

	for (i = 0; i < ARRAY_SIZE(protos); i++) {
		kit_replug(test, protos[i]);
		mem = memkit_init(test, ORDER_DEPTH);
		lmr = mem_allocate(mem, 1);
		KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0,
					      &iov.lmr_context, &rctx), 0);
		mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
		iov.virtual_address = (uintptr_t)mem->memory;
		KUNIT_ASSERT_EQ(test, dat_ep_post_rdma_read(mem->ep, 1, &iov,
							    mem_cookie(0), &remote,
							    DAT_COMPLETION_SUPPRESS_FLAG), 0);
		KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
		KUNIT_EXPECT_EQ(test, !!(wr.flags & IB_SEND_SIGNALED),
				protos[i] == FAKE_PROTO_IWARP);
		/* What stands behind it waits for it, or brings it home. */
		KUNIT_ASSERT_EQ(test, kit_post_send(mem->ep, 1, 0), 0);
		if (protos[i] == FAKE_PROTO_IWARP) {
			struct ib_wc wc = { .status = IB_WC_SUCCESS };

			KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 1,
							     &wr));
			wc.wr_id = wr.wr_id;
			KUNIT_ASSERT_TRUE(test, fake_cq_push(kit_cq(mem->req),
							     &wc));
			KUNIT_EXPECT_EQ(test, dat_evd_dequeue(mem->req, &event),
					-EAGAIN);
			fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
		} else {
			fake_qp_complete(mem->qp, true, 2, IB_WC_SUCCESS);
		}
		event = kit_next(mem->req);
		KUNIT_EXPECT_EQ(test, (int)order_dto(&event)->operation,
				(int)DAT_DTO_SEND);
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(mem->req, &event), -EAGAIN);
		KUNIT_EXPECT_EQ(test, mem->ep->req.posted, mem->ep->req.released);
	}
}

/*
 * A thread that posts to an EP without a QP flushes what it has posted behind its
 * lock; if the EP is reset meanwhile that is late, and finds what belongs to the
 * new QP.
 */
static void kdapl_dto_order_late_flush(struct kunit *test)
{
	struct order *o = order_init(test);
	struct dat_event event;

	fake_script.flush = FAKE_FLUSH_WORKER;
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(o->ep, DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(o->ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_ASSERT_EQ(test, dat_ep_reset(o->ep), 0);
	kit_drain(o->evd);
	KUNIT_ASSERT_EQ(test, kit_post_recv(o->ep, 1), 0);
	kdapl_queue_flush_held(&o->ep->recv);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(o->evd, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, o->ep->recv.head - o->ep->recv.tail, 1);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(kit_qp(o->ep), false), 1);
}

static struct kunit_case kdapl_dto_order_cases[] = {
	KUNIT_CASE_PARAM(kdapl_dto_order_early, order_way_gen_params),
	KUNIT_CASE(kdapl_dto_order_suppressed),
	KUNIT_CASE(kdapl_dto_order_early_then_flushed),
	KUNIT_CASE(kdapl_dto_order_early_then_overtaken),
	KUNIT_CASE(kdapl_dto_order_early_at_the_end),
	KUNIT_CASE(kdapl_dto_order_early_twice),
	KUNIT_CASE(kdapl_dto_order_early_invalidation),
	KUNIT_CASE(kdapl_dto_order_suppressed_read),
	KUNIT_CASE(kdapl_dto_order_late_flush),
	{}
};

static struct kunit_suite kdapl_dto_order_suite = {
	.name = "kdapl_dto_order",
	.init = kit_init,
	.exit = kit_exit_replug,
	.test_cases = kdapl_dto_order_cases,
};

kunit_test_suite(kdapl_dto_order_suite);

MODULE_DESCRIPTION("Suite: completions out of order");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
