/* SPDX-License-Identifier: GPL-2.0 */
/* How many threads the machine has, looked at all the time. */
#ifndef _VMTEST_THREADS_H
#define _VMTEST_THREADS_H

#include <linux/types.h>

struct task_struct;

/**
 * struct threads - a look at them every few milliseconds
 * @task: that looks; it counts itself
 * @before: how many there were when it began
 * @most: how many there were at most, since then or since threads_reset()
 */
struct threads {
	struct task_struct *task;
	u32 before;
	u32 most;
};

int threads_start(struct threads *t);
void threads_reset(struct threads *t);
/* Idempotent; also of one that was zeroed and never started. */
void threads_stop(struct threads *t);

#endif /* _VMTEST_THREADS_H */
