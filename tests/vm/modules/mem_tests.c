// SPDX-License-Identifier: GPL-2.0
/*
 * Memory: what the peer may do with it, to the byte.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mem.h"
#include "result.h"
#include "tests.h"

/* Bytes of a region, or the region itself: where it starts in its page. */
struct piece {
	u32 start;
	u32 length;
};

/* Whether the way knows regions that start inside of a page, or end there. */
static bool whole_pages(enum mem_how how)
{
	return how == MEM_POOL;
}

static bool page_start(enum mem_how how)
{
	return how == MEM_PHYSICAL || how == MEM_VAR_PAGES || how == MEM_POOL;
}

static bool way_takes(enum mem_how how, const struct piece *region)
{
	if (whole_pages(how) && offset_in_page(region->length))
		return false;
	return !page_start(how) || !region->start;
}

/*
 * Writes a piece and reads it back: on iWARP only what is read behind a write shows
 * that the write is placed. @want is what the region holds, all of it.
 */
static int one_piece(struct mem_pair *p, struct mem_shown *m, u8 *want,
		     const struct piece *piece, u8 seed)
{
	u64 addr = m->addr + piece->start;
	int ret;

	mem_fill(p->local, piece->length, seed);
	mem_fill(want + piece->start, piece->length, seed);
	ret = mem_rdma(p, false, addr, m->rkey, 0, piece->length);
	if (ret)
		return ret;
	memset(p->local, 0x33, piece->length + MEM_GUARD);
	ret = mem_rdma(p, true, addr, m->rkey, 0, piece->length);
	/* It is refused before it is a request: Documentation/endpoints.rst. */
	if (!piece->length && p->siw)
		ret = ret == -EOPNOTSUPP ? 0 : -EPROTO;
	if (ret)
		return ret;
	if (memcmp(p->local, want + piece->start, piece->length) ||
	    memchr_inv(p->local + piece->length, 0x33, MEM_GUARD) ||
	    memcmp(m->data, want, m->length) || !mem_guarded(m))
		return -EBADMSG;
	return 0;
}

/* Shows a region, and moves each piece of it out and in. */
static void one_region(struct vmtest *t, struct mem_pair *p, enum mem_how how,
		       const struct piece *region, const struct piece *pieces,
		       int num)
{
	struct mem_shown m;
	int i, ret = 0;
	u8 *want;

	want = kvmalloc(region->length, GFP_KERNEL);
	if (!vmtest_check(t, want, "memory"))
		return;
	if (!mem_shown(t, p, &m, how, region->start, region->length, MEM_BOTH))
		goto out_free;
	mem_fill(want, region->length, 1);
	for (i = 0; !ret && i < num; i++)
		ret = one_piece(p, &m, want, &pieces[i], 7 * i + 99);
	vmtest_check(t, !ret,
		     "%s: %u bytes at offset %u, %u of them from %u (status %d)",
		     mem_name(how), region->length, region->start,
		     i ? pieces[i - 1].length : 0, i ? pieces[i - 1].start : 0,
		     ret);
	mem_free(p, &m);
	if (ret)
		vmtest_equal(t, mem_pair_connect(p), 0, "connect again");
out_free:
	kvfree(want);
}

/*
 * What siw of 6.1 does with at most 32 bytes that go over the end of a page and are
 * sent from an MR, as all that is read: it copies the wrong number of them from the
 * first page (Documentation/endpoints.rst). If this fails siw has changed.
 */
static void few_bytes(struct vmtest *t, struct mem_pair *p, enum mem_how how)
{
	static const struct piece few = { PAGE_SIZE - 3, 7 };
	const u32 length = 2 * PAGE_SIZE;
	struct mem_shown m;
	u8 *want;
	int ret;

	want = kvmalloc(length, GFP_KERNEL);
	if (!vmtest_check(t, want, "memory"))
		return;
	if (!mem_shown(t, p, &m, how, 0, length, MEM_BOTH))
		goto out_free;
	mem_fill(want, length, 1);
	ret = one_piece(p, &m, want, &few, 99);
	vmtest_equal(t, ret, p->siw ? -EBADMSG : 0,
		     "%s: 7 bytes over the end of a page%s", mem_name(how),
		     p->siw ? " (siw mixes them up: its fault, known)" : "");
	ret = mem_rdma(p, true, m.addr, m.rkey, 0, length);
	vmtest_check(t, !ret && !memcmp(p->local, want, length),
		     "%s: they are there (status %d)", mem_name(how), ret);
	mem_free(p, &m);
out_free:
	kvfree(want);
}

/**
 * vmtest_mem_kinds() - read and write through every way, at every edge
 * @t: the run
 */
void vmtest_mem_kinds(struct vmtest *t)
{
	static const struct piece regions[] = {
		{ 0, 1 },
		{ 0, PAGE_SIZE - 1 },
		{ 0, PAGE_SIZE },
		{ 0, PAGE_SIZE + 1 },
		{ 0, 2 * PAGE_SIZE },
		{ 1, PAGE_SIZE - 1 },
		{ 1, PAGE_SIZE },
		{ 100, 3 * PAGE_SIZE + 17 },
		{ PAGE_SIZE - 1, 1 },
		{ PAGE_SIZE - 1, PAGE_SIZE + 2 },
	};
	/* Of a region that is larger. */
	static const struct piece inner[] = {
		{ 0, 0 },
		{ 0, 1 },
		{ 0, PAGE_SIZE - 1 },
		{ 0, PAGE_SIZE },
		{ 0, PAGE_SIZE + 1 },
		{ 1, PAGE_SIZE - 1 },
		{ 1, PAGE_SIZE },
		{ 1, PAGE_SIZE + 1 },
		{ PAGE_SIZE - 1, 0 },
		{ PAGE_SIZE - 1, 1 },
		{ PAGE_SIZE - 1, 2 },
		{ PAGE_SIZE - 1, PAGE_SIZE + 1 },
		{ PAGE_SIZE, PAGE_SIZE - 1 },
		{ PAGE_SIZE + 1, PAGE_SIZE - 1 },
		{ 2 * PAGE_SIZE, 0 },
		{ 2 * PAGE_SIZE - 1, 1 },
	};
	struct piece whole, two = { 0, 2 * PAGE_SIZE };
	struct mem_shown m;
	struct mem_pair p;
	enum mem_how how;
	int i, ret;

	if (!mem_pair_open(t, &p, 8 * PAGE_SIZE))
		return;
	for (how = 0; how < MEM_WAYS; how++) {
		for (i = 0; i < ARRAY_SIZE(regions); i++) {
			if (!way_takes(how, &regions[i]))
				continue;
			whole = (struct piece){ 0, regions[i].length };
			one_region(t, &p, how, &regions[i], &whole, 1);
		}
		one_region(t, &p, how, &two, inner, ARRAY_SIZE(inner));
		/* siw looks behind the page for them: it is to be ours. */
		if (!p.siw || how == MEM_VIRTUAL)
			few_bytes(t, &p, how);
		/* Of a table or another LMR no length is all of it. */
		if (how == MEM_PLATFORM || how == MEM_LMR)
			continue;
		ret = mem_show(&p, &m, how, 0, 0, MEM_BOTH);
		/* A window is unbound by that. */
		if (!vmtest_equal(t, ret, how == MEM_RMR ? -EBADFD : -EINVAL,
				  "%s: no bytes at all", mem_name(how)) && !ret)
			mem_free(&p, &m);
	}
	/* No bytes of nothing: there is nothing to be checked, and no harm. */
	vmtest_equal(t, mem_rdma(&p, true, 0, 0, 0, 0),
		     p.siw ? -EOPNOTSUPP : 0, "a read of 0 bytes");
	vmtest_equal(t, mem_rdma(&p, false, 0, 0, 0, 0), 0,
		     "a write of 0 bytes");
	mem_pair_close(&p);
}

/* Regions of a way as long as the device takes, one byte less, and one more. */
static void limit_way(struct vmtest *t, struct mem_pair *p, enum mem_how how,
		      u32 limit)
{
	const struct piece regions[] = {
		{ 0, limit },
		{ 0, limit - 1 },
		{ 1, limit - 1 },
	};
	const struct piece longer[] = {
		{ 0, limit + 1 },
		{ 1, limit },
		{ 0, limit + PAGE_SIZE },
	};
	struct piece pieces[4];
	struct mem_shown m;
	int i, n, ret;

	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		u32 length = regions[i].length;

		if (!way_takes(how, &regions[i]))
			continue;
		/* All of it takes seconds on the kernel with KASAN. */
		n = 0;
		if (!i && how == MEM_VMALLOC)
			pieces[n++] = (struct piece){ 0, length };
		pieces[n++] = (struct piece){ 0, PAGE_SIZE + 1 };
		pieces[n++] = (struct piece){ length / 2 - 20, 50 };
		pieces[n++] = (struct piece){ length - PAGE_SIZE - 1,
					      PAGE_SIZE + 1 };
		one_region(t, p, how, &regions[i], pieces, n);
	}
	for (i = 0; i < ARRAY_SIZE(longer); i++) {
		if (!way_takes(how, &longer[i]))
			continue;
		ret = mem_show(p, &m, how, longer[i].start, longer[i].length,
			       MEM_BOTH);
		if (!vmtest_equal(t, ret, -EMSGSIZE,
				  "%s: %u bytes at offset %u are too many",
				  mem_name(how), longer[i].length,
				  longer[i].start) && !ret)
			mem_free(p, &m);
	}
}

/**
 * vmtest_mem_limit() - regions as long as the device takes, and longer
 * @t: the run
 */
void vmtest_mem_limit(struct vmtest *t)
{
	const struct piece small = { 0, 100 };
	u64 limit, alignment, size;
	struct mem_pair p;
	enum mem_how how;
	int ret;

	if (!mem_pair_open(t, &p, 513 * PAGE_SIZE))
		return;
	ret = dat_ia_memtype_hint(p.far.ia, DAT_MEM_TYPE_VIRTUAL, 1ULL << 40,
				  DAT_MEM_OPTIMIZE_DONT_CARE, &limit,
				  &alignment);
	vmtest_equal(t, ret, 0, "a hint");
	if (!vmtest_check(t, !ret && limit >= 64 * PAGE_SIZE &&
			  limit <= 512 * PAGE_SIZE,
			  "the device takes %llu bytes at a time", limit))
		goto out_close;
	/* Once for all: so much in one piece may not be there a second time. */
	size = limit + 2 * PAGE_SIZE + 2 * MEM_GUARD;
	p.area = alloc_pages_exact(size, GFP_KERNEL);
	if (!vmtest_check(t, p.area, "memory"))
		goto out_close;
	for (how = 0; how < MEM_WAYS; how++)
		limit_way(t, &p, how, limit);
	/* The connection is none the worse for what was refused. */
	one_region(t, &p, MEM_VIRTUAL, &small, &small, 1);
	free_pages_exact(p.area, size);
out_close:
	mem_pair_close(&p);
}
