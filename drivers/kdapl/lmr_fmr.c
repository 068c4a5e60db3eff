// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: fast registration: LMRs whose memory comes and goes with requests
 *
 * The keys change at every registration and are known when the call returns; they
 * can be used by whatever stands behind it in the queue of that EP, and, when it
 * has completed, by all. The memory is the consumer's again when the invalidation
 * has completed, its own or one that the peer sent along with a message.
 *
 * The short ways are for what consumers mostly do: memory inside of one page of the
 * linear map, without flags, and its end on the EP where it began. Whatever is
 * different, or wrong, is for the long way, which starts from the beginning.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/sched/task_stack.h>

#include <dat/kdat.h>

#include "ep.h"
#include "fault.h"
#include "frmr.h"
#include "ia.h"
#include "lmr.h"
#include "lmr_region.h"
#include "queue.h"
#include "trace.h"

/* Whether it stays where it is: see region_page(). */
static noinline bool fmr_find(struct dat_lmr *lmr, unsigned long addr)
{
	if (!kdapl_region_is_linear(addr))
		return false;
	WRITE_ONCE(lmr->fmr_near, addr);
	return true;
}

/* Not looked up if it is close to what was registered before. */
static __always_inline bool fmr_linear(struct dat_lmr *lmr, void *va)
{
	unsigned long addr = (unsigned long)va;

	if (unlikely((addr ^ READ_ONCE(lmr->fmr_near)) >> PMD_SHIFT) &&
	    !fmr_find(lmr, addr))
		return false;
	/* With VMAP_STACK no stack is there. */
	return IS_ENABLED(CONFIG_VMAP_STACK) || !object_is_on_stack(va);
}

/* The context of a request that is about to be posted. */
static __always_inline struct kdapl_wr *
fmr_wr_locked(struct kdapl_queue *queue, struct kdapl_frmr *fr, u8 op, u16 flags,
	      u32 key, union dat_context cookie)
{
	u32 head = queue->head;
	struct kdapl_wr *wr = &queue->wr[head & queue->mask];

	wr->cookie = cookie;
	wr->fr = fr;
	wr->pos = head;
	wr->op = op;
	wr->variant = key;
	wr->flags = flags;
	atomic_inc(&fr->posted);
	queue->posted++;
	/* As kdapl_queue_publish_locked() does. */
	smp_store_release(&queue->head, head + 1);
	return wr;
}

/*
 * Whether a registration is signalled. If its success is suppressed, whatever
 * completes behind it proves it done; see dto.c.
 */
static __always_inline int fmr_signal_locked(struct kdapl_queue *queue, u32 flags,
					     const struct ib_send_wr *reg)
{
	struct kdapl_wr *wr;
	u32 suppressed;

	/* It goes into the context as it is. */
	BUILD_BUG_ON((int)DAT_COMPLETION_SUPPRESS_FLAG != (int)KDAPL_WR_SUPPRESS);
	if (flags) {
		suppressed = queue->suppressed + 1;
		if (likely(suppressed < queue->depth / 2)) {
			queue->suppressed = suppressed;
			return 0;
		}
		wr = (struct kdapl_wr *)(uintptr_t)reg->wr_id;
		wr->flags |= KDAPL_WR_OWED;
	}
	queue->suppressed = 0;
	return IB_SEND_SIGNALED;
}

static noinline int fmr_trace_locked(struct dat_ep *ep, int ret)
{
	const struct kdapl_queue *queue = &ep->req;

	trace_kdapl_dto_post(ep->obj.id,
			     queue->wr[(queue->head - 1) & queue->mask].op, 0,
			     ret);
	return ret;
}

/* The provider did not take a registration. */
static noinline int fmr_refused_locked(struct kdapl_queue *queue,
				       struct dat_lmr *lmr, int ret)
{
	struct kdapl_frmr *fr = lmr->fr;

	kdapl_queue_refused_locked(queue);
	atomic_dec(&fr->posted);
	WRITE_ONCE(lmr->length, 0);
	kdapl_frmr_unmap(fr);
	atomic_set_release(&fr->state, KDAPL_FRMR_FREE);
	return ret;
}

/* The same for an invalidation, unless the registration has failed meanwhile. */
static noinline int fmr_end_refused_locked(struct kdapl_queue *queue,
					   struct kdapl_frmr *fr, int ret)
{
	kdapl_queue_refused_locked(queue);
	atomic_dec(&fr->posted);
	if (kdapl_frmr_move(fr, KDAPL_FRMR_ENDING, KDAPL_FRMR_VALID))
		fr->changed(fr);
	return ret;
}

static noinline u64 fmr_map_dma(struct kdapl_frmr *fr, void *va, u32 length)
{
	return ib_dma_map_single(fr->ibdev, va, length, DMA_BIDIRECTIONAL);
}

/* The MR gets its list, of one entry. */
static __always_inline int fmr_map_locked(struct kdapl_frmr *fr, void *va,
					  u32 length)
{
	struct scatterlist *sg = fr->sgl;
	struct ib_mr *mr = fr->mr;
	u64 addr = (uintptr_t)va;
	int n;

	if (unlikely(!fr->simple)) {
		addr = fmr_map_dma(fr, va, length);
		if (ib_dma_mapping_error(fr->ibdev, addr))
			return -ENOMEM;
	}
	sg_dma_address(sg) = addr;
	sg_dma_len(sg) = length;
	fr->nents = 1;
	fr->mapped = KDAPL_FRMR_MAPPED_ONE;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	n = ib_map_mr_sg(mr, sg, 1, NULL, PAGE_SIZE);
	if (likely(n == 1))
		return 0;
	kdapl_frmr_unmap(fr);
	return n < 0 ? n : -EMSGSIZE;
}

/* 1: it is for the long way, and nothing was done. */
static __always_inline int
fmr_short_locked(struct dat_lmr *lmr, void *va, u32 priv, struct dat_ep *ep,
		 union dat_context cookie, u32 flags)
{
	u32 length = PAGE_SIZE - offset_in_page(va);
	struct kdapl_queue *queue = &ep->req;
	struct kdapl_frmr *fr = lmr->fr;
	struct ib_qp *qp;
	u32 key;
	int ret;

	if (unlikely(!kdapl_queue_has_credit(queue, queue->limit) ||
		     !kdapl_frmr_move(fr, KDAPL_FRMR_FREE, KDAPL_FRMR_TAKEN)))
		return 1;
	ret = fmr_map_locked(fr, va, length);
	if (unlikely(ret)) {
		atomic_set_release(&fr->state, KDAPL_FRMR_FREE);
		return ret;
	}
	if (unlikely(lmr->priv != priv))
		kdapl_lmr_fmr_allow(lmr, priv);

	OPTIMIZER_HIDE_VAR(fr);
	key = fr->mr->rkey;
	fr->mr->iova = (uintptr_t)va;
	WRITE_ONCE(fr->key, key);
	fr->ep = ep;
	WRITE_ONCE(fr->settled, false);
	fr->reg.wr.wr_id = (uintptr_t)fmr_wr_locked(queue, fr, DAT_DTO_LMR_FMR,
						    KDAPL_WR_MEM | flags, key,
						    cookie);
	fr->reg.wr.send_flags = fmr_signal_locked(queue, flags, &fr->reg.wr);
	fr->reg.key = key;
	fr->reg.access = lmr->access;
	/* The completion may come inside the post, and fail. */
	atomic_set(&fr->state, KDAPL_FRMR_VALID);

	/*
	 * As fmr_show() does, but in front of the post: nobody knows this context
	 * before the call returns, and fmr_changed() comes behind.
	 */
	lmr->va = (uintptr_t)va;
	lmr->base = (uintptr_t)va;
	lmr->lkey = key;
	lmr->mr_lkey = key & lmr->mr_lkey_mask;
	lmr->rkey = key & lmr->rkey_mask;
	lmr->mem_type = DAT_MEM_TYPE_VIRTUAL;
	lmr->va_type = DAT_VA_TYPE_VA;
	lmr->region.for_va = va;
	lmr->context = (lmr->context & ~0xff) | (u8)(lmr->context + 1);
	lmr->fmr_length = length;
	WRITE_ONCE(lmr->length, length);

	qp = ep->qp;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      qp->device->ops.post_send(qp, &fr->reg.wr, &queue->bad_send);
	if (trace_kdapl_dto_post_enabled())
		ret = fmr_trace_locked(ep, ret);
	return likely(!ret) ? 0 : fmr_refused_locked(queue, lmr, ret);
}

/* What becomes of one that the short way has not posted; unlocks. */
static noinline int fmr_rest(struct dat_lmr *lmr, void *va,
			     enum dat_mem_priv_flags priv, struct dat_ep *ep,
			     union dat_context cookie, u32 flags,
			     u32 *lmr_context, u32 *rmr_context, int ret,
			     unsigned long irq)
	__releases(&ep->req.post_lock)
{
	union dat_region_description region = { .for_va = va };

	spin_unlock_irqrestore(&ep->req.post_lock, irq);
	/* siw may take in a moment what it has refused now. */
	if (ret < 0 && ret != -ENOTCONN)
		return ret;
	return kdapl_lmr_fmr_long(lmr, DAT_MEM_TYPE_VIRTUAL, region, 1, priv,
				  DAT_VA_TYPE_VA, ep, cookie, flags, lmr_context,
				  rmr_context);
}

/**
 * dat_lmr_fmr - register memory by a request
 * @lmr: of dat_lmr_allocate(), naming no memory
 * @mem_type: %DAT_MEM_TYPE_VIRTUAL, %DAT_MEM_TYPE_PHYSICAL,
 *	%DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, %DAT_MEM_TYPE_PLATFORM or
 *	%DAT_MEM_TYPE_IA
 * @region: as for dat_lmr_kcreate(); it stays allocated until the invalidation
 *	has completed, arrays may go when the call returns
 * @num_pages: what starts anywhere in its first page ends with the last of
 *	these; of %DAT_MEM_TYPE_PHYSICAL_VAR_PAGES they have the size that @region
 *	says; an sg_table, registered as it is, may touch fewer
 * @privileges: as for dat_lmr_kcreate()
 * @va_type: whether triplets hold addresses or offsets
 * @ep: an EP in the PZ of @lmr, connected or disconnected
 * @cookie: given back in the event
 * @flags: %DAT_COMPLETION_SUPPRESS_FLAG, %DAT_COMPLETION_BARRIER_FENCE_FLAG, and
 *	%DAT_COMPLETION_UNSIGNALLED_FLAG if the EP's request_completion_flags
 *	have it
 * @lmr_context: OUT: for local segments
 * @rmr_context: OUT: for the peer, 0 without a remote privilege
 *
 * The contexts differ at every call and are good for what is posted on @ep from
 * now on; for other EPs when the event (operation %DAT_DTO_LMR_FMR) has come, or,
 * with %DAT_COMPLETION_SUPPRESS_FLAG, that of a later request of @ep. With
 * %DAT_VA_TYPE_VA the addresses are those of dat_lmr_kcreate(); dat_lmr_query()
 * knows them too. A request that fails breaks the connection and leaves @lmr
 * without memory. Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL: NULL, an LMR of another kind or IA, an unknown value or
 * flag, memory that cannot be registered, pieces that do not end at page ends;
 * -EPERM: the reserved LMR, or an EP of another PZ; -EOPNOTSUPP: another memory
 * type, %DAT_IB_MEM_PRIV_REMOTE_ATOMIC where the device has no atomics, or offsets
 * into memory that does not start at a page where the device needs that;
 * -EMSGSIZE: more pages than it has room for; -EBUSY: it names memory, or its
 * invalidation has not completed; -EAGAIN: a request on it has failed and
 * its MR is being replaced; -ENOSPC, and the state of the EP: as
 * dat_ep_post_send(); else the errno of the provider.
 */
int dat_lmr_fmr(struct dat_lmr *lmr, enum dat_mem_type mem_type,
		union dat_region_description region, int num_pages,
		enum dat_mem_priv_flags privileges, enum dat_va_type va_type,
		struct dat_ep *ep, union dat_context cookie,
		enum dat_completion_flags flags, u32 *lmr_context,
		u32 *rmr_context)
{
	void *va = region.for_va;
	unsigned long irq;
	int ret;

	if (unlikely(!lmr || !ep || !lmr_context || !rmr_context ||
		     mem_type != DAT_MEM_TYPE_VIRTUAL || num_pages != 1 ||
		     va_type != DAT_VA_TYPE_VA ||
		     flags & ~DAT_COMPLETION_SUPPRESS_FLAG ||
		     privileges & ~DAT_MEM_PRIV_ALL_FLAG || !lmr->fr ||
		     lmr->pz != ep->config.pz || !fmr_linear(lmr, va)))
		return kdapl_lmr_fmr_long(lmr, mem_type, region, num_pages,
					  privileges, va_type, ep, cookie,
					  flags, lmr_context, rmr_context);

	spin_lock_irqsave(&ep->req.post_lock, irq);
	OPTIMIZER_HIDE_VAR(ep);
	ret = fmr_short_locked(lmr, va, privileges, ep, cookie, flags);
	OPTIMIZER_HIDE_VAR(ep);
	if (unlikely(ret))
		return fmr_rest(lmr, va, privileges, ep, cookie, flags,
				lmr_context, rmr_context, ret, irq);
	*lmr_context = lmr->context;
	*rmr_context = lmr->rkey;
	spin_unlock_irqrestore(&ep->req.post_lock, irq);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_lmr_fmr);

static __always_inline int
fmr_end_short_locked(struct dat_lmr *lmr, struct dat_ep *ep,
		     union dat_context cookie)
{
	struct kdapl_queue *queue = &ep->req;
	struct kdapl_frmr *fr = lmr->fr;
	struct ib_qp *qp;
	u32 key;
	int ret;

	if (unlikely(!kdapl_queue_has_credit(queue, queue->limit) ||
		     fr->ep != ep ||
		     !kdapl_frmr_move(fr, KDAPL_FRMR_VALID, KDAPL_FRMR_ENDING)))
		return 1;
	/* As fmr_changed() does. */
	WRITE_ONCE(lmr->length, 0);

	key = fr->key;
	fr->inv.wr_id = (uintptr_t)fmr_wr_locked(queue, fr,
						 DAT_DTO_LMR_INVALIDATE,
						 KDAPL_WR_MEM | KDAPL_WR_INV,
						 key, cookie);
	fr->inv.send_flags = IB_SEND_SIGNALED;
	queue->suppressed = 0;
	fr->inv.ex.invalidate_rkey = key;
	qp = ep->qp;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      qp->device->ops.post_send(qp, &fr->inv, &queue->bad_send);
	if (trace_kdapl_dto_post_enabled())
		ret = fmr_trace_locked(ep, ret);
	return likely(!ret) ? 0 : fmr_end_refused_locked(queue, fr, ret);
}

static noinline int fmr_end_rest(struct dat_lmr *lmr, struct dat_ep *ep,
				 union dat_context cookie, int ret,
				 unsigned long irq)
	__releases(&ep->req.post_lock)
{
	spin_unlock_irqrestore(&ep->req.post_lock, irq);
	if (ret < 0 && ret != -ENOTCONN)
		return ret;
	return kdapl_lmr_invalidate_long(lmr, ep, cookie,
					 DAT_COMPLETION_DEFAULT_FLAG);
}

/**
 * dat_lmr_invalidate - end what dat_lmr_fmr() began
 * @lmr: an LMR that names memory
 * @ep: an EP in the PZ of @lmr; while dat_lmr_fmr() has not completed, the one
 *	that it was posted on, and with %DAT_LMR_SCOPE_EP always
 * @cookie: given back in the event
 * @flags: as for dat_lmr_fmr(), and %DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG to
 *	wait until all earlier requests of @ep are done
 *
 * Local requests are refused from now on; the peer, and the adapter for what was
 * posted before, may go on until the event has come (operation
 * %DAT_DTO_LMR_INVALIDATE). Then the memory is the consumer's again, and @lmr can
 * be used for another one. A request that fails breaks the connection; the memory
 * is out of reach as soon as dat_lmr_query() calls @lmr not bound. Origin:
 * DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL: NULL, an LMR of another kind or IA, a flag that does not
 * apply; -EPERM: the reserved LMR, an EP of another PZ or outside of the scope;
 * -EBADFD: it names no memory (any more); -EBUSY: dat_lmr_fmr() has not completed
 * on another EP; -ENOSPC, and the state of the EP: as dat_ep_post_send(); else the
 * errno of the provider.
 */
int dat_lmr_invalidate(struct dat_lmr *lmr, struct dat_ep *ep,
		       union dat_context cookie,
		       enum dat_completion_flags flags)
{
	unsigned long irq;
	int ret;

	if (unlikely(!lmr || !ep || flags || !lmr->fr ||
		     lmr->pz != ep->config.pz))
		return kdapl_lmr_invalidate_long(lmr, ep, cookie, flags);

	spin_lock_irqsave(&ep->req.post_lock, irq);
	OPTIMIZER_HIDE_VAR(ep);
	ret = fmr_end_short_locked(lmr, ep, cookie);
	OPTIMIZER_HIDE_VAR(ep);
	if (unlikely(ret))
		return fmr_end_rest(lmr, ep, cookie, ret, irq);
	spin_unlock_irqrestore(&ep->req.post_lock, irq);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_lmr_invalidate);
