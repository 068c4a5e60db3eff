// SPDX-License-Identifier: GPL-2.0
/*
 * What a thread of a stress test does all day: serve its EVDs, do something at
 * random, and sleep on its upcalls when there is nothing.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "stress.h"

enum {
	ACT_ORPHANS = 3,	/* IAs without device that a thread keeps */
	ACT_REOPEN_MS = 40,
	ACT_LONG_NAP_MS = 3000,
	/* An upcall may be on its way when the nap ends. */
	ACT_LATE_MS = 5000,
};

static void act_connected(struct stress_conn *conn)
{
	struct stress_worker *w = conn->end->w;
	u32 dice = stress_random(w, 200), i;

	if (dice < 80) {
		for (i = stress_random(w, 4); i < 4; i++)
			if (!stress_send_plain(conn, true))
				break;
	} else if (dice < 90) {
		/* All that the queue takes. */
		while (stress_send_plain(conn, false))
			;
	} else if (dice < 185) {
		if (conn->shown.state == SHOWN_NOT)
			stress_show(conn, stress_random(w, SHOW_WAYS));
	} else if (dice < 190) {
		stress_conn_close(conn, true);
	} else if (dice < 194) {
		stress_conn_close(conn, false);
	} else if (dice < 196) {
		stress_conn_free(conn);
	} else {
		dat_ep_get_status(conn->ep, NULL, NULL, NULL);
	}
}

static void act_conn(struct stress_conn *conn)
{
	struct stress_worker *w = conn->end->w;
	u32 dice = stress_random(w, 100);

	switch (conn->state) {
	case CONN_NONE:
		stress_conn_create(conn);
		break;
	case CONN_IDLE:
		if (dice < 50)
			stress_conn_connect(conn);
		else if (dice < 53)
			stress_conn_free(conn);
		break;
	case CONN_CONNECTING:
	case CONN_ACCEPTING:
		if (dice < 3)
			stress_conn_close(conn, dice & 1);
		else if (dice < 5)
			stress_conn_free(conn);
		break;
	case CONN_CONNECTED:
		act_connected(conn);
		break;
	case CONN_CLOSING:
		if (dice < 5)
			stress_conn_close(conn, false);
		else if (dice < 10)
			stress_conn_free(conn);
		break;
	case CONN_ENDED:
		if (dice < 60)
			stress_conn_reset(conn);
		else if (dice < 80)
			stress_conn_free(conn);
		break;
	default:
		break;
	}
}

/* An EVD that lives for one event. */
static void act_software(struct stress_end *end)
{
	struct dat_event event = { .event_number = DAT_SOFTWARE_EVENT }, got;
	struct stress *s = end->w->s;
	struct dat_evd *evd;
	int ret;

	stress_doing(end->w, "dat_evd_kcreate");
	ret = dat_evd_kcreate(end->ia, 4, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_SOFTWARE_FLAG, &evd);
	if (ret)
		return;
	event.event_data.software_event_data.pointer = end;
	ret = dat_evd_post_se(evd, &event);
	if (!ret && (dat_evd_dequeue(evd, &got) ||
		     got.event_data.software_event_data.pointer != end))
		stress_bad(s, &s->lost, "a software event");
	ret = dat_evd_free(evd);
	if (ret)
		stress_bad(s, &s->leaked, "dat_evd_free: %d", ret);
}

static void act_relisten(struct stress_end *end)
{
	struct stress *s = end->w->s;
	int ret;

	stress_doing(end->w, "dat_psp_free");
	if (end->psp) {
		ret = dat_psp_free(end->psp);
		if (ret)
			stress_bad(s, &s->leaked, "dat_psp_free: %d", ret);
	}
	end->psp = NULL;
	stress_end_listen(end);
}

/* Everything of ours is under way when the device goes, and nobody looks on. */
static void act_disturb(struct stress_worker *w)
{
	struct stress_conn *conn;
	int dev, i;

	for (dev = 0; dev < 2; dev++)
		for (i = 0; w->end[dev] && i < STRESS_CONNS; i++) {
			conn = &w->end[dev]->conn[i];
			if (conn->state == CONN_IDLE) {
				stress_conn_connect(conn);
				continue;
			}
			if (conn->state != CONN_CONNECTED)
				continue;
			stress_send_plain(conn, true);
			if (conn->shown.state == SHOWN_NOT)
				stress_show(conn, stress_random(w, SHOW_WAYS));
			if (!stress_random(w, 3))
				stress_conn_close(conn, true);
		}
}

static void act(struct stress_worker *w)
{
	struct stress_end *end = w->end[stress_random(w, 2)];
	u32 dice = stress_random(w, 1000);

	if (end && dice < 900) {
		act_conn(&end->conn[stress_random(w, STRESS_CONNS)]);
	} else if (end && dice < 930) {
		act_software(end);
	} else if (end && (dice < 934 || (!end->psp && dice < 950))) {
		act_relisten(end);
	} else if (end && dice < 953) {
		w->end[end->dev] = NULL;
		stress_end_close(end, stress_random(w, 2));
	} else if (end && dice < 960) {
		stress_srq_act(end);
	} else if (dice >= 960 && stress_removal_begin(w)) {
		act_disturb(w);
		stress_removal_end(w);
	}
}

/* The device is gone: clean up at once, or, as at first, let everything lie for a while. */
static void act_gone(struct stress_worker *w, struct stress_end *end)
{
	w->end[end->dev] = NULL;
	if (atomic64_read(&w->s->count[STRESS_ORPHAN]) && stress_random(w, 3)) {
		stress_check_gone(end);
		stress_end_close(end, stress_random(w, 2));
		return;
	}
	stress_count(w, STRESS_ORPHAN);
	list_add_tail(&end->node, &w->orphans);
	w->num_orphans++;
}

static void act_bury(struct stress_worker *w, int keep)
{
	struct stress_end *end;

	while (w->num_orphans > keep) {
		end = list_first_entry(&w->orphans, struct stress_end, node);
		list_del_init(&end->node);
		w->num_orphans--;
		stress_check_gone(end);
		stress_end_close(end, stress_random(w, 2));
	}
}

static void act_open(struct stress_worker *w, int dev)
{
	struct stress *s = w->s;
	int ret;

	ret = stress_end_open(w, dev);
	if (!ret)
		return;
	if (ret != -ENODEV)
		stress_bad(s, &s->wrong, "an IA cannot be opened: %d", ret);
	msleep(ACT_REOPEN_MS);
}

static bool act_serve(struct stress_worker *w, int dev)
{
	struct stress_end *end = w->end[dev];
	struct dat_cr *cr;
	bool any;
	int i;

	if (!end) {
		act_open(w, dev);
		return true;
	}
	stress_drain_evd(end, EVD_ASYNC);
	if (end->gone) {
		act_gone(w, end);
		return true;
	}
	any = stress_drain(end);
	for (i = 0; i < STRESS_CONNS; i++)
		stress_conn_look(&end->conn[i]);
	if (end->cr && time_after(jiffies, end->cr_until)) {
		cr = end->cr;
		end->cr = NULL;
		stress_doing(w, "dat_cr_reject");
		if (dat_cr_reject(cr, 0, NULL))
			stress_bad(w->s, &w->s->leaked, "dat_cr_reject");
	}
	return any;
}

static int nap_enable(struct stress_evd *evd)
{
	struct dat_upcall_object upcall = {
		.upcall_func = stress_upcall,
		.instance_data = evd,
	};

	return dat_evd_modify_upcall(evd->evd, DAT_UPCALL_NOTIFY, &upcall,
				     DAT_UPCALL_INVOC_NEW);
}

/* All EVDs armed, none with an event: whether one may sleep now. */
static bool nap_arm(struct stress_worker *w, bool *owed)
{
	struct stress_end *end;
	struct stress_evd *evd;
	int dev, i;

	*owed = false;
	for (dev = 0; dev < 2; dev++) {
		end = w->end[dev];
		for (i = 0; end && i < EVDS; i++) {
			evd = &end->evd[i];
			WRITE_ONCE(evd->notified, false);
			if (nap_enable(evd))
				return false;
		}
		for (i = 0; end && i < STRESS_CONNS; i++)
			*owed |= stress_conn_owed(&end->conn[i]);
	}
	return true;
}

static bool nap_over(struct stress_worker *w)
{
	int dev, i;

	for (dev = 0; dev < 2; dev++)
		for (i = 0; w->end[dev] && i < EVDS; i++)
			if (READ_ONCE(w->end[dev]->evd[i].notified))
				return true;
	return READ_ONCE(w->s->stop);
}

/*
 * Slept to the end, and told nothing: there must be nothing. Enabled again, an EVD
 * says whether there is, and changes nothing then. Not asked by dequeuing: what
 * somebody has dequeued needs no upcall any more.
 */
static void nap_check(struct stress_worker *w)
{
	struct stress *s = w->s;
	struct stress_evd *evd;
	int dev, i;

	for (dev = 0; dev < 2; dev++)
		for (i = 0; w->end[dev] && i < EVDS; i++) {
			evd = &w->end[dev]->evd[i];
			if (nap_enable(evd) != -EBUSY)
				continue;
			wait_event_timeout(w->wait, READ_ONCE(evd->notified),
					   msecs_to_jiffies(ACT_LATE_MS));
			if (!READ_ONCE(evd->notified))
				stress_bad(s, &s->lost, "a wake-up of EVD %d",
					   i);
			stress_drain_evd(w->end[dev], i);
		}
}

static void nap(struct stress_worker *w)
{
	bool owed, late;
	long ms;

	stress_doing(w, "dat_evd_modify_upcall");
	if (!nap_arm(w, &owed)) {
		/* Something came, or the device is just being removed. */
		usleep_range(100, 300);
		return;
	}
	late = owed && !stress_random(w, 8);
	ms = late ? ACT_LONG_NAP_MS : 1 + stress_random(w, 15);
	stress_doing(w, "sleep");
	stress_count(w, STRESS_NAP);
	if (!wait_event_timeout(w->wait, nap_over(w), msecs_to_jiffies(ms)) &&
	    late)
		nap_check(w);
}

int stress_worker_run(void *data)
{
	struct stress_worker *w = data;
	struct stress *s = w->s;
	bool any;
	int dev, i;

	while (!READ_ONCE(s->stop)) {
		any = false;
		for (dev = 0; dev < 2; dev++)
			any |= act_serve(w, dev);
		for (i = stress_random(w, 4); i < 4; i++)
			act(w);
		if (!any)
			nap(w);
		if (stress_fault(s, STRESS_FAULT_STUCK)) {
			stress_doing(w, "the fault that was asked for");
			msleep(2 * s->stuck_ms);
		}
		act_bury(w, ACT_ORPHANS);
		cond_resched();
	}
	for (dev = 0; dev < 2; dev++)
		if (w->end[dev])
			stress_end_close(w->end[dev],
					 s->fault == STRESS_FAULT_LEAK ||
					 stress_random(w, 2));
	act_bury(w, 0);
	WRITE_ONCE(w->finished, true);
	kthread_complete_and_exit(&w->done, 0);
}
