// SPDX-License-Identifier: GPL-2.0
/*
 * Memory: what the peer may do with it, to the byte, and what it may not.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mem.h"
#include "result.h"
#include "tests.h"

/* Whether the way knows regions that start inside of a page, or end there. */
static bool whole_pages(enum mem_how how)
{
	return how == MEM_POOL;
}

static bool page_start(enum mem_how how)
{
	return how == MEM_PHYSICAL || how == MEM_VAR_PAGES || how == MEM_POOL;
}

/* Reads all of it, then writes all of it, and compares every byte. */
static bool both_ways(struct mem_pair *p, struct mem_shown *m, int *ret)
{
	memset(p->local, 0, m->length + MEM_GUARD);
	*ret = mem_rdma(p, true, m->addr, m->rkey, 0, m->length);
	if (*ret || !mem_is(p->local, m->length, 1) ||
	    memchr_inv(p->local + m->length, 0, MEM_GUARD))
		return false;
	mem_fill(p->local, m->length, 99);
	*ret = mem_rdma(p, false, m->addr, m->rkey, 0, m->length);
	if (*ret)
		return false;
	/* That the write is placed a read behind it shows. */
	memset(p->local, 0, m->length);
	*ret = mem_rdma(p, true, m->addr, m->rkey, 0, m->length);
	return !*ret && mem_is(p->local, m->length, 99) &&
	       mem_is(m->data, m->length, 99) && mem_guarded(m);
}

static void one_length(struct vmtest *t, struct mem_pair *p, enum mem_how how,
		       u32 offset, u32 length)
{
	struct mem_shown m;
	bool ok;
	int ret;

	if (!mem_shown(t, p, &m, how, offset, length, MEM_BOTH))
		return;
	ok = both_ways(p, &m, &ret);
	vmtest_check(t, ok, "%s: %u bytes at offset %u (status %d)",
		     mem_name(how), length, offset, ret);
	mem_free(p, &m);
	if (ret)
		vmtest_equal(t, mem_pair_connect(p), 0, "connect again");
}

/**
 * vmtest_mem_kinds() - read and write through every way, at every edge
 * @t: the run
 */
void vmtest_mem_kinds(struct vmtest *t)
{
	static const u32 offsets[] = { 0, 1, 100, 4095 };
	const u32 lengths[] = { 1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1,
				3 * PAGE_SIZE + 17 };
	struct mem_pair p;
	enum mem_how how;
	int i, j;

	if (!mem_pair_open(t, &p, 64 * PAGE_SIZE))
		return;
	for (how = 0; how < MEM_WAYS; how++) {
		if (whole_pages(how)) {
			one_length(t, &p, how, 0, PAGE_SIZE);
			one_length(t, &p, how, 0, 5 * PAGE_SIZE);
			continue;
		}
		for (i = 0; i < ARRAY_SIZE(lengths); i++)
			one_length(t, &p, how, 0, lengths[i]);
		for (j = 1; j < ARRAY_SIZE(offsets) && !page_start(how); j++)
			one_length(t, &p, how, offsets[j], PAGE_SIZE + 1);
	}
	/*
	 * No bytes at all: nothing to be checked, and no harm. siw wants an
	 * entry in every read.
	 */
	if (!p.near.iwarp) {
		vmtest_equal(t, mem_rdma(&p, true, 0, 0, 0, 0), 0,
			     "a read of 0 bytes");
		vmtest_equal(t, mem_rdma(&p, false, 0, 0, 0, 0), 0,
			     "a write of 0 bytes");
	}
	mem_pair_close(&p);
}

/**
 * vmtest_mem_limit() - regions as long as the device takes, and longer
 * @t: the run
 */
void vmtest_mem_limit(struct vmtest *t)
{
	static const enum mem_how ways[] = { MEM_VIRTUAL, MEM_VMALLOC,
					     MEM_PLATFORM, MEM_FMR };
	u64 limit, alignment, least;
	struct mem_shown m;
	struct mem_pair p;
	int i, ret;
	bool ok;

	if (!mem_pair_open(t, &p, 513 * PAGE_SIZE))
		return;
	ret = dat_ia_memtype_hint(p.far.ia, DAT_MEM_TYPE_VIRTUAL, 1ULL << 40,
				  DAT_MEM_OPTIMIZE_DONT_CARE, &limit,
				  &alignment);
	vmtest_equal(t, ret, 0, "a hint");
	vmtest_check(t, limit >= 64 * PAGE_SIZE && limit <= 512 * PAGE_SIZE,
		     "the device takes %llu bytes at a time", limit);
	least = limit - PAGE_SIZE;
	for (i = 0; i < ARRAY_SIZE(ways) && limit <= 512 * PAGE_SIZE; i++) {
		/* A transfer takes seconds on the kernel with KASAN. */
		if (ways[i] == MEM_VIRTUAL) {
			one_length(t, &p, ways[i], 0, least);
			one_length(t, &p, ways[i], 0, limit - 1);
			one_length(t, &p, ways[i], 1, limit - 1);
		}
		one_length(t, &p, ways[i], 0, limit);
		ret = mem_show(&p, &m, ways[i], 0, limit + 1, MEM_BOTH);
		vmtest_equal(t, ret, -EMSGSIZE, "%s: one byte too many",
			     mem_name(ways[i]));
		ret = mem_show(&p, &m, ways[i], 1, limit, MEM_BOTH);
		vmtest_equal(t, ret, -EMSGSIZE, "%s: one page too many",
			     mem_name(ways[i]));
	}
	/* The connection is none the worse for what was refused. */
	ok = mem_shown(t, &p, &m, MEM_VIRTUAL, 0, 100, MEM_BOTH);
	if (ok) {
		ok = both_ways(&p, &m, &ret);
		vmtest_check(t, ok, "the connection lives (status %d)", ret);
		mem_free(&p, &m);
	}
	mem_pair_close(&p);
}

/* What must fail at the peer: the connection ends there, and no byte has moved. */
static void refused(struct vmtest *t, struct mem_pair *p, struct mem_shown *m,
		    bool read, u64 addr, u32 rkey, u32 length, const char *what)
{
	struct dat_event event;
	int status, ret;

	memset(p->local, 0x33, length);
	status = mem_rdma(p, read, addr, rkey, 0, length);
	/*
	 * On iWARP a write is done when it has been sent, and nobody says what
	 * became of it: RFC 5040, section 5.1.
	 */
	vmtest_check(t, status == DAT_DTO_ERR_REMOTE_ACCESS ||
		     status == DAT_DTO_ERR_FLUSHED ||
		     status == DAT_DTO_ERR_REMOTE_RESPONDER ||
		     (!status && !read && p->near.iwarp),
		     "%s: %s: not let in (status %d)", mem_name(m->how), what,
		     status);
	ret = side_wait(p->near.conn, &event, SIDE_TIMEOUT_MS);
	vmtest_check(t, !ret && (event.event_number ==
				 DAT_CONNECTION_EVENT_BROKEN ||
				 event.event_number ==
				 DAT_CONNECTION_EVENT_DISCONNECTED),
		     "%s: %s: the connection breaks", mem_name(m->how), what);
	ret = side_wait(p->far.conn, &event, SIDE_TIMEOUT_MS);
	vmtest_equal(t, ret, 0, "%s: %s: on both ends", mem_name(m->how), what);
	/* Not before: nothing that was under way can come any more. */
	vmtest_check(t, !memchr_inv(p->local, 0x33, length) &&
		     mem_is(m->data, m->length, 1) && mem_guarded(m),
		     "%s: %s: no byte has moved", mem_name(m->how), what);
	vmtest_equal(t, mem_pair_connect(p), 0, "connect again");
}

static bool is_siw(struct side *side)
{
	struct dat_ia_attr *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	bool siw;

	siw = attr && !dat_ia_query(side->ia, NULL, DAT_IA_FIELD_IA_VENDOR_NAME,
				    attr, 0, NULL) &&
	      !strcmp(attr->vendor_name, "siw");
	kfree(attr);
	return siw;
}

/*
 * What siw of 6.1 does with a read of memory that may not be read: it answers, as
 * it looks at no right of that memory at all (Documentation/endpoints.rst). If
 * this fails siw has changed, and refused() is to be asked here too.
 */
static void siw_lets_read(struct vmtest *t, struct mem_pair *p,
			  struct mem_shown *m)
{
	struct dat_event event;
	int status;

	memset(p->local, 0x33, 16);
	status = mem_rdma(p, true, m->addr, m->rkey, 0, 8);
	vmtest_equal(t, status, DAT_DTO_SUCCESS,
		     "%s: siw lets read without the privilege (its fault, known)",
		     mem_name(m->how));
	vmtest_check(t, mem_is(p->local, 8, 1) &&
		     !memchr_inv(p->local + 8, 0x33, 8) && mem_guarded(m),
		     "%s: siw reads what was asked for, and no more",
		     mem_name(m->how));
	vmtest_equal(t, side_wait(p->near.conn, &event, 200), -ETIMEDOUT,
		     "%s: siw lives on with that", mem_name(m->how));
}

static void refused_range(struct vmtest *t, struct mem_pair *p, enum mem_how how)
{
	struct mem_shown m;

	if (!mem_shown(t, p, &m, how, 0, PAGE_SIZE, MEM_BOTH))
		return;
	refused(t, p, &m, true, m.addr + PAGE_SIZE - 7, m.rkey, 8,
		"read across the end");
	refused(t, p, &m, false, m.addr - 1, m.rkey, 8,
		"write across the start");
	mem_free(p, &m);
}

static void refused_key(struct vmtest *t, struct mem_pair *p, enum mem_how how)
{
	struct mem_shown m;
	u32 key;

	if (!mem_shown(t, p, &m, how, 0, PAGE_SIZE, MEM_BOTH))
		return;
	key = m.rkey;
	refused(t, p, &m, true, m.addr, (key & ~0xff) | ((key - 1) & 0xff), 8,
		"with the key of another use");
	vmtest_equal(t, mem_hide(p, &m), 0, "%s: hide", mem_name(how));
	refused(t, p, &m, true, m.addr, key, 8, "read when it is hidden");
	refused(t, p, &m, false, m.addr, key, 8, "write when it is hidden");
	mem_free(p, &m);
}

static void refused_privilege(struct vmtest *t, struct mem_pair *p,
			      enum mem_how how)
{
	struct mem_shown m;

	if (mem_shown(t, p, &m, how, 0, PAGE_SIZE,
		      DAT_MEM_PRIV_REMOTE_READ_FLAG)) {
		refused(t, p, &m, false, m.addr, m.rkey, 8,
			"write without the privilege");
		mem_free(p, &m);
	}
	if (mem_shown(t, p, &m, how, 0, PAGE_SIZE,
		      DAT_MEM_PRIV_REMOTE_WRITE_FLAG)) {
		if (is_siw(&p->far))
			siw_lets_read(t, p, &m);
		else
			refused(t, p, &m, true, m.addr, m.rkey, 8,
				"read without the privilege");
		mem_free(p, &m);
	}
}

/* Memory of a PZ of its own, which no EP is in. */
static void refused_zone(struct vmtest *t, struct mem_pair *p)
{
	struct dat_pz *pz, *own = p->far.pz;
	struct mem_shown m;
	int ret;

	ret = dat_pz_create(p->far.ia, &pz);
	if (!vmtest_equal(t, ret, 0, "another PZ"))
		return;
	p->far.pz = pz;
	ret = mem_show(p, &m, MEM_VIRTUAL, 0, PAGE_SIZE, MEM_BOTH);
	p->far.pz = own;
	if (vmtest_equal(t, ret, 0, "memory of another PZ")) {
		refused(t, p, &m, true, m.addr, m.rkey, 8, "of another PZ");
		mem_free(p, &m);
	}
	vmtest_equal(t, dat_pz_free(pz), 0, "the PZ can be freed");
}

/**
 * vmtest_mem_refused() - the peer tries what it may not
 * @t: the run
 */
void vmtest_mem_refused(struct vmtest *t)
{
	static const enum mem_how ways[] = { MEM_VIRTUAL, MEM_FMR, MEM_POOL,
					     MEM_RMR };
	struct mem_pair p;
	int i;

	if (!mem_pair_open(t, &p, 4 * PAGE_SIZE))
		return;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		refused_range(t, &p, ways[i]);
		refused_key(t, &p, ways[i]);
		refused_privilege(t, &p, ways[i]);
	}
	refused_zone(t, &p);
	mem_pair_close(&p);
}
