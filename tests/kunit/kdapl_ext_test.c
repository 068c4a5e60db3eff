// SPDX-License-Identifier: GPL-2.0
/* Sends that invalidate, and the extensions of InfiniBand. */
#include <linux/module.h>

#include <dat/dat_ib_extensions.h>
#include <dat/kdat_fmr_pool.h>

#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/ia.h"
#include "../../drivers/kdapl/lmr.h"
#include "mem_kit.h"

#define EXT_DEPTH	4

/* A connection, and memory for it. */
struct ext_kit {
	struct kit_pair pair;
	struct dat_evd *evd;	/* of both sides */
	void *memory;
	u32 lmr_context;
};

static struct ext_kit *ext_kit(struct kunit *test)
{
	struct ext_kit *ek = kunit_kzalloc(test, sizeof(*ek), GFP_KERNEL);
	union dat_region_description region;
	struct kit *kit = to_kit(test);
	struct dat_lmr *lmr;
	u64 length, addr;
	u32 rctx;

	KUNIT_ASSERT_NOT_NULL(test, ek);
	ek->memory = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ek->memory);
	region.for_va = ek->memory;
	KUNIT_ASSERT_EQ(test,
			dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL, region,
					64, kit->pz,
					DAT_MEM_PRIV_LOCAL_READ_FLAG |
					DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0, 0,
					&lmr, &ek->lmr_context, &rctx, &length,
					&addr), 0);
	ek->evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	kit->ep_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	kit_pair(test, &ek->pair, ek->evd, ek->evd, EXT_DEPTH);
	return ek;
}

static struct dat_lmr_triplet ext_local(struct ext_kit *ek, u32 len)
{
	return (struct dat_lmr_triplet){
		.virtual_address = (uintptr_t)ek->memory,
		.segment_length = len,
		.lmr_context = ek->lmr_context,
	};
}

static const struct dat_rmr_triplet ext_remote = {
	.virtual_address = 0x1000,
	.segment_length = 8,
	.rmr_context = 0xfeed,
};

static int ext_fetch_add(struct ext_kit *ek, u32 local, u64 remote, u32 len,
			 enum dat_completion_flags flags)
{
	struct dat_lmr_triplet iov = ext_local(ek, local);
	union dat_context cookie = { .as_index = 7 };
	struct dat_rmr_triplet target = {
		.virtual_address = remote,
		.segment_length = len,
		.rmr_context = 0xfeed,
	};

	return dat_ib_post_fetch_and_add(ek->pair.client, 5, &iov, cookie,
					 &target, flags);
}

static int ext_write_immed(struct ext_kit *ek, u32 local, u32 immed,
			   enum dat_completion_flags flags)
{
	struct dat_lmr_triplet iov = ext_local(ek, local);
	union dat_context cookie = { .as_index = 9 };

	return dat_ib_post_rdma_write_immed(ek->pair.client, 1, &iov, cookie,
					    &ext_remote, immed, flags);
}

static int ext_send_inv(struct ext_kit *ek, enum dat_completion_flags flags,
			bool invalidate)
{
	struct dat_lmr_triplet iov = ext_local(ek, 16);
	union dat_context cookie = { .as_index = 3 };

	return dat_ep_post_send_with_invalidate(ek->pair.client, 1, &iov,
						cookie, flags, invalidate,
						0xabcd);
}

/* An extension event of that kind; its data. */
static struct dat_ib_extension_event_data
ext_expect(struct kunit *test, struct ext_kit *ek, struct dat_ep *ep,
	   enum dat_ib_dtos operation, enum dat_ib_ext_type type,
	   enum dat_dto_completion_status status)
{
	struct dat_dto_completion_event_data *dto;
	struct dat_ib_extension_event_data data;
	struct dat_event event;

	event = KIT_EXPECT_EVENT(test, ek->evd, DAT_IB_DTO_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	data = *dat_ib_event_extension(&event);
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, ep);
	KUNIT_EXPECT_EQ(test, (int)dto->operation, (int)operation);
	KUNIT_EXPECT_EQ(test, (int)dto->status, (int)status);
	KUNIT_EXPECT_EQ(test, (int)data.type, (int)type);
	KUNIT_EXPECT_EQ(test, (int)data.status,
			status == DAT_DTO_SUCCESS ? DAT_OP_SUCCESS :
						    DAT_IB_OP_ERR);
	return data;
}

/* The peer's key goes with the message. */
static void kdapl_ext_send_with_invalidate(struct kunit *test)
{
	struct dat_dto_completion_event_data *dto;
	struct ext_kit *ek = ext_kit(test);
	struct kit *kit = to_kit(test);
	struct fake_wr wr = {};
	struct dat_event event;
	union dat_context cookie = {};

	KUNIT_EXPECT_EQ(test, dat_ep_post_send_with_invalidate(NULL, 0, NULL,
							       cookie, 0, true,
							       1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ext_send_inv(ek, 0x40, true), -EINVAL);
	kit->ia->dev_attr.device_cap_flags &= ~IB_DEVICE_MEM_MGT_EXTENSIONS;
	KUNIT_EXPECT_EQ(test, ext_send_inv(ek, 0, true), -EOPNOTSUPP);
	kit->ia->dev_attr.device_cap_flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;

	KUNIT_ASSERT_EQ(test, ext_send_inv(ek, 0, true), 0);
	KUNIT_ASSERT_EQ(test, ext_send_inv(ek, 0, false), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(kit_qp(ek->pair.client), true, 0,
					     &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_SEND_WITH_INV);
	KUNIT_EXPECT_EQ(test, wr.rkey, 0xabcdU);
	KUNIT_EXPECT_EQ(test, wr.len, 16U);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(kit_qp(ek->pair.client), true, 1,
					     &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_SEND);

	KUNIT_EXPECT_EQ(test, fake_qp_complete(kit_qp(ek->pair.client), true, 2,
					       IB_WC_SUCCESS), 2U);
	event = KIT_EXPECT_EVENT(test, ek->evd, DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, (int)dto->operation, (int)DAT_DTO_SEND);
	KUNIT_EXPECT_EQ(test, dto->transfered_length, 16U);
	KUNIT_EXPECT_EQ(test, kit_drain(ek->evd), 1U);

	KUNIT_ASSERT_EQ(test, kit_post_recv(ek->pair.server, 1), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_receive(kit_qp(ek->pair.server), 4,
					      0xabcd), 1U);
	event = KIT_EXPECT_EVENT(test, ek->evd, DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_EQ(test, (int)dto->operation,
			(int)DAT_DTO_RECEIVE_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, dto->rmr_context, 0xabcdU);
}

/* 0x01020304 is that number on both sides, and network order in between. */
static void kdapl_ext_write_immed(struct kunit *test)
{
	struct dat_ib_extension_event_data data;
	struct ext_kit *ek = ext_kit(test);
	struct fake_wr wr = {};
	union dat_context cookie = {};
	int i;

	KUNIT_EXPECT_EQ(test, dat_ib_post_rdma_write_immed(NULL, 0, NULL,
							   cookie, &ext_remote,
							   1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_post_rdma_write_immed(ek->pair.client, 0,
							   NULL, cookie, NULL,
							   1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ext_write_immed(ek, 16, 1, 0), -EMSGSIZE);
	KUNIT_ASSERT_EQ(test, ext_write_immed(ek, 8, 0x01020304, 0), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(kit_qp(ek->pair.client), true, 0,
					     &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_RDMA_WRITE_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wr.imm, 0x01020304U);
	KUNIT_EXPECT_EQ(test, wr.rkey, 0xfeedU);
	KUNIT_EXPECT_EQ(test, wr.remote_addr, 0x1000ULL);
	fake_qp_complete(kit_qp(ek->pair.client), true, 1, IB_WC_SUCCESS);
	ext_expect(test, ek, ek->pair.client, DAT_IB_DTO_RDMA_WRITE_IMMED,
		   DAT_IB_RDMA_WRITE_IMMED, DAT_DTO_SUCCESS);

	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, kit_post_recv(ek->pair.server, i), 0);
	fake_qp_receive_imm(kit_qp(ek->pair.server), 8, 0x01020304, true);
	data = ext_expect(test, ek, ek->pair.server, DAT_IB_DTO_RECV_IMMED,
			  DAT_IB_RDMA_WRITE_IMMED_DATA, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, data.val.immed.data, 0x01020304U);
	fake_qp_receive_imm(kit_qp(ek->pair.server), 8, 5, false);
	data = ext_expect(test, ek, ek->pair.server, DAT_IB_DTO_RECV_MSG_IMMED,
			  DAT_IB_RECV_IMMED_DATA, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, data.val.immed.data, 5U);
}

static void kdapl_ext_atomics(struct kunit *test)
{
	struct ext_kit *ek = ext_kit(test);
	struct dat_lmr_triplet iov = ext_local(ek, 8);
	union dat_context cookie = { .as_index = 8 };
	struct kit *kit = to_kit(test);
	struct fake_wr wr = {};

	KUNIT_EXPECT_EQ(test, ext_fetch_add(ek, 8, 0x1004, 8, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ext_fetch_add(ek, 8, 0x1000, 4, 0), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, ext_fetch_add(ek, 4, 0x1000, 8, 0), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, ext_fetch_add(ek, 8, 0x1000, 8,
					    DAT_COMPLETION_SOLICITED_WAIT_FLAG),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_post_fetch_and_add(NULL, 1, &iov, cookie,
							&ext_remote, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ib_post_cmp_and_swap(ek->pair.client, 1, 2,
						       NULL, cookie,
						       &ext_remote, 0),
			-EINVAL);
	kit->ia->dev_attr.atomic_cap = IB_ATOMIC_NONE;
	KUNIT_EXPECT_EQ(test, ext_fetch_add(ek, 8, 0x1000, 8, 0), -EOPNOTSUPP);
	kit->ia->dev_attr.atomic_cap = IB_ATOMIC_HCA;

	KUNIT_ASSERT_EQ(test, ext_fetch_add(ek, 8, 0x1000, 8, 0), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(kit_qp(ek->pair.client), true, 0,
					     &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_ATOMIC_FETCH_AND_ADD);
	KUNIT_EXPECT_EQ(test, wr.compare_add, 5ULL);
	KUNIT_EXPECT_EQ(test, wr.remote_addr, 0x1000ULL);
	KUNIT_EXPECT_EQ(test, wr.rkey, 0xfeedU);
	KUNIT_ASSERT_EQ(test, dat_ib_post_cmp_and_swap(ek->pair.client, 1, 2,
						       &iov, cookie,
						       &ext_remote, 0), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(kit_qp(ek->pair.client), true, 1,
					     &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_ATOMIC_CMP_AND_SWP);
	KUNIT_EXPECT_EQ(test, wr.compare_add, 1ULL);
	KUNIT_EXPECT_EQ(test, wr.swap, 2ULL);
	fake_qp_complete(kit_qp(ek->pair.client), true, 2, IB_WC_SUCCESS);
	ext_expect(test, ek, ek->pair.client, DAT_IB_DTO_FETCH_ADD,
		   DAT_IB_FETCH_AND_ADD, DAT_DTO_SUCCESS);
	ext_expect(test, ek, ek->pair.client, DAT_IB_DTO_CMP_SWAP,
		   DAT_IB_CMP_AND_SWAP, DAT_DTO_SUCCESS);
}

/* Memory that is registered for them: what the peer's device is told. */
static void kdapl_ext_atomic_memory(struct kunit *test)
{
	const enum dat_mem_priv_flags atomic =
		(enum dat_mem_priv_flags)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	const int rights = IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE;
	struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = 1,
		.privileges = atomic,
		.min_fmrs = 1,
		.max_fmrs = 1,
	};
	struct mem *mem = memkit_init(test, EXT_DEPTH);
	union dat_region_description region = { .for_va = mem->memory };
	struct kit *kit = to_kit(test);
	struct dat_lmr *lmr = NULL, *fast = mem_allocate(mem, 1);
	struct dat_fmr_pool *pool = NULL;
	struct fake_wr wr = {};
	u64 length, addr;
	u32 lctx, rctx = 0, fast_rctx = 0;

#define CREATE(priv)							\
	dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL, region, 64, kit->pz, \
			priv, 0, 0, &lmr, &lctx, &rctx, &length, &addr)
#define FMR(priv)							\
	dat_lmr_fmr(fast, DAT_MEM_TYPE_VIRTUAL, region, 1, priv, 0, mem->ep, \
		    mem_cookie(1), 0, &lctx, &fast_rctx)
	/* No such privilege; and none on a device without. */
	KUNIT_EXPECT_EQ(test, CREATE((enum dat_mem_priv_flags)0x80), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR((enum dat_mem_priv_flags)0x80), -EINVAL);
	kit->ia->dev_attr.atomic_cap = IB_ATOMIC_NONE;
	KUNIT_EXPECT_EQ(test, CREATE(atomic), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, FMR(atomic), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(kit->ia, kit->pz, NULL,
						  &param, &pool), -EOPNOTSUPP);
	kit->ia->dev_attr.atomic_cap = IB_ATOMIC_HCA;
	KUNIT_EXPECT_PTR_EQ(test, (void *)lmr, NULL);
	KUNIT_EXPECT_EQ(test, rctx, 0U);

	KUNIT_ASSERT_EQ(test, CREATE(atomic), 0);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(rctx));
	KUNIT_EXPECT_EQ(test, lmr->access, rights);
	/* That of the peer is none of ours. */
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, addr, 8), -EACCES);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
	KUNIT_EXPECT_FALSE(test, fake_mr_valid(rctx));

	fake_script.manual_reg = true;
	KUNIT_ASSERT_EQ(test, FMR(atomic), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, wr.access, rights);
	KUNIT_EXPECT_EQ(test, wr.rkey, fast_rctx);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_create(kit->ia, kit->pz, NULL,
						  &param, &pool), 0);
	KUNIT_EXPECT_EQ(test, dat_fmr_pool_destroy(pool), 0);
#undef FMR
#undef CREATE
}

/* Credits, suppressed successes, failures, posts behind the end. */
static void kdapl_ext_queue_rules(struct kunit *test)
{
	struct ext_kit *ek = ext_kit(test);
	int i;

	for (i = 0; i < EXT_DEPTH; i++)
		KUNIT_EXPECT_EQ(test, ext_fetch_add(ek, 8, 0x1000, 8, 0), 0);
	KUNIT_EXPECT_EQ(test, ext_fetch_add(ek, 8, 0x1000, 8, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, ext_send_inv(ek, 0, true), -ENOSPC);
	fake_qp_complete(kit_qp(ek->pair.client), true, EXT_DEPTH,
			 IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(ek->evd), (unsigned int)EXT_DEPTH);

	for (i = 0; i < EXT_DEPTH; i++)
		KUNIT_EXPECT_EQ(test,
				ext_write_immed(ek, 8, i,
						DAT_COMPLETION_SUPPRESS_FLAG),
				0);
	fake_qp_complete(kit_qp(ek->pair.client), true, EXT_DEPTH,
			 IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(ek->evd), 0U);
	fake_hca_fail(FAKE_POST_SEND, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, ext_write_immed(ek, 8, 1, 0), -EIO);
	for (i = 0; i < EXT_DEPTH; i++)
		KUNIT_EXPECT_EQ(test, ext_write_immed(ek, 8, i, 0), 0);

	/* A failure, and the flushes that it brings. */
	fake_qp_complete(kit_qp(ek->pair.client), true, 1,
			 IB_WC_REM_ACCESS_ERR);
	ext_expect(test, ek, ek->pair.client, DAT_IB_DTO_RDMA_WRITE_IMMED,
		   DAT_IB_RDMA_WRITE_IMMED, DAT_DTO_ERR_REMOTE_ACCESS);
	for (i = 1; i < EXT_DEPTH; i++)
		ext_expect(test, ek, ek->pair.client,
			   DAT_IB_DTO_RDMA_WRITE_IMMED,
			   DAT_IB_RDMA_WRITE_IMMED, DAT_DTO_ERR_FLUSHED);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(ek->pair.client) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_EQ(test, ext_fetch_add(ek, 8, 0x1000, 8, 0), 0);
	ext_expect(test, ek, ek->pair.client, DAT_IB_DTO_FETCH_ADD,
		   DAT_IB_FETCH_AND_ADD, DAT_DTO_ERR_FLUSHED);
}

static struct kunit_case kdapl_ext_cases[] = {
	KUNIT_CASE(kdapl_ext_send_with_invalidate),
	KUNIT_CASE(kdapl_ext_write_immed),
	KUNIT_CASE(kdapl_ext_atomics),
	KUNIT_CASE(kdapl_ext_atomic_memory),
	KUNIT_CASE(kdapl_ext_queue_rules),
	{}
};

static struct kunit_suite kdapl_ext_suite = {
	.name = "kdapl_ext",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_ext_cases,
};

kunit_test_suite(kdapl_ext_suite);

MODULE_DESCRIPTION("Suite: extensions");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
