/* SPDX-License-Identifier: GPL-2.0 */
/* Who calls the consumer, when, and in which context. */
#ifndef _KDAPL_UPCALL_H
#define _KDAPL_UPCALL_H

#include "evd.h"

int kdapl_upcall_init(struct dat_evd *evd);
void kdapl_upcall_schedule(struct dat_evd *evd);
void kdapl_upcall_trigger(struct dat_evd *evd);
void kdapl_upcall_comp_handler(struct ib_cq *cq, void *context);
bool kdapl_upcall_inside(struct dat_evd *evd);
int kdapl_upcall_teardown(struct dat_evd *evd);
void kdapl_upcall_quiesce(struct dat_evd *evd);

/* Whether there is something to make an upcall for; under the EVD lock. */
static inline bool kdapl_upcall_due(const struct dat_evd *evd)
{
	return evd->notifying || (evd->any && evd->live);
}

int kdapl_upcall_module_init(void);
void kdapl_upcall_module_exit(void);

#endif /* _KDAPL_UPCALL_H */
