// SPDX-License-Identifier: GPL-2.0
/* dat_lmr_kcreate() for every kind of memory; the reserved LMR; hints; sync. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/vmalloc.h>

#include "../../drivers/kdapl/lmr.h"
#include "mem_kit.h"

struct lmr_out {
	struct dat_lmr *lmr;
	u32 lctx;
	u32 rctx;
	u64 length;
	u64 va;
};

static int lmr_create(struct kunit *test, enum dat_mem_type type,
		      union dat_region_description region, u64 length,
		      struct dat_pz *pz, enum dat_mem_priv_flags priv,
		      enum dat_va_type va_type, struct lmr_out *out)
{
	*out = (struct lmr_out){ (void *)5, 5, 5, 5, 5 };
	return dat_lmr_kcreate(to_kit(test)->ia, type, region, length, pz, priv,
			       va_type, DAT_MEM_OPTIMIZE_EXACT_EXPOSURE,
			       &out->lmr, &out->lctx, &out->rctx, &out->length,
			       &out->va);
}

static void lmr_untouched(struct kunit *test, const struct lmr_out *out)
{
	KUNIT_EXPECT_PTR_EQ(test, (void *)out->lmr, (void *)5);
	KUNIT_EXPECT_EQ(test, out->lctx, 5U);
	KUNIT_EXPECT_EQ(test, out->rctx, 5U);
	KUNIT_EXPECT_EQ(test, out->length, 5ULL);
	KUNIT_EXPECT_EQ(test, out->va, 5ULL);
}

/* What the device is given for one byte of the region. */
static void lmr_byte(struct mem *mem, const struct lmr_out *out, u64 off,
		     u8 *byte)
{
	struct kunit *test = mem->test;
	struct fake_wr wr;

	KUNIT_ASSERT_EQ(test, mem_send(mem, out->lctx, out->va + off, 1), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, wr.num_sge, 1);
	/* Under the key of all memory; else an MR translates the address. */
	if (wr.sge[0].lkey == 0xfade)
		KUNIT_EXPECT_EQ(test, wr.sge[0].addr, (u64)(uintptr_t)byte);
	else
		KUNIT_EXPECT_EQ(test, wr.sge[0].addr, out->va + off);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	kit_drain(mem->req);
}

static void kdapl_lmr_types(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 4);
	struct kit *kit = to_kit(test);
	phys_addr_t phys = virt_to_phys(mem->memory);
	u64 pages[3] = { phys + 2 * PAGE_SIZE, phys, phys + 5 * PAGE_SIZE };
	struct scatterlist sgl[2];
	struct sg_table table = { .sgl = sgl, .nents = 2, .orig_nents = 2 };
	u64 three = 3 * PAGE_SIZE, four = 4 * PAGE_SIZE;
	const struct {
		enum dat_mem_type type;
		union dat_region_description region;
		u64 length;
		u64 va;
		u64 registered;
		u64 last;	/* offset in memory of the last byte */
	} cases[] = {
		{ DAT_MEM_TYPE_VIRTUAL, { .for_va = mem->memory + 7 }, 9000,
		  (uintptr_t)mem->memory + 7, 9000, 9006 },
		{ DAT_MEM_TYPE_PHYSICAL, { .for_physical = pages },
		  three - 11, pages[0], three - 11, 6 * PAGE_SIZE - 12 },
		{ DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
		  { .for_array = { 2 * PAGE_SIZE, pages } }, four, pages[0],
		  four, 2 * PAGE_SIZE - 1 },
		{ DAT_MEM_TYPE_PLATFORM, { .for_platform = &table }, 0,
		  phys + 50, 2 * PAGE_SIZE - 110, 5 * PAGE_SIZE - 61 },
		{ DAT_MEM_TYPE_PLATFORM, { .for_platform = &table }, PAGE_SIZE,
		  phys + 50, PAGE_SIZE, 4 * PAGE_SIZE + 49 },
		{ DAT_MEM_TYPE_IA, { .for_ia = (uintptr_t)mem->memory + 30 },
		  5000, (uintptr_t)mem->memory + 30, 5000, 5029 },
	};
	struct lmr_out out, copy, remote;
	union dat_region_description region;
	struct dat_pz *pz;
	int i;

	KUNIT_ASSERT_EQ(test, dat_pz_create(kit->ia, &pz), 0);
	sg_init_table(sgl, 2);
	sg_set_buf(&sgl[0], mem->memory + 50, PAGE_SIZE - 50);
	sg_set_buf(&sgl[1], mem->memory + 4 * PAGE_SIZE, PAGE_SIZE - 60);

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test,
				lmr_create(test, cases[i].type, cases[i].region,
					   cases[i].length, kit->pz, MEM_LOCAL,
					   DAT_VA_TYPE_VA, &out), 0);
		KUNIT_EXPECT_EQ(test, out.va, cases[i].va);
		KUNIT_EXPECT_EQ(test, out.length, cases[i].registered);
		KUNIT_EXPECT_EQ(test, out.rctx, 0U);
		lmr_byte(mem, &out, out.length - 1,
			 mem->memory + cases[i].last);
		KUNIT_EXPECT_EQ(test, mem_send(mem, out.lctx, out.va,
					       out.length + 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, mem_send(mem, out.lctx, out.va - 1, 1),
				-EINVAL);

		/* The same for the peer. */
		KUNIT_ASSERT_EQ(test,
				lmr_create(test, cases[i].type, cases[i].region,
					   cases[i].length, kit->pz,
					   DAT_MEM_PRIV_ALL_FLAG,
					   DAT_VA_TYPE_VA, &remote), 0);
		KUNIT_EXPECT_TRUE(test, fake_mr_valid(remote.rctx));
		KUNIT_EXPECT_EQ(test, remote.lmr->mr->iova, cases[i].va);
		KUNIT_EXPECT_EQ(test, remote.lmr->mr->length,
				cases[i].registered);

		/* A copy outlives what it was made of. */
		region.for_lmr_handle = out.lmr;
		KUNIT_ASSERT_EQ(test, lmr_create(test, DAT_MEM_TYPE_LMR, region,
						 0, kit->pz, MEM_LOCAL,
						 DAT_VA_TYPE_VA, &copy), 0);
		KUNIT_EXPECT_EQ(test, copy.va, out.va);
		KUNIT_EXPECT_EQ(test, copy.length, out.length);
		KUNIT_EXPECT_EQ(test, dat_lmr_free(out.lmr), 0);
		lmr_byte(mem, &copy, copy.length - 1,
			 mem->memory + cases[i].last);
		/* Into another PZ, which is not that of the EP. */
		region.for_lmr_handle = copy.lmr;
		KUNIT_ASSERT_EQ(test, lmr_create(test, DAT_MEM_TYPE_LMR, region,
						 0, pz, MEM_LOCAL,
						 DAT_VA_TYPE_VA, &out), 0);
		KUNIT_EXPECT_EQ(test, mem_send(mem, out.lctx, out.va, 1),
				-EPERM);
		KUNIT_EXPECT_EQ(test, dat_lmr_free(copy.lmr), 0);
		KUNIT_EXPECT_EQ(test, dat_lmr_free(out.lmr), 0);
		KUNIT_EXPECT_EQ(test, dat_lmr_free(remote.lmr), 0);
		KUNIT_EXPECT_FALSE(test, fake_mr_valid(remote.rctx));
	}
}

/* Pages that may be apart, and the limit of 64 that the device has. */
static void kdapl_lmr_limits(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 4);
	struct kit *kit = to_kit(test);
	union dat_region_description region;
	u64 preferred = 1, alignment = 1;
	struct lmr_out out;
	u8 *memory;

	memory = vzalloc(66 * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	region.for_va = memory;
	KUNIT_EXPECT_EQ(test, dat_ia_memtype_hint(kit->ia, DAT_MEM_TYPE_VIRTUAL,
						  66 * PAGE_SIZE, 0, &preferred,
						  &alignment), 0);
	KUNIT_EXPECT_EQ(test, preferred, 64ULL * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, alignment, (u64)PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, lmr_create(test, DAT_MEM_TYPE_VIRTUAL, region,
					 preferred, kit->pz,
					 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
					 &out), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(out.lmr), 0);
	KUNIT_EXPECT_EQ(test, lmr_create(test, DAT_MEM_TYPE_VIRTUAL, region,
					 preferred + 1, kit->pz,
					 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
					 &out), -EMSGSIZE);
	lmr_untouched(test, &out);
	/* The same bytes, but they touch 65 pages. */
	region.for_va = memory + 1;
	KUNIT_EXPECT_EQ(test, lmr_create(test, DAT_MEM_TYPE_VIRTUAL, region,
					 preferred, kit->pz,
					 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
					 &out), -EMSGSIZE);
	/* For local use there is no limit. */
	KUNIT_ASSERT_EQ(test, lmr_create(test, DAT_MEM_TYPE_VIRTUAL, region,
					 65 * PAGE_SIZE, kit->pz, MEM_LOCAL,
					 DAT_VA_TYPE_VA, &out), 0);
	lmr_byte(mem, &out, 65 * PAGE_SIZE - 1,
		 page_address(vmalloc_to_page(memory + 65 * PAGE_SIZE)));
	KUNIT_EXPECT_EQ(test, dat_lmr_free(out.lmr), 0);
	vfree(memory);

	KUNIT_EXPECT_EQ(test, dat_ia_memtype_hint(kit->ia, DAT_MEM_TYPE_BYPASS,
						  66 * PAGE_SIZE, 0, &preferred,
						  &alignment), 0);
	KUNIT_EXPECT_EQ(test, preferred, 66ULL * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, dat_ia_memtype_hint(kit->ia, 3, 1, 0, &preferred,
						  &alignment), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_memtype_hint(kit->ia, 0, 0, 0, &preferred,
						  &alignment), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_memtype_hint(kit->ia, 0, 1, 3, &preferred,
						  &alignment), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_memtype_hint(NULL, 0, 1, 0, &preferred,
						  &alignment), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_memtype_hint(kit->ia, 0, 1, 0, NULL,
						  &alignment), -EINVAL);
}

static void kdapl_lmr_arguments(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 4);
	struct kit *kit = to_kit(test);
	union dat_region_description va = { .for_va = mem->memory };
	union dat_region_description none = { .for_va = NULL };
	union dat_region_description region;
	struct scatterlist sgl[2];
	struct sg_table table = { .sgl = sgl, .nents = 2, .orig_nents = 2 };
	u64 pages[2] = { virt_to_phys(mem->memory), 1ULL << 60 };
	struct dat_lmr *fast = mem_allocate(mem, 1);
	struct lmr_out out;

#define REFUSED(type, region, length, priv, va_type, error)		\
do {									\
	KUNIT_EXPECT_EQ(test, lmr_create(test, type, region, length,	\
					 kit->pz, priv, va_type, &out),	\
			error);						\
	lmr_untouched(test, &out);					\
} while (0)

	REFUSED(3, va, 8, 1, 0, -EINVAL);
	REFUSED(DAT_MEM_TYPE_VIRTUAL, va, 0, 1, 0, -EINVAL);
	REFUSED(DAT_MEM_TYPE_VIRTUAL, none, 8, 1, 0, -EINVAL);
	REFUSED(DAT_MEM_TYPE_VIRTUAL, va, 8, 0x80, 0, -EINVAL);
	REFUSED(DAT_MEM_TYPE_VIRTUAL, va, 8, 1, 2, -EINVAL);
	REFUSED(DAT_MEM_TYPE_VIRTUAL, va, ULONG_MAX, 1, 0, -EINVAL);
	REFUSED(DAT_MEM_TYPE_PHYSICAL, none, 8, 1, 0, -EINVAL);
	REFUSED(DAT_MEM_TYPE_PLATFORM, none, 8, 1, 0, -EINVAL);
	REFUSED(DAT_MEM_TYPE_LMR, none, 8, 1, 0, -EINVAL);
	region.for_lmr_handle = fast;
	REFUSED(DAT_MEM_TYPE_LMR, region, 8, 1, 0, -EINVAL);
	region.for_physical = pages;
	REFUSED(DAT_MEM_TYPE_PHYSICAL, region, PAGE_SIZE + 1, 1, 0, -EINVAL);
	pages[0] += 4;
	REFUSED(DAT_MEM_TYPE_PHYSICAL, region, 8, 1, 0, -EINVAL);
	region.for_array.page_size = PAGE_SIZE / 2;
	region.for_array.pages = pages;
	REFUSED(DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, region, 8, 1, 0, -EINVAL);
	region.for_array.page_size = 0;
	REFUSED(DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, region, 8, 1, 0, -EINVAL);
	region.for_ia = U64_MAX - 4;
	REFUSED(DAT_MEM_TYPE_IA, region, 8, 1, 0, -EINVAL);
	REFUSED(DAT_MEM_TYPE_BYPASS, none, 0, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0,
		-EACCES);
	/* More than the table has, and a gap inside. */
	sg_init_table(sgl, 2);
	sg_set_buf(&sgl[0], mem->memory + 50, PAGE_SIZE - 50);
	sg_set_buf(&sgl[1], mem->memory + 4 * PAGE_SIZE, 10);
	region.for_platform = &table;
	REFUSED(DAT_MEM_TYPE_PLATFORM, region, PAGE_SIZE - 39, 1, 0, -EINVAL);
	sg_set_buf(&sgl[0], mem->memory + 50, PAGE_SIZE - 51);
	REFUSED(DAT_MEM_TYPE_PLATFORM, region, 0, 1, 0, -EINVAL);
	/* Offsets that the device could not translate. */
	va.for_va = mem->memory + 1;
	REFUSED(DAT_MEM_TYPE_VIRTUAL, va, 8, DAT_MEM_PRIV_REMOTE_READ_FLAG,
		DAT_VA_TYPE_ZB, -EOPNOTSUPP);
#undef REFUSED
	KUNIT_EXPECT_EQ(test, dat_lmr_kcreate(kit->ia, 0, va, 8, kit->pz, 1, 0,
					      3, &out.lmr, &out.lctx, &out.rctx,
					      &out.length, &out.va), -EINVAL);
}

/* All memory, without bounds, for local use only. */
static void kdapl_lmr_all_memory(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct kit *kit = to_kit(test);
	union dat_region_description none = {};
	struct dat_lmr *reserved = NULL, *again = NULL;
	struct dat_lmr_triplet iov = { .segment_length = 8 };
	struct dat_rmr_triplet remote = { .segment_length = 8 };
	struct dat_lmr_param param = {};
	struct lmr_out out;
	u32 ctx = 0, ctx2 = 1;
	u32 l, r;

	KUNIT_ASSERT_EQ(test, lmr_create(test, DAT_MEM_TYPE_BYPASS, none, 0,
					 kit->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
					 DAT_VA_TYPE_VA, &out), 0);
	KUNIT_EXPECT_EQ(test, out.va, 0ULL);
	KUNIT_EXPECT_EQ(test, out.rctx, 0U);
	out.va = (uintptr_t)mem->memory;
	lmr_byte(mem, &out, 5, mem->memory + 5);
	iov.lmr_context = out.lctx;
	iov.virtual_address = (uintptr_t)mem->memory;
	KUNIT_EXPECT_EQ(test, dat_ep_post_recv(mem->ep, 1, &iov, mem_cookie(0),
					       0), -EACCES);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(out.lmr), 0);

	KUNIT_EXPECT_EQ(test, dat_ia_reserved_lmr(NULL, &reserved, &ctx),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_reserved_lmr(kit->ia, NULL, &ctx),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ia_reserved_lmr(kit->ia, &reserved, NULL),
			-EINVAL);
	KUNIT_ASSERT_EQ(test, dat_ia_reserved_lmr(kit->ia, &reserved, &ctx), 0);
	KUNIT_ASSERT_EQ(test, dat_ia_reserved_lmr(kit->ia, &again, &ctx2), 0);
	KUNIT_EXPECT_PTR_EQ(test, again, reserved);
	KUNIT_EXPECT_EQ(test, ctx2, ctx);
	out.lctx = ctx;
	lmr_byte(mem, &out, 9, mem->memory + 9);
	iov.lmr_context = ctx;
	KUNIT_EXPECT_EQ(test, dat_ep_post_recv(mem->ep, 1, &iov, mem_cookie(0),
					       0), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_read(mem->ep, 1, &iov,
						    mem_cookie(0), &remote, 0),
			0);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(reserved), -EPERM);
	KUNIT_EXPECT_EQ(test, mem_fmr(mem, reserved, 0, 1, 0, &l, &r), -EPERM);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, reserved, 0), -EPERM);
	none.for_lmr_handle = reserved;
	KUNIT_EXPECT_EQ(test, lmr_create(test, DAT_MEM_TYPE_LMR, none, 0,
					 kit->pz, 1, 0, &out), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_query(reserved, DAT_LMR_FIELD_ALL,
					    &param), 0);
	KUNIT_EXPECT_NULL(test, param.pz_handle);
}

/* The reserved LMR is not in the way of a graceful close. */
static void kdapl_lmr_reserved_and_close(struct kunit *test)
{
	struct kit *kit = to_kit(test);
	struct dat_lmr *reserved;
	u32 ctx;

	KUNIT_ASSERT_EQ(test, dat_ia_reserved_lmr(kit->ia, &reserved, &ctx), 0);
	KUNIT_ASSERT_EQ(test, dat_pz_free(kit->pz), 0);
	KUNIT_EXPECT_EQ(test, dat_ia_close(kit->ia, DAT_CLOSE_GRACEFUL_FLAG),
			0);
	kit->ia = NULL;
}

static void kdapl_lmr_sync(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct kit *kit = to_kit(test);
	union dat_region_description va = { .for_va = mem->memory + 10 };
	struct dat_lmr *lmr = mem_allocate(mem, 2);
	struct dat_lmr_triplet segs[2];
	struct lmr_out out;
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, lmr_create(test, DAT_MEM_TYPE_VIRTUAL, va, 5000,
					 kit->pz, DAT_MEM_PRIV_ALL_FLAG,
					 DAT_VA_TYPE_VA, &out), 0);
	KUNIT_ASSERT_EQ(test, mem_fmr(mem, lmr, 0, 2, 0, &lctx, &rctx), 0);
	segs[0] = (struct dat_lmr_triplet){ out.va + 4000, 1000, out.lctx };
	segs[1] = (struct dat_lmr_triplet){ (uintptr_t)mem->memory,
					    2 * PAGE_SIZE, lctx };
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_read(kit->ia, segs, 2), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_write(kit->ia, segs, 2), 0);
	segs[0].segment_length++;
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_read(kit->ia, segs, 1),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_write(kit->ia, segs, 2),
			-EINVAL);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_read(kit->ia, &segs[1], 1),
			-EINVAL);
	segs[1].lmr_context = 0x12345678;
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_write(kit->ia, &segs[1], 1),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_read(NULL, segs, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_read(kit->ia, NULL, 1),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_sync_rdma_read(kit->ia, segs, 0),
			-EINVAL);
}

static struct kunit_case kdapl_lmr_cases[] = {
	KUNIT_CASE(kdapl_lmr_types),
	KUNIT_CASE(kdapl_lmr_limits),
	KUNIT_CASE(kdapl_lmr_arguments),
	KUNIT_CASE(kdapl_lmr_all_memory),
	KUNIT_CASE(kdapl_lmr_reserved_and_close),
	KUNIT_CASE(kdapl_lmr_sync),
	{}
};

static struct kunit_suite kdapl_lmr_suite = {
	.name = "kdapl_lmr",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_lmr_cases,
};

kunit_test_suite(kdapl_lmr_suite);

MODULE_DESCRIPTION("Suite: registered memory of all kinds");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
