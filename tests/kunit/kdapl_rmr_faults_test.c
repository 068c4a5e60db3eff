// SPDX-License-Identifier: GPL-2.0
/*
 * Windows when requests fail, or are done at once: what holds the LMR, and what is
 * known of the window, at the moments that others can act in.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/lmr.h"
#include "rmr_kit.h"

struct faults_again {
	struct rmr_test *t;
	struct dat_lmr *lmr;
	struct dat_lmr_triplet part;
	void (*freed)(struct kdapl_frmr *fr);
	u32 key;
	int ret;
	bool done;
};

static struct faults_again *faults_again;

/* As soon as a window is free it is bound again, to another LMR. */
static void faults_bind_again(struct kdapl_frmr *fr)
{
	struct faults_again *f = faults_again;

	fr->freed = f->freed;
	f->ret = dat_rmr_bind(f->t->rmr, f->lmr, &f->part, RMR_REMOTE,
			      DAT_VA_TYPE_VA, f->t->mem->ep, mem_cookie(42), 0,
			      &f->key);
	if (f->freed)
		f->freed(fr);
	/* Pairs with the acquire of the test, which looks at all of it. */
	smp_store_release(&f->done, true);
}

/* The LMR of a failed bind is given back, and not that of the next bind. */
static void kdapl_rmr_faults_bound_again(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	struct ib_qp *qp = t->mem->qp;
	struct dat_lmr *first = t->lmr;
	struct kdapl_frmr *fr = &t->rmr->window[0].fr;
	struct faults_again *f;
	u32 key;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	faults_again = f;
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&first->binds), 1);

	mem_connect(t->mem, 8);
	f->t = t;
	f->lmr = rmr_lmr(t->mem, to_kit(test)->pz, MEM_LOCAL, &t->lctx);
	f->part = rmr_part(t, 0, 8);
	f->freed = fr->freed;
	fr->freed = faults_bind_again;
	fake_script.manual_reg = false;
	fake_qp_complete(qp, true, 1, IB_WC_LOC_QP_OP_ERR);
	rmr_expect(t, DAT_RMR_OPERATION_FAILED);
	/* Pairs with the release of the hook. */
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(smp_load_acquire(&f->done)));
	KUNIT_ASSERT_EQ(test, f->ret, 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, t->rmr->window[0].lmr, f->lmr);
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), f->key);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(f->key));
	KUNIT_EXPECT_EQ(test, atomic_read(&first->binds), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->lmr->binds), 1);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(f->lmr), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(first), 0);

	/* The same by the end of one that has not failed. */
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 0, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->lmr->binds), 0);
}

struct faults_inline {
	struct rmr_test *t;
	struct dat_event event;
	struct dat_rmr_param param;
	int ret;
};

/* Still inside of the post, which is done already. */
static void faults_inside_post(enum fake_verb verb, const void *object,
			       void *ctx)
{
	struct faults_inline *f = ctx;

	if (verb != FAKE_POST_SEND || object != f->t->mem->qp)
		return;
	f->ret = dat_evd_dequeue(f->t->mem->req, &f->event);
	dat_rmr_query(f->t->rmr, DAT_RMR_FIELD_ALL, &f->param);
}

static void faults_expect_inside(struct kunit *test, struct faults_inline *f,
				 u32 context, u32 length)
{
	KUNIT_EXPECT_EQ(test, f->ret, 0);
	KUNIT_EXPECT_EQ(test, (int)f->event.event_number,
			(int)DAT_RMR_BIND_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, f->param.rmr_context, context);
	if (length)
		KUNIT_EXPECT_EQ(test, f->param.lmr_triplet.segment_length,
				length);
	f->event.event_number = 0;
	f->param.rmr_context = 9;
}

/* Whoever has the event of a bind finds the RMR bound, and can act on it. */
static void kdapl_rmr_faults_inline(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	struct faults_inline *f;
	u32 key = 3;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->t = t;
	fake_script.complete = FAKE_INLINE;
	fake_script.hook_ctx = f;
	WRITE_ONCE(fake_script.verb_hook, faults_inside_post);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
	faults_expect_inside(test, f, key, 8);
	/* Anew: never the old one. */
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 16, &key), 0);
	faults_expect_inside(test, f, key, 16);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &key), 0);
	faults_expect_inside(test, f, 0, 0);
	WRITE_ONCE(fake_script.verb_hook, NULL);
	fake_script.complete = FAKE_MANUAL;
	KUNIT_EXPECT_EQ(test, dat_lmr_free(t->lmr), 0);
}

/* What is known of the window when its bind, or only the end of the old, is taken. */
static void kdapl_rmr_faults_refused(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	struct dat_rmr_param param;
	u32 first, key = 3;

	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), -ENOMEM);
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), 0U);
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 8, &first), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);

	/* Neither: all of the old one is in force. */
	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 16, &key), -ENOMEM);
	KUNIT_EXPECT_EQ(test, dat_rmr_query(t->rmr, DAT_RMR_FIELD_ALL, &param),
			0);
	KUNIT_EXPECT_EQ(test, param.rmr_context, first);
	KUNIT_EXPECT_EQ(test, param.lmr_triplet.segment_length, 8U);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->lmr->binds), 1);

	/* The end alone: bound to nothing as soon as that is home. */
	fake_hca_fail(FAKE_POST_SEND, 2, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 16, &key), -ENOMEM);
	KUNIT_EXPECT_EQ(test, key, 3U);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(first));
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 0U);
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), 0U);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->lmr->binds), 0);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &key), -EBADFD);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 32, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), key);
}

static struct kunit_case kdapl_rmr_faults_cases[] = {
	KUNIT_CASE(kdapl_rmr_faults_bound_again),
	KUNIT_CASE(kdapl_rmr_faults_inline),
	KUNIT_CASE(kdapl_rmr_faults_refused),
	{}
};

static struct kunit_suite kdapl_rmr_faults_suite = {
	.name = "kdapl_rmr_faults",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_rmr_faults_cases,
};

kunit_test_suite(kdapl_rmr_faults_suite);

MODULE_DESCRIPTION("Suite: failures of windows");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
