// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: local memory regions
 *
 * Locally an LMR is named by its lmr_context, an index into a table that posts
 * look into under RCU. Memory whose DMA addresses are contiguous goes to the
 * device under local_dma_lkey, so that local use needs no registration at all;
 * privileges and bounds are checked here, at every post. Other memory is made
 * contiguous by an MR, or split at page ends where no MR is to be had.
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

#include <linux/delay.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <dat/kdat.h>

#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "kunit.h"
#include "pz.h"
#include "reg.h"
#include "trace.h"

enum {
	/* Registrations under way on one EP: the send slots kept for them. */
	LMR_REGS_PER_EP = 2,
	/* How often dat_lmr_kcreate() looks whether its EP is still there. */
	LMR_POLL_MS = 50,
	/* Entries of an IA's table to begin with. */
	LMR_TABLE_MIN = 64,
	/* The last byte of a context counts uses of its index. */
	LMR_INDEX_MAX = 0xffffff,
};

#define LMR_REMOTE	(DAT_MEM_PRIV_REMOTE_READ_FLAG | \
			 DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

static void lmr_free_rcu(struct rcu_head *rcu)
{
	struct dat_lmr *lmr = container_of(rcu, struct dat_lmr, rcu);

	kvfree(lmr->pages);
	kfree(lmr);
}

static void lmr_release(struct kdapl_obj *obj)
{
	struct dat_lmr *lmr = container_of(obj, struct dat_lmr, obj);

	call_rcu(&lmr->rcu, lmr_free_rcu);
}

/* Room for one more index. */
static int lmr_table_grow_locked(struct dat_ia *ia, u32 index)
{
	struct kdapl_lmr_table *old, *new;
	u32 size, i;

	old = rcu_dereference_protected(ia->lmr_table,
					lockdep_is_held(&ia->lmr_mutex));
	if (old && index < old->size)
		return 0;

	size = old ? 2 * old->size : LMR_TABLE_MIN;
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
static int lmr_context_get(struct dat_lmr *lmr)
{
	struct dat_ia *ia = lmr->obj.ia;
	int index, ret;

	mutex_lock(&ia->lmr_mutex);
	index = ida_alloc_range(&ia->lmr_ida, 1, LMR_INDEX_MAX, GFP_KERNEL);
	ret = index < 0 ? index : lmr_table_grow_locked(ia, index);
	if (!ret)
		lmr->context = index << 8 | ++ia->lmr_uses;
	else if (index >= 0)
		ida_free(&ia->lmr_ida, index);
	mutex_unlock(&ia->lmr_mutex);
	return ret;
}

static void lmr_show(struct dat_lmr *lmr, struct dat_lmr *entry)
{
	struct dat_ia *ia = lmr->obj.ia;
	struct kdapl_lmr_table *table;

	mutex_lock(&ia->lmr_mutex);
	table = rcu_dereference_protected(ia->lmr_table,
					  lockdep_is_held(&ia->lmr_mutex));
	rcu_assign_pointer(table->slot[lmr->context >> 8], entry);
	mutex_unlock(&ia->lmr_mutex);
}

/* Posts that have found it may go on until a grace period has passed. */
static void lmr_context_put(struct dat_lmr *lmr)
{
	if (!lmr->context)
		return;
	lmr_show(lmr, NULL);
	ida_free(&lmr->obj.ia->lmr_ida, lmr->context >> 8);
	lmr->context = 0;
}

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
static int lmr_build_sgl(struct dat_lmr *lmr, unsigned long start, u64 length)
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

static void lmr_unmap(struct dat_lmr *lmr)
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
		if (ia->iwarp && !(priv & LMR_REMOTE))
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

/* Kicks the EPs of a PZ that could carry a registration, or wait for one. */
static bool lmr_kick_eps(struct dat_pz *pz, bool connected)
{
	struct dat_ia *ia = pz->obj.ia;
	unsigned long flags;
	struct dat_ep *ep;
	bool found = false;

	spin_lock_irqsave(&ia->lock, flags);
	list_for_each_entry(ep, &ia->objs[DAT_HANDLE_TYPE_EP], obj.node) {
		if (READ_ONCE(ep->config.pz) != pz)
			continue;
		if (connected ?
		    READ_ONCE(ep->state) != DAT_EP_STATE_CONNECTED :
		    !READ_ONCE(ep->reg_wait))
			continue;
		kdapl_ep_kick(ep, KDAPL_EP_TODO_REG);
		found = true;
	}
	spin_unlock_irqrestore(&ia->lock, flags);
	return found;
}

static enum kdapl_lmr_state lmr_state(struct dat_lmr *lmr)
{
	unsigned long flags;
	enum kdapl_lmr_state state;

	spin_lock_irqsave(&lmr->pz->lmr_lock, flags);
	state = lmr->state;
	spin_unlock_irqrestore(&lmr->pz->lmr_lock, flags);
	return state;
}

static bool lmr_settled(struct dat_lmr *lmr)
{
	enum kdapl_lmr_state state = lmr_state(lmr);

	return state == KDAPL_LMR_READY || state == KDAPL_LMR_FAILED;
}

/*
 * Hands the registration to the EPs. If one is connected, its peer could use
 * the key as soon as it is told: wait until the device has it.
 */
static int lmr_defer(struct dat_lmr *lmr)
{
	struct dat_pz *pz = lmr->pz;

	spin_lock_irq(&pz->lmr_lock);
	lmr->state = KDAPL_LMR_DEFERRED;
	list_add_tail(&lmr->deferred, &pz->deferred);
	spin_unlock_irq(&pz->lmr_lock);

	while (!lmr_settled(lmr)) {
		if (kdapl_ia_removing(pz->obj.ia))
			return -ENODEV;
		if (lmr_state(lmr) == KDAPL_LMR_DEFERRED &&
		    !lmr_kick_eps(pz, true))
			return 0;
		wait_event_timeout(pz->lmr_wait, lmr_settled(lmr),
				   msecs_to_jiffies(LMR_POLL_MS));
	}
	return lmr_state(lmr) == KDAPL_LMR_READY ? 0 : -EIO;
}

/*
 * Off the list, and no registration under way. Outside of the gate: the EP that
 * carries one reports it at the latest when removal destroys its QP.
 */
static void lmr_undefer(struct dat_lmr *lmr)
{
	struct dat_pz *pz = lmr->pz;

	spin_lock_irq(&pz->lmr_lock);
	list_del_init(&lmr->deferred);
	if (lmr->state == KDAPL_LMR_DEFERRED)
		lmr->state = KDAPL_LMR_FAILED;
	spin_unlock_irq(&pz->lmr_lock);
	wait_event(pz->lmr_wait, lmr_state(lmr) != KDAPL_LMR_POSTED);
}

/* The next LMR for @ep to register, if there is one and a slot is free. */
static struct dat_lmr *lmr_next_deferred(struct dat_pz *pz, struct dat_ep *ep,
					 unsigned int *under_way, bool *done)
{
	struct dat_lmr *lmr, *next = NULL;

	*under_way = 0;
	spin_lock_irq(&pz->lmr_lock);
	*done = list_empty(&pz->deferred);
	list_for_each_entry(lmr, &pz->deferred, deferred) {
		if (lmr->state == KDAPL_LMR_POSTED && lmr->carrier == ep)
			(*under_way)++;
		else if (lmr->state == KDAPL_LMR_DEFERRED && !next)
			next = lmr;
	}
	if (next && *under_way < LMR_REGS_PER_EP) {
		next->state = KDAPL_LMR_POSTED;
		next->carrier = ep;
		kdapl_obj_get(&next->obj);
	} else {
		next = NULL;
	}
	spin_unlock_irq(&pz->lmr_lock);
	return next;
}

bool kdapl_lmr_register_deferred(struct dat_ep *ep)
{
	unsigned long end = jiffies + msecs_to_jiffies(LMR_POLL_MS);
	struct dat_pz *pz = ep->config.pz;
	unsigned int under_way;
	struct dat_lmr *lmr;
	bool done;

	for (;;) {
		lmr = lmr_next_deferred(pz, ep, &under_way, &done);
		if (!lmr) {
			/* What another EP carries, that one waits for. */
			if (done || !under_way)
				return done;
			/*
			 * A consumer need not look at its EVD before it is told
			 * of the connection, so the completions are ours to
			 * fetch. They are a matter of microseconds.
			 */
			kdapl_cq_drain(ep->req.evd);
			if (time_after(jiffies, end)) {
				kdapl_ep_kick(ep, KDAPL_EP_TODO_REG);
				return false;
			}
			usleep_range(20, 100);
			continue;
		}
		if (!kdapl_dto_post_reg(&ep->req, lmr, lmr->mr->rkey,
					lmr->access))
			continue;

		/* The QP is going: its close wakes whoever waits. */
		spin_lock_irq(&pz->lmr_lock);
		lmr->state = list_empty(&lmr->deferred) ?
			     KDAPL_LMR_FAILED : KDAPL_LMR_DEFERRED;
		lmr->carrier = NULL;
		spin_unlock_irq(&pz->lmr_lock);
		wake_up_all(&pz->lmr_wait);
		kdapl_obj_put(&lmr->obj);
		return false;
	}
}

void kdapl_lmr_reg_done_locked(struct kdapl_wr *wr, enum ib_wc_status status)
{
	struct dat_lmr *lmr = wr->cookie.as_ptr;
	struct dat_pz *pz = lmr->pz;

	trace_kdapl_reg(lmr->obj.id, wr->queue->ep->obj.id, lmr->rkey, status);

	/* Interrupts are off: the EVD lock is held. */
	spin_lock(&pz->lmr_lock);
	lmr->carrier = NULL;
	if (status == IB_WC_SUCCESS) {
		lmr->state = KDAPL_LMR_READY;
		list_del_init(&lmr->deferred);
	} else if (status == IB_WC_WR_FLUSH_ERR &&
		   !list_empty(&lmr->deferred)) {
		/* Never executed: the same key serves on the next EP. */
		lmr->state = KDAPL_LMR_DEFERRED;
	} else {
		lmr->state = KDAPL_LMR_FAILED;
		list_del_init(&lmr->deferred);
	}
	/* Under the lock: whoever waits may free the LMR, and then the PZ. */
	wake_up_all(&pz->lmr_wait);
	spin_unlock(&pz->lmr_lock);

	/* Its send slot is free for the next one. */
	kdapl_ep_kick(wr->queue->ep, KDAPL_EP_TODO_REG);
	lmr_kick_eps(pz, false);
	kdapl_obj_put(&lmr->obj);
}

/* Which way local and remote use of the mapped memory go. */
static int lmr_register(struct dat_lmr *lmr, u64 npages)
{
	struct dat_ia *ia = lmr->obj.ia;
	bool remote = lmr->priv & LMR_REMOTE;
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
		return lmr_defer(lmr);

	ret = kdapl_reg_mr(lmr->pz, lmr->mr, lmr->mr->rkey, lmr->access);
	trace_kdapl_reg(lmr->obj.id, lmr->pz->obj.id, lmr->mr->rkey, ret);
	return ret;
}

void kdapl_lmr_remove_device(struct dat_lmr *lmr)
{
	struct ib_mr *mr = lmr->mr;

	lmr->mr = NULL;
	/* In this order: nothing reaches memory that is not mapped any more. */
	if (mr)
		WARN_ON_ONCE(ib_dereg_mr(mr));
	lmr_unmap(lmr);
}

static int lmr_check_args(enum dat_mem_type mem_type,
			  union dat_region_description region, u64 length,
			  enum dat_mem_priv_flags privileges,
			  enum dat_va_type va_type,
			  enum dat_mem_optimize_flags mem_optimization)
{
	switch (mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		break;
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_PHYSICAL:
	case DAT_MEM_TYPE_PLATFORM:
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
	if (privileges & ~DAT_MEM_PRIV_ALL_FLAG)
		return -EINVAL;
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
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
	if (!region.for_va || !length ||
	    length > ULONG_MAX - (unsigned long)region.for_va)
		return -EINVAL;
	return 0;
}

/**
 * dat_lmr_kcreate - register memory
 * @ia: the IA
 * @mem_type: %DAT_MEM_TYPE_VIRTUAL
 * @region: for_va: kernel memory from kmalloc(), the page allocator or
 *	vmalloc(), which stays allocated until dat_lmr_free()
 * @length: of it, in bytes
 * @pz: protection zone; EPs of others cannot use it
 * @privileges: what may be done with it
 * @va_type: whether triplets hold addresses or offsets
 * @mem_optimization: any; the registration is byte-exact
 * @lmr: OUT: the LMR
 * @lmr_context: OUT: for local segments
 * @rmr_context: OUT: for the peer, 0 without a remote privilege
 * @registered_length: OUT: @length
 * @registered_address: OUT: the address of the first byte, 0 for
 *	%DAT_VA_TYPE_ZB
 *
 * The call returns when the memory can be used. On iWARP without a connected EP
 * in @pz the keys are known at once, and good as soon as an EP is connected.
 * Remote write access makes the adapter need local write access; kdapl itself
 * still refuses local writes that @privileges do not allow. Origin: kDAPL 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, an unknown value, an empty region, or memory that
 * cannot be registered (stack, module data, short-lived mappings); -EOPNOTSUPP:
 * another memory type, remote access without fast registration in the device, or
 * remote offsets into memory that does not start at a page where the device
 * needs that; -EMSGSIZE: more pages than one registration of the device holds
 * (remote access only); -ENOMEM; -EIO: the device refused; -ENODEV: the device
 * is gone; else the errno of the provider.
 */
int dat_lmr_kcreate(struct dat_ia *ia, enum dat_mem_type mem_type,
		    union dat_region_description region, u64 length,
		    struct dat_pz *pz, enum dat_mem_priv_flags privileges,
		    enum dat_va_type va_type,
		    enum dat_mem_optimize_flags mem_optimization,
		    struct dat_lmr **lmr, u32 *lmr_context, u32 *rmr_context,
		    u64 *registered_length, u64 *registered_address)
{
	unsigned long start = (unsigned long)region.for_va;
	struct dat_lmr *new;
	int ret;

	might_sleep();

	if (!ia || !pz || !lmr || !lmr_context || !rmr_context ||
	    !registered_length || !registered_address)
		return -EINVAL;
	ret = lmr_check_args(mem_type, region, length, privileges, va_type,
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
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		goto out_put_pz;
	kdapl_obj_init(&new->obj, ia, DAT_HANDLE_TYPE_LMR, lmr_release);
	INIT_LIST_HEAD(&new->deferred);
	new->pz = pz;
	new->priv = privileges;
	new->va = va_type == DAT_VA_TYPE_ZB ? 0 : start;
	new->length = length;
	new->mem_type = mem_type;
	new->va_type = va_type;
	new->region = region;

	ret = lmr_build_sgl(new, start, length);
	if (ret)
		goto out_put;
	ret = -ENOMEM;
	new->mapped = ib_dma_map_sg(ia->ibdev, new->sgl, new->nents,
				    DMA_BIDIRECTIONAL);
	if (!new->mapped)
		goto out_undo;

	ret = lmr_context_get(new);
	if (ret)
		goto out_undo;

	ret = lmr_register(new, DIV_ROUND_UP_ULL(offset_in_page(start) + length,
						 PAGE_SIZE));
	if (ret)
		goto out_undo;

	new->deny = (DAT_MEM_PRIV_ALL_FLAG & ~new->priv) | KDAPL_LMR_NEED_MR |
		    (new->pages ? KDAPL_LMR_NEED_ONE : 0);
	lmr_show(new, new);
	kdapl_obj_link(&new->obj);
	*lmr = new;
	*lmr_context = new->context;
	*rmr_context = new->rkey;
	*registered_length = new->length;
	*registered_address = new->va;
	kdapl_ia_leave(ia);
	return 0;

out_undo:
	if (!list_empty(&new->deferred) || lmr_state(new) == KDAPL_LMR_POSTED) {
		/*
		 * Removal has begun, and the EP that carries the registration
		 * reports it only when the gate is free.
		 */
		kdapl_obj_link(&new->obj);
		kdapl_ia_leave(ia);
		kdapl_lmr_destroy(new);
		return ret;
	}
	lmr_context_put(new);
	kdapl_lmr_remove_device(new);
out_put:
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
		param->lmr_state.fmr_support = false;
		param->lmr_state.bound = true;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(dat_lmr_query);

void kdapl_lmr_destroy(struct dat_lmr *lmr)
{
	struct dat_ia *ia = lmr->obj.ia;

	lmr_context_put(lmr);
	lmr_undefer(lmr);
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
 * tries breaks its connection. Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: 0, or -EINVAL: NULL.
 */
int dat_lmr_free(struct dat_lmr *lmr)
{
	might_sleep();

	if (!lmr)
		return -EINVAL;
	kdapl_lmr_destroy(lmr);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_lmr_free);

/* One entry a page; the rest of a segment that spans more of them. */
static noinline int lmr_split(const struct dat_lmr *lmr, u64 off, u32 len,
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

int kdapl_lmr_build_sge(struct dat_ep *ep, const struct dat_lmr_triplet *iov,
			int num, u32 need, struct ib_sge *sge, int max_sge,
			u32 *total)
{
	const struct dat_ia *ia = ep->obj.ia;
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
		if (unlikely(lmr->pz != ep->config.pz))
			return -EPERM;
		if (unlikely(need & DAT_MEM_PRIV_ALL_FLAG & ~lmr->priv))
			return -EACCES;

		sum += len;
		if (!(need & KDAPL_LMR_NEED_MR) && lmr->pages) {
			n = lmr_split(lmr, off, len, sge, n, max_sge);
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
			sge[n].lkey = lmr->lkey;
		}
		sge[n].length = len;
		n++;
	}

	if (unlikely(sum > U32_MAX))
		return -EMSGSIZE;
	*total = sum;
	return n;
}

KDAPL_EXPORT_FOR_TEST(kdapl_lmr_build_sge);
