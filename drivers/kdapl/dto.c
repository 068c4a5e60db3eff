// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: posting of work requests
 *
 * A post takes a credit and the next context of its queue and hands the request
 * to the provider, all under the queue's post lock, so that contexts are in
 * queue order. The credit is a slot reserved in the EVD's ring: a full queue is
 * refused before the provider sees the request.
 *
 * The completion path takes no post lock. It may see a context before
 * ib_post_*() has returned, so head and context are published first; a post
 * that fails takes them back, which nobody can notice: the provider has no
 * request that names them, and the software flush runs only when the gate says
 * that nothing goes to a QP.
 *
 * Requests whose success is suppressed are not signalled, but for one in half a
 * queue: its completion proves those in front of it done and frees their
 * credits.
 */
#include <linux/delay.h>
#include <linux/export.h>

#include <dat/kdat.h>

#include "counters.h"
#include "dto.h"
#include "ep.h"
#include "ep_state.h"
#include "evd.h"
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

int kdapl_dto_not_posted_locked(struct kdapl_queue *queue, struct kdapl_wr *wr)
{
	trace_kdapl_dto_post(queue->ep->obj.id, wr->op, wr->len, 0);
	if (queue->gate == KDAPL_QUEUE_HOLD)
		wr->flags |= KDAPL_WR_HELD;
	queue->posted++;
	kdapl_queue_publish_locked(queue);
	return queue->gate == KDAPL_QUEUE_FLUSH;
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
	return kdapl_lmr_index_sge(ep->obj.ia, ep->config.pz, iov, num, need,
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

static __always_inline int
dto_request_locked(struct kdapl_queue *queue, struct dat_ep *ep,
		   enum dat_dtos op, int num,
		   const struct dat_lmr_triplet *iov, union dat_context cookie,
		   const struct dat_rmr_triplet *remote,
		   enum dat_completion_flags flags)
{
	struct ib_rdma_wr *rdma = &queue->send_wr;
	int send_flags = IB_SEND_SIGNALED;
	struct kdapl_wr *wr;
	u8 wr_flags = 0;
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

	if (unlikely(flags)) {
		if (flags & DAT_COMPLETION_SUPPRESS_FLAG) {
			wr_flags = KDAPL_WR_SUPPRESS;
			if (queue->suppressed + 1 < queue->depth / 2)
				send_flags = 0;
		}
		if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
			wr_flags |= KDAPL_WR_UNSIGNALLED;
		if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			send_flags |= IB_SEND_SOLICITED;
		if (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
			send_flags |= IB_SEND_FENCE;
	}

	wr = kdapl_queue_next_wr(queue);
	wr->cookie = cookie;
	wr->len = queue->total;
	wr->op = op;
	wr->flags = wr_flags;
	if (unlikely(queue->gate != KDAPL_QUEUE_OPEN))
		return kdapl_dto_not_posted_locked(queue, wr);
	queue->posted++;
	kdapl_queue_publish_locked(queue);

	rdma->wr.wr_id = (uintptr_t)wr;
	rdma->wr.sg_list = queue->sge;
	rdma->wr.num_sge = ret;
	rdma->wr.send_flags = send_flags;
	ret = ib_post_send(ep->qp, &rdma->wr, &queue->bad_send);
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

bool kdapl_dto_retry(struct dat_ep *ep, int ret, unsigned int *tries)
{
	if (ret != -ENOTCONN || !ep->obj.ia->iwarp ||
	    (*tries)++ >= DTO_RETRY_US)
		return false;
	udelay(1);
	return true;
}

/* What remains to be done when the first try did not simply succeed. */
static noinline int dto_request_rest(struct dat_ep *ep, enum dat_dtos op,
				     int num,
				     const struct dat_lmr_triplet *iov,
				     union dat_context cookie,
				     const struct dat_rmr_triplet *remote,
				     enum dat_completion_flags flags, int ret)
{
	struct kdapl_queue *queue = &ep->req;
	unsigned int tries = 0;
	unsigned long irq;

	while (ret < 0 && kdapl_dto_retry(ep, ret, &tries)) {
		spin_lock_irqsave(&queue->post_lock, irq);
		ret = dto_request_locked(queue, ep, op, num, iov, cookie,
					 remote, flags);
		spin_unlock_irqrestore(&queue->post_lock, irq);
	}
	if (ret > 0) {
		kdapl_queue_flush(queue);
		ret = 0;
	}
	return ret;
}

static __always_inline int
dto_request(struct dat_ep *ep, enum dat_dtos op, int num,
	    const struct dat_lmr_triplet *iov, union dat_context cookie,
	    const struct dat_rmr_triplet *remote,
	    enum dat_completion_flags flags)
{
	struct kdapl_queue *queue;
	const struct dat_ep_attr *attr;
	unsigned long irq;
	int ret, max;

	if (unlikely(!ep || num < 0 || (num && !iov)))
		return -EINVAL;
	attr = &ep->config.attr;
	if (op == DAT_DTO_SEND)
		max = attr->max_request_iov;
	else if (op == DAT_DTO_RDMA_READ)
		max = attr->max_rdma_read_iov;
	else
		max = attr->max_rdma_write_iov;
	if (unlikely(num > max || (op != DAT_DTO_SEND && !remote)))
		return -EINVAL;
	if (unlikely(flags)) {
		if (flags & ~(op == DAT_DTO_SEND ? KDAPL_DTO_SEND_FLAGS :
						   KDAPL_DTO_REQUEST_FLAGS))
			return -EINVAL;
		if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG &
		    ~attr->request_completion_flags)
			return -EINVAL;
	}

	queue = &ep->req;
	spin_lock_irqsave(&queue->post_lock, irq);
	ret = dto_request_locked(queue, ep, op, num, iov, cookie, remote,
				 flags);
	spin_unlock_irqrestore(&queue->post_lock, irq);
	if (likely(!ret))
		return 0;
	return dto_request_rest(ep, op, num, iov, cookie, remote, flags, ret);
}

/**
 * dat_ep_post_send - send a message
 * @ep: the EP, connected or disconnected
 * @num_segments: of @local_iov, 0 for an empty message
 * @local_iov: what to send; needs %DAT_MEM_PRIV_LOCAL_READ_FLAG; the array is
 *	the consumer's again when the call returns, the memory with the event
 * @cookie: given back in the event
 * @flags: %DAT_COMPLETION_SUPPRESS_FLAG, %DAT_COMPLETION_SOLICITED_WAIT_FLAG,
 *	%DAT_COMPLETION_BARRIER_FENCE_FLAG, and %DAT_COMPLETION_UNSIGNALLED_FLAG
 *	if the EP's request_completion_flags have it
 *
 * In DISCONNECTED the request is taken and flushed. Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL: NULL, too many segments, a flag that does not apply, an
 * unknown lmr_context or a range outside of its LMR; -EPERM: an LMR of another
 * PZ; -EACCES: an LMR without the privilege; -EMSGSIZE: longer than the EP's
 * max_message_size, or scattered over more pages than the QP takes entries;
 * -ENOSPC: max_request_dtos requests whose events were not dequeued; -ENOTCONN,
 * -EALREADY and the like: the state of the EP; -ENODEV: the device is gone;
 * else the errno of the provider.
 */
int dat_ep_post_send(struct dat_ep *ep, int num_segments,
		     const struct dat_lmr_triplet *local_iov,
		     union dat_context cookie, enum dat_completion_flags flags)
{
	return dto_request(ep, DAT_DTO_SEND, num_segments, local_iov, cookie,
			   NULL, flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_send);

/**
 * dat_ep_post_rdma_read - read the peer's memory
 * @ep: the EP, connected or disconnected
 * @num_segments: of @local_iov, 0 for an empty read
 * @local_iov: where to; needs %DAT_MEM_PRIV_LOCAL_WRITE_FLAG
 * @cookie: given back in the event
 * @remote: what to read, segment_length bytes; the local segments may hold more
 * @flags: as for dat_ep_post_send(), without %DAT_COMPLETION_SOLICITED_WAIT_FLAG
 *
 * On iWARP only LMRs with %DAT_MEM_PRIV_LOCAL_WRITE_FLAG that the device could
 * register, in one segment, can be read into. Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: as dat_ep_post_send(); -EMSGSIZE also: the local segments are shorter
 * than @remote, which is longer than max_rdma_size.
 */
int dat_ep_post_rdma_read(struct dat_ep *ep, int num_segments,
			  const struct dat_lmr_triplet *local_iov,
			  union dat_context cookie,
			  const struct dat_rmr_triplet *remote,
			  enum dat_completion_flags flags)
{
	return dto_request(ep, DAT_DTO_RDMA_READ, num_segments, local_iov,
			   cookie, remote, flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read);

/**
 * dat_ep_post_rdma_write - write the peer's memory
 * @ep: the EP, connected or disconnected
 * @num_segments: of @local_iov, 0 for an empty write
 * @local_iov: what to write; needs %DAT_MEM_PRIV_LOCAL_READ_FLAG
 * @cookie: given back in the event
 * @remote: where to; segment_length is the room there
 * @flags: as for dat_ep_post_send(), without %DAT_COMPLETION_SOLICITED_WAIT_FLAG
 *
 * Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: as dat_ep_post_send(); -EMSGSIZE also: the local segments are longer
 * than @remote or than max_rdma_size.
 */
int dat_ep_post_rdma_write(struct dat_ep *ep, int num_segments,
			   const struct dat_lmr_triplet *local_iov,
			   union dat_context cookie,
			   const struct dat_rmr_triplet *remote,
			   enum dat_completion_flags flags)
{
	return dto_request(ep, DAT_DTO_RDMA_WRITE, num_segments, local_iov,
			   cookie, remote, flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_write);

static __always_inline int
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
	kdapl_queue_publish_locked(queue);

	recv->wr_id = (uintptr_t)wr;
	recv->sg_list = queue->sge;
	recv->num_sge = ret;
	ret = ib_post_recv(ep->qp, recv, &queue->bad_recv);
	trace_kdapl_dto_post(ep->obj.id, DAT_DTO_RECEIVE, queue->total, ret);
	if (unlikely(ret)) {
		kdapl_queue_retract_locked(queue);
		queue->posted--;
		return ret;
	}
	kdapl_counters_post(ep, DAT_DTO_RECEIVE, queue->total);
	return 0;
}

static noinline int dto_recv_rest(struct dat_ep *ep, int num,
				  const struct dat_lmr_triplet *iov,
				  union dat_context cookie,
				  enum dat_completion_flags flags, int ret)
{
	struct kdapl_queue *queue = &ep->recv;
	unsigned int tries = 0;
	unsigned long irq;

	while (ret < 0 && kdapl_dto_retry(ep, ret, &tries)) {
		spin_lock_irqsave(&queue->post_lock, irq);
		ret = dto_recv_locked(queue, ep, num, iov, cookie, flags);
		spin_unlock_irqrestore(&queue->post_lock, irq);
	}
	if (ret > 0) {
		kdapl_queue_flush(queue);
		ret = 0;
	}
	return ret;
}

/**
 * dat_ep_post_recv - post a receive buffer
 * @ep: the EP, in any state
 * @num_segments: of @local_iov, 0 for an empty buffer
 * @local_iov: where to, filled in order; needs %DAT_MEM_PRIV_LOCAL_WRITE_FLAG
 * @cookie: given back in the event
 * @flags: %DAT_COMPLETION_UNSIGNALLED_FLAG, if the EP's recv_completion_flags
 *	have it
 *
 * Can be called from the creation of the EP on, as soon as it has its PZ and
 * EVDs; in DISCONNECTED the buffer is taken and flushed. Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL, -EPERM, -EACCES, -EMSGSIZE, -ENODEV: as
 * dat_ep_post_send(); -ENOSPC: max_recv_dtos buffers whose events were not
 * dequeued; -EBADFD: the EP lacks its PZ or EVDs; else the errno of the
 * provider.
 */
int dat_ep_post_recv(struct dat_ep *ep, int num_segments,
		     const struct dat_lmr_triplet *local_iov,
		     union dat_context cookie, enum dat_completion_flags flags)
{
	struct kdapl_queue *queue;
	unsigned long irq;
	int ret;

	if (unlikely(!ep || num_segments < 0 || (num_segments && !local_iov)))
		return -EINVAL;
	if (unlikely(num_segments > ep->config.attr.max_recv_iov))
		return -EINVAL;
	if (unlikely(flags) &&
	    flags & ~(DAT_COMPLETION_UNSIGNALLED_FLAG &
		      ep->config.attr.recv_completion_flags))
		return -EINVAL;

	queue = &ep->recv;
	spin_lock_irqsave(&queue->post_lock, irq);
	ret = dto_recv_locked(queue, ep, num_segments, local_iov, cookie,
			      flags);
	spin_unlock_irqrestore(&queue->post_lock, irq);
	if (likely(!ret))
		return 0;
	return dto_recv_rest(ep, num_segments, local_iov, cookie, flags, ret);
}
EXPORT_SYMBOL_GPL(dat_ep_post_recv);
