// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: posting of work requests, the long way
 *
 * All that a post may have to do and dto.c does not: several segments, flags,
 * RDMA reads, queues without a QP, and finding out what is wrong.
 */
#include <linux/delay.h>

#include "counters.h"
#include "dto.h"
#include "ep.h"
#include "ep_state.h"
#include "fault.h"
#include "ia.h"
#include "lmr.h"
#include "queue.h"
#include "trace.h"

enum {
	/*
	 * siw answers -ENOTCONN while somebody changes the QP's state; that
	 * is over in microseconds, unless the holder of its lock sleeps.
	 */
	DTO_RETRY_US = 100,
};

int kdapl_ep_post_error(struct dat_ep *ep, bool request)
{
	int ret;

	if (kdapl_ia_removing(ep->obj.ia))
		return -ENODEV;
	if (!request && ep->config.srq)
		return -EBUSY;
	ret = kdapl_ep_check_call(request ? KDAPL_CALL_POST_REQUEST :
					    KDAPL_CALL_POST_RECV,
				  READ_ONCE(ep->state));
	/* The state would allow it: there is no QP. */
	return ret ?: -EBADFD;
}

int kdapl_dto_not_posted_locked(struct kdapl_queue *queue, struct kdapl_wr *wr)
{
	trace_kdapl_dto_post(queue->ep->obj.id, wr->op,
			     kdapl_queue_wr_len(wr), 0);
	wr->flags |= KDAPL_WR_HELD;
	queue->posted++;
	kdapl_queue_publish_locked(queue, wr);
	return queue->gate == KDAPL_QUEUE_FLUSH;
}

/*
 * Whether nothing else says that it is done: on iWARP what is sent behind a read may
 * complete before it (siw).
 */
static bool dto_must_complete(const struct dat_ep *ep,
			      const struct ib_send_wr *send)
{
	return send->opcode == IB_WR_RDMA_READ && ep->obj.ia->iwarp;
}

static bool dto_is_read(const struct ib_send_wr *send)
{
	return send->opcode == IB_WR_RDMA_READ ||
	       send->opcode == IB_WR_ATOMIC_FETCH_AND_ADD ||
	       send->opcode == IB_WR_ATOMIC_CMP_AND_SWP;
}

/*
 * A read that siw should fence stays at the head of its queue for ever. The peer
 * answers reads in order, so nothing is lost.
 */
static bool dto_can_fence(const struct dat_ep *ep, const struct ib_send_wr *send)
{
	return ep->obj.ia->driver_id != RDMA_DRIVER_SIW || !dto_is_read(send);
}

int kdapl_dto_send_locked(struct kdapl_queue *queue, struct ib_send_wr *send,
			  u8 op, u16 wr_flags, int num_sge,
			  union dat_context cookie,
			  enum dat_completion_flags flags)
{
	int send_flags = IB_SEND_SIGNALED;
	struct dat_ep *ep = queue->ep;
	struct kdapl_wr *wr;
	int ret;

	if (flags & DAT_COMPLETION_SUPPRESS_FLAG) {
		wr_flags |= KDAPL_WR_SUPPRESS;
		if (queue->suppressed + 1 < queue->depth / 2 &&
		    !dto_must_complete(ep, send))
			send_flags = 0;
		else
			wr_flags |= KDAPL_WR_OWED;
	}
	if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		wr_flags |= KDAPL_WR_UNSIGNALLED;
	if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		send_flags |= IB_SEND_SOLICITED;
	if (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG && dto_can_fence(ep, send))
		send_flags |= IB_SEND_FENCE;
	/* Nobody has agreed to any: it, and all behind it, would wait for ever. */
	if (unlikely(!ep->rd_atomic_out && dto_is_read(send) &&
		     READ_ONCE(ep->state) != DAT_EP_STATE_DISCONNECTED))
		return -EINVAL;

	wr = kdapl_queue_next_wr(queue);
	wr->cookie = cookie;
	wr->len = queue->total;
	wr->op = op;
	wr->flags = wr_flags;
	if (unlikely(queue->gate != KDAPL_QUEUE_OPEN))
		return kdapl_dto_not_posted_locked(queue, wr);
	queue->posted++;
	kdapl_queue_publish_locked(queue, wr);

	send->wr_id = (uintptr_t)wr;
	send->sg_list = queue->sge;
	send->num_sge = num_sge;
	send->send_flags = send_flags;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      ib_post_send(ep->qp, send, &queue->bad_send);
	trace_kdapl_dto_post(ep->obj.id, op, queue->total, ret);
	if (unlikely(ret)) {
		kdapl_queue_retract_locked(queue);
		queue->posted--;
		return ret;
	}
	queue->suppressed = send_flags & IB_SEND_SIGNALED ?
			    0 : queue->suppressed + 1;
	kdapl_counters_post(ep, op, queue->total);
	return 0;
}

/* Documentation/endpoints.rst says what siw does with one. */
bool kdapl_dto_reads_nothing(const struct dat_ep *ep)
{
	return ep->obj.ia->driver_id != RDMA_DRIVER_SIW;
}

/* An RDMA read moves as many bytes as its entries name: no more than asked. */
static int dto_trim(struct ib_sge *sge, int num, u32 excess)
{
	while (excess) {
		u32 cut = min(sge[num - 1].length, excess);

		sge[num - 1].length -= cut;
		excess -= cut;
		if (!sge[num - 1].length)
			num--;
	}
	return num;
}

/* Entries of the segments; their number or a negative errno. */
static __always_inline int dto_sge(struct kdapl_queue *queue,
				   struct dat_ep *ep, int num,
				   const struct dat_lmr_triplet *iov, u32 need,
				   int max_sge)
{
	if (likely(num == 1 && kdapl_lmr_build_one(ep, iov, need, queue->sge))) {
		queue->total = iov->segment_length;
		return 1;
	}
	return kdapl_lmr_index_sge(ep->obj.ia, ep->config.pz, ep, iov, num, need,
				   queue->sge, max_sge, &queue->total);
}

static int dto_read_sge(struct kdapl_queue *queue, struct dat_ep *ep, int num,
			const struct dat_lmr_triplet *iov)
{
	struct dat_ia *ia = ep->obj.ia;
	u32 need = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	if (ia->iwarp)
		need |= KDAPL_LMR_NEED_MR;
	return dto_sge(queue, ep, num, iov, need,
		       min_t(u32, ep->max_sge_send, ia->dev_attr.max_sge_rd));
}

static int
dto_request_locked(struct kdapl_queue *queue, struct dat_ep *ep,
		   enum dat_dtos op, int num,
		   const struct dat_lmr_triplet *iov, union dat_context cookie,
		   const struct dat_rmr_triplet *remote,
		   enum dat_completion_flags flags)
{
	struct ib_rdma_wr *rdma = &queue->send_wr;
	int ret;

	if (unlikely(queue->gate == KDAPL_QUEUE_CLOSED))
		return kdapl_ep_post_error(ep, true);
	if (unlikely(!kdapl_dto_has_credit(queue)))
		return -ENOSPC;

	if (op == DAT_DTO_RDMA_READ)
		ret = dto_read_sge(queue, ep, num, iov);
	else
		ret = dto_sge(queue, ep, num, iov, DAT_MEM_PRIV_LOCAL_READ_FLAG,
			      ep->max_sge_send);
	if (unlikely(ret < 0))
		return ret;

	if (op == DAT_DTO_SEND) {
		if (unlikely(queue->total > ep->config.attr.max_message_size))
			return -EMSGSIZE;
		rdma->wr.opcode = IB_WR_SEND;
	} else {
		if (op == DAT_DTO_RDMA_READ) {
			if (unlikely(queue->total < remote->segment_length))
				return -EMSGSIZE;
			if (unlikely(queue->total > remote->segment_length)) {
				ret = dto_trim(queue->sge, ret, queue->total -
					       remote->segment_length);
				queue->total = remote->segment_length;
			}
			if (unlikely(!ret && !kdapl_dto_reads_nothing(ep)))
				return -EOPNOTSUPP;
			rdma->wr.opcode = IB_WR_RDMA_READ;
		} else {
			if (unlikely(queue->total > remote->segment_length))
				return -EMSGSIZE;
			rdma->wr.opcode = IB_WR_RDMA_WRITE;
		}
		if (unlikely(queue->total > ep->config.attr.max_rdma_size))
			return -EMSGSIZE;
		rdma->remote_addr = remote->virtual_address;
		rdma->rkey = remote->rmr_context;
	}

	return kdapl_dto_send_locked(queue, &rdma->wr, op, 0, ret, cookie, flags);
}

bool kdapl_dto_retry(struct dat_ep *ep, int ret, unsigned int *tries)
{
	if (ret != -ENOTCONN || !ep->obj.ia->iwarp ||
	    (*tries)++ >= DTO_RETRY_US)
		return false;
	udelay(1);
	return true;
}

/* Everything that a post of a request may have to do. */
int kdapl_dto_request_long(struct dat_ep *ep, enum dat_dtos op, int num,
			   const struct dat_lmr_triplet *iov,
			   union dat_context cookie,
			   const struct dat_rmr_triplet *remote,
			   enum dat_completion_flags flags)
{
	const struct dat_ep_attr *attr;
	struct kdapl_queue *queue;
	unsigned int tries = 0;
	unsigned long irq;
	int ret, max;

	if (!ep || num < 0 || (num && !iov))
		return -EINVAL;
	attr = &ep->config.attr;
	if (op == DAT_DTO_SEND)
		max = attr->max_request_iov;
	else if (op == DAT_DTO_RDMA_READ)
		max = attr->max_rdma_read_iov;
	else
		max = attr->max_rdma_write_iov;
	if (num > max || (op != DAT_DTO_SEND && !remote))
		return -EINVAL;
	if (flags & ~(op == DAT_DTO_SEND ? KDAPL_DTO_SEND_FLAGS :
					  KDAPL_DTO_REQUEST_FLAGS))
		return -EINVAL;
	if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG &
	    ~attr->request_completion_flags)
		return -EINVAL;

	queue = &ep->req;
	do {
		spin_lock_irqsave(&queue->post_lock, irq);
		ret = dto_request_locked(queue, ep, op, num, iov, cookie,
					 remote, flags);
		ret = kdapl_dto_unlock(queue, irq, ret);
	} while (ret < 0 && kdapl_dto_retry(ep, ret, &tries));
	return ret;
}

static int
dto_recv_locked(struct kdapl_queue *queue, struct dat_ep *ep, int num,
		const struct dat_lmr_triplet *iov, union dat_context cookie,
		enum dat_completion_flags flags)
{
	struct ib_recv_wr *recv = &queue->recv_wr;
	struct kdapl_wr *wr;
	int ret;

	if (unlikely(queue->gate == KDAPL_QUEUE_CLOSED))
		return kdapl_ep_post_error(ep, false);
	if (unlikely(!kdapl_dto_has_credit(queue)))
		return -ENOSPC;

	ret = dto_sge(queue, ep, num, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		      ep->max_sge_recv);
	if (unlikely(ret < 0))
		return ret;

	wr = kdapl_queue_next_wr(queue);
	wr->cookie = cookie;
	wr->len = queue->total;
	wr->op = DAT_DTO_RECEIVE;
	wr->flags = 0;
	if (unlikely(flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		wr->flags = KDAPL_WR_UNSIGNALLED;
	if (unlikely(queue->gate != KDAPL_QUEUE_OPEN))
		return kdapl_dto_not_posted_locked(queue, wr);
	queue->posted++;
	kdapl_queue_publish_locked(queue, wr);

	recv->wr_id = (uintptr_t)wr;
	recv->sg_list = queue->sge;
	recv->num_sge = ret;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      ib_post_recv(ep->qp, recv, &queue->bad_recv);
	trace_kdapl_dto_post(ep->obj.id, DAT_DTO_RECEIVE, queue->total, ret);
	if (unlikely(ret)) {
		kdapl_queue_retract_locked(queue);
		queue->posted--;
		return ret;
	}
	kdapl_counters_post(ep, DAT_DTO_RECEIVE, queue->total);
	return 0;
}

int kdapl_dto_recv_long(struct dat_ep *ep, int num,
			const struct dat_lmr_triplet *iov,
			union dat_context cookie,
			enum dat_completion_flags flags)
{
	struct kdapl_queue *queue;
	unsigned int tries = 0;
	unsigned long irq;
	int ret;

	if (!ep || num < 0 || (num && !iov) ||
	    num > ep->config.attr.max_recv_iov)
		return -EINVAL;
	if (flags & ~(DAT_COMPLETION_UNSIGNALLED_FLAG &
		      ep->config.attr.recv_completion_flags))
		return -EINVAL;

	queue = &ep->recv;
	do {
		spin_lock_irqsave(&queue->post_lock, irq);
		ret = dto_recv_locked(queue, ep, num, iov, cookie, flags);
		ret = kdapl_dto_unlock(queue, irq, ret);
	} while (ret < 0 && kdapl_dto_retry(ep, ret, &tries));
	return ret;
}
