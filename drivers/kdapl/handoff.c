// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: passing a connection request on to another service point
 *
 * The id changes hands: a new CR with all that the old one knew is announced
 * through the other service point, and the old one ends as if it had been
 * rejected, but for the peer, who does not notice.
 */
#include <linux/export.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "cm.h"
#include "cr.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "sp.h"

/*
 * The service point of the IA that listens there, with a reference, for a free
 * call may come at once.
 */
static struct kdapl_sp *handoff_find(struct dat_ia *ia, u64 conn_qual)
{
	static const enum dat_handle_type types[] = {
		DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_CSP,
	};
	struct kdapl_sp *sp, *found = NULL;
	struct kdapl_obj *obj;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&ia->lock, flags);
	for (i = 0; i < ARRAY_SIZE(types) && !found; i++)
		list_for_each_entry(obj, &ia->objs[types[i]], node) {
			sp = container_of(obj, struct kdapl_sp, obj);
			if (sp->conn_qual != conn_qual || !sp->id)
				continue;
			kdapl_obj_get(obj);
			found = sp;
			break;
		}
	spin_unlock_irqrestore(&ia->lock, flags);
	return found;
}

/* The id's events go to @to from here on, and what @from was told goes along. */
static void handoff_move_id(struct dat_cr *from, struct dat_cr *to)
{
	struct rdma_cm_id *id = from->id;

	kdapl_cm_ops->lock_handler(id);
	id->context = &to->obj;
	if (test_bit(KDAPL_CR_GONE, &from->flags))
		set_bit(KDAPL_CR_GONE, &to->flags);
	kdapl_cm_ops->unlock_handler(id);
	to->id = id;
	from->id = NULL;
}

/* Inside the gate, @cr taken: nobody but us knows the id. */
static int handoff(struct dat_cr *cr, struct kdapl_sp *sp)
{
	struct dat_ep *ep = NULL, *made = NULL;
	struct dat_cr *new;
	int ret;

	lockdep_assert_held(&sp->mutex);

	/* It was freed meanwhile, and need not feed its EVD any more. */
	if (!sp->id)
		return -EINVAL;
	if (kdapl_sp_makes_eps(sp)) {
		ret = kdapl_ep_create_tentative(sp->obj.ia, &made);
		if (ret)
			return ret;
		ep = made;
	} else if (sp->obj.type == DAT_HANDLE_TYPE_RSP) {
		ep = container_of(sp, struct dat_rsp, sp)->ep;
	}

	ret = -ENOMEM;
	new = kdapl_cr_alloc(sp, ep);
	if (!new)
		goto out_drop_ep;
	new->local_addr = cr->local_addr;
	new->remote_addr = cr->remote_addr;
	new->rd_atomic_in = cr->rd_atomic_in;
	new->rd_atomic_out = cr->rd_atomic_out;
	new->pdata_len = cr->pdata_len;
	memcpy(new->pdata, cr->pdata, cr->pdata_len);
	handoff_move_id(cr, new);
	kdapl_obj_link(&new->obj);

	ret = kdapl_cr_announce(new, sp);
	if (!ret)
		return 0;

	kdapl_obj_unlink(&new->obj);
	handoff_move_id(new, cr);
	kdapl_obj_put(&new->obj);
out_drop_ep:
	if (made)
		kdapl_ep_drop_tentative(made);
	return ret;
}

/**
 * dat_cr_handoff - pass a connection request on to another service point
 * @cr: the CR, gone on success
 * @handoff_qual: qualifier of a PSP, RSP or CSP of the same IA
 *
 * The request arrives there as if it had come from the peer, private data and
 * all. An EP that the CR had is treated as by dat_cr_reject(). Origin: DAT 2.0,
 * which leaves open whose service point it may be.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; else the CR is as before: -EINVAL: NULL, or no such service point;
 * -EBUSY: the CR is just being answered, or the RSP has had its request;
 * -ENOBUFS: no slot free in the service point's EVD; -ENOMEM; -ENODEV: the
 * device is gone.
 */
int dat_cr_handoff(struct dat_cr *cr, u64 handoff_qual)
{
	struct kdapl_sp *sp;
	struct dat_ia *ia;
	int ret;

	might_sleep();

	if (!cr || !handoff_qual)
		return -EINVAL;
	ia = cr->obj.ia;
	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;

	ret = -EINVAL;
	sp = handoff_find(ia, handoff_qual);
	if (!sp)
		goto out_leave;
	ret = -EBUSY;
	if (test_and_set_bit(KDAPL_CR_TAKEN, &cr->flags))
		goto out_put_sp;
	/* Until the request is announced no free call gets further than we are. */
	mutex_lock(&sp->mutex);
	ret = handoff(cr, sp);
	mutex_unlock(&sp->mutex);
	if (ret) {
		clear_bit(KDAPL_CR_TAKEN, &cr->flags);
		goto out_put_sp;
	}
	kdapl_obj_put(&sp->obj);
	kdapl_ia_leave(ia);

	kdapl_cr_return_ep(cr);
	kdapl_obj_unlink(&cr->obj);
	/* If the consumer never took it off: it would name what is gone. */
	kdapl_evd_purge(cr->evd, cr);
	kdapl_obj_put(&cr->obj);
	return 0;

out_put_sp:
	kdapl_obj_put(&sp->obj);
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_cr_handoff);
