// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: connection requests
 *
 * A CR has the id of a connection that waits for an answer. It is made in the
 * handler of the listener, so nothing here may wait for that id there. Who
 * answers it first has it: accept moves the id to an EP, reject destroys it.
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

static void cr_release(struct kdapl_obj *obj)
{
	struct dat_cr *cr = container_of(obj, struct dat_cr, obj);

	kdapl_obj_put(&cr->evd->obj);
	if (cr->ep)
		kdapl_obj_put(&cr->ep->obj);
	kfree(cr);
}

struct dat_cr *kdapl_cr_alloc(struct kdapl_sp *sp, struct dat_ep *ep)
{
	struct dat_cr *cr;

	cr = kdapl_fault_zalloc(sizeof(*cr));
	if (!cr)
		return NULL;
	kdapl_obj_init(&cr->obj, sp->obj.ia, DAT_HANDLE_TYPE_CR, cr_release);
	kdapl_obj_get(&sp->evd->obj);
	cr->evd = sp->evd;
	if (ep) {
		kdapl_obj_get(&ep->obj);
		cr->ep = ep;
	}
	return cr;
}

int kdapl_cr_announce(struct dat_cr *cr, struct kdapl_sp *sp)
{
	const struct kdapl_post post = {
		.kind = KDAPL_SLOT_FREE,
		.owner = cr,
		.notify = true,
	};
	struct dat_event event = {
		.event_number = DAT_CONNECTION_REQUEST_EVENT,
	};
	struct dat_cr_arrival_event_data *data =
		&event.event_data.cr_arrival_event_data;
	struct dat_ep *ep = cr->ep;
	unsigned long flags;
	int ret;

	data->local_ia_address_ptr = (struct sockaddr *)&cr->local_addr;
	data->conn_qual = sp->conn_qual;
	data->cr_handle = cr;
	switch (sp->obj.type) {
	case DAT_HANDLE_TYPE_RSP:
		data->sp_handle.rsp_handle =
			container_of(sp, struct dat_rsp, sp);
		break;
	case DAT_HANDLE_TYPE_CSP:
		data->sp_handle.csp_handle =
			container_of(sp, struct dat_csp, sp);
		break;
	default:
		data->sp_handle.psp_handle =
			container_of(sp, struct dat_psp, sp);
		break;
	}
	if (sp->obj.type != DAT_HANDLE_TYPE_RSP)
		return kdapl_evd_post(cr->evd, &event, &post);

	spin_lock_irqsave(&ep->lock, flags);
	ret = -EBUSY;
	if (ep->state != DAT_EP_STATE_RESERVED ||
	    ep->rsp != data->sp_handle.rsp_handle)
		goto out_unlock;
	/* Whoever gets the event may look at the state without the lock. */
	kdapl_ep_set_state(ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	ret = kdapl_evd_post(cr->evd, &event, &post);
	if (ret)
		kdapl_ep_set_state(ep, DAT_EP_STATE_RESERVED);
out_unlock:
	spin_unlock_irqrestore(&ep->lock, flags);
	return ret;
}

int kdapl_cr_arrived(struct kdapl_sp *sp, struct dat_ep *ep,
		     struct rdma_cm_id *id, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct dat_cr *cr;
	int ret;

	if (kdapl_ia_removing(sp->obj.ia))
		return -ENODEV;

	cr = kdapl_cr_alloc(sp, ep);
	if (!cr)
		return -ENOMEM;
	cr->local_addr = id->route.addr.src_addr;
	cr->remote_addr = id->route.addr.dst_addr;
	cr->rd_atomic_in = param->responder_resources;
	cr->rd_atomic_out = param->initiator_depth;
	if (param->private_data) {
		cr->pdata_len = param->private_data_len;
		memcpy(cr->pdata, param->private_data, cr->pdata_len);
	}
	cr->id = id;
	id->context = &cr->obj;
	kdapl_obj_link(&cr->obj);

	ret = kdapl_cr_announce(cr, sp);
	if (!ret)
		return 0;

	/* Unless somebody has it: closing the IA waits for this handler. */
	if (!test_and_set_bit(KDAPL_CR_TAKEN, &cr->flags)) {
		kdapl_obj_unlink(&cr->obj);
		id->context = &sp->obj;
		kdapl_obj_put(&cr->obj);
		return ret;
	}
	return 0;
}

int kdapl_cr_event(struct dat_cr *cr, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		/* To accept it now is an ACCEPT_COMPLETION_ERROR. */
		set_bit(KDAPL_CR_GONE, &cr->flags);
		break;
	default:
		break;
	}
	return 0;
}

/**
 * dat_cr_query - parameters of a connection request
 * @cr: the CR
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0
 *
 * Address and private data are valid until the CR is accepted or rejected.
 * Where the transport does not tell the length of private data, its size is
 * that of the field and the rest is zero. Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_cr_query(struct dat_cr *cr, enum dat_cr_param_mask mask,
		 struct dat_cr_param *param)
{
	if (!cr || mask & ~DAT_CR_FIELD_ALL || (mask && !param))
		return -EINVAL;
	if (mask & DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR)
		param->remote_ia_address_ptr =
			(struct sockaddr *)&cr->remote_addr;
	if (mask & DAT_CR_FIELD_REMOTE_PORT_QUAL)
		param->remote_port_qual = kdapl_cm_port(&cr->remote_addr);
	if (mask & DAT_CR_FIELD_PRIVATE_DATA_SIZE)
		param->private_data_size = cr->pdata_len;
	if (mask & DAT_CR_FIELD_PRIVATE_DATA)
		param->private_data = cr->pdata_len ? cr->pdata : NULL;
	if (mask & DAT_CR_FIELD_LOCAL_EP_HANDLE)
		param->local_ep_handle = cr->ep;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_cr_query);

/* The id and all that was agreed with it go to the EP. */
static void cr_hand_over(struct dat_cr *cr, struct dat_ep *ep, u8 pdata_len,
			 const void *pdata)
{
	const struct dat_ep_attr *attr = &ep->config.attr;
	struct rdma_cm_id *id = cr->id;
	unsigned long flags;
	u8 in = cr->rd_atomic_in, out = cr->rd_atomic_out;

	/* An iWARP provider need not know what the peer asks for. */
	if (ep->obj.ia->iwarp) {
		in = in ?: U8_MAX;
		out = out ?: U8_MAX;
	}

	/*
	 * Behind a handler that still runs for the CR. Held until the id's context
	 * is the EP: from where the EP has the id a disconnect may destroy it, and
	 * that waits for the handler.
	 */
	kdapl_cm_ops->lock_handler(id);
	spin_lock_irqsave(&ep->lock, flags);
	ep->id = id;
	ep->active = false;
	ep->terminal = 0;
	ep->timeout_at = 0;
	ep->pdata_in_len = 0;
	if (pdata_len)
		memcpy(ep->pdata_out, pdata, pdata_len);
	ep->pdata_out_len = pdata_len;
	ep->rd_atomic_in = min_t(int, attr->max_rdma_read_in, in);
	ep->rd_atomic_out = min_t(int, attr->max_rdma_read_out, out);
	ep->local_addr = cr->local_addr;
	ep->remote_addr = cr->remote_addr;
	ep->remote_qual = kdapl_cm_port(&cr->remote_addr);
	ep->tentative = false;
	kdapl_ep_set_state(ep, DAT_EP_STATE_COMPLETION_PENDING);
	spin_unlock_irqrestore(&ep->lock, flags);
	id->context = &ep->obj;
	cr->id = NULL;
	kdapl_cm_ops->unlock_handler(id);

	if (test_bit(KDAPL_CR_GONE, &cr->flags)) {
		spin_lock_irqsave(&ep->lock, flags);
		ep->cm_event = RDMA_CM_EVENT_UNREACHABLE;
		ep->cm_status = -ECONNRESET;
		spin_unlock_irqrestore(&ep->lock, flags);
		kdapl_ep_kick(ep, KDAPL_EP_TODO_CM_FAILED);
	} else {
		kdapl_ep_kick(ep, KDAPL_EP_TODO_ACCEPT);
	}
}

static int cr_accept(struct dat_cr *cr, struct dat_ep *ep, u8 pdata_len,
		     const void *pdata)
{
	int ret;

	if (test_and_set_bit(KDAPL_CR_TAKEN, &cr->flags))
		return -EBUSY;

	mutex_lock(&ep->call_lock);
	ret = kdapl_ep_check_call(cr->ep ? KDAPL_CALL_ACCEPT_OWN :
					   KDAPL_CALL_ACCEPT,
				  READ_ONCE(ep->state));
	if (ret)
		goto out_unlock;
	ret = -EBADFD;
	if (!ep->config.connect_evd || !ep->qp)
		goto out_unlock;
	ret = kdapl_evd_claim_conn(ep->config.connect_evd, ep);
	if (ret)
		goto out_unlock;
	cr_hand_over(cr, ep, pdata_len, pdata);
out_unlock:
	mutex_unlock(&ep->call_lock);
	if (ret)
		clear_bit(KDAPL_CR_TAKEN, &cr->flags);
	return ret;
}

/**
 * dat_cr_accept - accept a connection request
 * @cr: the CR, gone on success
 * @ep: an unconnected EP with PZ and connect EVD, or NULL if the CR has an EP
 *	of its own: that of the RSP that it came through, or the one that kdapl
 *	made, with PZ and connect EVD from dat_ep_modify()
 * @private_data_size: bytes of @private_data, at most the provider attribute
 *	max_private_data_size
 * @private_data: for the peer's ESTABLISHED event, copied
 *
 * The EP becomes COMPLETION_PENDING; then comes ESTABLISHED or
 * ACCEPT_COMPLETION_ERROR on its connect EVD. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; else the CR is as before: -EINVAL: NULL, no EP or two of them, an
 * EP of another IA, private data too long; -EISCONN, -EALREADY, -EBUSY, -EBADFD:
 * the state of the EP; -EBADFD also: PZ or connect EVD missing; -EBUSY also: the
 * CR is just being answered; -ENOSPC: no two slots free in the connect EVD, or
 * events of the EP's last connection still in it; -ENODEV: the device is gone.
 */
int dat_cr_accept(struct dat_cr *cr, struct dat_ep *ep, int private_data_size,
		  const void *private_data)
{
	struct dat_ia *ia;
	int ret;

	might_sleep();

	if (!cr || !cr->ep == !ep || private_data_size < 0 ||
	    (private_data_size && !private_data))
		return -EINVAL;
	ia = cr->obj.ia;
	ep = ep ?: cr->ep;
	if (ep->obj.ia != ia ||
	    private_data_size > kdapl_connect_max_pdata(ia))
		return -EINVAL;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	/* As in dat_ep_connect(); of an EP that is given the CR has no reference. */
	kdapl_obj_get(&ep->obj);
	ret = cr_accept(cr, ep, private_data_size, private_data);
	if (!ret) {
		atomic64_inc(&ia->cr_accepted);
		kdapl_obj_unlink(&cr->obj);
		kdapl_obj_put(&cr->obj);
	}
	kdapl_ia_leave(ia);
	kdapl_obj_put(&ep->obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_cr_accept);

/* Whoever set TAKEN; the id's handler may still run. */
static void cr_drop_id(struct dat_cr *cr)
{
	struct dat_ia *ia = cr->obj.ia;
	struct rdma_cm_id *id;
	unsigned long flags;

	spin_lock_irqsave(&ia->lock, flags);
	id = cr->id;
	cr->id = NULL;
	spin_unlock_irqrestore(&ia->lock, flags);
	if (id)
		kdapl_cm_ops->destroy_id(id);
}

void kdapl_cr_return_ep(struct dat_cr *cr)
{
	struct dat_ep *ep = cr->ep;
	unsigned long flags;

	if (!ep)
		return;
	if (kdapl_ep_take_tentative(ep)) {
		kdapl_ep_destroy(ep);
		return;
	}
	spin_lock_irqsave(&ep->lock, flags);
	if (ep->state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
		kdapl_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED);
	spin_unlock_irqrestore(&ep->lock, flags);
}

static void cr_refuse(struct dat_cr *cr, u8 pdata_len, const void *pdata)
{
	u8 data[KDAPL_PRIVATE_DATA_MAX];
	struct dat_ia *ia = cr->obj.ia;
	u8 len;

	if (!kdapl_ia_enter(ia)) {
		len = kdapl_cm_frame_reject(data, pdata, pdata_len);
		/* If the peer is gone nobody needs to hear it. */
		if (cr->id)
			kdapl_cm_ops->reject(cr->id, data, len,
					     IB_CM_REJ_CONSUMER_DEFINED);
		cr_drop_id(cr);
		kdapl_ia_leave(ia);
	} else {
		wait_for_completion(&ia->removed);
	}
	kdapl_cr_return_ep(cr);
	kdapl_obj_unlink(&cr->obj);
	/* If the consumer never took it off: it would name what is gone. */
	kdapl_evd_purge(cr->evd, cr);
	kdapl_obj_put(&cr->obj);
}

/**
 * dat_cr_reject - refuse a connection request
 * @cr: the CR, gone on success
 * @private_data_size: bytes of @private_data; at most the provider attribute
 *	max_private_data_size, on iWARP 4 less
 * @private_data: for the peer's PEER_REJECTED event
 *
 * The EP of an RSP is UNCONNECTED again; one that kdapl made for the CR is
 * gone. Origin: DAT 2.0; four bytes in front of the private data are libdapl's,
 * so that its consumers, and ours, can tell a peer's consumer from its CM.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; else the CR is as before: -EINVAL: NULL or private data too long;
 * -EBUSY: the CR is just being answered.
 */
int dat_cr_reject(struct dat_cr *cr, int private_data_size,
		  const void *private_data)
{
	might_sleep();

	if (!cr || private_data_size < 0 ||
	    (private_data_size && !private_data))
		return -EINVAL;
	/* InfiniBand's reject has room for the header besides. */
	if (private_data_size > kdapl_connect_max_pdata(cr->obj.ia) -
	    (cr->obj.ia->iwarp ? KDAPL_REJECT_HEADER : 0))
		return -EINVAL;
	if (test_and_set_bit(KDAPL_CR_TAKEN, &cr->flags))
		return -EBUSY;
	atomic64_inc(&cr->obj.ia->cr_rejected);
	cr_refuse(cr, private_data_size, private_data);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_cr_reject);

void kdapl_cr_destroy(struct dat_cr *cr)
{
	set_bit(KDAPL_CR_TAKEN, &cr->flags);
	cr_refuse(cr, 0, NULL);
}

/* A request whose event is still in @evd, taken; NULL: none is left. */
static struct dat_cr *cr_take_queued(struct dat_evd *evd)
{
	struct dat_cr *cr, *found = NULL;
	struct kdapl_slot *slot;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&evd->lock, flags);
	for (i = evd->head; i != evd->tail && !found; i++) {
		slot = kdapl_evd_slot(evd, i);
		if (slot->number != DAT_CONNECTION_REQUEST_EVENT)
			continue;
		/* Whoever ends one has dequeued its event, or purges it first. */
		cr = slot->owner;
		if (!test_and_set_bit(KDAPL_CR_TAKEN, &cr->flags))
			found = cr;
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	return found;
}

void kdapl_cr_refuse_queued(struct dat_evd *evd)
{
	struct dat_cr *cr;

	/* Each of them purges its event: the next look finds another one. */
	while ((cr = cr_take_queued(evd)))
		cr_refuse(cr, 0, NULL);
}

void kdapl_cr_remove_device(struct dat_cr *cr)
{
	cr_drop_id(cr);
}
