// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection request makes on its way to the consumer, with its n-th step
 * failing, for every n: the CR, and the EP that some service points bring along.
 * The CM's handler runs in the task of the test, so that its allocations fail, too.
 * A request that could not be shown is refused, and one that could not be handed off
 * is where it was.
 */
#include <linux/module.h>

#include "walk.h"

/* The kinds of service points, by their ports. */
enum request_port {
	REQUEST_PSP = KIT_PORT,
	REQUEST_PSP_EP,		/* makes EPs */
	REQUEST_RSP,
	REQUEST_CSP,
};

/**
 * struct request_case - a request
 * @name: of it
 * @port: through which it comes
 * @handoff: where it is handed off to, if that is what is walked, or 0
 */
struct request_case {
	const char *name;
	enum request_port port;
	enum request_port handoff;
};

struct request {
	const struct request_case *c;
	struct dat_evd *cr_evd;
	struct dat_evd *conn_evd;
	struct dat_ep *ep;	/* of the RSP */
	struct dat_rsp *rsp;
	struct dat_cr *cr;
	enum request_port at;	/* where @cr came through */
};

static void request_prepare(struct walk *w)
{
	struct request *r = w->priv;

	r->cr = NULL;
	r->at = r->c->port;
	r->ep = kit_ep(w->test, NULL, NULL, r->conn_evd, 0);
	KUNIT_ASSERT_EQ(w->test, dat_rsp_create(to_kit(w->test)->ia,
						REQUEST_RSP, r->ep, r->cr_evd,
						&r->rsp), 0);
}

/* The next event is a request, with the EP that belongs to it. */
static void request_take(struct walk *w)
{
	struct request *r = w->priv;
	struct dat_cr_param param = {};
	struct dat_event event = {};

	KUNIT_ASSERT_EQ(w->test, dat_evd_dequeue(r->cr_evd, &event), 0);
	KUNIT_ASSERT_EQ(w->test, (int)event.event_number,
			(int)DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_EXPECT_EQ(w->test,
			event.event_data.cr_arrival_event_data.conn_qual,
			(u64)r->at);
	r->cr = event.event_data.cr_arrival_event_data.cr_handle;
	KUNIT_EXPECT_EQ(w->test, dat_cr_query(r->cr, DAT_CR_FIELD_ALL, &param),
			0);
	switch (r->at) {
	case REQUEST_PSP_EP:
		KUNIT_ASSERT_NOT_NULL(w->test, param.local_ep_handle);
		KUNIT_EXPECT_EQ(w->test, (int)kit_state(param.local_ep_handle),
				(int)DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
		break;
	case REQUEST_RSP:
		KUNIT_EXPECT_PTR_EQ(w->test, param.local_ep_handle, r->ep);
		break;
	default:
		KUNIT_EXPECT_NULL(w->test, param.local_ep_handle);
		break;
	}
}

/* Nothing else is queued, and the RSP's EP has a request if it should. */
static void request_check(struct walk *w)
{
	struct request *r = w->priv;
	bool has = r->cr && r->at == REQUEST_RSP;
	enum dat_ep_state idle = DAT_EP_STATE_RESERVED;

	/* An RSP has one request in its life. */
	if (r->c->port == REQUEST_RSP && r->at != REQUEST_RSP)
		idle = DAT_EP_STATE_UNCONNECTED;
	KUNIT_EXPECT_EQ(w->test, kit_drain(r->cr_evd), 0U);
	KUNIT_EXPECT_EQ(w->test, (int)kit_state(r->ep), has ?
			(int)DAT_EP_STATE_PASSIVE_CONNECTION_PENDING :
			(int)idle);
}

static int request_arrive(struct walk *w)
{
	struct request *r = w->priv;
	struct rdma_cm_id *id;

	id = fake_cm_request(r->c->port, NULL, 0);
	if (id)
		request_take(w);
	request_check(w);
	return id ? 0 : -ENOMEM;
}

static void request_arrived(struct walk *w)
{
	KUNIT_EXPECT_EQ(w->test, request_arrive(w), 0);
}

static void request_prepare_handoff(struct walk *w)
{
	request_prepare(w);
	request_arrived(w);
}

static int request_handoff(struct walk *w)
{
	struct request *r = w->priv;
	int ret;

	ret = dat_cr_handoff(r->cr, r->c->handoff);
	if (!ret) {
		r->at = r->c->handoff;
		request_take(w);
	}
	request_check(w);
	return ret;
}

/* Whatever has failed, it can be answered, or comes again. */
static void request_finish(struct walk *w)
{
	struct request *r = w->priv;

	if (!r->cr)
		request_arrived(w);
	KUNIT_EXPECT_EQ(w->test, dat_cr_reject(r->cr, 0, NULL), 0);
	KUNIT_EXPECT_EQ(w->test, dat_rsp_free(r->rsp), 0);
	KUNIT_EXPECT_EQ(w->test, dat_ep_free(r->ep), 0);
}

static const struct request_case request_cases[] = {
	{ "a request to a PSP", REQUEST_PSP },
	{ "a request to a PSP that makes EPs", REQUEST_PSP_EP },
	{ "a request to an RSP", REQUEST_RSP },
	{ "a request to a CSP", REQUEST_CSP },
	{ "dat_cr_handoff to a PSP", REQUEST_CSP, REQUEST_PSP },
	{ "dat_cr_handoff, and an EP comes", REQUEST_PSP, REQUEST_PSP_EP },
	{ "dat_cr_handoff, and an EP goes", REQUEST_PSP_EP, REQUEST_PSP },
	{ "dat_cr_handoff, one EP for another", REQUEST_PSP_EP, REQUEST_RSP },
	{ "dat_cr_handoff of an RSP", REQUEST_RSP, REQUEST_CSP },
};

static void request_desc(const struct request_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(request, request_cases, request_desc);

static void kdapl_walk_requests(struct kunit *test)
{
	struct dat_comm comm = { .domain = AF_INET, .type = SOCK_STREAM };
	const struct request_case *c = test->param_value;
	struct walk_step step = {
		.name = c->name,
		.prepare = c->handoff ? request_prepare_handoff :
					request_prepare,
		.call = c->handoff ? request_handoff : request_arrive,
		.finish = request_finish,
	};
	struct dat_ia *ia = to_kit(test)->ia;
	struct sockaddr_in addr;
	struct dat_psp *psp;
	struct dat_csp *csp;
	struct request *r;

	r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	r->c = c;
	r->cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	r->conn_evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	KUNIT_ASSERT_EQ(test, dat_psp_create(ia, REQUEST_PSP, r->cr_evd,
					     DAT_PSP_CONSUMER_FLAG, &psp), 0);
	KUNIT_ASSERT_EQ(test, dat_psp_create(ia, REQUEST_PSP_EP, r->cr_evd,
					     DAT_PSP_PROVIDER_FLAG, &psp), 0);
	kit_address(&addr);
	addr.sin_port = htons(REQUEST_CSP);
	KUNIT_ASSERT_EQ(test, dat_csp_create(ia, &comm,
					     (struct sockaddr *)&addr,
					     r->cr_evd, &csp), 0);
	walk_run(test, &step, r);
}

static void kdapl_walk_requests_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	kdapl_walk_requests(test);
}

static struct kunit_case kdapl_walk_request_cases[] = {
	KUNIT_CASE_PARAM(kdapl_walk_requests, request_gen_params),
	KUNIT_CASE_PARAM(kdapl_walk_requests_iwarp, request_gen_params),
	{}
};

static struct kunit_suite kdapl_walk_request_suite = {
	.name = "kdapl_walk_request",
	.init = kit_init,
	.exit = kit_exit_replug,
	.suite_exit = walk_report,
	.test_cases = kdapl_walk_request_cases,
};

kunit_test_suite(kdapl_walk_request_suite);

MODULE_DESCRIPTION("Suite: failures inside connection requests");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
