// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic operations on memory that is shown with the right to them, to the byte.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <dat/dat_ib_extensions.h>

#include "mem.h"
#include "result.h"
#include "tests.h"

#define MEM_ATOMIC	((enum dat_mem_priv_flags)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

enum {
	/* Of the number in the region. */
	ATOMIC_OFFSET = 64,
	ATOMIC_SIZE = 8,
};

/* One operation; the status of its event, or an errno. @old: what was there. */
static int atomic_post(struct mem_pair *p, bool add, u64 first, u64 second,
		       u64 addr, u32 rkey, u64 *old)
{
	struct dat_lmr_triplet local = {
		.virtual_address = (uintptr_t)p->local,
		.segment_length = ATOMIC_SIZE,
		.lmr_context = p->local_key,
	};
	struct dat_rmr_triplet remote = {
		.virtual_address = addr,
		.segment_length = ATOMIC_SIZE,
		.rmr_context = rkey,
	};
	union dat_context cookie = {};
	int ret;

	memset(p->local, 0x33, 2 * ATOMIC_SIZE);
	if (add)
		ret = dat_ib_post_fetch_and_add(p->near_ep, first, &local,
						cookie, &remote, 0);
	else
		ret = dat_ib_post_cmp_and_swap(p->near_ep, first, second,
					       &local, cookie, &remote, 0);
	if (!ret)
		ret = mem_done(p);
	memcpy(old, p->local, ATOMIC_SIZE);
	if (!ret && memchr_inv(p->local + ATOMIC_SIZE, 0x33, ATOMIC_SIZE))
		ret = -EBADMSG;
	return ret;
}

/* The region is that of mem_show(), but for the number. */
static bool atomic_is(struct mem_shown *m, u64 value)
{
	u64 was, is;
	bool ok;

	memcpy(&is, m->data + ATOMIC_OFFSET, ATOMIC_SIZE);
	/* As mem_fill() has it, to compare the rest. */
	mem_fill((u8 *)&was, ATOMIC_SIZE, 1 + ATOMIC_OFFSET);
	memcpy(m->data + ATOMIC_OFFSET, &was, ATOMIC_SIZE);
	ok = is == value && mem_is(m->data, m->length, 1) && mem_guarded(m);
	memcpy(m->data + ATOMIC_OFFSET, &is, ATOMIC_SIZE);
	return ok;
}

static void atomic_way(struct vmtest *t, struct mem_pair *p, enum mem_how how)
{
	const u64 add = 0xfedcba9876543210ULL, swap = 0x1122334455667788ULL;
	const char *name = mem_name(how);
	struct mem_shown m;
	u64 value, old, addr;
	int ret;

	if (!mem_shown(t, p, &m, how, 0, PAGE_SIZE, MEM_ATOMIC))
		return;
	addr = m.addr + ATOMIC_OFFSET;
	memcpy(&value, m.data + ATOMIC_OFFSET, ATOMIC_SIZE);

	ret = atomic_post(p, true, add, 0, addr, m.rkey, &old);
	vmtest_check(t, !ret && old == value && atomic_is(&m, value + add),
		     "%s: fetch and add (status %d)", name, ret);
	value += add;
	ret = atomic_post(p, true, -1, 0, addr, m.rkey, &old);
	vmtest_check(t, !ret && old == value && atomic_is(&m, value - 1),
		     "%s: fetch and add of -1 (status %d)", name, ret);
	value--;
	ret = atomic_post(p, false, value + 1, swap, addr, m.rkey, &old);
	vmtest_check(t, !ret && old == value && atomic_is(&m, value),
		     "%s: compare and swap of another value (status %d)", name,
		     ret);
	ret = atomic_post(p, false, value, swap, addr, m.rkey, &old);
	vmtest_check(t, !ret && old == value && atomic_is(&m, swap),
		     "%s: compare and swap (status %d)", name, ret);
	mem_free(p, &m);
}

/* The right to read and write is not that to do both at once. */
static void atomic_refused(struct vmtest *t, struct mem_pair *p)
{
	struct dat_event event;
	struct mem_shown m;
	u64 value, old;
	int ret;

	if (!mem_shown(t, p, &m, MEM_VIRTUAL, 0, PAGE_SIZE, MEM_BOTH))
		return;
	memcpy(&value, m.data + ATOMIC_OFFSET, ATOMIC_SIZE);
	ret = atomic_post(p, true, 1, 0, m.addr + ATOMIC_OFFSET + 4, m.rkey,
			  &old);
	vmtest_equal(t, ret, -EINVAL, "a number that is not aligned");
	ret = atomic_post(p, true, 1, 0, m.addr + ATOMIC_OFFSET, m.rkey, &old);
	vmtest_equal(t, ret, DAT_DTO_ERR_REMOTE_ACCESS,
		     "an atomic operation without the privilege");
	ret = side_wait(p->near.conn, &event, SIDE_TIMEOUT_MS);
	vmtest_check(t, !ret && (event.event_number ==
				 DAT_CONNECTION_EVENT_BROKEN ||
				 event.event_number ==
				 DAT_CONNECTION_EVENT_DISCONNECTED),
		     "the connection breaks");
	vmtest_check(t, atomic_is(&m, value), "no byte has changed");
	mem_free(p, &m);
}

/**
 * vmtest_mem_atomic() - fetch and add, compare and swap, on every kind of memory
 * @t: the run
 */
void vmtest_mem_atomic(struct vmtest *t)
{
	static const enum mem_how ways[] = { MEM_VIRTUAL, MEM_VMALLOC, MEM_FMR,
					     MEM_POOL, MEM_RMR };
	struct mem_shown m;
	struct mem_pair p;
	u64 old;
	int i;

	if (!mem_pair_open(t, &p, 4 * PAGE_SIZE))
		return;
	if (p.near.iwarp) {
		for (i = 0; i < ARRAY_SIZE(ways); i++)
			vmtest_equal(t, mem_show(&p, &m, ways[i], 0, PAGE_SIZE,
						 MEM_ATOMIC), -EOPNOTSUPP,
				     "%s: no atomics on iWARP",
				     mem_name(ways[i]));
		vmtest_equal(t, atomic_post(&p, true, 1, 0, 0, 1, &old),
			     -EOPNOTSUPP, "nor requests for them");
	} else {
		for (i = 0; i < ARRAY_SIZE(ways); i++)
			atomic_way(t, &p, ways[i]);
		atomic_refused(t, &p);
	}
	mem_pair_close(&p);
}
