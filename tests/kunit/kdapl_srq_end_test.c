// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues when something ends: EPs, QPs, the device. */
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/ia.h"
#include "../../drivers/kdapl/srq.h"
#include "kit_srq.h"

/* The end of @ep; its peer's may come before. */
static void end_expect(struct kunit *test, struct srq_kit *sk,
		       struct dat_ep *ep, enum dat_event_number number)
{
	struct dat_event event;

	do {
		event = kit_next(sk->pair.conn_evd);
	} while (event.event_number &&
		 event.event_data.connect_event_data.ep_handle != ep);
	KUNIT_EXPECT_EQ(test, (int)event.event_number, (int)number);
}

/* Buffers held by one EP: an alarm, then the end. */
static void kdapl_srq_end_high_watermarks(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep *ep;
	int n = -1;

	ep = srq_connect(sk, evd);
	srq_fill(sk, SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, dat_ep_set_watermark(ep, 1, 3), 0);
	fake_qp_receive(kit_qp(ep), 1, 0);
	kdapl_cq_drain(evd);
	srq_expect_no_async(test);
	fake_qp_receive(kit_qp(ep), 1, 0);
	kdapl_cq_drain(evd);
	srq_expect_async(test, ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	fake_qp_receive(kit_qp(ep), 1, 0);
	kdapl_cq_drain(evd);
	srq_expect_no_async(test);
	KUNIT_EXPECT_EQ(test, dat_ep_recv_query(ep, &n, NULL), 0);
	KUNIT_EXPECT_EQ(test, n, 3);
	/* Above it when set: at once. */
	KUNIT_EXPECT_EQ(test, dat_ep_set_watermark(ep, 2, 3), 0);
	srq_expect_async(test, ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_CONNECTED);

	fake_qp_receive(kit_qp(ep), 1, 0);
	kdapl_cq_drain(evd);
	end_expect(test, sk, ep, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), (unsigned int)SRQ_DEPTH);
}

/*
 * The end of one EP: what had come for it is reported first, the buffers that
 * are left serve the other, and it can come back.
 */
static void kdapl_srq_end_close(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep *a, *b, *client;

	a = srq_connect(sk, evd);
	client = sk->pair.client;
	b = srq_connect(sk, evd);
	srq_fill(sk, SRQ_DEPTH);
	fake_qp_complete(kit_qp(a), false, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(client, 0), 0);
	end_expect(test, sk, a, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* They were in the ring before the end was told, and nothing follows. */
	KUNIT_EXPECT_NULL(test, kit_qp(a));
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 2U);
	srq_expect(test, sk->srq, 2, 2);
	srq_receive(test, b, evd, 2);

	KUNIT_ASSERT_EQ(test, dat_ep_reset(a), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_free(client), 0);
	kit_drain(sk->pair.conn_evd);
	kit_pair_connect(test, &sk->pair,
			 kit_ep(test, NULL, sk->send_evd, sk->pair.conn_evd, 4),
			 a);
	srq_receive(test, a, evd, 3);
}

/*
 * Two EPs share the slots that were reserved for the SRQ. What is forgotten of one
 * that was freed holds none of them: the buffers may be posted again at once.
 */
static void kdapl_srq_end_freed_slots(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, SRQ_DEPTH, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep *a, *b;

	b = srq_connect(sk, evd);
	a = srq_connect(sk, evd);
	srq_fill(sk, SRQ_DEPTH);
	fake_qp_complete(kit_qp(b), false, 1, IB_WC_SUCCESS);
	fake_qp_complete(kit_qp(a), false, SRQ_DEPTH - 1, IB_WC_SUCCESS);
	kdapl_cq_drain(evd);
	KUNIT_EXPECT_EQ(test, evd->live, (u32)SRQ_DEPTH);

	KUNIT_ASSERT_EQ(test, dat_ep_free(a), 0);
	srq_fill(sk, SRQ_DEPTH - 1);
	fake_qp_complete(kit_qp(b), false, SRQ_DEPTH - 1, IB_WC_SUCCESS);
	kdapl_cq_drain(evd);
	KUNIT_EXPECT_EQ(test, evd->stats.overflow, 0ULL);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), (unsigned int)SRQ_DEPTH);
}

/* The next event is of @ep and @len, with that cookie; @imm: and immediate data. */
static void end_receive(struct kunit *test, struct dat_evd *evd,
			struct dat_ep *ep, unsigned long cookie, u32 len,
			u32 imm)
{
	struct dat_dto_completion_event_data *dto;
	struct dat_ib_extension_event_data *ext;
	struct dat_event event;

	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
	dto = &event.event_data.dto_completion_event_data;
	ext = (void *)event.event_extension_data;
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, ep);
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_index, cookie);
	KUNIT_EXPECT_EQ(test, dto->transfered_length, len);
	KUNIT_EXPECT_EQ(test, (int)event.event_number,
			(int)(imm ? DAT_IB_DTO_EVENT :
				    DAT_DTO_COMPLETION_EVENT));
	if (imm)
		KUNIT_EXPECT_EQ(test, ext->val.immed.data, imm);
}

static int end_enable(struct dat_evd *evd, struct kit_upcall *up,
		      enum dat_upcall_flag flag)
{
	return dat_evd_modify_upcall(evd, DAT_UPCALL_NOTIFY, &up->object, flag);
}

/* What lies between those of a freed EP stays as it was, and is told of. */
static void kdapl_srq_end_freed_between(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, SRQ_DEPTH, DAT_EVD_DTO_FLAG);
	struct kit_upcall *up = kit_upcall(test);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep *a, *b;

	/* The entries lie across the end of the ring, and of its indices. */
	evd->head = U32_MAX - 1;
	evd->tail = evd->head;
	b = srq_connect(sk, evd);
	a = srq_connect(sk, evd);
	srq_fill(sk, SRQ_DEPTH);
	fake_qp_receive(kit_qp(a), 10, 0);
	fake_qp_receive_imm(kit_qp(b), 11, 0x1234, false);
	fake_qp_receive(kit_qp(a), 12, 0);
	fake_qp_receive(kit_qp(b), 13, 0);
	kdapl_cq_drain(evd);

	KUNIT_ASSERT_EQ(test, dat_ep_free(a), 0);
	srq_expect(test, sk->srq, 0, 2);
	KUNIT_EXPECT_EQ(test, evd->live, 2U);
	KUNIT_EXPECT_EQ(test, evd->notifying, 2U);
	KUNIT_EXPECT_EQ(test, end_enable(evd, up, DAT_UPCALL_INVOC_NEW),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, end_enable(evd, up, DAT_UPCALL_INVOC_ANY), 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_TRUE(test, up->more);

	srq_fill(sk, 1);
	fake_qp_receive(kit_qp(b), 14, 0);
	end_receive(test, evd, b, 1, 11, 0x1234);
	end_receive(test, evd, b, 3, 13, 0);
	end_receive(test, evd, b, 0, 14, 0);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 0U);
	KUNIT_EXPECT_EQ(test, evd->notifying, 0U);
	srq_expect(test, sk->srq, 0, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
}

/* Forgotten ones alone stop no enable and make no upcall; the next one does. */
static void kdapl_srq_end_freed_all(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, SRQ_DEPTH, DAT_EVD_DTO_FLAG);
	struct kit_upcall *up = kit_upcall(test);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep *a, *b;

	b = srq_connect(sk, evd);
	a = srq_connect(sk, evd);
	srq_fill(sk, SRQ_DEPTH);
	fake_qp_complete(kit_qp(a), false, SRQ_DEPTH - 1, IB_WC_SUCCESS);
	kdapl_cq_drain(evd);
	KUNIT_ASSERT_EQ(test, dat_ep_free(a), 0);
	KUNIT_EXPECT_EQ(test, evd->live, 0U);
	KUNIT_EXPECT_EQ(test, end_enable(evd, up, DAT_UPCALL_INVOC_ANY), 0);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);

	fake_qp_receive(kit_qp(b), 14, 0);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_FALSE(test, up->more);
	end_receive(test, evd, b, SRQ_DEPTH - 1, 14, 0);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 0U);
}

/* What died with a QP comes back when the SRQ is freed. */
static void kdapl_srq_end_lost_buffers(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct kit *kit = to_kit(test);
	struct dat_ep *ep;

	ep = srq_connect(sk, evd);
	srq_fill(sk, SRQ_DEPTH);
	KUNIT_EXPECT_TRUE(test, fake_srq_lose(sk->srq->srq));
	fake_qp_complete(kit_qp(ep), false, SRQ_DEPTH - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep, 0), 0);
	end_expect(test, sk, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), (unsigned int)SRQ_DEPTH - 1);
	/* Its credit is gone until then: nobody knows that it will not come. */
	srq_expect(test, sk->srq, 1, 1);
	srq_fill(sk, SRQ_DEPTH - 1);
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 9), -ENOSPC);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&kit->ia->srq_reclaimed), 0LL);
	KUNIT_EXPECT_EQ(test, dat_srq_free(sk->srq), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&kit->ia->srq_reclaimed),
			(s64)SRQ_DEPTH);
}

/* Failures of a buffer, of the provider's counting, and of the whole SRQ. */
static void kdapl_srq_end_errors(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct dat_dto_completion_event_data *dto;
	struct srq_kit *sk = srq_kit(test);
	struct dat_srq_param param = {};
	struct dat_event event;
	struct dat_ep *ep;
	struct ib_wc wc = {};

	ep = srq_connect(sk, evd);
	srq_fill(sk, 1);
	wc.wr_id = (uintptr_t)&sk->srq->chunks->wr[0].wr;
	wc.qp = kit_qp(ep);
	KUNIT_EXPECT_EQ(test, fake_qp_complete(kit_qp(ep), false, 1,
					       IB_WC_LOC_LEN_ERR), 1U);
	event = KIT_EXPECT_EVENT(test, evd, DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, ep);
	KUNIT_EXPECT_EQ(test, (int)dto->status, (int)DAT_DTO_ERR_LOCAL_LENGTH);
	KUNIT_EXPECT_EQ(test, (int)dto->operation, (int)DAT_DTO_RECEIVE);
	end_expect(test, sk, ep, DAT_CONNECTION_EVENT_BROKEN);

	/* The same once more: no event, a report. */
	KUNIT_EXPECT_TRUE(test, fake_cq_push(kit_cq(evd), &wc));
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 0U);
	KIT_EXPECT_EVENT(test, to_kit(test)->async,
			 DAT_ASYNC_ERROR_EVD_OVERFLOW);
	srq_expect(test, sk->srq, 0, 0);

	fake_srq_event(sk->srq->srq, IB_EVENT_SRQ_ERR);
	fake_srq_event(sk->srq->srq, IB_EVENT_SRQ_ERR);
	srq_expect_async(test, sk->srq, DAT_SRQ_TRANSFER_TO_ERROR);
	srq_expect_no_async(test);
	KUNIT_EXPECT_EQ(test, dat_srq_query(sk->srq, DAT_SRQ_FIELD_SRQ_STATE,
					    &param), 0);
	KUNIT_EXPECT_EQ(test, (int)param.srq_state, (int)DAT_SRQ_STATE_ERROR);
}

/* The device goes: EPs end, the SRQ is an orphan, everything can be freed. */
static void kdapl_srq_end_removal(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct srq_kit *sk = srq_kit(test);
	struct dat_ep *ep;

	ep = srq_connect(sk, evd);
	srq_fill(sk, SRQ_DEPTH);
	fake_qp_complete(kit_qp(ep), false, 1, IB_WC_SUCCESS);
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, fake_hca_live_total(), 0);
	end_expect(test, sk, ep, DAT_CONNECTION_EVENT_BROKEN);
	KUNIT_EXPECT_EQ(test, srq_post(sk->srq, 1), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_srq_set_lw(sk->srq, 1), -ENODEV);
	KUNIT_EXPECT_EQ(test, dat_srq_resize(sk->srq, 64), -ENODEV);
	srq_expect(test, sk->srq, SRQ_DEPTH - 1, SRQ_DEPTH);
	KUNIT_EXPECT_EQ(test, kit_drain(evd), 1U);
	KUNIT_EXPECT_EQ(test, dat_srq_free(sk->srq), -EBUSY);
	KUNIT_EXPECT_EQ(test, dat_ep_free(ep), 0);
	KUNIT_EXPECT_EQ(test, dat_srq_free(sk->srq), 0);
	kit_close(to_kit(test));
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
	to_kit(test)->live = fake_hca_live_total();
}

static struct kunit_case kdapl_srq_end_cases[] = {
	KUNIT_CASE(kdapl_srq_end_high_watermarks),
	KUNIT_CASE(kdapl_srq_end_close),
	KUNIT_CASE(kdapl_srq_end_freed_slots),
	KUNIT_CASE(kdapl_srq_end_freed_between),
	KUNIT_CASE(kdapl_srq_end_freed_all),
	KUNIT_CASE(kdapl_srq_end_lost_buffers),
	KUNIT_CASE(kdapl_srq_end_errors),
	KUNIT_CASE(kdapl_srq_end_removal),
	{}
};

static struct kunit_suite kdapl_srq_end_suite = {
	.name = "kdapl_srq_end",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_srq_end_cases,
};

kunit_test_suite(kdapl_srq_end_suite);

MODULE_DESCRIPTION("Suite: the ends of SRQs and of their EPs");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
