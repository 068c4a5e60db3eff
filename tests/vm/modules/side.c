// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "result.h"
#include "side.h"

static int create_evds(struct side *side, int qlen, bool merged)
{
	const enum dat_evd_flags cm = DAT_EVD_CR_FLAG |
				      DAT_EVD_CONNECTION_FLAG;
	int ret;

	ret = dat_evd_kcreate(side->ia, qlen, DAT_UPCALL_DISABLE, NULL,
			      merged ? cm | DAT_EVD_DTO_FLAG : cm,
			      &side->conn);
	if (ret)
		return ret;
	if (merged) {
		side->recv = side->conn;
		side->request = side->conn;
		return 0;
	}
	ret = dat_evd_kcreate(side->ia, qlen, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_DTO_FLAG, &side->recv);
	if (ret)
		return ret;
	return dat_evd_kcreate(side->ia, qlen, DAT_UPCALL_DISABLE, NULL,
			       DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			       &side->request);
}

static int create_mem(struct side *side)
{
	union dat_region_description region;
	u64 length, addr;
	u32 rkey;

	side->buf = kzalloc(SIDE_BUF, GFP_KERNEL);
	if (!side->buf)
		return -ENOMEM;
	region.for_va = side->buf;
	return dat_lmr_kcreate(side->ia, DAT_MEM_TYPE_VIRTUAL, region,
			       SIDE_BUF, side->pz,
			       DAT_MEM_PRIV_LOCAL_READ_FLAG |
			       DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			       DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &side->lmr, &side->lkey, &rkey, &length, &addr);
}

static int query_iwarp(struct side *side)
{
	struct dat_provider_attr *attr;
	int ret;

	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	if (!attr)
		return -ENOMEM;
	ret = dat_ia_query(side->ia, NULL, 0, NULL,
			   DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ,
			   attr);
	side->iwarp = attr->rdma_write_for_rdma_read_req;
	kfree(attr);
	return ret;
}

/**
 * side_open() - open an IA and create an EVD or three, a PZ and a buffer
 * @side: filled in
 * @addr: IP address of the IA
 * @qlen: of each EVD
 * @merged: one EVD for all streams
 *
 * Return: 0 or the errno of the call that failed; nothing is left then.
 */
int side_open(struct side *side, const char *addr, int qlen, bool merged)
{
	int ret;

	memset(side, 0, sizeof(*side));
	ret = inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, addr,
				   "0", &side->addr);
	if (ret)
		return ret;
	ret = dat_ia_open(addr, 8, &side->async_evd, &side->ia);
	if (ret)
		return ret;
	ret = query_iwarp(side);
	if (!ret)
		ret = create_evds(side, qlen, merged);
	if (!ret)
		ret = dat_pz_create(side->ia, &side->pz);
	if (!ret)
		ret = create_mem(side);
	if (ret)
		side_close(side);
	return ret;
}

/* An abrupt close takes everything along, EPs and PSPs too. */
void side_close(struct side *side)
{
	if (side->ia)
		WARN_ON(dat_ia_close(side->ia, DAT_CLOSE_ABRUPT_FLAG));
	kfree(side->buf);
	memset(side, 0, sizeof(*side));
}

bool sides_open(struct vmtest *t, struct side *near, struct side *far,
		int qlen, bool merged)
{
	char addr[64];
	int ret;

	vmtest_arg_text(t, "near", "10.0.0.1", addr, sizeof(addr));
	ret = side_open(near, addr, qlen, merged);
	if (ret) {
		vmtest_equal(t, ret, 0, "open the IA of %s", addr);
		return false;
	}
	vmtest_arg_text(t, "far", "10.0.0.2", addr, sizeof(addr));
	ret = side_open(far, addr, qlen, merged);
	if (ret) {
		vmtest_equal(t, ret, 0, "open the IA of %s", addr);
		side_close(near);
		return false;
	}
	return true;
}

int side_ep(struct side *side, int recvs, int requests, struct dat_ep **ep)
{
	struct dat_ep_attr attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = SIDE_BUF,
		.max_rdma_size = SIDE_BUF,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = recvs,
		.max_request_dtos = requests,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	return dat_ep_create(side->ia, side->pz, side->recv, side->request,
			     side->conn, &attr, ep);
}

static struct dat_lmr_triplet triplet(struct side *side)
{
	return (struct dat_lmr_triplet){
		.virtual_address = (uintptr_t)side->buf,
		.segment_length = 64,
		.lmr_context = side->lkey,
	};
}

int side_post_recv(struct side *side, struct dat_ep *ep, u64 cookie)
{
	struct dat_lmr_triplet iov = triplet(side);

	return dat_ep_post_recv(ep, 1, &iov,
				(union dat_context){ .as_64 = cookie },
				DAT_COMPLETION_DEFAULT_FLAG);
}

int side_post_send(struct side *side, struct dat_ep *ep, u64 cookie)
{
	struct dat_lmr_triplet iov = triplet(side);

	return dat_ep_post_send(ep, 1, &iov,
				(union dat_context){ .as_64 = cookie },
				DAT_COMPLETION_DEFAULT_FLAG);
}

int side_connect(struct side *side, struct dat_ep *ep, const struct side *to,
		 u64 port, u32 ms, const void *pdata, int size)
{
	return dat_ep_connect(ep, (const struct sockaddr *)&to->addr, port,
			      ms * USEC_PER_MSEC, size, pdata,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

int side_wait(struct dat_evd *evd, struct dat_event *event, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	bool last;

	for (;;) {
		last = time_after(jiffies, end);
		if (!dat_evd_dequeue(evd, event))
			return 0;
		if (last)
			return -ETIMEDOUT;
		usleep_range(200, 500);
	}
}

int side_expect(struct dat_evd *evd, enum dat_event_number number,
		struct dat_event *event)
{
	int ret = side_wait(evd, event, SIDE_TIMEOUT_MS);

	if (!ret && event->event_number != number)
		ret = -EPROTO;
	return ret;
}

int side_pair(struct side *near, struct dat_ep *near_ep, struct side *far,
	      struct dat_ep *far_ep, u64 port)
{
	struct dat_event event;
	int ret;

	ret = side_connect(near, near_ep, far, port, SIDE_TIMEOUT_MS, NULL, 0);
	if (ret)
		return ret;
	ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT, &event);
	if (ret)
		return ret;
	ret = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			    far_ep, 0, NULL);
	if (ret)
		return ret;
	ret = side_expect(near->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	if (ret)
		return ret;
	return side_expect(far->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}
