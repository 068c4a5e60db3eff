/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues. */
#ifndef _KDAPL_SRQ_H
#define _KDAPL_SRQ_H

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_attr.h>

#include "obj.h"
#include "queue.h"

struct dat_ep;
struct dat_evd;
struct dat_pz;

/**
 * struct kdapl_srq_wr - context of a posted buffer
 * @wr: as for other requests, but always with KDAPL_WR_SRQ, which says that
 *	@wr.queue is nobody's
 * @srq: its SRQ
 * @next: on the list of free contexts
 * @posted: with the provider
 *
 * Buffers complete in any order, so contexts have none, unlike those of an EP.
 */
struct kdapl_srq_wr {
	struct kdapl_wr wr;
	struct dat_srq *srq;
	struct kdapl_srq_wr *next;
	bool posted;
};

/* Contexts of one creation or enlargement: wr_ids name them, so they stay. */
struct kdapl_srq_chunk {
	struct kdapl_srq_chunk *next;
	struct kdapl_srq_wr wr[];
};

/* An EVD that has slots for all buffers, because EPs of the SRQ use it. */
struct kdapl_srq_evd {
	struct list_head node;
	struct dat_evd *evd;
	u32 users;
};

/**
 * struct dat_srq - a shared receive queue
 * @obj: common head
 * @pz: its protection zone (a user and a reference), that of its EPs too
 * @max_iov: segments of a buffer
 * @max_sge: entries that the provider takes
 * @mutex: guards what changes when EPs come and go and the SRQ is resized;
 *	sleeps; innermost of the mutexes
 * @chunks: all contexts; under @mutex
 * @evds: struct kdapl_srq_evd; under @mutex
 * @users: EPs; under @mutex
 * @freed: takes no more of them; under @mutex
 * @depth: buffers of the consumer; changed under @mutex
 * @post_lock: held over ib_post_srq_recv(); any context: irqsave; never taken by
 *	the completion path
 * @srq: NULL after device removal; changed under @post_lock
 * @sge: scratch of a post, under @post_lock
 * @lock: guards what follows; a leaf, taken under EVD locks: irqsave
 * @free: contexts without a buffer
 * @posted: buffers with the provider, as far as it has told
 * @strays: completions that belonged to no EP any more
 * @low_watermark: as set last
 * @armed: the event of the low watermark is still to come
 * @error: the provider gave it up
 * @qps: EPs by their QP
 * @used: credits: buffers posted, and not yet dequeued or lost
 * @nobody: the queue of the contexts, for who looks at it before the flags
 *
 * A buffer lies in one EVD's ring at most, but which one is known only when it
 * completes: so each EVD of its EPs has a slot reserved for each buffer.
 */
struct dat_srq {
	struct kdapl_obj obj;
	struct dat_pz *pz;
	int max_iov;
	u32 max_sge;

	struct mutex mutex;		/* EPs, EVDs, size */
	struct kdapl_srq_chunk *chunks;
	struct list_head evds;
	u32 users;
	bool freed;
	u32 depth;

	spinlock_t post_lock;		/* posts */
	struct ib_srq *srq;
	struct ib_sge sge[KDAPL_QUEUE_MAX_SGE];

	spinlock_t lock;		/* contexts, QPs, watermark */
	struct kdapl_srq_wr *free;
	u32 posted;
	u32 strays;
	u32 low_watermark;
	bool armed;
	bool error;
	DECLARE_HASHTABLE(qps, 8);

	atomic_t used;
	struct kdapl_queue nobody;
};

/* Buffers of an SRQ, no more than a CQ can report. */
static inline int kdapl_srq_limit(const struct ib_device_attr *dev)
{
	return min_t(u32, dev->max_srq_wr, dev->max_cqe);
}

/*
 * An EP of the SRQ, and the EVD of its receives. -EINVAL: another IA's, or it is
 * being freed; -ENOSPC: the EVD is too small for all buffers. Both sleep.
 */
int kdapl_srq_get_user(struct dat_srq *srq, struct dat_ia *ia,
		       struct dat_evd *evd);
void kdapl_srq_put_user(struct dat_srq *srq, struct dat_evd *evd);

/*
 * QPs are made and destroyed under the mutex, and what the CQ still has of one
 * is polled in the same section: so an address in a completion names the QP that
 * has it now. Sleep.
 */
void kdapl_srq_add_qp(struct dat_srq *srq, struct dat_ep *ep);
int kdapl_srq_destroy_qp(struct dat_srq *srq, struct dat_ep *ep,
			 struct ib_qp *qp);

/* A completion whose context has KDAPL_WR_SRQ; under the EVD lock. */
void kdapl_srq_complete_locked(struct dat_evd *evd, struct kdapl_wr *wr,
			       const struct ib_wc *wc);
/* An event of a buffer of @queue's EP left the ring; under the EVD lock. */
void kdapl_srq_release_locked(struct kdapl_queue *queue);

/* The event of the low watermark; any context, no lock held. */
void kdapl_srq_report_low(struct dat_srq *srq);
void kdapl_srq_event(struct ib_event *event, void *context);
/* Idempotent; sleeps; no QP uses it any more. */
void kdapl_srq_remove_device(struct dat_srq *srq);
/* As dat_srq_free(), for dat_ia_close(ABRUPT). */
void kdapl_srq_destroy(struct dat_srq *srq);

#endif /* _KDAPL_SRQ_H */
