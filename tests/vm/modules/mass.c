// SPDX-License-Identifier: GPL-2.0
/*
 * Many connections that end together. In steps, so that the script can look at
 * debugfs between them:
 *
 *	mass_open pairs=N	so many connections, of two EPs each
 *	mass_end kind=KIND	ends them all, and frees their EPs; sends=0: with
 *				nothing under way
 *	mass_close		closes the IAs
 *
 * Each EP has receives posted and each near one a send under way. One EVD a side
 * takes all streams, so that the order of events can be checked.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20230,
	RECVS = 2,		/* receives of each EP */
	SENDS = 1,		/* sends of each near EP, and room in the far */
	EVENTS = RECVS + SENDS + 2,
	WINDOW = 32,		/* connections that are made at a time */
};

/**
 * struct mass_ep - one endpoint
 * @ep: NULL once it is freed
 * @reported: events of its requests
 * @ends: DISCONNECTED events; on iWARP BROKEN ones, too: it closes both halves at
 *	once, and a send that is under way may fail with the connection
 */
struct mass_ep {
	struct dat_ep *ep;
	u32 reported;
	u32 ends;
};

/**
 * struct mass_side - one side
 * @side: its IA; the EVD of connections has all streams
 * @eps: one a pair
 * @established: so many EPs are connected
 * @done: so many had their end
 * @success: requests that succeeded
 * @late: events behind the end of an EP
 * @other: events that nobody expects
 */
struct mass_side {
	struct side side;
	struct mass_ep *eps;
	u32 established;
	u32 done;
	u32 success;
	u32 late;
	u32 other;
};

struct mass {
	struct mass_side near;
	struct mass_side far;
	u32 pairs;
	u32 accepted;
	u32 threads;		/* before the first EP */
	u32 threads_most;
};

/* Between mass_open and mass_close; under the lock of vmtest. */
static struct mass *mass;

static u32 count_threads(void)
{
	struct task_struct *process, *thread;
	u32 n = 0;

	rcu_read_lock();
	for_each_process_thread(process, thread)
		n++;
	rcu_read_unlock();
	return n;
}

static void look_at_threads(struct mass *m)
{
	m->threads_most = max(m->threads_most, count_threads());
}

static void take_event(struct mass *m, struct mass_side *s,
		       const struct dat_event *event)
{
	const struct dat_dto_completion_event_data *dto =
		&event->event_data.dto_completion_event_data;
	union dat_context tag;
	struct mass_ep *me;
	struct dat_cr *cr;

	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		cr = event->event_data.cr_arrival_event_data.cr_handle;
		if (m->accepted < m->pairs &&
		    !dat_cr_accept(cr, s->eps[m->accepted].ep, 0, NULL))
			m->accepted++;
		else
			s->other++;
		return;
	}

	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		dat_get_consumer_context(dto->ep_handle, &tag);
	else
		dat_get_consumer_context(event->event_data.connect_event_data
					 .ep_handle, &tag);
	me = &s->eps[tag.as_64];
	s->late += me->ends > 0;
	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		s->established++;
		break;
	case DAT_CONNECTION_EVENT_BROKEN:
		s->other += !s->side.iwarp;
		fallthrough;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		me->ends++;
		s->done++;
		break;
	case DAT_DTO_COMPLETION_EVENT:
		me->reported++;
		s->success += dto->status == DAT_DTO_SUCCESS;
		s->other += dto->status != DAT_DTO_SUCCESS &&
			    dto->status != DAT_DTO_ERR_FLUSHED &&
			    !s->side.iwarp;
		break;
	default:
		s->other++;
		break;
	}
}

/* All events that are there; true if there were any. */
static bool take_events(struct mass *m, struct mass_side *s)
{
	struct dat_event event;
	bool any = false;

	if (!s->side.ia)
		return false;
	while (!dat_evd_dequeue(s->side.conn, &event)) {
		take_event(m, s, &event);
		any = true;
	}
	return any;
}

/* Takes events until *count is @want on both sides, or only near ones. */
static int take_until(struct mass *m, u32 *near, u32 *far, u32 want, u32 ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	bool last;

	for (;;) {
		last = time_after(jiffies, end);
		if (take_events(m, &m->near) | take_events(m, &m->far))
			end = jiffies + msecs_to_jiffies(ms);
		look_at_threads(m);
		if (*near >= want && (!far || *far >= want))
			return 0;
		if (last)
			return -ETIMEDOUT;
		usleep_range(500, 1000);
	}
}

static int make_ep(struct mass_side *s, u32 i)
{
	struct mass_ep *me = &s->eps[i];
	int ret, n;

	ret = side_ep(&s->side, RECVS, SENDS, &me->ep);
	if (!ret)
		ret = dat_set_consumer_context(me->ep, (union dat_context){
					       .as_64 = i });
	for (n = 0; !ret && n < RECVS; n++)
		ret = side_post_recv(&s->side, me->ep, n);
	return ret;
}

static int connect_all(struct mass *m, u32 ms)
{
	u32 i = 0, upto;
	int ret = 0;

	while (!ret && i < m->pairs) {
		upto = min(m->pairs, i + WINDOW);
		for (; !ret && i < upto; i++)
			ret = side_connect(&m->near.side, m->near.eps[i].ep,
					   &m->far.side, PORT, ms, NULL, 0);
		if (!ret)
			ret = take_until(m, &m->near.established,
					 &m->far.established, upto, ms);
	}
	return ret;
}

static void mass_free(void)
{
	if (!mass)
		return;
	side_close(&mass->near.side);
	side_close(&mass->far.side);
	kvfree(mass->near.eps);
	kvfree(mass->far.eps);
	kfree(mass);
	mass = NULL;
}

/* Of both EPs of a pair together. */
static void say_time(struct vmtest *t, const char *what, ktime_t start,
		     u32 endpoints)
{
	s64 us = ktime_us_delta(ktime_get(), start);

	vmtest_say(t, "%s: %lld ms, per endpoint us %lld", what,
		   div_s64(us, USEC_PER_MSEC), div_s64(us, endpoints));
}

void vmtest_mass_open(struct vmtest *t)
{
	u32 pairs = vmtest_arg(t, "pairs", 500), i;
	struct dat_psp *psp;
	struct mass *m;
	ktime_t start;
	int ret;

	mass_free();
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return;
	m->pairs = pairs;
	if (!sides_open(t, &m->near.side, &m->far.side, pairs * EVENTS + WINDOW,
			true)) {
		kfree(m);
		return;
	}
	mass = m;
	m->threads = count_threads();
	m->near.eps = kvcalloc(pairs, sizeof(*m->near.eps), GFP_KERNEL);
	m->far.eps = kvcalloc(pairs, sizeof(*m->far.eps), GFP_KERNEL);
	ret = m->near.eps && m->far.eps ? 0 : -ENOMEM;
	if (!ret)
		ret = dat_psp_create(m->far.side.ia, PORT, m->far.side.conn,
				     DAT_PSP_CONSUMER_FLAG, &psp);
	start = ktime_get();
	for (i = 0; !ret && i < pairs; i++) {
		ret = make_ep(&m->near, i);
		if (!ret)
			ret = make_ep(&m->far, i);
	}
	if (!vmtest_equal(t, ret, 0, "%u endpoints", 2 * pairs))
		return;
	say_time(t, "create", start, 2 * pairs);
	start = ktime_get();
	ret = connect_all(m, SIDE_TIMEOUT_MS);
	vmtest_equal(t, ret, 0, "connected (%u near, %u far)",
		     m->near.established, m->far.established);
	say_time(t, "connect", start, 2 * pairs);
	vmtest_say(t, "threads: %u before, %u connected, %u at most",
		   m->threads, count_threads(), m->threads_most);
}

static int end_eps(struct mass_side *s, u32 pairs, enum dat_close_flags flags)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < pairs; i++)
		ret = dat_ep_disconnect(s->eps[i].ep, flags);
	return ret;
}

static int free_eps(struct mass *m, struct mass_side *s, u32 *freed)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < m->pairs; i++) {
		if (!s->eps[i].ep)
			continue;
		ret = dat_ep_free(s->eps[i].ep);
		s->eps[i].ep = NULL;
		(*freed)++;
		if (i % WINDOW == 0)
			look_at_threads(m);
	}
	return ret;
}

/* Ends all as @kind says; true if the far side has no ends of its own. */
static bool end_all(struct mass *m, const char *kind, int *ret)
{
	u32 freed = 0;

	*ret = 0;
	if (!strcmp(kind, "freed")) {
		*ret = free_eps(m, &m->far, &freed);
		return true;
	}
	if (!strcmp(kind, "closed")) {
		*ret = dat_ia_close(m->far.side.ia, DAT_CLOSE_ABRUPT_FLAG);
		m->far.side.ia = NULL;
		return true;
	}
	/* The script has done it. */
	if (!strcmp(kind, "removed"))
		return true;

	if (!strcmp(kind, "peer"))
		*ret = end_eps(&m->far, m->pairs, DAT_CLOSE_GRACEFUL_FLAG);
	else if (!strcmp(kind, "abrupt"))
		*ret = end_eps(&m->near, m->pairs, DAT_CLOSE_ABRUPT_FLAG);
	else if (!strcmp(kind, "graceful"))
		*ret = end_eps(&m->near, m->pairs, DAT_CLOSE_GRACEFUL_FLAG);
	else
		*ret = -EINVAL;
	return false;
}

static void check_side(struct vmtest *t, struct mass *m, struct mass_side *s,
		       const char *what, u32 requests)
{
	u32 ends = 0, full = 0, i;

	for (i = 0; i < m->pairs; i++) {
		ends += s->eps[i].ends == 1;
		full += s->eps[i].reported == requests;
	}
	vmtest_equal(t, ends, m->pairs, "%s: one end each", what);
	vmtest_equal(t, full, m->pairs, "%s: every request is reported", what);
	vmtest_equal(t, s->late, 0, "%s: nothing behind the end", what);
	vmtest_equal(t, s->other, 0, "%s: nothing else", what);
}

void vmtest_mass_end(struct vmtest *t)
{
	u32 limit = vmtest_arg(t, "limit", 20000), sends, more, freed = 0, i;
	struct mass *m = mass;
	bool far_gone;
	ktime_t start;
	char kind[16];
	int ret = 0;

	if (!vmtest_check(t, m && m->near.established == m->pairs &&
			  m->far.established == m->pairs, "all are connected"))
		return;
	vmtest_arg_text(t, "kind", "graceful", kind, sizeof(kind));
	m->threads_most = 0;

	/* Removed ones are under way to their end already. */
	sends = strcmp(kind, "removed") ? vmtest_arg(t, "sends", SENDS) : 0;
	for (i = 0; !ret && i < m->pairs && sends; i++)
		ret = side_post_send(&m->near.side, m->near.eps[i].ep, 0);
	vmtest_equal(t, ret, 0, "%s: a send each", kind);

	start = ktime_get();
	far_gone = end_all(m, kind, &ret);
	vmtest_equal(t, ret, 0, "%s: all end", kind);
	if (far_gone)
		say_time(t, "call", start, m->pairs);
	ret = take_until(m, &m->near.done, far_gone ? NULL : &m->far.done,
			 m->pairs, limit);
	vmtest_equal(t, ret, 0, "%s: all ends come", kind);
	say_time(t, "end", start, 2 * m->pairs);

	/* What would come later. */
	msleep(300);
	take_events(m, &m->near);
	take_events(m, &m->far);
	check_side(t, m, &m->near, "near", RECVS + sends);
	if (!far_gone)
		check_side(t, m, &m->far, "far", RECVS);
	/* Nothing that was posted before a graceful close is lost. */
	if (!strcmp(kind, "graceful") && sends && !m->near.side.iwarp) {
		vmtest_equal(t, m->near.success, m->pairs, "near: all sent");
		vmtest_equal(t, m->far.success, m->pairs, "far: all received");
	}

	start = ktime_get();
	ret = free_eps(m, &m->near, &freed);
	/* Those of a closed IA went with it. */
	if (!ret && m->far.side.ia)
		ret = free_eps(m, &m->far, &freed);
	vmtest_equal(t, ret, 0, "all freed");
	say_time(t, "free", start, freed);

	more = m->threads_most - min(m->threads_most, m->threads);
	vmtest_say(t, "threads: %u before, %u at most", m->threads,
		   m->threads_most);
	vmtest_check(t, more <= vmtest_arg(t, "threads", 32),
		     "no thread for each endpoint");
}

void vmtest_mass_close(struct vmtest *t)
{
	vmtest_check(t, mass, "something to close");
	mass_free();
}

/* For the end of the module: a script may have left early. */
void vmtest_mass_exit(void)
{
	mass_free();
}
