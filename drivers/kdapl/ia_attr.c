// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: attributes of an adapter and of kdapl itself
 *
 * All come from what was copied when the IA was opened, so they can be queried
 * for ever. A limit that the API can hold but the device does not name is given
 * as what kdapl lets through.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <dat/dat_ib_extensions.h>
#include <dat/kdat.h>

#include "ep.h"
#include "ia.h"
#include "kunit.h"
#include "lmr.h"
#include "main.h"
#include "queue.h"
#include "srq.h"

enum {
	/* Part of a cache line pair: transfers that start there are quickest. */
	IA_OPTIMAL_ALIGNMENT = 256,
};

static const char *ia_vendor(enum rdma_driver_id driver)
{
	static const char * const vendors[] = {
		[RDMA_DRIVER_MLX5] = "mlx5",
		[RDMA_DRIVER_MLX4] = "mlx4",
		[RDMA_DRIVER_CXGB4] = "cxgb4",
		[RDMA_DRIVER_MTHCA] = "mthca",
		[RDMA_DRIVER_BNXT_RE] = "bnxt_re",
		[RDMA_DRIVER_OCRDMA] = "ocrdma",
		[RDMA_DRIVER_IRDMA] = "irdma",
		[RDMA_DRIVER_VMW_PVRDMA] = "vmw_pvrdma",
		[RDMA_DRIVER_QEDR] = "qedr",
		[RDMA_DRIVER_HNS] = "hns",
		[RDMA_DRIVER_USNIC] = "usnic",
		[RDMA_DRIVER_RXE] = "rxe",
		[RDMA_DRIVER_HFI1] = "hfi1",
		[RDMA_DRIVER_QIB] = "qib",
		[RDMA_DRIVER_EFA] = "efa",
		[RDMA_DRIVER_SIW] = "siw",
		[RDMA_DRIVER_ERDMA] = "erdma",
	};

	if ((unsigned int)driver >= ARRAY_SIZE(vendors) || !vendors[driver])
		return "";
	return vendors[driver];
}

/*
 * Requests of a consumer beside those that kdapl posts itself, as many as both a QP
 * and the CQ that it completes on can hold: rxe makes larger QPs than CQs.
 */
static int ia_max_dto(const struct ib_device_attr *dev)
{
	return max(min(dev->max_qp_wr, dev->max_cqe) - KDAPL_QUEUE_EXTRA_SEND,
		   0);
}

static void ia_fill_attr(struct dat_ia *ia, struct dat_ia_attr *attr)
{
	const struct ib_device_attr *dev = &ia->dev_attr;
	int sge = min(dev->max_send_sge, dev->max_recv_sge);

	memset(attr, 0, sizeof(*attr));
	strscpy(attr->adapter_name, ia->dev_name, sizeof(attr->adapter_name));
	strscpy(attr->vendor_name, ia_vendor(ia->driver_id),
		sizeof(attr->vendor_name));
	attr->hardware_version_major = dev->hw_ver;
	attr->hardware_version_minor = 0;
	attr->firmware_version_major = upper_32_bits(dev->fw_ver);
	attr->firmware_version_minor = lower_32_bits(dev->fw_ver);
	attr->ia_address_ptr = (struct sockaddr *)&ia->addr;

	attr->max_eps = dev->max_qp;
	attr->max_dto_per_ep = ia_max_dto(dev);
	attr->max_rdma_read_per_ep_in = dev->max_qp_rd_atom;
	attr->max_rdma_read_per_ep_out = dev->max_qp_init_rd_atom;
	attr->max_rdma_read_in = dev->max_res_rd_atom ?: dev->max_qp_rd_atom;
	attr->max_rdma_read_out = dev->max_qp_init_rd_atom;
	attr->max_rdma_read_per_ep_in_guaranteed = true;
	attr->max_rdma_read_per_ep_out_guaranteed = true;
	attr->max_evds = dev->max_cq;
	attr->max_evd_qlen = dev->max_cqe;
	attr->max_iov_segments_per_dto = min_t(int, sge, KDAPL_QUEUE_MAX_SGE);
	attr->max_iov_segments_per_rdma_write =
		min_t(int, dev->max_send_sge, KDAPL_QUEUE_MAX_SGE);
	attr->max_iov_segments_per_rdma_read = ia->iwarp ? 1 :
		min3(dev->max_sge_rd, dev->max_send_sge,
		     (int)KDAPL_QUEUE_MAX_SGE);

	attr->max_lmrs = dev->max_mr;
	attr->max_rmrs = dev->max_mr;
	attr->max_lmr_block_size = min_t(u64, kdapl_lmr_max_bytes(dev), U32_MAX);
	attr->max_lmr_virtual_address = U64_MAX;
	attr->max_rmr_target_address = U64_MAX;
	attr->max_pzs = dev->max_pd;
	attr->max_message_size = ia->port_attr.max_msg_sz;
	attr->max_rdma_size = ia->port_attr.max_msg_sz;
	attr->max_srqs = dev->max_srq;
	attr->max_ep_per_srq = dev->max_srq ? dev->max_qp : 0;
	attr->max_recv_per_srq = dev->max_srq ? kdapl_srq_limit(dev) : 0;

	attr->zb_supported = true;
	attr->reserved_lmr_supported = true;
	attr->extension_supported = ia->iwarp ? DAT_EXTENSION_NONE :
						DAT_EXTENSION_IB;
	attr->extension_version = ia->iwarp ? 0 : DAT_IB_EXTENSION_VERSION;
}

static void ia_fill_provider(struct dat_ia *ia, struct dat_provider_attr *attr)
{
	int i, j;

	memset(attr, 0, sizeof(*attr));
	strscpy(attr->provider_name, "kdapl", sizeof(attr->provider_name));
	attr->provider_version_major = KDAPL_VERSION_MAJOR;
	attr->provider_version_minor = KDAPL_VERSION_MINOR;
	attr->dapl_version_major = DAT_VERSION_MAJOR;
	attr->dapl_version_minor = DAT_VERSION_MINOR;
	/* A mask; VIRTUAL, whose value is 0, is always supported. */
	attr->lmr_mem_types_supported =
		DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_PHYSICAL |
		DAT_MEM_TYPE_PLATFORM | DAT_MEM_TYPE_IA |
		DAT_MEM_TYPE_BYPASS | DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
	attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
	attr->dat_qos_supported = DAT_QOS_BEST_EFFORT;
	attr->completion_flags_supported =
		DAT_COMPLETION_SUPPRESS_FLAG |
		DAT_COMPLETION_SOLICITED_WAIT_FLAG |
		DAT_COMPLETION_UNSIGNALLED_FLAG |
		DAT_COMPLETION_BARRIER_FENCE_FLAG |
		DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
	attr->is_thread_safe = true;
	attr->max_private_data_size = kdapl_connect_max_pdata(ia);
	attr->supports_multipath = false;
	attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	attr->upcall_policy = DAT_UPCALL_MANY;
	attr->optimal_buffer_alignment = IA_OPTIMAL_ALIGNMENT;
	for (i = 0; i < DAT_EVD_STREAMS; i++)
		for (j = 0; j < DAT_EVD_STREAMS; j++)
			attr->evd_stream_merging_supported[i][j] = true;
	attr->srq_supported = ia->dev_attr.max_srq > 0;
	/* Low; soft and hard of an EP. Available and outstanding. */
	attr->srq_watermarks_supported = attr->srq_supported ? 3 : 0;
	attr->srq_ep_pz_difference_supported = false;
	attr->srq_info_supported = attr->srq_supported ? 2 : 0;
	/* Buffers and span. */
	attr->ep_recv_info_supported = 2;
	attr->lmr_sync_req = !ia->dma_coherent;
	attr->dto_async_return_guaranteed = true;
	attr->rdma_write_for_rdma_read_req = ia->iwarp;
	attr->rdma_read_lmr_rmr_context_exposure = ia->iwarp;
	attr->rmr_scope_supported = DAT_RMR_SCOPE_PZ;
	attr->is_interrupt_safe = true;
	attr->fmr_supported = ia->dev_attr.device_cap_flags &
			      IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->lmr_for_fmr_scope_supported = DAT_LMR_SCOPE_PZ;
	attr->ha_supported = false;
	attr->ha_loadbalancing = DAT_HA_LB_NONE;
}

/**
 * dat_ia_query - attributes of an interface adapter
 * @ia: the IA
 * @async_evd: OUT: the async EVD; may be NULL
 * @ia_attr_mask: fields of @ia_attr wanted, of DAT_IA_FIELD_...; all are filled
 *	in if any is
 * @ia_attr: OUT: the adapter; may be NULL if @ia_attr_mask is 0; its pointers
 *	are good as long as the IA is open
 * @provider_attr_mask: the same for @provider_attr, of DAT_PROVIDER_FIELD_...
 * @provider_attr: OUT: kdapl
 *
 * Origin: DAT 2.0. Lengths are in bytes, alignments too.
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_ia_query(struct dat_ia *ia, struct dat_evd **async_evd,
		 u64 ia_attr_mask, struct dat_ia_attr *ia_attr,
		 u64 provider_attr_mask,
		 struct dat_provider_attr *provider_attr)
{
	if (!ia || ia_attr_mask & ~DAT_IA_FIELD_ALL ||
	    provider_attr_mask & ~DAT_PROVIDER_FIELD_ALL ||
	    (ia_attr_mask && !ia_attr) ||
	    (provider_attr_mask && !provider_attr))
		return -EINVAL;

	if (async_evd)
		*async_evd = ia->async_evd;
	if (ia_attr_mask)
		ia_fill_attr(ia, ia_attr);
	if (provider_attr_mask)
		ia_fill_provider(ia, provider_attr);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ia_query);

enum {
	/* The async EVD of an IA that is opened to be asked. */
	IA_QUERY_QLEN = 8,
};

/**
 * dat_ib_open_query - open an interface adapter just to ask for its attributes
 * @ia_name: as for dat_ia_open()
 * @ia: OUT: the IA, which is open for all purposes, with an async EVD of its own
 * @ia_attr_mask: as for dat_ia_query()
 * @ia_attr: as for dat_ia_query()
 * @provider_attr_mask: as for dat_ia_query()
 * @provider_attr: as for dat_ia_query()
 *
 * Origin: DAT 2.0, IB extensions.
 *
 * Context: process; sleeps.
 * Return: as dat_ia_open() and dat_ia_query().
 */
int dat_ib_open_query(const char *ia_name, struct dat_ia **ia,
		      u64 ia_attr_mask, struct dat_ia_attr *ia_attr,
		      u64 provider_attr_mask,
		      struct dat_provider_attr *provider_attr)
{
	struct dat_evd *async_evd = NULL;
	struct dat_ia *new;
	int ret;

	might_sleep();

	if (!ia)
		return -EINVAL;
	ret = dat_ia_open(ia_name, IA_QUERY_QLEN, &async_evd, &new);
	if (ret)
		return ret;
	ret = dat_ia_query(new, NULL, ia_attr_mask, ia_attr,
			   provider_attr_mask, provider_attr);
	if (ret) {
		dat_ia_close(new, DAT_CLOSE_ABRUPT_FLAG);
		return ret;
	}
	*ia = new;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ib_open_query);

/**
 * dat_ib_close_query - close what dat_ib_open_query() opened
 * @ia: the IA
 *
 * Origin: DAT 2.0, IB extensions.
 *
 * Context: process; sleeps.
 * Return: as dat_ia_close(), abruptly.
 */
int dat_ib_close_query(struct dat_ia *ia)
{
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}
EXPORT_SYMBOL_GPL(dat_ib_close_query);
