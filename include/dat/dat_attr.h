/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attributes of interface adapters, of kdapl as their provider and of
 * endpoints, with the masks that select them.
 */
#ifndef _DAT_ATTR_H
#define _DAT_ATTR_H

#include <dat/dat.h>
#include <dat/dat_event.h>

struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	u32 dapl_version_major;
	u32 dapl_version_minor;
	bool is_thread_safe;
};

enum dat_extension {
	DAT_EXTENSION_NONE,
	DAT_EXTENSION_IB,
	DAT_EXTENSION_IW,
};

struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	u32 hardware_version_major;
	u32 hardware_version_minor;
	u32 firmware_version_major;
	u32 firmware_version_minor;
	struct sockaddr *ia_address_ptr;	/* lives as long as the IA */
	int max_eps;
	int max_dto_per_ep;
	int max_rdma_read_per_ep_in;
	int max_rdma_read_per_ep_out;
	int max_evds;
	int max_evd_qlen;
	int max_iov_segments_per_dto;
	int max_lmrs;
	u32 max_lmr_block_size;
	u64 max_lmr_virtual_address;
	int max_pzs;
	u32 max_message_size;
	u32 max_rdma_size;
	int max_rmrs;
	u64 max_rmr_target_address;
	int max_srqs;
	int max_ep_per_srq;
	int max_recv_per_srq;
	int max_iov_segments_per_rdma_read;
	int max_iov_segments_per_rdma_write;
	int max_rdma_read_in;
	int max_rdma_read_out;
	bool max_rdma_read_per_ep_in_guaranteed;
	bool max_rdma_read_per_ep_out_guaranteed;
	bool zb_supported;
	bool reserved_lmr_supported;
	enum dat_extension extension_supported;
	int extension_version;
	int num_transport_attr;
	struct dat_named_attr *transport_attr;
	int num_vendor_attr;
	struct dat_named_attr *vendor_attr;
};

#define DAT_IA_FIELD_NONE				0ULL
#define DAT_IA_FIELD_IA_ADAPTER_NAME			BIT_ULL(0)
#define DAT_IA_FIELD_IA_VENDOR_NAME			BIT_ULL(1)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION		BIT_ULL(2)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION		BIT_ULL(3)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION		BIT_ULL(4)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION		BIT_ULL(5)
#define DAT_IA_FIELD_IA_ADDRESS_PTR			BIT_ULL(6)
#define DAT_IA_FIELD_IA_MAX_EPS				BIT_ULL(7)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP			BIT_ULL(8)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN		BIT_ULL(9)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT	BIT_ULL(10)
#define DAT_IA_FIELD_IA_MAX_EVDS			BIT_ULL(11)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN			BIT_ULL(12)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO	BIT_ULL(13)
#define DAT_IA_FIELD_IA_MAX_LMRS			BIT_ULL(14)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE		BIT_ULL(15)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS		BIT_ULL(16)
#define DAT_IA_FIELD_IA_MAX_PZS				BIT_ULL(17)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE		BIT_ULL(18)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE			BIT_ULL(19)
#define DAT_IA_FIELD_IA_MAX_RMRS			BIT_ULL(20)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS		BIT_ULL(21)
#define DAT_IA_FIELD_IA_MAX_SRQS			BIT_ULL(22)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ			BIT_ULL(23)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ		BIT_ULL(24)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ	BIT_ULL(25)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE	BIT_ULL(26)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN		BIT_ULL(27)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT		BIT_ULL(28)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	BIT_ULL(29)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	BIT_ULL(30)
#define DAT_IA_FIELD_IA_ZB_SUPPORTED			BIT_ULL(31)
/* The specification gives this bit to both of these; one mask selects both. */
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED		BIT_ULL(32)
#define DAT_IA_FIELD_IA_RESERVED_LMR_SUPPORTED		BIT_ULL(32)
#define DAT_IA_FIELD_IA_EXTENSION			BIT_ULL(33)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION		BIT_ULL(34)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR		BIT_ULL(35)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR			BIT_ULL(36)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR			BIT_ULL(37)
#define DAT_IA_FIELD_IA_VENDOR_ATTR			BIT_ULL(38)
#define DAT_IA_FIELD_ALL				GENMASK_ULL(38, 0)

/* What a consumer may do with an IOV when a post has returned. */
enum dat_iov_ownership {
	DAT_IOV_CONSUMER = 0x0,
	DAT_IOV_PROVIDER_NOMOD = 0x1,
	DAT_IOV_PROVIDER_MOD = 0x2,
};

enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER,
	DAT_PSP_CREATES_EP_IFASKED,
	DAT_PSP_CREATES_EP_ALWAYS,
};

enum dat_ha_lb {
	DAT_HA_LB_NONE,
	DAT_HA_LB_INTERCOMM,
	DAT_HA_LB_INTRACOMM,
};

enum dat_ha_relationship {
	DAT_HA_FALSE,
	DAT_HA_TRUE,
	DAT_HA_UNKNOWN,
	DAT_HA_CONFLICTING,
};

/* Rows and columns of evd_stream_merging_supported. */
enum dat_evd_stream {
	DAT_EVD_STREAM_SOFTWARE,
	DAT_EVD_STREAM_CR,
	DAT_EVD_STREAM_DTO,
	DAT_EVD_STREAM_CONNECTION,
	DAT_EVD_STREAM_RMR_BIND,
	DAT_EVD_STREAM_ASYNC,
	DAT_EVD_STREAMS,
};

struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	u32 provider_version_major;
	u32 provider_version_minor;
	u32 dapl_version_major;
	u32 dapl_version_minor;
	enum dat_mem_type lmr_mem_types_supported;
	enum dat_iov_ownership iov_ownership_on_return;
	enum dat_qos dat_qos_supported;
	enum dat_completion_flags completion_flags_supported;
	bool is_thread_safe;
	int max_private_data_size;
	bool supports_multipath;
	enum dat_ep_creator_for_psp ep_creator;
	enum dat_upcall_policy upcall_policy;
	u32 optimal_buffer_alignment;
	bool evd_stream_merging_supported[DAT_EVD_STREAMS][DAT_EVD_STREAMS];
	bool srq_supported;
	int srq_watermarks_supported;
	bool srq_ep_pz_difference_supported;
	int srq_info_supported;
	int ep_recv_info_supported;
	bool lmr_sync_req;
	bool dto_async_return_guaranteed;
	bool rdma_write_for_rdma_read_req;
	bool rdma_read_lmr_rmr_context_exposure;
	enum dat_rmr_scope rmr_scope_supported;
	bool is_interrupt_safe;
	bool fmr_supported;
	enum dat_lmr_scope lmr_for_fmr_scope_supported;
	bool ha_supported;
	enum dat_ha_lb ha_loadbalancing;
	int num_provider_specific_attr;
	struct dat_named_attr *provider_specific_attr;
};

#define DAT_PROVIDER_FIELD_NONE				0ULL
#define DAT_PROVIDER_FIELD_PROVIDER_NAME		BIT_ULL(0)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR	BIT_ULL(1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR	BIT_ULL(2)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR		BIT_ULL(3)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR		BIT_ULL(4)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED	BIT_ULL(5)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP		BIT_ULL(6)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED		BIT_ULL(7)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED	BIT_ULL(8)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE		BIT_ULL(9)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE	BIT_ULL(10)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH		BIT_ULL(11)
#define DAT_PROVIDER_FIELD_EP_CREATOR			BIT_ULL(12)
#define DAT_PROVIDER_FIELD_UPCALL_POLICY		BIT_ULL(13)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT	BIT_ULL(14)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED	BIT_ULL(15)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED		BIT_ULL(16)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED	BIT_ULL(17)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	BIT_ULL(18)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED		BIT_ULL(19)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED	BIT_ULL(20)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ			BIT_ULL(21)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED	BIT_ULL(22)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ	BIT_ULL(23)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE	BIT_ULL(24)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED		BIT_ULL(25)
#define DAT_PROVIDER_FIELD_IS_INTERRUPT_SAFE		BIT_ULL(26)
#define DAT_PROVIDER_FIELD_FMR_SUPPORTED		BIT_ULL(27)
#define DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE		BIT_ULL(28)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED			BIT_ULL(29)
#define DAT_PROVIDER_FIELD_HA_LB			BIT_ULL(30)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR	BIT_ULL(31)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR	BIT_ULL(32)
#define DAT_PROVIDER_FIELD_ALL				GENMASK_ULL(32, 0)

/* Endpoints */

enum dat_service_type {
	DAT_SERVICE_TYPE_RC,
	DAT_SERVICE_TYPE_EXTENSION_BASE,
};

struct dat_ep_attr {
	enum dat_service_type service_type;
	u32 max_message_size;
	u32 max_rdma_size;
	enum dat_qos qos;
	enum dat_completion_flags recv_completion_flags;
	enum dat_completion_flags request_completion_flags;
	int max_recv_dtos;
	int max_request_dtos;
	int max_recv_iov;
	int max_request_iov;
	int max_rdma_read_in;
	int max_rdma_read_out;
	int srq_soft_hw;
	int max_rdma_read_iov;
	int max_rdma_write_iov;
	int ep_transport_specific_count;
	struct dat_named_attr *ep_transport_specific;
	int ep_provider_specific_count;
	struct dat_named_attr *ep_provider_specific;
};

enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED,
	DAT_EP_STATE_RESERVED,
	DAT_EP_STATE_UNCONFIGURED_RESERVED,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE,
	DAT_EP_STATE_CONNECTED,
	DAT_EP_STATE_DISCONNECT_PENDING,
	DAT_EP_STATE_DISCONNECTED,
	DAT_EP_STATE_COMPLETION_PENDING,
	DAT_EP_STATE_CONNECTED_SINGLE_PATH,
	DAT_EP_STATE_CONNECTED_MULTI_PATH,
	DAT_EP_STATE_ERROR = DAT_EP_STATE_DISCONNECTED,
};

struct dat_ep_param {
	struct dat_ia *ia_handle;
	enum dat_ep_state ep_state;
	struct dat_comm comm;
	struct sockaddr *local_ia_address_ptr;
	u64 local_port_qual;
	struct sockaddr *remote_ia_address_ptr;
	u64 remote_port_qual;
	struct dat_pz *pz_handle;
	struct dat_evd *recv_evd_handle;
	struct dat_evd *request_evd_handle;
	struct dat_evd *connect_evd_handle;
	struct dat_srq *srq_handle;
	struct dat_ep_attr ep_attr;
};

#define DAT_EP_FIELD_IA_HANDLE				BIT_ULL(0)
#define DAT_EP_FIELD_EP_STATE				BIT_ULL(1)
#define DAT_EP_FIELD_COMM				BIT_ULL(2)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		BIT_ULL(3)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			BIT_ULL(4)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		BIT_ULL(5)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			BIT_ULL(6)
#define DAT_EP_FIELD_PZ_HANDLE				BIT_ULL(7)
#define DAT_EP_FIELD_RECV_EVD_HANDLE			BIT_ULL(8)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			BIT_ULL(9)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			BIT_ULL(10)
#define DAT_EP_FIELD_SRQ_HANDLE				BIT_ULL(11)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		BIT_ULL(12)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		BIT_ULL(13)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		BIT_ULL(14)
#define DAT_EP_FIELD_EP_ATTR_QOS			BIT_ULL(15)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	BIT_ULL(16)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	BIT_ULL(17)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		BIT_ULL(18)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		BIT_ULL(19)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		BIT_ULL(20)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		BIT_ULL(21)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		BIT_ULL(22)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		BIT_ULL(23)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		BIT_ULL(24)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		BIT_ULL(25)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		BIT_ULL(26)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		BIT_ULL(27)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	BIT_ULL(28)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		BIT_ULL(29)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	BIT_ULL(30)
#define DAT_EP_FIELD_EP_ATTR_ALL			GENMASK_ULL(30, 12)
#define DAT_EP_FIELD_ALL				GENMASK_ULL(30, 0)

/* Shared receive queues */

enum dat_srq_state {
	DAT_SRQ_STATE_OPERATIONAL,
	DAT_SRQ_STATE_ERROR,
};

struct dat_srq_attr {
	int max_recv_dtos;
	int max_recv_iov;
	int low_watermark;
};

struct dat_srq_param {
	struct dat_ia *ia_handle;
	enum dat_srq_state srq_state;
	struct dat_pz *pz_handle;
	int max_recv_dtos;
	int max_recv_iov;
	int low_watermark;
	int available_dto_count;
	int outstanding_dto_count;
};

enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE = 0x001,
	DAT_SRQ_FIELD_SRQ_STATE = 0x002,
	DAT_SRQ_FIELD_PZ_HANDLE = 0x004,
	DAT_SRQ_FIELD_MAX_RECV_DTO = 0x008,
	DAT_SRQ_FIELD_MAX_RECV_IOV = 0x010,
	DAT_SRQ_FIELD_LOW_WATERMARK = 0x020,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x040,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x080,
	DAT_SRQ_FIELD_ALL = 0x0ff,
};

#define DAT_WATERMARK_INFINITE	((int)~0)
#define DAT_HW_DEFAULT		DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT	0
#define DAT_VALUE_UNKNOWN	((int)~0 - 1)

#endif /* _DAT_ATTR_H */
