// SPDX-License-Identifier: GPL-2.0
/*
 * The end of many connections, in each of the ways that there are. See mass.c.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "mass.h"
#include "result.h"
#include "tests.h"

/* Each buffer is in the SRQ, or its event was here. */
static void check_srq(struct vmtest *t, struct mass *m)
{
	struct dat_srq_param param = {};
	u32 left = mass_srq_depth(m), i;

	for (i = 0; i < m->pairs; i++)
		left -= m->far.eps[i].reported;
	dat_srq_query(m->srq, DAT_SRQ_FIELD_ALL, &param);
	vmtest_equal(t, param.outstanding_dto_count, left,
		     "the SRQ has every buffer that was not reported");
	vmtest_equal(t, param.available_dto_count, left, "for whoever comes");
	vmtest_equal(t, dat_srq_free(m->srq), 0, "the SRQ is freed");
	m->srq = NULL;
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
		m->far.removed = true;
	else if (!strcmp(kind, "peer"))
		*ret = end_eps(&m->far, m->pairs, DAT_CLOSE_GRACEFUL_FLAG);
	else if (!strcmp(kind, "abrupt"))
		*ret = end_eps(&m->near, m->pairs, DAT_CLOSE_ABRUPT_FLAG);
	else if (!strcmp(kind, "graceful"))
		*ret = end_eps(&m->near, m->pairs, DAT_CLOSE_GRACEFUL_FLAG);
	else
		*ret = -EINVAL;
	return false;
}

/* @requests: so many of each are reported; @least: or only so many */
static void check_side(struct vmtest *t, struct mass *m, struct mass_side *s,
		       const char *what, u32 requests, u32 least)
{
	u32 ends = 0, full = 0, i;

	for (i = 0; i < m->pairs; i++) {
		ends += s->eps[i].ends == 1;
		full += s->eps[i].reported <= requests &&
			s->eps[i].reported >= least;
	}
	vmtest_equal(t, ends, m->pairs, "%s: one end each", what);
	vmtest_equal(t, full, m->pairs, "%s: every request is reported", what);
	vmtest_equal(t, s->late, 0, "%s: nothing behind the end", what);
	vmtest_equal(t, s->other, 0, "%s: nothing else", what);
}

static void check_removed(struct vmtest *t, struct mass *m)
{
	struct dat_event event;
	int ret;

	ret = side_expect(m->far.side.async_evd,
			  DAT_ASYNC_ERROR_IA_CATASTROPHIC, &event);
	vmtest_equal(t, ret, 0, "far: and the IA");
	ret = side_wait(m->far.side.async_evd, &event, 0);
	vmtest_equal(t, ret, -ETIMEDOUT, "far: which is the last");
}

static void check_threads(struct vmtest *t, struct mass *m)
{
	struct threads *threads = &m->threads;
	u32 more;

	threads_stop(threads);
	more = threads->most - min(threads->most, threads->before);
	vmtest_say(t, "threads: %u before, %u at most", threads->before,
		   threads->most);
	vmtest_check(t, more <= vmtest_arg(t, "threads", 32),
		     "no thread for each endpoint");
}

void vmtest_mass_end(struct vmtest *t)
{
	u32 limit = vmtest_arg(t, "limit", 20000), sends, freed = 0, i;
	u32 received = MASS_RECVS, least = MASS_RECVS;
	struct mass *m = mass;
	bool far_gone;
	ktime_t start;
	char kind[16];
	int ret = 0;

	if (!vmtest_check(t, m && m->near.established == m->pairs &&
			  m->far.established == m->pairs, "all are connected"))
		return;
	vmtest_arg_text(t, "kind", "graceful", kind, sizeof(kind));

	/* Removed ones are under way to their end already. */
	sends = strcmp(kind, "removed") ? vmtest_arg(t, "sends", MASS_SENDS) : 0;
	for (i = 0; !ret && i < m->pairs && sends; i++)
		ret = side_post_send(&m->near.side, m->near.eps[i].ep, 0);
	vmtest_equal(t, ret, 0, "%s: a send each", kind);

	start = ktime_get();
	far_gone = end_all(m, kind, &ret);
	vmtest_equal(t, ret, 0, "%s: all end", kind);
	if (far_gone)
		mass_say_time(t, "call", start, m->pairs);
	ret = mass_take_until(m, &m->near.done, far_gone ? NULL : &m->far.done,
			      m->pairs, limit);
	vmtest_equal(t, ret, 0, "%s: all ends come", kind);
	mass_say_time(t, "end", start, 2 * m->pairs);

	/* What would come later. */
	msleep(300);
	mass_take_events(m, &m->near);
	mass_take_events(m, &m->far);
	/* An SRQ keeps what no message has used; over iWARP one may be lost. */
	if (m->srq) {
		received = sends;
		least = m->far.side.iwarp ? 0 : sends;
	}
	check_side(t, m, &m->near, "near", MASS_RECVS + sends,
		   MASS_RECVS + sends);
	if (!far_gone)
		check_side(t, m, &m->far, "far", received, least);
	if (m->far.removed)
		check_removed(t, m);
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
	mass_say_time(t, "free", start, freed);
	if (m->srq)
		check_srq(t, m);
	check_threads(t, m);
}
