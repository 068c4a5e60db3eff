// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: requests that are rare, and the extensions of InfiniBand
 *
 * They go the way of dto.c, through the same queue and under the same lock, but
 * without its short cuts.
 */
#include <linux/export.h>

#include <dat/dat_ib_extensions.h>
#include <dat/kdat.h>

#include "counters.h"
#include "dto.h"
#include "ep.h"
#include "evd.h"
#include "frmr.h"
#include "ia.h"
#include "lmr.h"
#include "queue.h"
#include "rmr.h"
#include "trace.h"

enum {
	/* What an atomic operation works on. */
	EXT_ATOMIC_SIZE = 8,
};

/**
 * struct dto_ext - a request
 * @atomic: its head is the struct ib_send_wr
 * @rdma: the same, for RDMA
 * @op: what the event says
 * @wr_flags: KDAPL_WR_EXT or 0
 * @sink: the window that is read into, in the place of local segments; or NULL
 * @need: privileges of the local segments
 * @exact: their length, 0 for any
 * @room: the most they may be long
 */
struct dto_ext {
	union {
		struct ib_atomic_wr atomic;
		struct ib_rdma_wr rdma;
	};
	u8 op;
	u8 wr_flags;
	const struct dat_rmr_triplet *sink;
	u32 need;
	u32 exact;
	u32 room;
};

/* Entries of the local segments, or of the window; their number or an errno. */
static int ext_sge_locked(struct kdapl_queue *queue, struct dat_ep *ep,
			  const struct dto_ext *ext, int num,
			  const struct dat_lmr_triplet *iov)
{
	int ret;

	if (!ext->sink)
		return kdapl_lmr_index_sge(ep->obj.ia, ep->config.pz, ep, iov,
					   num, ext->need, queue->sge,
					   ep->max_sge_send, &queue->total);
	ret = kdapl_rmr_sink(ep, ext->sink, queue->sge);
	if (ret)
		return ret;
	/* A read moves as many bytes as its entries name. */
	queue->sge->length = ext->room;
	queue->total = ext->room;
	if (ext->room)
		return 1;
	return kdapl_dto_reads_nothing(ep) ? 0 : -EOPNOTSUPP;
}

/* As dto_request_locked(): 1 for what is to be flushed at once. */
static int ext_post_locked(struct kdapl_queue *queue, struct dat_ep *ep,
			   struct dto_ext *ext, int num,
			   const struct dat_lmr_triplet *iov,
			   union dat_context cookie,
			   enum dat_completion_flags flags)
{
	int ret;

	if (queue->gate == KDAPL_QUEUE_CLOSED)
		return kdapl_ep_post_error(ep, true);
	if (!kdapl_dto_has_credit(queue))
		return -ENOSPC;
	ret = ext_sge_locked(queue, ep, ext, num, iov);
	if (ret < 0)
		return ret;
	if (queue->total > ext->room ||
	    (ext->exact && queue->total != ext->exact))
		return -EMSGSIZE;

	return kdapl_dto_send_locked(queue, &ext->atomic.wr, ext->op,
				     ext->wr_flags, ret, cookie, flags);
}

static int ext_post(struct dat_ep *ep, struct dto_ext *ext, int num,
		    const struct dat_lmr_triplet *iov,
		    union dat_context cookie, enum dat_completion_flags flags)
{
	struct kdapl_queue *queue = &ep->req;
	unsigned int tries = 0;
	unsigned long irq;
	int ret;

	if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG &
	    ~ep->config.attr.request_completion_flags)
		return -EINVAL;
	do {
		spin_lock_irqsave(&queue->post_lock, irq);
		ret = ext_post_locked(queue, ep, ext, num, iov, cookie, flags);
		ret = kdapl_dto_unlock(queue, irq, ret);
	} while (ret < 0 && kdapl_dto_retry(ep, ret, &tries));
	return ret;
}

/**
 * dat_ep_post_send_with_invalidate - send a message, and take a key back
 * @ep: the EP, connected or disconnected
 * @num_segments: as for dat_ep_post_send()
 * @local_iov: as for dat_ep_post_send()
 * @cookie: given back in the event, which is that of a send
 * @flags: as for dat_ep_post_send()
 * @invalidate_flag: false: as dat_ep_post_send()
 * @rmr_context: a key of the peer's, that nobody may use once the message is
 *	there; its event is %DAT_DTO_RECEIVE_WITH_INVALIDATE
 *
 * Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: as dat_ep_post_send(); -EOPNOTSUPP also: the device cannot invalidate.
 */
int dat_ep_post_send_with_invalidate(struct dat_ep *ep, int num_segments,
				     const struct dat_lmr_triplet *local_iov,
				     union dat_context cookie,
				     enum dat_completion_flags flags,
				     bool invalidate_flag, u32 rmr_context)
{
	struct dto_ext ext = {
		.atomic.wr.opcode = IB_WR_SEND_WITH_INV,
		.atomic.wr.ex.invalidate_rkey = rmr_context,
		.op = DAT_DTO_SEND,
		.need = DAT_MEM_PRIV_LOCAL_READ_FLAG,
	};

	if (!invalidate_flag)
		return dat_ep_post_send(ep, num_segments, local_iov, cookie,
					flags);
	if (!ep || num_segments < 0 || (num_segments && !local_iov) ||
	    num_segments > ep->config.attr.max_request_iov ||
	    flags & ~KDAPL_DTO_SEND_FLAGS)
		return -EINVAL;
	if (!(ep->obj.ia->dev_attr.device_cap_flags &
	      IB_DEVICE_MEM_MGT_EXTENSIONS))
		return -EOPNOTSUPP;
	ext.room = ep->config.attr.max_message_size;
	return ext_post(ep, &ext, num_segments, local_iov, cookie, flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_send_with_invalidate);

/**
 * dat_ep_post_rdma_read_to_rmr - read the peer's memory into a window
 * @ep: the EP, connected or disconnected
 * @local: where to: a part of an RMR that is bound with
 *	%DAT_MEM_PRIV_REMOTE_WRITE_FLAG, under the context of that bind
 * @cookie: given back in the event, which is that of an RDMA read
 * @remote: what to read, segment_length bytes; @local may hold more
 * @flags: as for dat_ep_post_rdma_read()
 *
 * On the EP that has posted the bind it can follow at once, on others when the
 * bind has completed. On iWARP this way the sink of a read is memory that nothing
 * but this window shows to the peer. Origin: DAT 2.0.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: 0; -EINVAL: NULL, a flag that does not apply, a context that is not that
 * of a bound RMR, a range outside of the window, or a connection that has no reads,
 * as there; -EPERM: an RMR of another PZ, or with %DAT_RMR_SCOPE_EP of another EP;
 * -EACCES: a window without the privilege; -EBUSY: its bind has not completed on
 * another EP; -EMSGSIZE: @remote is longer than @local or than max_rdma_size;
 * -EOPNOTSUPP: an empty read, over siw; -ENOSPC, and the state of the EP: as
 * dat_ep_post_send(); else the errno of the provider.
 */
int dat_ep_post_rdma_read_to_rmr(struct dat_ep *ep,
				 const struct dat_rmr_triplet *local,
				 union dat_context cookie,
				 const struct dat_rmr_triplet *remote,
				 enum dat_completion_flags flags)
{
	struct dto_ext ext = {
		.rdma.wr.opcode = IB_WR_RDMA_READ,
		.op = DAT_DTO_RDMA_READ,
		.sink = local,
	};

	if (!ep || !local || !remote || flags & ~KDAPL_DTO_REQUEST_FLAGS)
		return -EINVAL;
	if (remote->segment_length > local->segment_length ||
	    remote->segment_length > ep->config.attr.max_rdma_size)
		return -EMSGSIZE;
	ext.rdma.remote_addr = remote->virtual_address;
	ext.rdma.rkey = remote->rmr_context;
	ext.room = remote->segment_length;
	return ext_post(ep, &ext, 0, NULL, cookie, flags);
}
EXPORT_SYMBOL_GPL(dat_ep_post_rdma_read_to_rmr);

/**
 * dat_ib_post_rdma_write_immed - write the peer's memory, and tell it so
 * @ep: the EP, connected or disconnected
 * @num_segments: as for dat_ep_post_rdma_write()
 * @local_iov: as for dat_ep_post_rdma_write()
 * @cookie: given back in the event
 * @remote: as for dat_ep_post_rdma_write()
 * @immed_data: for the peer, whose next receive completes with it; a number, sent
 *	in network byte order
 * @flags: as for dat_ep_post_send()
 *
 * The event is a %DAT_IB_DTO_EVENT of type %DAT_IB_RDMA_WRITE_IMMED; the peer's
 * of type %DAT_IB_RDMA_WRITE_IMMED_DATA. Origin: DAT 2.0, IB extensions.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: as dat_ep_post_rdma_write(); -EOPNOTSUPP also: iWARP.
 */
int dat_ib_post_rdma_write_immed(struct dat_ep *ep, int num_segments,
				 const struct dat_lmr_triplet *local_iov,
				 union dat_context cookie,
				 const struct dat_rmr_triplet *remote,
				 u32 immed_data,
				 enum dat_completion_flags flags)
{
	struct dto_ext ext = {
		.rdma.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
		.rdma.wr.ex.imm_data = cpu_to_be32(immed_data),
		.op = DAT_IB_DTO_RDMA_WRITE_IMMED,
		.wr_flags = KDAPL_WR_EXT,
		.need = DAT_MEM_PRIV_LOCAL_READ_FLAG,
	};

	if (!ep || num_segments < 0 || (num_segments && !local_iov) ||
	    num_segments > ep->config.attr.max_rdma_write_iov || !remote ||
	    flags & ~KDAPL_DTO_SEND_FLAGS)
		return -EINVAL;
	if (ep->obj.ia->iwarp)
		return -EOPNOTSUPP;
	ext.rdma.remote_addr = remote->virtual_address;
	ext.rdma.rkey = remote->rmr_context;
	ext.room = min(remote->segment_length, ep->config.attr.max_rdma_size);
	return ext_post(ep, &ext, num_segments, local_iov, cookie, flags);
}
EXPORT_SYMBOL_GPL(dat_ib_post_rdma_write_immed);

static int ext_atomic(struct dat_ep *ep, struct dto_ext *ext,
		      const struct dat_lmr_triplet *iov,
		      union dat_context cookie,
		      const struct dat_rmr_triplet *remote,
		      enum dat_completion_flags flags)
{
	if (!ep || !iov || !remote || flags & ~KDAPL_DTO_REQUEST_FLAGS)
		return -EINVAL;
	if (!kdapl_ia_has_atomics(ep->obj.ia))
		return -EOPNOTSUPP;
	if (!IS_ALIGNED(remote->virtual_address, EXT_ATOMIC_SIZE))
		return -EINVAL;
	if (remote->segment_length != EXT_ATOMIC_SIZE)
		return -EMSGSIZE;
	ext->wr_flags = KDAPL_WR_EXT;
	ext->need = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	ext->exact = EXT_ATOMIC_SIZE;
	ext->room = EXT_ATOMIC_SIZE;
	ext->atomic.remote_addr = remote->virtual_address;
	ext->atomic.rkey = remote->rmr_context;
	return ext_post(ep, ext, 1, iov, cookie, flags);
}

/**
 * dat_ib_post_fetch_and_add - add to a number in the peer's memory
 * @ep: the EP, connected or disconnected
 * @add_value: what is added
 * @local_iov: eight bytes for the old value, in the CPU's byte order; needs
 *	%DAT_MEM_PRIV_LOCAL_WRITE_FLAG
 * @cookie: given back in the event
 * @remote: eight bytes, aligned, in memory with
 *	%DAT_IB_MEM_PRIV_REMOTE_ATOMIC
 * @flags: as for dat_ep_post_rdma_read()
 *
 * The event is a %DAT_IB_DTO_EVENT of type %DAT_IB_FETCH_AND_ADD. An atomic
 * operation counts as an RDMA read. Origin: DAT 2.0, IB extensions.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: as dat_ep_post_rdma_read(); -EINVAL also: @remote is not aligned;
 * -EMSGSIZE also: not eight bytes; -EOPNOTSUPP: the device has no atomics.
 */
int dat_ib_post_fetch_and_add(struct dat_ep *ep, u64 add_value,
			      const struct dat_lmr_triplet *local_iov,
			      union dat_context cookie,
			      const struct dat_rmr_triplet *remote,
			      enum dat_completion_flags flags)
{
	struct dto_ext ext = {
		.atomic.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
		.atomic.compare_add = add_value,
		.op = DAT_IB_DTO_FETCH_ADD,
	};

	return ext_atomic(ep, &ext, local_iov, cookie, remote, flags);
}
EXPORT_SYMBOL_GPL(dat_ib_post_fetch_and_add);

/**
 * dat_ib_post_cmp_and_swap - change a number in the peer's memory if it is the
 *	one that is expected
 * @ep: the EP, connected or disconnected
 * @cmp_value: what is expected
 * @swap_value: what it becomes
 * @local_iov: as for dat_ib_post_fetch_and_add()
 * @cookie: given back in the event
 * @remote: as for dat_ib_post_fetch_and_add()
 * @flags: as for dat_ep_post_rdma_read()
 *
 * The event is a %DAT_IB_DTO_EVENT of type %DAT_IB_CMP_AND_SWAP.
 * Origin: DAT 2.0, IB extensions.
 *
 * Context: any. Allocates nothing and never sleeps.
 * Return: as dat_ib_post_fetch_and_add().
 */
int dat_ib_post_cmp_and_swap(struct dat_ep *ep, u64 cmp_value, u64 swap_value,
			     const struct dat_lmr_triplet *local_iov,
			     union dat_context cookie,
			     const struct dat_rmr_triplet *remote,
			     enum dat_completion_flags flags)
{
	struct dto_ext ext = {
		.atomic.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP,
		.atomic.compare_add = cmp_value,
		.atomic.swap = swap_value,
		.op = DAT_IB_DTO_CMP_SWAP,
	};

	return ext_atomic(ep, &ext, local_iov, cookie, remote, flags);
}
EXPORT_SYMBOL_GPL(dat_ib_post_cmp_and_swap);

static void ext_data(struct kdapl_slot *slot, enum dat_ib_ext_type type,
		     u32 immed_data)
{
	struct dat_ib_extension_event_data *data = (void *)slot->extension;
	enum dat_dto_completion_status status;

	status = slot->data.dto_completion_event_data.status;
	slot->number = DAT_IB_DTO_EVENT;
	memset(slot->extension, 0, sizeof(slot->extension));
	data->type = type;
	data->status = status == DAT_DTO_SUCCESS ? DAT_OP_SUCCESS :
						   DAT_IB_OP_ERR;
	data->val.immed.data = immed_data;
}

void kdapl_ext_request_event_locked(struct kdapl_slot *slot, u8 op)
{
	switch (op) {
	case DAT_IB_DTO_FETCH_ADD:
		ext_data(slot, DAT_IB_FETCH_AND_ADD, 0);
		break;
	case DAT_IB_DTO_CMP_SWAP:
		ext_data(slot, DAT_IB_CMP_AND_SWAP, 0);
		break;
	default:
		ext_data(slot, DAT_IB_RDMA_WRITE_IMMED, 0);
		break;
	}
}

void kdapl_ext_recv_event_locked(struct kdapl_slot *slot,
				 const struct ib_wc *wc)
{
	struct dat_dto_completion_event_data *dto;

	dto = &slot->data.dto_completion_event_data;
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		dto->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		dto->rmr_context = wc->ex.invalidate_rkey;
		kdapl_frmr_invalidated(dto->ep_handle, dto->rmr_context);
	} else if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM) {
		dto->operation = (enum dat_dtos)DAT_IB_DTO_RECV_IMMED;
		ext_data(slot, DAT_IB_RDMA_WRITE_IMMED_DATA,
			 be32_to_cpu(wc->ex.imm_data));
	} else if (wc->wc_flags & IB_WC_WITH_IMM) {
		dto->operation = (enum dat_dtos)DAT_IB_DTO_RECV_MSG_IMMED;
		ext_data(slot, DAT_IB_RECV_IMMED_DATA,
			 be32_to_cpu(wc->ex.imm_data));
	}
}
