/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kdapl costs beside raw verbs. Each row does the same work twice on one
 * device: raw.c as a careful consumer of verbs would write it, kdapl.c through
 * the API. Loops that are measured call what they measure directly; that is why
 * they stand in both files.
 */
#ifndef _BENCH_H
#define _BENCH_H

#include <linux/socket.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>

#include <dat/kdat.h>

struct rdma_cm_id;
struct task_struct;

enum {
	BENCH_DEPTH = 128,	/* work requests of each direction */
	BENCH_QLEN = 256,	/* events or completions of a queue */
	BENCH_RECVS = 64,	/* receives that are always posted */
	BENCH_MSG = 64,		/* bytes of a message */
	BENCH_WAITING = 16,	/* completions that wait for a dequeue */
	BENCH_CALLS = 64,	/* calls in one timed section */
	/*
	 * Ping-pongs in one, polled: so few that most passes, and so their median,
	 * have no tick of the clock. By upcall: enough for the scheduler to settle.
	 */
	BENCH_POLLED = 25,
	BENCH_ROUNDS = 200,
	BENCH_PORT = 20190,
	BENCH_WARM_UP = 2,	/* passes that do not count */
	BENCH_PASSES = 7,	/* passes that do */
};

/**
 * struct bench_pass - one pass over a row
 * @small: a few repetitions only, for a profile
 * @insns: OUT: guest instructions of all timed sections
 * @ops: OUT: what they did, in units of the row
 */
struct bench_pass {
	bool small;
	u64 insns;
	u32 ops;
};

/* What became of BENCH_PASSES passes. */
struct bench_figure {
	u64 median;
	u64 least;
	u64 most;
};

/* What a consumer remembers of a request: the completion's wr_id points here. */
struct raw_wr {
	struct raw_end *end;
	u64 cookie;
	u32 len;
};

/* One end of a connection on raw verbs. */
struct raw_end {
	struct ib_qp *qp;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct raw_wr *send_wr;
	struct raw_wr *recv_wr;
	u32 send_head;
	u32 recv_head;
	bool signalled;		/* the completion handler was called */
	wait_queue_head_t wait;
	void (*handler)(struct raw_end *end);	/* instead of the wake-up */
	void *data;
};

struct raw {
	struct rdma_cm_id *id;	/* holds the device */
	struct ib_pd *pd;
	void *buf;
	u64 dma;
	struct ib_sge send_sge;
	struct ib_sge recv_sge;
	spinlock_t lock;	/* what a ULP would arm under */
	struct ib_wc wc[BENCH_WAITING];
	struct raw_end a;
	struct raw_end b;
};

/* One end of a connection through kdapl. */
struct kd_end {
	struct dat_ep *ep;
	struct dat_evd *send_evd;
	struct dat_evd *recv_evd;
	bool signalled;		/* the upcall was made */
	wait_queue_head_t wait;
	void (*handler)(struct kd_end *end);	/* instead of the wake-up */
	void *data;
};

struct kd {
	struct sockaddr_storage addr;
	struct dat_ia *ia;
	struct dat_evd *async_evd;
	struct dat_evd *conn_evd;
	struct dat_pz *pz;
	struct dat_psp *psp;
	struct dat_lmr *lmr;
	void *buf;
	struct dat_lmr_triplet send_iov;
	struct dat_lmr_triplet recv_iov;
	struct dat_event events[BENCH_WAITING];
	struct kd_end a;
	struct kd_end b;
};

/* main.c */
u64 bench_begin(void);
void bench_end(struct bench_pass *pass, u64 begin);
/* Until nothing moves any more: idle time costs nothing here. */
void bench_settle(void);
/* The allocator of packets is in a state that lasts, and is always the same. */
int bench_settle_slabs(void);
__printf(1, 2) void bench_say(const char *fmt, ...);
/* Sorts @passes. */
void bench_figure(struct bench_figure *figure, u64 passes[BENCH_PASSES]);
/* A figure that has no raw side; above @budget, if that is not 0, it is too much. */
void bench_fact(const char *key, const struct bench_figure *figure, u64 budget,
		const char *what);

/* raw.c */
int raw_open(struct raw *raw, const struct sockaddr_storage *addr);
void raw_close(struct raw *raw);
int raw_post_send(struct raw *raw, struct raw_end *end);
int raw_post_recv(struct raw *raw, struct raw_end *end);

/* raw_rows.c */
int raw_arm(struct ib_cq *cq);
int raw_row_batch(struct raw *raw, struct bench_pass *pass);
int raw_row_single(struct raw *raw, struct bench_pass *pass);
int raw_row_empty(struct raw *raw, struct bench_pass *pass);
int raw_row_enable(struct raw *raw, struct bench_pass *pass);
int raw_row_send(struct raw *raw, struct bench_pass *pass);
int raw_row_recv(struct raw *raw, struct bench_pass *pass);
int raw_row_polled(struct raw *raw, struct bench_pass *pass);
int raw_row_upcall(struct raw *raw, struct bench_pass *pass);

/* kdapl.c */
int kd_open(struct kd *kd, const struct sockaddr_storage *addr,
	    const char *name);
void kd_close(struct kd *kd);
int kd_ep(struct kd *kd, struct kd_end *end);
int kd_expect(struct dat_evd *evd, enum dat_event_number number,
	      struct dat_event *event);
int kd_connect(struct kd *kd, struct dat_ep *from, struct dat_ep *to);
int kd_post_send(struct kd *kd, struct kd_end *end);
int kd_post_recv(struct kd *kd, struct kd_end *end);
int kd_enable(struct kd_end *end);
int kd_disable(struct kd_end *end);
int kd_row_batch(struct kd *kd, struct bench_pass *pass);
int kd_row_single(struct kd *kd, struct bench_pass *pass);
int kd_row_empty(struct kd *kd, struct bench_pass *pass);
int kd_row_enable(struct kd *kd, struct bench_pass *pass);
int kd_row_busy(struct kd *kd, struct bench_pass *pass);
int kd_row_send(struct kd *kd, struct bench_pass *pass);
int kd_row_recv(struct kd *kd, struct bench_pass *pass);
int kd_row_polled(struct kd *kd, struct bench_pass *pass);
int kd_row_upcall(struct kd *kd, struct bench_pass *pass);

/* mem.c */
int raw_row_fmr(struct raw *raw, struct bench_pass *pass);
int kd_row_fmr(struct kd *kd, struct bench_pass *pass);
int kd_row_pool(struct kd *kd, struct bench_pass *pass);
void raw_mem_close(struct raw *raw);
void kd_mem_close(void);

/* wake.c: what it takes to wake a consumer */
int wake_run(struct raw *raw, struct kd *kd);

/* memory.c: what idle objects hold */
int memory_run(struct raw *raw, struct kd *kd);

/* scale.c: connections, many EVDs */
int scale_run(struct kd *kd);

#endif /* _BENCH_H */
