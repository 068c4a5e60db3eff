// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the CQ of an EVD, and who polls it
 *
 * Whoever polls does so under the EVD lock, so completions enter the ring in the
 * order of the CQ. What becomes of each is cq.c's.
 */
#include <linux/kernel.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "async.h"
#include "cq.h"
#include "evd.h"
#include "fault.h"
#include "ia.h"
#include "kunit.h"
#include "upcall.h"

static atomic_t cq_next_vector;

/**
 * kdapl_cq_create - make a CQ for an EVD
 * @evd: the EVD, whose comp_vector says where; ~0 spreads over all vectors
 * @min_cqe: completions that must fit
 * @cq: the CQ
 *
 * Context: process; sleeps; inside the IA's gate.
 * Return: 0 or the provider's errno.
 */
int kdapl_cq_create(struct dat_evd *evd, u32 min_cqe, struct ib_cq **cq)
{
	struct dat_ia *ia = evd->obj.ia;
	struct ib_cq_init_attr attr = {
		.cqe = min_t(u32, min_cqe, ia->dev_attr.max_cqe),
	};
	u32 vectors = max_t(u32, ia->ibdev->num_comp_vectors, 1);
	struct ib_cq *new;

	might_sleep();

	if (evd->comp_vector == ~0U)
		attr.comp_vector = (u32)atomic_inc_return(&cq_next_vector) % vectors;
	else
		attr.comp_vector = evd->comp_vector;

	new = ERR_PTR(kdapl_fault(KDAPL_FAULT_CREATE)) ?:
	      ib_create_cq(ia->ibdev, kdapl_upcall_comp_handler,
			   kdapl_async_cq_event, evd, &attr);
	if (IS_ERR(new))
		return PTR_ERR(new);
	*cq = new;
	return 0;
}

/**
 * kdapl_cq_failed - say that the provider cannot poll
 * @evd: the EVD
 * @err: what ib_poll_cq() answered
 *
 * Return: 0, the number of completions.
 */
u32 kdapl_cq_failed(struct dat_evd *evd, int err)
{
	pr_err_ratelimited("%s: evd %u: ib_poll_cq failed: %d\n",
			   evd->obj.ia->name, evd->obj.id, err);
	return 0;
}

/**
 * kdapl_cq_settle_locked - move what was fetched into the ring
 * @evd: the EVD, locked
 *
 * Return: the number of completions, whether they made events or not.
 */
u32 kdapl_cq_settle_locked(struct dat_evd *evd)
{
	u32 n;

	lockdep_assert_held(&evd->lock);

	for (n = 0; evd->wc_left; n++) {
		evd->wc_left--;
		kdapl_cq_complete_locked(evd, evd->wc_next++);
	}
	return n;
}

/**
 * kdapl_cq_settle_one_locked - find out whether what was fetched has an event
 * @evd: the EVD, locked, with an empty ring
 *
 * Afterwards there is an event in the ring, or there was none.
 */
void kdapl_cq_settle_one_locked(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	while (evd->wc_left && !evd->live) {
		evd->wc_left--;
		kdapl_cq_complete_locked(evd, evd->wc_next++);
	}
}

/**
 * kdapl_cq_poll_locked - move one batch of completions into the ring
 * @evd: the EVD, locked
 *
 * Return: the number of completions taken, whether they made events or not.
 */
u32 kdapl_cq_poll_locked(struct dat_evd *evd)
{
	lockdep_assert_held(&evd->lock);

	if (!evd->wc_left) {
		if (!evd->cq)
			return 0;
		evd->wc_left = kdapl_cq_fetch_locked(evd);
		evd->wc_next = evd->wc;
	}
	return kdapl_cq_settle_locked(evd);
}

/**
 * kdapl_cq_drain - move all completions into the ring
 * @evd: the EVD
 *
 * For the close of an EP, whose completions must come home whether or not the
 * consumer dequeues. The ring has a slot for each of them. Those that were there
 * at the call are in the ring afterwards; later ones need not be: others use the
 * CQ too, and may complete as fast as it is polled.
 *
 * Context: process; sleeps; takes @evd's lock, for one batch at a time.
 */
void kdapl_cq_drain(struct dat_evd *evd)
{
	bool trigger = false;
	u32 n, notifying, most, done = 0;

	do {
		spin_lock_irq(&evd->lock);
		notifying = evd->notifying;
		n = kdapl_cq_poll_locked(evd);
		trigger |= evd->notifying != notifying &&
			   kdapl_evd_policy_on(evd->policy);
		/* A full CQ, and what was fetched from one. */
		most = 2 * evd->cq_size;
		spin_unlock_irq(&evd->lock);
		done += n;
		cond_resched();
	} while (n && done <= most);

	if (trigger)
		kdapl_upcall_trigger(evd);
}

KDAPL_EXPORT_FOR_TEST(kdapl_cq_drain);
