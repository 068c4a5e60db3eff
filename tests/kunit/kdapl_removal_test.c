// SPDX-License-Identifier: GPL-2.0
/*
 * The device goes away under its users, and comes back; and the other kind of
 * device, iWARP.
 *
 * cpus: 2
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <net/net_namespace.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/ia.h"
#include "../../drivers/kdapl/main.h"
#include "kit.h"

/* Of a close, by itself: beyond KIT_PATIENCE. */
#define REMOVAL_CLOSE_MS	(40 * MSEC_PER_SEC)

struct removal_seen {
	unsigned int flushed;
	unsigned int broken;
	unsigned int other;
};

static void removal_count(struct dat_evd *evd, struct removal_seen *seen)
{
	struct dat_event event;

	while (!dat_evd_dequeue(evd, &event)) {
		if (event.event_number == DAT_DTO_COMPLETION_EVENT &&
		    event.event_data.dto_completion_event_data.status ==
		    DAT_DTO_ERR_FLUSHED)
			seen->flushed++;
		else if (event.event_number == DAT_CONNECTION_EVENT_BROKEN)
			seen->broken++;
		else
			seen->other++;
	}
}

/*
 * Connected EPs with requests posted, service points, a request that waits,
 * remote memory, armed EVDs; the consumer does nothing. Removal ends, what was
 * posted is flushed, the consumer is told, and its handles can be freed.
 */
static void kdapl_removal_of_everything(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG), *none = NULL;
	union dat_region_description region = {};
	struct kit_upcall *up = kit_upcall(test);
	struct kit *kit = to_kit(test);
	struct removal_seen seen = {};
	struct dat_ep *reserved, *ep = NULL;
	struct dat_event event;
	struct dat_lmr *lmr;
	struct dat_rsp *rsp;
	struct dat_pz *pz = NULL;
	struct kit_pair pair;
	struct dat_cr *cr;
	u32 lctx, rctx;
	u64 len, addr;
	int i;

	kit_pair(test, &pair, evd, evd, 4);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, kit_post_recv(pair.client, i), 0);
		KUNIT_ASSERT_EQ(test, kit_post_send(pair.server, i, 0), 0);
	}
	reserved = kit_ep(test, NULL, NULL, pair.conn_evd, 0);
	KUNIT_ASSERT_EQ(test, dat_rsp_create(kit->ia, 4500, reserved,
					     pair.cr_evd, &rsp), 0);
	KUNIT_ASSERT_NOT_NULL(test, fake_cm_request(KIT_PORT, NULL, 0));
	event = kit_next(pair.cr_evd);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	region.for_va = kunit_kzalloc(test, 4096, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, region.for_va);
	KUNIT_ASSERT_EQ(test,
			dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL, region,
					4096, kit->pz, DAT_MEM_PRIV_ALL_FLAG, 0,
					0, &lmr, &lctx, &rctx, &len, &addr), 0);
	KUNIT_EXPECT_NE(test, rctx, 0U);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(kit->async,
						    DAT_UPCALL_SINGLE_INSTANCE,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);

	fake_hca_unplug();

	KUNIT_EXPECT_EQ(test, fake_hca_live_total(), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_EQ(test, (int)up->events[0].event_number,
			(int)DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	removal_count(evd, &seen);
	removal_count(pair.conn_evd, &seen);
	KUNIT_EXPECT_EQ(test, seen.flushed, 8U);
	KUNIT_EXPECT_EQ(test, seen.broken, 2U);
	KUNIT_EXPECT_EQ(test, seen.other, 0U);
	KUNIT_EXPECT_EQ(test, (int)kit_state(pair.client),
			DAT_EP_STATE_DISCONNECTED);

	/* Nothing works any more, each call saying so. */
	KUNIT_EXPECT_EQ(test, dat_pz_create(kit->ia, &pz), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_evd_kcreate(kit->ia, 4, 0, NULL,
					      DAT_EVD_DTO_FLAG, &none),
			-ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ep_create(kit->ia, kit->pz, NULL, NULL, NULL,
					    NULL, &ep), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 128), -ENODEV);
	KUNIT_EXPECT_EQ(test, kit_post_recv(pair.client, 1), -ENODEV);
	KUNIT_EXPECT_EQ(test, kit_post_send(pair.client, 1, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, kit_connect(pair.client, 1), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(pair.client), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(cr, reserved, 0, NULL), -ENODEV);

	/* Everything can be freed, in the order of any consumer. */
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(pair.client), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(pair.server), 0);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(rsp), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(reserved), 0);
	KUNIT_EXPECT_EQ(test, dat_psp_free(pair.psp), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE,
						    NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN,
						    NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(pair.conn_evd), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(kit->pz), 0);
}

static int removal_thread(void *data)
{
	struct completion *done = data;

	fake_hca_unplug();
	kthread_complete_and_exit(done, 0);
}

/*
 * Two EPs of one device: the first one's end reaches the second as a DREQ while
 * the removal is under way. It is the removal that ends both.
 */
static void kdapl_removal_hears_of_its_peer(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct kit *kit = to_kit(test);
	struct completion done;
	struct dat_event event;
	struct kit_pair pair;
	struct task_struct *task;

	init_completion(&done);
	kit_pair(test, &pair, evd, evd, 4);
	task = kthread_create(removal_thread, &done, "removal");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));

	/* A call that is inside holds the removal up. */
	KUNIT_ASSERT_EQ(test, kdapl_ia_enter(kit->ia), 0);
	wake_up_process(task);
	if (KIT_WAIT(kdapl_ia_removing(kit->ia))) {
		fake_cm_event(pair.client->id, RDMA_CM_EVENT_DISCONNECTED, 0,
			      NULL, 0);
		event = kit_next(pair.conn_evd);
		KUNIT_EXPECT_EQ(test, (int)event.event_number,
				(int)DAT_CONNECTION_EVENT_BROKEN);
		KUNIT_EXPECT_PTR_EQ(test,
				    event.event_data.connect_event_data.ep_handle,
				    pair.client);
	} else {
		KUNIT_FAIL(test, "the removal does not begin");
	}
	kdapl_ia_leave(kit->ia);
	KUNIT_ASSERT_TRUE(test, !!wait_for_completion_timeout(&done,
							      KIT_PATIENCE));
	KIT_EXPECT_EVENT(test, pair.conn_evd, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, kit_drain(pair.conn_evd), 0U);
}

static const struct removal_closing {
	const char *name;
	enum kdapl_close_phase phase;
	bool send;			/* one that does not end */
	bool peer;			/* the peer disconnects, not we */
	enum dat_close_flags flags;	/* of ours */
} removal_closings[] = {
	{ "draining", KDAPL_CLOSE_DRAIN, true, false, DAT_CLOSE_GRACEFUL_FLAG },
	{ "DREQ sent", KDAPL_CLOSE_DREQ, false, false, DAT_CLOSE_GRACEFUL_FLAG },
	{ "grace", KDAPL_CLOSE_GRACE, true, true },
	{ "flushing", KDAPL_CLOSE_FLUSH, true, false, DAT_CLOSE_ABRUPT_FLAG },
};

static void removal_closing_desc(const struct removal_closing *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(removal_closing, removal_closings, removal_closing_desc);

/*
 * An EP that is closing: the device ends it, whether the removal gets there or the
 * EP's own look at the flush.
 */
static void kdapl_removal_of_a_closing_ep(struct kunit *test)
{
	const struct removal_closing *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct kit *kit = to_kit(test);
	struct task_struct *task;
	struct completion done;
	struct kit_pair pair;

	init_completion(&done);
	kdapl_disconnect_timeout_ms = REMOVAL_CLOSE_MS;
	kdapl_drep_grace_ms = REMOVAL_CLOSE_MS;
	kdapl_flush_timeout_ms = REMOVAL_CLOSE_MS;
	fake_script.flush = FAKE_FLUSH_MANUAL;
	kit_pair(test, &pair, evd, evd, 4);
	fake_cm_script.no_connect = true;
	if (c->send)
		KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, 1, 0), 0);
	if (c->peer)
		KUNIT_ASSERT_EQ(test, fake_cm_event(pair.client->id,
						    RDMA_CM_EVENT_DISCONNECTED,
						    0, NULL, 0), 0);
	else
		KUNIT_ASSERT_EQ(test, dat_ep_disconnect(pair.client, c->flags),
				0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(READ_ONCE(pair.client->phase) ==
					 c->phase));
	task = kthread_create(removal_thread, &done, "removal");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));

	/* A call that is inside holds the removal up. */
	KUNIT_ASSERT_EQ(test, kdapl_ia_enter(kit->ia), 0);
	wake_up_process(task);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kdapl_ia_removing(kit->ia)));
	kdapl_ep_kick(pair.client, KDAPL_EP_TODO_PROGRESS);
	if (c->phase == KDAPL_CLOSE_FLUSH)
		KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(pair.client) ==
						 DAT_EP_STATE_DISCONNECTED));
	kdapl_ia_leave(kit->ia);
	KUNIT_ASSERT_TRUE(test, !!wait_for_completion_timeout(&done,
							      KIT_PATIENCE));
	/* The other one was connected. */
	KIT_EXPECT_EVENT(test, pair.conn_evd, DAT_CONNECTION_EVENT_BROKEN);
	KIT_EXPECT_EVENT(test, pair.conn_evd, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, kit_drain(pair.conn_evd), 0U);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), c->send ? 1U : 0U);
}

/* A new device of the same name can be opened while orphans live. */
static void kdapl_removal_and_return(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_DTO_FLAG), *async = NULL;
	struct dat_ia *ia = NULL;
	struct dat_pz *pz;

	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, dat_ia_open(FAKE_NAME, 8, &async, &ia), -ENODEV);
	KUNIT_ASSERT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_NAME, 8, &async, &ia), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_create(ia, &pz), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), 0);
}

/* A namespace must be able to end, also if nobody ever frees the orphans. */
static void kdapl_removal_gives_the_namespace_back(struct kunit *test)
{
	refcount_t *count = &init_net.ns.count;
	struct dat_evd *async = NULL;
	struct dat_ia *ia;
	unsigned int before;

	/* Sockets of programs that have ended give theirs back by RCU. */
	KIT_SETTLE();
	rcu_barrier();
	before = refcount_read(count);
	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_NAME, 8, &async, &ia), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(count), before + 1);
	/* With it goes the one of the suite's own IA. */
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, refcount_read(count), before - 1);
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(count), before - 1);
}

enum {
	REMOVAL_EPS = 64,
	REMOVAL_DESTROY_US = 200000,
	/* At work at a time: each of them keeps a thread. */
	REMOVAL_AT_ONCE = 16,
};

/* Where the CM or the device take their time, not every EP has its own thread. */
static void kdapl_removal_of_many(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 2 * REMOVAL_EPS,
				       DAT_EVD_CONNECTION_FLAG);
	struct removal_seen seen = {};
	unsigned int before;
	int i;

	fake_cm_script.no_resolve = true;
	for (i = 0; i < REMOVAL_EPS; i++)
		KUNIT_ASSERT_EQ(test, kit_connect(kit_ep(test, NULL, NULL, conn,
							 0), KIT_PORT), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_RESOLVE_ADDR) ==
					 REMOVAL_EPS));
	before = fake_cm_count(FAKE_CM_DESTROY_ID);
	fake_cm_script.destroy_us = REMOVAL_DESTROY_US;
	fake_hca_unplug();
	fake_cm_script.destroy_us = 0;

	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DESTROY_ID),
			before + REMOVAL_EPS);
	KUNIT_EXPECT_LE(test, fake_cm_destroying_most(),
			(unsigned int)REMOVAL_AT_ONCE);
	/* Nor one after the other. */
	KUNIT_EXPECT_GT(test, fake_cm_destroying_most(), 1U);
	removal_count(conn, &seen);
	KUNIT_EXPECT_EQ(test, seen.broken, (unsigned int)REMOVAL_EPS);
	KUNIT_EXPECT_EQ(test, seen.other, 0U);
}

/* From the text of its address, as from its name. */
static void kdapl_removal_open_by_address(struct kunit *test)
{
	struct dat_evd *async = NULL;
	struct dat_ia *ia = NULL;

	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_IP4_TEXT, 8, &async, &ia), 0);
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), 0);
}

/* iWARP: no CONNECT_RESPONSE, true lengths of private data, no IB states. */
static void kdapl_removal_iwarp(struct kunit *test)
{
	struct dat_connection_event_data *data;
	struct dat_evd *evd;
	struct kit_pair pair;
	struct dat_event event;
	int i;

	kit_replug(test, FAKE_PROTO_IWARP);
	evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	kit_pair(test, &pair, evd, evd, 4);
	KUNIT_EXPECT_EQ(test, (int)kit_state(pair.client),
			DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.client, 0), 0);
	for (i = 0; i < 2; i++) {
		event = KIT_EXPECT_EVENT(test, pair.conn_evd,
					 DAT_CONNECTION_EVENT_DISCONNECTED);
		data = &event.event_data.connect_event_data;
		KUNIT_EXPECT_EQ(test, data->private_data_size, 0);
	}
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_MODIFY_QP, NULL), 4U);
}

static struct kunit_case kdapl_removal_cases[] = {
	KUNIT_CASE(kdapl_removal_of_everything),
	KUNIT_CASE(kdapl_removal_hears_of_its_peer),
	KUNIT_CASE_PARAM(kdapl_removal_of_a_closing_ep, removal_closing_gen_params),
	KUNIT_CASE(kdapl_removal_and_return),
	KUNIT_CASE(kdapl_removal_gives_the_namespace_back),
	KUNIT_CASE(kdapl_removal_of_many),
	KUNIT_CASE(kdapl_removal_open_by_address),
	KUNIT_CASE(kdapl_removal_iwarp),
	{}
};

static struct kunit_suite kdapl_removal_suite = {
	.name = "kdapl_removal",
	.init = kit_init,
	.exit = kit_exit_replug,
	.test_cases = kdapl_removal_cases,
};

kunit_test_suite(kdapl_removal_suite);

MODULE_DESCRIPTION("Suite: device removal");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
