// SPDX-License-Identifier: GPL-2.0
/*
 * Upcalls as the consumer sees them: which policy calls what, with what, in
 * which context, and how they end.
 *
 * cpus: 2
 */
#include <linux/kthread.h>
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "kit.h"

static const struct up_case {
	const char *name;
	enum dat_evd_flags flags;
	bool in_task;
} up_contexts[] = {
	{ "dto", DAT_EVD_DTO_FLAG, false },
	{ "dto and bind", DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, false },
	{ "dto in a thread", DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG, true },
	{ "dto and software", DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, true },
	{ "dto and connection", DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
	  true },
	{ "all", DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG, true },
};

static void up_desc(const struct up_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(up_context, up_contexts, up_desc);

static int up_enable(struct dat_evd *evd, enum dat_upcall_policy policy,
		     struct kit_upcall *up, enum dat_upcall_flag flag)
{
	if (up)
		up->evd = evd;
	return dat_evd_modify_upcall(evd, policy, up ? &up->object : NULL,
				     flag);
}

/* kcreate enables; the upcall runs where the streams of the EVD say. */
static void kdapl_upcall_context(struct kunit *test)
{
	const struct up_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 8, c->flags,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_source source;

	kit_source(test, &source, evd, 4);
	kit_source_post(test, &source, 2);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_EQ(test, up->in_task, c->in_task);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 2));
	KUNIT_EXPECT_EQ(test, atomic_read(&up->nulls), 0);
	KUNIT_EXPECT_EQ(test, up->events[1].event_data.dto_completion_event_data
			.user_cookie.as_index, 1UL);
	KUNIT_EXPECT_PTR_EQ(test, up->events[1].evd_handle, evd);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 0U);
}

/* One shot, no event, nothing dequeued, and off before the call. */
static void up_note_policy(struct kit_upcall *up, const struct dat_event *event,
			   bool more)
{
	up->priv = (void *)(long)kit_policy(up->evd);
}

static void kdapl_upcall_notify_once(struct kunit *test)
{
	const struct up_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 8, c->flags);
	struct kit_source source;

	up->action = up_note_policy;
	up->priv = (void *)99L;
	kit_source(test, &source, evd, 8);
	kit_source_post(test, &source, 6);
	KUNIT_ASSERT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, up,
					DAT_UPCALL_INVOC_NEW), 0);
	kit_source_complete(&source);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	kit_source_complete(&source);
	kit_source_complete(&source);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->nulls), 1);
	KUNIT_EXPECT_EQ(test, (long)up->priv, (long)DAT_UPCALL_DISABLE);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, NULL,
					DAT_UPCALL_INVOC_NEW), -EBUSY);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 3U);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, NULL,
					DAT_UPCALL_INVOC_NEW), 0);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 2));
}

/* The specification's spelling is the same policy. */
static void kdapl_upcall_norify(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)DAT_UPCALL_NORIFY, (int)DAT_UPCALL_NOTIFY);
	KUNIT_EXPECT_EQ(test, (int)DAT_UPCALL_NOTIFY, 2);
	KUNIT_EXPECT_EQ(test, (int)DAT_UPCALL_MANY, 100);
	KUNIT_EXPECT_EQ(test, (int)DAT_UPCALL_TEARDOWN, -1);
}

/* more_events tells the truth, whether the rest is in the ring or in the CQ. */
static void up_note_more(struct kit_upcall *up, const struct dat_event *event,
			 bool more)
{
	unsigned long *bits = up->priv;

	if (more)
		__set_bit(atomic_read(&up->calls) - 1, bits);
}

static void kdapl_upcall_more_events(struct kunit *test)
{
	const struct up_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 64, c->flags);
	struct kit_source source;
	unsigned long bits = 0;
	int i;

	up->action = up_note_more;
	up->priv = &bits;
	kit_source(test, &source, evd, 32);
	kit_source_post(test, &source, 20);
	for (i = 0; i < 20; i++)
		kit_source_complete(&source);
	KUNIT_ASSERT_EQ(test, up_enable(evd, DAT_UPCALL_SINGLE_INSTANCE, up,
					DAT_UPCALL_INVOC_ANY), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 20));
	KUNIT_EXPECT_EQ(test, bits, BIT(19) - 1);
	KUNIT_EXPECT_EQ(test, (int)up->overlap.counter, 1);
}

/* Two events in the ring: INVOC_NEW refuses, INVOC_ANY delivers them. */
static void kdapl_upcall_invocation(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);

	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 1), 0);
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 2), 0);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_SINGLE_INSTANCE, up,
					DAT_UPCALL_INVOC_NEW), -EBUSY);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_SINGLE_INSTANCE, up,
					DAT_UPCALL_INVOC_ANY), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 2));
	KUNIT_EXPECT_EQ(test, kit_se_tag(&up->events[0]), 1UL);
	KUNIT_EXPECT_EQ(test, kit_se_tag(&up->events[1]), 2UL);
	/* It stays enabled. */
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 3), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 3));
}

/* Whatever it serves, the upcall never runs inside the enabling call. */
static void up_note_task(struct kit_upcall *up, const struct dat_event *event,
			 bool more)
{
	up->priv = in_task() ? current : NULL;
}

static void kdapl_upcall_any_not_inside(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);

	up->action = up_note_task;
	up->priv = current;
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 1), 0);
	KUNIT_ASSERT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, up,
					DAT_UPCALL_INVOC_ANY), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_PTR_NE(test, up->priv, (void *)current);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->nulls), 1);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 1U);
}

/* On an empty queue the two flags are the same. */
static void kdapl_upcall_any_empty(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct kit_source source;

	kit_source(test, &source, evd, 4);
	kit_source_post(test, &source, 1);
	KUNIT_ASSERT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, up,
					DAT_UPCALL_INVOC_ANY), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
}

static void kdapl_upcall_wrong_arguments(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);
	struct dat_upcall_object null = DAT_UPCALL_NULL;

	/* There is no function yet that SAME could mean. */
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, NULL, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, &null,
						    0), -EINVAL);
	KUNIT_EXPECT_EQ(test, up_enable(evd, 3, up, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, up_enable(evd, 99, up, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, up_enable(evd, -2, up, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, up, 2),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(NULL, DAT_UPCALL_DISABLE,
						    NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)kit_policy(evd), DAT_UPCALL_DISABLE);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE,
						    &null, 0), 0);
}

/* DISABLE may bring the object; a later SAME enables it. */
static void kdapl_upcall_same(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);

	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_DISABLE, up, 0), 0);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, NULL, 0), 0);
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 1), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
}

/* Disabled means silent, however much comes in. */
static void kdapl_upcall_disable(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 8, DAT_EVD_DTO_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_source source;

	kit_source(test, &source, evd, 4);
	kit_source_post(test, &source, 3);
	KUNIT_ASSERT_EQ(test, up_enable(evd, DAT_UPCALL_DISABLE, NULL, 0), 0);
	kit_source_complete(&source);
	kit_source_complete(&source);
	kit_source_complete(&source);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 3U);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_DISABLE, NULL, 0), 0);
}

/*
 * Events posted UNSIGNALLED neither notify nor disarm, but count for -EBUSY.
 */
static void kdapl_upcall_unsignalled(struct kunit *test)
{
	const struct up_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 8, c->flags);
	union dat_context cookie = {};
	struct kit_source source;

	if (c->flags & ~(DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG))
		kunit_skip(test, "such EPs do not share their EVD with others");
	to_kit(test)->ep_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	kit_source(test, &source, evd, 8);
	KUNIT_ASSERT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, up, 0), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_post_recv(source.ep, 0, NULL, cookie,
					       DAT_COMPLETION_UNSIGNALLED_FLAG),
			0);
	kit_source_post(test, &source, 1);
	kit_source_complete(&source);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	KUNIT_EXPECT_TRUE(test, fake_cq_armed(kit_cq(evd)));
	KUNIT_EXPECT_EQ(test, (int)kit_policy(evd), DAT_UPCALL_NOTIFY);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, up, 0), -EBUSY);

	/* The next one that may notify does, and both are there. */
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 2U);
}

/* TEARDOWN returns when the last upcall has. */
struct up_teardown {
	struct dat_evd *evd;
	bool free;
	int ret;
	struct completion done;
};

static int up_teardown(void *data)
{
	struct up_teardown *td = data;

	td->ret = td->free ? dat_evd_free(td->evd) :
		  dat_evd_modify_upcall(td->evd, DAT_UPCALL_TEARDOWN, NULL, 0);
	kthread_complete_and_exit(&td->done, 0);
}

static void up_test_teardown(struct kunit *test, bool free)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 8, DAT_EVD_SOFTWARE_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct up_teardown *td;
	struct task_struct *task;
	bool over;

	td = kunit_kzalloc(test, sizeof(*td), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, td);
	td->evd = evd;
	td->free = free;
	init_completion(&td->done);

	up->hold = true;
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 1), 0);
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 2), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&up->running) == 1));
	task = kthread_run(up_teardown, td, "teardown");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	/* The first thing that it does. */
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_policy(evd) == DAT_UPCALL_DISABLE));
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&td->done,
							     HZ / 10));
	if (!free) {
		/* Sticky from the moment it began. */
		KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_NOTIFY, up,
						DAT_UPCALL_INVOC_ANY),
				-ESHUTDOWN);
		KUNIT_EXPECT_EQ(test, (int)kit_policy(evd), DAT_UPCALL_DISABLE);
	}
	WRITE_ONCE(up->hold, false);
	over = wait_for_completion_timeout(&td->done, KIT_PATIENCE);
	KUNIT_ASSERT_TRUE(test, over);
	KUNIT_EXPECT_EQ(test, td->ret, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->done), 1);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
	if (free)
		return;

	/* The EVD itself lives on, without upcalls. */
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, 3), 0);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 2U);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_MANY, up, 0),
			-ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_DISABLE, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, up_enable(evd, DAT_UPCALL_TEARDOWN, NULL, 0), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
}

static void kdapl_upcall_teardown_waits(struct kunit *test)
{
	up_test_teardown(test, false);
}

static void kdapl_upcall_free_waits(struct kunit *test)
{
	up_test_teardown(test, true);
}

/* From inside an upcall of the EVD both would wait for themselves. */
static void up_teardown_inside(struct kit_upcall *up,
			       const struct dat_event *event, bool more)
{
	int *ret = up->priv;

	ret[0] = dat_evd_modify_upcall(up->evd, DAT_UPCALL_TEARDOWN, NULL, 0);
	ret[1] = dat_evd_free(up->evd);
}

static void kdapl_upcall_teardown_inside(struct kunit *test)
{
	const struct up_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 8, c->flags);
	struct kit_source source;
	int ret[2] = { 1, 1 };

	up->action = up_teardown_inside;
	up->priv = ret;
	kit_source(test, &source, evd, 4);
	kit_source_post(test, &source, 2);
	KUNIT_ASSERT_EQ(test, up_enable(evd, DAT_UPCALL_SINGLE_INSTANCE, up, 0),
			0);
	kit_source_complete(&source);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_EQ(test, ret[0], -EDEADLK);
	KUNIT_EXPECT_EQ(test, ret[1], -EDEADLK);
	/* Nothing has changed. */
	KUNIT_EXPECT_EQ(test, (int)kit_policy(evd), DAT_UPCALL_SINGLE_INSTANCE);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 2));
}

/* What a process-context upcall may do about everything else. */
static void up_make_and_free(struct kit_upcall *up,
			     const struct dat_event *event, bool more)
{
	struct kunit *test = up->priv;
	struct dat_evd *evd;

	if (!dat_evd_kcreate(to_kit(test)->ia, 4, DAT_UPCALL_DISABLE, NULL,
			     DAT_EVD_DTO_FLAG, &evd) &&
	    !dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN, NULL, 0) &&
	    !dat_evd_free(evd))
		up->more = true;
	else
		up->more = false;
}

static void kdapl_upcall_thread_may_create(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd;

	up->action = up_make_and_free;
	up->priv = test;
	evd = kit_evd_up(test, 8, DAT_EVD_SOFTWARE_FLAG,
			 DAT_UPCALL_SINGLE_INSTANCE, up);
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 1), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_TRUE(test, up->more);
}

static struct kunit_case kdapl_upcall_cases[] = {
	KUNIT_CASE_PARAM(kdapl_upcall_context, up_context_gen_params),
	KUNIT_CASE_PARAM(kdapl_upcall_notify_once, up_context_gen_params),
	KUNIT_CASE(kdapl_upcall_norify),
	KUNIT_CASE_PARAM(kdapl_upcall_more_events, up_context_gen_params),
	KUNIT_CASE(kdapl_upcall_invocation),
	KUNIT_CASE(kdapl_upcall_any_not_inside),
	KUNIT_CASE(kdapl_upcall_any_empty),
	KUNIT_CASE(kdapl_upcall_wrong_arguments),
	KUNIT_CASE(kdapl_upcall_same),
	KUNIT_CASE(kdapl_upcall_disable),
	KUNIT_CASE_PARAM(kdapl_upcall_unsignalled, up_context_gen_params),
	KUNIT_CASE(kdapl_upcall_teardown_waits),
	KUNIT_CASE(kdapl_upcall_free_waits),
	KUNIT_CASE_PARAM(kdapl_upcall_teardown_inside, up_context_gen_params),
	KUNIT_CASE(kdapl_upcall_thread_may_create),
	{}
};

static struct kunit_suite kdapl_upcall_suite = {
	.name = "kdapl_upcall",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_upcall_cases,
};

kunit_test_suite(kdapl_upcall_suite);

MODULE_DESCRIPTION("Suite: upcalls");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
