// SPDX-License-Identifier: GPL-2.0
/* Connections: how they are made, refused and ended, event by event. */
#include <linux/module.h>

#include "../../drivers/kdapl/cm.h"
#include "../../drivers/kdapl/ep.h"
#include "kit.h"

#define EV(name)	DAT_CONNECTION_EVENT_##name

/* What the CM may say while a connection is being made by us. */
static const struct cm_active_case {
	const char *name;
	enum rdma_cm_event_type type;
	int status;
	u8 pdata;		/* bytes */
	enum dat_event_number end;
} cm_active_cases[] = {
	{ "ADDR_ERROR", RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH, 0,
	  EV(UNREACHABLE) },
	{ "ROUTE_ERROR", RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, 0,
	  EV(UNREACHABLE) },
	{ "UNREACHABLE", RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, 0,
	  EV(UNREACHABLE) },
	{ "CONNECT_ERROR timeout", RDMA_CM_EVENT_CONNECT_ERROR, -ETIMEDOUT, 0,
	  EV(UNREACHABLE) },
	{ "CONNECT_ERROR other", RDMA_CM_EVENT_CONNECT_ERROR, -EIO, 0,
	  EV(NON_PEER_REJECTED) },
	{ "REJECTED by the consumer", RDMA_CM_EVENT_REJECTED,
	  IB_CM_REJ_CONSUMER_DEFINED, 148, EV(PEER_REJECTED) },
	{ "REJECTED no listener", RDMA_CM_EVENT_REJECTED,
	  IB_CM_REJ_INVALID_SERVICE_ID, 0, EV(NON_PEER_REJECTED) },
	{ "REJECTED no resources", RDMA_CM_EVENT_REJECTED,
	  IB_CM_REJ_NO_RESOURCES, 148, EV(NON_PEER_REJECTED) },
	{ "DISCONNECTED", RDMA_CM_EVENT_DISCONNECTED, 0, 0,
	  EV(NON_PEER_REJECTED) },
};

static void cm_active_desc(const struct cm_active_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cm_active, cm_active_cases, cm_active_desc);

static void kdapl_cm_active_failure(struct kunit *test)
{
	const struct cm_active_case *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);
	u8 pdata[148] = { DAT_VERSION_MAJOR, DAT_VERSION_MINOR, 1, 0, 0xaa };

	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, kit_connect(ep, 4000), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_CONNECT) == 1));
	KUNIT_EXPECT_GE(test, fake_cm_event(ep->id, c->type, c->status, pdata,
					    c->pdata), 0);
	kit_expect_end(test, evd, ep, c->end);
	/* The EP can be used again. */
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, kit_connect(ep, 4000), 0);
}

/* The same where the peer connects: the end of an accepted request. */
static const struct cm_active_case cm_passive_cases[] = {
	{ "UNREACHABLE", RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, 0,
	  EV(ACCEPT_COMPLETION_ERROR) },
	{ "CONNECT_ERROR", RDMA_CM_EVENT_CONNECT_ERROR, -EIO, 0,
	  EV(ACCEPT_COMPLETION_ERROR) },
	{ "REJECTED", RDMA_CM_EVENT_REJECTED, IB_CM_REJ_CONSUMER_DEFINED, 148,
	  EV(ACCEPT_COMPLETION_ERROR) },
	{ "ESTABLISHED", RDMA_CM_EVENT_ESTABLISHED, 0, 0, EV(ESTABLISHED) },
};

KUNIT_ARRAY_PARAM(cm_passive, cm_passive_cases, cm_active_desc);

static struct dat_cr *cm_request(struct kunit *test, struct dat_evd *cr_evd,
				 u16 port, struct rdma_cm_id **id)
{
	struct dat_event event;

	*id = fake_cm_request(port, "hello", 5);
	KUNIT_ASSERT_NOT_NULL(test, *id);
	event = kit_next(cr_evd);
	KUNIT_ASSERT_EQ(test, (int)event.event_number,
			(int)DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_EXPECT_EQ(test, event.event_data.cr_arrival_event_data.conn_qual,
			(u64)port);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

static void kdapl_cm_passive_end(struct kunit *test)
{
	const struct cm_active_case *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);
	struct dat_cr_param param = {};
	struct rdma_cm_id *id;
	struct dat_event event;
	struct dat_psp *psp;
	struct dat_cr *cr;

	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, 4001, cr_evd, 0,
					     &psp), 0);
	cr = cm_request(test, cr_evd, 4001, &id);
	KUNIT_ASSERT_EQ(test, dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), 0);
	KUNIT_ASSERT_GE(test, param.private_data_size, 5);
	KUNIT_EXPECT_EQ(test, memcmp(param.private_data, "hello", 5), 0);
	KUNIT_EXPECT_EQ(test, param.remote_port_qual, 4711ULL);
	KUNIT_ASSERT_EQ(test, dat_cr_accept(cr, ep, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep),
			DAT_EP_STATE_COMPLETION_PENDING);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_ACCEPT) == 1));
	KUNIT_EXPECT_GE(test, fake_cm_event(id, c->type, c->status, NULL, 0),
			0);
	if (c->end != EV(ESTABLISHED)) {
		kit_expect_end(test, evd, ep, c->end);
		return;
	}
	event = KIT_EXPECT_EVENT(test, evd, EV(ESTABLISHED));
	KUNIT_EXPECT_EQ(test, event.event_data.connect_event_data
			.private_data_size, 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_CONNECTED);
}

/* Each call of the CM that connecting makes, failing in turn. */
static void kdapl_cm_connect_call_fails(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);
	struct dat_event event;
	unsigned int n;

	fake_cm_script.no_connect = true;
	for (n = 1; n < 20; n++) {
		fake_cm_fail(FAKE_CM_ANY, n, 1, -ENOBUFS);
		KUNIT_ASSERT_EQ(test, kit_connect(ep, 4002), 0);
		KUNIT_ASSERT_TRUE(test,
				  KIT_WAIT(kit_state(ep) ==
					   DAT_EP_STATE_DISCONNECTED ||
					   fake_cm_count(FAKE_CM_CONNECT)));
		if (fake_cm_count(FAKE_CM_CONNECT))
			break;
		event = kit_next(evd);
		KUNIT_EXPECT_TRUE(test,
				  event.event_number == EV(UNREACHABLE) ||
				  event.event_number == EV(NON_PEER_REJECTED));
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
		KUNIT_ASSERT_EQ(test, dat_ep_reset(ep), 0);
	}
	/* At least create_id, resolve_addr, resolve_route and connect. */
	KUNIT_EXPECT_GE(test, n, 5U);
}

static void kdapl_cm_timed_out(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);
	unsigned long begun = jiffies;
	struct sockaddr_in addr;

	fake_cm_script.no_resolve = true;
	kit_address(&addr);
	KUNIT_ASSERT_EQ(test, dat_ep_connect(ep, (struct sockaddr *)&addr, 1,
					     100 * 1000, 0, NULL, 0, 0), 0);
	kit_expect_end(test, evd, ep, EV(TIMED_OUT));
	/* Microseconds, not milliseconds, and not at once. */
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - begun), 90U);
	KUNIT_EXPECT_LE(test, jiffies_to_msecs(jiffies - begun), 30000U);
}

/* The IA's address has moved to a netdev without RDMA. */
static void kdapl_cm_address_moved(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);

	fake_cm_fail(FAKE_CM_RESOLVE_ADDR, 1, 1, -ENODEV);
	KUNIT_ASSERT_EQ(test, kit_connect(ep, 4003), 0);
	kit_expect_end(test, evd, ep, EV(UNREACHABLE));
}

static void kdapl_cm_nobody_listens(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);

	KUNIT_ASSERT_EQ(test, kit_connect(ep, 4003), 0);
	kit_expect_end(test, evd, ep, EV(NON_PEER_REJECTED));
}

/* Private data all the way: request, reply; zero-padded to the field's size. */
static void kdapl_cm_private_data(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct dat_ep *client = kit_ep(test, NULL, NULL, evd, 0);
	struct dat_ep *server = kit_ep(test, NULL, NULL, evd, 0);
	struct dat_connection_event_data *data;
	struct dat_cr_param param = {};
	struct sockaddr_in addr;
	struct dat_event event;
	struct dat_psp *psp;
	struct dat_cr *cr;
	u8 pdata[57];
	int i;

	for (i = 0; i < sizeof(pdata); i++)
		pdata[i] = i + 1;
	kit_address(&addr);
	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, 4004, cr_evd, 0,
					     &psp), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_connect(client, (struct sockaddr *)&addr,
					     4004, DAT_TIMEOUT_INFINITE, 56,
					     pdata, 0, 0), 0);
	event = KIT_EXPECT_EVENT(test, cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.cr_arrival_event_data
			    .sp_handle.psp_handle, psp);
	KUNIT_ASSERT_EQ(test, dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), 0);
	KUNIT_ASSERT_EQ(test, param.private_data_size, 56);
	KUNIT_EXPECT_EQ(test, memcmp(param.private_data, pdata, 56), 0);

	/* Too long, and the request is still there. */
	KUNIT_EXPECT_EQ(test, dat_cr_accept(cr, server, 57, pdata), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(cr, server, 1, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)kit_state(server), DAT_EP_STATE_UNCONNECTED);
	KUNIT_ASSERT_EQ(test, dat_cr_accept(cr, server, 10, pdata), 0);
	for (i = 0; i < 2; i++) {
		event = KIT_EXPECT_EVENT(test, evd, EV(ESTABLISHED));
		data = &event.event_data.connect_event_data;
		if (data->ep_handle == server) {
			KUNIT_EXPECT_EQ(test, data->private_data_size, 0);
			continue;
		}
		KUNIT_ASSERT_EQ(test, data->private_data_size, 196);
		KUNIT_EXPECT_EQ(test, memcmp(data->private_data, pdata, 10), 0);
		KUNIT_EXPECT_NULL(test, memchr_inv(data->private_data + 10, 0,
						   186));
	}
}

/* A consumer's reject: PEER_REJECTED, its bytes without the framing. */
static void kdapl_cm_reject(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct dat_ep *client = kit_ep(test, NULL, NULL, evd, 0);
	struct dat_connection_event_data *data;
	struct fake_cm_record record;
	struct dat_event event;
	struct dat_psp *psp;
	struct dat_cr *cr;

	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, 4005, cr_evd, 0,
					     &psp), 0);
	KUNIT_ASSERT_EQ(test, kit_connect(client, 4005), 0);
	event = KIT_EXPECT_EVENT(test, cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 2, "no"), 0);
	fake_cm_last(FAKE_CM_REJECT, &record);
	KUNIT_EXPECT_EQ(test, (int)record.pdata_len, 6);
	KUNIT_EXPECT_EQ(test, memcmp(record.pdata + 4, "no", 2), 0);

	event = KIT_EXPECT_EVENT(test, evd, EV(PEER_REJECTED));
	data = &event.event_data.connect_event_data;
	KUNIT_ASSERT_EQ(test, data->private_data_size, 144);
	KUNIT_EXPECT_EQ(test, memcmp(data->private_data, "no", 2), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(client),
			DAT_EP_STATE_DISCONNECTED);
}

/*
 * A reject with more private data than there is room for: the request is as
 * before, and the most that there is room for arrives.
 */
static void cm_reject_size(struct kunit *test, int most)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct dat_ep *client = kit_ep(test, NULL, NULL, evd, 0);
	struct dat_connection_event_data *data;
	struct dat_event event;
	struct dat_psp *psp;
	struct dat_cr *cr;
	u8 *pdata;

	pdata = kunit_kzalloc(test, most + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pdata);
	memset(pdata, 0x5a, most + 1);
	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, 4010, cr_evd, 0,
					     &psp), 0);
	KUNIT_ASSERT_EQ(test, kit_connect(client, 4010), 0);
	event = KIT_EXPECT_EVENT(test, cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, most + 1, pdata), -EINVAL);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_REJECT), 0U);

	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, most, pdata), 0);
	event = KIT_EXPECT_EVENT(test, evd, EV(PEER_REJECTED));
	data = &event.event_data.connect_event_data;
	KUNIT_ASSERT_GE(test, data->private_data_size, most);
	KUNIT_EXPECT_EQ(test, memcmp(data->private_data, pdata, most), 0);
}

static void kdapl_cm_reject_too_long(struct kunit *test)
{
	cm_reject_size(test, 56);
}

static void kdapl_cm_reject_too_long_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	cm_reject_size(test, 247);
}

/* An RSP takes one request; a reject gives the EP back. */
static void kdapl_cm_rsp(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);
	struct kit *kit = to_kit(test);
	struct dat_cr_param param = {};
	struct rdma_cm_id *id;
	struct dat_rsp *rsp;
	struct dat_cr *cr;

	KUNIT_ASSERT_EQ(test, dat_rsp_create(kit->ia, 4006, ep, cr_evd, &rsp),
			0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), -EBUSY);
	cr = cm_request(test, cr_evd, 4006, &id);
	KUNIT_ASSERT_EQ(test, dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE,
					   &param), 0);
	KUNIT_EXPECT_PTR_EQ(test, param.local_ep_handle, ep);
	KUNIT_EXPECT_NULL(test, fake_cm_request(4006, NULL, 0));
	KUNIT_EXPECT_EQ(test, dat_cr_reject(cr, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(rsp), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
}

/* What was negotiated is what the QPs get. */
static void kdapl_cm_qp_attributes(struct kunit *test)
{
	struct ib_qp_attr client, server;
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_qp_attr(kit_qp(pair.client), &client);
	fake_qp_attr(kit_qp(pair.server), &server);
	KUNIT_EXPECT_EQ(test, (int)fake_qp_state(kit_qp(pair.client)),
			(int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, (int)fake_qp_state(kit_qp(pair.server)),
			(int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, client.dest_qp_num, kit_qp(pair.server)->qp_num);
	KUNIT_EXPECT_EQ(test, server.dest_qp_num, kit_qp(pair.client)->qp_num);
	/* RTR and RTS carry no access flags: INIT was done once more. */
	KUNIT_EXPECT_TRUE(test, client.qp_access_flags & IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_TRUE(test, client.qp_access_flags & IB_ACCESS_REMOTE_WRITE);
	KUNIT_EXPECT_TRUE(test, server.qp_access_flags & IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, (int)client.max_rd_atomic, 4);
	KUNIT_EXPECT_EQ(test, (int)client.max_dest_rd_atomic, 4);
	KUNIT_EXPECT_EQ(test, (int)server.max_rd_atomic, 4);
	KUNIT_EXPECT_EQ(test, (int)server.max_dest_rd_atomic, 4);
}

static void kdapl_cm_dup_connect(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_event event;
	struct dat_ep *ep;

	kit_pair(test, &pair, NULL, NULL, 0);
	ep = kit_ep(test, NULL, NULL, pair.conn_evd, 0);
	KUNIT_ASSERT_EQ(test, dat_ep_dup_connect(ep, pair.client,
						 DAT_TIMEOUT_INFINITE, 0, NULL,
						 DAT_QOS_BEST_EFFORT), 0);
	event = KIT_EXPECT_EVENT(test, pair.cr_evd,
				 DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_EXPECT_EQ(test, event.event_data.cr_arrival_event_data.conn_qual,
			(u64)KIT_PORT);
}

/* A CR EVD without room: the peer is told, nothing overflows. */
static void kdapl_cm_backlog(struct kunit *test)
{
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	int i, room = kit_qlen(cr_evd);
	struct dat_psp *psp;

	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, 4007, cr_evd, 0,
					     &psp), 0);
	for (i = 0; i < room; i++)
		KUNIT_EXPECT_NOT_NULL(test, fake_cm_request(4007, NULL, 0));
	KUNIT_EXPECT_NULL(test, fake_cm_request(4007, NULL, 0));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_REJECT), 1U);
	KUNIT_EXPECT_EQ(test, kit_drain(cr_evd), (unsigned int)room);
	KUNIT_EXPECT_NOT_NULL(test, fake_cm_request(4007, NULL, 0));
}

static void kdapl_cm_psp_qualifiers(struct kunit *test)
{
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct dat_psp *a, *b, *c = NULL;
	struct kit *kit = to_kit(test);
	struct dat_psp_param param = {};
	u64 qa = 0, qb = 0;

	KUNIT_ASSERT_EQ(test, dat_psp_create_any(kit->ia, &qa, cr_evd, 0, &a),
			0);
	KUNIT_ASSERT_EQ(test, dat_psp_create_any(kit->ia, &qb, cr_evd, 0, &b),
			0);
	KUNIT_EXPECT_NE(test, qa, 0ULL);
	KUNIT_EXPECT_NE(test, qa, qb);
	KUNIT_EXPECT_EQ(test, dat_psp_create(kit->ia, qa, cr_evd, 0, &c),
			-EADDRINUSE);
	KUNIT_EXPECT_NULL(test, c);
	KUNIT_EXPECT_EQ(test, dat_psp_query(a, DAT_PSP_FIELD_ALL, &param), 0);
	KUNIT_EXPECT_EQ(test, param.conn_qual, qa);
	KUNIT_EXPECT_PTR_EQ(test, param.evd_handle, cr_evd);
	KUNIT_EXPECT_EQ(test, dat_evd_free(cr_evd), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_psp_free(a), 0);
	KUNIT_EXPECT_EQ(test, dat_psp_create(kit->ia, qa, cr_evd, 0, &c), 0);
}

/* Requests stay answerable when their service point is gone. */
static void kdapl_cm_psp_freed_first(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);
	struct rdma_cm_id *ida, *idb;
	struct dat_cr *a, *b;
	struct dat_psp *psp;

	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, 4008, cr_evd, 0,
					     &psp), 0);
	a = cm_request(test, cr_evd, 4008, &ida);
	b = cm_request(test, cr_evd, 4008, &idb);
	KUNIT_EXPECT_EQ(test, dat_psp_free(psp), 0);
	KUNIT_EXPECT_NULL(test, fake_cm_request(4008, NULL, 0));
	KUNIT_EXPECT_EQ(test, dat_cr_reject(a, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(b, ep, 0, NULL), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_ACCEPT) == 1));
}

static struct kunit_case kdapl_cm_cases[] = {
	KUNIT_CASE_PARAM(kdapl_cm_active_failure, cm_active_gen_params),
	KUNIT_CASE_PARAM(kdapl_cm_passive_end, cm_passive_gen_params),
	KUNIT_CASE(kdapl_cm_connect_call_fails),
	KUNIT_CASE(kdapl_cm_timed_out),
	KUNIT_CASE(kdapl_cm_address_moved),
	KUNIT_CASE(kdapl_cm_nobody_listens),
	KUNIT_CASE(kdapl_cm_private_data),
	KUNIT_CASE(kdapl_cm_reject),
	KUNIT_CASE(kdapl_cm_reject_too_long),
	KUNIT_CASE(kdapl_cm_reject_too_long_iwarp),
	KUNIT_CASE(kdapl_cm_rsp),
	KUNIT_CASE(kdapl_cm_qp_attributes),
	KUNIT_CASE(kdapl_cm_dup_connect),
	KUNIT_CASE(kdapl_cm_backlog),
	KUNIT_CASE(kdapl_cm_psp_qualifiers),
	KUNIT_CASE(kdapl_cm_psp_freed_first),
	{}
};

static struct kunit_suite kdapl_cm_suite = {
	.name = "kdapl_cm",
	.init = kit_init,
	.exit = kit_exit_replug,
	.test_cases = kdapl_cm_cases,
};

kunit_test_suite(kdapl_cm_suite);

MODULE_DESCRIPTION("Suite: making connections");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
