/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting for the tasklets of others. */
#ifndef _KDAPL_FENCE_H
#define _KDAPL_FENCE_H

/*
 * Waits for all tasklets that were scheduled before the call. To stand between
 * the last ib_destroy_qp() and the ib_destroy_cq() of its CQ. Sleeps.
 */
void kdapl_fence_tasklets(void);

#endif /* _KDAPL_FENCE_H */
