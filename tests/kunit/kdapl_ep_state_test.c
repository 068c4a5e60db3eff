// SPDX-License-Identifier: GPL-2.0
/*
 * Every state of an endpoint times every call. The table below is the one of
 * the specification, written out here; the code has its own.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep_state.h"
#include "kit.h"

#define U	DAT_EP_STATE_UNCONNECTED
#define R	DAT_EP_STATE_RESERVED
#define P	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
#define A	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
#define T	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING
#define CP	DAT_EP_STATE_COMPLETION_PENDING
#define C	DAT_EP_STATE_CONNECTED
#define DP	DAT_EP_STATE_DISCONNECT_PENDING
#define D	DAT_EP_STATE_DISCONNECTED

static const enum dat_ep_state states[] = { U, R, P, A, T, CP, C, DP, D };

/* An EP in some state, and what its making took. */
struct state_ep {
	struct kunit *test;
	struct dat_ep *ep;
	struct dat_ep *other;	/* an unconnected one */
	struct dat_evd *evd;	/* of everything */
	struct dat_cr *cr;	/* that waits for an answer with this EP */
	struct dat_pz *pz;	/* another one */
	struct kit_pair pair;
};

enum state_call {
	CALL_CONNECT,
	CALL_DUP_EP,
	CALL_DUP_SOURCE,
	CALL_ACCEPT,
	CALL_ACCEPT_OWN,
	CALL_ABRUPT,
	CALL_GRACEFUL,
	CALL_RESET,
	CALL_FREE,
	CALL_RSP_CREATE,
	CALL_MODIFY_PZ,
	CALL_MODIFY_SIZE,
	CALL_MODIFY_NAMED,
	CALL_POST_RECV,
	CALL_POST_SEND,
	CALL_POST_READ,
	CALL_POST_WRITE,
	CALL_QUERY,
	CALL_STATUS,
	CALLS,
};

/* One column per state, in the order of states[]: y ok, n refused, - no such. */
static const struct state_row {
	const char *name;
	const char *ok;
} state_rows[CALLS] = {
				/*           URPATcCdD */
	[CALL_CONNECT] = { "connect",		"ynnnnnnnn" },
	[CALL_DUP_EP] = { "dup_connect",	"ynnnnnnnn" },
	[CALL_DUP_SOURCE] = { "dup_connect's source", "nnnnnnynn" },
	[CALL_ACCEPT] = { "cr_accept",		"ynnnnnnnn" },
	[CALL_ACCEPT_OWN] = { "cr_accept of the CR's", "--y-y----" },
	[CALL_ABRUPT] = { "disconnect abrupt",	"nnnynyyyy" },
	[CALL_GRACEFUL] = { "disconnect graceful", "nnnynyyyy" },
	[CALL_RESET] = { "reset",		"ynnnnnnny" },
	[CALL_FREE] = { "free",			"ynnynyyyy" },
	[CALL_RSP_CREATE] = { "rsp_create",	"ynnnnnnnn" },
	[CALL_MODIFY_PZ] = { "modify PZ",	"ynnnynnnn" },
	[CALL_MODIFY_SIZE] = { "modify size",	"yyynynnnn" },
	[CALL_MODIFY_NAMED] = { "modify named",	"ynnnnnnnn" },
	[CALL_POST_RECV] = { "post_recv",	"yyyyyyyyy" },
	[CALL_POST_SEND] = { "post_send",	"nnnnnnyny" },
	[CALL_POST_READ] = { "post_rdma_read",	"nnnnnnyny" },
	[CALL_POST_WRITE] = { "post_rdma_write", "nnnnnnyny" },
	[CALL_QUERY] = { "query",		"yyyyyyyyy" },
	[CALL_STATUS] = { "get_status",		"yyyyyyyyy" },
};

static void state_row_desc(const struct state_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(state_row, state_rows, state_row_desc);

/* What a wrong state may be answered with. */
static bool state_is_errno(int ret)
{
	switch (ret) {
	case -EBADFD:
	case -EBUSY:
	case -EISCONN:
	case -ENOTCONN:
	case -EALREADY:
		return true;
	default:
		return false;
	}
}

/* The table in the code says the same as this one. */
static void kdapl_ep_state_table(struct kunit *test)
{
	static const struct {
		enum kdapl_ep_call theirs;
		enum state_call ours;
	} pairs[] = {
		{ KDAPL_CALL_CONNECT, CALL_CONNECT },
		{ KDAPL_CALL_DUP, CALL_DUP_SOURCE },
		{ KDAPL_CALL_ACCEPT, CALL_ACCEPT },
		{ KDAPL_CALL_ACCEPT_OWN, CALL_ACCEPT_OWN },
		{ KDAPL_CALL_DISCONNECT, CALL_ABRUPT },
		{ KDAPL_CALL_RESET, CALL_RESET },
		{ KDAPL_CALL_FREE, CALL_FREE },
		{ KDAPL_CALL_RSP_CREATE, CALL_RSP_CREATE },
		{ KDAPL_CALL_MODIFY_PZ, CALL_MODIFY_PZ },
		{ KDAPL_CALL_MODIFY, CALL_MODIFY_SIZE },
		{ KDAPL_CALL_MODIFY_NAMED, CALL_MODIFY_NAMED },
		{ KDAPL_CALL_POST_RECV, CALL_POST_RECV },
		{ KDAPL_CALL_POST_REQUEST, CALL_POST_SEND },
		{ KDAPL_CALL_QUERY, CALL_QUERY },
	};
	unsigned int i, s;
	char want;
	int ret;

	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(pairs), (size_t)KDAPL_CALLS);
	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		for (s = 0; s < ARRAY_SIZE(states); s++) {
			want = state_rows[pairs[i].ours].ok[s];
			ret = kdapl_ep_check_call(pairs[i].theirs, states[s]);
			KUNIT_EXPECT_EQ_MSG(test, ret == 0, want == 'y',
					    "%s in state %d",
					    state_rows[pairs[i].ours].name,
					    states[s]);
			if (ret)
				KUNIT_EXPECT_TRUE(test, state_is_errno(ret));
		}
}

/* Which state may follow which; 2a of the specification's digest. */
static void kdapl_ep_state_transitions(struct kunit *test)
{
	static const struct { enum dat_ep_state from, to; } ok[] = {
		{ U, R }, { R, U }, { R, P }, { P, U }, { P, CP }, { U, CP },
		{ T, CP }, { U, A }, { A, C }, { A, D }, { CP, C }, { CP, D },
		{ C, DP }, { C, D }, { DP, D }, { D, U },
	};
	static const struct { enum dat_ep_state from, to; } wrong[] = {
		{ U, C }, { U, DP }, { U, P }, { R, A }, { R, C }, { P, C },
		{ A, CP }, { A, U }, { A, DP }, { CP, A }, { CP, U }, { C, U },
		{ C, A }, { C, CP }, { DP, C }, { DP, U }, { D, C }, { D, A },
		{ D, DP }, { T, C }, { T, A },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ok); i++)
		KUNIT_EXPECT_TRUE_MSG(test,
				      kdapl_ep_may_follow(ok[i].from, ok[i].to),
				      "%d -> %d", ok[i].from, ok[i].to);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_FALSE_MSG(test,
				       kdapl_ep_may_follow(wrong[i].from,
							   wrong[i].to),
				       "%d -> %d", wrong[i].from, wrong[i].to);
	KUNIT_EXPECT_FALSE(test, kdapl_ep_may_follow(-1, U));
	KUNIT_EXPECT_FALSE(test, kdapl_ep_may_follow(U, 99));
}

/* A connection request at @port of the EVD; its CR. */
static struct dat_cr *state_request(struct state_ep *se, u16 port)
{
	struct dat_event event;

	KUNIT_ASSERT_NOT_NULL(se->test, fake_cm_request(port, NULL, 0));
	event = kit_next(se->evd);
	KUNIT_ASSERT_EQ(se->test, (int)event.event_number,
			(int)DAT_CONNECTION_REQUEST_EVENT);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

static struct dat_cr *state_psp_request(struct state_ep *se, u16 port,
					enum dat_psp_flags flags)
{
	struct dat_psp *psp;

	KUNIT_ASSERT_EQ(se->test, dat_psp_create(to_kit(se->test)->ia, port,
						 se->evd, flags, &psp), 0);
	return state_request(se, port);
}

static void state_configure(struct state_ep *se)
{
	struct dat_ep_param param = {
		.pz_handle = to_kit(se->test)->pz,
		.recv_evd_handle = se->evd,
		.request_evd_handle = se->evd,
		.connect_evd_handle = se->evd,
		.ep_attr.max_recv_dtos = 4,
		.ep_attr.max_request_dtos = 4,
	};

	KUNIT_ASSERT_EQ(se->test,
			dat_ep_modify(se->ep, DAT_EP_FIELD_PZ_HANDLE |
				      DAT_EP_FIELD_RECV_EVD_HANDLE |
				      DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				      DAT_EP_FIELD_CONNECT_EVD_HANDLE |
				      DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				      DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
				      &param), 0);
}

/* Brings an EP into @state. */
static void state_enter(struct state_ep *se, enum dat_ep_state state)
{
	struct kunit *test = se->test;
	struct dat_ia *ia = to_kit(test)->ia;
	struct dat_cr_param param = {};
	struct dat_rsp *rsp;

	se->evd = kit_evd(test, 128, DAT_EVD_DEFAULT_FLAG);
	se->other = kit_ep(test, se->evd, se->evd, se->evd, 4);
	KUNIT_ASSERT_EQ(test, dat_pz_create(ia, &se->pz), 0);
	if (state != T && state != C && state != DP)
		se->ep = kit_ep(test, se->evd, se->evd, se->evd, 4);

	switch (state) {
	case U:
		break;
	case R:
	case P:
		KUNIT_ASSERT_EQ(test, dat_rsp_create(ia, 6000, se->ep, se->evd,
						     &rsp), 0);
		if (state == P)
			se->cr = state_request(se, 6000);
		break;
	case A:
		fake_cm_script.no_connect = true;
		KUNIT_ASSERT_EQ(test, kit_connect(se->ep, 6001), 0);
		/* The script is read then: it may change from here on. */
		KUNIT_ASSERT_TRUE(test,
				  KIT_WAIT(fake_cm_count(FAKE_CM_CONNECT)));
		break;
	case T:
		se->cr = state_psp_request(se, 6002, DAT_PSP_PROVIDER_FLAG);
		KUNIT_ASSERT_EQ(test,
				dat_cr_query(se->cr,
					     DAT_CR_FIELD_LOCAL_EP_HANDLE,
					     &param), 0);
		se->ep = param.local_ep_handle;
		/* It comes with nothing, and could neither post nor accept. */
		state_configure(se);
		break;
	case CP:
		se->cr = state_psp_request(se, 6003, DAT_PSP_CONSUMER_FLAG);
		KUNIT_ASSERT_EQ(test, dat_cr_accept(se->cr, se->ep, 0, NULL),
				0);
		se->cr = NULL;
		break;
	case C:
	case DP:
		kit_pair(test, &se->pair, se->evd, se->evd, 4);
		se->ep = se->pair.client;
		if (state == C)
			break;
		/* The send stays with the fake, so the drain goes on. */
		KUNIT_ASSERT_EQ(test, kit_post_send(se->ep, 1, 0), 0);
		KUNIT_ASSERT_EQ(test,
				dat_ep_disconnect(se->ep,
						  DAT_CLOSE_GRACEFUL_FLAG), 0);
		break;
	default:
		fake_cm_script.no_connect = true;
		KUNIT_ASSERT_EQ(test, kit_connect(se->ep, 6004), 0);
		KUNIT_ASSERT_EQ(test,
				dat_ep_disconnect(se->ep,
						  DAT_CLOSE_ABRUPT_FLAG), 0);
		KIT_EXPECT_EVENT(test, se->evd,
				 DAT_CONNECTION_EVENT_DISCONNECTED);
		break;
	}
	KUNIT_ASSERT_EQ(test, (int)kit_state(se->ep), (int)state);
}

static int state_dup(struct dat_ep *ep, struct dat_ep *source)
{
	return dat_ep_dup_connect(ep, source, DAT_TIMEOUT_INFINITE, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

static int state_modify(struct state_ep *se, u64 mask)
{
	struct dat_ep_param param = {
		.pz_handle = se->pz,
		.ep_attr.max_rdma_read_in = 2,
	};

	return dat_ep_modify(se->ep, mask, &param);
}

static int state_make_call(struct state_ep *se, enum state_call call)
{
	struct dat_rmr_triplet remote = {};
	union dat_context cookie = {};
	struct kunit *test = se->test;
	struct dat_ep_param param;
	enum dat_ep_state state;
	struct kit_pair pair;
	struct dat_rsp *rsp;
	bool a, b;

	switch (call) {
	case CALL_CONNECT:
		return kit_connect(se->ep, 6010);
	case CALL_DUP_EP:
		/* The pair that this EP may be of has the port. */
		if (se->pair.server)
			return state_dup(se->ep, se->pair.server);
		fake_cm_script.no_connect = false;
		kit_pair(test, &pair, se->evd, se->evd, 4);
		return state_dup(se->ep, pair.client);
	case CALL_DUP_SOURCE:
		return state_dup(se->other, se->ep);
	case CALL_ACCEPT:
		return dat_cr_accept(state_psp_request(se, 6011,
						       DAT_PSP_CONSUMER_FLAG),
				     se->ep, 0, NULL);
	case CALL_ACCEPT_OWN:
		return dat_cr_accept(se->cr, NULL, 0, NULL);
	case CALL_ABRUPT:
		return dat_ep_disconnect(se->ep, DAT_CLOSE_ABRUPT_FLAG);
	case CALL_GRACEFUL:
		return dat_ep_disconnect(se->ep, DAT_CLOSE_GRACEFUL_FLAG);
	case CALL_RESET:
		return dat_ep_reset(se->ep);
	case CALL_FREE:
		return dat_ep_free(se->ep);
	case CALL_RSP_CREATE:
		return dat_rsp_create(to_kit(test)->ia, 6012, se->ep, se->evd,
				      &rsp);
	case CALL_MODIFY_PZ:
		return state_modify(se, DAT_EP_FIELD_PZ_HANDLE);
	case CALL_MODIFY_SIZE:
		return state_modify(se,
				    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN);
	case CALL_MODIFY_NAMED:
		return state_modify(se, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR);
	case CALL_POST_RECV:
		return kit_post_recv(se->ep, 1);
	case CALL_POST_SEND:
		return kit_post_send(se->ep, 1, 0);
	case CALL_POST_READ:
		return dat_ep_post_rdma_read(se->ep, 0, NULL, cookie, &remote,
					     0);
	case CALL_POST_WRITE:
		return dat_ep_post_rdma_write(se->ep, 0, NULL, cookie, &remote,
					      0);
	case CALL_QUERY:
		return dat_ep_query(se->ep, DAT_EP_FIELD_ALL, &param);
	default:
		return dat_ep_get_status(se->ep, &state, &a, &b);
	}
}

/* One call in all states; a refused one leaves the state alone. */
static void kdapl_ep_state_call(struct kunit *test)
{
	const struct state_row *row = test->param_value;
	enum state_call call = row - state_rows;
	struct state_ep *se;
	unsigned int s;
	int ret;

	se = kunit_kzalloc(test, sizeof(*se), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, se);
	for (s = 0; s < ARRAY_SIZE(states); s++) {
		if (row->ok[s] == '-')
			continue;
		memset(se, 0, sizeof(*se));
		se->test = test;
		state_enter(se, states[s]);
		ret = state_make_call(se, call);
		if (row->ok[s] == 'y') {
			KUNIT_EXPECT_EQ_MSG(test, ret, 0, "%s in state %d",
					    row->name, states[s]);
		} else {
			KUNIT_EXPECT_TRUE_MSG(test, state_is_errno(ret),
					      "%s in state %d is %d", row->name,
					      states[s], ret);
			KUNIT_EXPECT_EQ(test, (int)kit_state(se->ep),
					(int)states[s]);
		}
		/* The next state starts from nothing. */
		kit_exit(test);
		KUNIT_ASSERT_EQ(test, kit_init(test), 0);
	}
}

static struct kunit_case kdapl_ep_state_cases[] = {
	KUNIT_CASE(kdapl_ep_state_table),
	KUNIT_CASE(kdapl_ep_state_transitions),
	KUNIT_CASE_PARAM(kdapl_ep_state_call, state_row_gen_params),
	{}
};

static struct kunit_suite kdapl_ep_state_suite = {
	.name = "kdapl_ep_state",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_ep_state_cases,
};

kunit_test_suite(kdapl_ep_state_suite);

MODULE_DESCRIPTION("Suite: states of endpoints");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
