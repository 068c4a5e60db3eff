/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The basic vocabulary of DAT 2.0 as kdapl spells it: names and values are
 * those of the specification, handles are pointers to opaque structs, return
 * values are 0 or a negative errno, and there are no typedefs.
 *
 * Sizes are in bytes and times in microseconds unless a comment says so.
 */
#ifndef _DAT_DAT_H
#define _DAT_DAT_H

#include <linux/bits.h>
#include <linux/socket.h>
#include <linux/types.h>

#define DAT_VERSION_MAJOR	2
#define DAT_VERSION_MINOR	0

/* Room for an IA, provider or vendor name, the final NUL included. */
#define DAT_NAME_MAX_LENGTH	256

struct dat_cr;
struct dat_csp;
struct dat_ep;
struct dat_evd;
struct dat_ia;
struct dat_lmr;
struct dat_psp;
struct dat_pz;
struct dat_rmr;
struct dat_rsp;
struct dat_srq;

enum dat_handle_type {
	DAT_HANDLE_TYPE_CR,
	DAT_HANDLE_TYPE_EP,
	DAT_HANDLE_TYPE_EVD,
	DAT_HANDLE_TYPE_IA,
	DAT_HANDLE_TYPE_LMR,
	DAT_HANDLE_TYPE_PSP,
	DAT_HANDLE_TYPE_PZ,
	DAT_HANDLE_TYPE_RMR,
	DAT_HANDLE_TYPE_RSP,
	DAT_HANDLE_TYPE_SRQ,
	DAT_HANDLE_TYPE_CSP,
	DAT_HANDLE_TYPE_EXTENSION_BASE,
};

/* A consumer's tag: kdapl stores it and gives it back, and never looks inside. */
union dat_context {
	void *as_ptr;
	u64 as_64;
	unsigned long as_index;
};

struct dat_named_attr {
	const char *name;
	const char *value;
};

enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG = 0x00,
	/* A success makes no event; a failure still does. */
	DAT_COMPLETION_SUPPRESS_FLAG = 0x01,
	/* On a send: the peer's receive may notify. On an EP: only such do. */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x02,
	/* The event is queued but neither notifies nor disarms. */
	DAT_COMPLETION_UNSIGNALLED_FLAG = 0x04,
	/* Starts only when all earlier RDMA reads of the EP are done. */
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x08,
	/* uDAPL only, refused here. */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10,
	/* An LMR invalidate starts when all earlier requests are done. */
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20,
};

/* For dat_ep_connect(): no limit but the CM's own retries. */
#define DAT_TIMEOUT_INFINITE	((u32)~0U)

enum dat_dtos {
	DAT_DTO_SEND,
	DAT_DTO_RDMA_WRITE,
	DAT_DTO_RDMA_READ,
	DAT_DTO_RECEIVE,
	DAT_DTO_RECEIVE_WITH_INVALIDATE,
	DAT_DTO_BIND_MW,
	DAT_DTO_LMR_FMR,
	DAT_DTO_LMR_INVALIDATE,
	DAT_DTO_EXTENSION_BASE,
};

enum dat_qos {
	DAT_QOS_BEST_EFFORT = 0x00,
	DAT_QOS_HIGH_THROUGHPUT = 0x01,
	DAT_QOS_LOW_LATENCY = 0x02,
	DAT_QOS_ECONOMY = 0x04,
	DAT_QOS_PREMIUM = 0x08,
};

enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG = 0x00,
	DAT_CONNECT_MULTIPATH_REQUESTED_FLAG = 0x01,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG = 0x02,
};

enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG = 0x00,
	DAT_CLOSE_GRACEFUL_FLAG = 0x01,
};

#define DAT_CLOSE_DEFAULT	DAT_CLOSE_ABRUPT_FLAG

enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG = 0x00,	/* the consumer brings the EP */
	DAT_PSP_PROVIDER_FLAG = 0x01,	/* kdapl makes an EP per request */
};

/* Memory */

struct dat_lmr_triplet {
	u64 virtual_address;
	u32 segment_length;
	u32 lmr_context;
};

struct dat_rmr_triplet {
	u64 virtual_address;
	u32 segment_length;
	u32 rmr_context;
};

enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG = 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20,
	DAT_MEM_PRIV_ALL_FLAG = 0x33,
	DAT_MEM_PRIV_EXTENSION_BASE = 0x40,
};

enum dat_va_type {
	DAT_VA_TYPE_VA = 0,	/* triplets hold virtual addresses */
	DAT_VA_TYPE_ZB = 1,	/* triplets hold offsets into the region */
};

enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP,
	DAT_RMR_SCOPE_PZ,
	DAT_RMR_SCOPE_ANY,
};

enum dat_lmr_scope {
	DAT_LMR_SCOPE_EP,
	DAT_LMR_SCOPE_PZ,
	DAT_LMR_SCOPE_ANY,
};

/* One value for a call; a mask of them in the provider attributes. */
enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL = 0x00,
	DAT_MEM_TYPE_LMR = 0x01,
	DAT_MEM_TYPE_PHYSICAL = 0x10,
	DAT_MEM_TYPE_PLATFORM = 0x20,	/* struct sg_table */
	DAT_MEM_TYPE_IA = 0x40,		/* one DMA address of the adapter */
	DAT_MEM_TYPE_BYPASS = 0x80,
	DAT_MEM_TYPE_PHYSICAL_VAR_PAGES = 0x100,
};

enum dat_mem_optimize_flags {
	DAT_MEM_OPTIMIZE_DONT_CARE = 0x00,
	DAT_MEM_OPTIMIZE_IA = 0x01,
	DAT_MEM_OPTIMIZE_MIN_EXPOSURE = 0x02,
	DAT_MEM_OPTIMIZE_EXACT_EXPOSURE = 0x04,
};

struct dat_physical_var_pages {
	u64 page_size;
	u64 *pages;
};

union dat_region_description {
	void *for_va;
	struct dat_lmr *for_lmr_handle;
	void *for_platform;
	struct dat_physical_var_pages for_array;
	u64 *for_physical;
	u64 for_ia;
};

struct dat_lmr_state {
	bool fmr_support;
	bool bound;
};

struct dat_lmr_param {
	struct dat_ia *ia_handle;
	enum dat_mem_type mem_type;
	union dat_region_description region_desc;
	u64 length;
	struct dat_pz *pz_handle;
	enum dat_mem_priv_flags mem_priv;
	enum dat_va_type va_type;
	u32 lmr_context;
	u32 rmr_context;
	u64 registered_size;
	u64 registered_address;
	struct dat_lmr_state lmr_state;
};

enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE = 0x001,
	DAT_LMR_FIELD_MEM_TYPE = 0x002,
	DAT_LMR_FIELD_REGION_DESC = 0x004,
	DAT_LMR_FIELD_LENGTH = 0x008,
	DAT_LMR_FIELD_PZ_HANDLE = 0x010,
	DAT_LMR_FIELD_MEM_PRIV = 0x020,
	DAT_LMR_FIELD_VA_TYPE = 0x040,
	DAT_LMR_FIELD_LMR_CONTEXT = 0x080,
	DAT_LMR_FIELD_RMR_CONTEXT = 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE = 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x400,
	DAT_LMR_FIELD_LMR_STATE = 0x800,
	DAT_LMR_FIELD_ALL = 0xfff,
};

struct dat_rmr_param {
	struct dat_ia *ia_handle;
	struct dat_pz *pz_handle;
	struct dat_lmr_triplet lmr_triplet;
	enum dat_mem_priv_flags mem_priv;
	u32 rmr_context;
	enum dat_rmr_scope rmr_scope;
	enum dat_va_type va_type;
};

enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE = 0x01,
	DAT_RMR_FIELD_PZ_HANDLE = 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET = 0x04,
	DAT_RMR_FIELD_MEM_PRIV = 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT = 0x10,
	DAT_RMR_FIELD_RMR_SCOPE = 0x20,
	DAT_RMR_FIELD_VA_TYPE = 0x40,
	DAT_RMR_FIELD_ALL = 0x7f,
};

struct dat_pz_param {
	struct dat_ia *ia_handle;
};

enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE = 0x01,
	DAT_PZ_FIELD_ALL = 0x01,
};

/* Service points and connection requests */

struct dat_psp_param {
	struct dat_ia *ia_handle;
	u64 conn_qual;
	struct dat_evd *evd_handle;
	enum dat_psp_flags psp_flags;
};

enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE = 0x01,
	DAT_PSP_FIELD_CONN_QUAL = 0x02,
	DAT_PSP_FIELD_EVD_HANDLE = 0x04,
	DAT_PSP_FIELD_PSP_FLAGS = 0x08,
	DAT_PSP_FIELD_ALL = 0x0f,
};

struct dat_rsp_param {
	struct dat_ia *ia_handle;
	u64 conn_qual;
	struct dat_evd *evd_handle;
	struct dat_ep *ep_handle;
};

enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE = 0x01,
	DAT_RSP_FIELD_CONN_QUAL = 0x02,
	DAT_RSP_FIELD_EVD_HANDLE = 0x04,
	DAT_RSP_FIELD_EP_HANDLE = 0x08,
	DAT_RSP_FIELD_ALL = 0x0f,
};

/* As for socket(2); kdapl serves AF_INET and AF_INET6 with SOCK_STREAM. */
struct dat_comm {
	int domain;
	int type;
	int protocol;
};

struct dat_csp_param {
	struct dat_ia *ia_handle;
	const struct dat_comm *comm;
	const struct sockaddr *address_ptr;
	struct dat_evd *evd_handle;
};

enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE = 0x01,
	DAT_CSP_FIELD_COMM = 0x02,
	DAT_CSP_FIELD_IA_ADDRESS = 0x04,
	DAT_CSP_FIELD_EVD_HANDLE = 0x08,
	DAT_CSP_FIELD_ALL = 0x0f,
};

struct dat_cr_param {
	struct sockaddr *remote_ia_address_ptr;
	u64 remote_port_qual;
	int private_data_size;
	const void *private_data;
	struct dat_ep *local_ep_handle;
};

enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL = 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE = 0x04,
	DAT_CR_FIELD_PRIVATE_DATA = 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,
	DAT_CR_FIELD_ALL = 0x1f,
};

#endif /* _DAT_DAT_H */
