/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites for completions out of order share: each is pushed by hand. */
#ifndef _ORDER_KIT_H
#define _ORDER_KIT_H

#include "kit.h"

enum {
	ORDER_DEPTH = 8,
};

/* A connected pair, and what the device has of its requests, or receives. */
struct order {
	struct kunit *test;
	bool receives;
	struct dat_evd *evd;
	struct kit_pair pair;
	struct dat_ep *ep;
	u64 wr_id[ORDER_DEPTH];
	unsigned int posted;
};

struct order *order_init(struct kunit *test);
/* The device has another one. */
void order_posted(struct order *o);
/* The next request; its cookie is its number. */
void order_post(struct order *o, enum dat_completion_flags flags);
void order_complete(struct order *o, unsigned int n, enum ib_wc_status status);
void order_expect(struct order *o, unsigned int n,
		  enum dat_dto_completion_status status);
void order_expect_none(struct order *o);
/* The same, and every credit is there again. */
void order_expect_idle(struct order *o);

static inline struct dat_dto_completion_event_data *
order_dto(struct dat_event *event)
{
	return &event->event_data.dto_completion_event_data;
}

#endif /* _ORDER_KIT_H */
