// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: service points
 *
 * A service point is a listener on the IA's address, and an EVD for the
 * requests that come. The queue of the EVD is the backlog: a request for which
 * no unreserved slot is left is refused at the CM, so that the peer learns.
 *
 * A request may come, and the consumer free the service point over it, before the
 * call that makes it is done; the free call waits for that, see kdapl_sp_listen().
 */
#include <linux/export.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include <dat/kdat.h>

#include "cm.h"
#include "cr.h"
#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "fault.h"
#include "ia.h"
#include "sp.h"

static void psp_release(struct kdapl_obj *obj)
{
	struct dat_psp *psp = container_of(obj, struct dat_psp, sp.obj);

	kdapl_obj_put(&psp->sp.evd->obj);
	kfree(psp);
}

static void rsp_release(struct kdapl_obj *obj)
{
	struct dat_rsp *rsp = container_of(obj, struct dat_rsp, sp.obj);

	kdapl_obj_put(&rsp->ep->obj);
	kdapl_obj_put(&rsp->sp.evd->obj);
	kfree(rsp);
}

void kdapl_sp_init(struct kdapl_sp *sp, struct dat_ia *ia,
		   enum dat_handle_type type, struct dat_evd *evd,
		   void (*release)(struct kdapl_obj *obj))
{
	kdapl_obj_init(&sp->obj, ia, type, release);
	mutex_init(&sp->mutex);
	kdapl_obj_get(&evd->obj);
	sp->evd = evd;
}

static int sp_listen(struct kdapl_sp *sp, struct sockaddr_storage *addr,
		     u64 conn_qual)
{
	struct dat_ia *ia = sp->obj.ia;
	struct rdma_cm_id *id;
	int ret;

	lockdep_assert_held(&sp->mutex);

	id = kdapl_cm_ops->create_id(ia->net, kdapl_cm_handler, &sp->obj,
				     RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);

	if (addr->ss_family == AF_INET6) {
		ret = kdapl_cm_ops->set_afonly(id, 1);
		if (ret)
			goto out_destroy;
	}
	ret = kdapl_cm_ops->bind_addr(id, (struct sockaddr *)addr);
	/* So rdma_cm calls an address of a netdev that has no RDMA. */
	if (ret == -ENODEV && !kdapl_ia_removing(ia))
		ret = -EADDRNOTAVAIL;
	if (ret)
		goto out_destroy;
	/* Requests through another port are none of ours. */
	ret = -EADDRNOTAVAIL;
	if (id->device != ia->ibdev || id->port_num != ia->port)
		goto out_destroy;
	*addr = id->route.addr.src_addr;
	sp->conn_qual = conn_qual ?: kdapl_cm_port(&id->route.addr.src_addr);
	/* A request may come before this returns. */
	sp->id = id;
	ret = kdapl_cm_ops->listen(id, sp->evd->qlen);
	if (ret)
		goto out_destroy;
	return 0;

out_destroy:
	sp->id = NULL;
	kdapl_cm_ops->destroy_id(id);
	return ret;
}

int kdapl_sp_listen(struct kdapl_sp *sp, struct sockaddr_storage *addr,
		    u64 conn_qual)
{
	int ret;

	mutex_lock(&sp->mutex);
	ret = sp_listen(sp, addr, conn_qual);
	if (ret)
		mutex_unlock(&sp->mutex);
	else
		kdapl_obj_get(&sp->obj);
	return ret;
}

void kdapl_sp_show(struct kdapl_sp *sp)
{
	kdapl_obj_link(&sp->obj);
	/* The free call that waits for the mutex may drop all that others hold. */
	mutex_unlock(&sp->mutex);
	kdapl_obj_put(&sp->obj);
}

void kdapl_sp_unlisten(struct kdapl_sp *sp)
{
	struct dat_ia *ia = sp->obj.ia;
	struct rdma_cm_id *id;
	unsigned long flags;

	mutex_lock(&sp->mutex);
	spin_lock_irqsave(&ia->lock, flags);
	id = sp->id;
	sp->id = NULL;
	spin_unlock_irqrestore(&ia->lock, flags);
	mutex_unlock(&sp->mutex);
	if (id)
		kdapl_cm_ops->destroy_id(id);
}

void kdapl_sp_destroy(struct kdapl_sp *sp)
{
	struct dat_ia *ia = sp->obj.ia;

	if (!kdapl_ia_enter(ia)) {
		kdapl_sp_unlisten(sp);
		kdapl_ia_leave(ia);
	} else {
		wait_for_completion(&ia->removed);
	}
	kdapl_obj_unlink(&sp->obj);
	kdapl_evd_put_feeder(sp->evd);
}

/* On the IA's address; with @conn_qual 0 the port is any that is free. */
static int sp_listen_qual(struct kdapl_sp *sp, u64 conn_qual)
{
	struct sockaddr_storage addr = sp->obj.ia->addr;

	kdapl_cm_set_port(&addr, kdapl_cm_qual_to_port(conn_qual));
	return kdapl_sp_listen(sp, &addr, conn_qual);
}

int kdapl_sp_event(struct kdapl_obj *obj, struct rdma_cm_id *id,
		   const struct rdma_cm_event *event)
{
	struct kdapl_sp *sp = container_of(obj, struct kdapl_sp, obj);
	struct dat_ep *ep = NULL, *made = NULL;
	int ret = 0;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;

	if (obj->type == DAT_HANDLE_TYPE_RSP) {
		ep = container_of(sp, struct dat_rsp, sp)->ep;
	} else if (kdapl_sp_makes_eps(sp)) {
		ret = kdapl_ep_create_tentative(obj->ia, &made);
		ep = made;
	}
	if (!ret)
		ret = kdapl_cr_arrived(sp, ep, id, event);
	if (ret) {
		/* Not the consumer's doing: the peer may try again. */
		kdapl_cm_ops->reject(id, NULL, 0, IB_CM_REJ_NO_RESOURCES);
		if (made)
			kdapl_ep_drop_tentative(made);
	}
	return ret;
}

/* @conn_qual 0 stands for any that is free; @got is the one that it got. */
static int psp_create(struct dat_ia *ia, u64 conn_qual, struct dat_evd *evd,
		      enum dat_psp_flags flags, struct dat_psp **psp, u64 *got)
{
	struct dat_psp *new;
	int ret;

	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return -EINVAL;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	ret = kdapl_evd_get_feeder(evd, ia, DAT_EVD_CR_FLAG);
	if (ret)
		goto out_leave;

	ret = -ENOMEM;
	new = kdapl_fault_zalloc(sizeof(*new));
	if (!new)
		goto out_put_feeder;
	kdapl_sp_init(&new->sp, ia, DAT_HANDLE_TYPE_PSP, evd, psp_release);
	new->flags = flags;
	ret = sp_listen_qual(&new->sp, conn_qual);
	if (ret)
		goto out_put;

	*got = new->sp.conn_qual;
	*psp = new;
	kdapl_sp_show(&new->sp);
	kdapl_ia_leave(ia);
	return 0;

out_put:
	kdapl_obj_put(&new->sp.obj);
out_put_feeder:
	kdapl_evd_put_feeder(evd);
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}

/**
 * dat_psp_create - listen for connection requests
 * @ia: the IA, on whose address it listens
 * @conn_qual: connection qualifier: a TCP port, larger values are mapped as
 *	libdapl does
 * @evd: EVD with the CR stream; its length is the backlog
 * @flags: %DAT_PSP_CONSUMER_FLAG: the consumer brings the EPs;
 *	%DAT_PSP_PROVIDER_FLAG: each request comes with an EP that kdapl made,
 *	TENTATIVE_CONNECTION_PENDING, with the attributes that dat_ep_create()
 *	gives without any, no PZ and no EVDs; it needs dat_ep_modify() before
 *	dat_cr_accept(), and goes with dat_cr_reject()
 * @psp: OUT: the service point
 *
 * Requests may come before the call returns. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, qualifier 0, unknown @flags, an EVD of another IA or
 * without the CR stream; -EADDRINUSE; -EADDRNOTAVAIL: the IA's address is gone;
 * -ENOMEM; -ENODEV: the device is gone; else the errno of rdma_cm.
 */
int dat_psp_create(struct dat_ia *ia, u64 conn_qual, struct dat_evd *evd,
		   enum dat_psp_flags flags, struct dat_psp **psp)
{
	might_sleep();

	if (!ia || !evd || !psp || !conn_qual)
		return -EINVAL;
	return psp_create(ia, conn_qual, evd, flags, psp, &conn_qual);
}
EXPORT_SYMBOL_GPL(dat_psp_create);

/**
 * dat_psp_create_any - listen on a connection qualifier that is free
 * @ia: as for dat_psp_create()
 * @conn_qual: OUT: the qualifier
 * @evd: as for dat_psp_create()
 * @flags: as for dat_psp_create()
 * @psp: OUT: the service point
 *
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: as dat_psp_create(), but -EADDRNOTAVAIL also: no qualifier is free.
 */
int dat_psp_create_any(struct dat_ia *ia, u64 *conn_qual, struct dat_evd *evd,
		       enum dat_psp_flags flags, struct dat_psp **psp)
{
	int ret;

	might_sleep();

	if (!ia || !evd || !psp || !conn_qual)
		return -EINVAL;
	ret = psp_create(ia, 0, evd, flags, psp, conn_qual);
	if (ret)
		return ret == -EADDRINUSE ? -EADDRNOTAVAIL : ret;
	atomic64_inc(&ia->psp_any);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_psp_create_any);

/**
 * dat_psp_query - parameters of a public service point
 * @psp: the PSP
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_psp_query(struct dat_psp *psp, enum dat_psp_param_mask mask,
		  struct dat_psp_param *param)
{
	if (!psp || mask & ~DAT_PSP_FIELD_ALL || (mask && !param))
		return -EINVAL;
	if (mask & DAT_PSP_FIELD_IA_HANDLE)
		param->ia_handle = psp->sp.obj.ia;
	if (mask & DAT_PSP_FIELD_CONN_QUAL)
		param->conn_qual = psp->sp.conn_qual;
	if (mask & DAT_PSP_FIELD_EVD_HANDLE)
		param->evd_handle = psp->sp.evd;
	if (mask & DAT_PSP_FIELD_PSP_FLAGS)
		param->psp_flags = psp->flags;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_psp_query);

void kdapl_psp_destroy(struct dat_psp *psp)
{
	kdapl_sp_destroy(&psp->sp);
	kdapl_obj_put(&psp->sp.obj);
}

/**
 * dat_psp_free - stop listening
 * @psp: the PSP
 *
 * No request arrives after the call. Those that were delivered can still be
 * answered. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0, or -EINVAL: NULL.
 */
int dat_psp_free(struct dat_psp *psp)
{
	might_sleep();

	if (!psp)
		return -EINVAL;
	kdapl_psp_destroy(psp);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_psp_free);

/* The EP becomes the RSP's, or what the state says. */
static int rsp_take_ep(struct dat_rsp *rsp)
{
	struct dat_ep *ep = rsp->ep;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&ep->lock, flags);
	ret = kdapl_ep_check_call(KDAPL_CALL_RSP_CREATE, ep->state);
	if (!ret) {
		kdapl_ep_set_state(ep, DAT_EP_STATE_RESERVED);
		ep->rsp = rsp;
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return ret;
}

static void rsp_leave_ep(struct dat_rsp *rsp)
{
	struct dat_ep *ep = rsp->ep;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->rsp == rsp) {
		ep->rsp = NULL;
		if (ep->state == DAT_EP_STATE_RESERVED)
			kdapl_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

/**
 * dat_rsp_create - listen for one connection request, for one endpoint
 * @ia: the IA, on whose address it listens
 * @conn_qual: as for dat_psp_create()
 * @ep: an unconnected EP, which becomes RESERVED
 * @evd: EVD with the CR stream
 * @rsp: OUT: the service point
 *
 * The first request moves @ep to PASSIVE_CONNECTION_PENDING and its event names
 * the RSP, which lives until dat_rsp_free(); all later requests are refused.
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, qualifier 0, an EP or EVD of another IA, an EVD
 * without the CR stream; -EOPNOTSUPP: no @ep, kdapl makes EPs for PSPs only;
 * -EISCONN, -EALREADY, -EBUSY, -EBADFD: the state of @ep; -EADDRINUSE;
 * -EADDRNOTAVAIL: the IA's address is gone; -ENOMEM; -ENODEV: the device is gone;
 * else the errno of rdma_cm.
 */
int dat_rsp_create(struct dat_ia *ia, u64 conn_qual, struct dat_ep *ep,
		   struct dat_evd *evd, struct dat_rsp **rsp)
{
	struct dat_rsp *new;
	int ret;

	might_sleep();

	if (!ia || !evd || !rsp || !conn_qual)
		return -EINVAL;
	if (!ep)
		return -EOPNOTSUPP;
	if (ep->obj.ia != ia)
		return -EINVAL;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	ret = kdapl_evd_get_feeder(evd, ia, DAT_EVD_CR_FLAG);
	if (ret)
		goto out_leave;

	ret = -ENOMEM;
	new = kdapl_fault_zalloc(sizeof(*new));
	if (!new)
		goto out_put_feeder;
	kdapl_sp_init(&new->sp, ia, DAT_HANDLE_TYPE_RSP, evd, rsp_release);
	kdapl_obj_get(&ep->obj);
	new->ep = ep;

	mutex_lock(&ep->call_lock);
	ret = rsp_take_ep(new);
	mutex_unlock(&ep->call_lock);
	if (ret)
		goto out_put;
	ret = sp_listen_qual(&new->sp, conn_qual);
	if (ret)
		goto out_leave_ep;

	*rsp = new;
	kdapl_sp_show(&new->sp);
	kdapl_ia_leave(ia);
	return 0;

out_leave_ep:
	rsp_leave_ep(new);
out_put:
	kdapl_obj_put(&new->sp.obj);
out_put_feeder:
	kdapl_evd_put_feeder(evd);
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rsp_create);

/**
 * dat_rsp_query - parameters of a reserved service point
 * @rsp: the RSP
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_rsp_query(struct dat_rsp *rsp, enum dat_rsp_param_mask mask,
		  struct dat_rsp_param *param)
{
	if (!rsp || mask & ~DAT_RSP_FIELD_ALL || (mask && !param))
		return -EINVAL;
	if (mask & DAT_RSP_FIELD_IA_HANDLE)
		param->ia_handle = rsp->sp.obj.ia;
	if (mask & DAT_RSP_FIELD_CONN_QUAL)
		param->conn_qual = rsp->sp.conn_qual;
	if (mask & DAT_RSP_FIELD_EVD_HANDLE)
		param->evd_handle = rsp->sp.evd;
	if (mask & DAT_RSP_FIELD_EP_HANDLE)
		param->ep_handle = rsp->ep;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_rsp_query);

void kdapl_rsp_destroy(struct dat_rsp *rsp)
{
	kdapl_sp_destroy(&rsp->sp);
	rsp_leave_ep(rsp);
	kdapl_obj_put(&rsp->sp.obj);
}

/**
 * dat_rsp_free - stop listening
 * @rsp: the RSP
 *
 * Its EP is UNCONNECTED again if no request has come; a request that was
 * delivered can still be answered. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0, or -EINVAL: NULL.
 */
int dat_rsp_free(struct dat_rsp *rsp)
{
	might_sleep();

	if (!rsp)
		return -EINVAL;
	kdapl_rsp_destroy(rsp);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_rsp_free);
