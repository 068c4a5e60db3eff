// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: registrations that wait for a connected EP
 *
 * Where no QP can be connected to itself (iWARP) an LMR's key is given out at
 * once and the registration is posted on the first connected EP of the PZ,
 * before its ESTABLISHED is delivered: no peer can use a key before.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/wait.h>

#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "lmr.h"
#include "pz.h"
#include "trace.h"

enum {
	/* Registrations under way on one EP: the send slots kept for them. */
	LMR_REGS_PER_EP = 2,
	/*
	 * How often dat_lmr_kcreate() looks whether its EP is still there, and how
	 * long an EP's work stays over one registration.
	 */
	LMR_POLL_MS = 50,
};

/*
 * Kicks the EPs of a PZ that wait for registrations, and, for a new one, those that
 * are connected.
 */
static bool lmr_kick_eps(struct dat_pz *pz, bool connected)
{
	struct dat_ia *ia = pz->obj.ia;
	unsigned long flags;
	struct dat_ep *ep;
	bool found = false;

	spin_lock_irqsave(&ia->lock, flags);
	list_for_each_entry(ep, &ia->objs[DAT_HANDLE_TYPE_EP], obj.node) {
		if (READ_ONCE(ep->config.pz) != pz)
			continue;
		/* First, and the state behind it: see connect_established(). */
		if (!smp_load_acquire(&ep->reg_wait) &&
		    !(connected &&
		      READ_ONCE(ep->state) == DAT_EP_STATE_CONNECTED))
			continue;
		kdapl_ep_kick(ep, KDAPL_EP_TODO_REG);
		found = true;
	}
	spin_unlock_irqrestore(&ia->lock, flags);
	return found;
}

enum kdapl_lmr_state kdapl_lmr_defer_state(struct dat_lmr *lmr)
{
	unsigned long flags;
	enum kdapl_lmr_state state;

	spin_lock_irqsave(&lmr->pz->lmr_lock, flags);
	state = lmr->state;
	spin_unlock_irqrestore(&lmr->pz->lmr_lock, flags);
	return state;
}

/* Registered, or it will not be: 0 or an errno. Else 1: time may tell. */
static int lmr_verdict(struct dat_lmr *lmr)
{
	unsigned long flags;
	int ret = 1;

	spin_lock_irqsave(&lmr->pz->lmr_lock, flags);
	if (lmr->state == KDAPL_LMR_READY)
		ret = 0;
	else if (lmr->state == KDAPL_LMR_FAILED)
		ret = -EIO;
	else if (lmr->state == KDAPL_LMR_DEFERRED && lmr->refused)
		ret = lmr->refused;
	spin_unlock_irqrestore(&lmr->pz->lmr_lock, flags);
	return ret;
}

/*
 * Hands the registration to the EPs. If one is connected, or has looked and is about
 * to be, its peer could use the key as soon as it is told: wait until the device has
 * it.
 */
int kdapl_lmr_defer(struct dat_lmr *lmr)
{
	struct dat_pz *pz = lmr->pz;
	int ret;

	spin_lock_irq(&pz->lmr_lock);
	lmr->state = KDAPL_LMR_DEFERRED;
	list_add_tail(&lmr->deferred, &pz->deferred);
	spin_unlock_irq(&pz->lmr_lock);

	while ((ret = lmr_verdict(lmr)) > 0) {
		if (kdapl_ia_removing(pz->obj.ia))
			return -ENODEV;
		if (kdapl_lmr_defer_state(lmr) == KDAPL_LMR_DEFERRED &&
		    !lmr_kick_eps(pz, true))
			return 0;
		wait_event_timeout(pz->lmr_wait, lmr_verdict(lmr) <= 0,
				   msecs_to_jiffies(LMR_POLL_MS));
	}
	return ret;
}

/*
 * Off the list, and no registration under way. Outside of the gate: the EP that
 * carries one reports it at the latest when removal destroys its QP.
 */
void kdapl_lmr_defer_cancel(struct dat_lmr *lmr)
{
	struct dat_pz *pz = lmr->pz;

	spin_lock_irq(&pz->lmr_lock);
	list_del_init(&lmr->deferred);
	if (lmr->state == KDAPL_LMR_DEFERRED)
		lmr->state = KDAPL_LMR_FAILED;
	spin_unlock_irq(&pz->lmr_lock);
	wait_event(pz->lmr_wait, kdapl_lmr_defer_state(lmr) != KDAPL_LMR_POSTED);
}

/* The next LMR for @ep to register, if there is one and a slot is free. */
static struct dat_lmr *lmr_next_deferred(struct dat_pz *pz, struct dat_ep *ep,
					 unsigned int *under_way, bool *done)
{
	struct dat_lmr *lmr, *next = NULL;

	*under_way = 0;
	spin_lock_irq(&pz->lmr_lock);
	*done = list_empty(&pz->deferred);
	list_for_each_entry(lmr, &pz->deferred, deferred) {
		if (lmr->state == KDAPL_LMR_POSTED && lmr->carrier == ep)
			(*under_way)++;
		else if (lmr->state == KDAPL_LMR_DEFERRED && !next)
			next = lmr;
	}
	if (next && *under_way < LMR_REGS_PER_EP) {
		next->state = KDAPL_LMR_POSTED;
		next->carrier = ep;
		kdapl_obj_get(&next->obj);
	} else {
		next = NULL;
	}
	spin_unlock_irq(&pz->lmr_lock);
	return next;
}

/*
 * siw says -ENOTCONN also while somebody changes the QP's state, which happens just
 * when a connection is made. That is over soon, or the QP is going.
 */
static int lmr_post_reg(struct dat_ep *ep, struct dat_lmr *lmr)
{
	unsigned long end = jiffies + msecs_to_jiffies(LMR_POLL_MS);
	int ret;

	for (;;) {
		ret = kdapl_queue_post_reg(&ep->req, lmr, lmr->mr->rkey,
					   lmr->access);
		if (ret != -ENOTCONN || time_after(jiffies, end))
			return ret;
		usleep_range(20, 100);
	}
}

int kdapl_lmr_defer_register(struct dat_ep *ep)
{
	unsigned long end = jiffies + msecs_to_jiffies(LMR_POLL_MS);
	struct dat_pz *pz = ep->config.pz;
	unsigned int under_way;
	struct dat_lmr *lmr;
	bool done;
	int ret;

	for (;;) {
		lmr = lmr_next_deferred(pz, ep, &under_way, &done);
		if (!lmr) {
			if (done)
				return 0;
			/* What another EP carries, that one waits for. */
			if (!under_way)
				return -EINPROGRESS;
			/*
			 * A consumer need not look at its EVD before it is told
			 * of the connection, so the completions are ours to
			 * fetch. They are a matter of microseconds.
			 */
			kdapl_cq_drain(ep->req.evd);
			if (time_after(jiffies, end)) {
				kdapl_ep_kick(ep, KDAPL_EP_TODO_REG);
				return -EINPROGRESS;
			}
			usleep_range(20, 100);
			continue;
		}
		ret = lmr_post_reg(ep, lmr);
		if (!ret)
			continue;

		/*
		 * The QP is going: a creator waits for another one. Or the provider
		 * does not want it, and would not at the next attempt.
		 */
		spin_lock_irq(&pz->lmr_lock);
		lmr->refused = ret == -ENOSPC || ret == -ENOTCONN ? 0 : ret;
		lmr->state = list_empty(&lmr->deferred) ?
			     KDAPL_LMR_FAILED : KDAPL_LMR_DEFERRED;
		lmr->carrier = NULL;
		spin_unlock_irq(&pz->lmr_lock);
		wake_up_all(&pz->lmr_wait);
		/* Those who have seen it on its way here would wait for ever. */
		lmr_kick_eps(pz, false);
		kdapl_obj_put(&lmr->obj);
		return ret;
	}
}

void kdapl_lmr_defer_done_locked(struct kdapl_wr *wr, enum ib_wc_status status)
{
	struct dat_lmr *lmr = wr->cookie.as_ptr;
	struct dat_pz *pz = lmr->pz;

	trace_kdapl_reg(lmr->obj.id, wr->queue->ep->obj.id, lmr->rkey, status);

	/* Interrupts are off: the EVD lock is held. */
	spin_lock(&pz->lmr_lock);
	lmr->carrier = NULL;
	if (status == IB_WC_SUCCESS) {
		lmr->state = KDAPL_LMR_READY;
		list_del_init(&lmr->deferred);
	} else if (status == IB_WC_WR_FLUSH_ERR &&
		   !list_empty(&lmr->deferred)) {
		/* Never executed: the same key serves on the next EP. */
		lmr->state = KDAPL_LMR_DEFERRED;
	} else {
		/* A cancelled one is nobody's loss. */
		if (!list_empty(&lmr->deferred))
			pr_err_ratelimited("%s: lmr %u: registration through ep %u failed: %s (%d)\n",
					   pz->obj.ia->name, lmr->obj.id,
					   wr->queue->ep->obj.id,
					   ib_wc_status_msg(status), status);
		lmr->state = KDAPL_LMR_FAILED;
		list_del_init(&lmr->deferred);
	}
	/* Under the lock: whoever waits may free the LMR, and then the PZ. */
	wake_up_all(&pz->lmr_wait);
	spin_unlock(&pz->lmr_lock);

	/*
	 * Its send slot is free for the next one. The lock above is the one under
	 * which an EP looks, after it has set reg_wait: see connect_established().
	 */
	kdapl_ep_kick(wr->queue->ep, KDAPL_EP_TODO_REG);
	lmr_kick_eps(pz, false);
	kdapl_obj_put(&lmr->obj);
}
