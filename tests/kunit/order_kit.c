// SPDX-License-Identifier: GPL-2.0
/* What the suites for completions out of order share; see order_kit.h. */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "order_kit.h"

struct order *order_init(struct kunit *test)
{
	struct order *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->test = test;
	o->evd = kit_evd(test, 4 * ORDER_DEPTH, DAT_EVD_DTO_FLAG);
	kit_pair(test, &o->pair, o->evd, o->evd, ORDER_DEPTH);
	o->ep = o->pair.client;
	fake_script.flush = FAKE_FLUSH_MANUAL;
	return o;
}
EXPORT_SYMBOL_GPL(order_init);

void order_posted(struct order *o)
{
	struct fake_wr wr = {};

	KUNIT_ASSERT_TRUE(o->test, fake_qp_peek(kit_qp(o->ep), !o->receives,
						o->posted, &wr));
	o->wr_id[o->posted++] = wr.wr_id;
}
EXPORT_SYMBOL_GPL(order_posted);

void order_post(struct order *o, enum dat_completion_flags flags)
{
	KUNIT_ASSERT_EQ(o->test, o->receives ? kit_post_recv(o->ep, o->posted) :
			kit_post_send(o->ep, o->posted, flags), 0);
	order_posted(o);
}
EXPORT_SYMBOL_GPL(order_post);

void order_complete(struct order *o, unsigned int n, enum ib_wc_status status)
{
	struct ib_wc wc = { .wr_id = o->wr_id[n], .status = status };

	KUNIT_ASSERT_TRUE(o->test, fake_cq_push(kit_cq(o->evd), &wc));
}
EXPORT_SYMBOL_GPL(order_complete);

void order_expect(struct order *o, unsigned int n,
		  enum dat_dto_completion_status status)
{
	struct dat_event event = {};

	/* Whatever completes is there at once. */
	KUNIT_ASSERT_EQ(o->test, dat_evd_dequeue(o->evd, &event), 0);
	KUNIT_EXPECT_EQ(o->test, order_dto(&event)->user_cookie.as_64, (u64)n);
	KUNIT_EXPECT_EQ(o->test, order_dto(&event)->status, status);
	KUNIT_EXPECT_PTR_EQ(o->test, order_dto(&event)->ep_handle, o->ep);
}
EXPORT_SYMBOL_GPL(order_expect);

void order_expect_none(struct order *o)
{
	struct dat_event event;

	KUNIT_EXPECT_EQ(o->test, dat_evd_dequeue(o->evd, &event), -EAGAIN);
}
EXPORT_SYMBOL_GPL(order_expect_none);

void order_expect_idle(struct order *o)
{
	order_expect_none(o);
	KUNIT_EXPECT_EQ(o->test, o->ep->req.posted, o->ep->req.released);
	KUNIT_EXPECT_EQ(o->test, o->ep->req.early, 0U);
	KUNIT_EXPECT_EQ(o->test, o->ep->req.head, o->ep->req.tail);
	KUNIT_EXPECT_EQ(o->test, o->evd->stats.overflow, 0ULL);
}
EXPORT_SYMBOL_GPL(order_expect_idle);
