// SPDX-License-Identifier: GPL-2.0
/* Data transfer: what is posted, what the device sees, what comes back. */
#include <linux/module.h>

#include "../../drivers/kdapl/evd.h"
#include "kit.h"

enum { DTO_BYTES = 8192 };

struct dto {
	struct dat_evd *recv;
	struct dat_evd *req;
	struct kit_pair pair;
	struct dat_lmr *lmr;
	u8 *memory;
	u32 lctx;
	u32 rctx;
};

static struct dat_lmr *dto_lmr(struct kunit *test, void *memory, u64 length,
			       struct dat_pz *pz, enum dat_mem_priv_flags priv,
			       u32 *lctx, u32 *rctx)
{
	union dat_region_description region = { .for_va = memory };
	struct dat_lmr *lmr = NULL;
	u64 len, addr;

	KUNIT_ASSERT_EQ(test,
			dat_lmr_kcreate(to_kit(test)->ia, DAT_MEM_TYPE_VIRTUAL,
					region, length, pz, priv,
					DAT_VA_TYPE_VA,
					DAT_MEM_OPTIMIZE_DONT_CARE, &lmr, lctx,
					rctx, &len, &addr), 0);
	KUNIT_EXPECT_LE(test, addr, (u64)(uintptr_t)memory);
	KUNIT_EXPECT_GE(test, addr + len, (u64)(uintptr_t)memory + length);
	return lmr;
}

static struct dto *dto_init(struct kunit *test, int depth)
{
	struct dto *d;

	d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, d);
	d->memory = kunit_kzalloc(test, DTO_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, d->memory);
	d->recv = kit_evd(test, 4 * depth, DAT_EVD_DTO_FLAG);
	d->req = kit_evd(test, 4 * depth, DAT_EVD_DTO_FLAG);
	kit_pair(test, &d->pair, d->recv, d->req, depth);
	d->lmr = dto_lmr(test, d->memory, DTO_BYTES, to_kit(test)->pz,
			 DAT_MEM_PRIV_LOCAL_READ_FLAG |
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &d->lctx, &d->rctx);
	KUNIT_EXPECT_EQ(test, d->rctx, 0U);
	return d;
}

static struct dat_lmr_triplet dto_seg(struct dto *d, u32 offset, u32 length)
{
	return (struct dat_lmr_triplet){
		.virtual_address = (u64)(uintptr_t)d->memory + offset,
		.segment_length = length,
		.lmr_context = d->lctx,
	};
}

static union dat_context dto_cookie(unsigned long value)
{
	return (union dat_context){ .as_index = value };
}

static void dto_expect(struct kunit *test, struct dat_evd *evd,
		       struct dat_ep *ep, enum dat_dtos op,
		       unsigned long cookie,
		       enum dat_dto_completion_status status, u32 length)
{
	struct dat_event event = kit_next(evd);
	struct dat_dto_completion_event_data *dto =
		&event.event_data.dto_completion_event_data;

	KUNIT_ASSERT_EQ(test, (int)event.event_number,
			(int)DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_PTR_EQ(test, event.evd_handle, evd);
	KUNIT_EXPECT_PTR_EQ(test, dto->ep_handle, ep);
	KUNIT_EXPECT_EQ(test, (int)dto->operation, (int)op);
	KUNIT_EXPECT_EQ(test, dto->user_cookie.as_index, cookie);
	KUNIT_EXPECT_EQ(test, (int)dto->status, (int)status);
	if (status == DAT_DTO_SUCCESS)
		KUNIT_EXPECT_EQ(test, dto->transfered_length, length);
}

/* A message in two segments arrives in two others. */
static void kdapl_dto_send_receive(struct kunit *test)
{
	struct dto *d = dto_init(test, 4);
	struct dat_lmr_triplet from[2] = { dto_seg(d, 100, 1000),
					   dto_seg(d, 3000, 500) };
	struct dat_lmr_triplet to[2] = { dto_seg(d, 4100, 700),
					 dto_seg(d, 6001, 900) };
	int i;

	for (i = 0; i < 4000; i++)
		d->memory[i] = i * 7;
	fake_script.complete = FAKE_INLINE;
	KUNIT_ASSERT_EQ(test, dat_ep_post_recv(d->pair.server, 2, to,
					       dto_cookie(11), 0), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_post_send(d->pair.client, 2, from,
					       dto_cookie(22), 0), 0);
	dto_expect(test, d->recv, d->pair.server, DAT_DTO_RECEIVE, 11,
		   DAT_DTO_SUCCESS, 1500);
	dto_expect(test, d->req, d->pair.client, DAT_DTO_SEND, 22,
		   DAT_DTO_SUCCESS, 1500);
	KUNIT_EXPECT_EQ(test, memcmp(d->memory + 4100, d->memory + 100, 700), 0);
	KUNIT_EXPECT_EQ(test, memcmp(d->memory + 6001, d->memory + 800, 300), 0);
	KUNIT_EXPECT_EQ(test, memcmp(d->memory + 6301, d->memory + 3000, 500),
			0);
	KUNIT_EXPECT_EQ(test, (int)d->memory[6801], 0);
}

/* An RDMA write and read as the device gets them, and their events. */
static void kdapl_dto_rdma(struct kunit *test)
{
	struct dto *d = dto_init(test, 4);
	struct dat_lmr_triplet seg = dto_seg(d, 64, 300);
	struct dat_rmr_triplet remote = { .virtual_address = 0xabcdef0012ULL,
					  .segment_length = 300,
					  .rmr_context = 0x77 };
	struct ib_qp *qp = kit_qp(d->pair.client);
	struct fake_wr wr;

	KUNIT_ASSERT_EQ(test,
			dat_ep_post_rdma_write(d->pair.client, 1, &seg,
					       dto_cookie(1), &remote, 0), 0);
	/* 100 bytes less than there is room for. */
	remote.segment_length = 200;
	KUNIT_ASSERT_EQ(test,
			dat_ep_post_rdma_read(d->pair.client, 1, &seg,
					      dto_cookie(2), &remote,
					      DAT_COMPLETION_BARRIER_FENCE_FLAG),
			0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, wr.rkey, 0x77U);
	KUNIT_EXPECT_EQ(test, wr.remote_addr, 0xabcdef0012ULL);
	KUNIT_EXPECT_EQ(test, wr.len, 300U);
	KUNIT_EXPECT_EQ(test, wr.sge[0].addr,
			(u64)(uintptr_t)d->memory + 64);
	KUNIT_EXPECT_FALSE(test, wr.flags & IB_SEND_FENCE);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(qp, true, 1, &wr));
	KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_RDMA_READ);
	KUNIT_EXPECT_EQ(test, wr.len, 200U);
	KUNIT_EXPECT_TRUE(test, wr.flags & IB_SEND_FENCE);
	KUNIT_EXPECT_EQ(test, fake_qp_complete(qp, true, 2, IB_WC_SUCCESS), 2U);
	dto_expect(test, d->req, d->pair.client, DAT_DTO_RDMA_WRITE, 1,
		   DAT_DTO_SUCCESS, 300);
	dto_expect(test, d->req, d->pair.client, DAT_DTO_RDMA_READ, 2,
		   DAT_DTO_SUCCESS, 200);
}

static void kdapl_dto_solicited(struct kunit *test)
{
	struct dto *d = dto_init(test, 4);
	struct fake_wr wr;

	KUNIT_ASSERT_EQ(test,
			kit_post_send(d->pair.client, 1,
				      DAT_COMPLETION_SOLICITED_WAIT_FLAG), 0);
	KUNIT_ASSERT_EQ(test, kit_post_send(d->pair.client, 2, 0), 0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(kit_qp(d->pair.client), true, 0,
					     &wr));
	KUNIT_EXPECT_TRUE(test, wr.flags & IB_SEND_SOLICITED);
	KUNIT_EXPECT_TRUE(test, wr.flags & IB_SEND_SIGNALED);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(kit_qp(d->pair.client), true, 1,
					     &wr));
	KUNIT_EXPECT_FALSE(test, wr.flags & IB_SEND_SOLICITED);
}

/* What a peer invalidated is in the receive's event. */
static void kdapl_dto_receive_with_invalidate(struct kunit *test)
{
	struct dto *d = dto_init(test, 4);
	struct dat_event event;

	KUNIT_ASSERT_EQ(test, kit_post_recv(d->pair.server, 5), 0);
	KUNIT_ASSERT_EQ(test, fake_qp_receive(kit_qp(d->pair.server), 0, 0x99),
			1U);
	event = kit_next(d->recv);
	KUNIT_EXPECT_EQ(test, (int)event.event_data.dto_completion_event_data
			.operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, event.event_data.dto_completion_event_data
			.rmr_context, 0x99U);
}

/* Suppressed successes: no event, no credit lost, one in half a queue signalled. */
static void kdapl_dto_suppress(struct kunit *test)
{
	struct dto *d = dto_init(test, 8);
	struct ib_qp *qp = kit_qp(d->pair.client);
	unsigned int i, silent = 0, most = 0;
	struct dat_event event;
	struct fake_wr wr;

	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test,
				kit_post_send(d->pair.client, i,
					      DAT_COMPLETION_SUPPRESS_FLAG), 0);
		KUNIT_ASSERT_TRUE(test, fake_qp_peek(qp, true, 0, &wr));
		silent = wr.flags & IB_SEND_SIGNALED ? 0 : silent + 1;
		most = max(most, silent);
		KUNIT_ASSERT_EQ(test, fake_qp_complete(qp, true, 1,
						       IB_WC_SUCCESS), 1U);
		KUNIT_EXPECT_EQ(test, dat_evd_dequeue(d->req, &event), -EAGAIN);
	}
	KUNIT_EXPECT_GT(test, most, 0U);
	KUNIT_EXPECT_LE(test, most, 4U);

	/* Behind three silent ones, an event frees all four credits. */
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test,
				kit_post_send(d->pair.client, i,
					      DAT_COMPLETION_SUPPRESS_FLAG), 0);
	KUNIT_ASSERT_EQ(test, kit_post_send(d->pair.client, 77, 0), 0);
	fake_qp_complete(qp, true, 4, IB_WC_SUCCESS);
	dto_expect(test, d->req, d->pair.client, DAT_DTO_SEND, 77,
		   DAT_DTO_SUCCESS, 0);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, kit_post_send(d->pair.client, i, 0), 0);
	KUNIT_EXPECT_EQ(test, kit_post_send(d->pair.client, i, 0), -ENOSPC);
}

/* A full queue is refused before the device sees the request. */
static void kdapl_dto_queue_full(struct kunit *test)
{
	struct dto *d = dto_init(test, 4);
	unsigned int i, sends, recvs;

	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, kit_post_send(d->pair.client, i, 0), 0);
		KUNIT_ASSERT_EQ(test, kit_post_recv(d->pair.client, i), 0);
	}
	sends = fake_log_count(FAKE_POST_SEND, NULL);
	recvs = fake_log_count(FAKE_POST_RECV, NULL);
	KUNIT_EXPECT_EQ(test, kit_post_send(d->pair.client, 9, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, kit_post_recv(d->pair.client, 9), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_POST_SEND, NULL), sends);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_POST_RECV, NULL), recvs);
}

/* In DISCONNECTED a post succeeds and is flushed. */
static void kdapl_dto_post_disconnected(struct kunit *test)
{
	struct dto *d = dto_init(test, 4);
	struct dat_event event;

	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(d->pair.client,
						DAT_CLOSE_ABRUPT_FLAG), 0);
	event = kit_next(d->pair.conn_evd);
	KUNIT_EXPECT_EQ(test, (int)event.event_number,
			(int)DAT_CONNECTION_EVENT_DISCONNECTED);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(d->pair.client) ==
					 DAT_EP_STATE_DISCONNECTED));
	KUNIT_EXPECT_EQ(test, kit_post_send(d->pair.client, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, kit_post_recv(d->pair.client, 2), 0);
	dto_expect(test, d->req, d->pair.client, DAT_DTO_SEND, 1,
		   DAT_DTO_ERR_FLUSHED, 0);
	dto_expect(test, d->recv, d->pair.client, DAT_DTO_RECEIVE, 2,
		   DAT_DTO_ERR_FLUSHED, 0);
	/* A suppressed one is flushed aloud. */
	KUNIT_EXPECT_EQ(test, kit_post_send(d->pair.client, 3,
					    DAT_COMPLETION_SUPPRESS_FLAG), 0);
	dto_expect(test, d->req, d->pair.client, DAT_DTO_SEND, 3,
		   DAT_DTO_ERR_FLUSHED, 0);
}

/* Segments that may not be used, each with its own errno. */
static void kdapl_dto_segments(struct kunit *test)
{
	struct dto *d = dto_init(test, 4);
	struct dat_lmr_triplet seg[3] = { dto_seg(d, 0, 16), dto_seg(d, 0, 16),
					  dto_seg(d, 0, 16) };
	struct dat_rmr_triplet remote = { .segment_length = 16 };
	struct dat_ep *ep = d->pair.client;
	union dat_context cookie = {};
	struct dat_pz *pz;
	u32 lctx, rctx;

#define DTO_SEND(n, iov)	dat_ep_post_send(ep, n, iov, cookie, 0)
#define DTO_RECV(n, iov)	dat_ep_post_recv(ep, n, iov, cookie, 0)
	KUNIT_EXPECT_EQ(test, DTO_SEND(-1, seg), -EINVAL);
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, DTO_SEND(3, seg), -EINVAL);
	KUNIT_EXPECT_EQ(test, DTO_RECV(3, seg), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_post_send(NULL, 0, NULL, cookie, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_post_recv(NULL, 0, NULL, cookie, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_read(ep, 0, NULL, cookie, NULL,
						    0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_write(ep, 0, NULL, cookie, NULL,
						     0), -EINVAL);

	seg[0].lmr_context ^= 0x10101;
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), -EINVAL);
	seg[0] = dto_seg(d, 0, DTO_BYTES);
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), 0);
	seg[0] = dto_seg(d, 1, DTO_BYTES);
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), -EINVAL);
	seg[0] = dto_seg(d, -1, 2);
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), -EINVAL);
	seg[0] = dto_seg(d, 16, U32_MAX);
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), -EINVAL);
	seg[0].virtual_address = U64_MAX;
	seg[0].segment_length = 2;
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), -EINVAL);

	/* Privileges. */
	seg[0] = dto_seg(d, 0, 16);
	dto_lmr(test, d->memory, DTO_BYTES, to_kit(test)->pz,
		DAT_MEM_PRIV_LOCAL_READ_FLAG, &lctx, &rctx);
	seg[0].lmr_context = lctx;
	KUNIT_EXPECT_EQ(test, DTO_RECV(1, seg), -EACCES);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_read(ep, 1, seg, cookie, &remote,
						    0), -EACCES);
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), 0);
	dto_lmr(test, d->memory, DTO_BYTES, to_kit(test)->pz,
		DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lctx, &rctx);
	seg[0].lmr_context = lctx;
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), -EACCES);
	KUNIT_EXPECT_EQ(test, DTO_RECV(1, seg), 0);

	/* Another zone. */
	KUNIT_ASSERT_EQ(test, dat_pz_create(to_kit(test)->ia, &pz), 0);
	dto_lmr(test, d->memory, DTO_BYTES, pz, DAT_MEM_PRIV_LOCAL_READ_FLAG,
		&lctx, &rctx);
	seg[0].lmr_context = lctx;
	KUNIT_EXPECT_EQ(test, DTO_SEND(1, seg), -EPERM);
}

/* Lengths: of a message, and of the two sides of an RDMA. */
static void kdapl_dto_lengths(struct kunit *test)
{
	struct dto *d = dto_init(test, 4);
	struct dat_lmr_triplet seg = dto_seg(d, 0, 300);
	struct dat_rmr_triplet remote = { .segment_length = 301 };
	struct dat_ep *ep = d->pair.client;
	union dat_context cookie = {};
	unsigned int posted = fake_log_count(FAKE_POST_SEND, NULL);

	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_read(ep, 1, &seg, cookie,
						    &remote, 0), -EMSGSIZE);
	remote.segment_length = 299;
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_write(ep, 1, &seg, cookie,
						     &remote, 0), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, fake_log_count(FAKE_POST_SEND, NULL), posted);
	remote.segment_length = 300;
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_write(ep, 1, &seg, cookie,
						     &remote, 0), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_read(ep, 1, &seg, cookie,
						    &remote, 0), 0);
}

static const struct dto_flag_case {
	enum dat_completion_flags flag;
	int send, recv, rdma;
} dto_flag_cases[] = {
	{ DAT_COMPLETION_SUPPRESS_FLAG, 0, -EINVAL, 0 },
	{ DAT_COMPLETION_SOLICITED_WAIT_FLAG, 0, -EINVAL, -EINVAL },
	{ DAT_COMPLETION_UNSIGNALLED_FLAG, 0, 0, 0 },
	{ DAT_COMPLETION_BARRIER_FENCE_FLAG, 0, -EINVAL, 0 },
	{ DAT_COMPLETION_EVD_THRESHOLD_FLAG, -EINVAL, -EINVAL, -EINVAL },
	{ DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG, -EINVAL, -EINVAL, -EINVAL },
	{ 0x400, -EINVAL, -EINVAL, -EINVAL },
};

static void dto_flag_desc(const struct dto_flag_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%#x", c->flag);
}

KUNIT_ARRAY_PARAM(dto_flag, dto_flag_cases, dto_flag_desc);

static void kdapl_dto_flags(struct kunit *test)
{
	const struct dto_flag_case *c = test->param_value;
	struct dat_rmr_triplet remote = {};
	union dat_context cookie = {};
	struct dat_ep *ep;

	to_kit(test)->ep_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ep = dto_init(test, 8)->pair.client;
	KUNIT_EXPECT_EQ(test, dat_ep_post_send(ep, 0, NULL, cookie, c->flag),
			c->send);
	KUNIT_EXPECT_EQ(test, dat_ep_post_recv(ep, 0, NULL, cookie, c->flag),
			c->recv);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_write(ep, 0, NULL, cookie,
						     &remote, c->flag),
			c->rdma);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_read(ep, 0, NULL, cookie,
						    &remote, c->flag), c->rdma);
}

/* UNSIGNALLED is for EPs that were made for it. */
static void kdapl_dto_unsignalled_not_configured(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct dat_ep_attr attr = { .max_recv_dtos = 4, .max_recv_iov = 1,
				    .max_message_size = 64 };
	union dat_context cookie = {};
	struct dat_ep *ep;

	KUNIT_ASSERT_EQ(test, dat_ep_create(to_kit(test)->ia, to_kit(test)->pz,
					    evd, NULL, NULL, &attr, &ep), 0);
	KUNIT_EXPECT_EQ(test, dat_ep_post_recv(ep, 0, NULL, cookie,
					       DAT_COMPLETION_UNSIGNALLED_FLAG),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_post_recv(ep, 0, NULL, cookie, 0), 0);
}

/* Completions without an event: absorbed, no -EBUSY, no upcall, still armed. */
static void kdapl_dto_internal_completions(struct kunit *test)
{
	struct kit_upcall *up = kit_upcall(test);
	struct dto *d = dto_init(test, 128);
	struct ib_qp *qp = kit_qp(d->pair.client);
	struct dat_event event;
	unsigned int i;

	/* This device reports unsignalled requests as well. */
	fake_script.signal_all = true;
	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_EQ(test,
				kit_post_send(d->pair.client, i,
					      DAT_COMPLETION_SUPPRESS_FLAG), 0);
	fake_qp_complete(qp, true, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(d->req, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);
	KUNIT_EXPECT_EQ(test, fake_cq_waiting(kit_cq(d->req)), 0U);
	fake_qp_complete(qp, true, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(!fake_cq_waiting(kit_cq(d->req)) &&
					 fake_cq_armed(kit_cq(d->req))));
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 0);
	KUNIT_ASSERT_EQ(test, kit_post_send(d->pair.client, 99, 0), 0);
	fake_qp_complete(qp, true, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	dto_expect(test, d->req, d->pair.client, DAT_DTO_SEND, 99,
		   DAT_DTO_SUCCESS, 0);

	/* Too many for one lock section: -EBUSY, the one case without an event. */
	for (i = 0; i < 120; i++)
		KUNIT_ASSERT_EQ(test,
				kit_post_send(d->pair.client, i,
					      DAT_COMPLETION_SUPPRESS_FLAG), 0);
	fake_qp_complete(qp, true, 120, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(d->req, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, (int)kit_policy(d->req), DAT_UPCALL_DISABLE);
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(d->req, &event), -EAGAIN);
	KUNIT_EXPECT_EQ(test, dat_evd_modify_upcall(d->req, DAT_UPCALL_NOTIFY,
						    &up->object,
						    DAT_UPCALL_INVOC_NEW), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&up->calls), 1);
}

static struct kunit_case kdapl_dto_cases[] = {
	KUNIT_CASE(kdapl_dto_send_receive),
	KUNIT_CASE(kdapl_dto_rdma),
	KUNIT_CASE(kdapl_dto_solicited),
	KUNIT_CASE(kdapl_dto_receive_with_invalidate),
	KUNIT_CASE(kdapl_dto_suppress),
	KUNIT_CASE(kdapl_dto_queue_full),
	KUNIT_CASE(kdapl_dto_post_disconnected),
	KUNIT_CASE(kdapl_dto_segments),
	KUNIT_CASE(kdapl_dto_lengths),
	KUNIT_CASE_PARAM(kdapl_dto_flags, dto_flag_gen_params),
	KUNIT_CASE(kdapl_dto_unsignalled_not_configured),
	KUNIT_CASE(kdapl_dto_internal_completions),
	{}
};

static struct kunit_suite kdapl_dto_suite = {
	.name = "kdapl_dto",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_dto_cases,
};

kunit_test_suite(kdapl_dto_suite);

MODULE_DESCRIPTION("Suite: data transfer");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
