// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: fast registration, the long way
 *
 * All that lmr_fmr.c does not: making such an LMR, memory of every kind, flags,
 * queues without a QP, and finding out what is wrong.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "ep.h"
#include "fault.h"
#include "frmr.h"
#include "ia.h"
#include "lmr.h"
#include "lmr_region.h"
#include "pz.h"

#define FMR_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define FMR_INV_FLAGS	(FMR_FLAGS | DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)

/**
 * kdapl_lmr_fmr_allow - settle what follows from the privileges alone
 * @lmr: of kdapl_lmr_allocate(); its MR is TAKEN, or nobody can find it yet
 * @priv: of the registration that comes
 *
 * Most registrations have those of the one before.
 *
 * Context: any.
 */
void kdapl_lmr_fmr_allow(struct dat_lmr *lmr, u32 priv)
{
	struct dat_ia *ia = lmr->obj.ia;

	lmr->priv = priv;
	lmr->access = kdapl_lmr_mem_access(ia, priv);
	lmr->deny = (DAT_MEM_PRIV_ALL_FLAG & ~priv) | KDAPL_LMR_NEED_MR;
	if (lmr->scope == DAT_LMR_SCOPE_EP)
		lmr->deny |= KDAPL_LMR_NEED_ONE;
	lmr->mr_lkey_mask = !ia->iwarp ||
			    lmr->access & IB_ACCESS_REMOTE_WRITE ? ~0U : 0;
	lmr->rkey_mask = priv & KDAPL_LMR_REMOTE ? ~0U : 0;
}

/* Posts find the memory as long as it is registered. */
static void fmr_changed(struct kdapl_frmr *fr)
{
	struct dat_lmr *lmr = container_of(fr->owner, struct dat_lmr, obj);

	WRITE_ONCE(lmr->length, kdapl_frmr_state(fr) == KDAPL_FRMR_VALID ?
				lmr->fmr_length : 0);
}

/**
 * kdapl_lmr_allocate - as dat_lmr_allocate(), not yet on the IA's list
 * @ia: the IA
 * @pz: protection zone
 * @max_pages: of a registration
 * @scope: which EPs may use it
 * @lmr: OUT: the LMR
 *
 * Context: process; sleeps; inside the IA's gate.
 * Return: as dat_lmr_allocate().
 */
int kdapl_lmr_allocate(struct dat_ia *ia, struct dat_pz *pz, int max_pages,
		       enum dat_lmr_scope scope, struct dat_lmr **lmr)
{
	struct dat_lmr *new;
	int ret;

	ret = kdapl_pz_get_user(pz, ia);
	if (ret)
		return ret;

	ret = -ENOMEM;
	new = kdapl_fault_zalloc(sizeof(*new));
	if (!new)
		goto out_put_pz;
	kdapl_obj_init(&new->obj, ia, DAT_HANDLE_TYPE_LMR, kdapl_lmr_release);
	INIT_LIST_HEAD(&new->deferred);
	kdapl_obj_get(&pz->obj);
	new->pz = pz;
	new->scope = scope;
	kdapl_lmr_fmr_allow(new, 0);
	new->fmr_near = (unsigned long)new;
	new->fr = kzalloc(sizeof(*new->fr), GFP_KERNEL);
	if (!new->fr)
		goto out_put;
	ret = kdapl_frmr_init(new->fr, pz, &new->obj, max_pages, fmr_changed);
	if (ret)
		goto out_put;

	ret = kdapl_lmr_index_get(new);
	if (ret)
		goto out_remove;
	kdapl_lmr_index_show(new, new);
	*lmr = new;
	return 0;

out_remove:
	kdapl_lmr_remove_device(new);
out_put:
	kdapl_obj_put(&new->obj);
out_put_pz:
	kdapl_pz_put_user(pz);
	return ret;
}

/**
 * dat_lmr_allocate - make an LMR for fast registration
 * @ia: the IA
 * @pz: protection zone; EPs of others cannot use it
 * @max_pages: pages of PAGE_SIZE that it has room for
 * @scope: %DAT_LMR_SCOPE_PZ: any EP of @pz may use it; %DAT_LMR_SCOPE_EP: only
 *	that EP on which it was registered. kdapl watches over the second for
 *	what is posted here; adapters know protection zones only, so a peer that
 *	has the key can use it through any EP of @pz
 * @lmr: OUT: the LMR, which names no memory yet
 *
 * All that a registration needs is allocated here. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, no pages, an unknown scope; -EOPNOTSUPP: the device
 * has no fast registration; -EMSGSIZE: it does not take so many pages in one;
 * -ENOMEM; -ENODEV: the device is gone; else the errno of the provider.
 */
int dat_lmr_allocate(struct dat_ia *ia, struct dat_pz *pz, int max_pages,
		     enum dat_lmr_scope scope, struct dat_lmr **lmr)
{
	struct dat_lmr *new;
	int ret;

	might_sleep();

	if (!ia || !pz || !lmr || max_pages < 1 ||
	    (scope != DAT_LMR_SCOPE_EP && scope != DAT_LMR_SCOPE_PZ))
		return -EINVAL;
	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	ret = kdapl_lmr_allocate(ia, pz, max_pages, scope, &new);
	if (!ret) {
		kdapl_obj_link(&new->obj);
		*lmr = new;
	}
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_lmr_allocate);

/* Bytes that @num_pages of the kind cover; 0: no such thing. */
static u64 fmr_length(enum dat_mem_type mem_type,
		      const union dat_region_description *region, u64 num_pages)
{
	switch (mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		return num_pages * PAGE_SIZE - offset_in_page(region->for_va);
	case DAT_MEM_TYPE_IA:
		return num_pages * PAGE_SIZE - offset_in_page(region->for_ia);
	case DAT_MEM_TYPE_PHYSICAL:
		return num_pages * PAGE_SIZE;
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		/* Larger ones kdapl_region_fill() refuses. */
		return num_pages * (u32)region->for_array.page_size;
	case DAT_MEM_TYPE_PLATFORM:
		return region->for_platform ?
		       kdapl_region_table_length(region->for_platform) : 0;
	default:
		return 0;
	}
}

static int fmr_refused(const struct kdapl_frmr *fr)
{
	switch (kdapl_frmr_state(fr)) {
	case KDAPL_FRMR_UNKNOWN:
		return -EAGAIN;
	case KDAPL_FRMR_DEAD:
		return -ENODEV;
	default:
		return -EBUSY;
	}
}

/* The MR is TAKEN: gives it a list, and the LMR what posts look at. */
static int fmr_prepare(struct dat_lmr *lmr, const struct kdapl_lmr_fmr *fmr,
		       struct kdapl_frmr_req *req)
{
	const struct kdapl_region *region = &fmr->region;
	struct kdapl_frmr *fr = lmr->fr;
	struct dat_ia *ia = lmr->obj.ia;
	u64 start;
	int ret;

	ret = kdapl_region_fill(region, fr->chunk, fr->sgl, fr->max_nents);
	if (ret < 0)
		return ret;
	if (kdapl_region_pages(region) > fr->max_pages)
		return -EMSGSIZE;
	start = kdapl_region_start(region);
	if (fmr->va_type == DAT_VA_TYPE_ZB)
		req->iova = 0;
	else
		req->iova = fmr->va ?: start;
	if (!kdapl_lmr_mem_congruent(ia, req->iova, start))
		return -EOPNOTSUPP;
	fr->nents = ret;
	fr->map_dma = !kdapl_region_is_dma(region);
	if (lmr->priv != fmr->priv)
		kdapl_lmr_fmr_allow(lmr, fmr->priv);
	req->access = lmr->access;
	return 0;
}

/* The keys, from now on in this EP's queue. */
static void fmr_show(struct dat_lmr *lmr, const struct kdapl_lmr_fmr *fmr,
		     const struct kdapl_frmr_req *req, u32 key)
{
	lmr->va = req->iova;
	lmr->base = req->iova;
	lmr->lkey = key;
	lmr->mr_lkey = key & lmr->mr_lkey_mask;
	lmr->rkey = key & lmr->rkey_mask;
	lmr->mem_type = fmr->region.type;
	lmr->va_type = fmr->va_type;
	lmr->region = fmr->region.desc;
	lmr->context = (lmr->context & ~0xff) | ((lmr->context + 1) & 0xff);
	lmr->fmr_length = fmr->region.length;
	/*
	 * The request may have failed meanwhile. Either this look finds that, or
	 * fmr_changed() comes behind it.
	 */
	WRITE_ONCE(lmr->length, fmr->region.length);
	/* smp_store_mb() takes no 64-bit value on 32-bit kernels. */
	smp_mb();
	if (kdapl_frmr_state(lmr->fr) != KDAPL_FRMR_VALID)
		WRITE_ONCE(lmr->length, 0);
}

/**
 * kdapl_lmr_fmr_post - register memory by a request
 * @lmr: of kdapl_lmr_allocate(), in the PZ of @ep
 * @ep: the EP
 * @fmr: what and how
 * @req: cookie, flags and op; the rest is filled in
 *
 * Context: any.
 * Return: as dat_lmr_fmr().
 */
int kdapl_lmr_fmr_post(struct dat_lmr *lmr, struct dat_ep *ep,
		       const struct kdapl_lmr_fmr *fmr,
		       struct kdapl_frmr_req *req)
{
	struct kdapl_frmr *fr = lmr->fr;
	int ret;

	if (!kdapl_frmr_move(fr, KDAPL_FRMR_FREE, KDAPL_FRMR_TAKEN))
		return fmr_refused(fr);
	req->fr = fr;
	ret = fmr_prepare(lmr, fmr, req);
	if (ret) {
		kdapl_frmr_move(fr, KDAPL_FRMR_TAKEN, KDAPL_FRMR_FREE);
		return ret;
	}
	ret = kdapl_frmr_register(ep, req);
	if (!ret)
		fmr_show(lmr, fmr, req, fr->key);
	return ret;
}

/*
 * Everything that dat_lmr_fmr() may have to do, and finding out what is wrong.
 */
int kdapl_lmr_fmr_long(struct dat_lmr *lmr, enum dat_mem_type mem_type,
		       union dat_region_description region, int num_pages,
		       enum dat_mem_priv_flags privileges,
		       enum dat_va_type va_type, struct dat_ep *ep,
		       union dat_context cookie, enum dat_completion_flags flags,
		       u32 *lmr_context, u32 *rmr_context)
{
	struct kdapl_lmr_fmr fmr = {
		.priv = privileges,
		.va_type = va_type,
	};
	struct kdapl_frmr_req req = {
		.cookie = cookie,
		.flags = flags,
		.op = DAT_DTO_LMR_FMR,
	};
	int ret;

	if (!lmr || !ep || !lmr_context || !rmr_context || num_pages < 1 ||
	    lmr->obj.ia != ep->obj.ia ||
	    (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB))
		return -EINVAL;
	if (flags &&
	    (flags & ~FMR_FLAGS || flags & DAT_COMPLETION_UNSIGNALLED_FLAG &
	     ~ep->config.attr.request_completion_flags))
		return -EINVAL;
	if (privileges & ~DAT_MEM_PRIV_ALL_FLAG) {
		ret = kdapl_lmr_check_priv(lmr->obj.ia, privileges);
		if (ret)
			return ret;
	}
	if (!lmr->fr)
		return lmr->pz ? -EINVAL : -EPERM;
	if (lmr->pz != ep->config.pz)
		return -EPERM;
	if (mem_type == DAT_MEM_TYPE_LMR || mem_type == DAT_MEM_TYPE_BYPASS)
		return -EOPNOTSUPP;
	if (num_pages > lmr->fr->max_pages)
		return -EMSGSIZE;

	fmr.region.type = mem_type;
	fmr.region.desc = region;
	fmr.region.length = fmr_length(mem_type, &region, num_pages);
	if (!fmr.region.length)
		return -EINVAL;
	ret = kdapl_lmr_fmr_post(lmr, ep, &fmr, &req);
	if (ret)
		return ret;
	*lmr_context = lmr->context;
	*rmr_context = lmr->rkey;
	return 0;
}

int kdapl_lmr_invalidate_long(struct dat_lmr *lmr, struct dat_ep *ep,
			      union dat_context cookie,
			      enum dat_completion_flags flags)
{
	struct kdapl_frmr_req req = {
		.cookie = cookie,
		.flags = flags,
		.op = DAT_DTO_LMR_INVALIDATE,
	};

	if (!lmr || !ep || lmr->obj.ia != ep->obj.ia)
		return -EINVAL;
	if (flags &&
	    (flags & ~FMR_INV_FLAGS || flags & DAT_COMPLETION_UNSIGNALLED_FLAG &
	     ~ep->config.attr.request_completion_flags))
		return -EINVAL;
	if (!lmr->fr)
		return lmr->pz ? -EINVAL : -EPERM;
	if (lmr->pz != ep->config.pz ||
	    (lmr->scope == DAT_LMR_SCOPE_EP && lmr->fr->ep != ep &&
	     lmr->fr->ep))
		return -EPERM;

	req.fr = lmr->fr;
	return kdapl_frmr_invalidate(ep, &req);
}
