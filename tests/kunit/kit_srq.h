/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites of shared receive queues need beside the kit. */
#ifndef _KIT_SRQ_H
#define _KIT_SRQ_H

#include "kit.h"

#define SRQ_DEPTH	4

/* Connections whose passive sides share an SRQ. */
struct srq_kit {
	struct kunit *test;
	struct kit_pair pair;	/* the listener, and the last connection */
	struct dat_evd *send_evd;
	struct dat_srq *srq;
};

struct srq_kit *srq_kit(struct kunit *test);
/* An EP with the SRQ, its receives on @evd; @hard is its hard watermark. */
int srq_ep(struct srq_kit *sk, struct dat_evd *evd, int hard,
	   struct dat_ep **ep);
/* A connection more; its passive end. */
struct dat_ep *srq_connect(struct srq_kit *sk, struct dat_evd *evd);
int srq_post(struct dat_srq *srq, unsigned long cookie);
/* Posts @n buffers, cookies counting from 0. */
void srq_fill(struct srq_kit *sk, unsigned int n);
void srq_expect(struct kunit *test, struct dat_srq *srq, int available,
		int outstanding);
/* A message arrives at @ep; its event, which must have that cookie. */
void srq_receive(struct kunit *test, struct dat_ep *ep, struct dat_evd *evd,
		 unsigned long cookie);
void srq_expect_async(struct kunit *test, void *handle, int reason);
void srq_expect_no_async(struct kunit *test);

#endif /* _KIT_SRQ_H */
