// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the index of an IA's LMRs, and what posts find in it
 *
 * An lmr_context is an index into a table and a count of its uses, so that a
 * context which was given back is found out for a while. Posts look entries up
 * under RCU, with no lock of the IA; the table grows by copying.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ep.h"
#include "ia.h"
#include "kunit.h"
#include "lmr.h"
#include "pz.h"

enum {
	/* Entries of an IA's table to begin with. */
	INDEX_MIN = 64,
	/* The last byte of a context counts uses of its index. */
	INDEX_MAX = 0xffffff,
};

/* Room for one more index. */
static int index_grow_locked(struct dat_ia *ia, u32 index)
{
	struct kdapl_lmr_table *old, *new;
	u32 size, i;

	old = rcu_dereference_protected(ia->lmr_table,
					lockdep_is_held(&ia->lmr_mutex));
	if (old && index < old->size)
		return 0;

	size = old ? 2 * old->size : INDEX_MIN;
	new = kvzalloc(struct_size(new, slot, size), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->size = size;
	for (i = 0; old && i < old->size; i++)
		RCU_INIT_POINTER(new->slot[i],
				 rcu_access_pointer(old->slot[i]));
	rcu_assign_pointer(ia->lmr_table, new);
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

/* A context for an LMR that nobody can find yet. */
int kdapl_lmr_index_get(struct dat_lmr *lmr)
{
	struct dat_ia *ia = lmr->obj.ia;
	int index, ret;

	mutex_lock(&ia->lmr_mutex);
	index = ida_alloc_range(&ia->lmr_ida, 1, INDEX_MAX, GFP_KERNEL);
	ret = index < 0 ? index : index_grow_locked(ia, index);
	if (!ret)
		lmr->context = index << 8 | ++ia->lmr_uses;
	else if (index >= 0)
		ida_free(&ia->lmr_ida, index);
	mutex_unlock(&ia->lmr_mutex);
	return ret;
}

void kdapl_lmr_index_show(struct dat_lmr *lmr, struct dat_lmr *entry)
{
	struct dat_ia *ia = lmr->obj.ia;
	struct kdapl_lmr_table *table;

	mutex_lock(&ia->lmr_mutex);
	table = rcu_dereference_protected(ia->lmr_table,
					  lockdep_is_held(&ia->lmr_mutex));
	rcu_assign_pointer(table->slot[lmr->context >> 8], entry);
	/* Whoever looks the entry up after this finds the new one. */
	smp_store_release(&ia->lmr_generation, ia->lmr_generation + 1);
	mutex_unlock(&ia->lmr_mutex);
}

/* Posts that have found it may go on until a grace period has passed. */
void kdapl_lmr_index_put(struct dat_lmr *lmr)
{
	if (!lmr->context)
		return;
	kdapl_lmr_index_show(lmr, NULL);
	ida_free(&lmr->obj.ia->lmr_ida, lmr->context >> 8);
	lmr->context = 0;
}

bool kdapl_lmr_open_window(struct dat_ep *ep,
			   const struct dat_lmr_triplet *iov, u32 need)
{
	struct kdapl_queue *queue = need == DAT_MEM_PRIV_LOCAL_WRITE_FLAG ?
				    &ep->recv : &ep->req;
	struct kdapl_window *window = &queue->window;
	struct dat_ia *ia = ep->obj.ia;
	const struct dat_lmr *lmr;
	u32 generation;

	lockdep_assert_held(&queue->post_lock);

	window->length = 0;
	/* Pairs with the release behind a change of the table. */
	generation = smp_load_acquire(&ia->lmr_generation);
	lmr = kdapl_lmr_build_one(ep, iov, need, &queue->sge_one);
	if (!lmr)
		return false;
	/* What dat_lmr_fmr() registers changes without a new generation. */
	if (lmr->fr)
		return true;
	window->context = iov->lmr_context;
	window->generation = generation;
	window->va = lmr->va;
	window->length = lmr->length;
	window->offset = lmr->base - lmr->va;
	return true;
}

/* One entry a page; the rest of a segment that spans more of them. */
static noinline int index_split(const struct dat_lmr *lmr, u64 off, u32 len,
				struct ib_sge *sge, int n, int max_sge)
{
	u64 pos = lmr->page_offset + off;

	while (len) {
		u32 in_page = offset_in_page(pos);
		u32 part = min_t(u32, len, PAGE_SIZE - in_page);

		if (n == max_sge)
			return -EMSGSIZE;
		sge[n].addr = lmr->pages[pos >> PAGE_SHIFT] + in_page;
		sge[n].length = part;
		sge[n].lkey = lmr->lkey;
		n++;
		pos += part;
		len -= part;
	}
	return n;
}

int kdapl_lmr_index_sge(const struct dat_ia *ia, const struct dat_pz *pz,
			const struct dat_ep *ep,
			const struct dat_lmr_triplet *iov, int num, u32 need,
			struct ib_sge *sge, int max_sge, u32 *total)
{
	const struct dat_lmr *lmr;
	u64 sum = 0, off;
	int i, n = 0;
	u32 len;

	for (i = 0; i < num; i++, iov++) {
		len = iov->segment_length;
		if (unlikely(!len))
			continue;

		lmr = kdapl_lmr_find(ia, iov->lmr_context);
		if (unlikely(!lmr || lmr->context != iov->lmr_context))
			return -EINVAL;
		off = iov->virtual_address - lmr->va;
		if (unlikely(off > lmr->length || len > lmr->length - off))
			return -EINVAL;
		if (unlikely(lmr->pz != pz && lmr->pz))
			return -EPERM;
		if (unlikely(lmr->scope == DAT_LMR_SCOPE_EP && lmr->fr->ep != ep))
			return -EPERM;
		if (unlikely(need & DAT_MEM_PRIV_ALL_FLAG & ~lmr->priv))
			return -EACCES;

		sum += len;
		if (!(need & KDAPL_LMR_NEED_MR) && lmr->pages) {
			n = index_split(lmr, off, len, sge, n, max_sge);
			if (n < 0)
				return n;
			continue;
		}
		if (unlikely(n == max_sge))
			return -EMSGSIZE;
		if (need & KDAPL_LMR_NEED_MR) {
			/* Too big for one, or the peer could write there. */
			if (!lmr->mr_lkey)
				return -EACCES;
			sge[n].addr = iov->virtual_address;
			sge[n].lkey = lmr->mr_lkey;
		} else {
			sge[n].addr = lmr->base + off;
			sge[n].lkey = lmr->pz ? lmr->lkey :
				      pz->pd->local_dma_lkey;
		}
		sge[n].length = len;
		n++;
	}

	if (unlikely(sum > U32_MAX))
		return -EMSGSIZE;
	*total = sum;
	return n;
}

KDAPL_EXPORT_FOR_TEST(kdapl_lmr_index_sge);
