// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: registration through a QP that is connected to itself
 *
 * Memory can be registered by a posted request only, on a QP in RTS of the same
 * PD, while dat_lmr_kcreate() has no connection and has to return a key that
 * works. So each PZ gets, at first use, an RC QP whose peer is itself. No packet
 * ever leaves through it, and the CM knows nothing of it. An MR registered there
 * is good for every QP of the PD.
 *
 * A failed registration throws the QP into error; it is destroyed then, and the
 * next registration makes another one. Registrations of a PZ follow each other
 * under pz->reg_lock.
 */
#include "reg.h"

#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "fault.h"
#include "fence.h"
#include "ia.h"
#include "kunit.h"
#include "pz.h"

enum {
	/* The registration, and the marker of a drain. */
	REG_QP_DEPTH = 2,
	/*
	 * A device that has not registered memory by then never will; the QP is
	 * destroyed before the stack frame that its completion names is left.
	 */
	REG_TIMEOUT_MS = 10000,
};

struct kdapl_reg_qp {
	struct ib_qp *qp;
	struct ib_cq *cq;
};

struct reg_wait {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

bool kdapl_reg_has_loopback(const struct dat_ia *ia)
{
	return !ia->iwarp;
}

static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct reg_wait *wait = container_of(wc->wr_cqe, struct reg_wait, cqe);

	wait->status = wc->status;
	complete(&wait->done);
}

/* A path from the port to itself. */
static int reg_path(struct dat_ia *ia, struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid, *best = NULL;
	int i, ret = 0;

	ah->type = rdma_ah_find_type(ia->ibdev, ia->port);
	rdma_ah_set_port_num(ah, ia->port);

	if (!rdma_protocol_roce(ia->ibdev, ia->port)) {
		rdma_ah_set_dlid(ah, ia->port_attr.lid);
		return 0;
	}

	for (i = 0; i < ia->port_attr.gid_tbl_len; i++) {
		gid = rdma_get_gid_attr(ia->ibdev, ia->port, i);
		if (IS_ERR(gid))
			continue;
		if (best) {
			if (best->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP ||
			    gid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP) {
				rdma_put_gid_attr(gid);
				continue;
			}
			rdma_put_gid_attr(best);
		}
		best = gid;
	}
	if (!best)
		return -ENODEV;

	rdma_ah_set_grh(ah, (union ib_gid *)&best->gid, 0, best->index, 1, 0);
	ret = rdma_read_gid_l2_fields(best, NULL, ah->roce.dmac);
	rdma_put_gid_attr(best);
	return ret;
}

static int reg_connect(struct dat_ia *ia, struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = ia->port,
	};
	int ret;

	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_256;
	attr.dest_qp_num = qp->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 1;
	ret = reg_path(ia, &attr.ah_attr);
	if (ret)
		return ret;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;

	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 6;
	attr.rnr_retry = 6;
	attr.max_rd_atomic = 1;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static int reg_create_locked(struct dat_pz *pz)
{
	struct dat_ia *ia = pz->obj.ia;
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = REG_QP_DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.port_num = ia->port,
	};
	struct kdapl_reg_qp *reg;
	int ret;

	ret = kdapl_fault(KDAPL_FAULT_CREATE);
	if (ret)
		return ret;
	reg = kzalloc(sizeof(*reg), GFP_KERNEL);
	if (!reg)
		return -ENOMEM;

	reg->cq = ib_alloc_cq(ia->ibdev, NULL, REG_QP_DEPTH + 1, 0,
			      IB_POLL_WORKQUEUE);
	if (IS_ERR(reg->cq)) {
		ret = PTR_ERR(reg->cq);
		goto out_free;
	}
	attr.send_cq = reg->cq;
	attr.recv_cq = reg->cq;
	reg->qp = ib_create_qp(pz->pd, &attr);
	if (IS_ERR(reg->qp)) {
		ret = PTR_ERR(reg->qp);
		goto out_free_cq;
	}
	ret = reg_connect(ia, reg->qp);
	if (ret)
		goto out_destroy_qp;

	pz->reg = reg;
	return 0;

out_destroy_qp:
	ib_destroy_qp(reg->qp);
out_free_cq:
	ib_free_cq(reg->cq);
out_free:
	kfree(reg);
	return ret;
}

void kdapl_reg_destroy(struct dat_pz *pz)
{
	struct kdapl_reg_qp *reg = pz->reg;

	lockdep_assert_held(&pz->reg_lock);

	if (!reg)
		return;
	pz->reg = NULL;
	ib_destroy_qp(reg->qp);
	kdapl_fence_tasklets();
	ib_free_cq(reg->cq);
	kfree(reg);
}

/**
 * kdapl_reg_mr - register memory and wait until its key works
 * @pz: the PZ of @mr
 * @mr: mapped, not registered
 * @key: its key from now on
 * @access: enum ib_access_flags
 *
 * Context: process; sleeps; inside the IA's gate.
 * Return: 0; -EIO: the device refused; -ETIMEDOUT; else the errno of the
 * provider. After a failure @mr can only be deregistered.
 */
int kdapl_reg_mr(struct dat_pz *pz, struct ib_mr *mr, u32 key, int access)
{
	struct reg_wait wait = {
		.cqe.done = reg_done,
		.status = IB_WC_GENERAL_ERR,
	};
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.mr = mr,
		.key = key,
		.access = access,
	};
	int ret = 0;

	might_sleep();

	wr.wr.wr_cqe = &wait.cqe;
	init_completion(&wait.done);

	mutex_lock(&pz->reg_lock);
	if (!pz->reg)
		ret = reg_create_locked(pz);
	if (ret)
		goto out_unlock;

	ret = kdapl_fault(KDAPL_FAULT_POST) ?:
	      ib_post_send(pz->reg->qp, &wr.wr, NULL);
	if (ret)
		goto out_destroy;
	/*
	 * When the QP and the CQ are gone nothing can name @wait any more, so
	 * the time-out may leave this frame.
	 */
	if (!wait_for_completion_timeout(&wait.done,
					 msecs_to_jiffies(REG_TIMEOUT_MS)))
		ret = -ETIMEDOUT;
	else if (wait.status != IB_WC_SUCCESS)
		ret = -EIO;
	if (!ret)
		goto out_unlock;
	pr_err("%s: pz %u: registration failed: %s (%d)\n", pz->obj.ia->name,
	       pz->obj.id, ib_wc_status_msg(wait.status), wait.status);
out_destroy:
	kdapl_reg_destroy(pz);
out_unlock:
	mutex_unlock(&pz->reg_lock);
	return ret;
}
