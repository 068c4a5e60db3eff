// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs of the fake device. Completions are pushed, and handlers called,
 * under the lock of all QPs: the code under test may take no lock in its
 * completion handler that it also holds over a post.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fake_priv.h"

/* Guards all QPs and the list of them; CQ locks nest inside. */
DEFINE_SPINLOCK(fake_qp_lock);
static LIST_HEAD(fake_qps);
static u32 fake_qp_num = 0x100;
unsigned int fake_qp_overflowed;

/* What a completion names as its QP: nobody may look behind it. */
#define FAKE_WC_QP	((struct ib_qp *)0xdead4ead00000000UL)

static enum ib_wc_opcode fake_wc_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	default:
		return IB_WC_SEND;
	}
}

/*
 * Takes the oldest request off its queue and completes it. A failed completion
 * says nothing but status and wr_id; the rest of it is made up.
 */
void fake_qp_finish(struct fake_qp *qp, bool send, enum ib_wc_status status,
		    u32 len, u32 inv_rkey)
{
	struct fake_wq *wq = send ? &qp->sq : fake_qp_rq(qp);
	struct fake_wr *wr = fake_wq_head(wq);
	bool shared = !send && qp->ibqp.srq;
	struct ib_wc wc = {
		.wr_id = wr->wr_id,
		.status = status,
		/* Nothing else says whose the buffer of an SRQ became. */
		.qp = shared ? &qp->ibqp : FAKE_WC_QP,
	};

	wq->head++;
	if (shared)
		fake_srq_taken(to_fake_srq(qp->ibqp.srq));
	if (status == IB_WC_SUCCESS) {
		if (send)
			fake_mr_work(wr);
		else if (inv_rkey)
			fake_mr_end(inv_rkey);
		wc.opcode = send ? fake_wc_opcode(wr->opcode) : IB_WC_RECV;
		wc.byte_len = send && wr->opcode == IB_WR_SEND ? ~0U : len;
		if (inv_rkey) {
			wc.wc_flags = IB_WC_WITH_INVALIDATE;
			wc.ex.invalidate_rkey = inv_rkey;
		}
		if (send && !qp->sig_all && !fake_script.signal_all &&
		    !(wr->flags & IB_SEND_SIGNALED))
			return;
	} else {
		wc.opcode = IB_WC_SEND;
		wc.byte_len = 0xbad0bad0;
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = 0xbad1bad1;
	}
	if (!fake_cq_push(send ? qp->ibqp.send_cq : qp->ibqp.recv_cq, &wc))
		fake_qp_overflowed++;
}

static void fake_copy(struct fake_wr *to, struct fake_wr *from)
{
	u32 done = 0, t_off = 0, f_off = 0, n;
	int t = 0, f = 0;

	while (done < from->len && t < to->num_sge && f < from->num_sge) {
		n = min(to->sge[t].length - t_off, from->sge[f].length - f_off);
		memcpy((void *)(uintptr_t)to->sge[t].addr + t_off,
		       (void *)(uintptr_t)from->sge[f].addr + f_off, n);
		done += n;
		t_off += n;
		f_off += n;
		if (t_off == to->sge[t].length) {
			t_off = 0;
			t++;
		}
		if (f_off == from->sge[f].length) {
			f_off = 0;
			f++;
		}
	}
}

static bool fake_is_send(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_SEND || opcode == IB_WR_SEND_WITH_INV ||
	       opcode == IB_WR_SEND_WITH_IMM;
}

/* Transports the oldest send; false if the peer has no receive for it. */
static bool fake_transport(struct fake_qp *qp)
{
	struct fake_wr *wr = fake_wq_head(&qp->sq);
	struct fake_qp *peer = qp->peer;
	struct fake_wr *recv;

	if (fake_mr_refuses(wr)) {
		fake_qp_finish(qp, true, IB_WC_LOC_QP_OP_ERR, 0, 0);
		qp->state = IB_QPS_ERR;
		return true;
	}
	if (fake_is_send(wr->opcode) && peer) {
		if (peer->state != IB_QPS_RTR && peer->state != IB_QPS_RTS)
			return false;
		if (fake_wq_empty(fake_qp_rq(peer)))
			return false;
		recv = fake_wq_head(fake_qp_rq(peer));
		if (recv->len < wr->len) {
			fake_qp_finish(peer, false, IB_WC_LOC_LEN_ERR, 0, 0);
			fake_qp_finish(qp, true, IB_WC_REM_INV_REQ_ERR, 0, 0);
			return true;
		}
		fake_copy(recv, wr);
		fake_qp_finish(peer, false, IB_WC_SUCCESS, wr->len,
			       wr->opcode == IB_WR_SEND_WITH_INV ? wr->rkey : 0);
	}
	fake_qp_finish(qp, true, IB_WC_SUCCESS, wr->len, 0);
	return true;
}

/* One request of the QP is done with; false if there is none that can be. */
static bool fake_qp_step(struct fake_qp *qp)
{
	if (qp->state == IB_QPS_ERR) {
		if (!fake_wq_empty(&qp->sq))
			fake_qp_finish(qp, true, IB_WC_WR_FLUSH_ERR, 0, 0);
		else if (!fake_wq_empty(&qp->rq))
			fake_qp_finish(qp, false, IB_WC_WR_FLUSH_ERR, 0, 0);
		else
			return false;
		return true;
	}
	if (qp->state != IB_QPS_RTS || fake_wq_empty(&qp->sq))
		return false;
	return fake_transport(qp);
}

static void fake_qp_work(struct work_struct *work)
{
	struct fake_qp *qp = container_of(work, struct fake_qp, work);
	unsigned long flags;
	bool more;

	do {
		if (fake_script.delay_us)
			usleep_range(0, fake_script.delay_us);
		spin_lock_irqsave(&fake_qp_lock, flags);
		more = fake_qp_step(qp);
		spin_unlock_irqrestore(&fake_qp_lock, flags);
	} while (more);
}

static void fake_qp_start(struct fake_qp *qp)
{
	if (fake_script.cpu >= 0)
		queue_work_on(fake_script.cpu, fake_wq, &qp->work);
	else
		queue_work(fake_wq, &qp->work);
}

/* Under the lock: a request was added to @qp, or the state has changed. */
static void fake_qp_kick(struct fake_qp *qp)
{
	struct fake_wr *wr;

	if (qp->state == IB_QPS_ERR) {
		if (fake_script.flush == FAKE_FLUSH_INLINE)
			while (fake_qp_step(qp))
				;
		else if (fake_script.flush == FAKE_FLUSH_WORKER)
			fake_qp_start(qp);
		return;
	}
	while (!fake_script.manual_reg && qp->state == IB_QPS_RTS &&
	       !fake_wq_empty(&qp->sq)) {
		wr = fake_wq_head(&qp->sq);
		if (wr->opcode != IB_WR_REG_MR && wr->opcode != IB_WR_LOCAL_INV)
			break;
		fake_qp_step(qp);
	}
	if (fake_script.complete == FAKE_INLINE)
		while (fake_qp_step(qp))
			;
	else if (fake_script.complete == FAKE_WORKER)
		fake_qp_start(qp);
}

int fake_wq_alloc(struct fake_wq *wq, u32 size)
{
	wq->size = max(size, 1U);
	wq->wr = kcalloc(wq->size, sizeof(*wq->wr), GFP_KERNEL);
	return wq->wr ? 0 : -ENOMEM;
}

int fake_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata)
{
	const struct ib_device_attr *dev = &ibqp->device->attrs;
	struct fake_qp *qp = to_fake_qp(ibqp);
	unsigned long flags;
	int ret;

	fake_verb_hook(FAKE_CREATE_QP, ibqp);
	ret = fake_verb_begin(FAKE_CREATE_QP, ibqp, 0);
	if (ret)
		return ret;
	if (attr->cap.max_send_wr > dev->max_qp_wr ||
	    attr->cap.max_recv_wr > dev->max_qp_wr ||
	    attr->cap.max_send_sge > dev->max_send_sge ||
	    attr->cap.max_recv_sge > dev->max_recv_sge ||
	    attr->qp_type != IB_QPT_RC)
		return -EINVAL;

	ret = fake_wq_alloc(&qp->sq, attr->cap.max_send_wr);
	if (ret)
		return ret;
	ret = fake_wq_alloc(&qp->rq, attr->cap.max_recv_wr);
	if (ret) {
		kfree(qp->sq.wr);
		return ret;
	}
	qp->state = IB_QPS_RESET;
	qp->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	INIT_WORK(&qp->work, fake_qp_work);

	spin_lock_irqsave(&fake_qp_lock, flags);
	ibqp->qp_num = fake_qp_num++;
	list_add_tail(&qp->node, &fake_qps);
	spin_unlock_irqrestore(&fake_qp_lock, flags);

	atomic_inc(&fake_live[FAKE_QP]);
	fake_verb_done(FAKE_CREATE_QP, ibqp, 0, 0);
	return 0;
}

struct fake_qp *fake_qp_lookup(u32 num)
{
	struct fake_qp *qp;

	list_for_each_entry(qp, &fake_qps, node)
		if (qp->ibqp.qp_num == num)
			return qp;
	return NULL;
}

static void fake_qp_note(struct fake_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	struct ib_qp_attr *to = &qp->attr;

	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PORT)
		to->port_num = attr->port_num;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = attr->sq_psn;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = attr->timeout;
}

int fake_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct fake_hca *hca = container_of(ibqp->device, struct fake_hca,
					    ibdev);
	struct fake_qp *qp = to_fake_qp(ibqp);
	enum ib_qp_state next;
	unsigned long flags;
	int ret;

	next = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	ret = fake_verb_begin(FAKE_MODIFY_QP, ibqp, next);
	if (ret)
		return ret;

	spin_lock_irqsave(&fake_qp_lock, flags);
	if (hca->proto == FAKE_PROTO_IB &&
	    !ib_modify_qp_is_ok(qp->state, next, IB_QPT_RC, mask)) {
		ret = -EINVAL;
		goto out_unlock;
	}
	fake_qp_note(qp, attr, mask);
	if (mask & IB_QP_DEST_QPN)
		qp->peer = fake_qp_lookup(attr->dest_qp_num);
	qp->state = next;
	if (next == IB_QPS_RESET) {
		qp->sq.head = qp->sq.tail;
		qp->rq.head = qp->rq.tail;
	}
	fake_qp_kick(qp);
	if (qp->peer && next != IB_QPS_ERR)
		fake_qp_kick(qp->peer);
out_unlock:
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	fake_verb_done(FAKE_MODIFY_QP, ibqp, next, ret);
	return ret;
}

int fake_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct fake_qp *other, *qp = to_fake_qp(ibqp);
	unsigned long flags;

	fake_verb_hook(FAKE_DESTROY_QP, ibqp);
	spin_lock_irqsave(&fake_qp_lock, flags);
	list_del(&qp->node);
	list_for_each_entry(other, &fake_qps, node)
		if (other->peer == qp)
			other->peer = NULL;
	qp->state = IB_QPS_RESET;
	spin_unlock_irqrestore(&fake_qp_lock, flags);

	cancel_work_sync(&qp->work);
	kfree(qp->sq.wr);
	kfree(qp->rq.wr);
	atomic_dec(&fake_live[FAKE_QP]);
	fake_verb_done(FAKE_DESTROY_QP, ibqp, 0, 0);
	return 0;
}

struct fake_wr *fake_wq_push(struct fake_wq *wq, const struct ib_sge *sge,
			     int num_sge)
{
	struct fake_wr *wr;
	int i;

	if (wq->tail - wq->head == wq->size) {
		fake_qp_overflowed++;
		return NULL;
	}
	wr = &wq->wr[wq->tail++ % wq->size];
	memset(wr, 0, sizeof(*wr));
	wr->num_sge = min_t(int, num_sge, ARRAY_SIZE(wr->sge));
	for (i = 0; i < num_sge; i++) {
		wr->len += sge[i].length;
		if (i < wr->num_sge)
			wr->sge[i] = sge[i];
	}
	return wr;
}

static int fake_post_one_send(struct fake_qp *qp, const struct ib_send_wr *wr)
{
	struct fake_wr *fake;
	int ret;

	ret = fake_verb_begin(FAKE_POST_SEND, &qp->ibqp, wr->opcode);
	if (ret)
		return ret;
	if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_ERR)
		return -EINVAL;
	fake = fake_wq_push(&qp->sq, wr->sg_list, wr->num_sge);
	if (!fake)
		return -ENOMEM;
	fake->wr_id = wr->wr_id;
	fake->opcode = wr->opcode;
	fake->flags = wr->send_flags;
	switch (wr->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		fake->rkey = atomic_wr(wr)->rkey;
		fake->remote_addr = atomic_wr(wr)->remote_addr;
		fake->compare_add = atomic_wr(wr)->compare_add;
		fake->swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		fake->imm = be32_to_cpu(wr->ex.imm_data);
		fallthrough;
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_WRITE:
		fake->rkey = rdma_wr(wr)->rkey;
		fake->remote_addr = rdma_wr(wr)->remote_addr;
		break;
	case IB_WR_REG_MR:
		fake->rkey = reg_wr(wr)->key;
		fake->access = reg_wr(wr)->access;
		break;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		fake->rkey = wr->ex.invalidate_rkey;
		break;
	default:
		break;
	}
	fake_verb_done(FAKE_POST_SEND, &qp->ibqp, wr->opcode, 0);
	return 0;
}

int fake_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct fake_qp *qp = to_fake_qp(ibqp);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fake_qp_lock, flags);
	for (; wr; wr = wr->next) {
		ret = fake_post_one_send(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	fake_qp_kick(qp);
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	fake_verb_hook(FAKE_POST_SEND, ibqp);
	return ret;
}

static int fake_post_one_recv(struct fake_qp *qp, const struct ib_recv_wr *wr)
{
	struct fake_wr *fake;
	int ret;

	ret = fake_verb_begin(FAKE_POST_RECV, &qp->ibqp, 0);
	if (ret)
		return ret;
	if (qp->state == IB_QPS_RESET)
		return -EINVAL;
	fake = fake_wq_push(&qp->rq, wr->sg_list, wr->num_sge);
	if (!fake)
		return -ENOMEM;
	fake->wr_id = wr->wr_id;
	fake_verb_done(FAKE_POST_RECV, &qp->ibqp, 0, 0);
	return 0;
}

int fake_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct fake_qp *qp = to_fake_qp(ibqp);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fake_qp_lock, flags);
	for (; wr; wr = wr->next) {
		ret = fake_post_one_recv(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->state == IB_QPS_ERR)
		fake_qp_kick(qp);
	else if (qp->peer)
		fake_qp_kick(qp->peer);
	spin_unlock_irqrestore(&fake_qp_lock, flags);
	return ret;
}
