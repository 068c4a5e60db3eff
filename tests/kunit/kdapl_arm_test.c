// SPDX-License-Identifier: GPL-2.0
/*
 * The arm protocol against each way that providers have of answering
 * ib_req_notify_cq(), with a completion injected at every step of it.
 *
 * The promise that each test checks: an event that may notify and that nobody
 * dequeued has an upcall coming, or its consumer was told -EBUSY.
 *
 * cpus: 2
 */
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "kit.h"

enum { ARM_DEPTH = 16, ARM_STEPS = 24 };

static const struct {
	const char *name;
	enum fake_notify notify;
	unsigned int empty_reports;
} arm_classes[] = {
	{ "reports and arms", FAKE_REPORTS_ARMS, 0 },
	{ "reports only", FAKE_REPORTS_ONLY, 0 },
	{ "never reports", FAKE_NEVER_REPORTS, 0 },
	{ "fires at once", FAKE_FIRES_AT_ONCE, 0 },
	{ "reports over nothing", FAKE_REPORTS_EMPTY, 2 },
};

static const struct {
	const char *name;
	enum dat_upcall_policy policy;
} arm_policies[] = {
	{ "NOTIFY", DAT_UPCALL_NOTIFY },
	{ "SINGLE", DAT_UPCALL_SINGLE_INSTANCE },
	{ "MANY", DAT_UPCALL_MANY },
};

/* One of each, in softirq and in a thread. */
struct arm_case {
	enum fake_notify notify;
	unsigned int empty_reports;
	enum dat_upcall_policy policy;
	enum dat_evd_flags flags;
};

enum { ARM_CASES = 2 * ARRAY_SIZE(arm_policies) * ARRAY_SIZE(arm_classes) };

static struct arm_case arm_cases[ARM_CASES];

static const void *arm_gen_params(const void *prev, char *desc)
{
	const struct arm_case *last = prev;
	unsigned int i = last ? last - arm_cases + 1 : 0;
	unsigned int policy = i / 2 % ARRAY_SIZE(arm_policies);
	unsigned int class = i / 2 / ARRAY_SIZE(arm_policies);
	struct arm_case *c = &arm_cases[i];

	if (i == ARM_CASES)
		return NULL;
	c->notify = arm_classes[class].notify;
	c->empty_reports = arm_classes[class].empty_reports;
	c->policy = arm_policies[policy].policy;
	c->flags = DAT_EVD_DTO_FLAG | (i % 2 ? DAT_EVD_UPCALL_THREAD_FLAG : 0);
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %s in %s",
		 arm_classes[class].name, arm_policies[policy].name,
		 i % 2 ? "a thread" : "softirq");
	return c;
}

/* Completes one request of @source at the @at-th step from now, counting from 0. */
struct arm_inject {
	struct kit_source *source;
	atomic_t step;
	int at;
};

static void arm_hook(enum fake_step step, struct ib_cq *cq, void *ctx)
{
	struct arm_inject *inject = ctx;

	if (cq == kit_cq(inject->source->evd) &&
	    atomic_inc_return(&inject->step) == inject->at + 1)
		kit_source_complete(inject->source);
}

static void arm_hook_set(struct arm_inject *inject, struct kit_source *source,
			 int at)
{
	inject->source = source;
	inject->at = at;
	atomic_set(&inject->step, 0);
	fake_script.hook_ctx = inject;
	/* Before the hook, its context. */
	smp_wmb();
	WRITE_ONCE(fake_script.hook, arm_hook);
}

/* Under NOTIFY the events of an upcall are still queued; else it brought one. */
static unsigned int arm_events(const struct arm_case *c, struct dat_evd *evd,
			       struct kit_upcall *up)
{
	return kit_drain(evd) +
	       (c->policy == DAT_UPCALL_NOTIFY ? 0 : READ_ONCE(up->count));
}

/*
 * A consumer enables; at step k of that a completion comes in. Either the call
 * says -EBUSY, has changed nothing and the event is there to be dequeued; or
 * it says 0 and there is an upcall.
 */
static void kdapl_arm_inject_while_enabling(struct kunit *test)
{
	const struct arm_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, ARM_DEPTH, c->flags);
	struct arm_inject inject = {};
	int ret, at, busy = 0, woken = 0;
	struct kit_source source;
	u64 counted;

	kit_source(test, &source, evd, ARM_DEPTH);
	for (at = 0; at < ARM_STEPS; at++) {
		atomic_set(&up->done, 0);
		up->count = 0;
		counted = atomic64_read(&evd->stats.busy);
		kit_source_post(test, &source, 1);
		WRITE_ONCE(fake_script.notify, c->notify);
		fake_script.empty_reports = c->empty_reports;

		arm_hook_set(&inject, &source, at);
		ret = dat_evd_modify_upcall(evd, c->policy, &up->object,
					    DAT_UPCALL_INVOC_NEW);
		WRITE_ONCE(fake_script.hook, NULL);

		if (ret) {
			KUNIT_EXPECT_EQ(test, ret, -EBUSY);
			KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&evd->stats.busy),
					counted + 1);
			KUNIT_EXPECT_EQ(test, (int)kit_policy(evd),
					DAT_UPCALL_DISABLE);
			KUNIT_EXPECT_EQ(test, kit_drain(evd), 1U);
			KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), woken);
			busy++;
			continue;
		}
		if (atomic_read(&inject.step) <= at)
			/* The protocol had fewer steps: the event comes now. */
			kit_source_complete(&source);
		woken++;
		KUNIT_EXPECT_TRUE_MSG(test,
				      KIT_WAIT(atomic_read(&up->done) == 1),
				      "lost: completion at step %d", at);
		KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd,
							    DAT_UPCALL_DISABLE,
							    DAT_UPCALL_SAME, 0),
				0);
		KUNIT_EXPECT_EQ(test, arm_events(c, evd, up), 1U);
		KUNIT_EXPECT_TRUE(test, KIT_WAIT(!kit_runners(evd)));
	}
	/* Both outcomes were seen, and the steps ran out before the loop did. */
	KUNIT_EXPECT_GT(test, busy, 0);
	KUNIT_EXPECT_GT(test, woken, 0);
	KUNIT_EXPECT_LT(test, atomic_read(&inject.step), ARM_STEPS);
}

/* The consumer of NOTIFY: drains and re-enables, all inside the upcall. */
static void arm_drain_and_enable(struct kit_upcall *up,
				 const struct dat_event *event, bool more)
{
	const struct arm_case *c = up->priv;

	do {
		atomic_add(kit_drain(up->evd), &up->nulls);
	} while (dat_evd_modify_upcall(up->evd, c->policy, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW) == -EBUSY);
}

/*
 * The EVD is armed and one completion starts a run; a second one comes in at
 * step k of that run. Both events are delivered, and the EVD ends up armed.
 */
static void kdapl_arm_inject_while_running(struct kunit *test)
{
	const struct arm_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, ARM_DEPTH, c->flags);
	bool notify = c->policy == DAT_UPCALL_NOTIFY;
	struct arm_inject inject = {};
	struct kit_source source;
	int at, due = 0;

	up->evd = evd;
	up->priv = (void *)c;
	if (notify)
		up->action = arm_drain_and_enable;
	kit_source(test, &source, evd, ARM_DEPTH);
	WRITE_ONCE(fake_script.notify, c->notify);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd, c->policy, &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);

#define ARM_DELIVERED()	(notify ? atomic_read(&up->nulls) - \
				  atomic_read(&up->calls) : \
				  (int)READ_ONCE(up->count))
	for (at = 0; at < ARM_STEPS; at++) {
		kit_source_post(test, &source, 2);
		fake_script.empty_reports = c->empty_reports;
		arm_hook_set(&inject, &source, at);
		kit_source_complete(&source);
		due++;
		KUNIT_EXPECT_TRUE_MSG(test, KIT_WAIT(ARM_DELIVERED() >= due),
				      "lost: the first, step %d", at);
		WRITE_ONCE(fake_script.hook, NULL);
		while (source.completed < source.posted)
			kit_source_complete(&source);
		due++;
		KUNIT_EXPECT_TRUE_MSG(test, KIT_WAIT(ARM_DELIVERED() == due),
				      "lost: completion at step %d of the run",
				      at);
		KUNIT_EXPECT_TRUE(test, KIT_WAIT(!kit_runners(evd)));
	}
	KUNIT_EXPECT_EQ(test, evd->stats.dequeued, (u64)source.completed);
}

/*
 * The same, but the completion wakes nobody until the second successful arm is
 * over; then the producer clears the notify flag that it finds (rxe does this
 * outside its lock) and calls back over an empty queue. The EVD must be armed
 * after that, and no upcall made for it.
 */
static void kdapl_arm_late_callback(struct kunit *test)
{
	const struct arm_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, ARM_DEPTH, c->flags);
	struct kit_source source;
	struct dat_event event;

	kit_source(test, &source, evd, ARM_DEPTH);
	kit_source_post(test, &source, 2);
	WRITE_ONCE(fake_script.notify, c->notify);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd, c->policy, &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);

	fake_script.fire = FAKE_FIRE_LATE;
	kit_source_complete(&source);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd, c->policy,
						    DAT_UPCALL_SAME,
						    DAT_UPCALL_INVOC_NEW), 0);
	KUNIT_ASSERT_TRUE(test, fake_cq_armed(kit_cq(evd)));
	fake_script.fire = FAKE_FIRE_NOW;
	fake_cq_late(kit_cq(evd));

	KUNIT_EXPECT_TRUE_MSG(test, KIT_WAIT(fake_cq_armed(kit_cq(evd))),
			      "a late callback ate the arm");
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE_MSG(test, KIT_WAIT(atomic_read(&up->done) == 1),
			      "lost: the completion behind a late callback");
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE,
						    DAT_UPCALL_SAME, 0), 0);
	KUNIT_EXPECT_EQ(test, arm_events(c, evd, up), 1U);
}

/* Whether an upcall has run where the post was made. */
struct arm_inline {
	const struct arm_case *c;
	struct task_struct *poster;
	bool on_stack;
	atomic_t events;
};

static void arm_inline_upcall(struct kit_upcall *up,
			      const struct dat_event *event, bool more)
{
	struct arm_inline *in = up->priv;

	if (in_task() && current == in->poster)
		in->on_stack = true;
	if (event) {
		atomic_inc(&in->events);
		return;
	}
	do {
		atomic_add(kit_drain(up->evd), &in->events);
	} while (dat_evd_modify_upcall(up->evd, in->c->policy, DAT_UPCALL_SAME,
				       DAT_UPCALL_INVOC_NEW) == -EBUSY);
}

/*
 * The provider completes requests inside the post, and calls the handler there,
 * under the lock of the queue: each event is delivered all the same, and no
 * upcall is made on the poster's stack.
 */
static void kdapl_arm_fires_in_post(struct kunit *test)
{
	const struct arm_case *c = test->param_value;
	struct dat_evd *recv = kit_evd(test, ARM_DEPTH, DAT_EVD_DTO_FLAG);
	struct dat_evd *evd = kit_evd(test, ARM_DEPTH, c->flags);
	struct arm_inline in = { .c = c, .poster = current };
	struct kit_upcall *up = kit_upcall(test);
	struct kit_pair pair;
	int i;

	up->evd = evd;
	up->priv = &in;
	up->action = arm_inline_upcall;
	kit_pair(test, &pair, recv, evd, ARM_DEPTH / 2);
	WRITE_ONCE(fake_script.notify, c->notify);
	fake_script.empty_reports = c->empty_reports;
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd, c->policy, &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);

	fake_script.complete = FAKE_INLINE;
	for (i = 0; i < ARM_STEPS; i++) {
		KUNIT_ASSERT_EQ(test, kit_post_recv(pair.server, i), 0);
		KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, i, 0), 0);
		/* Every other one comes while the run for the last may go on. */
		if (i % 2)
			KUNIT_ASSERT_TRUE_MSG(test,
					      KIT_WAIT(atomic_read(&in.events) ==
						       i + 1),
					      "lost: %d of %d",
					      atomic_read(&in.events), i + 1);
		KUNIT_EXPECT_EQ(test, kit_drain(recv), 1U);
	}
	KUNIT_EXPECT_EQ(test, fake_qp_posted(kit_qp(pair.client), true), 0U);
	KUNIT_EXPECT_FALSE(test, in.on_stack);
	/* @in is on this stack: no upcall may come later. */
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN,
						    DAT_UPCALL_SAME, 0), 0);
}

/* A provider that keeps reporting over an empty queue is asked a few times. */
static void kdapl_arm_reports_over_nothing(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, ARM_DEPTH, DAT_EVD_DTO_FLAG);
	struct kit_source source;

	kit_source(test, &source, evd, ARM_DEPTH);
	WRITE_ONCE(fake_script.notify, FAKE_REPORTS_EMPTY);
	fake_script.empty_reports = UINT_MAX;
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, (int)kit_policy(evd), DAT_UPCALL_DISABLE);
	KUNIT_EXPECT_FALSE(test, evd->armed);

	fake_script.empty_reports = 1;
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);
	KUNIT_EXPECT_TRUE(test, fake_cq_armed(kit_cq(evd)));
	kit_source_post(test, &source, 1);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
}

/* The provider's own errno comes back, and everything is as it was. */
static void kdapl_arm_notify_fails(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test), *other = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, ARM_DEPTH, DAT_EVD_DTO_FLAG);
	struct dat_evd_param param;
	struct kit_source source;

	kit_source(test, &source, evd, ARM_DEPTH);
	fake_hca_fail(FAKE_REQ_NOTIFY, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_ANY), -EIO);
	KUNIT_EXPECT_EQ(test, (int)kit_policy(evd), DAT_UPCALL_DISABLE);

	KUNIT_ASSERT_EQ(test,
			dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE,
					      &up->object,
					      DAT_UPCALL_INVOC_NEW), 0);
	fake_hca_fail(FAKE_REQ_NOTIFY, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &other->object,
						    DAT_UPCALL_INVOC_NEW),
			-EIO);
	KUNIT_ASSERT_EQ(test, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), 0);
	KUNIT_EXPECT_EQ(test, (int)param.upcall_policy,
			DAT_UPCALL_SINGLE_INSTANCE);
	KUNIT_EXPECT_PTR_EQ(test, param.upcall.instance_data, (void *)up);
	kit_source_post(test, &source, 1);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&other->calls), 0);
}

/* A callback that nothing waits for is counted and does nothing else. */
static void kdapl_arm_spurious(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, ARM_DEPTH, DAT_EVD_DTO_FLAG);
	struct kit_source source;

	kit_source(test, &source, evd, ARM_DEPTH);
	kit_source_post(test, &source, 1);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE,
						    &up->object, 0), 0);
	fake_cq_stray(kit_cq(evd));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(evd->stats.spurious) == 1));
	kit_source_complete(&source);
	fake_cq_stray(kit_cq(evd));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(evd->stats.spurious) == 2));
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 1U);
}

/* A refused enable leaves the hardware armed: its callback is swallowed. */
static void kdapl_arm_callback_behind_busy(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, ARM_DEPTH, DAT_EVD_DTO_FLAG);
	struct kit_source source;

	kit_source(test, &source, evd, ARM_DEPTH);
	kit_source_post(test, &source, 2);
	kit_source_complete(&source);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW),
			-EBUSY);
	KUNIT_ASSERT_TRUE(test, fake_cq_armed(kit_cq(evd)));
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(evd->stats.spurious) == 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 2U);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);
}

static struct kunit_case kdapl_arm_cases[] = {
	KUNIT_CASE_PARAM(kdapl_arm_inject_while_enabling, arm_gen_params),
	KUNIT_CASE_PARAM(kdapl_arm_inject_while_running, arm_gen_params),
	KUNIT_CASE_PARAM(kdapl_arm_late_callback, arm_gen_params),
	KUNIT_CASE_PARAM(kdapl_arm_fires_in_post, arm_gen_params),
	KUNIT_CASE(kdapl_arm_reports_over_nothing),
	KUNIT_CASE(kdapl_arm_notify_fails),
	KUNIT_CASE(kdapl_arm_spurious),
	KUNIT_CASE(kdapl_arm_callback_behind_busy),
	{}
};

static struct kunit_suite kdapl_arm_suite = {
	.name = "kdapl_arm",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_arm_cases,
};

kunit_test_suite(kdapl_arm_suite);

MODULE_DESCRIPTION("Suite: the arm protocol against every kind of provider");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
