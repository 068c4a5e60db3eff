/* SPDX-License-Identifier: GPL-2.0 */
/* An EVD as a consumer with a thread of its own uses it. */
#ifndef _RPING_EVD_H
#define _RPING_EVD_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <dat/kdat.h>

struct seq_file;

/**
 * struct rping_evd - one EVD and what is known of it
 * @evd: the handle
 * @name: for the report
 * @wait: where the consumer's thread sleeps
 * @single: upcalls in the SINGLE_INSTANCE form, else in the NOTIFY form
 * @lock: keeps the watch's look and an upcall apart; any context, the EVD's own
 *	lock nests inside
 * @armed: an upcall may come, so the thread keeps its hands off the queue.
 *	Cleared with release by the upcall, as its last act on this structure
 *	but for waking @wait; else written by the thread only.
 * @handed: SINGLE_INSTANCE: the event that the upcall was given; valid while
 *	@has_handed, which the release of @armed publishes
 * @has_handed: see @handed
 * @upcalls: so many were made
 * @due: events owed for what was posted and connected; thread only, as the rest
 * @dequeued: events that were handed over, by dequeue or in an upcall
 * @busy: enables that were answered -EBUSY
 * @stalls: events that lay about for over a second without an upcall
 */
struct rping_evd {
	struct dat_evd *evd;
	const char *name;
	wait_queue_head_t *wait;
	bool single;
	/* Protects the step from upcalls on to upcalls off: see above. */
	spinlock_t lock;
	bool armed;
	struct dat_event handed;
	bool has_handed;
	atomic64_t upcalls;
	u64 due;
	u64 dequeued;
	u64 busy;
	u64 stalls;
};

/**
 * struct rping_evd_sink - where events go
 * @event: called by the thread for each event, in order
 * @context: its first argument
 */
struct rping_evd_sink {
	void (*event)(void *context, const struct dat_event *event);
	void *context;
};

int rping_evd_create(struct rping_evd *evd, struct dat_ia *ia,
		     const char *name, int qlen, enum dat_evd_flags flags,
		     bool single, wait_queue_head_t *wait);
int rping_evd_service(struct rping_evd *evd, const struct rping_evd_sink *sink);
void rping_evd_drain(struct rping_evd *evd, const struct rping_evd_sink *sink);
void rping_evd_watch(struct rping_evd *evd, const struct rping_evd_sink *sink);
void rping_evd_finish(struct rping_evd *evd, const struct rping_evd_sink *sink);
void rping_evd_free(struct rping_evd *evd);
void rping_evd_show(struct rping_evd *evd, struct seq_file *m);

static inline bool rping_evd_armed(const struct rping_evd *evd)
{
	/* Pairs with the upcall's release: what it left can be read. */
	return smp_load_acquire(&evd->armed);
}

#endif /* _RPING_EVD_H */
