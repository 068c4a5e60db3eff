// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the size of an EVD, who may use it, and kdapl's own settings
 */
#include <linux/log2.h>
#include <linux/nodemask.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "evd.h"
#include "fence.h"
#include "ia.h"
#include "kunit.h"
#include "upcall.h"

/**
 * kdapl_evd_get_feeder - become one of those that post to an EVD
 * @evd: the EVD, not NULL
 * @ia: the caller's IA
 * @streams: what it will post
 *
 * The EVD cannot be freed until kdapl_evd_put_feeder().
 *
 * Context: any.
 * Return: 0, or -EINVAL: freed, another IA's, or it lacks a stream.
 */
int kdapl_evd_get_feeder(struct dat_evd *evd, struct dat_ia *ia,
			 enum dat_evd_flags streams)
{
	unsigned long flags;
	int ret = -EINVAL;

	if (evd->obj.ia != ia || (evd->flags & streams) != streams)
		return -EINVAL;

	spin_lock_irqsave(&evd->lock, flags);
	if (!evd->freed) {
		evd->feeders++;
		evd->used = true;
		ret = 0;
	}
	spin_unlock_irqrestore(&evd->lock, flags);
	return ret;
}

KDAPL_EXPORT_FOR_TEST(kdapl_evd_get_feeder);

void kdapl_evd_put_feeder(struct dat_evd *evd)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	WARN_ON_ONCE(!evd->feeders--);
	spin_unlock_irqrestore(&evd->lock, flags);
}

KDAPL_EXPORT_FOR_TEST(kdapl_evd_put_feeder);

/**
 * kdapl_evd_reserve - reserve ring slots and CQ entries for a queue of an EP
 * @evd: the EVD, which the EP feeds
 * @slots: requests that may be posted, or their events queued, at once
 * @cqes: completions that may wait at once: @slots and the internal ones
 *
 * Context: any.
 * Return: 0, or -ENOSPC with a message that says what there is.
 */
int kdapl_evd_reserve(struct dat_evd *evd, u32 slots, u32 cqes)
{
	u32 slots_left, cqes_left;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	slots_left = evd->qlen - evd->reserved - evd->unreserved;
	cqes_left = evd->cq_size - evd->cq_reserved;
	if (slots <= slots_left && cqes <= cqes_left) {
		evd->reserved += slots;
		evd->cq_reserved += cqes;
		spin_unlock_irqrestore(&evd->lock, flags);
		return 0;
	}
	spin_unlock_irqrestore(&evd->lock, flags);

	pr_warn_ratelimited("%s: evd %u: %u of %u events and %u of %u completions unreserved, need %u and %u: make it larger\n",
			    evd->obj.ia->name, evd->obj.id, slots_left,
			    evd->qlen, cqes_left, evd->cq_size, slots, cqes);
	return -ENOSPC;
}

KDAPL_EXPORT_FOR_TEST(kdapl_evd_reserve);

void kdapl_evd_unreserve(struct dat_evd *evd, u32 slots, u32 cqes)
{
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	evd->reserved -= slots;
	evd->cq_reserved -= cqes;
	spin_unlock_irqrestore(&evd->lock, flags);
}

KDAPL_EXPORT_FOR_TEST(kdapl_evd_unreserve);

/*
 * Puts a new CQ in the place of the old one, which no EP uses. An armed EVD
 * stays armed: on the new CQ, before anybody can use that.
 */
static int evd_replace_cq(struct dat_evd *evd, u32 cqe)
{
	struct ib_cq *new, *old;
	int ret;

	ret = kdapl_cq_create(evd, cqe, &new);
	if (ret)
		return ret;

	spin_lock_irq(&evd->lock);
	if (evd->cq_reserved) {
		/* An EP was faster. */
		spin_unlock_irq(&evd->lock);
		ib_destroy_cq(new);
		return -EOPNOTSUPP;
	}
	old = evd->cq;
	evd->cq = new;
	ret = 0;
	if (evd->armed)
		ret = ib_req_notify_cq(new, IB_CQ_NEXT_COMP);
	if (ret < 0)
		swap(evd->cq, old);
	evd->cq_size = evd->cq->cqe;
	spin_unlock_irq(&evd->lock);

	/* An EP that used it may have left a tasklet of the provider's. */
	kdapl_fence_tasklets();
	ib_destroy_cq(ret < 0 ? new : old);
	return min(ret, 0);
}

static int evd_resize(struct dat_evd *evd, u32 qlen)
{
	bool in_use, grow;
	int ret;

	spin_lock_irq(&evd->lock);
	in_use = evd->cq_reserved;
	grow = evd->cq && qlen > evd->cq_size;
	spin_unlock_irq(&evd->lock);

	if (grow) {
		/* No kernel call resizes a CQ any more. */
		if (in_use)
			return -EOPNOTSUPP;
		ret = evd_replace_cq(evd, kdapl_evd_cqe(qlen));
		if (ret)
			return ret;
	}
	return kdapl_ring_resize(evd, qlen);
}

/**
 * dat_evd_resize - change the queue length of an EVD
 * @evd: the EVD
 * @evd_min_qlen: events that must fit, at least 1
 *
 * No event is lost, whatever happens. Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL or a length below 1; -EBUSY: what is queued or
 * reserved does not fit; -EOPNOTSUPP: an EP uses the CQ, which cannot take so
 * many; -ENOMEM; -ENODEV: the device is gone; else the errno of the provider.
 * On any error the EVD is as it was.
 */
int dat_evd_resize(struct dat_evd *evd, int evd_min_qlen)
{
	struct dat_ia *ia;
	int ret;

	might_sleep();

	if (!evd || evd_min_qlen < 1)
		return -EINVAL;
	ia = evd->obj.ia;
	if (evd_min_qlen > ia->dev_attr.max_cqe)
		return -ENOMEM;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	ret = evd_resize(evd, roundup_pow_of_two(evd_min_qlen));
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_resize);

static int evd_check_attr(struct dat_ia *ia, enum dat_evd_attr_mask mask,
			  const struct dat_evd_attr *attr)
{
	if (mask & DAT_EVD_ATTR_COMP_VECTOR &&
	    attr->comp_vector >= max(ia->ibdev->num_comp_vectors, 1))
		return -EINVAL;
	if (mask & DAT_EVD_ATTR_NUMA_NODE && attr->numa_node != NUMA_NO_NODE &&
	    (attr->numa_node < 0 || attr->numa_node >= MAX_NUMNODES ||
	     !node_online(attr->numa_node)))
		return -EINVAL;
	if (mask & DAT_EVD_ATTR_BUDGET &&
	    (attr->budget < 1 || attr->budget > KDAPL_EVD_BUDGET))
		return -EINVAL;
	return 0;
}

static int evd_set_attr(struct dat_evd *evd, enum dat_evd_attr_mask mask,
			const struct dat_evd_attr *attr)
{
	unsigned int comp_vector = evd->comp_vector;
	int numa_node = evd->numa_node;
	int ret;

	ret = evd_check_attr(evd->obj.ia, mask, attr);
	if (ret)
		return ret;
	if (READ_ONCE(evd->used))
		return -EBUSY;
	if (mask & (DAT_EVD_ATTR_COMP_VECTOR | DAT_EVD_ATTR_MODERATION) &&
	    !evd->cq)
		return -EOPNOTSUPP;

	/* The one step without an undo comes first. */
	if (mask & DAT_EVD_ATTR_MODERATION) {
		ret = rdma_set_cq_moderation(evd->cq, attr->mod_count,
					     attr->mod_period);
		if (ret)
			return ret;
	}
	/* A ring on another node than is said does no harm; a CQ elsewhere does. */
	if (mask & DAT_EVD_ATTR_NUMA_NODE) {
		evd->numa_node = attr->numa_node;
		ret = kdapl_ring_resize(evd, evd->qlen);
		if (ret)
			goto out_restore;
	}
	if (mask & DAT_EVD_ATTR_COMP_VECTOR) {
		evd->comp_vector = attr->comp_vector;
		ret = evd_replace_cq(evd, evd->cq_size);
		if (ret)
			goto out_restore;
		if (mask & DAT_EVD_ATTR_MODERATION)
			rdma_set_cq_moderation(evd->cq, attr->mod_count,
					       attr->mod_period);
	}
	if (mask & DAT_EVD_ATTR_BUDGET)
		WRITE_ONCE(evd->budget, attr->budget);
	return 0;

out_restore:
	evd->comp_vector = comp_vector;
	evd->numa_node = numa_node;
	return ret;
}

/**
 * dat_evd_set_attr - kdapl's own settings of an EVD, before its first use
 * @evd: the EVD, which nobody feeds yet and no event has entered
 * @mask: the members of @attr to look at
 * @attr: the settings
 *
 * kdapl's addition.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL, unknown mask bits, no such vector or node, or a
 * budget outside 1 to 64; -EBUSY: it was used; -EOPNOTSUPP: no CQ, or one
 * without moderation; -ENOMEM; -ENODEV: the device is gone; else the errno of
 * the provider.
 */
int dat_evd_set_attr(struct dat_evd *evd, enum dat_evd_attr_mask mask,
		     const struct dat_evd_attr *attr)
{
	int ret;

	might_sleep();

	if (!evd || !attr || mask & ~DAT_EVD_ATTR_ALL)
		return -EINVAL;

	ret = kdapl_ia_enter(evd->obj.ia);
	if (ret)
		return ret;
	ret = evd_set_attr(evd, mask, attr);
	kdapl_ia_leave(evd->obj.ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_evd_set_attr);
