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
#include <linux/jump_label.h>
#include <linux/minmax.h>

#include <dat/kdat.h>

#include "cq.h"
#include "ep.h"
#include "evd.h"
#include "frmr.h"
#include "queue.h"
#include "trace.h"

static DEFINE_STATIC_KEY_FALSE(dequeue_watched);

int kdapl_dequeue_trace_on(void)
{
	static_branch_inc(&dequeue_watched);
	return 0;
}

void kdapl_dequeue_trace_off(void)
{
	static_branch_dec(&dequeue_watched);
}

/*
 * The short ways have OPTIMIZER_HIDE_VAR(evd) in places: the addresses of what is
 * inside the EVD are cheaper to compute again than to keep in a register over a
 * call.
 */

/*
 * How many requests the success @wc of a registration or invalidation proves done: 2
 * if the registration in front of it was not signalled. 0: it takes more than that,
 * and nothing was done. The MR first: whoever sees the event may use it again.
 */
static __always_inline u32 dequeue_mem_locked(const struct ib_wc *wc,
					      const struct kdapl_wr *wr,
					      struct kdapl_queue *queue)
{
	bool inv = wr->flags & KDAPL_WR_INV;
	const struct kdapl_wr *first;
	u32 done = 1;

	if (unlikely(wr->flags & (u16)~(KDAPL_WR_UNSIGNALLED | KDAPL_WR_MEM |
					KDAPL_WR_INV) ||
		     (u32)wc->status | READ_ONCE(queue->ep->irregular)))
		return 0;
	if (wr->pos != queue->tail) {
		first = &queue->wr[queue->tail & queue->mask];
		if (unlikely(wr->pos != queue->tail + 1 || !inv ||
			     first->flags != (KDAPL_WR_MEM | KDAPL_WR_SUPPRESS) ||
			     first->fr != wr->fr))
			return 0;
		done = 2;
	}
	return kdapl_frmr_home_locked(wr->fr, inv, wr->variant, done) ? done : 0;
}

/*
 * Makes the event of @wc, as cq_event_locked() and kdapl_ring_take_locked() would
 * together. False: it takes more than that, and nothing was done. With @mem it may
 * be a registration or invalidation; what these need costs registers also where there
 * is none.
 */
static __always_inline bool dequeue_short_locked(struct dat_evd *evd,
						 const struct ib_wc *wc,
						 struct dat_event *event,
						 bool mem)
{
	const struct kdapl_wr *wr = (struct kdapl_wr *)(uintptr_t)wc->wr_id;
	struct dat_dto_completion_event_data *dto =
		&event->event_data.dto_completion_event_data;
	struct kdapl_queue *queue = wr->queue;
	struct dat_ep *ep = queue->ep;
	u32 tail = queue->tail, done = 1;

	/* Events that are traced or counted take the long way. */
	if (static_branch_unlikely(&dequeue_watched))
		return false;
	if (mem && wr->flags & KDAPL_WR_MEM) {
		done = dequeue_mem_locked(wc, wr, queue);
		if (unlikely(!done))
			return false;
		dto->transfered_length = 0;
	} else if (unlikely(!kdapl_cq_plain(wc, KDAPL_WR_UNSIGNALLED))) {
		return false;
	} else if (queue->request) {
		dto->transfered_length = wr->len;
	} else {
		if (unlikely(wc->wc_flags & KDAPL_WC_RARE))
			return false;
		dto->transfered_length = wc->byte_len;
	}
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dto->ep_handle = ep;
	dto->user_cookie = wr->cookie;
	dto->status = DAT_DTO_SUCCESS;
	dto->operation = wr->op;
	dto->rmr_context = 0;

	WRITE_ONCE(queue->tail, tail + done);
	/* Pairs with the acquire of a poster in search of a credit. */
	smp_store_release(&queue->released, queue->released + done);
	return true;
}

static __always_inline void dequeue_count_locked(struct dat_evd *evd, u32 taken)
{
	evd->stats.events[DAT_EVD_STREAM_DTO] += taken;
	evd->stats.dequeued += taken;
}

static __always_inline void dequeue_high_locked(struct dat_evd *evd, u32 polled)
{
	if (polled > evd->stats.high_water)
		evd->stats.high_water = polled;
}

/* What is in the ring, or has to go through it. */
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

/* What is at hand, or one batch, by the short ways as far as they go. */
static noinline u32 dequeue_rest_locked(struct dat_evd *evd,
					struct dat_event *events, u32 max)
{
	const struct ib_wc *wc = evd->wc_next;
	u32 taken = 0, left = evd->wc_left;

	if (evd->live || evd->shut)
		return dequeue_long_locked(evd, events, max);

	if (!left) {
		left = kdapl_cq_fetch_locked(evd);
		if (!left)
			return 0;
		dequeue_high_locked(evd, left);
		wc = evd->wc;
	}
	do {
		if (!dequeue_short_locked(evd, wc, events, true))
			goto out_long;
		wc++;
		left--;
		events++;
		taken++;
	} while (left && taken < max);
	evd->wc_next = wc;
	evd->wc_left = left;
	dequeue_count_locked(evd, taken);
	return taken;

out_long:
	evd->wc_next = wc;
	evd->wc_left = left;
	dequeue_count_locked(evd, taken);
	return taken + dequeue_long_locked(evd, events, max - taken);
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
	const struct ib_wc *wc;
	unsigned long flags;
	u32 left, taken;

	if (unlikely(!evd || !event))
		return -EINVAL;

	spin_lock_irqsave(&evd->lock, flags);
	if (unlikely(evd->in_hand)) {
		OPTIMIZER_HIDE_VAR(evd);
		if (unlikely(evd->live || evd->shut))
			goto out_rest;
		wc = evd->wc_next;
		left = evd->wc_left;
	} else {
		left = kdapl_cq_fetch_locked(evd);
		OPTIMIZER_HIDE_VAR(evd);
		if (!left) {
			spin_unlock_irqrestore(&evd->lock, flags);
			return -EAGAIN;
		}
		dequeue_high_locked(evd, left);
		wc = evd->wc;
	}
	if (unlikely(!dequeue_short_locked(evd, wc, event, false))) {
		evd->wc_next = wc;
		evd->wc_left = left;
		goto out_rest;
	}
	OPTIMIZER_HIDE_VAR(evd);
	evd->wc_next = wc + 1;
	evd->wc_left = left - 1;
	dequeue_count_locked(evd, 1);
	spin_unlock_irqrestore(&evd->lock, flags);
	return 0;

out_rest:
	taken = dequeue_rest_locked(evd, event, 1);
	OPTIMIZER_HIDE_VAR(evd);
	spin_unlock_irqrestore(&evd->lock, flags);
	return taken ? 0 : -EAGAIN;
}
EXPORT_SYMBOL_GPL(dat_evd_dequeue);

/* In sections short enough for interrupts to be off. */
static noinline int dequeue_many(struct dat_evd *evd, struct dat_event *events,
				 int max)
{
	int taken = 0, want, got;
	unsigned long flags;

	if (max < 1)
		return -EINVAL;
	do {
		want = min_t(int, max - taken, KDAPL_EVD_BUDGET);
		spin_lock_irqsave(&evd->lock, flags);
		got = dequeue_rest_locked(evd, events + taken, want);
		spin_unlock_irqrestore(&evd->lock, flags);
		taken += got;
	} while (got && taken < max);
	return taken;
}

/**
 * dat_evd_dequeue_batch - take several events
 * @evd: the EVD
 * @events: OUT: room for @max_events
 * @max_events: at least 1
 *
 * Takes what is at hand; the CQ is polled only if that is nothing. So fewer than
 * @max_events do not mean that no event is left: only 0 does. Else as so many
 * calls of dat_evd_dequeue(), but cheaper. kdapl's addition.
 *
 * Context: any.
 * Return: the number of events taken, 0 if none is queued, or -EINVAL: NULL or
 * @max_events below 1.
 */
int dat_evd_dequeue_batch(struct dat_evd *evd, struct dat_event *events,
			  int max_events)
{
	u32 polled, taken = 0, most = max_events;
	const struct ib_wc *wc;
	unsigned long flags;

	if (unlikely(!evd || !events))
		return -EINVAL;
	/* Below 1, or more than a batch. */
	if (unlikely(most - 1 >= KDAPL_EVD_POLL_BATCH))
		return dequeue_many(evd, events, max_events);

	spin_lock_irqsave(&evd->lock, flags);
	if (unlikely(evd->in_hand)) {
		OPTIMIZER_HIDE_VAR(evd);
		if (unlikely(evd->live || evd->shut))
			goto out_rest;
		wc = evd->wc_next;
		polled = evd->wc_left;
		evd->wc_left = 0;
	} else {
		polled = kdapl_cq_fetch_locked(evd);
		OPTIMIZER_HIDE_VAR(evd);
		if (!polled) {
			spin_unlock_irqrestore(&evd->lock, flags);
			return 0;
		}
		dequeue_high_locked(evd, polled);
		wc = evd->wc;
	}
	do {
		if (unlikely(!dequeue_short_locked(evd, wc, events, false)))
			break;
		if (++taken == polled) {
			OPTIMIZER_HIDE_VAR(evd);
			dequeue_count_locked(evd, taken);
			spin_unlock_irqrestore(&evd->lock, flags);
			return taken;
		}
		wc++;
		events++;
	} while (taken < most);
	dequeue_count_locked(evd, taken);
	evd->wc_next = wc;
	evd->wc_left = polled - taken;
out_rest:
	if (taken < most)
		taken += dequeue_rest_locked(evd, events, most - taken);
	OPTIMIZER_HIDE_VAR(evd);
	spin_unlock_irqrestore(&evd->lock, flags);
	return taken;
}
EXPORT_SYMBOL_GPL(dat_evd_dequeue_batch);
