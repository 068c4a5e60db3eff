// SPDX-License-Identifier: GPL-2.0
/*
 * Every state of an endpoint times every call. The table below is the one of
 * the specification, written out here; the code has its own.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/ep_state.h"
#include "rmr_kit.h"

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
	CALL_COMMON,
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
	CALL_BIND,
	CALL_FMR,
	CALL_INVALIDATE,
	CALL_QUERY,
	CALL_STATUS,
	CALL_RECV_QUERY,
	CALL_WATERMARK,
	CALLS,
};

/*
 * One column per state, in the order of states[]: what the call says there, as
 * Documentation/endpoints.rst has it. y 0, b -EBUSY, l -EALREADY, i -EISCONN,
 * c -ENOTCONN, d -EBADFD, o -EOPNOTSUPP, - cannot be tried, would be -EBADFD.
 */
static const struct state_row {
	const char *name;
	const char *says;
} state_rows[CALLS] = {
				/*           URPATcCdD */
	[CALL_CONNECT] = { "connect",		"ybblblild" },
	[CALL_COMMON] = { "common_connect",	"ybblblild" },
	[CALL_DUP_EP] = { "dup_connect",	"ybblblild" },
	[CALL_DUP_SOURCE] = { "dup_connect's source", "ccccccycc" },
	[CALL_ACCEPT] = { "cr_accept",		"ybblblild" },
	[CALL_ACCEPT_OWN] = { "cr_accept of the CR's", "--y-y----" },
	[CALL_ABRUPT] = { "disconnect abrupt",	"cccycyyyy" },
	[CALL_GRACEFUL] = { "disconnect graceful", "cccycyyyy" },
	[CALL_RESET] = { "reset",		"ybblblily" },
	[CALL_FREE] = { "free",			"ybbybyyyy" },
	[CALL_RSP_CREATE] = { "rsp_create",	"ybblblild" },
	[CALL_MODIFY_PZ] = { "modify PZ",	"ybblylild" },
	[CALL_MODIFY_SIZE] = { "modify size",	"yyylylild" },
	[CALL_MODIFY_NAMED] = { "modify named",	"ybblblild" },
	[CALL_POST_RECV] = { "post_recv",	"yyyyyyyyy" },
	[CALL_POST_SEND] = { "post_send",	"ccccccycy" },
	[CALL_POST_READ] = { "post_rdma_read",	"ccccccycy" },
	[CALL_POST_WRITE] = { "post_rdma_write", "ccccccycy" },
	[CALL_BIND] = { "rmr_bind",		"ccccccycy" },
	[CALL_FMR] = { "lmr_fmr",		"ccccccycy" },
	[CALL_INVALIDATE] = { "lmr_invalidate",	"ccccccycy" },
	[CALL_QUERY] = { "query",		"yyyyyyyyy" },
	[CALL_STATUS] = { "get_status",		"yyyyyyyyy" },
	[CALL_RECV_QUERY] = { "recv_query",	"yyyyyyyyy" },
	[CALL_WATERMARK] = { "set_watermark, no SRQ", "ooooooooo" },
};

static void state_row_desc(const struct state_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(state_row, state_rows, state_row_desc);

static const int state_errno[] = {
	['y'] = 0, ['b'] = -EBUSY, ['l'] = -EALREADY, ['i'] = -EISCONN,
	['c'] = -ENOTCONN, ['d'] = -EBADFD, ['-'] = -EBADFD, ['o'] = -EOPNOTSUPP,
};

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

	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(pairs), (size_t)KDAPL_CALLS);
	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		for (s = 0; s < ARRAY_SIZE(states); s++)
			KUNIT_EXPECT_EQ_MSG(test,
					    kdapl_ep_check_call(pairs[i].theirs,
								states[s]),
					    state_errno[(u8)state_rows[pairs[i].ours].says[s]],
					    "%s in state %d",
					    state_rows[pairs[i].ours].name,
					    states[s]);
}

/* Which state may follow which; 2a of the specification's digest. */
static void kdapl_ep_state_transitions(struct kunit *test)
{
	static const struct { enum dat_ep_state from, to; } ok[] = {
		{ U, R }, { R, U }, { R, P }, { P, R }, { P, U }, { P, CP },
		{ U, CP }, { T, CP }, { U, A }, { A, C }, { A, D }, { CP, C }, { CP, D },
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

static int state_common(struct dat_ep *ep)
{
	struct sockaddr_in addr;

	kit_address(&addr);
	addr.sin_port = htons(6013);
	return dat_ep_common_connect(ep, (struct sockaddr *)&addr,
				     DAT_TIMEOUT_INFINITE, 0, NULL);
}

/* Memory for a call that the EP is to carry. */
static struct rmr_test *state_memory(struct state_ep *se)
{
	struct kunit *test = se->test;
	struct rmr_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->mem = kunit_kzalloc(test, sizeof(*t->mem), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->mem);
	t->mem->test = test;
	t->mem->memory = kunit_kzalloc(test, MEM_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->mem->memory);
	t->mem->ep = se->ep;
	return t;
}

static int state_bind(struct state_ep *se)
{
	struct rmr_test *t = state_memory(se);
	struct dat_pz *pz = to_kit(se->test)->pz;
	u32 key;

	t->lmr = rmr_lmr(t->mem, pz, MEM_LOCAL, &t->lctx);
	KUNIT_ASSERT_EQ(se->test, dat_rmr_create(pz, &t->rmr), 0);
	return rmr_bind(t, 0, PAGE_SIZE, &key);
}

static int state_fmr(struct mem *mem, struct dat_lmr *lmr)
{
	u32 lctx, rctx;

	return mem_fmr(mem, lmr, 0, 1, 0, &lctx, &rctx);
}

/* Of what another EP, which is connected, has registered. */
static int state_invalidate(struct state_ep *se)
{
	struct rmr_test *t = state_memory(se);
	struct kunit *test = se->test;
	struct dat_lmr *lmr = mem_allocate(t->mem, 1);
	struct kit_pair pair = se->pair;

	if (!pair.server) {
		fake_cm_script.no_connect = false;
		kit_pair(test, &pair, se->evd, se->evd, 4);
	}
	t->mem->ep = pair.server;
	KUNIT_ASSERT_EQ(test, state_fmr(t->mem, lmr), 0);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(kit_drain(se->evd)));
	KUNIT_ASSERT_TRUE(test, mem_bound(lmr));
	t->mem->ep = se->ep;
	return mem_invalidate(t->mem, lmr, 0);
}

static int state_make_call(struct state_ep *se, enum state_call call)
{
	struct dat_rmr_triplet remote = {};
	union dat_context cookie = {};
	struct kunit *test = se->test;
	struct dat_ep_param param;
	enum dat_ep_state state;
	struct kit_pair pair;
	struct rmr_test *t;
	struct dat_rsp *rsp;
	bool a, b;
	int held;

	switch (call) {
	case CALL_CONNECT:
		return kit_connect(se->ep, 6010);
	case CALL_COMMON:
		return state_common(se->ep);
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
	case CALL_BIND:
		return state_bind(se);
	case CALL_FMR:
		t = state_memory(se);
		return state_fmr(t->mem, mem_allocate(t->mem, 1));
	case CALL_INVALIDATE:
		return state_invalidate(se);
	case CALL_RECV_QUERY:
		return dat_ep_recv_query(se->ep, &held, NULL);
	case CALL_WATERMARK:
		return dat_ep_set_watermark(se->ep, 1, 2);
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

	se = kunit_kzalloc(test, sizeof(*se), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, se);
	for (s = 0; s < ARRAY_SIZE(states); s++) {
		if (row->says[s] == '-')
			continue;
		memset(se, 0, sizeof(*se));
		se->test = test;
		state_enter(se, states[s]);
		KUNIT_EXPECT_EQ_MSG(test, state_make_call(se, call),
				    state_errno[(u8)row->says[s]],
				    "%s in state %d", row->name, states[s]);
		if (row->says[s] != 'y')
			KUNIT_EXPECT_EQ(test, (int)kit_state(se->ep),
					(int)states[s]);
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
