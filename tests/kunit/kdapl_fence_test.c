// SPDX-License-Identifier: GPL-2.0
/*
 * A CQ is not destroyed under a tasklet of its provider's: rxe of 6.1 frees what
 * ksoftirqd of another CPU still has in its list.
 *
 * cpus: 2
 */
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/smp.h>

#include "kit.h"

/* Longer than a call takes that waits for nobody. */
#define FENCE_BLOCK_NS	(200 * NSEC_PER_MSEC)

static struct {
	struct tasklet_struct block;	/* holds up its CPU */
	struct tasklet_struct late;	/* is behind it in the list */
	bool begun;
	bool ran;
} fence;

static void fence_block(struct tasklet_struct *tasklet)
{
	ktime_t end = ktime_add_ns(ktime_get(), FENCE_BLOCK_NS);

	WRITE_ONCE(fence.begun, true);
	while (ktime_before(ktime_get(), end))
		cpu_relax();
}

static void fence_late(struct tasklet_struct *tasklet)
{
	WRITE_ONCE(fence.ran, true);
}

static void fence_schedule(void *unused)
{
	tasklet_schedule(&fence.block);
	tasklet_schedule(&fence.late);
}

static void fence_free(struct kunit *test, struct dat_evd *evd)
{
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
}

/* Beyond its CQ, which is replaced. */
static void fence_resize(struct kunit *test, struct dat_evd *evd)
{
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 1024), 0);
}

static const struct fence_case {
	const char *name;
	void (*call)(struct kunit *test, struct dat_evd *evd);
} fence_cases[] = {
	{ "free", fence_free },
	{ "resize", fence_resize },
};

static void fence_desc(const struct fence_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fence, fence_cases, fence_desc);

static void kdapl_fence_before_destroy(struct kunit *test)
{
	const struct fence_case *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	unsigned int other;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	tasklet_setup(&fence.block, fence_block);
	tasklet_setup(&fence.late, fence_late);
	fence.begun = false;
	fence.ran = false;

	migrate_disable();
	other = cpumask_any_but(cpu_online_mask, smp_processor_id());
	smp_call_function_single(other, fence_schedule, NULL, true);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(fence.begun)));
	c->call(test, evd);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(fence.ran));
	migrate_enable();

	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_DESTROY_CQ, NULL), 1U);
	tasklet_kill(&fence.block);
	tasklet_kill(&fence.late);
}

static struct kunit_case kdapl_fence_cases[] = {
	KUNIT_CASE_PARAM(kdapl_fence_before_destroy, fence_gen_params),
	{}
};

static struct kunit_suite kdapl_fence_suite = {
	.name = "kdapl_fence",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_fence_cases,
};

kunit_test_suite(kdapl_fence_suite);

MODULE_DESCRIPTION("Suite: tasklets of others");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
