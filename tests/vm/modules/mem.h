/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of one side that the other is shown, in every way there is. */
#ifndef _VMTEST_MEM_H
#define _VMTEST_MEM_H

#include <dat/kdat.h>
#include <dat/kdat_fmr_pool.h>

#include "side.h"

struct vmtest;

#define MEM_LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | \
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define MEM_BOTH	(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

enum {
	MEM_PORT = 20170,
	MEM_DEPTH = 16,
	MEM_GUARD = 4096,	/* bytes before and behind what is registered */
};

/* The ways. */
enum mem_how {
	MEM_VIRTUAL,
	MEM_VMALLOC,
	MEM_PHYSICAL,
	MEM_VAR_PAGES,
	MEM_PLATFORM,
	MEM_IA,
	MEM_LMR,
	MEM_FMR,
	MEM_POOL,
	MEM_RMR,
	MEM_WAYS,
};

const char *mem_name(enum mem_how how);

/*
 * struct mem_pair - near reads and writes what far shows
 * @near: its buffer is @local
 * @far: see struct mem_shown
 */
struct mem_pair {
	struct side near;
	struct side far;
	struct dat_psp *psp;
	struct dat_ep *near_ep;
	struct dat_ep *far_ep;
	u8 *local;
	struct dat_lmr *local_lmr;
	u32 local_key;
	u32 size;		/* of @local, and the most that is shown */
	u8 *area;		/* if not NULL, what is shown is there */
	bool siw;		/* its faults are known, and looked for */
};

/* false, and a result that says why, if it cannot be had. */
bool mem_pair_open(struct vmtest *t, struct mem_pair *p, u32 size);
/* Connects two new EPs; the old ones are freed. */
int mem_pair_connect(struct mem_pair *p);
/* Two more EPs, connected, beside those of @p. */
int mem_pair_another(struct mem_pair *p, struct dat_ep **near_ep,
		     struct dat_ep **far_ep);
/*
 * A message from far to near, behind what far has posted: what it registers there
 * is in force when near has the message.
 */
int mem_tell(struct mem_pair *p);
void mem_pair_close(struct mem_pair *p);

/*
 * struct mem_shown - a region, with guard bytes around it
 * @data: its first byte
 * @addr: what the peer calls that byte
 */
struct mem_shown {
	enum mem_how how;
	u8 *alloc;
	u8 *data;
	u32 length;
	u32 offset;		/* of @data in its page */
	u64 addr;
	u32 rkey;
	struct dat_lmr *lmr;
	struct dat_lmr *lmr2;
	struct dat_rmr *rmr;
	struct dat_fmr_pool *pool;
	struct dat_fmr *fmr;
};

/* 0, or the errno of the call that refused it; nothing is left then. */
int mem_show(struct mem_pair *p, struct mem_shown *m, enum mem_how how,
	     u32 offset, u32 length, enum dat_mem_priv_flags priv);
/* The same; false, and a result that says why, if it is refused. */
bool mem_shown(struct vmtest *t, struct mem_pair *p, struct mem_shown *m,
	       enum mem_how how, u32 offset, u32 length,
	       enum dat_mem_priv_flags priv);
/* The peer cannot reach it when this returns; the memory stays. */
int mem_hide(struct mem_pair *p, struct mem_shown *m);
void mem_free(struct mem_pair *p, struct mem_shown *m);

/* An RDMA of @length bytes at @addr; the status of its event, or an errno. */
int mem_rdma(struct mem_pair *p, bool read, u64 addr, u32 rkey, u32 offset,
	     u32 length);
void mem_fill(u8 *buf, u32 length, u8 seed);
bool mem_is(const u8 *buf, u32 length, u8 seed);
/* The status of the next event of near's requests, or -ETIMEDOUT. */
int mem_done(struct mem_pair *p);
/* The completion of a request of kdapl's on the far EP: 0 or an errno. */
int mem_far_done(struct mem_pair *p);
/* Throws away what is queued. */
void mem_drain(struct dat_evd *evd);
/* The guard bytes are what they were. */
bool mem_guarded(const struct mem_shown *m);

#endif /* _VMTEST_MEM_H */
