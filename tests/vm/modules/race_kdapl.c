// SPDX-License-Identifier: GPL-2.0
/*
 * The race with kdapl's protocol: dat_evd_modify_upcall() arms and looks in one
 * step, and says -EBUSY. Nothing may be lost, and no upcall may come while the
 * consumer holds an event.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "race.h"
#include "result.h"
#include "side.h"

enum {
	PORT = 20180,
	/* In so many rounds an event comes between the last look and the arm. */
	BUSY_COUNT = 5000,
};

/**
 * struct kdapl_race - the two sides
 * @near: sends
 * @far: consumes
 * @near_ep: the sender's
 * @far_ep: the consumer's
 * @psp: through which they met
 * @single: SINGLE_INSTANCE upcalls, else NOTIFY
 * @handed: SINGLE_INSTANCE: the upcall's event; published by race_wake()
 * @has_handed: see @handed
 * @race: the run
 */
struct kdapl_race {
	struct side near;
	struct side far;
	struct dat_ep *near_ep;
	struct dat_ep *far_ep;
	struct dat_psp *psp;
	bool single;
	struct dat_event handed;
	bool has_handed;
	struct race *race;
};

static int kdapl_send(struct race *race)
{
	struct kdapl_race *k = race->data;
	struct dat_event event;

	while (!dat_evd_dequeue(k->near.request, &event))
		if (event.event_data.dto_completion_event_data.status)
			return -EIO;
	return side_post_send(&k->near, k->near_ep, race->sent);
}

static int kdapl_take(struct race *race)
{
	const struct dat_dto_completion_event_data *dto;
	struct kdapl_race *k = race->data;
	struct dat_event event;
	int ret;

	if (k->has_handed) {
		k->has_handed = false;
		event = k->handed;
	} else {
		ret = dat_evd_dequeue(k->far.recv, &event);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
	}
	dto = &event.event_data.dto_completion_event_data;
	if (event.event_number != DAT_DTO_COMPLETION_EVENT || dto->status ||
	    dto->operation != DAT_DTO_RECEIVE)
		return -EIO;
	ret = side_post_recv(&k->far, k->far_ep, 0);
	return ret ? ret : 1;
}

static void kdapl_upcall(void *data, const struct dat_event *event, bool more)
{
	struct kdapl_race *k = data;

	if (k->single) {
		dat_evd_modify_upcall(k->far.recv, DAT_UPCALL_DISABLE,
				      DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
		k->handed = *event;
		k->has_handed = true;
	}
	race_wake(k->race);
}

static int kdapl_arm(struct race *race)
{
	struct kdapl_race *k = race->data;
	struct dat_upcall_object upcall = {
		.instance_data = k,
		.upcall_func = kdapl_upcall,
	};

	return dat_evd_modify_upcall(k->far.recv,
				     k->single ? DAT_UPCALL_SINGLE_INSTANCE :
						 DAT_UPCALL_NOTIFY,
				     &upcall, DAT_UPCALL_INVOC_NEW);
}

static const struct race_ops kdapl_ops = {
	.send = kdapl_send,
	.take = kdapl_take,
	.arm = kdapl_arm,
};

static int set_up(struct kdapl_race *k)
{
	int ret, i;

	ret = side_ep(&k->near, 1, 2 * RACE_WINDOW_MAX, &k->near_ep);
	if (!ret)
		ret = side_ep(&k->far, RACE_RECVS, 1, &k->far_ep);
	for (i = 0; !ret && i < RACE_RECVS; i++)
		ret = side_post_recv(&k->far, k->far_ep, 0);
	if (!ret)
		ret = dat_psp_create(k->far.ia, PORT, k->far.conn,
				     DAT_PSP_CONSUMER_FLAG, &k->psp);
	if (!ret)
		ret = side_pair(&k->near, k->near_ep, &k->far, k->far_ep, PORT);
	return ret;
}

void race_kdapl(struct vmtest *t, struct race *race, bool single, bool merged)
{
	const char *form = single ? "SINGLE_INSTANCE" : "NOTIFY";
	struct kdapl_race *k;
	int ret;

	k = kzalloc(sizeof(*k), GFP_KERNEL);
	if (!k)
		return;
	if (!sides_open(t, &k->near, &k->far, 256, merged))
		goto out;
	k->single = single;
	k->race = race;
	race->ops = &kdapl_ops;
	race->data = k;

	ret = set_up(k);
	vmtest_equal(t, ret, 0, "%s: a connection", form);
	if (!ret) {
		ret = race_run(race);
		vmtest_equal(t, ret, 0, "%s: the run", form);
		vmtest_equal(t, race->taken, race->count, "%s: all taken",
			     form);
		vmtest_equal(t, race->lost, 0, "%s: no wake-up lost", form);
		if (race->count >= BUSY_COUNT)
			vmtest_check(t, race->busy > 0,
				     "%s: -EBUSY was needed", form);
		vmtest_equal(t, atomic64_read(&race->racing), 0,
			     "%s: no upcall while the thread is at work", form);
	}
	/* Upcalls are over before what they use goes away. */
	dat_evd_modify_upcall(k->far.recv, DAT_UPCALL_TEARDOWN,
			      DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
	side_close(&k->near);
	side_close(&k->far);
out:
	kfree(k);
}
