// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the memory of an LMR: its pages, their DMA mapping and their MR
 */
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ia.h"
#include "lmr.h"
#include "pz.h"
#include "reg.h"
#include "trace.h"

/* Bytes of memory of its own that the region spans in one page. */
static unsigned int lmr_chunk(unsigned long addr, u64 left, u64 max)
{
	u64 room = max - offset_in_page(addr);

	return min(left, room);
}

/*
 * Only memory that stays where it is as long as it is allocated: pages of the
 * linear map and of vmalloc. The stack of a task, the data of a module, and
 * short-lived mappings of highmem are refused.
 */
static struct page *lmr_page(unsigned long addr)
{
	if (is_vmalloc_addr((void *)addr))
		return vmalloc_to_page((void *)addr);
	if (addr >= PAGE_OFFSET && addr < (unsigned long)high_memory &&
	    virt_addr_valid(addr))
		return virt_to_page(addr);
	return NULL;
}

/* The pages as a list; entries of the linear map are as long as allowed. */
int kdapl_lmr_mem_build(struct dat_lmr *lmr, unsigned long start, u64 length)
{
	struct ib_device *ibdev = lmr->obj.ia->ibdev;
	bool vmalloc = is_vmalloc_addr((void *)start);
	u64 chunk = PAGE_SIZE;
	unsigned long addr;
	struct page *page;
	u64 nents, left;
	unsigned int i, len;

	if (object_is_on_stack((void *)start))
		return -EINVAL;
	if (!vmalloc)
		chunk = max_t(u64, PAGE_SIZE,
			      round_down(ib_dma_max_seg_size(ibdev), PAGE_SIZE));

	nents = DIV_ROUND_UP_ULL(offset_in_page(start) + length, chunk);
	if (nents > INT_MAX)
		return -EMSGSIZE;

	for (addr = start & PAGE_MASK; addr < start + length; addr += PAGE_SIZE)
		if (is_vmalloc_addr((void *)addr) != vmalloc ||
		    !lmr_page(addr))
			return -EINVAL;

	lmr->sgl = kvmalloc_array(nents, sizeof(*lmr->sgl), GFP_KERNEL);
	if (!lmr->sgl)
		return -ENOMEM;
	sg_init_table(lmr->sgl, nents);
	lmr->nents = nents;

	addr = start;
	left = length;
	for (i = 0; i < nents; i++) {
		len = lmr_chunk(addr, left, chunk);
		page = lmr_page(addr);
		sg_set_page(&lmr->sgl[i], page, len, offset_in_page(addr));
		addr += len;
		left -= len;
	}
	return 0;
}

void kdapl_lmr_mem_unmap(struct dat_lmr *lmr)
{
	if (lmr->mapped)
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

static int lmr_access(struct dat_ia *ia, u32 priv)
{
	int access = 0;

	if (priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG) {
		access |= IB_ACCESS_LOCAL_WRITE;
		/*
		 * The answer to an RDMA read comes as a tagged write. Not for
		 * memory that the peer may read: it knows that key.
		 */
		if (ia->iwarp && !(priv & KDAPL_LMR_REMOTE))
			access |= IB_ACCESS_REMOTE_WRITE;
	}
	/* The specification of InfiniBand wants the local right with it. */
	if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	if (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IB_ACCESS_REMOTE_READ;
	return access;
}

/* An MR over the whole LMR, mapped, with the key that it will have. */
static int lmr_alloc_mr(struct dat_lmr *lmr, u64 npages)
{
	struct ib_mr *mr;
	int n;

	mr = ib_alloc_mr(lmr->pz->pd, IB_MR_TYPE_MEM_REG, npages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);

	n = ib_map_mr_sg(mr, lmr->sgl, lmr->mapped, NULL, PAGE_SIZE);
	if (n != lmr->mapped) {
		ib_dereg_mr(mr);
		return n < 0 ? n : -EMSGSIZE;
	}
	mr->iova = lmr->va;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	lmr->mr = mr;
	return 0;
}

/* Which way local and remote use of the mapped memory go. */
int kdapl_lmr_mem_register(struct dat_lmr *lmr, u64 npages)
{
	struct dat_ia *ia = lmr->obj.ia;
	bool remote = lmr->priv & KDAPL_LMR_REMOTE;
	bool contiguous = lmr_contiguous(lmr);
	bool loopback = kdapl_reg_has_loopback(ia);
	bool want, congruent;
	int ret;

	lmr->access = lmr_access(ia, lmr->priv);
	lmr->lkey = lmr->pz->pd->local_dma_lkey;
	lmr->base = sg_dma_address(lmr->sgl);

	/*
	 * A page list says where the pages are, the low bits of the iova where
	 * in the first one the region starts; of rxe alone it is known that it
	 * takes any iova.
	 */
	congruent = !((lmr->va ^ lmr->base) & ~PAGE_MASK) ||
		    ia->ibdev->ops.driver_id == RDMA_DRIVER_RXE;
	want = remote || (contiguous ?
			  lmr->access & IB_ACCESS_REMOTE_WRITE :
			  loopback || lmr->access & IB_ACCESS_REMOTE_WRITE);

	if (want && !(ia->dev_attr.device_cap_flags &
		      IB_DEVICE_MEM_MGT_EXTENSIONS)) {
		if (remote)
			return -EOPNOTSUPP;
		want = false;
	}
	if (want && !congruent) {
		if (remote)
			return -EOPNOTSUPP;
		want = false;
	}
	if (want && npages > ia->dev_attr.max_fast_reg_page_list_len) {
		if (remote)
			return -EMSGSIZE;
		want = false;
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
			ret = lmr_build_pages(lmr, npages);
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
