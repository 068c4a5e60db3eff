// SPDX-License-Identifier: GPL-2.0
/*
 * The rows through kdapl: two EPs of one IA, connected to each other, EVDs of
 * their own whose upcalls run in softirq.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "bench.h"

static void kd_upcall(void *data, const struct dat_event *event, bool more)
{
	struct kd_end *end = data;

	if (end->handler) {
		end->handler(end);
		return;
	}
	WRITE_ONCE(end->signalled, true);
	wake_up(&end->wait);
}

int kd_ep(struct kd *kd, struct kd_end *end)
{
	struct dat_ep_attr attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = BENCH_MSG,
		.max_rdma_size = BENCH_MSG,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = BENCH_DEPTH,
		.max_request_dtos = BENCH_DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	return dat_ep_create(kd->ia, kd->pz, end->recv_evd, end->send_evd,
			     kd->conn_evd, &attr, &end->ep);
}

static int end_open(struct kd *kd, struct kd_end *end)
{
	struct dat_upcall_object upcall = {
		.instance_data = end,
		.upcall_func = kd_upcall,
	};
	int ret;

	init_waitqueue_head(&end->wait);
	ret = dat_evd_kcreate(kd->ia, BENCH_QLEN, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_DTO_FLAG, &end->send_evd);
	if (!ret)
		ret = dat_evd_kcreate(kd->ia, BENCH_QLEN, DAT_UPCALL_DISABLE,
				      &upcall, DAT_EVD_DTO_FLAG,
				      &end->recv_evd);
	return ret ? ret : kd_ep(kd, end);
}

/* The next event of @evd, which has to be this one. */
int kd_expect(struct dat_evd *evd, enum dat_event_number number,
	      struct dat_event *event)
{
	int tries = 100000;

	while (dat_evd_dequeue(evd, event)) {
		if (!tries--)
			return -ETIMEDOUT;
		usleep_range(20, 50);
	}
	return event->event_number == number ? 0 : -EPROTO;
}

int kd_connect(struct kd *kd, struct dat_ep *from, struct dat_ep *to)
{
	struct dat_event event;
	int ret;

	ret = dat_ep_connect(from, (struct sockaddr *)&kd->addr, BENCH_PORT,
			     10 * USEC_PER_SEC, 0, NULL, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	if (!ret)
		ret = kd_expect(kd->conn_evd, DAT_CONNECTION_REQUEST_EVENT,
				&event);
	if (!ret)
		ret = dat_cr_accept(event.event_data.cr_arrival_event_data
				    .cr_handle, to, 0, NULL);
	if (!ret)
		ret = kd_expect(kd->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED,
				&event);
	if (!ret)
		ret = kd_expect(kd->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED,
				&event);
	return ret;
}

int kd_post_send(struct kd *kd, struct kd_end *end)
{
	union dat_context cookie = { .as_ptr = end };

	return dat_ep_post_send(end->ep, 1, &kd->send_iov, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

int kd_post_recv(struct kd *kd, struct kd_end *end)
{
	union dat_context cookie = { .as_ptr = end };

	return dat_ep_post_recv(end->ep, 1, &kd->recv_iov, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

int kd_open(struct kd *kd, const struct sockaddr_storage *addr,
	    const char *name)
{
	union dat_region_description region;
	u32 rkey, context = 0;
	u64 length, start;
	int ret, i;

	kd->addr = *addr;
	ret = dat_ia_open(name, 8, &kd->async_evd, &kd->ia);
	if (ret)
		return ret;
	kd->buf = kzalloc(2 * BENCH_MSG, GFP_KERNEL);
	if (!kd->buf)
		return -ENOMEM;
	ret = dat_evd_kcreate(kd->ia, 64, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			      &kd->conn_evd);
	if (!ret)
		ret = dat_pz_create(kd->ia, &kd->pz);
	region.for_va = kd->buf;
	if (!ret)
		ret = dat_lmr_kcreate(kd->ia, DAT_MEM_TYPE_VIRTUAL, region,
				      2 * BENCH_MSG, kd->pz,
				      DAT_MEM_PRIV_LOCAL_READ_FLAG |
				      DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				      DAT_VA_TYPE_VA,
				      DAT_MEM_OPTIMIZE_DONT_CARE, &kd->lmr,
				      &context, &rkey, &length, &start);
	kd->send_iov = (struct dat_lmr_triplet){
		.virtual_address = (uintptr_t)kd->buf,
		.segment_length = BENCH_MSG,
		.lmr_context = context,
	};
	kd->recv_iov = kd->send_iov;
	kd->recv_iov.virtual_address += BENCH_MSG;
	if (!ret)
		ret = end_open(kd, &kd->a);
	if (!ret)
		ret = end_open(kd, &kd->b);
	if (!ret)
		ret = dat_psp_create(kd->ia, BENCH_PORT, kd->conn_evd,
				     DAT_PSP_CONSUMER_FLAG, &kd->psp);
	for (i = 0; !ret && i < BENCH_RECVS; i++)
		ret = kd_post_recv(kd, &kd->a) ?: kd_post_recv(kd, &kd->b);
	return ret ? ret : kd_connect(kd, kd->a.ep, kd->b.ep);
}

/* An abrupt close takes everything along. */
void kd_close(struct kd *kd)
{
	if (kd->ia)
		WARN_ON(dat_ia_close(kd->ia, DAT_CLOSE_ABRUPT_FLAG));
	kd_mem_close();
	kfree(kd->buf);
}

int kd_enable(struct kd_end *end)
{
	return dat_evd_modify_upcall(end->recv_evd, DAT_UPCALL_NOTIFY,
				     DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
}

int kd_disable(struct kd_end *end)
{
	return dat_evd_modify_upcall(end->recv_evd, DAT_UPCALL_DISABLE,
				     DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
}

/* The EVD carries nothing but completions. */
static bool failed(const struct dat_event *event)
{
	return event->event_data.dto_completion_event_data.status;
}

/* Takes all events; for the receives among them new ones are posted. */
static int kd_drain(struct kd *kd, struct kd_end *end, struct dat_evd *evd,
		    bool repost)
{
	int n, i, ret;

	while ((n = dat_evd_dequeue_batch(evd, kd->events,
					  BENCH_WAITING)) > 0) {
		for (i = 0; i < n; i++) {
			if (failed(&kd->events[i]))
				return -EIO;
			if (!repost)
				continue;
			ret = kd_post_recv(kd, end);
			if (ret)
				return ret;
		}
	}
	return n;
}

static int kd_clean(struct kd *kd)
{
	bench_settle();
	return kd_drain(kd, &kd->b, kd->b.recv_evd, true) ?:
	       kd_drain(kd, &kd->a, kd->a.recv_evd, true) ?:
	       kd_drain(kd, &kd->a, kd->a.send_evd, false) ?:
	       kd_drain(kd, &kd->b, kd->b.send_evd, false);
}

/* @count completions wait in the CQ of B's receives, nothing anywhere else. */
static int kd_fill(struct kd *kd, int count)
{
	int ret, i;

	for (i = 0; i < count; i++) {
		ret = kd_post_send(kd, &kd->a);
		if (ret)
			return ret;
	}
	bench_settle();
	return kd_drain(kd, &kd->a, kd->a.send_evd, false);
}

int kd_row_batch(struct kd *kd, struct bench_pass *pass)
{
	int reps = pass->small ? 1 : 8, ret, n;
	unsigned long flags;
	u64 begin;

	while (reps--) {
		ret = kd_fill(kd, BENCH_WAITING);
		if (ret)
			return ret;
		local_irq_save(flags);
		begin = bench_begin();
		n = dat_evd_dequeue_batch(kd->b.recv_evd, kd->events,
					  BENCH_WAITING);
		bench_end(pass, begin);
		local_irq_restore(flags);
		if (n != BENCH_WAITING)
			return -EIO;
		while (n--)
			if (failed(&kd->events[n]) || kd_post_recv(kd, &kd->b))
				return -EIO;
		pass->ops += BENCH_WAITING;
	}
	return 0;
}

int kd_row_single(struct kd *kd, struct bench_pass *pass)
{
	int reps = pass->small ? 1 : 8, ret, i;
	unsigned long flags;
	u64 begin;

	while (reps--) {
		ret = kd_fill(kd, BENCH_WAITING);
		if (ret)
			return ret;
		ret = 0;
		local_irq_save(flags);
		begin = bench_begin();
		for (i = 0; i < BENCH_WAITING; i++)
			ret |= dat_evd_dequeue(kd->b.recv_evd, kd->events);
		bench_end(pass, begin);
		local_irq_restore(flags);
		if (ret)
			return ret;
		for (i = 0; i < BENCH_WAITING; i++)
			if (kd_post_recv(kd, &kd->b))
				return -EIO;
		pass->ops += BENCH_WAITING;
	}
	return 0;
}

int kd_row_empty(struct kd *kd, struct bench_pass *pass)
{
	unsigned long flags;
	int i, ret = 0;
	u64 begin;

	local_irq_save(flags);
	begin = bench_begin();
	for (i = 0; i < BENCH_CALLS; i++)
		ret |= dat_evd_dequeue(kd->b.recv_evd, kd->events);
	bench_end(pass, begin);
	local_irq_restore(flags);
	pass->ops += BENCH_CALLS;
	return ret == -EAGAIN ? 0 : -EIO;
}

int kd_row_enable(struct kd *kd, struct bench_pass *pass)
{
	unsigned long flags;
	int i, ret = 0;
	u64 begin;

	local_irq_save(flags);
	begin = bench_begin();
	for (i = 0; i < BENCH_CALLS; i++)
		ret |= kd_enable(&kd->b);
	bench_end(pass, begin);
	local_irq_restore(flags);
	kd_disable(&kd->b);
	pass->ops += BENCH_CALLS;
	return ret;
}

/* One event was dequeued, so that the others have reached the ring. */
int kd_row_busy(struct kd *kd, struct bench_pass *pass)
{
	unsigned long flags;
	int i, ret, busy = 0;
	u64 begin;

	ret = kd_fill(kd, BENCH_WAITING);
	if (!ret)
		ret = dat_evd_dequeue(kd->b.recv_evd, kd->events);
	if (!ret)
		ret = kd_post_recv(kd, &kd->b);
	if (ret)
		return ret;
	local_irq_save(flags);
	begin = bench_begin();
	for (i = 0; i < BENCH_CALLS; i++)
		busy += kd_enable(&kd->b) == -EBUSY;
	bench_end(pass, begin);
	local_irq_restore(flags);
	pass->ops += BENCH_CALLS;
	if (busy != BENCH_CALLS)
		return -EIO;
	return kd_drain(kd, &kd->b, kd->b.recv_evd, true);
}

/* As many as a burst has: only the first of them has to wake ksoftirqd. */
int kd_row_send(struct kd *kd, struct bench_pass *pass)
{
	int i, ret, reps = pass->small ? 1 : 4;
	u64 begin;

	while (reps--) {
		ret = 0;
		begin = bench_begin();
		for (i = 0; i < BENCH_WAITING; i++)
			ret |= kd_post_send(kd, &kd->a);
		bench_end(pass, begin);
		pass->ops += BENCH_WAITING;
		if (ret)
			return -EIO;
		ret = kd_clean(kd);
		if (ret)
			return ret;
	}
	return 0;
}

int kd_row_recv(struct kd *kd, struct bench_pass *pass)
{
	int i, ret = 0, reps = 32;
	u64 begin;

	begin = bench_begin();
	for (i = 0; i < reps; i++)
		ret |= kd_post_recv(kd, &kd->b);
	bench_end(pass, begin);
	pass->ops += reps;
	if (ret)
		return -EIO;
	/* Those that are too many go. */
	ret = kd_fill(kd, reps);
	return ret ? ret : kd_drain(kd, &kd->b, kd->b.recv_evd, false);
}

/* Posts, and lets the device work through it at once. */
static int polled_send(struct kd *kd, struct kd_end *end)
{
	int ret;

	local_bh_disable();
	ret = kd_post_send(kd, end);
	local_bh_enable();
	return ret;
}

static int polled_take(struct kd *kd, struct kd_end *end)
{
	int n;

	while (!(n = dat_evd_dequeue_batch(end->recv_evd, kd->events,
					   BENCH_WAITING)))
		cond_resched();
	if (n != 1 || failed(&kd->events[0]))
		return -EIO;
	return kd_post_recv(kd, end);
}

static int sent(struct kd *kd, struct kd_end *end)
{
	int n = dat_evd_dequeue_batch(end->send_evd, kd->events, BENCH_WAITING);

	while (n > 0)
		if (failed(&kd->events[--n]))
			return -EIO;
	return n;
}

int kd_row_polled(struct kd *kd, struct bench_pass *pass)
{
	int i, ret = 0, reps = pass->small ? 4 : BENCH_POLLED;
	u64 begin;

	begin = bench_begin();
	for (i = 0; i < reps && !ret; i++) {
		ret = polled_send(kd, &kd->a) ?:
		      polled_take(kd, &kd->b) ?:
		      polled_send(kd, &kd->b) ?:
		      polled_take(kd, &kd->a) ?:
		      sent(kd, &kd->a) ?:
		      sent(kd, &kd->b);
	}
	bench_end(pass, begin);
	pass->ops += reps;
	return ret ? ret : kd_clean(kd);
}

static int upcall_take(struct kd *kd, struct kd_end *end)
{
	int n, ret;

	for (;;) {
		n = dat_evd_dequeue_batch(end->recv_evd, kd->events,
					  BENCH_WAITING);
		if (n)
			break;
		WRITE_ONCE(end->signalled, false);
		ret = kd_enable(end);
		if (ret == -EBUSY)
			continue;
		if (ret)
			return ret;
		wait_event(end->wait, READ_ONCE(end->signalled));
	}
	if (n != 1 || failed(&kd->events[0]))
		return -EIO;
	return kd_post_recv(kd, end);
}

int kd_row_upcall(struct kd *kd, struct bench_pass *pass)
{
	int i, ret = 0, reps = pass->small ? 4 : BENCH_ROUNDS;
	u64 begin;

	begin = bench_begin();
	for (i = 0; i < reps && !ret; i++) {
		ret = kd_post_send(kd, &kd->a) ?:
		      upcall_take(kd, &kd->b) ?:
		      kd_post_send(kd, &kd->b) ?:
		      upcall_take(kd, &kd->a) ?:
		      sent(kd, &kd->a) ?:
		      sent(kd, &kd->b);
	}
	bench_end(pass, begin);
	pass->ops += reps;
	return ret ? ret : kd_clean(kd);
}
