// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: waiting for the tasklets of others
 *
 * rxe completes through a tasklet of the CQ that ib_destroy_cq() does not wait
 * for, and tasklet_kill() wants the tasklet. What can be done from outside is to
 * put a tasklet of our own behind it, on every CPU, and wait until it has run.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "fence.h"

/* Guards the fence, of which there is one. Sleeps. */
static DEFINE_MUTEX(fence_lock);
/*
 * Set up at run time: the module loader relocates no addresses in per-CPU data.
 */
static DEFINE_PER_CPU(struct tasklet_struct, fence_tasklets);
static bool fence_ready;
static DECLARE_COMPLETION(fence_done);
static atomic_t fence_left;

static void fence_tasklet(struct tasklet_struct *tasklet)
{
	if (atomic_dec_and_test(&fence_left))
		complete(&fence_done);
}

static void fence_cpu(void *unused)
{
	/* Behind all that this CPU has pending: its list is first in first out. */
	tasklet_schedule(this_cpu_ptr(&fence_tasklets));
}

void kdapl_fence_tasklets(void)
{
	int round, cpu;

	might_sleep();

	mutex_lock(&fence_lock);
	if (!fence_ready) {
		for_each_possible_cpu(cpu)
			tasklet_setup(per_cpu_ptr(&fence_tasklets, cpu),
				      fence_tasklet);
		fence_ready = true;
	}
	/*
	 * A tasklet that another CPU runs at the moment is put to the end of
	 * the list again, behind ours: the second round waits for it.
	 */
	for (round = 0; round < 2; round++) {
		cpus_read_lock();
		reinit_completion(&fence_done);
		atomic_set(&fence_left, num_online_cpus());
		on_each_cpu(fence_cpu, NULL, true);
		wait_for_completion(&fence_done);
		cpus_read_unlock();
	}
	mutex_unlock(&fence_lock);
}
