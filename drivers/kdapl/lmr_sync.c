// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: caches between the processor and the peer
 *
 * Where the platform keeps caches and DMA coherent these calls cost their checks
 * and no more; elsewhere the consumer has to say when memory changes sides
 * (provider attribute lmr_sync_req).
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>

#include <dat/kdat.h>

#include "ia.h"
#include "lmr.h"

static const struct dat_lmr *sync_find(const struct dat_ia *ia,
				       const struct dat_lmr_triplet *seg)
{
	const struct dat_lmr *lmr = kdapl_lmr_find(ia, seg->lmr_context);
	u64 off, length;

	if (!lmr || lmr->context != seg->lmr_context)
		return NULL;
	length = READ_ONCE(lmr->length);
	off = seg->virtual_address - lmr->va;
	if (off > length || seg->segment_length > length - off)
		return NULL;
	return lmr;
}

static void sync_one(struct ib_device *ibdev, u64 addr, u32 length, bool device)
{
	if (device)
		ib_dma_sync_single_for_device(ibdev, addr, length,
					      DMA_BIDIRECTIONAL);
	else
		ib_dma_sync_single_for_cpu(ibdev, addr, length,
					   DMA_BIDIRECTIONAL);
}

static void sync_segment(struct dat_ia *ia, const struct dat_lmr *lmr,
			 const struct dat_lmr_triplet *seg, bool device)
{
	struct scatterlist *sg = lmr->fr ? lmr->fr->sgl : lmr->sgl;
	unsigned int i, n = lmr->fr ? lmr->fr->nents : lmr->mapped;
	u64 off = seg->virtual_address - lmr->va;
	u32 left = seg->segment_length, part;

	/* All memory: triplets have DMA addresses. */
	if (!sg) {
		sync_one(ia->ibdev, seg->virtual_address, left, device);
		return;
	}
	for (i = 0; i < n && left; i++, sg = sg_next(sg)) {
		if (off >= sg_dma_len(sg)) {
			off -= sg_dma_len(sg);
			continue;
		}
		part = min_t(u64, left, sg_dma_len(sg) - off);
		sync_one(ia->ibdev, sg_dma_address(sg) + off, part, device);
		left -= part;
		off = 0;
	}
}

static int sync_segments(struct dat_ia *ia, const struct dat_lmr_triplet *segs,
			 int num, bool device)
{
	int i, ret;

	if (!ia || !segs || num < 1)
		return -EINVAL;
	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;

	/* As the look-up of posts does. */
	preempt_disable();
	for (i = 0; i < num && !ret; i++)
		if (!sync_find(ia, &segs[i]))
			ret = -EINVAL;
	for (i = 0; i < num && !ret; i++)
		sync_segment(ia, sync_find(ia, &segs[i]), &segs[i], device);
	preempt_enable();
	kdapl_ia_leave(ia);
	return ret;
}

/**
 * dat_lmr_sync_rdma_read - hand memory to the peer's RDMA reads
 * @ia: the IA
 * @segments: what was written here and is to be read there; of any LMRs and PZs
 * @num_segments: of them, at least 1
 *
 * After the processor has written, and before the peer reads. Needed only if the
 * provider attribute lmr_sync_req is set, and harmless elsewhere. Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0; -EINVAL: NULL, no segments, an unknown lmr_context, or a range outside
 * of its LMR, with nothing done; -ENODEV: the device is gone.
 */
int dat_lmr_sync_rdma_read(struct dat_ia *ia,
			   const struct dat_lmr_triplet *segments,
			   int num_segments)
{
	return sync_segments(ia, segments, num_segments, true);
}
EXPORT_SYMBOL_GPL(dat_lmr_sync_rdma_read);

/**
 * dat_lmr_sync_rdma_write - take memory from the peer's RDMA writes
 * @ia: the IA
 * @segments: what was written there and is to be read here; of any LMRs and PZs
 * @num_segments: of them, at least 1
 *
 * After it is known that the peer's write is complete, and before the processor
 * reads. Needed only if the provider attribute lmr_sync_req is set, and harmless
 * elsewhere. Origin: DAT 2.0.
 *
 * Context: any.
 * Return: as dat_lmr_sync_rdma_read().
 */
int dat_lmr_sync_rdma_write(struct dat_ia *ia,
			    const struct dat_lmr_triplet *segments,
			    int num_segments)
{
	return sync_segments(ia, segments, num_segments, false);
}
EXPORT_SYMBOL_GPL(dat_lmr_sync_rdma_write);
