// SPDX-License-Identifier: GPL-2.0
/* What a test does to the queue pairs of the fake device, and asks of them. */
#include <linux/module.h>

#include "fake_priv.h"

/* Completes the @n oldest requests of one queue; returns how many there were. */
unsigned int fake_qp_complete(struct ib_qp *ibqp, bool send, unsigned int n,
			      enum ib_wc_status status)
{
	struct fake_qp *qp = to_fake_qp(ibqp);
	struct fake_wq *wq = send ? &qp->sq : fake_qp_rq(qp);
	unsigned int done = 0;
	unsigned long flags;

	spin_lock_irqsave(&fake_qp_lock, flags);
	for (; done < n && !fake_wq_empty(wq); done++)
		fake_qp_finish(qp, send, status, fake_wq_head(wq)->len, 0);
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	return done;
}
EXPORT_SYMBOL_GPL(fake_qp_complete);

/* A message of @len bytes arrives, with an invalidate if @inv_rkey is set. */
unsigned int fake_qp_receive(struct ib_qp *ibqp, u32 len, u32 inv_rkey)
{
	struct fake_qp *qp = to_fake_qp(ibqp);
	unsigned int done = 0;
	unsigned long flags;

	spin_lock_irqsave(&fake_qp_lock, flags);
	if (!fake_wq_empty(fake_qp_rq(qp))) {
		fake_qp_finish(qp, false, IB_WC_SUCCESS, len, inv_rkey);
		done = 1;
	}
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	return done;
}
EXPORT_SYMBOL_GPL(fake_qp_receive);

unsigned int fake_qp_receive_imm(struct ib_qp *ibqp, u32 len, u32 imm,
				 bool write)
{
	struct fake_qp *qp = to_fake_qp(ibqp);
	struct fake_wq *rq = fake_qp_rq(qp);
	unsigned int done = 0;
	unsigned long flags;
	struct ib_wc wc = {
		.qp = ibqp,
		.opcode = write ? IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.wc_flags = IB_WC_WITH_IMM,
		.ex.imm_data = cpu_to_be32(imm),
		.byte_len = len,
	};

	spin_lock_irqsave(&fake_qp_lock, flags);
	if (!fake_wq_empty(rq)) {
		wc.wr_id = fake_wq_head(rq)->wr_id;
		rq->head++;
		done = fake_cq_push(ibqp->recv_cq, &wc);
	}
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	return done;
}
EXPORT_SYMBOL_GPL(fake_qp_receive_imm);

/* Flushes all that is posted; returns how much that was. */
unsigned int fake_qp_flush(struct ib_qp *ibqp)
{
	return fake_qp_complete(ibqp, true, ~0U, IB_WC_WR_FLUSH_ERR) +
	       fake_qp_complete(ibqp, false, ~0U, IB_WC_WR_FLUSH_ERR);
}
EXPORT_SYMBOL_GPL(fake_qp_flush);

unsigned int fake_qp_posted(struct ib_qp *ibqp, bool send)
{
	struct fake_qp *qp = to_fake_qp(ibqp);
	struct fake_wq *wq = send ? &qp->sq : &qp->rq;

	return READ_ONCE(wq->tail) - READ_ONCE(wq->head);
}
EXPORT_SYMBOL_GPL(fake_qp_posted);

/* The @index-th oldest posted request. */
bool fake_qp_peek(struct ib_qp *ibqp, bool send, unsigned int index,
		  struct fake_wr *wr)
{
	struct fake_qp *qp = to_fake_qp(ibqp);
	struct fake_wq *wq = send ? &qp->sq : &qp->rq;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&fake_qp_lock, flags);
	if (index < wq->tail - wq->head) {
		*wr = wq->wr[(wq->head + index) % wq->size];
		found = true;
	}
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	return found;
}
EXPORT_SYMBOL_GPL(fake_qp_peek);

enum ib_qp_state fake_qp_state(struct ib_qp *ibqp)
{
	return READ_ONCE(to_fake_qp(ibqp)->state);
}
EXPORT_SYMBOL_GPL(fake_qp_state);

/* What ib_modify_qp() has set so far. */
void fake_qp_attr(struct ib_qp *ibqp, struct ib_qp_attr *attr)
{
	unsigned long flags;

	spin_lock_irqsave(&fake_qp_lock, flags);
	*attr = to_fake_qp(ibqp)->attr;
	spin_unlock_irqrestore(&fake_qp_lock, flags);
}
EXPORT_SYMBOL_GPL(fake_qp_attr);

void fake_qp_event(struct ib_qp *ibqp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = ibqp->device,
		.element.qp = ibqp,
		.event = type,
	};

	if (ibqp->event_handler)
		ibqp->event_handler(&event, ibqp->qp_context);
}
EXPORT_SYMBOL_GPL(fake_qp_event);

/* Posts to full queues and completions that found their CQ full. */
unsigned int fake_qp_overflows(void)
{
	return READ_ONCE(fake_qp_overflowed);
}
EXPORT_SYMBOL_GPL(fake_qp_overflows);

void fake_qp_reset_counters(void)
{
	fake_qp_overflowed = 0;
}

void fake_qp_connect(u32 num, u32 other_num)
{
	struct fake_qp *qp, *other;
	unsigned long flags;

	spin_lock_irqsave(&fake_qp_lock, flags);
	qp = fake_qp_lookup(num);
	other = fake_qp_lookup(other_num);
	if (qp && other && qp->state == IB_QPS_INIT &&
	    other->state == IB_QPS_INIT) {
		qp->state = IB_QPS_RTS;
		qp->peer = other;
		other->state = IB_QPS_RTS;
		other->peer = qp;
	}
	spin_unlock_irqrestore(&fake_qp_lock, flags);
}
