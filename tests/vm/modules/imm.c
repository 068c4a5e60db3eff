// SPDX-License-Identifier: GPL-2.0
/*
 * Immediate data, to and from a peer in user space (tests/vm/guest/imm-peer.c):
 * here it is a number, there four bytes in the order of the network. The peer looks
 * at its end itself and says so with its exit status.
 */
#include <asm/unaligned.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <dat/dat_ib_extensions.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	IMM_FIRST = 0x01020304,	/* with bytes of the peer's */
	IMM_BYTES = 64,		/* of a write */
	IMM_GUARD = 0x33,
};

/* Private data of both ends, as imm-peer.c has it. */
struct imm_where {
	__be64 addr;
	__be32 rkey;
	__be32 length;
} __packed;

struct imm_test {
	struct side near;
	struct side far;
	struct dat_ep *ep;
	struct dat_lmr *lmr;
	u8 *area;
	struct imm_where ours;
	struct dat_rmr_triplet theirs;
};

static int imm_show(struct imm_test *i)
{
	union dat_region_description region;
	u64 length, addr;
	u32 lkey, rkey;
	int ret;

	i->area = kmalloc(SIDE_BUF, GFP_KERNEL);
	if (!i->area)
		return -ENOMEM;
	memset(i->area, IMM_GUARD, SIDE_BUF);
	region.for_va = i->area;
	ret = dat_lmr_kcreate(i->near.ia, DAT_MEM_TYPE_VIRTUAL, region,
			      SIDE_BUF, i->near.pz,
			      DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
			      DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			      &i->lmr, &lkey, &rkey, &length, &addr);
	i->ours.addr = cpu_to_be64(addr);
	i->ours.rkey = cpu_to_be32(rkey);
	i->ours.length = cpu_to_be32(SIDE_BUF);
	return ret;
}

static int imm_connect(struct imm_test *i, u64 port)
{
	struct dat_connection_event_data *conn;
	const struct imm_where *theirs;
	struct dat_event event;
	int ret, n;

	ret = side_ep(&i->near, 4, 4, &i->ep);
	for (n = 0; !ret && n < 2; n++)
		ret = side_post_recv(&i->near, i->ep, 100 + n);
	if (!ret)
		ret = side_connect(&i->near, i->ep, &i->far, port,
				   SIDE_TIMEOUT_MS, &i->ours, sizeof(i->ours));
	if (!ret)
		ret = side_expect(i->near.conn,
				  DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	if (ret)
		return ret;
	conn = &event.event_data.connect_event_data;
	if (conn->private_data_size < sizeof(*theirs))
		return -EPROTO;
	theirs = conn->private_data;
	i->theirs.virtual_address = get_unaligned_be64(&theirs->addr);
	i->theirs.rmr_context = get_unaligned_be32(&theirs->rkey);
	i->theirs.segment_length = get_unaligned_be32(&theirs->length);
	return 0;
}

static int imm_write(struct imm_test *i, u32 length, u32 imm)
{
	struct dat_lmr_triplet iov = {
		.virtual_address = (uintptr_t)i->near.buf,
		.segment_length = length,
		.lmr_context = i->near.lkey,
	};
	union dat_context cookie = { .as_64 = imm };
	int n;

	for (n = 0; n < IMM_BYTES; n++)
		((u8 *)i->near.buf)[n] = 0x10 + n;
	return dat_ib_post_rdma_write_immed(i->ep, length ? 1 : 0, &iov, cookie,
					    &i->theirs, imm, 0);
}

/* The next event of @evd, which must be one of an extension. */
static void imm_expect(struct vmtest *t, struct dat_evd *evd, u64 cookie,
		       enum dat_ib_dtos op, enum dat_ib_ext_type type, u32 imm,
		       const char *what)
{
	const struct dat_dto_completion_event_data *dto;
	const struct dat_ib_extension_event_data *ext;
	struct dat_event event = {};
	int ret;

	ret = side_expect(evd, (enum dat_event_number)DAT_IB_DTO_EVENT, &event);
	if (!vmtest_equal(t, ret, 0, "%s: its event", what))
		return;
	dto = &event.event_data.dto_completion_event_data;
	ext = dat_ib_event_extension(&event);
	vmtest_equal(t, dto->status, DAT_DTO_SUCCESS, "%s: status", what);
	vmtest_equal(t, dto->user_cookie.as_64, cookie, "%s: cookie", what);
	vmtest_equal(t, dto->operation, op, "%s: operation", what);
	vmtest_equal(t, ext->type, type, "%s: type", what);
	vmtest_equal(t, ext->status, DAT_OP_SUCCESS, "%s: its own status", what);
	if (type == DAT_IB_RDMA_WRITE_IMMED)
		return;
	vmtest_equal(t, dto->transfered_length, IMM_BYTES, "%s: length", what);
	vmtest_check(t, ext->val.immed.data == imm,
		     "%s: immediate data 0x%08x (0x%08x)", what, imm,
		     ext->val.immed.data);
}

static void imm_run(struct vmtest *t, struct imm_test *i)
{
	static const u32 second = 0xf1f2f3f4;
	struct dat_event event;
	int n;

	vmtest_equal(t, imm_write(i, IMM_BYTES, IMM_FIRST), 0, "a write");
	imm_expect(t, i->near.request, IMM_FIRST, DAT_IB_DTO_RDMA_WRITE_IMMED,
		   DAT_IB_RDMA_WRITE_IMMED, 0, "write");
	vmtest_equal(t, imm_write(i, 0, second), 0, "another one, of nothing");
	imm_expect(t, i->near.request, second, DAT_IB_DTO_RDMA_WRITE_IMMED,
		   DAT_IB_RDMA_WRITE_IMMED, 0, "write of nothing");

	imm_expect(t, i->near.recv, 100, DAT_IB_DTO_RECV_IMMED,
		   DAT_IB_RDMA_WRITE_IMMED_DATA, IMM_FIRST, "written by the peer");
	for (n = 0; n < IMM_BYTES && i->area[n] == 0x80 + n; n++)
		;
	vmtest_equal(t, n, IMM_BYTES, "the bytes are there");
	vmtest_check(t, !memchr_inv(i->area + IMM_BYTES, IMM_GUARD,
				    SIDE_BUF - IMM_BYTES), "and no others");
	imm_expect(t, i->near.recv, 101, DAT_IB_DTO_RECV_MSG_IMMED,
		   DAT_IB_RECV_IMMED_DATA, IMM_FIRST, "sent by the peer");

	vmtest_equal(t, dat_ep_disconnect(i->ep, DAT_CLOSE_GRACEFUL_FLAG), 0,
		     "disconnect");
	vmtest_equal(t, side_expect(i->near.conn,
				    DAT_CONNECTION_EVENT_DISCONNECTED, &event),
		     0, "the end");
}

/* port=: where the peer listens, on the far address. */
void vmtest_imm(struct vmtest *t)
{
	struct imm_test *i;
	int ret;

	i = kzalloc(sizeof(*i), GFP_KERNEL);
	if (!i)
		return;
	if (!sides_open(t, &i->near, &i->far, 16, false))
		goto out;
	ret = imm_show(i);
	if (!ret)
		ret = imm_connect(i, vmtest_arg(t, "port", 0));
	if (vmtest_equal(t, ret, 0, "a connection to user space"))
		imm_run(t, i);
	side_close(&i->near);
	side_close(&i->far);
	kfree(i->area);
out:
	kfree(i);
}
