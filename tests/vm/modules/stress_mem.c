// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is shown to the peer: registered in one of four ways, told of,
 * written by the peer, checked, and hidden again.
 */
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "stress.h"

#define SHOW_REMOTE	(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

void stress_fill(u8 *buf, u32 size, u8 seed)
{
	u32 i;

	for (i = 0; i < size; i++)
		buf[i] = seed + i + (i >> 8);
}

bool stress_is(const u8 *buf, u32 size, u8 seed)
{
	u32 i;

	for (i = 0; i < size; i++)
		if (buf[i] != (u8)(seed + i + (i >> 8)))
			return false;
	return true;
}

static bool under_way(enum stress_shown_state state)
{
	return state == SHOWN_REGISTERING || state == SHOWN_HIDING;
}

void stress_shown_set(struct stress_conn *conn, enum stress_shown_state state)
{
	atomic_add(under_way(state) - under_way(conn->shown.state),
		   &conn->end->w->s->registering[conn->end->dev]);
	conn->shown.state = state;
}

static int show_lmr(struct stress_conn *conn)
{
	struct stress_shown *shown = &conn->shown;
	union dat_region_description region = { .for_va = shown->mem };
	struct stress_end *end = conn->end;
	u64 length;
	u32 lkey;

	return dat_lmr_kcreate(end->ia, DAT_MEM_TYPE_VIRTUAL, region,
			       shown->size, end->pz, SHOW_REMOTE,
			       DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &shown->lmr, &lkey, &shown->rkey, &length,
			       &shown->addr);
}

static int show_fmr(struct stress_conn *conn)
{
	struct stress_shown *shown = &conn->shown;
	union dat_region_description region = { .for_va = shown->mem };
	union dat_context cookie = {
		.as_64 = stress_cookie(conn, KIND_REGISTER, 0),
	};
	struct stress_end *end = conn->end;
	u32 lkey;
	int ret;

	if (!shown->fmr) {
		ret = dat_lmr_allocate(end->ia, end->pz,
				       STRESS_AREA / PAGE_SIZE,
				       DAT_LMR_SCOPE_PZ, &shown->fmr);
		if (ret)
			return ret;
	}
	shown->addr = (uintptr_t)shown->mem;
	return dat_lmr_fmr(shown->fmr, DAT_MEM_TYPE_VIRTUAL, region,
			   shown->size / PAGE_SIZE, SHOW_REMOTE,
			   DAT_VA_TYPE_VA, conn->ep, cookie, 0, &lkey,
			   &shown->rkey);
}

static int show_pool(struct stress_conn *conn)
{
	struct stress_shown *shown = &conn->shown;
	u64 pages[STRESS_AREA / PAGE_SIZE];
	int i, ret;

	for (i = 0; i < shown->size / PAGE_SIZE; i++)
		pages[i] = virt_to_phys(shown->mem + i * PAGE_SIZE);
	ret = dat_fmr_pool_map(conn->end->pool, conn->ep, pages, i,
			       (uintptr_t)shown->mem, &shown->mapped);
	if (ret)
		return ret;
	shown->addr = shown->mapped->address;
	shown->rkey = shown->mapped->rmr_context;
	return 0;
}

static int show_rmr(struct stress_conn *conn)
{
	struct stress_shown *shown = &conn->shown;
	union dat_region_description region = { .for_va = shown->mem };
	union dat_context cookie = {
		.as_64 = stress_cookie(conn, KIND_REGISTER, 0),
	};
	struct stress_end *end = conn->end;
	struct dat_lmr_triplet part;
	u64 length, addr;
	u32 rkey;
	int ret = 0;

	if (!shown->whole)
		ret = dat_lmr_kcreate(end->ia, DAT_MEM_TYPE_VIRTUAL, region,
				      STRESS_AREA, end->pz,
				      DAT_MEM_PRIV_LOCAL_READ_FLAG |
				      DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				      DAT_VA_TYPE_VA,
				      DAT_MEM_OPTIMIZE_DONT_CARE, &shown->whole,
				      &shown->whole_key, &rkey, &length, &addr);
	if (!ret && !shown->rmr)
		ret = dat_rmr_create(end->pz, &shown->rmr);
	if (ret)
		return ret;
	part = (struct dat_lmr_triplet){
		.virtual_address = (uintptr_t)shown->mem,
		.segment_length = shown->size,
		.lmr_context = shown->whole_key,
	};
	shown->addr = part.virtual_address;
	return dat_rmr_bind(shown->rmr, shown->whole, &part, SHOW_REMOTE,
			    DAT_VA_TYPE_VA, conn->ep, cookie, 0, &shown->rkey);
}

/* As soon as it is registered, and there is room for a message. */
void stress_show_look(struct stress_conn *conn)
{
	struct stress_shown *shown = &conn->shown;

	if (shown->state != SHOWN_REGISTERING || !shown->registered ||
	    !stress_send_show(conn))
		return;
	stress_shown_set(conn, SHOWN_TOLD);
	shown->since = jiffies;
}

/**
 * stress_show() - register memory, and tell the peer when that is done
 * @conn: connected, with nothing shown
 * @how: in which way
 */
void stress_show(struct stress_conn *conn, enum stress_how how)
{
	static const enum stress_count counts[] = {
		STRESS_LMR, STRESS_FMR, STRESS_POOL, STRESS_RMR,
	};
	static const char * const calls[] = {
		"dat_lmr_kcreate", "dat_lmr_fmr", "dat_fmr_pool_map",
		"dat_rmr_bind",
	};
	struct stress_worker *w = conn->end->w;
	struct stress_shown *shown = &conn->shown;
	int ret;

	shown->how = how;
	shown->size = PAGE_SIZE * (1 + stress_random(w, STRESS_AREA /
						     PAGE_SIZE));
	shown->seed = stress_random(w, 256);
	stress_fill(shown->mem, shown->size, shown->seed);
	shown->registered = false;
	stress_shown_set(conn, SHOWN_REGISTERING);
	stress_doing(w, calls[how]);
	switch (how) {
	case SHOW_LMR:
		ret = show_lmr(conn);
		break;
	case SHOW_FMR:
		ret = show_fmr(conn);
		break;
	case SHOW_POOL:
		ret = show_pool(conn);
		break;
	default:
		ret = show_rmr(conn);
		break;
	}
	if (ret) {
		stress_shown_set(conn, SHOWN_NOT);
		stress_may_fail(conn, calls[how], ret);
		return;
	}
	stress_count(w, counts[how]);
	shown->registered = how == SHOW_LMR || how == SHOW_POOL;
	if (!shown->registered)
		conn->req_posted++;
	stress_show_look(conn);
}

/* Its event has come: shown, or hidden. */
void stress_show_registered(struct stress_conn *conn, bool success)
{
	if (!success)
		return;
	if (conn->shown.state == SHOWN_REGISTERING)
		conn->shown.registered = true;
	else if (conn->shown.state == SHOWN_HIDING)
		stress_shown_set(conn, SHOWN_NOT);
}

static int hide(struct stress_conn *conn)
{
	union dat_context cookie = {
		.as_64 = stress_cookie(conn, KIND_HIDE, 0),
	};
	const struct dat_lmr_triplet none = {};
	struct stress_shown *shown = &conn->shown;
	u32 rkey;
	int ret;

	switch (shown->how) {
	case SHOW_LMR:
		ret = dat_lmr_free(shown->lmr);
		shown->lmr = NULL;
		return ret;
	case SHOW_FMR:
		return dat_lmr_invalidate(shown->fmr, conn->ep, cookie, 0);
	case SHOW_POOL:
		ret = dat_fmr_pool_unmap(shown->mapped);
		shown->mapped = NULL;
		return ret;
	default:
		return dat_rmr_bind(shown->rmr, NULL, &none, 0, 0, conn->ep,
				    cookie, 0, &rkey);
	}
}

/* The peer is done: what it says that it has written is there. */
void stress_show_answered(struct stress_conn *conn)
{
	static const char * const calls[] = {
		"dat_lmr_free", "dat_lmr_invalidate", "dat_fmr_pool_unmap",
		"dat_rmr_bind(NULL)",
	};
	struct stress_worker *w = conn->end->w;
	struct stress_shown *shown = &conn->shown;
	bool posted = shown->how == SHOW_FMR || shown->how == SHOW_RMR;
	int ret;

	if (shown->state != SHOWN_TOLD) {
		stress_bad(w->s, &w->s->wrong, "an answer to nothing");
		return;
	}
	if (!stress_is(shown->mem, shown->size, shown->seed + 1))
		stress_bad(w->s, &w->s->wrong,
			   "the peer's RDMA write is not there");
	else
		stress_count(w, STRESS_VERIFIED);
	stress_doing(w, calls[shown->how]);
	ret = hide(conn);
	if (ret && !posted)
		stress_bad(w->s, &w->s->leaked, "%s: %d", calls[shown->how],
			   ret);
	if (ret && posted)
		stress_may_fail(conn, calls[shown->how], ret);
	else if (posted)
		conn->req_posted++;
	/* What could not be posted is given back at the end. */
	stress_shown_set(conn, posted ? SHOWN_HIDING : SHOWN_NOT);
}

static void given_back(struct stress_conn *conn, const char *call, int ret)
{
	struct stress *s = conn->end->w->s;

	if (ret)
		stress_bad(s, &s->leaked, "%s after the end: %d", call, ret);
}

void stress_show_end(struct stress_conn *conn)
{
	struct stress_shown *shown = &conn->shown;

	stress_doing(conn->end->w, "giving back what was shown");
	if (shown->mapped)
		given_back(conn, "dat_fmr_pool_unmap",
			   dat_fmr_pool_unmap(shown->mapped));
	if (shown->rmr)
		given_back(conn, "dat_rmr_free", dat_rmr_free(shown->rmr));
	if (shown->whole)
		given_back(conn, "dat_lmr_free", dat_lmr_free(shown->whole));
	if (shown->fmr)
		given_back(conn, "dat_lmr_free", dat_lmr_free(shown->fmr));
	if (shown->lmr)
		given_back(conn, "dat_lmr_free", dat_lmr_free(shown->lmr));
	stress_shown_set(conn, SHOWN_NOT);
	*shown = (struct stress_shown){ .mem = shown->mem };
}
