// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: memory as consumers describe it, turned into a scatter/gather list
 *
 * Each kind of description is a way to tell which page, or DMA address, is the
 * next and how many bytes go on from there. The list that comes of it starts
 * anywhere in its first page and has no gap: what one MR can hold.
 */
#include "lmr_region.h"

#include <linux/io.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/vmalloc.h>

/* Where the walk along a region stands. */
struct region_walk {
	const struct kdapl_region *region;
	u64 left;		/* bytes to come */
	u64 index;		/* of the page or table entry */
	u32 done;		/* bytes of it that were taken */
	unsigned long addr;	/* VIRTUAL */
	struct scatterlist *sg;	/* PLATFORM */
};

/* Memory that follows without a gap: of pages, or at a DMA address. */
struct region_piece {
	struct page *page;
	u64 dma;
	u32 offset;
	u32 length;
};

/*
 * Only memory that stays where it is as long as it is allocated: pages of the
 * linear map and of vmalloc. The stack of a task, the data of a module, and
 * short-lived mappings of highmem are refused.
 */
static struct page *region_page(unsigned long addr)
{
	if (is_vmalloc_addr((void *)addr))
		return vmalloc_to_page((void *)addr);
	if (kdapl_region_is_linear(addr))
		return virt_to_page(addr);
	return NULL;
}

static int region_virtual(struct region_walk *walk, struct region_piece *piece)
{
	piece->page = region_page(walk->addr);
	if (!piece->page)
		return -EINVAL;
	piece->offset = offset_in_page(walk->addr);
	piece->length = min_t(u64, walk->left, PAGE_SIZE - piece->offset);
	walk->addr += piece->length;
	return 0;
}

/* Pages of @size bytes each, at physical addresses. */
static int region_physical(struct region_walk *walk, struct region_piece *piece,
			   const u64 *pages, u64 size)
{
	u64 addr = pages[walk->index];
	unsigned long pfn;

	if (addr & (PAGE_SIZE - 1))
		return -EINVAL;
	addr += walk->done;
	pfn = addr >> PAGE_SHIFT;
	if ((u64)pfn << PAGE_SHIFT != addr || !pfn_valid(pfn))
		return -EINVAL;
	piece->page = pfn_to_page(pfn);
	piece->length = min_t(u64, walk->left, PAGE_SIZE);
	walk->done += PAGE_SIZE;
	if (walk->done == size) {
		walk->done = 0;
		walk->index++;
	}
	return 0;
}

static int region_table(struct region_walk *walk, struct region_piece *piece)
{
	u32 offset;

	while (walk->sg && walk->done == walk->sg->length) {
		walk->sg = sg_next(walk->sg);
		walk->done = 0;
	}
	if (!walk->sg)
		return -EINVAL;
	offset = walk->sg->offset + walk->done;
	piece->page = nth_page(sg_page(walk->sg), offset >> PAGE_SHIFT);
	piece->offset = offset_in_page(offset);
	piece->length = min3(walk->left, (u64)walk->sg->length - walk->done,
			     (u64)PAGE_SIZE - piece->offset);
	walk->done += piece->length;
	return 0;
}

static int region_dma(struct region_walk *walk, struct region_piece *piece)
{
	piece->dma = walk->region->desc.for_ia + walk->index;
	piece->offset = offset_in_page(piece->dma);
	piece->length = min_t(u64, walk->left, PAGE_SIZE - piece->offset);
	walk->index += piece->length;
	return 0;
}

static int region_dma_page(struct region_walk *walk, struct region_piece *piece)
{
	piece->dma = walk->region->desc.for_physical[walk->index++];
	piece->length = min_t(u64, walk->left, PAGE_SIZE);
	return piece->dma & (PAGE_SIZE - 1) ? -EINVAL : 0;
}

static int region_next(struct region_walk *walk, struct region_piece *piece)
{
	const union dat_region_description *desc = &walk->region->desc;
	int ret;

	piece->page = NULL;
	piece->dma = 0;
	piece->offset = 0;
	switch (walk->region->type) {
	case DAT_MEM_TYPE_VIRTUAL:
		ret = region_virtual(walk, piece);
		break;
	case DAT_MEM_TYPE_PHYSICAL:
		ret = region_physical(walk, piece, desc->for_physical,
				      PAGE_SIZE);
		break;
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		ret = region_physical(walk, piece, desc->for_array.pages,
				      desc->for_array.page_size);
		break;
	case DAT_MEM_TYPE_PLATFORM:
		ret = region_table(walk, piece);
		break;
	case DAT_MEM_TYPE_IA:
		ret = region_dma(walk, piece);
		break;
	case KDAPL_MEM_TYPE_DMA_PAGES:
		ret = region_dma_page(walk, piece);
		break;
	default:
		ret = -EINVAL;
		break;
	}
	if (!ret)
		walk->left -= piece->length;
	return ret;
}

static int region_begin(const struct kdapl_region *region,
			struct region_walk *walk)
{
	const union dat_region_description *desc = &region->desc;
	const struct sg_table *table;

	memset(walk, 0, sizeof(*walk));
	walk->region = region;
	walk->left = region->length;

	switch (region->type) {
	case DAT_MEM_TYPE_VIRTUAL:
		walk->addr = (unsigned long)desc->for_va;
		if (!walk->addr || region->length > ULONG_MAX - walk->addr ||
		    object_is_on_stack(desc->for_va))
			return -EINVAL;
		return 0;
	case DAT_MEM_TYPE_PHYSICAL:
	case KDAPL_MEM_TYPE_DMA_PAGES:
		return desc->for_physical ? 0 : -EINVAL;
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		if (!desc->for_array.pages || !desc->for_array.page_size ||
		    desc->for_array.page_size & (PAGE_SIZE - 1) ||
		    desc->for_array.page_size > 1ULL << 30)
			return -EINVAL;
		return 0;
	case DAT_MEM_TYPE_PLATFORM:
		table = desc->for_platform;
		if (!table || !table->sgl || !table->sgl->length)
			return -EINVAL;
		walk->sg = table->sgl;
		return 0;
	case DAT_MEM_TYPE_IA:
		return region->length > U64_MAX - desc->for_ia ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

static bool region_contiguous(const struct region_piece *last,
			      const struct region_piece *piece)
{
	if (!piece->page)
		return piece->dma == last->dma + last->length;
	return page_to_phys(piece->page) + piece->offset ==
	       page_to_phys(last->page) + last->offset + last->length;
}

/* Inside of a region pages are whole. */
static bool region_gap(const struct region_piece *last,
		       const struct region_piece *piece)
{
	return piece->offset || offset_in_page(last->offset + last->length);
}

static void region_put(struct scatterlist *sg, const struct region_piece *piece)
{
	if (piece->page) {
		sg_set_page(sg, piece->page, piece->length, piece->offset);
		return;
	}
	sg->length = piece->length;
	sg->offset = piece->offset;
	sg_dma_address(sg) = piece->dma;
	sg_dma_len(sg) = piece->length;
}

int kdapl_region_fill(const struct kdapl_region *region, u32 chunk,
		      struct scatterlist *sgl, unsigned int max)
{
	struct region_piece last, piece;
	struct region_walk walk;
	unsigned int n = 0;
	bool contiguous;
	int ret;

	ret = region_begin(region, &walk);
	if (!ret)
		ret = region_next(&walk, &last);
	while (!ret && walk.left) {
		ret = region_next(&walk, &piece);
		if (ret)
			break;
		contiguous = region_contiguous(&last, &piece);
		if (contiguous && piece.length <= chunk - last.length) {
			last.length += piece.length;
			continue;
		}
		if (!contiguous && region_gap(&last, &piece))
			return -EINVAL;
		if (n + 1 >= max)
			return -EMSGSIZE;
		if (sgl)
			region_put(&sgl[n], &last);
		n++;
		last = piece;
	}
	if (ret)
		return ret;
	if (sgl)
		region_put(&sgl[n], &last);
	return n + 1;
}

int kdapl_region_entries(const struct kdapl_region *region, u32 chunk)
{
	return kdapl_region_fill(region, chunk, NULL, INT_MAX);
}

u64 kdapl_region_table_length(const struct sg_table *table)
{
	struct scatterlist *sg;
	u64 length = 0;
	unsigned int i;

	for_each_sg(table->sgl, sg, table->orig_nents, i)
		length += sg->length;
	return length;
}

u64 kdapl_region_start(const struct kdapl_region *region)
{
	const union dat_region_description *desc = &region->desc;
	const struct sg_table *table = desc->for_platform;

	switch (region->type) {
	case DAT_MEM_TYPE_VIRTUAL:
		return (uintptr_t)desc->for_va;
	case DAT_MEM_TYPE_PHYSICAL:
	case KDAPL_MEM_TYPE_DMA_PAGES:
		return desc->for_physical[0];
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		return desc->for_array.pages[0];
	case DAT_MEM_TYPE_PLATFORM:
		return sg_phys(table->sgl);
	default:
		return desc->for_ia;
	}
}

u64 kdapl_region_pages(const struct kdapl_region *region)
{
	u64 offset = kdapl_region_start(region) & (PAGE_SIZE - 1);

	return (offset + region->length + PAGE_SIZE - 1) >> PAGE_SHIFT;
}

u32 kdapl_region_page_size(const struct kdapl_region *region,
			   const struct ib_device_attr *dev)
{
	const struct dat_physical_var_pages *array = &region->desc.for_array;
	u64 i, size = array->page_size;

	if (region->type != DAT_MEM_TYPE_PHYSICAL_VAR_PAGES ||
	    !is_power_of_2(size) || !(dev->page_size_cap & size))
		return PAGE_SIZE;
	/* The last one need not be whole, but its address counts too. */
	for (i = 0; i << ilog2(size) < region->length; i++)
		if (array->pages[i] & (size - 1))
			return PAGE_SIZE;
	return size;
}
