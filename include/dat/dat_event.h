/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events, the EVDs that carry them and the upcalls that announce them.
 */
#ifndef _DAT_EVENT_H
#define _DAT_EVENT_H

#include <dat/dat.h>

/* Event streams that an EVD may carry. */
enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG = 0x001,
	DAT_EVD_CR_FLAG = 0x010,
	DAT_EVD_DTO_FLAG = 0x020,
	DAT_EVD_CONNECTION_FLAG = 0x040,
	DAT_EVD_RMR_BIND_FLAG = 0x080,
	DAT_EVD_ASYNC_FLAG = 0x100,
	DAT_EVD_DEFAULT_FLAG = 0x1f0,	/* all but software events */
	DAT_EVD_EXTENSION_BASE = 0x200,
	/*
	 * kdapl's addition: upcalls run in process context even if the EVD
	 * carries DTO and bind completions only.
	 */
	DAT_EVD_UPCALL_THREAD_FLAG = 0x10000,
};

enum dat_dto_completion_status {
	DAT_DTO_SUCCESS = 0,
	DAT_DTO_ERR_FLUSHED = 1,
	DAT_DTO_ERR_LOCAL_LENGTH = 2,
	DAT_DTO_ERR_LOCAL_EP = 3,
	DAT_DTO_ERR_LOCAL_PROTECTION = 4,
	DAT_DTO_ERR_BAD_RESPONSE = 5,
	DAT_DTO_ERR_REMOTE_ACCESS = 6,
	DAT_DTO_ERR_REMOTE_RESPONDER = 7,
	DAT_DTO_ERR_TRANSPORT = 8,
	DAT_DTO_ERR_RECEIVER_NOT_READY = 9,
	DAT_DTO_ERR_PARTIAL_PACKET = 10,
	DAT_RMR_OPERATION_FAILED = 11,
	DAT_DTO_ERR_LOCAL_MM_ERROR = 12,
};

#define DAT_RMR_BIND_SUCCESS	DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE	DAT_DTO_ERR_FLUSHED

/* transfered_length and rmr_context are defined on success only. */
struct dat_dto_completion_event_data {
	struct dat_ep *ep_handle;
	union dat_context user_cookie;
	enum dat_dto_completion_status status;
	u32 transfered_length;
	enum dat_dtos operation;
	u32 rmr_context;
};

struct dat_rmr_bind_completion_event_data {
	struct dat_rmr *rmr_handle;
	union dat_context user_cookie;
	enum dat_dto_completion_status status;
};

union dat_sp_handle {
	struct dat_rsp *rsp_handle;
	struct dat_psp *psp_handle;
	struct dat_csp *csp_handle;
};

struct dat_cr_arrival_event_data {
	union dat_sp_handle sp_handle;
	struct sockaddr *local_ia_address_ptr;
	u64 conn_qual;
	struct dat_cr *cr_handle;
	bool truncate_flag;
};

/* The private data lives in the EP until its reset or free. */
struct dat_connection_event_data {
	struct dat_ep *ep_handle;
	int private_data_size;
	const void *private_data;
};

/* dat_handle is an IA, EP, EVD, SRQ, LMR, RMR or PZ; reason is its own kind's. */
struct dat_asynch_error_event_data {
	void *dat_handle;
	int reason;
};

enum dat_ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR,
	DAT_IA_OTHER_ERROR,
};

enum dat_ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR,
	DAT_EP_OTHER_ERROR,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT,
};

enum dat_evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR,
	DAT_EVD_OTHER_ERROR,
};

enum dat_srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR,
	DAT_SRQ_OTHER_ERROR,
	DAT_SRQ_LOW_WATERMARK_EVENT,
};

enum dat_lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR,
};

enum dat_rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR,
};

enum dat_pz_async_error_reason {
	DAT_PZ_OTHER_ERROR,
};

struct dat_software_event_data {
	void *pointer;
};

enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT = 0x00001,
	DAT_RMR_BIND_COMPLETION_EVENT = 0x01001,
	DAT_CONNECTION_REQUEST_EVENT = 0x02001,
	DAT_CONNECTION_EVENT_ESTABLISHED = 0x04001,
	DAT_CONNECTION_EVENT_PEER_REJECTED = 0x04002,
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x04003,
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x04004,
	DAT_CONNECTION_EVENT_DISCONNECTED = 0x04005,
	DAT_CONNECTION_EVENT_BROKEN = 0x04006,
	DAT_CONNECTION_EVENT_TIMED_OUT = 0x04007,
	DAT_CONNECTION_EVENT_UNREACHABLE = 0x04008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x08001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x08002,
	DAT_ASYNC_ERROR_EP_BROKEN = 0x08003,
	DAT_ASYNC_ERROR_TIMED_OUT = 0x08004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x08005,
	DAT_HA_DOWN_TO_1 = 0x08101,
	DAT_HA_UP_TO_MULTI_PATH = 0x08102,
	DAT_SOFTWARE_EVENT = 0x10001,
	DAT_EXTENSION_EVENT = 0x20000,
	DAT_IB_EXTENSION_RANGE_BASE = 0x40000,
	DAT_IW_EXTENSION_RANGE_BASE = 0x80000,
};

union dat_event_data {
	struct dat_dto_completion_event_data dto_completion_event_data;
	struct dat_rmr_bind_completion_event_data rmr_completion_event_data;
	struct dat_cr_arrival_event_data cr_arrival_event_data;
	struct dat_connection_event_data connect_event_data;
	struct dat_asynch_error_event_data asynch_error_event_data;
	struct dat_software_event_data software_event_data;
};

/* event_extension_data is defined for extension events only. */
struct dat_event {
	enum dat_event_number event_number;
	struct dat_evd *evd_handle;
	union dat_event_data event_data;
	u64 event_extension_data[8];
};

enum dat_upcall_policy {
	DAT_UPCALL_TEARDOWN = -1,	/* none, ever again; waits for those running */
	DAT_UPCALL_DISABLE = 0,
	DAT_UPCALL_SINGLE_INSTANCE = 1,	/* never two at once */
	DAT_UPCALL_NOTIFY = 2,		/* one-shot, hands over no event */
	DAT_UPCALL_NORIFY = DAT_UPCALL_NOTIFY,	/* the specification's spelling */
	DAT_UPCALL_MANY = 100,		/* upcalls may overlap */
};

enum dat_upcall_flag {
	DAT_UPCALL_INVOC_NEW = 0,	/* -EBUSY while events are queued */
	DAT_UPCALL_INVOC_ANY = 1,	/* queued events get an upcall at once */
};

/**
 * struct dat_upcall_object - what an EVD calls
 * @instance_data: given to @upcall_func as it is
 * @upcall_func: called with @instance_data, the event (NULL under
 *	DAT_UPCALL_NOTIFY; else a copy that lives as long as the call, already
 *	taken off the queue) and whether more events were queued at that moment
 *
 * The object is copied by the call that it is passed to.
 */
struct dat_upcall_object {
	void *instance_data;
	void (*upcall_func)(void *instance_data, const struct dat_event *event,
			    bool more_events);
};

#define DAT_UPCALL_NULL		((struct dat_upcall_object){ NULL, NULL })
#define DAT_UPCALL_SAME		((const struct dat_upcall_object *)NULL)

struct dat_evd_param {
	struct dat_ia *ia_handle;
	int evd_qlen;
	enum dat_upcall_policy upcall_policy;
	struct dat_upcall_object upcall;
	enum dat_evd_flags evd_flags;
};

enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE = 0x01,
	DAT_EVD_FIELD_EVD_QLEN = 0x02,
	DAT_EVD_FIELD_UPCALL_POLICY = 0x04,
	DAT_EVD_FIELD_UPCALL = 0x08,
	DAT_EVD_FIELD_EVD_FLAGS = 0x10,
	DAT_EVD_FIELD_ALL = 0x1f,
};

/* Which members of struct dat_evd_attr dat_evd_set_attr() is to look at. */
enum dat_evd_attr_mask {
	DAT_EVD_ATTR_COMP_VECTOR = 0x01,
	DAT_EVD_ATTR_NUMA_NODE = 0x02,
	DAT_EVD_ATTR_MODERATION = 0x04,
	DAT_EVD_ATTR_BUDGET = 0x08,
	DAT_EVD_ATTR_ALL = 0x0f,
};

/**
 * struct dat_evd_attr - kdapl's own settings of an EVD, before its first use
 * @comp_vector: completion vector of the CQ; default: spread over all vectors
 * @numa_node: node of the ring's memory, NUMA_NO_NODE for any
 * @mod_count: CQ moderation: completions per interrupt
 * @mod_period: CQ moderation: microseconds to wait for @mod_count
 * @budget: events that one run of upcalls may take before it gives way,
 *	1 to 64
 */
struct dat_evd_attr {
	u32 comp_vector;
	int numa_node;
	u16 mod_count;
	u16 mod_period;
	u32 budget;
};

#endif /* _DAT_EVENT_H */
