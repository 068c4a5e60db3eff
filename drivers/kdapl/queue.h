/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests of an endpoint. Each direction has a queue of preallocated
 * contexts in the order of posting; wr_id is the address of the context.
 */
#ifndef _KDAPL_QUEUE_H
#define _KDAPL_QUEUE_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include <dat/dat.h>

struct dat_ep;
struct dat_evd;
struct dat_lmr;
struct kdapl_frmr;
struct kdapl_queue;

/* Operations that never reach a consumer, numbered behind enum dat_dtos. */
enum kdapl_internal_op {
	KDAPL_OP_MARKER = 0x80,		/* end of the suppressed requests */
	KDAPL_OP_REG,			/* deferred registration of an LMR */
	KDAPL_OP_PROOF,			/* a marker for those that wait for suppressed ones */
};

enum kdapl_wr_flags {
	KDAPL_WR_SUPPRESS = 0x01,	/* a success makes no event */
	KDAPL_WR_UNSIGNALLED = 0x02,	/* the event does not notify */
	KDAPL_WR_INTERNAL = 0x04,	/* no event, holds no credit */
	KDAPL_WR_EXT = 0x08,		/* the event is an extension's */
	KDAPL_WR_SRQ = 0x10,		/* a buffer of an SRQ: see srq.h */
	KDAPL_WR_MEM = 0x40,		/* registers or invalidates wr->fr */
	KDAPL_WR_INV = 0x80,		/* the latter */
	KDAPL_WR_SILENT = 0x100,	/* no event, whatever comes of it */
	KDAPL_WR_BIND = 0x200,		/* MEM: of an RMR, with an event of its own */
	/* Never posted: FLUSHED in software, or when one behind it completes. */
	KDAPL_WR_HELD = 0x20,
	/* SUPPRESS, but with a completion of its own all the same. */
	KDAPL_WR_OWED = 0x400,
	/* Completed before one in front of it, whose turn comes first. */
	KDAPL_WR_EARLY = 0x800,
	/* Such a one in front: its completion takes the long way. */
	KDAPL_WR_AWAITED = 0x1000,
	/* INTERNAL, posted when the QP was in error, and what is in front flushed. */
	KDAPL_WR_SETTLED = 0x2000,
};

/**
 * struct kdapl_wr - context of one posted work request
 * @queue: the queue it sits in, and through it the EP; on errors nothing of a
 *	completion but status and wr_id can be trusted, and wc->qp may be gone
 * @cookie: the consumer's
 * @fr: the MR of a request with KDAPL_WR_MEM
 * @len: of all others: bytes posted; see kdapl_queue_wr_len()
 * @pos: what head was when it was posted; equal to tail: it is the oldest one that
 *	is with the provider
 * @op: enum dat_dtos or enum kdapl_internal_op
 * @flags: enum kdapl_wr_flags
 * @variant: KDAPL_WR_MEM: the last byte of the key that was registered
 */
struct kdapl_wr {
	struct kdapl_queue *queue;
	union dat_context cookie;
	union {
		struct kdapl_frmr *fr;
		u32 len;
	};
	u32 pos;
	u8 op;
	u8 variant;
	u16 flags;
};

/* What a post finds. Changed under the post lock. */
enum kdapl_queue_gate {
	KDAPL_QUEUE_CLOSED,	/* refused: ep_state.c knows the errno */
	KDAPL_QUEUE_OPEN,	/* goes to the QP */
	/* These two: take a context and a credit, mark it HELD and post nothing. */
	KDAPL_QUEUE_FLUSH,	/* no usable QP: FLUSHED in software at once */
	/* The peer is closing and requests of ours are still under way. */
	KDAPL_QUEUE_HOLD,
};

/**
 * struct kdapl_window - the LMR that the last post used, for the next one
 * @context: its lmr_context
 * @generation: ia->lmr_generation of before it was looked up: the same now, so no
 *	LMR has come or gone since
 * @va: as in struct dat_lmr
 * @length: as there; 0: there is none
 * @offset: from an address in it to that of a scatter/gather entry
 */
struct kdapl_window {
	u32 context;
	u32 generation;
	u64 va;
	u64 length;
	u64 offset;
};

/*
 * struct kdapl_queue - one direction of an EP
 *
 * A request takes a credit when it is posted and gives it back when its event
 * is dequeued (or, suppressed and successful, when it is reclaimed): a credit is
 * a reserved slot of the EVD's ring, so the ring cannot overflow. Credits in
 * use are posted - released.
 *
 * Contexts wr[tail..head-1] are with the provider. A completion of context i
 * proves those before i complete that have none of their own. One that has is done
 * when it comes, and those behind it wait: siw of 6.1 completes what it has sent
 * before a read whose answer is under way, and flushes out of order; see cq.c.
 */
struct kdapl_queue {
	struct dat_ep *ep;
	struct dat_evd *evd;		/* never NULL once the QP exists */
	bool request;			/* the request queue, else receives */

	/*
	 * Guards head, posted, suppressed and gate, and is held over
	 * ib_post_*(), so that context order is queue order. Any context:
	 * interrupts off. Never taken by the completion path; the EVD lock
	 * may not be held (siw calls the completion handler on the poster's
	 * stack, which only schedules).
	 */
	spinlock_t post_lock;
	u32 head;
	u32 posted;
	u32 suppressed;			/* at most, since the last signalled request */
	enum kdapl_queue_gate gate;
	/* Credits that the short way may use: @depth, or 0 to close it. */
	u32 limit;
	/* What the short way posts; all but address, length and wr_id stays. */
	struct ib_sge sge_one;
	union {
		struct ib_send_wr send_one;
		struct ib_recv_wr recv_one;
	};
	struct kdapl_window window;

	/* Under evd->lock; released is read by posters with acquire. */
	u32 tail;
	u32 released;
	u32 early;			/* contexts with KDAPL_WR_EARLY */

	struct kdapl_wr *wr;		/* 2^n of them */
	struct ib_sge *sge;		/* scratch of a post, under post_lock */
	u32 total;			/* the same: bytes of it */
	union {				/* the same; zero but for what posts set */
		struct ib_rdma_wr send_wr;
		struct ib_recv_wr recv_wr;
	};
	union {				/* never looked at */
		const struct ib_send_wr *bad_send;
		const struct ib_recv_wr *bad_recv;
	};
	u32 mask;
	u32 depth;			/* credits: max_{recv,request}_dtos */
};

enum {
	/*
	 * Send slots beyond max_request_dtos: two registrations, and a marker
	 * for each of the two times that a close waits.
	 */
	KDAPL_QUEUE_EXTRA_SEND = 4,
	/* Receive slots beyond max_recv_dtos: the marker. */
	KDAPL_QUEUE_EXTRA_RECV = 1,
	/* Most segments of a work request, whatever the device offers. */
	KDAPL_QUEUE_MAX_SGE = 32,
};

/*
 * Once for each queue, when the EP is created: from then on its gate can
 * be moved and found closed.
 */
void kdapl_queue_setup(struct kdapl_queue *queue, struct dat_ep *ep,
		       bool request);
/* Contexts, as often as the QP is made anew; only while the gate is closed. */
int kdapl_queue_init(struct kdapl_queue *queue, struct dat_evd *evd,
		     u32 depth);
void kdapl_queue_free(struct kdapl_queue *queue);
void kdapl_queue_set_gate(struct kdapl_queue *queue, enum kdapl_queue_gate gate);
/* The same under the post lock. */
void kdapl_queue_set_gate_locked(struct kdapl_queue *queue,
				 enum kdapl_queue_gate gate);
/*
 * A request of kdapl's own behind all others, whatever the gate: the caller
 * owns the QP, and knows whether it is @settled: in error, and what was posted
 * has been flushed. -ENOSPC: the last ones are not home yet.
 */
int kdapl_queue_post_marker(struct kdapl_queue *queue, bool settled);
/* The same under the post lock, of a QP that is not known to be settled. */
int kdapl_queue_post_marker_locked(struct kdapl_queue *queue);
/*
 * Brings unsignalled requests home, if there are any: by a request that takes a
 * credit, so that the consumer's still fit. False: there are none, or it cannot be
 * posted.
 */
bool kdapl_queue_prove(struct kdapl_queue *queue);
/* As kdapl_queue_post_marker(), for IB_WR_REG_MR; the completion finds @lmr in the context. */
int kdapl_queue_post_reg(struct kdapl_queue *queue, struct dat_lmr *lmr,
			 u32 key, int access);
/* Contexts that have not come home. Any context, a snapshot. */
u32 kdapl_queue_outstanding(const struct kdapl_queue *queue);
/*
 * Reports every outstanding context FLUSHED: the QP is gone and its completions
 * were polled. By the EP's work alone, which is what gives the EP a new QP.
 */
void kdapl_queue_flush(struct kdapl_queue *queue);
/*
 * The same for those that no QP has seen, as far as nothing in front of them is with
 * the provider. Any context, no lock held.
 */
void kdapl_queue_flush_held(struct kdapl_queue *queue);

/* Under the post lock. */
static inline bool kdapl_queue_has_credit(const struct kdapl_queue *queue,
					  u32 limit)
{
	/* Pairs with the release that gives a credit back. */
	return queue->posted - smp_load_acquire(&queue->released) < limit;
}

/* Bytes that a request moves. */
static inline u32 kdapl_queue_wr_len(const struct kdapl_wr *wr)
{
	return wr->flags & KDAPL_WR_MEM ? 0 : wr->len;
}

/* The next context; counts only once kdapl_queue_publish_locked() was called. */
static inline struct kdapl_wr *kdapl_queue_next_wr(struct kdapl_queue *queue)
{
	return &queue->wr[queue->head & queue->mask];
}

/* Under the post lock, like the next. @wr is the next context. */
static inline void kdapl_queue_publish_locked(struct kdapl_queue *queue,
					      struct kdapl_wr *wr)
{
	u32 head = queue->head;

	wr->pos = head;
	/* Whoever sees the new head sees the context. */
	smp_store_release(&queue->head, head + 1);
}

static inline void kdapl_queue_retract_locked(struct kdapl_queue *queue)
{
	WRITE_ONCE(queue->head, queue->head - 1);
	/* Not the oldest one with the provider, should that ever name it. */
	kdapl_queue_next_wr(queue)->pos++;
}

/*
 * The provider has refused what was published as the consumer's, and counted as
 * signalled or not. How many were suppressed before is lost: all may be.
 */
static inline void kdapl_queue_refused_locked(struct kdapl_queue *queue)
{
	kdapl_queue_retract_locked(queue);
	queue->posted--;
	queue->suppressed = queue->head - READ_ONCE(queue->tail);
}

/* cq.c: a completion, or a request flushed in software, is done with */
void kdapl_cq_complete_locked(struct dat_evd *evd, const struct ib_wc *wc);

#endif /* _KDAPL_QUEUE_H */
