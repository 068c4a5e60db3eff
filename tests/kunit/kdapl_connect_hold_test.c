// SPDX-License-Identifier: GPL-2.0
/*
 * Connects that stay inside of the connection manager, as they do on siw until TCP
 * has an answer, and the end of those to which the peer has none yet, as in iw_cm:
 * they hold up their own EPs, and nobody else.
 *
 * cpus: 2
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/main.h"
#include "kit.h"

enum {
	HOLD_ACTIVE = 2,	/* works of kdapl's queue at a time */
	HOLD_EPS = HOLD_ACTIVE + 2,
	HOLD_ROUNDS = 200,
};

struct hold {
	struct dat_cr *cr;	/* kdapl_connect_hold_accept_waits() alone */
	struct kit_pair pair;
	struct dat_evd *evd;	/* of the EPs below */
	struct dat_ep *eps[HOLD_EPS];
	unsigned int before;	/* calls of a kind until then */
	struct task_struct *task;
	struct completion freed;
};

static struct hold *hold_init(struct kunit *test)
{
	struct hold *hold;
	int i;

	kit_replug(test, FAKE_PROTO_IWARP);
	hold = kunit_kzalloc(test, sizeof(*hold), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hold);
	init_completion(&hold->freed);
	kit_pair(test, &hold->pair, NULL, NULL, 0);
	hold->evd = kit_evd(test, 4 * HOLD_EPS, DAT_EVD_CONNECTION_FLAG);
	for (i = 0; i < HOLD_EPS; i++)
		hold->eps[i] = kit_ep(test, NULL, NULL, hold->evd, 0);
	hold->before = fake_cm_count(FAKE_CM_CONNECT);
	WRITE_ONCE(fake_cm_script.hold_connect, true);
	return hold;
}

/* All the connects that get so far are inside. */
static void hold_connect(struct kunit *test, struct hold *hold, int eps,
			 unsigned int inside)
{
	int i;

	for (i = 0; i < eps; i++)
		KUNIT_ASSERT_EQ(test, kit_connect(hold->eps[i], KIT_PORT + 1),
				0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_CONNECT) >=
					 hold->before + inside));
}

/* As many as kdapl's queue runs at a time, and more: it still runs others. */
static void kdapl_connect_hold_others_go_on(struct kunit *test)
{
	struct hold *hold = hold_init(test);
	int i;

	workqueue_set_max_active(kdapl_wq, HOLD_ACTIVE);
	hold_connect(test, hold, HOLD_EPS, HOLD_ACTIVE);

	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(hold->pair.client,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(hold->pair.client) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(fake_cm_script.hold_connect));

	/* Nobody listens there. */
	WRITE_ONCE(fake_cm_script.hold_connect, false);
	for (i = 0; i < HOLD_EPS; i++)
		KIT_EXPECT_EVENT(test, hold->evd,
				 DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static int hold_free(void *arg)
{
	struct hold *hold = arg;

	dat_ep_free(hold->eps[0]);
	kthread_complete_and_exit(&hold->freed, 0);
}

/* What is inside has the id and the QP: neither goes before it is back. */
static void kdapl_connect_hold_free_waits(struct kunit *test)
{
	struct hold *hold = hold_init(test);
	struct dat_event event;
	unsigned int destroyed;

	hold_connect(test, hold, 1, 1);
	destroyed = fake_cm_count(FAKE_CM_DESTROY_ID);
	hold->task = kthread_run(hold_free, hold, "hold_free");
	KUNIT_ASSERT_FALSE(test, IS_ERR(hold->task));
	KIT_SETTLE();
	KUNIT_EXPECT_FALSE(test, completion_done(&hold->freed));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DESTROY_ID), destroyed);

	WRITE_ONCE(fake_cm_script.hold_connect, false);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(completion_done(&hold->freed)));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DESTROY_ID),
			destroyed + 1);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(hold->evd, &event), -EAGAIN);
}

/* The same for a disconnect, which ends the attempt when it can. */
static void kdapl_connect_hold_disconnect_waits(struct kunit *test)
{
	struct hold *hold = hold_init(test);
	unsigned int destroyed;

	hold_connect(test, hold, 1, 1);
	destroyed = fake_cm_count(FAKE_CM_DESTROY_ID);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(hold->eps[0],
						DAT_CLOSE_ABRUPT_FLAG), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DESTROY_ID), destroyed);
	WRITE_ONCE(fake_cm_script.hold_connect, false);
	kit_expect_end(test, hold->evd, hold->eps[0],
		       DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* The removal waits, and then leaves nothing. */
static int hold_unplug(void *arg)
{
	struct hold *hold = arg;

	fake_hca_unplug();
	kthread_complete_and_exit(&hold->freed, 0);
}

static void kdapl_connect_hold_removal_waits(struct kunit *test)
{
	struct hold *hold = hold_init(test);

	hold_connect(test, hold, HOLD_EPS, HOLD_EPS);
	hold->task = kthread_run(hold_unplug, hold, "hold_unplug");
	KUNIT_ASSERT_FALSE(test, IS_ERR(hold->task));
	KIT_SETTLE();
	KUNIT_EXPECT_FALSE(test, completion_done(&hold->freed));
	WRITE_ONCE(fake_cm_script.hold_connect, false);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(completion_done(&hold->freed)));
	KUNIT_EXPECT_EQ(test, fake_hca_live_total(), 0);
}

/* Connects that TCP has answered, and the peer has not. */
static void hold_unanswered(struct kunit *test, struct hold *hold, int eps)
{
	WRITE_ONCE(fake_cm_script.hold_connect, false);
	WRITE_ONCE(fake_cm_script.no_connect, true);
	hold_connect(test, hold, eps, eps);
	hold->before = fake_cm_count(FAKE_CM_DESTROY_ID);
	WRITE_ONCE(fake_cm_script.hold_destroy, true);
}

/* Their ends: all that get so far are inside. */
static void hold_disconnect(struct kunit *test, struct hold *hold, int eps,
			    unsigned int inside)
{
	int i;

	for (i = 0; i < eps; i++)
		KUNIT_ASSERT_EQ(test, dat_ep_disconnect(hold->eps[i],
							DAT_CLOSE_ABRUPT_FLAG),
				0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_DESTROY_ID) >=
					 hold->before + inside));
}

static void kdapl_connect_hold_ends_hold_nobody(struct kunit *test)
{
	struct hold *hold = hold_init(test);
	int i;

	workqueue_set_max_active(kdapl_wq, HOLD_ACTIVE);
	hold_unanswered(test, hold, HOLD_EPS);
	hold_disconnect(test, hold, HOLD_EPS, HOLD_ACTIVE);

	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(hold->pair.client,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(hold->pair.client) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(fake_cm_script.hold_destroy));

	WRITE_ONCE(fake_cm_script.hold_destroy, false);
	for (i = 0; i < HOLD_EPS; i++)
		KIT_EXPECT_EVENT(test, hold->evd,
				 DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* What comes for the id meanwhile is no news; the QP lives, and the end is one. */
static void kdapl_connect_hold_end_comes_once(struct kunit *test)
{
	struct hold *hold = hold_init(test);
	struct dat_ep *ep = hold->eps[0];
	struct rdma_cm_id *id;

	hold_unanswered(test, hold, 1);
	id = READ_ONCE(ep->id);
	hold_disconnect(test, hold, 1, 1);
	KUNIT_EXPECT_EQ(test, fake_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0,
					    NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, fake_cm_event(id, RDMA_CM_EVENT_DISCONNECTED, 0,
					    NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG),
			0);
	kdapl_ep_kick(ep, KDAPL_EP_TODO_BROKEN);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep),
			DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	KUNIT_EXPECT_NE(test, (int)fake_qp_state(kit_qp(ep)), (int)IB_QPS_ERR);

	WRITE_ONCE(fake_cm_script.hold_destroy, false);
	kit_expect_end(test, hold->evd, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DESTROY_ID),
			hold->before + 1);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(ep), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_UNCONNECTED);
}

/* The same with a timeout, and nobody else to look at the EP. */
static void kdapl_connect_hold_timeout(struct kunit *test)
{
	struct hold *hold = hold_init(test);
	struct sockaddr_in addr;

	hold_unanswered(test, hold, 0);
	kit_address(&addr);
	KUNIT_ASSERT_EQ(test, dat_ep_connect(hold->eps[0],
					     (struct sockaddr *)&addr, KIT_PORT,
					     100 * USEC_PER_MSEC, 0, NULL,
					     DAT_QOS_BEST_EFFORT,
					     DAT_CONNECT_DEFAULT_FLAG), 0);
	hold_disconnect(test, hold, 0, 1);
	WRITE_ONCE(fake_cm_script.hold_destroy, false);
	kit_expect_end(test, hold->evd, hold->eps[0],
		       DAT_CONNECTION_EVENT_TIMED_OUT);
}

static void hold_free_waits(struct kunit *test, struct hold *hold)
{
	struct dat_event event;

	hold->task = kthread_run(hold_free, hold, "hold_free");
	KUNIT_ASSERT_FALSE(test, IS_ERR(hold->task));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_DESTROY_ID) >
					 hold->before));
	KIT_SETTLE();
	KUNIT_EXPECT_FALSE(test, completion_done(&hold->freed));
	WRITE_ONCE(fake_cm_script.hold_destroy, false);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(completion_done(&hold->freed)));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DESTROY_ID),
			hold->before + 1);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(hold->evd, &event), -EAGAIN);
}

/* The end under way, or begun by who frees the EP: he waits for it. */
static void kdapl_connect_hold_free_waits_for_end(struct kunit *test)
{
	struct hold *hold = hold_init(test);

	hold_unanswered(test, hold, 1);
	hold_disconnect(test, hold, 1, 1);
	hold_free_waits(test, hold);
}

static void kdapl_connect_hold_free_ends(struct kunit *test)
{
	struct hold *hold = hold_init(test);

	hold_unanswered(test, hold, 1);
	hold_free_waits(test, hold);
}

/* So does a removal, for those that have begun and for those that have not. */
static void kdapl_connect_hold_removal_waits_for_end(struct kunit *test)
{
	struct hold *hold = hold_init(test);

	hold_unanswered(test, hold, HOLD_EPS);
	hold_disconnect(test, hold, HOLD_EPS / 2, HOLD_EPS / 2);
	hold->task = kthread_run(hold_unplug, hold, "hold_unplug");
	KUNIT_ASSERT_FALSE(test, IS_ERR(hold->task));
	KIT_SETTLE();
	KUNIT_EXPECT_FALSE(test, completion_done(&hold->freed));
	WRITE_ONCE(fake_cm_script.hold_destroy, false);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(completion_done(&hold->freed)));
	KUNIT_EXPECT_EQ(test, fake_hca_live_total(), 0);
}

static int hold_accept(void *arg)
{
	struct hold *hold = arg;

	kthread_complete_and_exit(&hold->freed,
				  dat_cr_accept(hold->cr, hold->eps[0], 0, NULL));
}

/*
 * A handler still runs for the request: the EP has no connection yet that somebody
 * could end, and with it the id that the accepting thread is about to lock.
 */
static void kdapl_connect_hold_accept_waits(struct kunit *test)
{
	struct hold *hold = kunit_kzalloc(test, sizeof(*hold), GFP_KERNEL);
	struct dat_event event;
	struct dat_evd *cr_evd;
	struct dat_psp *psp;

	KUNIT_ASSERT_NOT_NULL(test, hold);
	init_completion(&hold->freed);
	hold->evd = kit_evd(test, 4, DAT_EVD_CONNECTION_FLAG);
	cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	hold->eps[0] = kit_ep(test, NULL, NULL, hold->evd, 0);
	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, KIT_PORT + 2,
					     cr_evd, 0, &psp), 0);
	KUNIT_ASSERT_NOT_NULL(test, fake_cm_request(KIT_PORT + 2, NULL, 0));
	event = kit_next(cr_evd);
	hold->cr = event.event_data.cr_arrival_event_data.cr_handle;

	WRITE_ONCE(fake_cm_script.hold_lock, true);
	hold->task = kthread_run(hold_accept, hold, "hold_accept");
	KUNIT_ASSERT_FALSE(test, IS_ERR(hold->task));
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, (int)kit_state(hold->eps[0]),
			DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(hold->eps[0],
						DAT_CLOSE_ABRUPT_FLAG), -ENOTCONN);

	WRITE_ONCE(fake_cm_script.hold_lock, false);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(completion_done(&hold->freed)));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_cm_count(FAKE_CM_ACCEPT) == 1));
}

/*
 * A call that sets the EP up is on its last steps: it has left its note, and the end
 * that comes of it was faster. What an upcall about the end frees waits for it.
 */
static void kdapl_connect_hold_call_first(struct kunit *test)
{
	struct hold *hold = kunit_kzalloc(test, sizeof(*hold), GFP_KERNEL);
	struct dat_ep *ep = kit_ep(test, NULL, NULL, NULL, 0);

	KUNIT_ASSERT_NOT_NULL(test, hold);
	init_completion(&hold->freed);
	hold->eps[0] = ep;
	/* As the call has, whose mutex it is. */
	kref_get(&ep->obj.ref);
	mutex_lock(&ep->call_lock);
	hold->task = kthread_run(hold_free, hold, "hold_free");
	KIT_SETTLE();
	KUNIT_EXPECT_FALSE(test, IS_ERR(hold->task));
	KUNIT_EXPECT_FALSE(test, completion_done(&hold->freed));
	KUNIT_EXPECT_FALSE(test, completion_done(&ep->freed));
	mutex_unlock(&ep->call_lock);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(completion_done(&hold->freed)));
	kdapl_obj_put(&ep->obj);
}

static void hold_free_upcall(struct kit_upcall *up, const struct dat_event *event,
			     bool more)
{
	if (event)
		dat_ep_free(event->event_data.connect_event_data.ep_handle);
}

/* The same by the upcall itself, over and over: the attempt fails at once. */
static void kdapl_connect_hold_freed_by_upcall(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd;
	struct dat_ep *ep;
	int i;

	up->action = hold_free_upcall;
	evd = kit_evd_up(test, 4, DAT_EVD_CONNECTION_FLAG |
			 DAT_EVD_UPCALL_THREAD_FLAG, DAT_UPCALL_SINGLE_INSTANCE,
			 up);
	fake_cm_fail(FAKE_CM_CREATE_ID, 1, HOLD_ROUNDS, -ENOMEM);
	for (i = 1; i <= HOLD_ROUNDS; i++) {
		ep = kit_ep(test, NULL, NULL, evd, 0);
		KUNIT_ASSERT_EQ(test, kit_connect(ep, KIT_PORT), 0);
		KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == i));
	}
	KUNIT_EXPECT_EQ(test, fake_cm_fail_left(), 0U);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_QP), 0);
}

static struct kunit_case kdapl_connect_hold_cases[] = {
	KUNIT_CASE(kdapl_connect_hold_others_go_on),
	KUNIT_CASE(kdapl_connect_hold_free_waits),
	KUNIT_CASE(kdapl_connect_hold_disconnect_waits),
	KUNIT_CASE(kdapl_connect_hold_removal_waits),
	KUNIT_CASE(kdapl_connect_hold_ends_hold_nobody),
	KUNIT_CASE(kdapl_connect_hold_end_comes_once),
	KUNIT_CASE(kdapl_connect_hold_timeout),
	KUNIT_CASE(kdapl_connect_hold_free_waits_for_end),
	KUNIT_CASE(kdapl_connect_hold_free_ends),
	KUNIT_CASE(kdapl_connect_hold_removal_waits_for_end),
	KUNIT_CASE(kdapl_connect_hold_accept_waits),
	KUNIT_CASE(kdapl_connect_hold_call_first),
	KUNIT_CASE(kdapl_connect_hold_freed_by_upcall),
	{}
};

static void hold_exit(struct kunit *test)
{
	WRITE_ONCE(fake_cm_script.hold_connect, false);
	WRITE_ONCE(fake_cm_script.hold_destroy, false);
	workqueue_set_max_active(kdapl_wq, WQ_DFL_ACTIVE);
	kit_exit_replug(test);
}

static struct kunit_suite kdapl_connect_hold_suite = {
	.name = "kdapl_connect_hold",
	.init = kit_init,
	.exit = hold_exit,
	.test_cases = kdapl_connect_hold_cases,
};

kunit_test_suite(kdapl_connect_hold_suite);

MODULE_DESCRIPTION("Suite: connects that the connection manager keeps");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
