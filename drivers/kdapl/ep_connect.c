// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: making a connection, the calls of the active side
 *
 * They check, note what is wanted in the EP and kick its work: connect.c.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include <dat/kdat.h>

#include "cm.h"
#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "ia.h"

static int connect_check(struct dat_ep *ep, const struct sockaddr *addr,
			 u32 timeout, int pdata_len, const void *pdata,
			 enum dat_qos qos, enum dat_connect_flags flags)
{
	if (!timeout || pdata_len < 0 ||
	    pdata_len > kdapl_connect_max_pdata(ep->obj.ia) ||
	    (pdata_len && !pdata))
		return -EINVAL;
	if (flags & ~(DAT_CONNECT_MULTIPATH_REQUESTED_FLAG |
		      DAT_CONNECT_MULTIPATH_REQUIRED_FLAG))
		return -EINVAL;
	if (qos != DAT_QOS_BEST_EFFORT || flags != DAT_CONNECT_DEFAULT_FLAG)
		return -EOPNOTSUPP;
	if (!kdapl_cm_addr_size(addr->sa_family))
		return -EAFNOSUPPORT;
	return 0;
}

/* The rest of dat_ep_connect(): arguments are checked, the gate is held. */
static int connect_begin(struct dat_ep *ep, const struct sockaddr *addr,
			 u64 conn_qual, u32 timeout, u8 pdata_len,
			 const void *pdata)
{
	unsigned long flags;
	int ret;

	mutex_lock(&ep->call_lock);
	ret = kdapl_ep_check_call(KDAPL_CALL_CONNECT, READ_ONCE(ep->state));
	if (ret)
		goto out_unlock;
	ret = -EBADFD;
	if (!ep->config.connect_evd || !ep->qp)
		goto out_unlock;
	ret = kdapl_evd_claim_conn(ep->config.connect_evd, ep);
	if (ret)
		goto out_unlock;

	spin_lock_irqsave(&ep->lock, flags);
	memset(&ep->remote_addr, 0, sizeof(ep->remote_addr));
	memcpy(&ep->remote_addr, addr, kdapl_cm_addr_size(addr->sa_family));
	kdapl_cm_set_port(&ep->remote_addr, kdapl_cm_qual_to_port(conn_qual));
	ep->remote_qual = conn_qual;
	if (pdata_len)
		memcpy(ep->pdata_out, pdata, pdata_len);
	ep->pdata_out_len = pdata_len;
	ep->pdata_in_len = 0;
	ep->rd_atomic_in = min(ep->config.attr.max_rdma_read_in, U8_MAX);
	ep->rd_atomic_out = min(ep->config.attr.max_rdma_read_out, U8_MAX);
	ep->active = true;
	ep->counters[DCNT_EP_CONNECT]++;
	ep->terminal = 0;
	ep->timeout_at = 0;
	if (timeout != DAT_TIMEOUT_INFINITE)
		/* 0 says "none". */
		ep->timeout_at = (jiffies + usecs_to_jiffies(timeout)) ?: 1;
	kdapl_ep_set_state(ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	spin_unlock_irqrestore(&ep->lock, flags);

	kdapl_ep_kick(ep, KDAPL_EP_TODO_CONNECT);
out_unlock:
	mutex_unlock(&ep->call_lock);
	return ret;
}

/**
 * dat_ep_connect - connect to a service point
 * @ep: the EP, unconnected, with PZ and connect EVD
 * @remote_ia_address: AF_INET or AF_INET6; its port is ignored
 * @remote_conn_qual: what the peer listens on: a TCP port, larger values are
 *	mapped as libdapl does
 * @timeout: microseconds from now until TIMED_OUT, not 0;
 *	%DAT_TIMEOUT_INFINITE leaves it to the CM, which gives up with
 *	UNREACHABLE
 * @private_data_size: bytes of @private_data, at most the provider attribute
 *	max_private_data_size
 * @private_data: for the peer's connection request, copied
 * @qos: %DAT_QOS_BEST_EFFORT
 * @flags: %DAT_CONNECT_DEFAULT_FLAG
 *
 * The result is one event on the connect EVD: ESTABLISHED, with the peer's
 * private data, or PEER_REJECTED, NON_PEER_REJECTED, UNREACHABLE, TIMED_OUT,
 * BROKEN, after which the EP is DISCONNECTED. Where the transport does not tell
 * the length of private data, its size is that of the field and the rest is
 * zero. Receives may be posted before. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, timeout 0, qualifier 0 or private data too long;
 * -EAFNOSUPPORT; -EOPNOTSUPP: @qos or @flags; -EISCONN, -EALREADY, -EBUSY,
 * -EBADFD: the state of the EP; -EBADFD also: PZ or connect EVD missing;
 * -ENOSPC: no two slots free in the connect EVD, or the events of the last
 * attempt still in it; -ENODEV: the device is gone.
 */
int dat_ep_connect(struct dat_ep *ep, const struct sockaddr *remote_ia_address,
		   u64 remote_conn_qual, u32 timeout, int private_data_size,
		   const void *private_data, enum dat_qos qos,
		   enum dat_connect_flags flags)
{
	int ret;

	might_sleep();

	if (!ep || !remote_ia_address || !remote_conn_qual)
		return -EINVAL;
	ret = connect_check(ep, remote_ia_address, timeout, private_data_size,
			    private_data, qos, flags);
	if (ret)
		return ret;

	ret = kdapl_ia_enter(ep->obj.ia);
	if (ret)
		return ret;
	/* An upcall about the end may free the EP before we are through. */
	kdapl_obj_get(&ep->obj);
	ret = connect_begin(ep, remote_ia_address, remote_conn_qual, timeout,
			    private_data_size, private_data);
	kdapl_ia_leave(ep->obj.ia);
	kdapl_obj_put(&ep->obj);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ep_connect);

/**
 * dat_ep_dup_connect - connect to where another endpoint is connected
 * @ep: the EP, unconnected, with PZ and connect EVD
 * @dup_ep: a connected EP of the same IA; useful only on its active side,
 *	because the passive side knows no qualifier of its peer
 * @timeout: as for dat_ep_connect()
 * @private_data_size: as for dat_ep_connect()
 * @private_data: as for dat_ep_connect()
 * @qos: as for dat_ep_connect()
 *
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: as dat_ep_connect(); -EINVAL also: EPs of different IAs; -ENOTCONN:
 * @dup_ep is not connected.
 */
int dat_ep_dup_connect(struct dat_ep *ep, struct dat_ep *dup_ep, u32 timeout,
		       int private_data_size, const void *private_data,
		       enum dat_qos qos)
{
	struct sockaddr_storage addr;
	unsigned long flags;
	u64 qual;
	int ret;

	might_sleep();

	if (!ep || !dup_ep || ep->obj.ia != dup_ep->obj.ia)
		return -EINVAL;

	spin_lock_irqsave(&dup_ep->lock, flags);
	ret = kdapl_ep_check_call(KDAPL_CALL_DUP, dup_ep->state);
	addr = dup_ep->remote_addr;
	qual = dup_ep->remote_qual;
	spin_unlock_irqrestore(&dup_ep->lock, flags);
	if (ret)
		return ret;
	return dat_ep_connect(ep, (struct sockaddr *)&addr, qual, timeout,
			      private_data_size, private_data, qos,
			      DAT_CONNECT_DEFAULT_FLAG);
}
EXPORT_SYMBOL_GPL(dat_ep_dup_connect);

/**
 * dat_ep_common_connect - connect to a socket address
 * @ep: the EP, unconnected, with PZ and connect EVD
 * @remote_address: AF_INET or AF_INET6, with the port that the peer listens on
 * @timeout: as for dat_ep_connect()
 * @private_data_size: as for dat_ep_connect()
 * @private_data: as for dat_ep_connect()
 *
 * As dat_ep_connect(), whose qualifier is the port. The communicator of every EP
 * is a stream over the family of the address. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: as dat_ep_connect(); -EINVAL also: port 0.
 */
int dat_ep_common_connect(struct dat_ep *ep,
			  const struct sockaddr *remote_address, u32 timeout,
			  int private_data_size, const void *private_data)
{
	struct sockaddr_storage addr = {};

	might_sleep();

	if (!ep || !remote_address)
		return -EINVAL;
	if (!kdapl_cm_addr_size(remote_address->sa_family))
		return -EAFNOSUPPORT;
	memcpy(&addr, remote_address,
	       kdapl_cm_addr_size(remote_address->sa_family));
	return dat_ep_connect(ep, remote_address, kdapl_cm_port(&addr), timeout,
			      private_data_size, private_data,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}
EXPORT_SYMBOL_GPL(dat_ep_common_connect);
