// SPDX-License-Identifier: GPL-2.0
/*
 * Four peers that are never slower than the one they send to, all of whose work is
 * one CPU's (the script sees to that): its upcalls take their time, and still each
 * run is bounded, others get that CPU, and every message has its event.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/irq_poll.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/smp.h>

/* For the runs, which a consumer does not see. */
#include "../../../drivers/kdapl/evd.h"
#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20240,
	PEERS = 4,
	DEPTH = 64,		/* sends of a peer, and receives for it */
	BATCH = 16,
	RUN_MAX = 64,		/* events that a run of upcalls may take */
};

struct flood;

/*
 * struct flood_peer - one sender
 * @evd: of its requests
 * @sent: requests that succeeded
 * @failed: and that did not
 */
struct flood_peer {
	struct flood *f;
	struct dat_evd *evd;
	struct dat_ep *near_ep;
	struct dat_ep *far_ep;
	struct completion done;
	struct dat_event events[BATCH];
	u64 posted;
	u64 sent;
	u64 failed;
};

/*
 * struct flood - see above
 * @cpu: where the receiver is
 * @us: what an upcall takes
 * @poll: of the receiver's EVD
 * @stop: no more sends
 * @over: what comes now is of the end of the connections
 * @received: messages
 * @other: events that nobody expects, and receives that could not be posted
 * @elsewhere: runs on another CPU
 * @runs: of the receiver's EVD
 * @run: upcalls of the one that is under way
 * @longest: upcalls of the longest
 * @turns: of the neighbour
 * @gap_ms: the longest that it had to wait for one
 */
struct flood {
	struct side near;
	struct side far;
	struct flood_peer peers[PEERS];
	unsigned int cpu;
	u32 us;
	irq_poll_fn *poll;
	bool stop;
	bool over;
	u64 received;
	u32 other;
	u32 elsewhere;
	u32 runs;
	u32 run;
	u32 longest;
	struct completion neighbour;
	u32 turns;
	u32 gap_ms;
};

/* One test at a time: for flood_poll(), which has no room for a context. */
static struct flood *flood;

static int flood_poll(struct irq_poll *iop, int weight)
{
	struct flood *f = flood;
	int ret;

	if (READ_ONCE(f->over))
		return f->poll(iop, weight);
	if (smp_processor_id() != f->cpu) {
		f->elsewhere++;
		return f->poll(iop, weight);
	}
	f->run = 0;
	ret = f->poll(iop, weight);
	f->longest = max(f->longest, f->run);
	f->runs++;
	return ret;
}

static void flood_upcall(void *data, const struct dat_event *event, bool more)
{
	const struct dat_dto_completion_event_data *dto;
	struct flood *f = data;

	if (READ_ONCE(f->over))
		return;
	f->run++;
	dto = &event->event_data.dto_completion_event_data;
	if (event->event_number != DAT_DTO_COMPLETION_EVENT ||
	    dto->status != DAT_DTO_SUCCESS) {
		f->other++;
		return;
	}
	WRITE_ONCE(f->received, f->received + 1);
	udelay(f->us);
	if (side_post_recv(&f->far, dto->ep_handle, 0))
		f->other++;
}

static int flood_peer(void *data)
{
	struct flood_peer *p = data;
	struct flood *f = p->f;
	unsigned long end = 0;
	int n, i;

	while (!end || (p->sent + p->failed != p->posted &&
			time_before(jiffies, end))) {
		if (!READ_ONCE(f->stop))
			while (!side_post_send(&f->near, p->near_ep, 0))
				p->posted++;
		else if (!end)
			end = (jiffies + msecs_to_jiffies(SIDE_TIMEOUT_MS)) | 1;
		n = dat_evd_dequeue_batch(p->evd, p->events, BATCH);
		for (i = 0; i < n; i++)
			if (p->events[i].event_data.dto_completion_event_data
			    .status == DAT_DTO_SUCCESS)
				p->sent++;
			else
				p->failed++;
		if (n <= 0)
			usleep_range(100, 200);
	}
	kthread_complete_and_exit(&p->done, 0);
}

static int flood_neighbour(void *data)
{
	unsigned long was = jiffies;
	struct flood *f = data;

	while (!READ_ONCE(f->stop)) {
		schedule_timeout_uninterruptible(1);
		f->turns++;
		f->gap_ms = max(f->gap_ms, jiffies_to_msecs(jiffies - was));
		was = jiffies;
	}
	kthread_complete_and_exit(&f->neighbour, 0);
}

static int flood_start(int (*what)(void *), void *data, unsigned int cpu,
		       struct completion *done)
{
	struct task_struct *task;

	init_completion(done);
	task = kthread_create(what, data, "flood");
	if (IS_ERR(task)) {
		complete(done);
		return PTR_ERR(task);
	}
	kthread_bind(task, cpu);
	wake_up_process(task);
	return 0;
}

static int flood_connect(struct flood *f)
{
	const struct dat_upcall_object upcall = {
		.instance_data = f,
		.upcall_func = flood_upcall,
	};
	struct dat_psp *psp;
	struct side sender;
	int ret, i, n;

	ret = dat_psp_create(f->far.ia, PORT, f->far.conn,
			     DAT_PSP_CONSUMER_FLAG, &psp);
	for (i = 0; !ret && i < PEERS; i++) {
		struct flood_peer *p = &f->peers[i];

		p->f = f;
		ret = dat_evd_kcreate(f->near.ia, DEPTH, DAT_UPCALL_DISABLE,
				      NULL, DAT_EVD_DTO_FLAG, &p->evd);
		sender = f->near;
		sender.request = p->evd;
		if (!ret)
			ret = side_ep(&sender, 1, DEPTH, &p->near_ep);
		if (!ret)
			ret = side_ep(&f->far, DEPTH, 1, &p->far_ep);
		for (n = 0; !ret && n < DEPTH; n++)
			ret = side_post_recv(&f->far, p->far_ep, 0);
		if (!ret)
			ret = side_pair(&f->near, p->near_ep, &f->far,
					p->far_ep, PORT);
	}
	if (ret)
		return ret;
	/* Nothing has come yet, so nobody is in there. */
	f->poll = f->far.recv->iop.poll;
	f->far.recv->iop.poll = flood_poll;
	return dat_evd_modify_upcall(f->far.recv, DAT_UPCALL_SINGLE_INSTANCE,
				     &upcall, DAT_UPCALL_INVOC_NEW);
}

static void flood_run(struct vmtest *t, struct flood *f)
{
	unsigned int sender = cpumask_any_but(cpu_online_mask, f->cpu);
	u32 ms = vmtest_arg(t, "ms", 1000);
	u64 sent = 0, failed = 0;
	unsigned long end;
	int ret, i;

	/* On a machine with one CPU it is their own, too. */
	if (sender >= nr_cpu_ids)
		sender = f->cpu;
	ret = flood_start(flood_neighbour, f, f->cpu, &f->neighbour);
	for (i = 0; i < PEERS; i++)
		ret = flood_start(flood_peer, &f->peers[i], sender,
				  &f->peers[i].done) ?: ret;
	vmtest_equal(t, ret, 0, "threads");
	msleep(ms);
	/* A turn takes as long as the machine has not run it: see below. */
	end = jiffies + msecs_to_jiffies(SIDE_TIMEOUT_MS);
	while (READ_ONCE(f->turns) < ms / 200 && time_before(jiffies, end))
		msleep(20);
	WRITE_ONCE(f->stop, true);
	wait_for_completion(&f->neighbour);
	for (i = 0; i < PEERS; i++) {
		wait_for_completion(&f->peers[i].done);
		vmtest_check(t, f->peers[i].sent &&
			     f->peers[i].sent == f->peers[i].posted,
			     "peer %d: all %llu messages are sent", i,
			     f->peers[i].posted);
		sent += f->peers[i].sent;
		failed += f->peers[i].failed;
	}
	end = jiffies + msecs_to_jiffies(SIDE_TIMEOUT_MS);
	while (READ_ONCE(f->received) < sent && time_before(jiffies, end))
		usleep_range(500, 1000);
	msleep(50);
	WRITE_ONCE(f->over, true);

	vmtest_equal(t, f->received, sent, "as many are received");
	vmtest_equal(t, failed + f->other, 0, "nothing else");
	vmtest_equal(t, f->elsewhere, 0, "all on one CPU");
	vmtest_say(t, "%llu messages in %u runs, at most %u in one", sent,
		   f->runs, f->longest);
	vmtest_check(t, f->longest >= RUN_MAX,
		     "there was more to do than a run may");
	vmtest_check(t, f->longest <= RUN_MAX,
		     "no run did more than it may");
	/*
	 * A turn is a tick, and several where the provider's tasklets are as slow
	 * as in emulation, with KASAN; starving is 0.
	 */
	vmtest_say(t, "the neighbour had %u turns, and waited for at most %u ms",
		   f->turns, f->gap_ms);
	vmtest_check(t, f->turns >= ms / 200, "another thread has its turns");
}

/*
 * ms=: how long; us=: what an upcall takes; cpu=: where the receiver's packets
 * come in.
 */
void vmtest_flood(struct vmtest *t)
{
	struct flood *f;
	int ret;

	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return;
	flood = f;
	f->us = vmtest_arg(t, "us", 50);
	f->cpu = vmtest_arg(t, "cpu", 0);
	if (!sides_open(t, &f->near, &f->far, 2 * PEERS * DEPTH, false))
		goto out;
	ret = flood_connect(f);
	if (vmtest_equal(t, ret, 0, "%d connections to one receiver", PEERS))
		flood_run(t, f);
	WRITE_ONCE(f->over, true);
	if (f->poll)
		f->far.recv->iop.poll = f->poll;
	side_close(&f->near);
	side_close(&f->far);
out:
	flood = NULL;
	kfree(f);
}
