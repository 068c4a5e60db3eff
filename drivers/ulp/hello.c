// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_hello: a whole consumer of kdapl on two pages, to begin with.
 *
 * It connects, sends one message, takes the peer's, and disconnects, all in the task
 * that loads it; the load fails with the errno of what went wrong. The peer is
 * ucmatose of the package rdmacm-utils, which sends as soon as it is connected:
 *
 *	10.0.0.2$ ucmatose -C 1 -S 64
 *	10.0.0.1# modprobe kdapl_hello device=rxe0 addr=10.0.0.2
 *
 * One EVD takes all events: of the connection and of what is posted. A consumer
 * with many connections has a thread in the place of that task, which lives longer
 * than its upcalls; see rping/.
 */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <dat/kdat.h>

enum {
	HELLO_BYTES = 64,	/* of each of the two messages */
	HELLO_SECONDS = 20,	/* until nothing more is waited for */
};

static char *device = "rxe0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "RDMA device, or the address of one");

static char *addr = "10.0.0.2";
module_param(addr, charp, 0444);
MODULE_PARM_DESC(addr, "IPv4 address of the peer");

static ushort port = 7471;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "TCP port number of its service (default 7471)");

/* The cookies of the two requests, by which their events are told apart. */
enum hello_cookie {
	HELLO_SENT = 1,
	HELLO_HEARD,
};

struct hello {
	struct dat_ia *ia;
	struct dat_evd *evd;
	struct dat_pz *pz;
	struct dat_ep *ep;
	char *memory;		/* what is sent, and behind it what is received */
	u64 address;		/* of the memory, as the device knows it */
	u32 context;
	bool sent;
	bool heard;
	bool ended;
};

/* Upcalls are disabled again. Of an EVD with completions only it is in softirq. */
static void hello_upcall(void *data, const struct dat_event *none, bool more)
{
	wake_up_process(data);
}

/* Nothing is left but hello.memory when that returns. */
static void hello_close(struct hello *h)
{
	if (h->ia)
		dat_ia_close(h->ia, DAT_CLOSE_ABRUPT_FLAG);
}

static int hello_open(struct hello *h)
{
	union dat_region_description region = { .for_va = h->memory };
	struct dat_evd *async_evd = NULL;	/* have one made */
	u32 rmr_context;
	struct dat_lmr *lmr;
	u64 length;
	int ret;

	ret = dat_ia_open(device, 8, &async_evd, &h->ia);
	if (!ret)
		ret = dat_evd_kcreate(h->ia, 64, DAT_UPCALL_DISABLE, NULL,
				      DAT_EVD_DTO_FLAG |
				      DAT_EVD_CONNECTION_FLAG, &h->evd);
	if (!ret)
		ret = dat_pz_create(h->ia, &h->pz);
	if (!ret)
		ret = dat_lmr_kcreate(h->ia, DAT_MEM_TYPE_VIRTUAL, region,
				      2 * HELLO_BYTES, h->pz,
				      DAT_MEM_PRIV_LOCAL_READ_FLAG |
				      DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				      DAT_VA_TYPE_VA,
				      DAT_MEM_OPTIMIZE_DONT_CARE, &lmr,
				      &h->context, &rmr_context, &length,
				      &h->address);
	if (!ret)
		ret = dat_ep_create(h->ia, h->pz, h->evd, h->evd, h->evd, NULL,
				    &h->ep);
	return ret;
}

static struct dat_lmr_triplet hello_segment(struct hello *h, u64 offset)
{
	return (struct dat_lmr_triplet) {
		.virtual_address = h->address + offset,
		.segment_length = HELLO_BYTES,
		.lmr_context = h->context,
	};
}

static int hello_connect(struct hello *h)
{
	struct dat_lmr_triplet room = hello_segment(h, HELLO_BYTES);
	union dat_context cookie = { .as_64 = HELLO_HEARD };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int ret;

	if (!in4_pton(addr, -1, (u8 *)&sin.sin_addr, -1, NULL))
		return -EINVAL;
	/* Before the peer can send: it would find no receive. */
	ret = dat_ep_post_recv(h->ep, 1, &room, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (ret)
		return ret;
	return dat_ep_connect(h->ep, (struct sockaddr *)&sin, port,
			      5 * USEC_PER_SEC, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static int hello_send(struct hello *h)
{
	struct dat_lmr_triplet message = hello_segment(h, 0);
	union dat_context cookie = { .as_64 = HELLO_SENT };

	return dat_ep_post_send(h->ep, 1, &message, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

static int hello_completion(struct hello *h,
			    const struct dat_dto_completion_event_data *data)
{
	/* Behind all that fails or is flushed comes the end, which says why. */
	if (data->status != DAT_DTO_SUCCESS)
		return 0;
	if (data->user_cookie.as_64 == HELLO_SENT) {
		h->sent = true;
	} else {
		h->heard = true;
		pr_info("%u bytes from %s\n", data->transfered_length, addr);
	}
	/* What the peer sends may overtake the news that it is connected. */
	if (!h->sent || !h->heard)
		return 0;
	/* It returns at once; the end is an event. */
	return dat_ep_disconnect(h->ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static int hello_event(struct hello *h, const struct dat_event *event)
{
	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return hello_send(h);
	case DAT_DTO_COMPLETION_EVENT:
		return hello_completion(h, &event->event_data
					.dto_completion_event_data);
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		h->ended = true;
		return h->sent && h->heard ? 0 : -ECONNRESET;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return -ECONNREFUSED;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return -EHOSTUNREACH;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return -ETIMEDOUT;
	default:
		return -ECONNRESET;
	}
}

/* The loop of every consumer: dequeue until empty, enable, sleep. */
static int hello_serve(struct hello *h)
{
	struct dat_upcall_object upcall = {
		.instance_data = current,
		.upcall_func = hello_upcall,
	};
	unsigned long end = jiffies + HELLO_SECONDS * HZ;
	struct dat_event event;
	int ret;

	for (;;) {
		while (!dat_evd_dequeue(h->evd, &event)) {
			ret = hello_event(h, &event);
			if (ret || h->ended)
				return ret;
		}
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		if (fatal_signal_pending(current))
			return -EINTR;
		/* In front of the enable: the upcall may come before it returns. */
		set_current_state(TASK_KILLABLE);
		ret = dat_evd_modify_upcall(h->evd, DAT_UPCALL_NOTIFY, &upcall,
					    DAT_UPCALL_INVOC_NEW);
		if (!ret)
			schedule_timeout(max_t(long, end - jiffies, 0) + 1);
		__set_current_state(TASK_RUNNING);
		/* -EBUSY: something came, go on. */
		if (ret && ret != -EBUSY)
			return ret;
	}
}

static int __init hello_init(void)
{
	struct hello h = {};
	int ret;

	h.memory = kzalloc(2 * HELLO_BYTES, GFP_KERNEL);
	if (!h.memory)
		return -ENOMEM;
	strscpy(h.memory, "hello", HELLO_BYTES);

	ret = hello_open(&h);
	if (!ret)
		ret = hello_connect(&h);
	if (!ret)
		ret = hello_serve(&h);
	if (ret)
		pr_err("no exchange with %s: %d\n", addr, ret);
	hello_close(&h);
	kfree(h.memory);
	return ret;
}

static void __exit hello_exit(void)
{
}

module_init(hello_init);
module_exit(hello_exit);

MODULE_DESCRIPTION("A small consumer of kdapl");
MODULE_LICENSE("GPL");
