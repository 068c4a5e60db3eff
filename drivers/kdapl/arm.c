// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: arming: how a consumer that has drained its EVD goes to sleep
 *
 * "armed" says in software that the next event that may notify starts a run. It
 * is set in the same section of the EVD's lock as ib_req_notify_cq() is called,
 * and read under that lock only: the completion handler, which some providers
 * call before that returns, never looks at it. Lock and look together close the
 * race: whatever completed before the notify took hold is found by the poll
 * behind it, and whatever completes later makes a callback. The hardware may stay
 * armed when the software is not; such a callback finds nothing to do and is
 * counted.
 */
#include <rdma/ib_verbs.h>

#include <dat/kdat.h>

#include "arm.h"
#include "cq.h"
#include "evd.h"
#include "trace.h"
#include "upcall.h"

/* Step 2: never IB_CQ_SOLICITED, siw does not fire it, rxe does not leave it. */
static __always_inline int arm_notify_locked(struct dat_evd *evd)
{
	return ib_req_notify_cq(evd->cq, IB_CQ_NEXT_COMP |
					 IB_CQ_REPORT_MISSED_EVENTS);
}

/*
 * Step 3 and, as long as there is nothing to deliver, 2 and 3 again. The notify
 * has answered @ret, and the poll behind it has fetched @n.
 */
static noinline int arm_look_locked(struct dat_evd *evd, int ret, u32 n,
				    u32 absorbed, bool strict)
{
	unsigned int asked = 0;

	for (;;) {
		if (unlikely(ret < 0))
			return ret;
		if (n) {
			evd->stats.missed++;
			evd->wc_next = evd->wc;
			evd->wc_left = n;
			kdapl_cq_settle_locked(evd);
			if (strict ? evd->live : kdapl_upcall_due(evd))
				return -EBUSY;
			absorbed += n;
			if (absorbed >= KDAPL_EVD_BUDGET)
				return -EAGAIN;
		} else if (!ret) {
			evd->armed = true;
			return 0;
		} else if (++asked >= KDAPL_EVD_ASK_AGAIN) {
			/* bnxt_re does not arm when it answers > 0. */
			return -EAGAIN;
		}
		ret = arm_notify_locked(evd);
		/* Also if the answer is 0: mlx4 and qedr never report. */
		n = ret < 0 ? 0 : kdapl_cq_fetch_locked(evd);
	}
}

/**
 * kdapl_arm_locked - steps 2, 3 and 5 of the arming protocol
 * @evd: the EVD, locked, with nothing queued that would stop it, nothing fetched
 * @absorbed: completions already taken in this lock section
 * @strict: any event stops it (an enabling consumer), not only one that may
 *	notify (a runner)
 *
 * Return: 0: armed; -EBUSY: an event is queued; -EAGAIN: too many completions
 * without one, or a provider that reports completions and has none; else the
 * errno of ib_req_notify_cq(). @evd->armed changes only if it is 0.
 */
int kdapl_arm_locked(struct dat_evd *evd, u32 absorbed, bool strict)
{
	int ret;

	lockdep_assert_held(&evd->lock);

	if (!evd->cq) {
		evd->armed = true;
		return 0;
	}
	ret = arm_notify_locked(evd);
	return arm_look_locked(evd, ret,
			       ret < 0 ? 0 : kdapl_cq_fetch_locked(evd),
			       absorbed, strict);
}

/* Out of line, so that its calls cost nothing where they are not made. */
static noinline void arm_trace_locked(const struct dat_evd *evd)
{
	trace_kdapl_evd_arm(evd->obj.id, evd->policy);
}

static __always_inline void
arm_commit_locked(struct dat_evd *evd, enum dat_upcall_policy policy,
		  const struct dat_upcall_object *upcall)
{
	evd->used = true;
	WRITE_ONCE(evd->policy, policy);
	if (upcall)
		evd->upcall = *upcall;
	evd->generation++;
}

/* The policies that do not enable. */
static noinline int arm_disable(struct dat_evd *evd,
				enum dat_upcall_policy policy,
				const struct dat_upcall_object *upcall)
{
	unsigned long flags;

	if (policy == DAT_UPCALL_TEARDOWN)
		return kdapl_upcall_teardown(evd);
	if (policy != DAT_UPCALL_DISABLE)
		return -EINVAL;

	spin_lock_irqsave(&evd->lock, flags);
	evd->armed = false;
	evd->any = false;
	arm_commit_locked(evd, policy, upcall);
	spin_unlock_irqrestore(&evd->lock, flags);
	return 0;
}

static noinline int arm_busy(struct dat_evd *evd)
{
	atomic64_inc(&evd->stats.busy);
	trace_kdapl_evd_busy(evd->obj.id, READ_ONCE(evd->live));
	return -EBUSY;
}

/* The look at the queue has ended with @ret, not 0. 0: enable all the same. */
static int arm_anyhow_locked(struct dat_evd *evd, enum dat_upcall_flag flag,
			     int ret)
{
	if (ret == -EAGAIN)
		ret = -EBUSY;
	if (flag == DAT_UPCALL_INVOC_ANY && ret == -EBUSY) {
		/* With events, or with a look that is not over: a run follows. */
		evd->armed = true;
		kdapl_upcall_trigger(evd);
		return 0;
	}
	/*
	 * As it was. A policy that was on before keeps its promise for what this
	 * look has brought into the ring.
	 */
	if (kdapl_evd_policy_on(evd->policy))
		kdapl_upcall_trigger(evd);
	return ret;
}

/* The short way has come to the end of step 2, or 3, and not armed. */
static noinline int arm_rest_locked(struct dat_evd *evd,
				    enum dat_upcall_flag flag, int ret, u32 n)
{
	if (ret > 0)
		n = kdapl_cq_fetch_locked(evd);
	ret = arm_look_locked(evd, ret, n, 0, true);
	return ret ? arm_anyhow_locked(evd, flag, ret) : 0;
}

/* All steps, for an EVD with events or completions in hand, or without a CQ. */
static noinline int arm_long_locked(struct dat_evd *evd,
				    enum dat_upcall_flag flag)
{
	int ret;

	if (evd->torn_down)
		return -ESHUTDOWN;
	kdapl_cq_settle_one_locked(evd);
	/* In front of -ENODEV: an orphan's events are not forgotten. */
	if (evd->live && flag == DAT_UPCALL_INVOC_NEW)
		return -EBUSY;
	if (evd->orphan)
		return -ENODEV;
	ret = evd->live ? -EBUSY : kdapl_arm_locked(evd, 0, true);
	return ret ? arm_anyhow_locked(evd, flag, ret) : 0;
}

/* The end of an enable that has not gone the short way to @ret; unlocks. */
static noinline int arm_end(struct dat_evd *evd, enum dat_upcall_policy policy,
			    const struct dat_upcall_object *upcall, int ret,
			    unsigned long flags)
	__releases(&evd->lock)
{
	if (!ret) {
		/* Only INVOC_ANY has come here with events. */
		evd->any = evd->live;
		arm_commit_locked(evd, policy, upcall);
		arm_trace_locked(evd);
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	return ret == -EBUSY ? arm_busy(evd) : ret;
}

static noinline int arm_enable(struct dat_evd *evd,
			       enum dat_upcall_policy policy,
			       const struct dat_upcall_object *upcall,
			       enum dat_upcall_flag flag)
{
	unsigned long flags;
	int ret;
	u32 n;

	spin_lock_irqsave(&evd->lock, flags);
	OPTIMIZER_HIDE_VAR(evd);
	if (unlikely(!(upcall ? upcall : &evd->upcall)->upcall_func))
		return arm_end(evd, policy, upcall, -EINVAL, flags);
	if (unlikely(evd->in_hand))
		return arm_end(evd, policy, upcall, arm_long_locked(evd, flag),
			       flags);

	/* Nothing in the ring: step 1. */
	ret = arm_notify_locked(evd);
	if (unlikely(ret))
		return arm_end(evd, policy, upcall,
			       arm_rest_locked(evd, flag, ret, 0), flags);
	n = kdapl_cq_fetch_locked(evd);
	if (unlikely(n))
		return arm_end(evd, policy, upcall,
			       arm_rest_locked(evd, flag, 0, n), flags);

	OPTIMIZER_HIDE_VAR(evd);
	evd->armed = true;
	evd->any = false;
	arm_commit_locked(evd, policy, upcall);
	if (trace_kdapl_evd_arm_enabled())
		arm_trace_locked(evd);
	OPTIMIZER_HIDE_VAR(evd);
	spin_unlock_irqrestore(&evd->lock, flags);
	return 0;
}

/**
 * dat_evd_modify_upcall - enable, change, disable or tear down upcalls
 * @evd: the EVD
 * @policy: %DAT_UPCALL_DISABLE always succeeds and does not wait: an upcall
 *	whose event has left the queue may still start or finish.
 *	%DAT_UPCALL_TEARDOWN disables for ever and waits for running upcalls.
 *	The others enable.
 * @upcall: what to call from now on, copied; %DAT_UPCALL_SAME (NULL) keeps it
 * @flag: %DAT_UPCALL_INVOC_NEW: refuse to enable while any event is pending,
 *	so that the caller drains in the context that it already has;
 *	%DAT_UPCALL_INVOC_ANY: enable, and call at once, from kdapl's own
 *	context, if events are pending
 *
 * The rule that closes the race between the last dequeue and the enable: the
 * queue is looked at, the hardware armed, and the CQ looked at again, in one
 * section of the EVD's lock. Documentation/evd.rst draws the picture. Origin:
 * kDAPL 2.0, whose invocation flag is the fourth argument.
 *
 * Context: any, except that %DAT_UPCALL_TEARDOWN sleeps. May be called from
 * upcalls, also of @evd, but for the teardown.
 * Return: 0; -EBUSY: an event is pending (or, rarely, the provider reported
 * completions that make none): dequeue until -EAGAIN and try again, nothing
 * was changed; -EINVAL: NULL @evd, unknown policy or flag, or no function to
 * call; -ESHUTDOWN: torn down; -ENODEV: the device is gone; -EDEADLK: teardown
 * from inside an upcall of @evd, or in a context that cannot wait; else the
 * errno of the provider's notify call.
 */
int dat_evd_modify_upcall(struct dat_evd *evd, enum dat_upcall_policy policy,
			  const struct dat_upcall_object *upcall,
			  enum dat_upcall_flag flag)
{
	if (unlikely(!evd))
		return -EINVAL;
	if (flag != DAT_UPCALL_INVOC_NEW && flag != DAT_UPCALL_INVOC_ANY)
		return -EINVAL;
	if (policy != DAT_UPCALL_NOTIFY &&
	    policy != DAT_UPCALL_SINGLE_INSTANCE && policy != DAT_UPCALL_MANY)
		return arm_disable(evd, policy, upcall);

	/*
	 * Step 1 without the lock: -EBUSY promises nothing and changes nothing,
	 * so that an event was queued at some moment of this call is enough.
	 * That none is has to be seen under the lock.
	 */
	if (READ_ONCE(evd->live) && flag == DAT_UPCALL_INVOC_NEW &&
	    !READ_ONCE(evd->torn_down) &&
	    READ_ONCE((upcall ? upcall : &evd->upcall)->upcall_func))
		return arm_busy(evd);
	return arm_enable(evd, policy, upcall, flag);
}
EXPORT_SYMBOL_GPL(dat_evd_modify_upcall);
