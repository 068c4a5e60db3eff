// SPDX-License-Identifier: GPL-2.0
/*
 * The pending queue: wrap-around, limits in triples, reservations, and what is
 * left of them when an owner goes away.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/queue.h"
#include "kit.h"

/* Lengths around powers of two; what is asked for always fits. */
static const int ring_lengths[] = { 1, 2, 3, 7, 8, 9, 63, 64, 65, 255, 256, 257 };

static void ring_desc(const int *length, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%d", *length);
}

KUNIT_ARRAY_PARAM(ring, ring_lengths, ring_desc);

static void kdapl_ring_limits(struct kunit *test)
{
	int i, length = *(const int *)test->param_value;
	struct dat_evd *evd = kit_evd(test, length, DAT_EVD_SOFTWARE_FLAG);
	int qlen = kit_qlen(evd);

	KUNIT_EXPECT_GE(test, qlen, length);
	for (i = 0; i < qlen; i++)
		KUNIT_ASSERT_EQ(test, kit_post_se(evd, i), 0);
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, i), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, evd->stats.high_water, (u32)qlen);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), (unsigned int)qlen);
	KUNIT_EXPECT_EQ(test, evd->live, 0U);
	KUNIT_EXPECT_EQ(test, evd->notifying, 0U);
	KUNIT_EXPECT_EQ(test, evd->unreserved, 0U);
}

/*
 * The ring keeps "in" entries in it while its head runs round three times, for
 * every number of them.
 */
static void kdapl_ring_wraps(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);
	int qlen = kit_qlen(evd), in, i;
	unsigned long put = 0, got = 0;
	struct dat_event event;

	for (in = 1; in <= qlen; in++) {
		for (i = 0; i < in; i++)
			KUNIT_ASSERT_EQ(test, kit_post_se(evd, put++), 0);
		for (i = 0; i < 3 * qlen; i++) {
			KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
			KUNIT_EXPECT_EQ(test, kit_se_tag(&event), got++);
			KUNIT_ASSERT_EQ(test, kit_post_se(evd, put++), 0);
		}
		for (i = 0; i < in; i++) {
			KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
			KUNIT_EXPECT_EQ(test, kit_se_tag(&event), got++);
		}
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
	}
}

/* The indices run freely; the ring works across their wrap, too. */
static void kdapl_ring_index_wraps(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_SOFTWARE_FLAG);
	struct dat_event event;
	unsigned long i;

	evd->head = U32_MAX - 3;
	evd->tail = evd->head;
	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, kit_post_se(evd, i), 0);
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, 8), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, dat_evd_resize(evd, 16), 0);
	for (i = 0; i < 8; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, kit_se_tag(&event), i);
	}
}

/* EPs reserve until the EVD is full; what is refused leaves no trace. */
static void kdapl_ring_reservation(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 32, DAT_EVD_DTO_FLAG |
						DAT_EVD_SOFTWARE_FLAG);
	struct kit *kit = to_kit(test);
	struct dat_ep_attr attr = {
		.max_message_size = 4096,
		.max_recv_dtos = 8,
		.max_recv_iov = 1,
	};
	struct dat_ep *ep[5] = {};
	int i, qps;

	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, dat_ep_create(kit->ia, kit->pz, evd, NULL,
						    NULL, &attr, &ep[i]), 0);
	KUNIT_EXPECT_EQ(test, evd->reserved, 32U);
	qps = fake_hca_live(FAKE_QP);
	KUNIT_EXPECT_EQ(test, dat_ep_create(kit->ia, kit->pz, evd, NULL, NULL,
					    &attr, &ep[4]), -ENOSPC);
	KUNIT_EXPECT_NULL(test, ep[4]);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_QP), qps);
	/* Nothing unreserved is left for a software event either. */
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, 1), -ENOBUFS);

	KUNIT_EXPECT_EQ(test, dat_ep_free(ep[0]), 0);
	KUNIT_EXPECT_EQ(test, evd->reserved, 24U);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, kit_post_se(evd, i), 0);
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, 8), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, dat_ep_create(kit->ia, kit->pz, evd, NULL, NULL,
					    &attr, &ep[4]), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 8U);
	KUNIT_EXPECT_EQ(test, dat_ep_create(kit->ia, kit->pz, evd, NULL, NULL,
					    &attr, &ep[4]), 0);
}

/* Events of a freed EP vanish; those around them stay, in order. */
static void kdapl_ring_purge(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 32, DAT_EVD_DTO_FLAG |
						DAT_EVD_SOFTWARE_FLAG);
	const struct dat_dto_completion_event_data *dto;
	struct kit_source a, b;
	struct dat_event event;
	unsigned long i;

	/* In the ring they lie across the wrap of its indices. */
	evd->head = U32_MAX - 8;
	evd->tail = evd->head;
	kit_source(test, &a, evd, 8);
	kit_source(test, &b, evd, 8);
	kit_source_post(test, &a, 6);
	kit_source_post(test, &b, 6);
	for (i = 0; i < 6; i++) {
		kit_source_complete(&a);
		kit_source_complete(&b);
		kdapl_cq_drain(evd);
		KUNIT_ASSERT_EQ(test, kit_post_se(evd, i), 0);
	}
	KUNIT_EXPECT_EQ(test, evd->live, 18U);
	KUNIT_EXPECT_EQ(test, dat_ep_free(a.ep), 0);
	KUNIT_EXPECT_EQ(test, evd->live, 12U);
	KUNIT_EXPECT_EQ(test, evd->notifying, 12U);
	KUNIT_EXPECT_EQ(test, evd->tail - evd->head, 12U);
	dto = &event.event_data.dto_completion_event_data;
	for (i = 0; i < 6; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, (int)event.event_number,
				(int)DAT_DTO_COMPLETION_EVENT);
		KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, b.ep);
		KUNIT_EXPECT_EQ(test, dto->user_cookie.as_index, i);
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, (int)event.event_number,
				(int)DAT_SOFTWARE_EVENT);
		KUNIT_EXPECT_EQ(test, kit_se_tag(&event), i);
	}
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, evd->live, 0U);
	KUNIT_EXPECT_EQ(test, evd->unreserved, 0U);
	KUNIT_EXPECT_EQ(test, evd->reserved, 8U);
}

/* The slots of what was forgotten, in the middle of a full ring, are free at once. */
static void kdapl_ring_purge_frees_slots(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_DTO_FLAG |
					       DAT_EVD_SOFTWARE_FLAG);
	struct kit_source source;
	struct dat_event event;
	unsigned long i;

	kit_source(test, &source, evd, 7);
	KUNIT_ASSERT_EQ(test, kit_post_se(evd, 0), 0);
	kit_source_post(test, &source, 7);
	for (i = 0; i < 7; i++)
		kit_source_complete(&source);
	KUNIT_EXPECT_EQ(test, dat_ep_free(source.ep), 0);
	for (i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, kit_post_se(evd, i), 0);
	KUNIT_EXPECT_EQ(test, kit_post_se(evd, i), -ENOBUFS);
	for (i = 0; i < 8; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, kit_se_tag(&event), i);
	}
	KUNIT_EXPECT_EQ(test, evd->stats.overflow, 0ULL);
}

static void ring_post(struct kunit *test, struct dat_evd *evd,
		      struct kdapl_queue *owner, int n)
{
	const struct dat_event event = {
		.event_number = DAT_DTO_COMPLETION_EVENT,
	};
	const struct kdapl_post post = {
		.kind = KDAPL_SLOT_DTO,
		.owner = owner,
	};

	while (n--)
		KUNIT_ASSERT_EQ(test, kdapl_evd_post(evd, &event, &post), 0);
}

/* The slots of an EP that goes are reserved until it gives them back, no longer. */
static void kdapl_ring_purge_then_reserve(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct kdapl_queue *going, *staying;

	going = kunit_kzalloc(test, sizeof(*going), GFP_KERNEL);
	staying = kunit_kzalloc(test, sizeof(*staying), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, going);
	KUNIT_ASSERT_NOT_NULL(test, staying);
	KUNIT_ASSERT_EQ(test, kdapl_evd_reserve(evd, 8, 0), 0);
	KUNIT_ASSERT_EQ(test, kdapl_evd_reserve(evd, 8, 0), 0);
	KUNIT_EXPECT_EQ(test, kdapl_evd_reserve(evd, 1, 0), -ENOSPC);
	ring_post(test, evd, staying, 1);
	ring_post(test, evd, going, 8);

	kdapl_evd_purge(evd, going);
	KUNIT_EXPECT_EQ(test, kdapl_evd_reserve(evd, 1, 0), -ENOSPC);
	kdapl_evd_unreserve(evd, 8, 0);
	KUNIT_EXPECT_EQ(test, kdapl_evd_reserve(evd, 8, 0), 0);
	KUNIT_EXPECT_EQ(test, kdapl_evd_reserve(evd, 1, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 1U);
	kdapl_evd_unreserve(evd, 16, 0);
}

/* A slot belongs to its request from the post until the event is dequeued. */
static void kdapl_ring_credits(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct kit_source source;
	struct dat_event event;
	int i;

	kit_source(test, &source, evd, 8);
	kit_source_post(test, &source, 8);
	KUNIT_EXPECT_EQ(test, kit_post_recv(source.ep, 99), -ENOSPC);
	for (i = 0; i < 8; i++)
		kit_source_complete(&source);
	/* Completed, but not dequeued. */
	KUNIT_EXPECT_EQ(test, kit_post_recv(source.ep, 99), -ENOSPC);
	for (i = 0; i < 20; i++) {
		KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, kit_post_recv(source.ep, i), 0);
		KUNIT_EXPECT_EQ(test, kit_post_recv(source.ep, 99), -ENOSPC);
		kit_source_complete(&source);
	}
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 8U);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_POST_RECV, NULL), 28U);
}

static struct kunit_case kdapl_ring_cases[] = {
	KUNIT_CASE_PARAM(kdapl_ring_limits, ring_gen_params),
	KUNIT_CASE(kdapl_ring_wraps),
	KUNIT_CASE(kdapl_ring_index_wraps),
	KUNIT_CASE(kdapl_ring_reservation),
	KUNIT_CASE(kdapl_ring_purge),
	KUNIT_CASE(kdapl_ring_purge_frees_slots),
	KUNIT_CASE(kdapl_ring_purge_then_reserve),
	KUNIT_CASE(kdapl_ring_credits),
	{}
};

static struct kunit_suite kdapl_ring_suite = {
	.name = "kdapl_ring",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_ring_cases,
};

kunit_test_suite(kdapl_ring_suite);

MODULE_DESCRIPTION("Suite: the pending queue and its reservations");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
