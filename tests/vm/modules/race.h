/* SPDX-License-Identifier: GPL-2.0 */
/* The race between the last look at a queue and the arming of its wake-up. */
#ifndef _VMTEST_RACE_H
#define _VMTEST_RACE_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/wait.h>

struct race;
struct vmtest;

enum {
	RACE_RECVS = 32,	/* posted at any time */
	RACE_WINDOW_MAX = 16,	/* messages without credit */
};

/**
 * struct race_ops - what the two threads do their work with
 * @send: sends one message; process context, bottom halves off
 * @take: takes one message and posts a receive in its place: 1, 0 if there is
 *	none, or a negative errno
 * @arm: 0, or -EBUSY, or another errno
 */
struct race_ops {
	int (*send)(struct race *race);
	int (*take)(struct race *race);
	int (*arm)(struct race *race);
};

/**
 * struct race - one run: a sender on one CPU, a consumer on another
 * @ops: kdapl's, or raw verbs'
 * @data: theirs
 * @count: messages
 * @window: so many may be under way; the consumer's progress is the credit
 * @gap_us: random pauses of both sides are shorter than this
 * @stall_ms: without credit for so long: the consumer sleeps on a message
 * @stop_after: end when so many wake-ups were lost (0 = never)
 * @wait: the consumer
 * @credit: the sender
 * @armed: the consumer sleeps, or is about to, and owns nothing
 * @kicked: the sender woke the consumer because of a stall
 * @sent: messages
 * @taken: messages
 * @wakes: callbacks or upcalls
 * @racing: of these, with the consumer at work
 * @busy: arms that were refused
 * @lost: messages that were found in the queue of a sleeping consumer
 * @error: first errno
 */
struct race {
	const struct race_ops *ops;
	void *data;
	u64 count;
	u32 window;
	u32 gap_us;
	u32 stall_ms;
	u32 stop_after;

	wait_queue_head_t wait;
	wait_queue_head_t credit;
	bool armed;
	bool kicked;
	bool sender_done;
	u64 sent;
	u64 taken;
	atomic64_t wakes;
	atomic64_t racing;
	u64 busy;
	u64 lost;
	int error;
};

/* From a callback or an upcall: wake the consumer. Any context. */
void race_wake(struct race *race);
/* Runs both threads to the end. */
int race_run(struct race *race);

void race_kdapl(struct vmtest *t, struct race *race, bool single, bool merged);
void race_raw(struct vmtest *t, struct race *race);

#endif /* _VMTEST_RACE_H */
