// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: event dispatchers: creation, query, software events, free
 *
 * An EVD is a ring of pending events (ring.c) over a CQ, if it carries DTO or
 * bind completions (cq.c), with upcalls (upcall.c). All of it is guarded by one
 * spinlock that any context may take.
 *
 * Teardown: the handle is marked freed, so that nobody becomes a feeder any
 * more; upcalls are torn down; queued connection requests are refused; the CQ is
 * destroyed; the last reference hands the memory to a work item that waits for
 * late callbacks.
 */
#include <linux/log2.h>
#include <linux/numa.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "compat.h"
#include "cr.h"
#include "evd.h"
#include "fault.h"
#include "fence.h"
#include "ia.h"
#include "kunit.h"
#include "main.h"
#include "trace.h"
#include "upcall.h"
#include "watchdog.h"

static void evd_reap(struct work_struct *work)
{
	struct dat_evd *evd = container_of(work, struct dat_evd, reap);
	struct dat_ia *ia = evd->obj.ia;

	kdapl_upcall_quiesce(evd);
	kfree(evd->workers);
	kvfree(evd->ring);
	kfree(evd);
	kdapl_obj_put(&ia->obj);
}

static void evd_release(struct kdapl_obj *obj)
{
	struct dat_evd *evd = container_of(obj, struct dat_evd, obj);

	/* For evd_reap(): the runs that it waits for print the IA's name. */
	kdapl_obj_get(&obj->ia->obj);
	queue_work(kdapl_wq, &evd->reap);
}

static int evd_check_flags(enum dat_evd_flags flags)
{
	if (flags & ~KDAPL_EVD_ALL_FLAGS)
		return -EINVAL;
	if (!(flags & ~DAT_EVD_UPCALL_THREAD_FLAG))
		return -EINVAL;
	return 0;
}

static int evd_check_policy(enum dat_upcall_policy policy,
			    const struct dat_upcall_object *upcall)
{
	switch (policy) {
	case DAT_UPCALL_DISABLE:
		return 0;
	case DAT_UPCALL_SINGLE_INSTANCE:
	case DAT_UPCALL_NOTIFY:
	case DAT_UPCALL_MANY:
		return upcall && upcall->upcall_func ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

/**
 * kdapl_evd_create - make an EVD
 * @ia: its IA, whose gate the caller is in
 * @min_qlen: events that must fit, at least 1
 * @policy: checked by the caller
 * @upcall: copied; may be NULL with DAT_UPCALL_DISABLE
 * @flags: checked by the caller
 * @hidden: kdapl's own: on no list
 * @evd: the EVD
 *
 * Context: process; sleeps.
 * Return: 0, -ENOMEM, or the errno of the provider.
 */
int kdapl_evd_create(struct dat_ia *ia, int min_qlen,
		     enum dat_upcall_policy policy,
		     const struct dat_upcall_object *upcall,
		     enum dat_evd_flags flags, bool hidden,
		     struct dat_evd **evd)
{
	u32 qlen = roundup_pow_of_two(min_qlen);
	struct dat_evd *new;
	int ret;

	might_sleep();

	new = kdapl_fault_zalloc(sizeof(*new));
	if (!new)
		return -ENOMEM;

	kdapl_obj_init(&new->obj, ia, DAT_HANDLE_TYPE_EVD, evd_release);
	spin_lock_init(&new->lock);
	INIT_WORK(&new->reap, evd_reap);
	new->flags = flags;
	new->hidden = hidden;
	new->softirq = !(flags & ~KDAPL_EVD_CQ_STREAMS);
	new->comp_vector = ~0U;
	new->numa_node = NUMA_NO_NODE;
	new->budget = KDAPL_EVD_BUDGET;
	new->shut = true;

	/* First, so that the release finds runners to wait for. */
	ret = kdapl_upcall_init(new);
	if (ret)
		goto out_put;

	ret = kdapl_ring_init(new, qlen);
	if (ret)
		goto out_put;

	if (flags & KDAPL_EVD_CQ_STREAMS) {
		ret = kdapl_cq_create(new, kdapl_evd_cqe(qlen), &new->cq);
		if (ret)
			goto out_put;
		new->cq_size = new->cq->cqe;
		new->shut = false;
		kdapl_watchdog_add(new);
	}

	if (upcall)
		new->upcall = *upcall;
	if (kdapl_evd_policy_on(policy)) {
		ret = dat_evd_modify_upcall(new, policy, DAT_UPCALL_SAME,
					    DAT_UPCALL_INVOC_ANY);
		if (ret)
			goto out_destroy_cq;
		new->used = false;
	}
	if (!hidden)
		kdapl_obj_link(&new->obj);
	*evd = new;
	return 0;

out_destroy_cq:
	kdapl_evd_remove_device(new);
out_put:
	kdapl_obj_put(&new->obj);
	return ret;
}

/**
 * dat_evd_kcreate - create an event dispatcher
 * @ia: the IA
 * @evd_min_qlen: events that must fit, at least 1; dat_evd_query() tells how
 *	many do
 * @policy: any but %DAT_UPCALL_TEARDOWN; an enabling one behaves as with
 *	%DAT_UPCALL_INVOC_ANY
 * @upcall: what to call, copied; may be NULL with %DAT_UPCALL_DISABLE
 * @flags: the streams that it may carry, all combinations being allowed, and
 *	%DAT_EVD_UPCALL_THREAD_FLAG
 * @evd: OUT: the EVD
 *
 * Upcalls of an EVD that carries DTO and bind completions only run in softirq,
 * all others, and those with %DAT_EVD_UPCALL_THREAD_FLAG, in process context.
 * Nothing is allocated for events afterwards. Origin: kDAPL 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, a length below 1, unknown flags or none, a bad
 * policy, or an enabling one without a function; -ENOMEM, also if the device
 * has no CQ of that length; -ENODEV: the device is gone; else the errno of the
 * provider.
 */
int dat_evd_kcreate(struct dat_ia *ia, int evd_min_qlen,
		    enum dat_upcall_policy policy,
		    const struct dat_upcall_object *upcall,
		    enum dat_evd_flags flags, struct dat_evd **evd)
{
	int ret;

	might_sleep();

	if (!ia || !evd || evd_min_qlen < 1)
		return -EINVAL;
	ret = evd_check_flags(flags);
	if (ret)
		return ret;
	ret = evd_check_policy(policy, upcall);
	if (ret)
		return ret;
	if (evd_min_qlen > ia->dev_attr.max_cqe)
		return -ENOMEM;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	ret = kdapl_evd_create(ia, evd_min_qlen, policy, upcall, flags, false,
			       evd);
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_kcreate);

/**
 * dat_evd_query - parameters of an EVD
 * @evd: the EVD
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_evd_query(struct dat_evd *evd, enum dat_evd_param_mask mask,
		  struct dat_evd_param *param)
{
	unsigned long flags;

	if (!evd || mask & ~DAT_EVD_FIELD_ALL || (mask && !param))
		return -EINVAL;

	spin_lock_irqsave(&evd->lock, flags);
	if (mask & DAT_EVD_FIELD_IA_HANDLE)
		param->ia_handle = evd->obj.ia;
	if (mask & DAT_EVD_FIELD_EVD_QLEN)
		param->evd_qlen = evd->qlen;
	if (mask & DAT_EVD_FIELD_UPCALL_POLICY)
		param->upcall_policy = evd->policy;
	if (mask & DAT_EVD_FIELD_UPCALL)
		param->upcall = evd->upcall;
	if (mask & DAT_EVD_FIELD_EVD_FLAGS)
		param->evd_flags = evd->flags;
	spin_unlock_irqrestore(&evd->lock, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_evd_query);

/**
 * dat_evd_post_se - post a software event
 * @evd: the EVD, with the software stream
 * @event: copied; its number must be %DAT_SOFTWARE_EVENT
 *
 * Software events use slots that nothing else has reserved. Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0; -ENOBUFS: no unreserved slot is free, and nothing overflowed;
 * -EINVAL: NULL, another event number, or no software stream; -ENODEV: the
 * device is gone.
 */
int dat_evd_post_se(struct dat_evd *evd, const struct dat_event *event)
{
	static const struct kdapl_post post = {
		.kind = KDAPL_SLOT_FREE,
		.notify = true,
	};

	if (!evd || !event || event->event_number != DAT_SOFTWARE_EVENT ||
	    !(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return -EINVAL;
	if (READ_ONCE(evd->orphan))
		return -ENODEV;
	return kdapl_evd_post(evd, event, &post);
}
EXPORT_SYMBOL_GPL(dat_evd_post_se);

/**
 * dat_evd_free - free an EVD
 * @evd: the EVD; queued events are lost
 *
 * When it returns no upcall runs, and none will. Connection requests whose event
 * was queued are refused as by dat_cr_reject() without private data, since nobody
 * else could answer them. Origin: DAT 2.0, but for these.
 *
 * Context: process; sleeps until running upcalls have returned.
 * Return: 0; -EINVAL: NULL; -EBUSY: an EP, a service point or the IA still
 * feeds it; -EDEADLK: from inside an upcall of @evd.
 */
int dat_evd_free(struct dat_evd *evd)
{
	bool busy;

	if (!evd)
		return -EINVAL;
	if (kdapl_upcall_inside(evd))
		return -EDEADLK;

	might_sleep();

	spin_lock_irq(&evd->lock);
	busy = evd->feeders || evd->freed;
	if (!busy)
		evd->freed = true;
	spin_unlock_irq(&evd->lock);
	if (busy)
		return -EBUSY;

	kdapl_evd_destroy(evd);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_evd_free);

void kdapl_evd_destroy(struct dat_evd *evd)
{
	struct dat_ia *ia = evd->obj.ia;

	might_sleep();

	WARN_ON_ONCE(kdapl_upcall_teardown(evd));
	/* Without feeders there will not be more of them. */
	if (evd->flags & DAT_EVD_CR_FLAG)
		kdapl_cr_refuse_queued(evd);
	/*
	 * The gate keeps a device removal from finishing under our destroy;
	 * if it is shut, the removal takes the CQ and we wait for it.
	 */
	if (!kdapl_ia_enter(ia)) {
		kdapl_evd_remove_device(evd);
		kdapl_ia_leave(ia);
	} else {
		wait_for_completion(&ia->removed);
	}
	/* What names it to the consumer of the async EVD, queued or to come. */
	if (cancel_work_sync(&evd->overflow))
		kdapl_obj_put(&evd->obj);
	if (ia->async_evd)
		kdapl_evd_purge(ia->async_evd, evd);
	kdapl_obj_unlink(&evd->obj);
	kdapl_obj_put(&evd->obj);
}

void kdapl_evd_remove_device(struct dat_evd *evd)
{
	struct ib_cq *cq;

	spin_lock_irq(&evd->lock);
	cq = evd->cq;
	evd->cq = NULL;
	evd->shut = true;
	evd->orphan = true;
	spin_unlock_irq(&evd->lock);

	if (!cq)
		return;
	kdapl_watchdog_del(evd);
	/* No QP uses it any more, but a tasklet of its own may be pending. */
	kdapl_fence_tasklets();
	ib_destroy_cq(cq);
}
