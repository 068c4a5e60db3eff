/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of a session, and the ways to show it to the peer. */
#ifndef _RPING_MEM_H
#define _RPING_MEM_H

#include <linux/types.h>

#include <dat/kdat.h>
#include <dat/kdat_fmr_pool.h>

#include "param.h"

struct rping_session;

/**
 * struct rping_mem - a buffer
 * @buf: the memory; NULL: there is none
 * @how: how the peer gets to it
 * @priv: what the peer may do
 * @lmr: for local use, for the peer, or what windows and registrations are made of
 * @rmr: a window onto it
 * @fmr: the mapping of a pool, while it is mapped
 * @lkey: for local segments
 * @rkey: for the peer, while it is shown
 * @addr: of the first byte, for both
 * @size: bytes
 */
struct rping_mem {
	void *buf;
	enum rping_mem_how how;
	enum dat_mem_priv_flags priv;
	struct dat_lmr *lmr;
	struct dat_rmr *rmr;
	struct dat_fmr *fmr;
	u32 lkey;
	u32 rkey;
	u64 addr;
	u32 size;
};

/* One that is registered for good. */
int rping_mem_create(struct rping_session *s, struct rping_mem *mem, u32 size,
		     enum dat_mem_priv_flags privileges);
/* One that the peer sees between rping_mem_show() and rping_mem_hide(). */
int rping_mem_create_shown(struct rping_session *s, struct rping_mem *mem,
			   u32 size, enum dat_mem_priv_flags remote);
void rping_mem_destroy(struct rping_mem *mem);

/*
 * Posts what makes the key good, in front of the message that tells the peer; and
 * what ends it. Both return 0 or a negative errno; the second adds to
 * s->hiding what events it owes.
 */
int rping_mem_show(struct rping_session *s, struct rping_mem *mem);
int rping_mem_hide(struct rping_session *s, struct rping_mem *mem);

int rping_mem_create_pool(struct rping_session *s);

#endif /* _RPING_MEM_H */
