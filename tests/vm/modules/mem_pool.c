// SPDX-License-Identifier: GPL-2.0
/*
 * Pools of fast registrations: over and over, on two endpoints, and with
 * connections that end in the middle.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sort.h>
#include <linux/swap.h>

#include "mem.h"
#include "result.h"
#include "tests.h"

enum {
	/* More than a pool holds. */
	POOL_PAGES = 16,
	/* Rounds between two that the peer has a look at. */
	POOL_LOOK = 20,
	/* Times that memory is looked at. */
	POOL_STRETCHES = 10,
	/* Mappings of a connection that is about to end. */
	POOL_KILLED = 3,
};

/* As a consumer does that has no other events to wait for. */
static int pool_map(struct mem_pair *p, struct dat_fmr_pool *pool,
		    const u8 *memory, u32 page, struct dat_fmr **fmr)
{
	u64 address = (uintptr_t)memory + page * PAGE_SIZE, phys;
	unsigned long end = jiffies + msecs_to_jiffies(SIDE_TIMEOUT_MS);
	int ret;

	phys = virt_to_phys((void *)memory) + page * PAGE_SIZE;
	for (;;) {
		ret = dat_fmr_pool_map(pool, p->far_ep, &phys, 1, address, fmr);
		if ((ret != -EAGAIN && ret != -ENOSPC) || time_after(jiffies, end))
			return ret;
		mem_drain(p->far.request);
		usleep_range(50, 100);
	}
}

/* What the peer reads there, of a key that it has been told. */
static int pool_read(struct mem_pair *p, const struct dat_fmr *fmr, u32 page)
{
	int ret;

	memset(p->local, 0, PAGE_SIZE);
	ret = mem_tell(p);
	if (!ret)
		ret = mem_rdma(p, true, fmr->address, fmr->rmr_context, 0,
			       PAGE_SIZE);
	return !ret && !mem_is(p->local, PAGE_SIZE, page) ? -EBADMSG : ret;
}

/* One round: map, the peer reads, unmap. */
static int pool_round(struct mem_pair *p, struct dat_fmr_pool *pool,
		      const u8 *memory, u32 page)
{
	struct dat_fmr *fmr;
	int ret;

	ret = pool_map(p, pool, memory, page, &fmr);
	if (ret)
		return ret;
	ret = pool_read(p, fmr, page);
	return dat_fmr_pool_unmap(fmr) ?: ret;
}

/* The pages that are mapped, each with a content of its own. */
static u8 *pool_memory(void)
{
	u8 *memory = alloc_pages_exact(POOL_PAGES * PAGE_SIZE, GFP_KERNEL);
	u32 i;

	for (i = 0; memory && i < POOL_PAGES; i++)
		mem_fill(memory + i * PAGE_SIZE, PAGE_SIZE, i);
	return memory;
}

/* Free pages at the last look, and what each stretch of the rounds took of them. */
struct growth {
	long free, took[POOL_STRETCHES];
	u32 stretches;
};

static void growth_begin(struct growth *g)
{
	*g = (struct growth){ .free = nr_free_pages() };
}

static void growth_look(struct growth *g)
{
	long free = nr_free_pages();

	if (g->stretches == POOL_STRETCHES)
		return;
	g->took[g->stretches++] = g->free - free;
	g->free = free;
}

static int growth_order(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : 1;
}

/*
 * What a round leaks is missing behind every stretch; what the kernel keeps for a
 * while comes and goes with a few of them, which the median does not follow. KASAN
 * keeps what was freed, up to a part of all memory, and debug objects come and go
 * with every timer: there, only what is beyond that part must have been lost.
 */
static void growth_check(struct vmtest *t, struct growth *g, long pages)
{
	long median, sum = 0;
	u32 i;

	for (i = 0; i < g->stretches; i++)
		sum += g->took[i];
	sort(g->took, g->stretches, sizeof(g->took[0]), growth_order, NULL);
	median = g->took[g->stretches / 2];
	vmtest_say(t, "pages fewer: %ld in %u stretches, median %ld", sum,
		   g->stretches, median);
	/* QUARANTINE_FRACTION of mm/kasan/quarantine.c */
	if (IS_ENABLED(CONFIG_KASAN))
		vmtest_check(t, g->stretches == POOL_STRETCHES &&
			     sum < (long)(totalram_pages() / 32) + pages,
			     "memory does not grow");
	else
		vmtest_check(t, g->stretches == POOL_STRETCHES && median < pages,
			     "memory does not grow");
}

static void pool_end(struct vmtest *t, struct dat_fmr_pool *pool)
{
	if (!pool)
		return;
	vmtest_equal(t, dat_fmr_pool_flush(pool), 0, "flush");
	vmtest_equal(t, dat_fmr_pool_destroy(pool), 0, "destroy");
}

/**
 * vmtest_mem_pool() - map and unmap, over and over
 * @t: rounds=, exposure= in milliseconds (default none), kill= rounds between two
 *	connections that are broken in the middle (default none)
 *
 * Free memory is looked at behind each tenth of the rounds.
 */
void vmtest_mem_pool(struct vmtest *t)
{
	u32 rounds = vmtest_arg(t, "rounds", 200);
	u32 kill = vmtest_arg(t, "kill", 0);
	struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = 1,
		.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG,
		.min_fmrs = 2,
		.max_fmrs = 8,
		.cache = true,
		.max_exposure_ms = vmtest_arg(t, "exposure",
					      DAT_FMR_EXPOSURE_UNBOUNDED),
	};
	u32 i, stretch = max_t(u32, rounds / POOL_STRETCHES, 1);
	struct dat_fmr_pool *pool = NULL;
	struct growth growth;
	struct mem_pair p;
	u8 *memory;
	int ret;

	memory = pool_memory();
	if (!vmtest_check(t, memory, "memory") ||
	    !mem_pair_open(t, &p, 4 * PAGE_SIZE))
		goto out_free;
	ret = dat_fmr_pool_create(p.far.ia, p.far.pz, NULL, &param, &pool);
	growth_begin(&growth);
	for (i = 0; !ret && i < rounds; i++) {
		/* Hits, and misses. */
		ret = pool_round(&p, pool, memory, (i / 2) % POOL_PAGES);
		if (!ret && kill && i % kill == kill - 1) {
			dat_ep_disconnect(p.far_ep, DAT_CLOSE_ABRUPT_FLAG);
			ret = mem_pair_connect(&p);
		}
		if (i % stretch == stretch - 1)
			growth_look(&growth);
	}
	vmtest_equal(t, ret, 0, "%u rounds (%u done)", rounds, i);
	growth_check(t, &growth, 128);
	pool_end(t, pool);
	mem_pair_close(&p);
out_free:
	if (memory)
		free_pages_exact(memory, POOL_PAGES * PAGE_SIZE);
}

/* Maps and unmaps on one EP and on the other, by turns. */
static int rounds_one(struct mem_pair *p, struct dat_fmr_pool *pool,
		      const u8 *memory, u32 i, bool look, u32 keys[][2],
		      u32 *registered)
{
	u32 page = (i / 4) % POOL_PAGES;
	struct dat_fmr *fmr;
	int ret;

	ret = pool_map(p, pool, memory, page, &fmr);
	if (ret)
		return ret;
	/* Each EP may have a registration of its own. */
	if (fmr->rmr_context != keys[page][0] &&
	    fmr->rmr_context != keys[page][1])
		(*registered)++;
	keys[page][i & 1] = fmr->rmr_context;
	if (look)
		ret = pool_read(p, fmr, page);
	return dat_fmr_pool_unmap(fmr) ?: ret;
}

/**
 * vmtest_mem_rounds() - two endpoints on one pool, and memory that does not grow
 * @t: rounds=, by default 100,000
 *
 * Free memory is looked at behind each tenth of the rounds: 32 pages are 13 bytes for
 * each of 10,000. In the last tenth, as in the first, the peer reads what is mapped;
 * not in between, as rxe allocates for every packet.
 */
void vmtest_mem_rounds(struct vmtest *t)
{
	u32 rounds = vmtest_arg(t, "rounds", 100000);
	const struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = 1,
		.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG,
		.min_fmrs = 12,
		.max_fmrs = 12,
		.dirty_watermark = 4,
		.cache = true,
		.max_exposure_ms = DAT_FMR_EXPOSURE_UNBOUNDED,
	};
	struct dat_ep *near_ep = NULL, *far_ep = NULL;
	struct dat_fmr_pool *pool = NULL;
	u32 i, registered = 0, keys[POOL_PAGES][2] = {};
	u32 stretch = max_t(u32, rounds / POOL_STRETCHES, 1), last = rounds - stretch;
	struct growth growth;
	struct mem_pair p;
	ktime_t start;
	u8 *memory;
	int ret;

	memory = pool_memory();
	if (!vmtest_check(t, memory, "memory") ||
	    !mem_pair_open(t, &p, 4 * PAGE_SIZE))
		goto out_free;
	ret = mem_pair_another(&p, &near_ep, &far_ep);
	vmtest_equal(t, ret, 0, "two endpoints on each side");
	if (!ret)
		ret = dat_fmr_pool_create(p.far.ia, p.far.pz, NULL, &param,
					  &pool);
	start = ktime_get();
	growth_begin(&growth);
	for (i = 0; !ret && i < rounds; i++) {
		ret = rounds_one(&p, pool, memory, i, i % POOL_LOOK == 0 &&
				 (i < stretch || i >= last), keys, &registered);
		mem_drain(p.far.request);
		swap(p.near_ep, near_ep);
		swap(p.far_ep, far_ep);
		if (i % stretch == stretch - 1)
			growth_look(&growth);
		cond_resched();
	}
	vmtest_say(t, "%lld ms, %u registrations",
		   ktime_ms_delta(ktime_get(), start), registered);
	vmtest_equal(t, ret, 0, "%u rounds of map and unmap on two endpoints",
		     rounds);
	vmtest_check(t, registered > rounds / 10 &&
		     registered < rounds - rounds / 10,
		     "they were hits and misses");
	growth_check(t, &growth, 32);
	pool_end(t, pool);
	mem_pair_close(&p);
out_free:
	if (memory)
		free_pages_exact(memory, POOL_PAGES * PAGE_SIZE);
}

/*
 * Mappings on a connection that ends: registrations that may not have been
 * executed, or (@told) are in force, and invalidations in front of and behind the
 * end.
 */
static int killed_round(struct mem_pair *p, struct dat_fmr_pool *pool,
			const u8 *memory, u32 i, bool told)
{
	struct dat_fmr *fmr[POOL_KILLED];
	int ret = 0, n, k;

	for (n = 0; n < POOL_KILLED; n++) {
		ret = pool_map(p, pool, memory, (i + 5 * n) % POOL_PAGES,
			       &fmr[n]);
		if (ret)
			break;
	}
	if (!ret && told)
		ret = pool_read(p, fmr[0], i % POOL_PAGES);
	for (k = 0; k < n; k++) {
		if (k == 1)
			dat_ep_disconnect(i & 1 ? p->near_ep : p->far_ep,
					  DAT_CLOSE_ABRUPT_FLAG);
		WARN_ON(dat_fmr_pool_unmap(fmr[k]));
	}
	return ret;
}

/**
 * vmtest_mem_reconnect() - a pool outlives connection after connection
 * @t: rounds=, by default 1,000
 */
void vmtest_mem_reconnect(struct vmtest *t)
{
	u32 rounds = vmtest_arg(t, "rounds", 1000);
	const struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = 1,
		.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG,
		.min_fmrs = 4,
		.max_fmrs = 8,
		.dirty_watermark = 2,
		.cache = true,
		.max_exposure_ms = 1000,
	};
	struct dat_fmr_pool *pool = NULL;
	struct mem_pair p;
	ktime_t start;
	u8 *memory;
	int ret;
	u32 i;

	memory = pool_memory();
	if (!vmtest_check(t, memory, "memory") ||
	    !mem_pair_open(t, &p, 4 * PAGE_SIZE))
		goto out_free;
	ret = dat_fmr_pool_create(p.far.ia, p.far.pz, NULL, &param, &pool);
	start = ktime_get();
	for (i = 0; !ret && i < rounds; i++) {
		ret = killed_round(&p, pool, memory, i, i % 4 == 3);
		if (!ret)
			ret = mem_pair_connect(&p);
	}
	vmtest_say(t, "%lld ms", ktime_ms_delta(ktime_get(), start));
	vmtest_equal(t, ret, 0, "%u reconnects (%u done)", rounds, i);
	for (i = 0; !ret && i < POOL_PAGES; i++)
		ret = pool_round(&p, pool, memory, i);
	vmtest_equal(t, ret, 0, "the pool is as good as new");
	pool_end(t, pool);
	mem_pair_close(&p);
out_free:
	if (memory)
		free_pages_exact(memory, POOL_PAGES * PAGE_SIZE);
}
