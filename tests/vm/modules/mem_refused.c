// SPDX-License-Identifier: GPL-2.0
/*
 * Memory: what the peer may not do with it.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "mem.h"
#include "result.h"
#include "tests.h"

enum {
	/* Bytes that are tried. */
	REFUSED_BYTES = 8,
};

/* What the peer tries. */
struct attempt {
	const char *what;
	enum attempt_key {
		KEY,
		KEY_OF_ANOTHER_USE,
		KEY_OF_HIDDEN,
		KEY_OF_ANOTHER_PZ,
	} key;
	bool read;
	s32 offset;
	enum dat_mem_priv_flags priv;
};

static const struct attempt attempts[] = {
	{ "read across the start", KEY, true, -1, MEM_BOTH },
	{ "write across the start", KEY, false, -1, MEM_BOTH },
	{ "read across the end", KEY, true, PAGE_SIZE - 7, MEM_BOTH },
	{ "write across the end", KEY, false, PAGE_SIZE - 7, MEM_BOTH },
	{ "read behind the end", KEY, true, PAGE_SIZE, MEM_BOTH },
	{ "read with the key of another use", KEY_OF_ANOTHER_USE, true, 0,
	  MEM_BOTH },
	{ "write with the key of another use", KEY_OF_ANOTHER_USE, false, 0,
	  MEM_BOTH },
	{ "read when it is hidden", KEY_OF_HIDDEN, true, 0, MEM_BOTH },
	{ "write when it is hidden", KEY_OF_HIDDEN, false, 0, MEM_BOTH },
	{ "read without the privilege", KEY, true, 0,
	  DAT_MEM_PRIV_REMOTE_WRITE_FLAG },
	{ "write without the privilege", KEY, false, 0,
	  DAT_MEM_PRIV_REMOTE_READ_FLAG },
	{ "read from another PZ", KEY_OF_ANOTHER_PZ, true, 0, MEM_BOTH },
	{ "write from another PZ", KEY_OF_ANOTHER_PZ, false, 0, MEM_BOTH },
};

static bool has_ended(struct side *side)
{
	struct dat_event event;

	return !side_wait(side->conn, &event, SIDE_TIMEOUT_MS) &&
	       (event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* It fails at the peer: the connection ends there, and no byte has moved. */
static void attempt_refused(struct vmtest *t, struct mem_pair *p,
			    struct mem_shown *m, const struct attempt *a,
			    u32 rkey)
{
	const char *why = NULL;
	int status;

	memset(p->local, 0x33, 2 * REFUSED_BYTES);
	status = mem_rdma(p, a->read, m->addr + a->offset, rkey, 0,
			  REFUSED_BYTES);
	/*
	 * On iWARP a write is done when it has been sent, and nobody says what
	 * became of it: RFC 5040, section 5.1.
	 */
	if (status != DAT_DTO_ERR_REMOTE_ACCESS &&
	    status != DAT_DTO_ERR_FLUSHED &&
	    status != DAT_DTO_ERR_REMOTE_RESPONDER &&
	    (status || a->read || !p->near.iwarp))
		why = "it was let in";
	else if (!has_ended(&p->near))
		why = "the connection lives";
	else if (!has_ended(&p->far))
		why = "the connection lives at the other end";
	/* Not before: nothing that was under way can come any more. */
	else if (memchr_inv(p->local, 0x33, 2 * REFUSED_BYTES) ||
		 !mem_is(m->data, m->length, 1) || !mem_guarded(m))
		why = "bytes have moved";
	vmtest_check(t, !why, "%s: %s: refused (status %d%s%s)",
		     mem_name(m->how), a->what, status, why ? ", but " : "",
		     why ?: "");
}

/*
 * What siw of 6.1 does with a read of memory that may not be read: it answers, as
 * it looks at no right of that memory at all (Documentation/endpoints.rst). If
 * this fails siw has changed, and attempt_refused() is to be asked here too.
 */
static void siw_lets_read(struct vmtest *t, struct mem_pair *p,
			  struct mem_shown *m)
{
	int status;

	memset(p->local, 0x33, 2 * REFUSED_BYTES);
	status = mem_rdma(p, true, m->addr, m->rkey, 0, REFUSED_BYTES);
	vmtest_equal(t, status, DAT_DTO_SUCCESS,
		     "%s: siw lets read without the privilege (its fault, known)",
		     mem_name(m->how));
	vmtest_check(t, mem_is(p->local, REFUSED_BYTES, 1) &&
		     !memchr_inv(p->local + REFUSED_BYTES, 0x33,
				 REFUSED_BYTES) && mem_guarded(m),
		     "%s: siw reads what was asked for, and no more",
		     mem_name(m->how));
	status = mem_rdma(p, true, m->addr, m->rkey, 0, REFUSED_BYTES);
	vmtest_equal(t, status, DAT_DTO_SUCCESS, "%s: siw lives on with that",
		     mem_name(m->how));
}

/* One attempt on memory that is shown for it; the next finds a new connection. */
static void attempt_way(struct vmtest *t, struct mem_pair *p, enum mem_how how,
			const struct attempt *a, struct dat_pz *pz)
{
	struct dat_pz *own = p->far.pz;
	struct mem_shown m;
	u32 key;
	int ret;

	if (!mem_shown(t, p, &m, how, 0, PAGE_SIZE, a->priv))
		return;
	key = m.rkey;
	switch (a->key) {
	case KEY_OF_ANOTHER_USE:
		key = (key & ~0xff) | ((key - 1) & 0xff);
		break;
	case KEY_OF_HIDDEN:
		ret = mem_hide(p, &m);
		if (ret)
			vmtest_equal(t, ret, 0, "%s: hide", mem_name(how));
		break;
	case KEY_OF_ANOTHER_PZ:
		/* The far EP of the new connection is in it. */
		p->far.pz = pz;
		ret = mem_pair_connect(p);
		p->far.pz = own;
		if (ret)
			vmtest_equal(t, ret, 0, "connect in another PZ");
		break;
	default:
		break;
	}
	if (p->siw && a->read && !(a->priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)) {
		siw_lets_read(t, p, &m);
	} else {
		attempt_refused(t, p, &m, a, key);
		ret = mem_pair_connect(p);
		if (ret)
			vmtest_equal(t, ret, 0, "connect again");
	}
	mem_free(p, &m);
}

/**
 * vmtest_mem_refused() - the peer tries what it may not
 * @t: the run
 */
void vmtest_mem_refused(struct vmtest *t)
{
	struct mem_pair p;
	struct dat_pz *pz;
	enum mem_how how;
	int i;

	if (!mem_pair_open(t, &p, 4 * PAGE_SIZE))
		return;
	if (vmtest_equal(t, dat_pz_create(p.far.ia, &pz), 0, "another PZ")) {
		for (how = 0; how < MEM_WAYS; how++)
			for (i = 0; i < ARRAY_SIZE(attempts); i++)
				attempt_way(t, &p, how, &attempts[i], pz);
		vmtest_equal(t, dat_pz_free(pz), 0, "the PZ can be freed");
	}
	mem_pair_close(&p);
}
