/* SPDX-License-Identifier: GPL-2.0 */
/* Registration of memory outside of any connection. */
#ifndef _KDAPL_REG_H
#define _KDAPL_REG_H

#include <rdma/ib_verbs.h>

#include "fault.h"

struct dat_ia;
struct dat_pz;

/* Whether a QP of the device can be connected to itself. */
bool kdapl_reg_has_loopback(const struct dat_ia *ia);
/*
 * An MR for fast registration of @pages pages. rxe of 6.1, having copied up to the
 * end of its last full map, reads a pointer to the next one: so there it gets one.
 */
static inline struct ib_mr *kdapl_reg_alloc(struct ib_pd *pd, u32 pages)
{
	int ret = kdapl_fault(KDAPL_FAULT_CREATE);

	if (ret)
		return ERR_PTR(ret);
	if (pd->device->ops.driver_id == RDMA_DRIVER_RXE)
		pages++;
	return ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, pages);
}

/*
 * Registers @mr, mapped, with @key and @access, and waits for it. Inside the
 * IA's gate; sleeps; takes pz->reg_lock.
 */
int kdapl_reg_mr(struct dat_pz *pz, struct ib_mr *mr, u32 key, int access);
/* Under pz->reg_lock. */
void kdapl_reg_destroy(struct dat_pz *pz);

#endif /* _KDAPL_REG_H */
