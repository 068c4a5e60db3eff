/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One side of a connection in a test: an IA and what hangs from it. It polls its
 * EVDs, so nothing here depends on upcalls.
 */
#ifndef _VMTEST_SIDE_H
#define _VMTEST_SIDE_H

#include <linux/socket.h>
#include <linux/types.h>

#include <dat/kdat.h>

struct vmtest;

enum {
	SIDE_BUF = 4096,	/* bytes */
	SIDE_TIMEOUT_MS = 10000,
};

/**
 * struct side - see above
 * @addr: its IP address
 * @conn: EVD of connections and of requests for them
 * @recv: EVD of receives; with a merged side the same as @conn
 * @request: EVD of requests; likewise
 */
struct side {
	struct sockaddr_storage addr;
	struct dat_ia *ia;
	struct dat_evd *async_evd;
	struct dat_pz *pz;
	struct dat_evd *conn;
	struct dat_evd *recv;
	struct dat_evd *request;
	void *buf;
	struct dat_lmr *lmr;
	u32 lkey;
	bool iwarp;
};

int side_open(struct side *side, const char *addr, int qlen, bool merged);
void side_close(struct side *side);
/* Both, from the arguments near= and far=, with a result if it fails. */
bool sides_open(struct vmtest *t, struct side *near, struct side *far,
		int qlen, bool merged);

int side_ep(struct side *side, int recvs, int requests, struct dat_ep **ep);
int side_post_recv(struct side *side, struct dat_ep *ep, u64 cookie);
int side_post_send(struct side *side, struct dat_ep *ep, u64 cookie);
int side_connect(struct side *side, struct dat_ep *ep, const struct side *to,
		 u64 port, u32 ms, const void *pdata, int size);

/* The next event within so many milliseconds: 0 or -ETIMEDOUT. */
int side_wait(struct dat_evd *evd, struct dat_event *event, unsigned int ms);
/* The next event must be this one: 0, -ETIMEDOUT, or -EPROTO for another. */
int side_expect(struct dat_evd *evd, enum dat_event_number number,
		struct dat_event *event);
/* Connects two EPs through @psp, which lives on @far->conn. */
int side_pair(struct side *near, struct dat_ep *near_ep, struct side *far,
	      struct dat_ep *far_ep, u64 port);

#endif /* _VMTEST_SIDE_H */
