// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a connection with its n-th step failing, for every n: whoever was
 * told that an attempt is under way hears of its end, once, and nothing is left.
 */
#include <linux/module.h>

#include "path_kit.h"

static int path_graceful(struct walk *w)
{
	struct path_kit *p = w->priv;
	int ret;

	ret = path_request(w, KIT_PORT, p->cr_evd);
	if (ret)
		return ret;
	path_accept(w, p->server);
	return path_end(w, DAT_CLOSE_GRACEFUL_FLAG);
}

static int path_abrupt(struct walk *w)
{
	struct path_kit *p = w->priv;
	int ret;

	ret = path_request(w, KIT_PORT, p->cr_evd);
	if (ret)
		return ret;
	path_accept(w, p->server);
	return path_end(w, DAT_CLOSE_ABRUPT_FLAG);
}

/* The first end frees its EP, whatever that is doing. */
static int path_free(struct walk *w)
{
	struct path_kit *p = w->priv;
	enum dat_event_number number;
	bool server = false;
	int ret;

	ret = path_request(w, KIT_PORT, p->cr_evd);
	if (ret)
		return ret;
	path_accept(w, p->server);
	if (!p->client_event)
		p->client_event = kit_next(p->client_evd).event_number;
	number = path_server_event(p);
	path_traffic(p->client);
	KUNIT_EXPECT_EQ(w->test, dat_ep_free(p->client), 0);
	p->client = NULL;
	if (p->accepted)
		server = path_hear(w, p->server_evd, p->server, number,
				   DAT_CLOSE_ABRUPT_FLAG);
	return server ? 0 : -EIO;
}

static int path_reject(struct walk *w)
{
	struct path_kit *p = w->priv;
	int ret;

	ret = path_request(w, KIT_PORT, p->cr_evd);
	if (ret)
		return ret;
	ret = p->cr ? 0 : -EIO;
	if (p->cr)
		KUNIT_EXPECT_EQ(w->test, dat_cr_reject(p->cr, 0, NULL), 0);
	path_hear(w, p->client_evd, p->client, p->client_event, 0);
	return ret;
}

static int path_handoff(struct walk *w)
{
	struct path_kit *p = w->priv;
	int ret;

	ret = path_request(w, KIT_PORT, p->cr_evd);
	if (ret)
		return ret;
	if (p->cr) {
		/* It is where it was, or there. */
		ret = dat_cr_handoff(p->cr, PATH_THIRD_PORT);
		if (!ret) {
			p->cr = NULL;
			KUNIT_EXPECT_TRUE(w->test,
					  KIT_WAIT(path_arrived(p, p->other_evd)));
		}
	}
	path_accept(w, p->server);
	return path_end(w, DAT_CLOSE_ABRUPT_FLAG) ?: ret;
}

/* The EP comes with the request, and has to be made complete. */
static int path_tentative(struct walk *w)
{
	struct dat_ep_param param = {
		.pz_handle = to_kit(w->test)->pz,
		.connect_evd_handle = NULL,
	};
	struct dat_cr_param cr = {};
	struct path_kit *p = w->priv;
	int ret;

	ret = path_request(w, PATH_OTHER_PORT, p->other_evd);
	if (ret)
		return ret;
	if (p->cr) {
		param.connect_evd_handle = p->server_evd;
		dat_cr_query(p->cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &cr);
		p->server = cr.local_ep_handle;
		KUNIT_EXPECT_NOT_NULL(w->test, p->server);
		/* If that fails accept refuses, and the reject frees it. */
		dat_ep_modify(p->server, DAT_EP_FIELD_PZ_HANDLE |
			      DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param);
		path_accept(w, NULL);
		if (!p->accepted)
			p->server = NULL;
	}
	return path_end(w, DAT_CLOSE_ABRUPT_FLAG);
}

static void path_prepare_client(struct walk *w)
{
	struct path_kit *p = w->priv;

	path_prepare(w);
	KUNIT_EXPECT_EQ(w->test, dat_ep_free(p->server), 0);
	p->server = NULL;
}

/* Reserved, used, and free again. */
static int path_rsp(struct walk *w)
{
	struct path_kit *p = w->priv;
	struct dat_rsp *rsp;
	int ret, end;

	ret = dat_rsp_create(to_kit(w->test)->ia, PATH_RSP_PORT,
			     p->server, p->cr_evd, &rsp);
	if (ret)
		return ret;
	ret = path_request(w, PATH_RSP_PORT, p->cr_evd);
	if (!ret) {
		path_accept(w, NULL);
		end = path_end(w, DAT_CLOSE_ABRUPT_FLAG);
		ret = ret ?: end;
	}
	KUNIT_EXPECT_EQ(w->test, dat_rsp_free(rsp), 0);
	return ret;
}

/* A connection, its end, a reset, and another one. */
static int path_again(struct walk *w)
{
	struct path_kit *p = w->priv;
	int ret;

	ret = path_abrupt(w);
	if (ret)
		return ret;
	ret = dat_ep_reset(p->client);
	if (!ret)
		ret = dat_ep_reset(p->server);
	if (ret)
		return ret;
	kit_drain(p->dto);
	p->client_event = 0;
	p->accepted = false;
	return path_graceful(w);
}

/* A connection that is there, and EPs for another one. */
static void path_prepare_model(struct walk *w)
{
	struct path_kit *p = w->priv;

	path_prepare(w);
	p->connect = NULL;
	KUNIT_ASSERT_EQ(w->test, path_request(w, KIT_PORT, p->cr_evd), 0);
	path_accept(w, p->server);
	KIT_EXPECT_EVENT(w->test, p->client_evd,
			 DAT_CONNECTION_EVENT_ESTABLISHED);
	KIT_EXPECT_EVENT(w->test, p->server_evd,
			 DAT_CONNECTION_EVENT_ESTABLISHED);
	p->model[0] = p->client;
	p->model[1] = p->server;
	path_prepare(w);
}

static int path_dup(struct path_kit *p, u16 port)
{
	return dat_ep_dup_connect(p->client, p->model[0], DAT_TIMEOUT_INFINITE,
				  0, NULL, DAT_QOS_BEST_EFFORT);
}

static int path_connect_dup(struct walk *w)
{
	struct path_kit *p = w->priv;

	p->connect = path_dup;
	return path_abrupt(w);
}

/* Nothing has happened to the connection that served as the model. */
static void path_finish_model(struct walk *w)
{
	struct path_kit *p = w->priv;
	int i;

	for (i = 0; i < ARRAY_SIZE(p->model); i++)
		KUNIT_EXPECT_EQ(w->test, (int)kit_state(p->model[i]),
				DAT_EP_STATE_CONNECTED);
	for (i = 0; i < ARRAY_SIZE(p->model); i++)
		KUNIT_EXPECT_EQ(w->test, dat_ep_free(p->model[i]), 0);
	path_finish(w);
}

static int path_common(struct path_kit *p, u16 port)
{
	struct sockaddr_in addr;

	kit_address(&addr);
	addr.sin_port = htons(port);
	return dat_ep_common_connect(p->client, (struct sockaddr *)&addr,
				     DAT_TIMEOUT_INFINITE, 0, NULL);
}

static int path_connect_common(struct walk *w)
{
	struct path_kit *p = w->priv;

	p->connect = path_common;
	return path_abrupt(w);
}

static const struct walk_step path_steps[] = {
	{ "connect, accept, graceful close", path_prepare, path_graceful, NULL,
	  path_finish },
	{ "connect, accept, abrupt close", path_prepare, path_abrupt, NULL,
	  path_finish },
	{ "dat_ep_free() of a connected EP", path_prepare, path_free, NULL,
	  path_finish },
	{ "connect, reject", path_prepare, path_reject, NULL, path_finish },
	{ "connect, handoff, accept", path_prepare, path_handoff, NULL,
	  path_finish },
	{ "an EP that comes with the request", path_prepare_client,
	  path_tentative, NULL, path_finish },
	{ "an RSP", path_prepare, path_rsp, NULL, path_finish },
	{ "reset and another connection", path_prepare, path_again, NULL,
	  path_finish },
	{ "dat_ep_dup_connect", path_prepare_model, path_connect_dup, NULL,
	  path_finish_model },
	{ "dat_ep_common_connect", path_prepare, path_connect_common, NULL,
	  path_finish },
};

KUNIT_ARRAY_PARAM(path, path_steps, walk_desc);

static void kdapl_paths(struct kunit *test)
{
	path_run(test);
}

/* Another order of events, and a work of its own for rdma_connect(). */
static void kdapl_paths_iwarp(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	path_run(test);
}

static struct kunit_case kdapl_paths_cases[] = {
	KUNIT_CASE_PARAM(kdapl_paths, path_gen_params),
	KUNIT_CASE_PARAM(kdapl_paths_iwarp, path_gen_params),
	{}
};

static struct kunit_suite kdapl_paths_suite = {
	.name = "kdapl_paths",
	.init = path_init,
	.exit = kit_exit_replug,
	.suite_exit = walk_report,
	.test_cases = kdapl_paths_cases,
};

kunit_test_suite(kdapl_paths_suite);

MODULE_DESCRIPTION("Suite: failures in the life of a connection");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
