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
 * credits. On iWARP reads are signalled all the same, since siw completes what is
 * behind one before it.
 */
#include <linux/export.h>

#include <dat/kdat.h>

#include "counters.h"
#include "dto.h"
#include "ep.h"
#include "fault.h"
#include "lmr.h"
#include "queue.h"
#include "trace.h"

/* The provider did not take a request that it was given the short way. */
static noinline int dto_refused_locked(struct dat_ep *ep, bool request, int ret)
{
	struct kdapl_queue *queue = request ? &ep->req : &ep->recv;

	kdapl_queue_refused_locked(queue);
	return ret;
}

/* The request that was published last; @ret as it is. */
static noinline int dto_trace_locked(struct dat_ep *ep, bool request, int ret)
{
	struct kdapl_queue *queue = request ? &ep->req : &ep->recv;
	const struct kdapl_wr *wr = &queue->wr[(queue->head - 1) & queue->mask];

	trace_kdapl_dto_post(ep->obj.id, wr->op, wr->len, ret);
	return ret;
}

/*
 * The short ways of a post: one segment in an LMR that needs one entry, no flags,
 * an open gate, nothing wrong. 1: it is for the long way, and nothing was done.
 * ib_post_*() would each have a spare variable for bad_wr and a guard for it, and
 * what OPTIMIZER_HIDE_VAR() is for would be kept in registers over calls, which
 * costs more than to fetch it again.
 */
static __always_inline struct kdapl_wr *
dto_short_wr_locked(struct kdapl_queue *queue, enum dat_dtos op, u32 len,
		    union dat_context cookie)
{
	u32 head = queue->head;
	struct kdapl_wr *wr = &queue->wr[head & queue->mask];

	wr->cookie = cookie;
	wr->len = len;
	wr->op = op;
	wr->flags = 0;
	wr->pos = head;
	queue->posted++;
	/* As kdapl_queue_publish_locked() does. */
	smp_store_release(&queue->head, head + 1);
	return wr;
}

static __always_inline int
dto_send_short_locked(struct dat_ep *ep, const struct dat_lmr_triplet *iov,
		      union dat_context cookie)
{
	struct kdapl_queue *queue = &ep->req;
	u32 len = iov->segment_length;
	struct ib_qp *qp;
	int ret;

	/* The long way counts. */
	if (static_branch_unlikely(&kdapl_counters_key) ||
	    unlikely(!kdapl_queue_has_credit(queue, queue->limit) ||
		     len > ep->config.attr.max_message_size ||
		     !kdapl_lmr_build_window(ep, queue, iov, len,
					     DAT_MEM_PRIV_LOCAL_READ_FLAG)))
		return 1;
	OPTIMIZER_HIDE_VAR(iov);
	len = iov->segment_length;
	queue->suppressed = 0;
	queue->send_one.wr_id =
		(uintptr_t)dto_short_wr_locked(queue, DAT_DTO_SEND, len, cookie);
	qp = ep->qp;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      qp->device->ops.post_send(qp, &queue->send_one, &queue->bad_send);
	if (trace_kdapl_dto_post_enabled())
		ret = dto_trace_locked(ep, true, ret);
	return likely(!ret) ? 0 : dto_refused_locked(ep, true, ret);
}

static __always_inline int
dto_write_short_locked(struct dat_ep *ep, const struct dat_lmr_triplet *iov,
		       union dat_context cookie,
		       const struct dat_rmr_triplet *remote)
{
	struct kdapl_queue *queue = &ep->req;
	struct ib_rdma_wr *rdma = &queue->send_wr;
	u32 len = iov->segment_length;
	struct ib_qp *qp;
	int ret;

	/* The long way counts. */
	if (static_branch_unlikely(&kdapl_counters_key) ||
	    unlikely(!kdapl_queue_has_credit(queue, queue->limit) ||
		     len > ep->config.attr.max_rdma_size ||
		     len > remote->segment_length ||
		     !kdapl_lmr_build_window(ep, queue, iov, len,
					     DAT_MEM_PRIV_LOCAL_READ_FLAG)))
		return 1;
	OPTIMIZER_HIDE_VAR(iov);
	len = iov->segment_length;
	queue->suppressed = 0;
	rdma->wr.sg_list = &queue->sge_one;
	rdma->wr.num_sge = 1;
	rdma->wr.opcode = IB_WR_RDMA_WRITE;
	rdma->wr.send_flags = IB_SEND_SIGNALED;
	rdma->remote_addr = remote->virtual_address;
	rdma->rkey = remote->rmr_context;
	rdma->wr.wr_id = (uintptr_t)dto_short_wr_locked(queue, DAT_DTO_RDMA_WRITE,
							len, cookie);
	qp = ep->qp;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      qp->device->ops.post_send(qp, &rdma->wr, &queue->bad_send);
	if (trace_kdapl_dto_post_enabled())
		ret = dto_trace_locked(ep, true, ret);
	return likely(!ret) ? 0 : dto_refused_locked(ep, true, ret);
}

static __always_inline int
dto_recv_short_locked(struct dat_ep *ep, const struct dat_lmr_triplet *iov,
		      union dat_context cookie)
{
	struct kdapl_queue *queue = &ep->recv;
	u32 len = iov->segment_length;
	struct ib_qp *qp;
	int ret;

	/* The long way counts. */
	if (static_branch_unlikely(&kdapl_counters_key) ||
	    unlikely(!kdapl_queue_has_credit(queue, queue->limit) ||
		     !kdapl_lmr_build_window(ep, queue, iov, len,
					     DAT_MEM_PRIV_LOCAL_WRITE_FLAG)))
		return 1;
	OPTIMIZER_HIDE_VAR(iov);
	len = iov->segment_length;
	queue->recv_one.wr_id =
		(uintptr_t)dto_short_wr_locked(queue, DAT_DTO_RECEIVE, len,
					       cookie);
	qp = ep->qp;
	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      qp->device->ops.post_recv(qp, &queue->recv_one, &queue->bad_recv);
	if (trace_kdapl_dto_post_enabled())
		ret = dto_trace_locked(ep, false, ret);
	return likely(!ret) ? 0 : dto_refused_locked(ep, false, ret);
}

/* What becomes of a post that the short way has not made; unlocks. */
static noinline int dto_request_rest(struct dat_ep *ep, enum dat_dtos op,
				     const struct dat_lmr_triplet *iov,
				     union dat_context cookie,
				     const struct dat_rmr_triplet *remote,
				     int ret, unsigned long irq)
	__releases(&ep->req.post_lock)
{
	spin_unlock_irqrestore(&ep->req.post_lock, irq);
	/* siw may take in a moment what it has refused now. */
	if (ret < 0 && ret != -ENOTCONN)
		return ret;
	return kdapl_dto_request_long(ep, op, 1, iov, cookie, remote,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

static noinline int dto_recv_rest(struct dat_ep *ep,
				  const struct dat_lmr_triplet *iov,
				  union dat_context cookie, int ret,
				  unsigned long irq)
	__releases(&ep->recv.post_lock)
{
	spin_unlock_irqrestore(&ep->recv.post_lock, irq);
	if (ret < 0 && ret != -ENOTCONN)
		return ret;
	return kdapl_dto_recv_long(ep, 1, iov, cookie,
				   DAT_COMPLETION_DEFAULT_FLAG);
}

static __always_inline int
dto_request(struct dat_ep *ep, enum dat_dtos op, int num,
	    const struct dat_lmr_triplet *iov, union dat_context cookie,
	    const struct dat_rmr_triplet *remote,
	    enum dat_completion_flags flags)
{
	unsigned long irq;
	int ret;

	if (unlikely(!ep || num != 1 || !iov || flags ||
		     (op != DAT_DTO_SEND && !remote)))
		return kdapl_dto_request_long(ep, op, num, iov, cookie, remote,
					      flags);

	spin_lock_irqsave(&ep->req.post_lock, irq);
	OPTIMIZER_HIDE_VAR(ep);
	ret = op == DAT_DTO_SEND ?
	      dto_send_short_locked(ep, iov, cookie) :
	      dto_write_short_locked(ep, iov, cookie, remote);
	OPTIMIZER_HIDE_VAR(ep);
	if (unlikely(ret))
		return dto_request_rest(ep, op, iov, cookie, remote, ret, irq);
	spin_unlock_irqrestore(&ep->req.post_lock, irq);
	return 0;
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
 * register, in one segment, can be read into; or windows, by
 * dat_ep_post_rdma_read_to_rmr(). Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: as dat_ep_post_send(); -EINVAL also: the connection has none, as
 * max_rdma_read_out is 0, or on InfiniBand and RoCE the peer's max_rdma_read_in;
 * -EMSGSIZE also: the local segments are shorter than @remote, or that is longer
 * than max_rdma_size; -EACCES also: on iWARP, an LMR that is no such sink, or is
 * larger than one registration of the device; -EOPNOTSUPP: an empty read, over siw.
 */
int dat_ep_post_rdma_read(struct dat_ep *ep, int num_segments,
			  const struct dat_lmr_triplet *local_iov,
			  union dat_context cookie,
			  const struct dat_rmr_triplet *remote,
			  enum dat_completion_flags flags)
{
	return kdapl_dto_request_long(ep, DAT_DTO_RDMA_READ, num_segments, local_iov,
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
 * dequeued; -EBADFD: the EP lacks its PZ or EVDs, or dat_ep_modify() is about to
 * change it; else the errno of the provider.
 */
int dat_ep_post_recv(struct dat_ep *ep, int num_segments,
		     const struct dat_lmr_triplet *local_iov,
		     union dat_context cookie, enum dat_completion_flags flags)
{
	unsigned long irq;
	int ret;

	if (unlikely(!ep || num_segments != 1 || !local_iov || flags))
		return kdapl_dto_recv_long(ep, num_segments, local_iov, cookie,
					   flags);

	spin_lock_irqsave(&ep->recv.post_lock, irq);
	OPTIMIZER_HIDE_VAR(ep);
	ret = dto_recv_short_locked(ep, local_iov, cookie);
	OPTIMIZER_HIDE_VAR(ep);
	if (unlikely(ret))
		return dto_recv_rest(ep, local_iov, cookie, ret, irq);
	spin_unlock_irqrestore(&ep->recv.post_lock, irq);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ep_post_recv);
