// SPDX-License-Identifier: GPL-2.0
/* What adapters say of themselves, and what they have counted. */
#include <linux/module.h>
#include <net/net_namespace.h>

#include <dat/dat_ib_extensions.h>

#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/ia.h"
#include "kit.h"

struct attrs {
	struct dat_ia_attr ia;
	struct dat_provider_attr provider;
};

static struct attrs *attr_query(struct kunit *test)
{
	struct attrs *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_EQ(test, dat_ia_query(to_kit(test)->ia, NULL,
					   DAT_IA_FIELD_ALL, &a->ia,
					   DAT_PROVIDER_FIELD_ALL,
					   &a->provider), 0);
	return a;
}

/* Limits that were said can be reached, and not passed. */
static void kdapl_attr_limits(struct kunit *test)
{
	struct attrs *a = attr_query(test);
	struct kit *kit = to_kit(test);
	struct dat_srq_attr srq_attr = {
		.max_recv_dtos = a->ia.max_recv_per_srq,
	};
	struct dat_evd *evd = NULL, *none = NULL;
	struct dat_srq *srq = NULL;
	struct dat_ep *ep;

	KUNIT_EXPECT_STREQ(test, a->ia.adapter_name, FAKE_NAME);
	KUNIT_EXPECT_EQ(test, a->ia.hardware_version_major, 7U);
	KUNIT_EXPECT_EQ(test, a->ia.firmware_version_major, 0x00020003U);
	KUNIT_EXPECT_EQ(test, a->ia.max_eps, 4096);
	KUNIT_EXPECT_EQ(test, a->ia.max_srqs, 64);
	KUNIT_EXPECT_EQ(test, a->ia.max_message_size, 1U << 30);
	KUNIT_EXPECT_EQ(test, (int)a->provider.ep_creator,
			(int)DAT_PSP_CREATES_EP_IFASKED);
	KUNIT_EXPECT_FALSE(test, a->provider.ha_supported);
	KUNIT_EXPECT_FALSE(test, a->provider.srq_ep_pz_difference_supported);

	KUNIT_EXPECT_TRUE(test, a->provider.srq_supported);
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, &srq_attr, &srq),
			0);
	srq_attr.max_recv_dtos++;
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, &srq_attr, &srq),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_kcreate(kit->ia, a->ia.max_evd_qlen, 0,
					      NULL, DAT_EVD_DTO_FLAG, &evd), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_kcreate(kit->ia, a->ia.max_evd_qlen + 1,
					      0, NULL, DAT_EVD_DTO_FLAG, &none),
			-ENOMEM);
	ep = kit_ep(test, NULL, evd, NULL, a->ia.max_dto_per_ep);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
}

/* Where the transport makes a difference. */
static void kdapl_attr_transports(struct kunit *test)
{
	struct kit *kit = to_kit(test);
	struct attrs *a;

	a = attr_query(test);
	KUNIT_EXPECT_EQ(test, (int)a->ia.extension_supported,
			(int)DAT_EXTENSION_IB);
	KUNIT_EXPECT_EQ(test, a->ia.extension_version,
			DAT_IB_EXTENSION_VERSION);
	KUNIT_EXPECT_EQ(test, a->provider.max_private_data_size, 56);
	KUNIT_EXPECT_FALSE(test, a->provider.rdma_write_for_rdma_read_req);

	kit_close(kit);
	fake_hca_unplug();
	KUNIT_ASSERT_EQ(test, fake_hca_plug(FAKE_PROTO_IWARP), 0);
	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_NAME, 8, &kit->async, &kit->ia),
			0);
	a = attr_query(test);
	KUNIT_EXPECT_EQ(test, (int)a->ia.extension_supported,
			(int)DAT_EXTENSION_NONE);
	KUNIT_EXPECT_EQ(test, a->ia.max_iov_segments_per_rdma_read, 1);
	KUNIT_EXPECT_EQ(test, a->provider.max_private_data_size, 251);
	KUNIT_EXPECT_TRUE(test, a->provider.rdma_write_for_rdma_read_req);
	kit_close(kit);
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
	kit->live = fake_hca_live_total();
}

/* No adapter stands in for another, nor for one that does not exist. */
static void kdapl_attr_ha(struct kunit *test)
{
	enum dat_ha_relationship rel = DAT_HA_CONFLICTING;
	bool related = true;

	KUNIT_EXPECT_EQ(test, dat_ia_ha_related(NULL, FAKE_NAME, &related),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_ha_related(FAKE_NAME, NULL, &related),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_ha_related(FAKE_NAME, FAKE_NAME, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_ha_related(FAKE_NAME, "nonesuch0",
						&related), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ia_ha_related("nonesuch0", FAKE_NAME,
						&related), -ENODEV);
	KUNIT_EXPECT_TRUE(test, related);
	KUNIT_EXPECT_EQ(test, dat_ia_ha_related(FAKE_NAME, FAKE_IP4_TEXT,
						&related), 0);
	KUNIT_EXPECT_FALSE(test, related);
	KUNIT_EXPECT_EQ(test, dat_registry_providers_related(FAKE_NAME,
							     "nonesuch0",
							     &rel), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_registry_providers_related(FAKE_NAME,
							     FAKE_NAME, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, (int)rel, (int)DAT_HA_CONFLICTING);
	KUNIT_EXPECT_EQ(test, dat_registry_providers_related(FAKE_NAME,
							     FAKE_IP4_TEXT,
							     &rel), 0);
	KUNIT_EXPECT_EQ(test, (int)rel, (int)DAT_HA_FALSE);
}

/* For kernel threads, which name their namespace. */
static void kdapl_attr_open_net(struct kunit *test)
{
	struct dat_evd *async = NULL;
	struct dat_ia *ia = NULL;

	KUNIT_EXPECT_EQ(test, dat_ia_open_net(NULL, FAKE_NAME, 8, &async, &ia),
			-EINVAL);
	KUNIT_EXPECT_NULL(test, ia);
	KUNIT_ASSERT_EQ(test, dat_ia_open_net(&init_net, FAKE_NAME, 8, &async,
					      &ia), 0);
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), 0);
}

static void kdapl_attr_open_query(struct kunit *test)
{
	struct attrs *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct dat_ia *ia = NULL;

	KUNIT_EXPECT_EQ(test, dat_ib_open_query(FAKE_NAME, NULL, 0, NULL, 0,
						NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_open_query("nonesuch0", &ia, 0, NULL, 0,
						NULL), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ib_open_query(FAKE_NAME, &ia,
						DAT_IA_FIELD_ALL, NULL, 0,
						NULL), -EINVAL);
	KUNIT_EXPECT_NULL(test, ia);
	KUNIT_ASSERT_EQ(test, dat_ib_open_query(FAKE_NAME, &ia,
						DAT_IA_FIELD_ALL, &a->ia,
						DAT_PROVIDER_FIELD_ALL,
						&a->provider), 0);
	KUNIT_EXPECT_STREQ(test, a->ia.adapter_name, FAKE_NAME);
	KUNIT_EXPECT_STREQ(test, a->provider.provider_name, "kdapl");
	KUNIT_EXPECT_EQ(test, dat_ib_close_query(ia), 0);
	KUNIT_EXPECT_EQ(test, dat_ib_close_query(NULL), -EINVAL);
}

static u64 attr_counter(struct kunit *test, void *handle, int counter)
{
	u64 value = 4711;

	KUNIT_EXPECT_EQ(test, dat_ib_query_counters(handle, counter, &value,
						    false), 0);
	return value;
}

/* What is rare is counted always, DTOs when asked for. */
static void kdapl_attr_counters(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	u64 all[DCNT_IA_ALL_COUNTERS] = {};
	struct kit *kit = to_kit(test);
	struct kit_pair pair;
	struct dat_pz *pz;
	int i;

	fake_script.complete = FAKE_INLINE;
	KUNIT_ASSERT_EQ(test, dat_pz_create(kit->ia, &pz), 0);
	KUNIT_ASSERT_EQ(test, dat_pz_free(pz), 0);
	kit_pair(test, &pair, evd, evd, 4);
	KUNIT_EXPECT_EQ(test, attr_counter(test, kit->ia, DCNT_IA_PZ_CREATE),
			2ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, kit->ia, DCNT_IA_PZ_FREE),
			1ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, kit->ia, DCNT_IA_EP_CREATE),
			2ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, kit->ia, DCNT_IA_SP_CR), 1ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, kit->ia,
					   DCNT_IA_SP_CR_ACCEPTED), 1ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, kit->ia,
					   DCNT_IA_SP_CR_REJECTED), 0ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, pair.client, DCNT_EP_CONNECT),
			1ULL);

	/* Not asked for. */
	KUNIT_EXPECT_EQ(test, kit_post_recv(pair.server, 1), 0);
	KUNIT_EXPECT_EQ(test, kit_post_send(pair.client, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 2U);
	KUNIT_EXPECT_EQ(test, attr_counter(test, pair.client,
					   DCNT_EP_POST_SEND), 0ULL);
	KUNIT_EXPECT_EQ(test, dat_ib_start_counter(kit->ia, DCNT_IA_LNK),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dat_ib_start_counter(kit->ia, 99), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_start_counter(NULL, DCNT_EP_DTO), -EINVAL);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, dat_ib_start_counter(kit->ia,
							   DCNT_EP_DTO), 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, kit_post_recv(pair.server, 1), 0);
		KUNIT_EXPECT_EQ(test, kit_post_send(pair.client, 1, 0), 0);
		KUNIT_EXPECT_EQ(test, kit_drain(evd), 2U);
	}
	KUNIT_EXPECT_EQ(test, attr_counter(test, pair.client,
					   DCNT_EP_POST_SEND), 3ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, pair.server,
					   DCNT_EP_POST_RECV), 3ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, pair.server, DCNT_EP_RECV),
			3ULL);
	KUNIT_EXPECT_EQ(test, dat_ib_stop_counter(kit->ia, DCNT_EP_DTO), 0);
	KUNIT_EXPECT_EQ(test, kit_post_recv(pair.server, 1), 0);
	KUNIT_EXPECT_EQ(test, attr_counter(test, pair.server,
					   DCNT_EP_POST_RECV), 3ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, evd, DCNT_EVD_DEQUEUE_FOUND),
			8ULL);

	/* From 0 on again, one or all. */
	KUNIT_EXPECT_EQ(test, dat_ib_query_counters(kit->ia, DCNT_IA_PZ_FREE,
						    all, true), 0);
	KUNIT_EXPECT_EQ(test, all[0], 1ULL);
	KUNIT_EXPECT_EQ(test, dat_ib_query_counters(kit->ia,
						    DCNT_IA_ALL_COUNTERS, all,
						    true), 0);
	KUNIT_EXPECT_EQ(test, all[DCNT_IA_PZ_FREE], 0ULL);
	KUNIT_EXPECT_EQ(test, all[DCNT_IA_PZ_CREATE], 2ULL);
	KUNIT_EXPECT_EQ(test, attr_counter(test, kit->ia, DCNT_IA_PZ_CREATE),
			0ULL);
	KUNIT_EXPECT_EQ(test, dat_ib_print_counters(evd, DCNT_EVD_ALL_COUNTERS,
						    false), 0);

	KUNIT_EXPECT_EQ(test, dat_ib_query_counters(NULL, 0, all, false),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_query_counters(kit->ia, 0, NULL, false),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_query_counters(kit->ia, -1, all, false),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_query_counters(kit->ia,
						    DCNT_IA_ALL_COUNTERS + 1,
						    all, false), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_query_counters(kit->pz, 0, all, false),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_print_counters(NULL, 0, false), -EINVAL);
}

/* Names that have a call, and no more than that. */
static void kdapl_attr_unsupported(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = kit_ep(test, evd, evd, NULL, 4);

	const int answers[] = {
		dat_ib_post_send_ud(ep, 0, NULL, NULL, 0, 0),
		dat_ib_post_recv_ud(ep, 0, NULL, 0, 0),
		dat_ib_ud_cm_free(ep, NULL),
		dat_ib_ud_ah_free(ep, NULL),
		dat_ib_collective_create_member(NULL),
		dat_ib_collective_free_member(NULL),
		dat_ib_collective_create_group(NULL),
		dat_ib_collective_free_group(NULL),
		dat_ib_collective_set_clock(NULL),
		dat_ib_collective_read_clock(NULL),
		dat_ib_collective_scatter(NULL),
		dat_ib_collective_scatterv(NULL),
		dat_ib_collective_gather(NULL),
		dat_ib_collective_gatherv(NULL),
		dat_ib_collective_allgather(NULL),
		dat_ib_collective_allgatherv(NULL),
		dat_ib_collective_alltoall(NULL),
		dat_ib_collective_alltoallv(NULL),
		dat_ib_collective_reduce(NULL),
		dat_ib_collective_allreduce(NULL),
		dat_ib_collective_reduce_scatter(NULL),
		dat_ib_collective_scan(NULL),
		dat_ib_collective_broadcast(NULL),
		dat_ib_collective_barrier(NULL),
	};
	int i;

	KUNIT_EXPECT_NOT_NULL(test, ep);
	for (i = 0; i < ARRAY_SIZE(answers); i++)
		KUNIT_EXPECT_EQ(test, answers[i], -EOPNOTSUPP);
}

/* A further port has a name of its own, and is found by its address, too. */
static void kdapl_attr_second_port(struct kunit *test)
{
	static const char * const names[] = { FAKE_NAME ":2", FAKE_IP6_TEXT };
	struct dat_provider_info infos[2] = {}, *list[] = { infos, infos + 1 };
	struct dat_evd *async;
	struct dat_ia *ia;
	unsigned int i;
	int n;

	/* As long as no address is its, it is no adapter. */
	KUNIT_EXPECT_EQ(test, dat_registry_list_providers(2, &n, list), 0);
	KUNIT_EXPECT_EQ(test, n, 1);
	fake_cm_script.second_port = true;
	KUNIT_EXPECT_EQ(test, dat_registry_list_providers(2, &n, list), 0);
	KUNIT_EXPECT_EQ(test, n, 2);
	KUNIT_EXPECT_STREQ(test, infos[0].ia_name, FAKE_NAME);
	KUNIT_EXPECT_STREQ(test, infos[1].ia_name, FAKE_NAME ":2");

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		async = NULL;
		KUNIT_ASSERT_EQ(test, dat_ia_open(names[i], 8, &async, &ia), 0);
		KUNIT_EXPECT_STREQ(test, ia->name, FAKE_NAME ":2");
		KUNIT_EXPECT_EQ(test, (int)ia->port, 2);
		KUNIT_EXPECT_EQ(test, (int)ia->addr.ss_family, AF_INET6);
		/* It hears of its own port only. */
		fake_hca_event(IB_EVENT_PORT_ERR);
		KIT_EXPECT_EVENT(test, to_kit(test)->async,
				 DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
		KUNIT_EXPECT_EQ(test, kit_drain(async), 0U);
		KUNIT_EXPECT_EQ(test, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG),
				0);
	}
	async = NULL;
	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_NAME, 8, &async, &ia), 0);
	KUNIT_EXPECT_EQ(test, (int)ia->port, 1);
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), 0);
}

static struct kunit_case kdapl_attr_cases[] = {
	KUNIT_CASE(kdapl_attr_limits),
	KUNIT_CASE(kdapl_attr_transports),
	KUNIT_CASE(kdapl_attr_ha),
	KUNIT_CASE(kdapl_attr_open_net),
	KUNIT_CASE(kdapl_attr_open_query),
	KUNIT_CASE(kdapl_attr_counters),
	KUNIT_CASE(kdapl_attr_unsupported),
	KUNIT_CASE(kdapl_attr_second_port),
	{}
};

static struct kunit_suite kdapl_attr_suite = {
	.name = "kdapl_attr",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_attr_cases,
};

kunit_test_suite(kdapl_attr_suite);

MODULE_DESCRIPTION("Suite: attributes and counters");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
