// SPDX-License-Identifier: GPL-2.0
/* RDMA reads that a provider takes and never ends: it gets none of them. */
#include <linux/module.h>

#include <dat/dat_ib_extensions.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/ia.h"
#include "mem_kit.h"

enum {
	READ_DEPTH = 8,
	READ_BYTES = 8,
};

/* A read of the peer's memory, into the first bytes of @mem. */
static int read_post(struct mem *mem, u32 context,
		     enum dat_completion_flags flags)
{
	struct dat_rmr_triplet remote = { .segment_length = READ_BYTES };
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)mem->memory,
		.segment_length = READ_BYTES,
		.lmr_context = context,
	};

	return dat_ep_post_rdma_read(mem->ep, 1, &iov, mem_cookie(1), &remote,
				     flags);
}

static u32 read_context(struct mem *mem)
{
	u32 lctx, rctx;

	KUNIT_ASSERT_EQ(mem->test, mem_fmr(mem, mem_allocate(mem, 1), 0, 1, 0,
					   &lctx, &rctx), 0);
	mem_expect(mem, DAT_DTO_LMR_FMR, DAT_DTO_SUCCESS);
	return lctx;
}

/*
 * siw's transmitter refuses a read with a fence, and finds it at the head of its queue
 * again for ever. The peer answers reads in order anyway.
 */
static void kdapl_read_fenced(struct kunit *test)
{
	static const enum rdma_driver_id drivers[] = {
		RDMA_DRIVER_UNKNOWN, RDMA_DRIVER_SIW,
	};
	struct kit *kit = to_kit(test);
	struct fake_wr wr = {};
	struct mem *mem;
	u32 context;
	int i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++) {
		kit_replug(test, FAKE_PROTO_IWARP);
		mem = memkit_init(test, READ_DEPTH);
		kit->ia->driver_id = drivers[i];
		context = read_context(mem);
		KUNIT_ASSERT_EQ(test, read_post(mem, context,
						DAT_COMPLETION_BARRIER_FENCE_FLAG), 0);
		KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
		KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_RDMA_READ);
		KUNIT_EXPECT_EQ(test, !!(wr.flags & IB_SEND_FENCE),
				drivers[i] != RDMA_DRIVER_SIW);
		/* Others keep theirs. */
		KUNIT_ASSERT_EQ(test, kit_post_send(mem->ep, 2,
						    DAT_COMPLETION_BARRIER_FENCE_FLAG), 0);
		KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 1, &wr));
		KUNIT_EXPECT_TRUE(test, wr.flags & IB_SEND_FENCE);
	}
}

/* Who has said that there are no reads. */
struct read_none {
	const char *name;
	enum fake_proto proto;
	bool peer;
};

static const struct read_none read_nones[] = {
	{ "ours", FAKE_PROTO_IB, false },
	{ "the peer's", FAKE_PROTO_IB, true },
	{ "ours on iWARP", FAKE_PROTO_IWARP, false },
};

static void read_none_desc(const struct read_none *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(read_none, read_nones, read_none_desc);

/*
 * rxe waits for ever with a read, and all that is behind it, on a connection that has
 * agreed on none.
 */
static void kdapl_read_none_agreed(struct kunit *test)
{
	const struct read_none *c = test->param_value;
	struct dat_rmr_triplet remote = { .segment_length = READ_BYTES };
	struct dat_lmr_triplet iov = { .segment_length = READ_BYTES };
	struct dat_ep_param param = {};
	struct dat_ep *server;
	struct mem *mem;

	kit_replug(test, c->proto);
	mem = memkit_init(test, READ_DEPTH);
	iov.lmr_context = read_context(mem);
	iov.virtual_address = (uintptr_t)mem->memory;
	mem->ep = kit_ep(test, mem->recv, mem->req, mem->pair.conn_evd,
			 READ_DEPTH);
	server = kit_ep(test, mem->recv, mem->req, mem->pair.conn_evd,
			READ_DEPTH);
	KUNIT_ASSERT_EQ(test, dat_ep_modify(c->peer ? server : mem->ep, c->peer ?
					    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN :
					    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
					    &param), 0);
	kit_pair_connect(test, &mem->pair, mem->ep, server);
	mem->qp = kit_qp(mem->ep);

	KUNIT_EXPECT_EQ(test, read_post(mem, iov.lmr_context, 0), -EINVAL);
	if (c->proto == FAKE_PROTO_IB)
		KUNIT_EXPECT_EQ(test,
				dat_ib_post_fetch_and_add(mem->ep, 1, &iov,
							  mem_cookie(1),
							  &remote, 0),
				-EINVAL);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 0U);
	KUNIT_EXPECT_EQ(test, kit_post_send(mem->ep, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 1U);

	/* Behind the end a read is like any other request. */
	KUNIT_ASSERT_EQ(test, dat_ep_disconnect(mem->ep, DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_state(mem->ep) ==
					 DAT_EP_STATE_DISCONNECTED));
	mem_expect(mem, DAT_DTO_SEND, DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, read_post(mem, iov.lmr_context, 0), 0);
	mem_expect(mem, DAT_DTO_RDMA_READ, DAT_DTO_ERR_FLUSHED);
}

static struct kunit_case kdapl_read_cases[] = {
	KUNIT_CASE(kdapl_read_fenced),
	KUNIT_CASE_PARAM(kdapl_read_none_agreed, read_none_gen_params),
	{}
};

static struct kunit_suite kdapl_read_suite = {
	.name = "kdapl_read",
	.init = kit_init,
	.exit = kit_exit_replug,
	.test_cases = kdapl_read_cases,
};

kunit_test_suite(kdapl_read_suite);

MODULE_DESCRIPTION("Suite: RDMA reads that no provider would end");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
