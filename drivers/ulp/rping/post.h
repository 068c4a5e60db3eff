/* SPDX-License-Identifier: GPL-2.0 */
/* rping: what a session posts. */
#ifndef _RPING_POST_H
#define _RPING_POST_H

#include <linux/types.h>

#include "session.h"

/* What user_cookie says of a request; receives carry their buffer's number. */
enum {
	RPING_COOKIE_SEND = 0x100,
	RPING_COOKIE_RDMA,
};

static inline struct rping_control *rping_messages(struct rping_session *s)
{
	return s->control.buf;
}

/* All return 0 or a negative errno, and never sleep. */
int rping_post_recv(struct rping_session *s, unsigned int index);
int rping_post_recvs(struct rping_session *s);
int rping_post_send(struct rping_session *s, struct rping_adv *buf);
/* Offers @mem to the peer; @buf carries the message. */
int rping_post_adv(struct rping_session *s, struct rping_adv *buf,
		   const struct rping_mem *mem);
/* Between our buffer and the one that the peer has offered. */
int rping_post_rdma(struct rping_session *s, bool read);

#endif /* _RPING_POST_H */
