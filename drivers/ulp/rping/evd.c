// SPDX-License-Identifier: GPL-2.0
/*
 * How a consumer with a thread uses an EVD: the part to copy.
 *
 * The thread owns the queue while upcalls are off, the upcall owns it while
 * they are on, and dat_evd_modify_upcall() hands it over:
 *
 *	thread					upcall
 *	------					------
 *	dequeue until -EAGAIN
 *	enable
 *	    -EBUSY: something came, go on
 *	    0: queue proven empty, armed
 *	sleep
 *						upcalls go off, wake the thread
 *	dequeue until -EAGAIN
 *
 * There is no window between the last dequeue and the enable: whatever arrives
 * in it makes the enable answer -EBUSY. Nor is there one after the enable: an
 * arrival then is an upcall. So the thread never has to look "once more", and
 * upcall and thread never hold an event each.
 *
 * In the NOTIFY form kdapl switches upcalls off before it makes the one upcall,
 * which gets no event. In the SINGLE_INSTANCE form the upcall is given an event
 * that has left the queue: it switches upcalls off itself and passes the event
 * on to the thread, which must take it before those still queued.
 *
 * Both forms run in softirq if the EVD carries data transfer completions only,
 * else in process context; neither sleeps, so it makes no difference here.
 */
#include <linux/seq_file.h>
#include <linux/jiffies.h>

#include "evd.h"

enum {
	/* How late an upcall may be before its event counts as stranded. */
	RPING_EVD_GRACE_MS = 5000,
};

/* The thread's turn: @event is one that has left the queue, or NULL. */
static void evd_release(struct rping_evd *evd, const struct dat_event *event)
{
	if (event) {
		evd->handed = *event;
		evd->has_handed = true;
	}
	atomic64_inc(&evd->upcalls);
	/* Pairs with rping_evd_armed(). */
	smp_store_release(&evd->armed, false);
	wake_up(evd->wait);
}

static void evd_upcall_notify(void *instance_data,
			      const struct dat_event *event, bool more_events)
{
	evd_release(instance_data, NULL);
}

static void evd_upcall_single(void *instance_data,
			      const struct dat_event *event, bool more_events)
{
	struct rping_evd *evd = instance_data;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	/* Always succeeds; no further upcall comes once this one is over. */
	dat_evd_modify_upcall(evd->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	evd_release(evd, event);
	spin_unlock_irqrestore(&evd->lock, flags);
}

static int evd_enable(struct rping_evd *evd)
{
	struct dat_upcall_object upcall = {
		.instance_data = evd,
		.upcall_func = evd->single ? evd_upcall_single :
					     evd_upcall_notify,
	};

	return dat_evd_modify_upcall(evd->evd,
				     evd->single ? DAT_UPCALL_SINGLE_INSTANCE :
						   DAT_UPCALL_NOTIFY,
				     &upcall, DAT_UPCALL_INVOC_NEW);
}

/**
 * rping_evd_create() - create an EVD, with upcalls off
 * @evd: zeroed
 * @ia: the IA
 * @name: for the report, lives longer than @evd
 * @qlen: events that it must hold
 * @flags: streams
 * @single: SINGLE_INSTANCE form, else NOTIFY
 * @wait: woken by upcalls
 *
 * Return: 0 or what dat_evd_kcreate() says.
 */
int rping_evd_create(struct rping_evd *evd, struct dat_ia *ia,
		     const char *name, int qlen, enum dat_evd_flags flags,
		     bool single, wait_queue_head_t *wait)
{
	evd->name = name;
	evd->single = single;
	evd->wait = wait;
	spin_lock_init(&evd->lock);
	return dat_evd_kcreate(ia, qlen, DAT_UPCALL_DISABLE, NULL, flags,
			       &evd->evd);
}

/* Takes what there is, whatever the state of upcalls. */
void rping_evd_drain(struct rping_evd *evd, const struct rping_evd_sink *sink)
{
	struct dat_event event;

	if (evd->has_handed) {
		evd->has_handed = false;
		evd->dequeued++;
		sink->event(sink->context, &evd->handed);
	}
	while (!dat_evd_dequeue(evd->evd, &event)) {
		evd->dequeued++;
		sink->event(sink->context, &event);
	}
}

/**
 * rping_evd_service() - after a wake-up: take all events, then enable
 * @evd: the EVD
 * @sink: where the events go
 *
 * Does nothing while an upcall may come.
 *
 * Return: 0 with upcalls on, else why they cannot be enabled.
 */
int rping_evd_service(struct rping_evd *evd, const struct rping_evd_sink *sink)
{
	int ret;

	if (rping_evd_armed(evd))
		return 0;

	for (;;) {
		rping_evd_drain(evd, sink);

		/* First, as the upcall may come before the call returns. */
		WRITE_ONCE(evd->armed, true);
		ret = evd_enable(evd);
		if (!ret)
			return 0;
		WRITE_ONCE(evd->armed, false);
		if (ret != -EBUSY)
			return ret;
		evd->busy++;
	}
}

/**
 * rping_evd_watch() - after a second without a wake-up: was one lost?
 * @evd: the EVD
 * @sink: where stranded events go
 *
 * No part of the pattern above, but its proof: with upcalls on, enabling again
 * tells whether anything is queued, and changes nothing if so. An event that has
 * just come has its upcall under way, hence the second look.
 */
void rping_evd_watch(struct rping_evd *evd, const struct rping_evd_sink *sink)
{
	unsigned long flags;
	int ret = 0;

	/* Under the lock, or it could undo a disable of the upcall. */
	spin_lock_irqsave(&evd->lock, flags);
	if (rping_evd_armed(evd))
		ret = evd_enable(evd);
	spin_unlock_irqrestore(&evd->lock, flags);

	if (ret != -EBUSY)
		return;
	if (wait_event_idle_timeout(*evd->wait, !rping_evd_armed(evd),
				    msecs_to_jiffies(RPING_EVD_GRACE_MS)))
		return;

	evd->stalls++;
	rping_evd_drain(evd, sink);
}

/* No upcall runs or starts after this; takes what there is. Sleeps. */
void rping_evd_finish(struct rping_evd *evd, const struct rping_evd_sink *sink)
{
	dat_evd_modify_upcall(evd->evd, DAT_UPCALL_TEARDOWN, DAT_UPCALL_SAME,
			      DAT_UPCALL_INVOC_NEW);
	rping_evd_drain(evd, sink);
}

/* Nothing may feed it any more; waits for upcalls, so @evd may go away. */
void rping_evd_free(struct rping_evd *evd)
{
	int ret = dat_evd_free(evd->evd);

	if (ret)
		pr_warn("EVD %s cannot be freed: %d\n", evd->name, ret);
}

void rping_evd_show(struct rping_evd *evd, struct seq_file *m)
{
	u64 due = READ_ONCE(evd->due), dequeued = READ_ONCE(evd->dequeued);

	seq_printf(m, "evd %s: events %llu dequeued %llu upcalls %llu busy %llu lost %lld\n",
		   evd->name, due, dequeued,
		   (u64)atomic64_read(&evd->upcalls), READ_ONCE(evd->busy),
		   (s64)(due - dequeued + READ_ONCE(evd->stalls)));
}
