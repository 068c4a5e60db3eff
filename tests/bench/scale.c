// SPDX-License-Identifier: GPL-2.0
/*
 * What many objects cost: memory of those that idle, connections made and closed,
 * and events beside many EVDs that are armed.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "bench.h"

enum {
	SCALE_OBJECTS = 256,
	SCALE_EPS_PER_EVD = 64,
	/* Until all that is freed behind grace periods is free. */
	SCALE_SETTLE_MS = 20000,
	SCALE_ARMED = 1024,
	SCALE_CONNECTS = 32,
	/* The CQ of an EVD of BENCH_QLEN, and the QP of an EP of BENCH_DEPTH. */
	SCALE_CQE = 2 * BENCH_QLEN + 16,
	SCALE_EXTRA_SEND = 4,
	SCALE_EXTRA_RECV = 1,
};

static long free_bytes(void)
{
	struct sysinfo info;

	si_meminfo(&info);
	return info.freeram * PAGE_SIZE;
}

static void ignore_upcall(void *data, const struct dat_event *event, bool more)
{
}

static void ignore_comp(struct ib_cq *cq, void *context)
{
}

static const struct dat_upcall_object ignore = {
	.upcall_func = ignore_upcall,
};

static int evds_create(struct kd *kd, struct dat_evd **evds, int count,
		       int qlen, enum dat_upcall_policy policy)
{
	int ret = 0, i;

	for (i = 0; !ret && i < count; i++)
		ret = dat_evd_kcreate(kd->ia, qlen, policy, &ignore,
				      DAT_EVD_DTO_FLAG, &evds[i]);
	return ret;
}

static void evds_free(struct dat_evd **evds, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (evds[i])
			dat_evd_free(evds[i]);
}

static int evd_memory(struct raw *raw, struct kd *kd)
{
	struct ib_cq_init_attr attr = { .cqe = SCALE_CQE };
	long before, evd, cq;
	void **obj;
	int ret, i;

	obj = kcalloc(SCALE_OBJECTS, sizeof(*obj), GFP_KERNEL);
	if (!obj)
		return -ENOMEM;
	msleep(SCALE_SETTLE_MS);
	before = free_bytes();
	ret = evds_create(kd, (struct dat_evd **)obj, SCALE_OBJECTS, BENCH_QLEN,
			  DAT_UPCALL_DISABLE);
	evd = before - free_bytes();
	evds_free((struct dat_evd **)obj, SCALE_OBJECTS);
	msleep(SCALE_SETTLE_MS);

	before = free_bytes();
	for (i = 0; i < SCALE_OBJECTS; i++)
		obj[i] = ib_create_cq(raw->id->device, ignore_comp, NULL, NULL,
				      &attr);
	cq = before - free_bytes();
	for (i = 0; i < SCALE_OBJECTS; i++)
		if (!IS_ERR(obj[i]))
			ib_destroy_cq(obj[i]);
	kfree(obj);
	if (!ret) {
		bench_say("fact evd_bytes %ld bytes for an EVD of %d events and its CQ\n",
			  evd / SCALE_OBJECTS, BENCH_QLEN);
		bench_say("fact cq_bytes %ld bytes for a CQ of %d completions\n",
			  cq / SCALE_OBJECTS, SCALE_CQE);
	}
	return ret;
}

static int ep_memory(struct raw *raw, struct kd *kd)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = raw->a.send_cq,
		.recv_cq = raw->a.recv_cq,
		.cap = {
			.max_send_wr = BENCH_DEPTH + SCALE_EXTRA_SEND,
			.max_recv_wr = BENCH_DEPTH + SCALE_EXTRA_RECV,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.port_num = raw->id->port_num,
	};
	struct kd_end *ends;
	long before, ep, qp;
	struct dat_evd *evds[2 * SCALE_OBJECTS / SCALE_EPS_PER_EVD] = {};
	struct ib_qp **qps;
	int ret, i, set;

	ends = kcalloc(SCALE_OBJECTS, sizeof(*ends), GFP_KERNEL);
	qps = kcalloc(SCALE_OBJECTS, sizeof(*qps), GFP_KERNEL);
	ret = -ENOMEM;
	if (!ends || !qps)
		goto out_free;
	ret = evds_create(kd, evds, ARRAY_SIZE(evds),
			  SCALE_EPS_PER_EVD * (BENCH_DEPTH + 8),
			  DAT_UPCALL_DISABLE);
	before = free_bytes();
	for (i = 0; !ret && i < SCALE_OBJECTS; i++) {
		set = i / SCALE_EPS_PER_EVD;
		ends[i].recv_evd = evds[2 * set];
		ends[i].send_evd = evds[2 * set + 1];
		ret = kd_ep(kd, &ends[i]);
	}
	ep = before - free_bytes();
	for (i = 0; i < SCALE_OBJECTS; i++)
		if (ends[i].ep)
			dat_ep_free(ends[i].ep);
	evds_free(evds, ARRAY_SIZE(evds));
	msleep(SCALE_SETTLE_MS);

	before = free_bytes();
	for (i = 0; i < SCALE_OBJECTS; i++)
		qps[i] = ib_create_qp(raw->pd, &attr);
	qp = before - free_bytes();
	for (i = 0; i < SCALE_OBJECTS; i++)
		if (!IS_ERR(qps[i]))
			ib_destroy_qp(qps[i]);
	if (!ret) {
		bench_say("fact ep_bytes %ld bytes for an EP of %d+%d requests and its QP\n",
			  ep / SCALE_OBJECTS, BENCH_DEPTH, BENCH_DEPTH);
		bench_say("fact qp_bytes %ld bytes for a QP of as many requests, of one segment\n",
			  qp / SCALE_OBJECTS);
	}
out_free:
	kfree(qps);
	kfree(ends);
	return ret;
}

static int connect_once(struct kd *kd, struct kd_end *from, struct kd_end *to)
{
	struct dat_event event;
	int ret;

	ret = kd_ep(kd, from);
	if (ret)
		return ret;
	ret = kd_ep(kd, to);
	if (ret)
		goto out_free;
	ret = kd_connect(kd, from->ep, to->ep);
	if (!ret)
		ret = dat_ep_disconnect(from->ep, DAT_CLOSE_GRACEFUL_FLAG);
	if (!ret)
		ret = kd_expect(kd->conn_evd,
				DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	if (!ret)
		ret = kd_expect(kd->conn_evd,
				DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	dat_ep_free(to->ep);
out_free:
	dat_ep_free(from->ep);
	return ret;
}

static int connect_rate(struct kd *kd)
{
	struct kd_end from = {}, to = {};
	u64 begin, ns;
	int ret, i;

	/* EVDs with room for another EP each. */
	ret = dat_evd_kcreate(kd->ia, BENCH_QLEN, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_DTO_FLAG, &from.recv_evd);
	if (ret)
		return ret;
	ret = dat_evd_kcreate(kd->ia, BENCH_QLEN, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_DTO_FLAG, &from.send_evd);
	if (ret)
		goto out_free;
	to = from;

	begin = ktime_get_ns();
	for (i = 0; !ret && i < SCALE_CONNECTS; i++)
		ret = connect_once(kd, &from, &to);
	ns = ktime_get_ns() - begin;
	if (!ret)
		bench_say("fact connects %llu connects and closes per virtual second\n",
			  div64_u64((u64)SCALE_CONNECTS * NSEC_PER_SEC, ns));
	dat_evd_free(from.send_evd);
out_free:
	dat_evd_free(from.recv_evd);
	return ret;
}

/* Ping-pong by upcall beside so many EVDs that are armed and stay idle. */
static int beside_armed(struct kd *kd)
{
	static const int steps[] = { 1, 16, 256, SCALE_ARMED };
	struct dat_evd **evds;
	int ret = 0, i, j, have = 0;

	evds = kvcalloc(SCALE_ARMED, sizeof(*evds), GFP_KERNEL);
	if (!evds)
		return -ENOMEM;
	for (i = 0; !ret && i < ARRAY_SIZE(steps); i++) {
		struct bench_pass pass = {};

		ret = evds_create(kd, evds + have, steps[i] - have, 1,
				  DAT_UPCALL_NOTIFY);
		have = steps[i];
		for (j = 0; !ret && j < 3; j++) {
			pass = (struct bench_pass){};
			ret = kd_row_upcall(kd, &pass);
		}
		if (!ret)
			bench_say("fact armed_%d %llu ping-pong by upcall, %d idle EVDs armed\n",
				  steps[i], div_u64(pass.insns, pass.ops),
				  steps[i]);
	}
	evds_free(evds, have);
	kvfree(evds);
	return ret;
}

int scale_run(struct raw *raw, struct kd *kd)
{
	return evd_memory(raw, kd) ?: ep_memory(raw, kd) ?:
	       connect_rate(kd) ?: beside_armed(kd);
}
