// SPDX-License-Identifier: GPL-2.0
/*
 * The look for lost wakeups, against a device that drops a notification: its
 * handler fires only when the test says so (FAKE_FIRE_LATE). The module was loaded
 * with its own watchdog off: the suite looks itself, but for the cases of the timer.
 *
 * cpus: 2
 */
#include <linux/kmsg_dump.h>
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/main.h"
#include "../../drivers/kdapl/watchdog.h"
#include "kit.h"

static const struct watchdog_case {
	const char *name;
	enum dat_upcall_policy policy;
	enum dat_evd_flags flags;
} watchdog_cases[] = {
	{ "NOTIFY", DAT_UPCALL_NOTIFY, DAT_EVD_DTO_FLAG },
	{ "SINGLE", DAT_UPCALL_SINGLE_INSTANCE, DAT_EVD_DTO_FLAG },
	{ "MANY", DAT_UPCALL_MANY, DAT_EVD_DTO_FLAG },
	{ "NOTIFY in a thread", DAT_UPCALL_NOTIFY,
	  DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG },
	{ "SINGLE in a thread", DAT_UPCALL_SINGLE_INSTANCE,
	  DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG },
};

static void watchdog_desc(const struct watchdog_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(watchdog, watchdog_cases, watchdog_desc);

static struct dat_evd *watchdog_evd(struct kunit *test, struct kit_upcall *up,
				    struct kit_source *source)
{
	const struct watchdog_case *c = test->param_value;
	struct dat_evd *evd;

	fake_script.fire = FAKE_FIRE_LATE;
	evd = kit_evd_up(test, 8, c->flags, c->policy, up);
	kit_source(test, source, evd, 4);
	kit_source_post(test, source, 4);
	/* The posts and the creation are history. */
	kdapl_watchdog_look(evd);
	kdapl_watchdog_look(evd);
	KUNIT_ASSERT_EQ(test, evd->stats.rescued, 0ULL);
	return evd;
}

static void kdapl_watchdog_delivers_and_counts(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct kit_source source = {};
	struct dat_evd *evd = watchdog_evd(test, up, &source);

	kit_source_complete(&source);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);

	kdapl_watchdog_look(evd);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_EQ(test, evd->stats.rescued, 0ULL);
	kdapl_watchdog_look(evd);
	KUNIT_EXPECT_EQ(test, evd->stats.rescued, 1ULL);

	/* One rescue is counted once, and calls nobody again. */
	kdapl_watchdog_look(evd);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, evd->stats.rescued, 1ULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
}

static void kdapl_watchdog_late_callback_is_no_rescue(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct kit_source source = {};
	struct dat_evd *evd = watchdog_evd(test, up, &source);

	kit_source_complete(&source);
	kdapl_watchdog_look(evd);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	fake_cq_late(kit_cq(evd));
	kdapl_watchdog_look(evd);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, evd->stats.rescued, 0ULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
}

/* What is not armed belongs to a consumer who polls. */
static void kdapl_watchdog_leaves_disabled_alone(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct kit_source source = {};
	struct dat_evd *evd = watchdog_evd(test, up, &source);
	struct dat_event event;

	KUNIT_ASSERT_EQ(test, 0,
			dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE,
					      DAT_UPCALL_SAME,
					      DAT_UPCALL_INVOC_NEW));
	kit_source_complete(&source);
	kdapl_watchdog_look(evd);
	kdapl_watchdog_look(evd);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	KUNIT_EXPECT_EQ(test, evd->stats.rescued, 0ULL);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), 0);
}

enum {
	WATCHDOG_MS = 5,
};

/* The same without anybody who looks by hand. */
static void kdapl_watchdog_works_by_itself(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct kit_source source = {};
	struct dat_evd *evd = watchdog_evd(test, up, &source);

	kit_source_complete(&source);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);

	kdapl_watchdog_ms = WATCHDOG_MS;
	kdapl_watchdog_init();
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(evd->stats.rescued)));
	kdapl_watchdog_exit();
	kdapl_watchdog_ms = 0;
}

/* Lines of the log that say it of the fake device. */
static unsigned int watchdog_lines(struct kunit *test)
{
	struct kmsg_dump_iter iter;
	unsigned int lines = 0;
	size_t len;
	char *line;

	line = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, line);
	kmsg_dump_rewind(&iter);
	while (kmsg_dump_get_line(&iter, false, line, PAGE_SIZE - 1, &len)) {
		line[len] = '\0';
		lines += strstr(line, FAKE_NAME ": ") &&
			 strstr(line, "loses notifications");
	}
	kunit_kfree(test, line);
	return lines;
}

static void watchdog_rescue(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct kit_source source = {};
	struct dat_evd *evd = watchdog_evd(test, up, &source);

	kit_source_complete(&source);
	kdapl_watchdog_look(evd);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	kdapl_watchdog_look(evd);
	KUNIT_EXPECT_EQ(test, evd->stats.rescued, 1ULL);
}

static void kdapl_watchdog_names_the_device_once(struct kunit *test)
{
	unsigned int lines = watchdog_lines(test);

	watchdog_rescue(test);
	KUNIT_EXPECT_EQ(test, watchdog_lines(test), lines + 1);
	watchdog_rescue(test);
	KUNIT_EXPECT_EQ(test, watchdog_lines(test), lines + 1);
}

static struct kunit_case kdapl_watchdog_cases[] = {
	KUNIT_CASE_PARAM(kdapl_watchdog_delivers_and_counts,
			 watchdog_gen_params),
	KUNIT_CASE_PARAM(kdapl_watchdog_late_callback_is_no_rescue,
			 watchdog_gen_params),
	KUNIT_CASE_PARAM(kdapl_watchdog_leaves_disabled_alone,
			 watchdog_gen_params),
	KUNIT_CASE_PARAM(kdapl_watchdog_works_by_itself, watchdog_gen_params),
	KUNIT_CASE_PARAM(kdapl_watchdog_names_the_device_once,
			 watchdog_gen_params),
	{}
};

static struct kunit_suite kdapl_watchdog_suite = {
	.name = "kdapl_watchdog",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_watchdog_cases,
};

kunit_test_suite(kdapl_watchdog_suite);

MODULE_DESCRIPTION("Suite: the watchdog against a device that drops a notification");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
