// SPDX-License-Identifier: GPL-2.0
/* Fast registration: wrong arguments, and every kind of memory. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>

#include "mem_kit.h"

/* NULL, unknown values, other IAs' and other PZs' objects. */
static void kdapl_fmr_args_arguments(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 4);
	struct kit *kit = to_kit(test);
	struct dat_lmr *lmr = mem_allocate(mem, 2), *none = (void *)5, *plain;
	union dat_region_description region = { .for_va = mem->memory };
	union dat_region_description stack = { .for_va = &region };
	u32 l = 7, r = 7, lctx, rctx;
	struct dat_pz *pz;
	u64 len, addr;

#define FMR(lmr, type, region, pages, priv, va, ep, flags)		\
	dat_lmr_fmr(lmr, type, region, pages, priv, va, ep,		\
		    mem_cookie(0), flags, &l, &r)
#define ALLOCATE(ia, pz, pages, scope)					\
	dat_lmr_allocate(ia, pz, pages, scope, &none)

	KUNIT_EXPECT_EQ(test, ALLOCATE(NULL, kit->pz, 1, DAT_LMR_SCOPE_PZ),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ALLOCATE(kit->ia, NULL, 1, DAT_LMR_SCOPE_PZ),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ALLOCATE(kit->ia, kit->pz, 0, DAT_LMR_SCOPE_PZ),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ALLOCATE(kit->ia, kit->pz, -1, DAT_LMR_SCOPE_PZ),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ALLOCATE(kit->ia, kit->pz, 1, DAT_LMR_SCOPE_ANY),
			-EINVAL);
	/* The device takes 64. */
	KUNIT_EXPECT_EQ(test, ALLOCATE(kit->ia, kit->pz, 65, DAT_LMR_SCOPE_PZ),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, dat_lmr_allocate(kit->ia, kit->pz, 1,
					       DAT_LMR_SCOPE_PZ, NULL),
			-EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, (void *)none, (void *)5);

	KUNIT_EXPECT_EQ(test, FMR(NULL, DAT_MEM_TYPE_VIRTUAL, region, 1, 1, 0,
				  mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, 1, 0,
				  NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 0, 1, 0,
				  mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 3, 1, 0,
				  mem->ep, 0), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, 0x44, 0,
				  mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, 1, 2,
				  mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_LMR, region, 1, 1, 0,
				  mem->ep, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_BYPASS, region, 1, 1, 0,
				  mem->ep, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, FMR(lmr, 3, region, 1, 1, 0, mem->ep, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, stack, 1, 1, 0,
				  mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, 1, 0,
				  mem->ep, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, 1, 0,
				  mem->ep,
				  DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, 1, 0,
				  mem->ep, DAT_COMPLETION_UNSIGNALLED_FLAG),
			-EINVAL);
	region.for_va = NULL;
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, 1, 0,
				  mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_PHYSICAL, region, 1, 1, 0,
				  mem->ep, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, FMR(lmr, DAT_MEM_TYPE_PLATFORM, region, 1, 1, 0,
				  mem->ep, 0), -EINVAL);
	region.for_va = mem->memory;
	KUNIT_EXPECT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1,
					  1, 0, mem->ep, mem_cookie(0), 0,
					  NULL, &r), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1,
					  1, 0, mem->ep, mem_cookie(0), 0, &l,
					  NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_invalidate(NULL, mem->ep, mem_cookie(0),
						 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_invalidate(lmr, NULL, mem_cookie(0), 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, lmr, 0x100), -EINVAL);

	/* One of dat_lmr_kcreate() has its memory for good. */
	KUNIT_ASSERT_EQ(test, dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL,
					      region, 64, kit->pz, MEM_LOCAL,
					      DAT_VA_TYPE_VA, 0, &plain, &lctx,
					      &rctx, &len, &addr), 0);
	KUNIT_EXPECT_EQ(test, mem_fmr(mem, plain, 0, 1, 0, &l, &r), -EINVAL);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, plain, 0), -EINVAL);

	KUNIT_ASSERT_EQ(test, dat_pz_create(kit->ia, &pz), 0);
	KUNIT_ASSERT_EQ(test, dat_lmr_allocate(kit->ia, pz, 1, DAT_LMR_SCOPE_PZ,
					       &plain), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(pz), -EBUSY);
	KUNIT_EXPECT_EQ(test, mem_fmr(mem, plain, 0, 1, 0, &l, &r), -EPERM);
	KUNIT_EXPECT_EQ(test, mem_invalidate(mem, plain, 0), -EPERM);
	KUNIT_EXPECT_EQ(test, l, 7U);
	KUNIT_EXPECT_EQ(test, r, 7U);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 0U);
#undef FMR
#undef ALLOCATE
}

/* Each kind of memory: what address it gets, and how long it is. */
static void kdapl_fmr_args_types(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 4);
	phys_addr_t phys = virt_to_phys(mem->memory);
	u64 pages[3] = { phys + 2 * PAGE_SIZE, phys, phys + 5 * PAGE_SIZE };
	struct scatterlist sgl[2];
	struct sg_table table = { .sgl = sgl, .nents = 2, .orig_nents = 2 };
	const struct {
		enum dat_mem_type type;
		union dat_region_description region;
		int pages;
		u64 va;
		u64 length;
	} cases[] = {
		{ DAT_MEM_TYPE_PHYSICAL, { .for_physical = pages }, 3, pages[0],
		  3 * PAGE_SIZE },
		{ DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
		  { .for_array = { 2 * PAGE_SIZE, pages } }, 2, pages[0],
		  4 * PAGE_SIZE },
		{ DAT_MEM_TYPE_PLATFORM, { .for_platform = &table }, 2,
		  phys + 50, 2 * PAGE_SIZE - 50 - 60 },
		{ DAT_MEM_TYPE_IA,
		  { .for_ia = (uintptr_t)mem->memory + 30 }, 2,
		  (uintptr_t)mem->memory + 30, 2 * PAGE_SIZE - 30 },
	};
	union dat_region_description region;
	struct dat_lmr_param param = {};
	u32 lctx, rctx;
	int i;

	sg_init_table(sgl, 2);
	sg_set_buf(&sgl[0], mem->memory + 50, PAGE_SIZE - 50);
	sg_set_buf(&sgl[1], mem->memory + 4 * PAGE_SIZE, PAGE_SIZE - 60);

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KUNIT_ASSERT_EQ(test,
				dat_lmr_fmr(lmr, cases[i].type, cases[i].region,
					    cases[i].pages,
					    DAT_MEM_PRIV_ALL_FLAG,
					    DAT_VA_TYPE_VA, mem->ep,
					    mem_cookie(1), 0, &lctx, &rctx), 0);
		mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
		dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param);
		KUNIT_EXPECT_EQ(test, param.registered_address, cases[i].va);
		KUNIT_EXPECT_EQ(test, param.length, cases[i].length);
		KUNIT_EXPECT_EQ(test, (int)param.mem_type, (int)cases[i].type);
		KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, cases[i].va,
					       cases[i].length), 0);
		fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
		kit_drain(mem->req);
	}

	/* A gap: an inner piece that does not end at its page's end. */
	sg_set_buf(&sgl[0], mem->memory + 50, PAGE_SIZE - 51);
	region.for_platform = &table;
	KUNIT_EXPECT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 4,
					  1, 0, mem->ep, mem_cookie(1), 0,
					  &lctx, &rctx), -EINVAL);
	/* The same offset in another page does not close it. */
	sg_set_buf(&sgl[1], mem->memory + 5 * PAGE_SIZE - 1, 10);
	KUNIT_EXPECT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PLATFORM, region, 4,
					  1, 0, mem->ep, mem_cookie(1), 0,
					  &lctx, &rctx), -EINVAL);
	/* Pages that are none. */
	pages[1] += 8;
	region.for_physical = pages;
	KUNIT_EXPECT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL, region, 3,
					  1, 0, mem->ep, mem_cookie(1), 0,
					  &lctx, &rctx), -EINVAL);
	/* Too many small ones in few large ones. */
	pages[1] = phys;
	region.for_array.page_size = 2 * PAGE_SIZE;
	region.for_array.pages = pages;
	KUNIT_EXPECT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
					  region, 3, 1, 0, mem->ep,
					  mem_cookie(1), 0, &lctx, &rctx),
			-EMSGSIZE);
	KUNIT_EXPECT_FALSE(test, mem_bound(lmr));
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 0U);
}

/* Offsets: only where the device takes any, or from the start of a page. */
static void kdapl_fmr_args_zero_based(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_lmr *lmr = mem_allocate(mem, 4);
	union dat_region_description region = { .for_va = mem->memory };
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1,
					  DAT_MEM_PRIV_ALL_FLAG,
					  DAT_VA_TYPE_ZB, mem->ep,
					  mem_cookie(1), 0, &lctx, &rctx), 0);
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, 0, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, PAGE_SIZE - 1, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, mem_send(mem, lctx, (uintptr_t)mem->memory, 1),
			-EINVAL);
	fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, mem_invalidate(mem, lmr, 0), 0);
	kit_drain(mem->req);
	region.for_va = mem->memory + 1;
	KUNIT_EXPECT_EQ(test, dat_lmr_fmr(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1,
					  DAT_MEM_PRIV_ALL_FLAG,
					  DAT_VA_TYPE_ZB, mem->ep,
					  mem_cookie(1), 0, &lctx, &rctx),
			-EOPNOTSUPP);
}

static struct kunit_case kdapl_fmr_args_cases[] = {
	KUNIT_CASE(kdapl_fmr_args_arguments),
	KUNIT_CASE(kdapl_fmr_args_types),
	KUNIT_CASE(kdapl_fmr_args_zero_based),
	{}
};

static struct kunit_suite kdapl_fmr_args_suite = {
	.name = "kdapl_fmr_args",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_fmr_args_cases,
};

kunit_test_suite(kdapl_fmr_args_suite);

MODULE_DESCRIPTION("Suite: arguments of fast registration");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
