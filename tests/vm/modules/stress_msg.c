// SPDX-License-Identifier: GPL-2.0
/*
 * What the two ends of a connection say to each other. Messages are numbered;
 * one of them shows memory, which the peer reads, checks, writes and answers.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/string.h>

#include <dat/dat_ib_extensions.h>

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
	u8 atomic;		/* SHOW: allowed; ANSWER: done, see send_answer() */
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

static u8 *atomic_buf(struct stress_conn *conn)
{
	return job_buf(conn) + STRESS_AREA;
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

static bool send(struct stress_conn *conn, const struct stress_msg *head,
		 bool may_suppress)
{
	union dat_context cookie = stress_req_cookie(conn, KIND_SEND);
	struct stress_worker *w = conn->end->w;
	enum dat_completion_flags flags = 0;
	struct dat_lmr_triplet iov;
	struct stress_msg *msg;
	int slot, ret;

	slot = ffz(conn->slots);
	if (slot >= STRESS_DEPTH || !stress_req_room(conn))
		return false;
	/* Their buffers come back with what follows: not too many of them. */
	if (may_suppress && hweight_long(conn->slots) < STRESS_DEPTH / 2 &&
	    !stress_random(w, 3))
		flags = DAT_COMPLETION_SUPPRESS_FLAG;
	msg = (struct stress_msg *)send_buf(conn, slot);
	*msg = *head;
	msg->magic = MSG_MAGIC;
	msg->seq = conn->seq_out;
	msg->len = stress_random(w, STRESS_MSG - sizeof(*msg) + 1);
	stress_fill(msg->data, msg->len, msg->seq);
	iov = local(conn, (u8 *)msg, sizeof(*msg) + msg->len);
	ret = dat_ep_post_send(conn->ep, 1, &iov, cookie, flags);
	if (ret) {
		stress_req_refused(conn, "dat_ep_post_send", ret);
		return false;
	}
	__set_bit(slot, &conn->slots);
	stress_req_posted(conn, KIND_SEND, slot, flags);
	conn->seq_out++;
	stress_count(w, STRESS_SEND);
	return true;
}

bool stress_send_plain(struct stress_conn *conn, bool may_suppress)
{
	return send(conn, &(struct stress_msg){ .type = MSG_PLAIN },
		    may_suppress);
}

bool stress_send_show(struct stress_conn *conn)
{
	return send(conn, &(struct stress_msg){
		.type = MSG_SHOW,
		.addr = conn->shown.addr,
		.rkey = conn->shown.rkey,
		.size = conn->shown.size,
		.seed = conn->shown.seed,
		.atomic = conn->shown.atomic,
	}, true);
}

/* In the fields for a region: which number was changed, and what it is now. */
static bool send_answer(struct stress_conn *conn)
{
	return send(conn, &(struct stress_msg){
		.type = MSG_ANSWER,
		.addr = conn->job.number,
		.size = conn->job.at,
		.atomic = conn->job.changed,
	}, true);
}

/* What comes behind the write. */
static void job_written(struct stress_conn *conn)
{
	struct stress_job *job = &conn->job;

	job->state = job->atomic && stress_random(conn->end->w, 2) ?
		     JOB_ATOMIC_DUE : JOB_ANSWER_DUE;
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
	int kind = read ? KIND_READ : KIND_WRITE, ret;
	union dat_context cookie = stress_req_cookie(conn, kind);
	bool suppressed = !stress_random(conn->end->w, 3);
	enum dat_completion_flags flags =
		suppressed ? DAT_COMPLETION_SUPPRESS_FLAG : 0;

	if (!stress_req_room(conn))
		return false;
	if (!stress_random(conn->end->w, 4))
		flags |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
	if (read)
		ret = dat_ep_post_rdma_read(conn->ep, 1, &iov, cookie, &remote,
					    flags);
	else
		ret = dat_ep_post_rdma_write(conn->ep, 1, &iov, cookie,
					     &remote, flags);
	if (ret) {
		stress_req_refused(conn, read ? "dat_ep_post_rdma_read" :
				   "dat_ep_post_rdma_write", ret);
		return false;
	}
	stress_req_posted(conn, kind, 0, suppressed);
	stress_count(conn->end->w, read ? STRESS_READ : STRESS_WRITE);
	/* Nobody hears of it: the next in the queue need not wait for it, either. */
	if (read)
		conn->prove |= suppressed;
	else if (suppressed)
		job_written(conn);
	else
		job->state = JOB_WRITING;
	return true;
}

/* Adds to a number that is known, or swaps it, if it is the one expected. */
static bool job_atomic(struct stress_conn *conn)
{
	union dat_context cookie = stress_req_cookie(conn, KIND_ATOMIC);
	struct dat_lmr_triplet iov = local(conn, atomic_buf(conn),
					   STRESS_ATOMIC_SIZE);
	struct stress_worker *w = conn->end->w;
	enum dat_completion_flags flags = 0;
	struct stress_job *job = &conn->job;
	u64 value = (u64)stress_random(w, U32_MAX) << 32 | w->id;
	struct dat_rmr_triplet remote;
	u32 dice = stress_random(w, 3);
	int ret;

	if (!stress_req_room(conn))
		return false;
	if (!stress_random(w, 3))
		flags = DAT_COMPLETION_SUPPRESS_FLAG;
	job->at = STRESS_ATOMIC_SIZE *
		  stress_random(w, job->size / STRESS_ATOMIC_SIZE);
	conn->old = stress_number(job->at, job->seed + 1);
	memset(atomic_buf(conn), 0x33, STRESS_ATOMIC_SIZE);
	remote = (struct dat_rmr_triplet){
		.virtual_address = job->addr + job->at,
		.segment_length = STRESS_ATOMIC_SIZE,
		.rmr_context = job->rkey,
	};
	if (dice < 2) {
		job->number = dice ? value : conn->old;
		ret = dat_ib_post_cmp_and_swap(conn->ep, dice ? conn->old :
					       ~conn->old, value, &iov, cookie,
					       &remote, flags);
	} else {
		job->number = conn->old + value;
		ret = dat_ib_post_fetch_and_add(conn->ep, value, &iov, cookie,
						&remote, flags);
	}
	if (ret) {
		stress_req_refused(conn, "an atomic operation", ret);
		return false;
	}
	stress_req_posted(conn, KIND_ATOMIC, 0, flags);
	job->changed = true;
	job->state = flags ? JOB_ANSWER_DUE : JOB_ATOMIC;
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
	if (job->state == JOB_WRITE_DUE)
		job_rdma(conn, false);
	if (job->state == JOB_ATOMIC_DUE)
		job_atomic(conn);
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

/* It was there before, and now is in our buffer. */
static void job_atomic_done(struct stress_conn *conn)
{
	struct stress *s = conn->end->w->s;
	u64 got;

	memcpy(&got, atomic_buf(conn), sizeof(got));
	if (got != conn->old)
		stress_bad(s, &s->wrong,
			   "an atomic operation found %llx in place of %llx",
			   got, conn->old);
	else
		stress_count(conn->end->w, STRESS_ATOMIC);
	if (conn->job.state == JOB_ATOMIC)
		conn->job.state = JOB_ANSWER_DUE;
}

void stress_received(struct stress_conn *conn, u8 *buf, u32 length)
{
	const struct stress_msg *msg = (const struct stress_msg *)buf;
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
			.atomic = msg->atomic,
		};
		break;
	case MSG_ANSWER:
		stress_show_answered(conn, msg->atomic, msg->size, msg->addr);
		break;
	default:
		break;
	}
}

/* A request is known to be done, by its event or by what it has not had. */
void stress_req_over(struct stress_conn *conn, const struct stress_req *req,
		     bool success)
{
	if (req->kind == KIND_SEND)
		__clear_bit(req->slot, &conn->slots);
	if (!success)
		return;
	switch (req->kind) {
	case KIND_READ:
		job_read_done(conn);
		break;
	case KIND_WRITE:
		if (!req->suppressed)
			job_written(conn);
		break;
	case KIND_ATOMIC:
		job_atomic_done(conn);
		break;
	case KIND_REGISTER:
	case KIND_HIDE:
		stress_show_registered(conn, req->kind);
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

	if (kind == KIND_SRQ) {
		stress_srq_dto(end, event);
		return;
	}
	if ((cookie >> 16 & 0xff) >= STRESS_CONNS || conn->gen != cookie >> 32 ||
	    (!is_bind && dto->ep_handle != conn->ep)) {
		stress_bad(s, &s->wrong, "an event of nobody: %llx", cookie);
		return;
	}
	/* Not just one: its connection may be closed abruptly, and owe nothing. */
	if (kind == KIND_RECV && s->fault == STRESS_FAULT_EVENT &&
	    !stress_random(end->w, 4))
		return;
	if (status == DAT_DTO_ERR_FLUSHED)
		stress_count(end->w, STRESS_FLUSHED);
	else if (status)
		stress_count(end->w, STRESS_FAILED);
	if (kind != KIND_RECV) {
		stress_req_event(conn, kind, slot, status);
	} else {
		conn->recv_done++;
		if (!status)
			stress_received(conn, recv_buf(conn, slot),
					dto->transfered_length);
		if (!status && conn->state == CONN_CONNECTED)
			stress_post_recv(conn, slot);
	}
	/* Which was not asked for: the end must follow. */
	if (status && conn->state == CONN_CONNECTED && !conn->until)
		conn->until = jiffies + msecs_to_jiffies(s->owed_ms);
}
