/* SPDX-License-Identifier: GPL-2.0 */
/* Local memory regions. */
#ifndef _KDAPL_LMR_H
#define _KDAPL_LMR_H

#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include <dat/dat.h>
#include <dat/dat_ib_extensions.h>

#include "ep.h"
#include "frmr.h"
#include "ia.h"
#include "lmr_region.h"
#include "obj.h"

struct dat_pz;
struct kdapl_pool_fmr;

/* What makes an LMR need an MR for the peer. */
#define KDAPL_LMR_REMOTE	(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
				 DAT_MEM_PRIV_REMOTE_WRITE_FLAG | \
				 KDAPL_LMR_ATOMIC)
/* The extension's; not every device can give it. */
#define KDAPL_LMR_ATOMIC	((u32)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

enum kdapl_lmr_state {
	KDAPL_LMR_READY,	/* no MR, or a registered one */
	KDAPL_LMR_DEFERRED,	/* waits for a connected EP */
	KDAPL_LMR_POSTED,	/* its registration is under way on an EP */
	KDAPL_LMR_FAILED,	/* the device refused it: the key never works */
};

/**
 * struct dat_lmr - registered memory
 * @obj: common head
 * @pz: its protection zone (a user of it, and a reference until @obj goes); NULL:
 *	any, the IA's reserved LMR
 * @context: what triplets carry: index in ia->lmr_table << 8 | a count of its uses
 * @priv: what may be done with it
 * @deny: what stops a post from taking the short way: the privileges that it
 *	lacks, and enum kdapl_lmr_need
 * @va: first address that triplets may name
 * @start: what @va is, or would be, with DAT_VA_TYPE_VA
 * @length: bytes behind @va
 * @lkey: of local scatter/gather entries
 * @base: their address for @va, unless @pages is set
 * @pages: DMA address of each page, if neither the DMA addresses are
 *	contiguous nor an MR makes them so
 * @page_offset: of @va in the first of @pages
 * @mr: NULL for local-only memory that local_dma_lkey can name; its iova is
 *	@va
 * @access: enum ib_access_flags of the MR
 * @mr_lkey: for the sink of an RDMA read on iWARP; 0: cannot be one
 * @rkey: what the peer is given; 0: nothing
 * @mem_type: as created
 * @va_type: as created
 * @region: as created
 * @sgl: the memory
 * @nents: entries of @sgl
 * @mapped: entries after DMA mapping; 0: not mapped
 * @own_map: the mapping is kdapl's, not the consumer's
 * @page_size: of @mr
 * @binds: RMRs bound to it; negative: it is being freed
 * @fr: of dat_lmr_allocate(), whose registrations come and go; else NULL
 * @fmr_length: of the same: bytes of the last registration
 * @fmr_near: of the same: an address of the linear map, known to have a page
 * @mr_lkey_mask: of the same: the part of its key that @mr_lkey is, all or nothing
 * @rkey_mask: the same for @rkey
 * @pool_fmr: of the same: it belongs to a pool
 * @scope: of the same: which EPs may use it
 * @state: under pz->lmr_lock
 * @deferred: on pz->deferred
 * @carrier: the EP that a posted registration goes through
 * @refused: what the provider said when it did not take a registration; as @state
 * @rcu: for the grace period
 *
 * Read by posts under RCU; freed after a grace period. Immutable while it can
 * be found, but for what is under the PZ's lock; with @fr, between two
 * registrations: @length is 0 then. Local use of such memory goes through the
 * MR, so the adapter itself would notice a post that has read a mixture.
 */
struct dat_lmr {
	struct kdapl_obj obj;
	struct dat_pz *pz;
	u32 context;
	u32 priv;			/* enum dat_mem_priv_flags */
	u32 deny;
	u64 va;
	u64 start;
	u64 length;
	u32 lkey;
	u64 base;
	dma_addr_t *pages;
	u32 page_offset;

	struct ib_mr *mr;
	int access;
	u32 mr_lkey;
	u32 rkey;

	enum dat_mem_type mem_type;
	enum dat_va_type va_type;
	union dat_region_description region;
	struct scatterlist *sgl;
	unsigned int nents;
	unsigned int mapped;
	bool own_map;
	u32 page_size;

	atomic_t binds;
	struct kdapl_frmr *fr;
	u64 fmr_length;
	unsigned long fmr_near;
	u32 mr_lkey_mask;
	u32 rkey_mask;
	struct kdapl_pool_fmr *pool_fmr;
	enum dat_lmr_scope scope;

	enum kdapl_lmr_state state;
	struct list_head deferred;
	struct dat_ep *carrier;
	int refused;
	struct rcu_head rcu;
};

/* What a post asks of an LMR beside privileges. */
enum kdapl_lmr_need {
	/* One entry will do. */
	KDAPL_LMR_NEED_ONE = 0x10000,
	/* iWARP: the sink of an RDMA read must lie in a registered MR. */
	KDAPL_LMR_NEED_MR = 0x20000,
};

/* 0; -EINVAL: no such privilege; -EOPNOTSUPP: the device has no atomics. */
static inline int kdapl_lmr_check_priv(const struct dat_ia *ia, u32 priv)
{
	if (priv & ~(DAT_MEM_PRIV_ALL_FLAG | KDAPL_LMR_ATOMIC))
		return -EINVAL;
	return priv & KDAPL_LMR_ATOMIC && !kdapl_ia_has_atomics(ia) ?
	       -EOPNOTSUPP : 0;
}

/* Bytes of one registration that starts at a page. */
static inline u64 kdapl_lmr_max_bytes(const struct ib_device_attr *dev)
{
	u64 pages = (u64)dev->max_fast_reg_page_list_len * PAGE_SIZE;

	return dev->max_mr_size ? min(dev->max_mr_size, pages) : pages;
}

/* Grows by copying, and is freed after a grace period. */
struct kdapl_lmr_table {
	struct rcu_head rcu;
	u32 size;
	struct dat_lmr __rcu *slot[];
};

/* Preemption is off, which keeps what is found from being freed. */
static inline struct dat_lmr *kdapl_lmr_find(const struct dat_ia *ia,
					     u32 context)
{
	const struct kdapl_lmr_table *table;
	u32 index = context >> 8;

	table = rcu_dereference_sched(ia->lmr_table);
	if (unlikely(!table || index >= table->size))
		return NULL;
	return rcu_dereference_sched(table->slot[index]);
}

/*
 * The short way for one segment: the LMR, if @sge was filled in. All else, and
 * what is wrong with the segment, is for kdapl_lmr_index_sge(). Under a spinlock.
 */
static __always_inline const struct dat_lmr *
kdapl_lmr_build_one(const struct dat_ep *ep, const struct dat_lmr_triplet *iov,
		    u32 need, struct ib_sge *sge)
{
	const struct dat_lmr *lmr = kdapl_lmr_find(ep->obj.ia,
						   iov->lmr_context);
	u32 len = iov->segment_length;
	u64 off;

	if (unlikely(!lmr || lmr->context != iov->lmr_context ||
		     lmr->pz != ep->config.pz ||
		     lmr->deny & (need | KDAPL_LMR_NEED_ONE) || !len))
		return NULL;
	off = iov->virtual_address - lmr->va;
	if (unlikely(off > lmr->length || len > lmr->length - off))
		return NULL;
	sge->addr = lmr->base + off;
	sge->length = len;
	sge->lkey = lmr->lkey;
	return lmr;
}

/*
 * Looks the LMR up, for the window of the queue that needs @need, the receives if
 * it is to write, and for @iov, into its sge_one.
 */
bool kdapl_lmr_open_window(struct dat_ep *ep,
			   const struct dat_lmr_triplet *iov, u32 need);

/*
 * The same by way of the queue's window, into its sge_one. The window has values and
 * no pointer, so it needs no grace period: a post that begins after an LMR was freed
 * sees another generation; one that runs beside the free may find the LMR either
 * way, as in the table. Under the post lock.
 */
static __always_inline bool
kdapl_lmr_build_window(struct dat_ep *ep, struct kdapl_queue *queue,
		       const struct dat_lmr_triplet *iov, u32 len, u32 need)
{
	const struct kdapl_window *window = &queue->window;
	u64 off = iov->virtual_address - window->va;

	if (unlikely(iov->lmr_context != window->context ||
		     READ_ONCE(ep->obj.ia->lmr_generation) !=
		     window->generation))
		return kdapl_lmr_open_window(ep, iov, need);
	/* A length of 0 wraps, and is for the long way. */
	if (unlikely(off >= window->length ||
		     len - 1ULL >= window->length - off))
		return kdapl_lmr_open_window(ep, iov, need);
	queue->sge_one.addr = iov->virtual_address + window->offset;
	queue->sge_one.length = len;
	return true;
}

/*
 * Turns @num consumer segments into at most @max_sge entries, checking PZ,
 * range and privilege; @ep is NULL for an SRQ. Returns the number of entries or
 * a negative errno; *total is the sum of the lengths in bytes. Under a spinlock.
 */
int kdapl_lmr_index_sge(const struct dat_ia *ia, const struct dat_pz *pz,
			const struct dat_ep *ep,
			const struct dat_lmr_triplet *iov, int num, u32 need,
			struct ib_sge *sge, int max_sge, u32 *total);
/*
 * Deferred registrations of an EP's PZ (devices without loopback): called by
 * the EP's work, QP in RTS, before ESTABLISHED is delivered, and again at each
 * KDAPL_EP_TODO_REG. 0: nothing is left to wait for; -EINPROGRESS: some are under
 * way, and a note will come; else what was said to the post of one, which is up to
 * other EPs then: this one is not to try again while it waits.
 */
int kdapl_lmr_defer_register(struct dat_ep *ep);
/* A KDAPL_OP_REG request completed; under the EVD lock. */
void kdapl_lmr_defer_done_locked(struct kdapl_wr *wr, enum ib_wc_status status);
/* lmr_index.c: a context for an LMR that nobody can find yet; sleeps. */
int kdapl_lmr_index_get(struct dat_lmr *lmr);
/* Posts find @entry under the context of @lmr. Sleeps. */
void kdapl_lmr_index_show(struct dat_lmr *lmr, struct dat_lmr *entry);
/* Posts that have found it may go on until a grace period has passed. */
void kdapl_lmr_index_put(struct dat_lmr *lmr);
/* enum ib_access_flags of an MR for these privileges. */
int kdapl_lmr_mem_access(const struct dat_ia *ia, u32 priv);
/*
 * Whether an MR can give memory at @addr the address @va: a page list says where
 * the pages are, the low bits of the iova where in the first one it starts; of
 * rxe alone it is known that it takes any iova.
 */
bool kdapl_lmr_mem_congruent(const struct dat_ia *ia, u64 va, u64 addr);
/* lmr_mem.c: the pages as a list; their MR, if one is needed. All sleep. */
int kdapl_lmr_mem_build(struct dat_lmr *lmr, const struct kdapl_region *region);
int kdapl_lmr_mem_copy(struct dat_lmr *lmr, const struct dat_lmr *source);
int kdapl_lmr_mem_register(struct dat_lmr *lmr);
/* No MR may name the memory any more. */
void kdapl_lmr_mem_unmap(struct dat_lmr *lmr);
/* lmr_defer.c */
int kdapl_lmr_defer(struct dat_lmr *lmr);
void kdapl_lmr_defer_cancel(struct dat_lmr *lmr);
enum kdapl_lmr_state kdapl_lmr_defer_state(struct dat_lmr *lmr);
/*
 * lmr_fmr_long.c: the consumer's calls with everything that they can be asked for,
 * and fast registration for pools
 */
int kdapl_lmr_fmr_long(struct dat_lmr *lmr, enum dat_mem_type mem_type,
		       union dat_region_description region, int num_pages,
		       enum dat_mem_priv_flags privileges,
		       enum dat_va_type va_type, struct dat_ep *ep,
		       union dat_context cookie, enum dat_completion_flags flags,
		       u32 *lmr_context, u32 *rmr_context);
int kdapl_lmr_invalidate_long(struct dat_lmr *lmr, struct dat_ep *ep,
			      union dat_context cookie,
			      enum dat_completion_flags flags);
void kdapl_lmr_fmr_allow(struct dat_lmr *lmr, u32 priv);

struct kdapl_lmr_fmr {
	struct kdapl_region region;
	enum dat_mem_priv_flags priv;
	enum dat_va_type va_type;
	u64 va;			/* the address of the first byte; 0: its own */
};

/* -EBUSY, -EAGAIN, ...: see dat_lmr_fmr(). Any context. */
int kdapl_lmr_fmr_post(struct dat_lmr *lmr, struct dat_ep *ep,
		       const struct kdapl_lmr_fmr *fmr,
		       struct kdapl_frmr_req *req);
/* Sleeps; inside the gate. */
int kdapl_lmr_allocate(struct dat_ia *ia, struct dat_pz *pz, int max_pages,
		       enum dat_lmr_scope scope, struct dat_lmr **lmr);
/* For kdapl_obj_init(). */
void kdapl_lmr_release(struct kdapl_obj *obj);
/* Idempotent; sleeps. */
void kdapl_lmr_remove_device(struct dat_lmr *lmr);
/* lmr_ia.c: the reserved LMR of an IA that closes, if it has one. Sleeps. */
void kdapl_lmr_put_reserved(struct dat_ia *ia);
/*
 * The end of one that no list has and no request names: inside the gate, or
 * after removal. Sleeps.
 */
void kdapl_lmr_drop(struct dat_lmr *lmr);
/* As dat_lmr_free(), for dat_ia_close(ABRUPT). */
void kdapl_lmr_destroy(struct dat_lmr *lmr);

#endif /* _KDAPL_LMR_H */
