// SPDX-License-Identifier: GPL-2.0
/*
 * The short ways of posts and dequeues: that they end where they must. What they
 * do when all is well, the other suites see.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "kit.h"

enum { SHORT_BYTES = 256 };

static unsigned long short_next(struct kunit *test, struct dat_evd *evd)
{
	struct dat_event event = {};

	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), 0);
	return event.event_data.dto_completion_event_data.user_cookie.as_index;
}

static int short_enable(struct dat_evd *evd, struct kit_upcall *up)
{
	return dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY, &up->object,
				     DAT_UPCALL_INVOC_NEW);
}

/*
 * A dequeue polls more than it needs. What it leaves is in no ring, and yet an
 * enable finds it, and the order stays.
 */
static void kdapl_short_left_behind(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct dat_event events[2];
	struct kit_source source;
	int i;

	kit_source(test, &source, evd, 8);
	kit_source_post(test, &source, 8);
	for (i = 0; i < 6; i++)
		kit_source_complete(&source);
	KUNIT_EXPECT_EQ(test, short_next(test, evd), 0UL);
	KUNIT_EXPECT_EQ(test, evd->live, 0U);
	KUNIT_EXPECT_EQ(test, fake_cq_waiting(kit_cq(evd)), 0U);
	KUNIT_EXPECT_EQ(test, short_enable(evd, up), -EBUSY);
	KUNIT_EXPECT_EQ(test, short_next(test, evd), 1UL);
	/* Two more, behind those that wait: a batch takes the older ones. */
	kit_source_complete(&source);
	kit_source_complete(&source);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue_batch(evd, events, 2), 2);
	for (i = 4; i < 8; i++)
		KUNIT_EXPECT_EQ(test, short_next(test, evd), (unsigned long)i);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, events), -EAGAIN);
	KUNIT_EXPECT_EQ(test, short_enable(evd, up), 0);
	KUNIT_EXPECT_EQ(test, evd->stats.dequeued, 8ULL);
	KUNIT_EXPECT_EQ(test, evd->stats.events[DAT_EVD_STREAM_DTO], 8ULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
}

/*
 * The close of an EP waits for what was fetched, although the consumer takes
 * nothing; the free forgets it.
 */
static void kdapl_short_close(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct dat_event event;
	struct kit_pair pair;
	int i;

	kit_pair(test, &pair, evd, evd, 4);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, kit_post_recv(pair.server, i), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_receive(kit_qp(pair.server), 0, 0), 1U);
	KUNIT_ASSERT_EQ(test, fake_qp_receive(kit_qp(pair.server), 0, 0), 1U);
	KUNIT_EXPECT_EQ(test, short_next(test, evd), 0UL);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(pair.server,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	/* Its own end, and that of its peer, which may be the first. */
	for (i = 0; i < 2; i++)
		KIT_EXPECT_EVENT(test, pair.conn_evd,
				 DAT_CONNECTION_EVENT_DISCONNECTED);
	/* A success, then those that were flushed. */
	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), 0);
		KUNIT_EXPECT_EQ(test, (int)event.event_data
				.dto_completion_event_data.user_cookie.as_index,
				i);
		KUNIT_EXPECT_EQ(test, (int)event.event_data
				.dto_completion_event_data.status,
				i > 1 ? (int)DAT_DTO_ERR_FLUSHED : 0);
	}
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
}

static struct dat_lmr *short_lmr(struct kunit *test, void *memory,
				 struct dat_pz *pz,
				 enum dat_mem_priv_flags priv, u32 *context)
{
	union dat_region_description region = { .for_va = memory };
	struct dat_lmr *lmr = NULL;
	u64 length, address;
	u32 rkey;

	KUNIT_ASSERT_EQ(test,
			dat_lmr_kcreate(to_kit(test)->ia, DAT_MEM_TYPE_VIRTUAL,
					region, SHORT_BYTES, pz, priv,
					DAT_VA_TYPE_VA,
					DAT_MEM_OPTIMIZE_DONT_CARE, &lmr,
					context, &rkey, &length, &address), 0);
	return lmr;
}

static int short_recv(struct dat_ep *ep, void *memory, u32 offset, u32 length,
		      u32 context)
{
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)memory + offset,
		.segment_length = length,
		.lmr_context = context,
	};

	return dat_ep_post_recv(ep, 1, &iov, (union dat_context){}, 0);
}

/* A post remembers the LMR of the one before it, and not for too long. */
static void kdapl_short_memory(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct dat_lmr *lmr, *other;
	u32 context, foreign, readonly;
	struct kit_pair pair;
	struct dat_pz *pz;
	struct dat_ep *ep;
	void *memory;

	memory = kunit_kzalloc(test, SHORT_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	kit_pair(test, &pair, evd, evd, 16);
	ep = pair.client;
	lmr = short_lmr(test, memory, to_kit(test)->pz,
			DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &context);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 0, SHORT_BYTES, context), 0);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 1, SHORT_BYTES - 1,
					 context), 0);
	/* Its ends. */
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 1, SHORT_BYTES, context),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, -1, 8, context), -EINVAL);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, SHORT_BYTES, 1, context),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, SHORT_BYTES - 1, ~0U,
					 context), -EINVAL);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, SHORT_BYTES, 0, context), 0);

	/* Others, just after it was used. */
	KUNIT_ASSERT_EQ(test, dat_pz_create(to_kit(test)->ia, &pz), 0);
	other = short_lmr(test, memory, pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			  &foreign);
	short_lmr(test, memory, to_kit(test)->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
		  &readonly);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 0, 8, context), 0);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 0, 8, foreign), -EPERM);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 0, 8, readonly), -EACCES);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 0, 8, 0), -EINVAL);

	/* The end of it. */
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 0, 8, context), 0);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
	KUNIT_EXPECT_EQ(test, short_recv(ep, memory, 0, 8, context), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_lmr_free(other), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(pz), 0);
}

/* A request that the provider completes twice makes one event. */
static void kdapl_short_twice(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct ib_wc wc = { .status = IB_WC_SUCCESS };
	struct dat_event event;
	struct kit_pair pair;
	struct fake_wr wr;

	kit_pair(test, &pair, evd, evd, 4);
	KUNIT_ASSERT_EQ(test, kit_post_recv(pair.server, 1), 0);
	KUNIT_ASSERT_EQ(test, kit_post_recv(pair.server, 2), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(kit_qp(pair.server), false, 0, &wr));
	KUNIT_ASSERT_EQ(test, fake_qp_receive(kit_qp(pair.server), 0, 0), 1U);
	KUNIT_EXPECT_EQ(test, short_next(test, evd), 1UL);
	wc.wr_id = wr.wr_id;
	fake_cq_push(kit_cq(evd), &wc);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, evd->stats.overflow, 1ULL);
	/* The other one is still to come. */
	KUNIT_ASSERT_EQ(test, fake_qp_receive(kit_qp(pair.server), 0, 0), 1U);
	KUNIT_EXPECT_EQ(test, short_next(test, evd), 2UL);
}

static int short_send(struct dat_ep *ep, void *memory, u32 context)
{
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)memory,
		.segment_length = 8,
		.lmr_context = context,
	};

	return dat_ep_post_send(ep, 1, &iov, (union dat_context){}, 0);
}

/*
 * Posts that the provider refuses between suppressed ones: it is not forgotten how
 * many of these wait for a proof, so the queue does not fill with them for good.
 */
static void kdapl_short_refused(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	void *memory = kunit_kzalloc(test, SHORT_BYTES, GFP_KERNEL);
	struct kit_pair pair;
	u32 context;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, memory);
	kit_pair(test, &pair, evd, evd, 8);
	short_lmr(test, memory, to_kit(test)->pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
		  &context);
	for (i = 0; i < 8; i++) {
		KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, i,
						    DAT_COMPLETION_SUPPRESS_FLAG),
				0);
		/* A full queue would not ask the provider. */
		if (i % 2 && i < 7) {
			fake_hca_fail(FAKE_POST_SEND, 1, 1, -ENOMEM);
			KUNIT_ASSERT_EQ(test, short_send(pair.client, memory,
							 context), -ENOMEM);
		}
	}
	KUNIT_EXPECT_EQ(test, short_send(pair.client, memory, context), -ENOSPC);
	fake_qp_complete(kit_qp(pair.client), true, 8, IB_WC_SUCCESS);
	kit_drain(evd);
	KUNIT_EXPECT_EQ(test, short_send(pair.client, memory, context), 0);
	fake_qp_complete(kit_qp(pair.client), true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 1U);
	KUNIT_EXPECT_EQ(test, pair.client->req.posted, pair.client->req.released);
}

/* What completes, though it was suppressed, behind the first of an upcall. */
struct short_more {
	const char *name;
	enum ib_wc_status status;
	bool failed;		/* a request in front of it has */
	bool more;
};

static const struct short_more short_mores[] = {
	{ "success", IB_WC_SUCCESS, false, false },
	{ "failure", IB_WC_REM_ACCESS_ERR, false, true },
	{ "flush", IB_WC_WR_FLUSH_ERR, false, true },
	{ "success behind a failure", IB_WC_SUCCESS, true, true },
};

static void short_more_desc(const struct short_more *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(short_more, short_mores, short_more_desc);

/* more_events tells the truth, also of what nobody has looked at. */
static void kdapl_short_more_events(struct kunit *test)
{
	const struct short_more *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct kit_source source;
	struct kit_pair pair;

	kit_pair(test, &pair, evd, evd, 8);
	kit_source(test, &source, evd, 8);
	kit_source_post(test, &source, 1);
	KUNIT_ASSERT_EQ(test, kit_post_send(pair.client, 1,
					    DAT_COMPLETION_SUPPRESS_FLAG), 0);
	/* By itself: a real one would have its EP closed, and the CQ drained. */
	WRITE_ONCE(pair.client->req_failed, c->failed);
	KUNIT_ASSERT_EQ(test, short_enable(evd, up), 0);

	/* A run finds both at once. */
	fake_script.fire = FAKE_FIRE_LATE;
	fake_script.signal_all = true;
	kit_source_complete(&source);
	KUNIT_ASSERT_EQ(test, fake_qp_complete(kit_qp(pair.client), true, 1,
					       c->status), 1U);
	fake_script.fire = FAKE_FIRE_NOW;
	fake_cq_late(kit_cq(evd));
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_EQ(test, up->more, c->more);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 1U + c->more);
}

static struct kunit_case kdapl_short_cases[] = {
	KUNIT_CASE(kdapl_short_left_behind),
	KUNIT_CASE(kdapl_short_close),
	KUNIT_CASE(kdapl_short_memory),
	KUNIT_CASE(kdapl_short_twice),
	KUNIT_CASE(kdapl_short_refused),
	KUNIT_CASE_PARAM(kdapl_short_more_events, short_more_gen_params),
	{}
};

static struct kunit_suite kdapl_short_suite = {
	.name = "kdapl_short",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_short_cases,
};

kunit_test_suite(kdapl_short_suite);

MODULE_DESCRIPTION("Suite: short ways");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
