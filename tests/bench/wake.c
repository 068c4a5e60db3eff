// SPDX-License-Identifier: GPL-2.0
/*
 * What it takes to wake a consumer: upcalls and context switches for three ways
 * to go to sleep, with completions that come in bursts. The consumer is a thread
 * that has some work with each message. Messages come at uneven intervals from a
 * timer, so that some arrive while the thread is at work and some while it goes
 * to sleep; both the work and the intervals repeat from run to run.
 *
 *	busy	dat_evd_modify_upcall(), on -EBUSY go on dequeuing (kdapl)
 *	again	arm, then dequeue once more (raw verbs)
 *	upcall	the upcall polls all and hands it over (raw verbs)
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "bench.h"

enum {
	WAKE_COUNT = 1024,
	/* Microseconds: shortest interval, and the range above it. */
	WAKE_GAP = 14,
	WAKE_GAP_RANGE = 24,
	WAKE_WORK_RANGE = 16,
};

struct wake {
	const char *name;
	int (*work)(struct wake *wake);
	struct raw *raw;
	struct kd *kd;
	struct task_struct *task;
	wait_queue_head_t done_wait;
	struct hrtimer timer;
	int left;		/* of the burst */
	int error;		/* of a post */
	u32 gap_seed;
	u32 work_seed;
	atomic_t taken;
	atomic_t ready;		/* handed over, not yet taken: "upcall" */
	int target;		/* the sender waits for so many */
	int result;
	bool stop;
	bool at_work;		/* the thread has not gone to sleep */
	u32 upcalls;
	u32 racing;		/* upcalls while the thread was at work */
	u64 switches;
};

/* A small generator: the same numbers in each run. */
static u32 draw(u32 *seed, u32 range)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 16) % range;
}

static void note(struct wake *wake)
{
	wake->upcalls++;
	if (READ_ONCE(wake->at_work))
		wake->racing++;
}

static void took(struct wake *wake)
{
	udelay(draw(&wake->work_seed, WAKE_WORK_RANGE));
	if (atomic_inc_return(&wake->taken) == READ_ONCE(wake->target))
		wake_up(&wake->done_wait);
}

/* Asleep until @signalled, or until the end. */
static void doze(struct wake *wake, wait_queue_head_t *wait, bool *signalled)
{
	WRITE_ONCE(wake->at_work, false);
	wait_event(*wait, READ_ONCE(*signalled) || READ_ONCE(wake->stop));
	WRITE_ONCE(wake->at_work, true);
}

static void busy_upcall(struct kd_end *end)
{
	note(end->data);
	WRITE_ONCE(end->signalled, true);
	wake_up(&end->wait);
}

static int busy_work(struct wake *wake)
{
	struct kd_end *end = &wake->kd->b;
	struct dat_event event;
	int ret;

	while (!READ_ONCE(wake->stop)) {
		while (!dat_evd_dequeue(end->recv_evd, &event)) {
			ret = kd_post_recv(wake->kd, end);
			if (ret)
				return ret;
			took(wake);
		}
		WRITE_ONCE(end->signalled, false);
		/* From here on an upcall has nobody to race with. */
		WRITE_ONCE(wake->at_work, false);
		ret = kd_enable(end);
		if (ret == -EBUSY) {
			WRITE_ONCE(wake->at_work, true);
			continue;
		}
		if (ret)
			return ret;
		doze(wake, &end->wait, &end->signalled);
	}
	return 0;
}

static void again_upcall(struct raw_end *end)
{
	note(end->data);
	WRITE_ONCE(end->signalled, true);
	wake_up(&end->wait);
}

static int again_work(struct wake *wake)
{
	struct raw_end *end = &wake->raw->b;
	struct ib_wc wc;
	int ret;

	while (!READ_ONCE(wake->stop)) {
		while (ib_poll_cq(end->recv_cq, 1, &wc) > 0) {
			ret = raw_post_recv(wake->raw, end);
			if (ret)
				return ret;
			took(wake);
		}
		WRITE_ONCE(end->signalled, false);
		ret = ib_req_notify_cq(end->recv_cq, IB_CQ_NEXT_COMP);
		if (ret < 0)
			return ret;
		if (ib_poll_cq(end->recv_cq, 1, &wc) > 0) {
			ret = raw_post_recv(wake->raw, end);
			if (ret)
				return ret;
			took(wake);
			continue;
		}
		doze(wake, &end->wait, &end->signalled);
	}
	return 0;
}

static void upcall_upcall(struct raw_end *end)
{
	struct wake *wake = end->data;
	struct ib_wc wc[BENCH_WAITING];
	int n;

	note(wake);
	do {
		while ((n = ib_poll_cq(end->recv_cq, BENCH_WAITING, wc)) > 0)
			atomic_add(n, &wake->ready);
	} while (raw_arm(end->recv_cq) > 0);
	WRITE_ONCE(end->signalled, true);
	wake_up(&end->wait);
}

static int upcall_work(struct wake *wake)
{
	struct raw_end *end = &wake->raw->b;
	int ret;

	ret = raw_arm(end->recv_cq);
	while (ret >= 0 && !READ_ONCE(wake->stop)) {
		WRITE_ONCE(end->signalled, false);
		while (atomic_read(&wake->ready)) {
			atomic_dec(&wake->ready);
			ret = raw_post_recv(wake->raw, end);
			if (ret)
				return ret;
			took(wake);
		}
		doze(wake, &end->wait, &end->signalled);
	}
	return ret < 0 ? ret : 0;
}

static int thread(void *data)
{
	struct wake *wake = data;
	u64 before = current->nvcsw + current->nivcsw;

	wake->result = wake->work(wake);
	wake->switches = current->nvcsw + current->nivcsw - before;
	/* A failed thread takes nothing: the sender must not wait for it. */
	WRITE_ONCE(wake->stop, true);
	wake_up(&wake->done_wait);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static enum hrtimer_restart send_one(struct hrtimer *timer)
{
	struct wake *wake = container_of(timer, struct wake, timer);
	u32 gap = WAKE_GAP + draw(&wake->gap_seed, WAKE_GAP_RANGE);
	int ret;

	if (wake->work == busy_work)
		ret = kd_post_send(wake->kd, &wake->kd->a);
	else
		ret = raw_post_send(wake->raw, &wake->raw->a);
	if (ret) {
		WRITE_ONCE(wake->error, ret);
		wake_up(&wake->done_wait);
		return HRTIMER_NORESTART;
	}
	if (!--wake->left)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(gap * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static int send_burst(struct wake *wake, int burst)
{
	struct dat_event event;
	struct ib_wc wc;

	while (!dat_evd_dequeue(wake->kd->a.send_evd, &event))
		;
	while (ib_poll_cq(wake->raw->a.send_cq, 1, &wc) > 0)
		;
	wake->left = burst;
	WRITE_ONCE(wake->target, wake->target + burst);
	hrtimer_start(&wake->timer,
		      ns_to_ktime(WAKE_GAP * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_SOFT);
	wait_event(wake->done_wait,
		   atomic_read(&wake->taken) >= wake->target ||
		   READ_ONCE(wake->error) || READ_ONCE(wake->stop));
	if (wake->error)
		return wake->error;
	return wake->stop ? -EIO : 0;
}

static void drain_sends(struct wake *wake)
{
	struct dat_event event;
	struct ib_wc wc;

	bench_settle();
	while (!dat_evd_dequeue(wake->kd->a.send_evd, &event))
		;
	while (ib_poll_cq(wake->raw->a.send_cq, 1, &wc) > 0)
		;
}

/* One pass: WAKE_COUNT completions. */
static int wake_pass(struct wake *wake, int burst)
{
	int ret = 0, i;

	init_waitqueue_head(&wake->done_wait);
	wake->raw->b.data = wake;
	wake->kd->b.data = wake;
	wake->at_work = true;
	wake->gap_seed = 1;
	wake->work_seed = 2;
	hrtimer_init(&wake->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	wake->timer.function = send_one;
	wake->task = kthread_run(thread, wake, "kdapl_bench");
	if (IS_ERR(wake->task))
		return PTR_ERR(wake->task);
	bench_settle();
	for (i = 0; !ret && i < WAKE_COUNT / burst; i++)
		ret = send_burst(wake, burst);
	hrtimer_cancel(&wake->timer);
	WRITE_ONCE(wake->stop, true);
	wake_up(&wake->raw->b.wait);
	wake_up(&wake->kd->b.wait);
	kthread_stop(wake->task);
	kd_disable(&wake->kd->b);
	drain_sends(wake);
	return ret ? ret : wake->result;
}

/* What the passes counted, for 1,000 completions. */
static void wake_say(u64 passes[BENCH_PASSES])
{
	struct bench_figure figure;

	bench_figure(&figure, passes);
	bench_say(" %llu %llu %llu", figure.median * 1000 / WAKE_COUNT,
		  figure.least * 1000 / WAKE_COUNT,
		  figure.most * 1000 / WAKE_COUNT);
}

static int wake_one(const struct wake *form, int burst)
{
	u64 upcalls[BENCH_PASSES], switches[BENCH_PASSES], racing[BENCH_PASSES];
	int ret, i;

	for (i = -BENCH_WARM_UP; i < BENCH_PASSES; i++) {
		struct wake wake = *form;

		ret = wake_pass(&wake, burst);
		if (ret)
			return ret;
		if (i < 0)
			continue;
		upcalls[i] = wake.upcalls;
		switches[i] = wake.switches;
		racing[i] = wake.racing;
	}
	bench_say("wake %s %d", form->name, burst);
	wake_say(upcalls);
	wake_say(switches);
	wake_say(racing);
	bench_say("\n");
	return 0;
}

int wake_run(struct raw *raw, struct kd *kd)
{
	static const struct {
		const char *name;
		int (*work)(struct wake *wake);
		void (*raw)(struct raw_end *end);
	} forms[] = {
		{ "busy", busy_work, NULL },
		{ "again", again_work, again_upcall },
		{ "upcall", upcall_work, upcall_upcall },
	};
	static const int bursts[] = { 1, 8, 64 };
	int ret = 0, i, j;

	kd->b.handler = busy_upcall;
	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		for (j = 0; !ret && j < ARRAY_SIZE(bursts); j++) {
			const struct wake form = {
				.name = forms[i].name,
				.work = forms[i].work,
				.raw = raw,
				.kd = kd,
			};

			raw->b.handler = forms[i].raw;
			ret = wake_one(&form, bursts[j]);
		}
	}
	kd->b.handler = NULL;
	raw->b.handler = NULL;
	return ret;
}
