// SPDX-License-Identifier: GPL-2.0
/* What dat_ep_modify() leaves an endpoint with, and what may happen meanwhile. */
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

#define MODIFY_PORT	6100

/* What moves a reserved EP on while its new QP is made, and what becomes of that. */
struct modify_way {
	const char *name;
	bool request;		/* or the RSP is freed */
	bool fails;
};

static const struct modify_way modify_ways[] = {
	{ "request", true, false },
	{ "request, no QP", true, true },
	{ "RSP freed", false, false },
	{ "RSP freed, no QP", false, true },
};

static void modify_way_desc(const struct modify_way *way, char *desc)
{
	strscpy(desc, way->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(modify_way, modify_ways, modify_way_desc);

struct modify_race {
	const struct modify_way *way;
	struct dat_ep *ep;
	struct dat_rsp *rsp;
	enum dat_ep_state state;
	int moved;
	int posted;
};

/* Inside of dat_ep_modify(). */
static void modify_meanwhile(enum fake_verb verb, const void *object, void *ctx)
{
	struct modify_race *race = ctx;

	if (verb != FAKE_CREATE_QP)
		return;
	WRITE_ONCE(fake_script.verb_hook, NULL);
	race->moved = race->way->request ?
		      !fake_cm_request(MODIFY_PORT, NULL, 0) :
		      dat_rsp_free(race->rsp);
	race->state = kit_state(race->ep);
	race->posted = kit_post_recv(race->ep, 1);
}

/* No receive goes to a QP that is about to be replaced. */
static void kdapl_ep_modify_while_state_changes(struct kunit *test)
{
	struct dat_ep_param param = { .ep_attr.max_recv_dtos = 4 };
	const struct modify_way *way = test->param_value;
	struct dat_evd *evd = kit_evd(test, 32, DAT_EVD_DEFAULT_FLAG);
	struct modify_race *race;
	enum dat_ep_state state;

	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);
	race->way = way;
	race->ep = kit_ep(test, evd, evd, evd, 2);
	race->posted = 1;
	KUNIT_ASSERT_EQ(test, dat_rsp_create(to_kit(test)->ia, MODIFY_PORT,
					     race->ep, evd, &race->rsp), 0);
	if (way->fails)
		fake_hca_fail(FAKE_CREATE_QP, 1, 2, -ENOMEM);
	fake_script.hook_ctx = race;
	WRITE_ONCE(fake_script.verb_hook, modify_meanwhile);
	KUNIT_EXPECT_EQ(test,
			dat_ep_modify(race->ep,
				      DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				      &param), way->fails ? -ENOMEM : 0);
	WRITE_ONCE(fake_script.verb_hook, NULL);

	state = way->request ? DAT_EP_STATE_PASSIVE_CONNECTION_PENDING :
			       DAT_EP_STATE_UNCONNECTED;
	KUNIT_EXPECT_EQ(test, race->moved, 0);
	KUNIT_EXPECT_EQ(test, (int)race->state, (int)state);
	KUNIT_EXPECT_EQ(test, race->posted, -EBADFD);
	KUNIT_EXPECT_EQ(test, (int)kit_state(race->ep), (int)state);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(kit_qp(race->ep), false), 0U);
	/* Now it can, as many as the EP takes. */
	KUNIT_EXPECT_EQ(test, kit_post_recv(race->ep, 2), 0);
	KUNIT_EXPECT_EQ(test, kit_post_recv(race->ep, 3), 0);
	KUNIT_EXPECT_EQ(test, kit_post_recv(race->ep, 4),
			way->fails ? -ENOSPC : 0);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(kit_qp(race->ep), false),
			way->fails ? 2U : 3U);
}

static struct kunit_case kdapl_ep_modify_cases[] = {
	KUNIT_CASE(kdapl_ep_modify_no_pz),
	KUNIT_CASE_PARAM(kdapl_ep_modify_while_state_changes, modify_way_gen_params),
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
