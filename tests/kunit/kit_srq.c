// SPDX-License-Identifier: GPL-2.0
/* What the suites of shared receive queues need; see kit_srq.h. */
#include <linux/module.h>

#include "kit_srq.h"

static struct dat_srq *srq_new(struct kunit *test, int depth)
{
	struct dat_srq_attr attr = { .max_recv_dtos = depth, .max_recv_iov = 1 };
	struct kit *kit = to_kit(test);
	struct dat_srq *srq = NULL;

	KUNIT_ASSERT_EQ(test, dat_srq_create(kit->ia, kit->pz, &attr, &srq), 0);
	KUNIT_ASSERT_NOT_NULL(test, srq);
	return srq;
}

struct srq_kit *srq_kit(struct kunit *test)
{
	struct srq_kit *sk = kunit_kzalloc(test, sizeof(*sk), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sk);
	sk->test = test;
	kit_pair_listen(test, &sk->pair);
	sk->send_evd = kit_evd(test, 256, DAT_EVD_DTO_FLAG);
	sk->srq = srq_new(test, SRQ_DEPTH);
	return sk;
}
EXPORT_SYMBOL_GPL(srq_kit);

int srq_ep(struct srq_kit *sk, struct dat_evd *evd, int hard,
	   struct dat_ep **ep)
{
	struct dat_ep_attr attr = {
		.max_message_size = 4096,
		.max_rdma_size = 4096,
		.max_recv_dtos = hard,
		.max_request_dtos = 4,
		.max_request_iov = 1,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
	struct kit *kit = to_kit(sk->test);

	return dat_ep_create_with_srq(kit->ia, kit->pz, evd, sk->send_evd,
				      sk->pair.conn_evd, sk->srq, &attr, ep);
}
EXPORT_SYMBOL_GPL(srq_ep);

struct dat_ep *srq_connect(struct srq_kit *sk, struct dat_evd *evd)
{
	struct dat_ep *ep = NULL;

	KUNIT_ASSERT_EQ(sk->test,
			srq_ep(sk, evd, DAT_WATERMARK_INFINITE, &ep), 0);
	kit_pair_connect(sk->test, &sk->pair,
			 kit_ep(sk->test, NULL, sk->send_evd,
				sk->pair.conn_evd, 4), ep);
	return ep;
}
EXPORT_SYMBOL_GPL(srq_connect);

int srq_post(struct dat_srq *srq, unsigned long cookie)
{
	union dat_context context = { .as_index = cookie };

	return dat_srq_post_recv(srq, 0, NULL, context);
}
EXPORT_SYMBOL_GPL(srq_post);

void srq_fill(struct srq_kit *sk, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(sk->test, srq_post(sk->srq, i), 0);
}
EXPORT_SYMBOL_GPL(srq_fill);

void srq_expect(struct kunit *test, struct dat_srq *srq, int available,
		int outstanding)
{
	struct dat_srq_param param = {};

	KUNIT_EXPECT_EQ(test, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param), 0);
	KUNIT_EXPECT_EQ(test, param.available_dto_count, available);
	KUNIT_EXPECT_EQ(test, param.outstanding_dto_count, outstanding);
}
EXPORT_SYMBOL_GPL(srq_expect);

void srq_receive(struct kunit *test, struct dat_ep *ep, struct dat_evd *evd,
		 unsigned long cookie)
{
	struct dat_dto_completion_event_data *dto;
	struct dat_event event;

	KUNIT_ASSERT_EQ(test, fake_qp_receive(kit_qp(ep), 17, 0), 1U);
	KUNIT_ASSERT_EQ(test, dat_evd_dequeue(evd, &event), 0);
	dto = &event.event_data.dto_completion_event_data;
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, ep);
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_index, cookie);
	KUNIT_EXPECT_EQ(test, (int)dto->status, (int)DAT_DTO_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)dto->operation, (int)DAT_DTO_RECEIVE);
	KUNIT_EXPECT_EQ(test, dto->transfered_length, 17U);
}
EXPORT_SYMBOL_GPL(srq_receive);

void srq_expect_async(struct kunit *test, void *handle, int reason)
{
	struct dat_event event;

	event = KIT_EXPECT_EVENT(test, to_kit(test)->async,
				 DAT_ASYNC_ERROR_EP_BROKEN);
	KUNIT_EXPECT_PTR_EQ(test,
			    event.event_data.asynch_error_event_data.dat_handle,
			    handle);
	KUNIT_EXPECT_EQ(test, event.event_data.asynch_error_event_data.reason,
			reason);
}
EXPORT_SYMBOL_GPL(srq_expect_async);

void srq_expect_no_async(struct kunit *test)
{
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, kit_drain(to_kit(test)->async), 0U);
}
EXPORT_SYMBOL_GPL(srq_expect_no_async);
