// SPDX-License-Identifier: GPL-2.0
/*
 * Many connections that end together. In steps, so that the script can look at
 * debugfs between them:
 *
 *	mass_open pairs=N	so many connections, of two EPs each; srq=1: the far
 *				ones receive from one SRQ
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
#include <linux/slab.h>

#include "mass.h"
#include "result.h"
#include "tests.h"

struct mass *mass;

static bool right_end(const struct mass_side *s, enum dat_event_number number)
{
	if (s->removed)
		return number == DAT_CONNECTION_EVENT_BROKEN;
	return number == DAT_CONNECTION_EVENT_DISCONNECTED || s->side.iwarp;
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
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		s->other += !right_end(s, event->event_number);
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

bool mass_take_events(struct mass *m, struct mass_side *s)
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

int mass_take_until(struct mass *m, u32 *near, u32 *far, u32 want, u32 ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	bool last;

	for (;;) {
		last = time_after(jiffies, end);
		if (mass_take_events(m, &m->near) | mass_take_events(m, &m->far))
			end = jiffies + msecs_to_jiffies(ms);
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

	ret = side_ep(&s->side, MASS_RECVS, MASS_SENDS, &me->ep);
	if (!ret)
		ret = dat_set_consumer_context(me->ep, (union dat_context){
					       .as_64 = i });
	for (n = 0; !ret && n < MASS_RECVS; n++)
		ret = side_post_recv(&s->side, me->ep, n);
	return ret;
}

u32 mass_srq_depth(const struct mass *m)
{
	return m->pairs * MASS_RECVS;
}

static int make_srq(struct mass *m)
{
	const struct dat_srq_attr attr = {
		.max_recv_dtos = mass_srq_depth(m),
		.max_recv_iov = 1,
	};
	struct side *far = &m->far.side;
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)far->buf,
		.segment_length = SIDE_BUF,
		.lmr_context = far->lkey,
	};
	int ret, i;

	ret = dat_srq_create(far->ia, far->pz, &attr, &m->srq);
	for (i = 0; !ret && i < attr.max_recv_dtos; i++)
		ret = dat_srq_post_recv(m->srq, 1, &iov,
					(union dat_context){ .as_64 = i });
	return ret;
}

static int make_srq_ep(struct mass *m, u32 i)
{
	const struct dat_ep_attr attr = {
		.max_message_size = SIDE_BUF,
		.max_rdma_size = SIDE_BUF,
		.max_recv_dtos = DAT_WATERMARK_INFINITE,
		.max_request_dtos = MASS_SENDS,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	struct mass_ep *me = &m->far.eps[i];
	struct side *far = &m->far.side;
	int ret;

	ret = dat_ep_create_with_srq(far->ia, far->pz, far->recv, far->request,
				     far->conn, m->srq, &attr, &me->ep);
	return ret ?: dat_set_consumer_context(me->ep, (union dat_context){
					       .as_64 = i });
}

static int connect_all(struct mass *m, u32 ms)
{
	u32 i = 0, upto;
	int ret = 0;

	while (!ret && i < m->pairs) {
		upto = min(m->pairs, i + MASS_WINDOW);
		for (; !ret && i < upto; i++)
			ret = side_connect(&m->near.side, m->near.eps[i].ep,
					   &m->far.side, MASS_PORT, ms, NULL, 0);
		if (!ret)
			ret = mass_take_until(m, &m->near.established,
					      &m->far.established, upto, ms);
	}
	return ret;
}

static void mass_free(void)
{
	if (!mass)
		return;
	threads_stop(&mass->threads);
	side_close(&mass->near.side);
	side_close(&mass->far.side);
	kvfree(mass->near.eps);
	kvfree(mass->far.eps);
	kfree(mass);
	mass = NULL;
}

void mass_say_time(struct vmtest *t, const char *what, ktime_t start,
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
	if (!sides_open(t, &m->near.side, &m->far.side, pairs * MASS_EVENTS + MASS_WINDOW,
			true)) {
		kfree(m);
		return;
	}
	mass = m;
	ret = threads_start(&m->threads);
	m->near.eps = kvcalloc(pairs, sizeof(*m->near.eps), GFP_KERNEL);
	m->far.eps = kvcalloc(pairs, sizeof(*m->far.eps), GFP_KERNEL);
	if (!ret && (!m->near.eps || !m->far.eps))
		ret = -ENOMEM;
	if (!ret && vmtest_arg(t, "srq", 0))
		ret = make_srq(m);
	if (!ret)
		ret = dat_psp_create(m->far.side.ia, MASS_PORT, m->far.side.conn,
				     DAT_PSP_CONSUMER_FLAG, &psp);
	start = ktime_get();
	for (i = 0; !ret && i < pairs; i++) {
		ret = make_ep(&m->near, i);
		if (!ret)
			ret = m->srq ? make_srq_ep(m, i) : make_ep(&m->far, i);
	}
	if (!vmtest_equal(t, ret, 0, "%u endpoints", 2 * pairs))
		return;
	mass_say_time(t, "create", start, 2 * pairs);
	start = ktime_get();
	ret = connect_all(m, SIDE_TIMEOUT_MS);
	vmtest_equal(t, ret, 0, "connected (%u near, %u far)",
		     m->near.established, m->far.established);
	mass_say_time(t, "connect", start, 2 * pairs);
	vmtest_say(t, "threads: %u before, %u at most", m->threads.before,
		   m->threads.most);
	/* From here on those that it takes to end them: a script does, too. */
	threads_reset(&m->threads);
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
