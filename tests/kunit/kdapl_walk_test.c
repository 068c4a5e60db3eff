// SPDX-License-Identifier: GPL-2.0
/*
 * Every call on an object that exists, with its n-th step failing, for every n.
 * kdapl_oom_test.c has those that create, kdapl_walk_mem_test.c memory,
 * kdapl_paths_test.c what takes several calls and other contexts.
 */
#include <linux/module.h>

#include <dat/dat_ib_extensions.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "kit_srq.h"
#include "mem_kit.h"
#include "walk.h"

/* A connected pair, and what a call may need besides. */
struct walk_objects {
	struct mem *mem;
	struct kit_upcall *up;
	struct dat_lmr *lmr;
	u32 lctx;
	/* The call's own. */
	struct dat_evd *evd;
	struct dat_srq *srq;
	struct dat_ep *ep;
	struct dat_ia *ia;
};

static struct walk_objects *walk_objects(struct walk *w)
{
	return w->priv;
}

/* EVDs of a size that can grow, and change their CQ, as no EP uses them. */
static void walk_make_evd(struct walk *w)
{
	walk_objects(w)->evd = kit_evd(w->test, 8, DAT_EVD_DTO_FLAG);
}

static void walk_free_evd(struct walk *w)
{
	KUNIT_EXPECT_EQ(w->test, dat_evd_free(walk_objects(w)->evd), 0);
}

static int walk_resize(struct walk *w)
{
	struct dat_evd *evd = walk_objects(w)->evd;
	int ret, before = kit_qlen(evd);

	ret = dat_evd_resize(evd, 64);
	KUNIT_EXPECT_EQ(w->test, kit_qlen(evd), ret ? before : 64);
	return ret;
}

static int walk_set_attr(struct walk *w)
{
	struct dat_evd_attr attr = {
		.comp_vector = 2,
		.numa_node = 0,
		.budget = 5,
	};
	struct dat_evd *evd = walk_objects(w)->evd;
	int ret;

	ret = dat_evd_set_attr(evd, DAT_EVD_ATTR_COMP_VECTOR |
			       DAT_EVD_ATTR_NUMA_NODE | DAT_EVD_ATTR_BUDGET,
			       &attr);
	KUNIT_EXPECT_EQ(w->test, evd->comp_vector == 2, !ret);
	KUNIT_EXPECT_EQ(w->test, evd->numa_node == 0, !ret);
	KUNIT_EXPECT_EQ(w->test, evd->budget == 5, !ret);
	return ret;
}

static int walk_enable(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);
	int ret;

	ret = dat_evd_modify_upcall(o->evd, DAT_UPCALL_NOTIFY, &o->up->object,
				    DAT_UPCALL_INVOC_NEW);
	KUNIT_EXPECT_EQ(w->test, (int)kit_policy(o->evd), ret ?
			(int)DAT_UPCALL_DISABLE : (int)DAT_UPCALL_NOTIFY);
	return ret;
}

static void walk_make_ep(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);

	o->ep = kit_ep(w->test, o->mem->recv, o->mem->req,
		       o->mem->pair.conn_evd, 2);
}

static void walk_free_ep(struct walk *w)
{
	KUNIT_EXPECT_EQ(w->test, dat_ep_free(walk_objects(w)->ep), 0);
}

static int walk_ep_modify(struct walk *w)
{
	struct dat_ep_param param = {
		.ep_attr.max_recv_dtos = 3,
		.ep_attr.max_request_dtos = 5,
	};
	struct dat_ep *ep = walk_objects(w)->ep;
	struct dat_ep_param is = {};
	int ret;

	ret = dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			    DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
	dat_ep_query(ep, DAT_EP_FIELD_ALL, &is);
	KUNIT_EXPECT_EQ(w->test, is.ep_attr.max_recv_dtos, ret ? 2 : 3);
	KUNIT_EXPECT_EQ(w->test, is.ep_attr.max_request_dtos, ret ? 2 : 5);
	/* As good as before. */
	KUNIT_EXPECT_NOT_NULL(w->test, kit_qp(ep));
	return ret;
}

/* Disconnected, so that a reset has something to do. */
static void walk_make_disconnected(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);
	struct dat_evd *conn = o->mem->pair.conn_evd;
	struct dat_event event;

	walk_make_ep(w);
	/* It is the EP's work that makes another QP. */
	walk_work(w, &o->ep->work.work);
	fake_cm_script.no_resolve = true;
	KUNIT_EXPECT_EQ(w->test, kit_connect(o->ep, KIT_PORT), 0);
	KUNIT_EXPECT_EQ(w->test,
			dat_ep_disconnect(o->ep, DAT_CLOSE_ABRUPT_FLAG), 0);
	event = KIT_EXPECT_EVENT(w->test, conn,
				 DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_PTR_EQ(w->test,
			    event.event_data.connect_event_data.ep_handle,
			    o->ep);
	fake_cm_script.no_resolve = false;
}

static int walk_ep_reset(struct walk *w)
{
	struct dat_ep *ep = walk_objects(w)->ep;
	int ret;

	ret = dat_ep_reset(ep);
	KUNIT_EXPECT_EQ(w->test, (int)kit_state(ep), ret ?
			DAT_EP_STATE_DISCONNECTED : DAT_EP_STATE_UNCONNECTED);
	return ret;
}

static void walk_make_srq(struct walk *w)
{
	struct dat_srq_attr attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	struct kit *kit = to_kit(w->test);

	KUNIT_EXPECT_EQ(w->test, dat_srq_create(kit->ia, kit->pz, &attr,
						&walk_objects(w)->srq), 0);
}

static void walk_free_srq(struct walk *w)
{
	KUNIT_EXPECT_EQ(w->test, dat_srq_free(walk_objects(w)->srq), 0);
}

static int walk_srq_resize(struct walk *w)
{
	struct dat_srq *srq = walk_objects(w)->srq;
	struct dat_srq_param param = {};
	int ret;

	ret = dat_srq_resize(srq, 32);
	dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param);
	KUNIT_EXPECT_EQ(w->test, param.max_recv_dtos, ret ? 8 : 32);
	return ret;
}

static int walk_srq_set_lw(struct walk *w)
{
	struct dat_srq *srq = walk_objects(w)->srq;
	int i;

	for (i = 0; i < 4; i++)
		if (srq_post(srq, i))
			return -ENOMEM;
	return dat_srq_set_lw(srq, 2);
}

static int walk_srq_post(struct walk *w)
{
	return srq_post(walk_objects(w)->srq, 1);
}

/* Posts: undone by a completion and its event. */

static struct dat_lmr_triplet walk_iov(struct walk_objects *o, u32 length)
{
	return (struct dat_lmr_triplet){
		.virtual_address = (uintptr_t)o->mem->memory,
		.segment_length = length,
		.lmr_context = o->lctx,
	};
}

static const struct dat_rmr_triplet walk_remote = {
	.virtual_address = 0x1000,
	.segment_length = 8,
	.rmr_context = 0xfeed,
};

static int walk_send(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ep_post_send(walk_objects(w)->mem->ep, 1, &iov,
				mem_cookie(1), 0);
}

/* With flags, which the short way does not take. */
static int walk_send_long(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ep_post_send(walk_objects(w)->mem->ep, 1, &iov,
				mem_cookie(1),
				DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

static int walk_send_inv(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ep_post_send_with_invalidate(walk_objects(w)->mem->ep, 1,
						&iov, mem_cookie(1), 0, true,
						0xabcd);
}

static int walk_read(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ep_post_rdma_read(walk_objects(w)->mem->ep, 1, &iov,
				     mem_cookie(1), &walk_remote, 0);
}

static int walk_write(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ep_post_rdma_write(walk_objects(w)->mem->ep, 1, &iov,
				      mem_cookie(1), &walk_remote, 0);
}

static int walk_write_immed(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ib_post_rdma_write_immed(walk_objects(w)->mem->ep, 1, &iov,
					    mem_cookie(1), &walk_remote, 7, 0);
}

static int walk_cmp_swap(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ib_post_cmp_and_swap(walk_objects(w)->mem->ep, 1, 2, &iov,
					mem_cookie(1), &walk_remote, 0);
}

static int walk_fetch_add(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ib_post_fetch_and_add(walk_objects(w)->mem->ep, 1, &iov,
					 mem_cookie(1), &walk_remote, 0);
}

static int walk_recv(struct walk *w)
{
	struct dat_lmr_triplet iov = walk_iov(walk_objects(w), 8);

	return dat_ep_post_recv(walk_objects(w)->mem->ep, 1, &iov,
				mem_cookie(1), 0);
}

static int walk_recv_long(struct walk *w)
{
	return dat_ep_post_recv(walk_objects(w)->mem->ep, 0, NULL,
				mem_cookie(1), 0);
}

static void walk_home(struct walk *w)
{
	struct mem *mem = walk_objects(w)->mem;

	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	fake_qp_complete(mem->qp, false, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(w->test, kit_drain(mem->req) + kit_drain(mem->recv), 1U);
}

static int walk_list(struct walk *w)
{
	struct dat_provider_info info, *list[1] = { &info };
	int n = 42, ret;

	ret = dat_registry_list_providers(1, &n, list);
	KUNIT_EXPECT_EQ(w->test, n == 42, !!ret);
	return ret;
}

/* An IA makes its one at the first call. */
static void walk_open(struct walk *w)
{
	struct walk_objects *o = walk_objects(w);
	struct dat_evd *async = NULL;

	KUNIT_ASSERT_EQ(w->test, dat_ia_open(FAKE_NAME, 8, &async, &o->ia), 0);
}

static int walk_reserved(struct walk *w)
{
	struct dat_lmr *lmr = NULL;
	u32 context = 0;
	int ret;

	ret = dat_ia_reserved_lmr(walk_objects(w)->ia, &lmr, &context);
	KUNIT_EXPECT_EQ(w->test, !lmr, !!ret);
	KUNIT_EXPECT_EQ(w->test, !context, !!ret);
	return ret;
}

static void walk_close(struct walk *w)
{
	KUNIT_EXPECT_EQ(w->test, dat_ia_close(walk_objects(w)->ia,
					      DAT_CLOSE_GRACEFUL_FLAG), 0);
}

static const struct walk_step walk_steps[] = {
	{ "dat_registry_list_providers", NULL, walk_list },
	{ "dat_ia_reserved_lmr", walk_open, walk_reserved, NULL, walk_close },
	{ "dat_evd_resize", walk_make_evd, walk_resize, NULL, walk_free_evd },
	{ "dat_evd_set_attr", walk_make_evd, walk_set_attr, NULL,
	  walk_free_evd },
	{ "dat_evd_modify_upcall", walk_make_evd, walk_enable, NULL,
	  walk_free_evd },
	{ "dat_ep_modify", walk_make_ep, walk_ep_modify, NULL, walk_free_ep },
	{ "dat_ep_reset", walk_make_disconnected, walk_ep_reset, NULL,
	  walk_free_ep },
	{ "dat_srq_resize", walk_make_srq, walk_srq_resize, NULL,
	  walk_free_srq },
	{ "dat_srq_set_lw", walk_make_srq, walk_srq_set_lw, NULL,
	  walk_free_srq },
	{ "dat_srq_post_recv", walk_make_srq, walk_srq_post, NULL,
	  walk_free_srq },
	{ "dat_ep_post_send", NULL, walk_send, walk_home },
	{ "dat_ep_post_send with a flag", NULL, walk_send_long, walk_home },
	{ "dat_ep_post_send_with_invalidate", NULL, walk_send_inv, walk_home },
	{ "dat_ep_post_rdma_read", NULL, walk_read, walk_home },
	{ "dat_ep_post_rdma_write", NULL, walk_write, walk_home },
	{ "dat_ep_post_recv", NULL, walk_recv, walk_home },
	{ "dat_ep_post_recv, empty", NULL, walk_recv_long, walk_home },
};

KUNIT_ARRAY_PARAM(walk, walk_steps, walk_desc);

/* Those that iWARP has not. */
static const struct walk_step walk_ib_steps[] = {
	{ "dat_ib_post_rdma_write_immed", NULL, walk_write_immed, walk_home },
	{ "dat_ib_post_cmp_and_swap", NULL, walk_cmp_swap, walk_home },
	{ "dat_ib_post_fetch_and_add", NULL, walk_fetch_add, walk_home },
};

KUNIT_ARRAY_PARAM(walk_ib, walk_ib_steps, walk_desc);

static void kdapl_walk_calls(struct kunit *test)
{
	union dat_region_description region = {};
	struct walk_objects *o;
	u64 length, va;
	u32 rctx;

	o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, o);
	o->mem = memkit_init(test, 8);
	o->up = kit_upcall(test);
	region.for_va = o->mem->memory;
	KUNIT_ASSERT_EQ(test, dat_lmr_kcreate(to_kit(test)->ia,
					      DAT_MEM_TYPE_VIRTUAL, region,
					      MEM_BYTES, to_kit(test)->pz,
					      MEM_LOCAL, DAT_VA_TYPE_VA, 0,
					      &o->lmr, &o->lctx, &rctx, &length,
					      &va), 0);
	walk_run(test, test->param_value, o);
}

static void kdapl_walk_calls_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	kdapl_walk_calls(test);
}

static struct kunit_case kdapl_walk_cases[] = {
	KUNIT_CASE_PARAM(kdapl_walk_calls, walk_gen_params),
	KUNIT_CASE_PARAM(kdapl_walk_calls, walk_ib_gen_params),
	KUNIT_CASE_PARAM(kdapl_walk_calls_iwarp, walk_gen_params),
	{}
};

static struct kunit_suite kdapl_walk_suite = {
	.name = "kdapl_walk",
	.init = kit_init,
	.exit = kit_exit_replug,
	.suite_exit = walk_report,
	.test_cases = kdapl_walk_cases,
};

kunit_test_suite(kdapl_walk_suite);

MODULE_DESCRIPTION("Suite: failures inside calls on objects");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
