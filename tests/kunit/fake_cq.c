// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues of the fake device. The handler is called outside the CQ's
 * lock, since it may poll, but inside whatever the completing context holds:
 * that is what real providers do, and what lockdep is to see.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "fake_priv.h"

static void fake_step(enum fake_step step, struct ib_cq *cq)
{
	void (*hook)(enum fake_step step, struct ib_cq *cq, void *ctx);

	hook = READ_ONCE(fake_script.hook);
	if (hook)
		hook(step, cq, READ_ONCE(fake_script.hook_ctx));
}

int fake_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct fake_cq *cq = to_fake_cq(ibcq);
	int ret;

	ret = fake_verb_begin(FAKE_CREATE_CQ, ibcq, attr->cqe);
	if (ret)
		return ret;
	cq->cqe = kcalloc(attr->cqe, sizeof(*cq->cqe), GFP_KERNEL);
	if (!cq->cqe)
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	cq->size = attr->cqe;
	ibcq->cqe = attr->cqe;
	ibcq->comp_vector = attr->comp_vector;
	atomic_inc(&fake_live[FAKE_CQ]);
	fake_verb_done(FAKE_CREATE_CQ, ibcq, attr->cqe, 0);
	return 0;
}

int fake_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct fake_cq *cq = to_fake_cq(ibcq);

	/* As a driver does that synchronises with its interrupt. */
	while (atomic_read(&cq->inflight))
		usleep_range(10, 50);
	kfree(cq->cqe);
	atomic_dec(&fake_live[FAKE_CQ]);
	fake_verb_done(FAKE_DESTROY_CQ, ibcq, 0, 0);
	return 0;
}

static void fake_cq_fire(struct fake_cq *cq)
{
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	atomic_dec(&cq->inflight);
}

/* Under cq->lock: whether the caller is to fire. */
static bool fake_cq_due(struct fake_cq *cq)
{
	if (!cq->armed)
		return false;
	cq->armed = false;
	cq->callbacks++;
	atomic_inc(&cq->inflight);
	return true;
}

/* Appends a completion; false, and it is lost, if the CQ is full. */
bool fake_cq_push(struct ib_cq *ibcq, const struct ib_wc *wc)
{
	struct fake_cq *cq = to_fake_cq(ibcq);
	unsigned long flags;
	bool fire = false;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->tail - cq->head == cq->size) {
		spin_unlock_irqrestore(&cq->lock, flags);
		return false;
	}
	cq->cqe[cq->tail++ % cq->size].wc = *wc;
	if (fake_script.fire == FAKE_FIRE_LATE)
		cq->owed++;
	else
		fire = fake_cq_due(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (fire)
		fake_cq_fire(cq);
	return true;
}
EXPORT_SYMBOL_GPL(fake_cq_push);

/* A callback out of nowhere. */
void fake_cq_stray(struct ib_cq *ibcq)
{
	struct fake_cq *cq = to_fake_cq(ibcq);

	atomic_inc(&cq->inflight);
	fake_cq_fire(cq);
}
EXPORT_SYMBOL_GPL(fake_cq_stray);

/*
 * As from an interrupt in that a grace period waits for it. Not for ever, in
 * case that whoever is to let it go cannot go on without this CPU.
 */
void fake_cq_stray_held(struct ib_cq *ibcq, struct fake_held *held)
{
	ib_comp_handler handler = ibcq->comp_handler;
	void *context = ibcq->cq_context;
	unsigned long end = jiffies + HZ;

	rcu_read_lock();
	WRITE_ONCE(held->inside, true);
	while (READ_ONCE(held->hold) && time_before(jiffies, end))
		cpu_relax();
	handler(ibcq, context);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(fake_cq_stray_held);

/*
 * The producer gets round to looking at the notify flag, which it then clears
 * (rxe does so outside its lock): a later arm may be what it finds there.
 */
void fake_cq_late(struct ib_cq *ibcq)
{
	struct fake_cq *cq = to_fake_cq(ibcq);
	unsigned long flags;
	bool fire = false;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->owed) {
		cq->owed--;
		fire = fake_cq_due(cq);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (fire)
		fake_cq_fire(cq);
}
EXPORT_SYMBOL_GPL(fake_cq_late);

bool fake_cq_armed(struct ib_cq *ibcq)
{
	return READ_ONCE(to_fake_cq(ibcq)->armed);
}
EXPORT_SYMBOL_GPL(fake_cq_armed);

unsigned int fake_cq_waiting(struct ib_cq *ibcq)
{
	struct fake_cq *cq = to_fake_cq(ibcq);

	return READ_ONCE(cq->tail) - READ_ONCE(cq->head);
}
EXPORT_SYMBOL_GPL(fake_cq_waiting);

unsigned int fake_cq_callbacks(struct ib_cq *ibcq)
{
	return READ_ONCE(to_fake_cq(ibcq)->callbacks);
}
EXPORT_SYMBOL_GPL(fake_cq_callbacks);

int fake_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct fake_cq *cq = to_fake_cq(ibcq);
	unsigned long flags;
	int n = 0;

	fake_step(FAKE_BEFORE_POLL, ibcq);
	if (!ibcq->wc && READ_ONCE(fake_script.poll_errors)) {
		fake_script.poll_errors--;
		return -EIO;
	}
	spin_lock_irqsave(&cq->lock, flags);
	while (n < num && cq->head != cq->tail)
		wc[n++] = cq->cqe[cq->head++ % cq->size].wc;
	spin_unlock_irqrestore(&cq->lock, flags);
	/* Empty polls would only fill the log. */
	if (n)
		fake_verb_done(FAKE_POLL_CQ, ibcq, num, n);
	fake_step(FAKE_AFTER_POLL, ibcq);
	return n;
}

int fake_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	bool ask = flags & IB_CQ_REPORT_MISSED_EVENTS;
	struct fake_cq *cq = to_fake_cq(ibcq);
	unsigned int waiting;
	bool fire = false;
	unsigned long irq;
	int ret;

	/* The CQs of ib_core, which have a WC array, are not under test. */
	ret = ibcq->wc ? 0 : fake_verb_begin(FAKE_REQ_NOTIFY, ibcq, flags);
	if (ret)
		return ret;

	fake_step(FAKE_BEFORE_NOTIFY, ibcq);
	spin_lock_irqsave(&cq->lock, irq);
	waiting = cq->tail - cq->head;
	cq->armed = true;
	switch (READ_ONCE(fake_script.notify)) {
	case FAKE_REPORTS_ONLY:
		ret = ask && waiting;
		cq->armed = !ret;
		break;
	case FAKE_NEVER_REPORTS:
		break;
	case FAKE_FIRES_AT_ONCE:
		fire = waiting && fake_cq_due(cq);
		break;
	case FAKE_REPORTS_EMPTY:
		if (ask && fake_script.empty_reports) {
			fake_script.empty_reports--;
			cq->armed = false;
			ret = 1;
			break;
		}
		fallthrough;
	default:
		ret = ask && waiting;
		break;
	}
	spin_unlock_irqrestore(&cq->lock, irq);

	fake_step(FAKE_INSIDE_NOTIFY, ibcq);
	if (fire)
		fake_cq_fire(cq);
	fake_verb_done(FAKE_REQ_NOTIFY, ibcq, flags, ret);
	fake_step(FAKE_AFTER_NOTIFY, ibcq);
	return ret;
}
