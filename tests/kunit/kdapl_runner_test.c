// SPDX-License-Identifier: GPL-2.0
/*
 * The runner: several CPUs, policies that change under a running upcall, budgets
 * that run out, and completions that make no event.
 *
 * cpus: 2
 */
#include <linux/kthread.h>
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "kit.h"
#include "kit_ways.h"

/* Those that hand an event over. */
static const struct kit_way run_cases[] = {
	{ "SINGLE in softirq", DAT_EVD_DTO_FLAG, DAT_UPCALL_SINGLE_INSTANCE },
	{ "SINGLE in a thread", DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG,
	  DAT_UPCALL_SINGLE_INSTANCE },
	{ "MANY in softirq", DAT_EVD_DTO_FLAG, DAT_UPCALL_MANY },
	{ "MANY in a thread", DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG,
	  DAT_UPCALL_MANY },
};

KUNIT_ARRAY_PARAM(run, run_cases, kit_way_desc);

/* A thread on one CPU that completes requests of an EP of its own. */
struct run_producer {
	struct kit_source source;
	unsigned int count;
	unsigned int gap_us;
	struct completion *go;
	struct completion done;
	const atomic_t *behind;		/* begin when this is set */
	int cpu;
};

static int run_producer(void *data)
{
	struct run_producer *p = data;
	unsigned int i;

	wait_for_completion(p->go);
	while (p->behind && !atomic_read(p->behind))
		cond_resched();
	for (i = 0; i < p->count; i++) {
		kit_source_complete(&p->source);
		if (p->gap_us)
			udelay(p->gap_us);
		cond_resched();
	}
	kthread_complete_and_exit(&p->done, 0);
}

static void run_start(struct kunit *test, struct run_producer *p, int cpu)
{
	struct task_struct *task;

	init_completion(&p->done);
	p->cpu = cpu;
	task = kthread_create(run_producer, p, "producer/%d", cpu);
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpu);
	wake_up_process(task);
}

/* What they use is the test's, and goes with it. */
static void run_join(struct kunit *test, struct run_producer *p, int n)
{
	bool over;
	int i;

	for (i = 0; i < n; i++) {
		over = wait_for_completion_timeout(&p[i].done, KIT_PATIENCE);
		KUNIT_ASSERT_TRUE(test, over);
	}
}

static void run_slowly(struct kit_upcall *up, const struct dat_event *event,
		       bool more)
{
	udelay(9);
}

/*
 * Completions on two CPUs at once. SINGLE_INSTANCE: never two upcalls at a
 * time. Both policies: every event once.
 */
enum { RUN_EACH = 240 };

static void kdapl_runner_two_cpus(struct kunit *test)
{
	const struct kit_way *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct completion *go;
	struct run_producer *p;
	struct dat_evd *evd;
	u8 seen[2 * RUN_EACH] = {};
	unsigned int i, index;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	p = kunit_kcalloc(test, 2, sizeof(*p), GFP_KERNEL);
	go = kunit_kzalloc(test, sizeof(*go), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_NOT_NULL(test, go);
	init_completion(go);
	up->action = run_slowly;
	evd = kit_evd_up(test, 2 * RUN_EACH + 8, c->flags, c->policy, up);
	for (i = 0; i < 2; i++) {
		kit_source(test, &p[i].source, evd, RUN_EACH);
		p[i].source.posted = i * RUN_EACH;
		kit_source_post(test, &p[i].source, RUN_EACH);
		p[i].count = RUN_EACH;
		p[i].gap_us = 5;
		p[i].go = go;
		run_start(test, &p[i], i);
	}
	complete_all(go);
	run_join(test, p, 2);
	KUNIT_EXPECT_TRUE(test,
			  KIT_WAIT(atomic_read(&up->done) == 2 * RUN_EACH));
	KUNIT_EXPECT_EQ(test, up->count, 2U * RUN_EACH);
	if (c->policy == DAT_UPCALL_SINGLE_INSTANCE)
		KUNIT_EXPECT_EQ(test, atomic_read(&up->overlap), 1);
	else
		KUNIT_EXPECT_LE(test, atomic_read(&up->overlap),
				(int)num_online_cpus());
	for (i = 0; i < 2 * RUN_EACH && i < KIT_RECORD; i++) {
		index = up->events[i].event_data.dto_completion_event_data
			.user_cookie.as_index;
		KUNIT_ASSERT_LT(test, index, 2U * RUN_EACH);
		KUNIT_EXPECT_EQ(test, (int)seen[index]++, 0);
	}
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 0U);
}

/* MANY does overlap: the first upcall waits for the second, on another CPU. */
static void run_meet(struct kit_upcall *up, const struct dat_event *event,
		     bool more)
{
	unsigned long end = jiffies + 5 * HZ;

	while (atomic_read(&up->overlap) < 2 && time_before(jiffies, end)) {
		if (in_task())
			usleep_range(100, 200);
		else
			cpu_relax();
	}
}

static void kdapl_runner_many_overlaps(struct kunit *test)
{
	const struct kit_way *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct completion *go;
	struct run_producer *p;
	struct dat_evd *evd;
	unsigned int i;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	if (c->policy != DAT_UPCALL_MANY)
		kunit_skip(test, "never overlaps, see kdapl_runner_two_cpus");
	p = kunit_kcalloc(test, 2, sizeof(*p), GFP_KERNEL);
	go = kunit_kzalloc(test, sizeof(*go), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_NOT_NULL(test, go);
	init_completion(go);
	up->action = run_meet;
	evd = kit_evd_up(test, 8, c->flags, c->policy, up);
	for (i = 0; i < 2; i++) {
		kit_source(test, &p[i].source, evd, 2);
		kit_source_post(test, &p[i].source, 1);
		p[i].count = 1;
		p[i].go = go;
		/* A trigger for a run that is due anyway makes no second one. */
		p[i].behind = i ? &up->calls : NULL;
		run_start(test, &p[i], i);
	}
	complete_all(go);
	run_join(test, p, 2);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 2));
	KUNIT_EXPECT_EQ(test, atomic_read(&up->overlap), 2);
}

/*
 * The upcall disables, its thread drains and re-enables, a new event arrives:
 * all before that upcall returns. The event gets an upcall, after this one.
 */
struct run_reenter {
	struct kit_source source;
	enum dat_upcall_policy policy;
	unsigned int rounds;
	unsigned int drained;
	unsigned int refused;
};

static void run_reenable(struct kit_upcall *up, const struct dat_event *event,
			 bool more)
{
	struct run_reenter *re = up->priv;

	dat_evd_modify_upcall(up->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME, 0);
	WRITE_ONCE(re->drained, re->drained + kit_drain(up->evd));
	if (dat_evd_modify_upcall(up->evd, re->policy, DAT_UPCALL_SAME,
				  DAT_UPCALL_INVOC_NEW))
		re->refused++;
	if (re->rounds) {
		re->rounds--;
		kit_source_complete(&re->source);
	}
}

static void kdapl_runner_reenable_inside(struct kunit *test)
{
	const struct kit_way *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	bool many = c->policy == DAT_UPCALL_MANY;
	struct run_reenter *re;
	struct dat_evd *evd;

	re = kunit_kzalloc(test, sizeof(*re), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, re);
	re->policy = c->policy;
	re->rounds = 40;
	up->action = run_reenable;
	up->priv = re;
	evd = kit_evd(test, 64, c->flags);
	up->evd = evd;
	kit_source(test, &re->source, evd, 48);
	kit_source_post(test, &re->source, 41);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd, c->policy, &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);
	kit_source_complete(&re->source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(re->drained) +
					 READ_ONCE(up->count) ==
					 41 && !kit_runners(evd)));
	if (!many) {
		/* Each of them needed an upcall of its own. */
		KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 41);
		KUNIT_EXPECT_EQ(test, atomic_read(&up->overlap), 1);
		KUNIT_EXPECT_EQ(test, re->refused, 0U);
	}
}

/* The function is changed inside the upcall: the next event goes to the new one. */
static void run_change(struct kit_upcall *up, const struct dat_event *event,
		       bool more)
{
	struct kit_upcall *next = up->priv;

	dat_evd_modify_upcall(up->evd, DAT_UPCALL_SINGLE_INSTANCE,
			      &next->object, DAT_UPCALL_INVOC_ANY);
}

static void kdapl_runner_function_changed_inside(struct kunit *test)
{
	const struct kit_way *c = test->param_value;
	struct kit_upcall *a = kit_upcall(test), *b = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 16, c->flags);
	struct kit_source source;
	int i;

	a->action = run_change;
	a->priv = b;
	a->evd = evd;
	kit_source(test, &source, evd, 8);
	kit_source_post(test, &source, 4);
	for (i = 0; i < 3; i++)
		kit_source_complete(&source);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd,
						    DAT_UPCALL_SINGLE_INSTANCE,
						    &a->object,
						    DAT_UPCALL_INVOC_ANY), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&b->done) == 2));
	KUNIT_EXPECT_EQ(test, atomic_read(&a->calls), 1);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&b->done) == 3));
	KUNIT_EXPECT_EQ(test, atomic_read(&a->calls), 1);
}

/* Disabled inside the upcall: no further one, and nothing is lost. */
static void run_disable(struct kit_upcall *up, const struct dat_event *event,
			bool more)
{
	dat_evd_modify_upcall(up->evd, DAT_UPCALL_DISABLE, DAT_UPCALL_SAME, 0);
}

static void kdapl_runner_disabled_inside(struct kunit *test)
{
	const struct kit_way *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 16, c->flags);
	struct kit_source source;
	int i;

	up->action = run_disable;
	up->evd = evd;
	kit_source(test, &source, evd, 8);
	kit_source_post(test, &source, 6);
	for (i = 0; i < 5; i++)
		kit_source_complete(&source);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd,
						    DAT_UPCALL_SINGLE_INSTANCE,
						    &up->object,
						    DAT_UPCALL_INVOC_ANY), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	kit_source_complete(&source);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 5U);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!kit_runners(evd)));
}

/* After MANY, an upcall of SINGLE_INSTANCE starts only when the others are over. */
static void kdapl_runner_many_to_single(struct kunit *test)
{
	struct kit_upcall *many = kit_upcall(test), *single = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 16, DAT_EVD_SOFTWARE_FLAG,
					 DAT_UPCALL_MANY, many);

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	many->hold = true;
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 1), 0);
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 2), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&many->running) == 2));
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd,
						    DAT_UPCALL_SINGLE_INSTANCE,
						    &single->object,
						    DAT_UPCALL_INVOC_NEW), 0);
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 3), 0);
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 4), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&single->calls), 0);
	WRITE_ONCE(many->hold, false);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&single->done) == 2));
	KUNIT_EXPECT_EQ(test, atomic_read(&single->overlap), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&many->calls), 2);
}

/* A budget of one event: each run gives way, and all are delivered in order. */
static void kdapl_runner_budget_of_one(struct kunit *test)
{
	const struct kit_way *c = test->param_value;
	const struct dat_evd_attr attr = { .budget = 1 };
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 64, c->flags);
	struct kit_source source;
	int i;

	KUNIT_ASSERT_EQ(test, dat_evd_set_attr(evd, DAT_EVD_ATTR_BUDGET, &attr),
			0);
	kit_source(test, &source, evd, 32);
	kit_source_post(test, &source, 30);
	for (i = 0; i < 30; i++)
		kit_source_complete(&source);
	KUNIT_ASSERT_EQ(test, dat_evd_modify_upcall(evd, c->policy, &up->object,
						    DAT_UPCALL_INVOC_ANY), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 30));
	KUNIT_EXPECT_GE(test, evd->stats.yields, 1ULL);
	if (c->policy == DAT_UPCALL_SINGLE_INSTANCE)
		for (i = 0; i < 30; i++)
			KUNIT_EXPECT_EQ(test, up->events[i].event_data
					.dto_completion_event_data.user_cookie
					.as_index, (unsigned long)i);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!kit_runners(evd)));
}

static struct kunit_case kdapl_runner_cases[] = {
	KUNIT_CASE_PARAM(kdapl_runner_two_cpus, run_gen_params),
	KUNIT_CASE_PARAM(kdapl_runner_many_overlaps, run_gen_params),
	KUNIT_CASE_PARAM(kdapl_runner_reenable_inside, kit_way_gen_params),
	KUNIT_CASE_PARAM(kdapl_runner_function_changed_inside, run_gen_params),
	KUNIT_CASE_PARAM(kdapl_runner_disabled_inside, run_gen_params),
	KUNIT_CASE(kdapl_runner_many_to_single),
	KUNIT_CASE_PARAM(kdapl_runner_budget_of_one, run_gen_params),
	{}
};

static struct kunit_suite kdapl_runner_suite = {
	.name = "kdapl_runner",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_runner_cases,
};

kunit_test_suite(kdapl_runner_suite);

MODULE_DESCRIPTION("Suite: runs of upcalls on several CPUs");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
