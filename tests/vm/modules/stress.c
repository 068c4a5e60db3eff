// SPDX-License-Identifier: GPL-2.0
/*
 * The run of a stress test: threads, the eye on them, and what came of it. See
 * stress.h.
 */
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "result.h"
#include "stress.h"
#include "tests.h"

enum {
	STRESS_SAY_MAX = 60,
	STRESS_JOIN_MS = 120000,
	STRESS_MANY_GAPS = 20,
};

static const char * const count_names[STRESS_COUNTS] = {
	[STRESS_OPEN] = "open",
	[STRESS_CLOSE_GRACEFUL] = "close-graceful",
	[STRESS_CLOSE_ABRUPT] = "close-abrupt",
	[STRESS_REMOVAL] = "removal",
	[STRESS_ORPHAN] = "orphan",
	[STRESS_LISTEN] = "listen",
	[STRESS_CONNECT] = "connect",
	[STRESS_REQUEST] = "request",
	[STRESS_ACCEPT] = "accept",
	[STRESS_REJECT] = "reject",
	[STRESS_ESTABLISHED] = "established",
	[STRESS_REFUSED] = "refused",
	[STRESS_DISCONNECTED] = "disconnected",
	[STRESS_BROKEN] = "broken",
	[STRESS_GRACEFUL] = "graceful",
	[STRESS_ABRUPT] = "abrupt",
	[STRESS_FREE] = "free",
	[STRESS_RESET] = "reset",
	[STRESS_SEND] = "send",
	[STRESS_RECEIVE] = "receive",
	[STRESS_READ] = "read",
	[STRESS_WRITE] = "write",
	[STRESS_ATOMIC] = "atomic",
	[STRESS_SUPPRESSED] = "suppressed",
	[STRESS_SRQ] = "srq",
	[STRESS_LMR] = "lmr",
	[STRESS_FMR] = "fmr",
	[STRESS_POOL] = "pool",
	[STRESS_RMR] = "rmr",
	[STRESS_VERIFIED] = "verified",
	[STRESS_FLUSHED] = "flushed",
	[STRESS_FAILED] = "failed",
	[STRESS_GAVE_UP] = "gave-up",
	[STRESS_NAP] = "nap",
	[STRESS_WAKEUP] = "wakeup",
};

static const char * const state_names[CONN_STATES] = {
	[CONN_NONE] = "none",
	[CONN_IDLE] = "idle",
	[CONN_CONNECTING] = "connecting",
	[CONN_ACCEPTING] = "accepting",
	[CONN_CONNECTED] = "connected",
	[CONN_CLOSING] = "closing",
	[CONN_ENDED] = "ended",
};

void stress_say(struct stress *s, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	mutex_lock(&s->say_lock);
	if (s->said++ < STRESS_SAY_MAX)
		vmtest_say(s->t, "%pV", &vaf);
	mutex_unlock(&s->say_lock);
	va_end(args);
}

void stress_bad(struct stress *s, atomic_t *what, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	atomic_inc(what);
	va_start(args, fmt);
	vaf.va = &args;
	stress_say(s, "%s: %pV", what == &s->lost ? "lost" :
		   what == &s->leaked ? "leaked" :
		   what == &s->stuck ? "stuck" : "wrong", &vaf);
	va_end(args);
}

bool stress_fault(struct stress *s, enum stress_fault fault)
{
	return s->fault == fault && !atomic_xchg(&s->faulted, 1);
}

static enum stress_fault parse_fault(const char *name)
{
	static const char * const names[] = {
		[STRESS_FAULT_NONE] = "none",
		[STRESS_FAULT_EVENT] = "event",
		[STRESS_FAULT_WAKEUP] = "wakeup",
		[STRESS_FAULT_LEAK] = "leak",
		[STRESS_FAULT_STUCK] = "stuck",
	};
	int i = match_string(names, ARRAY_SIZE(names), name);

	return i < 0 ? STRESS_FAULT_NONE : i;
}

/* Which of the threads has not come back from a call. */
static void watch(struct stress *s)
{
	struct stress_worker *w;
	unsigned long since;
	int i;

	for (i = 0; i < STRESS_THREADS; i++) {
		w = &s->workers[i];
		since = READ_ONCE(w->since);
		if (w->told || READ_ONCE(w->finished) ||
		    time_before(jiffies, since + msecs_to_jiffies(s->stuck_ms)))
			continue;
		w->told = true;
		stress_bad(s, &s->stuck, "thread %d for %u ms in: %s", i,
			   jiffies_to_msecs(jiffies - since),
			   READ_ONCE(w->doing));
	}
}

/* Whether this kind of thing can be asked for, of these devices, in this time. */
static bool due(const struct stress *s, enum stress_count what)
{
	switch (what) {
	case STRESS_ATOMIC:
		return s->atomics;
	case STRESS_REMOVAL:
	case STRESS_BROKEN:
	case STRESS_ORPHAN:
		return s->long_enough;
	default:
		return true;
	}
}

/* Each kind of thing must have happened, or the run has shown nothing. */
static int missing(struct stress *s, bool say)
{
	static const enum stress_count must[] = {
		STRESS_OPEN, STRESS_CLOSE_GRACEFUL, STRESS_CLOSE_ABRUPT,
		STRESS_REJECT, STRESS_ESTABLISHED, STRESS_DISCONNECTED,
		STRESS_GRACEFUL, STRESS_ABRUPT, STRESS_FREE, STRESS_RESET,
		STRESS_RECEIVE, STRESS_READ, STRESS_WRITE, STRESS_LMR,
		STRESS_FMR, STRESS_POOL, STRESS_RMR, STRESS_VERIFIED,
		STRESS_FLUSHED, STRESS_WAKEUP, STRESS_ATOMIC,
		STRESS_SUPPRESSED, STRESS_SRQ, STRESS_REMOVAL, STRESS_BROKEN,
		STRESS_ORPHAN,
	};
	int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(must); i++) {
		if (!due(s, must[i]) || atomic64_read(&s->count[must[i]]))
			continue;
		if (say)
			vmtest_say(s->t, "not once: %s",
				   count_names[must[i]]);
		n++;
	}
	return n;
}

/* Over siw a removal is not sure to meet what takes a moment only. */
static bool meets_moments(const struct stress *s)
{
	return strcmp(s->transport, "siw");
}

/* Removals have met everything that they are for. */
static bool met_all(struct stress *s)
{
	return s->caught[CONN_CONNECTING] + s->caught[CONN_ACCEPTING] &&
	       s->caught[CONN_CONNECTED] &&
	       (!meets_moments(s) ||
		(s->caught[CONN_CLOSING] && s->caught_registering)) &&
	       atomic64_read(&s->count[STRESS_ORPHAN]);
}

/* What a fault of our own must be counted as. */
static int fault_counted(struct stress *s)
{
	switch (s->fault) {
	case STRESS_FAULT_LEAK:
		return atomic_read(&s->leaked);
	case STRESS_FAULT_STUCK:
		return atomic_read(&s->stuck);
	default:
		return atomic_read(&s->lost);
	}
}

static bool over(struct stress *s, unsigned long end, unsigned long limit)
{
	/* Such a run is told to be impatient: what is late need not be stuck. */
	if (s->fault != STRESS_FAULT_NONE)
		return fault_counted(s) || time_after(jiffies, end);
	if (atomic_read(&s->stuck))
		return true;
	/* A slow machine gets the time that it needs. */
	if (time_after(jiffies, limit))
		return true;
	if (missing(s, false))
		return false;
	if (!s->removals)
		return time_after(jiffies, end);
	return atomic64_read(&s->count[STRESS_REMOVAL]) >= s->removals &&
	       met_all(s);
}

/* Whether all have ended; one that has not keeps us, and this module. */
static bool join(struct stress *s)
{
	unsigned long end = jiffies + msecs_to_jiffies(STRESS_JOIN_MS);
	bool all = true;
	int i;

	for (i = 0; i < STRESS_THREADS; i++) {
		struct stress_worker *w = &s->workers[i];

		while (!wait_for_completion_timeout(&w->done, HZ / 2) &&
		       time_before(jiffies, end))
			watch(s);
		if (READ_ONCE(w->finished))
			continue;
		all = false;
		__module_get(THIS_MODULE);
	}
	return all;
}

static void report(struct stress *s)
{
	struct vmtest *t = s->t;
	char line[512];
	size_t len = 0;
	int i;

	for (i = 0; i < STRESS_COUNTS; i++) {
		len += scnprintf(line + len, sizeof(line) - len, " %s %lld",
				 count_names[i], atomic64_read(&s->count[i]));
		if (i % 8 < 7 && i < STRESS_COUNTS - 1)
			continue;
		vmtest_say(t, "counts:%s", line);
		len = 0;
	}
	if (atomic64_read(&s->count[STRESS_REMOVAL])) {
		for (i = CONN_IDLE; i < CONN_STATES; i++)
			len += scnprintf(line + len, sizeof(line) - len,
					 " %s %llu", state_names[i],
					 s->caught[i]);
		vmtest_say(t, "caught by removals:%s registering %llu; the longest took %lld ms",
			   line, s->caught_registering, s->removal_max_ms);
	}
	vmtest_say(t, "lost %d leaked %d stuck %d wrong %d",
		   atomic_read(&s->lost), atomic_read(&s->leaked),
		   atomic_read(&s->stuck), atomic_read(&s->wrong));
}

static bool start(struct stress *s)
{
	struct stress_worker *w;
	int i;

	for (i = 0; i < STRESS_THREADS; i++) {
		w = &s->workers[i];
		w->s = s;
		w->id = i;
		prandom_seed_state(&w->rnd, ((u64)s->seed << 8) + i);
		init_completion(&w->done);
		init_waitqueue_head(&w->wait);
		INIT_LIST_HEAD(&w->orphans);
		stress_doing(w, "start");
		w->task = kthread_run(stress_worker_run, w, "stress%d", i);
		if (!IS_ERR(w->task))
			continue;
		w->finished = true;
		complete(&w->done);
		WRITE_ONCE(s->stop, true);
		vmtest_equal(s->t, PTR_ERR(w->task), 0, "a thread");
	}
	return !s->stop;
}

static bool parse(struct vmtest *t, struct stress *s)
{
	static const char * const keys[] = { "near", "far" };
	char fault[16], transport[8];
	int i, ret = 0;

	s->t = t;
	s->seed = vmtest_arg(t, "seed", 0);
	while (!s->seed)
		s->seed = get_random_u32() & 0xffffff;
	s->removals = vmtest_arg(t, "removals", 0);
	s->removal_gap = msecs_to_jiffies(vmtest_arg(t, "gap", 4000));
	s->stuck_ms = vmtest_arg(t, "stuck", 60000);
	s->owed_ms = vmtest_arg(t, "owed", 45000);
	vmtest_arg_text(t, "fault", "none", fault, sizeof(fault));
	s->fault = parse_fault(fault);
	vmtest_arg_text(t, "transport", "rxe", transport, sizeof(transport));
	s->transport = strcmp(transport, "siw") ? "rxe" : "siw";
	s->atomics = strcmp(transport, "siw");
	s->next_removal = jiffies + s->removal_gap;
	mutex_init(&s->say_lock);
	mutex_init(&s->remover);
	for (i = 0; i < 2 && !ret; i++) {
		vmtest_arg_text(t, keys[i], i ? "10.0.0.2" : "10.0.0.1",
				s->addr_text[i], sizeof(s->addr_text[i]));
		ret = inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC,
					   s->addr_text[i], "0", &s->addr[i]);
	}
	return vmtest_equal(t, ret, 0, "seed %u", s->seed);
}

static void check_counts(struct stress *s)
{
	struct vmtest *t = s->t;

	vmtest_equal(t, missing(s, true), 0, "everything has happened");
	if (!s->removals)
		return;
	vmtest_check(t, atomic64_read(&s->count[STRESS_REMOVAL]) >= s->removals,
		     "%u removals", s->removals);
	vmtest_check(t, s->caught[CONN_CONNECTING] + s->caught[CONN_ACCEPTING],
		     "removals have met connections in the making");
	vmtest_check(t, s->caught[CONN_CONNECTED], "and connections");
	if (meets_moments(s)) {
		vmtest_check(t, s->caught[CONN_CLOSING], "and their ends");
		vmtest_check(t, s->caught_registering, "and registrations");
	}
	vmtest_check(t, atomic64_read(&s->count[STRESS_ORPHAN]),
		     "and consumers that let everything lie");
}

/**
 * vmtest_stress() - everything at random
 * @t: the run: seconds=, more= (seconds, if not everything has happened yet),
 *	seed=, removals= (it ends behind so many, as soon as they have met all that
 *	they are for), gap= (ms between two), fault=, stuck= (ms that a call may
 *	take), owed= (and an event)
 */
void vmtest_stress(struct vmtest *t)
{
	unsigned long end, limit;
	struct stress *s;
	bool joined;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return;
	s->workers = kcalloc(STRESS_THREADS, sizeof(*s->workers), GFP_KERNEL);
	if (!s->workers || !parse(t, s))
		goto out_free;

	end = jiffies + vmtest_arg(t, "seconds", 10) * HZ;
	limit = end + vmtest_arg(t, "more", 0) * HZ;
	s->long_enough = time_after(limit, jiffies + STRESS_MANY_GAPS *
						   s->removal_gap);
	if (start(s))
		while (!over(s, end, limit)) {
			msleep(50);
			watch(s);
		}
	WRITE_ONCE(s->stop, true);
	joined = join(s);
	report(s);
	if (s->fault == STRESS_FAULT_NONE)
		check_counts(s);
	vmtest_equal(t, atomic_read(&s->lost), 0, "nothing is lost");
	vmtest_equal(t, atomic_read(&s->leaked), 0, "nothing is left");
	vmtest_equal(t, atomic_read(&s->stuck), 0, "nothing hangs");
	vmtest_equal(t, atomic_read(&s->wrong), 0, "nothing is wrong");
	/* A thread that never came back still uses them. */
	if (!joined)
		return;
out_free:
	kfree(s->workers);
	kfree(s);
}
