// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: pools of fast registrations: making and unmaking
 *
 * What ib_fmr_pool was until Linux 5.7, on the requests that have replaced FMRs:
 * a cache by page list, the longest unmapped first to go, revival, a watermark,
 * batches; and a bound on how long an unmapped key stays valid, which it lacked.
 *
 * A pool is a number of LMRs for fast registration that no consumer sees. It grows
 * from its minimum while mappings are refused and shrinks when some are not used
 * for a second.
 */
#include "fmr_pool.h"

#include <linux/export.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ep.h"
#include "evd.h"
#include "fault.h"
#include "frmr.h"
#include "ia.h"
#include "lmr.h"
#include "pz.h"

static void pool_free_rcu(struct rcu_head *rcu)
{
	struct dat_fmr_pool *pool = container_of(rcu, struct dat_fmr_pool, rcu);

	kvfree(pool->cache);
	kfree(pool);
}

static void pool_release(struct kdapl_obj *obj)
{
	struct dat_fmr_pool *pool = container_of(obj, struct dat_fmr_pool, obj);

	if (pool->ep)
		kdapl_obj_put(&pool->ep->obj);
	kdapl_obj_put(&pool->pz->obj);
	/* A completion may be on its last steps in kdapl_pool_freed(). */
	call_rcu(&pool->rcu, pool_free_rcu);
}

static void pool_fr_freed(struct kdapl_frmr *fr)
{
	struct dat_lmr *lmr = container_of(fr->owner, struct dat_lmr, obj);

	kdapl_pool_freed(lmr->pool_fmr);
}

int kdapl_pool_grow(struct dat_fmr_pool *pool)
{
	struct dat_ia *ia = pool->obj.ia;
	struct kdapl_pool_fmr *pf;
	int ret;

	pf = kvzalloc(struct_size(pf, pages, pool->param.max_pages),
		      GFP_KERNEL);
	if (!pf)
		return -ENOMEM;
	ret = kdapl_lmr_allocate(ia, pool->pz, pool->param.max_pages,
				 DAT_LMR_SCOPE_PZ, &pf->lmr);
	if (ret) {
		kvfree(pf);
		return ret;
	}
	pf->pool = pool;
	INIT_HLIST_NODE(&pf->hash);
	pf->lmr->pool_fmr = pf;
	kdapl_frmr_set_freed(pf->lmr->fr, pool_fr_freed);

	spin_lock_irq(&pool->lock);
	list_add_tail(&pf->all, &pool->all);
	list_add(&pf->node, &pool->clean);
	pool->num_clean++;
	pool->count++;
	spin_unlock_irq(&pool->lock);
	return 0;
}

/*
 * It is on no list, and no request names it: nobody posts what is not mapped, and the
 * caller has seen that posted is 0. The last of those that were fetched has decremented
 * it under an EVD lock, so also what it may still look at is there for a grace period.
 */
static void pool_drop(struct kdapl_pool_fmr *pf)
{
	kdapl_lmr_drop(pf->lmr);
	if (pf->ep)
		kdapl_obj_put(&pf->ep->obj);
	if (pf->evd)
		kdapl_obj_put(&pf->evd->obj);
	kvfree_rcu(pf, rcu);
}

/*
 * One that is CLEAN and that no request names. The peer may have ended a registration
 * whose own completion nobody has fetched yet, and that leads to the MR. Once it is
 * CLEAN and home none is posted unless it is mapped, so under the lock that holds.
 */
static struct kdapl_pool_fmr *pool_spare_locked(struct dat_fmr_pool *pool)
{
	struct kdapl_pool_fmr *pf;

	list_for_each_entry(pf, &pool->clean, node)
		if (!atomic_read_acquire(&pf->lmr->fr->posted))
			return pf;
	return NULL;
}

void kdapl_pool_shrink(struct dat_fmr_pool *pool, int count)
{
	struct kdapl_pool_fmr *pf;

	while (count-- > 0) {
		spin_lock_irq(&pool->lock);
		pf = pool_spare_locked(pool);
		if (pf) {
			list_del(&pf->node);
			list_del(&pf->all);
			pool->num_clean--;
			pool->count--;
		}
		spin_unlock_irq(&pool->lock);
		if (!pf)
			return;
		pool_drop(pf);
	}
}

static bool pool_param_ok(const struct dat_fmr_pool_param *param)
{
	return (param->mem_type == DAT_MEM_TYPE_PHYSICAL ||
		param->mem_type == DAT_MEM_TYPE_IA) &&
	       param->max_pages > 0 && param->min_fmrs > 0 &&
	       param->max_fmrs >= param->min_fmrs &&
	       param->dirty_watermark >= 0 &&
	       param->dirty_watermark <= param->max_fmrs;
}

/**
 * dat_fmr_pool_create - make a pool of fast registrations
 * @ia: the IA
 * @pz: protection zone of all of them
 * @ep: the EP that they are made on, or NULL: each dat_fmr_pool_map() names one of
 *	@pz. A pool may outlive its EP, and has no more mappings then
 * @param: what it is to be, see struct dat_fmr_pool_param
 * @pool: OUT: the pool
 *
 * kdapl's addition.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, an EP of another IA, or a parameter out of its range;
 * -EPERM: an EP of another PZ; -EOPNOTSUPP: the device has no fast registration, or
 * no atomics for %DAT_IB_MEM_PRIV_REMOTE_ATOMIC; -EMSGSIZE: it does not take so
 * many pages in one; -ENOMEM; -ENODEV: the device is gone; else the errno of the
 * provider.
 */
int dat_fmr_pool_create(struct dat_ia *ia, struct dat_pz *pz,
			struct dat_ep *ep,
			const struct dat_fmr_pool_param *param,
			struct dat_fmr_pool **pool)
{
	struct dat_fmr_pool *new;
	int ret, i;

	might_sleep();

	if (!ia || !pz || !param || !pool || (ep && ep->obj.ia != ia) ||
	    !pool_param_ok(param))
		return -EINVAL;
	ret = kdapl_lmr_check_priv(ia, param->privileges);
	if (ret)
		return ret;
	if (ep && ep->config.pz != pz)
		return -EPERM;
	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	ret = kdapl_pz_get_user(pz, ia);
	if (ret)
		goto out_leave;

	ret = -ENOMEM;
	new = kdapl_fault_zalloc(sizeof(*new));
	if (!new)
		goto out_put_pz;
	kdapl_obj_init(&new->obj, ia, KDAPL_HANDLE_POOL, pool_release);
	kdapl_obj_get(&pz->obj);
	new->pz = pz;
	new->param = *param;
	if (!new->param.dirty_watermark)
		new->param.dirty_watermark = max(param->max_fmrs / 2, 1);
	spin_lock_init(&new->lock);
	INIT_LIST_HEAD(&new->clean);
	INIT_LIST_HEAD(&new->dirty);
	INIT_LIST_HEAD(&new->ending);
	INIT_LIST_HEAD(&new->all);
	mutex_init(&new->work_lock);
	INIT_DELAYED_WORK(&new->work, kdapl_pool_work);
	new->run = 1;
	new->fit_at = jiffies;

	new->cache_bits = max(order_base_2(param->max_fmrs), 1);
	new->cache = kvcalloc(1UL << new->cache_bits, sizeof(*new->cache),
			      GFP_KERNEL);
	if (!new->cache)
		goto out_put;
	for (i = 0; i < param->min_fmrs; i++) {
		ret = kdapl_pool_grow(new);
		if (ret)
			goto out_shrink;
	}
	if (ep) {
		kdapl_obj_get(&ep->obj);
		new->ep = ep;
	}
	kdapl_obj_link(&new->obj);
	*pool = new;
	kdapl_ia_leave(ia);
	return 0;

out_shrink:
	kdapl_pool_shrink(new, i);
out_put:
	kdapl_obj_put(&new->obj);
out_put_pz:
	kdapl_pz_put_user(pz);
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_fmr_pool_create);

void kdapl_pool_remove_device(struct dat_fmr_pool *pool)
{
	struct kdapl_pool_fmr *pf;

	list_for_each_entry(pf, &pool->all, all)
		kdapl_lmr_remove_device(pf->lmr);
}

void kdapl_pool_destroy(struct dat_fmr_pool *pool)
{
	struct dat_ia *ia = pool->obj.ia;
	struct kdapl_pool_fmr *pf, *next;
	bool inside;

	spin_lock_irq(&pool->lock);
	pool->dying = true;
	spin_unlock_irq(&pool->lock);
	cancel_delayed_work_sync(&pool->work);

	/*
	 * No request names a registration: dat_fmr_pool_destroy() has made sure, or
	 * the close of the IA has destroyed all EPs, whose requests came home first.
	 * If the gate is shut the removal takes the MRs: let it finish.
	 */
	inside = !kdapl_ia_enter(ia);
	if (!inside)
		wait_for_completion(&ia->removed);
	kdapl_obj_unlink(&pool->obj);
	list_for_each_entry_safe(pf, next, &pool->all, all)
		pool_drop(pf);
	if (inside)
		kdapl_ia_leave(ia);
	kdapl_pz_put_user(pool->pz);
	kdapl_obj_put(&pool->obj);
}

/*
 * Nothing is mapped, by the flush_function perhaps, and no request names a
 * registration. Nobody else uses the pool, and its work has ended: @pool->all stays
 * as it is.
 */
static bool pool_idle(struct dat_fmr_pool *pool)
{
	struct kdapl_pool_fmr *pf;

	list_for_each_entry(pf, &pool->all, all)
		if (pf->used || !kdapl_frmr_idle(pf->lmr->fr))
			return false;
	return true;
}

/**
 * dat_fmr_pool_destroy - give a pool back
 * @pool: the pool; no other call on it is under way
 *
 * What was unmapped is invalidated first, as dat_fmr_pool_flush() does. kdapl's
 * addition.
 *
 * Context: process; sleeps; not from the pool's flush_function.
 * Return: 0; -EINVAL: NULL; -EBUSY: something is mapped, or a request of the pool is
 * under way behind others that have not completed: the registration of a mapping that
 * the peer has invalidated, or the invalidation of one that was taken from the device
 * as its time was up. The pool is as usable as before then.
 */
int dat_fmr_pool_destroy(struct dat_fmr_pool *pool)
{
	bool busy;

	might_sleep();

	if (!pool)
		return -EINVAL;
	spin_lock_irq(&pool->lock);
	busy = pool->mapped;
	pool->dying = !busy;
	spin_unlock_irq(&pool->lock);
	if (busy)
		return -EBUSY;
	/* Removal brings home all that was posted. */
	if (kdapl_pool_flush(pool))
		wait_for_completion(&pool->obj.ia->removed);
	cancel_delayed_work_sync(&pool->work);
	if (!pool_idle(pool)) {
		spin_lock_irq(&pool->lock);
		pool->dying = false;
		spin_unlock_irq(&pool->lock);
		kdapl_pool_kick(pool);
		return -EBUSY;
	}
	kdapl_pool_destroy(pool);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_fmr_pool_destroy);
