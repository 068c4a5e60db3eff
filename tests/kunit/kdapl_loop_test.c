// SPDX-License-Identifier: GPL-2.0
/*
 * A closed loop with two CPUs: the producer completes one and waits until the
 * consumer, woken by an upcall, has counted it. A lost wakeup is a stall.
 *
 * cpus: 2
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "kit.h"
#include "kit_ways.h"

enum { LOOP_ROUNDS = 400 };

struct loop {
	struct dat_evd *evd;
	struct kit_upcall *up;
	enum dat_upcall_policy policy;
	wait_queue_head_t wake;
	atomic_t woken;
	atomic_t taken;
	atomic_t busy;
	bool stop;
	struct completion done;
};

static void loop_wake(struct kit_upcall *up, const struct dat_event *event,
		      bool more)
{
	struct loop *loop = up->priv;

	if (event)
		atomic_inc(&loop->taken);
	dat_evd_modify_upcall(loop->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
			      0);
	atomic_set(&loop->woken, 1);
	wake_up(&loop->wake);
}

static int loop_consumer(void *data)
{
	struct loop *loop = data;

	while (!READ_ONCE(loop->stop)) {
		atomic_add(kit_drain(loop->evd), &loop->taken);
		if (dat_evd_modify_upcall(loop->evd, loop->policy,
					  &loop->up->object,
					  DAT_UPCALL_INVOC_NEW) == -EBUSY) {
			atomic_inc(&loop->busy);
			continue;
		}
		wait_event(loop->wake, READ_ONCE(loop->stop) ||
			   atomic_xchg(&loop->woken, 0));
	}
	kthread_complete_and_exit(&loop->done, 0);
}

static void kdapl_loop_closed(struct kunit *test)
{
	const struct kit_way *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct task_struct *task;
	struct kit_source source;
	struct loop *loop;
	bool stalled = false;
	unsigned long end;
	int i, notify;

	loop = kunit_kzalloc(test, sizeof(*loop), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, loop);
	loop->evd = kit_evd(test, 16, c->flags);
	loop->up = up;
	loop->policy = c->policy;
	init_waitqueue_head(&loop->wake);
	init_completion(&loop->done);
	up->action = loop_wake;
	up->priv = loop;
	kit_source(test, &source, loop->evd, 8);

	task = kthread_create(loop_consumer, loop, "consumer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, num_online_cpus() - 1);
	wake_up_process(task);
	for (i = 1; i <= LOOP_ROUNDS && !stalled; i++) {
		notify = i % FAKE_REPORTS_EMPTY;
		WRITE_ONCE(fake_script.notify, notify);
		kit_source_post(test, &source, 1);
		udelay(i % 7);
		kit_source_complete(&source);
		end = jiffies + 10 * HZ;
		while (atomic_read(&loop->taken) < i) {
			cond_resched();
			if (time_after(jiffies, end)) {
				stalled = true;
				break;
			}
		}
	}
	WRITE_ONCE(loop->stop, true);
	wake_up(&loop->wake);
	KUNIT_EXPECT_FALSE_MSG(test, stalled, "stalled at completion %d", i);
	KUNIT_ASSERT_TRUE(test, !!wait_for_completion_timeout(&loop->done,
							      KIT_PATIENCE));
	KUNIT_EXPECT_EQ(test, atomic_read(&loop->taken), (int)LOOP_ROUNDS);
	KUNIT_EXPECT_EQ(test, loop->evd->stats.rescued, 0ULL);
	KUNIT_EXPECT_LE(test, atomic_read(&up->overlap),
			c->policy == DAT_UPCALL_MANY ?
			(int)num_online_cpus() : 1);
}

static struct kunit_case kdapl_loop_cases[] = {
	KUNIT_CASE_PARAM(kdapl_loop_closed, kit_way_gen_params),
	{}
};

static struct kunit_suite kdapl_loop_suite = {
	.name = "kdapl_loop",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_loop_cases,
};

kunit_test_suite(kdapl_loop_suite);

MODULE_DESCRIPTION("Suite: a producer and a consumer that wait for each other");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
