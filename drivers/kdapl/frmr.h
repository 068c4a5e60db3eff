/* SPDX-License-Identifier: GPL-2.0 */
/* MRs that work requests register and invalidate. */
#ifndef _KDAPL_FRMR_H
#define _KDAPL_FRMR_H

#include <linux/atomic.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include <dat/dat.h>

struct dat_ep;
struct dat_evd;
struct dat_ia;
struct dat_pz;
struct kdapl_obj;
struct kdapl_queue;
struct kdapl_wr;

enum kdapl_frmr_state {
	KDAPL_FRMR_FREE,	/* not registered, the next one may take it */
	KDAPL_FRMR_TAKEN,	/* somebody prepares its registration */
	KDAPL_FRMR_VALID,	/* the registration was posted */
	KDAPL_FRMR_ENDING,	/* the invalidation was posted */
	KDAPL_FRMR_UNKNOWN,	/* one of them failed: to be replaced */
	KDAPL_FRMR_DEAD,	/* deregistered for good */
};

/* How the entries of the list were DMA-mapped. */
enum kdapl_frmr_mapped {
	KDAPL_FRMR_NOT_MAPPED,
	KDAPL_FRMR_MAPPED_LIST,	/* as a list */
	KDAPL_FRMR_MAPPED_ONE,	/* the only one, by itself */
};

/**
 * struct kdapl_frmr - an MR, registered by one posted request and invalidated by
 *	another, over and over
 * @state: enum kdapl_frmr_state; whoever wins a compare and exchange goes on
 * @posted: requests that name it and are not home, and a kdapl_frmr_force()
 * @key: the current lkey and rkey, which differs at every registration
 * @ibdev: of @pz
 * @mr: replaced after a failure; NULL if that failed too, and when DEAD
 * @ep: where the registration was posted; compared, never looked into
 * @mapped: enum kdapl_frmr_mapped; an int, as not every architecture exchanges less
 * @settled: the registration is known to have succeeded
 * @map_dma: the entries of @sgl are pages, to be mapped with the registration
 * @simple: nobody has to hear of the end of a registration: DMA addresses are
 *	virtual, and @freed is NULL
 * @own_sgl: @sgl is its own
 * @nents: entries of @sgl in use
 * @max_nents: entries of @sgl
 * @max_pages: of @mr
 * @chunk: bytes that one entry may have
 * @sgl: what is registered
 * @reg: its request, filled in as far as it never changes
 * @inv: the same
 * @pz: of @mr
 * @owner: the object that it is part of
 * @changed: @state has left VALID, or has come back to it as nothing was posted, or,
 *	for a bind, has become VALID and the post comes next; under a post lock or an
 *	EVD lock, or in process context
 * @over: the registration is not in force any more, and nobody can have taken the MR
 *	for another one; may be NULL; contexts as of @freed; not called for what
 *	kdapl_frmr_home_locked() takes, nor by kdapl_frmr_remove_device()
 * @freed: @state has become FREE, not by what its own register has begun; may be
 *	NULL; under an EVD lock, or in process context
 * @replace: puts a new MR into the place of one in an unknown state
 *
 * Part of an object that is freed after a grace period and only when @posted is
 * 0. What stands between @key and @sgl belongs to who has it TAKEN.
 */
struct kdapl_frmr {
	atomic_t state;
	atomic_t posted;
	u32 key;
	struct ib_device *ibdev;
	struct ib_mr *mr;
	const struct dat_ep *ep;
	int mapped;
	bool settled;
	bool map_dma;
	bool simple;
	bool own_sgl;
	unsigned int nents;
	unsigned int max_nents;
	unsigned int max_pages;
	u32 chunk;
	struct scatterlist *sgl;
	struct ib_reg_wr reg;
	struct ib_send_wr inv;

	struct dat_pz *pz;
	struct kdapl_obj *owner;
	void (*changed)(struct kdapl_frmr *fr);
	void (*over)(struct kdapl_frmr *fr);
	void (*freed)(struct kdapl_frmr *fr);
	struct delayed_work replace;
};

/* -EMSGSIZE: more than a registration of the device holds. Sleeps. */
int kdapl_frmr_init(struct kdapl_frmr *fr, struct dat_pz *pz,
		    struct kdapl_obj *owner, unsigned int max_pages,
		    void (*changed)(struct kdapl_frmr *fr));
/*
 * For registrations whose end no request can bring about: that of a VALID one,
 * as soon as nothing posted names it; that of an ENDING one at once, which may
 * cost the connection. Process context, inside the gate; the second sleeps.
 */
void kdapl_frmr_discard(struct kdapl_frmr *fr);
bool kdapl_frmr_force(struct kdapl_frmr *fr);
/* Takes the MR away, then the mapping. Idempotent; sleeps; inside the gate. */
void kdapl_frmr_remove_device(struct kdapl_frmr *fr);
/* Nothing replaces the MR any more. Sleeps; in or outside of the gate. */
void kdapl_frmr_stop(struct kdapl_frmr *fr);
/* Memory; after kdapl_frmr_stop() and kdapl_frmr_remove_device(). */
void kdapl_frmr_free(struct kdapl_frmr *fr);
/*
 * False while requests that name it are under way; fetches what is home, and sees to
 * it that suppressed registrations come home. Process context, sleeps.
 */
bool kdapl_frmr_idle(struct kdapl_frmr *fr);

static inline enum kdapl_frmr_state
kdapl_frmr_state(const struct kdapl_frmr *fr)
{
	return atomic_read(&fr->state);
}

static inline bool kdapl_frmr_move(struct kdapl_frmr *fr,
				   enum kdapl_frmr_state from,
				   enum kdapl_frmr_state to)
{
	return atomic_cmpxchg(&fr->state, from, to) == from;
}

/*
 * VALID to ENDING, for a request that is counted in posted from here on: whoever finds
 * it UNKNOWN meanwhile, as the registration has failed after all, must not replace
 * the MR under the caller, who is about to name its key. The request @inv is the
 * caller's too until it is posted, and is not touched afterwards: the next one may
 * be in the middle of it.
 */
static inline bool kdapl_frmr_end(struct kdapl_frmr *fr)
{
	atomic_inc(&fr->posted);
	if (likely(kdapl_frmr_move(fr, KDAPL_FRMR_VALID, KDAPL_FRMR_ENDING)))
		return true;
	atomic_dec(&fr->posted);
	return false;
}

/* Its request was not posted. Unless the registration has failed meanwhile. */
static inline void kdapl_frmr_not_ended(struct kdapl_frmr *fr)
{
	if (kdapl_frmr_move(fr, KDAPL_FRMR_ENDING, KDAPL_FRMR_VALID))
		fr->changed(fr);
	atomic_dec(&fr->posted);
}

/*
 * What was mapped with the registration; the device does not use it any more. Once,
 * also if a removal comes beside the end of the registration: that is under an EVD
 * lock, which the removal takes before it lets go of the device.
 */
static inline void kdapl_frmr_unmap(struct kdapl_frmr *fr)
{
	int mapped = xchg(&fr->mapped, KDAPL_FRMR_NOT_MAPPED);

	if (mapped == KDAPL_FRMR_MAPPED_ONE)
		ib_dma_unmap_single(fr->ibdev, sg_dma_address(fr->sgl),
				    sg_dma_len(fr->sgl), DMA_BIDIRECTIONAL);
	else if (mapped)
		ib_dma_unmap_sg(fr->ibdev, fr->sgl, fr->nents,
				DMA_BIDIRECTIONAL);
}

/*
 * In few steps what kdapl_frmr_done_locked() does for the success of a request that
 * an LMR has and that is to have an event, and, with @posted 2, for the registration
 * that an invalidation proves done. False: it takes more, and nothing was done.
 * changed() was called when the MR left VALID.
 */
static __always_inline bool kdapl_frmr_home_locked(struct kdapl_frmr *fr,
						   bool inv, u8 variant,
						   int posted)
{
	if (inv) {
		if (unlikely((!fr->simple && fr->freed) ||
			     !kdapl_frmr_move(fr, KDAPL_FRMR_ENDING,
					      KDAPL_FRMR_TAKEN)))
			return false;
		if (likely(fr->simple))
			WRITE_ONCE(fr->mapped, KDAPL_FRMR_NOT_MAPPED);
		else
			kdapl_frmr_unmap(fr);
		/* Whoever takes it next sees all of that. */
		atomic_set_release(&fr->state, KDAPL_FRMR_FREE);
	} else if (likely(variant == (u8)READ_ONCE(fr->key))) {
		WRITE_ONCE(fr->settled, true);
	}
	/* The last touch: a free call may be waiting for it. */
	smp_mb__before_atomic();
	atomic_sub(posted, &fr->posted);
	return true;
}

/* Somebody wants to hear of the end of registrations. */
static inline void kdapl_frmr_set_freed(struct kdapl_frmr *fr,
					void (*freed)(struct kdapl_frmr *fr))
{
	fr->freed = freed;
	fr->simple = false;
}

/* What a consumer's request on an MR carries beside the MR. */
struct kdapl_frmr_req {
	struct kdapl_frmr *fr;
	union dat_context cookie;
	enum dat_completion_flags flags;
	u8 op;			/* enum dat_dtos */
	bool silent;		/* no consumer asked for it: no event, also of a failure */
	/* Registrations: one that is invalidated in front of it if VALID, or NULL. */
	struct kdapl_frmr *old;
	u32 *key;		/* binds only: OUT: the key, if it was posted */
	u64 iova;		/* registrations only, and all below */
	int access;		/* enum ib_access_flags */
};

/*
 * frmr_post.c: posts the registration of an MR that is TAKEN, and lets go of it
 * on errors; or the invalidation of one that is VALID. Any context.
 */
int kdapl_frmr_register(struct dat_ep *ep, const struct kdapl_frmr_req *req);
int kdapl_frmr_invalidate(struct dat_ep *ep, const struct kdapl_frmr_req *req);
/*
 * Posts the invalidations of @n MRs as one chain of silent requests; *@evd gets
 * the EVD that they complete on, with a reference. Returns how many were posted,
 * from the first on, those that were not VALID (any more) left out; or why none
 * can be: the gate of the EP is not open. Any context.
 */
int kdapl_frmr_end_batch(struct dat_ep *ep, struct kdapl_frmr **frs, int n,
			 struct dat_evd **evd);
/*
 * The end of one that is VALID, as a silent request that is posted next; false: it is
 * not (any more). Under the post lock, with a credit.
 */
bool kdapl_frmr_add_locked(struct kdapl_queue *queue, struct kdapl_frmr *fr);
/* A request with KDAPL_WR_MEM is home. Under the EVD lock. */
void kdapl_frmr_done_locked(struct kdapl_wr *wr, enum ib_wc_status status);
/* The peer has invalidated a key. Any context in an RCU reader. */
void kdapl_frmr_invalidated(struct dat_ep *ep, u32 key);

#endif /* _KDAPL_FRMR_H */
