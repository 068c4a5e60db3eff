// SPDX-License-Identifier: GPL-2.0
/*
 * News that come at a rare moment: of the CM and the QP while the EP is in
 * another phase, of the device, and of a provider that cannot arm or poll.
 */
#include <linux/in6.h>
#include <linux/module.h>

#include "../../drivers/kdapl/async.h"
#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/ia.h"
#include "../../drivers/kdapl/main.h"
#include "kit.h"

#define EV(name)	DAT_CONNECTION_EVENT_##name

/* Longer than by default. */
#define NEWS_DOUBT_MS	1500
#define NEWS_NEVER_MS	60000

static void news_expect_async(struct kunit *test,
			      enum dat_event_number number, const void *handle,
			      u32 reason)
{
	struct dat_asynch_error_event_data *data;
	struct dat_event event;

	event = KIT_EXPECT_EVENT(test, to_kit(test)->async, number);
	data = &event.event_data.asynch_error_event_data;
	KUNIT_EXPECT_PTR_EQ(test, (const void *)data->dat_handle, handle);
	KUNIT_EXPECT_EQ(test, (u32)data->reason, reason);
}

/* An EP whose REQ has gone, and the receives that it was given. */
static struct dat_ep *news_connecting(struct kunit *test, struct dat_evd *dto,
				      struct dat_evd *conn)
{
	struct dat_ep *ep = kit_ep(test, dto, dto, conn, 2);

	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, kit_post_recv(ep, 1), 0);
	KUNIT_ASSERT_EQ(test, kit_connect(ep, 4000), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_CONNECT) == 1));
	return ep;
}

/* A receive comes home flushed, and the consumer takes its event. */
static void news_flush_one(struct kunit *test, struct dat_ep *ep,
			   struct dat_evd *dto)
{
	struct dat_event event;

	KUNIT_ASSERT_EQ(test, fake_qp_complete(kit_qp(ep), false, 1,
					       IB_WC_WR_FLUSH_ERR), 1U);
	event = KIT_EXPECT_EVENT(test, dto, DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, (int)event.event_data.dto_completion_event_data
			.status, DAT_DTO_ERR_FLUSHED);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(READ_ONCE(ep->phase) ==
					 KDAPL_CLOSE_DOUBT));
}

static void kdapl_news_qp_fatal_while_connecting(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = news_connecting(test, dto, conn);

	/* Nothing that anybody waits for. */
	fake_qp_event(kit_qp(ep), IB_EVENT_SQ_DRAINED);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep),
			DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	fake_qp_event(kit_qp(ep), IB_EVENT_QP_FATAL);
	news_expect_async(test, DAT_ASYNC_ERROR_EP_BROKEN, ep,
			  DAT_EP_TRANSFER_TO_ERROR);
	kit_expect_end(test, conn, ep, EV(BROKEN));
}

/* The QP has flushed, and the CM knows of nothing. */
static void kdapl_news_flushed_while_connecting(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = news_connecting(test, dto, conn);
	unsigned long start = jiffies;

	kdapl_doubt_ms = NEWS_DOUBT_MS;
	news_flush_one(test, ep, dto);
	kit_expect_end(test, conn, ep, EV(BROKEN));
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - start),
			NEWS_DOUBT_MS);
}

/* The same, and the CM gets to why only behind it, as iw_cm does by its queue. */
static void kdapl_news_flushed_then_rejected(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = news_connecting(test, dto, conn);
	struct dat_connection_event_data *data;
	struct dat_event event;

	kdapl_doubt_ms = NEWS_NEVER_MS;
	news_flush_one(test, ep, dto);
	KUNIT_ASSERT_EQ(test, fake_cm_event(ep->id, RDMA_CM_EVENT_REJECTED,
					    IB_CM_REJ_CONSUMER_DEFINED, "no",
					    2), 0);
	event = KIT_EXPECT_EVENT(test, conn, EV(PEER_REJECTED));
	data = &event.event_data.connect_event_data;
	KUNIT_ASSERT_EQ(test, (int)data->private_data_size, 2);
	KUNIT_EXPECT_EQ(test, memcmp(data->private_data, "no", 2), 0);
}

/* Or that the connection was made, and ended at once. */
static void kdapl_news_flushed_then_established(struct kunit *test)
{
	struct dat_connection_event_data *data;
	struct dat_evd *conn, *dto;
	struct dat_event event;
	struct dat_ep *ep;

	kit_replug(test, FAKE_PROTO_IWARP);
	conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	ep = news_connecting(test, dto, conn);
	kdapl_doubt_ms = NEWS_NEVER_MS;
	news_flush_one(test, ep, dto);
	KUNIT_ASSERT_EQ(test, fake_cm_event(ep->id, RDMA_CM_EVENT_ESTABLISHED,
					    0, "yes", 3), 0);
	event = KIT_EXPECT_EVENT(test, conn, EV(ESTABLISHED));
	data = &event.event_data.connect_event_data;
	KUNIT_ASSERT_EQ(test, (int)data->private_data_size, 3);
	KUNIT_EXPECT_EQ(test, memcmp(data->private_data, "yes", 3), 0);
	KUNIT_EXPECT_EQ(test, (int)ep->phase, KDAPL_CLOSE_DOUBT);
	KUNIT_ASSERT_EQ(test, fake_cm_event(ep->id, RDMA_CM_EVENT_DISCONNECTED,
					    0, NULL, 0), 0);
	kit_expect_end(test, conn, ep, EV(DISCONNECTED));
}

/* Or nothing: then that takes no longer than the consumer wants to wait. */
static void kdapl_news_flushed_then_timeout(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = kit_ep(test, dto, dto, conn, 2);
	struct sockaddr_in addr;

	kdapl_doubt_ms = NEWS_NEVER_MS;
	fake_cm_script.no_connect = true;
	kit_address(&addr);
	KUNIT_ASSERT_EQ(test, kit_post_recv(ep, 1), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_connect(ep, (struct sockaddr *)&addr, 4000,
					     NEWS_DOUBT_MS * USEC_PER_MSEC, 0,
					     NULL, DAT_QOS_BEST_EFFORT,
					     DAT_CONNECT_DEFAULT_FLAG), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_CONNECT) == 1));
	news_flush_one(test, ep, dto);
	kit_expect_end(test, conn, ep, EV(TIMED_OUT));
}

/* What was held back from the QP before this one says nothing of this one. */
static void kdapl_news_held_while_connecting(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = kit_ep(test, dto, dto, conn, 2);
	struct kdapl_queue *recv = &ep->recv;
	struct dat_event event;

	fake_cm_script.no_connect = true;
	/* As while ep_reset() has no QP. */
	spin_lock_irq(&recv->post_lock);
	recv->gate = KDAPL_QUEUE_HOLD;
	spin_unlock_irq(&recv->post_lock);
	KUNIT_ASSERT_EQ(test, kit_post_recv(ep, 1), 0);
	spin_lock_irq(&recv->post_lock);
	recv->gate = KDAPL_QUEUE_OPEN;
	spin_unlock_irq(&recv->post_lock);

	KUNIT_ASSERT_EQ(test, kit_connect(ep, 4000), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_CONNECT) == 1));
	kdapl_queue_flush_held(recv);
	event = KIT_EXPECT_EVENT(test, dto, DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, (int)event.event_data.dto_completion_event_data
			.status, DAT_DTO_ERR_FLUSHED);
	flush_delayed_work(&ep->work);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(ep->phase), (int)KDAPL_CLOSE_NONE);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep),
			DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
}

/* The QP has flushed, and then it turns out that the peer has disconnected. */
static void kdapl_news_flushed_then_dreq(struct kunit *test)
{
	struct dat_evd *dto = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct kit_pair pair;

	/* That is not what ends it. */
	kdapl_doubt_ms = NEWS_NEVER_MS;
	kit_pair(test, &pair, dto, dto, 2);
	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, 1), 0);
	news_flush_one(test, pair.client, dto);
	KUNIT_ASSERT_EQ(test, fake_cm_event(pair.client->id,
					    RDMA_CM_EVENT_DISCONNECTED, 0, NULL,
					    0), 0);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(DISCONNECTED));
	/* The DREQ has its DREP. */
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 1U);
}

/* The id of an EP that has accepted, and waits for the RTU. */
static struct rdma_cm_id *news_accepted(struct kunit *test, struct dat_ep *ep)
{
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct rdma_cm_id *id;
	struct dat_event event;
	struct dat_psp *psp;

	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, KIT_PORT, cr_evd,
					     DAT_PSP_CONSUMER_FLAG, &psp), 0);
	id = fake_cm_request(KIT_PORT, NULL, 0);
	KUNIT_ASSERT_NOT_NULL(test, id);
	event = KIT_EXPECT_EVENT(test, cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_ASSERT_EQ(test, dat_cr_accept(event.event_data
					    .cr_arrival_event_data.cr_handle,
					    ep, 0, NULL), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_ACCEPT) == 1));
	return id;
}

/* A DREQ comes in the place of the RTU: so the peer was connected. */
static void kdapl_news_dreq_for_an_rtu(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, conn, 0);
	struct rdma_cm_id *id = news_accepted(test, ep);

	KUNIT_EXPECT_EQ(test, fake_cm_event(id, RDMA_CM_EVENT_DISCONNECTED, 0,
					    NULL, 0), 0);
	KIT_EXPECT_EVENT(test, conn, EV(ESTABLISHED));
	kit_expect_end(test, conn, ep, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 1U);
}

/* The QP has flushed, and behind that the CM tells what it has to tell. */
static void kdapl_news_flushed_before_an_rtu(struct kunit *test)
{
	static const enum rdma_cm_event_type types[] = {
		RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED,
	};
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = kit_ep(test, dto, dto, conn, 2);
	struct rdma_cm_id *id;
	int i;

	kdapl_doubt_ms = NEWS_NEVER_MS;
	KUNIT_ASSERT_EQ(test, kit_post_recv(ep, 1), 0);
	id = news_accepted(test, ep);
	news_flush_one(test, ep, dto);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		KUNIT_EXPECT_EQ(test, fake_cm_event(id, types[i], 0, NULL, 0),
				0);
	KIT_EXPECT_EVENT(test, conn, EV(ESTABLISHED));
	kit_expect_end(test, conn, ep, EV(DISCONNECTED));
}

/* The same for a passive side whose peer will not have it. */
static void kdapl_news_flushed_then_refused(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = kit_ep(test, dto, dto, conn, 2);
	struct rdma_cm_id *id;

	kdapl_doubt_ms = NEWS_NEVER_MS;
	KUNIT_ASSERT_EQ(test, kit_post_recv(ep, 1), 0);
	id = news_accepted(test, ep);
	news_flush_one(test, ep, dto);
	KUNIT_EXPECT_EQ(test, fake_cm_event(id, RDMA_CM_EVENT_UNREACHABLE,
					    -ETIMEDOUT, NULL, 0), 0);
	kit_expect_end(test, conn, ep, EV(ACCEPT_COMPLETION_ERROR));
}

/* The passive side has given up although we had answered its REP. */
static void kdapl_news_rejected_when_connected(struct kunit *test)
{
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, fake_cm_event(pair.client->id,
					    RDMA_CM_EVENT_REJECTED,
					    IB_CM_REJ_TIMEOUT, NULL, 0), 0);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(DISCONNECTED));
}

/* Device and port are told of; connections live on. */
static void kdapl_news_of_the_device(struct kunit *test)
{
	struct kit *kit = to_kit(test);
	struct dat_event event;
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_hca_event(IB_EVENT_PORT_ACTIVE);
	fake_hca_event(IB_EVENT_PORT_ERR);
	news_expect_async(test, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
			  kit->ia, DAT_IA_OTHER_ERROR);
	fake_hca_event(IB_EVENT_DEVICE_FATAL);
	news_expect_async(test, DAT_ASYNC_ERROR_IA_CATASTROPHIC, kit->ia,
			  DAT_IA_CATASTROPHIC_ERROR);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(kit->async, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, (int)kit_state(pair.client),
			DAT_EP_STATE_CONNECTED);
}

/* A CQ in error may have lost completions: told once. */
static void kdapl_news_of_a_cq(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct ib_event news = { .event = IB_EVENT_CQ_ERR };
	struct ib_event other = { .event = IB_EVENT_COMM_EST };
	struct kit *kit = to_kit(test);
	struct dat_event event;

	kdapl_async_cq_event(&other, evd);
	KUNIT_EXPECT_EQ(test, atomic64_read(&kit->ia->async_cq_errors), 0LL);
	kdapl_async_cq_event(&news, evd);
	kdapl_async_cq_event(&news, evd);
	KUNIT_EXPECT_EQ(test, atomic64_read(&kit->ia->async_cq_errors), 2LL);
	event = KIT_EXPECT_EVENT(test, kit->async,
				 DAT_ASYNC_ERROR_EVD_OVERFLOW);
	KUNIT_EXPECT_PTR_EQ(test, (const void *)event.event_data
			    .asynch_error_event_data.dat_handle,
			    (const void *)evd);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(kit->async, &event), -EAGAIN);
}

/* Nobody hears of an EVD that he has freed, whether or not it was queued yet. */
static void kdapl_news_of_a_freed_evd(struct kunit *test)
{
	struct ib_event news = { .event = IB_EVENT_CQ_ERR };
	struct kit *kit = to_kit(test);
	struct dat_event event;
	struct dat_evd *evd;
	int queued;

	for (queued = 0; queued < 2; queued++) {
		evd = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
		kdapl_async_cq_event(&news, evd);
		if (queued)
			KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(kit->async->live)));
		KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
		KIT_SETTLE();
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(kit->async, &event), -EAGAIN);
	}
}

/* The device cannot arm its CQ any more; what else comes still has its upcall. */
static void kdapl_news_of_an_arm_that_fails(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 8, DAT_EVD_DTO_FLAG |
					 DAT_EVD_SOFTWARE_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_source source;

	kit_source(test, &source, evd, 2);
	kit_source_post(test, &source, 1);
	fake_hca_fail(FAKE_REQ_NOTIFY, 1, 1, -EIO);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_hca_fail_left()));
	KUNIT_EXPECT_FALSE(test, fake_cq_armed(kit_cq(evd)));

	KUNIT_EXPECT_EQ(test, kit_post_se(evd, 7), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 2));
	KUNIT_EXPECT_EQ(test, (int)up->events[1].event_number,
			(int)DAT_SOFTWARE_EVENT);
	/* And by then it can: the next completion is heard of. */
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_cq_armed(kit_cq(evd))));
}

/* The device cannot look into its CQ; nobody sleeps over what is in there. */
static void kdapl_news_of_a_poll_that_fails(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct kit_upcall *up = kit_upcall(test);
	struct dat_event event = { .event_number = DAT_SOFTWARE_EVENT };
	struct kit_source source;

	kit_source(test, &source, evd, 2);
	kit_source_post(test, &source, 1);
	kit_source_complete(&source);
	fake_script.poll_errors = 1;
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, fake_script.poll_errors, 0U);
	KUNIT_EXPECT_EQ(test, (int)event.event_number, DAT_SOFTWARE_EVENT);

	fake_script.poll_errors = 1;
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, fake_script.poll_errors, 0U);
	KIT_EXPECT_EVENT(test, evd, DAT_DTO_COMPLETION_EVENT);
}

/* A connection over IPv6, of an IA that was opened by its IPv4 address. */
static void kdapl_news_from_ipv6(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct dat_ep *client = kit_ep(test, NULL, NULL, conn, 0);
	struct sockaddr_in6 addr = {
		.sin6_family = AF_INET6,
		.sin6_addr = FAKE_IP6,
	};
	struct dat_ep_param param = {};
	struct dat_event event;
	struct dat_psp *psp;

	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, KIT_PORT, cr_evd,
					     DAT_PSP_CONSUMER_FLAG, &psp), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_connect(client, (struct sockaddr *)&addr,
					     KIT_PORT, DAT_TIMEOUT_INFINITE, 0,
					     NULL, DAT_QOS_BEST_EFFORT,
					     DAT_CONNECT_DEFAULT_FLAG), 0);
	event = KIT_EXPECT_EVENT(test, cr_evd, DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_ASSERT_EQ(test, dat_cr_accept(event.event_data
					    .cr_arrival_event_data.cr_handle,
					    kit_ep(test, NULL, NULL, conn, 0),
					    0, NULL), 0);
	KIT_EXPECT_EVENT(test, conn, EV(ESTABLISHED));
	KIT_EXPECT_EVENT(test, conn, EV(ESTABLISHED));
	KUNIT_EXPECT_EQ(test, dat_ep_query(client, DAT_EP_FIELD_ALL, &param), 0);
	KUNIT_EXPECT_EQ(test, (int)param.comm.domain, AF_INET6);
	KUNIT_EXPECT_EQ(test, (int)param.local_ia_address_ptr->sa_family,
			AF_INET6);
	KUNIT_EXPECT_EQ(test, (int)param.remote_ia_address_ptr->sa_family,
			AF_INET6);
	KUNIT_EXPECT_GE(test, param.local_port_qual, 40000ULL);
	KUNIT_EXPECT_EQ(test, param.remote_port_qual, (u64)KIT_PORT);
}

static struct kunit_case kdapl_news_cases[] = {
	KUNIT_CASE(kdapl_news_qp_fatal_while_connecting),
	KUNIT_CASE(kdapl_news_flushed_while_connecting),
	KUNIT_CASE(kdapl_news_flushed_then_rejected),
	KUNIT_CASE(kdapl_news_flushed_then_established),
	KUNIT_CASE(kdapl_news_flushed_then_timeout),
	KUNIT_CASE(kdapl_news_held_while_connecting),
	KUNIT_CASE(kdapl_news_flushed_then_dreq),
	KUNIT_CASE(kdapl_news_dreq_for_an_rtu),
	KUNIT_CASE(kdapl_news_flushed_before_an_rtu),
	KUNIT_CASE(kdapl_news_flushed_then_refused),
	KUNIT_CASE(kdapl_news_rejected_when_connected),
	KUNIT_CASE(kdapl_news_of_the_device),
	KUNIT_CASE(kdapl_news_of_a_cq),
	KUNIT_CASE(kdapl_news_of_a_freed_evd),
	KUNIT_CASE(kdapl_news_of_an_arm_that_fails),
	KUNIT_CASE(kdapl_news_of_a_poll_that_fails),
	KUNIT_CASE(kdapl_news_from_ipv6),
	{}
};

static struct kunit_suite kdapl_news_suite = {
	.name = "kdapl_news",
	.init = kit_init,
	.exit = kit_exit_replug,
	.test_cases = kdapl_news_cases,
};

kunit_test_suite(kdapl_news_suite);

MODULE_DESCRIPTION("Suite: news at a rare moment");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
