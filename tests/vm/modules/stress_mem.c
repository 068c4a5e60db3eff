// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is shown to the peer: registered in one of four ways, told of,
 * written by the peer, checked, and hidden again.
 */
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <dat/dat_ib_extensions.h>

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

u64 stress_number(u32 at, u8 seed)
{
	u8 bytes[STRESS_ATOMIC_SIZE];
	u64 number;
	u32 i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = seed + at + i + ((at + i) >> 8);
	memcpy(&number, bytes, sizeof(number));
	return number;
}

static enum dat_mem_priv_flags show_priv(const struct stress_shown *shown)
{
	return shown->atomic ? SHOW_REMOTE |
	       (enum dat_mem_priv_flags)DAT_IB_MEM_PRIV_REMOTE_ATOMIC :
	       SHOW_REMOTE;
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
			       shown->size, end->pz, show_priv(shown),
			       DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &shown->lmr, &lkey, &shown->rkey, &length,
			       &shown->addr);
}

static int show_fmr(struct stress_conn *conn, enum dat_completion_flags flags)
{
	union dat_context cookie = stress_req_cookie(conn, KIND_REGISTER);
	struct stress_shown *shown = &conn->shown;
	union dat_region_description region = { .for_va = shown->mem };
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
			   shown->size / PAGE_SIZE, show_priv(shown),
			   DAT_VA_TYPE_VA, conn->ep, cookie, flags, &lkey,
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
	conn->pooled = true;
	shown->addr = shown->mapped->address;
	shown->rkey = shown->mapped->rmr_context;
	return 0;
}

static int show_rmr(struct stress_conn *conn, enum dat_completion_flags flags)
{
	union dat_context cookie = stress_req_cookie(conn, KIND_REGISTER);
	struct stress_shown *shown = &conn->shown;
	union dat_region_description region = { .for_va = shown->mem };
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
	return dat_rmr_bind(shown->rmr, shown->whole, &part, show_priv(shown),
			    DAT_VA_TYPE_VA, conn->ep, cookie, flags,
			    &shown->rkey);
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
	bool posted = how == SHOW_FMR || how == SHOW_RMR;
	enum dat_completion_flags flags = 0;
	int ret;

	if (posted && !stress_req_room(conn))
		return;
	if (posted && !stress_random(w, 3))
		flags = DAT_COMPLETION_SUPPRESS_FLAG;
	shown->how = how;
	shown->atomic = how == SHOW_POOL ? conn->end->pool_atomic :
			w->s->atomics && stress_random(w, 2);
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
		ret = show_fmr(conn, flags);
		break;
	case SHOW_POOL:
		ret = show_pool(conn);
		break;
	default:
		ret = show_rmr(conn, flags);
		break;
	}
	if (ret) {
		stress_shown_set(conn, SHOWN_NOT);
		if (posted)
			stress_req_refused(conn, calls[how], ret);
		else
			stress_may_fail(conn, calls[how], ret);
		return;
	}
	stress_count(w, counts[how]);
	/* What follows in the queue may use what nobody will hear of. */
	shown->registered = !posted || flags;
	if (posted)
		stress_req_posted(conn, KIND_REGISTER, 0, flags);
	stress_show_look(conn);
}

/* It is done: shown, or hidden. */
void stress_show_registered(struct stress_conn *conn, int kind)
{
	if (kind == KIND_REGISTER && conn->shown.state == SHOWN_REGISTERING)
		conn->shown.registered = true;
	else if (kind == KIND_HIDE && conn->shown.state == SHOWN_HIDING)
		stress_shown_set(conn, SHOWN_NOT);
}

static int hide(struct stress_conn *conn, enum dat_completion_flags flags)
{
	union dat_context cookie = stress_req_cookie(conn, KIND_HIDE);
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
		return dat_lmr_invalidate(shown->fmr, conn->ep, cookie, flags);
	case SHOW_POOL:
		ret = dat_fmr_pool_unmap(shown->mapped);
		shown->mapped = NULL;
		return ret;
	default:
		return dat_rmr_bind(shown->rmr, NULL, &none, 0, 0, conn->ep,
				    cookie, flags, &rkey);
	}
}

/* But for one number all is as the peer's write has left it. */
static bool show_as_told(struct stress_shown *shown, bool changed, u32 at,
			 u64 number)
{
	u64 got, was;

	if (changed) {
		if (!shown->atomic || at > shown->size - sizeof(number))
			return false;
		memcpy(&got, shown->mem + at, sizeof(got));
		was = stress_number(at, shown->seed + 1);
		memcpy(shown->mem + at, &was, sizeof(was));
		if (got != number)
			return false;
	}
	return stress_is(shown->mem, shown->size, shown->seed + 1);
}

/**
 * stress_show_answered() - the peer is done, and what it says that it did is there
 * @conn: where we have shown something
 * @changed: it says that it has changed a number
 * @at: where
 * @number: what that is now
 */
void stress_show_answered(struct stress_conn *conn, bool changed, u32 at,
			  u64 number)
{
	static const char * const calls[] = {
		"dat_lmr_free", "dat_lmr_invalidate", "dat_fmr_pool_unmap",
		"dat_rmr_bind(NULL)",
	};
	struct stress_worker *w = conn->end->w;
	struct stress_shown *shown = &conn->shown;
	bool posted = shown->how == SHOW_FMR || shown->how == SHOW_RMR;
	enum dat_completion_flags flags = 0;
	int ret;

	if (shown->state != SHOWN_TOLD) {
		stress_bad(w->s, &w->s->wrong, "an answer to nothing");
		return;
	}
	if (!show_as_told(shown, changed, at, number))
		stress_bad(w->s, &w->s->wrong, "what the peer has %s is not there",
			   changed ? "written and changed" : "written");
	else
		stress_count(w, STRESS_VERIFIED);
	stress_doing(w, calls[shown->how]);
	if (posted && !stress_random(w, 3))
		flags = DAT_COMPLETION_SUPPRESS_FLAG;
	ret = hide(conn, flags);
	if (ret && !posted)
		stress_bad(w->s, &w->s->leaked, "%s: %d", calls[shown->how],
			   ret);
	if (ret && posted) {
		stress_req_refused(conn, calls[shown->how], ret);
	} else if (posted) {
		stress_req_posted(conn, KIND_HIDE, 0, flags);
		conn->prove |= flags;
	}
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
