// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol of rping, from rdmacm-utils:
 *
 *	client					server
 *	------					------
 *	SEND {source address, rkey, length}
 *						RDMA READ of the source
 *						SEND go ahead
 *	SEND {sink address, rkey, length}
 *						RDMA WRITE to the sink
 *						SEND go ahead
 *
 * and so on until the client disconnects. All messages have 16 bytes; those of
 * a "go ahead" mean nothing. A ping is text, "rdma-ping-N: " and then the
 * characters from 'A' to 'z' over and over, the first one moving on with each
 * ping, a NUL at the very end.
 *
 * Each step leaves behind in s->pending what it waits for. Completions of
 * receives and of requests may come from different EVDs, so in either order:
 * a buffer is used again only when the send before it is known to be done, not
 * when the peer's answer to it has come.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "post.h"
#include "protocol.h"
#include "session.h"

enum {
	PING_FIRST = 'A',
	PING_LAST = 'z',
};

static char ping_next(char c)
{
	return c == PING_LAST ? PING_FIRST : c + 1;
}

/* Writes ping number @ping into @buf, or compares the two. */
static bool ping_text(char *buf, u32 size, u64 ping, bool compare)
{
	char c = PING_FIRST + ping % (PING_LAST - PING_FIRST + 1);
	char head[32];
	u32 len, i;

	len = snprintf(head, sizeof(head), "rdma-ping-%d: ", (int)ping);
	for (i = 0; i < size; i++) {
		char want = i < len ? head[i] : c;

		if (i >= len)
			c = ping_next(c);
		if (i == size - 1)
			want = '\0';
		if (!compare)
			buf[i] = want;
		else if (buf[i] != want)
			return false;
	}
	return true;
}

/* Owed from now on: ESTABLISHED, or that it failed; and all receives. */
static void attempt_begins(struct rping_session *s)
{
	s->conn->due++;
	s->recv->due += RPING_RECVS;
}

static int close_connection(struct rping_session *s)
{
	s->step = RPING_CLOSE;
	s->pending = 0;
	return dat_ep_disconnect(s->ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static int client_offer(struct rping_session *s, struct rping_adv *buf,
			struct rping_mem *mem)
{
	int ret = rping_mem_show(s, mem);

	return ret ? ret : rping_post_adv(s, buf, mem);
}

static int client_offer_source(struct rping_session *s)
{
	ping_text(s->source.buf, s->param.size, s->ping, false);
	memset(s->sink.buf, 0xee, s->param.size);
	s->step = RPING_SOURCE;
	s->pending = RPING_PENDING_SEND | RPING_PENDING_RECV;
	return client_offer(s, &rping_messages(s)->source, &s->source);
}

/* A ping is over, and nobody but us gets to the buffers any more. */
static int client_ping_done(struct rping_session *s)
{
	s->pings++;
	s->ping++;
	if (s->param.verify) {
		if (memcmp(s->source.buf, s->sink.buf, s->param.size))
			return -EBADMSG;
		s->verified++;
	}
	if (s->stopping || s->ping == s->param.count)
		return close_connection(s);
	return client_offer_source(s);
}

static int client_hide(struct rping_session *s)
{
	int ret;

	s->step = RPING_HIDE;
	s->pending = RPING_PENDING_HIDDEN;
	ret = rping_mem_hide(s, &s->source);
	if (!ret)
		ret = rping_mem_hide(s, &s->sink);
	if (ret || s->hiding)
		return ret;
	s->pending = 0;
	return client_ping_done(s);
}

static int client_next(struct rping_session *s)
{
	switch (s->step) {
	case RPING_CONNECT:
		return client_offer_source(s);
	case RPING_SOURCE:
		s->step = RPING_SINK;
		s->pending = RPING_PENDING_SEND | RPING_PENDING_RECV;
		return client_offer(s, &rping_messages(s)->sink, &s->sink);
	case RPING_SINK:
		return client_hide(s);
	case RPING_HIDE:
		return client_ping_done(s);
	default:
		return -EPROTO;
	}
}

/* An offer has come: is it one that our buffer can serve? */
static int server_take_offer(struct rping_session *s, bool read)
{
	u32 len = be32_to_cpu(s->peer.len);

	if (read) {
		if (len > s->param.size)
			return -EMSGSIZE;
		s->len = len;
	} else {
		s->len = min(len, s->len);
	}
	s->step = read ? RPING_READ : RPING_WRITE;
	s->pending = RPING_PENDING_RDMA;
	return rping_post_rdma(s, read);
}

static int server_go_ahead(struct rping_session *s, enum rping_step step,
			   struct rping_adv *buf)
{
	s->step = step;
	s->pending = RPING_PENDING_SEND | RPING_PENDING_RECV;
	return rping_post_send(s, buf);
}

static int server_next(struct rping_session *s)
{
	switch (s->step) {
	case RPING_CONNECT:
	case RPING_SOURCE:
		return server_take_offer(s, true);
	case RPING_READ:
		if (s->param.verify) {
			if (!ping_text(s->source.buf, s->len, s->ping, true))
				return -EBADMSG;
			s->verified++;
		}
		return server_go_ahead(s, RPING_SINK, &rping_messages(s)->source);
	case RPING_SINK:
		return server_take_offer(s, false);
	case RPING_WRITE:
		s->pings++;
		s->ping++;
		return server_go_ahead(s, RPING_SOURCE, &rping_messages(s)->sink);
	default:
		return -EPROTO;
	}
}

static void happened(struct rping_session *s, enum rping_pending what)
{
	int ret;

	if (s->step == RPING_CLOSE)
		return;
	if (!(s->pending & what)) {
		rping_session_fail(s, -EPROTO, "message out of turn");
		return;
	}
	s->pending &= ~what;
	if (s->pending)
		return;

	ret = s->param.server ? server_next(s) : client_next(s);
	if (ret)
		rping_session_fail(s, ret,
				   ret == -EBADMSG ? "wrong data" : NULL);
}

/* One of the two buffers is out of the server's reach. */
static void hidden_event(struct rping_session *s,
			 enum dat_dto_completion_status status)
{
	if (status == DAT_DTO_ERR_FLUSHED)
		return;
	if (status != DAT_DTO_SUCCESS)
		rping_session_fail(s, -EIO, "invalidation failed");
	else if (!--s->hiding)
		happened(s, RPING_PENDING_HIDDEN);
}

static void dto_event(struct rping_session *s,
		      const struct dat_dto_completion_event_data *dto)
{
	int ret;

	if (dto->operation == DAT_DTO_LMR_INVALIDATE) {
		hidden_event(s, dto->status);
		return;
	}
	if (dto->status != DAT_DTO_SUCCESS) {
		/* The terminal event follows and says what it was. */
		if (dto->status != DAT_DTO_ERR_FLUSHED)
			rping_session_fail(s, -EIO, "request failed");
		return;
	}

	if (dto->operation != DAT_DTO_RECEIVE) {
		happened(s, dto->user_cookie.as_index == RPING_COOKIE_RDMA ?
			    RPING_PENDING_RDMA : RPING_PENDING_SEND);
		return;
	}

	if (dto->transfered_length != sizeof(s->peer)) {
		rping_session_fail(s, -EPROTO, "message of a wrong length");
		return;
	}
	s->peer = rping_messages(s)->recv[dto->user_cookie.as_index];
	ret = rping_post_recv(s, dto->user_cookie.as_index);
	if (ret)
		rping_session_fail(s, ret, "cannot post a receive");
	else
		s->recv->due++;
	happened(s, RPING_PENDING_RECV);
}

static void take_client(struct rping_session *s, struct dat_cr *cr)
{
	int ret;

	ret = dat_cr_accept(cr, s->ep, 0, NULL);
	if (ret) {
		dat_cr_reject(cr, 0, NULL);
		rping_session_fail(s, ret, "cannot accept");
		return;
	}
	attempt_begins(s);
	s->ping = 0;
	s->step = RPING_CONNECT;
	/* The first offer may overtake ESTABLISHED. */
	s->pending = RPING_PENDING_ESTABLISHED | RPING_PENDING_RECV;
}

static void connection_request(struct rping_session *s, struct dat_cr *cr)
{
	/* Nobody owes us a request, so it is due when it is there. */
	s->conn->due++;
	if (s->stopping || s->cr || (s->connections && !s->param.persist)) {
		dat_cr_reject(cr, 0, NULL);
		return;
	}
	if (s->step == RPING_IDLE)
		take_client(s, cr);
	else
		s->cr = cr;
}

static int end_result(enum dat_event_number number, const char **text)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		*text = "rejected by the peer";
		return -ECONNREFUSED;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		*text = "refused, nobody listens";
		return -ECONNREFUSED;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		*text = "the client went away";
		return -ECONNABORTED;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		*text = "connect timed out";
		return -ETIMEDOUT;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		*text = "unreachable";
		return -EHOSTUNREACH;
	case DAT_CONNECTION_EVENT_BROKEN:
		*text = "connection broken";
		return -ECONNRESET;
	default:
		*text = NULL;
		return 0;
	}
}

/* The one terminal event: all that was posted has been reported by now. */
static void connection_end(struct rping_session *s,
			   enum dat_event_number number)
{
	const struct rping_evd_sink sink = { rping_protocol_event, s };
	const char *text;
	unsigned int i;
	int ret = end_result(number, &text);

	/* A server's client may leave whenever it does not owe a sink. */
	if (!ret && s->step != RPING_CLOSE &&
	    !(s->param.server &&
	      (s->step == RPING_SOURCE || s->step == RPING_CONNECT))) {
		ret = -ECONNRESET;
		text = "the peer left in the middle";
	}
	s->step = RPING_CLOSE;
	s->pending = 0;
	if (ret)
		rping_session_fail(s, ret, text);

	for (i = 0; i < s->nr_evds; i++)
		if (&s->evds[i] != s->conn)
			rping_evd_drain(&s->evds[i], &sink);
	s->connections++;
	s->ended_at = jiffies;
	s->ended = true;
}

static bool all_dequeued(struct rping_session *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_evds; i++)
		if (s->evds[i].due > s->evds[i].dequeued)
			return false;
	return true;
}

/**
 * rping_protocol_settle() - go on after the end of a connection
 * @s: the session
 *
 * An upcall in the SINGLE_INSTANCE form may still be about to hand over an
 * event of the old connection, so look at the count; what has not come within
 * a second is lost.
 */
void rping_protocol_settle(struct rping_session *s)
{
	struct dat_cr *cr = s->cr;
	int ret;

	if (!s->ended || s->done ||
	    (!all_dequeued(s) && time_before(jiffies, s->ended_at + HZ)))
		return;

	s->ended = false;
	s->step = RPING_IDLE;
	if (!s->param.server || !s->param.persist || s->stopping) {
		s->done = true;
		return;
	}

	ret = dat_ep_reset(s->ep);
	if (!ret)
		ret = rping_post_recvs(s);
	if (ret) {
		rping_session_fail(s, ret, "cannot reuse the endpoint");
		s->done = true;
		return;
	}
	if (cr) {
		s->cr = NULL;
		take_client(s, cr);
	}
}

/**
 * rping_protocol_event() - an event was dequeued
 * @context: the session
 * @event: the event
 *
 * Context: the session's thread.
 */
void rping_protocol_event(void *context, const struct dat_event *event)
{
	struct rping_session *s = context;

	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		dto_event(s, &event->event_data.dto_completion_event_data);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		hidden_event(s, event->event_data.rmr_completion_event_data
				.status);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		connection_request(s,
				   event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		/* From now on an end is owed. */
		s->conn->due++;
		happened(s, RPING_PENDING_ESTABLISHED);
		break;
	default:
		connection_end(s, event->event_number);
		break;
	}
}

/* The first step of either side, before any event. */
void rping_protocol_start(struct rping_session *s)
{
	int ret;

	ret = rping_post_recvs(s);
	if (ret) {
		rping_session_fail(s, ret, "cannot post receives");
		s->done = true;
		return;
	}

	if (s->param.server) {
		ret = dat_psp_create(s->ia, s->param.port, s->conn->evd,
				     DAT_PSP_CONSUMER_FLAG, &s->psp);
	} else {
		s->step = RPING_CONNECT;
		s->pending = RPING_PENDING_ESTABLISHED;
		ret = dat_ep_connect(s->ep, (struct sockaddr *)&s->param.addr,
				     s->param.port, s->param.timeout, 0, NULL,
				     DAT_QOS_BEST_EFFORT,
				     DAT_CONNECT_DEFAULT_FLAG);
		if (!ret)
			attempt_begins(s);
	}
	if (ret) {
		rping_session_fail(s, ret, s->param.server ? "cannot listen" :
							     "cannot connect");
		s->step = RPING_IDLE;
		s->done = true;
	}
}

/* Ends what there is; the terminal event, if one is owed, ends the session. */
void rping_protocol_stop(struct rping_session *s)
{
	if (s->psp) {
		dat_psp_free(s->psp);
		s->psp = NULL;
	}
	if (s->cr) {
		dat_cr_reject(s->cr, 0, NULL);
		s->cr = NULL;
	}
	if (s->step == RPING_IDLE)
		s->done = true;
	else if (s->step != RPING_CLOSE)
		close_connection(s);
}
