// SPDX-License-Identifier: GPL-2.0
/*
 * Two connections whose passive ends receive from one SRQ: buffers, events, the
 * low watermark, and the end of one of the two.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20180,
	DEPTH = 8,
	ENDS = 2,
};

struct srq_test {
	struct side near;
	struct side far;
	struct dat_psp *psp;
	struct dat_srq *srq;
	struct dat_ep *near_ep[ENDS];
	struct dat_ep *far_ep[ENDS];
	int got[ENDS];
	unsigned long seen;	/* cookies */
};

static int post(struct srq_test *s, u64 cookie)
{
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)s->far.buf,
		.segment_length = 64,
		.lmr_context = s->far.lkey,
	};

	return dat_srq_post_recv(s->srq, 1, &iov,
				 (union dat_context){ .as_64 = cookie });
}

static int set_up(struct srq_test *s)
{
	struct dat_srq_attr attr = { .max_recv_dtos = DEPTH, .max_recv_iov = 1 };
	struct dat_ep_attr ep_attr = {
		.max_message_size = SIDE_BUF,
		.max_rdma_size = SIDE_BUF,
		.max_recv_dtos = DAT_WATERMARK_INFINITE,
		.max_request_dtos = 4,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	int ret, i;

	ret = dat_psp_create(s->far.ia, PORT, s->far.conn,
			     DAT_PSP_CONSUMER_FLAG, &s->psp);
	if (!ret)
		ret = dat_srq_create(s->far.ia, s->far.pz, &attr, &s->srq);
	for (i = 0; i < DEPTH && !ret; i++)
		ret = post(s, i);
	for (i = 0; i < ENDS && !ret; i++) {
		ret = side_ep(&s->near, 1, DEPTH, &s->near_ep[i]);
		if (!ret)
			ret = dat_ep_create_with_srq(s->far.ia, s->far.pz,
						     s->far.recv,
						     s->far.request,
						     s->far.conn, s->srq,
						     &ep_attr, &s->far_ep[i]);
		if (!ret)
			ret = side_pair(&s->near, s->near_ep[i], &s->far,
					s->far_ep[i], PORT);
	}
	return ret;
}

/* @n messages over connection @i: 0 if each is for it, in a buffer of its own. */
static int receive(struct srq_test *s, int i, int n)
{
	struct dat_dto_completion_event_data *dto;
	struct dat_event event;
	int ret;

	while (n--) {
		ret = side_post_send(&s->near, s->near_ep[i], 1);
		if (!ret)
			ret = side_expect(s->far.recv, DAT_DTO_COMPLETION_EVENT,
					  &event);
		if (ret)
			return ret;
		dto = &event.event_data.dto_completion_event_data;
		if (dto->status != DAT_DTO_SUCCESS ||
		    dto->ep_handle != s->far_ep[i] ||
		    dto->transfered_length != 64 ||
		    test_and_set_bit(dto->user_cookie.as_64, &s->seen))
			return -EPROTO;
		s->got[i]++;
	}
	return 0;
}

static void expect_level(struct vmtest *t, struct srq_test *s, int level,
			 const char *when)
{
	struct dat_srq_param param = {};

	dat_srq_query(s->srq, DAT_SRQ_FIELD_ALL, &param);
	vmtest_equal(t, param.available_dto_count, level, "%s: available", when);
	vmtest_equal(t, param.outstanding_dto_count, level, "%s: outstanding",
		     when);
}

static void expect_low(struct vmtest *t, struct srq_test *s, const char *when)
{
	struct dat_asynch_error_event_data *data;
	struct dat_event event;
	int ret;

	ret = side_expect(s->far.async_evd, DAT_ASYNC_ERROR_EP_BROKEN, &event);
	data = &event.event_data.asynch_error_event_data;
	vmtest_equal(t, ret ?: data->reason, DAT_SRQ_LOW_WATERMARK_EVENT,
		     "%s: the low watermark is told", when);
	vmtest_check(t, !ret && data->dat_handle == s->srq,
		     "%s: of this SRQ", when);
	vmtest_equal(t, side_wait(s->far.async_evd, &event, 200), -ETIMEDOUT,
		     "%s: once", when);
}

static void run(struct vmtest *t, struct srq_test *s)
{
	struct dat_event event;
	int ret;

	vmtest_equal(t, receive(s, 0, 3), 0, "three messages for the first");
	vmtest_equal(t, receive(s, 1, 2), 0, "two for the second");
	expect_level(t, s, DEPTH - 5, "after five");

	vmtest_equal(t, dat_srq_set_lw(s->srq, 3), 0, "armed at the level");
	vmtest_equal(t, side_wait(s->far.async_evd, &event, 200), -ETIMEDOUT,
		     "which is not below it");
	vmtest_equal(t, receive(s, 0, 1), 0, "one message more");
	expect_low(t, s, "by a message");
	vmtest_equal(t, dat_srq_set_lw(s->srq, 4), 0, "armed above the level");
	expect_low(t, s, "by arming");

	ret = dat_srq_resize(s->srq, 2 * DEPTH);
	if (s->far.iwarp)
		vmtest_equal(t, ret, -EOPNOTSUPP, "siw cannot resize");
	else
		vmtest_equal(t, ret, 0, "resized with buffers posted");

	/* The end of one is not that of the other, nor of the buffers. */
	vmtest_equal(t, dat_ep_disconnect(s->near_ep[0],
					  DAT_CLOSE_GRACEFUL_FLAG), 0,
		     "the first is closed");
	ret = side_expect(s->far.conn, DAT_CONNECTION_EVENT_DISCONNECTED,
			  &event);
	vmtest_equal(t, ret, 0, "which its passive end hears of");
	expect_level(t, s, DEPTH - 6, "after its end");
	vmtest_equal(t, receive(s, 1, 2), 0, "the second has the rest");
	vmtest_equal(t, dat_srq_free(s->srq), -EBUSY, "the SRQ is in use");
	vmtest_equal(t, dat_ep_free(s->far_ep[0]), 0, "the first is freed");
	vmtest_equal(t, dat_ep_free(s->far_ep[1]), 0, "and the second");
	vmtest_equal(t, dat_srq_free(s->srq), 0, "and the SRQ");
}

void vmtest_srq(struct vmtest *t)
{
	static struct srq_test test;
	struct srq_test *s = &test;
	int ret;

	memset(s, 0, sizeof(*s));
	if (!sides_open(t, &s->near, &s->far, 64, false))
		return;
	ret = set_up(s);
	vmtest_equal(t, ret, 0, "two connections with one SRQ");
	if (!ret)
		run(t, s);
	side_close(&s->near);
	side_close(&s->far);
}
