// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "threads.h"

enum {
	/* A workqueue keeps a thread that it does not need for much longer. */
	THREADS_LOOK_US = 5000,
};

static u32 threads_count(void)
{
	struct task_struct *process, *thread;
	u32 n = 0;

	rcu_read_lock();
	for_each_process_thread(process, thread)
		n++;
	rcu_read_unlock();
	return n;
}

static int threads_look(void *data)
{
	struct threads *t = data;

	while (!kthread_should_stop()) {
		WRITE_ONCE(t->most, max(t->most, threads_count()));
		usleep_range(THREADS_LOOK_US, 2 * THREADS_LOOK_US);
	}
	return 0;
}

int threads_start(struct threads *t)
{
	struct task_struct *task;

	task = kthread_create(threads_look, t, "vmtest_threads");
	if (IS_ERR(task))
		return PTR_ERR(task);
	t->before = threads_count();
	t->most = t->before;
	t->task = task;
	wake_up_process(task);
	return 0;
}

/* The first look behind it may still be one from before. */
void threads_reset(struct threads *t)
{
	WRITE_ONCE(t->most, threads_count());
}

void threads_stop(struct threads *t)
{
	if (t->task)
		kthread_stop(t->task);
	t->task = NULL;
}
