/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all suites need: an open IA on the fake device, EVDs, EPs and connected
 * pairs of them, and a recorder to be called up.
 *
 * A suite names kit_init() and kit_exit() as its init and exit. Whatever a test
 * leaves behind, passed or failed, kit_exit() takes down with
 * dat_ia_close(ABRUPT), and fails the test if the device still has an object.
 */
#ifndef _KIT_H
#define _KIT_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/jiffies.h>
#include <linux/spinlock.h>

#include <dat/kdat.h>

#include "fake_cm.h"
#include "fake_hca.h"

#define KIT_PORT	5000

/* How long to wait for what must happen: only a failure takes so long. */
#define KIT_PATIENCE	(30 * HZ)

/* Waits for a condition; false if it did not come true. */
#define KIT_WAIT(condition)						\
({									\
	unsigned long kit_end = jiffies + KIT_PATIENCE;			\
	bool kit_met;							\
									\
	while (!(kit_met = (condition)) && time_before(jiffies, kit_end)) \
		usleep_range(200, 1000);				\
	kit_met;							\
})

/* Longer than whatever wrongly happens needs to happen. */
#define KIT_SETTLE()	msleep(20)

/*
 * A case that does something over and over: with full=1 for fake_hca as often as a
 * rare fault takes, in pieces (its parameters), since KUnit gives it 300 s at a time.
 */
#define KIT_PIECES	50
const void *kit_pieces(const void *prev, char *desc);
/* Rounds of a piece: @few, or its part of @many. */
unsigned int kit_rounds(unsigned int few, unsigned int many);

struct kit {
	struct kunit *test;
	struct dat_ia *ia;
	struct dat_evd *async;
	struct dat_pz *pz;
	int live;		/* objects before the test */
	unsigned int disconnect_ms;	/* of a close, before the test: for kit_exit() */
	unsigned int grace_ms;
	unsigned int flush_ms;
	unsigned int doubt_ms;
	enum dat_completion_flags ep_flags;	/* of both directions of new EPs */
};

/* Between the two a test may change how long the steps of a close may take. */
int kit_init(struct kunit *test);
void kit_exit(struct kunit *test);
/* Whatever the test has plugged, the next one finds an InfiniBand device. */
void kit_exit_replug(struct kunit *test);
/* For tests that close the IA themselves, or never had one. */
void kit_close(struct kit *kit);
/* Another device in the place of the one there is, with an IA and a PZ. */
void kit_replug(struct kunit *test, enum fake_proto proto);

static inline struct kit *to_kit(struct kunit *test)
{
	return test->priv;
}

/* Events that a recorder keeps; it counts all. */
#define KIT_RECORD	512

/**
 * struct kit_upcall - a recorder behind an upcall
 * @object: for dat_evd_kcreate() and dat_evd_modify_upcall()
 * @evd: for @action; set by the test
 * @action: what the upcall does, beside recording
 * @priv: for @action
 * @calls: upcalls that began
 * @done: upcalls that returned
 * @running: those inside right now
 * @overlap: the most that were inside at once
 * @nulls: upcalls without an event
 * @in_task: the last one ran in process context
 * @more: more_events of the last one
 * @hold: while set, upcalls stay inside (process context: asleep)
 * @count: events recorded
 * @events: the first of them
 */
struct kit_upcall {
	struct dat_upcall_object object;
	struct dat_evd *evd;
	void (*action)(struct kit_upcall *up, const struct dat_event *event,
		       bool more);
	void *priv;
	atomic_t calls;
	atomic_t done;
	atomic_t running;
	atomic_t overlap;
	atomic_t nulls;
	bool in_task;
	bool more;
	bool hold;
	spinlock_t lock;	/* @count and @events */
	unsigned int count;
	struct dat_event events[KIT_RECORD];
};

struct kit_upcall *kit_upcall(struct kunit *test);

/* EVDs */
struct dat_evd *kit_evd(struct kunit *test, int qlen, enum dat_evd_flags flags);
struct dat_evd *kit_evd_up(struct kunit *test, int qlen,
			   enum dat_evd_flags flags,
			   enum dat_upcall_policy policy,
			   struct kit_upcall *up);
enum dat_upcall_policy kit_policy(struct dat_evd *evd);
int kit_qlen(struct dat_evd *evd);
int kit_post_se(struct dat_evd *evd, unsigned long tag);
unsigned long kit_se_tag(const struct dat_event *event);
/* Dequeues what there is and forgets it; returns how much that was. */
unsigned int kit_drain(struct dat_evd *evd);
/* Runs of its upcalls, looked at under the lock of the EVD. */
unsigned int kit_runners(struct dat_evd *evd);
/* The next event, waited for; its number is 0 if none came. */
struct dat_event kit_next(struct dat_evd *evd);
#define KIT_EXPECT_EVENT(test, evd, number)				\
({									\
	struct dat_event kit_event = kit_next(evd);			\
									\
	KUNIT_EXPECT_EQ(test, (int)kit_event.event_number, (int)(number)); \
	kit_event;							\
})

/* EPs */
struct dat_ep *kit_ep(struct kunit *test, struct dat_evd *recv,
		      struct dat_evd *request, struct dat_evd *connect,
		      int depth);
enum dat_ep_state kit_state(struct dat_ep *ep);
int kit_post_recv(struct dat_ep *ep, unsigned long cookie);
int kit_post_send(struct dat_ep *ep, unsigned long cookie,
		  enum dat_completion_flags flags);
struct ib_qp *kit_qp(struct dat_ep *ep);
struct ib_cq *kit_cq(struct dat_evd *evd);

/* An unconnected EP with receives, to make completions with. */
struct kit_source {
	struct dat_evd *evd;
	struct dat_ep *ep;
	unsigned int posted;
	unsigned int completed;
};

void kit_source(struct kunit *test, struct kit_source *source,
		struct dat_evd *evd, int depth);
/* Posts @n receives, cookies counting from 0. */
void kit_source_post(struct kunit *test, struct kit_source *source,
		     unsigned int n);
/* One of them completes. Any context. */
void kit_source_complete(struct kit_source *source);

/* Two connected EPs. */
struct kit_pair {
	struct dat_evd *cr_evd;
	struct dat_evd *conn_evd;	/* of both */
	struct dat_psp *psp;
	struct dat_ep *client;
	struct dat_ep *server;
};

void kit_address(struct sockaddr_in *addr);
int kit_connect(struct dat_ep *ep, u16 port);
/* EVDs may be NULL: then each EP has hidden ones and depth 0. */
void kit_pair(struct kunit *test, struct kit_pair *pair,
	      struct dat_evd *recv, struct dat_evd *request, int depth);
/* Another connection through the same service point, of EPs that are given. */
void kit_pair_connect(struct kunit *test, struct kit_pair *pair,
		      struct dat_ep *client, struct dat_ep *server);
/* The same up to the accept: nobody has been told yet. */
void kit_pair_accept(struct kunit *test, struct kit_pair *pair,
		     struct dat_ep *client, struct dat_ep *server);
/* The end of @ep is the next event, once, and the last that is heard of it. */
void kit_expect_end(struct kunit *test, struct dat_evd *evd, struct dat_ep *ep,
		    enum dat_event_number number);
void kit_pair_listen(struct kunit *test, struct kit_pair *pair);

#endif /* _KIT_H */
