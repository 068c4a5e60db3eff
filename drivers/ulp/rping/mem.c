// SPDX-License-Identifier: GPL-2.0
/*
 * rping: memory, and how a client shows its buffers to the server: registered for
 * good, by a fast registration for each ping, by a mapping of a pool, or through a
 * window. Whatever it is, it is posted in front of the message that has the key.
 */
#include "mem.h"

#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "session.h"

enum {
	MEM_PAGES = RPING_SIZE_MAX / PAGE_SIZE,
	/* Two buffers, and what is not yet invalidated of the last ping. */
	MEM_POOL = 8,
	MEM_EXPOSURE_MS = 2000,
};

static u64 mem_page(const void *addr)
{
	return is_vmalloc_addr(addr) ?
	       (u64)page_to_pfn(vmalloc_to_page(addr)) << PAGE_SHIFT :
	       virt_to_phys((void *)addr);
}

int rping_mem_create(struct rping_session *s, struct rping_mem *mem, u32 size,
		     enum dat_mem_priv_flags privileges)
{
	union dat_region_description region;
	u64 length;
	int ret;

	/* Whole pages: some ways to show it know nothing smaller. */
	mem->buf = kvzalloc(PAGE_ALIGN(size), GFP_KERNEL);
	if (!mem->buf)
		return -ENOMEM;
	mem->size = size;
	region.for_va = mem->buf;
	ret = dat_lmr_kcreate(s->ia, DAT_MEM_TYPE_VIRTUAL, region, size, s->pz,
			      privileges, DAT_VA_TYPE_VA,
			      DAT_MEM_OPTIMIZE_DONT_CARE, &mem->lmr, &mem->lkey,
			      &mem->rkey, &length, &mem->addr);
	if (ret) {
		kvfree(mem->buf);
		mem->buf = NULL;
	}
	return ret;
}

int rping_mem_create_shown(struct rping_session *s, struct rping_mem *mem,
			   u32 size, enum dat_mem_priv_flags remote)
{
	const enum dat_mem_priv_flags local = DAT_MEM_PRIV_LOCAL_READ_FLAG |
					      DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	int ret;

	mem->how = s->param.mem;
	mem->priv = remote;
	switch (mem->how) {
	case RPING_MEM_LMR:
		return rping_mem_create(s, mem, size, local | remote);
	case RPING_MEM_RMR:
		ret = rping_mem_create(s, mem, size, local);
		return ret ? ret : dat_rmr_create(s->pz, &mem->rmr);
	default:
		break;
	}

	mem->buf = kvzalloc(PAGE_ALIGN(size), GFP_KERNEL);
	if (!mem->buf)
		return -ENOMEM;
	mem->size = size;
	mem->addr = (uintptr_t)mem->buf;
	if (mem->how == RPING_MEM_POOL)
		return 0;
	return dat_lmr_allocate(s->ia, s->pz, PAGE_ALIGN(size) >> PAGE_SHIFT,
				DAT_LMR_SCOPE_PZ, &mem->lmr);
}

void rping_mem_destroy(struct rping_mem *mem)
{
	int ret = 0;

	if (!mem->buf)
		return;
	if (mem->fmr)
		ret = dat_fmr_pool_unmap(mem->fmr);
	if (mem->rmr && !ret)
		ret = dat_rmr_free(mem->rmr);
	if (mem->lmr && !ret)
		ret = dat_lmr_free(mem->lmr);
	if (ret)
		pr_warn("memory cannot be given back: %d\n", ret);
	/* Out of the peer's reach at the latest with the pool. */
	if (mem->how != RPING_MEM_POOL)
		kvfree(mem->buf);
	mem->fmr = NULL;
	mem->rmr = NULL;
	mem->lmr = NULL;
}

int rping_mem_create_pool(struct rping_session *s)
{
	const struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = MEM_PAGES,
		.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG |
			      DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		.min_fmrs = MEM_POOL / 2,
		.max_fmrs = MEM_POOL,
		.cache = true,
		.max_exposure_ms = MEM_EXPOSURE_MS,
	};

	return dat_fmr_pool_create(s->ia, s->pz, NULL, &param, &s->pool);
}

static int pool_map(struct rping_session *s, struct rping_mem *mem)
{
	u64 pages[MEM_PAGES];
	int i, num = PAGE_ALIGN(mem->size) >> PAGE_SHIFT;
	int ret;

	for (i = 0; i < num; i++)
		pages[i] = mem_page(mem->buf + i * PAGE_SIZE);
	ret = dat_fmr_pool_map(s->pool, s->ep, pages, num, mem->addr,
			       &mem->fmr);
	if (!ret)
		mem->rkey = mem->fmr->rmr_context;
	return ret;
}

static int mem_bind(struct rping_session *s, struct rping_mem *mem, u32 length,
		    enum dat_completion_flags flags)
{
	const struct dat_lmr_triplet part = {
		.virtual_address = mem->addr,
		.segment_length = length,
		.lmr_context = mem->lkey,
	};
	union dat_context cookie = { .as_ptr = mem };

	return dat_rmr_bind(mem->rmr, mem->lmr, &part, mem->priv,
			    DAT_VA_TYPE_VA, s->ep, cookie, flags, &mem->rkey);
}

int rping_mem_show(struct rping_session *s, struct rping_mem *mem)
{
	union dat_region_description region = { .for_va = mem->buf };
	union dat_context cookie = { .as_ptr = mem };
	u32 lkey;

	switch (mem->how) {
	case RPING_MEM_FMR:
		return dat_lmr_fmr(mem->lmr, DAT_MEM_TYPE_VIRTUAL, region,
				   PAGE_ALIGN(mem->size) >> PAGE_SHIFT,
				   mem->priv, DAT_VA_TYPE_VA, s->ep, cookie,
				   DAT_COMPLETION_SUPPRESS_FLAG, &lkey,
				   &mem->rkey);
	case RPING_MEM_POOL:
		return pool_map(s, mem);
	case RPING_MEM_RMR:
		return mem_bind(s, mem, mem->size,
				DAT_COMPLETION_SUPPRESS_FLAG);
	default:
		return 0;
	}
}

int rping_mem_hide(struct rping_session *s, struct rping_mem *mem)
{
	union dat_context cookie = { .as_ptr = mem };
	int ret = 0;

	switch (mem->how) {
	case RPING_MEM_FMR:
		ret = dat_lmr_invalidate(mem->lmr, s->ep, cookie,
					 DAT_COMPLETION_DEFAULT_FLAG);
		break;
	case RPING_MEM_POOL:
		ret = dat_fmr_pool_unmap(mem->fmr);
		mem->fmr = NULL;
		return ret;
	case RPING_MEM_RMR:
		ret = mem_bind(s, mem, 0, DAT_COMPLETION_DEFAULT_FLAG);
		break;
	default:
		return 0;
	}
	if (!ret) {
		s->hiding++;
		s->request->due++;
	}
	return ret;
}
