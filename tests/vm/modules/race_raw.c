// SPDX-License-Identifier: GPL-2.0
/*
 * The control run: the same consumer on a raw CQ, armed with a plain
 * ib_req_notify_cq(IB_CQ_NEXT_COMP) after the last look. It has to lose wake-ups,
 * or the run with kdapl would prove nothing.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "race.h"
#include "raw.h"
#include "result.h"
#include "side.h"

enum {
	PORT = 20190,
	BYTES = 64,
};

/**
 * struct raw_race - the two sides
 * @listener: accepts for @far
 * @near: sends
 * @far: consumes
 * @buf: received to and sent from
 */
struct raw_race {
	struct raw listener;
	struct raw near;
	struct raw far;
	void *buf;
};

/* Software devices take kernel addresses; ib_dma_map_single() says which. */
static int sge_for(struct raw *raw, void *buf, struct ib_sge *sge,
		   enum dma_data_direction dir)
{
	sge->addr = ib_dma_map_single(raw->id->device, buf, BYTES, dir);
	sge->length = BYTES;
	sge->lkey = raw->pd->local_dma_lkey;
	return ib_dma_mapping_error(raw->id->device, sge->addr);
}

static void sge_done(struct raw *raw, struct ib_sge *sge,
		     enum dma_data_direction dir)
{
	ib_dma_unmap_single(raw->id->device, sge->addr, BYTES, dir);
}

static int post_recv(struct raw *raw, void *buf)
{
	struct ib_recv_wr wr = { .num_sge = 1 };
	struct ib_sge sge;
	int ret;

	ret = sge_for(raw, buf, &sge, DMA_FROM_DEVICE);
	if (ret)
		return ret;
	wr.sg_list = &sge;
	ret = ib_post_recv(raw->id->qp, &wr, NULL);
	/* Only devices without DMA are driven here: nothing to keep mapped. */
	sge_done(raw, &sge, DMA_FROM_DEVICE);
	return ret;
}

static int far_ready(struct raw *far)
{
	struct raw_race *r = container_of(far, struct raw_race, far);
	int ret = 0, i;

	for (i = 0; !ret && i < RACE_RECVS; i++)
		ret = post_recv(far, r->buf);
	return ret;
}

static int raw_send(struct race *race)
{
	struct raw_race *r = race->data;
	struct ib_send_wr wr = {
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_sge sge;
	struct ib_wc wc;
	int ret;

	while (ib_poll_cq(r->near.send_cq, 1, &wc) > 0)
		if (wc.status)
			return -EIO;
	ret = sge_for(&r->near, r->buf, &sge, DMA_TO_DEVICE);
	if (ret)
		return ret;
	wr.sg_list = &sge;
	ret = ib_post_send(r->near.id->qp, &wr, NULL);
	sge_done(&r->near, &sge, DMA_TO_DEVICE);
	return ret;
}

static int raw_take(struct race *race)
{
	struct raw_race *r = race->data;
	struct ib_wc wc;
	int ret;

	ret = ib_poll_cq(r->far.recv_cq, 1, &wc);
	if (ret <= 0)
		return ret;
	if (wc.status)
		return -EIO;
	ret = post_recv(&r->far, r->buf);
	return ret ? ret : 1;
}

static int raw_arm(struct race *race)
{
	struct raw_race *r = race->data;

	return ib_req_notify_cq(r->far.recv_cq, IB_CQ_NEXT_COMP);
}

static const struct race_ops raw_ops = {
	.send = raw_send,
	.take = raw_take,
	.arm = raw_arm,
};

static void raw_callback(struct ib_cq *cq, void *context)
{
	race_wake(context);
}

static int set_up(struct vmtest *t, struct raw_race *r, struct race *race)
{
	struct side near, far;
	int ret;

	/* For their addresses. */
	if (!sides_open(t, &near, &far, 16, false))
		return -ENODEV;
	raw_init(&r->listener);
	raw_init(&r->near);
	raw_init(&r->far);
	r->listener.child = &r->far;
	r->far.ready = far_ready;
	r->far.comp = raw_callback;
	r->far.comp_context = race;
	ret = raw_listen(&r->listener, &far.addr, PORT);
	if (!ret)
		ret = raw_connect(&r->near, &near.addr, &far.addr, PORT, NULL,
				  0);
	if (!ret)
		ret = raw_wait(&r->near, RDMA_CM_EVENT_ESTABLISHED,
			       SIDE_TIMEOUT_MS);
	if (!ret)
		ret = raw_wait(&r->far, RDMA_CM_EVENT_ESTABLISHED,
			       SIDE_TIMEOUT_MS);
	side_close(&near);
	side_close(&far);
	return ret;
}

void race_raw(struct vmtest *t, struct race *race)
{
	struct raw_race *r;
	int ret;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return;
	r->buf = kzalloc(BYTES, GFP_KERNEL);
	if (!r->buf)
		goto out;
	race->ops = &raw_ops;
	race->data = r;
	/* A callback may come before race_run() sets these up once more. */
	init_waitqueue_head(&race->wait);
	init_waitqueue_head(&race->credit);

	ret = set_up(t, r, race);
	vmtest_equal(t, ret, 0, "raw: a connection");
	if (!ret) {
		ret = race_run(race);
		vmtest_equal(t, ret, 0, "raw: the run");
		vmtest_equal(t, race->taken, race->sent, "raw: all taken");
		vmtest_check(t, race->lost > 0,
			     "raw: a plain arm loses wake-ups");
	}
	raw_close(&r->near);
	raw_close(&r->far);
	raw_close(&r->listener);
out:
	kfree(r->buf);
	kfree(r);
}
