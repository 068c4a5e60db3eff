// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: MRs that are registered and invalidated by work requests
 *
 * Who may do what next is one atomic word, changed by compare and exchange:
 *
 *	FREE -> TAKEN -> VALID -> ENDING -> FREE
 *
 * FREE to TAKEN is whoever wants to register; the page list is his until the
 * request is posted, and no registration is in force that the new list could
 * spoil. VALID and ENDING are set before the request is posted, since it may
 * complete inside the post. ENDING goes to FREE when the invalidation has
 * completed, and not before that is the DMA mapping undone: until then the peer
 * may write. The peer can take VALID to FREE too, by its own invalidation.
 *
 * A registration or invalidation that failed, or was flushed, leaves the MR in a
 * state that nobody knows, unless the peer's invalidation has come in between. It is
 * UNKNOWN then, from VALID or ENDING only, and never used again: when all
 * requests that name it are home a work item deregisters it, undoes the mapping,
 * and puts a new MR into its place.
 */
#include "frmr.h"

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "kunit.h"
#include "main.h"
#include "pz.h"
#include "queue.h"
#include "reg.h"
#include "rmr.h"
#include "trace.h"

enum {
	/* Between two attempts to get another MR from the device. */
	FRMR_RETRY_MS = 100,
	/* How long a free call waits at most for what it has posted itself. */
	FRMR_PROOF_MS = 50,
};

/* The key that a completion or a peer names leads back to the MR. */
static int frmr_alloc_mr(struct kdapl_frmr *fr)
{
	struct dat_ia *ia = fr->pz->obj.ia;
	struct ib_mr *mr;
	int ret;

	mr = kdapl_reg_alloc(fr->pz->pd, fr->max_pages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = xa_err(xa_store(&ia->frmrs, mr->rkey >> 8, fr, GFP_KERNEL));
	if (ret) {
		ib_dereg_mr(mr);
		return ret;
	}
	fr->mr = mr;
	fr->key = mr->rkey;
	fr->reg.mr = mr;
	return 0;
}

static void frmr_dereg_mr(struct kdapl_frmr *fr)
{
	struct ib_mr *mr = fr->mr;

	if (!mr)
		return;
	fr->mr = NULL;
	/* Before the device gives the index to somebody else. */
	xa_erase(&fr->pz->obj.ia->frmrs, mr->rkey >> 8);
	WARN_ON_ONCE(ib_dereg_mr(mr));
}

static void frmr_replace(struct work_struct *work)
{
	struct kdapl_frmr *fr = container_of(to_delayed_work(work),
					     struct kdapl_frmr, replace);
	struct dat_ia *ia = fr->pz->obj.ia;
	int ret = -EBUSY;

	/* Removal takes the MR itself. */
	if (kdapl_ia_enter(ia))
		return;
	if (kdapl_frmr_state(fr) != KDAPL_FRMR_UNKNOWN)
		goto out_leave;

	/* Pairs with the full barrier of the exchange in kdapl_frmr_force(). */
	smp_rmb();
	/*
	 * Flushes come together: the others are on their way. Pairs with the
	 * releases that give the last one back: all that was done for it is seen.
	 */
	if (!atomic_read_acquire(&fr->posted)) {
		frmr_dereg_mr(fr);
		kdapl_frmr_unmap(fr);
		ret = frmr_alloc_mr(fr);
	}
	if (ret) {
		queue_delayed_work(kdapl_wq, &fr->replace,
				   ret == -EBUSY ? 1 :
				   msecs_to_jiffies(FRMR_RETRY_MS));
		goto out_leave;
	}
	fr->changed(fr);
	if (fr->over)
		fr->over(fr);
	atomic_set_release(&fr->state, KDAPL_FRMR_FREE);
	if (fr->freed)
		fr->freed(fr);
out_leave:
	kdapl_ia_leave(ia);
}

/**
 * kdapl_frmr_init - make an MR for fast registration
 * @fr: zeroed, part of the caller's object; @fr->sgl may be another one's, whose
 *	lists need no mapping
 * @pz: its PZ, of which the caller is a user
 * @owner: the caller's object
 * @max_pages: of a registration, in pages of PAGE_SIZE
 * @changed: see struct kdapl_frmr
 *
 * Context: process; sleeps; inside the IA's gate.
 * Return: 0; -EOPNOTSUPP: the device has no fast registration; -EMSGSIZE: it
 * does not take so many pages; -ENOMEM; else the errno of the provider.
 */
int kdapl_frmr_init(struct kdapl_frmr *fr, struct dat_pz *pz,
		    struct kdapl_obj *owner, unsigned int max_pages,
		    void (*changed)(struct kdapl_frmr *fr))
{
	const struct ib_device_attr *dev = &pz->obj.ia->dev_attr;
	int ret;

	if (!(dev->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return -EOPNOTSUPP;
	if (max_pages > dev->max_fast_reg_page_list_len)
		return -EMSGSIZE;

	fr->pz = pz;
	fr->ibdev = pz->obj.ia->ibdev;
	fr->simple = ib_uses_virt_dma(fr->ibdev);
	fr->owner = owner;
	fr->changed = changed;
	fr->max_pages = max_pages;
	fr->max_nents = max_pages;
	fr->chunk = round_down(ib_dma_max_seg_size(fr->ibdev), PAGE_SIZE);
	INIT_DELAYED_WORK(&fr->replace, frmr_replace);
	fr->reg.wr.opcode = IB_WR_REG_MR;
	fr->inv.opcode = IB_WR_LOCAL_INV;

	fr->own_sgl = !fr->sgl;
	if (fr->own_sgl) {
		fr->sgl = kvmalloc_array(max_pages, sizeof(*fr->sgl),
					 GFP_KERNEL);
		if (!fr->sgl)
			return -ENOMEM;
		sg_init_table(fr->sgl, max_pages);
	}

	ret = frmr_alloc_mr(fr);
	if (ret) {
		kdapl_frmr_free(fr);
		return ret;
	}
	atomic_set(&fr->state, KDAPL_FRMR_FREE);
	return 0;
}

void kdapl_frmr_discard(struct kdapl_frmr *fr)
{
	if (!kdapl_frmr_move(fr, KDAPL_FRMR_VALID, KDAPL_FRMR_UNKNOWN))
		return;
	fr->changed(fr);
	queue_delayed_work(kdapl_wq, &fr->replace, 0);
}

bool kdapl_frmr_force(struct kdapl_frmr *fr)
{
	bool forced;

	/* A registration that is under way names the MR itself, not its key. */
	if (!READ_ONCE(fr->settled))
		return false;
	/*
	 * The MR is UNKNOWN while this sleeps in the device, its requests fail as
	 * the key is dead, and the work for another one may be queued from an
	 * earlier failure. It waits until nothing is posted, so also for this:
	 * else the MR that it makes could be registered, and mapped, under us.
	 */
	atomic_inc(&fr->posted);
	forced = kdapl_frmr_move(fr, KDAPL_FRMR_ENDING, KDAPL_FRMR_UNKNOWN);
	if (forced) {
		frmr_dereg_mr(fr);
		kdapl_frmr_unmap(fr);
		fr->changed(fr);
		queue_delayed_work(kdapl_wq, &fr->replace, 0);
	}
	/* The last touch; pairs with the acquire in frmr_replace(). */
	atomic_dec_return_release(&fr->posted);
	return forced;
}

void kdapl_frmr_remove_device(struct kdapl_frmr *fr)
{
	atomic_set(&fr->state, KDAPL_FRMR_DEAD);
	/* In this order: nothing reaches memory that is not mapped any more. */
	frmr_dereg_mr(fr);
	kdapl_frmr_unmap(fr);
}

void kdapl_frmr_stop(struct kdapl_frmr *fr)
{
	cancel_delayed_work_sync(&fr->replace);
}

void kdapl_frmr_free(struct kdapl_frmr *fr)
{
	if (fr->own_sgl)
		kvfree(fr->sgl);
	fr->sgl = NULL;
}

/* True: no request names it any more. */
static bool frmr_fetch(struct kdapl_frmr *fr)
{
	struct kdapl_obj *obj = NULL;

	while ((obj = kdapl_ia_next(fr->pz->obj.ia, DAT_HANDLE_TYPE_EVD, obj)))
		kdapl_cq_drain(container_of(obj, struct dat_evd, obj));
	return !atomic_read(&fr->posted);
}

/* Those that could name it are of its PZ. False: nothing is going to complete. */
static bool frmr_prove(struct kdapl_frmr *fr)
{
	struct kdapl_obj *obj = NULL;
	bool posted = false;
	struct dat_ep *ep;

	while ((obj = kdapl_ia_next(fr->pz->obj.ia, DAT_HANDLE_TYPE_EP, obj))) {
		ep = container_of(obj, struct dat_ep, obj);
		if (ep->config.pz == fr->pz)
			posted |= kdapl_queue_prove(&ep->req);
	}
	return posted;
}

bool kdapl_frmr_idle(struct kdapl_frmr *fr)
{
	unsigned int tries;

	might_sleep();

	/*
	 * Perhaps the completion waits for a consumer that has no reason to
	 * dequeue: it has suppressed the event. Or there will be none, for the
	 * registration was not signalled, and nothing came behind it.
	 */
	if (!atomic_read(&fr->posted) || frmr_fetch(fr))
		return true;
	if (!frmr_prove(fr))
		return false;
	for (tries = 0; tries < FRMR_PROOF_MS; tries++) {
		usleep_range(USEC_PER_MSEC / 2, USEC_PER_MSEC);
		if (frmr_fetch(fr))
			return true;
	}
	return false;
}

/* The registration is not in force any more. */
static void frmr_ended(struct kdapl_frmr *fr, enum kdapl_frmr_state from)
{
	/* Else it was deregistered meanwhile. */
	if (!kdapl_frmr_move(fr, from, KDAPL_FRMR_TAKEN))
		return;
	kdapl_frmr_unmap(fr);
	fr->changed(fr);
	if (unlikely(fr->over))
		fr->over(fr);
	/* Whoever takes it next sees all of that. */
	atomic_set_release(&fr->state, KDAPL_FRMR_FREE);
	if (unlikely(fr->freed))
		fr->freed(fr);
}

/*
 * A registration is flushed as late as its EP takes to close. If the peer has ended
 * it meanwhile it had not failed: the MR is FREE, or TAKEN by somebody who prepares
 * the next one, and stays his. An invalidation ends what is ENDING until it is home.
 * In all other states that has been failed before, or is DEAD, and its work was or
 * will be stopped.
 */
static void frmr_failed(struct kdapl_frmr *fr, bool inv)
{
	int state = atomic_read(&fr->state);

	do {
		if (state != KDAPL_FRMR_ENDING &&
		    (inv || state != KDAPL_FRMR_VALID))
			return;
	} while (!atomic_try_cmpxchg(&fr->state, &state, KDAPL_FRMR_UNKNOWN));
	fr->changed(fr);
	queue_delayed_work(kdapl_wq, &fr->replace, 0);
}

/**
 * kdapl_frmr_done_locked - a registration or invalidation is home
 * @wr: its context
 * @status: of the completion, or IB_WC_WR_FLUSH_ERR if it was never posted
 *
 * Context: under the EVD lock.
 */
void kdapl_frmr_done_locked(struct kdapl_wr *wr, enum ib_wc_status status)
{
	struct kdapl_frmr *fr = wr->fr;

	if (unlikely(status != IB_WC_SUCCESS)) {
		if (wr->flags & KDAPL_WR_INV ||
		    wr->variant == (u8)READ_ONCE(fr->key))
			frmr_failed(fr, wr->flags & KDAPL_WR_INV);
		/* Else the peer has ended that one, so it had not failed. */
	} else if (wr->flags & KDAPL_WR_INV) {
		frmr_ended(fr, KDAPL_FRMR_ENDING);
	} else if (wr->variant == (u8)READ_ONCE(fr->key)) {
		/* Else the peer has ended that one, and there is another. */
		WRITE_ONCE(fr->settled, true);
	}
	if (wr->flags & KDAPL_WR_INV)
		trace_kdapl_inv(fr->owner->id, wr->queue->ep->obj.id, fr->key,
				status);
	else
		trace_kdapl_reg(fr->owner->id, wr->queue->ep->obj.id, fr->key,
				status);
	if (wr->flags & KDAPL_WR_BIND)
		kdapl_rmr_done_locked(fr, status);
	/* The last touch: a free call may be waiting for it. */
	atomic_dec_return_release(&fr->posted);
}

void kdapl_frmr_invalidated(struct dat_ep *ep, u32 key)
{
	struct kdapl_frmr *fr = xa_load(&ep->obj.ia->frmrs, key >> 8);

	if (!fr || fr->pz != ep->config.pz || READ_ONCE(fr->key) != key)
		return;
	trace_kdapl_inv(fr->owner->id, ep->obj.id, key, IB_WC_SUCCESS);
	frmr_ended(fr, KDAPL_FRMR_VALID);
}
