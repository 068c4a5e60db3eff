// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: counters of IAs, EPs and EVDs
 *
 * What is rare is counted always. Posts and receives are counted only while
 * their IA was told to, behind a static key, so that nobody else pays for it. A
 * reset changes what a counter is compared with, never the counter.
 */
#include "counters.h"

#include <linux/export.h>
#include <linux/kernel.h>

#include <dat/kdat.h>

#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "trace.h"

DEFINE_STATIC_KEY_FALSE(kdapl_counters_key);

static void counters_key_inc(void)
{
	static_branch_inc(&kdapl_counters_key);
	/* The short way of a dequeue does not count. */
	kdapl_dequeue_trace_on();
}

static void counters_key_dec(void)
{
	kdapl_dequeue_trace_off();
	static_branch_dec(&kdapl_counters_key);
}

enum {
	COUNTERS_MOST = DCNT_IA_ALL_COUNTERS,
};

static_assert((int)DCNT_EP_ALL_COUNTERS <= COUNTERS_MOST);
static_assert((int)DCNT_EVD_ALL_COUNTERS <= COUNTERS_MOST);

/* In the order of the enums. */
static const char * const counters_ia_names[DCNT_IA_ALL_COUNTERS] = {
	"DCNT_IA_PZ_CREATE", "DCNT_IA_PZ_FREE", "DCNT_IA_LMR_CREATE",
	"DCNT_IA_LMR_FREE", "DCNT_IA_RMR_CREATE", "DCNT_IA_RMR_FREE",
	"DCNT_IA_PSP_CREATE", "DCNT_IA_PSP_CREATE_ANY", "DCNT_IA_PSP_FREE",
	"DCNT_IA_RSP_CREATE", "DCNT_IA_RSP_FREE", "DCNT_IA_EVD_CREATE",
	"DCNT_IA_EVD_FREE", "DCNT_IA_EP_CREATE", "DCNT_IA_EP_FREE",
	"DCNT_IA_SRQ_CREATE", "DCNT_IA_SRQ_FREE", "DCNT_IA_SP_CR",
	"DCNT_IA_SP_CR_ACCEPTED", "DCNT_IA_SP_CR_REJECTED",
	"DCNT_IA_MEM_ALLOC", "DCNT_IA_MEM_ALLOC_DATA", "DCNT_IA_MEM_FREE",
	"DCNT_IA_ASYNC_ERROR", "DCNT_IA_ASYNC_QP_ERROR",
	"DCNT_IA_ASYNC_CQ_ERROR",
};

static const char * const counters_ep_names[DCNT_EP_ALL_COUNTERS] = {
	"DCNT_EP_CONNECT", "DCNT_EP_DISCONNECT", "DCNT_EP_POST_SEND",
	"DCNT_EP_POST_SEND_DATA", "DCNT_EP_POST_SEND_UD",
	"DCNT_EP_POST_SEND_UD_DATA", "DCNT_EP_POST_RECV",
	"DCNT_EP_POST_RECV_DATA", "DCNT_EP_POST_WRITE",
	"DCNT_EP_POST_WRITE_DATA", "DCNT_EP_POST_WRITE_IMM",
	"DCNT_EP_POST_WRITE_IMM_DATA", "DCNT_EP_POST_READ",
	"DCNT_EP_POST_READ_DATA", "DCNT_EP_POST_CMP_SWAP",
	"DCNT_EP_POST_FETCH_ADD", "DCNT_EP_RECV", "DCNT_EP_RECV_DATA",
	"DCNT_EP_RECV_UD", "DCNT_EP_RECV_UD_DATA", "DCNT_EP_RECV_IMM",
	"DCNT_EP_RECV_IMM_DATA", "DCNT_EP_RECV_RDMA_IMM",
	"DCNT_EP_RECV_RDMA_IMM_DATA",
};

static const char * const counters_evd_names[DCNT_EVD_ALL_COUNTERS] = {
	"DCNT_EVD_WAIT", "DCNT_EVD_WAIT_BLOCKED", "DCNT_EVD_WAIT_NOTIFY",
	"DCNT_EVD_DEQUEUE", "DCNT_EVD_DEQUEUE_FOUND",
	"DCNT_EVD_DEQUEUE_NOT_FOUND", "DCNT_EVD_DEQUEUE_POLL",
	"DCNT_EVD_DEQUEUE_POLL_FOUND", "DCNT_EVD_CONN_CALLBACK",
	"DCNT_EVD_DTO_CALLBACK",
};

static bool counters_on(const struct dat_ep *ep)
{
	return test_bit(KDAPL_IA_COUNTING, &ep->obj.ia->flags);
}

void kdapl_counters_post_locked(struct dat_ep *ep, u8 op, u32 bytes)
{
	u64 *counters = ep->counters;

	if (!counters_on(ep))
		return;
	switch (op) {
	case DAT_DTO_SEND:
		counters[DCNT_EP_POST_SEND]++;
		counters[DCNT_EP_POST_SEND_DATA] += bytes;
		break;
	case DAT_DTO_RECEIVE:
		counters[DCNT_EP_POST_RECV]++;
		counters[DCNT_EP_POST_RECV_DATA] += bytes;
		break;
	case DAT_DTO_RDMA_WRITE:
		counters[DCNT_EP_POST_WRITE]++;
		counters[DCNT_EP_POST_WRITE_DATA] += bytes;
		break;
	case DAT_DTO_RDMA_READ:
		counters[DCNT_EP_POST_READ]++;
		counters[DCNT_EP_POST_READ_DATA] += bytes;
		break;
	case DAT_IB_DTO_RDMA_WRITE_IMMED:
		counters[DCNT_EP_POST_WRITE_IMM]++;
		counters[DCNT_EP_POST_WRITE_IMM_DATA] += bytes;
		break;
	case DAT_IB_DTO_CMP_SWAP:
		counters[DCNT_EP_POST_CMP_SWAP]++;
		break;
	case DAT_IB_DTO_FETCH_ADD:
		counters[DCNT_EP_POST_FETCH_ADD]++;
		break;
	default:
		break;
	}
}

void kdapl_counters_recv_locked(struct dat_ep *ep, const struct ib_wc *wc)
{
	enum dat_ep_counters which = DCNT_EP_RECV;

	if (!counters_on(ep))
		return;
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		which = DCNT_EP_RECV_RDMA_IMM;
	else if (wc->wc_flags & IB_WC_WITH_IMM)
		which = DCNT_EP_RECV_IMM;
	ep->counters[which]++;
	ep->counters[which + 1] += wc->byte_len;
}

static void counters_of_ia(struct dat_ia *ia, u64 *out)
{
	static const struct {
		enum dat_handle_type type;
		enum dat_ia_counters made;
	} kinds[] = {
		{ DAT_HANDLE_TYPE_PZ, DCNT_IA_PZ_CREATE },
		{ DAT_HANDLE_TYPE_LMR, DCNT_IA_LMR_CREATE },
		{ DAT_HANDLE_TYPE_RMR, DCNT_IA_RMR_CREATE },
		{ DAT_HANDLE_TYPE_RSP, DCNT_IA_RSP_CREATE },
		{ DAT_HANDLE_TYPE_EVD, DCNT_IA_EVD_CREATE },
		{ DAT_HANDLE_TYPE_EP, DCNT_IA_EP_CREATE },
		{ DAT_HANDLE_TYPE_SRQ, DCNT_IA_SRQ_CREATE },
	};
	enum dat_handle_type type;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		type = kinds[i].type;
		out[kinds[i].made] = ia->made[type];
		out[kinds[i].made + 1] = ia->made[type] -
					 atomic_read(&ia->counts[type]);
	}
	type = DAT_HANDLE_TYPE_PSP;
	out[DCNT_IA_PSP_CREATE_ANY] = atomic64_read(&ia->psp_any);
	out[DCNT_IA_PSP_CREATE] = ia->made[type] - out[DCNT_IA_PSP_CREATE_ANY];
	out[DCNT_IA_PSP_FREE] = ia->made[type] - atomic_read(&ia->counts[type]);
	out[DCNT_IA_SP_CR] = ia->made[DAT_HANDLE_TYPE_CR];
	out[DCNT_IA_SP_CR_ACCEPTED] = atomic64_read(&ia->cr_accepted);
	out[DCNT_IA_SP_CR_REJECTED] = atomic64_read(&ia->cr_rejected);
	out[DCNT_IA_ASYNC_ERROR] = atomic64_read(&ia->async_errors);
	out[DCNT_IA_ASYNC_QP_ERROR] = atomic64_read(&ia->async_qp_errors);
	out[DCNT_IA_ASYNC_CQ_ERROR] = atomic64_read(&ia->async_cq_errors);
}

static void counters_of_evd(struct dat_evd *evd, u64 *out)
{
	const struct kdapl_evd_stats *st = &evd->stats;

	out[DCNT_EVD_DEQUEUE] = READ_ONCE(st->dequeued);
	out[DCNT_EVD_DEQUEUE_FOUND] = out[DCNT_EVD_DEQUEUE];
	out[DCNT_EVD_DEQUEUE_POLL] = READ_ONCE(st->events[DAT_EVD_STREAM_DTO]) +
		READ_ONCE(st->events[DAT_EVD_STREAM_RMR_BIND]);
	out[DCNT_EVD_DEQUEUE_POLL_FOUND] = out[DCNT_EVD_DEQUEUE_POLL];
	out[DCNT_EVD_CONN_CALLBACK] = READ_ONCE(st->events[DAT_EVD_STREAM_CR]) +
		READ_ONCE(st->events[DAT_EVD_STREAM_CONNECTION]);
	out[DCNT_EVD_DTO_CALLBACK] = READ_ONCE(st->upcalls);
}

/* A handle that has counters, and all about them. */
struct counters {
	struct kdapl_obj *obj;
	const char * const *names;
	u64 *base;
	int num;
	u64 now[COUNTERS_MOST];
};

static int counters_read(void *handle, struct counters *c)
{
	struct dat_ia *ia;
	struct dat_ep *ep;
	struct dat_evd *evd;

	memset(c, 0, sizeof(*c));
	c->obj = handle;
	switch (c->obj->type) {
	case DAT_HANDLE_TYPE_IA:
		ia = container_of(c->obj, struct dat_ia, obj);
		c->names = counters_ia_names;
		c->num = DCNT_IA_ALL_COUNTERS;
		c->base = ia->counter_base;
		counters_of_ia(ia, c->now);
		return 0;
	case DAT_HANDLE_TYPE_EP:
		ep = container_of(c->obj, struct dat_ep, obj);
		c->names = counters_ep_names;
		c->num = DCNT_EP_ALL_COUNTERS;
		c->base = ep->counter_base;
		memcpy(c->now, ep->counters, sizeof(ep->counters));
		return 0;
	case DAT_HANDLE_TYPE_EVD:
		evd = container_of(c->obj, struct dat_evd, obj);
		c->names = counters_evd_names;
		c->num = DCNT_EVD_ALL_COUNTERS;
		c->base = evd->counter_base;
		counters_of_evd(evd, c->now);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Since the last reset of each; @counter is one of them, or says all. */
static int counters_take(void *handle, int counter, bool reset,
			 struct counters *c)
{
	struct dat_ia *ia;
	unsigned long flags;
	u64 now;
	int i;

	if (counters_read(handle, c) || counter < 0 || counter > c->num)
		return -EINVAL;
	ia = c->obj->ia;
	spin_lock_irqsave(&ia->lock, flags);
	for (i = 0; i < c->num; i++) {
		now = c->now[i];
		c->now[i] -= c->base[i];
		if (reset && (i == counter || counter == c->num))
			c->base[i] = now;
	}
	spin_unlock_irqrestore(&ia->lock, flags);
	return 0;
}

/**
 * dat_ib_query_counters - what has happened to an object
 * @handle: an IA, EP or EVD
 * @counter: one of enum dat_ia_counters, dat_ep_counters or dat_evd_counters, or
 *	the last of them, which stands for all
 * @counters: OUT: the counter, or as many as there are
 * @reset: they count from 0 on again
 *
 * Each is a snapshot. Origin: DAT 2.0, IB extensions.
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL, an object without counters, no such counter.
 */
int dat_ib_query_counters(void *handle, int counter, u64 *counters, bool reset)
{
	struct counters c;
	int ret;

	if (!handle || !counters)
		return -EINVAL;
	ret = counters_take(handle, counter, reset, &c);
	if (ret)
		return ret;
	if (counter == c.num)
		memcpy(counters, c.now, c.num * sizeof(*counters));
	else
		*counters = c.now[counter];
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ib_query_counters);

/**
 * dat_ib_print_counters - write counters to the kernel log
 * @handle: as for dat_ib_query_counters()
 * @counter: as for dat_ib_query_counters(); of all, only those that are not 0
 * @reset: as for dat_ib_query_counters()
 *
 * Origin: DAT 2.0, IB extensions.
 *
 * Context: any.
 * Return: as dat_ib_query_counters().
 */
int dat_ib_print_counters(void *handle, int counter, bool reset)
{
	struct counters c;
	int i, ret;

	if (!handle)
		return -EINVAL;
	ret = counters_take(handle, counter, reset, &c);
	if (ret)
		return ret;
	for (i = 0; i < c.num; i++)
		if (i == counter || (counter == c.num && c.now[i]))
			pr_info("%s: %s %u: %s %llu\n", c.obj->ia->name,
				kdapl_obj_kind(c.obj->type), c.obj->id,
				c.names[i], c.now[i]);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ib_print_counters);

/**
 * dat_ib_start_counter - count the posts and receives of an IA's endpoints
 * @ia: the IA
 * @type: %DCNT_EP_DTO
 *
 * They are not counted unless somebody asks, for it costs every post a little.
 * Until dat_ib_stop_counter() or the close. Origin: DAT 2.0, IB extensions; the
 * counters of the CM, the link and of diagnosis that those name are found below
 * /sys/class/infiniband.
 *
 * Context: process; sleeps.
 * Return: 0, also if it counts already; -EINVAL: NULL or an unknown @type;
 * -EOPNOTSUPP: another @type.
 */
int dat_ib_start_counter(struct dat_ia *ia, enum dat_ib_counter_type type)
{
	might_sleep();

	if (!ia || (unsigned int)type > DCNT_EP_DTO)
		return -EINVAL;
	if (type != DCNT_EP_DTO)
		return -EOPNOTSUPP;
	if (!test_and_set_bit(KDAPL_IA_COUNTING, &ia->flags))
		counters_key_inc();
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ib_start_counter);

/**
 * dat_ib_stop_counter - count no more
 * @ia: the IA
 * @type: as for dat_ib_start_counter()
 *
 * What was counted can still be queried. Origin: DAT 2.0, IB extensions.
 *
 * Context: process; sleeps.
 * Return: as dat_ib_start_counter().
 */
int dat_ib_stop_counter(struct dat_ia *ia, enum dat_ib_counter_type type)
{
	might_sleep();

	if (!ia || (unsigned int)type > DCNT_EP_DTO)
		return -EINVAL;
	if (type != DCNT_EP_DTO)
		return -EOPNOTSUPP;
	kdapl_counters_close(ia);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ib_stop_counter);

void kdapl_counters_close(struct dat_ia *ia)
{
	if (test_and_clear_bit(KDAPL_IA_COUNTING, &ia->flags))
		counters_key_dec();
}
