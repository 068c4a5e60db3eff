// SPDX-License-Identifier: GPL-2.0
/*
 * The rows on raw verbs, polled in batches of 16.
 */
#include <linux/sched.h>

#include "bench.h"

/* Takes all completions; for the receives among them new ones are posted. */
static int raw_drain(struct raw *raw, struct raw_end *end, struct ib_cq *cq,
		     bool repost)
{
	int n, i, ret;

	while ((n = ib_poll_cq(cq, BENCH_WAITING, raw->wc)) > 0) {
		for (i = 0; i < n; i++) {
			if (raw->wc[i].status)
				return -EIO;
			if (!repost)
				continue;
			ret = raw_post_recv(raw, end);
			if (ret)
				return ret;
		}
	}
	return n;
}

static int raw_clean(struct raw *raw)
{
	int ret;

	bench_settle();
	ret = raw_drain(raw, &raw->b, raw->b.recv_cq, true);
	if (!ret)
		ret = raw_drain(raw, &raw->a, raw->a.recv_cq, true);
	if (!ret)
		ret = raw_drain(raw, &raw->a, raw->a.send_cq, false);
	if (!ret)
		ret = raw_drain(raw, &raw->b, raw->b.send_cq, false);
	return ret;
}

/* @count receive completions wait at B, and nothing anywhere else. */
static int raw_fill(struct raw *raw, int count)
{
	int ret, i;

	for (i = 0; i < count; i++) {
		ret = raw_post_send(raw, &raw->a);
		if (ret)
			return ret;
	}
	bench_settle();
	return raw_drain(raw, &raw->a, raw->a.send_cq, false);
}

int raw_row_batch(struct raw *raw, struct bench_pass *pass)
{
	int reps = pass->small ? 1 : 8, ret, n;
	unsigned long flags;
	u64 begin;

	while (reps--) {
		ret = raw_fill(raw, BENCH_WAITING);
		if (ret)
			return ret;
		local_irq_save(flags);
		begin = bench_begin();
		n = ib_poll_cq(raw->b.recv_cq, BENCH_WAITING, raw->wc);
		bench_end(pass, begin);
		local_irq_restore(flags);
		if (n != BENCH_WAITING)
			return -EIO;
		while (n--)
			if (raw->wc[n].status || raw_post_recv(raw, &raw->b))
				return -EIO;
		pass->ops += BENCH_WAITING;
	}
	return 0;
}

int raw_row_single(struct raw *raw, struct bench_pass *pass)
{
	int reps = pass->small ? 1 : 8, ret, i, n;
	unsigned long flags;
	u64 begin;

	while (reps--) {
		ret = raw_fill(raw, BENCH_WAITING);
		if (ret)
			return ret;
		n = 0;
		local_irq_save(flags);
		begin = bench_begin();
		for (i = 0; i < BENCH_WAITING; i++)
			n += ib_poll_cq(raw->b.recv_cq, 1, raw->wc);
		bench_end(pass, begin);
		local_irq_restore(flags);
		if (n != BENCH_WAITING)
			return -EIO;
		while (n--)
			if (raw_post_recv(raw, &raw->b))
				return -EIO;
		pass->ops += BENCH_WAITING;
	}
	return 0;
}

int raw_row_empty(struct raw *raw, struct bench_pass *pass)
{
	unsigned long flags;
	int i, n = 0;
	u64 begin;

	local_irq_save(flags);
	begin = bench_begin();
	for (i = 0; i < BENCH_CALLS; i++)
		n += ib_poll_cq(raw->b.recv_cq, 1, raw->wc);
	bench_end(pass, begin);
	local_irq_restore(flags);
	pass->ops += BENCH_CALLS;
	return n ? -EIO : 0;
}

/* The lock keeps a completion handler's "armed" in step with the notify. */
int raw_row_enable(struct raw *raw, struct bench_pass *pass)
{
	unsigned long flags, irq;
	int i, n = 0;
	u64 begin;

	local_irq_save(flags);
	begin = bench_begin();
	for (i = 0; i < BENCH_CALLS; i++) {
		spin_lock_irqsave(&raw->lock, irq);
		n |= raw_arm(raw->b.recv_cq);
		n |= ib_poll_cq(raw->b.recv_cq, BENCH_WAITING, raw->wc);
		spin_unlock_irqrestore(&raw->lock, irq);
	}
	bench_end(pass, begin);
	local_irq_restore(flags);
	pass->ops += BENCH_CALLS;
	return n ? -EIO : 0;
}

/* As many as a burst has: only the first of them has to wake ksoftirqd. */
int raw_row_send(struct raw *raw, struct bench_pass *pass)
{
	int i, ret, reps = pass->small ? 1 : 4;
	u64 begin;

	while (reps--) {
		ret = 0;
		begin = bench_begin();
		for (i = 0; i < BENCH_WAITING; i++)
			ret |= raw_post_send(raw, &raw->a);
		bench_end(pass, begin);
		pass->ops += BENCH_WAITING;
		if (ret)
			return -EIO;
		ret = raw_clean(raw);
		if (ret)
			return ret;
	}
	return 0;
}

int raw_row_recv(struct raw *raw, struct bench_pass *pass)
{
	int i, ret = 0, reps = 32;
	u64 begin;

	begin = bench_begin();
	for (i = 0; i < reps; i++)
		ret |= raw_post_recv(raw, &raw->b);
	bench_end(pass, begin);
	pass->ops += reps;
	if (ret)
		return -EIO;
	/* Those that are too many go. */
	ret = raw_fill(raw, reps);
	return ret ? ret : raw_drain(raw, &raw->b, raw->b.recv_cq, false);
}

/* Posts, and lets the device work through it at once. */
static int polled_send(struct raw *raw, struct raw_end *end)
{
	int ret;

	local_bh_disable();
	ret = raw_post_send(raw, end);
	local_bh_enable();
	return ret;
}

static int polled_take(struct raw *raw, struct raw_end *end)
{
	int n;

	while (!(n = ib_poll_cq(end->recv_cq, BENCH_WAITING, raw->wc)))
		cond_resched();
	if (n != 1 || raw->wc[0].status)
		return -EIO;
	return raw_post_recv(raw, end);
}

static int sent(struct raw *raw, struct raw_end *end)
{
	int n = ib_poll_cq(end->send_cq, BENCH_WAITING, raw->wc);

	while (n > 0)
		if (raw->wc[--n].status)
			return -EIO;
	return n;
}

int raw_row_polled(struct raw *raw, struct bench_pass *pass)
{
	int i, ret = 0, reps = pass->small ? 4 : BENCH_POLLED;
	u64 begin;

	begin = bench_begin();
	for (i = 0; i < reps && !ret; i++) {
		ret = polled_send(raw, &raw->a) ?:
		      polled_take(raw, &raw->b) ?:
		      polled_send(raw, &raw->b) ?:
		      polled_take(raw, &raw->a) ?:
		      sent(raw, &raw->a) ?:
		      sent(raw, &raw->b);
	}
	bench_end(pass, begin);
	pass->ops += reps;
	return ret ? ret : raw_clean(raw);
}

/* 0: asleep until the next completion; > 0: there is one already. */
int raw_arm(struct ib_cq *cq)
{
	return ib_req_notify_cq(cq, IB_CQ_NEXT_COMP |
				    IB_CQ_REPORT_MISSED_EVENTS);
}

static int upcall_take(struct raw *raw, struct raw_end *end)
{
	int n, ret;

	for (;;) {
		n = ib_poll_cq(end->recv_cq, BENCH_WAITING, raw->wc);
		if (n)
			break;
		WRITE_ONCE(end->signalled, false);
		ret = raw_arm(end->recv_cq);
		if (ret < 0)
			return ret;
		if (ret)
			continue;
		wait_event(end->wait, READ_ONCE(end->signalled));
	}
	if (n != 1 || raw->wc[0].status)
		return -EIO;
	return raw_post_recv(raw, end);
}

int raw_row_upcall(struct raw *raw, struct bench_pass *pass)
{
	int i, ret = 0, reps = pass->small ? 4 : BENCH_ROUNDS;
	u64 begin;

	begin = bench_begin();
	for (i = 0; i < reps && !ret; i++) {
		ret = raw_post_send(raw, &raw->a) ?:
		      upcall_take(raw, &raw->b) ?:
		      raw_post_send(raw, &raw->b) ?:
		      upcall_take(raw, &raw->a) ?:
		      sent(raw, &raw->a) ?:
		      sent(raw, &raw->b);
	}
	bench_end(pass, begin);
	pass->ops += reps;
	return ret ? ret : raw_clean(raw);
}
