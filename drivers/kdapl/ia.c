// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: interface adapters: open and close
 *
 * An IA pins the module while it is open. Its memory lives until the last of its
 * objects is gone, each of which holds a reference. ia_remove.c has its removal.
 */
#include "ia.h"

#include <linux/export.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include <dat/kdat.h>

#include "async.h"
#include "counters.h"
#include "cr.h"
#include "debugfs.h"
#include "ep.h"
#include "evd.h"
#include "fault.h"
#include "fmr_pool.h"
#include "kunit.h"
#include "lmr.h"
#include "pz.h"
#include "registry.h"
#include "rmr.h"
#include "sp.h"
#include "srq.h"
#include "upcall.h"

int kdapl_ia_enter(struct dat_ia *ia)
{
	if (!refcount_inc_not_zero(&ia->callers))
		return -ENODEV;
	if (unlikely(kdapl_ia_removing(ia))) {
		kdapl_ia_leave(ia);
		return -ENODEV;
	}
	return 0;
}

KDAPL_EXPORT_FOR_TEST(kdapl_ia_enter);

void kdapl_ia_leave(struct dat_ia *ia)
{
	if (refcount_dec_and_test(&ia->callers))
		complete(&ia->idle);
}

KDAPL_EXPORT_FOR_TEST(kdapl_ia_leave);

static struct kdapl_obj *ia_first_behind_locked(struct dat_ia *ia,
						enum dat_handle_type type,
						struct kdapl_obj *prev)
{
	struct list_head *head = &ia->objs[type];
	struct kdapl_obj *obj;

	lockdep_assert_held(&ia->lock);

	if (prev && !list_empty(&prev->node))
		return list_is_last(&prev->node, head) ? NULL :
		       list_next_entry(prev, node);
	/* It left the list meanwhile; its successors have higher numbers. */
	list_for_each_entry(obj, head, node)
		if (!prev || (s32)(obj->id - prev->id) > 0)
			return obj;
	return NULL;
}

struct kdapl_obj *kdapl_ia_next(struct dat_ia *ia, enum dat_handle_type type,
				struct kdapl_obj *prev)
{
	struct kdapl_obj *obj;
	unsigned long flags;

	spin_lock_irqsave(&ia->lock, flags);
	obj = ia_first_behind_locked(ia, type, prev);
	if (obj)
		kdapl_obj_get(obj);
	spin_unlock_irqrestore(&ia->lock, flags);

	if (prev)
		kdapl_obj_put(prev);
	return obj;
}

static void ia_release(struct kdapl_obj *obj)
{
	struct dat_ia *ia = container_of(obj, struct dat_ia, obj);

	/* No post can look at it: each of them has an EP, and that the IA. */
	kvfree(rcu_dereference_protected(ia->lmr_table, 1));
	ida_destroy(&ia->lmr_ida);
	xa_destroy(&ia->frmrs);
	if (ia->net)
		put_net(ia->net);
	kfree(ia);
}

static struct dat_ia *ia_alloc(struct net *net, const struct kdapl_port *port)
{
	struct dat_ia *ia;
	int i;

	ia = kdapl_fault_zalloc(sizeof(*ia));
	if (!ia)
		return NULL;

	spin_lock_init(&ia->lock);
	for (i = 0; i < KDAPL_HANDLE_TYPES; i++)
		INIT_LIST_HEAD(&ia->objs[i]);
	INIT_LIST_HEAD(&ia->device_node);
	INIT_LIST_HEAD(&ia->debugfs_node);
	mutex_init(&ia->lmr_mutex);
	mutex_init(&ia->reserved_mutex);
	ida_init(&ia->lmr_ida);
	xa_init(&ia->frmrs);
	/* The gate, and dat_ia_open() itself. */
	refcount_set(&ia->callers, 2);
	init_completion(&ia->idle);
	init_completion(&ia->removed);
	ia->net = get_net(net);
	ia->port = port->port;
	ia->addr = port->addr;
	ia->other_addr = port->other;
	strscpy(ia->dev_name, port->device, sizeof(ia->dev_name));
	kdapl_registry_name(port, ia->name);
	kdapl_obj_init(&ia->obj, ia, DAT_HANDLE_TYPE_IA, ia_release);
	return ia;
}

/* What is asked of the device once, so that it need not be there later. */
static int ia_query_device(struct dat_ia *ia)
{
	struct ib_device *ibdev = ia->ibdev;

	ia->dev_attr = ibdev->attrs;
	if (!ia->dev_attr.max_sge_rd)
		ia->dev_attr.max_sge_rd = ia->dev_attr.max_send_sge;
	ia->driver_id = ibdev->ops.driver_id;
	ia->iwarp = rdma_protocol_iwarp(ibdev, ia->port);
	ia->ib_cm = rdma_cap_ib_cm(ibdev, ia->port);
	ia->dma_coherent = ib_uses_virt_dma(ibdev) ||
			   !dma_need_sync(ibdev->dma_device, 0);
	return ib_query_port(ibdev, ia->port, &ia->port_attr);
}

/* The async EVD: ours, or one of the consumer's, of whichever IA. */
static int ia_attach_async(struct dat_ia *ia, int min_qlen,
			   struct dat_evd *evd)
{
	int ret;

	if (!evd) {
		ret = kdapl_evd_create(ia, min_qlen, DAT_UPCALL_DISABLE, NULL,
				       DAT_EVD_ASYNC_FLAG, false, &evd);
		if (ret)
			return ret;
		set_bit(KDAPL_IA_OWN_ASYNC_EVD, &ia->flags);
	}
	ret = kdapl_evd_get_feeder(evd, evd->obj.ia, DAT_EVD_ASYNC_FLAG);
	if (ret)
		return ret;

	/*
	 * Its own IA may be closed before ours; then events go to a ring that
	 * nobody reads.
	 */
	kdapl_obj_get(&evd->obj);
	ia->async_evd = evd;
	return 0;
}

/* The end of an IA that has no objects any more but EVDs. */
static void ia_finish(struct dat_ia *ia)
{
	struct dat_evd *async_evd = ia->async_evd;
	struct kdapl_obj *obj;

	kdapl_debugfs_remove(ia);
	kdapl_counters_close(ia);

	/* Events stop, so that the EVDs can go. */
	if (!kdapl_ia_enter(ia)) {
		kdapl_async_unregister(ia);
		kdapl_ia_leave(ia);
	}
	if (async_evd)
		kdapl_evd_put_feeder(async_evd);

	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EVD, NULL))) {
		kdapl_evd_destroy(container_of(obj, struct dat_evd, obj));
		kdapl_obj_put(obj);
	}

	kdapl_lmr_put_reserved(ia);
	kdapl_registry_detach(ia);
	if (async_evd) {
		kdapl_evd_purge(async_evd, ia);
		kdapl_obj_put(&async_evd->obj);
	}
	kdapl_obj_put(&ia->obj);
	/* The caller depends on our symbols: this is not the last reference. */
	module_put(THIS_MODULE);
}

/**
 * dat_ia_open_net - open an interface adapter in a network namespace
 * @net: the namespace; the IA holds a reference until it is closed or its
 *	device is removed
 * @ia_name: as dat_registry_list_providers() tells it, or the text of an IPv4
 *	or IPv6 address of the port
 * @async_evd_min_qlen: room of the async EVD, if one is to be made
 * @async_evd: IN/OUT: NULL to have an EVD made, with upcalls disabled, that
 *	dat_ia_close() destroys; else an EVD with the async stream, of this or of
 *	another IA, which stays the consumer's
 * @ia: OUT: the IA
 *
 * An adapter can be opened any number of times. An open IA pins the module.
 * kdapl's addition, for kernel threads, which have no namespace of their own.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL, a name longer than %DAT_NAME_MAX_LENGTH, a length
 * below 1, or an EVD without the async stream; -ENODEV: no such adapter in
 * @net; -ENOMEM; else the errno of the provider.
 */
int dat_ia_open_net(struct net *net, const char *ia_name,
		    int async_evd_min_qlen, struct dat_evd **async_evd,
		    struct dat_ia **ia)
{
	struct kdapl_port port = {};
	struct dat_ia *new;
	int ret;

	might_sleep();

	if (!net || !ia_name || !async_evd || !ia ||
	    (!*async_evd && async_evd_min_qlen < 1) ||
	    strnlen(ia_name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return -EINVAL;

	ret = kdapl_registry_find(net, ia_name, &port);
	if (ret)
		return ret;
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;

	ret = -ENOMEM;
	new = ia_alloc(net, &port);
	if (!new)
		goto out_put_module;
	ret = kdapl_registry_attach(new, port.device);
	if (ret) {
		kdapl_obj_put(&new->obj);
		goto out_put_module;
	}

	ret = ia_query_device(new);
	if (ret)
		goto out_finish;
	ret = -ENOMEM;
	if (!*async_evd && async_evd_min_qlen > new->dev_attr.max_cqe)
		goto out_finish;
	ret = ia_attach_async(new, async_evd_min_qlen, *async_evd);
	if (ret)
		goto out_finish;
	kdapl_async_register(new);
	kdapl_debugfs_add(new);

	kdapl_ia_leave(new);
	*async_evd = new->async_evd;
	*ia = new;
	return 0;

out_finish:
	kdapl_ia_leave(new);
	ia_finish(new);
	return ret;
out_put_module:
	module_put(THIS_MODULE);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_open_net);

/**
 * dat_ia_open - open an interface adapter
 * @ia_name: as for dat_ia_open_net()
 * @async_evd_min_qlen: as for dat_ia_open_net()
 * @async_evd: IN/OUT: as for dat_ia_open_net(); NULL to have one made
 * @ia: OUT: the IA
 *
 * In the network namespace of the caller. Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: as dat_ia_open_net().
 */
int dat_ia_open(const char *ia_name, int async_evd_min_qlen,
		struct dat_evd **async_evd, struct dat_ia **ia)
{
	return dat_ia_open_net(current->nsproxy->net_ns, ia_name,
			       async_evd_min_qlen, async_evd, ia);
}
EXPORT_SYMBOL_GPL(dat_ia_open);

/* Nothing but the async EVD that came with it. */
static bool ia_is_empty(struct dat_ia *ia)
{
	int own = test_bit(KDAPL_IA_OWN_ASYNC_EVD, &ia->flags);
	int i;

	for (i = 0; i < KDAPL_HANDLE_TYPES; i++)
		if (atomic_read(&ia->counts[i]) >
		    (i == DAT_HANDLE_TYPE_EVD ? own : 0))
			return false;
	return true;
}

static bool ia_inside_upcall(struct dat_ia *ia)
{
	struct kdapl_obj *obj = NULL;
	bool inside = false;

	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EVD, obj)))
		inside |= kdapl_upcall_inside(container_of(obj, struct dat_evd,
							   obj));
	return inside;
}

/* Everything but EVDs, users before what they use. */
static void ia_destroy_objects(struct dat_ia *ia)
{
	struct kdapl_obj *obj = NULL;

	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_RSP, NULL))) {
		kdapl_rsp_destroy(container_of(obj, struct dat_rsp, sp.obj));
		kdapl_obj_put(obj);
	}
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_PSP, NULL))) {
		kdapl_psp_destroy(container_of(obj, struct dat_psp, sp.obj));
		kdapl_obj_put(obj);
	}
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_CSP, NULL))) {
		kdapl_csp_destroy(container_of(obj, struct dat_csp, sp.obj));
		kdapl_obj_put(obj);
	}
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_CR, NULL))) {
		kdapl_cr_destroy(container_of(obj, struct dat_cr, obj));
		kdapl_obj_put(obj);
	}

	/* All at once: each close takes a round trip. */
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EP, obj)))
		dat_ep_disconnect(container_of(obj, struct dat_ep, obj),
				  DAT_CLOSE_ABRUPT_FLAG);
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EP, NULL))) {
		kdapl_ep_destroy(container_of(obj, struct dat_ep, obj));
		kdapl_obj_put(obj);
	}
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_RMR, NULL))) {
		kdapl_rmr_destroy(container_of(obj, struct dat_rmr, obj));
		kdapl_obj_put(obj);
	}
	while ((obj = kdapl_ia_next(ia, KDAPL_HANDLE_POOL, NULL))) {
		kdapl_pool_destroy(container_of(obj, struct dat_fmr_pool, obj));
		kdapl_obj_put(obj);
	}
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_SRQ, NULL))) {
		kdapl_srq_destroy(container_of(obj, struct dat_srq, obj));
		kdapl_obj_put(obj);
	}
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_LMR, NULL))) {
		kdapl_lmr_destroy(container_of(obj, struct dat_lmr, obj));
		kdapl_obj_put(obj);
	}
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_PZ, NULL))) {
		kdapl_pz_destroy(container_of(obj, struct dat_pz, obj));
		kdapl_obj_put(obj);
	}
}

/**
 * dat_ia_close - close an interface adapter
 * @ia: the IA; no other call on it or its objects may be under way
 * @flags: %DAT_CLOSE_GRACEFUL_FLAG refuses while the consumer has objects left;
 *	%DAT_CLOSE_ABRUPT_FLAG destroys them: connections are closed abruptly,
 *	upcalls are torn down first, all handles end
 *
 * A consumer's own async EVD of another IA stays. Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL, unknown flags, or closed already; -EBUSY: graceful,
 * with objects left; -EDEADLK: from inside an upcall of one of its EVDs.
 */
int dat_ia_close(struct dat_ia *ia, enum dat_close_flags flags)
{
	struct kdapl_obj *obj = NULL;
	struct dat_evd *evd;

	if (!ia || (flags != DAT_CLOSE_ABRUPT_FLAG &&
		    flags != DAT_CLOSE_GRACEFUL_FLAG))
		return -EINVAL;
	/* Before anything that a softirq upcall must not do. */
	if (ia_inside_upcall(ia))
		return -EDEADLK;

	might_sleep();

	if (flags == DAT_CLOSE_GRACEFUL_FLAG && !ia_is_empty(ia))
		return -EBUSY;
	if (test_and_set_bit(KDAPL_IA_CLOSING, &ia->flags))
		return -EINVAL;

	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EVD, obj))) {
		evd = container_of(obj, struct dat_evd, obj);
		WARN_ON_ONCE(kdapl_upcall_teardown(evd));
	}
	ia_destroy_objects(ia);
	ia_finish(ia);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ia_close);
