// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: what an adapter says about memory: how much of it one registration
 * holds, and the LMR that names all of it
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "fault.h"
#include "ia.h"
#include "lmr.h"

/**
 * dat_ia_memtype_hint - how memory is best registered
 * @ia: the IA
 * @mem_type: of dat_lmr_kcreate()
 * @length: bytes that are to be registered
 * @mem_optimization: of dat_lmr_kcreate(); makes no difference
 * @preferred_length: OUT: @length, or less: a registration for remote access that
 *	starts at @preferred_alignment and is no longer than this fits into what
 *	the device takes at once
 * @preferred_alignment: OUT: in bytes
 *
 * Registrations for local use only may be longer. Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0; -EINVAL: NULL, an unknown value, or no length.
 */
int dat_ia_memtype_hint(struct dat_ia *ia, enum dat_mem_type mem_type,
			u64 length,
			enum dat_mem_optimize_flags mem_optimization,
			u64 *preferred_length, u64 *preferred_alignment)
{
	u64 most;

	if (!ia || !length || !preferred_length || !preferred_alignment)
		return -EINVAL;
	switch (mem_optimization) {
	case DAT_MEM_OPTIMIZE_DONT_CARE:
	case DAT_MEM_OPTIMIZE_IA:
	case DAT_MEM_OPTIMIZE_MIN_EXPOSURE:
	case DAT_MEM_OPTIMIZE_EXACT_EXPOSURE:
		break;
	default:
		return -EINVAL;
	}

	most = kdapl_lmr_max_bytes(&ia->dev_attr);
	switch (mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_PHYSICAL:
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
	case DAT_MEM_TYPE_PLATFORM:
	case DAT_MEM_TYPE_IA:
		*preferred_length = most ? min(length, most) : length;
		*preferred_alignment = PAGE_SIZE;
		return 0;
	case DAT_MEM_TYPE_BYPASS:
		*preferred_length = length;
		*preferred_alignment = 1;
		return 0;
	default:
		return -EINVAL;
	}
}
EXPORT_SYMBOL_GPL(dat_ia_memtype_hint);

/* An LMR without PZ: each post takes the key from the PZ of its EP. */
static struct dat_lmr *lmr_new_reserved(struct dat_ia *ia)
{
	struct dat_lmr *lmr;

	lmr = kdapl_fault_zalloc(sizeof(*lmr));
	if (!lmr)
		return NULL;
	kdapl_obj_init(&lmr->obj, ia, DAT_HANDLE_TYPE_LMR, kdapl_lmr_release);
	INIT_LIST_HEAD(&lmr->deferred);
	lmr->priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	lmr->deny = ~lmr->priv;
	lmr->length = U64_MAX;
	lmr->mem_type = DAT_MEM_TYPE_BYPASS;
	lmr->scope = DAT_LMR_SCOPE_PZ;
	return lmr;
}

/**
 * dat_ia_reserved_lmr - the LMR that names all memory
 * @ia: the IA
 * @lmr: OUT: the LMR, one for each IA; it cannot be freed, registered into or
 *	bound, and ends with the IA
 * @lmr_context: OUT: for local segments of EPs of any PZ, whose addresses are DMA
 *	addresses for the adapter; nothing is checked
 *
 * It serves sends, receives and RDMA writes, and RDMA reads but on iWARP, where
 * those need registered memory. Origin: kDAPL 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL; -ENOMEM; -ENODEV: the device is gone.
 */
int dat_ia_reserved_lmr(struct dat_ia *ia, struct dat_lmr **lmr,
			u32 *lmr_context)
{
	struct dat_lmr *new;
	int ret;

	might_sleep();

	if (!ia || !lmr || !lmr_context)
		return -EINVAL;
	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;

	mutex_lock(&ia->reserved_mutex);
	if (!ia->reserved_lmr) {
		ret = -ENOMEM;
		new = lmr_new_reserved(ia);
		if (!new)
			goto out_unlock;
		ret = kdapl_lmr_index_get(new);
		if (ret) {
			kdapl_obj_put(&new->obj);
			goto out_unlock;
		}
		kdapl_lmr_index_show(new, new);
		ia->reserved_lmr = new;
	}
	*lmr = ia->reserved_lmr;
	*lmr_context = ia->reserved_lmr->context;
out_unlock:
	mutex_unlock(&ia->reserved_mutex);
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_reserved_lmr);

void kdapl_lmr_put_reserved(struct dat_ia *ia)
{
	struct dat_lmr *lmr = ia->reserved_lmr;

	if (!lmr)
		return;
	ia->reserved_lmr = NULL;
	kdapl_lmr_index_put(lmr);
	kdapl_obj_put(&lmr->obj);
}
