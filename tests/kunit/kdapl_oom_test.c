// SPDX-License-Identifier: GPL-2.0
/*
 * Every create call with its n-th verb, its n-th call of the CM and its n-th
 * allocation failing, for every n: the error comes back, the OUT parameter is
 * untouched, nothing leaks, and afterwards the call works.
 */
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "kit.h"

#define OOM_MARK	((void *)0x5a5a5a5aUL)

struct oom_objects {
	struct kunit *test;
	struct dat_evd *dto;
	struct dat_evd *conn;
	struct dat_evd *cr;
	struct dat_ep *ep;
	struct dat_srq *srq;
	void *memory;
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

static int oom_close(void *ia)
{
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
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

static int oom_lmr(struct oom_objects *o, void **out,
		   enum dat_mem_priv_flags priv)
{
	union dat_region_description region = { .for_va = o->memory };
	u32 lctx = 0, rctx = 0;
	u64 length, addr;
	int ret;

	ret = dat_lmr_kcreate(to_kit(o->test)->ia, DAT_MEM_TYPE_VIRTUAL, region,
			      4096, to_kit(o->test)->pz, priv, DAT_VA_TYPE_VA,
			      DAT_MEM_OPTIMIZE_DONT_CARE,
			      (struct dat_lmr **)out, &lctx, &rctx, &length,
			      &addr);
	if (ret)
		KUNIT_EXPECT_EQ(o->test, lctx + rctx, 0U);
	return ret;
}

static int oom_lmr_local(struct oom_objects *o, void **out)
{
	return oom_lmr(o, out, DAT_MEM_PRIV_LOCAL_READ_FLAG |
			       DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
}

static int oom_lmr_remote(struct oom_objects *o, void **out)
{
	return oom_lmr(o, out, DAT_MEM_PRIV_ALL_FLAG);
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
};

static void oom_desc(const struct oom_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(oom, oom_cases, oom_desc);

static void oom_prepare(struct kunit *test, struct oom_objects *o)
{
	o->test = test;
	o->dto = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	o->conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	o->cr = kit_evd(test, 8, DAT_EVD_CR_FLAG);
	o->ep = kit_ep(test, NULL, NULL, NULL, 0);
	KUNIT_ASSERT_EQ(test, oom_srq(o, (void **)&o->srq), 0);
	/* Also good as memory to be registered. */
	o->memory = kit_upcall(test);
}

enum { OOM_MOST = 100 };

/* Runs the call with its 1st, 2nd, ... step failing until none is left. */
static void oom_run(struct kunit *test, bool (*arm)(unsigned int n),
		    bool (*disarm)(void))
{
	const struct oom_case *c = test->param_value;
	struct oom_objects o = {};
	int ret, live;
	unsigned int n;
	bool hit;
	void *out;

	oom_prepare(test, &o);
	/*
	 * The first one may make what later ones share, and a failure may
	 * throw that away: there may be less later, but not more.
	 */
	out = OOM_MARK;
	KUNIT_ASSERT_EQ(test, c->create(&o, &out), 0);
	KUNIT_ASSERT_EQ(test, c->destroy(out), 0);
	live = fake_hca_live_total();
	for (n = 1; n <= OOM_MOST; n++) {
		out = OOM_MARK;
		if (!arm(n))
			kunit_skip(test, "no such fault injection here");
		ret = c->create(&o, &out);
		hit = disarm();
		if (!ret) {
			KUNIT_EXPECT_PTR_NE(test, out, OOM_MARK);
			KUNIT_EXPECT_EQ(test, c->destroy(out), 0);
		} else {
			KUNIT_EXPECT_TRUE(test, hit);
			KUNIT_EXPECT_PTR_EQ(test, out, OOM_MARK);
		}
		KUNIT_EXPECT_TRUE_MSG(test,
				      KIT_WAIT(fake_hca_live_total() <= live),
				      "leak with failure %u", n);
		if (!hit)
			break;
	}
	KUNIT_EXPECT_LE(test, n, (unsigned int)OOM_MOST);
}

static bool oom_arm_verb(unsigned int n)
{
	fake_hca_fail(FAKE_ANY, n, 1, -ENOBUFS);
	return true;
}

static bool oom_disarm_verb(void)
{
	bool hit = !fake_hca_fail_left();

	fake_hca_fail(FAKE_ANY, 1, 0, 0);
	return hit;
}

static void kdapl_oom_verbs(struct kunit *test)
{
	oom_run(test, oom_arm_verb, oom_disarm_verb);
}

static bool oom_arm_cm(unsigned int n)
{
	fake_cm_fail(FAKE_CM_ANY, n, 1, -ENOBUFS);
	return true;
}

static bool oom_disarm_cm(void)
{
	bool hit = !fake_cm_fail_left();

	fake_cm_fail(FAKE_CM_ANY, 1, 0, 0);
	return hit;
}

static void kdapl_oom_cm(struct kunit *test)
{
	oom_run(test, oom_arm_cm, oom_disarm_cm);
}

#ifdef CONFIG_FAILSLAB
/*
 * By default failslab spares whatever may sleep; what starts the machine tells
 * it not to, in /sys/kernel/debug/failslab/ignore-gfp-wait.
 */
static bool oom_failslab_works(void)
{
	void *memory;

	WRITE_ONCE(current->fail_nth, 1);
	memory = kmalloc(16, GFP_KERNEL);
	WRITE_ONCE(current->fail_nth, 0);
	kfree(memory);
	return !memory;
}

static bool oom_arm_alloc(unsigned int n)
{
	if (n == 1 && !oom_failslab_works())
		return false;
	WRITE_ONCE(current->fail_nth, n);
	return true;
}

static bool oom_disarm_alloc(void)
{
	bool hit = !READ_ONCE(current->fail_nth);

	WRITE_ONCE(current->fail_nth, 0);
	return hit;
}
#else
static bool oom_arm_alloc(unsigned int n)
{
	return false;
}

static bool oom_disarm_alloc(void)
{
	return false;
}
#endif

static void kdapl_oom_allocations(struct kunit *test)
{
	oom_run(test, oom_arm_alloc, oom_disarm_alloc);
}

static struct kunit_case kdapl_oom_cases[] = {
	KUNIT_CASE_PARAM(kdapl_oom_verbs, oom_gen_params),
	KUNIT_CASE_PARAM(kdapl_oom_cm, oom_gen_params),
	KUNIT_CASE_PARAM(kdapl_oom_allocations, oom_gen_params),
	{}
};

static struct kunit_suite kdapl_oom_suite = {
	.name = "kdapl_oom",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_oom_cases,
};

kunit_test_suite(kdapl_oom_suite);

MODULE_DESCRIPTION("Suite: failures inside create calls");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
