/* SPDX-License-Identifier: GPL-2.0 */
/* Pools of fast registrations. */
#ifndef _KDAPL_FMR_POOL_H
#define _KDAPL_FMR_POOL_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <dat/kdat_fmr_pool.h>

#include "obj.h"

struct dat_ep;
struct dat_lmr;
struct dat_pz;

enum {
	/* Real exposures, in milliseconds: below 1, 2, 4, ..., and all above. */
	KDAPL_POOL_BUCKETS = 16,
	/* Invalidations of a chain. */
	KDAPL_POOL_BATCH = 32,
};

enum kdapl_pool_fmr_state {
	KDAPL_POOL_CLEAN,	/* names nothing; on pool->clean */
	KDAPL_POOL_MAPPED,	/* the consumer's, used times */
	KDAPL_POOL_DIRTY,	/* unmapped, still valid; on pool->dirty */
	KDAPL_POOL_ENDING,	/* being invalidated; on pool->ending */
};

/**
 * struct kdapl_pool_fmr - one registration of a pool
 * @fmr: what the consumer sees
 * @pool: the pool
 * @lmr: the registration; NULL for one that is being made
 * @node: on pool->clean, ->dirty or ->ending, or on none
 * @all: on pool->all
 * @hash: in pool->cache, if it can be found there
 * @state: under pool->lock, as all below
 * @collected: ENDING, in a batch that has not been posted yet: whoever ends it
 *	meanwhile leaves the rest to the batch, so it can neither lose @ep nor be
 *	mapped again under its hands
 * @used: times that it was mapped and not unmapped
 * @ep: where it was registered, with a reference
 * @evd: where its invalidation completes, with a reference
 * @unmapped: when it was; 0: not, or the exposure was accounted for
 * @tried: the run of the pool that found the queue of @ep full
 * @rcu: for the grace period
 * @num_pages: of @pages
 * @pages: the list
 */
struct kdapl_pool_fmr {
	struct dat_fmr fmr;
	struct dat_fmr_pool *pool;
	struct dat_lmr *lmr;
	struct list_head node;
	struct list_head all;
	struct hlist_node hash;
	enum kdapl_pool_fmr_state state;
	bool collected;
	u32 used;
	struct dat_ep *ep;
	struct dat_evd *evd;
	ktime_t unmapped;
	u32 tried;
	struct rcu_head rcu;
	int num_pages;
	u64 pages[];
};

/* Updated under the pool's lock, read without it (debugfs). */
struct kdapl_pool_stats {
	u64 hits;
	u64 revived;		/* hits on what was unmapped */
	u64 misses;
	u64 empty;		/* -EAGAIN */
	u64 batches;		/* chains of invalidations */
	u64 ended;		/* registrations that were ended by them */
	u64 forced;		/* deregistered, as the time was up */
	u64 late;		/* exposed for longer than allowed */
	u64 exposure[KDAPL_POOL_BUCKETS];
};

/**
 * struct dat_fmr_pool - a pool
 * @obj: common head
 * @pz: of all registrations; a reference until @obj goes
 * @ep: the EP of all of them, likewise; NULL: any of @pz
 * @param: as created
 * @lock: guards the lists, the cache and the state of the registrations; a leaf,
 *	taken under EVD and post locks: irqsave
 * @clean: to be taken
 * @dirty: unmapped and valid, the longest unmapped first
 * @ending: their invalidation was posted, or their MR is being replaced
 * @all: every one
 * @cache: by the hash of their page lists
 * @cache_bits: of that hash
 * @count: registrations on @all
 * @mapped: of them, MAPPED
 * @num_dirty: of them, on @dirty
 * @num_clean: of them, on @clean
 * @clean_low: the least that @num_clean was since the last look
 * @wanted: somebody was refused since the last look
 * @flush_all: all that is dirty is to be ended now
 * @full: the last run has put something back; the next one is not before @retry_at
 * @retry_at: in jiffies; fixed, so that no number of kicks puts it off
 * @dying: no map any more
 * @stats: for debugfs
 * @run: counts runs through what is due, from 1 on; under @work_lock
 * @fit_at: jiffies of the next look whether it is too large; under @work_lock
 * @work: ends what is due, grows, shrinks
 * @work_lock: one at a time goes through what is due: the work, a flush
 * @rcu: for the grace period
 */
struct dat_fmr_pool {
	struct kdapl_obj obj;
	struct dat_pz *pz;
	struct dat_ep *ep;
	struct dat_fmr_pool_param param;

	spinlock_t lock;		/* see above */
	struct list_head clean;
	struct list_head dirty;
	struct list_head ending;
	struct list_head all;
	struct hlist_head *cache;
	unsigned int cache_bits;
	int count;
	int mapped;
	int num_dirty;
	int num_clean;
	int clean_low;
	bool wanted;
	bool flush_all;
	bool full;
	bool dying;
	unsigned long retry_at;
	struct kdapl_pool_stats stats;

	u32 run;
	unsigned long fit_at;
	struct delayed_work work;
	struct mutex work_lock;		/* see above */
	struct rcu_head rcu;
};

/* fmr_pool.c: one more registration; sleeps, inside the gate. */
int kdapl_pool_grow(struct dat_fmr_pool *pool);
/* Gives CLEAN ones back until no more than @count are left. Sleeps. */
void kdapl_pool_shrink(struct dat_fmr_pool *pool, int count);
/* Takes the verbs objects away. Idempotent; sleeps. */
void kdapl_pool_remove_device(struct dat_fmr_pool *pool);
/* In any state, for dat_ia_close(ABRUPT). Sleeps. */
void kdapl_pool_destroy(struct dat_fmr_pool *pool);

/* fmr_pool_map.c: a registration has ended, by whatever; any context. */
void kdapl_pool_freed(struct kdapl_pool_fmr *pf);
/* It cannot be found any more. Under pool->lock. */
void kdapl_pool_unhash_locked(struct kdapl_pool_fmr *pf);
/* It is free to be mapped, from whatever list it was on. Under pool->lock. */
void kdapl_pool_clean_locked(struct kdapl_pool_fmr *pf);

/* fmr_pool_end.c: the work, and what it does */
void kdapl_pool_work(struct work_struct *work);
/* Looks again when the next one is due; under pool->lock or not. */
void kdapl_pool_kick(struct dat_fmr_pool *pool);
/*
 * Ends what was dirty when it was called, and waits for that; -ENODEV: removal
 * takes it. Sleeps.
 */
int kdapl_pool_flush(struct dat_fmr_pool *pool);
/* It does not expose memory any more. Under pool->lock. */
void kdapl_pool_account_locked(struct kdapl_pool_fmr *pf);
/*
 * The two steps of ending a batch, both under one hold of pool->work_lock. The first
 * takes the oldest that were unmapped at @before, up to KDAPL_POOL_BATCH of them, all
 * of one EP that this run has not found full. The second ends them, and answers how
 * many: those that found no room in the queue were put back or, in a @hurry,
 * deregistered to be replaced.
 */
int kdapl_pool_collect(struct dat_fmr_pool *pool, ktime_t before,
		       struct kdapl_pool_fmr **pfs);
int kdapl_pool_end_batch(struct dat_fmr_pool *pool, struct kdapl_pool_fmr **pfs,
			 int n, bool hurry);

#endif /* _KDAPL_FMR_POOL_H */
