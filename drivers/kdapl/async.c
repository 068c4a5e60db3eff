// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: asynchronous events
 *
 * Providers report them in any context, some with locks of theirs held (siw
 * with the state lock of the QP), so all that happens here is an event put into
 * the async EVD and an EP's work kicked.
 */
#include "async.h"

#include <linux/printk.h>

#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "kunit.h"

void kdapl_async_post(struct dat_ia *ia, enum dat_event_number number,
		      void *handle, int reason)
{
	/* The owner is the object named, which purges its events when freed. */
	const struct kdapl_post post = {
		.kind = KDAPL_SLOT_FREE,
		.owner = handle,
		.notify = true,
	};
	struct dat_event event = { .event_number = number };

	atomic64_inc(&ia->async_errors);
	if (!ia->async_evd)
		return;
	event.event_data.asynch_error_event_data.dat_handle = handle;
	event.event_data.asynch_error_event_data.reason = reason;
	if (kdapl_evd_post(ia->async_evd, &event, &post))
		pr_err_ratelimited("%s: async event 0x%x lost\n", ia->name,
				   number);
}

/**
 * kdapl_async_cq_event - a provider's event of a CQ
 * @event: what it says
 * @context: the EVD
 *
 * Context: any.
 */
void kdapl_async_cq_event(struct ib_event *event, void *context)
{
	struct dat_evd *evd = context;
	unsigned long flags;

	if (event->event != IB_EVENT_CQ_ERR)
		return;
	atomic64_inc(&evd->obj.ia->async_cq_errors);
	spin_lock_irqsave(&evd->lock, flags);
	kdapl_ring_overflow_locked(evd);
	spin_unlock_irqrestore(&evd->lock, flags);
}

KDAPL_EXPORT_FOR_TEST(kdapl_async_cq_event);

/**
 * kdapl_async_qp_event - a provider's event of a QP
 * @event: what it says
 * @context: the EP
 *
 * Context: any, also with the provider's lock of the QP held.
 */
void kdapl_async_qp_event(struct ib_event *event, void *context)
{
	struct dat_ep *ep = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		atomic64_inc(&ep->obj.ia->async_qp_errors);
		pr_debug("ep %u: %s\n", ep->obj.id, ib_event_msg(event->event));
		kdapl_async_post(ep->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, ep,
				 DAT_EP_TRANSFER_TO_ERROR);
		kdapl_ep_kick(ep, KDAPL_EP_TODO_BROKEN);
		break;
	case IB_EVENT_COMM_EST:
		kdapl_ep_kick(ep, KDAPL_EP_TODO_COMM_EST);
		break;
	default:
		break;
	}
}

KDAPL_EXPORT_FOR_TEST(kdapl_async_qp_event);

/* Events of the device and of its ports. */
static void async_device_event(struct ib_event_handler *handler,
			       struct ib_event *event)
{
	struct dat_ia *ia = container_of(handler, struct dat_ia,
					 event_handler);

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		kdapl_async_post(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, ia,
				 DAT_IA_CATASTROPHIC_ERROR);
		break;
	case IB_EVENT_PORT_ERR:
		/* Connections may survive it: told, and nothing else. */
		if (event->element.port_num == ia->port)
			kdapl_async_post(ia,
					 DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
					 ia, DAT_IA_OTHER_ERROR);
		break;
	default:
		break;
	}
}

void kdapl_async_register(struct dat_ia *ia)
{
	INIT_IB_EVENT_HANDLER(&ia->event_handler, ia->ibdev,
			      async_device_event);
	ib_register_event_handler(&ia->event_handler);
	set_bit(KDAPL_IA_ASYNC_HANDLER, &ia->flags);
}

void kdapl_async_unregister(struct dat_ia *ia)
{
	if (test_and_clear_bit(KDAPL_IA_ASYNC_HANDLER, &ia->flags))
		ib_unregister_event_handler(&ia->event_handler);
}
