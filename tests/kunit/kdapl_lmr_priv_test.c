// SPDX-License-Identifier: GPL-2.0
/* dat_lmr_kcreate(): each set of privileges against each operation. */
#include <linux/module.h>

#include <dat/dat_ib_extensions.h>

#include "../../drivers/kdapl/ia.h"
#include "mem_kit.h"

enum {
	PRIV_BYTES = 8,
	PRIV_LOCAL_READ = DAT_MEM_PRIV_LOCAL_READ_FLAG,
	PRIV_LOCAL_WRITE = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
	PRIV_REMOTE_READ = DAT_MEM_PRIV_REMOTE_READ_FLAG,
	PRIV_REMOTE_WRITE = DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	PRIV_REMOTE_ATOMIC = DAT_IB_MEM_PRIV_REMOTE_ATOMIC,
	PRIV_REMOTE = PRIV_REMOTE_READ | PRIV_REMOTE_WRITE | PRIV_REMOTE_ATOMIC,
};

/*
 * What each of them makes the device allow the peer. The specification of
 * InfiniBand wants the local right with those to change memory.
 */
static const struct {
	u32 priv;
	int access;
} privs[] = {
	{ PRIV_LOCAL_READ, 0 },
	{ PRIV_LOCAL_WRITE, IB_ACCESS_LOCAL_WRITE },
	{ PRIV_REMOTE_READ, IB_ACCESS_REMOTE_READ },
	{ PRIV_REMOTE_WRITE, IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE },
	{ PRIV_REMOTE_ATOMIC, IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE },
};

static const struct dat_rmr_triplet priv_remote = {
	.virtual_address = 0x1000,
	.segment_length = PRIV_BYTES,
	.rmr_context = 0xfeed,
};

static int op_send(struct dat_ep *ep, const struct dat_lmr_triplet *iov)
{
	return dat_ep_post_send(ep, 1, iov, mem_cookie(1), 0);
}

/* What the short way does not know. */
static int op_send_fenced(struct dat_ep *ep, const struct dat_lmr_triplet *iov)
{
	return dat_ep_post_send(ep, 1, iov, mem_cookie(1),
				DAT_COMPLETION_BARRIER_FENCE_FLAG);
}

static int op_send_invalidate(struct dat_ep *ep,
			      const struct dat_lmr_triplet *iov)
{
	return dat_ep_post_send_with_invalidate(ep, 1, iov, mem_cookie(1), 0,
						true, 0xfeed);
}

static int op_write(struct dat_ep *ep, const struct dat_lmr_triplet *iov)
{
	return dat_ep_post_rdma_write(ep, 1, iov, mem_cookie(1), &priv_remote,
				      0);
}

static int op_write_fenced(struct dat_ep *ep,
			   const struct dat_lmr_triplet *iov)
{
	return dat_ep_post_rdma_write(ep, 1, iov, mem_cookie(1), &priv_remote,
				      DAT_COMPLETION_BARRIER_FENCE_FLAG);
}

static int op_write_immed(struct dat_ep *ep, const struct dat_lmr_triplet *iov)
{
	return dat_ib_post_rdma_write_immed(ep, 1, iov, mem_cookie(1),
					    &priv_remote, 5, 0);
}

static int op_read(struct dat_ep *ep, const struct dat_lmr_triplet *iov)
{
	return dat_ep_post_rdma_read(ep, 1, iov, mem_cookie(1), &priv_remote,
				     0);
}

static int op_add(struct dat_ep *ep, const struct dat_lmr_triplet *iov)
{
	return dat_ib_post_fetch_and_add(ep, 5, iov, mem_cookie(1),
					 &priv_remote, 0);
}

static int op_swap(struct dat_ep *ep, const struct dat_lmr_triplet *iov)
{
	return dat_ib_post_cmp_and_swap(ep, 5, 6, iov, mem_cookie(1),
					&priv_remote, 0);
}

static int op_recv(struct dat_ep *ep, const struct dat_lmr_triplet *iov)
{
	return dat_ep_post_recv(ep, 1, iov, mem_cookie(1), 0);
}

static const struct priv_op {
	const char *name;
	int (*post)(struct dat_ep *ep, const struct dat_lmr_triplet *iov);
	u32 needs;
	bool infiniband;	/* there is no such thing on iWARP */
	bool sink;		/* of a read: on iWARP it takes more */
} priv_ops[] = {
	{ "send", op_send, PRIV_LOCAL_READ },
	{ "send, fenced", op_send_fenced, PRIV_LOCAL_READ },
	{ "send with invalidate", op_send_invalidate, PRIV_LOCAL_READ },
	{ "write", op_write, PRIV_LOCAL_READ },
	{ "write, fenced", op_write_fenced, PRIV_LOCAL_READ },
	{ "write with immediate", op_write_immed, PRIV_LOCAL_READ, true },
	{ "read", op_read, PRIV_LOCAL_WRITE, .sink = true },
	{ "fetch and add", op_add, PRIV_LOCAL_WRITE, true },
	{ "compare and swap", op_swap, PRIV_LOCAL_WRITE, true },
	{ "receive", op_recv, PRIV_LOCAL_WRITE },
};

/* What a post from or to memory with these privileges answers. */
static int priv_verdict(const struct priv_op *op, u32 priv, bool iwarp)
{
	if (iwarp && op->infiniband)
		return -EOPNOTSUPP;
	if (op->needs & ~priv)
		return -EACCES;
	/* The peer may read, and so knows the key, but not write. */
	if (iwarp && op->sink &&
	    (priv & (PRIV_REMOTE_READ | PRIV_REMOTE_WRITE)) == PRIV_REMOTE_READ)
		return -EACCES;
	return 0;
}

/* Every set of privileges, as dat_lmr_kcreate() takes it. */
static void priv_sets(struct kunit *test, bool iwarp)
{
	u32 sets = iwarp ? 16 : 32, set, priv, rctx, depth = 200;
	struct mem *mem = memkit_init(test, depth);
	union dat_region_description region = { .for_va = mem->memory };
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)mem->memory,
		.segment_length = PRIV_BYTES,
	};
	struct kit *kit = to_kit(test);
	u64 length, addr;
	struct dat_lmr *lmr;
	int i, access;

	for (set = 0; set < sets; set++) {
		for (priv = 0, access = 0, i = 0; i < ARRAY_SIZE(privs); i++) {
			if (!(set & BIT(i)))
				continue;
			priv |= privs[i].priv;
			access |= privs[i].access;
		}
		rctx = 99;
		KUNIT_ASSERT_EQ(test,
				dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL,
						region, PRIV_BYTES, kit->pz,
						priv, DAT_VA_TYPE_VA, 0, &lmr,
						&iov.lmr_context, &rctx,
						&length, &addr), 0);
		if (priv & PRIV_REMOTE)
			KUNIT_EXPECT_EQ_MSG(test, fake_mr_access(rctx), access,
					    "privileges 0x%02x", priv);
		else
			KUNIT_EXPECT_EQ(test, rctx, 0U);
		for (i = 0; i < ARRAY_SIZE(priv_ops); i++)
			KUNIT_EXPECT_EQ_MSG(test,
					    priv_ops[i].post(mem->ep, &iov),
					    priv_verdict(&priv_ops[i], priv,
							 iwarp),
					    "privileges 0x%02x, %s", priv,
					    priv_ops[i].name);
		fake_qp_complete(mem->qp, true, depth, IB_WC_SUCCESS);
		kit_drain(mem->req);
		KUNIT_EXPECT_EQ(test, dat_lmr_free(lmr), 0);
	}
	/* Their receives stay: one for each set that may be written. */
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, false), sets / 2);
}

static void kdapl_lmr_priv_infiniband(struct kunit *test)
{
	priv_sets(test, false);
}

static void kdapl_lmr_priv_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	priv_sets(test, true);
}

/*
 * Reads and writes of nothing have no entry: one of length 0 means 2 GB to some
 * devices, and what was sent before to siw.
 */
static void priv_empty(struct kunit *test)
{
	struct mem *mem = memkit_init(test, 8);
	struct dat_rmr_triplet remote = { .rmr_context = 0xfeed };
	struct dat_lmr_triplet iov = {};
	struct fake_wr wr;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, dat_ep_post_rdma_read(mem->ep, i, &iov,
							    mem_cookie(1),
							    &remote, 0), 0);
		KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
		KUNIT_EXPECT_EQ(test, (int)wr.opcode, (int)IB_WR_RDMA_READ);
		KUNIT_EXPECT_EQ(test, wr.num_sge, 0);
		KUNIT_EXPECT_EQ(test, wr.len, 0U);
		KUNIT_EXPECT_EQ(test, wr.rkey, 0xfeedU);
		fake_qp_complete(mem->qp, true, 1, IB_WC_SUCCESS);
		mem_expect(mem, DAT_DTO_RDMA_READ, DAT_DTO_SUCCESS);
	}
	KUNIT_ASSERT_EQ(test, dat_ep_post_rdma_write(mem->ep, 1, &iov,
						     mem_cookie(1), &remote, 0),
			0);
	KUNIT_ASSERT_TRUE(test, fake_qp_peek(mem->qp, true, 0, &wr));
	KUNIT_EXPECT_EQ(test, wr.num_sge, 0);
}

static void kdapl_lmr_priv_nothing(struct kunit *test)
{
	priv_empty(test);
}

static void kdapl_lmr_priv_nothing_on_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	priv_empty(test);
}

/* siw takes no request any more once it has refused such a read: it gets none. */
static void kdapl_lmr_priv_nothing_on_siw(struct kunit *test)
{
	struct dat_rmr_triplet remote = { .rmr_context = 0xfeed };
	struct dat_lmr_triplet iov = {};
	struct kit *kit = to_kit(test);
	struct mem *mem;
	int i;

	kit_replug(test, FAKE_PROTO_IWARP);
	mem = memkit_init(test, 8);
	kit->ia->driver_id = RDMA_DRIVER_SIW;
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_read(mem->ep, i, &iov,
							    mem_cookie(1),
							    &remote, 0),
				-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 0U);
	KUNIT_EXPECT_EQ(test, dat_ep_post_rdma_write(mem->ep, 0, NULL,
						     mem_cookie(1), &remote, 0),
			0);
	KUNIT_EXPECT_EQ(test, fake_qp_posted(mem->qp, true), 1U);
}

/* The provider takes no registration: an errno, and not a wait for better times. */
static void kdapl_lmr_priv_refused_on_iwarp(struct kunit *test)
{
	union dat_region_description region;
	struct kit *kit = to_kit(test);
	u32 lctx = 7, rctx = 7;
	struct dat_lmr *lmr;
	struct mem *mem;
	u64 length, addr;

	kit_replug(test, FAKE_PROTO_IWARP);
	mem = memkit_init(test, 8);
	region.for_va = mem->memory;
	fake_hca_fail(FAKE_POST_SEND, 1, 100, -ENOMEM);
	KUNIT_EXPECT_EQ(test, dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL,
					      region, 8, kit->pz,
					      DAT_MEM_PRIV_REMOTE_READ_FLAG,
					      DAT_VA_TYPE_VA, 0, &lmr, &lctx, &rctx, &length,
					      &addr), -ENOMEM);
	KUNIT_EXPECT_EQ(test, lctx, 7U);
	KUNIT_EXPECT_EQ(test, rctx, 7U);
	KUNIT_EXPECT_LT(test, fake_hca_fail_left(), 100U);
	fake_hca_fail(FAKE_ANY, 1, 0, 0);
	KUNIT_ASSERT_EQ(test, dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL,
					      region, 8, kit->pz,
					      DAT_MEM_PRIV_REMOTE_READ_FLAG,
					      DAT_VA_TYPE_VA, 0, &lmr, &lctx, &rctx, &length,
					      &addr), 0);
	KUNIT_EXPECT_EQ(test, fake_mr_access(rctx), IB_ACCESS_REMOTE_READ);
}

static struct kunit_case kdapl_lmr_priv_cases[] = {
	KUNIT_CASE(kdapl_lmr_priv_infiniband),
	KUNIT_CASE(kdapl_lmr_priv_iwarp),
	KUNIT_CASE(kdapl_lmr_priv_nothing),
	KUNIT_CASE(kdapl_lmr_priv_nothing_on_iwarp),
	KUNIT_CASE(kdapl_lmr_priv_nothing_on_siw),
	KUNIT_CASE(kdapl_lmr_priv_refused_on_iwarp),
	{}
};

static struct kunit_suite kdapl_lmr_priv_suite = {
	.name = "kdapl_lmr_priv",
	.init = kit_init,
	.exit = kit_exit_replug,
	.test_cases = kdapl_lmr_priv_cases,
};

kunit_test_suite(kdapl_lmr_priv_suite);

MODULE_DESCRIPTION("Suite: privileges of registered memory");
MODULE_LICENSE("GPL");
