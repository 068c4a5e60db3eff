// SPDX-License-Identifier: GPL-2.0
/*
 * Sender and consumer in a closed loop: the sender goes on only when it has
 * credit, which the consumer gives by taking messages. So a lost wake-up stops
 * everything, and is seen, instead of being hidden by the next message.
 *
 *	sender, CPU 0				consumer, CPU 1
 *	-------------				---------------
 *	wait for credit				take until empty, giving credit
 *	random pause				random pause
 *	send					arm
 *						sleep if armed
 *
 * The pauses let a message arrive at every point between the last look at the
 * queue and the arm, and after it.
 */
#include <linux/bottom_half.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "race.h"
#include "result.h"
#include "tests.h"

void race_wake(struct race *race)
{
	atomic64_inc(&race->wakes);
	if (!READ_ONCE(race->armed))
		atomic64_inc(&race->racing);
	/* Pairs with consumer_awake(): what the callback left can be read. */
	smp_store_release(&race->armed, false);
	wake_up(&race->wait);
}

static bool consumer_awake(struct race *race)
{
	/* Pairs with race_wake(). */
	return !smp_load_acquire(&race->armed) || READ_ONCE(race->kicked) ||
	       READ_ONCE(race->sender_done);
}

static void pause_random(struct race *race)
{
	if (race->gap_us)
		udelay(get_random_u32() % race->gap_us);
}

static void race_fail(struct race *race, int error)
{
	if (!race->error)
		WRITE_ONCE(race->error, error);
}

/* Takes all there is; returns how many. */
static u64 take_all(struct race *race)
{
	u64 n = 0;
	int ret;

	while ((ret = race->ops->take(race)) > 0) {
		n++;
		WRITE_ONCE(race->taken, race->taken + 1);
		wake_up(&race->credit);
	}
	if (ret < 0)
		race_fail(race, ret);
	return n;
}

static int race_consumer(void *data)
{
	struct race *race = data;
	bool stalled = false;
	int ret;
	u64 n;

	while (!READ_ONCE(race->error)) {
		n = take_all(race);
		/* Nobody had told of these. */
		if (stalled)
			race->lost += n;
		stalled = false;
		if (READ_ONCE(race->sender_done))
			break;

		pause_random(race);
		WRITE_ONCE(race->armed, true);
		ret = race->ops->arm(race);
		if (ret) {
			WRITE_ONCE(race->armed, false);
			if (ret != -EBUSY)
				race_fail(race, ret);
			race->busy++;
			continue;
		}
		wait_event_idle(race->wait, consumer_awake(race));
		if (READ_ONCE(race->kicked)) {
			stalled = READ_ONCE(race->armed);
			WRITE_ONCE(race->kicked, false);
		}
	}
	/* A failure must not leave the sender waiting. */
	wake_up(&race->credit);
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static bool has_credit(struct race *race)
{
	return race->sent - READ_ONCE(race->taken) < race->window ||
	       READ_ONCE(race->error);
}

static void wait_credit(struct race *race)
{
	while (!wait_event_idle_timeout(race->credit, has_credit(race),
					msecs_to_jiffies(race->stall_ms))) {
		WRITE_ONCE(race->kicked, true);
		wake_up(&race->wait);
	}
}

static int race_sender(void *data)
{
	struct race *race = data;
	int ret;

	while (race->sent < race->count && !READ_ONCE(race->error)) {
		wait_credit(race);
		if (race->stop_after &&
		    READ_ONCE(race->lost) >= race->stop_after)
			break;
		pause_random(race);
		/* Software devices deliver on the way out of this section. */
		local_bh_disable();
		ret = race->ops->send(race);
		local_bh_enable();
		if (ret)
			race_fail(race, ret);
		else
			race->sent++;
		cond_resched();
	}
	/* The last ones. */
	while (READ_ONCE(race->taken) < race->sent && !READ_ONCE(race->error)) {
		if (!wait_event_idle_timeout(race->credit,
					     READ_ONCE(race->taken) ==
					     race->sent || race->error,
					     msecs_to_jiffies(race->stall_ms))) {
			WRITE_ONCE(race->kicked, true);
			wake_up(&race->wait);
		}
	}
	WRITE_ONCE(race->sender_done, true);
	wake_up(&race->wait);
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static struct task_struct *start(struct race *race, int (*thread)(void *),
				 unsigned int cpu, const char *name)
{
	struct task_struct *task;

	task = kthread_create_on_cpu(thread, race, cpu, name);
	if (!IS_ERR(task))
		wake_up_process(task);
	return task;
}

/**
 * race_run() - runs both threads to the end
 * @race: set up; has the figures afterwards
 *
 * Return: 0 or the first errno of either side.
 */
int race_run(struct race *race)
{
	unsigned int cpu0 = cpumask_first(cpu_online_mask);
	unsigned int cpu1 = cpumask_next(cpu0, cpu_online_mask);
	struct task_struct *consumer, *sender;

	if (cpu1 >= nr_cpu_ids)
		return -ENODEV;
	init_waitqueue_head(&race->wait);
	init_waitqueue_head(&race->credit);

	consumer = start(race, race_consumer, cpu1, "race_consumer/%u");
	if (IS_ERR(consumer))
		return PTR_ERR(consumer);
	sender = start(race, race_sender, cpu0, "race_sender/%u");
	if (IS_ERR(sender)) {
		race_fail(race, PTR_ERR(sender));
		WRITE_ONCE(race->sender_done, true);
		wake_up(&race->wait);
		kthread_stop(consumer);
		return race->error;
	}

	while (!READ_ONCE(race->sender_done))
		msleep(20);
	kthread_stop(sender);
	kthread_stop(consumer);
	return race->error;
}

/*
 * race [form=notify|single|raw] [merged=0] [count=] [window=1] [gap=200]
 * [stop=0]: the raw form arms without looking, and must lose.
 */
void vmtest_race(struct vmtest *t)
{
	struct race *race;
	char form[16];
	bool raw;

	vmtest_arg_text(t, "form", "notify", form, sizeof(form));
	raw = !strcmp(form, "raw");
	race = kzalloc(sizeof(*race), GFP_KERNEL);
	if (!race)
		return;
	race->count = vmtest_arg(t, "count", 10000);
	race->window = min_t(u32, vmtest_arg(t, "window", 1), RACE_WINDOW_MAX);
	race->gap_us = vmtest_arg(t, "gap", 200);
	race->stall_ms = vmtest_arg(t, "stall", raw ? 200 : 5000);
	race->stop_after = vmtest_arg(t, "stop", 0);

	if (raw)
		race_raw(t, race);
	else
		race_kdapl(t, race, !strcmp(form, "single"),
			   vmtest_arg(t, "merged", 0));
	vmtest_say(t, "race %s: sent %llu taken %llu wakes %llu busy %llu racing %llu lost %llu",
		   form, race->sent, race->taken,
		   (u64)atomic64_read(&race->wakes), race->busy,
		   (u64)atomic64_read(&race->racing), race->lost);
	kfree(race);
}
