// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: attributes of endpoints: defaults, limits, query and modify
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include <dat/kdat.h>

#include "ep.h"
#include "ep_state.h"
#include "ia.h"
#include "kunit.h"
#include "queue.h"
#include "srq.h"

/* What dat_ep_create() gives without attributes; DAT leaves it to us. */
enum {
	EP_DEFAULT_DTOS = 16,
	EP_DEFAULT_IOV = 4,
	EP_DEFAULT_READS = 4,
};

/* Fields that a consumer may change while an EP may be connected to nothing. */
#define EP_FIELD_NAMED	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | \
			 DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
#define EP_FIELD_CONFIG	(DAT_EP_FIELD_RECV_EVD_HANDLE | \
			 DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
			 DAT_EP_FIELD_CONNECT_EVD_HANDLE | \
			 (DAT_EP_FIELD_EP_ATTR_ALL & ~EP_FIELD_NAMED & \
			  ~DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW))
#define EP_FIELD_MODIFY	(DAT_EP_FIELD_PZ_HANDLE | EP_FIELD_CONFIG | \
			 EP_FIELD_NAMED)

/* Of an EP with an SRQ these are the SRQ's affair, or dat_ep_set_watermark()'s. */
#define EP_FIELD_RECV	(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | \
			 DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV | \
			 DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS)

static int attr_max_send_iov(const struct dat_ia *ia)
{
	return min_t(u32, ia->dev_attr.max_send_sge, KDAPL_QUEUE_MAX_SGE);
}

static int attr_max_recv_iov(const struct dat_ia *ia)
{
	return min_t(u32, ia->dev_attr.max_recv_sge, KDAPL_QUEUE_MAX_SGE);
}

static int attr_max_read_iov(const struct dat_ia *ia)
{
	return min_t(u32, ia->dev_attr.max_sge_rd, attr_max_send_iov(ia));
}

/**
 * kdapl_ep_attr_default - what an EP gets that asks for nothing
 * @attr: filled in
 * @ia: the IA, whose device may allow less
 * @recv: the EP has an EVD for receives
 * @request: and one for requests
 */
void kdapl_ep_attr_default(struct dat_ep_attr *attr, struct dat_ia *ia,
			   bool recv, bool request)
{
	const struct ib_device_attr *dev = &ia->dev_attr;

	*attr = (struct dat_ep_attr){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = ia->port_attr.max_msg_sz,
		.max_rdma_size = ia->port_attr.max_msg_sz,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = recv ? EP_DEFAULT_DTOS : 0,
		.max_request_dtos = request ? EP_DEFAULT_DTOS : 0,
		.max_recv_iov = min_t(int, EP_DEFAULT_IOV,
				      attr_max_recv_iov(ia)),
		.max_request_iov = min_t(int, EP_DEFAULT_IOV,
					 attr_max_send_iov(ia)),
		.max_rdma_read_in = min(EP_DEFAULT_READS, dev->max_qp_rd_atom),
		.max_rdma_read_out = min(EP_DEFAULT_READS,
					 dev->max_qp_init_rd_atom),
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = min_t(int, EP_DEFAULT_IOV,
					   attr_max_read_iov(ia)),
		.max_rdma_write_iov = min_t(int, EP_DEFAULT_IOV,
					    attr_max_send_iov(ia)),
	};
}

static bool attr_in(int value, int max)
{
	return value >= 0 && value <= max;
}

/**
 * kdapl_ep_config_check - is a configuration consistent and within the limits
 * @ia: the IA
 * @config: the whole configuration
 *
 * Return: 0, -EINVAL, or -EOPNOTSUPP for a service class that nobody has.
 */
int kdapl_ep_config_check(struct dat_ia *ia,
			  const struct kdapl_ep_config *config)
{
	const struct dat_ep_attr *attr = &config->attr;
	const struct ib_device_attr *dev = &ia->dev_attr;

	if (attr->service_type != DAT_SERVICE_TYPE_RC)
		return -EINVAL;
	if (attr->qos != DAT_QOS_BEST_EFFORT)
		return -EOPNOTSUPP;
	if (attr->recv_completion_flags & ~(DAT_COMPLETION_UNSIGNALLED_FLAG |
					    DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return -EINVAL;
	if (attr->request_completion_flags & ~(DAT_COMPLETION_SUPPRESS_FLAG |
					       DAT_COMPLETION_UNSIGNALLED_FLAG))
		return -EINVAL;
	if (attr->ep_transport_specific_count ||
	    attr->ep_provider_specific_count)
		return -EINVAL;

	/* An EVD for what can complete, and only for that. */
	if ((config->srq ? !config->recv_evd :
	     !config->recv_evd != !attr->max_recv_dtos) ||
	    !config->request_evd != !attr->max_request_dtos)
		return -EINVAL;
	if (config->srq) {
		/* Both are watermarks here. */
		if (attr->max_recv_dtos < DAT_WATERMARK_INFINITE ||
		    attr->srq_soft_hw < DAT_WATERMARK_INFINITE ||
		    config->pz != config->srq->pz)
			return -EINVAL;
	} else if (!attr_in(attr->max_recv_dtos,
			    dev->max_qp_wr - KDAPL_QUEUE_EXTRA_RECV)) {
		return -EINVAL;
	}
	if (!attr_in(attr->max_request_dtos,
		     dev->max_qp_wr - KDAPL_QUEUE_EXTRA_SEND))
		return -EINVAL;

	if (attr->max_message_size > ia->port_attr.max_msg_sz ||
	    attr->max_rdma_size > ia->port_attr.max_msg_sz)
		return -EINVAL;
	if (!attr_in(attr->max_recv_iov, attr_max_recv_iov(ia)) ||
	    !attr_in(attr->max_request_iov, attr_max_send_iov(ia)) ||
	    !attr_in(attr->max_rdma_write_iov, attr_max_send_iov(ia)) ||
	    !attr_in(attr->max_rdma_read_iov, attr_max_read_iov(ia)))
		return -EINVAL;
	if (!attr_in(attr->max_rdma_read_in, dev->max_qp_rd_atom) ||
	    !attr_in(attr->max_rdma_read_out, dev->max_qp_init_rd_atom))
		return -EINVAL;
	return 0;
}

KDAPL_EXPORT_FOR_TEST(kdapl_ep_config_check);

/**
 * dat_ep_query - parameters of an endpoint
 * @ep: the EP
 * @mask: the fields of @param that are wanted; others may be filled in too
 * @param: OUT; may be NULL if @mask is 0
 *
 * The addresses that @param points to are kdapl's and stay valid until the EP
 * is reset or freed. Without a connection the remote one is NULL.
 * Origin: DAT 2.0.
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_ep_query(struct dat_ep *ep, u64 mask, struct dat_ep_param *param)
{
	struct sockaddr *remote;
	unsigned long flags;

	if (!ep || mask & ~DAT_EP_FIELD_ALL || (mask && !param))
		return -EINVAL;
	if (!mask)
		return 0;

	spin_lock_irqsave(&ep->lock, flags);
	remote = (struct sockaddr *)&ep->remote_addr;
	param->ia_handle = ep->obj.ia;
	param->ep_state = ep->state;
	param->comm = (struct dat_comm){
		.domain = ep->local_addr.ss_family ?:
			  ep->obj.ia->addr.ss_family,
		.type = SOCK_STREAM,
	};
	param->local_ia_address_ptr = (struct sockaddr *)
		(ep->local_addr.ss_family ? &ep->local_addr :
					    &ep->obj.ia->addr);
	param->local_port_qual = kdapl_cm_port(&ep->local_addr);
	param->remote_ia_address_ptr = remote->sa_family ? remote : NULL;
	param->remote_port_qual = ep->remote_qual;
	param->pz_handle = ep->config.pz;
	param->recv_evd_handle = ep->config.recv_evd;
	param->request_evd_handle = ep->config.request_evd;
	param->connect_evd_handle = ep->config.connect_evd;
	param->srq_handle = ep->config.srq;
	param->ep_attr = ep->config.attr;
	spin_unlock_irqrestore(&ep->lock, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ep_query);

static void attr_merge(struct dat_ep_attr *attr, u64 mask,
		       const struct dat_ep_attr *from)
{
	if (mask & DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE)
		attr->service_type = from->service_type;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE)
		attr->max_message_size = from->max_message_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE)
		attr->max_rdma_size = from->max_rdma_size;
	if (mask & DAT_EP_FIELD_EP_ATTR_QOS)
		attr->qos = from->qos;
	if (mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS)
		attr->recv_completion_flags = from->recv_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
		attr->request_completion_flags = from->request_completion_flags;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS)
		attr->max_recv_dtos = from->max_recv_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)
		attr->max_request_dtos = from->max_request_dtos;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV)
		attr->max_recv_iov = from->max_recv_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV)
		attr->max_request_iov = from->max_request_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN)
		attr->max_rdma_read_in = from->max_rdma_read_in;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT)
		attr->max_rdma_read_out = from->max_rdma_read_out;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV)
		attr->max_rdma_read_iov = from->max_rdma_read_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV)
		attr->max_rdma_write_iov = from->max_rdma_write_iov;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR)
		attr->ep_transport_specific_count =
			from->ep_transport_specific_count;
	if (mask & DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR)
		attr->ep_provider_specific_count =
			from->ep_provider_specific_count;
}

static int ep_modify_allowed(u64 mask, enum dat_ep_state state)
{
	int ret = 0;

	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		ret = kdapl_ep_check_call(KDAPL_CALL_MODIFY_PZ, state);
	if (!ret && mask & EP_FIELD_CONFIG)
		ret = kdapl_ep_check_call(KDAPL_CALL_MODIFY, state);
	if (!ret && mask & EP_FIELD_NAMED)
		ret = kdapl_ep_check_call(KDAPL_CALL_MODIFY_NAMED, state);
	return ret;
}

/**
 * dat_ep_modify - change an endpoint before it is connected
 * @ep: the EP
 * @mask: the fields of @param to apply, all of them or none
 * @param: the new values
 *
 * The PZ can change in UNCONNECTED and TENTATIVE, EVDs, sizes and flags also in
 * RESERVED and PASSIVE_CONNECTION_PENDING, named attributes in UNCONNECTED
 * only. Sizes, PZ and EVDs need a new QP, so no receive may be posted and no
 * event of the EP be queued. Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL, fields that never change (IA, state, addresses,
 * ports, SRQ; with an SRQ also what concerns receives), unknown ones, values
 * beyond the device's limits or inconsistent; -EOPNOTSUPP: a quality of service
 * other than best effort; -EISCONN, -EBUSY, -EALREADY, -EBADFD: the state of the
 * EP; -EBUSY also: receives posted or events queued; -ENOSPC: an EVD is too
 * small; -ENOMEM; -ENODEV: the device is gone; else the errno of the provider.
 */
int dat_ep_modify(struct dat_ep *ep, u64 mask,
		  const struct dat_ep_param *param)
{
	struct kdapl_ep_config config;
	int ret;

	might_sleep();

	if (!ep || mask & ~EP_FIELD_MODIFY || (mask && !param))
		return -EINVAL;

	ret = kdapl_ia_enter(ep->obj.ia);
	if (ret)
		return ret;
	mutex_lock(&ep->call_lock);
	ret = ep_modify_allowed(mask, READ_ONCE(ep->state));
	if (ret)
		goto out_unlock;

	ret = -EINVAL;
	if (ep->config.srq && mask & EP_FIELD_RECV)
		goto out_unlock;
	config = ep->config;
	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		config.pz = param->pz_handle;
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		config.recv_evd = param->recv_evd_handle;
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		config.request_evd = param->request_evd_handle;
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		config.connect_evd = param->connect_evd_handle;
	if (mask)
		attr_merge(&config.attr, mask, &param->ep_attr);

	ret = kdapl_ep_config_check(ep->obj.ia, &config);
	if (ret)
		goto out_unlock;
	ret = kdapl_ep_res_change(ep, &config);
out_unlock:
	mutex_unlock(&ep->call_lock);
	kdapl_ia_leave(ep->obj.ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_modify);
