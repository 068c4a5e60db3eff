/* SPDX-License-Identifier: GPL-2.0 */
/* A session: one client or one server, its objects and its thread. */
#ifndef _RPING_SESSION_H
#define _RPING_SESSION_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <dat/kdat.h>

#include "evd.h"
#include "mem.h"
#include "param.h"
#include "protocol.h"

struct dentry;
struct net;
struct seq_file;
struct task_struct;

enum {
	RPING_RECVS = 2,	/* posted at any time; the peer sends one */
	/* A message, and what shows or hides two buffers, a window with two each. */
	RPING_REQUESTS = 8,
	RPING_EVD_QLEN = 32,
	RPING_EVDS = 3,
};

/* The buffers of the control messages: two for each direction. */
struct rping_control {
	struct rping_adv recv[RPING_RECVS];
	struct rping_adv source;	/* client: offers; server: go ahead */
	struct rping_adv sink;
};

/*
 * struct rping_session - see the top of session.c
 *
 * The thread alone touches what stands behind @thread, except that readers of
 * the report look at numbers.
 */
struct rping_session {
	struct list_head list;
	struct rping_param param;
	struct dentry *file;
	wait_queue_head_t wait;
	bool stop;			/* asked for; set once, by anybody */
	struct task_struct *thread;

	bool stopping;			/* @stop was acted upon */
	bool done;			/* nothing more will happen */
	bool finished;			/* and all is cleaned up */
	int result;			/* 0 or a negative errno */
	const char *text;		/* more about @result, or NULL */
	u64 pings;
	u64 verified;
	u32 connections;

	struct dat_ia *ia;
	struct dat_evd *async_evd;	/* kdapl's own, goes with the IA */
	struct dat_pz *pz;
	struct dat_fmr_pool *pool;	/* param.mem is RPING_MEM_POOL */
	struct rping_evd evds[RPING_EVDS];
	unsigned int nr_evds;
	struct rping_evd *conn;		/* those of evds[] that carry ... */
	struct rping_evd *recv;
	struct rping_evd *request;
	struct dat_ep *ep;
	struct dat_psp *psp;
	struct dat_cr *cr;		/* waits for the EP to be free */
	struct rping_mem control;
	struct rping_mem source;	/* pings go out, or come in */
	struct rping_mem sink;		/* client only: they come back here */

	enum rping_step step;
	u32 pending;			/* enum rping_pending */
	u64 ping;			/* number of the one in hand */
	struct rping_adv peer;		/* the peer's last offer */
	u32 hiding;			/* client: invalidations to come home */
	u32 len;			/* server: bytes of the ping in hand */
	bool ended;			/* the terminal event was dequeued */
	unsigned long ended_at;		/* jiffies */
};

struct rping_session *rping_session_start(const struct rping_param *param);
void rping_session_stop(struct rping_session *s);
void rping_session_destroy(struct rping_session *s);
void rping_session_fail(struct rping_session *s, int result, const char *text);
void rping_session_show(struct rping_session *s, struct seq_file *m);

#endif /* _RPING_SESSION_H */
