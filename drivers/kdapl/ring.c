// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the pending queue of an EVD
 *
 * The ring cannot overflow, because a slot belongs to whatever will fill it
 * before that can happen:
 *
 * - DTO and bind completions: an EP reserves one slot for each request that it
 *   may have posted, when it is created. A request holds its slot from the post
 *   until the consumer dequeued the event (a credit, see queue.h). EPs of an SRQ
 *   share the slots of its buffers.
 * - Connection events: an attempt claims two slots before it starts, one for
 *   ESTABLISHED and one for the end.
 * - Everything else takes a slot that is not reserved, or is refused.
 *
 * So reserved + unreserved never exceeds qlen, and neither do the entries.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "async.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "kunit.h"
#include "main.h"
#include "queue.h"
#include "srq.h"
#include "trace.h"
#include "upcall.h"

static struct kdapl_slot *ring_alloc(u32 entries, int node)
{
	return kvmalloc_node(array_size(entries, sizeof(struct kdapl_slot)),
			     GFP_KERNEL | __GFP_ZERO, node);
}

static enum dat_evd_stream ring_stream(enum dat_event_number number)
{
	switch (number & ~0xfff) {
	case DAT_RMR_BIND_COMPLETION_EVENT & ~0xfff:
		return DAT_EVD_STREAM_RMR_BIND;
	case DAT_CONNECTION_REQUEST_EVENT & ~0xfff:
		return DAT_EVD_STREAM_CR;
	case DAT_CONNECTION_EVENT_ESTABLISHED & ~0xfff:
		return DAT_EVD_STREAM_CONNECTION;
	case DAT_ASYNC_ERROR_EVD_OVERFLOW & ~0xfff:
		return DAT_EVD_STREAM_ASYNC;
	case DAT_SOFTWARE_EVENT & ~0xfff:
		return DAT_EVD_STREAM_SOFTWARE;
	default:
		return DAT_EVD_STREAM_DTO;
	}
}

static void ring_report_overflow(struct work_struct *work)
{
	struct dat_evd *evd = container_of(work, struct dat_evd, overflow);

	pr_err("%s: evd %u: the provider completed more than was posted\n",
	       evd->obj.ia->name, evd->obj.id);
	kdapl_async_post(evd->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd,
			 DAT_EVD_OVERFLOW_ERROR);
	kdapl_obj_put(&evd->obj);
}

/**
 * kdapl_ring_init - set up the empty pending queue of a new EVD
 * @evd: the EVD
 * @entries: its size, a power of two
 *
 * Return: 0 or -ENOMEM.
 */
int kdapl_ring_init(struct dat_evd *evd, u32 entries)
{
	INIT_WORK(&evd->overflow, ring_report_overflow);
	evd->ring = ring_alloc(entries, evd->numa_node);
	if (!evd->ring)
		return -ENOMEM;
	evd->mask = entries - 1;
	evd->qlen = entries;
	return 0;
}

/**
 * kdapl_ring_overflow_locked - an event was lost: count, and tell once
 * @evd: the EVD, locked; the async EVD that is told may be the same
 */
void kdapl_ring_overflow_locked(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	if (evd->stats.overflow++)
		return;
	kdapl_obj_get(&evd->obj);
	queue_work(kdapl_wq, &evd->overflow);
}

/**
 * kdapl_ring_push_locked - the next entry, for the caller to fill in
 * @evd: the EVD, locked
 * @post: whose slot it is and whether it may notify
 * @number: event number
 *
 * Return: the entry with all but its data set, or NULL if the ring is full,
 * which the reservations exclude for all but a provider's fault.
 */
struct kdapl_slot *kdapl_ring_push_locked(struct dat_evd *evd,
					  const struct kdapl_post *post,
					  enum dat_event_number number)
{
	struct kdapl_slot *slot;
	u32 entries;

	lockdep_assert_held(&evd->lock);

	entries = evd->tail - evd->head;
	if (unlikely(entries > evd->mask)) {
		kdapl_ring_overflow_locked(evd);
		return NULL;
	}
	if (++entries > evd->stats.high_water)
		evd->stats.high_water = entries;

	slot = kdapl_evd_slot(evd, evd->tail++);
	slot->number = number;
	slot->kind = post->kind;
	slot->notify = post->notify;
	slot->owner = post->owner;

	evd->live++;
	evd->notifying += post->notify;
	evd->stats.events[ring_stream(number)]++;

	switch (post->kind) {
	case KDAPL_SLOT_DTO:
	case KDAPL_SLOT_SRQ:
		/* The credit was taken when the request was posted. */
		break;
	case KDAPL_SLOT_CONN:
		((struct dat_ep *)post->owner)->conn_claimed--;
		((struct dat_ep *)post->owner)->conn_queued++;
		break;
	case KDAPL_SLOT_FREE:
		evd->unreserved++;
		break;
	}
	return slot;
}

/* The entry leaves the ring: its slot goes back to its owner. */
static void ring_release_locked(struct dat_evd *evd, struct kdapl_slot *slot)
{
	struct kdapl_queue *queue;
	struct dat_ep *ep;

	evd->live--;
	evd->notifying -= slot->notify;

	switch (slot->kind) {
	case KDAPL_SLOT_DTO:
		queue = slot->owner;
		/* Pairs with the acquire of a poster in search of a credit. */
		smp_store_release(&queue->released, queue->released + 1);
		break;
	case KDAPL_SLOT_CONN:
		ep = slot->owner;
		ep->conn_queued--;
		evd->reserved--;
		break;
	case KDAPL_SLOT_FREE:
		evd->unreserved--;
		break;
	case KDAPL_SLOT_SRQ:
		kdapl_srq_release_locked(slot->owner);
		break;
	}
}

/**
 * kdapl_ring_take_locked - take events off the head
 * @evd: the EVD, locked
 * @events: room for @max events
 * @max: the most to take
 *
 * Return: the number taken, 0 if none is queued.
 */
u32 kdapl_ring_take_locked(struct dat_evd *evd, struct dat_event *events,
			   u32 max)
{
	struct kdapl_slot *slot;
	struct dat_event *event;
	u32 taken = 0;

	lockdep_assert_held(&evd->lock);

	while (taken < max && evd->head != evd->tail) {
		slot = kdapl_evd_slot(evd, evd->head++);
		event = &events[taken++];
		event->event_number = slot->number;
		event->evd_handle = evd;
		event->event_data = slot->data;
		if (unlikely(slot->number >= DAT_EXTENSION_EVENT))
			memcpy(event->event_extension_data, slot->extension,
			       sizeof(slot->extension));
		ring_release_locked(evd, slot);
		trace_kdapl_evd_dequeue(evd->obj.id, slot->number);
	}
	evd->stats.dequeued += taken;
	return taken;
}

/**
 * kdapl_evd_post - queue an event that is no completion
 * @evd: the EVD; the caller is one of its feeders, so it stays
 * @event: copied
 * @post: whose slot it takes and whether it may notify
 *
 * Context: any; takes @evd's lock.
 * Return: 0; -ENOBUFS if no unreserved slot is left for a KDAPL_SLOT_FREE
 * entry; -EOVERFLOW if the event was lost, which is counted and reported once.
 */
int kdapl_evd_post(struct dat_evd *evd, const struct dat_event *event,
		   const struct kdapl_post *post)
{
	struct kdapl_slot *slot;
	unsigned long flags;
	bool trigger;
	int ret = 0;

	spin_lock_irqsave(&evd->lock, flags);
	evd->used = true;
	if (post->kind == KDAPL_SLOT_FREE &&
	    evd->unreserved + evd->reserved >= evd->qlen) {
		evd->stats.refused++;
		ret = -ENOBUFS;
		goto out_unlock;
	}
	slot = kdapl_ring_push_locked(evd, post, event->event_number);
	if (unlikely(!slot)) {
		ret = -EOVERFLOW;
		goto out_unlock;
	}
	slot->data = event->event_data;
	if (unlikely(slot->number >= DAT_EXTENSION_EVENT))
		memcpy(slot->extension, event->event_extension_data,
		       sizeof(slot->extension));
	trace_kdapl_evd_post(evd->obj.id, slot->number);

	trigger = post->notify && kdapl_evd_policy_on(evd->policy);
	spin_unlock_irqrestore(&evd->lock, flags);

	if (trigger)
		kdapl_upcall_trigger(evd);
	return 0;

out_unlock:
	spin_unlock_irqrestore(&evd->lock, flags);
	return ret;
}

KDAPL_EXPORT_FOR_TEST(kdapl_evd_post);

/**
 * kdapl_evd_claim_conn - slots for the events of one connection attempt
 * @evd: the EP's connect EVD
 * @ep: the EP, without an attempt under way
 *
 * Context: any; takes @evd's lock.
 * Return: 0 or -ENOSPC.
 */
int kdapl_evd_claim_conn(struct dat_evd *evd, struct dat_ep *ep)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&evd->lock, flags);
	evd->used = true;
	if (ep->conn_queued || ep->conn_claimed ||
	    evd->unreserved + evd->reserved + 2 > evd->qlen) {
		ret = -ENOSPC;
	} else {
		evd->reserved += 2;
		ep->conn_claimed = 2;
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	return ret;
}

/**
 * kdapl_evd_unclaim_conn - give back what an attempt did not use
 * @evd: the EP's connect EVD
 * @ep: the EP, whose attempt has ended or never started
 *
 * Context: any; takes @evd's lock.
 */
void kdapl_evd_unclaim_conn(struct dat_evd *evd, struct dat_ep *ep)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	evd->reserved -= ep->conn_claimed;
	ep->conn_claimed = 0;
	spin_unlock_irqrestore(&evd->lock, flags);
}

/**
 * kdapl_evd_purge - forget the queued events of an object that is going away
 * @evd: the EVD
 * @owner: what kdapl_evd_post() or the completion path named as owner
 *
 * Those behind them move up: a hole would occupy a slot that somebody else may
 * fill before the next dequeue, since EPs of an SRQ share theirs.
 *
 * Context: any; takes @evd's lock.
 */
void kdapl_evd_purge(struct dat_evd *evd, void *owner)
{
	struct kdapl_slot *slot;
	unsigned long flags;
	u32 i, kept;

	spin_lock_irqsave(&evd->lock, flags);
	kept = evd->head;
	for (i = evd->head; i != evd->tail; i++) {
		slot = kdapl_evd_slot(evd, i);
		if (slot->owner == owner) {
			ring_release_locked(evd, slot);
			continue;
		}
		if (kept != i)
			*kdapl_evd_slot(evd, kept) = *slot;
		kept++;
	}
	evd->tail = kept;
	spin_unlock_irqrestore(&evd->lock, flags);
}

KDAPL_EXPORT_FOR_TEST(kdapl_evd_purge);

/**
 * kdapl_ring_resize - move the entries into a ring of another size
 * @evd: the EVD
 * @entries: the new size, a power of two
 *
 * Context: process; sleeps.
 * Return: 0; -ENOMEM; -EBUSY if the entries, or what is reserved, do not fit,
 * with the old ring in place.
 */
int kdapl_ring_resize(struct dat_evd *evd, u32 entries)
{
	struct kdapl_slot *ring, *old;
	u32 i, count = 0;
	int ret = -EBUSY;

	might_sleep();

	ring = ring_alloc(entries, evd->numa_node);
	if (!ring)
		return -ENOMEM;
	old = ring;

	spin_lock_irq(&evd->lock);
	if (evd->unreserved + evd->reserved > entries)
		goto out_unlock;
	for (i = evd->head; i != evd->tail; i++)
		ring[count++] = *kdapl_evd_slot(evd, i);
	old = evd->ring;
	evd->ring = ring;
	evd->mask = entries - 1;
	evd->qlen = entries;
	evd->head = 0;
	evd->tail = count;
	ret = 0;
out_unlock:
	spin_unlock_irq(&evd->lock);
	kvfree(old);
	return ret;
}
