// SPDX-License-Identifier: GPL-2.0
/*
 * Every call that gives something back, with its n-th step failing, for every n.
 * Most of them have no step that can fail. What fails leaves all as it was, and is
 * done by the next call. kdapl_paths_test.c has the ends of connections.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/main.h"
#include "pool_kit.h"
#include "rmr_kit.h"
#include "walk.h"

#define UNDO_PORT		(KIT_PORT + 1)
#define UNDO_DEADLINE_MS	50

struct undo_case;

/* A connected pair, and what the call takes. */
struct undo_objects {
	const struct undo_case *c;
	struct kunit *test;
	struct pool_test *t;
	struct mem *mem;
	struct kit_upcall *up;
	struct dat_evd *cr_evd;
	struct dat_lmr *local;
	u32 lctx;
	void *object;
	struct dat_cr *cr;
	struct dat_fmr *mapped;
	int left;		/* why it is still there */
};

/**
 * struct undo_case - a call
 * @name: of it
 * @make: makes undo_objects.object
 * @undo: the call
 * @after: of what else @make has made; may be NULL
 * @error: what it may answer when a step has failed; 0: nothing but success
 * @never: nothing in it can fail
 */
struct undo_case {
	const char *name;
	void (*make)(struct undo_objects *o);
	int (*undo)(struct undo_objects *o);
	void (*after)(struct undo_objects *o);
	int error;
	bool never;
};

static void undo_make_pz(struct undo_objects *o)
{
	struct dat_pz *pz = NULL;
	struct dat_lmr *lmr;
	u32 lctx;

	KUNIT_ASSERT_EQ(o->test, dat_pz_create(to_kit(o->test)->ia, &pz), 0);
	/* With the QP for its registrations. */
	lmr = rmr_lmr(o->mem, pz, DAT_MEM_PRIV_ALL_FLAG, &lctx);
	KUNIT_EXPECT_EQ(o->test, dat_lmr_free(lmr), 0);
	o->object = pz;
}

static int undo_pz(struct undo_objects *o)
{
	return dat_pz_free(o->object);
}

static void undo_make_evd(struct undo_objects *o)
{
	o->object = kit_evd_up(o->test, 8, DAT_EVD_DTO_FLAG |
			       DAT_EVD_UPCALL_THREAD_FLAG,
			       DAT_UPCALL_SINGLE_INSTANCE, o->up);
}

static int undo_evd(struct undo_objects *o)
{
	return dat_evd_free(o->object);
}

static int undo_upcall(struct undo_objects *o)
{
	return dat_evd_modify_upcall(o->object, DAT_UPCALL_TEARDOWN, NULL,
				     DAT_UPCALL_INVOC_NEW);
}

static void undo_after_upcall(struct undo_objects *o)
{
	KUNIT_EXPECT_EQ(o->test, dat_evd_free(o->object), 0);
}

static void undo_make_ep(struct undo_objects *o)
{
	o->object = kit_ep(o->test, o->mem->recv, o->mem->req,
			   o->mem->pair.conn_evd, 4);
	KUNIT_EXPECT_EQ(o->test, kit_post_recv(o->object, 1), 0);
	KUNIT_EXPECT_EQ(o->test, kit_post_recv(o->object, 2), 0);
}

/* It has an id, and waits for the CM. */
static void undo_make_connecting(struct undo_objects *o)
{
	unsigned int before = fake_cm_count(FAKE_CM_RESOLVE_ADDR);

	undo_make_ep(o);
	fake_cm_script.no_resolve = true;
	KUNIT_EXPECT_EQ(o->test, kit_connect(o->object, KIT_PORT), 0);
	KUNIT_EXPECT_TRUE(o->test, KIT_WAIT(fake_cm_count(FAKE_CM_RESOLVE_ADDR)
					    > before));
}

static int undo_ep(struct undo_objects *o)
{
	return dat_ep_free(o->object);
}

/* What had been posted has no event any more. */
static void undo_after_ep(struct undo_objects *o)
{
	fake_cm_script.no_resolve = false;
	KUNIT_EXPECT_EQ(o->test, kit_drain(o->mem->recv), 0U);
	KUNIT_EXPECT_EQ(o->test, kit_drain(o->mem->pair.conn_evd), 0U);
}

/* A service point, and a request that outlives it. */
static void undo_request(struct undo_objects *o)
{
	struct dat_event event;

	KUNIT_ASSERT_NOT_NULL(o->test, fake_cm_request(UNDO_PORT, NULL, 0));
	event = KIT_EXPECT_EVENT(o->test, o->cr_evd,
				 DAT_CONNECTION_REQUEST_EVENT);
	o->cr = event.event_data.cr_arrival_event_data.cr_handle;
}

static void undo_make_psp(struct undo_objects *o)
{
	struct dat_psp *psp = NULL;

	KUNIT_ASSERT_EQ(o->test, dat_psp_create(to_kit(o->test)->ia, UNDO_PORT,
						o->cr_evd,
						DAT_PSP_CONSUMER_FLAG, &psp),
			0);
	o->object = psp;
	undo_request(o);
}

static int undo_psp(struct undo_objects *o)
{
	return dat_psp_free(o->object);
}

static void undo_after_sp(struct undo_objects *o)
{
	KUNIT_EXPECT_EQ(o->test, dat_cr_reject(o->cr, 0, NULL), 0);
}

static int undo_reject(struct undo_objects *o)
{
	return dat_cr_reject(o->cr, 0, NULL);
}

static void undo_after_reject(struct undo_objects *o)
{
	KUNIT_EXPECT_EQ(o->test, dat_psp_free(o->object), 0);
}

static void undo_make_csp(struct undo_objects *o)
{
	struct dat_comm comm = { .domain = AF_INET, .type = SOCK_STREAM };
	struct dat_csp *csp = NULL;
	struct sockaddr_in addr;

	kit_address(&addr);
	addr.sin_port = htons(UNDO_PORT);
	KUNIT_ASSERT_EQ(o->test, dat_csp_create(to_kit(o->test)->ia, &comm,
						(struct sockaddr *)&addr,
						o->cr_evd, &csp), 0);
	o->object = csp;
	undo_request(o);
}

static int undo_csp(struct undo_objects *o)
{
	return dat_csp_free(o->object);
}

static void undo_make_lmr(struct undo_objects *o)
{
	u32 lctx;

	o->object = rmr_lmr(o->mem, to_kit(o->test)->pz, DAT_MEM_PRIV_ALL_FLAG,
			    &lctx);
}

/* Nobody has said yet that the device has done it. */
static void undo_make_unproven(struct undo_objects *o)
{
	u32 lctx, rctx;

	o->object = mem_allocate(o->mem, 1);
	KUNIT_EXPECT_EQ(o->test, mem_fmr(o->mem, o->object, 0, 1,
					 DAT_COMPLETION_SUPPRESS_FLAG, &lctx,
					 &rctx), 0);
}

static int undo_lmr(struct undo_objects *o)
{
	return dat_lmr_free(o->object);
}

static void undo_make_rmr(struct undo_objects *o)
{
	struct dat_lmr_triplet part = {
		.virtual_address = (uintptr_t)o->mem->memory,
		.segment_length = 100,
		.lmr_context = o->lctx,
	};
	struct dat_rmr *rmr = NULL;
	u32 key;

	KUNIT_ASSERT_EQ(o->test, dat_rmr_create(to_kit(o->test)->pz, &rmr), 0);
	KUNIT_EXPECT_EQ(o->test, dat_rmr_bind(rmr, o->local, &part, RMR_REMOTE,
					      DAT_VA_TYPE_VA, o->mem->ep,
					      mem_cookie(1), 0, &key), 0);
	KIT_EXPECT_EVENT(o->test, o->mem->req, DAT_RMR_BIND_COMPLETION_EVENT);
	o->object = rmr;
}

static int undo_rmr(struct undo_objects *o)
{
	return dat_rmr_free(o->object);
}

static void undo_make_srq(struct undo_objects *o)
{
	struct dat_srq_attr attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	struct kit *kit = to_kit(o->test);
	struct dat_srq *srq = NULL;

	KUNIT_ASSERT_EQ(o->test, dat_srq_create(kit->ia, kit->pz, &attr, &srq),
			0);
	KUNIT_EXPECT_EQ(o->test, dat_srq_post_recv(srq, 0, NULL, mem_cookie(1)),
			0);
	o->object = srq;
}

static int undo_srq(struct undo_objects *o)
{
	return dat_srq_free(o->object);
}

/* A pool of its own, since what fails may cost registrations of it. */
static void undo_make_pool(struct undo_objects *o)
{
	pool_create(o->t, o->mem->ep);
	KUNIT_EXPECT_EQ(o->test, pool_map_at(o->t, NULL, 0, 2, POOL_VA,
					     &o->mapped), 0);
}

/* The key is dead when the flush has returned, whatever could not be posted. */
static int undo_unmap(struct undo_objects *o)
{
	u32 key = o->mapped->rmr_context;
	int ret;

	KUNIT_EXPECT_TRUE(o->test, fake_mr_valid(key));
	ret = dat_fmr_pool_unmap(o->mapped);
	if (ret)
		return ret;
	KUNIT_EXPECT_EQ(o->test, dat_fmr_pool_flush(o->t->pool), 0);
	KUNIT_EXPECT_FALSE(o->test, fake_mr_valid(key));
	return 0;
}

static void undo_after_unmap(struct undo_objects *o)
{
	KUNIT_EXPECT_EQ(o->test, dat_fmr_pool_destroy(o->t->pool), 0);
}

/* One dirty. */
static void undo_make_dirty(struct undo_objects *o)
{
	undo_make_pool(o);
	KUNIT_EXPECT_EQ(o->test, dat_fmr_pool_unmap(o->mapped), 0);
}

static int undo_pool(struct undo_objects *o)
{
	return dat_fmr_pool_destroy(o->t->pool);
}

static const struct undo_case undo_cases[] = {
	{ "dat_pz_free", undo_make_pz, undo_pz, .never = true },
	{ "dat_evd_free", undo_make_evd, undo_evd, .never = true },
	{ "dat_evd_modify_upcall, teardown", undo_make_evd, undo_upcall,
	  undo_after_upcall, .never = true },
	{ "dat_ep_free with receives", undo_make_ep, undo_ep, undo_after_ep,
	  .never = true },
	{ "dat_ep_free of an attempt", undo_make_connecting, undo_ep,
	  undo_after_ep, .never = true },
	{ "dat_psp_free", undo_make_psp, undo_psp, undo_after_sp,
	  .never = true },
	{ "dat_csp_free", undo_make_csp, undo_csp, undo_after_sp,
	  .never = true },
	{ "dat_cr_reject", undo_make_psp, undo_reject, undo_after_reject },
	{ "dat_lmr_free", undo_make_lmr, undo_lmr, .never = true },
	{ "dat_lmr_free with a proof", undo_make_unproven, undo_lmr,
	  .error = -EBUSY },
	{ "dat_rmr_free, bound", undo_make_rmr, undo_rmr, .never = true },
	{ "dat_srq_free with buffers", undo_make_srq, undo_srq,
	  .never = true },
	{ "dat_fmr_pool_unmap", undo_make_pool, undo_unmap, undo_after_unmap },
	{ "dat_fmr_pool_destroy", undo_make_dirty, undo_pool },
};

static void undo_desc(const struct undo_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(undo, undo_cases, undo_desc);

static void undo_prepare(struct walk *w)
{
	struct undo_objects *o = w->priv;

	o->c->make(o);
}

static int undo_call(struct walk *w)
{
	struct undo_objects *o = w->priv;

	o->left = o->c->undo(o);
	if (o->left)
		KUNIT_EXPECT_EQ(w->test, o->left, o->c->error);
	return o->left;
}

static void undo_finish(struct walk *w)
{
	struct undo_objects *o = w->priv;

	if (o->left)
		KUNIT_EXPECT_EQ(w->test, o->c->undo(o), 0);
	if (o->c->after)
		o->c->after(o);
}

static void kdapl_walk_undo_calls(struct kunit *test)
{
	const struct undo_case *c = test->param_value;
	struct walk_step step = {
		.name = c->name,
		.prepare = undo_prepare,
		.call = undo_call,
		.finish = undo_finish,
		.never = c->never,
	};
	struct undo_objects *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->c = c;
	o->test = test;
	o->t = pool_prepare(test, 32);
	o->mem = o->t->mem;
	o->up = kit_upcall(test);
	o->cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	o->local = rmr_lmr(o->mem, to_kit(test)->pz, MEM_LOCAL, &o->lctx);
	fake_script.complete = FAKE_INLINE;
	walk_run(test, &step, o);
}

static void kdapl_walk_undo_calls_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	kdapl_walk_undo_calls(test);
}

/* An IA beside that of the kit, full of objects. */
struct undo_close {
	struct dat_ia *ia;
	struct kit_pair pair;
};

static void undo_fill(struct walk *w)
{
	struct kit *kit = to_kit(w->test), mine = *kit;
	struct undo_close *c = w->priv;
	struct kunit *test = w->test;
	struct dat_evd *dto;
	struct dat_lmr *lmr;
	u32 context;

	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_NAME, 8, &kit->async, &kit->ia),
			0);
	KUNIT_ASSERT_EQ(test, dat_pz_create(kit->ia, &kit->pz), 0);
	c->ia = kit->ia;
	dto = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	kit_pair(test, &c->pair, dto, dto, 4);
	KUNIT_EXPECT_EQ(test, kit_post_recv(c->pair.server, 1), 0);
	KUNIT_EXPECT_EQ(test, kit_post_send(c->pair.client, 2,
					    DAT_COMPLETION_SUPPRESS_FLAG), 0);
	KUNIT_EXPECT_EQ(test, dat_ia_reserved_lmr(kit->ia, &lmr, &context), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_allocate(kit->ia, kit->pz, 4,
					       DAT_LMR_SCOPE_PZ, &lmr), 0);
	/* Nobody has answered it. */
	KUNIT_EXPECT_NOT_NULL(test, fake_cm_request(KIT_PORT, NULL, 0));
	*kit = mine;
}

/* There is no second call: it succeeds, and leaves nothing. */
static int undo_close(struct walk *w)
{
	struct undo_close *c = w->priv;
	int ret;

	ret = dat_ia_close(c->ia, DAT_CLOSE_ABRUPT_FLAG);
	KUNIT_EXPECT_EQ(w->test, ret, 0);
	return ret;
}

static void kdapl_walk_undo_close(struct kunit *test)
{
	static const struct walk_step step = {
		.name = "dat_ia_close, abrupt",
		.prepare = undo_fill,
		.call = undo_close,
	};
	struct undo_close *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	fake_script.complete = FAKE_INLINE;
	walk_run(test, &step, c);
}

static void kdapl_walk_undo_close_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	kdapl_walk_undo_close(test);
}

static int undo_init(struct kunit *test)
{
	int ret = kit_init(test);

	kdapl_disconnect_timeout_ms = UNDO_DEADLINE_MS;
	kdapl_drep_grace_ms = UNDO_DEADLINE_MS;
	kdapl_doubt_ms = UNDO_DEADLINE_MS;
	return ret;
}

static struct kunit_case kdapl_walk_undo_cases[] = {
	KUNIT_CASE_PARAM(kdapl_walk_undo_calls, undo_gen_params),
	KUNIT_CASE_PARAM(kdapl_walk_undo_calls_iwarp, undo_gen_params),
	KUNIT_CASE(kdapl_walk_undo_close),
	KUNIT_CASE(kdapl_walk_undo_close_iwarp),
	{}
};

static struct kunit_suite kdapl_walk_undo_suite = {
	.name = "kdapl_walk_undo",
	.init = undo_init,
	.exit = kit_exit_replug,
	.suite_exit = walk_report,
	.test_cases = kdapl_walk_undo_cases,
};

kunit_test_suite(kdapl_walk_undo_suite);

MODULE_DESCRIPTION("Suite: failures inside calls that give back");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
