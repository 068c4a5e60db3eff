// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: taking events out of an EVD
 *
 * The short way is for what consumers mostly do: nothing is in the ring, and the
 * next completion is the success of the oldest request of its queue. It becomes
 * an event in the consumer's array, without a ring entry in between. At anything
 * else the long way takes over, from the completion on that is not of this kind:
 * it goes through the ring, which is served first from then on, so the order
 * stays.
 */
#include <linux/export.h>
#include <linux/minmax.h>

#include <dat/kdat.h>

#include "counters.h"
#include "cq.h"
#include "ep.h"
#include "evd.h"
#include "queue.h"
#include "trace.h"

/*
 * Makes the event of @wc, as cq_event_locked() and kdapl_ring_take_locked() would
 * together. False: it takes more than that, and nothing was done.
 */
static __always_inline bool dequeue_short_locked(struct dat_evd *evd,
						 const struct ib_wc *wc,
						 struct dat_event *event)
{
	const struct kdapl_wr *wr = (struct kdapl_wr *)(uintptr_t)wc->wr_id;
	struct dat_dto_completion_event_data *dto =
		&event->event_data.dto_completion_event_data;
	struct kdapl_queue *queue = wr->queue;
	struct dat_ep *ep = queue->ep;
	u32 tail = queue->tail;

	if (unlikely(wr != &queue->wr[tail & queue->mask] ||
		     tail == READ_ONCE(queue->head) ||
		     wr->flags & ~KDAPL_WR_UNSIGNALLED ||
		     wc->status != IB_WC_SUCCESS || READ_ONCE(ep->phase)))
		return false;

	if (queue->request) {
		dto->transfered_length = wr->len;
	} else {
		if (unlikely(wc->wc_flags & KDAPL_WC_RARE))
			return false;
		dto->transfered_length = wc->byte_len;
		kdapl_counters_recv(ep, wc);
	}
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = ep;
	dto->user_cookie = wr->cookie;
	dto->status = DAT_DTO_SUCCESS;
	dto->operation = wr->op;
	dto->rmr_context = 0;

	WRITE_ONCE(queue->tail, tail + 1);
	/* Pairs with the acquire of a poster in search of a credit. */
	smp_store_release(&queue->released, queue->released + 1);
	return true;
}

static noinline u32 dequeue_long_locked(struct dat_evd *evd,
					struct dat_event *events, u32 max)
{
	u32 taken, n, empty = 0;

	taken = kdapl_ring_take_locked(evd, events, max);
	/*
	 * Completions without events are absorbed, but not for ever with
	 * interrupts off: an enable will find those left behind.
	 */
	while (taken < max && empty < KDAPL_EVD_BUDGET) {
		n = kdapl_cq_poll_locked(evd);
		if (!n)
			break;
		n = kdapl_ring_take_locked(evd, events + taken, max - taken);
		taken += n;
		empty = n ? 0 : empty + KDAPL_EVD_POLL_BATCH;
	}
	return taken;
}

/* All traces are on the long way; those of a completion and of its dequeue. */
static __always_inline bool dequeue_traced(void)
{
	return trace_kdapl_dto_complete_enabled() ||
	       trace_kdapl_evd_dequeue_enabled();
}

/* As many events as there are, up to @max; the caller holds no lock. */
static __always_inline u32 dequeue(struct dat_evd *evd,
				   struct dat_event *events, u32 max)
{
	u32 taken = 0, left, polled = KDAPL_EVD_POLL_BATCH;
	const struct ib_wc *wc;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	if (unlikely(dequeue_traced()))
		goto out_long;
	if (!evd->in_hand) {
		polled = kdapl_cq_fetch_locked(evd);
		if (!polled) {
			spin_unlock_irqrestore(&evd->lock, flags);
			return 0;
		}
		goto fetched;
	}
	if (unlikely(evd->live || evd->shut))
		goto out_long;
	wc = evd->wc_next;
	left = evd->wc_left;
	for (;;) {
		do {
			if (!dequeue_short_locked(evd, wc, &events[taken])) {
				evd->wc_next = wc;
				evd->wc_left = left;
				goto out_count;
			}
			wc++;
			left--;
			taken++;
		} while (taken < max && left);
		/* A batch that was not full has emptied the CQ. */
		if (taken == max || polled < KDAPL_EVD_POLL_BATCH)
			break;
		polled = kdapl_cq_fetch_locked(evd);
		if (!polled)
			break;
fetched:
		if (polled > evd->stats.high_water)
			evd->stats.high_water = polled;
		wc = evd->wc;
		left = polled;
	}
	evd->wc_next = wc;
	evd->wc_left = left;
	evd->stats.events[DAT_EVD_STREAM_DTO] += taken;
	evd->stats.dequeued += taken;
	spin_unlock_irqrestore(&evd->lock, flags);
	return taken;

out_count:
	evd->stats.events[DAT_EVD_STREAM_DTO] += taken;
	evd->stats.dequeued += taken;
out_long:
	taken += dequeue_long_locked(evd, events + taken, max - taken);
	spin_unlock_irqrestore(&evd->lock, flags);
	return taken;
}

/**
 * dat_evd_dequeue - take the first event
 * @evd: the EVD
 * @event: OUT: the event
 *
 * Each event is handed out once, in FIFO order per stream. Origin: DAT 2.0.
 *
 * Context: any, any number of threads, upcalls of @evd included.
 * Return: 0; -EAGAIN: no event is queued; -EINVAL: NULL.
 */
int dat_evd_dequeue(struct dat_evd *evd, struct dat_event *event)
{
	if (unlikely(!evd || !event))
		return -EINVAL;
	return likely(dequeue(evd, event, 1)) ? 0 : -EAGAIN;
}
EXPORT_SYMBOL_GPL(dat_evd_dequeue);

/* In sections short enough for interrupts to be off. */
static noinline int dequeue_rest(struct dat_evd *evd, struct dat_event *events,
				 u32 max)
{
	u32 taken = 0, want, got;

	do {
		want = min_t(u32, max - taken, KDAPL_EVD_BUDGET);
		got = dequeue(evd, events + taken, want);
		taken += got;
	} while (got == want && taken < max);
	return taken;
}

/**
 * dat_evd_dequeue_batch - take events, as many as there are
 * @evd: the EVD
 * @events: OUT: room for @max_events
 * @max_events: at least 1
 *
 * As many calls of dat_evd_dequeue() would do, but cheaper. kdapl's addition.
 *
 * Context: any.
 * Return: the number of events taken, 0 if none is queued, or -EINVAL: NULL or
 * @max_events below 1.
 */
int dat_evd_dequeue_batch(struct dat_evd *evd, struct dat_event *events,
			  int max_events)
{
	if (unlikely(!evd || !events || max_events < 1))
		return -EINVAL;
	if (unlikely(max_events > KDAPL_EVD_BUDGET))
		return dequeue_rest(evd, events, max_events);
	return dequeue(evd, events, max_events);
}
EXPORT_SYMBOL_GPL(dat_evd_dequeue_batch);
