// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: protection zones
 *
 * A user of a PZ is counted from its creation until its verbs objects are gone;
 * free sets the count to a value that no user can be added to.
 */
#include "pz.h"

#include <linux/export.h>
#include <linux/limits.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "fault.h"
#include "ia.h"
#include "kunit.h"
#include "reg.h"

static void pz_release(struct kdapl_obj *obj)
{
	kfree(container_of(obj, struct dat_pz, obj));
}

int kdapl_pz_get_user(struct dat_pz *pz, struct dat_ia *ia)
{
	if (!pz || pz->obj.ia != ia)
		return -EINVAL;
	/* Negative: free has won. */
	return atomic_inc_unless_negative(&pz->users) ? 0 : -EINVAL;
}

void kdapl_pz_put_user(struct dat_pz *pz)
{
	atomic_dec(&pz->users);
}

/**
 * dat_pz_create - create a protection zone
 * @ia: the IA
 * @pz: OUT: the PZ
 *
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL; -ENOMEM; -ENODEV: the device is gone; else the
 * errno of the provider.
 */
int dat_pz_create(struct dat_ia *ia, struct dat_pz **pz)
{
	struct dat_pz *new;
	int ret;

	might_sleep();

	if (!ia || !pz)
		return -EINVAL;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;

	ret = -ENOMEM;
	new = kdapl_fault_zalloc(sizeof(*new));
	if (!new)
		goto out_leave;
	kdapl_obj_init(&new->obj, ia, DAT_HANDLE_TYPE_PZ, pz_release);
	mutex_init(&new->reg_lock);
	spin_lock_init(&new->lmr_lock);
	INIT_LIST_HEAD(&new->deferred);
	init_waitqueue_head(&new->lmr_wait);

	new->pd = ERR_PTR(kdapl_fault(KDAPL_FAULT_CREATE)) ?:
		  ib_alloc_pd(ia->ibdev, 0);
	if (IS_ERR(new->pd)) {
		ret = PTR_ERR(new->pd);
		new->pd = NULL;
		kdapl_obj_put(&new->obj);
		goto out_leave;
	}

	kdapl_obj_link(&new->obj);
	*pz = new;
	ret = 0;
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_pz_create);

/**
 * dat_pz_query - parameters of a protection zone
 * @pz: the PZ
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_pz_query(struct dat_pz *pz, enum dat_pz_param_mask mask,
		 struct dat_pz_param *param)
{
	if (!pz || mask & ~DAT_PZ_FIELD_ALL || (mask && !param))
		return -EINVAL;
	if (mask & DAT_PZ_FIELD_IA_HANDLE)
		param->ia_handle = pz->obj.ia;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_pz_query);

/**
 * dat_pz_free - free a protection zone
 * @pz: the PZ
 *
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL; -EBUSY: an LMR or an EP still uses it.
 */
int dat_pz_free(struct dat_pz *pz)
{
	might_sleep();

	if (!pz)
		return -EINVAL;
	if (atomic_cmpxchg(&pz->users, 0, INT_MIN / 2))
		return -EBUSY;
	kdapl_pz_destroy(pz);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_pz_free);

void kdapl_pz_destroy(struct dat_pz *pz)
{
	struct dat_ia *ia = pz->obj.ia;

	/* A removal that is under way takes the PD, and we wait for it. */
	if (!kdapl_ia_enter(ia)) {
		kdapl_pz_remove_device(pz);
		kdapl_ia_leave(ia);
	} else {
		wait_for_completion(&ia->removed);
	}
	kdapl_obj_unlink(&pz->obj);
	kdapl_obj_put(&pz->obj);
}

void kdapl_pz_remove_device(struct dat_pz *pz)
{
	struct ib_pd *pd = xchg(&pz->pd, NULL);

	mutex_lock(&pz->reg_lock);
	kdapl_reg_destroy(pz);
	mutex_unlock(&pz->reg_lock);
	if (pd)
		ib_dealloc_pd(pd);
}
