/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event dispatchers: a ring of pending events over an optional CQ, and the
 * state of their upcalls (upcall.c says how that is used).
 */
#ifndef _KDAPL_EVD_H
#define _KDAPL_EVD_H

#include <linux/irq_poll.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_attr.h>
#include <dat/dat_event.h>
#include <dat/dat_ib_extensions.h>

#include "obj.h"

struct kdapl_queue;

enum {
	/* Completions taken from a CQ in one ib_poll_cq(). */
	KDAPL_EVD_POLL_BATCH = 16,
	/* Events, or completions without one, per lock section or run. */
	KDAPL_EVD_BUDGET = 64,
	/* ib_req_notify_cq() answers > 0 over an empty CQ that are believed. */
	KDAPL_EVD_ASK_AGAIN = 8,
	/* Upcalls of one process-context EVD that can overlap. */
	KDAPL_EVD_WORKERS = 8,
};

/* The streams that fill a CQ, and those whose upcalls may run in softirq. */
#define KDAPL_EVD_CQ_STREAMS	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
#define KDAPL_EVD_ALL_FLAGS	(DAT_EVD_SOFTWARE_FLAG | \
				 DAT_EVD_DEFAULT_FLAG | \
				 DAT_EVD_UPCALL_THREAD_FLAG)

/* Whose ring slot an entry occupies, that is, who gets it back. */
enum kdapl_slot_kind {
	KDAPL_SLOT_FREE,	/* from the unreserved part of the ring */
	KDAPL_SLOT_DTO,		/* from the reservation of a kdapl_queue */
	KDAPL_SLOT_CONN,	/* claimed for one connection attempt */
	KDAPL_SLOT_SRQ,		/* from the reservation of an SRQ */
};

/**
 * struct kdapl_slot - a ring entry, smaller than the struct dat_event it becomes
 * @number: event number
 * @kind: enum kdapl_slot_kind
 * @notify: the event may cause an upcall
 * @owner: the kdapl_queue (DTO, SRQ) or dat_ep (CONN) that is told when the
 *	entry leaves the ring, or the object (FREE) that the event names; valid
 *	while the entry is queued, because an object purges its entries before it
 *	goes
 * @data: as in the event
 * @extension: as in the event; defined for extension events only
 */
struct kdapl_slot {
	u32 number;
	u8 kind;
	bool notify;
	void *owner;
	union dat_event_data data;
	u64 extension[8];
};

/* Updated under the EVD lock, read without it (debugfs). */
struct kdapl_evd_stats {
	u64 events[DAT_EVD_STREAMS];	/* entered, by stream */
	u64 dequeued;			/* handed to the consumer */
	u64 upcalls;
	u64 spurious;			/* triggers that found nothing armed */
	atomic64_t busy;		/* -EBUSY answers, without the lock */
	u64 missed;			/* found by the look after arming */
	u64 rescued;			/* found by the watchdog */
	u64 yields;			/* budget used up */
	u64 overflow;			/* events lost to a full ring */
	u64 refused;			/* CRs and software events refused */
	u32 high_water;			/* most entries at once */
};

/* A process-context runner; EVDs whose upcalls run in softirq have none. */
struct kdapl_evd_worker {
	struct work_struct work;
	struct dat_evd *evd;
	struct task_struct *task;	/* inside an upcall; under evd->lock */
};

/*
 * struct dat_evd - an event dispatcher
 *
 * Immutable after creation: @obj, @flags, @softirq, @workers, @nr_workers.
 */
struct dat_evd {
	struct kdapl_obj obj;
	enum dat_evd_flags flags;
	bool softirq;		/* upcalls run in softirq, through @iop */
	bool hidden;		/* kdapl's own, the consumer never sees it */

	/*
	 * Protects everything below up to the next comment. Taken from any
	 * context, so always with interrupts off. The provider's CQ lock
	 * nests inside it; no upcall and no post happens under it.
	 */
	spinlock_t lock;

	/* What the short ways have to know, 0 in most cases, in one look. */
	union {
		struct {
			u32 live;	/* entries of the ring */
			u16 wc_left;	/* fetched, not yet looked at: see cq.h */
			bool shut;	/* no CQ, or torn down: no short ways */
		};
		u64 in_hand;
	};

	/* The ring: entries head..tail-1, both run freely, size is 2^n. */
	struct kdapl_slot *ring;
	u32 mask;
	u32 head;
	u32 tail;
	u32 qlen;		/* entries that may be used: what query says */
	u32 notifying;		/* entries that may notify */
	u32 reserved;		/* promised to EPs, occupied or not */
	u32 unreserved;		/* entries of kind KDAPL_SLOT_FREE */

	struct ib_cq *cq;	/* NULL: no such stream, or device removed */
	u32 cq_size;
	u32 cq_reserved;
	const struct ib_wc *wc_next;	/* of the wc_left: see cq.h */
	struct ib_wc wc[KDAPL_EVD_POLL_BATCH];

	/* Upcall state: see upcall.c. */
	enum dat_upcall_policy policy;
	struct dat_upcall_object upcall;
	u32 generation;		/* changes with every modify and disable */
	u32 runners;		/* runs that own an upcall or look for one */
	bool armed;		/* the next event that may notify starts a run */
	bool any;		/* INVOC_ANY: any queued event is enough */
	bool yielded;		/* the one runner rescheduled itself */
	bool torn_down;		/* sticky: no enabling policy, ever */
	bool watched;		/* the watchdog's last look found something */
	u32 feeders;		/* EPs, SPs and IAs that post here */
	bool freed;		/* takes no more feeders */
	bool orphan;		/* the device is gone: cannot be enabled */
	u32 budget;
	bool used;		/* too late for dat_evd_set_attr() */
	struct kdapl_evd_stats stats;

	/* Not under @lock. */
	bool called;		/* triggered since the watchdog's last look */
	struct list_head watchdog_node;	/* under the watchdog's lock */
	wait_queue_head_t idle;	/* runners dropped to 0 */
	struct irq_poll iop;
	struct kdapl_evd_worker *workers;
	unsigned int nr_workers;
	unsigned int comp_vector;
	int numa_node;

	/* Completion type of the EPs' directions that feed it: see ep_res.c. */
	enum dat_completion_flags dto_type;
	u32 dto_streams;
	u64 counter_base[DCNT_EVD_ALL_COUNTERS];	/* under ia->lock */
	struct work_struct overflow;	/* tells the async EVD, holding a reference */
	struct work_struct reap;	/* frees the memory */
};

/* What kdapl_evd_post() is given beside the event. */
struct kdapl_post {
	enum kdapl_slot_kind kind;
	void *owner;
	bool notify;
};

/* evd.c: the consumer's calls, creation and reservation */
int kdapl_evd_create(struct dat_ia *ia, int min_qlen,
		     enum dat_upcall_policy policy,
		     const struct dat_upcall_object *upcall,
		     enum dat_evd_flags flags, bool hidden,
		     struct dat_evd **evd);
/* -EINVAL: another IA's, freed, or it lacks one of the streams. */
int kdapl_evd_get_feeder(struct dat_evd *evd, struct dat_ia *ia,
			 enum dat_evd_flags streams);
void kdapl_evd_put_feeder(struct dat_evd *evd);
int kdapl_evd_reserve(struct dat_evd *evd, u32 slots, u32 cqes);
void kdapl_evd_unreserve(struct dat_evd *evd, u32 slots, u32 cqes);
/*
 * Destroys the CQ and makes the EVD an orphan: what is queued, and upcalls that
 * are enabled, stay; it cannot be enabled any more. So it comes after the last
 * event of the removal was posted. Idempotent; sleeps.
 */
void kdapl_evd_remove_device(struct dat_evd *evd);
/* Teardown, CQ, handle: for kdapl's own EVDs and for dat_ia_close(). Sleeps. */
void kdapl_evd_destroy(struct dat_evd *evd);

/* ring.c: the pending queue */
struct kdapl_slot *kdapl_ring_push_locked(struct dat_evd *evd,
					  const struct kdapl_post *post,
					  enum dat_event_number number);
/*
 * Any context. -ENOBUFS: no unreserved slot (KDAPL_SLOT_FREE only); -EOVERFLOW:
 * the event is lost, counted and reported.
 */
int kdapl_evd_post(struct dat_evd *evd, const struct dat_event *event,
		   const struct kdapl_post *post);
/* Two slots for an attempt; -ENOSPC: no room, or old events still queued. */
int kdapl_evd_claim_conn(struct dat_evd *evd, struct dat_ep *ep);
void kdapl_evd_unclaim_conn(struct dat_evd *evd, struct dat_ep *ep);
/* After it no event of @owner is ever handed out. Any context. */
void kdapl_evd_purge(struct dat_evd *evd, void *owner);
u32 kdapl_ring_take_locked(struct dat_evd *evd, struct dat_event *events,
			   u32 max);
int kdapl_ring_init(struct dat_evd *evd, u32 entries);
void kdapl_ring_overflow_locked(struct dat_evd *evd);
int kdapl_ring_resize(struct dat_evd *evd, u32 entries);

/* cq.c: completions into the ring */
int kdapl_cq_create(struct dat_evd *evd, u32 min_cqe, struct ib_cq **cq);
/* Number of completions taken, events or not; what was fetched comes first. */
u32 kdapl_cq_poll_locked(struct dat_evd *evd);
/* What was fetched into the ring; the number. Does not poll. */
u32 kdapl_cq_settle_locked(struct dat_evd *evd);
/* The same, but no further than to the first event. */
void kdapl_cq_settle_one_locked(struct dat_evd *evd);
/* Says that ib_poll_cq() answered @err; 0 completions. */
u32 kdapl_cq_failed(struct dat_evd *evd, int err);
/*
 * Moves the completions that are there into the ring, in bounded lock sections, and
 * triggers what is due; for the close of an EP. Process context, sleeps.
 */
void kdapl_cq_drain(struct dat_evd *evd);

/*
 * CQ entries for a ring of so many: internal work requests (markers, deferred
 * registrations) have completions and no events.
 */
static inline u32 kdapl_evd_cqe(u32 qlen)
{
	return 2 * qlen + 16;
}

/* Receives that are more than that. */
#define KDAPL_WC_RARE	(IB_WC_WITH_INVALIDATE | IB_WC_WITH_IMM)

/* dto_ext.c: what makes a DTO's event one of the extensions, or of the rare. */
void kdapl_ext_request_event_locked(struct kdapl_slot *slot, u8 op);
void kdapl_ext_recv_event_locked(struct kdapl_slot *slot,
				 const struct ib_wc *wc);

static inline struct kdapl_slot *kdapl_evd_slot(struct dat_evd *evd, u32 index)
{
	return &evd->ring[index & evd->mask];
}

static inline bool kdapl_evd_policy_on(enum dat_upcall_policy policy)
{
	return policy != DAT_UPCALL_DISABLE && policy != DAT_UPCALL_TEARDOWN;
}

#endif /* _KDAPL_EVD_H */
