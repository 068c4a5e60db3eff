// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: a look for lost wakeups
 *
 * The arming protocol loses none, if the provider keeps its word. Against one
 * that does not, every armed EVD is looked at once in a while: what is found is
 * delivered at once. It is called a rescue, and held against the device, only
 * if the provider's callback has not come by the next look either.
 */
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "evd.h"
#include "ia.h"
#include "kunit.h"
#include "main.h"
#include "upcall.h"
#include "watchdog.h"

/* Guards the list. Process context; outside every other lock of kdapl. */
static DEFINE_MUTEX(watchdog_lock);
static LIST_HEAD(watchdog_evds);

static void watchdog_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(watchdog_dwork, watchdog_work);

/* Armed, nobody at work, and yet there is something to hand over. */
static bool watchdog_find_locked(struct dat_evd *evd, bool called)
{
	if (!evd->armed || evd->runners || !kdapl_evd_policy_on(evd->policy))
		return false;
	kdapl_cq_settle_locked(evd);
	/*
	 * A dequeue or a refused enable may have moved a stranded completion
	 * into the ring. If there was a trigger lately, its run is on the way.
	 */
	if (kdapl_upcall_due(evd))
		return !called;
	kdapl_cq_poll_locked(evd);
	return kdapl_upcall_due(evd);
}

/**
 * kdapl_watchdog_look - one look at one EVD
 * @evd: the EVD
 *
 * Context: process; takes @evd's lock.
 */
void kdapl_watchdog_look(struct dat_evd *evd)
{
	struct dat_ia *ia = evd->obj.ia;
	bool called, rescued, found;

	spin_lock_irq(&evd->lock);
	called = READ_ONCE(evd->called);
	WRITE_ONCE(evd->called, false);
	rescued = evd->watched && !called;
	evd->stats.rescued += rescued;
	found = watchdog_find_locked(evd, called);
	evd->watched = found;
	spin_unlock_irq(&evd->lock);

	if (found)
		kdapl_upcall_schedule(evd);
	/* The counters of the EVDs have the rest. */
	if (rescued && !test_and_set_bit(KDAPL_IA_LOSES_WAKEUPS, &ia->flags))
		pr_warn("%s: evd %u: a completion came without a callback: its driver loses notifications\n",
			ia->name, evd->obj.id);
}

KDAPL_EXPORT_FOR_TEST(kdapl_watchdog_look);

static void watchdog_work(struct work_struct *work)
{
	struct dat_evd *evd;

	mutex_lock(&watchdog_lock);
	list_for_each_entry(evd, &watchdog_evds, watchdog_node)
		kdapl_watchdog_look(evd);
	mutex_unlock(&watchdog_lock);

	queue_delayed_work(system_unbound_wq, &watchdog_dwork,
			   msecs_to_jiffies(kdapl_watchdog_ms));
}

/* An EVD with a CQ: from its creation to the destruction of the CQ. Sleep. */
void kdapl_watchdog_add(struct dat_evd *evd)
{
	mutex_lock(&watchdog_lock);
	list_add_tail(&evd->watchdog_node, &watchdog_evds);
	mutex_unlock(&watchdog_lock);
}

void kdapl_watchdog_del(struct dat_evd *evd)
{
	mutex_lock(&watchdog_lock);
	list_del_init(&evd->watchdog_node);
	mutex_unlock(&watchdog_lock);
}

void kdapl_watchdog_init(void)
{
	if (kdapl_watchdog_ms)
		queue_delayed_work(system_unbound_wq, &watchdog_dwork,
				   msecs_to_jiffies(kdapl_watchdog_ms));
}

KDAPL_EXPORT_FOR_TEST(kdapl_watchdog_init);

void kdapl_watchdog_exit(void)
{
	cancel_delayed_work_sync(&watchdog_dwork);
}

KDAPL_EXPORT_FOR_TEST(kdapl_watchdog_exit);
