// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: binding of remote memory regions; see rmr.c
 */
#include <linux/export.h>
#include <linux/mm.h>

#include <dat/kdat.h>

#include "ep.h"
#include "ia.h"
#include "lmr.h"
#include "pz.h"
#include "rmr.h"

#define RMR_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
			 DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* The part of the LMR's list that the window shows; its entries, or an errno. */
static int rmr_slice(const struct dat_lmr *lmr, u64 off, u32 length,
		     struct kdapl_frmr *fr)
{
	struct scatterlist *from, *to = fr->sgl;
	u32 left = length, part, pages = 0;
	unsigned int i, n = 0;

	for_each_sg(lmr->sgl, from, lmr->mapped, i) {
		if (!left)
			break;
		if (off >= sg_dma_len(from)) {
			off -= sg_dma_len(from);
			continue;
		}
		if (n == fr->max_nents)
			return -EMSGSIZE;
		part = min_t(u64, left, sg_dma_len(from) - off);
		sg_dma_address(to) = sg_dma_address(from) + off;
		sg_dma_len(to) = part;
		pages += (offset_in_page(sg_dma_address(to)) + part +
			  PAGE_SIZE - 1) >> PAGE_SHIFT;
		if (pages > fr->max_pages)
			return -EMSGSIZE;
		left -= part;
		off = 0;
		n++;
		to++;
	}
	return n;
}

/* What the peer may do the window's owner must be allowed to. */
static bool rmr_priv_ok(u32 priv, u32 lmr_priv)
{
	u32 need = 0;

	if (priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG | KDAPL_LMR_ATOMIC))
		need |= DAT_MEM_PRIV_LOCAL_READ_FLAG;
	if (priv & (DAT_MEM_PRIV_REMOTE_WRITE_FLAG | KDAPL_LMR_ATOMIC))
		need |= DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	return !(need & ~lmr_priv);
}

static int rmr_check(const struct dat_rmr *rmr, const struct dat_lmr *lmr,
		     const struct dat_lmr_triplet *triplet,
		     enum dat_mem_priv_flags priv)
{
	u64 off;

	if (!lmr || lmr->obj.ia != rmr->obj.ia)
		return -EINVAL;
	if (!lmr->pz)
		return -EPERM;
	if (!lmr->sgl || triplet->lmr_context != lmr->context)
		return -EINVAL;
	off = triplet->virtual_address - lmr->va;
	if (off > lmr->length || triplet->segment_length > lmr->length - off)
		return -EINVAL;
	if (lmr->pz != rmr->pz)
		return -EPERM;
	if (!rmr_priv_ok(priv, lmr->priv))
		return -EACCES;
	return kdapl_lmr_check_priv(rmr->obj.ia, priv);
}

/* Takes the RMR for a bind or an unbind by @ep. */
static int rmr_enter(struct dat_rmr *rmr, const struct dat_ep *ep, bool unbind,
		     struct kdapl_frmr **old)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&rmr->lock, flags);
	*old = rmr->current_window < 0 ? NULL :
	       &rmr->window[rmr->current_window].fr;
	if (rmr->busy)
		ret = -EBUSY;
	else if (unbind && !*old)
		ret = -EBADFD;
	else if (rmr->scope == DAT_RMR_SCOPE_EP && *old && (*old)->ep != ep)
		ret = -EPERM;
	else
		rmr->busy = true;
	spin_unlock_irqrestore(&rmr->lock, flags);
	return ret;
}

static void rmr_leave(struct dat_rmr *rmr)
{
	unsigned long flags;

	spin_lock_irqsave(&rmr->lock, flags);
	rmr->busy = false;
	spin_unlock_irqrestore(&rmr->lock, flags);
}

static int rmr_unbind(struct dat_rmr *rmr, struct dat_ep *ep,
		      struct kdapl_frmr_req *req)
{
	int ret;

	ret = rmr_enter(rmr, ep, true, &req->fr);
	if (ret)
		return ret;
	ret = kdapl_frmr_invalidate(ep, req);
	if (ret)
		rmr_leave(rmr);
	return ret;
}

/* The window is TAKEN and rmr->busy ours. */
static int rmr_bind_window(struct dat_rmr *rmr, struct kdapl_rmr_window *window,
			   struct dat_lmr *lmr, struct dat_ep *ep,
			   struct kdapl_frmr_req *req)
{
	const struct dat_lmr_triplet *triplet = &window->triplet;
	struct kdapl_frmr *fr = &window->fr;
	int ret;

	ret = rmr_slice(lmr, triplet->virtual_address - lmr->va,
			triplet->segment_length, fr);
	if (ret > 0) {
		fr->nents = ret;
		ret = 0;
		req->iova = window->va_type == DAT_VA_TYPE_ZB ?
			    0 : triplet->virtual_address;
		if (!kdapl_lmr_mem_congruent(rmr->obj.ia, req->iova,
					     sg_dma_address(fr->sgl)))
			ret = -EOPNOTSUPP;
	}
	if (!ret && !atomic_inc_unless_negative(&lmr->binds))
		ret = -EINVAL;
	if (ret) {
		kdapl_frmr_move(fr, KDAPL_FRMR_TAKEN, KDAPL_FRMR_FREE);
		return ret;
	}
	window->lmr = lmr;
	req->fr = fr;
	ret = kdapl_frmr_register(ep, req);
	if (ret)
		/* It is FREE already, but no other bind begins while we are busy. */
		kdapl_rmr_put_lmr(window);
	return ret;
}

static struct kdapl_rmr_window *rmr_take_window(struct dat_rmr *rmr,
						const struct kdapl_frmr *old)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rmr->window); i++)
		if (&rmr->window[i].fr != old &&
		    kdapl_frmr_move(&rmr->window[i].fr, KDAPL_FRMR_FREE,
				    KDAPL_FRMR_TAKEN))
			return &rmr->window[i];
	return NULL;
}

/**
 * dat_rmr_bind - show a part of an LMR to the peer, or no more of it
 * @rmr: the RMR
 * @lmr: of dat_lmr_kcreate(), in the PZ of @rmr; not looked at for an unbind
 * @lmr_triplet: the part; segment_length 0 unbinds
 * @privileges: %DAT_MEM_PRIV_REMOTE_READ_FLAG, which needs the local read privilege
 *	of @lmr, %DAT_MEM_PRIV_REMOTE_WRITE_FLAG, which needs its local write
 *	privilege, and %DAT_IB_MEM_PRIV_REMOTE_ATOMIC, which needs both
 * @va_type: whether the peer names addresses of @lmr or offsets into the part
 * @ep: an EP of the PZ, connected or disconnected
 * @cookie: given back in the event
 * @flags: as for dat_lmr_fmr()
 * @rmr_context: OUT: for the peer, another at every bind; untouched by an unbind
 *
 * A bound RMR may be bound anew: that takes two of max_request_dtos. The new
 * context is good for what is posted on @ep behind the bind; with its event, an RMR
 * bind completion on the request EVD (on an EVD without that stream a DTO completion
 * of %DAT_DTO_BIND_MW), the one before is dead. A peer that uses a dead one breaks
 * its connection. The one before stays in force when the call fails, unless the
 * provider has taken its end and not the new bind: then dat_rmr_query() soon knows no
 * context. @rmr can be bound in either case. Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL: NULL, an LMR of another kind or IA, a context that is not its
 * own, a range outside of it, an unknown value or flag; -EPERM: PZs that differ, the
 * reserved LMR, or an EP outside of the scope; -EACCES: a privilege that @lmr lacks;
 * -EMSGSIZE: more pages than a window holds (512, or what the device takes);
 * -EOPNOTSUPP: offsets into a part that does not start at a page where the device
 * needs that, or atomics that it does not have; -EBADFD: to be unbound, and not
 * bound; -EBUSY: a bind or unbind is under way; -EAGAIN: one has failed, and its MR is
 * being replaced; -ENOSPC, and the state of the EP: as dat_ep_post_send(); else the
 * errno of the provider.
 */
int dat_rmr_bind(struct dat_rmr *rmr, struct dat_lmr *lmr,
		 const struct dat_lmr_triplet *lmr_triplet,
		 enum dat_mem_priv_flags privileges, enum dat_va_type va_type,
		 struct dat_ep *ep, union dat_context cookie,
		 enum dat_completion_flags flags, u32 *rmr_context)
{
	struct kdapl_frmr_req req = {
		.cookie = cookie,
		.flags = flags,
		.op = DAT_DTO_BIND_MW,
	};
	struct kdapl_rmr_window *window;
	int ret;

	if (!rmr || !lmr_triplet || !ep || rmr->obj.ia != ep->obj.ia ||
	    flags & ~RMR_FLAGS || flags & DAT_COMPLETION_UNSIGNALLED_FLAG &
	    ~ep->config.attr.request_completion_flags)
		return -EINVAL;
	if (rmr->pz != ep->config.pz)
		return -EPERM;
	if (!lmr_triplet->segment_length)
		return rmr_unbind(rmr, ep, &req);

	if (!rmr_context || privileges & ~KDAPL_LMR_REMOTE ||
	    (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB))
		return -EINVAL;
	/* A removal waits: it takes the list of the LMR away. */
	ret = kdapl_ia_enter(rmr->obj.ia);
	if (ret)
		return ret;
	ret = rmr_check(rmr, lmr, lmr_triplet, privileges);
	if (ret)
		goto out_gate;
	ret = rmr_enter(rmr, ep, false, &req.old);
	if (ret)
		goto out_gate;
	window = rmr_take_window(rmr, req.old);
	ret = -EAGAIN;
	if (!window)
		goto out_leave;
	window->triplet = *lmr_triplet;
	window->priv = privileges;
	window->va_type = va_type;
	req.access = kdapl_lmr_mem_access(rmr->obj.ia, privileges);
	/* Not to be looked up later: the event may be out, and acted upon. */
	req.key = rmr_context;
	ret = rmr_bind_window(rmr, window, lmr, ep, &req);
	if (!ret)
		goto out_gate;

out_leave:
	rmr_leave(rmr);
out_gate:
	kdapl_ia_leave(rmr->obj.ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_rmr_bind);
