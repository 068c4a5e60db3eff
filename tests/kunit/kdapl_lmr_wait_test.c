// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that wait for registrations: where no QP can be connected to itself,
 * one EP of a PZ carries a registration, and all of them are told of their
 * connections when it has come home.
 *
 * cpus: 2
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/lmr.h"
#include "../../drivers/kdapl/pz.h"
#include "kit.h"

enum {
	WAIT_ROUNDS = 24,
	WAIT_BYTES = 512,
};

struct wait_kit {
	struct kit_pair pair;
	struct dat_evd *dto;
	u8 *memory;
};

static struct wait_kit *wait_kit(struct kunit *test)
{
	struct wait_kit *wait;

	kit_replug(test, FAKE_PROTO_IWARP);
	wait = kunit_kzalloc(test, sizeof(*wait), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wait);
	wait->memory = kunit_kzalloc(test, WAIT_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wait->memory);
	wait->dto = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	kit_pair_listen(test, &wait->pair);
	fake_script.manual_reg = true;
	return wait;
}

static int wait_create(struct kit *kit, struct wait_kit *wait,
		       struct dat_lmr **lmr)
{
	union dat_region_description region = { .for_va = wait->memory };
	u64 length, addr;
	u32 lctx, rctx;

	return dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL, region,
			       WAIT_BYTES, kit->pz,
			       DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, 0,
			       lmr, &lctx, &rctx, &length, &addr);
}

/* Nobody is connected, so it waits for whoever will be. */
static struct dat_lmr *wait_lmr(struct kunit *test, struct wait_kit *wait)
{
	struct dat_lmr *lmr = NULL;

	KUNIT_ASSERT_EQ(test, wait_create(to_kit(test), wait, &lmr), 0);
	return lmr;
}

static void wait_begin(struct kunit *test, struct wait_kit *wait)
{
	struct kit_pair *pair = &wait->pair;

	pair->conn_evd = kit_evd(test, 16, DAT_EVD_CONNECTION_FLAG);
	kit_pair_accept(test, pair,
			kit_ep(test, wait->dto, wait->dto, pair->conn_evd, 8),
			kit_ep(test, wait->dto, wait->dto, pair->conn_evd, 8));
}

/* The QP that the registration was posted on. */
static struct ib_qp *wait_carrier(struct kunit *test, struct wait_kit *wait)
{
	struct ib_qp *client = kit_qp(wait->pair.client);
	struct ib_qp *server = kit_qp(wait->pair.server);

	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_qp_posted(client, true) ||
					 fake_qp_posted(server, true)));
	return fake_qp_posted(client, true) ? client : server;
}

static void wait_end(struct kunit *test, struct wait_kit *wait)
{
	struct kit_pair *pair = &wait->pair;

	KUNIT_EXPECT_EQ(test, dat_ep_free(pair->client), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(pair->server), 0);
	kit_drain(wait->dto);
	kit_drain(pair->conn_evd);
	KUNIT_EXPECT_EQ(test, dat_evd_free(pair->conn_evd), 0);
}

/* Both are told, whenever the registration comes home. */
static void kdapl_lmr_wait_all_are_told(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct dat_event event;
	struct dat_lmr *lmr;
	int i, n;

	for (i = 0; i < WAIT_ROUNDS; i++) {
		lmr = wait_lmr(test, wait);
		wait_begin(test, wait);
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(wait->pair.conn_evd,
						      &event), -EAGAIN);
		fake_qp_complete(wait_carrier(test, wait), true, 1,
				 IB_WC_SUCCESS);
		for (n = 0; n < 2; n++) {
			event = kit_next(wait->pair.conn_evd);
			KUNIT_ASSERT_EQ(test, (int)event.event_number,
					(int)DAT_CONNECTION_EVENT_ESTABLISHED);
		}
		wait_end(test, wait);
		KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
	}
}

/* Again, when the events of the last attempt have all been taken. */
static bool wait_again(struct kit_pair *pair)
{
	kit_drain(pair->conn_evd);
	return !kit_connect(pair->client, KIT_PORT);
}

/* An attempt that ended while it waited leaves nothing of that to the next one. */
static void kdapl_lmr_wait_ends_with_the_attempt(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct kit_pair *pair = &wait->pair;
	struct dat_lmr *lmr = wait_lmr(test, wait);
	struct dat_event event;

	wait_begin(test, wait);
	wait_carrier(test, wait);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(pair->client->reg_wait)));
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(pair->client,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(pair->client) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_ASSERT_EQ(test, dat_ep_reset(pair->client), 0);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(pair->client->reg_wait));

	/* Nobody accepts it, so whatever else there is to do it is pending. */
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(wait_again(pair)));
	event = kit_next(pair->cr_evd);
	KUNIT_ASSERT_EQ(test, (int)event.event_number,
			(int)DAT_CONNECTION_REQUEST_EVENT);
	kdapl_ep_kick(pair->client, KDAPL_EP_TODO_REG);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!test_bit(KDAPL_EP_TODO_REG,
						   &pair->client->todo)));
	flush_delayed_work(&pair->client->work);
	KUNIT_EXPECT_EQ(test, (int)kit_state(pair->client),
			(int)DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(event.event_data
					    .cr_arrival_event_data.cr_handle, 0,
					    NULL), 0);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

/* What the EP is told of its attempt, whatever its peer is told before. */
static enum dat_event_number wait_end_of(struct wait_kit *wait,
					 struct dat_ep *ep)
{
	struct dat_event event;

	do {
		event = kit_next(wait->pair.conn_evd);
		if (event.event_data.connect_event_data.ep_handle == ep)
			break;
	} while (event.event_number);
	return event.event_number;
}

/* The provider wants none of it: both are told that it is over, at once. */
static void kdapl_lmr_wait_refused_ends_active(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct dat_lmr *lmr = wait_lmr(test, wait);

	fake_hca_fail(FAKE_POST_SEND, 1, 100, -ENOMEM);
	wait_begin(test, wait);
	KUNIT_EXPECT_EQ(test, (int)wait_end_of(wait, wait->pair.client),
			(int)DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	/* One try for each attempt. */
	KUNIT_EXPECT_GE(test, fake_hca_fail_left(), 98U);
	fake_hca_fail(FAKE_ANY, 1, 0, 0);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

static void kdapl_lmr_wait_refused_ends_passive(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct dat_lmr *lmr = wait_lmr(test, wait);

	fake_hca_fail(FAKE_POST_SEND, 1, 100, -ENOMEM);
	wait_begin(test, wait);
	KUNIT_EXPECT_EQ(test, (int)wait_end_of(wait, wait->pair.server),
			(int)DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	fake_hca_fail(FAKE_ANY, 1, 0, 0);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

/* What was refused once is registered by the next attempt. */
static void kdapl_lmr_wait_refused_is_not_lost(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct dat_lmr *lmr = wait_lmr(test, wait);
	int n;

	fake_hca_fail(FAKE_POST_SEND, 1, 100, -ENOMEM);
	wait_begin(test, wait);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(wait->pair.client) ==
					 DAT_EP_STATE_DISCONNECTED));
	fake_hca_fail(FAKE_ANY, 1, 0, 0);
	wait_end(test, wait);

	wait_begin(test, wait);
	fake_qp_complete(wait_carrier(test, wait), true, 1, IB_WC_SUCCESS);
	for (n = 0; n < 2; n++)
		KIT_EXPECT_EVENT(test, wait->pair.conn_evd,
				 DAT_CONNECTION_EVENT_ESTABLISHED);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

/* The QP is going, and nobody says why: that is an end too, after a while. */
static void kdapl_lmr_wait_no_qp_is_an_end(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct kit_pair *pair = &wait->pair;
	struct dat_lmr *lmr = wait_lmr(test, wait);

	fake_hca_fail(FAKE_POST_SEND, 1, INT_MAX, -ENOTCONN);
	wait_begin(test, wait);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(pair->client) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(pair->server) ==
					 DAT_EP_STATE_DISCONNECTED));
	fake_hca_fail(FAKE_ANY, 1, 0, 0);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

/* siw says the same while it changes the state of the QP. */
static void kdapl_lmr_wait_no_qp_for_a_moment(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct dat_lmr *lmr = wait_lmr(test, wait);
	int n;

	fake_hca_fail(FAKE_POST_SEND, 1, 3, -ENOTCONN);
	wait_begin(test, wait);
	fake_qp_complete(wait_carrier(test, wait), true, 1, IB_WC_SUCCESS);
	for (n = 0; n < 2; n++)
		KIT_EXPECT_EVENT(test, wait->pair.conn_evd,
				 DAT_CONNECTION_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, fake_hca_fail_left(), 0U);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

static void wait_set_state(struct dat_lmr *lmr, enum kdapl_lmr_state state)
{
	struct dat_pz *pz = lmr->pz;

	spin_lock_irq(&pz->lmr_lock);
	lmr->state = state;
	spin_unlock_irq(&pz->lmr_lock);
}

/* It has looked, and waits for others. */
static void wait_waits(struct kunit *test, struct dat_ep *ep)
{
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(ep->reg_wait)));
	flush_delayed_work(&ep->work);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(ep->reg_wait));
}

/* Completes the registration, on whichever of the two it is posted. */
static bool wait_connected(struct kit_pair *pair)
{
	fake_qp_complete(kit_qp(pair->client), true, 1, IB_WC_SUCCESS);
	fake_qp_complete(kit_qp(pair->server), true, 1, IB_WC_SUCCESS);
	return kit_state(pair->client) == DAT_EP_STATE_CONNECTED &&
	       kit_state(pair->server) == DAT_EP_STATE_CONNECTED;
}

/*
 * All wait for what one of them is about to post; then that post is refused, and
 * nobody else has a reason of his own to look again.
 */
static void kdapl_lmr_wait_refusal_wakes_others(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct dat_lmr *lmr = wait_lmr(test, wait);
	struct kit_pair first, *pair = &wait->pair;
	struct dat_ep *eps[4];
	int i;

	/* As if somebody stood between the look and the post. */
	wait_set_state(lmr, KDAPL_LMR_POSTED);
	wait_begin(test, wait);
	first = *pair;
	wait_begin(test, wait);
	eps[0] = first.client;
	eps[1] = first.server;
	eps[2] = pair->client;
	eps[3] = pair->server;
	for (i = 0; i < ARRAY_SIZE(eps); i++)
		wait_waits(test, eps[i]);

	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	wait_set_state(lmr, KDAPL_LMR_DEFERRED);
	kdapl_ep_kick(first.client, KDAPL_EP_TODO_REG);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(first.client) ==
					 DAT_EP_STATE_DISCONNECTED));
	/* If its peer has taken it over, that is flushed, and the next one has it. */
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(wait_connected(pair)));
	KUNIT_EXPECT_EQ(test, dat_ep_free(first.client), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(first.server), 0);
	kit_drain(first.conn_evd);
	KUNIT_EXPECT_EQ(test, dat_evd_free(first.conn_evd), 0);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

struct wait_creator {
	struct kit *kit;
	struct wait_kit *wait;
	struct dat_lmr *lmr;
	int ret;
	struct completion done;
};

static int wait_creator(void *arg)
{
	struct wait_creator *creator = arg;

	creator->ret = wait_create(creator->kit, creator->wait, &creator->lmr);
	kthread_complete_and_exit(&creator->done, 0);
}

static struct wait_creator *wait_start_creator(struct kunit *test,
					       struct wait_kit *wait)
{
	struct wait_creator *creator;

	creator = kunit_kzalloc(test, sizeof(*creator), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, creator);
	init_completion(&creator->done);
	creator->kit = to_kit(test);
	creator->wait = wait;
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(wait_creator, creator,
						    "wait_creator")));
	return creator;
}

/*
 * An EP that has looked is as good as connected for who makes an LMR: it gets the
 * key when the device has it, and not before.
 */
static void kdapl_lmr_wait_creator_waits_too(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct dat_lmr *lmr = wait_lmr(test, wait);
	struct kit_pair *pair = &wait->pair;
	struct wait_creator *creator;
	int n;

	wait_set_state(lmr, KDAPL_LMR_POSTED);
	wait_begin(test, wait);
	wait_waits(test, pair->client);
	wait_waits(test, pair->server);

	creator = wait_start_creator(test, wait);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_qp_posted(kit_qp(pair->client),
							true) ||
					 fake_qp_posted(kit_qp(pair->server),
							true)));
	KUNIT_EXPECT_FALSE(test, completion_done(&creator->done));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT((wait_connected(pair),
					  completion_done(&creator->done))));
	KUNIT_ASSERT_EQ(test, creator->ret, 0);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(creator->lmr->state),
			(int)KDAPL_LMR_READY);

	wait_set_state(lmr, KDAPL_LMR_DEFERRED);
	kdapl_ep_kick(pair->client, KDAPL_EP_TODO_REG);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(wait_connected(pair)));
	for (n = 0; n < 2; n++)
		KIT_EXPECT_EVENT(test, pair->conn_evd,
				 DAT_CONNECTION_EVENT_ESTABLISHED);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(creator->lmr), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

/*
 * The device has registered, and what was posted in front of that is flushed. It is
 * not tried again: siw refuses a key that is valid, and ends the connection for it.
 */
static void kdapl_lmr_wait_done_before_a_flush(struct kunit *test)
{
	struct wait_kit *wait = wait_kit(test);
	struct kit_pair *pair = &wait->pair;
	struct ib_wc wc = { .status = IB_WC_SUCCESS };
	struct ib_qp *client, *server, *other;
	struct wait_creator *creator;
	struct ib_qp *carrier;
	struct fake_wr wr = {};
	int n;

	wait_begin(test, wait);
	for (n = 0; n < 2; n++)
		KIT_EXPECT_EVENT(test, pair->conn_evd,
				 DAT_CONNECTION_EVENT_ESTABLISHED);
	client = kit_qp(pair->client);
	server = kit_qp(pair->server);
	KUNIT_ASSERT_EQ(test, kit_post_send(pair->client, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, kit_post_send(pair->server, 1, 0), 0);
	creator = wait_start_creator(test, wait);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(fake_qp_posted(client, true) +
					 fake_qp_posted(server, true) == 3));
	carrier = fake_qp_posted(client, true) == 2 ? client : server;
	other = carrier == client ? server : client;
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(carrier, true, 1, &wr));
	KUNIT_ASSERT_EQ(test, (int)wr.opcode, (int)IB_WR_REG_MR);

	wc.wr_id = wr.wr_id;
	KUNIT_ASSERT_TRUE(test, fake_cq_push(kit_cq(wait->dto), &wc));
	fake_qp_complete(carrier, true, 1, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(completion_done(&creator->done)));
	KUNIT_EXPECT_EQ(test, fake_qp_posted(other, true), 1U);
	/* Else it would wait for ever. */
	fake_qp_complete(other, true, 2, IB_WC_SUCCESS);
	wait_for_completion(&creator->done);
	KUNIT_ASSERT_EQ(test, creator->ret, 0);
	KUNIT_EXPECT_EQ(test, (int)READ_ONCE(creator->lmr->state),
			(int)KDAPL_LMR_READY);
	wait_end(test, wait);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(creator->lmr), 0);
}

static struct kunit_case kdapl_lmr_wait_cases[] = {
	KUNIT_CASE(kdapl_lmr_wait_all_are_told),
	KUNIT_CASE(kdapl_lmr_wait_ends_with_the_attempt),
	KUNIT_CASE(kdapl_lmr_wait_refused_ends_active),
	KUNIT_CASE(kdapl_lmr_wait_refused_ends_passive),
	KUNIT_CASE(kdapl_lmr_wait_refused_is_not_lost),
	KUNIT_CASE(kdapl_lmr_wait_no_qp_is_an_end),
	KUNIT_CASE(kdapl_lmr_wait_no_qp_for_a_moment),
	KUNIT_CASE(kdapl_lmr_wait_refusal_wakes_others),
	KUNIT_CASE(kdapl_lmr_wait_creator_waits_too),
	KUNIT_CASE(kdapl_lmr_wait_done_before_a_flush),
	{}
};

static void wait_exit(struct kunit *test)
{
	fake_script.manual_reg = false;
	kit_exit_replug(test);
}

static struct kunit_suite kdapl_lmr_wait_suite = {
	.name = "kdapl_lmr_wait",
	.init = kit_init,
	.exit = wait_exit,
	.test_cases = kdapl_lmr_wait_cases,
};

kunit_test_suite(kdapl_lmr_wait_suite);

MODULE_DESCRIPTION("Suite: connections that wait for registrations");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
