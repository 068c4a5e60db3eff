// SPDX-License-Identifier: GPL-2.0
/*
 * What idle objects hold: an EVD with its CQ and an EP with its QP, beside a bare
 * CQ and QP of the same sizes.
 *
 * Objects are made in lots, and what is free is looked at before and after each.
 * Nothing is freed in between. The first lots use up what the allocators have at
 * hand, so only the others count. Pages on the lists of the one CPU are free, too.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "bench.h"

enum {
	MEMORY_LOT = 64,
	MEMORY_LOTS = BENCH_WARM_UP + BENCH_PASSES,
	MEMORY_OBJECTS = MEMORY_LOT * MEMORY_LOTS,
	MEMORY_EPS_PER_EVD = 64,
	/* What kdapl asks of a device for an EVD and an EP: see cq.c, ep_qp.c. */
	MEMORY_CQE = 2 * BENCH_QLEN + 16,
	MEMORY_EXTRA_SEND = 4,
	MEMORY_EXTRA_RECV = 1,
	MEMORY_SGE = 32,
};

struct memory {
	struct raw *raw;
	struct kd *kd;
	struct dat_evd *evds[2 * MEMORY_OBJECTS / MEMORY_EPS_PER_EVD];
	void *obj[MEMORY_OBJECTS];
};

struct memory_kind {
	void *(*make)(struct memory *mem, int i);	/* or an error pointer */
	void (*free)(void *obj);
};

static s64 free_bytes(void)
{
	pg_data_t *node = NODE_DATA(numa_node_id());
	struct sysinfo info;
	s64 pages;
	int i, cpu;

	si_meminfo(&info);
	pages = info.freeram;
	for (i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *zone = &node->node_zones[i];

		if (!populated_zone(zone))
			continue;
		for_each_online_cpu(cpu)
			pages += READ_ONCE(per_cpu_ptr(zone->per_cpu_pageset,
						       cpu)->count);
	}
	return pages * PAGE_SIZE;
}

static int lots(struct memory *mem, const struct memory_kind *kind,
		struct bench_figure *figure)
{
	u64 bytes[BENCH_PASSES];
	int lot, i, n = 0, ret = 0;
	s64 before;

	for (lot = 0; !ret && lot < MEMORY_LOTS; lot++) {
		before = free_bytes();
		for (i = 0; !ret && i < MEMORY_LOT; i++) {
			void *obj = kind->make(mem, n);

			if (IS_ERR(obj))
				ret = PTR_ERR(obj);
			else
				mem->obj[n++] = obj;
		}
		if (lot >= BENCH_WARM_UP)
			bytes[lot - BENCH_WARM_UP] =
				max_t(s64, before - free_bytes(), 0) / MEMORY_LOT;
	}
	while (n)
		kind->free(mem->obj[--n]);
	if (!ret)
		bench_figure(figure, bytes);
	return ret;
}

static void *evd_make(struct memory *mem, int i)
{
	struct dat_evd *evd;
	int ret;

	ret = dat_evd_kcreate(mem->kd->ia, BENCH_QLEN, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_DTO_FLAG, &evd);
	return ret ? ERR_PTR(ret) : evd;
}

static void evd_free(void *obj)
{
	WARN_ON(dat_evd_free(obj));
}

static void ignore_comp(struct ib_cq *cq, void *context)
{
}

static void *cq_make(struct memory *mem, int i)
{
	struct ib_cq_init_attr attr = { .cqe = MEMORY_CQE };

	return ib_create_cq(mem->raw->id->device, ignore_comp, NULL, NULL,
			    &attr);
}

static void cq_free(void *obj)
{
	ib_destroy_cq(obj);
}

static void *ep_make(struct memory *mem, int i)
{
	struct dat_evd **evds = &mem->evds[2 * (i / MEMORY_EPS_PER_EVD)];
	struct kd_end end = { .recv_evd = evds[0], .send_evd = evds[1] };
	int ret = kd_ep(mem->kd, &end);

	return ret ? ERR_PTR(ret) : end.ep;
}

static void ep_free(void *obj)
{
	WARN_ON(dat_ep_free(obj));
}

static void *qp_make(struct memory *mem, int i)
{
	struct raw *raw = mem->raw;
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = raw->a.send_cq,
		.recv_cq = raw->a.recv_cq,
		.cap = {
			.max_send_wr = BENCH_DEPTH + MEMORY_EXTRA_SEND,
			.max_recv_wr = BENCH_DEPTH + MEMORY_EXTRA_RECV,
			.max_send_sge = min_t(u32, MEMORY_SGE,
					      raw->id->device->attrs.max_send_sge),
			.max_recv_sge = min_t(u32, MEMORY_SGE,
					      raw->id->device->attrs.max_recv_sge),
		},
		.port_num = raw->id->port_num,
	};

	return ib_create_qp(raw->pd, &attr);
}

static void qp_free(void *obj)
{
	ib_destroy_qp(obj);
}

static int evd_memory(struct memory *mem)
{
	static const struct memory_kind evds = { evd_make, evd_free };
	static const struct memory_kind cqs = { cq_make, cq_free };
	struct bench_figure evd, cq;
	int ret;

	ret = lots(mem, &cqs, &cq) ?: lots(mem, &evds, &evd);
	if (ret)
		return ret;
	bench_fact("cq_bytes", &cq, 0, "bytes for a bare CQ of 528 completions");
	bench_fact("evd_bytes", &evd, cq.median + 40 * 1024,
		   "bytes for an EVD of 256 events and its CQ");
	return 0;
}

static int ep_memory(struct memory *mem)
{
	static const struct memory_kind eps = { ep_make, ep_free };
	static const struct memory_kind qps = { qp_make, qp_free };
	struct bench_figure ep, qp;
	int ret, i;

	ret = lots(mem, &qps, &qp);
	for (i = 0; !ret && i < ARRAY_SIZE(mem->evds); i++)
		ret = dat_evd_kcreate(mem->kd->ia,
				      MEMORY_EPS_PER_EVD * BENCH_DEPTH,
				      DAT_UPCALL_DISABLE, NULL,
				      DAT_EVD_DTO_FLAG, &mem->evds[i]);
	if (!ret)
		ret = lots(mem, &eps, &ep);
	for (i = 0; i < ARRAY_SIZE(mem->evds); i++)
		if (mem->evds[i])
			evd_free(mem->evds[i]);
	if (ret)
		return ret;
	bench_fact("qp_bytes", &qp, 0,
		   "bytes for a bare QP of 132+129 requests of 32 segments");
	bench_fact("ep_bytes", &ep, qp.median + 24 * 1024,
		   "bytes for an EP of 128+128 requests and its QP");
	return 0;
}

int memory_run(struct raw *raw, struct kd *kd)
{
	struct memory *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	int ret;

	if (!mem)
		return -ENOMEM;
	mem->raw = raw;
	mem->kd = kd;
	ret = evd_memory(mem) ?: ep_memory(mem);
	kfree(mem);
	return ret;
}
