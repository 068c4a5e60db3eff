// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: arming: how a consumer that has drained its EVD goes to sleep
 *
 * "armed" says in software that the next event that may notify starts
 * a run. It is set before ib_req_notify_cq(), since some providers call back
 * before that returns, and lock and look together close the rest: whatever
 * completed before the notify took hold is found by the poll behind it, and
 * whatever completes later makes a callback. The hardware may stay armed when
 * the software is not; such a callback finds nothing to do and is counted.
 */
#include <rdma/ib_verbs.h>

#include <dat/kdat.h>

#include "arm.h"
#include "evd.h"
#include "trace.h"
#include "upcall.h"

/**
 * kdapl_arm_locked - steps 2, 3 and 5 of the arming protocol
 * @evd: the EVD, locked, with nothing queued that would stop it
 * @strict: any event stops it (an enabling consumer), not only one that may
 *	notify (a runner)
 * @absorbed: completions already taken in this lock section
 *
 * Return: 0: armed; -EBUSY: an event is queued; -EAGAIN: too many completions
 * without one, or a provider that reports completions and has none; else the
 * errno of ib_req_notify_cq(). Armed only if 0.
 */
int kdapl_arm_locked(struct dat_evd *evd, bool strict, u32 absorbed)
{
	unsigned int asked = 0;
	int ret;
	u32 n;

	lockdep_assert_held(&evd->lock);

	for (;;) {
		evd->armed = true;
		if (!evd->cq)
			return 0;

		/*
		 * Never IB_CQ_SOLICITED: siw does not fire it, and rxe does
		 * not go back to it.
		 */
		ret = ib_req_notify_cq(evd->cq, IB_CQ_NEXT_COMP |
						IB_CQ_REPORT_MISSED_EVENTS);
		if (unlikely(ret < 0)) {
			evd->armed = false;
			return ret;
		}
		/* Also if the answer is 0: mlx4 and qedr never report. */
		n = kdapl_cq_poll_locked(evd);
		if (likely(!n)) {
			if (!ret)
				return 0;
			/* bnxt_re does not arm when it answers > 0. */
			if (++asked < KDAPL_EVD_ASK_AGAIN)
				continue;
			evd->armed = false;
			return -EAGAIN;
		}
		evd->armed = false;
		evd->stats.missed++;
		if (strict ? evd->live : kdapl_upcall_due(evd))
			return -EBUSY;
		absorbed += n;
		if (absorbed >= KDAPL_EVD_BUDGET)
			return -EAGAIN;
	}
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
	bool trigger = false;
	unsigned long flags;
	bool armed;
	int ret;

	if (!evd)
		return -EINVAL;
	if (flag != DAT_UPCALL_INVOC_NEW && flag != DAT_UPCALL_INVOC_ANY)
		return -EINVAL;

	switch (policy) {
	case DAT_UPCALL_TEARDOWN:
		return kdapl_upcall_teardown(evd);
	case DAT_UPCALL_DISABLE:
	case DAT_UPCALL_SINGLE_INSTANCE:
	case DAT_UPCALL_NOTIFY:
	case DAT_UPCALL_MANY:
		break;
	default:
		return -EINVAL;
	}

	spin_lock_irqsave(&evd->lock, flags);
	evd->used = true;
	if (policy == DAT_UPCALL_DISABLE) {
		evd->armed = false;
		evd->any = false;
		ret = 0;
		goto out_commit;
	}

	ret = -EINVAL;
	if (!(upcall ? upcall : &evd->upcall)->upcall_func)
		goto out_unlock;
	ret = -ESHUTDOWN;
	if (evd->torn_down)
		goto out_unlock;

	/* Step 1, in front of -ENODEV: an orphan's events are not forgotten. */
	ret = -EBUSY;
	if (evd->live && flag == DAT_UPCALL_INVOC_NEW)
		goto out_busy;
	ret = -ENODEV;
	if (evd->orphan)
		goto out_unlock;

	armed = evd->armed;
	ret = evd->live ? -EBUSY : kdapl_arm_locked(evd, true, 0);
	if (ret && (flag == DAT_UPCALL_INVOC_NEW ||
		    (ret != -EBUSY && ret != -EAGAIN))) {
		/*
		 * As it was. A policy that was on before keeps its promise for
		 * what this look has brought into the ring.
		 */
		evd->armed = armed;
		trigger = kdapl_evd_policy_on(evd->policy);
		if (ret == -EAGAIN)
			ret = -EBUSY;
		if (ret == -EBUSY)
			goto out_busy;
		goto out_unlock;
	}
	if (ret) {
		/* INVOC_ANY with events, or with a look that is not over. */
		evd->armed = true;
		trigger = true;
		ret = 0;
	}
	evd->any = flag == DAT_UPCALL_INVOC_ANY && evd->live;
	trace_kdapl_evd_arm(evd->obj.id, policy);
out_commit:
	evd->policy = policy;
	if (upcall)
		evd->upcall = *upcall;
	evd->generation++;
	spin_unlock_irqrestore(&evd->lock, flags);
	if (trigger)
		kdapl_upcall_trigger(evd);
	return ret;

out_busy:
	evd->stats.busy++;
	trace_kdapl_evd_busy(evd->obj.id, evd->live);
out_unlock:
	spin_unlock_irqrestore(&evd->lock, flags);
	if (trigger)
		kdapl_upcall_trigger(evd);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_modify_upcall);
