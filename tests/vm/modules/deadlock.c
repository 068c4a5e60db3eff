// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that wait, made from upcalls: accept and psp_free from that of a
 * connection request, ep_free from that of a disconnect, an abrupt ia_close
 * while requests arrive. Each must return soon, or refuse with -EDEADLK, under
 * the eyes of lockdep.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20170,
	/* Below the deadline of a close, on which no call may have to rely. */
	CALL_MS = 4000,
};

/**
 * struct busy - the far side of a round, which lives in its upcalls
 * @far: the side; its conn EVD makes SINGLE_INSTANCE upcalls
 * @psp: where requests come from
 * @free_psp: the first request's upcall frees @psp
 * @ep: accepts the request, is freed by the disconnect's upcall
 * @end: the disconnect's upcall is over
 * @failed: first errno of a call in an upcall
 * @slow: calls that took longer than CALL_MS
 * @teardown: what TEARDOWN from inside the upcall said
 */
struct busy {
	struct side far;
	struct dat_psp *psp;
	bool free_psp;
	struct dat_ep *ep;
	struct completion end;
	int failed;
	u32 slow;
	int teardown;
};

static void note(struct busy *b, ktime_t start, int ret)
{
	if (ret && !b->failed)
		b->failed = ret;
	if (ktime_ms_delta(ktime_get(), start) > CALL_MS)
		b->slow++;
}

static void on_request(struct busy *b, struct dat_cr *cr)
{
	ktime_t start = ktime_get();

	note(b, start, dat_cr_accept(cr, b->ep, 0, NULL));
	if (!b->free_psp)
		return;
	start = ktime_get();
	note(b, start, dat_psp_free(b->psp));
	b->psp = NULL;
}

static void busy_upcall(void *data, const struct dat_event *event, bool more)
{
	struct busy *b = data;
	ktime_t start;

	switch (event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		on_request(b, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		b->teardown = dat_evd_modify_upcall(b->far.conn,
						    DAT_UPCALL_TEARDOWN,
						    DAT_UPCALL_SAME,
						    DAT_UPCALL_INVOC_NEW);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		start = ktime_get();
		note(b, start, dat_ep_free(b->ep));
		b->ep = NULL;
		complete(&b->end);
		break;
	default:
		note(b, ktime_get(), -EPROTO);
		complete(&b->end);
		break;
	}
}

static int busy_start(struct busy *b, const char *addr, bool free_psp)
{
	struct dat_upcall_object upcall = {
		.instance_data = b,
		.upcall_func = busy_upcall,
	};
	int ret;

	memset(b, 0, sizeof(*b));
	init_completion(&b->end);
	b->free_psp = free_psp;
	ret = side_open(&b->far, addr, 64, false);
	if (ret)
		return ret;
	ret = side_ep(&b->far, 1, 1, &b->ep);
	if (!ret)
		ret = dat_evd_modify_upcall(b->far.conn,
					    DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					    DAT_UPCALL_INVOC_NEW);
	if (!ret)
		ret = dat_psp_create(b->far.ia, PORT, b->far.conn,
				     DAT_PSP_CONSUMER_FLAG, &b->psp);
	if (ret)
		side_close(&b->far);
	return ret;
}

/* One connection from start to end, all of it in upcalls. */
static int upcall_round(struct side *near, struct busy *b, const char *addr,
			bool free_psp, int *teardown, u32 *slow)
{
	struct dat_ep *ep = NULL;
	struct dat_event event;
	int ret;

	ret = busy_start(b, addr, free_psp);
	if (ret)
		return ret;
	ret = side_ep(near, 1, 1, &ep);
	if (!ret)
		ret = side_connect(near, ep, &b->far, PORT, SIDE_TIMEOUT_MS,
				   NULL, 0);
	if (!ret)
		ret = side_expect(near->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
				  &event);
	if (!ret)
		ret = dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
	if (!ret &&
	    !wait_for_completion_timeout(&b->end,
					 msecs_to_jiffies(SIDE_TIMEOUT_MS)))
		ret = -ETIMEDOUT;
	if (!ret)
		ret = side_expect(near->conn, DAT_CONNECTION_EVENT_DISCONNECTED,
				  &event);
	if (ep)
		dat_ep_free(ep);
	side_close(&b->far);
	*teardown = b->teardown;
	*slow += b->slow;
	return ret ? ret : b->failed;
}

/* ia_close(ABRUPT) of the far side with connects under way. */
static int close_round(struct side *near, struct busy *b, const char *addr,
		       u32 round, u32 *slow)
{
	struct dat_ep *eps[4] = {};
	struct dat_event event;
	unsigned int i;
	ktime_t start;
	int ret;

	ret = busy_start(b, addr, false);
	if (ret)
		return ret;
	for (i = 0; !ret && i < ARRAY_SIZE(eps); i++) {
		ret = side_ep(near, 1, 1, &eps[i]);
		if (!ret)
			ret = side_connect(near, eps[i], &b->far, PORT,
					   SIDE_TIMEOUT_MS, NULL, 0);
	}
	/* Another moment of the handshake each time. */
	usleep_range(round * 37 % 5000, round * 37 % 5000 + 50);
	start = ktime_get();
	side_close(&b->far);
	if (ktime_ms_delta(ktime_get(), start) > CALL_MS)
		(*slow)++;

	/* Each EP hears of it; then they go, in whatever state. */
	for (i = 0; !ret && i < ARRAY_SIZE(eps); i++)
		ret = side_wait(near->conn, &event, SIDE_TIMEOUT_MS);
	for (i = 0; i < ARRAY_SIZE(eps); i++)
		if (eps[i])
			dat_ep_free(eps[i]);
	while (!dat_evd_dequeue(near->conn, &event))
		;
	return ret;
}

void vmtest_deadlock(struct vmtest *t)
{
	u32 rounds = vmtest_arg(t, "rounds", 200), slow = 0, i;
	u32 closes = vmtest_arg(t, "closes", 200);
	struct side near;
	struct busy *b;
	char addr[64], far[64];
	int ret, teardown = 0;

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return;
	vmtest_arg_text(t, "near", "10.0.0.1", addr, sizeof(addr));
	vmtest_arg_text(t, "far", "10.0.0.2", far, sizeof(far));
	ret = side_open(&near, addr, 64, false);
	vmtest_equal(t, ret, 0, "open the near side");
	if (ret)
		goto out;

	for (i = 0; !ret && i < rounds; i++)
		ret = upcall_round(&near, b, far, i & 1, &teardown, &slow);
	vmtest_equal(t, ret, 0, "%u connections that live in upcalls (%u done)",
		     rounds, i);
	vmtest_equal(t, teardown, -EDEADLK,
		     "teardown from inside the upcall is refused");

	ret = 0;
	for (i = 0; !ret && i < closes; i++)
		ret = close_round(&near, b, far, i, &slow);
	vmtest_equal(t, ret, 0, "%u abrupt closes under requests (%u done)",
		     closes, i);
	vmtest_equal(t, slow, 0, "no call needs a deadline");
	side_close(&near);
out:
	kfree(b);
}
