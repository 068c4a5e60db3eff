// SPDX-License-Identifier: GPL-2.0
/* Wrong arguments, second part: endpoints, service points and requests. */
#include <linux/module.h>

#include "kit.h"

#define ARGS_MARK	((void *)0x5a5a5a5aUL)

static void args_refused(struct kunit *test, int ret, const void *out)
{
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, out, (const void *)ARGS_MARK);
}

/* The call comes before the look at what it has left behind. */
#define ARGS_REFUSED(test, call, out)					\
do {									\
	int args_ret = (call);						\
									\
	args_refused(test, args_ret, out);				\
} while (0)

/* Objects of one IA are no arguments for another. */
static void kdapl_ep_args_foreign(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 32, DAT_EVD_DEFAULT_FLAG);
	struct dat_ep *ep = ARGS_MARK, *mine;
	struct dat_psp *psp = ARGS_MARK;
	struct dat_rsp *rsp = ARGS_MARK;
	struct kit *kit = to_kit(test);
	struct dat_evd *async = NULL;
	struct dat_pz *pz;
	struct dat_ia *ia;

	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_NAME, 8, &async, &ia), 0);
	KUNIT_ASSERT_EQ(test, dat_pz_create(ia, &pz), 0);
	mine = kit_ep(test, evd, evd, evd, 4);
	ARGS_REFUSED(test, dat_ep_create(ia, kit->pz, NULL, NULL, NULL, NULL,
					 &ep), ep);
	ARGS_REFUSED(test, dat_ep_create(ia, pz, evd, NULL, NULL, NULL, &ep),
		     ep);
	ARGS_REFUSED(test, dat_ep_create(ia, pz, NULL, evd, NULL, NULL, &ep),
		     ep);
	ARGS_REFUSED(test, dat_ep_create(ia, pz, NULL, NULL, evd, NULL, &ep),
		     ep);
	ARGS_REFUSED(test, dat_psp_create(ia, 7000, evd, 0, &psp), psp);
	ARGS_REFUSED(test, dat_rsp_create(ia, 7000, mine, async, &rsp), rsp);
	KUNIT_EXPECT_EQ(test, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), 0);
	KUNIT_EXPECT_EQ(test, (int)kit_state(mine),
			DAT_EP_STATE_UNCONNECTED);
}

/* One attribute at a time, at its limit and beyond. */
struct ep_limit {
	const char *name;
	size_t offset;
	s64 value;
	int ret;
};

#define EP_LIMIT(field, value, ret)					\
	{ #field " " #value, offsetof(struct dat_ep_attr, field), value, ret }

/* The fake: 1024 requests, 16 segments, 16 reads, 1 GiB. */
static const struct ep_limit ep_limits[] = {
	EP_LIMIT(service_type, DAT_SERVICE_TYPE_RC, 0),
	EP_LIMIT(service_type, 7, -EINVAL),
	EP_LIMIT(qos, DAT_QOS_PREMIUM, -EOPNOTSUPP),
	EP_LIMIT(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG, -EINVAL),
	EP_LIMIT(request_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		 -EINVAL),
	/* The receives on the same EVD are of another kind. */
	EP_LIMIT(request_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG,
		 -EINVAL),
	EP_LIMIT(max_recv_dtos, 0, -EINVAL),
	EP_LIMIT(max_recv_dtos, -1, -EINVAL),
	EP_LIMIT(max_recv_dtos, 1025, -EINVAL),
	EP_LIMIT(max_request_dtos, 0, -EINVAL),
	EP_LIMIT(max_request_dtos, 1025, -EINVAL),
	EP_LIMIT(max_recv_iov, 16, 0),
	EP_LIMIT(max_recv_iov, 17, -EINVAL),
	EP_LIMIT(max_recv_iov, -1, -EINVAL),
	EP_LIMIT(max_request_iov, 17, -EINVAL),
	EP_LIMIT(max_rdma_read_iov, 17, -EINVAL),
	EP_LIMIT(max_rdma_write_iov, 17, -EINVAL),
	EP_LIMIT(max_rdma_read_in, 16, 0),
	EP_LIMIT(max_rdma_read_in, 17, -EINVAL),
	EP_LIMIT(max_rdma_read_out, 17, -EINVAL),
	EP_LIMIT(max_rdma_read_out, -1, -EINVAL),
	EP_LIMIT(max_message_size, 1 << 30, 0),
	EP_LIMIT(max_message_size, (1 << 30) + 1, -EINVAL),
	EP_LIMIT(max_rdma_size, (1 << 30) + 1, -EINVAL),
	EP_LIMIT(ep_transport_specific_count, 1, -EINVAL),
	EP_LIMIT(ep_provider_specific_count, 1, -EINVAL),
};

static void ep_limit_desc(const struct ep_limit *limit, char *desc)
{
	strscpy(desc, limit->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ep_limit, ep_limits, ep_limit_desc);

static void kdapl_ep_args_limits(struct kunit *test)
{
	const struct ep_limit *limit = test->param_value;
	struct dat_evd *evd = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct kit *kit = to_kit(test);
	struct dat_ep *ep = ARGS_MARK;
	struct dat_ep_attr attr = {
		.max_message_size = 4096,
		.max_rdma_size = 4096,
		.max_recv_dtos = 8,
		.max_request_dtos = 8,
		.max_recv_iov = 2,
		.max_request_iov = 2,
	};

	/* All fields are 32 bits wide. */
	*(u32 *)((u8 *)&attr + limit->offset) = limit->value;
	KUNIT_EXPECT_EQ(test, dat_ep_create(kit->ia, kit->pz, evd, evd, NULL,
					    &attr, &ep), limit->ret);
	if (limit->ret) {
		KUNIT_EXPECT_PTR_EQ(test, (void *)ep, ARGS_MARK);
		KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_QP), 0);
		KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	}
}

/* One field at a time: what dat_ep_modify() takes, and what not. */
struct ep_field {
	const char *name;
	u64 field;
	size_t offset;
	u32 good;
	u32 bad;
	int ret;		/* for @bad */
};

#define EP_FIELD(member, bit, good, bad, ret)				\
	{ #member, DAT_EP_FIELD_EP_ATTR_##bit,				\
	  offsetof(struct dat_ep_attr, member), good, bad, ret }

static const struct ep_field ep_fields[] = {
	EP_FIELD(service_type, SERVICE_TYPE, DAT_SERVICE_TYPE_RC, 7, -EINVAL),
	EP_FIELD(max_message_size, MAX_MESSAGE_SIZE, 4096, (1 << 30) + 1,
		 -EINVAL),
	EP_FIELD(max_rdma_size, MAX_RDMA_SIZE, 4096, (1 << 30) + 1, -EINVAL),
	EP_FIELD(qos, QOS, DAT_QOS_BEST_EFFORT, DAT_QOS_PREMIUM, -EOPNOTSUPP),
	EP_FIELD(recv_completion_flags, RECV_COMPLETION_FLAGS,
		 DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_SUPPRESS_FLAG,
		 -EINVAL),
	EP_FIELD(request_completion_flags, REQUEST_COMPLETION_FLAGS,
		 DAT_COMPLETION_SUPPRESS_FLAG,
		 DAT_COMPLETION_EVD_THRESHOLD_FLAG, -EINVAL),
	EP_FIELD(max_recv_dtos, MAX_RECV_DTOS, 3, 1025, -EINVAL),
	EP_FIELD(max_request_dtos, MAX_REQUEST_DTOS, 3, 1025, -EINVAL),
	EP_FIELD(max_recv_iov, MAX_RECV_IOV, 3, 17, -EINVAL),
	EP_FIELD(max_request_iov, MAX_REQUEST_IOV, 3, 17, -EINVAL),
	EP_FIELD(max_rdma_read_in, MAX_RDMA_READ_IN, 3, 17, -EINVAL),
	EP_FIELD(max_rdma_read_out, MAX_RDMA_READ_OUT, 3, 17, -EINVAL),
	EP_FIELD(max_rdma_read_iov, MAX_RDMA_READ_IOV, 3, 17, -EINVAL),
	EP_FIELD(max_rdma_write_iov, MAX_RDMA_WRITE_IOV, 3, 17, -EINVAL),
	EP_FIELD(ep_transport_specific_count, NUM_TRANSPORT_ATTR, 0, 1,
		 -EINVAL),
	EP_FIELD(ep_provider_specific_count, NUM_PROVIDER_ATTR, 0, 1, -EINVAL),
};

static void ep_field_desc(const struct ep_field *field, char *desc)
{
	strscpy(desc, field->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ep_field, ep_fields, ep_field_desc);

static u32 *ep_field_of(const struct ep_field *field, struct dat_ep_attr *attr)
{
	/* All fields are 32 bits wide. */
	return (u32 *)((u8 *)attr + field->offset);
}

static void kdapl_ep_args_modify(struct kunit *test)
{
	const struct ep_field *field = test->param_value;
	struct dat_evd *recv = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct dat_evd *req = kit_evd(test, 16, DAT_EVD_DTO_FLAG);
	struct dat_ep *ep = kit_ep(test, recv, req, NULL, 4);
	struct dat_ep_param want = {}, got = {}, param;

	/* The other fields are not looked at. */
	memset(&param, 0xff, sizeof(param));
	KUNIT_ASSERT_EQ(test, dat_ep_query(ep, DAT_EP_FIELD_ALL, &want), 0);
	*ep_field_of(field, &param.ep_attr) = field->bad;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep, field->field, &param),
			field->ret);
	KUNIT_ASSERT_EQ(test, dat_ep_query(ep, DAT_EP_FIELD_ALL, &got), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&got.ep_attr, &want.ep_attr,
				     sizeof(want.ep_attr)), 0);

	*ep_field_of(field, &param.ep_attr) = field->good;
	*ep_field_of(field, &want.ep_attr) = field->good;
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep, field->field, &param), 0);
	KUNIT_ASSERT_EQ(test, dat_ep_query(ep, DAT_EP_FIELD_ALL, &got), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&got.ep_attr, &want.ep_attr,
				     sizeof(want.ep_attr)), 0);
	KUNIT_EXPECT_PTR_EQ(test, got.pz_handle, want.pz_handle);
	KUNIT_EXPECT_PTR_EQ(test, got.recv_evd_handle, recv);
	KUNIT_EXPECT_PTR_EQ(test, got.request_evd_handle, req);
}

/* Nothing of it once there is a connection. */
static void kdapl_ep_args_modify_late(struct kunit *test)
{
	struct dat_ep_param param = { .ep_attr.max_recv_dtos = 3 };
	struct kit_pair pair;

	kit_pair(test, &pair, NULL, NULL, 0);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(pair.client,
					    DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
					    &param), -EISCONN);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(pair.client, DAT_EP_FIELD_PZ_HANDLE,
					    &param), -EISCONN);
}

static void kdapl_ep_args_ep(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct dat_evd *dto = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	struct dat_ep_param param = { .ep_state = 77 };
	struct kit *kit = to_kit(test);
	struct dat_ep *ep = ARGS_MARK;
	enum dat_ep_state state = 77;
	enum dat_connect_flags flags;
	struct sockaddr_in addr;
	struct sockaddr *sa = (struct sockaddr *)&addr;
	u8 pdata[64] = {};

	ARGS_REFUSED(test, dat_ep_create(NULL, kit->pz, NULL, NULL, NULL, NULL,
					 &ep), ep);
	/* EVDs without the stream. */
	ARGS_REFUSED(test, dat_ep_create(kit->ia, kit->pz, conn, NULL, NULL,
					 NULL, &ep), ep);
	ARGS_REFUSED(test, dat_ep_create(kit->ia, kit->pz, NULL, conn, NULL,
					 NULL, &ep), ep);
	ARGS_REFUSED(test, dat_ep_create(kit->ia, kit->pz, NULL, NULL, dto,
					 NULL, &ep), ep);
	KUNIT_EXPECT_EQ(test, dat_ep_create(kit->ia, kit->pz, NULL, NULL, NULL,
					    NULL, NULL), -EINVAL);

	KUNIT_EXPECT_EQ(test, dat_ep_query(NULL, DAT_EP_FIELD_ALL, &param),
			-EINVAL);
	ep = kit_ep(test, dto, dto, conn, 8);
	KUNIT_EXPECT_EQ(test, dat_ep_query(ep, DAT_EP_FIELD_ALL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_query(ep, BIT_ULL(40), &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)param.ep_state, 77);
	KUNIT_EXPECT_EQ(test, dat_ep_get_status(NULL, &state, NULL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, (int)state, 77);

	KUNIT_EXPECT_EQ(test, dat_ep_modify(NULL, 0, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep, DAT_EP_FIELD_IA_HANDLE, &param),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep, DAT_EP_FIELD_EP_STATE, &param),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE,
					    &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_modify(ep, BIT_ULL(40), &param), -EINVAL);

	kit_address(&addr);
#define ARGS_CONNECT(ep, sa, qual, timeout, len, pdata, qos, flags)	\
	dat_ep_connect(ep, sa, qual, timeout, len, pdata, qos, flags)
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(NULL, sa, 1, 1, 0, NULL, 0, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(ep, NULL, 1, 1, 0, NULL, 0, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(ep, sa, 1, 0, 0, NULL, 0, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(ep, sa, 1, 1, -1, pdata, 0, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(ep, sa, 1, 1, 57, pdata, 0, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(ep, sa, 1, 1, 1, NULL, 0, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(ep, sa, 1, 1, 0, NULL,
					   DAT_QOS_PREMIUM, 0), -EOPNOTSUPP);
	flags = DAT_CONNECT_MULTIPATH_REQUIRED_FLAG;
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(ep, sa, 1, 1, 0, NULL, 0, flags),
			-EOPNOTSUPP);
	addr.sin_family = AF_UNIX;
	KUNIT_EXPECT_EQ(test, ARGS_CONNECT(ep, sa, 1, 1, 0, NULL, 0, 0),
			-EAFNOSUPPORT);
	KUNIT_EXPECT_EQ(test, dat_ep_dup_connect(NULL, ep, 1, 0, NULL, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_dup_connect(ep, NULL, 1, 0, NULL, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_disconnect(ep, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_reset(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_ep_free(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_CONNECT), 0U);
}

/* Connect and accept need a PZ and a connect EVD. */
static void kdapl_ep_args_not_ready(struct kunit *test)
{
	struct dat_evd *conn = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	struct kit *kit = to_kit(test);
	struct dat_ep *no_pz, *no_evd;

	KUNIT_ASSERT_EQ(test, dat_ep_create(kit->ia, NULL, NULL, NULL, conn,
					    NULL, &no_pz), 0);
	no_evd = kit_ep(test, NULL, NULL, NULL, 0);
	KUNIT_EXPECT_EQ(test, kit_connect(no_pz, 1), -EBADFD);
	KUNIT_EXPECT_EQ(test, kit_connect(no_evd, 1), -EBADFD);
	KUNIT_EXPECT_EQ(test, (int)kit_state(no_pz), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, (int)kit_state(no_evd), DAT_EP_STATE_UNCONNECTED);
}

static void kdapl_ep_args_sp(struct kunit *test)
{
	struct dat_evd *dto = kit_evd(test, 8, DAT_EVD_DTO_FLAG);
	struct dat_evd *evd = kit_evd(test, 8, DAT_EVD_CR_FLAG);
	struct dat_psp *psp = ARGS_MARK;
	struct dat_rsp *rsp = ARGS_MARK;
	struct kit *kit = to_kit(test);
	struct dat_psp_param psp_param = { .conn_qual = 77 };
	struct dat_rsp_param rsp_param = { .conn_qual = 77 };
	struct dat_cr_param cr_param;
	struct dat_ep *ep;
	u64 qual = 77;

	ep = kit_ep(test, NULL, NULL, NULL, 0);
	ARGS_REFUSED(test, dat_psp_create(NULL, 7001, evd, 0, &psp), psp);
	ARGS_REFUSED(test, dat_psp_create(kit->ia, 7001, NULL, 0, &psp), psp);
	ARGS_REFUSED(test, dat_psp_create(kit->ia, 7001, dto, 0, &psp), psp);
	ARGS_REFUSED(test, dat_psp_create(kit->ia, 0, evd, 0, &psp), psp);
	ARGS_REFUSED(test, dat_psp_create(kit->ia, 7001, evd, 9, &psp), psp);
	KUNIT_EXPECT_EQ(test, dat_psp_create(kit->ia, 7001, evd, 0, NULL),
			-EINVAL);
	ARGS_REFUSED(test, dat_psp_create_any(NULL, &qual, evd, 0, &psp), psp);
	ARGS_REFUSED(test, dat_psp_create_any(kit->ia, NULL, evd, 0, &psp),
		     psp);
	KUNIT_EXPECT_EQ(test, qual, 77ULL);
	KUNIT_EXPECT_EQ(test, fake_hca_live(FAKE_ID), 0);

	KUNIT_ASSERT_EQ(test, dat_psp_create(kit->ia, 7001, evd, 0, &psp), 0);
	KUNIT_EXPECT_EQ(test, dat_psp_query(NULL, 0, &psp_param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_psp_query(psp, 0x100, &psp_param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, psp_param.conn_qual, 77ULL);
	KUNIT_EXPECT_EQ(test, dat_psp_free(NULL), -EINVAL);

	ARGS_REFUSED(test, dat_rsp_create(NULL, 7002, ep, evd, &rsp), rsp);
	ARGS_REFUSED(test, dat_rsp_create(kit->ia, 7002, ep, NULL, &rsp), rsp);
	ARGS_REFUSED(test, dat_rsp_create(kit->ia, 7002, ep, dto, &rsp), rsp);
	ARGS_REFUSED(test, dat_rsp_create(kit->ia, 0, ep, evd, &rsp), rsp);
	KUNIT_EXPECT_EQ(test, dat_rsp_create(kit->ia, 7002, ep, evd, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_UNCONNECTED);
	/* The port is taken. */
	KUNIT_EXPECT_EQ(test, dat_rsp_create(kit->ia, 7001, ep, evd, &rsp),
			-EADDRINUSE);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_UNCONNECTED);
	KUNIT_EXPECT_EQ(test, dat_rsp_query(NULL, 0, &rsp_param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_rsp_free(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_cr_query(NULL, 0, &cr_param), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_cr_accept(NULL, ep, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(NULL, 0, NULL), -EINVAL);
}

static struct kunit_case kdapl_ep_args_cases[] = {
	KUNIT_CASE(kdapl_ep_args_foreign),
	KUNIT_CASE_PARAM(kdapl_ep_args_limits, ep_limit_gen_params),
	KUNIT_CASE_PARAM(kdapl_ep_args_modify, ep_field_gen_params),
	KUNIT_CASE(kdapl_ep_args_modify_late),
	KUNIT_CASE(kdapl_ep_args_ep),
	KUNIT_CASE(kdapl_ep_args_not_ready),
	KUNIT_CASE(kdapl_ep_args_sp),
	{}
};

static struct kunit_suite kdapl_ep_args_suite = {
	.name = "kdapl_ep_args",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_ep_args_cases,
};

kunit_test_suite(kdapl_ep_args_suite);

MODULE_DESCRIPTION("Suite: wrong arguments of endpoints and service points");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
