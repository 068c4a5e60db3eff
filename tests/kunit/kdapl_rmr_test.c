// SPDX-License-Identifier: GPL-2.0
/* Windows: what a bind posts, in which order, and what the old key is worth. */
#include <linux/mm.h>
#include <linux/module.h>

#include <dat/dat_ib_extensions.h>

#include "rmr_kit.h"

/* Bound, bound anew, unbound: one event each, and never two good keys. */
static void kdapl_rmr_round(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	struct ib_qp *qp = t->mem->qp;
	struct dat_rmr_param param;
	u32 first, second, mark = 9;
	struct fake_wr wr;

	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), 0U);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 100, 5000, &first), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_REG_MR);
	KUNIT_EXPECT_EQ(test, wr.rkey, first);
	KUNIT_EXPECT_EQ(test, wr.access, IB_ACCESS_LOCAL_WRITE |
			IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, t->rmr->window[0].fr.mr->length, 5000ULL);
	KUNIT_EXPECT_EQ(test, t->rmr->window[0].fr.mr->iova,
			(u64)(uintptr_t)t->mem->memory + 100);
	/* Under way: neither another bind nor the end of LMR and RMR. */
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 1, &mark), -EBUSY);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &mark), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(t->rmr), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(t->lmr), -EBUSY);
	KUNIT_EXPECT_EQ(test, mark, 9U);
	fake_qp_complete(qp, true, 1, IB_WC_SUCCESS);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(first));
	KUNIT_EXPECT_EQ(test, dat_lmr_free(t->lmr), -EBUSY);
	dat_rmr_query(t->rmr, DAT_RMR_FIELD_ALL, &param);
	KUNIT_EXPECT_EQ(test, param.rmr_context, first);
	KUNIT_EXPECT_EQ(test, param.lmr_triplet.segment_length, 5000U);

	/* Anew: the old one ends in front of it, on the same chain. */
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 64, &second), 0);
	KUNIT_EXPECT_NE(test, second, first);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_LOCAL_INV);
	KUNIT_EXPECT_EQ(test, wr.rkey, first);
	KUNIT_EXPECT_FALSE(test, wr.flags & IB_SEND_SIGNALED);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(qp, true, 1, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_REG_MR);
	fake_qp_complete(qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(first));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(second));
	fake_qp_complete(qp, true, 1, IB_WC_SUCCESS);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(second));
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), second);

	/* Unbound. */
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 0, &mark), 0);
	KUNIT_EXPECT_EQ(test, mark, 9U);
	fake_qp_complete(qp, true, 1, IB_WC_SUCCESS);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(second));
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), 0U);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &mark), -EBADFD);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(t->lmr), 0);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(t->rmr), 0);
	/* Every credit came back. */
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 0U);
}

/* Over and over, with another key each time, and all credits used. */
static void kdapl_rmr_many_binds(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 2);
	u32 last = 0, key = 0;
	int i;

	for (i = 0; i < 600; i++) {
		KUNIT_ASSERT_EQ(test, rmr_bind(t, i, 8, &key), 0);
		rmr_expect(t, DAT_RMR_BIND_SUCCESS);
		KUNIT_ASSERT_NE(test, key, last);
		KUNIT_ASSERT_TRUE(test, fake_mr_valid(key));
		KUNIT_ASSERT_FALSE(test, last && fake_mr_valid(last));
		last = key;
	}
	/* One credit: the old one cannot be ended, and nothing has changed. */
	KUNIT_ASSERT_EQ(test, kit_post_send(t->mem->ep, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), -ENOSPC);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(last));
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), last);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	kit_next(t->mem->req);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	/* A bound one can be freed: its key dies, and the LMR is free again. */
	KUNIT_EXPECT_EQ(test, dat_rmr_free(t->rmr), 0);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(key));
	KUNIT_EXPECT_EQ(test, dat_lmr_free(t->lmr), 0);
}

struct rmr_priv {
	enum dat_mem_priv_flags lmr;
	enum dat_mem_priv_flags rmr;
	int ret;
};

#define RMR_ATOMIC	((enum dat_mem_priv_flags)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

static const struct rmr_priv rmr_privs[] = {
	{ DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0 },
	{ DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	  -EACCES },
	{ DAT_MEM_PRIV_LOCAL_READ_FLAG, RMR_REMOTE, -EACCES },
	{ DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_MEM_PRIV_REMOTE_READ_FLAG,
	  -EACCES },
	{ DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0 },
	{ DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_REMOTE_READ_FLAG, -EACCES },
	{ DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_NONE_FLAG, 0 },
	{ MEM_LOCAL, RMR_REMOTE, 0 },
	{ MEM_LOCAL, DAT_MEM_PRIV_LOCAL_READ_FLAG, -EINVAL },
	{ MEM_LOCAL, RMR_ATOMIC, 0 },
	{ DAT_MEM_PRIV_LOCAL_READ_FLAG, RMR_ATOMIC, -EACCES },
	{ DAT_MEM_PRIV_LOCAL_WRITE_FLAG, RMR_ATOMIC, -EACCES },
	{ MEM_LOCAL, (enum dat_mem_priv_flags)0x80, -EINVAL },
};

static void rmr_priv_desc(const struct rmr_priv *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "0x%02x of 0x%02x", p->rmr,
		 p->lmr);
}

KUNIT_ARRAY_PARAM(rmr_priv, rmr_privs, rmr_priv_desc);

static void kdapl_rmr_privileges(struct kunit *test)
{
	const struct rmr_priv *p = test->param_value;
	struct rmr_test *t = rmr_init(test, 4);
	struct dat_lmr_triplet part;
	u32 key = 3;

	t->lmr = rmr_lmr(t->mem, to_kit(test)->pz, p->lmr, &t->lctx);
	part = rmr_part(t, 0, 8);
	KUNIT_EXPECT_EQ(test, dat_rmr_bind(t->rmr, t->lmr, &part, p->rmr,
					   DAT_VA_TYPE_VA, t->mem->ep,
					   mem_cookie(42), 0, &key), p->ret);
	if (p->ret)
		KUNIT_EXPECT_EQ(test, key, 3U);
	else
		rmr_expect(t, DAT_RMR_BIND_SUCCESS);
}

static void kdapl_rmr_arguments(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	struct kit *kit = to_kit(test);
	struct mem *mem = t->mem;
	struct dat_rmr *none = (void *)5, *elsewhere;
	struct dat_lmr *other, *fast = mem_allocate(mem, 1), *reserved;
	struct dat_lmr_triplet part;
	struct dat_rmr_param param;
	u32 key = 3, lctx, own = t->lctx;
	struct dat_pz *pz;

#define BIND(rmr, lmr, priv, va, ep, flags)				\
	dat_rmr_bind(rmr, lmr, &part, priv, va, ep, mem_cookie(0),	\
		     flags, &key)

	KUNIT_EXPECT_EQ(test, dat_rmr_create(NULL, &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_rmr_create(kit->pz, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_rmr_create_for_ep(NULL, &none), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, (void *)none, (void *)5);
	KUNIT_EXPECT_EQ(test, dat_rmr_query(NULL, 0, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_rmr_query(t->rmr, 0x80, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_rmr_query(t->rmr, 1, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(NULL), -EINVAL);

	part = rmr_part(t, 0, 8);
	KUNIT_EXPECT_EQ(test, BIND(NULL, t->lmr, 2, 0, mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, NULL, 2, 0, mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, t->lmr, 2, 0, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, t->lmr, 2, 2, mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, t->lmr, 2, 0, mem->ep, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, t->lmr, 2, 0, mem->ep, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_rmr_bind(t->rmr, t->lmr, NULL, 2, 0, mem->ep,
					   mem_cookie(0), 0, &key), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_rmr_bind(t->rmr, t->lmr, &part, 2, 0, mem->ep,
					   mem_cookie(0), 0, NULL), -EINVAL);
	part.lmr_context++;
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, t->lmr, 2, 0, mem->ep, 0), -EINVAL);
	part = rmr_part(t, MEM_BYTES - 7, 8);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, t->lmr, 2, 0, mem->ep, 0), -EINVAL);
	part = rmr_part(t, -1, 8);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, t->lmr, 2, 0, mem->ep, 0), -EINVAL);
	/* Offsets from the middle of a page are not for every device. */
	part = rmr_part(t, 4, 8);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, t->lmr, 2, DAT_VA_TYPE_ZB, mem->ep,
				   0), -EOPNOTSUPP);
	/* Memory that may go while it is bound. */
	part.lmr_context = 0;
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, fast, 2, 0, mem->ep, 0), -EINVAL);
	KUNIT_ASSERT_EQ(test, dat_ia_reserved_lmr(kit->ia, &reserved, &lctx),
			0);
	part.lmr_context = lctx;
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, reserved, 2, 0, mem->ep, 0), -EPERM);
	/* PZs that differ: of the LMR, of the RMR. */
	KUNIT_ASSERT_EQ(test, dat_pz_create(kit->ia, &pz), 0);
	other = rmr_lmr(mem, pz, MEM_LOCAL, &t->lctx);
	part = rmr_part(t, 0, 8);
	KUNIT_EXPECT_EQ(test, BIND(t->rmr, other, 2, 0, mem->ep, 0), -EPERM);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(pz, &elsewhere), 0);
	KUNIT_EXPECT_EQ(test, BIND(elsewhere, other, 2, 0, mem->ep, 0), -EPERM);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(other), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(pz), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(elsewhere), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(pz), 0);

	KUNIT_EXPECT_EQ(test, key, 3U);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 0U);
	/* And none of this has left the RMR busy. */
	t->lctx = own;
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
#undef BIND
}

/* Offsets, and the scope of one EP. */
static void kdapl_rmr_scope(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	struct dat_ep *other = t->mem->pair.server;
	struct dat_lmr_triplet part = rmr_part(t, PAGE_SIZE, 8);
	struct dat_rmr_param param;
	u32 key;

	KUNIT_EXPECT_EQ(test, dat_rmr_free(t->rmr), 0);
	KUNIT_ASSERT_EQ(test, dat_rmr_create_for_ep(to_kit(test)->pz, &t->rmr),
			0);
	dat_rmr_query(t->rmr, DAT_RMR_FIELD_ALL, &param);
	KUNIT_EXPECT_EQ(test, (int)param.rmr_scope, (int)DAT_RMR_SCOPE_EP);
	KUNIT_ASSERT_EQ(test, dat_rmr_bind(t->rmr, t->lmr, &part, RMR_REMOTE,
					   DAT_VA_TYPE_ZB, t->mem->ep,
					   mem_cookie(42), 0, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->rmr->window[0].fr.mr->iova, 0ULL);
	t->mem->ep = other;
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), -EPERM);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &key), -EPERM);
	t->mem->ep = t->mem->pair.client;
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	t->mem->ep = other;
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
}

/* A flushed bind: unbound, one event, its MR replaced, the LMR given back. */
static void kdapl_rmr_flushed(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	struct mem *mem = t->mem;
	u32 first, second, key;

	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 8, &first), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 16, &second), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG),
			0);
	rmr_expect(t, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(mem->pair.client) ==
					 DAT_EP_STATE_DISCONNECTED &&
					 kit_state(mem->pair.server) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_EQ(test, kit_drain(mem->req), 0U);
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), 0U);
	/* The old key may have been good until its MR was deregistered. */
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_mr_valid(first)));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_log_count(FAKE_DEREG_MR, NULL) ==
					 2));
	fake_script.manual_reg = false;
	mem_connect(mem, 8);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(rmr_bind(t, 0, 8, &key) != -EAGAIN));
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_NE(test, key >> 8, first >> 8);
	KUNIT_EXPECT_NE(test, key >> 8, second >> 8);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(t->lmr), 0);
}

/* A failed one breaks the connection; the event says that the bind failed. */
static void kdapl_rmr_fails(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	u32 key;

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_LOC_QP_OP_ERR);
	rmr_expect(t, DAT_RMR_OPERATION_FAILED);
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), 0U);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(kit_state(t->mem->ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!dat_lmr_free(t->lmr)));
}

/* Refused by the provider: as if it had not been tried. */
static void kdapl_rmr_post_fails(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	u32 first, key = 3;

	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), -ENOMEM);
	KUNIT_EXPECT_EQ(test, key, 3U);
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 8, &first), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), -ENOMEM);
	fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &key), -ENOMEM);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(first));
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), first);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(first));
}

/* The peer ends it. */
static void kdapl_rmr_remote_invalidation(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	u32 key;

	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_ASSERT_EQ(test, kit_post_recv(t->mem->ep, 9), 0);
	fake_qp_receive(t->mem->qp, 0, key);
	kit_next(t->mem->recv);
	KUNIT_EXPECT_EQ(test, rmr_context(t->rmr), 0U);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &key), -EBADFD);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(t->lmr), 0);
}

static void kdapl_rmr_removal(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	u32 key;

	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 8, &key), 0);
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_MR), 0);
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 0, &key), -ENODEV);
	/* The memory is not at fault, though its list is gone. */
	KUNIT_EXPECT_EQ(test, rmr_bind(t, 0, 8, &key), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(t->rmr), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(t->lmr), 0);
	kit_close(to_kit(test));
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
}

/* Requests of an EVD that has no stream of binds: data transfer, of a kind. */
static void kdapl_rmr_evd_without_binds(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 8);
	struct dat_event event;
	u32 key;

	t->mem->req = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	mem_connect(t->mem, 8);
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 64, &key), 0);
	event = mem_expect(t->mem, DAT_DTO_BIND_MW, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, (unsigned long)event.event_data
			.dto_completion_event_data.user_cookie.as_index, 42UL);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(key));
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 0, &key), 0);
	mem_expect(t->mem, DAT_DTO_BIND_MW, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 0U);
}

static struct kunit_case kdapl_rmr_cases[] = {
	KUNIT_CASE(kdapl_rmr_round),
	KUNIT_CASE(kdapl_rmr_many_binds),
	KUNIT_CASE_PARAM(kdapl_rmr_privileges, rmr_priv_gen_params),
	KUNIT_CASE(kdapl_rmr_arguments),
	KUNIT_CASE(kdapl_rmr_scope),
	KUNIT_CASE(kdapl_rmr_flushed),
	KUNIT_CASE(kdapl_rmr_fails),
	KUNIT_CASE(kdapl_rmr_post_fails),
	KUNIT_CASE(kdapl_rmr_remote_invalidation),
	KUNIT_CASE(kdapl_rmr_removal),
	KUNIT_CASE(kdapl_rmr_evd_without_binds),
	{}
};

static struct kunit_suite kdapl_rmr_suite = {
	.name = "kdapl_rmr",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_rmr_cases,
};

kunit_test_suite(kdapl_rmr_suite);

MODULE_DESCRIPTION("Suite: windows");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
