/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Failures on demand: kdapl's own points of the kernel's fault injection, in
 * <debugfs>/kdapl/fail_*. Without CONFIG_FAULT_INJECTION nothing of it is compiled.
 */
#ifndef _KDAPL_FAULT_H
#define _KDAPL_FAULT_H

#include <linux/err.h>
#include <linux/slab.h>

enum kdapl_fault_point {
	KDAPL_FAULT_ALLOC,	/* memory for an object of kdapl */
	KDAPL_FAULT_CREATE,	/* a PD, CQ, QP, SRQ or MR */
	KDAPL_FAULT_MODIFY,	/* a QP on its way to RTS */
	KDAPL_FAULT_POST,	/* a work request */
	KDAPL_FAULT_POINTS,
};

#ifdef CONFIG_FAULT_INJECTION
/* -ENOMEM if it is this one's turn to fail, else 0. Any context. */
int kdapl_fault(enum kdapl_fault_point point);
void kdapl_fault_init(void);
/* For the suites: the @nth from now on fails, and no other; 0: none does. */
void kdapl_fault_set(enum kdapl_fault_point point, unsigned int nth);
/* Whether that has come to pass. */
bool kdapl_fault_hit(enum kdapl_fault_point point);
#else
static inline int kdapl_fault(enum kdapl_fault_point point)
{
	return 0;
}

static inline void kdapl_fault_init(void)
{
}
#endif

/* Zeroed memory for an object. */
static inline void *kdapl_fault_zalloc(size_t size)
{
	return kdapl_fault(KDAPL_FAULT_ALLOC) ? NULL : kzalloc(size, GFP_KERNEL);
}

#endif /* _KDAPL_FAULT_H */
