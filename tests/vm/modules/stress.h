/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything at random from a few threads. Each thread is a consumer of its own:
 * it opens an IA on both devices, connects to any thread's, sends, reads, writes,
 * shows memory, closes, frees, and now and then deletes a device under all of
 * them. What is owed to it (an event for each request, one end for each
 * connection, a wake-up for what came while it slept) it counts.
 */
#ifndef _VMTEST_STRESS_H
#define _VMTEST_STRESS_H

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <dat/kdat.h>
#include <dat/kdat_fmr_pool.h>

struct stress;
struct stress_worker;
struct vmtest;

enum {
	STRESS_PORT = 21000,	/* of thread 0; the others' follow */
	STRESS_THREADS = 4,
	STRESS_CONNS = 6,	/* of an IA */
	STRESS_DEPTH = 12,	/* requests, and receives, of an EP */
	STRESS_MSG = 256,	/* bytes of a message at most */
	STRESS_AREA = 8192,	/* bytes shown, and room to read them into */
	STRESS_ATOMIC_SIZE = 8,
	/* Of a connection: messages, what it reads, what an atomic operation answers. */
	STRESS_CONN_BUF = 2 * STRESS_DEPTH * STRESS_MSG + STRESS_AREA +
			  STRESS_ATOMIC_SIZE,
	STRESS_SRQ_DEPTH = 48,	/* receives of the SRQ of an IA */
	STRESS_REQS = 64,	/* requests not known to be done, at most */
};

/* What is counted. */
enum stress_count {
	STRESS_OPEN,
	STRESS_CLOSE_GRACEFUL,
	STRESS_CLOSE_ABRUPT,
	STRESS_REMOVAL,
	STRESS_ORPHAN,
	STRESS_LISTEN,
	STRESS_CONNECT,
	STRESS_REQUEST,
	STRESS_ACCEPT,
	STRESS_REJECT,
	STRESS_ESTABLISHED,
	STRESS_REFUSED,
	STRESS_DISCONNECTED,
	STRESS_BROKEN,
	STRESS_GRACEFUL,
	STRESS_ABRUPT,
	STRESS_FREE,
	STRESS_RESET,
	STRESS_SEND,
	STRESS_RECEIVE,
	STRESS_READ,
	STRESS_WRITE,
	STRESS_ATOMIC,
	STRESS_SUPPRESSED,
	STRESS_SRQ,
	STRESS_LMR,
	STRESS_FMR,
	STRESS_POOL,
	STRESS_RMR,
	STRESS_VERIFIED,
	STRESS_FLUSHED,
	STRESS_FAILED,
	STRESS_GAVE_UP,
	STRESS_NAP,
	STRESS_WAKEUP,
	STRESS_COUNTS,
};

/* Faults of our own, to see that they are counted. */
enum stress_fault {
	STRESS_FAULT_NONE,
	STRESS_FAULT_EVENT,	/* one event is thrown away */
	STRESS_FAULT_WAKEUP,	/* upcalls wake nobody */
	STRESS_FAULT_LEAK,	/* one LMR is not freed */
	STRESS_FAULT_STUCK,	/* one thread sleeps */
};

enum stress_state {
	CONN_NONE,		/* no EP */
	CONN_IDLE,		/* receives posted */
	CONN_CONNECTING,
	CONN_ACCEPTING,
	CONN_CONNECTED,
	CONN_CLOSING,
	CONN_ENDED,		/* told; requests may still be owed */
	CONN_STATES,
};

/* How a region is shown to the peer. */
enum stress_how {
	SHOW_LMR,
	SHOW_FMR,
	SHOW_POOL,
	SHOW_RMR,
	SHOW_WAYS,
};

enum stress_shown_state {
	SHOWN_NOT,
	SHOWN_REGISTERING,
	SHOWN_TOLD,
	SHOWN_HIDING,
};

struct stress_shown {
	enum stress_shown_state state;
	enum stress_how how;
	u8 *mem;
	u32 size;
	u8 seed;
	u64 addr;
	u32 rkey;
	bool atomic;		/* with the right to do that */
	bool registered;
	unsigned long since;	/* the peer was told */
	struct dat_lmr *lmr;	/* SHOW_LMR: as long as it is shown */
	struct dat_lmr *fmr;	/* made once for an EP */
	struct dat_lmr *whole;	/* what the RMR shows parts of */
	u32 whole_key;
	struct dat_rmr *rmr;
	struct dat_fmr *mapped;
};

/* What the peer has shown us: read it, check it, write it, change a number, say so. */
enum stress_job_state {
	JOB_NONE,
	JOB_READ_DUE,
	JOB_READING,
	JOB_WRITE_DUE,
	JOB_WRITING,
	JOB_ATOMIC_DUE,
	JOB_ATOMIC,
	JOB_ANSWER_DUE,
};

struct stress_job {
	enum stress_job_state state;
	u64 addr;
	u32 rkey;
	u32 size;
	u8 seed;
	bool atomic;		/* may be */
	bool changed;		/* is */
	u32 at;			/* the number that was changed */
	u64 number;		/* what it is now */
};

struct stress_req {
	u8 kind;
	u8 slot;		/* KIND_SEND: of the buffer */
	bool suppressed;
};

/**
 * struct stress_conn - an EP and what goes on with it
 * @srq: it receives from the SRQ of its IA
 * @gen: in the cookie of each request: those of the EP before do not count
 * @req_posted: requests; @req_done: those known to be done, in this order
 * @req: those between the two
 * @failed: a request has, so nothing behind it succeeds
 * @prove: somebody waits for a suppressed request: another one is to follow
 * @pooled: the pool has posted requests of its own, and may do so again
 * @old: what an atomic operation must answer
 * @seq_out: of the next message; @seq_in: of the one that must come next
 * @slots: parts of the buffer that a send has
 * @until: when somebody's patience with the state ends
 */
struct stress_conn {
	struct stress_end *end;
	struct dat_ep *ep;
	enum stress_state state;
	bool srq;
	u32 gen;
	u32 req_posted;
	u32 req_done;
	struct stress_req req[STRESS_REQS];
	bool failed;
	bool prove;
	bool pooled;
	u64 old;
	u32 recv_posted;
	u32 recv_done;
	u32 seq_out;
	u32 seq_in;
	unsigned long slots;
	unsigned long until;
	u8 *buf;
	struct stress_job job;
	struct stress_shown shown;
};

enum {
	EVD_ASYNC,
	EVD_CONN,
	EVD_RECV,
	EVD_REQ,
	EVDS,
};

struct stress_evd {
	struct stress_end *end;
	struct dat_evd *evd;
	bool notified;
};

/**
 * struct stress_end - one opening of an IA
 * @node: in the list of orphans
 * @serial: of the opening, in the cookies of the SRQ
 * @gone: its device is
 * @pool_atomic: what the pool maps is shown with the right to change it at once
 * @srq_posted: its buffers, from the post to the event
 * @srq_taken: those whose events went along with an EP
 * @srq_armed: so often we have asked for an event
 */
struct stress_end {
	struct list_head node;
	struct stress_worker *w;
	int dev;
	u32 serial;
	bool gone;
	struct dat_ia *ia;
	struct dat_pz *pz;
	struct dat_psp *psp;
	struct dat_fmr_pool *pool;
	bool pool_atomic;
	struct dat_srq *srq;
	DECLARE_BITMAP(srq_posted, STRESS_SRQ_DEPTH);
	int srq_taken;
	int srq_armed;
	struct stress_evd evd[EVDS];
	u8 *buf;
	struct dat_lmr *lmr;
	u32 lkey;
	struct dat_cr *cr;	/* not yet answered */
	unsigned long cr_until;
	struct stress_conn conn[STRESS_CONNS];
};

struct stress_worker {
	struct stress *s;
	int id;
	struct rnd_state rnd;
	struct task_struct *task;
	struct completion done;
	bool finished;
	wait_queue_head_t wait;
	/* For whoever looks whether it is stuck. */
	const char *doing;
	unsigned long since;
	bool told;
	struct stress_end *end[2];
	struct list_head orphans;
	int num_orphans;
	u32 opened;
	struct dat_event event;
};

/**
 * struct stress - one run
 * @removals: it ends when so many are over (0: by time only)
 * @removal_gap: jiffies between two of them at least
 * @atomics: the devices have them
 * @long_enough: for removals, and all that comes of them, to be sure to happen
 * @stuck_ms: no call may take longer
 * @owed_ms: no event of kdapl's may take longer
 * @registering: memory that is just being registered or hidden
 * @caught: how many EPs were in a state when their device was deleted
 * @wrong: what must not be, and is none of the other three
 */
struct stress {
	struct vmtest *t;
	u32 seed;
	u32 removals;
	u32 removal_gap;
	u32 stuck_ms;
	u32 owed_ms;
	enum stress_fault fault;
	atomic_t faulted;
	bool stop;
	const char *transport;
	bool atomics;
	bool long_enough;
	struct sockaddr_storage addr[2];
	char addr_text[2][64];
	struct stress_worker *workers;
	atomic64_t count[STRESS_COUNTS];
	atomic_t census[2][CONN_STATES];
	atomic_t registering[2];
	u64 caught[CONN_STATES];
	u64 caught_registering;
	s64 removal_max_ms;
	atomic_t lost;
	atomic_t leaked;
	atomic_t stuck;
	atomic_t wrong;
	struct mutex say_lock;	/* protects said, and the report meanwhile */
	int said;
	struct mutex remover;	/* held over a removal: one at a time */
	unsigned long next_removal;
};

static inline u32 stress_random(struct stress_worker *w, u32 below)
{
	return prandom_u32_state(&w->rnd) % below;
}

static inline void stress_count(struct stress_worker *w, enum stress_count what)
{
	atomic64_inc(&w->s->count[what]);
}

/* What the thread is about to do: it must come back from that in time. */
static inline void stress_doing(struct stress_worker *w, const char *what)
{
	WRITE_ONCE(w->since, jiffies);
	WRITE_ONCE(w->doing, what);
}

/* stress.c */
__printf(2, 3) void stress_say(struct stress *s, const char *fmt, ...);
/* Counts one in lost, leaked, stuck or wrong, and says why. */
__printf(3, 4)
void stress_bad(struct stress *s, atomic_t *what, const char *fmt, ...);
/* True once, if this fault was asked for. */
bool stress_fault(struct stress *s, enum stress_fault fault);

/* stress_end.c */
void stress_upcall(void *data, const struct dat_event *event, bool more);
int stress_end_open(struct stress_worker *w, int dev);
void stress_end_listen(struct stress_end *end);
void stress_end_close(struct stress_end *end, bool graceful);
bool stress_removal_begin(struct stress_worker *w);
void stress_removal_end(struct stress_worker *w);

/* stress_conn.c */
void stress_conn_set(struct stress_conn *conn, enum stress_state state);
int stress_conn_create(struct stress_conn *conn);
void stress_conn_connect(struct stress_conn *conn);
void stress_conn_accept(struct stress_conn *conn, struct dat_cr *cr);
void stress_conn_close(struct stress_conn *conn, bool graceful);
void stress_conn_free(struct stress_conn *conn);
void stress_conn_reset(struct stress_conn *conn);
/* Deadlines, and what is due. */
void stress_conn_look(struct stress_conn *conn);
/* Whether something is owed that needs nobody's action. */
bool stress_conn_owed(struct stress_conn *conn);
bool stress_drain_evd(struct stress_end *end, int which);
bool stress_drain(struct stress_end *end);
void stress_check_gone(struct stress_end *end);
/* An errno that a call may have for the state of things; else it is wrong. */
bool stress_may_fail(struct stress_conn *conn, const char *call, int ret);

/* stress_msg.c */
u64 stress_cookie(struct stress_conn *conn, int kind, int slot);
bool stress_post_recv(struct stress_conn *conn, int slot);
bool stress_send_plain(struct stress_conn *conn, bool may_suppress);
bool stress_send_show(struct stress_conn *conn);
void stress_dto(struct stress_end *end, const struct dat_event *event);
void stress_job_look(struct stress_conn *conn);
void stress_received(struct stress_conn *conn, u8 *buf, u32 length);
void stress_req_over(struct stress_conn *conn, const struct stress_req *req,
		     bool success);

/* stress_req.c */
bool stress_req_room(const struct stress_conn *conn);
union dat_context stress_req_cookie(struct stress_conn *conn, int kind);
void stress_req_posted(struct stress_conn *conn, int kind, int slot,
		       bool suppressed);
void stress_req_refused(struct stress_conn *conn, const char *call, int ret);
u32 stress_req_owed(struct stress_conn *conn);
void stress_req_event(struct stress_conn *conn, int kind, int slot, int status);

/* stress_srq.c */
int stress_srq_open(struct stress_end *end);
void stress_srq_close(struct stress_end *end);
int stress_srq_outstanding(struct stress_end *end);
void stress_srq_check(struct stress_end *end);
void stress_srq_act(struct stress_end *end);
void stress_srq_low(struct stress_end *end, const struct dat_event *event);
void stress_srq_dto(struct stress_end *end, const struct dat_event *event);

/* stress_mem.c */
void stress_show(struct stress_conn *conn, enum stress_how how);
void stress_show_registered(struct stress_conn *conn, int kind);
void stress_show_look(struct stress_conn *conn);
void stress_show_answered(struct stress_conn *conn, bool changed, u32 at,
			  u64 number);
void stress_shown_set(struct stress_conn *conn, enum stress_shown_state state);
/* With the EP's requests home: all of it is given back. */
void stress_show_end(struct stress_conn *conn);
void stress_fill(u8 *buf, u32 size, u8 seed);
bool stress_is(const u8 *buf, u32 size, u8 seed);
/* What stress_fill() puts there, to be read as a number. */
u64 stress_number(u32 at, u8 seed);

/* stress_act.c */
int stress_worker_run(void *data);

enum {
	KIND_SEND = 1,
	KIND_RECV,
	KIND_READ,
	KIND_WRITE,
	KIND_REGISTER,
	KIND_HIDE,
	KIND_ATOMIC,
	KIND_SRQ,
};

#endif /* _VMTEST_STRESS_H */
