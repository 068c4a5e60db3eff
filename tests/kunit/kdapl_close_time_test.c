// SPDX-License-Identifier: GPL-2.0
/*
 * How long the steps of a close may take: each ends when what it waits for has
 * come, and at its deadline if it does not come. The deadlines of a case are
 * either far beyond the patience of a test or long over when it ends.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/main.h"
#include "kit.h"
#include "rmr_kit.h"

#define EV(name)	DAT_CONNECTION_EVENT_##name

enum {
	SHORT_MS = 50,
	LONG_MS = 600 * MSEC_PER_SEC,	/* beyond KIT_PATIENCE */
	FLUSH_MS = 40 * MSEC_PER_SEC,	/* the same, but kit_exit() waits for it */
};

static int close_time_init(struct kunit *test)
{
	int ret = kit_init(test);

	kdapl_disconnect_timeout_ms = LONG_MS;
	kdapl_drep_grace_ms = LONG_MS;
	kdapl_flush_timeout_ms = LONG_MS;
	return ret;
}

/* Connected, with a send that the device has; from here on the CM is the test's. */
static struct dat_evd *close_time_pair(struct kunit *test,
				       struct kit_pair *pair)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);

	kit_pair(test, pair, evd, evd, 4);
	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, kit_post_send(pair->client, 1, 0), 0);
	return evd;
}

static void close_time_dreq(struct kunit *test, struct kit_pair *pair)
{
	KUNIT_ASSERT_EQ(test, fake_cm_event(pair->client->id,
					    RDMA_CM_EVENT_DISCONNECTED, 0, NULL,
					    0), 0);
}

static void close_time_expect(struct kunit *test, struct dat_evd *evd,
			      unsigned long cookie,
			      enum dat_dto_completion_status status)
{
	struct dat_dto_completion_event_data *dto;
	struct dat_event event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, (unsigned long)dto->user_cookie.as_index, cookie);
	KUNIT_EXPECT_EQ(test, (int)dto->status, (int)status);
}

/*
 * The peer's DREQ waits for our send, and for nothing that we post later. The
 * consumer does not dequeue.
 */
static void kdapl_close_time_grace(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_evd *evd = close_time_pair(test, &pair);
	struct ib_qp *qp = kit_qp(pair.client);
	struct dat_event event;

	close_time_dreq(test, &pair);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, kit_post_send(pair.client, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(qp, true), 1U);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 0U);
	KUNIT_EXPECT_EQ(test, (int)fake_qp_state(qp), (int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair.conn_evd, &event), -EAGAIN);

	fake_qp_complete(qp, true, 1, IB_WC_SUCCESS);
	KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 1U);
	close_time_expect(test, evd, 1, DAT_DTO_SUCCESS);
	close_time_expect(test, evd, 2, DAT_DTO_ERR_FLUSHED);
}

/* What a consumer does while the work destroys the QP, and what he hears. */
struct close_time_meanwhile {
	struct dat_ep *ep;
	const struct ib_qp *qp;
	int disconnected;
	int posted;
};

static void close_time_disconnect(enum fake_verb verb, const void *object,
				  void *ctx)
{
	struct close_time_meanwhile *m = ctx;

	if (verb != FAKE_DESTROY_QP || object != m->qp)
		return;
	m->disconnected = dat_ep_disconnect(m->ep, DAT_CLOSE_GRACEFUL_FLAG);
	m->posted = kit_post_recv(m->ep, 2);
}

/* A receive is taken in every state, also in that between two QPs. */
static void kdapl_close_time_receive_without_qp(struct kunit *test)
{
	struct close_time_meanwhile m = { .disconnected = 1, .posted = 1 };
	struct kit_pair pair;
	struct dat_evd *evd = close_time_pair(test, &pair);

	kdapl_flush_timeout_ms = SHORT_MS;
	fake_script.flush = FAKE_FLUSH_MANUAL;
	m.ep = pair.client;
	m.qp = kit_qp(pair.client);
	fake_script.hook_ctx = &m;
	WRITE_ONCE(fake_script.verb_hook, close_time_disconnect);
	fake_qp_event(kit_qp(pair.client), IB_EVENT_QP_FATAL);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(BROKEN));
	WRITE_ONCE(fake_script.verb_hook, NULL);
	KUNIT_EXPECT_EQ(test, m.disconnected, 0);
	KUNIT_EXPECT_EQ(test, m.posted, 0);
	close_time_expect(test, evd, 1, DAT_DTO_ERR_FLUSHED);
	close_time_expect(test, evd, 2, DAT_DTO_ERR_FLUSHED);
}

/* The send never ends: the grace does. */
static void kdapl_close_time_grace_over(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_evd *evd;

	kdapl_drep_grace_ms = SHORT_MS;
	evd = close_time_pair(test, &pair);
	close_time_dreq(test, &pair);
	KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 1U);
	close_time_expect(test, evd, 1, DAT_DTO_ERR_FLUSHED);
}

/* Our own disconnect, then the peer's; a long grace does not lengthen ours. */
static void kdapl_close_time_dreq_behind(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_evd *evd;

	kdapl_disconnect_timeout_ms = SHORT_MS;
	evd = close_time_pair(test, &pair);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	close_time_dreq(test, &pair);
	KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
	close_time_expect(test, evd, 1, DAT_DTO_ERR_FLUSHED);
}

/* The same the other way round: asked for while the grace runs. */
static void kdapl_close_time_dreq_before(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_evd *evd;

	kdapl_disconnect_timeout_ms = SHORT_MS;
	evd = close_time_pair(test, &pair);
	close_time_dreq(test, &pair);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 1U);
	close_time_expect(test, evd, 1, DAT_DTO_ERR_FLUSHED);
}

/* Nor does a short one of ours shorten a grace that nobody asked to end. */
static void kdapl_close_time_grace_alone(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_event event;

	kdapl_disconnect_timeout_ms = 0;
	close_time_pair(test, &pair);
	close_time_dreq(test, &pair);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair.conn_evd, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 0U);
	fake_qp_complete(kit_qp(pair.client), true, 1, IB_WC_SUCCESS);
	KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
}

/* The send never ends: at the deadline the DREQ goes all the same. */
static void kdapl_close_time_drain_over(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_evd *evd;

	kdapl_disconnect_timeout_ms = SHORT_MS;
	evd = close_time_pair(test, &pair);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 1U);
	close_time_expect(test, evd, 1, DAT_DTO_ERR_FLUSHED);
}

/* The send ends, undequeued; the peer never answers. */
static void kdapl_close_time_no_drep(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_evd *evd;

	kdapl_disconnect_timeout_ms = 10 * SHORT_MS;
	evd = close_time_pair(test, &pair);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	fake_qp_complete(kit_qp(pair.client), true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test,
			  KIT_WAIT(fake_cm_count(FAKE_CM_DISCONNECT) == 1));
	KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
	close_time_expect(test, evd, 1, DAT_DTO_SUCCESS);
}

/*
 * As rdma_disconnect() does when ib_cm has no memory for the DREQ: success, and
 * nothing is sent, then or ever. The QP stays as it is until the deadline.
 */
static void kdapl_close_time_dreq_lost(struct kunit *test)
{
	struct dat_event event;
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	KUNIT_ASSERT_TRUE(test,
			  KIT_WAIT(fake_cm_count(FAKE_CM_DISCONNECT) == 1));
	KUNIT_ASSERT_EQ(test, fake_cm_event(pair.client->id,
					    RDMA_CM_EVENT_TIMEWAIT_EXIT, 0,
					    NULL, 0), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, (int)fake_qp_state(kit_qp(pair.client)),
			(int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair.conn_evd, &event), -EAGAIN);

	WRITE_ONCE(pair.client->deadline, jiffies);
	kdapl_ep_kick(pair.client, KDAPL_EP_TODO_PROGRESS);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 1U);
}

enum { CLOSE_REFUSALS = 10000 };

/* From here on the CM refuses; returns when the DREP was tried more than once. */
static void close_time_refuse(struct kunit *test, struct kit_pair *pair)
{
	fake_cm_fail(FAKE_CM_DISCONNECT, 1, CLOSE_REFUSALS, -ENOMEM);
	close_time_dreq(test, pair);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_fail_left() <
					 CLOSE_REFUSALS - 3));
}

/* A DREP for which the CM has no memory: until it has left the QP lives. */
static void kdapl_close_time_drep_retried(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct dat_event event;
	struct kit_pair pair;

	kit_pair(test, &pair, evd, evd, 4);
	fake_cm_script.no_connect = true;
	close_time_refuse(test, &pair);
	KUNIT_EXPECT_EQ(test, (int)fake_qp_state(kit_qp(pair.client)),
			(int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair.conn_evd, &event), -EAGAIN);
	/* It reaches the peer no more. */
	KUNIT_EXPECT_EQ(test, kit_post_send(pair.client, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(kit_qp(pair.client), true), 0U);

	fake_cm_fail(FAKE_CM_ANY, 1, 0, 0);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 1U);
	close_time_expect(test, evd, 1, DAT_DTO_ERR_FLUSHED);
}

/* The same for the answer to a DREQ that crosses ours. */
static void kdapl_close_time_drep_crossing(struct kunit *test)
{
	struct dat_event event;
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	KUNIT_ASSERT_TRUE(test,
			  KIT_WAIT(fake_cm_count(FAKE_CM_DISCONNECT) == 1));
	close_time_refuse(test, &pair);
	KUNIT_EXPECT_EQ(test, (int)fake_qp_state(kit_qp(pair.client)),
			(int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair.conn_evd, &event), -EAGAIN);

	fake_cm_fail(FAKE_CM_ANY, 1, 0, 0);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 2U);
}

/* The grace ends all the same; later the peer may still be answered. */
static void kdapl_close_time_drep_refused(struct kunit *test)
{
	struct kit_pair pair;

	kdapl_drep_grace_ms = SHORT_MS;
	kit_pair(test, &pair, NULL, NULL, 0);
	fake_cm_script.no_connect = true;
	close_time_refuse(test, &pair);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 0U);
	fake_cm_fail(FAKE_CM_ANY, 1, 0, 0);
	KUNIT_EXPECT_TRUE(test,
			  KIT_WAIT(fake_cm_count(FAKE_CM_DISCONNECT) == 1));
}

/*
 * A window that is bound anew in the grace: neither the end of its old key nor the
 * new one was posted, so the close waits for neither. With @behind a send behind
 * them completes: it does not prove that the old key is dead.
 */
static void close_time_window(struct kunit *test, bool behind)
{
	struct rmr_test *t = rmr_init(test, 8);
	struct mem *mem = t->mem;
	u32 first, second;

	kdapl_flush_timeout_ms = FLUSH_MS;
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 8, &first), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	if (behind) {
		/* The receive keeps the flush from ending before its time. */
		fake_script.flush = FAKE_FLUSH_MANUAL;
		KUNIT_ASSERT_EQ(test, kit_post_recv(mem->ep, 3), 0);
	}
	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, kit_post_send(mem->ep, 1, 0), 0);
	close_time_dreq(test, &mem->pair);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(READ_ONCE(mem->ep->req.gate) ==
					 KDAPL_QUEUE_HOLD));
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 16, &second), 0);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 1U);

	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	if (behind) {
		KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_qp_state(mem->qp) ==
						 IB_QPS_ERR));
		KUNIT_ASSERT_TRUE(test, KIT_WAIT(READ_ONCE(mem->ep->req.gate) ==
						 KDAPL_QUEUE_OPEN));
		KUNIT_ASSERT_EQ(test, kit_post_send(mem->ep, 2, 0), 0);
		fake_qp_flush(mem->qp);
	}
	KIT_EXPECT_EVENT(test, mem->pair.conn_evd, EV(DISCONNECTED));
	close_time_expect(test, mem->req, 1, DAT_DTO_SUCCESS);
	rmr_expect(t, DAT_DTO_ERR_FLUSHED);
	if (behind)
		close_time_expect(test, mem->req, 2, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), 0U);
	/* The device honours the old key until its MR is deregistered. */
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!dat_lmr_free(t->lmr)));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(first));
}

static void kdapl_close_time_window(struct kunit *test)
{
	close_time_window(test, false);
}

static void kdapl_close_time_window_behind(struct kunit *test)
{
	close_time_window(test, true);
}

/* A receive of the client that the device has, and an end that flushes it. */
static struct dat_evd *close_time_flushing(struct kunit *test,
					   struct kit_pair *pair)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);

	kit_pair(test, pair, evd, evd, 4);
	fake_cm_script.no_connect = true;
	fake_script.flush = FAKE_FLUSH_MANUAL;
	KUNIT_ASSERT_EQ(test, kit_post_recv(pair->client, 1), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(pair->client,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	return evd;
}

/* The device takes its time, and gets it. */
static void kdapl_close_time_flush(struct kunit *test)
{
	struct dat_event event;
	struct dat_evd *evd;
	struct kit_pair pair;
	struct ib_qp *qp;

	kdapl_flush_timeout_ms = FLUSH_MS;
	evd = close_time_flushing(test, &pair);
	qp = kit_qp(pair.client);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_qp_state(qp) == IB_QPS_ERR));
	/* Longer than a consumer is waited for that keeps posting. */
	msleep(200);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair.conn_evd, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
	fake_qp_flush(qp);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(DISCONNECTED));
	close_time_expect(test, evd, 1, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DESTROY_QP, qp), 0U);
}

/* It never ends: then without the QP. */
static void kdapl_close_time_flush_over(struct kunit *test)
{
	struct dat_evd *evd;
	struct kit_pair pair;

	kdapl_flush_timeout_ms = SHORT_MS;
	evd = close_time_flushing(test, &pair);
	kit_expect_end(test, pair.conn_evd, pair.client, EV(DISCONNECTED));
	close_time_expect(test, evd, 1, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DESTROY_QP, NULL), 1U);
}

static struct kunit_case kdapl_close_time_cases[] = {
	KUNIT_CASE(kdapl_close_time_grace),
	KUNIT_CASE(kdapl_close_time_receive_without_qp),
	KUNIT_CASE(kdapl_close_time_grace_over),
	KUNIT_CASE(kdapl_close_time_dreq_behind),
	KUNIT_CASE(kdapl_close_time_dreq_before),
	KUNIT_CASE(kdapl_close_time_grace_alone),
	KUNIT_CASE(kdapl_close_time_drain_over),
	KUNIT_CASE(kdapl_close_time_no_drep),
	KUNIT_CASE(kdapl_close_time_dreq_lost),
	KUNIT_CASE(kdapl_close_time_drep_retried),
	KUNIT_CASE(kdapl_close_time_drep_crossing),
	KUNIT_CASE(kdapl_close_time_drep_refused),
	KUNIT_CASE(kdapl_close_time_window),
	KUNIT_CASE(kdapl_close_time_window_behind),
	KUNIT_CASE(kdapl_close_time_flush),
	KUNIT_CASE(kdapl_close_time_flush_over),
	{}
};

static struct kunit_suite kdapl_close_time_suite = {
	.name = "kdapl_close_time",
	.init = close_time_init,
	.exit = kit_exit,
	.test_cases = kdapl_close_time_cases,
};

kunit_test_suite(kdapl_close_time_suite);

MODULE_DESCRIPTION("Suite: deadlines of ending connections");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
