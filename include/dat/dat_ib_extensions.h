/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The InfiniBand extensions of DAT 2.0: atomics, RDMA writes with immediate
 * data, counters. The IA attribute extension_supported says whether an adapter
 * has them; where it has not, posts answer -EOPNOTSUPP.
 *
 * Datagrams and collectives have names here, so that a consumer compiles, and
 * answer -EOPNOTSUPP.
 */
#ifndef _DAT_DAT_IB_EXTENSIONS_H
#define _DAT_DAT_IB_EXTENSIONS_H

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/stddef.h>

#include <dat/dat.h>
#include <dat/dat_attr.h>
#include <dat/dat_event.h>

#define DAT_IB_EXTENSION_VERSION	209

enum dat_ib_event_number {
	DAT_IB_DTO_EVENT = DAT_IB_EXTENSION_RANGE_BASE,
	DAT_IB_UD_CONNECTION_REQUEST_EVENT,
	DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
	DAT_IB_UD_CONNECTION_REJECT_EVENT,
	DAT_IB_UD_CONNECTION_ERROR_EVENT,
	DAT_IB_COLLECTIVE_EVENT,
};

/* Operations of a DAT_IB_DTO_EVENT, behind enum dat_dtos. */
enum dat_ib_dtos {
	DAT_IB_DTO_RDMA_WRITE_IMMED = DAT_DTO_EXTENSION_BASE,
	DAT_IB_DTO_RECV_IMMED,		/* of an RDMA write with immediate */
	DAT_IB_DTO_FETCH_ADD,
	DAT_IB_DTO_CMP_SWAP,
	DAT_IB_DTO_RECV_MSG_IMMED,	/* of a message with immediate data */
	DAT_IB_DTO_SEND_UD,
	DAT_IB_DTO_RECV_UD,
	DAT_IB_DTO_RECV_UD_IMMED,
	DAT_IB_DTO_COLLECTIVES,
};

enum dat_ib_ext_type {
	DAT_IB_FETCH_AND_ADD,
	DAT_IB_CMP_AND_SWAP,
	DAT_IB_RDMA_WRITE_IMMED,
	DAT_IB_RDMA_WRITE_IMMED_DATA,	/* the peer's end of it */
	DAT_IB_RECV_IMMED_DATA,
};

enum dat_ib_status {
	DAT_OP_SUCCESS,
	DAT_IB_OP_ERR,
};

/* The target of an atomic operation needs it. */
enum dat_ib_mem_priv_flags {
	DAT_IB_MEM_PRIV_REMOTE_ATOMIC = DAT_MEM_PRIV_EXTENSION_BASE,
};

/* In the byte order of the CPU; on the wire it is big endian. */
struct dat_ib_immed_data {
	u32 data;
};

/* What event_extension_data of a DAT_IB_DTO_EVENT holds. */
struct dat_ib_extension_event_data {
	enum dat_ib_ext_type type;
	enum dat_ib_status status;
	union {
		struct dat_ib_immed_data immed;
	} val;
};

static_assert(sizeof(struct dat_ib_extension_event_data) <=
	      sizeof_field(struct dat_event, event_extension_data));

/* The extension of a DAT_IB_DTO_EVENT. */
static inline const struct dat_ib_extension_event_data *
dat_ib_event_extension(const struct dat_event *event)
{
	return (const void *)event->event_extension_data;
}

enum dat_ia_counters {
	DCNT_IA_PZ_CREATE,
	DCNT_IA_PZ_FREE,
	DCNT_IA_LMR_CREATE,
	DCNT_IA_LMR_FREE,
	DCNT_IA_RMR_CREATE,
	DCNT_IA_RMR_FREE,
	DCNT_IA_PSP_CREATE,
	DCNT_IA_PSP_CREATE_ANY,
	DCNT_IA_PSP_FREE,
	DCNT_IA_RSP_CREATE,
	DCNT_IA_RSP_FREE,
	DCNT_IA_EVD_CREATE,
	DCNT_IA_EVD_FREE,
	DCNT_IA_EP_CREATE,
	DCNT_IA_EP_FREE,
	DCNT_IA_SRQ_CREATE,
	DCNT_IA_SRQ_FREE,
	DCNT_IA_SP_CR,
	DCNT_IA_SP_CR_ACCEPTED,
	DCNT_IA_SP_CR_REJECTED,
	DCNT_IA_MEM_ALLOC,		/* always 0 */
	DCNT_IA_MEM_ALLOC_DATA,		/* always 0 */
	DCNT_IA_MEM_FREE,		/* always 0 */
	DCNT_IA_ASYNC_ERROR,
	DCNT_IA_ASYNC_QP_ERROR,
	DCNT_IA_ASYNC_CQ_ERROR,
	DCNT_IA_ALL_COUNTERS,
};

/* ..._DATA are bytes. Posts and receives count while DCNT_EP_DTO is started. */
enum dat_ep_counters {
	DCNT_EP_CONNECT,
	DCNT_EP_DISCONNECT,
	DCNT_EP_POST_SEND,
	DCNT_EP_POST_SEND_DATA,
	DCNT_EP_POST_SEND_UD,		/* always 0, and so below */
	DCNT_EP_POST_SEND_UD_DATA,
	DCNT_EP_POST_RECV,
	DCNT_EP_POST_RECV_DATA,
	DCNT_EP_POST_WRITE,
	DCNT_EP_POST_WRITE_DATA,
	DCNT_EP_POST_WRITE_IMM,
	DCNT_EP_POST_WRITE_IMM_DATA,
	DCNT_EP_POST_READ,
	DCNT_EP_POST_READ_DATA,
	DCNT_EP_POST_CMP_SWAP,
	DCNT_EP_POST_FETCH_ADD,
	DCNT_EP_RECV,
	DCNT_EP_RECV_DATA,
	DCNT_EP_RECV_UD,
	DCNT_EP_RECV_UD_DATA,
	DCNT_EP_RECV_IMM,
	DCNT_EP_RECV_IMM_DATA,
	DCNT_EP_RECV_RDMA_IMM,
	DCNT_EP_RECV_RDMA_IMM_DATA,
	DCNT_EP_ALL_COUNTERS,
};

enum dat_evd_counters {
	DCNT_EVD_WAIT,			/* always 0: there is no such call */
	DCNT_EVD_WAIT_BLOCKED,
	DCNT_EVD_WAIT_NOTIFY,
	DCNT_EVD_DEQUEUE,		/* events dequeued, and so the next */
	DCNT_EVD_DEQUEUE_FOUND,
	DCNT_EVD_DEQUEUE_NOT_FOUND,	/* always 0 */
	DCNT_EVD_DEQUEUE_POLL,		/* completions that made an event */
	DCNT_EVD_DEQUEUE_POLL_FOUND,	/* the same */
	DCNT_EVD_CONN_CALLBACK,		/* connection events and requests */
	DCNT_EVD_DTO_CALLBACK,		/* upcalls */
	DCNT_EVD_ALL_COUNTERS,
};

/* For dat_ib_start_counter(); those of the hardware are in sysfs. */
enum dat_ib_counter_type {
	DCNT_IA_CM,
	DCNT_IA_LNK,
	DCNT_IA_DIAG,
	DCNT_EP_DTO,			/* kdapl's addition */
};

int dat_ib_post_fetch_and_add(struct dat_ep *ep, u64 add_value,
			      const struct dat_lmr_triplet *local_iov,
			      union dat_context cookie,
			      const struct dat_rmr_triplet *remote,
			      enum dat_completion_flags flags);
int dat_ib_post_cmp_and_swap(struct dat_ep *ep, u64 cmp_value, u64 swap_value,
			     const struct dat_lmr_triplet *local_iov,
			     union dat_context cookie,
			     const struct dat_rmr_triplet *remote,
			     enum dat_completion_flags flags);
int dat_ib_post_rdma_write_immed(struct dat_ep *ep, int num_segments,
				 const struct dat_lmr_triplet *local_iov,
				 union dat_context cookie,
				 const struct dat_rmr_triplet *remote,
				 u32 immed_data,
				 enum dat_completion_flags flags);
int dat_ib_query_counters(void *handle, int counter, u64 *counters, bool reset);
int dat_ib_print_counters(void *handle, int counter, bool reset);
int dat_ib_start_counter(struct dat_ia *ia, enum dat_ib_counter_type type);
int dat_ib_stop_counter(struct dat_ia *ia, enum dat_ib_counter_type type);
int dat_ib_open_query(const char *ia_name, struct dat_ia **ia,
		      u64 ia_attr_mask, struct dat_ia_attr *ia_attr,
		      u64 provider_attr_mask,
		      struct dat_provider_attr *provider_attr);
int dat_ib_close_query(struct dat_ia *ia);

/* Datagrams: there is no such service type. */
#define dat_ib_post_send_ud(...)		(-EOPNOTSUPP)
#define dat_ib_post_recv_ud(...)		(-EOPNOTSUPP)
#define dat_ib_ud_cm_free(...)			(-EOPNOTSUPP)
#define dat_ib_ud_ah_free(...)			(-EOPNOTSUPP)

/* Collectives are a library's, not a kernel's. */
#define dat_ib_collective_create_member(...)	(-EOPNOTSUPP)
#define dat_ib_collective_free_member(...)	(-EOPNOTSUPP)
#define dat_ib_collective_create_group(...)	(-EOPNOTSUPP)
#define dat_ib_collective_free_group(...)	(-EOPNOTSUPP)
#define dat_ib_collective_set_clock(...)	(-EOPNOTSUPP)
#define dat_ib_collective_read_clock(...)	(-EOPNOTSUPP)
#define dat_ib_collective_scatter(...)		(-EOPNOTSUPP)
#define dat_ib_collective_scatterv(...)		(-EOPNOTSUPP)
#define dat_ib_collective_gather(...)		(-EOPNOTSUPP)
#define dat_ib_collective_gatherv(...)		(-EOPNOTSUPP)
#define dat_ib_collective_allgather(...)	(-EOPNOTSUPP)
#define dat_ib_collective_allgatherv(...)	(-EOPNOTSUPP)
#define dat_ib_collective_alltoall(...)		(-EOPNOTSUPP)
#define dat_ib_collective_alltoallv(...)	(-EOPNOTSUPP)
#define dat_ib_collective_reduce(...)		(-EOPNOTSUPP)
#define dat_ib_collective_allreduce(...)	(-EOPNOTSUPP)
#define dat_ib_collective_reduce_scatter(...)	(-EOPNOTSUPP)
#define dat_ib_collective_scan(...)		(-EOPNOTSUPP)
#define dat_ib_collective_broadcast(...)	(-EOPNOTSUPP)
#define dat_ib_collective_barrier(...)		(-EOPNOTSUPP)

#endif /* _DAT_DAT_IB_EXTENSIONS_H */
