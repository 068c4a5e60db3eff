// SPDX-License-Identifier: GPL-2.0
/*
 * Every call with NULL and with wrong arguments: a precise errno, OUT parameters
 * untouched, nothing half done.
 */
#include <linux/module.h>

#include "kit.h"

/* What an OUT parameter holds before the call, and behind a refused one. */
#define ARGS_MARK	((void *)0x5a5a5a5aUL)

static void args_refused(struct kunit *test, int ret, const void *out)
{
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, out, (const void *)ARGS_MARK);
}

/* The call comes before the look at what it has left behind. */
#define ARGS_REFUSED(test, call, out)					\
do {									\
	int args_ret = (call);						\
									\
	args_refused(test, args_ret, out);				\
} while (0)

static void kdapl_args_registry(struct kunit *test)
{
	struct dat_provider_info *list[1], info = {};
	int n = 42;

	list[0] = &info;
	KUNIT_EXPECT_EQ(test, dat_registry_list_providers(1, NULL, list),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_registry_list_providers(-1, &n, list),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, n, 42);
	KUNIT_EXPECT_EQ(test, dat_registry_list_providers(1, &n, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, n, 42);
	/* By the specification: how many there are, and an error. */
	KUNIT_EXPECT_EQ(test, dat_registry_list_providers(0, &n, NULL),
			-EINVAL);
	KUNIT_EXPECT_GE(test, n, 1);
	KUNIT_EXPECT_EQ(test, dat_registry_list_providers(1, &n, list), 0);
	KUNIT_EXPECT_STREQ(test, info.ia_name, FAKE_NAME);
	KUNIT_EXPECT_EQ(test, info.dapl_version_major, (u32)DAT_VERSION_MAJOR);
}

static void kdapl_args_ia(struct kunit *test)
{
	struct dat_evd *async = NULL, *query = ARGS_MARK;
	struct dat_provider_attr *provider;
	struct dat_ia *ia = ARGS_MARK;
	struct dat_ia_attr *attr;

	attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	provider = kunit_kzalloc(test, sizeof(*provider), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_NOT_NULL(test, provider);

	ARGS_REFUSED(test, dat_ia_open(NULL, 8, &async, &ia), ia);
	ARGS_REFUSED(test, dat_ia_open(FAKE_NAME, 8, NULL, &ia), ia);
	ARGS_REFUSED(test, dat_ia_open(FAKE_NAME, 0, &async, &ia), ia);
	KUNIT_EXPECT_EQ(test, dat_ia_open(FAKE_NAME, 8, &async, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_open("nonesuch0", 8, &async, &ia),
			-ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ia_open("", 8, &async, &ia), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ia_open(FAKE_NAME ":2", 8, &async, &ia),
			-ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ia_open("198.51.100.77", 8, &async, &ia),
			-ENODEV);
	KUNIT_EXPECT_PTR_EQ(test, (void *)ia, ARGS_MARK);
	KUNIT_EXPECT_NULL(test, async);

	KUNIT_EXPECT_EQ(test, dat_ia_query(NULL, &query, 0, NULL, 0, NULL),
			-EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, (void *)query, ARGS_MARK);
	ia = to_kit(test)->ia;
	KUNIT_EXPECT_EQ(test, dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, NULL, 0,
					   NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_query(ia, NULL, 0, NULL,
					   DAT_PROVIDER_FIELD_ALL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_query(ia, NULL, BIT_ULL(50), attr, 0,
					   NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_query(ia, NULL, 0, NULL, BIT_ULL(50),
					   provider), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_query(ia, NULL, 0, NULL, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, dat_ia_query(ia, &query, DAT_IA_FIELD_ALL, attr,
					   DAT_PROVIDER_FIELD_ALL, provider),
			0);
	KUNIT_EXPECT_PTR_EQ(test, query, to_kit(test)->async);

	KUNIT_EXPECT_EQ(test, dat_ia_close(NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia, 2), -EINVAL);
	/* The PZ of the kit is in the way of a graceful one. */
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG),
			-EBUSY);
}

static void kdapl_args_context(struct kunit *test)
{
	union dat_context context = { .as_64 = 7 };
	enum dat_handle_type type = 77;

	KUNIT_EXPECT_EQ(test, dat_set_consumer_context(NULL, context), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_get_consumer_context(NULL, &context),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, context.as_64, 7ULL);
	KUNIT_EXPECT_EQ(test, dat_get_consumer_context(to_kit(test)->ia, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_get_handle_type(NULL, &type), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)type, 77);
	KUNIT_EXPECT_EQ(test, dat_get_handle_type(to_kit(test)->ia, NULL),
			-EINVAL);
}

static void kdapl_args_evd(struct kunit *test)
{
	struct dat_upcall_object null = DAT_UPCALL_NULL;
	struct dat_event event = { .event_number = DAT_SOFTWARE_EVENT };
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CR_FLAG), *out;
	struct dat_ia *ia = to_kit(test)->ia;
	struct dat_evd_param param = { .evd_qlen = 77 };
	struct dat_evd_attr attr = {};

	out = ARGS_MARK;
	ARGS_REFUSED(test, dat_evd_kcreate(NULL, 8, 0, NULL, DAT_EVD_CR_FLAG,
					   &out), out);
	ARGS_REFUSED(test, dat_evd_kcreate(ia, 0, 0, NULL, DAT_EVD_CR_FLAG,
					   &out), out);
	ARGS_REFUSED(test, dat_evd_kcreate(ia, -1, 0, NULL, DAT_EVD_CR_FLAG,
					   &out), out);
	ARGS_REFUSED(test, dat_evd_kcreate(ia, 8, DAT_UPCALL_TEARDOWN, NULL,
					   DAT_EVD_CR_FLAG, &out), out);
	ARGS_REFUSED(test, dat_evd_kcreate(ia, 8, 5, NULL, DAT_EVD_CR_FLAG,
					   &out), out);
	ARGS_REFUSED(test, dat_evd_kcreate(ia, 8, DAT_UPCALL_NOTIFY, NULL,
					   DAT_EVD_CR_FLAG, &out), out);
	ARGS_REFUSED(test, dat_evd_kcreate(ia, 8, DAT_UPCALL_NOTIFY, &null,
					   DAT_EVD_CR_FLAG, &out), out);
	KUNIT_EXPECT_EQ(test, dat_evd_kcreate(ia, 8, 0, NULL, DAT_EVD_CR_FLAG,
					      NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_kcreate(ia, 1 << 20, 0, NULL,
					      DAT_EVD_CR_FLAG, &out), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, (void *)out, ARGS_MARK);

	KUNIT_EXPECT_EQ(test, dat_evd_query(NULL, DAT_EVD_FIELD_ALL, &param),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_query(evd, 0x80, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, param.evd_qlen, 77);
	KUNIT_EXPECT_EQ(test, dat_evd_query(evd, 0, NULL), 0);

	KUNIT_EXPECT_EQ(test, dat_evd_set_attr(NULL, 0, &attr), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_set_attr(evd, DAT_EVD_ATTR_BUDGET, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(NULL, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, -1), -EINVAL);

	KUNIT_EXPECT_EQ(test, dat_evd_post_se(NULL, &event), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(evd, NULL), -EINVAL);
	/* No software stream. */
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(evd, &event), -EINVAL);
	out = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);
	event.event_number = DAT_DTO_COMPLETION_EVENT;
	KUNIT_EXPECT_EQ(test, dat_evd_post_se(out, &event), -EINVAL);

	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(NULL, &event), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue_batch(NULL, &event, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue_batch(evd, NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue_batch(evd, &event, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue_batch(evd, &event, -3), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_free(NULL), -EINVAL);
}

static void kdapl_args_pz(struct kunit *test)
{
	struct dat_pz_param param = { .ia_handle = ARGS_MARK };
	struct kit *kit = to_kit(test);
	struct dat_pz *pz = ARGS_MARK;
	struct dat_ep *ep;

	ARGS_REFUSED(test, dat_pz_create(NULL, &pz), pz);
	KUNIT_EXPECT_EQ(test, dat_pz_create(kit->ia, NULL), -EINVAL);
	ARGS_REFUSED(test, dat_pz_query(NULL, DAT_PZ_FIELD_ALL, &param),
		     param.ia_handle);
	ARGS_REFUSED(test, dat_pz_query(kit->pz, 0x40, &param),
		     param.ia_handle);
	KUNIT_EXPECT_EQ(test, dat_pz_query(kit->pz, DAT_PZ_FIELD_ALL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_pz_query(kit->pz, DAT_PZ_FIELD_ALL, &param),
			0);
	KUNIT_EXPECT_PTR_EQ(test, param.ia_handle, kit->ia);
	KUNIT_EXPECT_EQ(test, dat_pz_free(NULL), -EINVAL);
	ep = kit_ep(test, NULL, NULL, NULL, 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(kit->pz), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(kit->pz), 0);
}

static void kdapl_args_lmr(struct kunit *test)
{
	union dat_region_description region = {};
	struct kit *kit = to_kit(test);
	struct dat_lmr_param param;
	struct dat_lmr *lmr = ARGS_MARK;
	u32 lctx = 7, rctx = 7;
	u64 len = 7, addr = 7;

	region.for_va = kunit_kzalloc(test, 4096, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, region.for_va);
#define ARGS_LMR(ia, type, length, pz, priv, va, opt, lmr)		\
	dat_lmr_kcreate(ia, type, region, length, pz, priv, va, opt,	\
			lmr, &lctx, &rctx, &len, &addr)
	ARGS_REFUSED(test, ARGS_LMR(NULL, 0, 4096, kit->pz, 1, 0, 0, &lmr),
		     lmr);
	ARGS_REFUSED(test, ARGS_LMR(kit->ia, 0, 4096, NULL, 1, 0, 0, &lmr),
		     lmr);
	ARGS_REFUSED(test, ARGS_LMR(kit->ia, 0, 0, kit->pz, 1, 0, 0, &lmr),
		     lmr);
	ARGS_REFUSED(test, ARGS_LMR(kit->ia, 0, 4096, kit->pz, 0x1000, 0, 0,
				    &lmr), lmr);
	ARGS_REFUSED(test, ARGS_LMR(kit->ia, 0, 4096, kit->pz, 1, 7, 0, &lmr),
		     lmr);
	ARGS_REFUSED(test, ARGS_LMR(kit->ia, 0, 4096, kit->pz, 1, 0, 0x55,
				    &lmr), lmr);
	KUNIT_EXPECT_EQ(test, ARGS_LMR(kit->ia, 0, 4096, kit->pz, 1, 0, 0,
				       NULL), -EINVAL);
	/* A kind of memory that there is not. */
	KUNIT_EXPECT_LT(test, ARGS_LMR(kit->ia, 0x4000, 4096, kit->pz, 1, 0, 0,
				       &lmr), 0);
	region.for_va = NULL;
	ARGS_REFUSED(test, ARGS_LMR(kit->ia, 0, 4096, kit->pz, 1, 0, 0, &lmr),
		     lmr);
	KUNIT_EXPECT_EQ(test, lctx, 7U);
	KUNIT_EXPECT_EQ(test, rctx, 7U);
	KUNIT_EXPECT_EQ(test, len, 7ULL);
	KUNIT_EXPECT_EQ(test, addr, 7ULL);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_MR), 0);

	KUNIT_EXPECT_EQ(test, dat_lmr_query(NULL, DAT_LMR_FIELD_ALL, &param),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(NULL), -EINVAL);
}

static struct kunit_case kdapl_args_cases[] = {
	KUNIT_CASE(kdapl_args_registry),
	KUNIT_CASE(kdapl_args_ia),
	KUNIT_CASE(kdapl_args_context),
	KUNIT_CASE(kdapl_args_evd),
	KUNIT_CASE(kdapl_args_pz),
	KUNIT_CASE(kdapl_args_lmr),
	{}
};

static struct kunit_suite kdapl_args_suite = {
	.name = "kdapl_args",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_args_cases,
};

kunit_test_suite(kdapl_args_suite);

MODULE_DESCRIPTION("Suite: wrong arguments");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
