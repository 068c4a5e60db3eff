// SPDX-License-Identifier: GPL-2.0
/*
 * A session owns an IA, a PZ, its LMRs, one EVD or three, and an EP that it
 * creates up front, in that order; a server has a PSP besides. All of them are
 * used by one thread, which sleeps until an upcall of any EVD wakes it:
 *
 *	take all events of the EVDs whose upcalls are off, enable those upcalls
 *	sleep until an upcall has come (or somebody wants the session to stop)
 *
 * The rest, what to do with an event, is in protocol.c.
 *
 * Objects are created by whoever starts the session, so that mistakes are
 * answered at once and the IA is looked up in the caller's network namespace.
 * They are freed by the thread when all is over, or, with param.keep, by
 * rping_session_destroy(), when the thread is no more.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "session.h"

enum {
	/* The terminal event has a deadline of its own, well below this. */
	RPING_STOP_SECONDS = 60,
};

/**
 * rping_session_fail() - something went wrong
 * @s: the session
 * @result: negative errno
 * @text: what exactly, or NULL
 *
 * The first failure stays the result. A connection is brought to its end.
 */
void rping_session_fail(struct rping_session *s, int result, const char *text)
{
	if (!s->result) {
		s->result = result;
		s->text = text;
	}
	if (s->step != RPING_IDLE && s->step != RPING_CLOSE) {
		s->step = RPING_CLOSE;
		s->pending = 0;
		dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG);
	}
}

static int create_mem(struct rping_session *s)
{
	const enum dat_mem_priv_flags local = DAT_MEM_PRIV_LOCAL_READ_FLAG |
					      DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	enum dat_mem_priv_flags source = local;
	struct dat_provider_attr *attr;
	int ret;

	ret = rping_mem_create(s, &s->control, sizeof(struct rping_control),
			       local);
	if (ret)
		return ret;

	if (!s->param.server) {
		if (s->param.mem == RPING_MEM_POOL)
			ret = rping_mem_create_pool(s);
		if (!ret)
			ret = rping_mem_create_shown(s, &s->source,
						     s->param.size,
						     DAT_MEM_PRIV_REMOTE_READ_FLAG);
		if (!ret)
			ret = rping_mem_create_shown(s, &s->sink,
						     s->param.size,
						     DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
		return ret;
	}

	/* iWARP answers a read by writing to its target. */
	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	if (!attr)
		return -ENOMEM;
	ret = dat_ia_query(s->ia, NULL, 0, NULL,
			   DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ,
			   attr);
	if (!ret && attr->rdma_write_for_rdma_read_req)
		source |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	kfree(attr);
	if (ret)
		return ret;
	return rping_mem_create(s, &s->source, s->param.size, source);
}

static int create_evd(struct rping_session *s, struct rping_evd **evd,
		      const char *name, enum dat_evd_flags flags)
{
	int ret;

	*evd = &s->evds[s->nr_evds];
	ret = rping_evd_create(*evd, s->ia, name, RPING_EVD_QLEN, flags,
			       s->param.single, &s->wait);
	if (!ret)
		s->nr_evds++;
	return ret;
}

static int create_evds(struct rping_session *s)
{
	const enum dat_evd_flags cm = DAT_EVD_CR_FLAG |
				      DAT_EVD_CONNECTION_FLAG;
	int ret;

	if (s->param.merged) {
		ret = create_evd(s, &s->conn, "all", cm | DAT_EVD_DTO_FLAG |
						     DAT_EVD_RMR_BIND_FLAG);
		s->recv = s->conn;
		s->request = s->conn;
		return ret;
	}

	ret = create_evd(s, &s->conn, "connection", cm);
	if (!ret)
		ret = create_evd(s, &s->recv, "recv", DAT_EVD_DTO_FLAG);
	if (!ret)
		ret = create_evd(s, &s->request, "request",
				 DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	return ret;
}

static int create_ep(struct rping_session *s)
{
	struct dat_ep_attr attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = sizeof(struct rping_adv),
		.max_rdma_size = RPING_SIZE_MAX,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = RPING_RECVS,
		.max_request_dtos = RPING_REQUESTS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	return dat_ep_create(s->ia, s->pz, s->recv->evd, s->request->evd,
			     s->conn->evd, &attr, &s->ep);
}

/* Named by the user, else the one with our address, else the first. */
static int open_ia(struct rping_session *s)
{
	struct dat_provider_info *info, *list[1];
	const char *name = s->param.device;
	int count = 0, ret = 0;

	info = kzalloc(sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	list[0] = info;
	if (!*name && s->param.server && s->param.addr_text[0])
		name = s->param.addr_text;
	if (!*name) {
		ret = dat_registry_list_providers(1, &count, list);
		if (!ret && !count)
			ret = -ENODEV;
		name = info->ia_name;
	}
	if (!ret)
		ret = dat_ia_open(name, 8, &s->async_evd, &s->ia);
	kfree(info);
	return ret;
}

static void free_objects(struct rping_session *s)
{
	unsigned int i;
	int ret;

	if (s->psp)
		dat_psp_free(s->psp);
	if (s->cr)
		dat_cr_reject(s->cr, 0, NULL);
	if (s->ep) {
		ret = dat_ep_free(s->ep);
		if (ret)
			pr_warn("EP cannot be freed: %d\n", ret);
	}
	rping_mem_destroy(&s->sink);
	rping_mem_destroy(&s->source);
	rping_mem_destroy(&s->control);
	if (s->pool) {
		ret = dat_fmr_pool_destroy(s->pool);
		if (ret)
			pr_warn("pool cannot be destroyed: %d\n", ret);
		kvfree(s->sink.buf);
		kvfree(s->source.buf);
	}
	s->pool = NULL;
	s->sink.buf = NULL;
	s->source.buf = NULL;
	s->control.buf = NULL;
	for (i = 0; i < s->nr_evds; i++)
		rping_evd_free(&s->evds[i]);
	if (s->pz)
		dat_pz_free(s->pz);
	if (s->ia) {
		ret = dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG);
		if (ret)
			pr_warn("IA cannot be closed: %d\n", ret);
	}
	s->psp = NULL;
	s->cr = NULL;
	s->ep = NULL;
	s->pz = NULL;
	s->ia = NULL;
}

static int create_objects(struct rping_session *s)
{
	int ret;

	ret = open_ia(s);
	if (!ret)
		ret = dat_pz_create(s->ia, &s->pz);
	if (!ret)
		ret = create_mem(s);
	if (!ret)
		ret = create_evds(s);
	if (!ret)
		ret = create_ep(s);
	if (ret)
		free_objects(s);
	return ret;
}

static bool session_woken(struct rping_session *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_evds; i++)
		if (!rping_evd_armed(&s->evds[i]))
			return true;
	return READ_ONCE(s->stop) && !s->stopping;
}

static void session_serve(struct rping_session *s)
{
	const struct rping_evd_sink sink = { rping_protocol_event, s };
	unsigned long overdue = 0;
	unsigned int i;
	int ret;

	while (!s->done) {
		for (i = 0; i < s->nr_evds && !s->done; i++) {
			ret = rping_evd_service(&s->evds[i], &sink);
			if (ret) {
				rping_session_fail(s, ret, "cannot enable");
				s->done = true;
			}
		}
		rping_protocol_settle(s);
		if (s->done)
			return;

		if (READ_ONCE(s->stop) && !s->stopping) {
			s->stopping = true;
			overdue = jiffies + RPING_STOP_SECONDS * HZ;
			rping_protocol_stop(s);
			continue;
		}

		if (wait_event_idle_timeout(s->wait, session_woken(s), HZ))
			continue;
		for (i = 0; i < s->nr_evds && !s->done; i++)
			rping_evd_watch(&s->evds[i], &sink);
		if (s->stopping && time_after(jiffies, overdue)) {
			rping_session_fail(s, -ETIMEDOUT,
					   "the end never came");
			return;
		}
	}
}

static int session_thread(void *data)
{
	struct rping_session *s = data;
	const struct rping_evd_sink sink = { rping_protocol_event, s };
	unsigned int i;

	rping_protocol_start(s);
	session_serve(s);
	/* Upcalls that were under way are over, their events counted. */
	for (i = 0; i < s->nr_evds; i++)
		rping_evd_finish(&s->evds[i], &sink);
	if (!s->param.keep)
		free_objects(s);
	/* Pairs with rping_session_show(): the results are final. */
	smp_store_release(&s->finished, true);
	return 0;
}

/**
 * rping_session_start() - a new session
 * @param: copied
 *
 * Context: process, may sleep; the caller's network namespace is used.
 * Return: the session, or an ERR_PTR() with the reason why it cannot start.
 */
struct rping_session *rping_session_start(const struct rping_param *param)
{
	struct rping_session *s;
	struct task_struct *thread;
	int ret;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->param = *param;
	init_waitqueue_head(&s->wait);

	ret = create_objects(s);
	if (ret)
		goto out_free;

	thread = kthread_create(session_thread, s, "rping/%s", s->param.name);
	if (IS_ERR(thread)) {
		ret = PTR_ERR(thread);
		goto out_free_objects;
	}
	/* So that kthread_stop() may wait for it after its end. */
	s->thread = get_task_struct(thread);
	wake_up_process(thread);
	return s;

out_free_objects:
	free_objects(s);
out_free:
	kfree(s);
	return ERR_PTR(ret);
}

/* Asks for an end and returns at once. */
void rping_session_stop(struct rping_session *s)
{
	WRITE_ONCE(s->stop, true);
	wake_up(&s->wait);
}

/* Stops the session and waits; nobody else may know of it any more. */
void rping_session_destroy(struct rping_session *s)
{
	rping_session_stop(s);
	kthread_stop(s->thread);
	put_task_struct(s->thread);
	/* A thread that is stopped before it has run for the first time never runs. */
	if (s->param.keep || !s->finished)
		free_objects(s);
	kfree(s);
}

static const char *session_state(struct rping_session *s)
{
	switch (READ_ONCE(s->step)) {
	case RPING_IDLE:
		return s->param.server ? "listening" : "idle";
	case RPING_CONNECT:
		return "connecting";
	case RPING_CLOSE:
		return "closing";
	default:
		return "running";
	}
}

/* The report: numbers may still move unless it says "state done". */
void rping_session_show(struct rping_session *s, struct seq_file *m)
{
	/* Pairs with session_thread(). */
	bool finished = smp_load_acquire(&s->finished);
	int result = READ_ONCE(s->result);
	const char *major = "success", *minor = "";
	unsigned int i;

	if (result)
		dat_strerror(result, &major, &minor);
	seq_printf(m, "role %s\n", s->param.server ? "server" : "client");
	seq_printf(m, "state %s\n", finished ? "done" : session_state(s));
	seq_printf(m, "result %d %s\n", result,
		   result && s->text ? s->text : major);
	seq_printf(m, "connections %u\n", READ_ONCE(s->connections));
	seq_printf(m, "pings %llu verified %llu\n", READ_ONCE(s->pings),
		   READ_ONCE(s->verified));
	for (i = 0; i < s->nr_evds; i++)
		rping_evd_show(&s->evds[i], m);
}
