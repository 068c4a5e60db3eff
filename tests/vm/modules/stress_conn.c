// SPDX-License-Identifier: GPL-2.0
/*
 * A connection of a stress test, from the EP's birth to its end: what was asked
 * for, what came, and whether it came in time.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/string.h>

#include <dat/dat_ib_extensions.h>

#include "stress.h"

enum {
	CONN_PATIENCE_MS = 8000,	/* with the peer */
	CONN_MAGIC = 0x5e,
	CR_HOLD_MS = 1500,
	DRAIN_MAX = 4 * STRESS_DEPTH * STRESS_CONNS,
};

bool stress_may_fail(struct stress_conn *conn, const char *call, int ret)
{
	struct stress *s = conn->end->w->s;

	switch (ret) {
	case -ENODEV:
	case -ENOSPC:
	case -ENOTCONN:
	case -EISCONN:
	case -EALREADY:
	case -EBADFD:
	case -EBUSY:
	case -EAGAIN:
		return true;
	default:
		stress_bad(s, &s->wrong, "%s: %d in state %d", call, ret,
			   conn->state);
		return false;
	}
}

void stress_conn_set(struct stress_conn *conn, enum stress_state state)
{
	atomic_t *census = conn->end->w->s->census[conn->end->dev];

	atomic_dec(&census[conn->state]);
	atomic_inc(&census[state]);
	conn->state = state;
	conn->until = 0;
}

static void conn_expect(struct stress_conn *conn, enum stress_state state,
			u32 ms)
{
	stress_conn_set(conn, state);
	/* 0 is for "nothing". */
	conn->until = (jiffies + msecs_to_jiffies(ms)) | 1;
}

static void conn_owed(struct stress_conn *conn, enum stress_state state)
{
	conn_expect(conn, state, conn->end->w->s->owed_ms);
}

/* With all events dequeued that are there, and no more requests to come. */
static bool conn_home(struct stress_conn *conn)
{
	return !stress_req_owed(conn) && conn->recv_posted == conn->recv_done;
}

/* Another life of the EP, or another EP: events of the old one are none. */
static void conn_renew(struct stress_conn *conn)
{
	conn->gen++;
	conn->req_posted = 0;
	conn->req_done = 0;
	conn->recv_posted = 0;
	conn->recv_done = 0;
	conn->seq_in = 0;
	conn->seq_out = 0;
	conn->slots = 0;
	conn->failed = false;
	conn->prove = false;
	conn->job.state = JOB_NONE;
}

static void conn_receives(struct stress_conn *conn)
{
	int i;

	for (i = 0; i < STRESS_DEPTH && !conn->srq; i++)
		if (!stress_post_recv(conn, i))
			break;
}

int stress_conn_create(struct stress_conn *conn)
{
	struct dat_ep_attr attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = STRESS_MSG,
		.max_rdma_size = STRESS_AREA,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = STRESS_DEPTH,
		.max_request_dtos = STRESS_DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 2,
		.max_rdma_read_out = 2,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	struct stress_end *end = conn->end;
	int ret;

	stress_doing(end->w, "dat_ep_create");
	conn->srq = end->srq && !stress_random(end->w, 3);
	if (conn->srq) {
		attr.max_recv_dtos = DAT_WATERMARK_INFINITE;
		attr.srq_soft_hw = DAT_HW_DEFAULT;
		ret = dat_ep_create_with_srq(end->ia, end->pz,
					     end->evd[EVD_RECV].evd,
					     end->evd[EVD_REQ].evd,
					     end->evd[EVD_CONN].evd, end->srq,
					     &attr, &conn->ep);
	} else {
		ret = dat_ep_create(end->ia, end->pz, end->evd[EVD_RECV].evd,
				    end->evd[EVD_REQ].evd,
				    end->evd[EVD_CONN].evd, &attr, &conn->ep);
	}
	if (ret) {
		stress_may_fail(conn, "dat_ep_create", ret);
		return ret;
	}
	conn->pooled = false;
	conn_renew(conn);
	stress_conn_set(conn, CONN_IDLE);
	conn_receives(conn);
	return 0;
}

void stress_conn_connect(struct stress_conn *conn)
{
	struct stress_worker *w = conn->end->w;
	struct stress *s = w->s;
	u32 timeout_ms = 300 + stress_random(w, 4000);
	u8 pdata[2] = { CONN_MAGIC, w->id };
	int ret;

	stress_doing(w, "dat_ep_connect");
	ret = dat_ep_connect(conn->ep,
			     (struct sockaddr *)&s->addr[!conn->end->dev],
			     STRESS_PORT + stress_random(w, STRESS_THREADS),
			     timeout_ms * 1000, sizeof(pdata), pdata,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret) {
		stress_may_fail(conn, "dat_ep_connect", ret);
		return;
	}
	stress_count(w, STRESS_CONNECT);
	conn_owed(conn, CONN_CONNECTING);
}

void stress_conn_accept(struct stress_conn *conn, struct dat_cr *cr)
{
	struct stress_worker *w = conn->end->w;
	u8 pdata[2] = { CONN_MAGIC, w->id };
	int ret;

	stress_doing(w, "dat_cr_accept");
	ret = dat_cr_accept(cr, conn->ep, sizeof(pdata), pdata);
	if (!ret) {
		stress_count(w, STRESS_ACCEPT);
		conn_expect(conn, CONN_ACCEPTING, CONN_PATIENCE_MS);
		return;
	}
	stress_may_fail(conn, "dat_cr_accept", ret);
	ret = dat_cr_reject(cr, 0, NULL);
	if (ret)
		stress_bad(w->s, &w->s->leaked, "dat_cr_reject: %d", ret);
}

void stress_conn_close(struct stress_conn *conn, bool graceful)
{
	struct stress_worker *w = conn->end->w;
	int ret;

	stress_doing(w, "dat_ep_disconnect");
	ret = dat_ep_disconnect(conn->ep, graceful ? DAT_CLOSE_GRACEFUL_FLAG :
						     DAT_CLOSE_ABRUPT_FLAG);
	if (ret) {
		stress_may_fail(conn, "dat_ep_disconnect", ret);
		return;
	}
	stress_count(w, graceful ? STRESS_GRACEFUL : STRESS_ABRUPT);
	conn_owed(conn, CONN_CLOSING);
}

void stress_conn_free(struct stress_conn *conn)
{
	struct stress_worker *w = conn->end->w;
	int ret, taken;

	/* Which buffers of the SRQ it takes along it does not tell. */
	taken = stress_srq_outstanding(conn->end);
	stress_doing(w, "dat_ep_free");
	ret = dat_ep_free(conn->ep);
	conn->end->srq_taken += taken - stress_srq_outstanding(conn->end);
	if (ret)
		stress_bad(w->s, &w->s->leaked, "dat_ep_free: %d", ret);
	else
		stress_count(w, STRESS_FREE);
	conn->ep = NULL;
	conn_renew(conn);
	stress_show_end(conn);
	stress_conn_set(conn, CONN_NONE);
}

void stress_conn_reset(struct stress_conn *conn)
{
	struct stress_worker *w = conn->end->w;
	int ret, taken;
	bool idle;

	/*
	 * A suppressed request that was flushed has an event that nobody has waited
	 * for. It came before the end that was seen, but perhaps after a look; and one
	 * that was posted when the EP had ended, unseen by us, comes some time later.
	 */
	dat_ep_get_status(conn->ep, NULL, NULL, &idle);
	while (stress_drain_evd(conn->end, EVD_REQ))
		;
	if (!idle || !conn_home(conn))
		return;
	stress_show_end(conn);
	taken = stress_srq_outstanding(conn->end);
	stress_doing(w, "dat_ep_reset");
	ret = dat_ep_reset(conn->ep);
	conn->end->srq_taken += taken - stress_srq_outstanding(conn->end);
	if (ret) {
		stress_may_fail(conn, "dat_ep_reset", ret);
		return;
	}
	stress_count(w, STRESS_RESET);
	conn_renew(conn);
	stress_conn_set(conn, CONN_IDLE);
	conn_receives(conn);
}

bool stress_conn_owed(struct stress_conn *conn)
{
	switch (conn->state) {
	case CONN_CONNECTING:
	case CONN_CLOSING:
		return true;
	case CONN_CONNECTED:
		return stress_req_owed(conn);
	default:
		return false;
	}
}

static void conn_late(struct stress_conn *conn)
{
	struct stress *s = conn->end->w->s;

	switch (conn->state) {
	case CONN_ACCEPTING:
		stress_count(conn->end->w, STRESS_GAVE_UP);
		stress_conn_close(conn, false);
		return;
	case CONN_ENDED:
		stress_bad(s, &s->lost,
			   "%d events of requests, %d of receives",
			   stress_req_owed(conn),
			   conn->recv_posted - conn->recv_done);
		break;
	default:
		stress_bad(s, &s->stuck, "an EP in state %d, of device %d",
			   conn->state, conn->end->dev);
		break;
	}
	stress_conn_free(conn);
}

void stress_conn_look(struct stress_conn *conn)
{
	struct stress_shown *shown = &conn->shown;

	if (conn->state == CONN_ENDED && conn_home(conn))
		conn->until = 0;
	if (conn->until && time_after(jiffies, conn->until)) {
		conn_late(conn);
		return;
	}
	if (conn->state != CONN_CONNECTED)
		return;
	stress_job_look(conn);
	stress_show_look(conn);
	if (conn->prove && stress_send_plain(conn, false))
		conn->prove = false;
	/* The peer is a thread of ours, and may be asleep, or its device gone. */
	if (shown->state == SHOWN_TOLD &&
	    time_after(jiffies, shown->since +
		       msecs_to_jiffies(2 * CONN_PATIENCE_MS))) {
		stress_count(conn->end->w, STRESS_GAVE_UP);
		stress_conn_close(conn, false);
	}
}

static void conn_request(struct stress_end *end, struct dat_cr *cr)
{
	struct stress_worker *w = end->w;
	u32 dice = stress_random(w, 100);
	struct stress_conn *conn = NULL;
	int i, ret;

	stress_count(w, STRESS_REQUEST);
	for (i = 0; i < STRESS_CONNS && dice < 80; i++) {
		conn = &end->conn[i];
		if (conn->state == CONN_NONE && stress_conn_create(conn))
			break;
		if (conn->state == CONN_IDLE) {
			stress_conn_accept(conn, cr);
			return;
		}
	}
	if (dice >= 90 && !end->cr) {
		end->cr = cr;
		end->cr_until = jiffies + msecs_to_jiffies(CR_HOLD_MS);
		return;
	}
	stress_doing(w, "dat_cr_reject");
	ret = dat_cr_reject(cr, 0, NULL);
	if (ret)
		stress_bad(w->s, &w->s->leaked, "dat_cr_reject: %d", ret);
	else
		stress_count(w, STRESS_REJECT);
}

static struct stress_conn *conn_of(struct stress_end *end,
				   const struct dat_event *event)
{
	struct dat_ep *ep = event->event_data.connect_event_data.ep_handle;
	struct stress *s = end->w->s;
	int i;

	for (i = 0; i < STRESS_CONNS; i++)
		if (ep && end->conn[i].ep == ep)
			return &end->conn[i];
	stress_bad(s, &s->wrong, "event %x of an EP that was freed",
		   event->event_number);
	return NULL;
}

static void conn_established(struct stress_conn *conn)
{
	struct stress_worker *w = conn->end->w;

	switch (conn->state) {
	case CONN_CONNECTING:
	case CONN_ACCEPTING:
		stress_count(w, STRESS_ESTABLISHED);
		stress_conn_set(conn, CONN_CONNECTED);
		break;
	case CONN_CLOSING:
		/* It was queued when we gave up. */
		break;
	default:
		stress_bad(w->s, &w->s->wrong, "ESTABLISHED in state %d",
			   conn->state);
	}
}

static void conn_ended(struct stress_conn *conn, enum dat_event_number number)
{
	struct stress_worker *w = conn->end->w;

	switch (conn->state) {
	case CONN_CONNECTING:
	case CONN_ACCEPTING:
	case CONN_CONNECTED:
	case CONN_CLOSING:
		break;
	default:
		stress_bad(w->s, &w->s->wrong, "a second end, %x in state %d",
			   number, conn->state);
		return;
	}
	switch (number) {
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		stress_count(w, STRESS_DISCONNECTED);
		break;
	case DAT_CONNECTION_EVENT_BROKEN:
		stress_count(w, STRESS_BROKEN);
		break;
	default:
		stress_count(w, STRESS_REFUSED);
		break;
	}
	conn_owed(conn, CONN_ENDED);
}

static void conn_event(struct stress_end *end, const struct dat_event *event)
{
	struct stress *s = end->w->s;
	struct stress_conn *conn;

	switch ((int)event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_RMR_BIND_COMPLETION_EVENT:
	case DAT_IB_DTO_EVENT:
		stress_dto(end, event);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		conn_request(end, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		conn = conn_of(end, event);
		if (conn)
			conn_established(conn);
		break;
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
		if (end->gone)
			stress_bad(s, &s->wrong, "a second IA_CATASTROPHIC");
		end->gone = true;
		break;
	case DAT_ASYNC_ERROR_EP_BROKEN:
		stress_srq_low(end, event);
		break;
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
	case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
		break;
	default:
		conn = conn_of(end, event);
		if (conn)
			conn_ended(conn, event->event_number);
		break;
	}
}

/* All that is there: whether it was anything. */
bool stress_drain_evd(struct stress_end *end, int which)
{
	struct dat_evd *evd = end->evd[which].evd;
	struct dat_event *event = &end->w->event;
	bool any = false;
	int i;

	for (i = 0; i < DRAIN_MAX && evd && !dat_evd_dequeue(evd, event); i++) {
		any = true;
		conn_event(end, event);
	}
	return any;
}

bool stress_drain(struct stress_end *end)
{
	bool any = false;
	int i;

	stress_doing(end->w, "dat_evd_dequeue");
	for (i = 0; i < EVDS; i++)
		any |= stress_drain_evd(end, i);
	return any;
}

/**
 * stress_check_gone() - what must have come before IA_CATASTROPHIC
 * @end: an IA whose device is gone
 */
void stress_check_gone(struct stress_end *end)
{
	struct stress *s = end->w->s;
	struct stress_conn *conn;
	int i;

	while (stress_drain(end))
		;
	if (end->srq)
		stress_srq_check(end);
	for (i = 0; i < STRESS_CONNS; i++) {
		conn = &end->conn[i];
		if (conn->state == CONN_CONNECTING ||
		    conn->state == CONN_ACCEPTING ||
		    conn->state == CONN_CONNECTED ||
		    conn->state == CONN_CLOSING)
			stress_bad(s, &s->lost,
				   "the end of an EP in state %d, by a removal",
				   conn->state);
		if (!conn_home(conn))
			stress_bad(s, &s->lost,
				   "%d events of requests, %d of receives, by a removal, in state %d",
				   stress_req_owed(conn),
				   conn->recv_posted - conn->recv_done,
				   conn->state);
	}
}
