// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of work requests and of their ends that users of other RDMA consumers
 * met, one test for each kind. Those of waking up are in
 * kdapl_wakeup_faults_test.c.
 *
 * cpus: 2
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/main.h"
#include "kit.h"

static struct dat_dto_completion_event_data *
fault_dto(struct dat_event *event)
{
	return &event->event_data.dto_completion_event_data;
}

/* EPs until the EVD is full, all posted, all completed, then dequeued. */
static void kdapl_dto_faults_shared_cq_too_small(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct dat_ep_attr attr = {
		.max_message_size = 64,
		.max_recv_dtos = 8,
		.max_request_dtos = 8,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct kit *kit = to_kit(test);
	int got[8] = {}, n, i, k, sum;
	struct dat_ep *ep[8] = {};
	struct dat_event event;
	struct kit_pair pair;

	kit_pair_listen(test, &pair);
	for (n = 0; n < 8; n++) {
		i = dat_ep_create(kit->ia, kit->pz, evd, evd, pair.conn_evd,
				  &attr, &ep[n]);
		if (i)
			break;
	}
	KUNIT_EXPECT_EQ(test, i, -ENOSPC);
	KUNIT_ASSERT_EQ(test, n, 4);
	KUNIT_EXPECT_LE(test, evd->reserved, (u32)kit_qlen(evd));
	for (i = 0; i < n; i += 2)
		kit_pair_connect(test, &pair, ep[i], ep[i + 1]);
	for (i = 0; i < n; i++)
		for (k = 0; k < 8; k++) {
			KUNIT_ASSERT_EQ(test, kit_post_recv(ep[i], k), 0);
			KUNIT_ASSERT_EQ(test, kit_post_send(ep[i], k, 0), 0);
		}
	for (i = 0; i < n; i++) {
		fake_qp_complete(kit_qp(ep[i]), true, 8, IB_WC_SUCCESS);
		fake_qp_complete(kit_qp(ep[i]), false, 8, IB_WC_SUCCESS);
	}
	for (sum = 0; !dat_evd_dequeue(evd, &event); sum++)
		for (i = 0; i < n; i++)
			got[i] += fault_dto(&event)->ep_handle == ep[i];
	KUNIT_EXPECT_EQ(test, sum, 64);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, got[i], 16);
	KUNIT_EXPECT_EQ(test, evd->stats.overflow, 0ULL);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(kit->async, &event), -EAGAIN);
}

/* A thousand posts that the provider refuses use up nothing. */
static void kdapl_dto_faults_failed_posts_keep_slots(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct kit_pair pair;
	int i;

	kit_pair(test, &pair, evd, evd, 8);
	fake_hca_fail(FAKE_POST_SEND, 1, 1000, -ENOMEM);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, i, i % 2 ?
						    DAT_COMPLETION_SUPPRESS_FLAG
						    : 0), -ENOMEM);
	fake_hca_fail(FAKE_POST_RECV, 1, 1000, -ENOMEM);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, i), -ENOMEM);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, kit_post_send(pair.client, i, 0), 0);
		KUNIT_EXPECT_EQ(test, kit_post_recv(pair.client, i), 0);
	}
	KUNIT_EXPECT_EQ(test, kit_post_send(pair.client, i, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kit_post_recv(pair.client, i), -ENOSPC);
	fake_qp_complete(kit_qp(pair.client), true, 8, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 8U);
}

/*
 * Failed completions with opcode 0 and garbage for a length: operation and
 * cookie are those of the post, and a suppressed failure is heard of.
 */
static void kdapl_dto_faults_opcode_of_failed_completion(struct kunit *test)
{
	static const enum dat_dtos ops[] = {
		DAT_DTO_SEND, DAT_DTO_RDMA_READ, DAT_DTO_RDMA_WRITE,
		DAT_DTO_SEND,
	};
	struct dat_evd *recv = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct dat_evd *req = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct dat_rmr_triplet remote = {};
	union dat_context cookie;
	struct dat_event event;
	struct kit_pair pair;
	struct ib_qp *qp;
	int i, ends = 0;

	kit_pair(test, &pair, recv, req, 8);
	/* The move to error flushes nothing that is not there any more. */
	qp = kit_qp(pair.client);
	KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, 500), 0);
	KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, 100, 0), 0);
	cookie.as_index = 101;
	KUNIT_ASSERT_EQ(test, dat_ep_post_rdma_read(pair.client, 0, NULL,
						    cookie, &remote, 0), 0);
	cookie.as_index = 102;
	KUNIT_ASSERT_EQ(test, dat_ep_post_rdma_write(pair.client, 0, NULL,
						     cookie, &remote, 0), 0);
	KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, 103,
					    DAT_COMPLETION_SUPPRESS_FLAG), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_complete(qp, true, 4,
					       IB_WC_LOC_PROT_ERR), 4U);
	KUNIT_ASSERT_EQ(test, fake_qp_complete(qp, false, 1,
					       IB_WC_LOC_PROT_ERR), 1U);
	for (i = 0; i < 4; i++) {
		event = KIT_EXPECT_EVENT(test, req, DAT_DTO_COMPLETION_EVENT);
		KUNIT_EXPECT_EQ(test, (int)fault_dto(&event)->operation,
				(int)ops[i]);
		KUNIT_EXPECT_EQ(test, fault_dto(&event)->user_cookie.as_index,
				100UL + i);
		KUNIT_EXPECT_EQ(test, (int)fault_dto(&event)->status,
				DAT_DTO_ERR_LOCAL_PROTECTION);
		KUNIT_EXPECT_PTR_EQ(test, fault_dto(&event)->ep_handle,
				    pair.client);
	}
	event = KIT_EXPECT_EVENT(test, recv, DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, (int)fault_dto(&event)->operation,
			DAT_DTO_RECEIVE);
	KUNIT_EXPECT_EQ(test, fault_dto(&event)->user_cookie.as_index, 500UL);
	for (i = 0; i < 2; i++) {
		event = kit_next(pair.conn_evd);
		ends += event.event_number == DAT_CONNECTION_EVENT_BROKEN;
	}
	KUNIT_EXPECT_EQ(test, ends, 1);
	KUNIT_EXPECT_EQ(test, kit_drain(pair.conn_evd), 0U);
}

/*
 * An EP is freed while the device flushes its requests from another CPU: its QP
 * goes only when the last of them was polled.
 */
enum { FAULT_ROUNDS = 60, FAULT_FULL = 10000, FAULT_FLUSH_MS = 40000 };

static void kdapl_dto_faults_freed_while_completing(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 32, DAT_EVD_DTO_FLAG);
	struct dat_ep *client, *server;
	struct kit_pair pair;
	unsigned int rounds = kit_rounds(FAULT_ROUNDS, FAULT_FULL), i;
	struct ib_qp *qp;
	int k, at;

	/* Those that it would cut short are not polled. */
	kdapl_flush_timeout_ms = FAULT_FLUSH_MS;
	kit_pair_listen(test, &pair);
	for (i = 0; i < rounds; i++) {
		client = kit_ep(test, evd, evd, pair.conn_evd, 8);
		server = kit_ep(test, NULL, NULL, pair.conn_evd, 0);
		kit_pair_connect(test, &pair, client, server);
		fake_hca_reset();
		fake_script.flush = FAKE_FLUSH_WORKER;
		fake_script.delay_us = (i % 6) * 200;
		fake_script.cpu = num_online_cpus() - 1;
		qp = kit_qp(client);
		for (k = 0; k < 8; k++)
			KUNIT_ASSERT_EQ(test, kit_post_recv(client, k), 0);
		for (k = 0; k < 4; k++)
			KUNIT_ASSERT_EQ(test, kit_post_send(client, k, 0), 0);
		KUNIT_ASSERT_EQ(test, dat_ep_free(client), 0);
		at = fake_log_find(FAKE_DESTROY_QP, qp, 0);
		KUNIT_ASSERT_GE(test, at, 0);
		KUNIT_EXPECT_EQ(test, fake_log_polled(kit_cq(evd), at), 12U);
		KUNIT_EXPECT_EQ(test, kit_drain(evd), 0U);
		KUNIT_EXPECT_EQ(test, dat_ep_free(server), 0);
		KUNIT_EXPECT_EQ(test, kit_drain(pair.conn_evd), 0U);
	}
}

/* The first upcall of a batch frees one of the two EPs whose events are in it. */
static void fault_free_first(struct kit_upcall *up,
			     const struct dat_event *event, bool more)
{
	if (atomic_read(&up->calls) == 1)
		atomic_set(&up->nulls, dat_ep_free(up->priv) ? -1 : 0);
}

static void kdapl_dto_faults_ep_freed_in_its_own_batch(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG |
						DAT_EVD_UPCALL_THREAD_FLAG);
	struct kit_source one, two;
	struct dat_dto_completion_event_data *dto;
	unsigned long next = 0;
	int i;

	kit_source(test, &one, evd, 16);
	kit_source(test, &two, evd, 16);
	kit_source_post(test, &one, 10);
	kit_source_post(test, &two, 10);
	for (i = 0; i < 10; i++) {
		kit_source_complete(&one);
		kit_source_complete(&two);
	}
	up->action = fault_free_first;
	up->priv = one.ep;
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd,
						    DAT_UPCALL_SINGLE_INSTANCE,
						    &up->object,
						    DAT_UPCALL_INVOC_ANY), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 11));
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->done), 11);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->nulls), 0);
	for (i = 1; i < 11; i++) {
		dto = fault_dto(&up->events[i]);
		KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, two.ep);
		KUNIT_EXPECT_EQ(test, dto->user_cookie.as_index, next++);
	}
}

/* A failed completion and the CM both say that it is over, in either order. */
static const struct fault_order {
	const char *name;
	bool cm_first;
	unsigned int gap_ms;
} fault_orders[] = {
	{ "error, DISCONNECTED", false, 0 },
	{ "DISCONNECTED, error", true, 0 },
	{ "error, 1 ms, DISCONNECTED", false, 1 },
	{ "DISCONNECTED, 1 ms, error", true, 1 },
};

static void fault_order_desc(const struct fault_order *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fault_order, fault_orders, fault_order_desc);

static void kdapl_dto_faults_two_ends(struct kunit *test)
{
	const struct fault_order *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 32, DAT_EVD_DTO_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_pair pair;
	struct rdma_cm_id *id;
	struct dat_event event;
	struct ib_qp *qp;

	kit_pair_listen(test, &pair);
	kit_pair_connect(test, &pair,
			 kit_ep(test, evd, evd, pair.conn_evd, 4),
			 kit_ep(test, NULL, NULL, pair.conn_evd, 0));
	fake_cm_script.no_connect = true;
	KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, 1, 0), 0);
	id = pair.client->id;
	qp = kit_qp(pair.client);
	if (c->cm_first)
		fake_cm_event(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	else
		fake_qp_complete(qp, true, 1, IB_WC_RETRY_EXC_ERR);
	if (c->gap_ms)
		usleep_range(1000 * c->gap_ms, 1000 * c->gap_ms + 200);
	if (!c->cm_first)
		fake_cm_event(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	else
		fake_qp_complete(qp, true, 1, IB_WC_RETRY_EXC_ERR);
	event = kit_next(pair.conn_evd);
	KUNIT_EXPECT_TRUE(test, event.event_number ==
			  DAT_CONNECTION_EVENT_DISCONNECTED ||
			  event.event_number == DAT_CONNECTION_EVENT_BROKEN);
	fake_cm_event(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(pair.conn_evd, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, dat_ep_free(pair.client), 0);
	KUNIT_EXPECT_FALSE(test, fake_cm_alive(id));
}

static struct kunit_case kdapl_dto_faults_cases[] = {
	KUNIT_CASE(kdapl_dto_faults_shared_cq_too_small),
	KUNIT_CASE(kdapl_dto_faults_failed_posts_keep_slots),
	KUNIT_CASE(kdapl_dto_faults_opcode_of_failed_completion),
	KUNIT_CASE_PARAM(kdapl_dto_faults_freed_while_completing, kit_pieces),
	KUNIT_CASE(kdapl_dto_faults_ep_freed_in_its_own_batch),
	KUNIT_CASE_PARAM(kdapl_dto_faults_two_ends, fault_order_gen_params),
	{}
};

static struct kunit_suite kdapl_dto_faults_suite = {
	.name = "kdapl_dto_faults",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_dto_faults_cases,
};

kunit_test_suite(kdapl_dto_faults_suite);

MODULE_DESCRIPTION("Suite: lost work requests that others met");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
