/* SPDX-License-Identifier: GPL-2.0 */
/* Posts of work requests: what dto.c, dto_long.c and dto_ext.c share. */
#ifndef _KDAPL_DTO_H
#define _KDAPL_DTO_H

#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/spinlock.h>

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
	return kdapl_queue_has_credit(queue, queue->depth);
}

/* Takes a context that no QP will see. 1: to be flushed at once. */
int kdapl_dto_not_posted_locked(struct kdapl_queue *queue, struct kdapl_wr *wr);
/*
 * The end of a post; @ret above 0: with a flush of what no QP will see. Another post
 * may flush this one's first, and whoever sees that event may free the EP: memory of
 * it, and of its EVD, outlives those who have interrupts off.
 */
static inline int kdapl_dto_unlock(struct kdapl_queue *queue, unsigned long irq,
				   int ret)
{
	spin_unlock(&queue->post_lock);
	if (unlikely(ret > 0)) {
		kdapl_queue_flush_held(queue);
		ret = 0;
	}
	local_irq_restore(irq);
	return ret;
}

/*
 * The rest of a request, once its opcode and what goes with that is in @send, and
 * its @num_sge entries and their length are in @queue: flags, context, post. 1: as
 * above.
 */
int kdapl_dto_send_locked(struct kdapl_queue *queue, struct ib_send_wr *send,
			  u8 op, u16 wr_flags, int num_sge,
			  union dat_context cookie,
			  enum dat_completion_flags flags);
/* False: a read of no bytes must not reach the QP. */
bool kdapl_dto_reads_nothing(const struct dat_ep *ep);

/* siw refuses posts while the QP's state changes: true for a few more tries. */
bool kdapl_dto_retry(struct dat_ep *ep, int ret, unsigned int *tries);

/*
 * dto_long.c: the calls of the consumer with everything that they can be asked
 * for; @op is a send, an RDMA read or an RDMA write. Any context, no lock held.
 */
int kdapl_dto_request_long(struct dat_ep *ep, enum dat_dtos op, int num,
			   const struct dat_lmr_triplet *iov,
			   union dat_context cookie,
			   const struct dat_rmr_triplet *remote,
			   enum dat_completion_flags flags);
int kdapl_dto_recv_long(struct dat_ep *ep, int num,
			const struct dat_lmr_triplet *iov,
			union dat_context cookie,
			enum dat_completion_flags flags);

#endif /* _KDAPL_DTO_H */
