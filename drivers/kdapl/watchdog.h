/* SPDX-License-Identifier: GPL-2.0 */
/* The look for lost wakeups. */
#ifndef _KDAPL_WATCHDOG_H
#define _KDAPL_WATCHDOG_H

struct dat_evd;

void kdapl_watchdog_look(struct dat_evd *evd);
void kdapl_watchdog_add(struct dat_evd *evd);
void kdapl_watchdog_del(struct dat_evd *evd);

void kdapl_watchdog_init(void);
void kdapl_watchdog_exit(void);

#endif /* _KDAPL_WATCHDOG_H */
