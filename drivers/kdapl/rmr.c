// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: remote memory regions
 *
 * The kernel's verbs have no memory windows. An RMR has two MRs of its own
 * instead, and a bind registers one of them over the pages of the LMR, which are
 * mapped already. If the other is still bound it is invalidated by a request in
 * front of that, in one chain, so that the old key is dead when the bind has
 * completed, and never are both good, unless that request or an unbind was flushed:
 * then the old key is good until its MR was replaced, which is begun at once. Two,
 * because the page list of an MR must not change while the peer may use it.
 */
#include "rmr.h"

#include <linux/export.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "ep.h"
#include "fault.h"
#include "ia.h"
#include "lmr.h"
#include "pz.h"

enum {
	/* Pages of a window, as far as the device goes along. */
	RMR_MAX_PAGES = 512,
};

static void rmr_free_rcu(struct rcu_head *rcu)
{
	struct dat_rmr *rmr = container_of(rcu, struct dat_rmr, rcu);

	kdapl_frmr_free(&rmr->window[1].fr);
	kdapl_frmr_free(&rmr->window[0].fr);
	kfree(rmr);
}

static void rmr_release(struct kdapl_obj *obj)
{
	struct dat_rmr *rmr = container_of(obj, struct dat_rmr, obj);

	/* Posts that find it meanwhile compare the PZ, and look at nothing of it. */
	kdapl_obj_put(&rmr->pz->obj);
	call_rcu(&rmr->rcu, rmr_free_rcu);
}

static struct kdapl_rmr_window *rmr_window(struct kdapl_frmr *fr)
{
	return container_of(fr, struct kdapl_rmr_window, fr);
}

void kdapl_rmr_put_lmr(struct kdapl_rmr_window *window)
{
	struct dat_lmr *lmr = xchg(&window->lmr, NULL);

	if (lmr)
		atomic_dec(&lmr->binds);
}

/*
 * VALID: a bind is about to be posted, or the end of one was not. In either case the
 * caller has rmr->busy, so no other bind changes what the window holds meanwhile.
 */
static void rmr_changed(struct kdapl_frmr *fr)
{
	struct dat_rmr *rmr = container_of(fr->owner, struct dat_rmr, obj);
	struct kdapl_rmr_window *window = rmr_window(fr);
	int index = window - rmr->window;
	unsigned long flags;

	spin_lock_irqsave(&rmr->lock, flags);
	if (kdapl_frmr_state(fr) == KDAPL_FRMR_VALID) {
		rmr->current_window = index;
		rmr->triplet = window->triplet;
		rmr->priv = window->priv;
		rmr->va_type = window->va_type;
		rmr->context = fr->key;
	} else if (rmr->current_window == index) {
		rmr->current_window = -1;
	}
	spin_unlock_irqrestore(&rmr->lock, flags);
}

/*
 * Nobody reaches the LMR through it any more. The next bind sets another one as soon
 * as the window is FREE, and so this comes before that.
 */
static void rmr_over(struct kdapl_frmr *fr)
{
	kdapl_rmr_put_lmr(rmr_window(fr));
}

void kdapl_rmr_done_locked(struct kdapl_frmr *fr, enum ib_wc_status status)
{
	struct dat_rmr *rmr = container_of(fr->owner, struct dat_rmr, obj);

	/* Interrupts are off: the EVD lock is held. */
	spin_lock(&rmr->lock);
	rmr->busy = false;
	spin_unlock(&rmr->lock);
}

/* What is wrong with @part of a window that is bound under its context. */
static int rmr_sink_locked(const struct dat_rmr *rmr, struct kdapl_frmr *fr,
			   const struct dat_ep *ep,
			   const struct dat_rmr_triplet *part)
{
	u64 start = rmr->va_type == DAT_VA_TYPE_ZB ?
		    0 : rmr->triplet.virtual_address;
	u64 off = part->virtual_address - start;
	u32 length = rmr->triplet.segment_length;

	if (rmr->current_window != rmr_window(fr) - rmr->window ||
	    rmr->context != part->rmr_context ||
	    kdapl_frmr_state(fr) != KDAPL_FRMR_VALID)
		return -EINVAL;
	if (off > length || part->segment_length > length - off)
		return -EINVAL;
	if (rmr->scope == DAT_RMR_SCOPE_EP && fr->ep != ep)
		return -EPERM;
	if (!(rmr->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return -EACCES;
	/* Its bind stands in another queue, and may come behind the read. */
	return fr->ep == ep || READ_ONCE(fr->settled) ? 0 : -EBUSY;
}

int kdapl_rmr_sink(const struct dat_ep *ep, const struct dat_rmr_triplet *part,
		   struct ib_sge *sge)
{
	struct kdapl_frmr *fr;
	struct dat_rmr *rmr;
	int ret;

	/* Interrupts are off, which keeps what is found from being freed. */
	lockdep_assert_held(&ep->req.post_lock);

	fr = xa_load(&ep->obj.ia->frmrs, part->rmr_context >> 8);
	if (!fr || fr->owner->type != DAT_HANDLE_TYPE_RMR)
		return -EINVAL;
	if (fr->pz != ep->config.pz)
		return -EPERM;
	rmr = container_of(fr->owner, struct dat_rmr, obj);
	spin_lock(&rmr->lock);
	ret = rmr_sink_locked(rmr, fr, ep, part);
	spin_unlock(&rmr->lock);
	if (ret)
		return ret;
	sge->addr = part->virtual_address;
	sge->length = part->segment_length;
	/* Those of a registered MR are the same. */
	sge->lkey = part->rmr_context;
	return 0;
}

void kdapl_rmr_remove_device(struct dat_rmr *rmr)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rmr->window); i++) {
		kdapl_frmr_remove_device(&rmr->window[i].fr);
		kdapl_rmr_put_lmr(&rmr->window[i]);
	}
}

static int rmr_create(struct dat_pz *pz, enum dat_rmr_scope scope,
		      struct dat_rmr **rmr)
{
	struct dat_rmr *new;
	struct dat_ia *ia;
	u32 pages;
	int ret;

	might_sleep();

	if (!pz || !rmr)
		return -EINVAL;
	ia = pz->obj.ia;
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
	kdapl_obj_init(&new->obj, ia, DAT_HANDLE_TYPE_RMR, rmr_release);
	spin_lock_init(&new->lock);
	kdapl_obj_get(&pz->obj);
	new->pz = pz;
	new->scope = scope;
	new->current_window = -1;

	pages = min_t(u32, ia->dev_attr.max_fast_reg_page_list_len,
		      RMR_MAX_PAGES);
	ret = kdapl_frmr_init(&new->window[0].fr, pz, &new->obj, pages,
			      rmr_changed);
	if (ret)
		goto out_put;
	/* The list is needed while a bind is being posted, and then no more. */
	new->window[1].fr.sgl = new->window[0].fr.sgl;
	ret = kdapl_frmr_init(&new->window[1].fr, pz, &new->obj, pages,
			      rmr_changed);
	if (ret)
		goto out_remove;
	new->window[0].fr.over = rmr_over;
	new->window[1].fr.over = rmr_over;

	kdapl_obj_link(&new->obj);
	*rmr = new;
	kdapl_ia_leave(ia);
	return 0;

out_remove:
	kdapl_frmr_remove_device(&new->window[0].fr);
out_put:
	kdapl_obj_put(&new->obj);
out_put_pz:
	kdapl_pz_put_user(pz);
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}

/**
 * dat_rmr_create - make a window
 * @pz: its protection zone
 * @rmr: OUT: the RMR, bound to nothing
 *
 * Any EP of @pz can bind it. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, or a PZ that is being freed; -EOPNOTSUPP: the device
 * has no fast registration; -ENOMEM; -ENODEV: the device is gone; else the errno of
 * the provider.
 */
int dat_rmr_create(struct dat_pz *pz, struct dat_rmr **rmr)
{
	return rmr_create(pz, DAT_RMR_SCOPE_PZ, rmr);
}
EXPORT_SYMBOL_GPL(dat_rmr_create);

/**
 * dat_rmr_create_for_ep - make a window for one EP at a time
 * @pz: its protection zone
 * @rmr: OUT: the RMR, bound to nothing
 *
 * While it is bound only the EP that has bound it can bind it again or unbind it.
 * Adapters know protection zones only: a peer that has the key can use it through
 * any EP of @pz. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: as dat_rmr_create().
 */
int dat_rmr_create_for_ep(struct dat_pz *pz, struct dat_rmr **rmr)
{
	return rmr_create(pz, DAT_RMR_SCOPE_EP, rmr);
}
EXPORT_SYMBOL_GPL(dat_rmr_create_for_ep);

/**
 * dat_rmr_query - parameters of an RMR
 * @rmr: the RMR
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0; the context is 0 if it is not bound, and
 *	then triplet, privileges and address type say nothing
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_rmr_query(struct dat_rmr *rmr, enum dat_rmr_param_mask mask,
		  struct dat_rmr_param *param)
{
	unsigned long flags;

	if (!rmr || mask & ~DAT_RMR_FIELD_ALL || (mask && !param))
		return -EINVAL;

	spin_lock_irqsave(&rmr->lock, flags);
	if (mask & DAT_RMR_FIELD_IA_HANDLE)
		param->ia_handle = rmr->obj.ia;
	if (mask & DAT_RMR_FIELD_PZ_HANDLE)
		param->pz_handle = rmr->pz;
	if (mask & DAT_RMR_FIELD_LMR_TRIPLET)
		param->lmr_triplet = rmr->triplet;
	if (mask & DAT_RMR_FIELD_MEM_PRIV)
		param->mem_priv = rmr->priv;
	if (mask & DAT_RMR_FIELD_RMR_CONTEXT)
		param->rmr_context = rmr->current_window < 0 ? 0 : rmr->context;
	if (mask & DAT_RMR_FIELD_RMR_SCOPE)
		param->rmr_scope = rmr->scope;
	if (mask & DAT_RMR_FIELD_VA_TYPE)
		param->va_type = rmr->va_type;
	spin_unlock_irqrestore(&rmr->lock, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_rmr_query);

void kdapl_rmr_destroy(struct dat_rmr *rmr)
{
	struct dat_ia *ia = rmr->obj.ia;
	int i;

	for (i = 0; i < ARRAY_SIZE(rmr->window); i++)
		kdapl_frmr_stop(&rmr->window[i].fr);
	/* A removal that is under way takes the MRs, and we wait for it. */
	if (!kdapl_ia_enter(ia)) {
		kdapl_rmr_remove_device(rmr);
		kdapl_ia_leave(ia);
	} else {
		wait_for_completion(&ia->removed);
	}
	kdapl_obj_unlink(&rmr->obj);
	kdapl_pz_put_user(rmr->pz);
	kdapl_obj_put(&rmr->obj);
}

/**
 * dat_rmr_free - give a window back
 * @rmr: the RMR; its events were dequeued
 *
 * A bound one is unbound. When it returns its context is dead. Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL; -EBUSY: a bind or unbind is under way.
 */
int dat_rmr_free(struct dat_rmr *rmr)
{
	might_sleep();

	if (!rmr)
		return -EINVAL;
	if (!kdapl_frmr_idle(&rmr->window[0].fr) ||
	    !kdapl_frmr_idle(&rmr->window[1].fr))
		return -EBUSY;
	kdapl_rmr_destroy(rmr);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_rmr_free);
