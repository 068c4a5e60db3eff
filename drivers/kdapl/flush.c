// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the last phase of a close: bringing the work requests home
 *
 * The QP is in error and flushes. Contexts that come home are counted; nothing
 * blocks, and no consumer needs to dequeue, because the work polls the CQs.
 * What is not home in time is reported in software, after the QP was destroyed.
 * Only then comes the terminal event.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <rdma/ib_verbs.h>

#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "ia.h"
#include "main.h"
#include "queue.h"
#include "upcall.h"

enum {
	/* CQs of closing EPs are polled from the first to the second of these. */
	FLUSH_POLL_MIN_MS = 1,
	FLUSH_POLL_MAX_MS = 50,
	/* How long a consumer that keeps posting is waited for. */
	FLUSH_PATIENCE_MS = 100,
};

void kdapl_flush_set_phase(struct dat_ep *ep, enum kdapl_close_phase phase)
{
	WRITE_ONCE(ep->phase, phase);
	ep->poll_ms = FLUSH_POLL_MIN_MS;
}

void kdapl_flush_poll(struct dat_ep *ep)
{
	struct dat_evd *req = ep->req.evd;
	struct dat_evd *recv = ep->recv.evd;

	if (req)
		kdapl_cq_drain(req);
	if (recv && recv != req)
		kdapl_cq_drain(recv);
	ep->poll_ms = min_t(unsigned int, 2 * ep->poll_ms, FLUSH_POLL_MAX_MS);
}

u32 kdapl_flush_move_gate(struct kdapl_queue *queue,
			  enum kdapl_queue_gate from, enum kdapl_queue_gate to)
{
	unsigned long flags;
	u32 head;

	spin_lock_irqsave(&queue->post_lock, flags);
	if (queue->gate == from)
		kdapl_queue_set_gate_locked(queue, to);
	head = queue->head;
	spin_unlock_irqrestore(&queue->post_lock, flags);
	return head;
}

/* Successes that were suppressed show only through what follows them. */
void kdapl_flush_mark(struct dat_ep *ep)
{
	if (READ_ONCE(ep->req.suppressed))
		kdapl_queue_post_marker(&ep->req, ep->qp_error);
}

/**
 * kdapl_flush_drop_qp - destroy the QP and report what it still had
 * @ep: the EP
 *
 * When ib_destroy_qp() has returned nothing completes any more, so a context
 * that is not home after the CQs were polled empty never will be. Posts are held
 * back meanwhile; both gates are left at HOLD for the caller to move.
 *
 * Context: the EP's work.
 */
void kdapl_flush_drop_qp(struct dat_ep *ep)
{
	struct ib_qp *qp;
	unsigned long flags;

	/* iw_cm has a reference on the QP that goes with the id. */
	if (ep->obj.ia->iwarp)
		kdapl_connect_drop_id(ep);

	spin_lock_irqsave(&ep->lock, flags);
	kdapl_queue_set_gate(&ep->req, KDAPL_QUEUE_HOLD);
	kdapl_queue_set_gate(&ep->recv, KDAPL_QUEUE_HOLD);
	qp = ep->qp;
	ep->qp = NULL;
	spin_unlock_irqrestore(&ep->lock, flags);

	if (qp)
		kdapl_ep_qp_destroy(ep, qp);
	kdapl_flush_poll(ep);
	kdapl_queue_flush(&ep->req);
	kdapl_queue_flush(&ep->recv);
	ep->qp_past_init = false;
	ep->qp_error = false;
}

/* Everything is home: DISCONNECTED, and the event that says so, the last. */
static void flush_finish(struct dat_ep *ep)
{
	struct dat_event event = {
		.event_data.connect_event_data.ep_handle = ep,
	};
	struct dat_connection_event_data *data =
		&event.event_data.connect_event_data;
	struct kdapl_post post = {
		.kind = KDAPL_SLOT_CONN,
		.owner = ep,
		.notify = true,
	};
	unsigned long flags;
	bool ended;

	spin_lock_irqsave(&ep->lock, flags);
	kdapl_flush_set_phase(ep, KDAPL_CLOSE_DONE);
	ended = ep->state != DAT_EP_STATE_DISCONNECTED;
	if (ended)
		kdapl_ep_set_state(ep, DAT_EP_STATE_DISCONNECTED);
	/* However the end began: the device did not let it finish. */
	if (ep->terminal && kdapl_ia_removing(ep->obj.ia))
		ep->terminal = DAT_CONNECTION_EVENT_BROKEN;
	event.event_number = ep->terminal;
	if (ep->terminal == DAT_CONNECTION_EVENT_PEER_REJECTED &&
	    ep->pdata_in_len) {
		data->private_data_size = ep->pdata_in_len;
		data->private_data = ep->pdata_in;
	}
	if (ended && ep->terminal && !ep->freeing)
		kdapl_evd_post(ep->config.connect_evd, &event, &post);
	spin_unlock_irqrestore(&ep->lock, flags);

	/* What was held back between the flush and the move of the gates. */
	if (!ep->qp) {
		kdapl_queue_flush(&ep->req);
		kdapl_queue_flush(&ep->recv);
	}
	if (ep->config.connect_evd)
		kdapl_evd_unclaim_conn(ep->config.connect_evd, ep);
}

static bool flush_passed(struct kdapl_queue *queue, u32 head)
{
	return (s32)(READ_ONCE(queue->tail) - head) >= 0;
}

/*
 * All of it, or, for a consumer that posts again whenever something is flushed,
 * what was posted before the QP went to error.
 */
static bool flush_all_home(struct dat_ep *ep)
{
	/* What GRACE held back, if nothing in front is with the provider. */
	if (kdapl_queue_outstanding(&ep->req))
		kdapl_queue_flush_held(&ep->req);
	if (!kdapl_queue_outstanding(&ep->req) &&
	    !kdapl_queue_outstanding(&ep->recv))
		return true;
	return time_after(jiffies, ep->flush_since +
			  msecs_to_jiffies(FLUSH_PATIENCE_MS)) &&
	       flush_passed(&ep->req, ep->flush_head_req) &&
	       flush_passed(&ep->recv, ep->flush_head_recv);
}

void kdapl_flush_look(struct dat_ep *ep)
{
	kdapl_flush_poll(ep);
	if (!flush_all_home(ep)) {
		if (time_before(jiffies, ep->phase_deadline) &&
		    !kdapl_ia_removing(ep->obj.ia))
			return;
		pr_warn_ratelimited("%s: ep %u: %u requests and %u receives were not flushed, QP destroyed\n",
				    ep->obj.ia->name, ep->obj.id,
				    kdapl_queue_outstanding(&ep->req),
				    kdapl_queue_outstanding(&ep->recv));
		kdapl_flush_drop_qp(ep);
	} else if (ep->config.srq) {
		/*
		 * What came from an SRQ is not among the contexts: only
		 * without the QP does nothing follow any more.
		 */
		kdapl_flush_drop_qp(ep);
	}
	flush_finish(ep);
}

void kdapl_flush_start(struct dat_ep *ep)
{
	kdapl_flush_set_phase(ep, KDAPL_CLOSE_FLUSH);
	ep->flush_since = jiffies;
	ep->phase_deadline = jiffies + msecs_to_jiffies(kdapl_flush_timeout_ms);

	/* A QP that never left INIT flushes nothing. */
	if (!ep->qp || !ep->qp_past_init || kdapl_ep_qp_error(ep)) {
		kdapl_flush_drop_qp(ep);
		flush_finish(ep);
		return;
	}
	ep->qp_error = true;
	/* From now on the QP itself flushes what is posted. */
	kdapl_flush_move_gate(&ep->req, KDAPL_QUEUE_HOLD, KDAPL_QUEUE_OPEN);
	kdapl_flush_mark(ep);
	ep->flush_head_req = READ_ONCE(ep->req.head);
	ep->flush_head_recv = READ_ONCE(ep->recv.head);
	kdapl_flush_look(ep);
}

void kdapl_flush_now(struct dat_ep *ep, enum dat_event_number event)
{
	unsigned long flags;

	kdapl_connect_drop_id(ep);
	kdapl_flush_drop_qp(ep);

	spin_lock_irqsave(&ep->lock, flags);
	ep->gone = true;
	switch (ep->state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		if (!ep->terminal)
			ep->terminal = event;
		break;
	case DAT_EP_STATE_DISCONNECTED:
		break;
	default:
		ep->terminal = 0;
		break;
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	flush_finish(ep);
	kdapl_queue_set_gate(&ep->req, KDAPL_QUEUE_CLOSED);
	kdapl_queue_set_gate(&ep->recv, KDAPL_QUEUE_CLOSED);
	kdapl_queue_flush(&ep->req);
	kdapl_queue_flush(&ep->recv);
}
