// SPDX-License-Identifier: GPL-2.0
/*
 * What the requests of an EP owe to who posted them. They are done in the order
 * of posting, so an event says of all that stand in front of it: those that were to
 * have an event have had it, those that were suppressed have succeeded. Behind the
 * first failure nothing succeeds, so each has its event, suppressed or not.
 */
#include "stress.h"

static struct stress_req *req_at(struct stress_conn *conn, u32 pos)
{
	return &conn->req[pos % STRESS_REQS];
}

/* Whether there is room to note another one. */
bool stress_req_room(const struct stress_conn *conn)
{
	return conn->req_posted - conn->req_done < STRESS_REQS;
}

/* Of the request that is posted next. */
union dat_context stress_req_cookie(struct stress_conn *conn, int kind)
{
	return (union dat_context){
		.as_64 = stress_cookie(conn, kind, (u8)conn->req_posted),
	};
}

void stress_req_posted(struct stress_conn *conn, int kind, int slot,
		       bool suppressed)
{
	*req_at(conn, conn->req_posted) = (struct stress_req){
		.kind = kind,
		.slot = slot,
		.suppressed = suppressed,
	};
	conn->req_posted++;
}

/*
 * A post has failed. A queue that is full has all that it may have; how many
 * requests of a pool's are among that only kdapl knows.
 */
void stress_req_refused(struct stress_conn *conn, const char *call, int ret)
{
	u32 posted = conn->req_posted - conn->req_done;
	struct stress *s = conn->end->w->s;

	stress_may_fail(conn, call, ret);
	if (ret == -ENOSPC && posted < STRESS_DEPTH && !conn->pooled)
		stress_bad(s, &s->lost, "%s: no room, with %u of %u posted",
			   call, posted, STRESS_DEPTH);
}

/* The number of events that must come whatever happens. */
u32 stress_req_owed(struct stress_conn *conn)
{
	u32 pos, n = 0;

	for (pos = conn->req_done; pos != conn->req_posted; pos++)
		n += conn->failed || !req_at(conn, pos)->suppressed;
	return n;
}

/* Those in front of @pos have no event: then they must have succeeded silently. */
static void req_prove(struct stress_conn *conn, u32 pos)
{
	struct stress *s = conn->end->w->s;
	struct stress_req *req;

	while (conn->req_done != pos) {
		req = req_at(conn, conn->req_done++);
		if (!req->suppressed || conn->failed)
			stress_bad(s, &s->lost,
				   "the event of a request of kind %d%s, in front of one that came",
				   req->kind, conn->failed ?
				   ", behind a failure" : "");
		else
			stress_count(conn->end->w, STRESS_SUPPRESSED);
		stress_req_over(conn, req, true);
	}
}

/**
 * stress_req_event() - an event of a request has come
 * @conn: whose
 * @kind: of its cookie
 * @slot: of its cookie
 * @status: 0 if it has succeeded
 */
void stress_req_event(struct stress_conn *conn, int kind, int slot, int status)
{
	u32 ahead = (u8)(slot - conn->req_done);
	struct stress *s = conn->end->w->s;
	struct stress_req *req;

	if (ahead >= conn->req_posted - conn->req_done) {
		stress_bad(s, &s->wrong,
			   "an event of kind %d that had come, or of no request",
			   kind);
		return;
	}
	req_prove(conn, conn->req_done + ahead);
	req = req_at(conn, conn->req_done++);
	if (req->kind != kind)
		stress_bad(s, &s->wrong, "kind %d in place of %d", kind,
			   req->kind);
	if (!status && req->suppressed)
		stress_bad(s, &s->wrong,
			   "a success of kind %d that was suppressed", kind);
	if (!status && conn->failed)
		stress_bad(s, &s->wrong, "a success of kind %d behind a failure",
			   kind);
	if (status)
		conn->failed = true;
	stress_req_over(conn, req, !status);
}
