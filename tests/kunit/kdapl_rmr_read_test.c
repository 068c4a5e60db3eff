// SPDX-License-Identifier: GPL-2.0
/* dat_ep_post_rdma_read_to_rmr(): what it posts, and what it refuses. */
#include <linux/module.h>

#include "rmr_kit.h"

/* What is read. */
static struct dat_rmr_triplet read_remote(u32 length)
{
	return (struct dat_rmr_triplet){
		.virtual_address = 0x5000,
		.segment_length = length,
		.rmr_context = 0xfeed,
	};
}

static int read_to(struct rmr_test *t, struct dat_ep *ep, u64 addr, u32 room,
		   u32 key, u32 length)
{
	struct dat_rmr_triplet local = {
		.virtual_address = addr,
		.segment_length = room,
		.rmr_context = key,
	};
	struct dat_rmr_triplet remote = read_remote(length);

	return dat_ep_post_rdma_read_to_rmr(ep, &local, mem_cookie(6), &remote,
					    0);
}

static void read_expect(struct rmr_test *t, u32 length,
			enum dat_dto_completion_status status)
{
	struct kunit *test = t->mem->test;
	struct dat_event event = kit_next(t->mem->req);
	struct dat_dto_completion_event_data *dto =
		&event.event_data.dto_completion_event_data;

	KUNIT_EXPECT_EQ(test, (int)event.event_number,
			(int)DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, (int)dto->operation, (int)DAT_DTO_RDMA_READ);
	KUNIT_EXPECT_EQ(test, (int)dto->status, (int)status);
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_index, 6UL);
	KUNIT_EXPECT_EQ(test, dto->transfered_length, length);
}

/* The address in memory at that offset, which is also that in the window. */
static u64 read_addr(struct rmr_test *t, u32 offset)
{
	return (uintptr_t)t->mem->memory + offset;
}

/* Behind the bind, in the same queue: under its key, no longer than asked for. */
static void kdapl_rmr_read_posts(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	struct ib_qp *qp = t->mem->qp;
	struct fake_wr wr;
	u32 key;

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 100, 5000, &key), 0);
	KUNIT_ASSERT_EQ(test, read_to(t, t->mem->ep, read_addr(t, 200), 300,
				      key, 77), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(qp, true, 1, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_RDMA_READ);
	KUNIT_EXPECT_EQ(test, wr.num_sge, 1);
	KUNIT_EXPECT_EQ(test, wr.sge[0].lkey, key);
	KUNIT_EXPECT_EQ(test, wr.sge[0].addr, read_addr(t, 200));
	KUNIT_EXPECT_EQ(test, wr.sge[0].length, 77U);
	KUNIT_EXPECT_EQ(test, wr.remote_addr, 0x5000ULL);
	KUNIT_EXPECT_EQ(test, wr.rkey, 0xfeedU);
	fake_qp_complete(qp, true, 2, IB_WC_SUCCESS);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	read_expect(t, 77, DAT_DTO_SUCCESS);

	/* All of it, and nothing. */
	KUNIT_ASSERT_EQ(test, read_to(t, t->mem->ep, read_addr(t, 100), 5000,
				      key, 5000), 0);
	KUNIT_ASSERT_EQ(test, read_to(t, t->mem->ep, read_addr(t, 5100), 0,
				      key, 0), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(qp, true, 1, &wr));
	KUNIT_EXPECT_EQ(test, wr.num_sge, 0);
	fake_qp_complete(qp, true, 2, IB_WC_SUCCESS);
	read_expect(t, 5000, DAT_DTO_SUCCESS);
	read_expect(t, 0, DAT_DTO_SUCCESS);
}

static void kdapl_rmr_read_arguments(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	struct dat_ep *ep = t->mem->ep;
	struct dat_rmr_triplet local, remote = read_remote(8);
	u32 old, key;

	KUNIT_ASSERT_EQ(test, rmr_bind(t, 100, 5000, &old), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 100, 5000, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	local.virtual_address = read_addr(t, 100);
	local.segment_length = 8;
	local.rmr_context = key;
#define TRY(ep, local, remote, flags)					\
	dat_ep_post_rdma_read_to_rmr(ep, local, mem_cookie(6), remote, flags)
	KUNIT_EXPECT_EQ(test, TRY(NULL, &local, &remote, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, TRY(ep, NULL, &remote, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, TRY(ep, &local, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, TRY(ep, &local, &remote,
				  DAT_COMPLETION_SOLICITED_WAIT_FLAG),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, TRY(ep, &local, &remote,
				  DAT_COMPLETION_UNSIGNALLED_FLAG), -EINVAL);
#undef TRY
	/* Lengths. */
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 100), 8, key, 9),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 100), U32_MAX, key,
				      U32_MAX), -EMSGSIZE);
	/* The range, to the byte, whatever the length that is read. */
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 99), 8, key, 8),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 5093), 8, key, 1),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, 0, 8, key, 8), -EINVAL);
	/* Keys: of the last bind, made up, of none. */
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 100), 8, old, 8),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 100), 8, key + 1, 8),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 100), 8, 0, 8),
			-EINVAL);
	/* That of an LMR is for dat_ep_post_rdma_read(). */
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 100), 8, t->lctx, 8),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(t->mem->qp, true), 0U);
	/* None of them has cost a credit. */
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 5092), 8, key, 8), 0);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	read_expect(t, 8, DAT_DTO_SUCCESS);

	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 0, &old), 0);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 100), 8, key, 8),
			-EINVAL);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 100), 8, key, 8),
			-EINVAL);
}

/* A fast registration has a key in the same index, and is no window. */
static void kdapl_rmr_read_no_window(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	struct dat_lmr *lmr = mem_allocate(t->mem, 1);
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, mem_fmr(t->mem, lmr, 0, 1, 0, &lctx, &rctx), 0);
	mem_expect(t->mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, read_to(t, t->mem->ep, read_addr(t, 0), 8, rctx,
				      8), -EINVAL);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(t->mem->qp, true), 0U);
}

static int read_bind(struct rmr_test *t, enum dat_mem_priv_flags priv,
		     enum dat_va_type va_type, u32 *key)
{
	struct dat_lmr_triplet part = rmr_part(t, PAGE_SIZE, 64);

	return dat_rmr_bind(t->rmr, t->lmr, &part, priv, va_type, t->mem->ep,
			    mem_cookie(42), 0, key);
}

/* The window has to be one that can be written to. */
static void kdapl_rmr_read_privilege(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	struct dat_ep *ep = t->mem->ep;
	u32 key;

	KUNIT_ASSERT_EQ(test, read_bind(t, DAT_MEM_PRIV_REMOTE_READ_FLAG,
					DAT_VA_TYPE_VA, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, PAGE_SIZE), 8, key,
				      8), -EACCES);
	/* Offsets. */
	KUNIT_ASSERT_EQ(test, read_bind(t, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
					DAT_VA_TYPE_ZB, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, PAGE_SIZE), 8, key,
				      8), -EINVAL);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, 57, 8, key, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, 56, 8, key, 8), 0);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	read_expect(t, 8, DAT_DTO_SUCCESS);
}

/* Other EPs: behind the event of the bind; not at all, of another zone or scope. */
static void kdapl_rmr_read_elsewhere(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	struct dat_ep *other = t->mem->pair.server;
	struct dat_rmr *elsewhere;
	struct dat_pz *pz;
	u32 key;

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 64, &key), 0);
	KUNIT_EXPECT_EQ(test, read_to(t, other, read_addr(t, 0), 8, key, 8),
			-EBUSY);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, read_to(t, other, read_addr(t, 0), 8, key, 8), 0);
	fake_qp_complete(kit_qp(other), true, 1, IB_WC_SUCCESS);
	read_expect(t, 8, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_rmr_free(t->rmr), 0);

	fake_script.manual_reg = false;
	KUNIT_ASSERT_EQ(test, dat_rmr_create_for_ep(to_kit(test)->pz, &t->rmr),
			0);
	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 64, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	KUNIT_EXPECT_EQ(test, read_to(t, other, read_addr(t, 0), 8, key, 8),
			-EPERM);
	KUNIT_EXPECT_EQ(test, read_to(t, t->mem->ep, read_addr(t, 0), 8, key,
				      8), 0);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_SUCCESS);
	read_expect(t, 8, DAT_DTO_SUCCESS);

	KUNIT_ASSERT_EQ(test, dat_pz_create(to_kit(test)->ia, &pz), 0);
	KUNIT_ASSERT_EQ(test, dat_rmr_create(pz, &elsewhere), 0);
	KUNIT_EXPECT_EQ(test, read_to(t, t->mem->ep, read_addr(t, 0), 8,
				      elsewhere->window[0].fr.key, 8), -EPERM);
}

/* Credits, a provider that refuses, the end of the connection. */
static void kdapl_rmr_read_ends(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 2);
	struct dat_ep *ep = t->mem->ep;
	u64 addr = read_addr(t, 0);
	u32 key;

	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 64, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	fake_hca_fail(FAKE_POST_SEND, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, addr, 8, key, 8), -EIO);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, addr, 8, key, 8), 0);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, addr, 8, key, 8), 0);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, addr, 8, key, 8), -ENOSPC);
	fake_qp_complete(t->mem->qp, true, 1, IB_WC_REM_ACCESS_ERR);
	read_expect(t, 0, DAT_DTO_ERR_REMOTE_ACCESS);
	read_expect(t, 0, DAT_DTO_ERR_FLUSHED);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_EQ(test, read_to(t, ep, addr, 8, key, 8), 0);
	read_expect(t, 0, DAT_DTO_ERR_FLUSHED);
}

/* The QP is gone, as it did not flush: what is posted now kdapl flushes itself. */
static void kdapl_rmr_read_without_qp(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	struct dat_ep *ep = t->mem->ep;
	u32 key;

	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 64, &key), 0);
	rmr_expect(t, DAT_RMR_BIND_SUCCESS);
	fake_script.flush = FAKE_FLUSH_NEVER;
	KUNIT_ASSERT_EQ(test, kit_post_send(ep, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_EQ(test, kit_drain(t->mem->req), 1U);
	KUNIT_EXPECT_EQ(test, read_to(t, ep, read_addr(t, 0), 8, key, 8), 0);
	read_expect(t, 0, DAT_DTO_ERR_FLUSHED);
}

static void kdapl_rmr_read_removal(struct kunit *test)
{
	struct rmr_test *t = rmr_init(test, 4);
	u32 key;

	KUNIT_ASSERT_EQ(test, rmr_bind(t, 0, 64, &key), 0);
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, read_to(t, t->mem->ep, read_addr(t, 0), 8, key,
				      8), -ENODEV);
	kit_close(to_kit(test));
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
}

static struct kunit_case kdapl_rmr_read_cases[] = {
	KUNIT_CASE(kdapl_rmr_read_posts),
	KUNIT_CASE(kdapl_rmr_read_arguments),
	KUNIT_CASE(kdapl_rmr_read_no_window),
	KUNIT_CASE(kdapl_rmr_read_privilege),
	KUNIT_CASE(kdapl_rmr_read_elsewhere),
	KUNIT_CASE(kdapl_rmr_read_ends),
	KUNIT_CASE(kdapl_rmr_read_without_qp),
	KUNIT_CASE(kdapl_rmr_read_removal),
	{}
};

static struct kunit_suite kdapl_rmr_read_suite = {
	.name = "kdapl_rmr_read",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_rmr_read_cases,
};

kunit_test_suite(kdapl_rmr_read_suite);

MODULE_DESCRIPTION("Suite: RDMA reads into windows");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
