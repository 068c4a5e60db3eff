// SPDX-License-Identifier: GPL-2.0
/*
 * Ends of connections: in order, once, in time, whoever begins.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20160,
	ORDER_RECVS = 32,
	ORDER_SENDS = 20,
};

struct pair {
	struct side near;
	struct side far;
	struct dat_psp *psp;
	struct dat_ep *near_ep;
	struct dat_ep *far_ep;
};

static int pair_open(struct vmtest *t, struct pair *p, bool merged)
{
	int ret, i;

	memset(p, 0, sizeof(*p));
	if (!sides_open(t, &p->near, &p->far, 256, merged))
		return -ENODEV;
	ret = dat_psp_create(p->far.ia, PORT, p->far.conn,
			     DAT_PSP_CONSUMER_FLAG, &p->psp);
	if (!ret)
		ret = side_ep(&p->near, ORDER_RECVS, ORDER_SENDS, &p->near_ep);
	if (!ret)
		ret = side_ep(&p->far, ORDER_RECVS, ORDER_SENDS, &p->far_ep);
	for (i = 0; !ret && i < ORDER_RECVS; i++)
		ret = side_post_recv(&p->far, p->far_ep, i);
	if (!ret)
		ret = side_pair(&p->near, p->near_ep, &p->far, p->far_ep, PORT);
	vmtest_equal(t, ret, 0, "a connection");
	if (ret) {
		side_close(&p->near);
		side_close(&p->far);
	}
	return ret;
}

static void pair_close(struct pair *p)
{
	side_close(&p->near);
	side_close(&p->far);
}

struct tally {
	int success;
	int flushed;
	int other;
	int ends;
	int after_end;
	bool in_order;
};

static void count(struct tally *tally, const struct dat_event *event)
{
	const struct dat_dto_completion_event_data *dto =
		&event->event_data.dto_completion_event_data;

	tally->after_end += tally->ends > 0;
	if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
		tally->ends++;
	else if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		tally->other++;
	else if (dto->status == DAT_DTO_SUCCESS)
		tally->success++;
	else if (dto->status == DAT_DTO_ERR_FLUSHED)
		tally->flushed++;
	else
		tally->other++;
	if (event->event_number == DAT_DTO_COMPLETION_EVENT &&
	    dto->user_cookie.as_64 != tally->success + tally->flushed - 1)
		tally->in_order = false;
}

/* Sends, and disconnects at once: the far side sees all, and the end last. */
static void check_order(struct vmtest *t, bool merged)
{
	const char *what = merged ? "one EVD" : "three EVDs";
	struct tally tally = { .in_order = true };
	struct dat_event event;
	struct pair *p;
	int ret = 0, i;

	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return;
	if (pair_open(t, p, merged))
		goto out;
	for (i = 0; !ret && i < ORDER_SENDS; i++)
		ret = side_post_send(&p->near, p->near_ep, i);
	if (!ret)
		ret = dat_ep_disconnect(p->near_ep, DAT_CLOSE_GRACEFUL_FLAG);
	vmtest_equal(t, ret, 0, "%s: %d sends and a disconnect", what,
		     ORDER_SENDS);

	if (merged) {
		while (!side_wait(p->far.conn, &event,
				  tally.ends ? 300 : SIDE_TIMEOUT_MS))
			count(&tally, &event);
		vmtest_equal(t, tally.ends, 1, "%s: the end comes once", what);
	} else {
		ret = side_expect(p->far.conn,
				  DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		vmtest_equal(t, ret, 0, "%s: the end comes", what);
		/* No waiting: it must all be there. */
		while (!dat_evd_dequeue(p->far.recv, &event))
			count(&tally, &event);
		vmtest_equal(t, side_wait(p->far.recv, &event, 300),
			     -ETIMEDOUT, "%s: nothing comes later", what);
	}
	vmtest_equal(t, tally.success, ORDER_SENDS, "%s: received", what);
	vmtest_equal(t, tally.flushed, ORDER_RECVS - ORDER_SENDS,
		     "%s: flushed", what);
	vmtest_equal(t, tally.other, 0, "%s: nothing else", what);
	vmtest_equal(t, tally.after_end, 0, "%s: nothing after the end", what);
	vmtest_check(t, tally.in_order, "%s: in the order of posting", what);

	/* The near side: all of its sends were good. */
	memset(&tally, 0, sizeof(tally));
	tally.in_order = true;
	while (tally.success + tally.flushed + tally.other < ORDER_SENDS &&
	       !side_wait(p->near.request, &event, SIDE_TIMEOUT_MS))
		count(&tally, &event);
	vmtest_equal(t, tally.success, ORDER_SENDS, "%s: sent", what);
	pair_close(p);
out:
	kfree(p);
}

void vmtest_close_order(struct vmtest *t)
{
	check_order(t, true);
	check_order(t, false);
}

/* Nobody answers but kdapl: the far consumer sleeps on its event. */
void vmtest_close_passive(struct vmtest *t)
{
	unsigned long start;
	struct dat_event event;
	struct pair *p;

	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return;
	if (pair_open(t, p, false))
		goto out;
	start = jiffies;
	vmtest_equal(t, dat_ep_disconnect(p->near_ep, DAT_CLOSE_GRACEFUL_FLAG),
		     0, "disconnect");
	vmtest_equal(t, side_expect(p->near.conn,
				    DAT_CONNECTION_EVENT_DISCONNECTED, &event),
		     0, "the end, though the far consumer does nothing");
	vmtest_check(t, time_before(jiffies, start + 2 * HZ),
		     "within two seconds");
	pair_close(p);
out:
	kfree(p);
}

/*
 * The wire is dead when this runs (the script has seen to it once it was told
 * to): the deadline of the close has to do.
 */
void vmtest_close_dead(struct vmtest *t)
{
	u32 deadline = vmtest_arg(t, "deadline", 5000);
	u32 settle = vmtest_arg(t, "settle", 3000);
	struct dat_event event;
	unsigned long slept;
	struct pair *p;
	ktime_t start;
	s64 ms;
	int ret;

	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return;
	if (pair_open(t, p, false))
		goto out;
	/* The script cuts the wire in this time. */
	msleep(settle);
	start = ktime_get();
	/* What a clock says on an emulated machine is another matter. */
	slept = current->nvcsw;
	ret = dat_ep_disconnect(p->near_ep, DAT_CLOSE_GRACEFUL_FLAG);
	vmtest_equal(t, current->nvcsw - slept, 0, "the call does not wait");
	vmtest_equal(t, ret, 0, "disconnect");
	ret = side_wait(p->near.conn, &event, 3 * deadline);
	ms = ktime_ms_delta(ktime_get(), start);
	vmtest_equal(t, ret, 0, "the end comes");
	/* And what a loaded machine may take for it. */
	vmtest_check(t, ms <= 2 * deadline, "within the deadline");
	vmtest_say(t, "the end came after %lld ms", ms);
	pair_close(p);
out:
	kfree(p);
}

struct both {
	struct side near;
	struct side far;
	struct dat_psp *psp;
	u32 pairs;
	struct dat_ep **near_ep;
	struct dat_ep **far_ep;
};

static int both_set_up(struct both *b)
{
	int ret;
	u32 i;

	ret = dat_psp_create(b->far.ia, PORT, b->far.conn,
			     DAT_PSP_CONSUMER_FLAG, &b->psp);
	for (i = 0; !ret && i < b->pairs; i++) {
		ret = side_ep(&b->near, 1, 1, &b->near_ep[i]);
		if (!ret)
			ret = side_ep(&b->far, 1, 1, &b->far_ep[i]);
		if (!ret)
			ret = side_pair(&b->near, b->near_ep[i], &b->far,
					b->far_ep[i], PORT);
	}
	return ret;
}

/* All the ends that come within @ms: returns those that are DISCONNECTED. */
static u32 ends(struct dat_evd *evd, u32 want, unsigned int ms, u32 *other)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	struct dat_event event;
	u32 n = 0;

	while (n < want && time_before(jiffies, end)) {
		if (side_wait(evd, &event, 50))
			continue;
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
			n++;
		else
			(*other)++;
	}
	return n;
}

static void both_run(struct vmtest *t, struct both *b)
{
	u32 other = 0, failed = 0, waited = 0, limit, i, near, far;
	unsigned long start = jiffies;
	struct dat_event event;

	for (i = 0; i < b->pairs; i++) {
		unsigned long slept = current->nvcsw;

		failed += dat_ep_disconnect(b->near_ep[i],
					    DAT_CLOSE_GRACEFUL_FLAG) != 0;
		failed += dat_ep_disconnect(b->far_ep[i],
					    DAT_CLOSE_GRACEFUL_FLAG) != 0;
		waited += current->nvcsw != slept;
	}
	vmtest_equal(t, failed, 0, "each call succeeds");
	vmtest_equal(t, waited, 0, "none waits");

	limit = vmtest_arg(t, "limit", 2000);
	near = ends(b->near.conn, b->pairs, limit, &other);
	far = ends(b->far.conn, b->pairs, limit, &other);
	vmtest_say(t, "%u pairs closed in %u ms", b->pairs,
		   jiffies_to_msecs(jiffies - start));
	vmtest_equal(t, near, b->pairs, "one end for each near EP");
	vmtest_equal(t, far, b->pairs, "one end for each far EP");
	vmtest_equal(t, other, 0, "and nothing else");
	vmtest_check(t, jiffies_to_msecs(jiffies - start) <= limit,
		     "in time");
	vmtest_equal(t, side_wait(b->near.conn, &event, 300), -ETIMEDOUT,
		     "nothing comes later at the near side");
	vmtest_equal(t, side_wait(b->far.conn, &event, 300), -ETIMEDOUT,
		     "nothing comes later at the far side");
}

/* Both ends of many connections call at once. */
void vmtest_close_both(struct vmtest *t)
{
	struct both b = { .pairs = vmtest_arg(t, "pairs", 500) };
	int ret;

	b.near_ep = kvcalloc(b.pairs, sizeof(*b.near_ep), GFP_KERNEL);
	b.far_ep = kvcalloc(b.pairs, sizeof(*b.far_ep), GFP_KERNEL);
	if (!b.near_ep || !b.far_ep)
		goto out;
	if (!sides_open(t, &b.near, &b.far, 4 * b.pairs, false))
		goto out;
	ret = both_set_up(&b);
	vmtest_equal(t, ret, 0, "%u connections", b.pairs);
	if (!ret)
		both_run(t, &b);
	side_close(&b.near);
	side_close(&b.far);
out:
	kvfree(b.near_ep);
	kvfree(b.far_ep);
}

/* Connect, cut, free: nothing of the EP comes after its end. */
static int free_round(struct side *near, struct side *far)
{
	struct dat_ep *near_ep, *far_ep;
	struct dat_event event;
	int ret;

	ret = side_ep(near, 1, 1, &near_ep);
	if (ret)
		return ret;
	ret = side_ep(far, 1, 1, &far_ep);
	if (ret)
		goto out;
	ret = side_pair(near, near_ep, far, far_ep, PORT);
	if (!ret)
		ret = dat_ep_disconnect(near_ep, DAT_CLOSE_ABRUPT_FLAG);
	if (!ret)
		ret = dat_ep_free(near_ep);
	else
		dat_ep_free(near_ep);
	near_ep = NULL;
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_EVENT_DISCONNECTED,
				  &event);
	if (!ret)
		ret = dat_ep_free(far_ep);
	else
		dat_ep_free(far_ep);
	/* Events of a freed EP are nobody's. */
	if (!ret && !dat_evd_dequeue(near->conn, &event))
		ret = -EPROTO;
	return ret;
out:
	dat_ep_free(near_ep);
	return ret;
}

void vmtest_close_free(struct vmtest *t)
{
	u32 rounds = vmtest_arg(t, "rounds", 200), i;
	u32 settle = vmtest_arg(t, "settle", 0);
	struct dat_event event;
	struct side near, far;
	struct dat_psp *psp;
	int ret;

	if (!sides_open(t, &near, &far, 64, false))
		return;
	ret = dat_psp_create(far.ia, PORT, far.conn, DAT_PSP_CONSUMER_FLAG,
			     &psp);
	for (i = 0; !ret && i < rounds; i++)
		ret = free_round(&near, &far);
	vmtest_equal(t, ret, 0, "%u rounds of connect, cut and free (%u done)",
		     rounds, i);
	msleep(settle);
	vmtest_equal(t, side_wait(near.conn, &event, 0), -ETIMEDOUT,
		     "nothing comes later at the near side");
	vmtest_equal(t, side_wait(far.conn, &event, 0), -ETIMEDOUT,
		     "nothing comes later at the far side");
	side_close(&near);
	side_close(&far);
}
