// SPDX-License-Identifier: GPL-2.0
/*
 * Every status of a completion and every event of the CM, and what DAT makes of
 * them; the tables are written out here a second time, from the specification.
 */
#include <linux/module.h>
#include <rdma/ib_cm.h>

#include "../../drivers/kdapl/cm.h"
#include "../../drivers/kdapl/errno.h"
#include "kit.h"

static const struct wc_case {
	enum ib_wc_status status;
	enum dat_dto_completion_status dat;
} wc_cases[] = {
	{ IB_WC_SUCCESS, DAT_DTO_SUCCESS },
	{ IB_WC_LOC_LEN_ERR, DAT_DTO_ERR_LOCAL_LENGTH },
	{ IB_WC_LOC_QP_OP_ERR, DAT_DTO_ERR_LOCAL_EP },
	{ IB_WC_LOC_EEC_OP_ERR, DAT_DTO_ERR_TRANSPORT },
	{ IB_WC_LOC_PROT_ERR, DAT_DTO_ERR_LOCAL_PROTECTION },
	{ IB_WC_WR_FLUSH_ERR, DAT_DTO_ERR_FLUSHED },
	{ IB_WC_MW_BIND_ERR, DAT_RMR_OPERATION_FAILED },
	{ IB_WC_BAD_RESP_ERR, DAT_DTO_ERR_BAD_RESPONSE },
	{ IB_WC_LOC_ACCESS_ERR, DAT_DTO_ERR_LOCAL_PROTECTION },
	{ IB_WC_REM_INV_REQ_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
	{ IB_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS },
	{ IB_WC_REM_OP_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
	{ IB_WC_RETRY_EXC_ERR, DAT_DTO_ERR_TRANSPORT },
	{ IB_WC_RNR_RETRY_EXC_ERR, DAT_DTO_ERR_RECEIVER_NOT_READY },
	{ IB_WC_LOC_RDD_VIOL_ERR, DAT_DTO_ERR_LOCAL_PROTECTION },
	{ IB_WC_REM_INV_RD_REQ_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
	{ IB_WC_REM_ABORT_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
	{ IB_WC_INV_EECN_ERR, DAT_DTO_ERR_TRANSPORT },
	{ IB_WC_INV_EEC_STATE_ERR, DAT_DTO_ERR_TRANSPORT },
	{ IB_WC_FATAL_ERR, DAT_DTO_ERR_TRANSPORT },
	{ IB_WC_RESP_TIMEOUT_ERR, DAT_DTO_ERR_RECEIVER_NOT_READY },
	{ IB_WC_GENERAL_ERR, DAT_DTO_ERR_TRANSPORT },
	/* Not one of them. */
	{ IB_WC_GENERAL_ERR + 1, DAT_DTO_ERR_FLUSHED },
	{ 0x7fffffff, DAT_DTO_ERR_FLUSHED },
};

static void wc_desc(const struct wc_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%d %s", c->status,
		 ib_wc_status_msg(c->status));
}

KUNIT_ARRAY_PARAM(wc, wc_cases, wc_desc);

static void kdapl_errno_wc_status(struct kunit *test)
{
	const struct wc_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, (int)kdapl_errno_wc(c->status, DAT_DTO_SEND),
			(int)c->dat);
	KUNIT_EXPECT_EQ(test, (int)kdapl_errno_wc(c->status, DAT_DTO_RECEIVE),
			(int)c->dat);
	KUNIT_EXPECT_EQ(test, (int)kdapl_errno_wc(c->status, DAT_DTO_RDMA_READ),
			(int)c->dat);
	KUNIT_EXPECT_EQ(test,
			(int)kdapl_errno_wc(c->status, DAT_DTO_RDMA_WRITE),
			(int)c->dat);
}

/* A failed registration or bind has statuses of its own. */
static void kdapl_errno_wc_memory(struct kunit *test)
{
	static const enum ib_wc_status mm[] = {
		IB_WC_LOC_QP_OP_ERR, IB_WC_LOC_PROT_ERR, IB_WC_MW_BIND_ERR,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mm); i++) {
		KUNIT_EXPECT_EQ(test,
				(int)kdapl_errno_wc(mm[i], DAT_DTO_LMR_FMR),
				(int)DAT_DTO_ERR_LOCAL_MM_ERROR);
		KUNIT_EXPECT_EQ(test,
				(int)kdapl_errno_wc(mm[i],
						    DAT_DTO_LMR_INVALIDATE),
				(int)DAT_DTO_ERR_LOCAL_MM_ERROR);
		KUNIT_EXPECT_EQ(test,
				(int)kdapl_errno_wc(mm[i], DAT_DTO_BIND_MW),
				(int)DAT_RMR_OPERATION_FAILED);
	}
	KUNIT_EXPECT_EQ(test, (int)kdapl_errno_wc(IB_WC_WR_FLUSH_ERR,
						  DAT_DTO_LMR_FMR),
			(int)DAT_DTO_ERR_FLUSHED);
	KUNIT_EXPECT_EQ(test, (int)kdapl_errno_wc(IB_WC_SUCCESS,
						  DAT_DTO_BIND_MW),
			(int)DAT_RMR_BIND_SUCCESS);
}

#define A	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
#define CP	DAT_EP_STATE_COMPLETION_PENDING
#define C	DAT_EP_STATE_CONNECTED
#define DP	DAT_EP_STATE_DISCONNECT_PENDING
#define D	DAT_EP_STATE_DISCONNECTED
#define U	DAT_EP_STATE_UNCONNECTED
#define EV(name)	DAT_CONNECTION_EVENT_##name
#define CM(name)	RDMA_CM_EVENT_##name

static const struct map_case {
	struct kdapl_cm_outcome in;
	enum dat_event_number out;
} map_cases[] = {
	/* event, status, iwarp, data, active, state */
	{ { CM(ADDR_ERROR), -ENETUNREACH, 0, 0, 1, A }, EV(UNREACHABLE) },
	{ { CM(ROUTE_ERROR), -ETIMEDOUT, 0, 0, 1, A }, EV(UNREACHABLE) },
	{ { CM(UNREACHABLE), -ETIMEDOUT, 0, 0, 1, A }, EV(UNREACHABLE) },
	{ { CM(CONNECT_ERROR), -ETIMEDOUT, 0, 0, 1, A }, EV(UNREACHABLE) },
	{ { CM(CONNECT_ERROR), -EINVAL, 0, 0, 1, A }, EV(NON_PEER_REJECTED) },
	{ { CM(REJECTED), IB_CM_REJ_CONSUMER_DEFINED, 0, 1, 1, A },
	  EV(PEER_REJECTED) },
	{ { CM(REJECTED), IB_CM_REJ_CONSUMER_DEFINED, 0, 0, 1, A },
	  EV(PEER_REJECTED) },
	{ { CM(REJECTED), IB_CM_REJ_INVALID_SERVICE_ID, 0, 1, 1, A },
	  EV(NON_PEER_REJECTED) },
	{ { CM(REJECTED), IB_CM_REJ_NO_RESOURCES, 0, 0, 1, A },
	  EV(NON_PEER_REJECTED) },
	{ { CM(REJECTED), IB_CM_REJ_STALE_CONN, 0, 0, 1, A },
	  EV(NON_PEER_REJECTED) },
	{ { CM(REJECTED), -ECONNREFUSED, 1, 1, 1, A }, EV(PEER_REJECTED) },
	{ { CM(REJECTED), -ECONNREFUSED, 1, 0, 1, A }, EV(NON_PEER_REJECTED) },
	{ { CM(ESTABLISHED), 0, 1, 0, 1, A }, EV(ESTABLISHED) },
	{ { CM(DEVICE_REMOVAL), 0, 0, 0, 1, A }, EV(BROKEN) },
	/* Not terminal, or not for this side. */
	{ { CM(ADDR_RESOLVED), 0, 0, 0, 1, A }, 0 },
	{ { CM(ROUTE_RESOLVED), 0, 0, 0, 1, A }, 0 },
	{ { CM(DISCONNECTED), 0, 0, 0, 1, A }, 0 },
	{ { CM(TIMEWAIT_EXIT), 0, 0, 0, 1, A }, 0 },
	{ { CM(ADDR_CHANGE), 0, 0, 0, 1, A }, 0 },
	/* The passive side. */
	{ { CM(ESTABLISHED), 0, 0, 0, 0, CP }, EV(ESTABLISHED) },
	{ { CM(UNREACHABLE), -ETIMEDOUT, 0, 0, 0, CP },
	  EV(ACCEPT_COMPLETION_ERROR) },
	{ { CM(CONNECT_ERROR), -EIO, 0, 0, 0, CP },
	  EV(ACCEPT_COMPLETION_ERROR) },
	{ { CM(REJECTED), IB_CM_REJ_CONSUMER_DEFINED, 0, 1, 0, CP },
	  EV(ACCEPT_COMPLETION_ERROR) },
	{ { CM(REJECTED), IB_CM_REJ_TIMEOUT, 0, 0, 0, CP },
	  EV(ACCEPT_COMPLETION_ERROR) },
	{ { CM(DEVICE_REMOVAL), 0, 0, 0, 0, CP }, EV(BROKEN) },
	{ { CM(TIMEWAIT_EXIT), 0, 0, 0, 0, CP }, 0 },
	/* Connected. */
	{ { CM(DISCONNECTED), 0, 0, 0, 1, C }, EV(DISCONNECTED) },
	{ { CM(DISCONNECTED), -ETIMEDOUT, 0, 0, 0, DP }, EV(DISCONNECTED) },
	{ { CM(DEVICE_REMOVAL), 0, 0, 0, 1, C }, EV(BROKEN) },
	{ { CM(TIMEWAIT_EXIT), 0, 0, 0, 1, C }, 0 },
	{ { CM(ADDR_CHANGE), 0, 0, 0, 1, C }, 0 },
	{ { CM(UNREACHABLE), -ETIMEDOUT, 0, 0, 1, C }, 0 },
	{ { CM(ESTABLISHED), 0, 0, 0, 1, C }, 0 },
	/* Over, or not begun. */
	{ { CM(DISCONNECTED), 0, 0, 0, 1, D }, 0 },
	{ { CM(REJECTED), IB_CM_REJ_CONSUMER_DEFINED, 0, 1, 1, D }, 0 },
	{ { CM(UNREACHABLE), -ETIMEDOUT, 0, 0, 1, D }, 0 },
	{ { CM(ESTABLISHED), 0, 0, 0, 0, U }, 0 },
};

static void map_desc(const struct map_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %d in state %d, %s",
		 rdma_event_msg(c->in.event), c->in.status, c->in.state,
		 c->in.active ? "active" : "passive");
}

KUNIT_ARRAY_PARAM(map, map_cases, map_desc);

static void kdapl_errno_cm_event(struct kunit *test)
{
	const struct map_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_map(&c->in), (int)c->out);
}

/*
 * libdapl puts four bytes in front of the private data of a reject, and skips
 * them; what another peer sends is left alone.
 */
static void kdapl_errno_reject_framing(struct kunit *test)
{
	static const u8 data[] = { 0xde, 0xad };
	u8 out[KDAPL_REJECT_HEADER + sizeof(data)] = {};
	u8 foreign[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_frame_reject(out, data, 2), 6);
	KUNIT_EXPECT_EQ(test, (int)out[0], DAT_VERSION_MAJOR);
	KUNIT_EXPECT_EQ(test, (int)out[1], DAT_VERSION_MINOR);
	KUNIT_EXPECT_EQ(test, (int)out[4], 0xde);
	KUNIT_EXPECT_EQ(test, (int)out[5], 0xad);
	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_reject_offset(out, sizeof(out)),
			KDAPL_REJECT_HEADER);
	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_frame_reject(out, NULL, 0),
			KDAPL_REJECT_HEADER);
	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_reject_offset(out, 4), 4);
	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_reject_offset(out, 3), 0);
	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_reject_offset(out, 0), 0);
	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_reject_offset(foreign, 8), 0);
}

/* libdapl's mapping of 64-bit qualifiers to ports, from its source's formula. */
static void kdapl_errno_conn_qual(struct kunit *test)
{
	static const u64 quals[] = {
		1, 1023, 45248, 65535, 65536, 0x12345678, ~0ULL,
	};
	unsigned int i;
	u64 want;

	for (i = 0; i < ARRAY_SIZE(quals); i++) {
		want = quals[i] <= 0xffff ? quals[i] : quals[i] % 32001 + 33534;
		KUNIT_EXPECT_EQ(test, (u64)kdapl_cm_qual_to_port(quals[i]),
				want);
	}
	KUNIT_EXPECT_EQ(test, (int)kdapl_cm_qual_to_port(0), 0);
}

/* Every errno that a call returns has names, and they can always be printed. */
static void kdapl_errno_strerror(struct kunit *test)
{
	static const int known[] = {
		0, -ECANCELED, -EADDRINUSE, -EADDRNOTAVAIL, -ENOMEM, -ENOSPC,
		-EIO, -EBADF, -EINVAL, -EBADFD, -EBUSY, -EISCONN, -ENOTCONN,
		-EALREADY, -EDEADLK, -ESHUTDOWN, -EMSGSIZE, -EOPNOTSUPP,
		-ENODEV, -EEXIST, -EACCES, -EPERM, -EAGAIN, -ENOBUFS,
		-ETIMEDOUT, -EINTR, -EHOSTUNREACH, -EAFNOSUPPORT,
		-EPROTONOSUPPORT,
	};
	static const int unknown[] = { 1, EINVAL, -1000, -EXDEV };
	const char *major, *minor;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		major = NULL;
		minor = NULL;
		KUNIT_EXPECT_EQ(test, dat_strerror(known[i], &major, &minor),
				0);
		KUNIT_ASSERT_NOT_NULL(test, major);
		KUNIT_ASSERT_NOT_NULL(test, minor);
		KUNIT_EXPECT_EQ(test, strncmp(major, "DAT_", 4), 0);
	}
	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		major = NULL;
		minor = NULL;
		KUNIT_EXPECT_EQ(test, dat_strerror(unknown[i], &major, &minor),
				-EINVAL);
		KUNIT_EXPECT_NOT_NULL(test, major);
		KUNIT_EXPECT_NOT_NULL(test, minor);
	}
	major = (const char *)1UL;
	minor = (const char *)1UL;
	KUNIT_EXPECT_EQ(test, dat_strerror(0, NULL, &minor), -EINVAL);
	KUNIT_EXPECT_EQ(test, dat_strerror(0, &major, NULL), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, major, (const char *)1UL);
	KUNIT_EXPECT_PTR_EQ(test, minor, (const char *)1UL);
}

static void kdapl_errno_strerror_names(struct kunit *test)
{
	const char *major, *minor;

	KUNIT_ASSERT_EQ(test, dat_strerror(-EAGAIN, &major, &minor), 0);
	KUNIT_EXPECT_STREQ(test, major, "DAT_QUEUE_EMPTY");
	KUNIT_ASSERT_EQ(test, dat_strerror(-ENOBUFS, &major, &minor), 0);
	KUNIT_EXPECT_STREQ(test, major, "DAT_QUEUE_FULL");
	KUNIT_ASSERT_EQ(test, dat_strerror(-EACCES, &major, &minor), 0);
	KUNIT_EXPECT_STREQ(test, major, "DAT_PRIVILEGES_VIOLATION");
	KUNIT_ASSERT_EQ(test, dat_strerror(-EPERM, &major, &minor), 0);
	KUNIT_EXPECT_STREQ(test, major, "DAT_PROTECTION_VIOLATION");
	KUNIT_ASSERT_EQ(test, dat_strerror(-EINVAL, &major, &minor), 0);
	KUNIT_EXPECT_STREQ(test, major, "DAT_INVALID_PARAMETER");
}

static struct kunit_case kdapl_errno_cases[] = {
	KUNIT_CASE_PARAM(kdapl_errno_wc_status, wc_gen_params),
	KUNIT_CASE(kdapl_errno_wc_memory),
	KUNIT_CASE_PARAM(kdapl_errno_cm_event, map_gen_params),
	KUNIT_CASE(kdapl_errno_reject_framing),
	KUNIT_CASE(kdapl_errno_conn_qual),
	KUNIT_CASE(kdapl_errno_strerror),
	KUNIT_CASE(kdapl_errno_strerror_names),
	{}
};

static struct kunit_suite kdapl_errno_suite = {
	.name = "kdapl_errno",
	.test_cases = kdapl_errno_cases,
};

kunit_test_suite(kdapl_errno_suite);

MODULE_DESCRIPTION("Suite: mappings of status values");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
