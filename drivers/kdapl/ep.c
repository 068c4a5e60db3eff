// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: endpoints, their life and the work that drives them
 *
 * An EP's work runs alone. It takes all notes that were left since its last run
 * and makes one step each: what the consumer asked for first, then the making
 * of the connection, then its end. Notes may come from any context and more
 * than once; each step checks that it still applies.
 *
 * Freeing an EP: the work ends the connection, waits for the flush, destroys id
 * and QP, and says so. Then nothing can find the EP any more: no handler (the id
 * is gone), no completion (the QP is gone and its contexts are home), no event
 * (they are purged), and the work itself is cancelled.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <dat/kdat.h>

#include "async.h"
#include "cm.h"
#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "fault.h"
#include "ia.h"
#include "kunit.h"
#include "main.h"
#include "sp.h"
#include "srq.h"

void kdapl_ep_kick(struct dat_ep *ep, enum kdapl_ep_todo todo)
{
	set_bit(todo, &ep->todo);
	mod_delayed_work(kdapl_wq, &ep->work, 0);
}

KDAPL_EXPORT_FOR_TEST(kdapl_ep_kick);

void kdapl_ep_completion_error(struct dat_ep *ep, enum ib_wc_status status)
{
	switch (READ_ONCE(ep->phase)) {
	case KDAPL_CLOSE_DONE:
		return;
	case KDAPL_CLOSE_FLUSH:
		kdapl_ep_kick(ep, KDAPL_EP_TODO_PROGRESS);
		return;
	default:
		kdapl_ep_kick(ep, status == IB_WC_WR_FLUSH_ERR ?
			      KDAPL_EP_TODO_FLUSHED : KDAPL_EP_TODO_BROKEN);
		return;
	}
}

/* A new QP for the old one; everything is home. */
static int ep_reset(struct dat_ep *ep)
{
	struct kdapl_ep_qp qp;
	unsigned long flags;
	int ret;

	ret = kdapl_ep_qp_create(ep, &ep->config, ep->req.evd, ep->recv.evd,
				 &qp);
	if (ret)
		return ret;
	kdapl_connect_drop_id(ep);
	kdapl_flush_drop_qp(ep);
	kdapl_connect_drop_notes(ep);

	spin_lock_irqsave(&ep->lock, flags);
	ep->qp = qp.qp;
	ep->max_sge_send = qp.max_sge_send;
	ep->max_sge_recv = qp.max_sge_recv;
	ep->terminal = 0;
	ep->pdata_in_len = 0;
	ep->remote_qual = 0;
	ep->timeout_at = 0;
	memset(&ep->remote_addr, 0, sizeof(ep->remote_addr));
	memset(&ep->local_addr, 0, sizeof(ep->local_addr));
	WRITE_ONCE(ep->phase, KDAPL_CLOSE_NONE);
	kdapl_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED);
	spin_unlock_irqrestore(&ep->lock, flags);
	/* What was held back since the old QP went. */
	kdapl_queue_flush_held(&ep->req);
	kdapl_queue_flush_held(&ep->recv);
	if (ep->config.srq)
		kdapl_srq_add_qp(ep->config.srq, ep);
	return 0;
}

static void ep_work(struct work_struct *work)
{
	struct dat_ep *ep = container_of(to_delayed_work(work), struct dat_ep,
					 work);
	unsigned long now, next, todo;

	/* Pairs with the release in kdapl_connect_work(), which kicks. */
	if (smp_load_acquire(&ep->connecting))
		return;
	todo = xchg(&ep->todo, 0);
	if (todo & BIT(KDAPL_EP_TODO_FREE))
		ep->freeing = true;
	if (todo & BIT(KDAPL_EP_TODO_REMOVE)) {
		kdapl_flush_now(ep, DAT_CONNECTION_EVENT_BROKEN);
		if (ep->hidden_evd)
			kdapl_evd_remove_device(ep->hidden_evd);
		complete_all(&ep->removed);
	}
	if (todo & BIT(KDAPL_EP_TODO_RESET))
		ep->reset_result = ep->gone ? -ENODEV : ep_reset(ep);

	if (todo & BIT(KDAPL_EP_TODO_WATERMARK))
		kdapl_async_post(ep->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, ep,
				 DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);

	if (!ep->gone) {
		if (ep->freeing)
			kdapl_close_free(ep);
		kdapl_close_asked(ep, todo);
		kdapl_connect_run(ep, todo);
		kdapl_close_run(ep, todo);
	}
	/* Whoever waits may connect: nothing that these notes are about. */
	if (todo & BIT(KDAPL_EP_TODO_RESET))
		complete(&ep->reset_done);

	if (ep->freeing && !kdapl_ep_closing(ep)) {
		kdapl_connect_drop_id(ep);
		kdapl_flush_drop_qp(ep);
		complete_all(&ep->freed);
		return;
	}

	if (ep->connecting) {
		queue_work(kdapl_connect_wq, &ep->connect_work);
		return;
	}
	next = kdapl_close_next_look(ep);
	if (next) {
		now = jiffies;
		queue_delayed_work(kdapl_wq, &ep->work,
				   time_after(next, now) ? next - now : 0);
	}
}

static void ep_release(struct kdapl_obj *obj)
{
	/* For kdapl_dto_unlock(). */
	kfree_rcu(container_of(obj, struct dat_ep, obj), rcu);
}

static struct dat_ep *ep_alloc(struct dat_ia *ia, enum dat_ep_state state)
{
	struct dat_ep *ep;

	ep = kdapl_fault_zalloc(sizeof(*ep));
	if (!ep)
		return NULL;

	kdapl_obj_init(&ep->obj, ia, DAT_HANDLE_TYPE_EP, ep_release);
	mutex_init(&ep->call_lock);
	spin_lock_init(&ep->lock);
	INIT_DELAYED_WORK(&ep->work, ep_work);
	INIT_WORK(&ep->connect_work, kdapl_connect_work);
	init_completion(&ep->reset_done);
	init_completion(&ep->freed);
	init_completion(&ep->removed);
	ep->state = state;
	ep->srq_soft = KDAPL_EP_NO_WATERMARK;
	ep->srq_hard = KDAPL_EP_NO_WATERMARK;
	kdapl_queue_setup(&ep->req, ep, true);
	kdapl_queue_setup(&ep->recv, ep, false);
	return ep;
}

int kdapl_ep_create_tentative(struct dat_ia *ia, struct dat_ep **ep)
{
	struct kdapl_ep_config config = {};
	struct dat_ep *new;
	int ret;

	new = ep_alloc(ia, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	if (!new)
		return -ENOMEM;
	new->tentative = true;
	kdapl_ep_attr_default(&config.attr, ia, false, false);
	/*
	 * Without call_lock, which is held around the id's handler mutex
	 * elsewhere: nobody else can see the EP.
	 */
	ret = kdapl_ep_res_change(new, &config);
	if (ret) {
		kdapl_obj_put(&new->obj);
		return ret;
	}
	kdapl_obj_link(&new->obj);
	*ep = new;
	return 0;
}

void kdapl_ep_drop_tentative(struct dat_ep *ep)
{
	kdapl_obj_unlink(&ep->obj);
	kdapl_ep_res_put(ep);
	kdapl_obj_put(&ep->obj);
}

bool kdapl_ep_take_tentative(struct dat_ep *ep)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&ep->lock, flags);
	taken = ep->tentative;
	ep->tentative = false;
	spin_unlock_irqrestore(&ep->lock, flags);
	return taken;
}

int kdapl_ep_create(struct dat_ia *ia, const struct kdapl_ep_config *config,
		    struct dat_ep **ep)
{
	struct dat_ep *new;
	int ret;

	ret = kdapl_ep_config_check(ia, config);
	if (ret)
		return ret;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;

	ret = -ENOMEM;
	new = ep_alloc(ia, DAT_EP_STATE_UNCONNECTED);
	if (!new)
		goto out_leave;

	mutex_lock(&new->call_lock);
	ret = kdapl_ep_res_change(new, config);
	mutex_unlock(&new->call_lock);
	if (ret) {
		kdapl_obj_put(&new->obj);
		goto out_leave;
	}

	kdapl_obj_link(&new->obj);
	*ep = new;
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}

/**
 * dat_ep_create - create an endpoint
 * @ia: the IA
 * @pz: its protection zone; may be NULL and set by dat_ep_modify()
 * @recv_evd: EVD with the DTO stream, for receives; may be NULL
 * @request_evd: EVD with the DTO stream, for all other requests; may be NULL
 * @connect_evd: EVD with the connection stream; may be NULL, but not to connect
 * @attr: NULL: 16 requests each way, lists of 4 segments, 4 RDMA reads, as far
 *	as the device allows; else max_recv_dtos must be 0 without @recv_evd and
 *	must not be with it, likewise for requests
 * @ep: OUT: the EP, UNCONNECTED
 *
 * The EP reserves a slot of its EVDs for each request that it may have posted.
 * With its PZ it can take receives at once. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, handles of another IA, an EVD without the stream,
 * attributes beyond the device's limits, inconsistent or unknown, an EVD whose
 * other EPs use other completion flags; -EOPNOTSUPP: a quality of service other
 * than best effort; -ENOSPC: an EVD is too small; -ENOMEM; -ENODEV: the device
 * is gone; else the errno of the provider.
 */
int dat_ep_create(struct dat_ia *ia, struct dat_pz *pz,
		  struct dat_evd *recv_evd, struct dat_evd *request_evd,
		  struct dat_evd *connect_evd, const struct dat_ep_attr *attr,
		  struct dat_ep **ep)
{
	struct kdapl_ep_config config = {
		.pz = pz,
		.recv_evd = recv_evd,
		.request_evd = request_evd,
		.connect_evd = connect_evd,
	};

	might_sleep();

	if (!ia || !ep)
		return -EINVAL;
	if (attr)
		config.attr = *attr;
	else
		kdapl_ep_attr_default(&config.attr, ia, recv_evd, request_evd);
	return kdapl_ep_create(ia, &config, ep);
}
EXPORT_SYMBOL_GPL(dat_ep_create);

/**
 * dat_ep_get_status - state of an endpoint at this moment
 * @ep: the EP
 * @state: OUT; may be NULL
 * @recv_idle: OUT: no receive is posted; may be NULL
 * @request_idle: OUT: no request is under way; may be NULL
 *
 * Requests whose success is suppressed count until a later one completes.
 * Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0, or -EINVAL: @ep is NULL.
 */
int dat_ep_get_status(struct dat_ep *ep, enum dat_ep_state *state,
		      bool *recv_idle, bool *request_idle)
{
	if (!ep)
		return -EINVAL;
	if (state)
		*state = READ_ONCE(ep->state);
	if (recv_idle)
		*recv_idle = !kdapl_queue_outstanding(&ep->recv);
	if (request_idle)
		*request_idle = !kdapl_queue_outstanding(&ep->req);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ep_get_status);

/**
 * dat_ep_disconnect - end a connection, or an attempt to make one
 * @ep: the EP
 * @flags: %DAT_CLOSE_GRACEFUL_FLAG lets the posted requests finish first, for at
 *	most the module parameter disconnect_timeout_ms; %DAT_CLOSE_ABRUPT_FLAG
 *	flushes them
 *
 * Returns at once. What was posted is reported, receives as FLUSHED, and then
 * one DISCONNECTED event comes on the connect EVD, the last that names the
 * connection. In DISCONNECTED, and gracefully in DISCONNECT_PENDING, the call
 * does nothing. Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL: NULL or unknown @flags; -ENOTCONN: no connection and no
 * attempt; -ENODEV: the device is gone.
 */
int dat_ep_disconnect(struct dat_ep *ep, enum dat_close_flags flags)
{
	bool graceful = flags == DAT_CLOSE_GRACEFUL_FLAG;
	bool kick = false;
	unsigned long irq;
	int ret;

	if (!ep || (!graceful && flags != DAT_CLOSE_ABRUPT_FLAG))
		return -EINVAL;
	if (kdapl_ia_removing(ep->obj.ia))
		return -ENODEV;

	spin_lock_irqsave(&ep->lock, irq);
	ret = kdapl_ep_check_call(KDAPL_CALL_DISCONNECT, ep->state);
	if (ret)
		goto out_unlock;

	switch (ep->state) {
	case DAT_EP_STATE_CONNECTED:
		ep->deadline = jiffies +
			       msecs_to_jiffies(kdapl_disconnect_timeout_ms);
		kdapl_ep_set_state(ep, DAT_EP_STATE_DISCONNECT_PENDING);
		fallthrough;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
		ep->counters[DCNT_EP_DISCONNECT]++;
		/* From here on no ESTABLISHED, and no other end than this. */
		if (!ep->terminal)
			ep->terminal = DAT_CONNECTION_EVENT_DISCONNECTED;
		kick = true;
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		kick = !graceful;
		break;
	default:
		break;
	}
	/* Before the event of the end, whose upcall may free the EP. */
	if (kick)
		kdapl_ep_kick(ep, graceful ? KDAPL_EP_TODO_GRACEFUL :
					     KDAPL_EP_TODO_ABRUPT);
out_unlock:
	spin_unlock_irqrestore(&ep->lock, irq);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_disconnect);

/**
 * dat_ep_reset - make a disconnected endpoint usable again
 * @ep: the EP, DISCONNECTED; in UNCONNECTED nothing happens, posted receives
 *	stay
 *
 * Requests posted in DISCONNECTED are flushed if they are not yet. Events of
 * the old connection stay queued; its private data becomes invalid. The EP gets
 * a new QP. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL; -EISCONN, -EALREADY, -EBUSY: the state of the EP;
 * -ENODEV: the device is gone; else the errno of the provider, with the EP
 * still DISCONNECTED.
 */
int dat_ep_reset(struct dat_ep *ep)
{
	enum dat_ep_state state;
	int ret;

	might_sleep();

	if (!ep)
		return -EINVAL;
	ret = kdapl_ia_enter(ep->obj.ia);
	if (ret)
		return ret;
	kdapl_obj_get(&ep->obj);
	mutex_lock(&ep->call_lock);
	state = READ_ONCE(ep->state);
	ret = kdapl_ep_check_call(KDAPL_CALL_RESET, state);
	if (!ret && state == DAT_EP_STATE_DISCONNECTED) {
		kdapl_ep_kick(ep, KDAPL_EP_TODO_RESET);
		wait_for_completion(&ep->reset_done);
		ret = ep->reset_result;
	}
	mutex_unlock(&ep->call_lock);
	kdapl_ia_leave(ep->obj.ia);
	kdapl_obj_put(&ep->obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_reset);

/**
 * dat_ep_free - free an endpoint
 * @ep: the EP; not reserved by an RSP and not waiting in a connection request
 *
 * A connection is ended abruptly. Its peer learns; no event of @ep is delivered
 * after the call, not even queued ones. Origin: DAT 2.0.
 *
 * Context: process; sleeps, for the flush at most the module parameter
 * flush_timeout_ms; also from process-context upcalls, those that @ep caused
 * included.
 * Return: 0; -EINVAL: NULL; -EBUSY: reserved, or in a connection request.
 */
int dat_ep_free(struct dat_ep *ep)
{
	int ret;

	might_sleep();

	if (!ep)
		return -EINVAL;
	/* A removal ends every state but leaves the handle to be freed. */
	ret = kdapl_ep_check_call(KDAPL_CALL_FREE, READ_ONCE(ep->state));
	if (ret)
		return ret;
	/* The same for an EP whose request is still to be answered. */
	kdapl_ep_take_tentative(ep);
	kdapl_ep_destroy(ep);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ep_free);

void kdapl_ep_destroy(struct dat_ep *ep)
{
	struct dat_ia *ia = ep->obj.ia;
	bool inside = !kdapl_ia_enter(ia);

	might_sleep();

	/* If the gate is shut the removal takes id and QP: let it finish. */
	if (!inside)
		wait_for_completion(&ia->removed);

	/* A call whose note has led here may still be about to queue the work. */
	mutex_lock(&ep->call_lock);
	mutex_unlock(&ep->call_lock);
	kdapl_ep_kick(ep, KDAPL_EP_TODO_FREE);
	wait_for_completion(&ep->freed);
	kdapl_obj_unlink(&ep->obj);
	/* The work is done with the EP; a late note finds nothing to do. */
	cancel_work_sync(&ep->connect_work);
	cancel_delayed_work_sync(&ep->work);
	if (ia->async_evd)
		kdapl_evd_purge(ia->async_evd, ep);
	kdapl_ep_res_put(ep);
	if (inside)
		kdapl_ia_leave(ia);
	kdapl_obj_put(&ep->obj);
}

void kdapl_ep_remove_device(struct dat_ep *ep)
{
	kdapl_ep_kick(ep, KDAPL_EP_TODO_REMOVE);
	wait_for_completion(&ep->removed);
	/* The run that said so still looks at the EP. */
	flush_delayed_work(&ep->work);
}
