// SPDX-License-Identifier: GPL-2.0
/*
 * Raw verbs: two QPs of one device, connected to each other by hand, with CQs
 * and contexts of their own.
 */
#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "bench.h"

static void raw_comp(struct ib_cq *cq, void *context)
{
	struct raw_end *end = context;

	if (end->handler) {
		end->handler(end);
		return;
	}
	WRITE_ONCE(end->signalled, true);
	wake_up(&end->wait);
}

static int cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

static int end_open(struct raw *raw, struct raw_end *end)
{
	struct ib_device *dev = raw->id->device;
	struct ib_cq_init_attr cq_attr = { .cqe = BENCH_QLEN };
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = BENCH_DEPTH,
			.max_recv_wr = BENCH_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.port_num = raw->id->port_num,
	};
	struct ib_qp *qp;
	struct ib_cq *cq;

	init_waitqueue_head(&end->wait);
	end->send_wr = kcalloc(BENCH_DEPTH, sizeof(*end->send_wr), GFP_KERNEL);
	end->recv_wr = kcalloc(BENCH_DEPTH, sizeof(*end->recv_wr), GFP_KERNEL);
	if (!end->send_wr || !end->recv_wr)
		return -ENOMEM;
	cq = ib_create_cq(dev, raw_comp, NULL, end, &cq_attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	end->send_cq = cq;
	cq = ib_create_cq(dev, raw_comp, NULL, end, &cq_attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	end->recv_cq = cq;
	attr.send_cq = end->send_cq;
	attr.recv_cq = end->recv_cq;
	qp = ib_create_qp(raw->pd, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	end->qp = qp;
	return 0;
}

static void end_close(struct raw_end *end)
{
	if (end->qp)
		ib_destroy_qp(end->qp);
	/* rxe's destroy does not wait for a callback that is under way. */
	bench_settle();
	if (end->recv_cq)
		ib_destroy_cq(end->recv_cq);
	if (end->send_cq)
		ib_destroy_cq(end->send_cq);
	kfree(end->recv_wr);
	kfree(end->send_wr);
}

/* The way from the port to itself, by the GID of the address that was bound. */
static int raw_path(struct raw *raw, struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid;
	union ib_gid dgid;
	int ret;

	rdma_ip2gid((struct sockaddr *)&raw->id->route.addr.src_addr, &dgid);
	gid = rdma_find_gid_by_port(raw->id->device, &dgid,
				    IB_GID_TYPE_ROCE_UDP_ENCAP,
				    raw->id->port_num, NULL);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	ah->type = rdma_ah_find_type(raw->id->device, raw->id->port_num);
	rdma_ah_set_port_num(ah, raw->id->port_num);
	rdma_ah_set_grh(ah, &dgid, 0, gid->index, 64, 0);
	ret = rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
	rdma_put_gid_attr(gid);
	return ret;
}

static int raw_connect(struct raw *raw, struct raw_end *end, u32 peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = raw->id->port_num,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE,
	};
	int ret;

	ret = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_1024;
	attr.dest_qp_num = peer;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 1;
	ret = raw_path(raw, &attr.ah_attr);
	if (ret)
		return ret;
	ret = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_AV |
			   IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 19;
	attr.retry_cnt = 6;
	attr.rnr_retry = 6;
	attr.max_rd_atomic = 1;
	return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

int raw_post_send(struct raw *raw, struct raw_end *end)
{
	struct raw_wr *ctx = &end->send_wr[end->send_head++ % BENCH_DEPTH];
	struct ib_send_wr wr = {
		.wr_id = (uintptr_t)ctx,
		.sg_list = &raw->send_sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	ctx->end = end;
	ctx->cookie = end->send_head;
	ctx->len = BENCH_MSG;
	return ib_post_send(end->qp, &wr, NULL);
}

int raw_post_recv(struct raw *raw, struct raw_end *end)
{
	struct raw_wr *ctx = &end->recv_wr[end->recv_head++ % BENCH_DEPTH];
	struct ib_recv_wr wr = {
		.wr_id = (uintptr_t)ctx,
		.sg_list = &raw->recv_sge,
		.num_sge = 1,
	};

	ctx->end = end;
	ctx->cookie = end->recv_head;
	ctx->len = BENCH_MSG;
	return ib_post_recv(end->qp, &wr, NULL);
}

int raw_open(struct raw *raw, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage to = *addr;
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	int ret, i;

	spin_lock_init(&raw->lock);
	id = rdma_create_id(&init_net, cm_handler, raw, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	raw->id = id;
	ret = rdma_bind_addr(id, (struct sockaddr *)&to);
	if (ret)
		return ret;
	if (!id->device)
		return -ENODEV;
	pd = ib_alloc_pd(id->device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	raw->pd = pd;
	raw->buf = kzalloc(2 * BENCH_MSG, GFP_KERNEL);
	if (!raw->buf)
		return -ENOMEM;
	raw->dma = ib_dma_map_single(id->device, raw->buf, 2 * BENCH_MSG,
				     DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(id->device, raw->dma))
		return -ENOMEM;

	raw->send_sge.addr = raw->dma;
	raw->send_sge.length = BENCH_MSG;
	raw->send_sge.lkey = pd->local_dma_lkey;
	raw->recv_sge = raw->send_sge;
	raw->recv_sge.addr += BENCH_MSG;

	ret = end_open(raw, &raw->a);
	if (!ret)
		ret = end_open(raw, &raw->b);
	if (!ret)
		ret = raw_connect(raw, &raw->a, raw->b.qp->qp_num);
	if (!ret)
		ret = raw_connect(raw, &raw->b, raw->a.qp->qp_num);
	for (i = 0; !ret && i < BENCH_RECVS; i++) {
		ret = raw_post_recv(raw, &raw->a);
		if (!ret)
			ret = raw_post_recv(raw, &raw->b);
	}
	return ret;
}

void raw_close(struct raw *raw)
{
	if (!raw->id)
		return;
	if (raw->pd) {
		raw_mem_close(raw);
		end_close(&raw->a);
		end_close(&raw->b);
		if (raw->buf)
			ib_dma_unmap_single(raw->id->device, raw->dma,
					    2 * BENCH_MSG, DMA_BIDIRECTIONAL);
		kfree(raw->buf);
		ib_dealloc_pd(raw->pd);
	}
	rdma_destroy_id(raw->id);
}
