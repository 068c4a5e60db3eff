// SPDX-License-Identifier: GPL-2.0
/*
 * rping: what a session posts. Each request that succeeds in being posted is
 * counted as an event that its EVD owes.
 */
#include "post.h"

#include <asm/byteorder.h>

#include <dat/kdat.h>

#include "session.h"

/* The triplet of @buf, which lies in the control messages. */
static struct dat_lmr_triplet post_triplet(struct rping_session *s,
					   struct rping_adv *buf)
{
	return (struct dat_lmr_triplet){
		.virtual_address = s->control.addr +
				   ((void *)buf - s->control.buf),
		.segment_length = sizeof(*buf),
		.lmr_context = s->control.lkey,
	};
}

int rping_post_recv(struct rping_session *s, unsigned int index)
{
	struct rping_adv *buf = &rping_messages(s)->recv[index];
	struct dat_lmr_triplet iov = post_triplet(s, buf);
	union dat_context cookie = { .as_index = index };

	return dat_ep_post_recv(s->ep, 1, &iov, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * No event is owed for these as long as the EP has nobody to connect to: it may
 * be freed as it is. See attempt_begins() in protocol.c.
 */
int rping_post_recvs(struct rping_session *s)
{
	unsigned int i;
	int ret;

	for (i = 0; i < RPING_RECVS; i++) {
		ret = rping_post_recv(s, i);
		if (ret)
			return ret;
	}
	return 0;
}

int rping_post_send(struct rping_session *s, struct rping_adv *buf)
{
	struct dat_lmr_triplet iov = post_triplet(s, buf);
	union dat_context cookie = { .as_index = RPING_COOKIE_SEND };
	int ret;

	ret = dat_ep_post_send(s->ep, 1, &iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG);
	if (!ret)
		s->request->due++;
	return ret;
}

int rping_post_adv(struct rping_session *s, struct rping_adv *buf,
		   const struct rping_mem *mem)
{
	buf->addr = cpu_to_be64(mem->addr);
	buf->rkey = cpu_to_be32(mem->rkey);
	buf->len = cpu_to_be32(s->param.size);
	return rping_post_send(s, buf);
}

/* Between our buffer and the one that the peer has offered. */
int rping_post_rdma(struct rping_session *s, bool read)
{
	struct dat_lmr_triplet local = {
		.virtual_address = s->source.addr,
		.segment_length = s->len,
		.lmr_context = s->source.lkey,
	};
	struct dat_rmr_triplet remote = {
		.virtual_address = be64_to_cpu(s->peer.addr),
		.segment_length = s->len,
		.rmr_context = be32_to_cpu(s->peer.rkey),
	};
	union dat_context cookie = { .as_index = RPING_COOKIE_RDMA };
	int ret;

	if (read)
		ret = dat_ep_post_rdma_read(s->ep, 1, &local, cookie, &remote,
					    DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ep_post_rdma_write(s->ep, 1, &local, cookie, &remote,
					     DAT_COMPLETION_DEFAULT_FLAG);
	if (!ret)
		s->request->due++;
	return ret;
}
