// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues, and the EPs that receive from them. */
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/ia.h"
#include "../../drivers/kdapl/srq.h"
#include "kit_srq.h"

static void kdapl_srq_args(struct kunit *test)
{
	struct dat_srq_attr attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	struct srq_kit *sk = srq_kit(test);
	struct kit *kit = to_kit(test);
	struct dat_lmr_triplet iov[2] = {};
	struct dat_ep *ep = NULL;
	struct dat_srq *srq = NULL;
	union dat_context cookie = {};
	struct dat_srq_param param;
	struct dat_evd *evd;

	KUNIT_EXPECT_EQ(test, dat_srq_create(NULL, kit->pz, &attr, &srq),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, NULL, &attr, &srq),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, NULL, &srq),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, &attr, NULL),
			-EINVAL);
	attr.low_watermark = 1;
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, &attr, &srq),
			-EINVAL);
	attr.low_watermark = 0;
	attr.max_recv_dtos = 0;
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, &attr, &srq),
			-EINVAL);
	attr.max_recv_dtos = 1025;
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, &attr, &srq),
			-EINVAL);
	attr.max_recv_dtos = 4;
	attr.max_recv_iov = 17;
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, &attr, &srq),
			-EINVAL);
	KUNIT_EXPECT_NULL(test, srq);

	KUNIT_EXPECT_EQ(test, dat_srq_query(NULL, 0, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_query(sk->srq, 0x100, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_query(sk->srq, 1, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(NULL, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, 1025), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, SRQ_DEPTH + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, srq_post(NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_post_recv(sk->srq, -1, iov, cookie),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_post_recv(sk->srq, 2, iov, cookie),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_post_recv(sk->srq, 1, NULL, cookie),
			-EINVAL);
	iov[0].segment_length = 1;
	iov[0].lmr_context = 0xbad00;
	KUNIT_EXPECT_EQ(test, dat_srq_post_recv(sk->srq, 1, iov, cookie),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_srq_free(NULL), -EINVAL);

	evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	KUNIT_EXPECT_EQ(test, srq_ep(sk, NULL, 1, &ep), -EINVAL);
	KUNIT_EXPECT_EQ(test, srq_ep(sk, evd, 0, &ep), -EINVAL);
	KUNIT_EXPECT_EQ(test, srq_ep(sk, evd, -2, &ep), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_create_with_srq(kit->ia, kit->pz, evd, evd,
						     NULL, sk->srq, NULL, &ep),
			-EINVAL);
	srq = sk->srq;
	sk->srq = NULL;
	KUNIT_EXPECT_EQ(test, srq_ep(sk, evd, 1, &ep), -EINVAL);
	sk->srq = srq;
	KUNIT_EXPECT_NULL(test, ep);

	KUNIT_EXPECT_EQ(test, dat_ep_recv_query(NULL, NULL, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_set_watermark(NULL, 1, 1), -EINVAL);
	ep = kit_ep(test, NULL, NULL, NULL, 0);
	KUNIT_EXPECT_EQ(test, dat_ep_set_watermark(ep, -2, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_set_watermark(ep, 1, 1), -EOPNOTSUPP);
	srq_expect(test, sk->srq, 0, 0);
}

/*
 * A device that refuses long lists is asked for short ones, once. Only when it
 * refuses these too does the call fail, and then nothing is left of it.
 */
static void kdapl_srq_device_refuses(struct kunit *test)
{
	struct dat_srq_attr attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct kit *kit = to_kit(test);
	struct dat_srq *srq = NULL;
	struct dat_ep *ep = NULL;
	int live = fake_hca_live_total();

	fake_hca_fail(FAKE_CREATE_SRQ, 1, 2, -EIO);
	KUNIT_EXPECT_EQ(test, dat_srq_create(kit->ia, kit->pz, &attr, &srq),
			-EIO);
	KUNIT_EXPECT_NULL(test, srq);
	KUNIT_EXPECT_EQ(test, fake_hca_live_total(), live);
	fake_hca_fail(FAKE_CREATE_SRQ, 1, 1, -EIO);
	KUNIT_ASSERT_EQ(test, dat_srq_create(kit->ia, kit->pz, &attr, &srq), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_free(srq), 0);

	fake_hca_fail(FAKE_CREATE_QP, 1, 2, -EIO);
	KUNIT_EXPECT_EQ(test, srq_ep(sk, evd, 1, &ep), -EIO);
	KUNIT_EXPECT_NULL(test, ep);
	KUNIT_EXPECT_EQ(test, evd->reserved, 0U);
	KUNIT_EXPECT_EQ(test, fake_hca_live_total(), live);
	fake_hca_fail(FAKE_CREATE_QP, 1, 1, -EIO);
	KUNIT_ASSERT_EQ(test, srq_ep(sk, evd, 1, &ep), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
}

/* Buffers go to whoever gets a message, and the event says to whom. */
static void kdapl_srq_shared(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep_param param = {};
	struct dat_ep *a, *b;
	int n = -1, span = -1;

	a = srq_connect(sk, evd);
	b = srq_connect(sk, evd);
	KUNIT_EXPECT_EQ(test, dat_ep_query(a, DAT_EP_FIELD_ALL, &param), 0);
	KUNIT_EXPECT_PTR_EQ(test, param.srq_handle, sk->srq);
	srq_fill(sk, SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, fake_srq_posted(sk->srq->srq),
			(unsigned int)SRQ_DEPTH);
	srq_receive(test, b, evd, 0);
	srq_receive(test, a, evd, 1);
	srq_receive(test, b, evd, 2);
	KUNIT_EXPECT_EQ(test, fake_qp_receive(kit_qp(a), 1, 0xabc), 1U);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 1U);
	KUNIT_EXPECT_EQ(test, dat_ep_recv_query(a, &n, &span), 0);
	KUNIT_EXPECT_EQ(test, n, 0);
	KUNIT_EXPECT_EQ(test, span, 0);

	/* The EPs have no receives of their own. */
	KUNIT_EXPECT_EQ(test, kit_post_recv(a, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_srq_free(sk->srq), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_ep_free(a), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_free(sk->srq), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_ep_free(b), 0);
	KUNIT_EXPECT_EQ(test, dat_pz_free(to_kit(test)->pz), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_srq_free(sk->srq), 0);
}

/* A buffer holds its credit until its event was dequeued. */
static void kdapl_srq_credits(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_event event;
	struct dat_ep *ep;
	int i;

	ep = srq_connect(sk, evd);
	fake_hca_fail(FAKE_POST_SRQ_RECV, 1, 3, -ENOBUFS);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, srq_post(sk->srq, i), -ENOBUFS);
	srq_fill(sk, SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 9), -ENOSPC);
	srq_expect(test, sk->srq, SRQ_DEPTH, SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, fake_qp_complete(kit_qp(ep), false, SRQ_DEPTH,
					       IB_WC_SUCCESS),
			(unsigned int)SRQ_DEPTH);
	/* Completed, but the ring still needs its slots. */
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 9), -ENOSPC);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), 0);
	srq_expect(test, sk->srq, 0, SRQ_DEPTH - 1);
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 9), 0);
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 9), -ENOSPC);
	/* The EP's end gives back what nobody will dequeue. */
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
	srq_expect(test, sk->srq, 1, 1);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 0U);
}

/* Once for each EVD, however many EPs use it; given back with the last. */
static void kdapl_srq_reservation(struct kunit *test)
{
	struct dat_evd *small = kit_evd(test, SRQ_DEPTH / 2, DAT_EVD_DTO_FLAG);
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct dat_evd *other = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep *a = NULL, *b, *c, *none = NULL;
	u32 cqes;

	KUNIT_EXPECT_EQ(test, srq_ep(sk, small, -1, &none), -ENOSPC);
	KUNIT_EXPECT_NULL(test, none);
	KUNIT_EXPECT_EQ(test, small->reserved, 0U);
	KUNIT_ASSERT_EQ(test, srq_ep(sk, evd, -1, &a), 0);
	KUNIT_EXPECT_EQ(test, evd->reserved, (u32)SRQ_DEPTH);
	cqes = evd->cq_reserved;
	KUNIT_EXPECT_GE(test, cqes, (u32)SRQ_DEPTH);
	KUNIT_ASSERT_EQ(test, srq_ep(sk, evd, -1, &b), 0);
	KUNIT_EXPECT_EQ(test, evd->reserved, (u32)SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, evd->cq_reserved, cqes);
	KUNIT_ASSERT_EQ(test, srq_ep(sk, other, -1, &c), 0);
	KUNIT_EXPECT_EQ(test, other->reserved, (u32)SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, dat_evd_free(other), -EBUSY);

	/* More buffers need more of both, or none. */
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, 8), 0);
	KUNIT_EXPECT_EQ(test, evd->reserved, 8U);
	KUNIT_EXPECT_EQ(test, other->reserved, 8U);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, 65), -ENOSPC);
	fake_hca_fail(FAKE_MODIFY_SRQ, 1, 1, -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, 16), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, evd->reserved, 8U);
	KUNIT_EXPECT_EQ(test, other->reserved, 8U);

	KUNIT_EXPECT_EQ(test, dat_ep_free(a), 0);
	KUNIT_EXPECT_EQ(test, evd->reserved, 8U);
	KUNIT_EXPECT_EQ(test, dat_ep_free(b), 0);
	KUNIT_EXPECT_EQ(test, evd->reserved, 0U);
	KUNIT_EXPECT_EQ(test, evd->cq_reserved, 0U);
	KUNIT_EXPECT_EQ(test, dat_ep_free(c), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(other), 0);
}

static void kdapl_srq_resize(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_srq_param param = {};
	struct dat_ep *ep;
	int i;

	ep = srq_connect(sk, evd);
	srq_fill(sk, SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, SRQ_DEPTH - 1), -EBUSY);
	/* The buffers that are posted stay, and more can follow. */
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, 2 * SRQ_DEPTH), 0);
	for (i = SRQ_DEPTH; i < 2 * SRQ_DEPTH; i++)
		KUNIT_EXPECT_EQ(test, srq_post(sk->srq, i), 0);
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 9), -ENOSPC);
	for (i = 0; i < 2 * SRQ_DEPTH; i++)
		srq_receive(test, ep, evd, i);
	/* A smaller one is what there is already. */
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 3), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, 3), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, SRQ_DEPTH), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_query(sk->srq, DAT_SRQ_FIELD_MAX_RECV_DTO,
					    &param), 0);
	KUNIT_EXPECT_EQ(test, param.max_recv_dtos, 2 * SRQ_DEPTH);
}

/* One event for each arming, whoever notices first. */
static void kdapl_srq_low_watermark(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep *ep;

	ep = srq_connect(sk, evd);

	/* Low already: at once, although the provider says nothing. */
	srq_fill(sk, 2);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 3), 0);
	srq_expect_async(test, sk->srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	KUNIT_EXPECT_EQ(test, fake_srq_limit(sk->srq->srq), 0U);
	srq_receive(test, ep, evd, 0);
	srq_expect_no_async(test);

	/* At the level is not below it. */
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 2), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 2), 0);
	srq_expect_no_async(test);
	srq_receive(test, ep, evd, 1);
	srq_expect_async(test, sk->srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	fake_srq_event(sk->srq->srq, IB_EVENT_SRQ_LIMIT_REACHED);
	srq_expect_no_async(test);

	/* Off again, and a refusal that changes nothing. */
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 3), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 2), 0);
	fake_hca_fail(FAKE_MODIFY_SRQ, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 4), -EIO);
	srq_expect_no_async(test);
	srq_receive(test, ep, evd, 2);
	srq_expect_async(test, sk->srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 1), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 0), 0);
	srq_receive(test, ep, evd, 3);
	srq_expect_no_async(test);

	/* An event that nobody has taken goes with the SRQ. */
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 1), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_free(sk->srq), 0);
	srq_expect_no_async(test);
}

static struct kunit_case kdapl_srq_cases[] = {
	KUNIT_CASE(kdapl_srq_args),
	KUNIT_CASE(kdapl_srq_device_refuses),
	KUNIT_CASE(kdapl_srq_shared),
	KUNIT_CASE(kdapl_srq_credits),
	KUNIT_CASE(kdapl_srq_reservation),
	KUNIT_CASE(kdapl_srq_resize),
	KUNIT_CASE(kdapl_srq_low_watermark),
	{}
};

static struct kunit_suite kdapl_srq_suite = {
	.name = "kdapl_srq",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_srq_cases,
};

kunit_test_suite(kdapl_srq_suite);

MODULE_DESCRIPTION("Suite: shared receive queues");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
