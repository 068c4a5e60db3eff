// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: kernel DAT 2.0 on the kernel's verbs and connection manager
 *
 * What the module sets up when it is loaded, in order, and takes down in the
 * reverse order.
 */
#include "main.h"

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "debugfs.h"
#include "fault.h"
#include "kunit.h"
#include "registry.h"
#include "upcall.h"
#include "watchdog.h"

struct workqueue_struct *kdapl_wq;

KDAPL_EXPORT_FOR_TEST(kdapl_wq);

struct workqueue_struct *kdapl_connect_wq;

unsigned int kdapl_disconnect_timeout_ms = 5000;
module_param_named(disconnect_timeout_ms, kdapl_disconnect_timeout_ms, uint,
		   0644);
MODULE_PARM_DESC(disconnect_timeout_ms,
		 "Milliseconds that a disconnect may take, from the call (default 5000)");

KDAPL_EXPORT_FOR_TEST(kdapl_disconnect_timeout_ms);

unsigned int kdapl_drep_grace_ms = 500;
module_param_named(drep_grace_ms, kdapl_drep_grace_ms, uint, 0644);
MODULE_PARM_DESC(drep_grace_ms,
		 "Milliseconds that posted requests may take once the peer disconnects (default 500)");

KDAPL_EXPORT_FOR_TEST(kdapl_drep_grace_ms);

unsigned int kdapl_flush_timeout_ms = 1000;
module_param_named(flush_timeout_ms, kdapl_flush_timeout_ms, uint, 0644);
MODULE_PARM_DESC(flush_timeout_ms,
		 "Milliseconds that a device may take to flush a queue pair (default 1000)");

KDAPL_EXPORT_FOR_TEST(kdapl_flush_timeout_ms);

unsigned int kdapl_doubt_ms = 1000;
module_param_named(doubt_ms, kdapl_doubt_ms, uint, 0644);
MODULE_PARM_DESC(doubt_ms,
		 "Milliseconds that the CM may take to say why a queue pair flushes (default 1000)");

KDAPL_EXPORT_FOR_TEST(kdapl_doubt_ms);

unsigned int kdapl_watchdog_ms = 1000;
module_param_named(watchdog_ms, kdapl_watchdog_ms, uint, 0444);
MODULE_PARM_DESC(watchdog_ms,
		 "Milliseconds between two looks for lost wakeups, 0 for none (default 1000)");

KDAPL_EXPORT_FOR_TEST(kdapl_watchdog_ms);

static int __init main_init(void)
{
	int ret = -ENOMEM;

	kdapl_wq = alloc_workqueue("kdapl", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kdapl_wq)
		return ret;
	kdapl_connect_wq = alloc_workqueue("kdapl_connect",
					   WQ_UNBOUND | WQ_MEM_RECLAIM,
					   WQ_UNBOUND_MAX_ACTIVE);
	if (!kdapl_connect_wq)
		goto out_wq;

	kdapl_debugfs_init();
	kdapl_fault_init();

	ret = kdapl_upcall_module_init();
	if (ret)
		goto out_debugfs;

	ret = kdapl_registry_init();
	if (ret)
		goto out_upcall;
	kdapl_watchdog_init();
	return 0;

out_upcall:
	kdapl_upcall_module_exit();
out_debugfs:
	kdapl_debugfs_exit();
	destroy_workqueue(kdapl_connect_wq);
out_wq:
	destroy_workqueue(kdapl_wq);
	return ret;
}

/*
 * No IA is open and no consumer is loaded, so there are no new events; what is
 * left are the last steps of objects that are gone: works that free them, and
 * RCU callbacks that those queue.
 */
static void __exit main_exit(void)
{
	kdapl_watchdog_exit();
	kdapl_registry_exit();
	/* The works that free EVDs wait for runs of the other queue. */
	flush_workqueue(kdapl_wq);
	kdapl_upcall_module_exit();
	kdapl_debugfs_exit();
	destroy_workqueue(kdapl_connect_wq);
	destroy_workqueue(kdapl_wq);
	rcu_barrier();
}

module_init(main_init);
module_exit(main_exit);

MODULE_DESCRIPTION("Kernel DAT 2.0 on InfiniBand verbs");
MODULE_LICENSE("GPL");
