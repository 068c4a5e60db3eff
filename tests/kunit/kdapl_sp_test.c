// SPDX-License-Identifier: GPL-2.0
/*
 * Service points that make EPs, requests that are passed on, and listeners on
 * socket addresses.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ia.h"
#include "kit.h"

#define SP_EP_FIELDS	(DAT_EP_FIELD_PZ_HANDLE | \
			 DAT_EP_FIELD_RECV_EVD_HANDLE | \
			 DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
			 DAT_EP_FIELD_CONNECT_EVD_HANDLE | \
			 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | \
			 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)

/* Two listeners, a client, and EVDs for all of them. */
struct sp_kit {
	struct dat_evd *cr_evd;
	struct dat_evd *other_evd;
	struct dat_evd *conn_evd;
	struct dat_evd *dto_evd;
	struct dat_ep *client;
};

static void sp_kit(struct kunit *test, struct sp_kit *sp)
{
	sp->cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	sp->other_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	sp->conn_evd = kit_evd(test, 16, DAT_EVD_CONNECTION_FLAG);
	sp->dto_evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	sp->client = kit_ep(test, sp->dto_evd, sp->dto_evd, sp->conn_evd, 4);
}

static struct dat_psp *sp_listen(struct kunit *test, u16 port,
				 struct dat_evd *evd, enum dat_psp_flags flags)
{
	struct dat_psp *psp = NULL;

	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, port, evd, flags,
					     &psp), 0);
	return psp;
}

static struct dat_cr_arrival_event_data sp_arrival(struct kunit *test,
						   struct dat_evd *evd)
{
	struct dat_event event = kit_next(evd);

	KUNIT_ASSERT_EQ(test, (int)event.event_number,
			(int)DAT_CONNECTION_REQUEST_EVENT);
	return event.event_data.cr_arrival_event_data;
}

static struct dat_cr *sp_request(struct kunit *test, u16 port,
				 struct dat_evd *evd)
{
	KUNIT_ASSERT_NOT_NULL(test, fake_cm_request(port, "hello", 5));
	return sp_arrival(test, evd).cr_handle;
}

static struct dat_ep *sp_cr_ep(struct kunit *test, struct dat_cr *cr)
{
	struct dat_cr_param param = {};

	KUNIT_ASSERT_EQ(test, dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE,
					   &param), 0);
	return param.local_ep_handle;
}

static int sp_configure(struct kunit *test, struct sp_kit *sp,
			struct dat_ep *ep)
{
	struct dat_ep_param param = {
		.pz_handle = to_kit(test)->pz,
		.recv_evd_handle = sp->dto_evd,
		.request_evd_handle = sp->dto_evd,
		.connect_evd_handle = sp->conn_evd,
		.ep_attr.max_recv_dtos = 4,
		.ep_attr.max_request_dtos = 4,
	};

	return dat_ep_modify(ep, SP_EP_FIELDS, &param);
}

static int sp_eps(struct kunit *test)
{
	return atomic_read(&to_kit(test)->ia->counts[DAT_HANDLE_TYPE_EP]);
}

/* Both sides, in whatever order. */
static void sp_expect_established(struct kunit *test, struct dat_evd *evd)
{
	KIT_EXPECT_EVENT(test, evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	KIT_EXPECT_EVENT(test, evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* The EP comes with the request, is set up, accepted and used like any other. */
static void kdapl_sp_makes_ep(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	struct dat_ep_param param = {};
	struct dat_event event;
	struct dat_cr *cr;
	struct dat_ep *ep;

	sp_kit(test, sp);
	sp_listen(test, 4100, sp->cr_evd, DAT_PSP_PROVIDER_FLAG);
	KUNIT_ASSERT_EQ(test, kit_connect(sp->client, 4100), 0);
	cr = sp_arrival(test, sp->cr_evd).cr_handle;
	ep = sp_cr_ep(test, cr);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), 0);
	KUNIT_EXPECT_EQ(test, (int)param.ep_state,
			DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	KUNIT_EXPECT_NULL(test, param.pz_handle);
	KUNIT_EXPECT_NULL(test, param.connect_evd_handle);

	/* Not before it has what it needs, and not with another EP. */
	KUNIT_EXPECT_EQ(test, dat_cr_accept(cr, NULL, 0, NULL), -EBADFD);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(cr, sp->client, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep),
			DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), -EBUSY);
	KUNIT_ASSERT_EQ(test, sp_configure(test, sp, ep), 0);
	KUNIT_EXPECT_EQ(test, kit_post_recv(ep, 7), 0);
	KUNIT_ASSERT_EQ(test, dat_cr_accept(cr, NULL, 0, NULL), 0);
	sp_expect_established(test, sp->conn_evd);

	fake_script.complete = FAKE_INLINE;
	KUNIT_EXPECT_EQ(test, kit_post_send(sp->client, 1, 0), 0);
	event = KIT_EXPECT_EVENT(test, sp->dto_evd, DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_PTR_EQ(test,
			    event.event_data.dto_completion_event_data.ep_handle,
			    ep);
	/* It is the consumer's now. */
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
	KUNIT_EXPECT_EQ(test, sp_eps(test), 1);
}

/* With the request goes the EP, set up or not, and what it has taken. */
static void kdapl_sp_reject_frees_ep(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	struct dat_cr *cr;
	int qps, i;

	sp_kit(test, sp);
	qps = fake_hca_live(FAKE_QP);
	sp_listen(test, 4101, sp->cr_evd, DAT_PSP_PROVIDER_FLAG);
	for (i = 0; i < 2; i++) {
		cr = sp_request(test, 4101, sp->cr_evd);
		KUNIT_EXPECT_EQ(test, sp_eps(test), 2);
		if (i)
			KUNIT_ASSERT_EQ(test,
					sp_configure(test, sp,
						     sp_cr_ep(test, cr)), 0);
		KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_QP), qps + i);
		KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), 0);
		KUNIT_EXPECT_EQ(test, sp_eps(test), 1);
		KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_QP), qps);
	}
}

/* Requests that cannot be announced leave no EP behind. */
static void kdapl_sp_backlog_of_eps(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	int i, room;

	sp_kit(test, sp);
	sp_listen(test, 4102, sp->cr_evd, DAT_PSP_PROVIDER_FLAG);
	room = kit_qlen(sp->cr_evd);
	for (i = 0; i < room; i++)
		KUNIT_EXPECT_NOT_NULL(test, fake_cm_request(4102, NULL, 0));
	KUNIT_EXPECT_EQ(test, sp_eps(test), 1 + room);
	KUNIT_EXPECT_NULL(test, fake_cm_request(4102, NULL, 0));
	KUNIT_EXPECT_EQ(test, sp_eps(test), 1 + room);
	/* The close takes the rest: kit_exit() looks. */
}

/* The device goes: request and EP can each be freed, in either order. */
static void kdapl_sp_removal_of_eps(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	struct dat_cr *first, *second;
	struct dat_ep *ep;

	sp_kit(test, sp);
	sp_listen(test, 4103, sp->cr_evd, DAT_PSP_PROVIDER_FLAG);
	first = sp_request(test, 4103, sp->cr_evd);
	second = sp_request(test, 4103, sp->cr_evd);
	ep = sp_cr_ep(test, first);
	KUNIT_ASSERT_EQ(test, sp_configure(test, sp, ep), 0);
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, fake_hca_live_total(), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(first, NULL, 0, NULL), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(first, 4103), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(first, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(second, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, sp_eps(test), 1);
	kit_close(to_kit(test));
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
	to_kit(test)->live = fake_hca_live_total();
}

/* The peer notices nothing; the request is as it was. */
static void kdapl_sp_handoff(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	struct dat_cr_arrival_event_data data;
	struct dat_cr_param was = {}, is = {};
	struct dat_psp *other;
	struct sockaddr_in addr;
	struct dat_cr *cr;
	struct dat_ep *ep;

	sp_kit(test, sp);
	ep = kit_ep(test, NULL, NULL, sp->conn_evd, 0);
	sp_listen(test, 4104, sp->cr_evd, 0);
	other = sp_listen(test, 4105, sp->other_evd, 0);
	kit_address(&addr);
	KUNIT_ASSERT_EQ(test,
			dat_ep_connect(sp->client, (struct sockaddr *)&addr,
				       4104, DAT_TIMEOUT_INFINITE, 5, "hello",
				       DAT_QOS_BEST_EFFORT, 0), 0);
	cr = sp_arrival(test, sp->cr_evd).cr_handle;
	KUNIT_ASSERT_EQ(test, dat_cr_query(cr, DAT_CR_FIELD_ALL, &was), 0);
	KUNIT_ASSERT_EQ(test, dat_cr_handoff(cr, 4105), 0);

	data = sp_arrival(test, sp->other_evd);
	KUNIT_EXPECT_PTR_EQ(test, data.sp_handle.psp_handle, other);
	KUNIT_EXPECT_EQ(test, data.conn_qual, 4105ULL);
	KUNIT_ASSERT_EQ(test, dat_cr_query(data.cr_handle, DAT_CR_FIELD_ALL,
					   &is), 0);
	KUNIT_EXPECT_EQ(test, is.remote_port_qual, was.remote_port_qual);
	/* The next line reads it. */
	KUNIT_ASSERT_EQ(test, is.private_data_size, was.private_data_size);
	KUNIT_EXPECT_EQ(test, memcmp(is.private_data, "hello", 5), 0);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(data.cr_handle, ep, 0, NULL), 0);
	sp_expect_established(test, sp->conn_evd);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_REJECT), 0U);
	KUNIT_EXPECT_EQ(test, kit_drain(sp->cr_evd), 0U);
}

/* EPs stay with the service points, old and new, that they belong to. */
static void kdapl_sp_handoff_of_eps(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	struct dat_ep *reserved;
	struct dat_rsp *rsp;
	struct dat_cr *cr;

	sp_kit(test, sp);
	reserved = kit_ep(test, NULL, NULL, sp->conn_evd, 0);
	sp_listen(test, 4106, sp->cr_evd, DAT_PSP_PROVIDER_FLAG);
	KUNIT_ASSERT_EQ(test, dat_rsp_create(to_kit(test)->ia, 4107, reserved,
					     sp->other_evd, &rsp), 0);

	cr = sp_request(test, 4106, sp->cr_evd);
	KUNIT_EXPECT_EQ(test, sp_eps(test), 3);
	KUNIT_ASSERT_EQ(test, dat_cr_handoff(cr, 4107), 0);
	KUNIT_EXPECT_EQ(test, sp_eps(test), 2);
	cr = sp_arrival(test, sp->other_evd).cr_handle;
	KUNIT_EXPECT_PTR_EQ(test, sp_cr_ep(test, cr), reserved);
	KUNIT_EXPECT_EQ(test, (int)kit_state(reserved),
			DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);

	KUNIT_ASSERT_EQ(test, dat_cr_handoff(cr, 4106), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(reserved),
			DAT_EP_STATE_UNCONNECTED);
	cr = sp_arrival(test, sp->cr_evd).cr_handle;
	KUNIT_EXPECT_EQ(test, (int)kit_state(sp_cr_ep(test, cr)),
			DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);

	/* The RSP has had its request. */
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 4107), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(rsp), 0);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, sp_eps(test), 2);
}

/* A handoff that fails has changed nothing: the id and its events too. */
static void kdapl_sp_handoff_fails(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	struct dat_cr *cr, *lost;
	struct rdma_cm_id *id;
	struct dat_psp *full;
	struct dat_ep *ep;
	int i, room;

	sp_kit(test, sp);
	ep = kit_ep(test, NULL, NULL, sp->conn_evd, 0);
	sp_listen(test, 4108, sp->cr_evd, 0);
	full = sp_listen(test, 4109, sp->other_evd, DAT_PSP_PROVIDER_FLAG);
	room = kit_qlen(sp->other_evd);
	for (i = 0; i < room; i++)
		KUNIT_ASSERT_NOT_NULL(test, fake_cm_request(4109, NULL, 0));
	KUNIT_ASSERT_EQ(test, kit_connect(sp->client, 4108), 0);
	cr = sp_arrival(test, sp->cr_evd).cr_handle;

	KUNIT_EXPECT_EQ(test, dat_cr_handoff(NULL, 4109), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 9999), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 4109), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, sp_eps(test), 2 + room);
	/* What the CM says goes to the CR that has the id. */
	id = fake_cm_request(4108, NULL, 0);
	KUNIT_ASSERT_NOT_NULL(test, id);
	lost = sp_arrival(test, sp->cr_evd).cr_handle;
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(lost, 4109), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, fake_cm_event(id, RDMA_CM_EVENT_DISCONNECTED, 0,
					    NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(lost, ep, 0, NULL), 0);
	KIT_EXPECT_EVENT(test, sp->conn_evd,
			 DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep), 0);

	KUNIT_EXPECT_EQ(test, dat_psp_free(full), 0);
	KUNIT_EXPECT_EQ(test, dat_cr_handoff(cr, 4109), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(cr, ep, 0, NULL), 0);
	sp_expect_established(test, sp->conn_evd);
}

/* By domain, type, protocol and address. */
static void kdapl_sp_csp(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	struct dat_comm comm = { .domain = AF_INET, .type = SOCK_STREAM };
	struct dat_cr_arrival_event_data data;
	struct dat_csp_param param = {};
	struct kit *kit = to_kit(test);
	struct dat_csp *csp = NULL;
	struct sockaddr_in addr;
	struct dat_ep *ep;

	sp_kit(test, sp);
	ep = kit_ep(test, NULL, NULL, sp->conn_evd, 0);
	kit_address(&addr);
	KUNIT_ASSERT_EQ(test, dat_csp_create(kit->ia, &comm,
					     (struct sockaddr *)&addr,
					     sp->cr_evd, &csp), 0);
	KUNIT_EXPECT_EQ(test, dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param), 0);
	KUNIT_EXPECT_PTR_EQ(test, param.ia_handle, kit->ia);
	KUNIT_EXPECT_PTR_EQ(test, param.evd_handle, sp->cr_evd);
	KUNIT_EXPECT_EQ(test, param.comm->domain, AF_INET);
	/* The port was left to the CM. */
	memcpy(&addr, param.address_ptr, sizeof(addr));
	KUNIT_EXPECT_NE(test, (int)ntohs(addr.sin_port), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(sp->cr_evd), -EBUSY);

	KUNIT_ASSERT_EQ(test, dat_ep_common_connect(sp->client,
						    (struct sockaddr *)&addr,
						    DAT_TIMEOUT_INFINITE, 0,
						    NULL), 0);
	data = sp_arrival(test, sp->cr_evd);
	KUNIT_EXPECT_PTR_EQ(test, data.sp_handle.csp_handle, csp);
	KUNIT_EXPECT_EQ(test, data.conn_qual, (u64)ntohs(addr.sin_port));
	KUNIT_EXPECT_EQ(test, dat_cr_accept(data.cr_handle, ep, 0, NULL), 0);
	sp_expect_established(test, sp->conn_evd);
	KUNIT_EXPECT_EQ(test, dat_csp_free(csp), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(sp->cr_evd), 0);
}

static void kdapl_sp_csp_refused(struct kunit *test)
{
	struct sp_kit *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);
	struct dat_comm comm = { .domain = AF_INET, .type = SOCK_STREAM };
	struct dat_csp *csp = NULL, *second = NULL;
	struct dat_ia *ia = to_kit(test)->ia;
	struct sockaddr_in addr;
	struct sockaddr *sa = (struct sockaddr *)&addr;
	struct dat_csp_param param;

	sp_kit(test, sp);
	kit_address(&addr);
	KUNIT_EXPECT_EQ(test, dat_csp_create(NULL, &comm, sa, sp->cr_evd, &csp),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, NULL, sa, sp->cr_evd, &csp),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, NULL, sp->cr_evd, &csp),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, NULL, &csp),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, sp->cr_evd, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, sp->conn_evd, &csp),
			-EINVAL);
	comm.type = SOCK_DGRAM;
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, sp->cr_evd, &csp),
			-EPROTONOSUPPORT);
	comm.type = SOCK_STREAM;
	comm.domain = AF_INET6;
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, sp->cr_evd, &csp),
			-EAFNOSUPPORT);
	comm.domain = AF_INET;
	/* Any address would take requests of any port. */
	addr.sin_addr.s_addr = 0;
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, sp->cr_evd, &csp),
			-EADDRNOTAVAIL);
	addr.sin_addr.s_addr = htonl(FAKE_IP4 + 1);
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, sp->cr_evd, &csp),
			-EADDRNOTAVAIL);
	/* An address of ours, but of a netdev that has no RDMA, as lo. */
	fake_cm_fail(FAKE_CM_BIND_ADDR, 1, 1, -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, sp->cr_evd, &csp),
			-EADDRNOTAVAIL);
	KUNIT_EXPECT_EQ(test, fake_cm_fail_left(), 0U);
	KUNIT_EXPECT_NULL(test, csp);
	kit_address(&addr);
	addr.sin_port = htons(4110);
	KUNIT_ASSERT_EQ(test, dat_csp_create(ia, &comm, sa, sp->cr_evd, &csp),
			0);
	KUNIT_EXPECT_EQ(test, dat_csp_create(ia, &comm, sa, sp->cr_evd,
					     &second), -EADDRINUSE);
	KUNIT_EXPECT_NULL(test, second);
	KUNIT_EXPECT_EQ(test, dat_csp_query(NULL, 0, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_csp_query(csp, 0x10, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_csp_query(csp, DAT_CSP_FIELD_ALL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_csp_free(NULL), -EINVAL);

	addr.sin_port = 0;
	KUNIT_EXPECT_EQ(test, dat_ep_common_connect(NULL, sa, 1, 0, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_common_connect(sp->client, NULL, 1, 0,
						    NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_common_connect(sp->client, sa, 1, 0, NULL),
			-EINVAL);
	addr.sin_family = AF_UNIX;
	KUNIT_EXPECT_EQ(test, dat_ep_common_connect(sp->client, sa, 1, 0, NULL),
			-EAFNOSUPPORT);
}

static struct kunit_case kdapl_sp_cases[] = {
	KUNIT_CASE(kdapl_sp_makes_ep),
	KUNIT_CASE(kdapl_sp_reject_frees_ep),
	KUNIT_CASE(kdapl_sp_backlog_of_eps),
	KUNIT_CASE(kdapl_sp_removal_of_eps),
	KUNIT_CASE(kdapl_sp_handoff),
	KUNIT_CASE(kdapl_sp_handoff_of_eps),
	KUNIT_CASE(kdapl_sp_handoff_fails),
	KUNIT_CASE(kdapl_sp_csp),
	KUNIT_CASE(kdapl_sp_csp_refused),
	{}
};

static struct kunit_suite kdapl_sp_suite = {
	.name = "kdapl_sp",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_sp_cases,
};

kunit_test_suite(kdapl_sp_suite);

MODULE_DESCRIPTION("Suite: service points");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
