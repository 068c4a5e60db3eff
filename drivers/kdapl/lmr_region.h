/* SPDX-License-Identifier: GPL-2.0 */
/* Descriptions of memory, as consumers give them. */
#ifndef _KDAPL_LMR_REGION_H
#define _KDAPL_LMR_REGION_H

#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#include <dat/dat.h>

enum {
	/* kdapl's own: desc.for_physical has DMA addresses of pages. */
	KDAPL_MEM_TYPE_DMA_PAGES = 0x10000,
};

/**
 * struct kdapl_region - memory to be registered
 * @type: enum dat_mem_type, how @desc is to be read; not DAT_MEM_TYPE_LMR or _BYPASS
 * @desc: the consumer's
 * @length: bytes from its first byte on, not 0
 */
struct kdapl_region {
	int type;
	union dat_region_description desc;
	u64 length;
};

/* Bytes that an sg_table holds. */
u64 kdapl_region_table_length(const struct sg_table *table);
/* Where it begins, as far as the adapter's pages are concerned. */
u64 kdapl_region_start(const struct kdapl_region *region);
/* Pages of PAGE_SIZE that it touches. */
u64 kdapl_region_pages(const struct kdapl_region *region);
/* Entries that describe it, none longer than @chunk; -EINVAL, -EMSGSIZE. */
int kdapl_region_entries(const struct kdapl_region *region, u32 chunk);
/*
 * Fills them in; @max of them are there, with a mark at the end or not. Returns
 * how many were needed, or -EINVAL: memory that cannot be registered, or pieces
 * that do not end at page ends; -EMSGSIZE: more than @max. Any context.
 */
int kdapl_region_fill(const struct kdapl_region *region, u32 chunk,
		      struct scatterlist *sgl, unsigned int max);

/* Pages that an MR of it may have: PAGE_SIZE or what the consumer's have. */
u32 kdapl_region_page_size(const struct kdapl_region *region,
			   const struct ib_device_attr *dev);

/* An address of the kernel's linear map, with memory behind it. */
static inline bool kdapl_region_is_linear(unsigned long addr)
{
	return addr >= PAGE_OFFSET && addr < (unsigned long)high_memory &&
	       virt_addr_valid(addr);
}

static inline bool kdapl_region_is_dma(const struct kdapl_region *region)
{
	return region->type == DAT_MEM_TYPE_IA ||
	       region->type == KDAPL_MEM_TYPE_DMA_PAGES;
}

#endif /* _KDAPL_LMR_REGION_H */
