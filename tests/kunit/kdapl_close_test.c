// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a connection: who says what when, what becomes of what was posted,
 * and that there is one end to each connection.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "kit.h"

#define EV(name)	DAT_CONNECTION_EVENT_##name

/* The terminal events of both ends, one each, in either order. */
static void close_expect_both(struct kunit *test, struct kit_pair *pair,
			      enum dat_event_number client,
			      enum dat_event_number server)
{
	bool seen_client = false, seen_server = false;
	struct dat_event event;
	struct dat_ep *ep;
	int i;

	for (i = 0; i < 2; i++) {
		event = kit_next(pair->conn_evd);
		ep = event.event_data.connect_event_data.ep_handle;
		if (ep == pair->client) {
			KUNIT_EXPECT_FALSE(test, seen_client);
			KUNIT_EXPECT_EQ(test, (int)event.event_number,
					(int)client);
			seen_client = true;
		} else {
			KUNIT_EXPECT_PTR_EQ(test, ep, pair->server);
			KUNIT_EXPECT_FALSE(test, seen_server);
			KUNIT_EXPECT_EQ(test, (int)event.event_number,
					(int)server);
			seen_server = true;
		}
		KUNIT_EXPECT_EQ(test, (int)kit_state(ep),
				DAT_EP_STATE_DISCONNECTED);
	}
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair->conn_evd, &event), -EAGAIN);
}

static void kdapl_close_abrupt(struct kunit *test)
{
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	close_expect_both(test, &pair, EV(DISCONNECTED), EV(DISCONNECTED));
	/* Again is no error and no event. */
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(pair.client), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(pair.server), 0);
	kit_pair_connect(test, &pair, pair.client, pair.server);
}

/* The DREQ waits for the posted send; new ones are refused meanwhile. */
static void kdapl_close_graceful(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct kit_pair pair;
	struct dat_event event;

	kit_pair(test, &pair, evd, evd, 4);
	KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(pair.client),
			DAT_EP_STATE_DISCONNECT_PENDING);
	KUNIT_EXPECT_LT(test, kit_post_send(pair.client, 2, 0), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DISCONNECT), 0U);
	KUNIT_EXPECT_EQ(test, (int)fake_qp_state(kit_qp(pair.client)),
			(int)IB_QPS_RTS);
	fake_qp_complete(kit_qp(pair.client), true, 1, IB_WC_SUCCESS);
	close_expect_both(test, &pair, EV(DISCONNECTED), EV(DISCONNECTED));
	event = kit_next(evd);
	KUNIT_EXPECT_EQ(test, (int)event.event_data.dto_completion_event_data
			.status, DAT_DTO_SUCCESS);
}

/* Until the peer has answered the QP stays alive and acknowledges. */
static void kdapl_close_qp_alive_until_drep(struct kunit *test)
{
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_cm_script.no_connect = true;
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	KUNIT_ASSERT_TRUE(test,
			  KIT_WAIT(fake_cm_count(FAKE_CM_DISCONNECT) == 1));
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, (int)fake_qp_state(kit_qp(pair.client)),
			(int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, fake_cm_event(pair.client->id,
					    RDMA_CM_EVENT_DISCONNECTED, 0, NULL,
					    0), 0);
	KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
}

/* Both at once. */
static void kdapl_close_crossing(struct kunit *test)
{
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.server,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	close_expect_both(test, &pair, EV(DISCONNECTED), EV(DISCONNECTED));
}

/* A DREQ is answered, also when the connection is over: else the peer hangs. */
static void kdapl_close_dreq_answered(struct kunit *test)
{
	struct kit_pair pair;
	struct dat_event event;
	unsigned int before;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_cm_script.no_connect = true;
	before = fake_cm_count(FAKE_CM_DISCONNECT);
	KUNIT_EXPECT_EQ(test, fake_cm_event(pair.server->id,
					    RDMA_CM_EVENT_DISCONNECTED, 0, NULL,
					    0), 0);
	event = kit_next(pair.conn_evd);
	KUNIT_EXPECT_EQ(test, (int)event.event_number, (int)EV(DISCONNECTED));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_DISCONNECT) >
					 before));
	before = fake_cm_count(FAKE_CM_DISCONNECT);
	KUNIT_EXPECT_EQ(test, fake_cm_event(pair.server->id,
					    RDMA_CM_EVENT_DISCONNECTED, 0, NULL,
					    0), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_DISCONNECT) >
					 before));
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair.conn_evd, &event), -EAGAIN);
}

/* The CM has no memory for a DREQ: it is sent later. */
static void kdapl_close_dreq_retried(struct kunit *test)
{
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_cm_fail(FAKE_CM_DISCONNECT, 1, 3, -ENOMEM);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_GRACEFUL_FLAG), 0);
	close_expect_both(test, &pair, EV(DISCONNECTED), EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, fake_cm_fail_left(), 0U);
}

/*
 * On one EVD: successes, then what was flushed, then DISCONNECTED, the last
 * event of all, whoever flushes.
 */
static const struct close_flush_case {
	const char *name;
	enum fake_flush flush;
} close_flush_cases[] = {
	{ "at once", FAKE_FLUSH_INLINE },
	{ "later", FAKE_FLUSH_WORKER },
	{ "never", FAKE_FLUSH_NEVER },
};

static void close_flush_desc(const struct close_flush_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(close_flush, close_flush_cases, close_flush_desc);

static void kdapl_close_flush_order(struct kunit *test)
{
	const struct close_flush_case *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DEFAULT_FLAG);
	struct dat_dto_completion_event_data *dto;
	struct dat_event event;
	struct kit_pair pair;
	int i;

	kit_pair_listen(test, &pair);
	kit_pair_connect(test, &pair,
			 kit_ep(test, evd, evd, pair.conn_evd, 12),
			 kit_ep(test, NULL, NULL, pair.conn_evd, 0));
	fake_script.flush = c->flush;
	fake_script.delay_us = 500;
	for (i = 0; i < 12; i++)
		KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, i), 0);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, 100 + i, 0),
				0);
	fake_qp_complete(kit_qp(pair.client), false, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	/* With DISCONNECTED dequeued, all 16 are there without waiting. */
	for (i = 0; i < 2; i++)
		KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
	for (i = 0; i < 16; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		dto = &event.event_data.dto_completion_event_data;
		KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, pair.client);
		if (dto->user_cookie.as_index < 5)
			KUNIT_EXPECT_EQ(test, (int)dto->status,
					DAT_DTO_SUCCESS);
		else
			KUNIT_EXPECT_EQ(test, (int)dto->status,
					DAT_DTO_ERR_FLUSHED);
	}
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
}

/* A failed completion breaks the connection, when somebody looks at it. */
static void kdapl_close_broken(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 64, DAT_EVD_DTO_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_pair pair;

	kit_pair(test, &pair, evd, evd, 4);
	KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, 1, 0), 0);
	fake_qp_complete(kit_qp(pair.client), true, 1, IB_WC_RETRY_EXC_ERR);
	close_expect_both(test, &pair, EV(BROKEN), EV(DISCONNECTED));
	KUNIT_EXPECT_EQ(test, atomic_read(&up->done), 1);
	KUNIT_EXPECT_EQ(test, (int)up->events[0].event_data
			.dto_completion_event_data.status,
			DAT_DTO_ERR_TRANSPORT);
}

/* A flush while connected: the responder's way of hearing of an error. */
static void kdapl_close_flush_while_connected(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 64, DAT_EVD_DTO_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_pair pair;

	kit_pair(test, &pair, evd, evd, 4);
	KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, 1), 0);
	fake_qp_complete(kit_qp(pair.client), false, 1, IB_WC_WR_FLUSH_ERR);
	close_expect_both(test, &pair, EV(BROKEN), EV(DISCONNECTED));
}

/* The provider gives the QP up: BROKEN, and one asynchronous error. */
static void kdapl_close_qp_fatal(struct kunit *test)
{
	struct dat_event event;
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	fake_qp_event(kit_qp(pair.client), IB_EVENT_QP_FATAL);
	close_expect_both(test, &pair, EV(BROKEN), EV(DISCONNECTED));
	event = KIT_EXPECT_EVENT(test, to_kit(test)->async,
				 DAT_ASYNC_ERROR_EP_BROKEN);
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.asynch_error_event_data
			    .dat_handle, (void *)pair.client);
	KUNIT_EXPECT_EQ(test, event.event_data.asynch_error_event_data.reason,
			(int)DAT_EP_TRANSFER_TO_ERROR);
}

/* Freeing a connected EP tells the peer, and leaves no event behind. */
static void kdapl_close_by_free(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct kit_pair pair;
	struct dat_event event;
	int i;

	kit_pair(test, &pair, evd, evd, 4);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, i), 0);
	fake_qp_complete(kit_qp(pair.client), false, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_free(pair.client), 0);
	event = KIT_EXPECT_EVENT(test, pair.conn_evd, EV(DISCONNECTED));
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.connect_event_data.ep_handle,
			    pair.server);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 0U);
	KUNIT_EXPECT_EQ(test, kit_drain(pair.conn_evd), 0U);
}

/* While the events of the last attempt are queued there are no slots for more. */
static void kdapl_close_events_queued(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);

	KUNIT_ASSERT_EQ(test, kit_connect(ep, 4999), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep), 0);
	KUNIT_EXPECT_EQ(test, kit_connect(ep, 4999), -ENOSPC);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_UNCONNECTED);
	KIT_EXPECT_EVENT(test, evd, EV(NON_PEER_REJECTED));
	KUNIT_EXPECT_EQ(test, kit_connect(ep, 4999), 0);
}

static void close_disconnect(struct kit_upcall *up,
			     const struct dat_event *event, bool more)
{
	dat_ep_disconnect(up->priv, DAT_CLOSE_ABRUPT_FLAG);
}

/* From an upcall in softirq, which must not sleep. */
static void kdapl_close_from_softirq(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 64, DAT_EVD_DTO_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_pair pair;

	kit_pair(test, &pair, evd, evd, 4);
	up->priv = pair.client;
	up->action = close_disconnect;
	KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, 1), 0);
	KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, 2), 0);
	fake_qp_complete(kit_qp(pair.client), false, 1, IB_WC_SUCCESS);
	close_expect_both(test, &pair, EV(DISCONNECTED), EV(DISCONNECTED));
	KUNIT_EXPECT_FALSE(test, up->in_task);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 2));
	KUNIT_EXPECT_EQ(test, (int)up->events[1].event_data
			.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
}

/* Notes that the old connection leaves while, and just before, the EP is reset. */
static const struct close_note {
	const char *name;
	enum kdapl_ep_todo note;
} close_notes[] = {
	{ "connection failed", KDAPL_EP_TODO_CM_FAILED },
	{ "disconnected", KDAPL_EP_TODO_DISCONNECTED },
	{ "disconnect asked for", KDAPL_EP_TODO_ABRUPT },
	{ "request failed", KDAPL_EP_TODO_BROKEN },
	{ "request flushed", KDAPL_EP_TODO_FLUSHED },
};

static void close_note_desc(const struct close_note *n, char *desc)
{
	strscpy(desc, n->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(close_note, close_notes, close_note_desc);

struct close_noter {
	struct dat_ep *ep;
	struct ib_cq *cq;
	enum kdapl_ep_todo note;
	unsigned int noted;
};

/* The reset polls the CQ of the EP, in the work that has taken its notes. */
static void close_leave_note(enum fake_step step, struct ib_cq *cq, void *ctx)
{
	struct close_noter *noter = ctx;

	if (step != FAKE_BEFORE_POLL || cq != noter->cq)
		return;
	noter->noted++;
	set_bit(noter->note, &noter->ep->todo);
}

/* None of them is about the next attempt. */
static void kdapl_close_notes_reset(struct kunit *test)
{
	const struct close_note *n = test->param_value;
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct close_noter noter = { .note = n->note };
	struct dat_ep *ep = kit_ep(test, NULL, NULL, evd, 0);
	struct dat_event event;
	unsigned int before;

	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, kit_connect(ep, 4999), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), 0);
	kit_expect_end(test, evd, ep, EV(DISCONNECTED));

	noter.ep = ep;
	noter.cq = ep->req.evd->cq;
	fake_script.hook_ctx = &noter;
	WRITE_ONCE(fake_script.hook, close_leave_note);
	set_bit(n->note, &ep->todo);
	KUNIT_ASSERT_EQ(test, dat_ep_reset(ep), 0);
	WRITE_ONCE(fake_script.hook, NULL);
	KUNIT_EXPECT_GT(test, noter.noted, 0U);

	before = fake_cm_count(FAKE_CM_CONNECT);
	KUNIT_ASSERT_EQ(test, kit_connect(ep, 4999), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_CONNECT) >
					 before));
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep),
			DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(ep->phase), KDAPL_CLOSE_NONE);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
}

/* Completes as fast as the CQ is polled; nobody posted what it completes. */
struct close_producer {
	struct ib_cq *cq;
	struct ib_wc wc;
	unsigned int left;
};

static void close_produce(enum fake_step step, struct ib_cq *cq, void *ctx)
{
	struct close_producer *producer = ctx;

	if (step != FAKE_BEFORE_POLL || cq != producer->cq || !producer->left)
		return;
	producer->left--;
	fake_cq_push(cq, &producer->wc);
}

/*
 * Polling for a closing EP has an end, however busy others are on its CQ: it is
 * what was there that is waited for.
 */
static void kdapl_close_busy_cq(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct close_producer producer = { .left = 100000 };
	struct dat_dto_completion_event_data *dto;
	struct dat_event event;
	struct kit_pair pair;
	int i;

	kit_pair(test, &pair, evd, evd, 4);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, i), 0);
	producer.cq = kit_cq(evd);
	producer.wc.wr_id = (uintptr_t)&pair.server->recv.wr[0];
	fake_script.hook_ctx = &producer;
	WRITE_ONCE(fake_script.hook, close_produce);
	fake_qp_complete(kit_qp(pair.client), false, 4, IB_WC_SUCCESS);
	kdapl_cq_drain(evd);
	WRITE_ONCE(fake_script.hook, NULL);
	KUNIT_EXPECT_GT(test, producer.left, 0U);
	KUNIT_EXPECT_LT(test, producer.left, 100000U);

	KUNIT_EXPECT_EQ(test, (int)evd->live, 4);
	for (i = 0; i < 4; i++) {
		event = kit_next(evd);
		dto = &event.event_data.dto_completion_event_data;
		KUNIT_EXPECT_EQ(test, (int)dto->user_cookie.as_index, i);
		KUNIT_EXPECT_EQ(test, (int)dto->status, DAT_DTO_SUCCESS);
	}
}

static struct kunit_case kdapl_close_cases[] = {
	KUNIT_CASE(kdapl_close_abrupt),
	KUNIT_CASE(kdapl_close_graceful),
	KUNIT_CASE(kdapl_close_qp_alive_until_drep),
	KUNIT_CASE(kdapl_close_crossing),
	KUNIT_CASE(kdapl_close_dreq_answered),
	KUNIT_CASE(kdapl_close_dreq_retried),
	KUNIT_CASE_PARAM(kdapl_close_flush_order, close_flush_gen_params),
	KUNIT_CASE(kdapl_close_broken),
	KUNIT_CASE(kdapl_close_flush_while_connected),
	KUNIT_CASE(kdapl_close_qp_fatal),
	KUNIT_CASE(kdapl_close_by_free),
	KUNIT_CASE(kdapl_close_events_queued),
	KUNIT_CASE(kdapl_close_from_softirq),
	KUNIT_CASE(kdapl_close_busy_cq),
	KUNIT_CASE_PARAM(kdapl_close_notes_reset, close_note_gen_params),
	{}
};

static struct kunit_suite kdapl_close_suite = {
	.name = "kdapl_close",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_close_cases,
};

kunit_test_suite(kdapl_close_suite);

MODULE_DESCRIPTION("Suite: ending connections");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
