/* SPDX-License-Identifier: GPL-2.0 */
/* Who calls the consumer, when, and in which context. */
#ifndef _KDAPL_UPCALL_H
#define _KDAPL_UPCALL_H

#include "evd.h"

int kdapl_upcall_init(struct dat_evd *evd);
int kdapl_upcall_arm_locked(struct dat_evd *evd, bool strict, u32 absorbed);
unsigned int kdapl_upcall_run(struct dat_evd *evd,
			      struct kdapl_evd_worker *worker);
void kdapl_upcall_trigger(struct dat_evd *evd);
void kdapl_upcall_comp_handler(struct ib_cq *cq, void *context);
bool kdapl_upcall_inside(struct dat_evd *evd);
int kdapl_upcall_teardown(struct dat_evd *evd);
void kdapl_upcall_quiesce(struct dat_evd *evd);

int kdapl_upcall_module_init(void);
void kdapl_upcall_module_exit(void);

#endif /* _KDAPL_UPCALL_H */
