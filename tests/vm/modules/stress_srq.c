// SPDX-License-Identifier: GPL-2.0
/*
 * The SRQ of an IA of a stress test. Some of its EPs receive from it. A buffer is
 * kdapl's from its post until its event was dequeued, and kdapl must know exactly
 * as many as we do, but for those whose events went along with an EP.
 */
#include <linux/bitmap.h>

#include "stress.h"

static u8 *srq_buf(struct stress_end *end, int slot)
{
	return end->buf + STRESS_CONNS * STRESS_CONN_BUF + slot * STRESS_MSG;
}

static u64 srq_cookie(struct stress_end *end, int slot)
{
	return (u64)end->serial << 32 | KIND_SRQ << 8 | slot;
}

static void srq_post(struct stress_end *end, int slot)
{
	struct stress *s = end->w->s;
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)srq_buf(end, slot),
		.segment_length = STRESS_MSG,
		.lmr_context = end->lkey,
	};
	int ret;

	ret = dat_srq_post_recv(end->srq, 1, &iov, (union dat_context){
				.as_64 = srq_cookie(end, slot) });
	if (!ret)
		__set_bit(slot, end->srq_posted);
	else if (ret != -ENODEV)
		stress_bad(s, &s->wrong, "dat_srq_post_recv: %d", ret);
}

int stress_srq_open(struct stress_end *end)
{
	const struct dat_srq_attr attr = {
		.max_recv_dtos = STRESS_SRQ_DEPTH,
		.max_recv_iov = 1,
	};
	int i, ret;

	ret = dat_srq_create(end->ia, end->pz, &attr, &end->srq);
	for (i = 0; i < STRESS_SRQ_DEPTH && !ret; i++)
		srq_post(end, i);
	return ret;
}

/* Buffers that kdapl has, by its own count. */
int stress_srq_outstanding(struct stress_end *end)
{
	struct dat_srq_param param = {};

	if (end->srq)
		dat_srq_query(end->srq, DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT,
			      &param);
	return param.outstanding_dto_count;
}

void stress_srq_check(struct stress_end *end)
{
	int want = bitmap_weight(end->srq_posted, STRESS_SRQ_DEPTH) -
		   end->srq_taken;
	struct stress *s = end->w->s;
	int got = stress_srq_outstanding(end);

	if (got != want)
		stress_bad(s, &s->lost,
			   "buffers of an SRQ: it has %d, and should have %d",
			   got, want);
}

/* With every EP gone: no buffer is anywhere but in the SRQ. */
static void srq_check_home(struct stress_end *end)
{
	struct dat_srq_param param = {};
	struct stress *s = end->w->s;

	dat_srq_query(end->srq, DAT_SRQ_FIELD_ALL, &param);
	if (param.available_dto_count != param.outstanding_dto_count)
		stress_bad(s, &s->lost,
			   "buffers of an SRQ without EPs: %d available, %d outstanding",
			   param.available_dto_count,
			   param.outstanding_dto_count);
	stress_srq_check(end);
}

void stress_srq_close(struct stress_end *end)
{
	struct stress *s = end->w->s;
	int ret;

	if (!end->srq)
		return;
	srq_check_home(end);
	stress_doing(end->w, "dat_srq_free");
	ret = dat_srq_free(end->srq);
	if (ret)
		stress_bad(s, &s->leaked, "dat_srq_free: %d", ret);
	end->srq = NULL;
}

/* A look at the count, and a call for one event when buffers run short. */
void stress_srq_act(struct stress_end *end)
{
	int low = stress_random(end->w, STRESS_SRQ_DEPTH);
	struct stress *s = end->w->s;
	int ret;

	if (!end->srq)
		return;
	stress_srq_check(end);
	stress_doing(end->w, "dat_srq_set_lw");
	ret = dat_srq_set_lw(end->srq, low);
	if (!ret)
		end->srq_armed += low > 0;
	else if (ret != -ENODEV)
		stress_bad(s, &s->wrong, "dat_srq_set_lw: %d", ret);
}

/* No more often than it was asked for. */
void stress_srq_low(struct stress_end *end, const struct dat_event *event)
{
	const struct dat_asynch_error_event_data *data =
		&event->event_data.asynch_error_event_data;
	struct stress *s = end->w->s;

	if (!end->srq || data->dat_handle != end->srq)
		return;
	if (!end->srq_armed)
		stress_bad(s, &s->wrong, "an event of an SRQ that was not asked for");
	else
		end->srq_armed--;
}

/**
 * stress_srq_dto() - a message has taken a buffer of the SRQ
 * @end: whose EVD it came from
 * @event: a DTO's, with a cookie of KIND_SRQ
 */
void stress_srq_dto(struct stress_end *end, const struct dat_event *event)
{
	const struct dat_dto_completion_event_data *dto =
		&event->event_data.dto_completion_event_data;
	u64 cookie = dto->user_cookie.as_64;
	struct stress_conn *conn = NULL;
	struct stress *s = end->w->s;
	int slot = cookie & 0xff, i;

	for (i = 0; i < STRESS_CONNS; i++)
		if (end->conn[i].ep && end->conn[i].srq &&
		    end->conn[i].ep == dto->ep_handle)
			conn = &end->conn[i];
	if (slot >= STRESS_SRQ_DEPTH || cookie != srq_cookie(end, slot) ||
	    !__test_and_clear_bit(slot, end->srq_posted) || !conn) {
		stress_bad(s, &s->wrong, "an event of no buffer: %llx", cookie);
		return;
	}
	if (dto->status == DAT_DTO_ERR_FLUSHED)
		stress_count(end->w, STRESS_FLUSHED);
	else if (dto->status)
		stress_count(end->w, STRESS_FAILED);
	if (!dto->status) {
		stress_count(end->w, STRESS_SRQ);
		stress_received(conn, srq_buf(end, slot),
				dto->transfered_length);
	}
	srq_post(end, slot);
}
