/* SPDX-License-Identifier: GPL-2.0 */
/* Events that belong to no request: from the provider to the async EVD. */
#ifndef _KDAPL_ASYNC_H
#define _KDAPL_ASYNC_H

#include <rdma/ib_verbs.h>

#include <dat/dat_event.h>

struct dat_ia;

/*
 * For ib_create_cq() with the EVD as context, and for struct ib_qp_init_attr
 * with the EP as context. Any context; nothing but queueing and kicking.
 */
void kdapl_async_cq_event(struct ib_event *event, void *context);
void kdapl_async_qp_event(struct ib_event *event, void *context);

/*
 * Puts an event into the IA's async EVD. Any context, no EVD lock held.
 * @handle is the object concerned, @reason of its own kind's enum.
 */
void kdapl_async_post(struct dat_ia *ia, enum dat_event_number number,
		      void *handle, int reason);

/* Inside the gate, or from removal. Both sleep. */
void kdapl_async_register(struct dat_ia *ia);
void kdapl_async_unregister(struct dat_ia *ia);

#endif /* _KDAPL_ASYNC_H */
