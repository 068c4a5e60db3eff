// SPDX-License-Identifier: GPL-2.0
/*
 * What many objects cost: connections made and closed one after the other, and
 * events beside many EVDs that are armed.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "bench.h"

enum {
	SCALE_ARMED = 1024,
	SCALE_CONNECTS = 32,
	SCALE_PERCENT = 5,	/* that the cost of an event may grow */
};

static void ignore_upcall(void *data, const struct dat_event *event, bool more)
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
	u64 begin, rate[BENCH_PASSES];
	struct bench_figure figure;
	int ret, i, pass;

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

	for (pass = -BENCH_WARM_UP; !ret && pass < BENCH_PASSES; pass++) {
		begin = ktime_get_ns();
		for (i = 0; !ret && i < SCALE_CONNECTS; i++)
			ret = connect_once(kd, &from, &to);
		if (pass >= 0)
			rate[pass] = div64_u64((u64)SCALE_CONNECTS * NSEC_PER_SEC,
					       ktime_get_ns() - begin);
	}
	if (!ret) {
		bench_figure(&figure, rate);
		bench_fact("connects", &figure, 0,
			   "connects and closes per virtual second");
	}
	dat_evd_free(from.send_evd);
out_free:
	dat_evd_free(from.recv_evd);
	return ret;
}

static int one_step(struct kd *kd, struct bench_figure *figure)
{
	u64 cost[BENCH_PASSES];
	int i, ret;

	ret = bench_settle_slabs();
	if (ret)
		return ret;
	for (i = -BENCH_WARM_UP; i < BENCH_PASSES; i++) {
		struct bench_pass pass = {};

		ret = kd_row_upcall(kd, &pass);
		if (ret)
			return ret;
		if (i >= 0)
			cost[i] = div_u64(pass.insns, pass.ops);
	}
	bench_figure(figure, cost);
	return 0;
}

/* Ping-pong by upcall beside so many EVDs that are armed and stay idle. */
static int beside_armed(struct kd *kd)
{
	static const struct {
		int armed;
		const char *key;
		const char *what;
	} steps[] = {
		{ 1, "armed_1", "ping-pong by upcall, 1 idle EVD armed" },
		{ 16, "armed_16", "ping-pong by upcall, 16 idle EVDs armed" },
		{ 256, "armed_256", "ping-pong by upcall, 256 idle EVDs armed" },
		{ SCALE_ARMED, "armed_1024",
		  "ping-pong by upcall, 1,024 idle EVDs armed" },
	};
	struct bench_figure figure;
	struct dat_evd **evds;
	int ret = 0, i, have = 0;
	u64 most = 0;

	evds = kvcalloc(SCALE_ARMED, sizeof(*evds), GFP_KERNEL);
	if (!evds)
		return -ENOMEM;
	for (i = 0; !ret && i < ARRAY_SIZE(steps); i++) {
		ret = evds_create(kd, evds + have, steps[i].armed - have, 1,
				  DAT_UPCALL_NOTIFY);
		have = steps[i].armed;
		if (!ret)
			ret = one_step(kd, &figure);
		if (ret)
			break;
		bench_fact(steps[i].key, &figure, most, steps[i].what);
		if (!most)
			most = div_u64(figure.median * (100 + SCALE_PERCENT),
				       100);
	}
	evds_free(evds, have);
	kvfree(evds);
	return ret;
}

int scale_run(struct kd *kd)
{
	return connect_rate(kd) ?: beside_armed(kd);
}
