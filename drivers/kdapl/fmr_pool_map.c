// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: pools of fast registrations: map and unmap
 *
 * A page list that is mapped, or lately was, is found by a hash and compared in
 * full: then the key serves once more and nothing is posted. Else a clean
 * registration is taken and registered on the EP. What is unmapped for good goes
 * to the end of the dirty list, still valid, and is either mapped again from
 * there or ended in its turn (fmr_pool_end.c).
 */
#include <linux/export.h>
#include <linux/hash.h>

#include "ep.h"
#include "evd.h"
#include "fmr_pool.h"
#include "frmr.h"
#include "ia.h"
#include "lmr.h"

static struct hlist_head *pool_bucket(const struct dat_fmr_pool *pool,
				      const u64 *pages, int num)
{
	return &pool->cache[hash_64(pages[0] + num, pool->cache_bits)];
}

static bool pool_same(const struct kdapl_pool_fmr *pf, const u64 *pages,
		      int num, u64 address)
{
	int i;

	if (pf->fmr.address != address || pf->num_pages != num)
		return false;
	for (i = 0; i < num; i++)
		if (pf->pages[i] != pages[i])
			return false;
	return true;
}

static struct kdapl_pool_fmr *pool_find_locked(struct dat_fmr_pool *pool,
					       const struct dat_ep *ep,
					       const u64 *pages, int num,
					       u64 address)
{
	struct kdapl_pool_fmr *pf;
	struct kdapl_frmr *fr;

	hlist_for_each_entry(pf, pool_bucket(pool, pages, num), hash) {
		if (!pool_same(pf, pages, num, address))
			continue;
		fr = pf->lmr->fr;
		/* It may have failed, or be good for its own EP so far. */
		if (likely(kdapl_frmr_state(fr) == KDAPL_FRMR_VALID &&
			   (pf->ep == ep || READ_ONCE(fr->settled))))
			return pf;
	}
	return NULL;
}

static void pool_hit_locked(struct dat_fmr_pool *pool,
			    struct kdapl_pool_fmr *pf)
{
	pool->stats.hits++;
	if (pf->used++)
		return;
	list_del_init(&pf->node);
	pool->num_dirty--;
	pool->mapped++;
	pool->stats.revived++;
	pf->state = KDAPL_POOL_MAPPED;
	pf->unmapped = 0;
}

static struct kdapl_pool_fmr *pool_take_locked(struct dat_fmr_pool *pool)
{
	struct kdapl_pool_fmr *pf;

	pool->stats.misses++;
	pf = list_first_entry_or_null(&pool->clean, struct kdapl_pool_fmr,
				      node);
	if (!pf) {
		pool->stats.empty++;
		pool->wanted = true;
		pool->flush_all = true;
		return NULL;
	}
	list_del_init(&pf->node);
	if (--pool->num_clean < pool->clean_low)
		pool->clean_low = pool->num_clean;
	pf->state = KDAPL_POOL_MAPPED;
	pf->used = 1;
	pool->mapped++;
	return pf;
}

void kdapl_pool_clean_locked(struct kdapl_pool_fmr *pf)
{
	struct dat_fmr_pool *pool = pf->pool;

	lockdep_assert_held(&pool->lock);

	list_move(&pf->node, &pool->clean);
	pool->num_clean++;
	pf->state = KDAPL_POOL_CLEAN;
	if (pf->ep)
		kdapl_obj_put(&pf->ep->obj);
	pf->ep = NULL;
	if (pf->evd)
		kdapl_obj_put(&pf->evd->obj);
	pf->evd = NULL;
}

void kdapl_pool_unhash_locked(struct kdapl_pool_fmr *pf)
{
	lockdep_assert_held(&pf->pool->lock);

	if (!hlist_unhashed(&pf->hash))
		hlist_del_init(&pf->hash);
}

/* The registration of a miss, and what the consumer and the cache see of it. */
static int pool_register(struct dat_fmr_pool *pool, struct kdapl_pool_fmr *pf,
			 struct dat_ep *ep, const u64 *pages, int num,
			 u64 address)
{
	struct kdapl_lmr_fmr fmr = {
		.region.type = pool->param.mem_type == DAT_MEM_TYPE_IA ?
			       KDAPL_MEM_TYPE_DMA_PAGES : DAT_MEM_TYPE_PHYSICAL,
		.region.desc.for_physical = pf->pages,
		.region.length = (u64)num * PAGE_SIZE,
		.priv = pool->param.privileges,
		.va_type = address ? DAT_VA_TYPE_VA : DAT_VA_TYPE_ZB,
		.va = address,
	};
	/* The consumer hears of a failure by the end of the connection. */
	struct kdapl_frmr_req req = {
		.flags = DAT_COMPLETION_SUPPRESS_FLAG,
		.op = DAT_DTO_LMR_FMR,
		.silent = true,
	};
	int ret;

	memcpy(pf->pages, pages, num * sizeof(*pages));
	pf->num_pages = num;
	ret = kdapl_lmr_fmr_post(pf->lmr, ep, &fmr, &req);
	if (ret)
		return ret;
	pf->fmr.lmr_context = pf->lmr->context;
	pf->fmr.rmr_context = pf->lmr->rkey;
	pf->fmr.address = address;
	pf->fmr.length = fmr.region.length;
	kdapl_obj_get(&ep->obj);
	pf->ep = ep;
	return 0;
}

static noinline int pool_miss(struct dat_fmr_pool *pool,
			      struct kdapl_pool_fmr *pf, struct dat_ep *ep,
			      const u64 *pages, int num, u64 address)
{
	unsigned long flags;
	int ret;

	ret = pool_register(pool, pf, ep, pages, num, address);
	spin_lock_irqsave(&pool->lock, flags);
	if (ret) {
		pool->mapped--;
		pf->used = 0;
		kdapl_pool_clean_locked(pf);
	} else if (pool->param.cache) {
		hlist_add_head(&pf->hash, pool_bucket(pool, pages, num));
	}
	spin_unlock_irqrestore(&pool->lock, flags);
	return ret;
}

/**
 * dat_fmr_pool_map - get keys for a list of pages
 * @pool: the pool
 * @ep: on which the registration is posted if one is needed, connected; of a pool
 *	with an EP of its own NULL or that one
 * @page_list: addresses of pages of PAGE_SIZE, of the kind that the pool was made
 *	for
 * @num_pages: of them
 * @address: what triplets are to call the first byte; 0: they hold offsets
 * @fmr: OUT: the mapping
 *
 * A registration takes one of max_request_dtos of @ep until it has completed, and
 * its key is good for what is posted on @ep from now on, and for other EPs when it
 * has completed. A list that the cache knows costs no request; lists are compared
 * page by page, with their address. kdapl's addition.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL: NULL, no pages, another EP, or addresses that are no
 * pages; -EMSGSIZE: more than max_pages; -EAGAIN: all registrations are in use or
 * not yet invalidated: unmap, or try again later, as the pool is about to grow or
 * to invalidate; -EPERM: an EP of another PZ; -EOPNOTSUPP: an @address inside of a
 * page, where the device cannot do that; -ENOSPC and the state of the EP: as
 * dat_ep_post_send(); else the errno of the provider.
 */
int dat_fmr_pool_map(struct dat_fmr_pool *pool, struct dat_ep *ep,
		     const u64 *page_list, int num_pages, u64 address,
		     struct dat_fmr **fmr)
{
	struct kdapl_pool_fmr *pf = NULL;
	unsigned long flags;
	int ret;

	if (unlikely(!pool || !page_list || !fmr || num_pages < 1))
		return -EINVAL;
	if (pool->ep) {
		if (unlikely(ep && ep != pool->ep))
			return -EINVAL;
		ep = pool->ep;
	}
	if (unlikely(!ep || ep->obj.ia != pool->obj.ia))
		return -EINVAL;
	if (unlikely(num_pages > pool->param.max_pages))
		return -EMSGSIZE;
	if (unlikely(ep->config.pz != pool->pz))
		return -EPERM;

	spin_lock_irqsave(&pool->lock, flags);
	if (pool->param.cache)
		pf = pool_find_locked(pool, ep, page_list, num_pages, address);
	if (likely(pf)) {
		pool_hit_locked(pool, pf);
		spin_unlock_irqrestore(&pool->lock, flags);
		*fmr = &pf->fmr;
		return 0;
	}
	pf = pool_take_locked(pool);
	spin_unlock_irqrestore(&pool->lock, flags);
	if (!pf) {
		kdapl_pool_kick(pool);
		return -EAGAIN;
	}
	ret = pool_miss(pool, pf, ep, page_list, num_pages, address);
	if (!ret)
		*fmr = &pf->fmr;
	return ret;
}
EXPORT_SYMBOL_GPL(dat_fmr_pool_map);

/* The last user has gone. True if the work has to look when that one is due. */
static bool pool_unmapped_locked(struct dat_fmr_pool *pool,
				 struct kdapl_pool_fmr *pf)
{
	bool first;

	pool->mapped--;
	switch (kdapl_frmr_state(pf->lmr->fr)) {
	case KDAPL_FRMR_VALID:
		pf->state = KDAPL_POOL_DIRTY;
		pf->unmapped = ktime_get();
		first = list_empty(&pool->dirty);
		list_add_tail(&pf->node, &pool->dirty);
		pool->num_dirty++;
		return first || pool->num_dirty >= pool->param.dirty_watermark;
	case KDAPL_FRMR_FREE:
		/* The peer has invalidated it, or it was replaced. */
		kdapl_pool_unhash_locked(pf);
		kdapl_pool_clean_locked(pf);
		return false;
	default:
		/* It has failed, and comes back when it was replaced. */
		kdapl_pool_unhash_locked(pf);
		pf->state = KDAPL_POOL_ENDING;
		pf->unmapped = ktime_get();
		list_add_tail(&pf->node, &pool->ending);
		return false;
	}
}

/**
 * dat_fmr_pool_unmap - give a mapping back
 * @fmr: of dat_fmr_pool_map(), as often as it was mapped
 *
 * The keys stay valid until the pool invalidates them, for at most max_exposure_ms
 * if the pool has such a bound; until then the memory must not be given to somebody
 * else if the peer is not trusted. With a bound of 0 it is out of reach when the
 * call returns. kdapl's addition.
 *
 * Context: any; process, as it sleeps, if max_exposure_ms is 0.
 * Return: 0, or -EINVAL: NULL, or not mapped.
 */
int dat_fmr_pool_unmap(struct dat_fmr *fmr)
{
	struct kdapl_pool_fmr *pf;
	struct dat_fmr_pool *pool;
	bool kick = false, strict;
	unsigned long flags;

	if (!fmr)
		return -EINVAL;
	pf = container_of(fmr, struct kdapl_pool_fmr, fmr);
	pool = pf->pool;
	strict = !pool->param.max_exposure_ms;
	if (strict)
		might_sleep();

	spin_lock_irqsave(&pool->lock, flags);
	if (!pf->used) {
		spin_unlock_irqrestore(&pool->lock, flags);
		return -EINVAL;
	}
	strict &= pf->used == 1;
	if (!--pf->used)
		kick = pool_unmapped_locked(pool, pf);
	spin_unlock_irqrestore(&pool->lock, flags);

	if (strict && kdapl_pool_flush(pool))
		wait_for_completion(&pool->obj.ia->removed);
	else if (kick)
		kdapl_pool_kick(pool);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_fmr_pool_unmap);

void kdapl_pool_freed(struct kdapl_pool_fmr *pf)
{
	struct dat_fmr_pool *pool = pf->pool;
	unsigned long flags;

	spin_lock_irqsave(&pool->lock, flags);
	/* Somebody was faster, and it may be in use again. */
	if (kdapl_frmr_state(pf->lmr->fr) != KDAPL_FRMR_FREE)
		goto out_unlock;
	switch (pf->state) {
	case KDAPL_POOL_DIRTY:
		pool->num_dirty--;
		fallthrough;
	case KDAPL_POOL_ENDING:
		kdapl_pool_unhash_locked(pf);
		/* Its batch will see that it is FREE, and do the rest. */
		if (pf->collected)
			break;
		kdapl_pool_account_locked(pf);
		kdapl_pool_clean_locked(pf);
		break;
	case KDAPL_POOL_MAPPED:
		/* The consumer will find out; it is clean when he unmaps it. */
		kdapl_pool_unhash_locked(pf);
		break;
	case KDAPL_POOL_CLEAN:
		break;
	}
out_unlock:
	spin_unlock_irqrestore(&pool->lock, flags);
}
