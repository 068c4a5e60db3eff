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
#include "dto.h"

#include <linux/delay.h>
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "ia.h"
#include "kunit.h"
#include "lmr.h"
#include "trace.h"
#include "upcall.h"

enum {
	/*
	 * siw answers -ENOTCONN while somebody changes the QP's state; that
	 * is over in microseconds, unless the holder of its lock sleeps.
	 */
	DTO_RETRY_US = 100,
	/* Completions flushed with interrupts off at a time. */
	DTO_FLUSH_BATCH = 64,
};

#define DTO_REQUEST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | \
				 DAT_COMPLETION_UNSIGNALLED_FLAG | \
				 DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define DTO_SEND_FLAGS		(DTO_REQUEST_FLAGS | \
				 DAT_COMPLETION_SOLICITED_WAIT_FLAG)

void kdapl_dto_queue_setup(struct kdapl_queue *queue, struct dat_ep *ep,
			   bool request)
{
	queue->ep = ep;
	queue->request = request;
	queue->gate = KDAPL_QUEUE_CLOSED;
	spin_lock_init(&queue->post_lock);
}

/**
 * kdapl_dto_queue_init - contexts for a QP
 * @queue: after kdapl_dto_queue_setup(); its gate is closed
 * @evd: where its completions go, a hidden one if the consumer named none
 * @depth: requests of the consumer, may be 0
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int kdapl_dto_queue_init(struct kdapl_queue *queue, struct dat_evd *evd,
			 u32 depth)
{
	u32 extra = queue->request ? KDAPL_QUEUE_EXTRA_SEND :
				     KDAPL_QUEUE_EXTRA_RECV;
	u32 size = roundup_pow_of_two(depth + extra);
	size_t contexts = array_size(size, sizeof(*queue->wr));
	struct kdapl_wr *wr;
	u32 i;

	might_sleep();

	/* The scratch entries stand behind the contexts. */
	wr = kvzalloc(size_add(contexts,
			       KDAPL_DTO_MAX_SGE * sizeof(struct ib_sge)),
		      GFP_KERNEL);
	if (!wr)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		wr[i].queue = queue;

	queue->wr = wr;
	queue->sge = (struct ib_sge *)(wr + size);
	queue->mask = size - 1;
	queue->depth = depth;
	queue->evd = evd;
	queue->head = 0;
	queue->tail = 0;
	queue->posted = 0;
	queue->released = 0;
	queue->suppressed = 0;
	return 0;
}

/* Nothing is outstanding, and the EVD holds no event of the queue any more. */
void kdapl_dto_queue_free(struct kdapl_queue *queue)
{
	kvfree(queue->wr);
	queue->wr = NULL;
	queue->sge = NULL;
	queue->evd = NULL;
	queue->depth = 0;
}

void kdapl_dto_set_gate(struct kdapl_queue *queue, enum kdapl_queue_gate gate)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->post_lock, flags);
	queue->gate = gate;
	spin_unlock_irqrestore(&queue->post_lock, flags);
}

u32 kdapl_dto_outstanding(const struct kdapl_queue *queue)
{
	u32 tail = READ_ONCE(queue->tail);

	/* Tail first: it never passes a head that is read later. */
	smp_rmb();
	return READ_ONCE(queue->head) - tail;
}

void kdapl_dto_flush_software(struct kdapl_queue *queue)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };
	struct dat_evd *evd = queue->evd;
	unsigned long flags;
	u32 notifying, n, head;
	bool trigger;

	if (!evd)
		return;

	do {
		spin_lock_irqsave(&evd->lock, flags);
		notifying = evd->notifying;
		/* Pairs with the release in dto_publish_locked(). */
		head = smp_load_acquire(&queue->head);
		for (n = 0; n < DTO_FLUSH_BATCH && queue->tail != head; n++) {
			wc.wr_id = (uintptr_t)&queue->wr[queue->tail &
							 queue->mask];
			kdapl_dto_complete_locked(evd, &wc);
		}
		trigger = evd->notifying != notifying;
		spin_unlock_irqrestore(&evd->lock, flags);
		if (trigger)
			kdapl_upcall_trigger(evd);
	} while (n == DTO_FLUSH_BATCH);
}

/* The next context; counts only once dto_publish_locked() was called. */
static struct kdapl_wr *dto_context(struct kdapl_queue *queue)
{
	return &queue->wr[queue->head & queue->mask];
}

static void dto_publish_locked(struct kdapl_queue *queue)
{
	/* Whoever sees the new head sees the context. */
	smp_store_release(&queue->head, queue->head + 1);
}

static void dto_retract_locked(struct kdapl_queue *queue)
{
	WRITE_ONCE(queue->head, queue->head - 1);
}

static bool dto_has_credit(struct kdapl_queue *queue)
{
	/* Pairs with the release that gives a credit back. */
	return queue->posted - smp_load_acquire(&queue->released) <
	       queue->depth;
}

/* Takes a context that no QP will see. 1: to be flushed at once. */
static noinline int dto_not_posted(struct kdapl_queue *queue,
				   struct kdapl_wr *wr)
{
	trace_kdapl_dto_post(queue->ep->obj.id, wr->op, wr->len, 0);
	if (queue->gate == KDAPL_QUEUE_HOLD)
		wr->flags |= KDAPL_WR_HELD;
	queue->posted++;
	dto_publish_locked(queue);
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
	return kdapl_lmr_build_sge(ep, iov, num, need, queue->sge, max_sge,
				   &queue->total);
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
	if (unlikely(!dto_has_credit(queue)))
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

	wr = dto_context(queue);
	wr->cookie = cookie;
	wr->len = queue->total;
	wr->op = op;
	wr->flags = wr_flags;
	if (unlikely(queue->gate != KDAPL_QUEUE_OPEN))
		return dto_not_posted(queue, wr);
	queue->posted++;
	dto_publish_locked(queue);

	rdma->wr.wr_id = (uintptr_t)wr;
	rdma->wr.sg_list = queue->sge;
	rdma->wr.num_sge = ret;
	rdma->wr.send_flags = send_flags;
	ret = ib_post_send(ep->qp, &rdma->wr, &queue->bad_send);
	trace_kdapl_dto_post(ep->obj.id, op, queue->total, ret);
	if (unlikely(ret)) {
		dto_retract_locked(queue);
		queue->posted--;
		return ret;
	}
	queue->suppressed = send_flags & IB_SEND_SIGNALED ?
			    0 : queue->suppressed + 1;
	return 0;
}

/* siw refuses posts while the QP's state changes: a few more tries. */
static bool dto_retry(struct dat_ep *ep, int ret, unsigned int *tries)
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

	while (ret < 0 && dto_retry(ep, ret, &tries)) {
		spin_lock_irqsave(&queue->post_lock, irq);
		ret = dto_request_locked(queue, ep, op, num, iov, cookie,
					 remote, flags);
		spin_unlock_irqrestore(&queue->post_lock, irq);
	}
	if (ret > 0) {
		kdapl_dto_flush_software(queue);
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
		if (flags & ~(op == DAT_DTO_SEND ? DTO_SEND_FLAGS :
						   DTO_REQUEST_FLAGS))
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
	if (unlikely(!dto_has_credit(queue)))
		return -ENOSPC;

	ret = dto_sge(queue, ep, num, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
		      ep->max_sge_recv);
	if (unlikely(ret < 0))
		return ret;

	wr = dto_context(queue);
	wr->cookie = cookie;
	wr->len = queue->total;
	wr->op = DAT_DTO_RECEIVE;
	wr->flags = 0;
	if (unlikely(flags & DAT_COMPLETION_UNSIGNALLED_FLAG))
		wr->flags = KDAPL_WR_UNSIGNALLED;
	if (unlikely(queue->gate != KDAPL_QUEUE_OPEN))
		return dto_not_posted(queue, wr);
	queue->posted++;
	dto_publish_locked(queue);

	recv->wr_id = (uintptr_t)wr;
	recv->sg_list = queue->sge;
	recv->num_sge = ret;
	ret = ib_post_recv(ep->qp, recv, &queue->bad_recv);
	trace_kdapl_dto_post(ep->obj.id, DAT_DTO_RECEIVE, queue->total, ret);
	if (unlikely(ret)) {
		dto_retract_locked(queue);
		queue->posted--;
	}
	return ret;
}

static noinline int dto_recv_rest(struct dat_ep *ep, int num,
				  const struct dat_lmr_triplet *iov,
				  union dat_context cookie,
				  enum dat_completion_flags flags, int ret)
{
	struct kdapl_queue *queue = &ep->recv;
	unsigned int tries = 0;
	unsigned long irq;

	while (ret < 0 && dto_retry(ep, ret, &tries)) {
		spin_lock_irqsave(&queue->post_lock, irq);
		ret = dto_recv_locked(queue, ep, num, iov, cookie, flags);
		spin_unlock_irqrestore(&queue->post_lock, irq);
	}
	if (ret > 0) {
		kdapl_dto_flush_software(queue);
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

/* A context that holds no credit; NULL: all are with the provider. */
static struct kdapl_wr *dto_internal_locked(struct kdapl_queue *queue, u8 op,
					    void *cookie)
{
	struct kdapl_wr *wr;

	if (kdapl_dto_outstanding(queue) > queue->mask)
		return NULL;
	wr = dto_context(queue);
	wr->cookie.as_ptr = cookie;
	wr->len = 0;
	wr->op = op;
	wr->flags = KDAPL_WR_INTERNAL;
	dto_publish_locked(queue);
	return wr;
}

int kdapl_dto_post_marker(struct kdapl_queue *queue)
{
	struct ib_rdma_wr send = {
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_recv_wr recv = {};
	struct kdapl_wr *wr;
	unsigned long flags;
	int ret = -ENOSPC;

	spin_lock_irqsave(&queue->post_lock, flags);
	wr = dto_internal_locked(queue, KDAPL_OP_MARKER, NULL);
	if (!wr)
		goto out_unlock;

	if (queue->request) {
		send.wr.wr_id = (uintptr_t)wr;
		ret = ib_post_send(queue->ep->qp, &send.wr, NULL);
	} else {
		recv.wr_id = (uintptr_t)wr;
		ret = ib_post_recv(queue->ep->qp, &recv, NULL);
	}
	trace_kdapl_dto_post(queue->ep->obj.id, KDAPL_OP_MARKER, 0, ret);
	if (ret)
		dto_retract_locked(queue);
	else if (queue->request)
		queue->suppressed = 0;
out_unlock:
	spin_unlock_irqrestore(&queue->post_lock, flags);
	return ret;
}

KDAPL_EXPORT_FOR_TEST(kdapl_dto_post_marker);

int kdapl_dto_post_reg(struct kdapl_queue *queue, struct dat_lmr *lmr, u32 key,
		       int access)
{
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.mr = lmr->mr,
		.key = key,
		.access = access,
	};
	struct kdapl_wr *wr;
	unsigned long flags;
	int ret = -ENOSPC;

	spin_lock_irqsave(&queue->post_lock, flags);
	wr = dto_internal_locked(queue, KDAPL_OP_REG, lmr);
	if (!wr)
		goto out_unlock;

	reg.wr.wr_id = (uintptr_t)wr;
	ret = ib_post_send(queue->ep->qp, &reg.wr, NULL);
	trace_kdapl_dto_post(queue->ep->obj.id, KDAPL_OP_REG, 0, ret);
	if (ret)
		dto_retract_locked(queue);
	else
		queue->suppressed = 0;
out_unlock:
	spin_unlock_irqrestore(&queue->post_lock, flags);
	return ret;
}
