// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer whose thread sleeps for ever when its device goes, in steps, so that
 * the script can delete the device between them:
 *
 *	asleep_open	opens and connects, goes to sleep, and has traffic come in;
 *			sends=N: so many of its own are under way at each EP
 *	asleep_end	what it was told, what calls say, and whether all can be freed
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20250,
	EPS = 4,		/* the last one receives from the SRQ */
	RECVS = 4,		/* of an EP, and of the SRQ */
	SENDS = 2,		/* of an EP, at most */
	WRITES = 8,		/* that a peer has under way */
	TOLD_MS = 20000,	/* until upcalls have been made */
};

/*
 * struct asleep - see above
 * @side: the consumer's, on the near device
 * @far: the peers'
 * @sends: of an EP, to a peer that takes none
 * @ready: the thread has gone to sleep
 * @wake: and may get up
 * @gone: it has
 * @set_up: what came of that
 * @stop: no more traffic
 * @quiet: there is none
 * @writes: of the peers, that succeeded
 * @broken: upcalls of the ends of the EPs
 * @catastrophic: upcalls of the end of the device
 * @other: upcalls of what nobody expects
 */
struct asleep {
	struct vmtest *t;
	struct side side;
	struct side far;
	struct dat_psp *psp;
	struct dat_srq *srq;
	struct dat_lmr *lmr;
	struct dat_rmr_triplet target;
	struct dat_ep *ep[EPS];
	struct dat_ep *far_ep[EPS];
	u32 sends;
	struct completion ready;
	wait_queue_head_t bed;
	bool wake;
	struct completion gone;
	int set_up;
	bool stop;
	struct completion quiet;
	u64 writes;
	atomic_t broken[EPS];
	atomic_t catastrophic;
	atomic_t other;
};

/* Between asleep_open and asleep_end; under the lock of vmtest. */
static struct asleep *asleep;

static void asleep_upcall(void *data, const struct dat_event *event, bool more)
{
	struct asleep *a = data;
	int i;

	if (event->event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC) {
		atomic_inc(&a->catastrophic);
		return;
	}
	for (i = 0; i < EPS; i++)
		if (event->event_number == DAT_CONNECTION_EVENT_BROKEN &&
		    event->event_data.connect_event_data.ep_handle == a->ep[i])
			break;
	atomic_inc(i < EPS ? &a->broken[i] : &a->other);
}

static int asleep_memory(struct asleep *a)
{
	union dat_region_description region = { .for_va = a->side.buf };
	u64 length;
	u32 lkey;
	int ret;

	ret = dat_lmr_kcreate(a->side.ia, DAT_MEM_TYPE_VIRTUAL, region,
			      SIDE_BUF, a->side.pz,
			      DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
			      DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			      &a->lmr, &lkey, &a->target.rmr_context,
			      &length, &a->target.virtual_address);
	a->target.segment_length = SIDE_BUF / 2;
	return ret;
}

static int asleep_post_srq(struct asleep *a, u64 cookie)
{
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)a->side.buf,
		.segment_length = 64,
		.lmr_context = a->side.lkey,
	};

	return dat_srq_post_recv(a->srq, 1, &iov,
				 (union dat_context){ .as_64 = cookie });
}

static int asleep_srq(struct asleep *a)
{
	struct dat_srq_attr attr = { .max_recv_dtos = RECVS, .max_recv_iov = 1 };
	struct dat_ep_attr ep_attr = {
		.max_message_size = SIDE_BUF,
		.max_rdma_size = SIDE_BUF,
		.max_recv_dtos = DAT_WATERMARK_INFINITE,
		.max_request_dtos = SENDS,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	int ret, i;

	ret = dat_srq_create(a->side.ia, a->side.pz, &attr, &a->srq);
	for (i = 0; !ret && i < RECVS; i++)
		ret = asleep_post_srq(a, i);
	if (!ret)
		ret = dat_ep_create_with_srq(a->side.ia, a->side.pz,
					     a->side.recv, a->side.request,
					     a->side.conn, a->srq, &ep_attr,
					     &a->ep[EPS - 1]);
	return ret;
}

static int asleep_eps(struct asleep *a)
{
	int ret, i, n;

	ret = dat_psp_create(a->far.ia, PORT, a->far.conn,
			     DAT_PSP_CONSUMER_FLAG, &a->psp);
	if (!ret)
		ret = asleep_srq(a);
	for (i = 0; !ret && i < EPS; i++) {
		if (i < EPS - 1)
			ret = side_ep(&a->side, RECVS, SENDS, &a->ep[i]);
		for (n = 0; !ret && i < EPS - 1 && n < RECVS; n++)
			ret = side_post_recv(&a->side, a->ep[i], n);
		if (!ret)
			ret = side_ep(&a->far, 1, WRITES, &a->far_ep[i]);
		if (!ret)
			ret = side_pair(&a->side, a->ep[i], &a->far,
					a->far_ep[i], PORT);
		for (n = 0; !ret && n < a->sends; n++)
			ret = side_post_send(&a->side, a->ep[i], n);
	}
	return ret;
}

static int asleep_set_up(struct asleep *a)
{
	const struct dat_upcall_object upcall = {
		.instance_data = a,
		.upcall_func = asleep_upcall,
	};
	int ret;

	if (!sides_open(a->t, &a->side, &a->far, 64, false))
		return -ENODEV;
	ret = asleep_memory(a);
	if (!ret)
		ret = asleep_eps(a);
	if (!ret)
		ret = dat_evd_modify_upcall(a->side.conn,
					    DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					    DAT_UPCALL_INVOC_NEW);
	if (!ret)
		ret = dat_evd_modify_upcall(a->side.async_evd,
					    DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					    DAT_UPCALL_INVOC_NEW);
	return ret;
}

/* The consumer. */
static int asleep_thread(void *data)
{
	struct asleep *a = data;

	a->set_up = asleep_set_up(a);
	complete(&a->ready);
	wait_event_idle(a->bed, READ_ONCE(a->wake));
	kthread_complete_and_exit(&a->gone, 0);
}

/* Its peers write to its memory, until they no longer can. */
static int asleep_traffic(void *data)
{
	struct asleep *a = data;
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)a->far.buf,
		.segment_length = a->target.segment_length,
		.lmr_context = a->far.lkey,
	};
	const union dat_context cookie = {};
	struct dat_event event;
	u32 left = 0, i;

	while (left || !READ_ONCE(a->stop)) {
		for (i = 0; i < EPS && !READ_ONCE(a->stop); i++)
			while (!dat_ep_post_rdma_write(a->far_ep[i], 1, &iov,
						       cookie, &a->target, 0))
				left++;
		if (side_wait(a->far.request, &event,
			      left ? SIDE_TIMEOUT_MS : 10)) {
			if (left)
				break;
			continue;
		}
		left--;
		if (event.event_data.dto_completion_event_data.status !=
		    DAT_DTO_SUCCESS)
			WRITE_ONCE(a->stop, true);
		else
			WRITE_ONCE(a->writes, a->writes + 1);
	}
	kthread_complete_and_exit(&a->quiet, 0);
}

static int asleep_run(int (*what)(void *), struct asleep *a, const char *name)
{
	struct task_struct *task = kthread_run(what, a, "%s", name);

	return PTR_ERR_OR_ZERO(task);
}

static void asleep_free(void)
{
	struct asleep *a = asleep;

	if (!a)
		return;
	WRITE_ONCE(a->stop, true);
	wait_for_completion(&a->quiet);
	WRITE_ONCE(a->wake, true);
	wake_up(&a->bed);
	wait_for_completion(&a->gone);
	side_close(&a->side);
	side_close(&a->far);
	kfree(a);
	asleep = NULL;
}

/* For the end of the module: a script may have left early. */
void vmtest_asleep_exit(void)
{
	asleep_free();
}

void vmtest_asleep_open(struct vmtest *t)
{
	struct asleep *a;
	int ret, i;

	asleep_free();
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return;
	a->t = t;
	a->sends = min_t(u32, vmtest_arg(t, "sends", SENDS), SENDS);
	init_completion(&a->ready);
	init_waitqueue_head(&a->bed);
	init_completion(&a->gone);
	init_completion(&a->quiet);
	ret = asleep_run(asleep_thread, a, "asleep");
	if (!vmtest_equal(t, ret, 0, "a consumer")) {
		kfree(a);
		return;
	}
	wait_for_completion(&a->ready);
	asleep = a;
	ret = a->set_up;
	if (!ret)
		ret = asleep_run(asleep_traffic, a, "traffic");
	if (ret)
		complete(&a->quiet);
	vmtest_equal(t, ret, 0, "%d connections, an SRQ, memory", EPS);
	ret = -ETIMEDOUT;
	for (i = 0; ret && i < 1000; i++) {
		if (READ_ONCE(a->writes) > 4 * EPS * WRITES)
			ret = 0;
		usleep_range(5000, 10000);
	}
	vmtest_equal(t, ret, 0, "traffic");
}

static bool asleep_told(struct asleep *a)
{
	bool all = atomic_read(&a->catastrophic);
	int i;

	for (i = 0; i < EPS; i++)
		all = all && atomic_read(&a->broken[i]);
	return all;
}

static void asleep_upcalls(struct vmtest *t, struct asleep *a)
{
	unsigned long end = jiffies + msecs_to_jiffies(TOLD_MS);
	int i;

	while (!asleep_told(a) && time_before(jiffies, end))
		usleep_range(500, 1000);
	/* What is one too many. */
	msleep(100);
	for (i = 0; i < EPS; i++)
		vmtest_equal(t, atomic_read(&a->broken[i]), 1,
			     "EP %d: one upcall, BROKEN", i);
	vmtest_equal(t, atomic_read(&a->catastrophic), 1,
		     "one upcall, IA_CATASTROPHIC");
	vmtest_equal(t, atomic_read(&a->other), 0, "no other upcall");
}

static void asleep_events(struct vmtest *t, struct asleep *a)
{
	struct dat_dto_completion_event_data *dto;
	struct dat_evd *evd[] = { a->side.recv, a->side.request };
	u32 flushed[EPS] = {}, other = 0, i, n;
	struct dat_event event;

	for (i = 0; i < ARRAY_SIZE(evd); i++)
		while (!dat_evd_dequeue(evd[i], &event)) {
			dto = &event.event_data.dto_completion_event_data;
			for (n = 0; n < EPS; n++)
				if (dto->ep_handle == a->ep[n])
					break;
			if (n < EPS && dto->status == DAT_DTO_ERR_FLUSHED)
				flushed[n]++;
			else
				other++;
		}
	/* Buffers of an SRQ are not an EP's. */
	for (i = 0; i < EPS; i++)
		vmtest_equal(t, flushed[i],
			     a->sends + (i < EPS - 1 ? RECVS : 0),
			     "EP %u: all is flushed", i);
	vmtest_equal(t, other, 0, "no other event");
}

static void asleep_calls(struct vmtest *t, struct asleep *a)
{
	union dat_region_description region = { .for_va = a->side.buf };
	struct dat_evd_attr evd_attr = { .budget = 1 };
	struct dat_srq_attr srq_attr = { .max_recv_dtos = 1, .max_recv_iov = 1 };
	struct side *s = &a->side;
	struct dat_lmr *lmr;
	struct dat_rmr *rmr;
	struct dat_srq *srq;
	struct dat_psp *psp;
	struct dat_evd *evd;
	struct dat_pz *pz;
	struct dat_ep *ep;
	u64 length, addr;
	u32 key;

#define GONE(call) vmtest_equal(t, call, -ENODEV, "no device: %s", #call)
	GONE(dat_pz_create(s->ia, &pz));
	GONE(dat_evd_kcreate(s->ia, 4, DAT_UPCALL_DISABLE, NULL,
			     DAT_EVD_DTO_FLAG, &evd));
	GONE(dat_evd_resize(s->recv, 128));
	GONE(dat_evd_set_attr(s->recv, DAT_EVD_ATTR_BUDGET, &evd_attr));
	GONE(dat_psp_create(s->ia, PORT + 1, s->conn, DAT_PSP_CONSUMER_FLAG,
			    &psp));
	GONE(dat_srq_create(s->ia, s->pz, &srq_attr, &srq));
	GONE(dat_srq_resize(a->srq, 2 * RECVS));
	GONE(dat_srq_set_lw(a->srq, 1));
	GONE(asleep_post_srq(a, 0));
	GONE(dat_lmr_kcreate(s->ia, DAT_MEM_TYPE_VIRTUAL, region, 64, s->pz,
			     DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA,
			     DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, &key, &key,
			     &length, &addr));
	GONE(dat_lmr_allocate(s->ia, s->pz, 1, DAT_LMR_SCOPE_PZ, &lmr));
	GONE(dat_rmr_create(s->pz, &rmr));
	GONE(side_ep(s, 1, 1, &ep));
	GONE(side_post_recv(s, a->ep[0], 0));
	GONE(side_post_send(s, a->ep[0], 0));
	GONE(side_connect(s, a->ep[0], &a->far, PORT, 1000, NULL, 0));
	GONE(dat_ep_disconnect(a->ep[0], DAT_CLOSE_ABRUPT_FLAG));
	GONE(dat_ep_reset(a->ep[0]));
#undef GONE
}

static void asleep_frees(struct vmtest *t, struct asleep *a)
{
	struct side *s = &a->side;
	int ret = 0, i;

	for (i = 0; i < EPS; i++)
		ret = dat_ep_free(a->ep[i]) ?: ret;
	vmtest_equal(t, ret, 0, "EPs are freed");
	vmtest_equal(t, dat_srq_free(a->srq), 0, "the SRQ is freed");
	ret = dat_lmr_free(a->lmr);
	ret = dat_lmr_free(s->lmr) ?: ret;
	vmtest_equal(t, ret, 0, "LMRs are freed");
	ret = dat_evd_free(s->recv);
	ret = dat_evd_free(s->request) ?: ret;
	ret = dat_evd_free(s->conn) ?: ret;
	vmtest_equal(t, ret, 0, "EVDs are freed");
	vmtest_equal(t, dat_pz_free(s->pz), 0, "the PZ is freed");
	ret = dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG);
	if (vmtest_equal(t, ret, 0, "the IA is closed in order"))
		s->ia = NULL;
}

void vmtest_asleep_end(struct vmtest *t)
{
	struct asleep *a = asleep;

	if (!vmtest_check(t, a && !a->set_up, "something to end"))
		return;
	vmtest_check(t, !completion_done(&a->gone), "the consumer sleeps");
	asleep_upcalls(t, a);
	asleep_events(t, a);
	asleep_calls(t, a);
	asleep_frees(t, a);
	asleep_free();
}
