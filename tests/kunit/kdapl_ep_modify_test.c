// SPDX-License-Identifier: GPL-2.0
/* What dat_ep_modify() leaves an endpoint with. */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "kit.h"

static int modify_pz(struct dat_ep *ep, struct dat_pz *pz)
{
	struct dat_ep_param param = { .pz_handle = pz };

	return dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param);
}

/* Without a PZ there is no QP, and no CQ that nobody knows of. */
static void kdapl_ep_modify_no_pz(struct kunit *test)
{
	struct dat_ep *ep = kit_ep(test, NULL, NULL, NULL, 0);
	int cqs = fake_hca_live(FAKE_CQ);

	KUNIT_EXPECT_EQ(test, modify_pz(ep, NULL), 0);
	KUNIT_EXPECT_NULL(test, kit_qp(ep));
	KUNIT_EXPECT_NULL(test, ep->hidden_evd);
	KUNIT_EXPECT_NULL(test, ep->req.evd);
	KUNIT_EXPECT_NULL(test, ep->recv.evd);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_CQ), cqs - 1);

	KUNIT_EXPECT_EQ(test, modify_pz(ep, to_kit(test)->pz), 0);
	KUNIT_EXPECT_NOT_NULL(test, kit_qp(ep));
	KUNIT_EXPECT_PTR_EQ(test, ep->req.evd, ep->hidden_evd);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_CQ), cqs);

	KUNIT_EXPECT_EQ(test, modify_pz(ep, NULL), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_CQ), cqs - 1);
}

static struct kunit_case kdapl_ep_modify_cases[] = {
	KUNIT_CASE(kdapl_ep_modify_no_pz),
	{}
};

static struct kunit_suite kdapl_ep_modify_suite = {
	.name = "kdapl_ep_modify",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_ep_modify_cases,
};

kunit_test_suite(kdapl_ep_modify_suite);

MODULE_DESCRIPTION("Suite: changes of endpoints");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
