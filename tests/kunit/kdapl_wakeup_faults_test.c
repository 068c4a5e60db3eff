// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of waking up that users of other RDMA consumers met, one test for each
 * kind. Those of work requests are in kdapl_dto_faults_test.c.
 *
 * cpus: 2
 */
#include <linux/kthread.h>
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "kit.h"

static struct dat_dto_completion_event_data *
fault_dto(struct dat_event *event)
{
	return &event->event_data.dto_completion_event_data;
}

/* One completion lands in front of the arm, with the provider telling or not. */
static void fault_before_notify(enum fake_step step, struct ib_cq *cq,
				void *ctx)
{
	struct kit_source *source = ctx;

	if (step == FAKE_BEFORE_NOTIFY && source->completed < source->posted)
		kit_source_complete(source);
}

static void kdapl_wakeup_faults_completion_before_arm(struct kunit *test)
{
	static const enum fake_notify classes[] = {
		FAKE_REPORTS_ARMS, FAKE_NEVER_REPORTS,
	};
	struct kit_upcall *up = kit_upcall(test);
	struct kit_source source;
	struct dat_event event;
	struct dat_evd *evd;
	int i;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		evd = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
		kit_source(test, &source, evd, 4);
		source.posted = 41;
		source.completed = 41;
		kit_source_post(test, &source, 1);
		WRITE_ONCE(fake_script.notify, classes[i]);
		fake_script.hook_ctx = &source;
		WRITE_ONCE(fake_script.hook, fault_before_notify);
		KUNIT_EXPECT_EQ(test,
				dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						      &up->object,
						      DAT_UPCALL_INVOC_NEW),
				-EBUSY);
		WRITE_ONCE(fake_script.hook, NULL);
		KUNIT_EXPECT_EQ(test, (int)kit_policy(evd), DAT_UPCALL_DISABLE);
		KUNIT_EXPECT_EQ(test, atomic64_read(&evd->stats.busy), 1LL);
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, fault_dto(&event)->user_cookie.as_index,
				41UL);
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
		KUNIT_EXPECT_EQ(test,
				dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						      &up->object,
						      DAT_UPCALL_INVOC_NEW), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	}
}

/* Nobody ever read or armed: the first completion wakes all the same. */
static void kdapl_wakeup_faults_first_notification(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 8, DAT_EVD_DTO_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_source source;

	kit_source(test, &source, evd, 4);
	kit_source_post(test, &source, 1);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
}

/* Sixteen of twenty taken: the enable says that four are left. */
static void kdapl_wakeup_faults_partial_drain(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 32, DAT_EVD_DTO_FLAG);
	struct dat_event *events;
	struct kit_source source;
	int i;

	events = kunit_kcalloc(test, 16, sizeof(*events), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, events);
	kit_source(test, &source, evd, 24);
	kit_source_post(test, &source, 20);
	for (i = 0; i < 20; i++)
		kit_source_complete(&source);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue_batch(evd, events, 16), 16);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue_batch(evd, events, 16), 4);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
}

/*
 * A producer that is never slower than its consumer, for two seconds: others
 * get the CPU, runs are bounded, and no event is lost.
 */
struct fault_flood {
	struct kit_source source;
	unsigned long turns;
	bool stop;
	struct completion done;
};

static void fault_one_more(enum fake_step step, struct ib_cq *cq, void *ctx)
{
	struct fault_flood *flood = ctx;

	if (step == FAKE_BEFORE_POLL && cq == kit_cq(flood->source.evd))
		kit_source_complete(&flood->source);
}

static void fault_repost(struct kit_upcall *up, const struct dat_event *event,
			 bool more)
{
	struct fault_flood *flood = up->priv;

	if (!READ_ONCE(flood->stop) && !kit_post_recv(flood->source.ep, 0))
		flood->source.posted++;
}

static int fault_neighbour(void *data)
{
	struct fault_flood *flood = data;
	unsigned long end = jiffies + 2 * HZ;

	kit_source_complete(&flood->source);
	while (time_before(jiffies, end)) {
		flood->turns++;
		schedule_timeout_uninterruptible(1);
	}
	kthread_complete_and_exit(&flood->done, 0);
}

static void kdapl_wakeup_faults_endless_completions(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct task_struct *task;
	struct fault_flood *flood;
	struct dat_evd *evd;

	flood = kunit_kzalloc(test, sizeof(*flood), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, flood);
	init_completion(&flood->done);
	up->action = fault_repost;
	up->priv = flood;
	evd = kit_evd_up(test, 64, DAT_EVD_DTO_FLAG,
			 DAT_UPCALL_SINGLE_INSTANCE, up);
	kit_source(test, &flood->source, evd, 48);
	kit_source_post(test, &flood->source, 32);
	fake_script.hook_ctx = flood;
	WRITE_ONCE(fake_script.hook, fault_one_more);
	task = kthread_create(fault_neighbour, flood, "neighbour");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, 0);
	wake_up_process(task);
	KUNIT_ASSERT_TRUE(test, !!wait_for_completion_timeout(&flood->done,
							      KIT_PATIENCE));
	WRITE_ONCE(flood->stop, true);
	WRITE_ONCE(fake_script.hook, NULL);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!kit_runners(evd) &&
					 !evd->live));
	/* A turn is a tick, on a starved emulator several; starving is 0. */
	KUNIT_EXPECT_GE(test, flood->turns, 10UL);
	KUNIT_EXPECT_GT(test, flood->source.completed, 200U);
	KUNIT_EXPECT_EQ(test, (unsigned int)atomic_read(&up->done),
			flood->source.completed);
	KUNIT_EXPECT_LE(test, evd->stats.upcalls,
			64 * (evd->stats.yields + 1 +
			      fake_cq_callbacks(kit_cq(evd))));
}

enum { FAULT_ROUNDS = 60, FAULT_FULL = 10000 };

/*
 * An EVD is freed while a callback is on its way: the device has begun it on
 * another CPU, and its destroy does not wait for that one. So it reaches kdapl
 * when dat_evd_free() has returned, and schedules a run, or none.
 */
struct fault_stray {
	struct ib_cq *cq;
	struct fake_held held;
	struct completion done;
};

static int fault_stray(void *data)
{
	struct fault_stray *s = data;

	fake_cq_stray_held(s->cq, &s->held);
	kthread_complete_and_exit(&s->done, 0);
}

static void kdapl_wakeup_faults_evd_freed_under_callback(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct task_struct *task;
	struct fault_stray *s;
	struct dat_evd *evd;
	unsigned int rounds = kit_rounds(FAULT_ROUNDS, FAULT_FULL), i;

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	for (i = 0; i < rounds; i++) {
		evd = kit_evd_up(test, 8, i % 2 ? DAT_EVD_DTO_FLAG :
				 DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG,
				 DAT_UPCALL_SINGLE_INSTANCE, up);
		s->cq = kit_cq(evd);
		memset(&s->held, 0, sizeof(s->held));
		s->held.hold = true;
		init_completion(&s->done);
		task = kthread_create(fault_stray, s, "stray");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		kthread_bind(task, num_online_cpus() - 1);
		wake_up_process(task);
		/* The CQ must be there for the callback: wait for that much. */
		KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(s->held.inside)));
		/* Half of them with the free over, half in the midst of it. */
		if (i / 2 % 2)
			WRITE_ONCE(s->held.hold, false);
		KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
		if (READ_ONCE(s->held.hold)) {
			/* As long as a free that does not wait would take. */
			KIT_SETTLE();
			WRITE_ONCE(s->held.hold, false);
		}
		KUNIT_ASSERT_TRUE(test,
				  !!wait_for_completion_timeout(&s->done,
								KIT_PATIENCE));
		KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	}
}

static struct kunit_case kdapl_wakeup_faults_cases[] = {
	KUNIT_CASE(kdapl_wakeup_faults_completion_before_arm),
	KUNIT_CASE(kdapl_wakeup_faults_first_notification),
	KUNIT_CASE(kdapl_wakeup_faults_partial_drain),
	KUNIT_CASE(kdapl_wakeup_faults_endless_completions),
	KUNIT_CASE_PARAM(kdapl_wakeup_faults_evd_freed_under_callback,
			 kit_pieces),
	{}
};

static struct kunit_suite kdapl_wakeup_faults_suite = {
	.name = "kdapl_wakeup_faults",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_wakeup_faults_cases,
};

kunit_test_suite(kdapl_wakeup_faults_suite);

MODULE_DESCRIPTION("Suite: lost and stray wakeups that others met");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
