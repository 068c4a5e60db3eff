// SPDX-License-Identifier: GPL-2.0
/*
 * The short ways of fast registration: that they come to the same as the long ones,
 * and end where they must. Each also as on a device whose memory has to be mapped.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/frmr.h"
#include "../../drivers/kdapl/lmr.h"
#include "mem_kit.h"

static const bool short_simple[] = { true, false };

static void short_desc(const bool *simple, char *desc)
{
	strscpy(desc, *simple ? "nothing to unmap" : "unmapped by a call",
		KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(short_simple, short_simple, short_desc);

static struct dat_lmr *short_allocate(struct mem *mem)
{
	struct dat_lmr *lmr = mem_allocate(mem, 1);

	lmr->fr->simple = *(const bool *)mem->test->param_value;
	return lmr;
}

/* What a registration and its end come to. */
struct short_round {
	struct fake_wr reg;
	struct fake_wr inv;
	struct dat_lmr_param param;
	u32 lctx;
	u32 rctx;
	u8 mapped;
};

static void short_round(struct mem *mem, struct dat_lmr *lmr, u32 offset,
			enum dat_completion_flags flags, struct short_round *round)
{
	struct kunit *test = mem->test;
	struct dat_event event;

	memset(round, 0, sizeof(*round));
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, offset, 1, flags, &round->lctx,
				      &round->rctx), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &round->reg));
	KUNIT_EXPECT_EQ(test, dat_lmr_query(lmr, DAT_LMR_FIELD_ALL,
					    &round->param), 0);
	round->mapped = lmr->fr->mapped;
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	event = mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data
			.user_cookie.as_index, 1UL);
	KUNIT_EXPECT_TRUE(test, lmr->fr->settled);
	KUNIT_EXPECT_TRUE(test, fake_mr_valid(round->rctx));
	KUNIT_EXPECT_EQ(test, lmr->length, PAGE_SIZE - offset + 0ULL);

	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, flags), 0);
	KUNIT_EXPECT_EQ(test, lmr->length, 0ULL);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &round->inv));
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	event = mem_expect(mem, DAT_DTO_LMR_INVALIDATE, DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data
			.user_cookie.as_index, 2UL);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	KUNIT_EXPECT_FALSE(test, lmr->fr->mapped);
	KUNIT_EXPECT_EQ(test, atomic_read(&lmr->fr->posted), 0);
}

/* A fence is for the long way; else nobody can tell which one it was. */
static void kdapl_fmr_short_same(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 4);
	struct dat_lmr *lmr = short_allocate(mem);
	struct short_round brief, full;
	int i;

	fake_script.manual_reg = true;
	for (i = 0; i < 8; i++) {
		short_round(mem, lmr, 100 * i, 0, &brief);
		short_round(mem, lmr, 100 * i,
			    DAT_COMPLETION_BARRIER_FENCE_FLAG, &full);
		KUNIT_EXPECT_EQ(test, (int)brief.mapped,
				(int)KDAPL_FRMR_MAPPED_ONE);
		KUNIT_EXPECT_EQ(test, (int)full.mapped,
				(int)KDAPL_FRMR_MAPPED_LIST);

		KUNIT_EXPECT_EQ(test, (int)brief.reg.opcode, (int)IB_WR_REG_MR);
		KUNIT_EXPECT_EQ(test, (int)brief.reg.opcode,
				(int)full.reg.opcode);
		KUNIT_EXPECT_EQ(test, brief.reg.access, full.reg.access);
		KUNIT_EXPECT_EQ(test, brief.reg.rkey, brief.rctx);
		KUNIT_EXPECT_EQ(test, full.reg.rkey, ib_inc_rkey(brief.rctx));
		KUNIT_EXPECT_EQ(test, brief.reg.flags | IB_SEND_FENCE,
				full.reg.flags);
		KUNIT_EXPECT_EQ(test, (int)brief.inv.opcode,
				(int)full.inv.opcode);
		KUNIT_EXPECT_EQ(test, brief.inv.rkey, brief.rctx);
		KUNIT_EXPECT_EQ(test, brief.inv.flags | IB_SEND_FENCE,
				full.inv.flags);

		KUNIT_EXPECT_EQ(test, brief.lctx >> 8, full.lctx >> 8);
		KUNIT_EXPECT_EQ(test, (u8)(brief.lctx + 1), (u8)full.lctx);
		/* All else that a query tells is the same. */
		KUNIT_EXPECT_EQ(test, brief.param.lmr_context, brief.lctx);
		KUNIT_EXPECT_EQ(test, brief.param.rmr_context, brief.rctx);
		brief.param.lmr_context = full.param.lmr_context;
		brief.param.rmr_context = full.param.rmr_context;
		KUNIT_EXPECT_EQ(test, memcmp(&brief.param, &full.param,
					     sizeof(full.param)), 0);
	}
}

/* Between messages, in one batch: in order, and each credit comes back. */
static void kdapl_fmr_short_batch(struct kunit *test)
{
	static const struct {
		u8 op;
		u32 length;
	} all[] = {
		{ DAT_DTO_SEND, 0 },
		{ DAT_DTO_LMR_FMR, 0 },
		{ DAT_DTO_SEND, 8 },
		{ DAT_DTO_LMR_INVALIDATE, 0 },
	};
	struct mem *mem = memkit_init(test, ARRAY_SIZE(all));
	struct dat_lmr *lmr = short_allocate(mem);
	struct dat_dto_completion_event_data *dto;
	u64 before = mem->req->stats.dequeued;
	u64 va = (uintptr_t)mem->memory;
	struct dat_event events[8];
	u32 lctx, rctx;
	int i, k;

	fake_script.manual_reg = true;
	for (i = 0; i < 6; i++) {
		KUNIT_ASSERT_EQ(test, kit_post_send(mem->ep, 7, 0), 0);
		KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx),
				0);
		KUNIT_ASSERT_EQ(test, mem_send(mem, lctx, va, 8), 0);
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
		KUNIT_EXPECT_EQ(test, kit_post_send(mem->ep, 8, 0), -ENOSPC);
		KUNIT_EXPECT_EQ(test, fake_qp_complete(mem->qp, true, 4,
						       IB_WC_SUCCESS), 4U);
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue_batch(mem->req, events,
							    8), 4);
		for (k = 0; k < ARRAY_SIZE(all); k++) {
			dto = &events[k].event_data.dto_completion_event_data;
			KUNIT_EXPECT_EQ(test, (int)dto->operation,
					(int)all[k].op);
			KUNIT_EXPECT_EQ(test, (int)dto->status, 0);
			KUNIT_EXPECT_EQ(test, dto->transfered_length,
					all[k].length);
			KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, mem->ep);
		}
		KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(mem->req, events),
				-EAGAIN);
	}
	KUNIT_EXPECT_EQ(test, mem->req->stats.dequeued - before, 24ULL);
}

/* What follows from the privileges is remembered until there are others. */
static void kdapl_fmr_short_privileges(struct kunit *test)
{
	static const struct {
		enum dat_mem_priv_flags priv;
		int access;
	} uses[] = {
		{ MEM_LOCAL, IB_ACCESS_LOCAL_WRITE },
		{ DAT_MEM_PRIV_REMOTE_READ_FLAG, IB_ACCESS_REMOTE_READ },
		{ DAT_MEM_PRIV_REMOTE_READ_FLAG, IB_ACCESS_REMOTE_READ },
		{ DAT_MEM_PRIV_NONE_FLAG, 0 },
		{ MEM_LOCAL, IB_ACCESS_LOCAL_WRITE },
	};
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = short_allocate(mem);
	union dat_region_description region = { .for_va = mem->memory };
	u64 va = (uintptr_t)mem->memory;
	u32 lctx, rctx;
	struct fake_wr wr;
	int i;

	for (i = 0; i < ARRAY_SIZE(uses); i++) {
		fake_script.manual_reg = true;
		KUNIT_ASSERT_EQ(test,
				dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region,
					    1, uses[i].priv, DAT_VA_TYPE_VA,
					    mem->ep, mem_cookie(1), 0, &lctx,
					    &rctx), 0);
		KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
		KUNIT_EXPECT_EQ(test, wr.access, uses[i].access);
		KUNIT_EXPECT_EQ(test, rctx,
				uses[i].priv & DAT_MEM_PRIV_REMOTE_READ_FLAG ?
				wr.rkey : 0U);
		KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, va, 8),
				uses[i].priv & DAT_MEM_PRIV_LOCAL_READ_FLAG ?
				0 : -EACCES);
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
		fake_qp_complete(mem->qp, true, 3, IB_WC_SUCCESS);
		kit_drain(mem->req);
		KUNIT_ASSERT_FALSE(test, mem_bound(lmr));
	}
}

/* Good memory before it makes bad memory no better. */
static void kdapl_fmr_short_memory(struct kunit *test)
{
	static u8 of_module[8];
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = short_allocate(mem);
	void *area = vmalloc(PAGE_SIZE);
	union dat_region_description stack = { .for_va = &stack };
	union dat_region_description bad[] = {
		{ .for_va = NULL },
		stack,
		{ .for_va = of_module },
		{ .for_va = ERR_PTR(-ENOMEM) },
		{ .for_va = (void *)TASK_SIZE },
	};
	union dat_region_description good[] = {
		{ .for_va = mem->memory },
		{ .for_va = area },
		{ .for_va = mem->memory + 12 },
	};
	u32 lctx, rctx, mark = 77;
	int i, k;

	KUNIT_ASSERT_NOT_NULL(test, area);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		KUNIT_EXPECT_EQ(test,
				dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, good[i],
					    1, MEM_LOCAL, DAT_VA_TYPE_VA,
					    mem->ep, mem_cookie(1), 0, &lctx,
					    &rctx), 0);
		KUNIT_EXPECT_EQ(test, mem_send(mem, lctx,
					       (uintptr_t)good[i].for_va, 8), 0);
		KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
		fake_qp_complete(mem->qp, true, 3, IB_WC_SUCCESS);
		kit_drain(mem->req);
		KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
		for (k = 0; k < ARRAY_SIZE(bad); k++)
			KUNIT_EXPECT_EQ(test,
					dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL,
						    bad[k], 1, MEM_LOCAL,
						    DAT_VA_TYPE_VA, mem->ep,
						    mem_cookie(1), 0, &mark,
						    &mark), -EINVAL);
		KUNIT_EXPECT_EQ(test, mark, 77U);
	}
	vfree(area);
}

static struct kunit_case kdapl_fmr_short_cases[] = {
	KUNIT_CASE_PARAM(kdapl_fmr_short_same, short_simple_gen_params),
	KUNIT_CASE_PARAM(kdapl_fmr_short_batch, short_simple_gen_params),
	KUNIT_CASE_PARAM(kdapl_fmr_short_privileges, short_simple_gen_params),
	KUNIT_CASE_PARAM(kdapl_fmr_short_memory, short_simple_gen_params),
	{}
};

static struct kunit_suite kdapl_fmr_short_suite = {
	.name = "kdapl_fmr_short",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_fmr_short_cases,
};

kunit_test_suite(kdapl_fmr_short_suite);

MODULE_DESCRIPTION("Suite: the short ways of fast registration");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
