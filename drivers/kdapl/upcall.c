// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: upcalls: triggers and the runs that call the consumer; arm.c arms
 *
 * The promise: an event that may notify and that nobody dequeues has an upcall
 * coming, or its consumer was told -EBUSY. tests/model/arm.pml checks it.
 *
 * Triggers. The completion handler takes no lock and calls nobody, because
 * providers call it under theirs and siw on the stack of the poster: it
 * schedules a run, in softirq through irq_poll or in process context through a
 * work item. irq_poll drops a schedule while its SCHED bit is held, so a run
 * gives the bit back before it looks at anything: a trigger during the run
 * schedules another, which finds a runner and leaves it to that one's last look.
 *
 * Runs. A run that finds the policy on becomes a runner. It looks at the queue
 * under the lock, drops the lock for each upcall, and looks again after it, since
 * the upcall, or a thread that it woke, may have disabled, drained and re-enabled,
 * and new events may have come. It leaves only
 *
 *	with the policy off,
 *	armed by steps 2 and 3 of the protocol with nothing to deliver, or
 *	while other runners are inside upcalls of a policy that allows only one:
 *	the last of them looks again.
 *
 * A runner out of budget reschedules itself and stays counted (yielded): the
 * next run, whoever scheduled it, takes over.
 *
 * Lifetime. A late callback, or a run behind the last one, may touch the EVD
 * after the consumer freed it: they find the policy off. The memory goes when
 * kdapl_upcall_quiesce() has seen all of them off.
 */
#include <linux/cpumask.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "arm.h"
#include "cq.h"
#include "evd.h"
#include "ia.h"
#include "trace.h"
#include "upcall.h"

static struct workqueue_struct *upcall_wq;

/* A worker of a MANY policy that is not inside an upcall, else the first. */
static struct kdapl_evd_worker *upcall_pick_worker(struct dat_evd *evd)
{
	unsigned int i;

	if (READ_ONCE(evd->policy) == DAT_UPCALL_MANY)
		for (i = 0; i < evd->nr_workers; i++)
			if (!READ_ONCE(evd->workers[i].task))
				return &evd->workers[i];
	return &evd->workers[0];
}

/**
 * kdapl_upcall_schedule - have a run look at the EVD
 * @evd: the EVD, kept alive by the caller or by RCU
 *
 * Context: any.
 */
void kdapl_upcall_schedule(struct dat_evd *evd)
{
	if (evd->softirq)
		irq_poll_sched(&evd->iop);
	else
		queue_work(upcall_wq, &upcall_pick_worker(evd)->work);
}

/**
 * kdapl_upcall_trigger - something happened that may be due for an upcall
 * @evd: the EVD, kept alive by the caller or by RCU
 *
 * Context: any.
 */
void kdapl_upcall_trigger(struct dat_evd *evd)
{
	/* For the watchdog, which has its doubts about providers. */
	WRITE_ONCE(evd->called, true);
	kdapl_upcall_schedule(evd);
}

/* The completion handler of every CQ. */
void kdapl_upcall_comp_handler(struct ib_cq *cq, void *context)
{
	kdapl_upcall_trigger(context);
}

/*
 * Whether this trigger makes a runner. If not: spurious without a policy, else
 * the last look of the runner that there is finds what it is about.
 */
static bool upcall_enter_locked(struct dat_evd *evd)
{
	u32 most = 1;

	if (evd->yielded) {
		evd->yielded = false;
		return true;
	}
	if (!kdapl_evd_policy_on(evd->policy)) {
		evd->stats.spurious++;
		return false;
	}
	if (evd->policy == DAT_UPCALL_MANY)
		most = min_t(u32, num_online_cpus(),
			     evd->softirq ? U32_MAX : evd->nr_workers);
	if (evd->runners >= most)
		return false;
	evd->runners++;
	return true;
}

/* What a runner does next. */
enum upcall_next {
	UPCALL_CALL,
	UPCALL_LEAVE,
	UPCALL_YIELD,
};

/* One look at the queue. */
static enum upcall_next upcall_look_locked(struct dat_evd *evd)
{
	u32 absorbed;
	int ret;

	if (!kdapl_evd_policy_on(evd->policy))
		return UPCALL_LEAVE;
	if (evd->policy != DAT_UPCALL_MANY && evd->runners > 1)
		return UPCALL_LEAVE;

	/* What a dequeue or another look has left behind comes first. */
	absorbed = kdapl_cq_settle_locked(evd);
	if (!kdapl_upcall_due(evd))
		absorbed += kdapl_cq_poll_locked(evd);
	if (kdapl_upcall_due(evd))
		return UPCALL_CALL;

	/*
	 * Armed or not: the callback that brought us here may have used up the
	 * hardware's notify (rxe clears its flag outside its lock).
	 */
	evd->any = false;
	ret = kdapl_arm_locked(evd, absorbed, false);
	switch (ret) {
	case 0:
		return UPCALL_LEAVE;
	case -EBUSY:
		return UPCALL_CALL;
	case -EAGAIN:
		return UPCALL_YIELD;
	default:
		/*
		 * The provider cannot arm, so it is about to report a fatal
		 * error. Events that do not come from the CQ still notify.
		 */
		pr_err_ratelimited("%s: evd %u: ib_req_notify_cq failed: %d\n",
				   evd->obj.ia->name, evd->obj.id, ret);
		evd->armed = true;
		return UPCALL_LEAVE;
	}
}

/* What one upcall is made of, taken under the lock. */
struct upcall_args {
	struct dat_upcall_object upcall;
	struct dat_event event;
	bool has_event;
	bool more;
};

static noinline void upcall_trace_locked(const struct dat_evd *evd, bool more)
{
	trace_kdapl_evd_upcall(evd->obj.id, evd->generation, more);
}

/* One-shot: off before the call, nothing dequeued. */
static __always_inline void upcall_notify_locked(struct dat_evd *evd, bool more)
{
	evd->armed = false;
	evd->any = false;
	WRITE_ONCE(evd->policy, DAT_UPCALL_DISABLE);
	evd->generation++;
	evd->stats.upcalls++;
	if (trace_kdapl_evd_upcall_enabled())
		upcall_trace_locked(evd, more);
}

/* Whether the completions behind the first one fetched make an event. */
static noinline bool upcall_more_locked(const struct dat_evd *evd)
{
	u32 i;

	for (i = 1; i < evd->wc_left; i++)
		if (kdapl_cq_makes_event(&evd->wc_next[i]))
			return true;
	return false;
}

/*
 * Takes what the next upcall needs and puts the software state where the policy
 * wants it. Returns whether another runner could find work.
 */
static bool upcall_prepare_locked(struct dat_evd *evd, struct upcall_args *args)
{
	bool help = false;

	args->upcall = evd->upcall;
	args->has_event = evd->policy != DAT_UPCALL_NOTIFY;
	if (!args->has_event) {
		args->more = evd->live > 1;
		upcall_notify_locked(evd, args->more);
		return false;
	}

	evd->armed = false;
	kdapl_ring_take_locked(evd, &args->event, 1);
	/* more_events tells the truth, so the CQ is asked, too. */
	if (!evd->live)
		kdapl_cq_poll_locked(evd);
	args->more = evd->live;
	if (evd->policy == DAT_UPCALL_MANY)
		help = kdapl_upcall_due(evd) || kdapl_arm_locked(evd, 0, false);
	evd->stats.upcalls++;
	trace_kdapl_evd_upcall(evd->obj.id, evd->generation, args->more);
	return help;
}

/* Only a teardown waits for the last runner, and it has said so before it did. */
static __always_inline void upcall_leave_locked(struct dat_evd *evd)
{
	if (!--evd->runners && unlikely(evd->torn_down))
		wake_up_all(&evd->idle);
}

static void upcall_note(struct kdapl_evd_worker *worker, struct task_struct *task)
{
	if (worker)
		WRITE_ONCE(worker->task, task);
}

/* A runner: upcalls until it leaves or yields; their number. Unlocks. */
static noinline unsigned int upcall_loop(struct dat_evd *evd,
					 struct kdapl_evd_worker *worker,
					 unsigned int done)
	__releases(&evd->lock)
{
	struct upcall_args args;
	enum upcall_next next;
	bool again = false;
	bool help;

	for (;;) {
		next = upcall_look_locked(evd);
		if (next == UPCALL_CALL && done >= evd->budget)
			next = UPCALL_YIELD;
		if (next != UPCALL_CALL)
			break;

		help = upcall_prepare_locked(evd, &args);
		upcall_note(worker, current);
		spin_unlock_irq(&evd->lock);

		if (help)
			kdapl_upcall_trigger(evd);
		args.upcall.upcall_func(args.upcall.instance_data,
					args.has_event ? &args.event : NULL,
					args.more);
		done++;

		spin_lock_irq(&evd->lock);
		upcall_note(worker, NULL);
	}

	if (next == UPCALL_YIELD) {
		again = true;
		evd->stats.yields++;
		/* Runners of MANY are all alike: a new one will do. */
		if (evd->runners == 1) {
			evd->yielded = true;
			goto out_unlock;
		}
	}
	upcall_leave_locked(evd);
out_unlock:
	spin_unlock_irq(&evd->lock);
	if (again)
		kdapl_upcall_trigger(evd);
	return done;
}

/*
 * The look of a NOTIFY runner that is alone and has nothing in hand: true if the
 * first completion is going to make an event that may notify. What was fetched
 * stays as it is, for the consumer's dequeue to make events of.
 */
static __always_inline bool upcall_look_short_locked(struct dat_evd *evd)
{
	u32 n;

	if (unlikely(evd->policy != DAT_UPCALL_NOTIFY || evd->runners ||
		     evd->in_hand))
		return false;
	n = kdapl_cq_fetch_locked(evd);
	evd->wc_next = evd->wc;
	evd->wc_left = n;
	return n && kdapl_cq_plain(evd->wc, 0);
}

/*
 * One run, started by a trigger, in softirq (no @worker) or in process context;
 * the number of upcalls, at most the budget. tests/model/ has it by this name.
 */
static __always_inline unsigned int
kdapl_upcall_run(struct dat_evd *evd, struct kdapl_evd_worker *worker)
{
	struct dat_upcall_object upcall;
	bool more;

	spin_lock_irq(&evd->lock);
	if (likely(upcall_look_short_locked(evd))) {
		more = evd->wc_left > 1 && upcall_more_locked(evd);
		upcall_notify_locked(evd, more);
		upcall = evd->upcall;
		evd->runners = 1;
		upcall_note(worker, current);
		OPTIMIZER_HIDE_VAR(evd);
		spin_unlock_irq(&evd->lock);

		upcall.upcall_func(upcall.instance_data, NULL, more);

		OPTIMIZER_HIDE_VAR(evd);
		spin_lock_irq(&evd->lock);
		upcall_note(worker, NULL);
		/* Unless it was enabled again: the one-shot is over. */
		if (unlikely(evd->policy != DAT_UPCALL_DISABLE))
			return upcall_loop(evd, worker, 1);
		OPTIMIZER_HIDE_VAR(evd);
		upcall_leave_locked(evd);
		spin_unlock_irq(&evd->lock);
		return 1;
	}
	if (upcall_enter_locked(evd))
		return upcall_loop(evd, worker, 0);
	spin_unlock_irq(&evd->lock);
	return 0;
}

static int upcall_irq_poll(struct irq_poll *iop, int weight)
{
	struct dat_evd *evd = container_of(iop, struct dat_evd, iop);
	unsigned int done;

	/* First of all, so that no trigger is dropped from here on. */
	irq_poll_complete(iop);
	done = kdapl_upcall_run(evd, NULL);

	/* The full weight would tell irq_poll that @iop is still its own. */
	return min_t(int, done, weight - 1);
}

static void upcall_work(struct work_struct *work)
{
	struct kdapl_evd_worker *worker =
		container_of(work, struct kdapl_evd_worker, work);

	kdapl_upcall_run(worker->evd, worker);
}

/**
 * kdapl_upcall_init - give a new EVD its runners
 * @evd: the EVD, with @softirq set
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int kdapl_upcall_init(struct dat_evd *evd)
{
	unsigned int i;

	init_waitqueue_head(&evd->idle);
	if (evd->softirq) {
		/* The weight only has to exceed the budget. */
		irq_poll_init(&evd->iop, KDAPL_EVD_BUDGET + 1, upcall_irq_poll);
		return 0;
	}

	i = min_t(unsigned int, num_possible_cpus(), KDAPL_EVD_WORKERS);
	evd->workers = kcalloc(i, sizeof(*evd->workers), GFP_KERNEL);
	if (!evd->workers)
		return -ENOMEM;
	evd->nr_workers = i;
	for (i = 0; i < evd->nr_workers; i++) {
		evd->workers[i].evd = evd;
		INIT_WORK(&evd->workers[i].work, upcall_work);
	}
	return 0;
}

/**
 * kdapl_upcall_inside - whether the caller is an upcall of this EVD
 * @evd: the EVD
 *
 * Return: true also in softirq, whoever's upcall that is: what asks wants to
 * wait, and cannot there.
 */
bool kdapl_upcall_inside(struct dat_evd *evd)
{
	unsigned int i;

	if (!in_task())
		return true;
	for (i = 0; i < evd->nr_workers; i++)
		if (READ_ONCE(evd->workers[i].task) == current)
			return true;
	return false;
}

/**
 * kdapl_upcall_teardown - no upcall of this EVD, ever again
 * @evd: the EVD
 *
 * The flag is set in the section that disables: an enable between that and the
 * wait would otherwise let an upcall start behind our back.
 *
 * Context: process; sleeps until running upcalls have returned, a rescheduled
 * run included.
 * Return: 0, or -EDEADLK from inside an upcall of @evd, with nothing changed.
 */
int kdapl_upcall_teardown(struct dat_evd *evd)
{
	if (kdapl_upcall_inside(evd))
		return -EDEADLK;

	might_sleep();

	spin_lock_irq(&evd->lock);
	evd->torn_down = true;
	evd->shut = true;
	WRITE_ONCE(evd->policy, DAT_UPCALL_DISABLE);
	evd->armed = false;
	evd->any = false;
	evd->generation++;
	wait_event_lock_irq(evd->idle, !evd->runners, evd->lock);
	spin_unlock_irq(&evd->lock);
	return 0;
}

/**
 * kdapl_upcall_quiesce - wait for the last run that may touch the EVD
 * @evd: torn down, its CQ destroyed
 *
 * A callback that had begun before ib_destroy_cq() may still be on its way to
 * kdapl_upcall_trigger(): callbacks are atomic, so a grace period sees it off,
 * and what it scheduled is then cancelled. A run in softirq gives its SCHED bit
 * back at once and may go on behind irq_poll_disable(): the second grace period
 * sees that off. A worker that yielded before the policy went off may be about to
 * queue another one, one that was cancelled before it, too: so they are cancelled
 * twice. What runs in between finds the policy off, and queues nothing.
 *
 * Context: process; sleeps.
 */
void kdapl_upcall_quiesce(struct dat_evd *evd)
{
	unsigned int i;

	synchronize_rcu();
	if (evd->softirq) {
		irq_poll_disable(&evd->iop);
		synchronize_rcu();
	} else {
		for (i = 0; i < 2 * evd->nr_workers; i++)
			cancel_work_sync(&evd->workers[i % evd->nr_workers].work);
	}
}

int kdapl_upcall_module_init(void)
{
	upcall_wq = alloc_workqueue("kdapl_upcall", WQ_UNBOUND | WQ_MEM_RECLAIM,
				    WQ_MAX_ACTIVE);
	return upcall_wq ? 0 : -ENOMEM;
}

/*
 * Softirq runs may be in our text although their EVD is gone: the grace
 * periods of kdapl_upcall_quiesce() have seen them off.
 */
void kdapl_upcall_module_exit(void)
{
	destroy_workqueue(upcall_wq);
}
