// SPDX-License-Identifier: GPL-2.0
/*
 * What a peer sends while we disconnect. The peer is verbs and rdma_cm with a QP
 * of its own; it sends before our DREQ has left, when it arrives, and once more
 * before its DREP goes, which it delays. The script has its packets fly for a
 * while, so that the first of them arrive behind our DREQ. All of that must
 * succeed, and be here before the last event.
 *
 * In the control run our end is not kdapl but an id that owns its QP. There
 * rdma_disconnect() moves the QP to error before the DREQ leaves, and the peer's
 * sends die.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "peer.h"
#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20210,
	BURST = 4,		/* sends at a time; there are three times */
	SENDS = 3 * BURST,
	RECVS = 16,
	DREP_MS = 50,
};

/**
 * struct last - one run
 * @near: our end, kdapl
 * @ep: its EP
 * @far: lends its address to @peer
 * @listener: accepts for @peer
 * @peer: the other end
 * @own: our end in the control run: an id that owns its QP
 * @sent: posts of @peer that were accepted
 * @refused: posts that were not
 */
struct last {
	struct side near;
	struct side far;
	struct dat_ep *ep;
	struct raw listener;
	struct peer peer;
	struct peer own;
	atomic_t sent;
	atomic_t refused;
};

static void send_burst(struct raw *raw)
{
	struct peer *peer = container_of(raw, struct peer, raw);
	struct last *last = container_of(peer, struct last, peer);
	int i;

	for (i = 0; i < BURST; i++)
		atomic_inc(peer_send(peer) ? &last->refused : &last->sent);
}

static void peer_set_up(struct last *last)
{
	peer_init(&last->peer);
	last->peer.raw.apart = true;
	last->peer.raw.dreq = send_burst;
	last->peer.raw.answer_ms = DREP_MS;
	last->peer.raw.last_words = send_burst;
}

static int posts(struct last *last)
{
	return atomic_read(&last->sent) + atomic_read(&last->refused);
}

/* How the peer's sends ended, once all have. */
static void peer_ends(struct vmtest *t, struct last *last, const char *what,
		      struct peer_tally *tally)
{
	unsigned long end = jiffies + msecs_to_jiffies(SIDE_TIMEOUT_MS);

	while (posts(last) < SENDS && time_before(jiffies, end))
		usleep_range(1000, 2000);
	vmtest_equal(t, posts(last), SENDS,
		     "%s: the peer posts before our DREQ and behind it", what);
	/* iWARP closes both halves at once, and may refuse later posts. */
	if (!last->near.iwarp)
		vmtest_equal(t, atomic_read(&last->refused), 0,
			     "%s: each post is accepted", what);
	vmtest_equal(t, peer_sends_end(&last->peer, atomic_read(&last->sent),
				       tally), 0,
		     "%s: each of its sends ends", what);
}

static void check_near(struct vmtest *t, struct last *last, const char *what,
		       const struct peer_tally *sent)
{
	struct dat_event event;
	int success = 0, flushed = 0, other = 0, ends = 0, late = 0;

	while (!side_wait(last->near.conn, &event,
			  ends ? 300 : SIDE_TIMEOUT_MS)) {
		late += ends > 0;
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
			ends++;
		else if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			other++;
		else if (event.event_data.dto_completion_event_data.status ==
			 DAT_DTO_SUCCESS)
			success++;
		else if (event.event_data.dto_completion_event_data.status ==
			 DAT_DTO_ERR_FLUSHED)
			flushed++;
		else
			other++;
	}
	vmtest_equal(t, ends, 1, "%s: one end", what);
	vmtest_equal(t, late, 0, "%s: nothing behind it", what);
	vmtest_equal(t, other, 0, "%s: nothing else", what);
	vmtest_equal(t, success + flushed, RECVS,
		     "%s: every receive is reported", what);
	/* iWARP closes both halves at once. */
	if (last->near.iwarp)
		vmtest_say(t, "%s: %d of %d sends arrived, %d succeeded", what,
			   success, SENDS, sent->success);
	else
		vmtest_equal(t, success, SENDS, "%s: all sends arrive", what);
}

static int connect_near(struct last *last, bool active)
{
	struct dat_psp *psp;
	struct raw *raw = &last->peer.raw;
	struct dat_event event;
	int ret;

	if (active) {
		raw_init(&last->listener);
		last->listener.child = raw;
		ret = raw_listen(&last->listener, &last->far.addr, PORT);
		if (!ret)
			ret = side_connect(&last->near, last->ep, &last->far,
					   PORT, SIDE_TIMEOUT_MS, NULL, 0);
		if (!ret)
			ret = side_expect(last->near.conn,
					  DAT_CONNECTION_EVENT_ESTABLISHED,
					  &event);
		if (!ret)
			ret = raw_wait(raw, RDMA_CM_EVENT_ESTABLISHED,
				       SIDE_TIMEOUT_MS);
		raw_close(&last->listener);
		return ret;
	}

	ret = dat_psp_create(last->near.ia, PORT, last->near.conn,
			     DAT_PSP_CONSUMER_FLAG, &psp);
	if (!ret)
		ret = raw_connect(raw, &last->far.addr, &last->near.addr, PORT,
				  NULL, 0);
	if (!ret)
		ret = side_expect(last->near.conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	if (!ret)
		ret = dat_cr_accept(event.event_data.cr_arrival_event_data
				    .cr_handle, last->ep, 0, NULL);
	if (!ret)
		ret = side_expect(last->near.conn,
				  DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	if (!ret)
		ret = raw_wait(raw, RDMA_CM_EVENT_ESTABLISHED,
			       SIDE_TIMEOUT_MS);
	return ret;
}

static void run_kdapl(struct vmtest *t, struct last *last, bool active)
{
	const char *what = active ? "active" : "passive";
	struct peer_tally tally = {};
	int ret, i;

	memset(last, 0, sizeof(*last));
	peer_set_up(last);
	if (!sides_open(t, &last->near, &last->far, 64, true))
		return;
	ret = side_ep(&last->near, RECVS, 1, &last->ep);
	for (i = 0; !ret && i < RECVS; i++)
		ret = side_post_recv(&last->near, last->ep, i);
	if (!ret)
		ret = connect_near(last, active);
	vmtest_equal(t, ret, 0, "%s: a connection", what);
	if (ret)
		goto out;

	send_burst(&last->peer.raw);
	ret = dat_ep_disconnect(last->ep, DAT_CLOSE_GRACEFUL_FLAG);
	vmtest_equal(t, ret, 0, "%s: disconnect", what);
	peer_ends(t, last, what, &tally);
	if (!last->near.iwarp)
		vmtest_equal(t, tally.success, SENDS,
			     "%s: all of them succeed (the first that did not: %d)",
			     what, tally.first_error);
	check_near(t, last, what, &tally);
out:
	peer_close(&last->peer);
	side_close(&last->near);
	side_close(&last->far);
}

void vmtest_last_send(struct vmtest *t)
{
	struct last *last;

	last = kzalloc(sizeof(*last), GFP_KERNEL);
	if (!last)
		return;
	run_kdapl(t, last, true);
	run_kdapl(t, last, false);
	kfree(last);
}

static int own_ready(struct raw *raw)
{
	struct peer *own = container_of(raw, struct peer, raw);
	int ret = 0, i;

	for (i = 0; !ret && i < RECVS; i++)
		ret = peer_recv(own);
	return ret;
}

static int connect_own(struct last *last)
{
	int ret;

	raw_init(&last->listener);
	last->listener.child = &last->peer.raw;
	ret = raw_listen(&last->listener, &last->far.addr, PORT);
	if (!ret)
		ret = raw_connect(&last->own.raw, &last->near.addr,
				  &last->far.addr, PORT, NULL, 0);
	if (!ret)
		ret = raw_wait(&last->own.raw, RDMA_CM_EVENT_ESTABLISHED,
			       SIDE_TIMEOUT_MS);
	if (!ret)
		ret = raw_wait(&last->peer.raw, RDMA_CM_EVENT_ESTABLISHED,
			       SIDE_TIMEOUT_MS);
	raw_close(&last->listener);
	return ret;
}

/* The control run: it must fail, or the other proves nothing. */
void vmtest_last_send_owned(struct vmtest *t)
{
	struct peer_tally tally = {};
	struct last *last;
	int ret;

	last = kzalloc(sizeof(*last), GFP_KERNEL);
	if (!last)
		return;
	peer_set_up(last);
	peer_init(&last->own);
	last->own.raw.ready = own_ready;
	/* For their addresses. */
	if (!sides_open(t, &last->near, &last->far, 16, true))
		goto out;
	ret = connect_own(last);
	vmtest_equal(t, ret, 0, "owned: a connection");
	if (ret)
		goto out_close;

	send_burst(&last->peer.raw);
	ret = rdma_disconnect(last->own.raw.id);
	vmtest_equal(t, ret, 0, "owned: disconnect");
	peer_ends(t, last, "owned", &tally);
	vmtest_check(t, tally.success < SENDS,
		     "owned: an id that owns its QP kills the peer's sends");
	vmtest_equal(t, tally.first_error, IB_WC_RETRY_EXC_ERR,
		     "owned: they are not acknowledged");
	vmtest_say(t, "owned: %d of %d sends succeeded", tally.success, SENDS);
out_close:
	peer_close(&last->own);
	peer_close(&last->peer);
	side_close(&last->near);
	side_close(&last->far);
out:
	kfree(last);
}
