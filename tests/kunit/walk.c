// SPDX-License-Identifier: GPL-2.0
/* Every failing point of a call; see walk.h. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/fault.h"
#include "../../drivers/kdapl/ia.h"
#include "../../drivers/kdapl/pz.h"
#include "../../drivers/kdapl/srq.h"
#include "walk.h"

/* More points than any call has. */
#define WALK_MOST	200U

static unsigned int walk_points, walk_calls;

/* The function of the work item, in whose place walk_work_run() is. */
static work_func_t walk_work_func;
/* Its allocations until one fails, over all runs; 0: none, or it has failed. */
static unsigned int walk_work_left;
/* Both, and a run: what it leaves of them is looked at behind it. */
static DEFINE_MUTEX(walk_work_lock);

/* What there is, in numbers that only a leak or a lost reference changes. */
struct walk_state {
	int device;	/* objects of the device and of the CM */
	int refs;	/* objects of kdapl: each refers to its IA */
	u32 feeders;	/* of the EVDs */
	u32 slots;	/* reserved in them */
	u32 cqes;
	u32 events;	/* queued in them */
	u32 users;	/* of PZs and SRQs */
	u32 requests;	/* posted by EPs and SRQs, and their credits */
};

static u32 walk_requests(const struct kdapl_queue *queue)
{
	return READ_ONCE(queue->head) - READ_ONCE(queue->tail) +
	       READ_ONCE(queue->posted) - READ_ONCE(queue->released);
}

static void walk_look(struct kit *kit, struct walk_state *s)
{
	struct dat_ia *ia = kit->ia;
	struct kdapl_obj *obj;
	struct dat_srq *srq;
	struct dat_evd *evd;
	struct dat_pz *pz;
	struct dat_ep *ep;
	unsigned long flags;

	memset(s, 0, sizeof(*s));
	s->device = fake_hca_live_total();
	spin_lock_irqsave(&ia->lock, flags);
	s->refs = kref_read(&ia->obj.ref);
	list_for_each_entry(obj, &ia->objs[DAT_HANDLE_TYPE_EVD], node) {
		evd = container_of(obj, struct dat_evd, obj);
		s->feeders += READ_ONCE(evd->feeders);
		s->slots += READ_ONCE(evd->reserved);
		s->cqes += READ_ONCE(evd->cq_reserved);
		s->events += READ_ONCE(evd->live);
	}
	list_for_each_entry(obj, &ia->objs[DAT_HANDLE_TYPE_PZ], node) {
		pz = container_of(obj, struct dat_pz, obj);
		s->users += atomic_read(&pz->users);
		/* A failed registration takes its QP along, and no harm done. */
		if (READ_ONCE(pz->reg))
			s->device -= 2;
	}
	list_for_each_entry(obj, &ia->objs[DAT_HANDLE_TYPE_SRQ], node) {
		srq = container_of(obj, struct dat_srq, obj);
		s->users += READ_ONCE(srq->users);
		s->requests += atomic_read(&srq->used) + READ_ONCE(srq->posted);
	}
	list_for_each_entry(obj, &ia->objs[DAT_HANDLE_TYPE_EP], node) {
		ep = container_of(obj, struct dat_ep, obj);
		s->requests += walk_requests(&ep->req) +
			       walk_requests(&ep->recv);
	}
	spin_unlock_irqrestore(&ia->lock, flags);
}

static bool walk_same(struct kit *kit, const struct walk_state *want,
		      struct walk_state *got)
{
	walk_look(kit, got);
	return !memcmp(want, got, sizeof(*got));
}

static void walk_show(struct kunit *test, const struct walk_state *want,
		      const struct walk_state *got)
{
	kunit_err(test, "device %d was %d, refs %d was %d, feeders %u was %u, slots %u was %u",
		  got->device, want->device, got->refs, want->refs,
		  got->feeders, want->feeders, got->slots, want->slots);
	kunit_err(test, "cqes %u was %u, events %u was %u, users %u was %u, requests %u was %u",
		  got->cqes, want->cqes, got->events, want->events,
		  got->users, want->users, got->requests, want->requests);
}

/*
 * By default failslab spares whatever may sleep; what starts the machine tells
 * it not to, in /sys/kernel/debug/failslab/ignore-gfp-wait.
 */
static bool walk_failslab_works(void)
{
#ifdef CONFIG_FAILSLAB
	void *memory;

	WRITE_ONCE(current->fail_nth, 1);
	memory = kmalloc(16, GFP_KERNEL);
	WRITE_ONCE(current->fail_nth, 0);
	kfree(memory);
	return !memory;
#else
	return false;
#endif
}

static bool walk_possible(const struct walk *w, enum walk_kind kind)
{
	if (kind == WALK_MEMORY || kind == WALK_WORK)
		return (w->work || kind == WALK_MEMORY) &&
		       walk_failslab_works();
	if (kind >= WALK_OWN)
		return IS_ENABLED(CONFIG_FAULT_INJECTION);
	return true;
}

static void walk_work_run(struct work_struct *work)
{
	mutex_lock(&walk_work_lock);
#ifdef CONFIG_FAULT_INJECTION
	WRITE_ONCE(current->fail_nth, walk_work_left);
#endif
	walk_work_func(work);
#ifdef CONFIG_FAULT_INJECTION
	walk_work_left = READ_ONCE(current->fail_nth);
	WRITE_ONCE(current->fail_nth, 0);
#endif
	mutex_unlock(&walk_work_lock);
}

void walk_work(struct walk *w, struct work_struct *work)
{
	mutex_lock(&walk_work_lock);
	walk_work_func = work->func;
	work->func = walk_work_run;
	mutex_unlock(&walk_work_lock);
	w->work = true;
}
EXPORT_SYMBOL_GPL(walk_work);

static bool walk_work_set(unsigned int n)
{
	bool hit;

	mutex_lock(&walk_work_lock);
	hit = !walk_work_left;
	walk_work_left = n;
	mutex_unlock(&walk_work_lock);
	return hit;
}

/* @n 0: nothing fails from now on. */
static void walk_arm(enum walk_kind kind, unsigned int n)
{
	switch (kind) {
	case WALK_VERBS:
		fake_hca_fail(FAKE_ANY, n ?: 1, !!n, -ENOMEM);
		break;
	case WALK_CM:
		fake_cm_fail(FAKE_CM_ANY, n ?: 1, !!n, -ENOMEM);
		break;
	case WALK_MEMORY:
#ifdef CONFIG_FAULT_INJECTION
		WRITE_ONCE(current->fail_nth, n);
#endif
		break;
	case WALK_WORK:
		walk_work_set(n);
		break;
	default:
#ifdef CONFIG_FAULT_INJECTION
		kdapl_fault_set(kind - WALK_OWN, n);
#endif
		break;
	}
}

/* Whether what was armed has failed. */
static bool walk_hit(enum walk_kind kind)
{
	switch (kind) {
	case WALK_VERBS:
		return !fake_hca_fail_left();
	case WALK_CM:
		return !fake_cm_fail_left();
	case WALK_WORK:
		return walk_work_set(0);
#ifdef CONFIG_FAULT_INJECTION
	case WALK_MEMORY:
		return !READ_ONCE(current->fail_nth);
	default:
		return kdapl_fault_hit(kind - WALK_OWN);
#else
	default:
		return false;
#endif
	}
}

/* Once, with the @n-th step failing; false: there were less. */
static bool walk_once(struct walk *w, enum walk_kind kind, unsigned int n)
{
	bool hit;
	int ret;

	if (w->step->prepare)
		w->step->prepare(w);
	w->failing = n;
	if (n)
		walk_arm(kind, n);
	ret = w->step->call(w);
	hit = n && walk_hit(kind);
	if (n)
		walk_arm(kind, 0);
	w->failing = false;
	if (ret)
		KUNIT_EXPECT_TRUE_MSG(w->test, hit, "%s: %d, and nothing failed",
				      w->step->name, ret);
	else if (w->step->undo)
		w->step->undo(w);
	if (w->step->finish)
		w->step->finish(w);
	return hit;
}

/* False: there was a leak, and whatever follows would find it again. */
static bool walk_kind(struct walk *w, enum walk_kind kind,
		      const struct walk_state *want)
{
	struct kit *kit = to_kit(w->test);
	struct walk_state got;
	unsigned int n;
	bool hit;

	for (n = 1; n <= WALK_MOST; n++) {
		hit = walk_once(w, kind, n);
		if (!KIT_WAIT(walk_same(kit, want, &got))) {
			KUNIT_FAIL(w->test, "%s: leak with failure %u of kind %d",
				   w->step->name, n, kind);
			walk_show(w->test, want, &got);
			return false;
		}
		if (!hit)
			break;
		w->points[kind]++;
	}
	KUNIT_EXPECT_LE(w->test, n, WALK_MOST);
	return true;
}

void walk_run(struct kunit *test, const struct walk_step *step, void *priv)
{
	struct walk w = { .test = test, .step = step, .priv = priv };
	struct walk_state want;
	unsigned long start = jiffies;
	unsigned int sum = 0;
	int kind;

	walk_look(to_kit(test), &want);
	/* The first one may make what later ones share. */
	walk_once(&w, WALK_VERBS, 0);
	for (kind = 0; kind < WALK_KINDS; kind++) {
		if (!walk_possible(&w, kind))
			continue;
		if (!walk_kind(&w, kind, &want))
			return;
		sum += w.points[kind];
	}
	kunit_info(test, "%s: %u verbs, %u CM, %u memory, %u in work, own: %u objects, %u creations, %u transitions, %u posts (%u ms)",
		   step->name, w.points[WALK_VERBS], w.points[WALK_CM],
		   w.points[WALK_MEMORY], w.points[WALK_WORK],
		   w.points[WALK_OWN], w.points[WALK_OWN + 1],
		   w.points[WALK_OWN + 2], w.points[WALK_OWN + 3],
		   jiffies_to_msecs(jiffies - start));
	if (step->never)
		KUNIT_EXPECT_EQ(test, sum, 0U);
	else
		KUNIT_EXPECT_GT(test, sum, 0U);
	walk_points += sum;
	walk_calls++;
}
EXPORT_SYMBOL_GPL(walk_run);

void walk_report(struct kunit_suite *suite)
{
	pr_info("%s: %u failing points of %u calls walked\n", suite->name,
		walk_points, walk_calls);
	walk_points = 0;
	walk_calls = 0;
}
EXPORT_SYMBOL_GPL(walk_report);
