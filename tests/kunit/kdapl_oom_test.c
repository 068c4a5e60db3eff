// SPDX-License-Identifier: GPL-2.0
/*
 * Every create call with its n-th step failing, for every n: the error comes back,
 * the OUT parameter is untouched, nothing leaks, and afterwards the call works.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/vmalloc.h>

#include <dat/dat_ib_extensions.h>
#include <dat/kdat_fmr_pool.h>

#include "walk.h"

#define OOM_MARK	((void *)0x5a5a5a5aUL)
#define OOM_PAGES	3

struct oom_objects {
	struct kunit *test;
	struct dat_evd *dto;
	struct dat_evd *conn;
	struct dat_evd *cr;
	struct dat_ep *ep;
	struct dat_srq *srq;
	struct dat_lmr *lmr;
	void *memory;
	void *vmem;
	u64 *pages;
	struct sg_table sgt;
	struct scatterlist sg;
};

/* Makes one object; @out is OOM_MARK before. */
struct oom_case {
	const char *name;
	int (*create)(struct oom_objects *o, void **out);
	int (*destroy)(void *object);
};

static int oom_open(struct oom_objects *o, void **out)
{
	struct dat_evd *async = NULL;
	int ret;

	ret = dat_ia_open(FAKE_NAME, 8, &async, (struct dat_ia **)out);
	KUNIT_EXPECT_EQ(o->test, !async, !!ret);
	return ret;
}

static int oom_open_net(struct oom_objects *o, const char *name, void **out)
{
	struct dat_evd *async = NULL;
	int ret;

	ret = dat_ia_open_net(&init_net, name, 8, &async,
			      (struct dat_ia **)out);
	KUNIT_EXPECT_EQ(o->test, !async, !!ret);
	return ret;
}

static int oom_open_ip4(struct oom_objects *o, void **out)
{
	return oom_open_net(o, FAKE_IP4_TEXT, out);
}

static int oom_open_ip6(struct oom_objects *o, void **out)
{
	return oom_open_net(o, FAKE_IP6_TEXT, out);
}

/* Its async EVD is another IA's. */
static int oom_open_shared(struct oom_objects *o, void **out)
{
	struct dat_evd *async = to_kit(o->test)->async;
	int ret;

	ret = dat_ia_open(FAKE_NAME, 8, &async, (struct dat_ia **)out);
	KUNIT_EXPECT_PTR_EQ(o->test, async, to_kit(o->test)->async);
	return ret;
}

static int oom_close(void *ia)
{
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

static int oom_open_query(struct oom_objects *o, void **out)
{
	return dat_ib_open_query(FAKE_NAME, (struct dat_ia **)out, 0, NULL, 0,
				 NULL);
}

static int oom_close_query(void *ia)
{
	return dat_ib_close_query(ia);
}

static int oom_pz(struct oom_objects *o, void **out)
{
	return dat_pz_create(to_kit(o->test)->ia, (struct dat_pz **)out);
}

static int oom_pz_free(void *pz)
{
	return dat_pz_free(pz);
}

static int oom_evd(struct oom_objects *o, void **out)
{
	struct kit_upcall *up = o->memory;

	return dat_evd_kcreate(to_kit(o->test)->ia, 64,
			       DAT_UPCALL_SINGLE_INSTANCE, &up->object,
			       DAT_EVD_DTO_FLAG, (struct dat_evd **)out);
}

static int oom_evd_thread(struct oom_objects *o, void **out)
{
	return dat_evd_kcreate(to_kit(o->test)->ia, 64, DAT_UPCALL_DISABLE,
			       NULL, DAT_EVD_DEFAULT_FLAG,
			       (struct dat_evd **)out);
}

static int oom_evd_free(void *evd)
{
	return dat_evd_free(evd);
}

static int oom_ep(struct oom_objects *o, void **out)
{
	struct dat_ep_attr attr = {
		.max_message_size = 4096,
		.max_recv_dtos = 8,
		.max_request_dtos = 8,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};

	return dat_ep_create(to_kit(o->test)->ia, to_kit(o->test)->pz, o->dto,
			     o->dto, o->conn, &attr, (struct dat_ep **)out);
}

/* Its CQ is a hidden one of its own. */
static int oom_ep_bare(struct oom_objects *o, void **out)
{
	return dat_ep_create(to_kit(o->test)->ia, to_kit(o->test)->pz, NULL,
			     NULL, o->conn, NULL, (struct dat_ep **)out);
}

static int oom_ep_free(void *ep)
{
	return dat_ep_free(ep);
}

static int oom_psp(struct oom_objects *o, void **out)
{
	return dat_psp_create(to_kit(o->test)->ia, 7100, o->cr,
			      DAT_PSP_CONSUMER_FLAG, (struct dat_psp **)out);
}

static int oom_psp_free(void *psp)
{
	return dat_psp_free(psp);
}

static int oom_rsp(struct oom_objects *o, void **out)
{
	int ret;

	ret = dat_rsp_create(to_kit(o->test)->ia, 7101, o->ep, o->cr,
			     (struct dat_rsp **)out);
	if (ret)
		KUNIT_EXPECT_EQ(o->test, (int)kit_state(o->ep),
				DAT_EP_STATE_UNCONNECTED);
	return ret;
}

static int oom_rsp_free(void *rsp)
{
	return dat_rsp_free(rsp);
}

static int oom_psp_any(struct oom_objects *o, void **out)
{
	u64 qual = 0;
	int ret;

	ret = dat_psp_create_any(to_kit(o->test)->ia, &qual, o->cr,
				 DAT_PSP_CONSUMER_FLAG, (struct dat_psp **)out);
	KUNIT_EXPECT_EQ(o->test, !qual, !!ret);
	return ret;
}

#define OOM_LOCAL	(DAT_MEM_PRIV_LOCAL_READ_FLAG | \
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

static int oom_lmr(struct oom_objects *o, void **out, enum dat_mem_type type,
		   union dat_region_description region, u64 length,
		   enum dat_mem_priv_flags priv)
{
	u32 lctx = 0, rctx = 0;
	u64 got, addr;
	int ret;

	ret = dat_lmr_kcreate(to_kit(o->test)->ia, type, region, length,
			      to_kit(o->test)->pz, priv, DAT_VA_TYPE_VA,
			      DAT_MEM_OPTIMIZE_DONT_CARE,
			      (struct dat_lmr **)out, &lctx, &rctx, &got,
			      &addr);
	if (ret)
		KUNIT_EXPECT_EQ(o->test, lctx + rctx, 0U);
	return ret;
}

static int oom_lmr_local(struct oom_objects *o, void **out)
{
	return oom_lmr(o, out, DAT_MEM_TYPE_VIRTUAL,
		       (union dat_region_description){ .for_va = o->memory },
		       4096, OOM_LOCAL);
}

static int oom_lmr_remote(struct oom_objects *o, void **out)
{
	return oom_lmr(o, out, DAT_MEM_TYPE_VIRTUAL,
		       (union dat_region_description){ .for_va = o->memory },
		       4096, DAT_MEM_PRIV_ALL_FLAG);
}

static int oom_lmr_vmalloc(struct oom_objects *o, void **out)
{
	return oom_lmr(o, out, DAT_MEM_TYPE_VIRTUAL,
		       (union dat_region_description){ .for_va = o->vmem },
		       OOM_PAGES * PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

static int oom_lmr_physical(struct oom_objects *o, void **out)
{
	return oom_lmr(o, out, DAT_MEM_TYPE_PHYSICAL,
		       (union dat_region_description){ .for_physical = o->pages },
		       OOM_PAGES * PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

static int oom_lmr_var_pages(struct oom_objects *o, void **out)
{
	union dat_region_description region = {
		.for_array = { .pages = o->pages, .page_size = PAGE_SIZE },
	};

	return oom_lmr(o, out, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, region,
		       OOM_PAGES * PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

static int oom_lmr_platform(struct oom_objects *o, void **out)
{
	return oom_lmr(o, out, DAT_MEM_TYPE_PLATFORM,
		       (union dat_region_description){ .for_platform = &o->sgt },
		       PAGE_SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

static int oom_lmr_of_lmr(struct oom_objects *o, void **out)
{
	return oom_lmr(o, out, DAT_MEM_TYPE_LMR,
		       (union dat_region_description){ .for_lmr_handle = o->lmr },
		       4096, DAT_MEM_PRIV_ALL_FLAG);
}

static int oom_allocate(struct oom_objects *o, void **out)
{
	return dat_lmr_allocate(to_kit(o->test)->ia, to_kit(o->test)->pz, 4,
				DAT_LMR_SCOPE_PZ, (struct dat_lmr **)out);
}

static int oom_rmr(struct oom_objects *o, void **out)
{
	return dat_rmr_create(to_kit(o->test)->pz, (struct dat_rmr **)out);
}

static int oom_rmr_ep(struct oom_objects *o, void **out)
{
	return dat_rmr_create_for_ep(to_kit(o->test)->pz,
				     (struct dat_rmr **)out);
}

static int oom_rmr_free(void *rmr)
{
	return dat_rmr_free(rmr);
}

static int oom_pool(struct oom_objects *o, void **out)
{
	struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = 4,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.min_fmrs = 2,
		.max_fmrs = 4,
		.dirty_watermark = 2,
		.cache = true,
		.max_exposure_ms = DAT_FMR_EXPOSURE_UNBOUNDED,
	};

	return dat_fmr_pool_create(to_kit(o->test)->ia, to_kit(o->test)->pz,
				   NULL, &param, (struct dat_fmr_pool **)out);
}

static int oom_pool_destroy(void *pool)
{
	return dat_fmr_pool_destroy(pool);
}

static int oom_lmr_free(void *lmr)
{
	return dat_lmr_free(lmr);
}

static int oom_srq(struct oom_objects *o, void **out)
{
	struct dat_srq_attr attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	struct kit *kit = to_kit(o->test);

	return dat_srq_create(kit->ia, kit->pz, &attr, (struct dat_srq **)out);
}

static int oom_srq_free(void *srq)
{
	return dat_srq_free(srq);
}

static int oom_ep_srq(struct oom_objects *o, void **out)
{
	struct dat_ep_attr attr = {
		.max_message_size = 4096,
		.max_rdma_size = 4096,
		.max_recv_dtos = DAT_WATERMARK_INFINITE,
		.max_request_dtos = 4,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	struct kit *kit = to_kit(o->test);

	return dat_ep_create_with_srq(kit->ia, kit->pz, o->dto, o->dto,
				      o->conn, o->srq, &attr,
				      (struct dat_ep **)out);
}

static int oom_csp(struct oom_objects *o, void **out)
{
	struct dat_comm comm = { .domain = AF_INET, .type = SOCK_STREAM };
	struct sockaddr_in addr;

	kit_address(&addr);
	return dat_csp_create(to_kit(o->test)->ia, &comm,
			      (struct sockaddr *)&addr, o->cr,
			      (struct dat_csp **)out);
}

static int oom_csp_free(void *csp)
{
	return dat_csp_free(csp);
}

static const struct oom_case oom_cases[] = {
	{ "dat_ia_open", oom_open, oom_close },
	{ "dat_ia_open_net by IPv4", oom_open_ip4, oom_close },
	{ "dat_ia_open_net by IPv6", oom_open_ip6, oom_close },
	{ "dat_ia_open with an EVD", oom_open_shared, oom_close },
	{ "dat_ib_open_query", oom_open_query, oom_close_query },
	{ "dat_pz_create", oom_pz, oom_pz_free },
	{ "dat_evd_kcreate softirq", oom_evd, oom_evd_free },
	{ "dat_evd_kcreate thread", oom_evd_thread, oom_evd_free },
	{ "dat_ep_create", oom_ep, oom_ep_free },
	{ "dat_ep_create without EVDs", oom_ep_bare, oom_ep_free },
	{ "dat_srq_create", oom_srq, oom_srq_free },
	{ "dat_ep_create_with_srq", oom_ep_srq, oom_ep_free },
	{ "dat_csp_create", oom_csp, oom_csp_free },
	{ "dat_psp_create", oom_psp, oom_psp_free },
	{ "dat_rsp_create", oom_rsp, oom_rsp_free },
	{ "dat_lmr_kcreate local", oom_lmr_local, oom_lmr_free },
	{ "dat_lmr_kcreate remote", oom_lmr_remote, oom_lmr_free },
	{ "dat_lmr_kcreate vmalloc", oom_lmr_vmalloc, oom_lmr_free },
	{ "dat_lmr_kcreate physical", oom_lmr_physical, oom_lmr_free },
	{ "dat_lmr_kcreate var pages", oom_lmr_var_pages, oom_lmr_free },
	{ "dat_lmr_kcreate platform", oom_lmr_platform, oom_lmr_free },
	{ "dat_lmr_kcreate of an LMR", oom_lmr_of_lmr, oom_lmr_free },
	{ "dat_lmr_allocate", oom_allocate, oom_lmr_free },
	{ "dat_rmr_create", oom_rmr, oom_rmr_free },
	{ "dat_rmr_create_for_ep", oom_rmr_ep, oom_rmr_free },
	{ "dat_fmr_pool_create", oom_pool, oom_pool_destroy },
	{ "dat_psp_create_any", oom_psp_any, oom_psp_free },
};

static void oom_desc(const struct oom_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(oom, oom_cases, oom_desc);

static void oom_put_pages(struct kunit_resource *res)
{
	vfree(res->data);
}

static int oom_get_pages(struct kunit_resource *res, void *unused)
{
	res->data = vmalloc(OOM_PAGES * PAGE_SIZE);
	return res->data ? 0 : -ENOMEM;
}

static void oom_prepare(struct kunit *test, struct oom_objects *o)
{
	int i;

	o->test = test;
	o->dto = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	o->conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	o->cr = kit_evd(test, 8, DAT_EVD_CR_FLAG);
	o->ep = kit_ep(test, NULL, NULL, NULL, 0);
	KUNIT_ASSERT_EQ(test, oom_srq(o, (void **)&o->srq), 0);
	/* Also good as memory to be registered. */
	o->memory = kit_upcall(test);
	KUNIT_ASSERT_EQ(test, oom_lmr_local(o, (void **)&o->lmr), 0);
	o->vmem = kunit_alloc_resource(test, oom_get_pages, oom_put_pages,
				       GFP_KERNEL, NULL);
	KUNIT_ASSERT_NOT_NULL(test, o->vmem);
	o->pages = kunit_kcalloc(test, OOM_PAGES, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, o->pages);
	for (i = 0; i < OOM_PAGES; i++)
		o->pages[i] = page_to_phys(vmalloc_to_page(o->vmem +
							   i * PAGE_SIZE));
	sg_init_one(&o->sg, page_address(vmalloc_to_page(o->vmem)), PAGE_SIZE);
	o->sgt.sgl = &o->sg;
	o->sgt.nents = 1;
	o->sgt.orig_nents = 1;
}

static int oom_call(struct walk *w)
{
	const struct oom_case *c = w->test->param_value;
	int ret;

	w->out = OOM_MARK;
	ret = c->create(w->priv, &w->out);
	if (ret)
		KUNIT_EXPECT_PTR_EQ(w->test, w->out, OOM_MARK);
	else
		KUNIT_EXPECT_PTR_NE(w->test, w->out, OOM_MARK);
	return ret;
}

static void oom_undo(struct walk *w)
{
	const struct oom_case *c = w->test->param_value;

	KUNIT_EXPECT_EQ(w->test, c->destroy(w->out), 0);
}

static void kdapl_oom_creations(struct kunit *test)
{
	const struct oom_case *c = test->param_value;
	struct walk_step step = {
		.name = c->name,
		.call = oom_call,
		.undo = oom_undo,
	};
	struct oom_objects *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, o);
	oom_prepare(test, o);
	walk_run(test, &step, o);
}

static void kdapl_oom_creations_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	kdapl_oom_creations(test);
}

static struct kunit_case kdapl_oom_cases[] = {
	KUNIT_CASE_PARAM(kdapl_oom_creations, oom_gen_params),
	KUNIT_CASE_PARAM(kdapl_oom_creations_iwarp, oom_gen_params),
	{}
};

static struct kunit_suite kdapl_oom_suite = {
	.name = "kdapl_oom",
	.init = kit_init,
	.exit = kit_exit_replug,
	.suite_exit = walk_report,
	.test_cases = kdapl_oom_cases,
};

kunit_test_suite(kdapl_oom_suite);

MODULE_DESCRIPTION("Suite: failures inside create calls");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
