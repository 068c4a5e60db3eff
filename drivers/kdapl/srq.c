// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: shared receive queues, the consumer's calls
 *
 * What a buffer does between its post and its event is in srq_cq.c.
 */
#include "srq.h"

#include <linux/export.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "evd.h"
#include "fault.h"
#include "ia.h"
#include "lmr.h"
#include "pz.h"
#include "trace.h"

static void srq_release(struct kdapl_obj *obj)
{
	struct dat_srq *srq = container_of(obj, struct dat_srq, obj);
	struct kdapl_srq_chunk *chunk;

	while ((chunk = srq->chunks)) {
		srq->chunks = chunk->next;
		kvfree(chunk);
	}
	kdapl_obj_put(&srq->pz->obj);
	kfree(srq);
}

static struct kdapl_srq_chunk *srq_chunk_alloc(struct dat_srq *srq, u32 n)
{
	struct kdapl_srq_chunk *chunk;
	u32 i;

	chunk = kvzalloc(struct_size(chunk, wr, n), GFP_KERNEL);
	if (!chunk)
		return NULL;
	for (i = 0; i < n; i++) {
		chunk->wr[i].wr.queue = &srq->nobody;
		chunk->wr[i].wr.op = DAT_DTO_RECEIVE;
		chunk->wr[i].wr.flags = KDAPL_WR_SRQ;
		chunk->wr[i].srq = srq;
		if (i + 1 < n)
			chunk->wr[i].next = &chunk->wr[i + 1];
	}
	return chunk;
}

/* The contexts become free ones, and the SRQ that much deeper. */
static void srq_chunk_add(struct dat_srq *srq, struct kdapl_srq_chunk *chunk,
			  u32 n)
{
	chunk->next = srq->chunks;
	srq->chunks = chunk;
	spin_lock_irq(&srq->lock);
	chunk->wr[n - 1].next = srq->free;
	srq->free = &chunk->wr[0];
	spin_unlock_irq(&srq->lock);
	WRITE_ONCE(srq->depth, srq->depth + n);
}

static int srq_attr_check(const struct dat_ia *ia,
			  const struct dat_srq_attr *attr)
{
	const struct ib_device_attr *dev = &ia->dev_attr;

	if (attr->max_recv_dtos < 1 ||
	    attr->max_recv_dtos > kdapl_srq_limit(dev) ||
	    attr->max_recv_iov < 0 ||
	    attr->max_recv_iov > min_t(int, dev->max_srq_sge,
				       KDAPL_QUEUE_MAX_SGE) ||
	    attr->low_watermark != DAT_SRQ_LW_DEFAULT)
		return -EINVAL;
	return 0;
}

static int srq_make(struct dat_srq *srq, const struct dat_srq_attr *attr)
{
	const struct ib_device_attr *dev = &srq->obj.ia->dev_attr;
	struct ib_srq_init_attr init = {
		.event_handler = kdapl_srq_event,
		.srq_context = srq,
		.srq_type = IB_SRQT_BASIC,
		.attr.max_wr = attr->max_recv_dtos,
		/* Room for buffers in vmalloc memory, one entry a page. */
		.attr.max_sge = clamp(dev->max_srq_sge, 1,
				      (int)KDAPL_QUEUE_MAX_SGE),
	};
	struct ib_srq *new;

	new = ERR_PTR(kdapl_fault(KDAPL_FAULT_CREATE)) ?:
	      ib_create_srq(srq->pz->pd, &init);
	if (IS_ERR(new)) {
		init.attr.max_wr = attr->max_recv_dtos;
		init.attr.max_sge = max(attr->max_recv_iov, 1);
		new = ERR_PTR(kdapl_fault(KDAPL_FAULT_CREATE)) ?:
		      ib_create_srq(srq->pz->pd, &init);
	}
	if (IS_ERR(new))
		return PTR_ERR(new);
	srq->srq = new;
	srq->max_iov = attr->max_recv_iov;
	srq->max_sge = min_t(u32, init.attr.max_sge, KDAPL_QUEUE_MAX_SGE);
	return 0;
}

/**
 * dat_srq_create - create a shared receive queue
 * @ia: the IA
 * @pz: the protection zone of its buffers and of the EPs that will use it
 * @attr: max_recv_dtos buffers of at most max_recv_iov segments; low_watermark
 *	must be %DAT_SRQ_LW_DEFAULT
 * @srq: OUT: the SRQ
 *
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, a PZ of another IA, attributes beyond the device's
 * limits; -EOPNOTSUPP: the device has no SRQs; -ENOMEM; -ENODEV: the device is
 * gone; else the errno of the provider.
 */
int dat_srq_create(struct dat_ia *ia, struct dat_pz *pz,
		   const struct dat_srq_attr *attr, struct dat_srq **srq)
{
	struct kdapl_srq_chunk *chunk;
	struct dat_srq *new;
	int ret;

	might_sleep();

	if (!ia || !pz || !attr || !srq)
		return -EINVAL;
	if (!ia->dev_attr.max_srq)
		return -EOPNOTSUPP;
	ret = srq_attr_check(ia, attr);
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
	kdapl_obj_init(&new->obj, ia, DAT_HANDLE_TYPE_SRQ, srq_release);
	mutex_init(&new->mutex);
	INIT_LIST_HEAD(&new->evds);
	spin_lock_init(&new->post_lock);
	spin_lock_init(&new->lock);
	hash_init(new->qps);
	kdapl_obj_get(&pz->obj);
	new->pz = pz;
	chunk = srq_chunk_alloc(new, attr->max_recv_dtos);
	if (!chunk)
		goto out_put;
	srq_chunk_add(new, chunk, attr->max_recv_dtos);
	ret = srq_make(new, attr);
	if (ret)
		goto out_put;

	kdapl_obj_link(&new->obj);
	*srq = new;
	kdapl_ia_leave(ia);
	return 0;

out_put:
	kdapl_obj_put(&new->obj);
out_put_pz:
	kdapl_pz_put_user(pz);
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_create);

/**
 * dat_srq_query - parameters of a shared receive queue at this moment
 * @srq: the SRQ
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0
 *
 * available_dto_count are the buffers that the provider has, as far as it has
 * told: one that a message is just filling is among them, and so is one that
 * was lost with a QP. outstanding_dto_count are those whose events were not
 * dequeued. Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_srq_query(struct dat_srq *srq, enum dat_srq_param_mask mask,
		  struct dat_srq_param *param)
{
	unsigned long flags;

	if (!srq || mask & ~DAT_SRQ_FIELD_ALL || (mask && !param))
		return -EINVAL;

	spin_lock_irqsave(&srq->lock, flags);
	if (mask & DAT_SRQ_FIELD_IA_HANDLE)
		param->ia_handle = srq->obj.ia;
	if (mask & DAT_SRQ_FIELD_SRQ_STATE)
		param->srq_state = srq->error ? DAT_SRQ_STATE_ERROR :
						DAT_SRQ_STATE_OPERATIONAL;
	if (mask & DAT_SRQ_FIELD_PZ_HANDLE)
		param->pz_handle = srq->pz;
	if (mask & DAT_SRQ_FIELD_MAX_RECV_DTO)
		param->max_recv_dtos = READ_ONCE(srq->depth);
	if (mask & DAT_SRQ_FIELD_MAX_RECV_IOV)
		param->max_recv_iov = srq->max_iov;
	if (mask & DAT_SRQ_FIELD_LOW_WATERMARK)
		param->low_watermark = srq->low_watermark;
	if (mask & DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT)
		param->available_dto_count = srq->posted;
	if (mask & DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT)
		param->outstanding_dto_count = atomic_read(&srq->used);
	spin_unlock_irqrestore(&srq->lock, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_srq_query);

/* More slots in each EVD, all of them or none. Under the mutex. */
static int srq_reserve_more(struct dat_srq *srq, u32 more)
{
	struct kdapl_srq_evd *use;
	int ret;

	list_for_each_entry(use, &srq->evds, node) {
		ret = kdapl_evd_reserve(use->evd, more, more);
		if (ret)
			goto out_unreserve;
	}
	return 0;

out_unreserve:
	list_for_each_entry_continue_reverse(use, &srq->evds, node)
		kdapl_evd_unreserve(use->evd, more, more);
	return ret;
}

static void srq_unreserve(struct dat_srq *srq, u32 more)
{
	struct kdapl_srq_evd *use;

	list_for_each_entry(use, &srq->evds, node)
		kdapl_evd_unreserve(use->evd, more, more);
}

/* Under the mutex, inside the gate. */
static int srq_grow(struct dat_srq *srq, u32 depth)
{
	struct ib_srq_attr attr = { .max_wr = depth };
	u32 more = depth - srq->depth;
	struct kdapl_srq_chunk *chunk;
	int ret;

	chunk = srq_chunk_alloc(srq, more);
	if (!chunk)
		return -ENOMEM;
	ret = srq_reserve_more(srq, more);
	if (ret)
		goto out_free;
	ret = ib_modify_srq(srq->srq, &attr, IB_SRQ_MAX_WR);
	if (ret)
		goto out_unreserve;
	srq_chunk_add(srq, chunk, more);
	return 0;

out_unreserve:
	srq_unreserve(srq, more);
out_free:
	kvfree(chunk);
	return ret;
}

/**
 * dat_srq_resize - change the number of buffers
 * @srq: the SRQ
 * @srq_max_recv_dto: buffers that must fit
 *
 * Less than there are now is allowed and changes nothing, as DAT lets it be.
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; else nothing has changed: -EINVAL: NULL, less than 1, or beyond the
 * device's limit; -EBUSY: less than there are outstanding, or not above the low
 * watermark; -ENOSPC: an EVD of its EPs is too small; -EOPNOTSUPP: the device
 * cannot make it larger; -ENOMEM; -ENODEV: the device is gone; else the errno of
 * the provider.
 */
int dat_srq_resize(struct dat_srq *srq, int srq_max_recv_dto)
{
	struct dat_ia *ia;
	int ret;

	might_sleep();

	if (!srq || srq_max_recv_dto < 1)
		return -EINVAL;
	ia = srq->obj.ia;
	if (srq_max_recv_dto > kdapl_srq_limit(&ia->dev_attr))
		return -EINVAL;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	mutex_lock(&srq->mutex);
	if (srq_max_recv_dto < atomic_read(&srq->used) ||
	    srq_max_recv_dto <= srq->low_watermark)
		ret = -EBUSY;
	else if (srq_max_recv_dto > srq->depth)
		ret = srq_grow(srq, srq_max_recv_dto);
	mutex_unlock(&srq->mutex);
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_resize);

static void srq_arm(struct dat_srq *srq, u32 low_watermark, bool armed)
{
	spin_lock_irq(&srq->lock);
	srq->low_watermark = low_watermark;
	srq->armed = armed;
	spin_unlock_irq(&srq->lock);
}

/*
 * A provider looks at the level when a message takes a buffer, so a level that
 * is low already would be reported with the next message at the earliest.
 */
static bool srq_low_already(struct dat_srq *srq)
{
	bool low;

	spin_lock_irq(&srq->lock);
	low = srq->armed && srq->posted < srq->low_watermark;
	if (low)
		srq->armed = false;
	spin_unlock_irq(&srq->lock);
	return low;
}

/**
 * dat_srq_set_lw - be told when buffers run short
 * @srq: the SRQ
 * @low_watermark: buffers; 0: not any more
 *
 * When fewer than that are available there is one event on the async EVD,
 * %DAT_ASYNC_ERROR_EP_BROKEN with the SRQ as its handle and
 * %DAT_SRQ_LOW_WATERMARK_EVENT as its reason, at once if they are few already.
 * The next one takes another call. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, negative, or more than max_recv_dtos; -ENODEV: the
 * device is gone; else the errno of the provider, with all as it was.
 */
int dat_srq_set_lw(struct dat_srq *srq, int low_watermark)
{
	struct ib_srq_attr attr = { .srq_limit = low_watermark };
	struct dat_ia *ia;
	bool was_armed;
	u32 was;
	int ret;

	might_sleep();

	if (!srq || low_watermark < 0)
		return -EINVAL;
	ia = srq->obj.ia;
	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	mutex_lock(&srq->mutex);
	ret = -EINVAL;
	if (low_watermark > srq->depth)
		goto out_unlock;

	was = srq->low_watermark;
	was_armed = srq->armed;
	/* The provider may report it before the verb returns. */
	srq_arm(srq, low_watermark, low_watermark);
	ret = ib_modify_srq(srq->srq, &attr, IB_SRQ_LIMIT);
	if (ret) {
		srq_arm(srq, was, was_armed);
		goto out_unlock;
	}
	if (srq_low_already(srq)) {
		/* Else the provider would report this one again. */
		attr.srq_limit = 0;
		ib_modify_srq(srq->srq, &attr, IB_SRQ_LIMIT);
		kdapl_srq_report_low(srq);
	}
out_unlock:
	mutex_unlock(&srq->mutex);
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_srq_set_lw);

/**
 * dat_srq_free - free a shared receive queue
 * @srq: the SRQ
 *
 * Buffers that no message has used go back to the consumer without an event, and
 * so do those that were lost with the QP of an EP. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL; -EBUSY: an EP uses it.
 */
int dat_srq_free(struct dat_srq *srq)
{
	bool busy;

	might_sleep();

	if (!srq)
		return -EINVAL;
	mutex_lock(&srq->mutex);
	busy = srq->users || srq->freed;
	if (!busy)
		srq->freed = true;
	mutex_unlock(&srq->mutex);
	if (busy)
		return -EBUSY;
	kdapl_srq_destroy(srq);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_srq_free);

void kdapl_srq_destroy(struct dat_srq *srq)
{
	struct dat_ia *ia = srq->obj.ia;

	if (!kdapl_ia_enter(ia)) {
		kdapl_srq_remove_device(srq);
		kdapl_ia_leave(ia);
	} else {
		wait_for_completion(&ia->removed);
	}
	kdapl_obj_unlink(&srq->obj);
	if (ia->async_evd)
		kdapl_evd_purge(ia->async_evd, srq);
	if (srq->posted) {
		atomic64_add(srq->posted, &ia->srq_reclaimed);
		pr_debug("srq %u: %u buffers reclaimed\n", srq->obj.id,
			 srq->posted);
	}
	kdapl_pz_put_user(srq->pz);
	kdapl_obj_put(&srq->obj);
}

void kdapl_srq_remove_device(struct dat_srq *srq)
{
	struct ib_srq *gone;

	spin_lock_irq(&srq->post_lock);
	gone = srq->srq;
	srq->srq = NULL;
	spin_unlock_irq(&srq->post_lock);
	if (gone)
		ib_destroy_srq(gone);
}
