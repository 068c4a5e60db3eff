// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: local memory regions
 *
 * Locally an LMR is named by its lmr_context (lmr_index.c). Memory whose DMA
 * addresses are contiguous goes to the device under local_dma_lkey, so that local
 * use needs no registration at all; privileges and bounds are checked here, at
 * every post. Other memory is made contiguous by an MR, or split at page ends
 * where no MR is to be had (lmr_mem.c).
 *
 * Remotely an LMR is an MR, whose iova is the address that triplets name. Where
 * a QP can be connected to itself it is registered before dat_lmr_kcreate()
 * returns (reg.c). Elsewhere, on iWARP, the key is given out at once and the
 * registration waits for the first connected EP of the PZ: no peer can use a key
 * before. It is posted before ESTABLISHED is delivered.
 *
 * Freeing: out of the index, dereg, then unmap, so that nothing can reach the
 * memory once its owner has it back. The struct follows after a grace period.
 */
#include "lmr.h"

#include <linux/export.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "fault.h"
#include "ia.h"
#include "pz.h"

static void lmr_free_rcu(struct rcu_head *rcu)
{
	struct dat_lmr *lmr = container_of(rcu, struct dat_lmr, rcu);

	if (lmr->fr)
		kdapl_frmr_free(lmr->fr);
	kfree(lmr->fr);
	kvfree(lmr->pages);
	kfree(lmr);
}

void kdapl_lmr_release(struct kdapl_obj *obj)
{
	struct dat_lmr *lmr = container_of(obj, struct dat_lmr, obj);

	/* Posts that find it meanwhile compare the PZ, and look at nothing of it. */
	if (lmr->pz)
		kdapl_obj_put(&lmr->pz->obj);
	call_rcu(&lmr->rcu, lmr_free_rcu);
}

void kdapl_lmr_remove_device(struct dat_lmr *lmr)
{
	struct ib_mr *mr = lmr->mr;

	if (lmr->fr)
		kdapl_frmr_remove_device(lmr->fr);
	lmr->mr = NULL;
	/* In this order: nothing reaches memory that is not mapped any more. */
	if (mr)
		WARN_ON_ONCE(ib_dereg_mr(mr));
	kdapl_lmr_mem_unmap(lmr);
}

static int lmr_check_args(const struct dat_ia *ia, enum dat_mem_type mem_type,
			  enum dat_mem_priv_flags privileges,
			  enum dat_va_type va_type,
			  enum dat_mem_optimize_flags mem_optimization)
{
	switch (mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_PHYSICAL:
	case DAT_MEM_TYPE_PLATFORM:
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		break;
	default:
		return -EINVAL;
	}
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return -EINVAL;
	if (mem_type == DAT_MEM_TYPE_BYPASS && privileges & KDAPL_LMR_REMOTE)
		return -EACCES;
	switch (mem_optimization) {
	case DAT_MEM_OPTIMIZE_DONT_CARE:
	case DAT_MEM_OPTIMIZE_IA:
	case DAT_MEM_OPTIMIZE_MIN_EXPOSURE:
	case DAT_MEM_OPTIMIZE_EXACT_EXPOSURE:
		return kdapl_lmr_check_priv(ia, privileges);
	default:
		return -EINVAL;
	}
}

/* All memory, at its DMA addresses, under the key that PDs have for that. */
static void lmr_bypass(struct dat_lmr *lmr)
{
	lmr->va = 0;
	lmr->base = 0;
	lmr->length = U64_MAX;
	lmr->lkey = lmr->pz->pd->local_dma_lkey;
}

static int lmr_of_lmr(struct dat_lmr *lmr, const struct dat_lmr *source)
{
	/* Those without memory of their own, or with memory that goes. */
	if (!source || source->obj.ia != lmr->obj.ia || !source->sgl)
		return -EINVAL;
	lmr->length = source->length;
	lmr->va = source->start;
	return kdapl_lmr_mem_copy(lmr, source);
}

static int lmr_of_region(struct dat_lmr *lmr, struct kdapl_region *region)
{
	u64 most;
	int ret;

	if (region->type == DAT_MEM_TYPE_PLATFORM) {
		if (!region->desc.for_platform)
			return -EINVAL;
		most = kdapl_region_table_length(region->desc.for_platform);
		if (region->length > most)
			return -EINVAL;
		if (!region->length)
			region->length = most;
	}
	if (!region->length)
		return -EINVAL;
	ret = kdapl_lmr_mem_build(lmr, region);
	if (ret)
		return ret;
	lmr->length = region->length;
	lmr->va = kdapl_region_start(region);
	return 0;
}

/* The memory, mapped, and what triplets call it. */
static int lmr_fill(struct dat_lmr *lmr, struct kdapl_region *region)
{
	int ret;

	if (region->type == DAT_MEM_TYPE_LMR)
		ret = lmr_of_lmr(lmr, region->desc.for_lmr_handle);
	else
		ret = lmr_of_region(lmr, region);
	if (ret)
		return ret;
	lmr->start = lmr->va;
	if (lmr->va_type == DAT_VA_TYPE_ZB)
		lmr->va = 0;
	return 0;
}

/**
 * dat_lmr_kcreate - register memory
 * @ia: the IA
 * @mem_type: how @region is to be read
 * @region: the memory, which stays allocated until dat_lmr_free();
 *	%DAT_MEM_TYPE_VIRTUAL: for_va, from kmalloc(), the page allocator or
 *	vmalloc(); %DAT_MEM_TYPE_PHYSICAL: for_physical, physical addresses of
 *	pages of PAGE_SIZE; %DAT_MEM_TYPE_PHYSICAL_VAR_PAGES: for_array, the same
 *	with pages of a multiple of that; %DAT_MEM_TYPE_PLATFORM: for_platform, a
 *	struct sg_table, as it was before any DMA mapping, whose inner pieces
 *	begin and end at page ends; %DAT_MEM_TYPE_IA: for_ia, a DMA address of
 *	memory that the consumer has mapped for this adapter;
 *	%DAT_MEM_TYPE_LMR: for_lmr_handle, the memory of another LMR of
 *	dat_lmr_kcreate(), which may be freed before this one;
 *	%DAT_MEM_TYPE_BYPASS: all memory, at DMA addresses, for local use;
 *	nothing is checked and @region not looked at. The arrays and tables are
 *	the consumer's again when the call returns
 * @length: of it, in bytes; of an sg_table 0 means all; ignored for
 *	%DAT_MEM_TYPE_LMR and %DAT_MEM_TYPE_BYPASS
 * @pz: protection zone; EPs of others cannot use it
 * @privileges: what may be done with it; %DAT_IB_MEM_PRIV_REMOTE_ATOMIC too
 * @va_type: whether triplets hold addresses or offsets
 * @mem_optimization: any; the registration is byte-exact
 * @lmr: OUT: the LMR
 * @lmr_context: OUT: for local segments
 * @rmr_context: OUT: for the peer, 0 without a remote privilege
 * @registered_length: OUT: bytes
 * @registered_address: OUT: what triplets call the first byte: its virtual,
 *	physical (%DAT_MEM_TYPE_PHYSICAL, %DAT_MEM_TYPE_PHYSICAL_VAR_PAGES,
 *	%DAT_MEM_TYPE_PLATFORM) or DMA address, that in the other LMR, or 0 for
 *	%DAT_VA_TYPE_ZB and %DAT_MEM_TYPE_BYPASS
 *
 * The call returns when the memory can be used. On iWARP without a connected EP
 * in @pz the keys are known at once, and good as soon as an EP is connected.
 * Remote write access makes the adapter need local write access; kdapl itself
 * still refuses local writes that @privileges do not allow. What one registration
 * of the device holds dat_ia_memtype_hint() tells. Origin: kDAPL 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, an unknown value, an empty region, memory that
 * cannot be registered (stack, module data, short-lived mappings, addresses that
 * are no memory), pieces with gaps, or an LMR of another IA or kind; -EACCES:
 * remote privileges for %DAT_MEM_TYPE_BYPASS; -EOPNOTSUPP: remote access without
 * fast registration in the device, %DAT_IB_MEM_PRIV_REMOTE_ATOMIC where it has no
 * atomics, or remote offsets into memory that does not start at a page where the
 * device needs that; -EMSGSIZE: more pages than one
 * registration of the device holds (remote access only); -ENOMEM; -EIO: the device
 * refused; -ENODEV: the device is gone; else the errno of the provider.
 */
int dat_lmr_kcreate(struct dat_ia *ia, enum dat_mem_type mem_type,
		    union dat_region_description region, u64 length,
		    struct dat_pz *pz, enum dat_mem_priv_flags privileges,
		    enum dat_va_type va_type,
		    enum dat_mem_optimize_flags mem_optimization,
		    struct dat_lmr **lmr, u32 *lmr_context, u32 *rmr_context,
		    u64 *registered_length, u64 *registered_address)
{
	struct kdapl_region memory = {
		.type = mem_type,
		.desc = region,
		.length = length,
	};
	struct dat_lmr *new;
	int ret;

	might_sleep();

	if (!ia || !pz || !lmr || !lmr_context || !rmr_context ||
	    !registered_length || !registered_address)
		return -EINVAL;
	ret = lmr_check_args(ia, mem_type, privileges, va_type,
			     mem_optimization);
	if (ret)
		return ret;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	ret = kdapl_pz_get_user(pz, ia);
	if (ret)
		goto out_leave;

	ret = -ENOMEM;
	new = kdapl_fault_zalloc(sizeof(*new));
	if (!new)
		goto out_put_pz;
	kdapl_obj_init(&new->obj, ia, DAT_HANDLE_TYPE_LMR,
		       kdapl_lmr_release);
	INIT_LIST_HEAD(&new->deferred);
	kdapl_obj_get(&pz->obj);
	new->pz = pz;
	new->priv = privileges;
	new->mem_type = mem_type;
	new->scope = DAT_LMR_SCOPE_PZ;
	new->va_type = va_type;
	new->region = region;

	if (mem_type == DAT_MEM_TYPE_BYPASS) {
		lmr_bypass(new);
	} else {
		ret = lmr_fill(new, &memory);
		if (ret)
			goto out_undo;
	}
	ret = kdapl_lmr_index_get(new);
	if (ret)
		goto out_undo;
	if (mem_type != DAT_MEM_TYPE_BYPASS) {
		ret = kdapl_lmr_mem_register(new);
		if (ret)
			goto out_undo;
	}

	new->deny = (DAT_MEM_PRIV_ALL_FLAG & ~new->priv) | KDAPL_LMR_NEED_MR |
		    (new->pages ? KDAPL_LMR_NEED_ONE : 0);
	kdapl_lmr_index_show(new, new);
	kdapl_obj_link(&new->obj);
	*lmr = new;
	*lmr_context = new->context;
	*rmr_context = new->rkey;
	*registered_length = new->length;
	*registered_address = new->va;
	kdapl_ia_leave(ia);
	return 0;

out_undo:
	if (!list_empty(&new->deferred) || kdapl_lmr_defer_state(new) == KDAPL_LMR_POSTED) {
		/*
		 * It was refused; or removal has begun, and the EP that carries
		 * the registration reports it only when the gate is free.
		 */
		kdapl_obj_link(&new->obj);
		kdapl_ia_leave(ia);
		kdapl_lmr_destroy(new);
		return ret;
	}
	kdapl_lmr_index_put(new);
	kdapl_lmr_remove_device(new);
	kdapl_obj_put(&new->obj);
out_put_pz:
	kdapl_pz_put_user(pz);
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_lmr_kcreate);

/**
 * dat_lmr_query - parameters of an LMR
 * @lmr: the LMR
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_lmr_query(struct dat_lmr *lmr, enum dat_lmr_param_mask mask,
		  struct dat_lmr_param *param)
{
	if (!lmr || mask & ~DAT_LMR_FIELD_ALL || (mask && !param))
		return -EINVAL;

	if (mask & DAT_LMR_FIELD_IA_HANDLE)
		param->ia_handle = lmr->obj.ia;
	if (mask & DAT_LMR_FIELD_MEM_TYPE)
		param->mem_type = lmr->mem_type;
	if (mask & DAT_LMR_FIELD_REGION_DESC)
		param->region_desc = lmr->region;
	if (mask & DAT_LMR_FIELD_LENGTH)
		param->length = lmr->length;
	if (mask & DAT_LMR_FIELD_PZ_HANDLE)
		param->pz_handle = lmr->pz;
	if (mask & DAT_LMR_FIELD_MEM_PRIV)
		param->mem_priv = lmr->priv;
	if (mask & DAT_LMR_FIELD_VA_TYPE)
		param->va_type = lmr->va_type;
	if (mask & DAT_LMR_FIELD_LMR_CONTEXT)
		param->lmr_context = lmr->context;
	if (mask & DAT_LMR_FIELD_RMR_CONTEXT)
		param->rmr_context = lmr->rkey;
	if (mask & DAT_LMR_FIELD_REGISTERED_SIZE)
		param->registered_size = lmr->length;
	if (mask & DAT_LMR_FIELD_REGISTERED_ADDRESS)
		param->registered_address = lmr->va;
	if (mask & DAT_LMR_FIELD_LMR_STATE) {
		param->lmr_state.fmr_support = lmr->fr;
		param->lmr_state.bound = !lmr->fr || kdapl_frmr_state(lmr->fr) !=
					 KDAPL_FRMR_FREE;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(dat_lmr_query);

void kdapl_lmr_drop(struct dat_lmr *lmr)
{
	kdapl_lmr_index_put(lmr);
	if (lmr->fr)
		kdapl_frmr_stop(lmr->fr);
	kdapl_lmr_remove_device(lmr);
	kdapl_pz_put_user(lmr->pz);
	kdapl_obj_put(&lmr->obj);
}

void kdapl_lmr_destroy(struct dat_lmr *lmr)
{
	struct dat_ia *ia = lmr->obj.ia;

	kdapl_lmr_index_put(lmr);
	kdapl_lmr_defer_cancel(lmr);
	if (lmr->fr)
		kdapl_frmr_stop(lmr->fr);
	/* A removal that is under way takes the MR, and we wait for it. */
	if (!kdapl_ia_enter(ia)) {
		kdapl_lmr_remove_device(lmr);
		kdapl_ia_leave(ia);
	} else {
		wait_for_completion(&ia->removed);
	}
	kdapl_obj_unlink(&lmr->obj);
	kdapl_pz_put_user(lmr->pz);
	kdapl_obj_put(&lmr->obj);
}

/**
 * dat_lmr_free - give memory back
 * @lmr: the LMR; no request that names it may be under way
 *
 * When it returns neither adapter nor peer can reach the memory; a peer that
 * tries breaks its connection. If a suppressed registration has not been proven done
 * by a later request, this posts one, and waits for it a few milliseconds. Origin:
 * DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL; -EPERM: the reserved LMR; -EBUSY: a registration or an
 * invalidation of it is under way (dat_lmr_fmr(), dat_lmr_invalidate()), or an RMR
 * is bound to it.
 */
int dat_lmr_free(struct dat_lmr *lmr)
{
	might_sleep();

	if (!lmr)
		return -EINVAL;
	if (!lmr->pz)
		return -EPERM;
	if (lmr->fr && !kdapl_frmr_idle(lmr->fr))
		return -EBUSY;
	if (atomic_cmpxchg(&lmr->binds, 0, INT_MIN / 2))
		return -EBUSY;
	kdapl_lmr_destroy(lmr);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_lmr_free);
