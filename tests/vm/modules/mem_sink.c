// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA reads into a window of the reader's.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "mem.h"
#include "result.h"
#include "tests.h"

/* struct sink - a window of near's onto its own buffer */
struct sink {
	struct dat_rmr *rmr;
	struct dat_rmr_triplet part;
};

static int sink_bind(struct mem_pair *p, struct sink *s, u32 offset, u32 length,
		     enum dat_mem_priv_flags priv)
{
	struct dat_lmr_triplet local = {
		.virtual_address = (uintptr_t)p->local + offset,
		.segment_length = length,
		.lmr_context = p->local_key,
	};

	s->part.virtual_address = local.virtual_address;
	s->part.segment_length = length;
	return dat_rmr_bind(s->rmr, p->local_lmr, &local, priv, DAT_VA_TYPE_VA,
			    p->near_ep, (union dat_context){}, 0,
			    &s->part.rmr_context);
}

/* What the call says; its event is to be waited for. */
static int sink_read(struct mem_pair *p, const struct dat_rmr_triplet *part,
		     const struct mem_shown *m, u32 length)
{
	struct dat_rmr_triplet remote = {
		.virtual_address = m->addr,
		.segment_length = length,
		.rmr_context = m->rkey,
	};

	return dat_ep_post_rdma_read_to_rmr(p->near_ep, part,
					    (union dat_context){}, &remote, 0);
}

/* Bound and read into in one go: the read stands behind the bind. */
static void sink_one(struct vmtest *t, struct mem_pair *p, struct sink *s,
		     struct mem_shown *m, u32 offset, u32 length)
{
	u32 end = offset + length;
	int ret;

	memset(p->local, 0x33, end + MEM_GUARD);
	ret = sink_bind(p, s, offset, length, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	if (!ret) {
		ret = sink_read(p, &s->part, m, length);
		ret = mem_done(p) ?: ret ?: mem_done(p);
	}
	vmtest_check(t, !ret && mem_is(p->local + offset, length, 1) &&
		     !memchr_inv(p->local, 0x33, offset) &&
		     !memchr_inv(p->local + end, 0x33, MEM_GUARD),
		     "%u bytes into a window at offset %u (status %d)", length,
		     offset, ret);
}

static void sink_refused(struct vmtest *t, struct mem_pair *p, struct sink *s,
			 struct mem_shown *m)
{
	struct dat_rmr_triplet part;

	vmtest_equal(t, sink_bind(p, s, 0, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		     ?: mem_done(p), 0, "64 bytes");
	part = s->part;
	/* As without a window: see mem_tests.c. */
	vmtest_equal(t, sink_read(p, &part, m, 0) ?: mem_done(p),
		     p->siw ? -EOPNOTSUPP : 0, "none into them");
	vmtest_equal(t, sink_read(p, &part, m, 65), -EMSGSIZE, "65 into them");
	part.virtual_address++;
	vmtest_equal(t, sink_read(p, &part, m, 64), -EINVAL, "over the end");
	part = s->part;
	part.rmr_context++;
	vmtest_equal(t, sink_read(p, &part, m, 8), -EINVAL, "another key");

	vmtest_equal(t, sink_bind(p, s, 0, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG)
		     ?: mem_done(p), 0, "64 bytes to be read from");
	vmtest_equal(t, sink_read(p, &s->part, m, 8), -EACCES,
		     "without the privilege");
	part = s->part;
	vmtest_equal(t, sink_bind(p, s, 0, 0, 0) ?: mem_done(p), 0, "unbound");
	vmtest_equal(t, sink_read(p, &part, m, 8), -EINVAL, "when unbound");
}

/**
 * vmtest_mem_sink() - RDMA reads into windows
 * @t: the run
 */
void vmtest_mem_sink(struct vmtest *t)
{
	static const u32 offsets[] = { 0, 100, PAGE_SIZE - 1 };
	const u32 lengths[] = { 1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1,
				3 * PAGE_SIZE + 17 };
	struct sink s = {};
	struct mem_shown m;
	struct mem_pair p;
	int i, j;

	if (!mem_pair_open(t, &p, 8 * PAGE_SIZE))
		return;
	if (!mem_shown(t, &p, &m, MEM_VIRTUAL, 0, 4 * PAGE_SIZE,
		       DAT_MEM_PRIV_REMOTE_READ_FLAG))
		goto out_close;
	if (vmtest_equal(t, dat_rmr_create(p.near.pz, &s.rmr), 0, "a window")) {
		for (i = 0; i < ARRAY_SIZE(offsets); i++)
			for (j = 0; j < ARRAY_SIZE(lengths); j++)
				sink_one(t, &p, &s, &m, offsets[i], lengths[j]);
		sink_refused(t, &p, &s, &m);
		/* The connection is none the worse for that. */
		sink_one(t, &p, &s, &m, 7, 1000);
		vmtest_equal(t, dat_rmr_free(s.rmr), 0, "the window can go");
	}
	mem_free(&p, &m);
out_close:
	mem_pair_close(&p);
}
