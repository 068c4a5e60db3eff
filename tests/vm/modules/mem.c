// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is shown to the peer in every way there is. See mem.h; what it is
 * shown over is in mem_pair.c.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "mem.h"
#include "result.h"

enum {
	MEM_GUARD_BYTE = 0xa5,
};

static const char * const mem_names[] = {
	[MEM_VIRTUAL] = "VIRTUAL",
	[MEM_VMALLOC] = "VIRTUAL from vmalloc",
	[MEM_PHYSICAL] = "PHYSICAL",
	[MEM_VAR_PAGES] = "PHYSICAL_VAR_PAGES",
	[MEM_PLATFORM] = "PLATFORM",
	[MEM_IA] = "IA",
	[MEM_LMR] = "LMR",
	[MEM_FMR] = "fast registration",
	[MEM_POOL] = "pool",
	[MEM_RMR] = "RMR",
};

const char *mem_name(enum mem_how how)
{
	return mem_names[how];
}

bool mem_guarded(const struct mem_shown *m)
{
	return !memchr_inv(m->data - m->offset - MEM_GUARD, MEM_GUARD_BYTE,
			   MEM_GUARD + m->offset) &&
	       !memchr_inv(m->data + m->length, MEM_GUARD_BYTE, MEM_GUARD);
}

static u64 mem_phys(const u8 *addr)
{
	return is_vmalloc_addr(addr) ?
	       (u64)page_to_pfn(vmalloc_to_page(addr)) << PAGE_SHIFT :
	       virt_to_phys((void *)addr);
}

static int mem_create(struct mem_pair *p, struct mem_shown *m,
		      enum dat_mem_type type, union dat_region_description region,
		      u64 length, enum dat_mem_priv_flags priv,
		      struct dat_lmr **lmr, u32 *lctx)
{
	u64 registered;
	int ret;

	ret = dat_lmr_kcreate(p->far.ia, type, region, length, p->far.pz, priv,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_EXACT_EXPOSURE,
			      lmr, lctx, &m->rkey, &registered, &m->addr);
	if (!ret && registered != m->length)
		ret = -ERANGE;
	return ret;
}

static int mem_show_lmr(struct mem_pair *p, struct mem_shown *m,
			enum dat_mem_priv_flags priv)
{
	union dat_region_description region = { .for_va = m->data };
	enum dat_mem_type type = DAT_MEM_TYPE_VIRTUAL;
	u32 i, num = DIV_ROUND_UP(m->length, PAGE_SIZE), lctx;
	struct sg_table table = {};
	struct scatterlist *sg;
	u64 *pages = NULL;
	int ret;

	switch (m->how) {
	case MEM_PHYSICAL:
	case MEM_VAR_PAGES:
		pages = kvcalloc(num, sizeof(*pages), GFP_KERNEL);
		if (!pages)
			return -ENOMEM;
		for (i = 0; i < num; i++)
			pages[i] = mem_phys(m->data + i * PAGE_SIZE);
		type = DAT_MEM_TYPE_PHYSICAL;
		region.for_physical = pages;
		if (m->how == MEM_VAR_PAGES) {
			type = DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
			region.for_array.page_size = PAGE_SIZE;
			region.for_array.pages = pages;
		}
		break;
	case MEM_PLATFORM:
		num = DIV_ROUND_UP(m->offset + m->length, PAGE_SIZE);
		ret = sg_alloc_table(&table, num, GFP_KERNEL);
		if (ret)
			return ret;
		for_each_sg(table.sgl, sg, num, i) {
			u32 at = i ? i * PAGE_SIZE - m->offset : 0;

			sg_set_page(sg,
				    vmalloc_to_page(m->data + at),
				    min_t(u32, m->length - at, PAGE_SIZE -
					  offset_in_page(m->data + at)),
				    offset_in_page(m->data + at));
		}
		type = DAT_MEM_TYPE_PLATFORM;
		region.for_platform = &table;
		break;
	case MEM_IA:
		/* rxe and siw: the DMA address is the kernel's own. */
		type = DAT_MEM_TYPE_IA;
		region.for_ia = (uintptr_t)m->data;
		break;
	case MEM_LMR:
		ret = mem_create(p, m, type, region, m->length,
				 DAT_MEM_PRIV_NONE_FLAG, &m->lmr2, &lctx);
		if (ret)
			return ret;
		type = DAT_MEM_TYPE_LMR;
		region.for_lmr_handle = m->lmr2;
		break;
	default:
		break;
	}
	ret = mem_create(p, m, type, region, m->length, priv, &m->lmr, &lctx);
	sg_free_table(&table);
	kvfree(pages);
	return ret;
}

static int mem_show_fmr(struct mem_pair *p, struct mem_shown *m,
			enum dat_mem_priv_flags priv)
{
	union dat_region_description region;
	struct scatterlist sg;
	struct sg_table table = { .sgl = &sg, .nents = 1, .orig_nents = 1 };
	u32 num = DIV_ROUND_UP(m->offset + m->length, PAGE_SIZE), lctx;
	struct dat_lmr_param param;
	int ret;

	ret = dat_lmr_allocate(p->far.ia, p->far.pz, num, DAT_LMR_SCOPE_PZ,
			       &m->lmr);
	if (ret)
		return ret;
	/* A table, for a length that is no multiple of pages. */
	sg_init_one(&sg, m->data, m->length);
	region.for_platform = &table;
	ret = dat_lmr_fmr(m->lmr, DAT_MEM_TYPE_PLATFORM, region, num, priv,
			  DAT_VA_TYPE_VA, p->far_ep, (union dat_context){}, 0,
			  &lctx, &m->rkey);
	if (ret)
		return ret;
	dat_lmr_query(m->lmr, DAT_LMR_FIELD_REGISTERED_ADDRESS, &param);
	m->addr = param.registered_address;
	return mem_far_done(p);
}

static int mem_show_pool(struct mem_pair *p, struct mem_shown *m,
			 enum dat_mem_priv_flags priv)
{
	u32 i, num = DIV_ROUND_UP(m->length, PAGE_SIZE);
	const struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = num,
		.privileges = priv,
		.min_fmrs = 1,
		.max_fmrs = 2,
		.cache = true,
		.max_exposure_ms = 0,
	};
	u64 *pages;
	int ret;

	pages = kvcalloc(num, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < num; i++)
		pages[i] = mem_phys(m->data + i * PAGE_SIZE);
	m->addr = (uintptr_t)m->data;
	ret = dat_fmr_pool_create(p->far.ia, p->far.pz, NULL, &param, &m->pool);
	if (!ret)
		ret = dat_fmr_pool_map(m->pool, p->far_ep, pages, num, m->addr,
				       &m->fmr);
	kvfree(pages);
	if (ret)
		return ret;
	m->rkey = m->fmr->rmr_context;
	return mem_tell(p);
}

static int mem_show_rmr(struct mem_pair *p, struct mem_shown *m,
			enum dat_mem_priv_flags priv)
{
	union dat_region_description region = { .for_va = m->alloc };
	struct dat_lmr_triplet part = {
		.virtual_address = (uintptr_t)m->data,
		.segment_length = m->length,
	};
	u64 length, addr;
	u32 rkey;
	int ret;

	ret = dat_lmr_kcreate(p->far.ia, DAT_MEM_TYPE_VIRTUAL, region,
			      m->length + 2 * MEM_GUARD, p->far.pz, MEM_LOCAL,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			      &m->lmr, &part.lmr_context, &rkey, &length,
			      &addr);
	if (!ret)
		ret = dat_rmr_create(p->far.pz, &m->rmr);
	if (ret)
		return ret;
	m->addr = part.virtual_address;
	ret = dat_rmr_bind(m->rmr, m->lmr, &part, priv & ~MEM_LOCAL,
			   DAT_VA_TYPE_VA, p->far_ep, (union dat_context){}, 0,
			   &m->rkey);
	return ret ? ret : mem_far_done(p);
}

int mem_show(struct mem_pair *p, struct mem_shown *m, enum mem_how how,
	     u32 offset, u32 length, enum dat_mem_priv_flags priv)
{
	/* Pages that are not one behind the other, where there is a list. */
	bool apart = how == MEM_VMALLOC || how == MEM_PHYSICAL ||
		     how == MEM_VAR_PAGES || how == MEM_PLATFORM ||
		     how == MEM_POOL;
	size_t size = PAGE_ALIGN(offset + length) + 2 * MEM_GUARD;
	int ret;

	memset(m, 0, sizeof(*m));
	m->how = how;
	m->length = length;
	m->offset = offset;
	m->alloc = apart ? vmalloc(size) :
		   p->area ?: alloc_pages_exact(size, GFP_KERNEL);
	if (!m->alloc)
		return -ENOMEM;
	memset(m->alloc, MEM_GUARD_BYTE, size);
	m->data = m->alloc + MEM_GUARD + offset;
	mem_fill(m->data, length, 1);

	switch (how) {
	case MEM_FMR:
		ret = mem_show_fmr(p, m, priv);
		break;
	case MEM_POOL:
		ret = mem_show_pool(p, m, priv);
		break;
	case MEM_RMR:
		ret = mem_show_rmr(p, m, priv);
		break;
	default:
		ret = mem_show_lmr(p, m, priv);
		break;
	}
	if (ret)
		mem_free(p, m);
	return ret;
}

bool mem_shown(struct vmtest *t, struct mem_pair *p, struct mem_shown *m,
	       enum mem_how how, u32 offset, u32 length,
	       enum dat_mem_priv_flags priv)
{
	int ret = mem_show(p, m, how, offset, length, priv);

	if (ret)
		vmtest_equal(t, ret, 0, "%s: show %u bytes at offset %u",
			     mem_name(how), length, offset);
	return !ret;
}

int mem_hide(struct mem_pair *p, struct mem_shown *m)
{
	const struct dat_lmr_triplet none = {};
	struct dat_fmr *fmr = m->fmr;
	struct dat_lmr *lmr = m->lmr;
	u32 rkey;
	int ret;

	switch (m->how) {
	case MEM_FMR:
		ret = dat_lmr_invalidate(m->lmr, p->far_ep,
					 (union dat_context){}, 0);
		return ret ? ret : mem_far_done(p);
	case MEM_POOL:
		m->fmr = NULL;
		return dat_fmr_pool_unmap(fmr);
	case MEM_RMR:
		ret = dat_rmr_bind(m->rmr, NULL, &none, 0, 0, p->far_ep,
				   (union dat_context){}, 0, &rkey);
		return ret ? ret : mem_far_done(p);
	default:
		m->lmr = NULL;
		return dat_lmr_free(lmr);
	}
}

void mem_free(struct mem_pair *p, struct mem_shown *m)
{
	size_t size = PAGE_ALIGN(m->offset + m->length) + 2 * MEM_GUARD;

	if (m->fmr)
		WARN_ON(dat_fmr_pool_unmap(m->fmr));
	if (m->pool)
		WARN_ON(dat_fmr_pool_destroy(m->pool));
	if (m->rmr)
		WARN_ON(dat_rmr_free(m->rmr));
	if (m->lmr)
		WARN_ON(dat_lmr_free(m->lmr));
	if (m->lmr2)
		WARN_ON(dat_lmr_free(m->lmr2));
	if (is_vmalloc_addr(m->alloc))
		vfree(m->alloc);
	else if (m->alloc && m->alloc != p->area)
		free_pages_exact(m->alloc, size);
	memset(m, 0, sizeof(*m));
}
