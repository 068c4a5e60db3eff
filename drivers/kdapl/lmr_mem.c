// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the memory of an LMR: its pages, their DMA mapping and their MR
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "ia.h"
#include "lmr.h"
#include "lmr_region.h"
#include "pz.h"
#include "reg.h"
#include "trace.h"

static int lmr_map(struct dat_lmr *lmr)
{
	lmr->mapped = lmr->own_map ?
		      ib_dma_map_sg(lmr->obj.ia->ibdev, lmr->sgl, lmr->nents,
				    DMA_BIDIRECTIONAL) : lmr->nents;
	return lmr->mapped ? 0 : -ENOMEM;
}

/* The memory as a list, DMA-mapped; entries are as long as allowed. */
int kdapl_lmr_mem_build(struct dat_lmr *lmr, const struct kdapl_region *region)
{
	struct ib_device *ibdev = lmr->obj.ia->ibdev;
	u32 chunk = max_t(u32, PAGE_SIZE,
			  round_down(ib_dma_max_seg_size(ibdev), PAGE_SIZE));
	int nents;

	nents = kdapl_region_entries(region, chunk);
	if (nents < 0)
		return nents;
	lmr->sgl = kvmalloc_array(nents, sizeof(*lmr->sgl), GFP_KERNEL);
	if (!lmr->sgl)
		return -ENOMEM;
	sg_init_table(lmr->sgl, nents);
	nents = kdapl_region_fill(region, chunk, lmr->sgl, nents);
	if (nents < 0)
		return nents;
	lmr->nents = nents;
	lmr->page_size = kdapl_region_page_size(region, &lmr->obj.ia->dev_attr);
	lmr->own_map = !kdapl_region_is_dma(region);
	return lmr_map(lmr);
}

/* The memory of another LMR, mapped once more. */
int kdapl_lmr_mem_copy(struct dat_lmr *lmr, const struct dat_lmr *source)
{
	struct scatterlist *from = source->sgl, *to;
	unsigned int i;

	lmr->sgl = kvmalloc_array(source->nents, sizeof(*lmr->sgl), GFP_KERNEL);
	if (!lmr->sgl)
		return -ENOMEM;
	sg_init_table(lmr->sgl, source->nents);
	for (i = 0, to = lmr->sgl; i < source->nents; i++, from++, to++) {
		if (source->own_map) {
			sg_set_page(to, sg_page(from), from->length,
				    from->offset);
			continue;
		}
		to->length = from->length;
		to->offset = from->offset;
		sg_dma_address(to) = sg_dma_address(from);
		sg_dma_len(to) = sg_dma_len(from);
	}
	lmr->nents = source->nents;
	lmr->page_size = source->page_size;
	lmr->own_map = source->own_map;
	return lmr_map(lmr);
}

void kdapl_lmr_mem_unmap(struct dat_lmr *lmr)
{
	if (lmr->mapped && lmr->own_map)
		ib_dma_unmap_sg(lmr->obj.ia->ibdev, lmr->sgl, lmr->nents,
				DMA_BIDIRECTIONAL);
	lmr->mapped = 0;
	kvfree(lmr->sgl);
	lmr->sgl = NULL;
}

static bool lmr_contiguous(struct dat_lmr *lmr)
{
	struct scatterlist *sg;
	dma_addr_t next = sg_dma_address(lmr->sgl);
	unsigned int i;

	for_each_sg(lmr->sgl, sg, lmr->mapped, i) {
		if (sg_dma_address(sg) != next)
			return false;
		next += sg_dma_len(sg);
	}
	return true;
}

/* DMA address of each page, the first one at the start of its page. */
static int lmr_build_pages(struct dat_lmr *lmr, u64 npages)
{
	struct scatterlist *sg = lmr->sgl;
	unsigned int off = 0;
	u64 i;

	lmr->pages = kvmalloc_array(npages, sizeof(*lmr->pages), GFP_KERNEL);
	if (!lmr->pages)
		return -ENOMEM;

	lmr->page_offset = sg_dma_address(sg) & ~PAGE_MASK;
	for (i = 0; i < npages; i++) {
		lmr->pages[i] = (sg_dma_address(sg) + off) & PAGE_MASK;
		off = (lmr->pages[i] + PAGE_SIZE) - sg_dma_address(sg);
		if (off >= sg_dma_len(sg)) {
			sg = sg_next(sg);
			off = 0;
		}
	}
	return 0;
}

/* One bit for another, without a branch: both are constants. */
static __always_inline u32 lmr_bit(u32 priv, u32 from, u32 to)
{
	return (priv & from) / from * to;
}

int kdapl_lmr_mem_access(const struct dat_ia *ia, u32 priv)
{
	u32 access;

	access = lmr_bit(priv, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			 IB_ACCESS_LOCAL_WRITE) |
		 lmr_bit(priv, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			 IB_ACCESS_REMOTE_WRITE) |
		 lmr_bit(priv, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			 IB_ACCESS_REMOTE_READ) |
		 lmr_bit(priv, KDAPL_LMR_ATOMIC, IB_ACCESS_REMOTE_ATOMIC);
	/* The specification of InfiniBand wants the local right with these. */
	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		access |= IB_ACCESS_LOCAL_WRITE;
	/*
	 * The answer to an RDMA read comes as a tagged write. Not for memory
	 * that the peer may read: it knows that key.
	 */
	if (ia->iwarp && access == IB_ACCESS_LOCAL_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE;
	return access;
}

bool kdapl_lmr_mem_congruent(const struct dat_ia *ia, u64 va, u64 addr)
{
	return !((va ^ addr) & ~PAGE_MASK) || ia->driver_id == RDMA_DRIVER_RXE;
}

/* An MR over the whole LMR, mapped, with the key that it will have. */
static int lmr_alloc_mr(struct dat_lmr *lmr, u32 npages)
{
	struct ib_mr *mr;
	int n;

	mr = kdapl_reg_alloc(lmr->pz->pd, npages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);

	n = ib_map_mr_sg(mr, lmr->sgl, lmr->mapped, NULL, lmr->page_size);
	if (n != lmr->mapped) {
		ib_dereg_mr(mr);
		return n < 0 ? n : -EMSGSIZE;
	}
	mr->iova = lmr->va;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	lmr->mr = mr;
	return 0;
}

static u64 lmr_npages(const struct dat_lmr *lmr, u32 page_size)
{
	u64 offset = lmr->base & (page_size - 1);

	return (offset + lmr->length + page_size - 1) >> ilog2(page_size);
}

/* 0: an MR can be had for it; else why not. */
static int lmr_can_register(const struct dat_lmr *lmr, u64 npages)
{
	const struct dat_ia *ia = lmr->obj.ia;
	u32 limit = ia->dev_attr.max_fast_reg_page_list_len;

	if (!(ia->dev_attr.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !kdapl_lmr_mem_congruent(ia, lmr->va, lmr->base))
		return -EOPNOTSUPP;
	if (npages <= limit)
		return 0;
	if (lmr->priv & KDAPL_LMR_REMOTE)
		pr_info("%s: memory of %llu pages: the device registers at most %u pages of %u bytes at a time for remote access\n",
			ia->name, npages, limit, lmr->page_size);
	return -EMSGSIZE;
}

/* Which way local and remote use of the mapped memory go. */
int kdapl_lmr_mem_register(struct dat_lmr *lmr)
{
	struct dat_ia *ia = lmr->obj.ia;
	bool remote = lmr->priv & KDAPL_LMR_REMOTE;
	bool contiguous = lmr_contiguous(lmr);
	bool loopback = kdapl_reg_has_loopback(ia);
	u64 npages;
	bool want;
	int ret;

	lmr->access = kdapl_lmr_mem_access(ia, lmr->priv);
	lmr->lkey = lmr->pz->pd->local_dma_lkey;
	lmr->base = sg_dma_address(lmr->sgl);
	npages = lmr_npages(lmr, lmr->page_size);

	want = remote || (contiguous ?
			  lmr->access & IB_ACCESS_REMOTE_WRITE :
			  loopback || lmr->access & IB_ACCESS_REMOTE_WRITE);
	if (want) {
		ret = lmr_can_register(lmr, npages);
		if (ret && remote)
			return ret;
		want = !ret;
	}

	if (want) {
		ret = lmr_alloc_mr(lmr, npages);
		if (ret)
			return ret;
		if (remote)
			lmr->rkey = lmr->mr->rkey;
		if (lmr->access & IB_ACCESS_REMOTE_WRITE || !ia->iwarp)
			lmr->mr_lkey = lmr->mr->lkey;
	}
	if (!contiguous) {
		if (want && loopback) {
			lmr->lkey = lmr->mr->lkey;
			lmr->base = lmr->va;
		} else {
			ret = lmr_build_pages(lmr, lmr_npages(lmr, PAGE_SIZE));
			if (ret)
				return ret;
		}
	}
	if (!want)
		return 0;
	if (!loopback)
		return kdapl_lmr_defer(lmr);

	ret = kdapl_reg_mr(lmr->pz, lmr->mr, lmr->mr->rkey, lmr->access);
	trace_kdapl_reg(lmr->obj.id, lmr->pz->obj.id, lmr->mr->rkey, ret);
	return ret;
}
