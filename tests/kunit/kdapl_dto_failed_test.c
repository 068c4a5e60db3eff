// SPDX-License-Identifier: GPL-2.0
/*
 * Completions behind one that has failed, and flushes that do not come in the order
 * of the requests: what is posted while a QP of siw goes to error is flushed before
 * what was posted earlier. Each request has one event, in the order of posting, and
 * none is taken for a success that may not be one.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "order_kit.h"

struct failed_side {
	const char *name;
	bool send;
};

static const struct failed_side failed_sides[] = {
	{ "requests", true },
	{ "receives", false },
};

static void failed_side_desc(const struct failed_side *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(failed_side, failed_sides, failed_side_desc);

/*
 * siw flushes what is posted while its QP is on the way to error before what was
 * posted earlier: each has one event, in order, none is taken for a success.
 */
static void kdapl_dto_failed_flushed_out_of_order(struct kunit *test)
{
	const struct failed_side *c = test->param_value;
	struct order *o = order_init(test);
	int i;

	o->receives = !c->send;
	for (i = 0; i < 3; i++)
		order_post(o, 0);
	order_complete(o, 2, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 3; i++)
		order_expect(o, i, DAT_DTO_ERR_FLUSHED);
	/* Their own come, too late. */
	fake_qp_complete(kit_qp(o->ep), c->send, 3, IB_WC_WR_FLUSH_ERR);
	order_expect_idle(o);
}

/*
 * Elsewhere a flushed request proves those done that were not to complete. On iWARP
 * it may have overtaken them, and they have an event that says so; their own
 * completions come too late.
 */
static void kdapl_dto_failed_flushed_behind_suppressed(struct kunit *test)
{
	static const enum fake_proto protos[] = { FAKE_PROTO_IB, FAKE_PROTO_IWARP };
	struct order *o;
	int i;

	for (i = 0; i < ARRAY_SIZE(protos); i++) {
		kit_replug(test, protos[i]);
		o = order_init(test);
		order_post(o, DAT_COMPLETION_SUPPRESS_FLAG);
		order_post(o, 0);
		order_complete(o, 1, IB_WC_WR_FLUSH_ERR);
		if (protos[i] == FAKE_PROTO_IWARP)
			order_expect(o, 0, DAT_DTO_ERR_FLUSHED);
		order_expect(o, 1, DAT_DTO_ERR_FLUSHED);
		order_complete(o, 0, IB_WC_WR_FLUSH_ERR);
		order_expect_idle(o);
	}
}

/*
 * But not the request that kdapl posts when it has moved the QP to error: whatever
 * was to be flushed has been. Of what the consumer hears with the end of a
 * connection, no success of long ago is a part.
 */
static void kdapl_dto_failed_settled(struct kunit *test)
{
	static const bool settled[] = { true, false };
	struct order *o;
	int i;

	for (i = 0; i < ARRAY_SIZE(settled); i++) {
		kit_replug(test, FAKE_PROTO_IWARP);
		o = order_init(test);
		order_post(o, DAT_COMPLETION_SUPPRESS_FLAG);
		KUNIT_ASSERT_EQ(test, kdapl_queue_post_marker(&o->ep->req,
							      settled[i]), 0);
		order_posted(o);
		order_complete(o, 1, IB_WC_WR_FLUSH_ERR);
		if (!settled[i])
			order_expect(o, 0, DAT_DTO_ERR_FLUSHED);
		order_expect_idle(o);
	}
}

/* What may come behind a failure, and what it overtakes. */
struct failed_behind {
	const char *name;
	enum dat_completion_flags flags;
	bool marker;
	enum ib_wc_status status;
};

static const struct failed_behind failed_behinds[] = {
	{ "flush", 0, false, IB_WC_WR_FLUSH_ERR },
	{ "success", 0, false, IB_WC_SUCCESS },
	{ "suppressed flush", DAT_COMPLETION_SUPPRESS_FLAG, false,
	  IB_WC_WR_FLUSH_ERR },
	{ "suppressed success", DAT_COMPLETION_SUPPRESS_FLAG, false,
	  IB_WC_SUCCESS },
	{ "marker flush", 0, true, IB_WC_WR_FLUSH_ERR },
	{ "marker success", 0, true, IB_WC_SUCCESS },
};

static void failed_behind_desc(const struct failed_behind *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(failed_behind, failed_behinds, failed_behind_desc);

/*
 * Behind a request that has failed nothing has succeeded, whatever completes next:
 * also what was suppressed has an event. The next QP has not failed.
 */
static void kdapl_dto_failed_behind_a_failure(struct kunit *test)
{
	const struct failed_behind *c = test->param_value;
	struct order *o = order_init(test);

	order_post(o, 0);
	order_post(o, DAT_COMPLETION_SUPPRESS_FLAG);
	if (c->marker) {
		KUNIT_ASSERT_EQ(test, kdapl_queue_post_marker(&o->ep->req, true),
				0);
		order_posted(o);
	} else {
		order_post(o, c->flags);
	}
	order_complete(o, 0, IB_WC_REM_ACCESS_ERR);
	order_expect(o, 0, DAT_DTO_ERR_REMOTE_ACCESS);
	order_complete(o, 2, c->status);
	order_expect(o, 1, DAT_DTO_ERR_FLUSHED);
	if (!c->marker)
		order_expect(o, 2, DAT_DTO_ERR_FLUSHED);
	/* Its own, too late. */
	order_complete(o, 1, IB_WC_WR_FLUSH_ERR);
	order_expect_none(o);
	KUNIT_EXPECT_EQ(test, READ_ONCE(o->ep->req_failed), 1U);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(o->ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	order_expect_idle(o);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(o->ep), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(o->ep->req_failed), 0U);
}

/* The same for the next in order, by the short way and by the long one. */
static void kdapl_dto_failed_success_behind_a_failure(struct kunit *test)
{
	struct order *o = order_init(test);
	int i;

	for (i = 0; i < 4; i++)
		order_post(o, 0);
	order_complete(o, 0, IB_WC_LOC_PROT_ERR);
	order_expect(o, 0, DAT_DTO_ERR_LOCAL_PROTECTION);
	for (i = 1; i < 4; i++)
		order_complete(o, i, IB_WC_SUCCESS);
	for (i = 1; i < 4; i++)
		order_expect(o, i, DAT_DTO_ERR_FLUSHED);
	order_expect_idle(o);
}

static struct kunit_case kdapl_dto_failed_cases[] = {
	KUNIT_CASE_PARAM(kdapl_dto_failed_flushed_out_of_order, failed_side_gen_params),
	KUNIT_CASE(kdapl_dto_failed_flushed_behind_suppressed),
	KUNIT_CASE(kdapl_dto_failed_settled),
	KUNIT_CASE_PARAM(kdapl_dto_failed_behind_a_failure, failed_behind_gen_params),
	KUNIT_CASE(kdapl_dto_failed_success_behind_a_failure),
	{}
};

static struct kunit_suite kdapl_dto_failed_suite = {
	.name = "kdapl_dto_failed",
	.init = kit_init,
	.exit = kit_exit_replug,
	.test_cases = kdapl_dto_failed_cases,
};

kunit_test_suite(kdapl_dto_failed_suite);

MODULE_DESCRIPTION("Suite: completions behind a failure");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
