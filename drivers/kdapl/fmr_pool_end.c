// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: pools of fast registrations: the end of what was unmapped
 *
 * What is dirty is ended in batches, a chain of invalidations for each EP: when so
 * much of it has gathered as the watermark says, when no clean registration is
 * left, when the consumer asks for it, and when it has been dirty for half of the
 * time that the consumer allows. The other half is for the requests in front of
 * the chain. If that is not enough the registrations are taken from the device
 * without a request, which may cost the connection: the bound holds.
 *
 * Registrations whose EP cannot post any more are deregistered and replaced.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/jiffies.h>

#include "ep.h"
#include "evd.h"
#include "fmr_pool.h"
#include "frmr.h"
#include "ia.h"
#include "kunit.h"
#include "lmr.h"
#include "main.h"

enum {
	/* How long one run of the work waits for its chains. */
	POOL_PATIENCE_MS = 20,
	/* What has not been wanted for so long is given back. */
	POOL_IDLE_MS = 1000,
};

static bool pool_bounded(const struct dat_fmr_pool *pool)
{
	return pool->param.max_exposure_ms != DAT_FMR_EXPOSURE_UNBOUNDED;
}

void kdapl_pool_account_locked(struct kdapl_pool_fmr *pf)
{
	struct dat_fmr_pool *pool = pf->pool;
	u64 ms;

	lockdep_assert_held(&pool->lock);

	if (!pf->unmapped)
		return;
	ms = ktime_ms_delta(ktime_get(), pf->unmapped);
	pf->unmapped = 0;
	pool->stats.ended++;
	pool->stats.exposure[min_t(u32, fls64(ms), KDAPL_POOL_BUCKETS - 1)]++;
	if (pool_bounded(pool) && pool->param.max_exposure_ms &&
	    ms > pool->param.max_exposure_ms)
		pool->stats.late++;
}

/* Jiffies until the work has to look; MAX_JIFFY_OFFSET: until it is kicked. */
static unsigned long pool_next_locked(struct dat_fmr_pool *pool)
{
	struct kdapl_pool_fmr *pf;
	s64 ms;

	if (pool->flush_all || pool->num_dirty >= pool->param.dirty_watermark ||
	    (pool->wanted && pool->count < pool->param.max_fmrs))
		return 0;
	if (!list_empty(&pool->ending))
		return 1;
	if (pool_bounded(pool) && !list_empty(&pool->dirty)) {
		pf = list_first_entry(&pool->dirty, struct kdapl_pool_fmr,
				      node);
		ms = pool->param.max_exposure_ms / 2 -
		     ktime_ms_delta(ktime_get(), pf->unmapped);
		return ms > 0 ? min_t(unsigned long, msecs_to_jiffies(ms),
				      MAX_JIFFY_OFFSET) : 0;
	}
	if (pool->count > pool->param.min_fmrs)
		return msecs_to_jiffies(POOL_IDLE_MS);
	return MAX_JIFFY_OFFSET;
}

void kdapl_pool_kick(struct dat_fmr_pool *pool)
{
	unsigned long flags, delay, now;

	spin_lock_irqsave(&pool->lock, flags);
	delay = pool->dying ? MAX_JIFFY_OFFSET : pool_next_locked(pool);
	/* Room comes when a consumer dequeues: ask now and then, but do not spin. */
	now = jiffies;
	if (pool->full && time_before(now, pool->retry_at))
		delay = max(delay, pool->retry_at - now);
	if (delay != MAX_JIFFY_OFFSET)
		mod_delayed_work(kdapl_wq, &pool->work, delay);
	spin_unlock_irqrestore(&pool->lock, flags);
}

int kdapl_pool_collect(struct dat_fmr_pool *pool, ktime_t before,
		       struct kdapl_pool_fmr **pfs)
{
	struct kdapl_pool_fmr *pf, *next;
	struct dat_ep *ep = NULL;
	int n = 0;

	lockdep_assert_held(&pool->work_lock);

	spin_lock_irq(&pool->lock);
	list_for_each_entry_safe(pf, next, &pool->dirty, node) {
		if (n == KDAPL_POOL_BATCH || ktime_after(pf->unmapped, before))
			break;
		if (pf->tried == pool->run || (ep && pf->ep != ep))
			continue;
		ep = pf->ep;
		pf->state = KDAPL_POOL_ENDING;
		pf->collected = true;
		list_move_tail(&pf->node, &pool->ending);
		pool->num_dirty--;
		kdapl_pool_unhash_locked(pf);
		pfs[n++] = pf;
	}
	spin_unlock_irq(&pool->lock);
	return n;
}

KDAPL_EXPORT_FOR_TEST(kdapl_pool_collect);

/* Back to where it came from: the head of the list tells when something is due. */
static void pool_put_back_locked(struct dat_fmr_pool *pool,
				 struct kdapl_pool_fmr *pf)
{
	struct list_head *pos;

	list_for_each(pos, &pool->dirty)
		if (ktime_after(list_entry(pos, struct kdapl_pool_fmr,
					   node)->unmapped, pf->unmapped))
			break;
	list_move_tail(&pf->node, pos);
	pool->num_dirty++;
	pf->state = KDAPL_POOL_DIRTY;
}

/* What is dirty of an EP that is full, its address only, waits for another run. */
static void pool_full_locked(struct dat_fmr_pool *pool, const struct dat_ep *ep)
{
	struct kdapl_pool_fmr *pf;

	list_for_each_entry(pf, &pool->dirty, node)
		if (pf->ep == ep)
			pf->tried = pool->run;
	pool->full = true;
	pool->retry_at = jiffies + 1;
}

/* The batch is through with it. False: it was put back. */
static bool pool_batched_locked(struct dat_fmr_pool *pool,
				struct kdapl_pool_fmr *pf, struct dat_evd *evd)
{
	pf->collected = false;
	switch (kdapl_frmr_state(pf->lmr->fr)) {
	case KDAPL_FRMR_VALID:
		/* There was no room in the queue. */
		pool_put_back_locked(pool, pf);
		return false;
	case KDAPL_FRMR_FREE:
		/*
		 * By the peer, or by its own invalidation already. kdapl_pool_freed()
		 * left that to us, or comes behind us and finds nothing to do.
		 */
		kdapl_pool_account_locked(pf);
		kdapl_pool_clean_locked(pf);
		return true;
	default:
		/* It comes home through @evd, and then kdapl_pool_freed() does it. */
		if (evd && !pf->evd) {
			kdapl_obj_get(&evd->obj);
			pf->evd = evd;
		}
		return true;
	}
}

int kdapl_pool_end_batch(struct dat_fmr_pool *pool, struct kdapl_pool_fmr **pfs,
			 int n, bool hurry)
{
	struct kdapl_frmr *frs[KDAPL_POOL_BATCH];
	struct dat_ep *ep = pfs[0]->ep;
	struct dat_evd *evd = NULL;
	int i, ret, ended = 0;

	lockdep_assert_held(&pool->work_lock);

	/*
	 * They are collected: none is mapped again, so a VALID one is what was
	 * unmapped; and the reference of the first on the EP stays, which is theirs
	 * all.
	 */
	for (i = 0; i < n; i++)
		frs[i] = pfs[i]->lmr->fr;
	ret = kdapl_frmr_end_batch(ep, frs, n, &evd);
	/* Its EP is gone, or going, or full. */
	if (ret < 0 || hurry)
		for (i = 0; i < n; i++)
			kdapl_frmr_discard(pfs[i]->lmr->fr);

	spin_lock_irq(&pool->lock);
	if (ret > 0)
		pool->stats.batches++;
	for (i = n - 1; i >= 0; i--)
		ended += pool_batched_locked(pool, pfs[i], evd);
	if (ended < n)
		pool_full_locked(pool, ep);
	spin_unlock_irq(&pool->lock);
	if (evd)
		kdapl_obj_put(&evd->obj);
	return ended;
}

KDAPL_EXPORT_FOR_TEST(kdapl_pool_end_batch);

/*
 * Ends what was unmapped at @before; whether any of that was possible. An EP that has
 * no room does not keep the others from it.
 */
static bool pool_end_due(struct dat_fmr_pool *pool, ktime_t before, bool hurry)
{
	struct kdapl_pool_fmr *pfs[KDAPL_POOL_BATCH];
	bool any = false;
	int n;

	lockdep_assert_held(&pool->work_lock);

	pool->run++;
	while ((n = kdapl_pool_collect(pool, before, pfs)) > 0)
		any |= kdapl_pool_end_batch(pool, pfs, n, hurry) > 0;
	return any;
}

/*
 * Some of what was unmapped at @before is on @list, and not out of reach. What was
 * taken from the device is, also if its request never comes home.
 */
static bool pool_left(struct dat_fmr_pool *pool, const struct list_head *list,
		      ktime_t before)
{
	struct kdapl_pool_fmr *pf;
	bool left = false;

	spin_lock_irq(&pool->lock);
	list_for_each_entry(pf, list, node) {
		left = pf->unmapped && !ktime_after(pf->unmapped, before);
		if (left)
			break;
	}
	spin_unlock_irq(&pool->lock);
	return left;
}

/* The first of those that have been exposed for too long, or NULL. */
static struct kdapl_pool_fmr *pool_overdue(struct dat_fmr_pool *pool)
{
	struct kdapl_pool_fmr *pf, *found = NULL;
	s64 most = pool->param.max_exposure_ms;
	ktime_t now = ktime_get();

	if (!pool_bounded(pool) || !most)
		return NULL;
	/* A tick of time for the work itself. */
	most = max_t(s64, most - 2 * jiffies_to_msecs(1), most / 2);
	spin_lock_irq(&pool->lock);
	list_for_each_entry(pf, &pool->ending, node) {
		if (!pf->unmapped || ktime_ms_delta(now, pf->unmapped) < most)
			continue;
		if (kdapl_frmr_state(pf->lmr->fr) != KDAPL_FRMR_ENDING ||
		    !READ_ONCE(pf->lmr->fr->settled))
			continue;
		found = pf;
		break;
	}
	spin_unlock_irq(&pool->lock);
	return found;
}

static void pool_enforce(struct dat_fmr_pool *pool)
{
	struct kdapl_pool_fmr *pf;

	while ((pf = pool_overdue(pool))) {
		if (!kdapl_frmr_force(pf->lmr->fr))
			continue;
		spin_lock_irq(&pool->lock);
		pool->stats.forced++;
		kdapl_pool_account_locked(pf);
		spin_unlock_irq(&pool->lock);
		pr_warn_ratelimited("%s: pool %u: invalidation overdue, key 0x%x taken from the device\n",
				    pool->obj.ia->name, pool->obj.id,
				    pf->lmr->fr->key);
	}
}

/* The EVD of one that is on its way, each in turn; with a reference, or NULL. */
static struct dat_evd *pool_ending_evd(struct dat_fmr_pool *pool)
{
	struct dat_evd *evd = NULL;

	spin_lock_irq(&pool->lock);
	if (!list_empty(&pool->ending)) {
		evd = list_first_entry(&pool->ending, struct kdapl_pool_fmr,
				       node)->evd;
		if (evd)
			kdapl_obj_get(&evd->obj);
		list_rotate_left(&pool->ending);
	}
	spin_unlock_irq(&pool->lock);
	return evd;
}

/* What the bound wants ended now, whatever else is waited for; whether any was. */
static bool pool_end_bound(struct dat_fmr_pool *pool)
{
	u32 most = pool->param.max_exposure_ms;
	ktime_t now = ktime_get();
	bool any = false;

	/* With 0 the unmap itself sees to it. */
	if (!pool_bounded(pool) || !most)
		return false;
	if (!pool->full || time_after_eq(jiffies, pool->retry_at))
		any = pool_end_due(pool, ktime_sub_ms(now, most / 2), false);
	any |= pool_end_due(pool, ktime_sub_ms(now, most - most / 4), true);
	pool_enforce(pool);
	return any;
}

/*
 * Fetches completions, as their consumer need not dequeue, until what was unmapped at
 * @before is out of reach: 0. -EAGAIN: it takes longer than anybody else should wait
 * for @work_lock. A request that is stuck must not suspend the bound of others, so
 * that is kept meanwhile; @any is set if it had something ended.
 */
static int pool_settle(struct dat_fmr_pool *pool, ktime_t before, bool *any)
{
	unsigned long end = jiffies + msecs_to_jiffies(POOL_PATIENCE_MS);
	struct dat_evd *evd;

	lockdep_assert_held(&pool->work_lock);

	for (;;) {
		evd = pool_ending_evd(pool);
		if (evd) {
			kdapl_cq_drain(evd);
			kdapl_obj_put(&evd->obj);
		}
		*any |= pool_end_bound(pool);
		if (!pool_left(pool, &pool->ending, before))
			return 0;
		if (kdapl_ia_removing(pool->obj.ia))
			return -ENODEV;
		if (time_after(jiffies, end))
			return -EAGAIN;
		usleep_range(20, 100);
	}
}

/* More while it is wanted, less when it was not for a while. */
static void pool_fit(struct dat_fmr_pool *pool)
{
	bool wanted;
	int spare;

	spin_lock_irq(&pool->lock);
	wanted = pool->wanted && !pool->num_clean;
	pool->wanted = false;
	spare = min(pool->clean_low, pool->count - pool->param.min_fmrs);
	spin_unlock_irq(&pool->lock);

	if (wanted && pool->count < pool->param.max_fmrs) {
		int more = max(pool->count / 2, 1);

		while (more-- && pool->count < pool->param.max_fmrs)
			if (kdapl_pool_grow(pool))
				break;
	} else if (spare > 0 && time_after(jiffies, pool->fit_at)) {
		kdapl_pool_shrink(pool, spare);
	}
	if (time_after(jiffies, pool->fit_at)) {
		pool->fit_at = jiffies + msecs_to_jiffies(POOL_IDLE_MS);
		spin_lock_irq(&pool->lock);
		pool->clean_low = pool->num_clean;
		spin_unlock_irq(&pool->lock);
	}
}

static void pool_flushed(struct dat_fmr_pool *pool)
{
	if (pool->param.flush_function)
		pool->param.flush_function(pool, pool->param.flush_arg);
}

void kdapl_pool_work(struct work_struct *work)
{
	struct dat_fmr_pool *pool = container_of(to_delayed_work(work),
						 struct dat_fmr_pool, work);
	u32 most = pool->param.max_exposure_ms;
	struct dat_ia *ia = pool->obj.ia;
	ktime_t now, before;
	bool any, all;

	/* Removal takes everything. */
	if (kdapl_ia_enter(ia))
		return;
	mutex_lock(&pool->work_lock);
	spin_lock_irq(&pool->lock);
	all = pool->flush_all ||
	      pool->num_dirty >= pool->param.dirty_watermark;
	pool->flush_all = false;
	pool->full = false;
	spin_unlock_irq(&pool->lock);

	now = ktime_get();
	before = now;
	if (!all)
		before = pool_bounded(pool) ? ktime_sub_ms(now, most / 2) : 0;
	any = pool_end_due(pool, before, false);
	pool_settle(pool, ktime_get(), &any);
	pool_fit(pool);
	mutex_unlock(&pool->work_lock);
	kdapl_ia_leave(ia);

	if (any)
		pool_flushed(pool);
	kdapl_pool_kick(pool);
}

int kdapl_pool_flush(struct dat_fmr_pool *pool)
{
	struct dat_ia *ia = pool->obj.ia;
	unsigned long end = jiffies + msecs_to_jiffies(POOL_PATIENCE_MS);
	ktime_t before = ktime_get();
	bool any = false, hurry = false, left;
	int ret;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	/*
	 * Some may find no room at first, and none for ever if it is the caller
	 * who should dequeue. The work has its turn between two rounds, and may post
	 * what is ours: so what is left on both lists is asked under its lock.
	 */
	for (;;) {
		mutex_lock(&pool->work_lock);
		any |= pool_end_due(pool, before, hurry);
		ret = pool_settle(pool, before, &any);
		left = ret == -EAGAIN || (!ret && pool_left(pool, &pool->dirty,
							    before));
		mutex_unlock(&pool->work_lock);
		if (!left)
			break;
		hurry = time_after(jiffies, end);
		usleep_range(100, 200);
	}
	kdapl_ia_leave(ia);

	if (any)
		pool_flushed(pool);
	return ret;
}

/**
 * dat_fmr_pool_flush - invalidate what was unmapped, and wait
 * @pool: the pool
 *
 * When it returns no key that was unmapped before the call is valid. kdapl's
 * addition.
 *
 * Context: process; sleeps, as long as the requests in front of the invalidations
 * take; not from the pool's flush_function.
 * Return: 0; -EINVAL: NULL; -ENODEV: the device is going or gone, and takes the
 * keys along.
 */
int dat_fmr_pool_flush(struct dat_fmr_pool *pool)
{
	might_sleep();

	return pool ? kdapl_pool_flush(pool) : -EINVAL;
}
EXPORT_SYMBOL_GPL(dat_fmr_pool_flush);
