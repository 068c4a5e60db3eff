// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: ending a connection without hurting the peer
 *
 * A peer whose last send is not acknowledged fails with it. So the QP stays
 * alive until the peer has said that it is done: by its DREQ, or by its DREP to
 * ours. The phases, of which a close takes some:
 *
 * DRAIN  dat_ep_disconnect(GRACEFUL): no new requests; the posted ones finish.
 *        Then, or at the deadline: DREQ.
 * DREQ   ours is under way, the QP still acknowledges. On DREP, on a DREQ that
 *        crosses ours, or at the deadline: FLUSH.
 * GRACE  the peer's DREQ came first and takes the place of ours. New requests
 *        are held back; posted ones get drep_grace_ms, but no longer than the
 *        deadline of a dat_ep_disconnect(). Then the DREP, and FLUSH.
 * DOUBT  a request was flushed while connected: the responder of a failed
 *        access notices only so. If the CM does not say DISCONNECTED within
 *        doubt_ms, it is BROKEN. Or while connecting: then the CM may say what
 *        became of that.
 * ID     iWARP: the attempt has ended, but its id goes only when the peer has
 *        answered, in another work, and the QP lives as long. Then: FLUSH.
 * FLUSH  the QP is in error. The contexts that come home are counted; nothing
 *        blocks, and no consumer needs to dequeue: the work polls the CQs. What
 *        does not come home in time is reported after the QP was destroyed.
 * DONE   the terminal event was posted, once, and after all others. The id
 *        lives on until reset or free, because a DREQ must be answered or the
 *        peer waits for 69 seconds.
 *
 * The work never sleeps for any of this: it looks again when a note comes or a
 * deadline passes.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "cm.h"
#include "ep.h"
#include "ep_state.h"
#include "ia.h"
#include "main.h"
#include "queue.h"

enum {
	/* A DREQ or DREP that the CM could not send is tried again. */
	CLOSE_RETRY_MS = 20,
};

static bool close_connected(struct dat_ep *ep)
{
	enum dat_ep_state state = READ_ONCE(ep->state);

	return state == DAT_EP_STATE_CONNECTED ||
	       state == DAT_EP_STATE_DISCONNECT_PENDING;
}

static bool close_pending(struct dat_ep *ep)
{
	enum dat_ep_state state = READ_ONCE(ep->state);

	return state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
	       state == DAT_EP_STATE_COMPLETION_PENDING;
}

/*
 * What ends a connection is decided once; the first to say so wins. Once the
 * device is being removed there is one answer: that the peer leaves may come of
 * the same removal, when it is an EP of ours that went first.
 */
static void close_decide(struct dat_ep *ep, enum dat_event_number event)
{
	unsigned long flags;

	if (kdapl_ia_removing(ep->obj.ia))
		event = DAT_CONNECTION_EVENT_BROKEN;
	spin_lock_irqsave(&ep->lock, flags);
	if (!ep->terminal)
		ep->terminal = event;
	spin_unlock_irqrestore(&ep->lock, flags);
}

/*
 * A DREQ, or the DREP that is due. False: the CM had no memory for it, and said so;
 * it is tried again. rdma_cm of 6.1 does not say so on InfiniBand, where the id is
 * in TIMEWAIT then: it sends nothing more but DREPs for a DREQ that is repeated.
 */
static bool close_disconnect(struct dat_ep *ep)
{
	if (!ep->id || !ep->id_connected)
		return true;
	ep->dreq_due = kdapl_cm_ops->disconnect(ep->id) == -ENOMEM;
	return !ep->dreq_due;
}

/* No turning back: what ends the connection is decided, and under way. */
static bool close_ending(struct dat_ep *ep)
{
	return ep->phase == KDAPL_CLOSE_ID || ep->phase == KDAPL_CLOSE_FLUSH;
}

void kdapl_close_fail(struct dat_ep *ep, enum dat_event_number event)
{
	close_decide(ep, event);
	if (kdapl_connect_drop_id_later(ep)) {
		kdapl_flush_set_phase(ep, KDAPL_CLOSE_ID);
		return;
	}
	kdapl_connect_drop_id(ep);
	kdapl_flush_start(ep);
}

static void close_start_dreq(struct dat_ep *ep)
{
	kdapl_flush_set_phase(ep, KDAPL_CLOSE_DREQ);
	close_disconnect(ep);
}

static void close_start_drain(struct dat_ep *ep)
{
	kdapl_flush_set_phase(ep, KDAPL_CLOSE_DRAIN);
	kdapl_flush_mark(ep);
}

/*
 * The peer's DREQ came before ours, or crosses it. Its answer leaves when our
 * requests are done; no other one may reach the peer any more.
 */
static void close_start_grace(struct dat_ep *ep)
{
	close_decide(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	if (ep->obj.ia->iwarp) {
		close_disconnect(ep);
		kdapl_flush_start(ep);
		return;
	}
	if (!kdapl_queue_outstanding(&ep->req) && close_disconnect(ep)) {
		kdapl_flush_start(ep);
		return;
	}

	kdapl_flush_set_phase(ep, KDAPL_CLOSE_GRACE);
	ep->phase_deadline = jiffies + msecs_to_jiffies(kdapl_drep_grace_ms);

	ep->hold_head = kdapl_flush_move_gate(&ep->req, KDAPL_QUEUE_OPEN,
					      KDAPL_QUEUE_HOLD);
	kdapl_flush_mark(ep);
}

/* The grace runs no longer than a disconnect of the consumer's may take. */
static unsigned long close_grace_end(struct dat_ep *ep)
{
	unsigned long end = ep->phase_deadline;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING &&
	    time_before(ep->deadline, end))
		end = ep->deadline;
	spin_unlock_irqrestore(&ep->lock, flags);
	return end;
}

/* Requests from before the DREQ are done; those held back do not count. */
static bool close_grace_over(struct dat_ep *ep)
{
	return (s32)(READ_ONCE(ep->req.tail) - ep->hold_head) >= 0 ||
	       time_after_eq(jiffies, close_grace_end(ep));
}

/* Ends a connection at once, telling the peer. */
static void close_abrupt(struct dat_ep *ep, enum dat_event_number event)
{
	close_decide(ep, event);
	if (ep->phase != KDAPL_CLOSE_DREQ)
		close_disconnect(ep);
	kdapl_flush_start(ep);
}

/**
 * kdapl_close_asked - what dat_ep_disconnect() asked for
 * @ep: the EP
 * @todo: the notes of this run
 *
 * Context: the EP's work, before the steps that could make the connection.
 */
void kdapl_close_asked(struct dat_ep *ep, unsigned long todo)
{
	if (!(todo & (BIT(KDAPL_EP_TODO_ABRUPT) | BIT(KDAPL_EP_TODO_GRACEFUL))))
		return;
	if (close_ending(ep) || ep->phase == KDAPL_CLOSE_DONE)
		return;

	if (close_pending(ep)) {
		kdapl_close_fail(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		return;
	}
	if (READ_ONCE(ep->state) != DAT_EP_STATE_DISCONNECT_PENDING)
		return;
	if (todo & BIT(KDAPL_EP_TODO_ABRUPT) || ep->phase == KDAPL_CLOSE_DOUBT)
		close_abrupt(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	else if (ep->phase == KDAPL_CLOSE_NONE)
		close_start_drain(ep);
}

/* News from the CM, by phase. */
static void close_disconnected(struct dat_ep *ep)
{
	switch (ep->phase) {
	case KDAPL_CLOSE_NONE:
	case KDAPL_CLOSE_DRAIN:
		if (close_connected(ep))
			close_start_grace(ep);
		else if (close_pending(ep))
			kdapl_close_fail(ep, ep->active ?
				DAT_CONNECTION_EVENT_NON_PEER_REJECTED :
				DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		break;
	case KDAPL_CLOSE_DOUBT:
		close_decide(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		close_disconnect(ep);
		kdapl_flush_start(ep);
		break;
	case KDAPL_CLOSE_DREQ:
		/* If it was a DREQ that crossed ours, it wants a DREP. */
		close_start_grace(ep);
		break;
	case KDAPL_CLOSE_GRACE:
	case KDAPL_CLOSE_ID:
		break;
	case KDAPL_CLOSE_FLUSH:
	case KDAPL_CLOSE_DONE:
		close_disconnect(ep);
		break;
	}
}

/* A completion failed, or the provider gave the QP up. */
static void close_broken(struct dat_ep *ep)
{
	if (close_ending(ep) || ep->phase == KDAPL_CLOSE_DONE)
		return;
	if (close_connected(ep))
		close_abrupt(ep, DAT_CONNECTION_EVENT_BROKEN);
	else if (close_pending(ep))
		kdapl_close_fail(ep, DAT_CONNECTION_EVENT_BROKEN);
}

/* In a close that was asked for: else nobody has set the deadline, or is just at it. */
static bool close_late(const struct dat_ep *ep)
{
	return time_after_eq(jiffies, ep->deadline);
}

/* Whatever the phase waits for may have come. */
static void close_look(struct dat_ep *ep)
{
	bool late;

	switch (ep->phase) {
	case KDAPL_CLOSE_DRAIN:
		kdapl_flush_poll(ep);
		late = close_late(ep);
		if (late || !kdapl_queue_outstanding(&ep->req))
			close_start_dreq(ep);
		if (late)
			kdapl_flush_start(ep);
		break;
	case KDAPL_CLOSE_DREQ:
		if (close_late(ep))
			kdapl_flush_start(ep);
		break;
	case KDAPL_CLOSE_GRACE:
		kdapl_flush_poll(ep);
		if (!close_grace_over(ep))
			break;
		/* Until the DREP has left, the peer may wait for an ACK of ours. */
		if (close_disconnect(ep) ||
		    time_after_eq(jiffies, close_grace_end(ep)))
			kdapl_flush_start(ep);
		break;
	case KDAPL_CLOSE_DOUBT:
		if (time_before(jiffies, ep->phase_deadline))
			break;
		if (close_connected(ep))
			close_abrupt(ep, DAT_CONNECTION_EVENT_BROKEN);
		else
			kdapl_close_fail(ep, DAT_CONNECTION_EVENT_BROKEN);
		break;
	case KDAPL_CLOSE_ID:
		/* Else it is in this run that the other work was asked. */
		if (!ep->connecting)
			kdapl_flush_start(ep);
		break;
	case KDAPL_CLOSE_FLUSH:
		kdapl_flush_look(ep);
		break;
	case KDAPL_CLOSE_NONE:
	case KDAPL_CLOSE_DONE:
		break;
	}
}

/**
 * kdapl_close_run - go on with the end of a connection
 * @ep: the EP
 * @todo: the notes of this run
 *
 * Context: the EP's work, after the steps that make the connection.
 */
void kdapl_close_run(struct dat_ep *ep, unsigned long todo)
{
	if (todo & BIT(KDAPL_EP_TODO_BROKEN))
		close_broken(ep);
	if (todo & BIT(KDAPL_EP_TODO_CM_FAILED) && close_connected(ep))
		todo |= BIT(KDAPL_EP_TODO_DISCONNECTED);
	if (todo & BIT(KDAPL_EP_TODO_DISCONNECTED))
		close_disconnected(ep);
	if (todo & BIT(KDAPL_EP_TODO_FLUSHED) &&
	    ep->phase == KDAPL_CLOSE_NONE &&
	    (close_connected(ep) || close_pending(ep))) {
		kdapl_flush_set_phase(ep, KDAPL_CLOSE_DOUBT);
		ep->phase_deadline = jiffies + msecs_to_jiffies(kdapl_doubt_ms);
	}
	close_look(ep);
	/* In GRACE the look itself tries again. */
	if (ep->dreq_due && ep->phase != KDAPL_CLOSE_GRACE)
		close_disconnect(ep);
}

unsigned long kdapl_close_next_look(struct dat_ep *ep)
{
	unsigned long now = jiffies;
	unsigned long next = now + MAX_JIFFY_OFFSET;
	unsigned long poll = now + max(msecs_to_jiffies(ep->poll_ms), 1UL);

	switch (ep->phase) {
	case KDAPL_CLOSE_NONE:
		if (READ_ONCE(ep->state) ==
		    DAT_EP_STATE_ACTIVE_CONNECTION_PENDING && ep->timeout_at)
			next = ep->timeout_at;
		break;
	case KDAPL_CLOSE_DRAIN:
		next = time_before(poll, ep->deadline) ? poll : ep->deadline;
		break;
	case KDAPL_CLOSE_DREQ:
		next = ep->deadline;
		break;
	case KDAPL_CLOSE_GRACE:
		next = close_grace_end(ep);
		if (time_before(poll, next))
			next = poll;
		break;
	case KDAPL_CLOSE_DOUBT:
		next = ep->phase_deadline;
		if (ep->timeout_at && time_before(ep->timeout_at, next))
			next = ep->timeout_at;
		break;
	case KDAPL_CLOSE_FLUSH:
		next = poll;
		break;
	case KDAPL_CLOSE_ID:
	case KDAPL_CLOSE_DONE:
		break;
	}
	if (ep->dreq_due)
		next = time_before(now + msecs_to_jiffies(CLOSE_RETRY_MS), next) ?
		       now + msecs_to_jiffies(CLOSE_RETRY_MS) : next;
	if (next == now + MAX_JIFFY_OFFSET)
		return 0;
	return next ?: 1;
}

void kdapl_close_free(struct dat_ep *ep)
{
	switch (READ_ONCE(ep->state)) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
		if (!close_ending(ep))
			kdapl_close_fail(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		break;
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		if (ep->phase != KDAPL_CLOSE_FLUSH)
			close_abrupt(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		break;
	case DAT_EP_STATE_DISCONNECTED:
		/* Posted since: flushed, but perhaps not home. */
		if (ep->qp_error && ep->phase == KDAPL_CLOSE_DONE &&
		    (kdapl_queue_outstanding(&ep->req) ||
		     kdapl_queue_outstanding(&ep->recv)))
			kdapl_flush_start(ep);
		break;
	default:
		break;
	}
}
