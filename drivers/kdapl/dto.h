/* SPDX-License-Identifier: GPL-2.0 */
/* What the posts of dto.c and of dto_ext.c share. */
#ifndef _KDAPL_DTO_H
#define _KDAPL_DTO_H

#include <linux/compiler.h>

#include <dat/dat.h>

#include "queue.h"

struct dat_ep;

#define KDAPL_DTO_REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
				 DAT_COMPLETION_UNSIGNALLED_FLAG | \
				 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define KDAPL_DTO_SEND_FLAGS	(KDAPL_DTO_REQUEST_FLAGS | \
				 DAT_COMPLETION_SOLICITED_WAIT_FLAG)

static inline bool kdapl_dto_has_credit(struct kdapl_queue *queue)
{
	/* Pairs with the release that gives a credit back. */
	return queue->posted - smp_load_acquire(&queue->released) <
	       queue->depth;
}

/* Takes a context that no QP will see. 1: to be flushed at once. */
int kdapl_dto_not_posted_locked(struct kdapl_queue *queue, struct kdapl_wr *wr);
/* siw refuses posts while the QP's state changes: true for a few more tries. */
bool kdapl_dto_retry(struct dat_ep *ep, int ret, unsigned int *tries);

#endif /* _KDAPL_DTO_H */
