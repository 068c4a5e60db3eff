// SPDX-License-Identifier: GPL-2.0
/*
 * Event dispatchers: creation, query, queueing, resize, settings and free.
 *
 * cpus: 2
 */
#include <linux/kthread.h>
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "kit.h"

/* Each stream alone, all at once, and what the specification calls default. */
static const struct evd_flags_case {
	const char *name;
	enum dat_evd_flags flags;
	int ret;
} evd_flags_cases[] = {
	{ "none", 0, -EINVAL },
	{ "thread only", DAT_EVD_UPCALL_THREAD_FLAG, -EINVAL },
	{ "unknown", DAT_EVD_DTO_FLAG | 0x2000, -EINVAL },
	{ "software", DAT_EVD_SOFTWARE_FLAG, 0 },
	{ "cr", DAT_EVD_CR_FLAG, 0 },
	{ "dto", DAT_EVD_DTO_FLAG, 0 },
	{ "connection", DAT_EVD_CONNECTION_FLAG, 0 },
	{ "bind", DAT_EVD_RMR_BIND_FLAG, 0 },
	{ "async", DAT_EVD_ASYNC_FLAG, 0 },
	{ "default", DAT_EVD_DEFAULT_FLAG, 0 },
	{ "all", DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG, 0 },
	{ "dto in a thread",
	  DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG, 0 },
};

static void evd_flags_desc(const struct evd_flags_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(evd_flags, evd_flags_cases, evd_flags_desc);

static void kdapl_evd_create_flags(struct kunit *test)
{
	const struct evd_flags_case *c = test->param_value;
	struct dat_evd *evd = (void *)1UL;
	struct dat_evd_param param = {};
	bool has_cq = c->flags & (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	int cqs = fake_hca_live(FAKE_CQ);

	KUNIT_EXPECT_EQ(test, dat_evd_kcreate(to_kit(test)->ia, 5,
					      DAT_UPCALL_DISABLE, NULL,
					      c->flags, &evd), c->ret);
	if (c->ret) {
		KUNIT_EXPECT_PTR_EQ(test, evd, (struct dat_evd *)1UL);
		return;
	}
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_CQ) - cqs, (int)has_cq);
	KUNIT_ASSERT_EQ(test, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), 0);
	KUNIT_EXPECT_PTR_EQ(test, param.ia_handle, to_kit(test)->ia);
	KUNIT_EXPECT_EQ(test, (int)param.evd_flags, (int)c->flags);
	KUNIT_EXPECT_GE(test, param.evd_qlen, 5);
	KUNIT_EXPECT_EQ(test, (int)param.upcall_policy, DAT_UPCALL_DISABLE);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_CQ), cqs);
}

/* An empty queue leaves the event alone. */
static void kdapl_evd_dequeue_empty(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 4, DAT_EVD_SOFTWARE_FLAG |
					       DAT_EVD_DTO_FLAG);
	struct dat_event event = { .event_number = 77 };

	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, (int)event.event_number, 77);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue_batch(evd, &event, 1), 0);
	KUNIT_EXPECT_EQ(test, (int)event.event_number, 77);
}

static void kdapl_evd_software_fifo(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);
	struct dat_event event;
	unsigned long i;

	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, kit_post_se(evd, i), 0);
	for (i = 0; i < 8; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, (int)event.event_number,
				(int)DAT_SOFTWARE_EVENT);
		KUNIT_EXPECT_PTR_EQ(test, event.evd_handle, evd);
		KUNIT_EXPECT_EQ(test, kit_se_tag(&event), i);
	}
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
}

/* A full queue refuses a software event and calls it no overflow. */
static void kdapl_evd_software_full(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 3, DAT_EVD_SOFTWARE_FLAG);
	int i, qlen = kit_qlen(evd);
	struct dat_event event;

	for (i = 0; i < qlen; i++)
		KUNIT_ASSERT_EQ(test, kit_post_se(evd, i), 0);
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, 99), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, 99), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, evd->stats.overflow, 0ULL);
	KUNIT_EXPECT_EQ(test, evd->stats.refused, 2ULL);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(to_kit(test)->async, &event),
			-EAGAIN);

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, qlen), 0);
	for (i = 1; i <= qlen; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, kit_se_tag(&event), (unsigned long)i);
	}
}

/* Batches of every size up to more than there is. */
static void kdapl_evd_dequeue_batches(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 128, DAT_EVD_SOFTWARE_FLAG);
	struct dat_event *events;
	int max, i, n, next;

	events = kunit_kcalloc(test, 256, sizeof(*events), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, events);
	for (max = 1; max <= 129; max += 16) {
		for (i = 0; i < 128; i++)
			KUNIT_ASSERT_EQ(test, kit_post_se(evd, i), 0);
		next = 0;
		while ((n = dat_evd_dequeue_batch(evd, events, max)) > 0) {
			KUNIT_EXPECT_EQ(test, n, min(max, 128 - next));
			for (i = 0; i < n; i++)
				KUNIT_EXPECT_EQ(test, kit_se_tag(&events[i]),
						(unsigned long)next++);
		}
		KUNIT_EXPECT_EQ(test, n, 0);
		KUNIT_EXPECT_EQ(test, next, 128);
	}
}

/*
 * Four threads dequeue what one posts, software events or completions: every
 * event once, and each thread sees them in order.
 */
enum { EVD_READERS = 4, EVD_EVENTS = 4000 };

struct evd_reader {
	struct dat_evd *evd;
	u8 *seen;
	atomic_t *total;
	unsigned int batch;	/* 0: one at a time, without an array */
	bool disorder;
	bool twice;
	struct completion done;
};

static unsigned long evd_tag(const struct dat_event *event)
{
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		return event->event_data.dto_completion_event_data.user_cookie
		       .as_index;
	return kit_se_tag(event);
}

static int evd_reader(void *data)
{
	struct evd_reader *r = data;
	struct dat_event events[4];
	unsigned long tag, last = 0;
	int i, n;

	while (atomic_read(r->total) < EVD_EVENTS && !kthread_should_stop()) {
		if (r->batch)
			n = dat_evd_dequeue_batch(r->evd, events, r->batch);
		else
			n = !dat_evd_dequeue(r->evd, events);
		for (i = 0; i < n; i++) {
			tag = evd_tag(&events[i]);
			r->disorder |= tag <= last;
			last = tag;
			r->twice |= r->seen[tag - 1]++;
		}
		atomic_add(n, r->total);
		if (!n)
			cond_resched();
	}
	kthread_complete_and_exit(&r->done, 0);
}

/* One event, with a completion of @source if there is one. */
static bool evd_feed(struct dat_evd *evd, struct kit_source *source,
		     unsigned long tag)
{
	if (!source)
		return !kit_post_se(evd, tag);
	if (kit_post_recv(source->ep, tag))
		return false;
	kit_source_complete(source);
	return true;
}

static void evd_four_threads(struct kunit *test, struct dat_evd *evd,
			     struct kit_source *source)
{
	struct evd_reader *readers;
	struct task_struct *task;
	atomic_t total = ATOMIC_INIT(0);
	unsigned long tag = 1, end = jiffies + KIT_PATIENCE;
	bool stopped;
	u8 *seen;
	int i;

	seen = kunit_kzalloc(test, EVD_EVENTS, GFP_KERNEL);
	readers = kunit_kcalloc(test, EVD_READERS, sizeof(*readers),
				GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	KUNIT_ASSERT_NOT_NULL(test, readers);

	for (i = 0; i < EVD_READERS; i++) {
		readers[i].evd = evd;
		readers[i].seen = seen;
		readers[i].total = &total;
		readers[i].batch = i;
		init_completion(&readers[i].done);
		task = kthread_run(evd_reader, &readers[i], "reader/%d", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	}
	while (tag <= EVD_EVENTS && time_before(jiffies, end)) {
		if (evd_feed(evd, source, tag))
			tag++;
		else
			usleep_range(50, 100);
	}
	for (i = 0; i < EVD_READERS; i++) {
		stopped = wait_for_completion_timeout(&readers[i].done,
						      KIT_PATIENCE);
		KUNIT_ASSERT_TRUE(test, stopped);
		KUNIT_EXPECT_FALSE(test, readers[i].disorder);
		KUNIT_EXPECT_FALSE(test, readers[i].twice);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&total), (int)EVD_EVENTS);
	KUNIT_EXPECT_NULL(test, memchr(seen, 0, EVD_EVENTS));
}

static void kdapl_evd_four_threads(struct kunit *test)
{
	evd_four_threads(test, kit_evd(test, 64, DAT_EVD_SOFTWARE_FLAG), NULL);
}

/* They poll the CQ, too, each for itself. */
static void kdapl_evd_four_threads_dto(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct kit_source source;

	kit_source(test, &source, evd, 64);
	evd_four_threads(test, evd, &source);
	KUNIT_EXPECT_EQ(test, source.completed, (unsigned int)EVD_EVENTS);
}

/* Growing and shrinking keeps what is queued, in order, wherever it starts. */
static void kdapl_evd_resize_keeps(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);
	struct dat_event event;
	unsigned long i, start;

	for (start = 0; start < 8; start++) {
		for (i = 0; i < 6; i++)
			KUNIT_ASSERT_EQ(test, kit_post_se(evd, i), 0);
		KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 32), 0);
		KUNIT_EXPECT_GE(test, kit_qlen(evd), 32);
		KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 2), -EBUSY);
		KUNIT_EXPECT_GE(test, kit_qlen(evd), 32);
		KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 8), 0);
		KUNIT_EXPECT_EQ(test, kit_qlen(evd), 8);
		for (i = 0; i < 6; i++) {
			KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
			KUNIT_EXPECT_EQ(test, kit_se_tag(&event), i);
		}
		/* The next round starts one slot further. */
		KUNIT_ASSERT_EQ(test, kit_post_se(evd, 0), 0);
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
	}
}

static void kdapl_evd_resize_full(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);
	int i;

	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, kit_post_se(evd, i), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 7), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 4), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 1 << 20), -ENOMEM);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 8U);
}

/* Beyond the CQ's size: a new CQ while no EP uses it, else refused. */
static void kdapl_evd_resize_cq(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	unsigned int size = evd->cq->cqe;
	struct kit_source source;

	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 64), 0);
	KUNIT_EXPECT_GT(test, (unsigned int)evd->cq->cqe, size);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_CQ), 1);

	kit_source(test, &source, evd, 8);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 1024), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, kit_qlen(evd), 64);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 4), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 8), 0);
	kit_source_post(test, &source, 8);
	while (source.completed < 8)
		kit_source_complete(&source);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 8U);
}

/* An armed EVD is armed on its new CQ too. */
static void kdapl_evd_resize_armed(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd_up(test, 16, DAT_EVD_DTO_FLAG,
					 DAT_UPCALL_SINGLE_INSTANCE, up);
	struct kit_source source;

	KUNIT_ASSERT_EQ(test, dat_evd_resize(evd, 256), 0);
	kit_source(test, &source, evd, 4);
	kit_source_post(test, &source, 1);
	kit_source_complete(&source);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
}

static const struct evd_attr_case {
	const char *name;
	enum dat_evd_attr_mask mask;
	struct dat_evd_attr attr;
	int ret;
} evd_attr_cases[] = {
	{ "nothing", 0, {}, 0 },
	{ "vector 3", DAT_EVD_ATTR_COMP_VECTOR, { .comp_vector = 3 }, 0 },
	{ "vector 4 of 4", DAT_EVD_ATTR_COMP_VECTOR, { .comp_vector = 4 },
	  -EINVAL },
	{ "no node", DAT_EVD_ATTR_NUMA_NODE, { .numa_node = NUMA_NO_NODE }, 0 },
	{ "node 0", DAT_EVD_ATTR_NUMA_NODE, { .numa_node = 0 }, 0 },
	{ "node 999", DAT_EVD_ATTR_NUMA_NODE, { .numa_node = 999 }, -EINVAL },
	{ "node -2", DAT_EVD_ATTR_NUMA_NODE, { .numa_node = -2 }, -EINVAL },
	{ "budget 0", DAT_EVD_ATTR_BUDGET, { .budget = 0 }, -EINVAL },
	{ "budget 1", DAT_EVD_ATTR_BUDGET, { .budget = 1 }, 0 },
	{ "budget 64", DAT_EVD_ATTR_BUDGET, { .budget = 64 }, 0 },
	{ "budget 65", DAT_EVD_ATTR_BUDGET, { .budget = 65 }, -EINVAL },
	/* The fake, like rxe, has no modify_cq. */
	{ "moderation", DAT_EVD_ATTR_MODERATION, { .mod_count = 4 },
	  -EOPNOTSUPP },
	{ "unknown bit", 0x1000, {}, -EINVAL },
};

static void evd_attr_desc(const struct evd_attr_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(evd_attr, evd_attr_cases, evd_attr_desc);

static void kdapl_evd_set_attr(struct kunit *test)
{
	const struct evd_attr_case *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);

	KUNIT_EXPECT_EQ(test, dat_evd_set_attr(evd, c->mask, &c->attr), c->ret);
	if (!c->ret && c->mask & DAT_EVD_ATTR_BUDGET)
		KUNIT_EXPECT_EQ(test, evd->budget, c->attr.budget);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_CQ), 1);
}

/* Too late for settings: after an event, a feeder, or an enabled upcall. */
static void kdapl_evd_set_attr_used(struct kunit *test)
{
	const struct dat_evd_attr attr = { .budget = 3 };
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct dat_evd *se = kit_evd(test, 16, DAT_EVD_SOFTWARE_FLAG);
	struct kit_source source;

	kit_source(test, &source, evd, 4);
	KUNIT_EXPECT_EQ(test, dat_evd_set_attr(evd, DAT_EVD_ATTR_BUDGET, &attr),
			-EBUSY);
	KUNIT_ASSERT_EQ(test, kit_post_se(se, 1), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_set_attr(se, DAT_EVD_ATTR_BUDGET, &attr),
			-EBUSY);
	se = kit_evd(test, 16, DAT_EVD_SOFTWARE_FLAG);
	KUNIT_EXPECT_EQ(test, dat_evd_set_attr(se, DAT_EVD_ATTR_COMP_VECTOR,
					       &attr), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dat_evd_set_attr(se, DAT_EVD_ATTR_BUDGET, &attr),
			0);
	KUNIT_EXPECT_EQ(test, se->budget, 3U);
}

/* Vectors are spread when nobody asks for one. */
static void kdapl_evd_vectors_spread(struct kunit *test)
{
	unsigned int vectors = fake_hca_ibdev()->num_comp_vectors;
	unsigned long seen = 0;
	unsigned int i;

	for (i = 0; i < vectors; i++)
		seen |= BIT(kit_evd(test, 4, DAT_EVD_DTO_FLAG)->cq->comp_vector);
	KUNIT_EXPECT_EQ(test, seen, BIT(vectors) - 1);
}

static void kdapl_evd_free_busy(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG |
						DAT_EVD_SOFTWARE_FLAG);
	struct kit_source source;

	kit_source(test, &source, evd, 4);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), -EBUSY);
	/* Refused means unharmed. */
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, 1), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(source.ep), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_CQ), 0);
}

static void kdapl_evd_context_and_type(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 4, DAT_EVD_SOFTWARE_FLAG);
	union dat_context context = { .as_64 = 1 };
	enum dat_handle_type type = DAT_HANDLE_TYPE_CR;

	KUNIT_EXPECT_EQ(test, dat_get_handle_type(evd, &type), 0);
	KUNIT_EXPECT_EQ(test, (int)type, (int)DAT_HANDLE_TYPE_EVD);
	KUNIT_EXPECT_EQ(test, dat_get_consumer_context(evd, &context), 0);
	KUNIT_EXPECT_EQ(test, context.as_64, 0ULL);
	context.as_64 = 0x1234567890ULL;
	KUNIT_EXPECT_EQ(test, dat_set_consumer_context(evd, context), 0);
	context.as_64 = 0;
	KUNIT_EXPECT_EQ(test, dat_get_consumer_context(evd, &context), 0);
	KUNIT_EXPECT_EQ(test, context.as_64, 0x1234567890ULL);
}

static struct kunit_case kdapl_evd_cases[] = {
	KUNIT_CASE_PARAM(kdapl_evd_create_flags, evd_flags_gen_params),
	KUNIT_CASE(kdapl_evd_dequeue_empty),
	KUNIT_CASE(kdapl_evd_software_fifo),
	KUNIT_CASE(kdapl_evd_software_full),
	KUNIT_CASE(kdapl_evd_dequeue_batches),
	KUNIT_CASE(kdapl_evd_four_threads),
	KUNIT_CASE(kdapl_evd_four_threads_dto),
	KUNIT_CASE(kdapl_evd_resize_keeps),
	KUNIT_CASE(kdapl_evd_resize_full),
	KUNIT_CASE(kdapl_evd_resize_cq),
	KUNIT_CASE(kdapl_evd_resize_armed),
	KUNIT_CASE_PARAM(kdapl_evd_set_attr, evd_attr_gen_params),
	KUNIT_CASE(kdapl_evd_set_attr_used),
	KUNIT_CASE(kdapl_evd_vectors_spread),
	KUNIT_CASE(kdapl_evd_free_busy),
	KUNIT_CASE(kdapl_evd_context_and_type),
	{}
};

static struct kunit_suite kdapl_evd_suite = {
	.name = "kdapl_evd",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_evd_cases,
};

kunit_test_suite(kdapl_evd_suite);

MODULE_DESCRIPTION("Suite: event dispatchers");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
