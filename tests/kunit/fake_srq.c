// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues of the fake device. */
#include <linux/module.h>
#include <linux/slab.h>

#include "fake_priv.h"

int fake_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata)
{
	const struct ib_device_attr *dev = &ibsrq->device->attrs;
	struct fake_srq *srq = to_fake_srq(ibsrq);
	int ret;

	ret = fake_verb_begin(FAKE_CREATE_SRQ, ibsrq, attr->attr.max_wr);
	if (ret)
		return ret;
	if (attr->srq_type != IB_SRQT_BASIC ||
	    attr->attr.max_wr > dev->max_srq_wr ||
	    attr->attr.max_sge > dev->max_srq_sge)
		return -EINVAL;
	ret = fake_wq_alloc(&srq->rq, attr->attr.max_wr);
	if (ret)
		return ret;
	atomic_inc(&fake_live[FAKE_SRQ]);
	fake_verb_done(FAKE_CREATE_SRQ, ibsrq, attr->attr.max_wr, 0);
	return 0;
}

static int fake_srq_grow(struct fake_srq *srq, u32 size)
{
	struct fake_wq *rq = &srq->rq, bigger = {};
	unsigned long flags;
	int ret;

	ret = fake_wq_alloc(&bigger, size);
	if (ret)
		return ret;
	spin_lock_irqsave(&fake_qp_lock, flags);
	if (rq->tail - rq->head > size) {
		ret = -EINVAL;
	} else {
		for (; rq->head != rq->tail; rq->head++)
			bigger.wr[bigger.tail++] = *fake_wq_head(rq);
		swap(*rq, bigger);
	}
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	kfree(bigger.wr);
	return ret;
}

int fake_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct fake_srq *srq = to_fake_srq(ibsrq);
	unsigned long flags;
	int ret;

	ret = fake_verb_begin(FAKE_MODIFY_SRQ, ibsrq, mask);
	if (ret)
		return ret;
	if (mask & IB_SRQ_MAX_WR)
		ret = fake_srq_grow(srq, attr->max_wr);
	if (!ret && mask & IB_SRQ_LIMIT) {
		spin_lock_irqsave(&fake_qp_lock, flags);
		srq->limit = attr->srq_limit;
		spin_unlock_irqrestore(&fake_qp_lock, flags);
	}
	fake_verb_done(FAKE_MODIFY_SRQ, ibsrq, mask, ret);
	return ret;
}

int fake_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	kfree(to_fake_srq(ibsrq)->rq.wr);
	atomic_dec(&fake_live[FAKE_SRQ]);
	fake_verb_done(FAKE_DESTROY_SRQ, ibsrq, 0, 0);
	return 0;
}

int fake_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct fake_srq *srq = to_fake_srq(ibsrq);
	struct fake_wr *fake;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fake_qp_lock, flags);
	for (; wr && !ret; wr = wr->next) {
		*bad_wr = wr;
		ret = fake_verb_begin(FAKE_POST_SRQ_RECV, ibsrq, 0);
		if (ret)
			break;
		fake = fake_wq_push(&srq->rq, wr->sg_list, wr->num_sge);
		if (fake)
			fake->wr_id = wr->wr_id;
		else
			ret = -ENOMEM;
		fake_verb_done(FAKE_POST_SRQ_RECV, ibsrq, 0, ret);
	}
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	return ret;
}

void fake_srq_event(struct ib_srq *ibsrq, enum ib_event_type type)
{
	struct ib_event event = {
		.device = ibsrq->device,
		.element.srq = ibsrq,
		.event = type,
	};

	ibsrq->event_handler(&event, ibsrq->srq_context);
}
EXPORT_SYMBOL_GPL(fake_srq_event);

/* Under fake_qp_lock: a buffer has left. The event comes once. */
void fake_srq_taken(struct fake_srq *srq)
{
	if (srq->rq.tail - srq->rq.head >= srq->limit)
		return;
	srq->limit = 0;
	fake_srq_event(&srq->ibsrq, IB_EVENT_SRQ_LIMIT_REACHED);
}

bool fake_srq_lose(struct ib_srq *ibsrq)
{
	struct fake_srq *srq = to_fake_srq(ibsrq);
	unsigned long flags;
	bool lost;

	spin_lock_irqsave(&fake_qp_lock, flags);
	lost = !fake_wq_empty(&srq->rq);
	if (lost) {
		srq->rq.head++;
		fake_srq_taken(srq);
	}
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	return lost;
}
EXPORT_SYMBOL_GPL(fake_srq_lose);

unsigned int fake_srq_posted(struct ib_srq *ibsrq)
{
	struct fake_wq *rq = &to_fake_srq(ibsrq)->rq;

	return READ_ONCE(rq->tail) - READ_ONCE(rq->head);
}
EXPORT_SYMBOL_GPL(fake_srq_posted);

unsigned int fake_srq_limit(struct ib_srq *ibsrq)
{
	return READ_ONCE(to_fake_srq(ibsrq)->limit);
}
EXPORT_SYMBOL_GPL(fake_srq_limit);
