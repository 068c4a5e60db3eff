// SPDX-License-Identifier: GPL-2.0
/* Fast registration: what is posted, which order is refused, what keys do. */
#include <linux/module.h>

#include "mem_kit.h"

/* Registered, used, invalidated; and what the device and the query say. */
static void kdapl_fmr_round(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 4);
	u64 va = (uintptr_t)mem->memory + 100;
	struct dat_lmr_param param = {};
	u32 lctx = 1, rctx = 2;
	struct fake_wr wr;

	dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param);
	KUNIT_EXPECT_TRUE(test, param.lmr_state.fmr_support);
	KUNIT_EXPECT_FALSE(test, param.lmr_state.bound);
	KUNIT_EXPECT_EQ(test, param.length, 0ULL);

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 100, 2, 0, &lctx, &rctx), 0);
	KUNIT_EXPECT_TRUE(test, mem_bound(lmr));
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_REG_MR);
	KUNIT_EXPECT_EQ(test, wr.rkey, rctx);
	KUNIT_EXPECT_EQ(test, wr.access, IB_ACCESS_LOCAL_WRITE |
			IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));
	KUNIT_EXPECT_EQ(test, fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS),
			1U);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(rctx));

	dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param);
	KUNIT_EXPECT_EQ(test, param.length, 2 * PAGE_SIZE - 100ULL);
	KUNIT_EXPECT_EQ(test, param.registered_address, va);
	KUNIT_EXPECT_EQ(test, param.lmr_context, lctx);
	KUNIT_EXPECT_EQ(test, param.rmr_context, rctx);

	/* Local use goes by the MR, to the last byte and no further. */
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 2 * PAGE_SIZE - 100), 0);
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 2 * PAGE_SIZE - 99),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va - 1, 1), -EINVAL);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, wr.sge[0].lkey, rctx);
	KUNIT_EXPECT_EQ(test, wr.sge[0].addr, va);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	kit_drain(mem->req);

	KUNIT_ASSERT_EQ(test,
			mem_invalidate(mem, lmr,
				       DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG),
			0);
	KUNIT_EXPECT_TRUE(test, mem_bound(lmr));
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 1), -EINVAL);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_LOCAL_INV);
	KUNIT_EXPECT_EQ(test, wr.rkey, rctx);
	KUNIT_EXPECT_TRUE(test, wr.flags & IB_SEND_FENCE);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

/* Another key at each use; it wraps after 256, and old contexts are dead. */
static void kdapl_fmr_key_wraps(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u64 va = (uintptr_t)mem->memory;
	u32 first = 0, last = 0, old = 0;
	u32 lctx, rctx;
	int i;

	for (i = 0; i <= 256; i++) {
		KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx),
				0);
		mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
		KUNIT_ASSERT_TRUE(test, fake_mr_valid(rctx));
		if (!i)
			first = rctx;
		else
			KUNIT_ASSERT_EQ(test, rctx, ib_inc_rkey(last));
		if (i) {
			KUNIT_ASSERT_EQ(test, mem_send(mem, old, va, 1),
					-EINVAL);
			KUNIT_ASSERT_FALSE(test, fake_mr_valid(last));
		}
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
		mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
		last = rctx;
		old = lctx;
	}
	KUNIT_EXPECT_EQ(test, last, first);
	/* The MR of each of them was the same one. */
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_ALLOC_MR, NULL), 1U);
}

/* What must not reach the QP does not. */
static void kdapl_fmr_order(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_ep *other = mem->pair.server;
	u32 lctx, rctx, mark = 77;

	fake_script.manual_reg = true;
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), -EBADFD);
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	KUNIT_EXPECT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &mark, &mark), -EBUSY);
	KUNIT_EXPECT_EQ(test, mark, 77U);
	/* Not behind the registration: in another queue. */
	KUNIT_EXPECT_EQ(test, dat_lmr_invalidate(lmr, other, mem_cookie(0), 0),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), -EBUSY);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), -EBADFD);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 2U);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), -EBUSY);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), -EBADFD);

	/* Completed, it can be invalidated on any EP of the PZ. */
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_invalidate(lmr, other, mem_cookie(0), 0),
			0);
	fake_qp_complete(kit_qp(other), true, 1, IB_WC_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	/* Registered memory goes with its LMR. */
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));
}

struct fmr_priv {
	enum dat_mem_priv_flags priv;
	int access;
	bool read;	/* may be sent from */
	bool write;	/* may be received and read into */
};

static const struct fmr_priv fmr_privs[] = {
	{ DAT_MEM_PRIV_NONE_FLAG, 0, false, false },
	{ DAT_MEM_PRIV_LOCAL_READ_FLAG, 0, true, false },
	{ DAT_MEM_PRIV_LOCAL_WRITE_FLAG, IB_ACCESS_LOCAL_WRITE, false, true },
	{ DAT_MEM_PRIV_REMOTE_READ_FLAG, IB_ACCESS_REMOTE_READ, false, false },
	/* The specification of InfiniBand wants the local right with it. */
	{ DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	  IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, false, false },
	{ MEM_LOCAL, IB_ACCESS_LOCAL_WRITE, true, true },
};

static void fmr_priv_desc(const struct fmr_priv *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "0x%02x", p->priv);
}

KUNIT_ARRAY_PARAM(fmr_priv, fmr_privs, fmr_priv_desc);

/* Each privilege against each operation. */
static void kdapl_fmr_privileges(struct kunit *test)
{
	const struct fmr_priv *p = test->param_value;
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	union dat_region_description region = { .for_va = mem->memory };
	struct dat_rmr_triplet remote = { .segment_length = 8 };
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)mem->memory,
		.segment_length = 8,
	};
	u32 rctx = 99, lctx;
	struct fake_wr wr;

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1,
					  p->priv, DAT_VA_TYPE_VA, mem->ep,
					  mem_cookie(1), 0, &lctx, &rctx), 0);
	iov.lmr_context = lctx;
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, wr.access, p->access);
	if (p->priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG |
		       DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		KUNIT_EXPECT_EQ(test, rctx, wr.rkey);
	else
		KUNIT_EXPECT_EQ(test, rctx, 0U);

	KUNIT_EXPECT_EQ(test, dat_ep_post_send(mem->ep, 1, &iov, mem_cookie(1),
					       0), p->read ? 0 : -EACCES);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_write(mem->ep, 1, &iov,
						     mem_cookie(1), &remote, 0),
			p->read ? 0 : -EACCES);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_read(mem->ep, 1, &iov,
						    mem_cookie(1), &remote, 0),
			p->write ? 0 : -EACCES);
	KUNIT_EXPECT_EQ(test, dat_ep_post_recv(mem->ep, 1, &iov, mem_cookie(1),
					       0), p->write ? 0 : -EACCES);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
}

/* The scope of an EP: local use and invalidation through that one. */
static void kdapl_fmr_scope(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct kit *kit = to_kit(test);
	struct dat_ep *other = mem->pair.server;
	u64 va = (uintptr_t)mem->memory;
	struct dat_lmr *lmr;
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(kit->ia, kit->pz, 1,
					       DAT_LMR_SCOPE_EP, &lmr), 0);
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 8), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_invalidate(lmr, other, mem_cookie(0), 0),
			-EPERM);
	mem->ep = other;
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 8), -EPERM);
	mem->ep = mem->pair.client;
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	kit_drain(mem->req);
	/* One at a time, but any. */
	mem->ep = other;
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 8), 0);
}

/* The peer's invalidation ends the registration like one's own. */
static void kdapl_fmr_remote_invalidation(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	u64 va = (uintptr_t)mem->memory;
	u32 lctx, rctx, again;
	struct dat_event event;

	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	KUNIT_ASSERT_EQ(test, kit_post_recv(mem->ep, 9), 0);
	KUNIT_ASSERT_EQ(test, kit_post_recv(mem->ep, 10), 0);
	/* A key that is another use's, then the right one. */
	fake_qp_receive(mem->qp, 0, ib_inc_rkey(rctx));
	kit_next(mem->recv);
	KUNIT_EXPECT_TRUE(test, mem_bound(lmr));
	KUNIT_ASSERT_EQ(test, fake_qp_receive(mem->qp, 0, rctx), 1U);
	event = kit_next(mem->recv);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data
			.rmr_context, rctx);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), -EBADFD);

	/* The next registration, though nobody has looked at the event. */
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &again), 0);
	KUNIT_EXPECT_NE(test, again, rctx);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(again));
}

/* Suppressed: no event, and yet the memory comes back and no credit is lost. */
static void kdapl_fmr_suppress(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 1);
	struct dat_event event;
	u32 lctx, rctx;
	int i;

	for (i = 0; i < 40; i++) {
		KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1,
					      DAT_COMPLETION_SUPPRESS_FLAG,
					      &lctx, &rctx), 0);
		KUNIT_ASSERT_EQ(test,
				mem_invalidate(mem, lmr,
					       DAT_COMPLETION_SUPPRESS_FLAG),
				0);
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(mem->req, &event),
				-EAGAIN);
		KUNIT_ASSERT_FALSE(test, mem_bound(lmr));
	}
	/* Nobody has dequeued since: free fetches the completion itself. */
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr,
					     DAT_COMPLETION_SUPPRESS_FLAG), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
}

static struct kunit_case kdapl_fmr_cases[] = {
	KUNIT_CASE(kdapl_fmr_round),
	KUNIT_CASE(kdapl_fmr_key_wraps),
	KUNIT_CASE(kdapl_fmr_order),
	KUNIT_CASE_PARAM(kdapl_fmr_privileges, fmr_priv_gen_params),
	KUNIT_CASE(kdapl_fmr_scope),
	KUNIT_CASE(kdapl_fmr_remote_invalidation),
	KUNIT_CASE(kdapl_fmr_suppress),
	{}
};

static struct kunit_suite kdapl_fmr_suite = {
	.name = "kdapl_fmr",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_fmr_cases,
};

kunit_test_suite(kdapl_fmr_suite);

MODULE_DESCRIPTION("Suite: fast registration");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
