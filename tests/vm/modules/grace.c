// SPDX-License-Identifier: GPL-2.0
/*
 * What we still have outstanding when a connection ends: behind the peer's DREQ
 * it gets drep_grace_ms, behind our own dat_ep_disconnect() it is waited for, and
 * neither depends on whether the consumer dequeues. The script sets the deadlines
 * and has packets fly for a while.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "peer.h"
#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20220,
	SENDS = 8,
	/* Enough for the DREQ, and much less than a grace. */
	GRACE_POST_MS = 100,
};

struct grace {
	struct side near;
	struct side far;
	struct dat_ep *ep;
	struct raw listener;
	struct peer peer;
	u32 peer_recvs;
};

/**
 * struct ends - what was dequeued
 * @success: requests that succeeded
 * @flushed: requests that were flushed
 * @failed: requests that failed in another way
 * @ends: DISCONNECTED
 * @broken: BROKEN
 * @late: events behind the end
 * @other: what nobody expects
 */
struct ends {
	int success;
	int flushed;
	int failed;
	int ends;
	int broken;
	int late;
	int other;
};

/* Everything up to the end, and a while on. */
static void take_all(struct side *side, struct ends *ends)
{
	struct dat_event event;

	while (!side_wait(side->conn, &event, ends->ends + ends->broken ?
			  300 : SIDE_TIMEOUT_MS)) {
		ends->late += ends->ends + ends->broken > 0;
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
			ends->ends++;
		else if (event.event_number == DAT_CONNECTION_EVENT_BROKEN)
			ends->broken++;
		else if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			ends->other++;
		else if (event.event_data.dto_completion_event_data.status ==
			 DAT_DTO_SUCCESS)
			ends->success++;
		else if (event.event_data.dto_completion_event_data.status ==
			 DAT_DTO_ERR_FLUSHED)
			ends->flushed++;
		else
			ends->failed++;
	}
}

static int grace_ready(struct raw *raw)
{
	struct peer *peer = container_of(raw, struct peer, raw);
	struct grace *g = container_of(peer, struct grace, peer);
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < g->peer_recvs; i++)
		ret = peer_recv(peer);
	return ret;
}

static int grace_connect(struct vmtest *t, struct grace *g)
{
	struct dat_event event;
	int ret;

	peer_init(&g->peer);
	g->peer.raw.apart = true;
	g->peer.raw.ready = grace_ready;
	if (!sides_open(t, &g->near, &g->far, 64, true))
		return -ENODEV;
	raw_init(&g->listener);
	g->listener.child = &g->peer.raw;
	ret = side_ep(&g->near, 1, 2 * SENDS, &g->ep);
	if (!ret)
		ret = raw_listen(&g->listener, &g->far.addr, PORT);
	if (!ret)
		ret = side_connect(&g->near, g->ep, &g->far, PORT,
				   SIDE_TIMEOUT_MS, NULL, 0);
	if (!ret)
		ret = side_expect(g->near.conn,
				  DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	if (!ret)
		ret = raw_wait(&g->peer.raw, RDMA_CM_EVENT_ESTABLISHED,
			       SIDE_TIMEOUT_MS);
	raw_close(&g->listener);
	vmtest_equal(t, ret, 0, "a connection");
	return ret;
}

static void grace_close(struct grace *g)
{
	peer_close(&g->peer);
	side_close(&g->near);
	side_close(&g->far);
}

/*
 * The peer's DREQ comes while our sends fly. lost=1 is the control run, with a
 * grace of nothing: some of them must be flushed.
 */
void vmtest_grace(struct vmtest *t)
{
	bool lost = vmtest_arg(t, "lost", 0);
	struct ends ends = {};
	struct grace *g;
	int ret, i;

	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return;
	g->peer_recvs = SENDS;
	ret = grace_connect(t, g);
	if (ret)
		goto out;
	for (i = 0; !ret && i < SENDS; i++)
		ret = side_post_send(&g->near, g->ep, i);
	vmtest_equal(t, ret, 0, "sends");
	ret = rdma_disconnect(g->peer.raw.id);
	vmtest_equal(t, ret, 0, "the peer disconnects");
	take_all(&g->near, &ends);
	vmtest_equal(t, ends.success + ends.flushed, SENDS,
		     "every send is reported");
	if (lost)
		vmtest_check(t, ends.flushed > 0,
			     "without a grace some are flushed");
	else
		vmtest_equal(t, ends.success, SENDS, "all succeed");
	vmtest_equal(t, ends.other + ends.failed + ends.broken, 0,
		     "nothing else");
	vmtest_equal(t, ends.ends, 1, "one end");
	vmtest_equal(t, ends.late, 0, "nothing behind it");
	vmtest_equal(t, raw_wait(&g->peer.raw, RDMA_CM_EVENT_DISCONNECTED,
				 SIDE_TIMEOUT_MS), 0, "the peer gets a DREP");
out:
	grace_close(g);
	kfree(g);
}

/*
 * The peer has no receives, so our send never ends: the grace does. What is
 * posted meanwhile does not reach the peer.
 */
void vmtest_grace_over(struct vmtest *t)
{
	u32 grace = vmtest_arg(t, "grace", 2000);
	struct ends ends = {};
	unsigned long start;
	struct grace *g;
	u32 ms;
	int ret;

	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return;
	if (grace_connect(t, g))
		goto out;
	ret = side_post_send(&g->near, g->ep, 0);
	vmtest_equal(t, ret, 0, "a send");
	start = jiffies;
	ret = rdma_disconnect(g->peer.raw.id);
	vmtest_equal(t, ret, 0, "the peer disconnects");
	msleep(GRACE_POST_MS);
	ret = side_post_send(&g->near, g->ep, 1);
	vmtest_equal(t, ret, 0, "a send during the grace");
	vmtest_equal(t, raw_wait(&g->peer.raw, RDMA_CM_EVENT_DISCONNECTED,
				 SIDE_TIMEOUT_MS), 0, "the peer gets a DREP");
	ms = jiffies_to_msecs(jiffies - start);
	vmtest_check(t, ms >= grace, "not before the grace is over");
	vmtest_say(t, "the DREP came after %u ms", ms);
	take_all(&g->near, &ends);
	vmtest_equal(t, ends.flushed, 2, "both sends are flushed");
	vmtest_equal(t, ends.success + ends.other + ends.failed + ends.broken,
		     0, "nothing else");
	vmtest_equal(t, ends.ends, 1, "one end");
	vmtest_equal(t, ends.late, 0, "nothing behind it");
out:
	grace_close(g);
	kfree(g);
}

static bool both_disconnected(struct dat_ep *near, struct dat_ep *far)
{
	enum dat_ep_state state[2];

	dat_ep_get_status(near, &state[0], NULL, NULL);
	dat_ep_get_status(far, &state[1], NULL, NULL);
	return state[0] == DAT_EP_STATE_DISCONNECTED &&
	       state[1] == DAT_EP_STATE_DISCONNECTED;
}

/*
 * iWARP closes both halves at once: there a send that is under way may be
 * flushed, or fail with the connection, which is BROKEN then.
 */
static void deaf_check(struct vmtest *t, const struct ends *ends, bool iwarp,
		       const char *what)
{
	vmtest_equal(t, ends->success + ends->flushed + ends->failed,
		     2 * SENDS, "%s: every request is reported", what);
	if (!iwarp)
		vmtest_equal(t, ends->success, 2 * SENDS, "%s: all succeed",
			     what);
	vmtest_equal(t, ends->ends + ends->broken, 1, "%s: one end", what);
	vmtest_check(t, ends->broken <= ends->failed,
		     "%s: not broken unless something failed", what);
	vmtest_equal(t, ends->late, 0, "%s: nothing behind it", what);
	vmtest_equal(t, ends->other, 0, "%s: nothing else", what);
}

static void deaf_run(struct vmtest *t, struct grace *g, struct dat_ep *far)
{
	u32 limit = vmtest_arg(t, "limit", 3000);
	struct ends near_ends = {}, far_ends = {};
	unsigned long end;
	ktime_t start;
	int ret = 0, i;

	for (i = 0; !ret && i < SENDS; i++) {
		ret = side_post_send(&g->near, g->ep, i);
		if (!ret)
			ret = side_post_send(&g->far, far, i);
	}
	if (!ret)
		ret = dat_ep_disconnect(g->ep, DAT_CLOSE_GRACEFUL_FLAG);
	vmtest_equal(t, ret, 0, "sends both ways, and a disconnect");

	start = ktime_get();
	end = jiffies + msecs_to_jiffies(limit);
	while (!both_disconnected(g->ep, far) && time_before(jiffies, end))
		usleep_range(500, 1000);
	vmtest_check(t, both_disconnected(g->ep, far),
		     "it is over, though nobody dequeues");
	vmtest_say(t, "it took %lld ms", ktime_ms_delta(ktime_get(), start));

	take_all(&g->near, &near_ends);
	take_all(&g->far, &far_ends);
	deaf_check(t, &near_ends, g->near.iwarp, "near");
	deaf_check(t, &far_ends, g->far.iwarp, "far");
}

/* Nobody dequeues until both EPs say that it is over. */
void vmtest_deaf(struct vmtest *t)
{
	struct dat_psp *psp;
	struct dat_ep *far;
	struct grace *g;
	int ret, i;

	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return;
	if (!sides_open(t, &g->near, &g->far, 64, true))
		goto out;
	ret = dat_psp_create(g->far.ia, PORT, g->far.conn,
			     DAT_PSP_CONSUMER_FLAG, &psp);
	if (!ret)
		ret = side_ep(&g->near, SENDS, SENDS, &g->ep);
	if (!ret)
		ret = side_ep(&g->far, SENDS, SENDS, &far);
	for (i = 0; !ret && i < SENDS; i++) {
		ret = side_post_recv(&g->near, g->ep, i);
		if (!ret)
			ret = side_post_recv(&g->far, far, i);
	}
	if (!ret)
		ret = side_pair(&g->near, g->ep, &g->far, far, PORT);
	vmtest_equal(t, ret, 0, "a connection");
	if (!ret)
		deaf_run(t, g, far);
	side_close(&g->near);
	side_close(&g->far);
out:
	kfree(g);
}
