// SPDX-License-Identifier: GPL-2.0
/*
 * What the two ends of a connection say to each other. Messages are numbered;
 * one of them shows memory, which the peer reads, checks, writes and answers.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/string.h>

#include "stress.h"

enum {
	MSG_MAGIC = 0x57e55,
	MSG_PLAIN = 1,
	MSG_SHOW,
	MSG_ANSWER,
};

struct stress_msg {
	u32 magic;
	u32 type;
	u32 seq;
	u32 len;
	u64 addr;
	u32 rkey;
	u32 size;
	u8 seed;
	u8 data[];
};

u64 stress_cookie(struct stress_conn *conn, int kind, int slot)
{
	return (u64)conn->gen << 32 | (conn - conn->end->conn) << 16 |
	       kind << 8 | slot;
}

static u8 *send_buf(struct stress_conn *conn, int slot)
{
	return conn->buf + slot * STRESS_MSG;
}

static u8 *recv_buf(struct stress_conn *conn, int slot)
{
	return conn->buf + (STRESS_DEPTH + slot) * STRESS_MSG;
}

static u8 *job_buf(struct stress_conn *conn)
{
	return conn->buf + 2 * STRESS_DEPTH * STRESS_MSG;
}

static struct dat_lmr_triplet local(struct stress_conn *conn, u8 *at, u32 size)
{
	return (struct dat_lmr_triplet){
		.virtual_address = (uintptr_t)at,
		.segment_length = size,
		.lmr_context = conn->end->lkey,
	};
}

bool stress_post_recv(struct stress_conn *conn, int slot)
{
	struct dat_lmr_triplet iov = local(conn, recv_buf(conn, slot),
					   STRESS_MSG);
	union dat_context cookie = {
		.as_64 = stress_cookie(conn, KIND_RECV, slot),
	};
	int ret;

	ret = dat_ep_post_recv(conn->ep, 1, &iov, cookie, 0);
	if (ret) {
		stress_may_fail(conn, "dat_ep_post_recv", ret);
		return false;
	}
	conn->recv_posted++;
	return true;
}

static bool send(struct stress_conn *conn, const struct stress_msg *head)
{
	struct stress_worker *w = conn->end->w;
	union dat_context cookie = {};
	struct dat_lmr_triplet iov;
	struct stress_msg *msg;
	int slot, ret;

	slot = ffz(conn->slots);
	if (slot >= STRESS_DEPTH)
		return false;
	msg = (struct stress_msg *)send_buf(conn, slot);
	*msg = *head;
	msg->magic = MSG_MAGIC;
	msg->seq = conn->seq_out;
	msg->len = stress_random(w, STRESS_MSG - sizeof(*msg) + 1);
	stress_fill(msg->data, msg->len, msg->seq);
	iov = local(conn, (u8 *)msg, sizeof(*msg) + msg->len);
	cookie.as_64 = stress_cookie(conn, KIND_SEND, slot);
	ret = dat_ep_post_send(conn->ep, 1, &iov, cookie, 0);
	if (ret) {
		stress_may_fail(conn, "dat_ep_post_send", ret);
		return false;
	}
	__set_bit(slot, &conn->slots);
	conn->req_posted++;
	conn->seq_out++;
	stress_count(w, STRESS_SEND);
	return true;
}

bool stress_send_plain(struct stress_conn *conn)
{
	return send(conn, &(struct stress_msg){ .type = MSG_PLAIN });
}

bool stress_send_show(struct stress_conn *conn)
{
	return send(conn, &(struct stress_msg){
		.type = MSG_SHOW,
		.addr = conn->shown.addr,
		.rkey = conn->shown.rkey,
		.size = conn->shown.size,
		.seed = conn->shown.seed,
	});
}

static bool send_answer(struct stress_conn *conn)
{
	return send(conn, &(struct stress_msg){ .type = MSG_ANSWER });
}

static bool job_rdma(struct stress_conn *conn, bool read)
{
	struct stress_job *job = &conn->job;
	struct dat_lmr_triplet iov = local(conn, job_buf(conn), job->size);
	struct dat_rmr_triplet remote = {
		.virtual_address = job->addr,
		.segment_length = job->size,
		.rmr_context = job->rkey,
	};
	union dat_context cookie = {
		.as_64 = stress_cookie(conn, read ? KIND_READ : KIND_WRITE, 0),
	};
	int ret;

	if (read)
		ret = dat_ep_post_rdma_read(conn->ep, 1, &iov, cookie, &remote,
					    0);
	else
		ret = dat_ep_post_rdma_write(conn->ep, 1, &iov, cookie,
					     &remote, 0);
	if (ret) {
		stress_may_fail(conn, read ? "dat_ep_post_rdma_read" :
				"dat_ep_post_rdma_write", ret);
		return false;
	}
	conn->req_posted++;
	stress_count(conn->end->w, read ? STRESS_READ : STRESS_WRITE);
	return true;
}

/* Goes on where there was no room to go on before. */
void stress_job_look(struct stress_conn *conn)
{
	struct stress_job *job = &conn->job;

	if (conn->state != CONN_CONNECTED)
		return;
	if (job->state == JOB_READ_DUE && job_rdma(conn, true))
		job->state = JOB_READING;
	if (job->state == JOB_WRITE_DUE && job_rdma(conn, false))
		job->state = JOB_WRITING;
	/* In one queue with the write: whoever has it can see the bytes. */
	if (job->state == JOB_ANSWER_DUE && send_answer(conn))
		job->state = JOB_NONE;
}

static void job_read_done(struct stress_conn *conn)
{
	struct stress_job *job = &conn->job;
	u8 *buf = job_buf(conn);

	if (!stress_is(buf, job->size, job->seed))
		stress_bad(conn->end->w->s, &conn->end->w->s->wrong,
			   "an RDMA read got other bytes than were shown");
	stress_fill(buf, job->size, job->seed + 1);
	job->state = JOB_WRITE_DUE;
}

static void received(struct stress_conn *conn, const struct stress_msg *msg,
		     u32 length)
{
	struct stress *s = conn->end->w->s;

	stress_count(conn->end->w, STRESS_RECEIVE);
	if (msg->magic != MSG_MAGIC || length != sizeof(*msg) + msg->len ||
	    !stress_is(msg->data, msg->len, msg->seq)) {
		stress_bad(s, &s->wrong, "a message of %u bytes is not as sent",
			   length);
		return;
	}
	if (msg->seq != conn->seq_in)
		stress_bad(s, &s->lost, "message %u came in place of %u",
			   msg->seq, conn->seq_in);
	conn->seq_in = msg->seq + 1;
	switch (msg->type) {
	case MSG_SHOW:
		conn->job = (struct stress_job){
			.state = JOB_READ_DUE,
			.addr = msg->addr,
			.rkey = msg->rkey,
			.size = min_t(u32, msg->size, STRESS_AREA),
			.seed = msg->seed,
		};
		break;
	case MSG_ANSWER:
		stress_show_answered(conn);
		break;
	default:
		break;
	}
}

static void dto_success(struct stress_conn *conn, int kind, int slot,
			const struct dat_event *event)
{
	const struct dat_dto_completion_event_data *dto =
		&event->event_data.dto_completion_event_data;

	switch (kind) {
	case KIND_RECV:
		received(conn, (struct stress_msg *)recv_buf(conn, slot),
			 dto->transfered_length);
		break;
	case KIND_READ:
		job_read_done(conn);
		break;
	case KIND_WRITE:
		conn->job.state = JOB_ANSWER_DUE;
		break;
	default:
		break;
	}
}

/**
 * stress_dto() - a request of ours is over
 * @end: whose EVD it came from
 * @event: a DTO's, or a bind's
 */
void stress_dto(struct stress_end *end, const struct dat_event *event)
{
	const struct dat_dto_completion_event_data *dto =
		&event->event_data.dto_completion_event_data;
	const struct dat_rmr_bind_completion_event_data *bind =
		&event->event_data.rmr_completion_event_data;
	bool is_bind = event->event_number == DAT_RMR_BIND_COMPLETION_EVENT;
	u64 cookie = is_bind ? bind->user_cookie.as_64 : dto->user_cookie.as_64;
	int status = is_bind ? bind->status : dto->status;
	int kind = cookie >> 8 & 0xff, slot = cookie & 0xff;
	struct stress_conn *conn = &end->conn[cookie >> 16 & 0xff];
	struct stress *s = end->w->s;

	if ((cookie >> 16 & 0xff) >= STRESS_CONNS || conn->gen != cookie >> 32 ||
	    (!is_bind && dto->ep_handle != conn->ep)) {
		stress_bad(s, &s->wrong, "an event of nobody: %llx", cookie);
		return;
	}
	/* Not just one: its connection may be closed abruptly, and owe nothing. */
	if (kind == KIND_RECV && s->fault == STRESS_FAULT_EVENT &&
	    !stress_random(end->w, 4))
		return;
	if (kind == KIND_RECV)
		conn->recv_done++;
	else
		conn->req_done++;
	if (kind == KIND_SEND)
		__clear_bit(slot, &conn->slots);
	if (status == DAT_DTO_ERR_FLUSHED)
		stress_count(end->w, STRESS_FLUSHED);
	else if (status)
		stress_count(end->w, STRESS_FAILED);
	if (kind == KIND_REGISTER || kind == KIND_HIDE)
		stress_show_registered(conn, !status);
	else if (!status)
		dto_success(conn, kind, slot, event);
	if (kind == KIND_RECV && !status && conn->state == CONN_CONNECTED)
		stress_post_recv(conn, slot);
	/* Which was not asked for: the end must follow. */
	if (status && conn->state == CONN_CONNECTED && !conn->until)
		conn->until = jiffies + msecs_to_jiffies(s->owed_ms);
}
