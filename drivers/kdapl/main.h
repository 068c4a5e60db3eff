/* SPDX-License-Identifier: GPL-2.0 */
/* What the module sets up once: see main.c. */
#ifndef _KDAPL_MAIN_H
#define _KDAPL_MAIN_H

#include <linux/types.h>

/* Of kdapl itself; dkms.conf has it too. */
#define KDAPL_VERSION_MAJOR	0
#define KDAPL_VERSION_MINOR	1

struct workqueue_struct;

/*
 * Unbound, WQ_MEM_RECLAIM: the works of EPs and service points. A work here
 * never waits for another one of it.
 */
extern struct workqueue_struct *kdapl_wq;
/*
 * The steps of an EP that may sleep for long: siw's rdma_connect() waits for TCP, and
 * iw_cm's destruction of an id for the peer. However many do, the other works run.
 */
extern struct workqueue_struct *kdapl_connect_wq;

/* Module parameters; the units are in the names. */
extern unsigned int kdapl_disconnect_timeout_ms;
extern unsigned int kdapl_drep_grace_ms;
extern unsigned int kdapl_flush_timeout_ms;
extern unsigned int kdapl_doubt_ms;
extern unsigned int kdapl_watchdog_ms;

#endif /* _KDAPL_MAIN_H */
