// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a connection with its n-th step failing, for every n: whoever was
 * told that an attempt is under way hears of its end, once, and nothing is left.
 */
#include <linux/module.h>

#include "../../drivers/kdapl/main.h"
#include "walk.h"

/* Where something fails deadlines are all that there is left to wait for. */
#define PATH_DEADLINE_MS	50

#define PATH_OTHER_PORT	(KIT_PORT + 1)
#define PATH_THIRD_PORT	(KIT_PORT + 2)
#define PATH_RSP_PORT	(KIT_PORT + 3)

struct path_kit {
	struct dat_evd *cr_evd;
	struct dat_evd *other_evd;
	struct dat_evd *dto;
	struct dat_evd *client_evd;	/* connection events */
	struct dat_evd *server_evd;
	struct dat_ep *client;
	struct dat_ep *server;		/* NULL: it comes with the request */
	struct dat_cr *cr;
	enum dat_event_number client_event;
	bool accepted;
};

static bool path_terminal(enum dat_event_number number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return true;
	default:
		return false;
	}
}

static void path_prepare(struct walk *w)
{
	struct path_kit *p = w->priv;

	p->client = kit_ep(w->test, p->dto, p->dto, p->client_evd, 4);
	p->server = kit_ep(w->test, p->dto, p->dto, p->server_evd, 4);
	p->cr = NULL;
	p->client_event = 0;
	p->accepted = false;
}

static void path_finish(struct walk *w)
{
	struct path_kit *p = w->priv;

	if (p->client)
		KUNIT_EXPECT_EQ(w->test, dat_ep_free(p->client), 0);
	if (p->server)
		KUNIT_EXPECT_EQ(w->test, dat_ep_free(p->server), 0);
	kit_drain(p->dto);
	KUNIT_EXPECT_EQ(w->test, kit_drain(p->client_evd), 0U);
	KUNIT_EXPECT_EQ(w->test, kit_drain(p->server_evd), 0U);
	KUNIT_EXPECT_EQ(w->test, kit_drain(p->cr_evd), 0U);
	KUNIT_EXPECT_EQ(w->test, kit_drain(p->other_evd), 0U);
}

/* The request has come, or the attempt has ended without. */
static bool path_arrived(struct path_kit *p, struct dat_evd *evd)
{
	struct dat_event event;

	if (!dat_evd_dequeue(evd, &event)) {
		p->cr = event.event_data.cr_arrival_event_data.cr_handle;
		return true;
	}
	if (!p->client_event && !dat_evd_dequeue(p->client_evd, &event))
		p->client_event = event.event_number;
	return p->client_event;
}

/* From dat_ep_connect() to a request, or to the end. */
static int path_request(struct walk *w, u16 port, struct dat_evd *evd)
{
	struct path_kit *p = w->priv;
	int ret;

	ret = kit_connect(p->client, port);
	if (ret) {
		KUNIT_EXPECT_EQ(w->test, (int)kit_state(p->client),
				DAT_EP_STATE_UNCONNECTED);
		return ret;
	}
	KUNIT_EXPECT_TRUE(w->test, KIT_WAIT(path_arrived(p, evd)));
	return 0;
}

static void path_accept(struct walk *w, struct dat_ep *ep)
{
	struct path_kit *p = w->priv;
	int ret;

	if (!p->cr)
		return;
	/* For what the client sends; one is enough. */
	if (ep) {
		kit_post_recv(ep, 4);
		kit_post_recv(ep, 5);
	}
	ret = dat_cr_accept(p->cr, ep, 0, NULL);
	p->accepted = !ret;
	if (ret)
		KUNIT_EXPECT_EQ(w->test, dat_cr_reject(p->cr, 0, NULL), 0);
	p->cr = NULL;
}

/* What an EP hears from now on, to its end; true if it was connected. */
static bool path_hear(struct walk *w, struct dat_evd *evd, struct dat_ep *ep,
		      enum dat_event_number number, enum dat_close_flags how)
{
	bool connected;

	if (!number)
		number = kit_next(evd).event_number;
	connected = number == DAT_CONNECTION_EVENT_ESTABLISHED;
	if (connected) {
		KUNIT_EXPECT_EQ(w->test, dat_ep_disconnect(ep, how), 0);
		number = kit_next(evd).event_number;
	}
	KUNIT_EXPECT_TRUE_MSG(w->test, path_terminal(number), "event 0x%x",
			      number);
	KUNIT_EXPECT_EQ(w->test, (int)kit_state(ep), DAT_EP_STATE_DISCONNECTED);
	return connected;
}

/* Something for the close to bring home: receives, a success that is silent. */
static void path_traffic(struct dat_ep *ep)
{
	kit_post_recv(ep, 1);
	kit_post_recv(ep, 2);
	kit_post_send(ep, 3, DAT_COMPLETION_SUPPRESS_FLAG);
}

/* Both to their ends, the client first. */
static int path_end(struct walk *w, enum dat_close_flags how)
{
	struct path_kit *p = w->priv;
	bool client, server = false;

	if (!p->client_event)
		p->client_event = kit_next(p->client_evd).event_number;
	if (p->client_event == DAT_CONNECTION_EVENT_ESTABLISHED)
		path_traffic(p->client);
	client = path_hear(w, p->client_evd, p->client, p->client_event, how);
	if (p->accepted)
		server = path_hear(w, p->server_evd, p->server, 0, how);
	return client && server ? 0 : -EIO;
}

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
	bool server = false;
	int ret;

	ret = path_request(w, KIT_PORT, p->cr_evd);
	if (ret)
		return ret;
	path_accept(w, p->server);
	if (!p->client_event)
		p->client_event = kit_next(p->client_evd).event_number;
	path_traffic(p->client);
	KUNIT_EXPECT_EQ(w->test, dat_ep_free(p->client), 0);
	p->client = NULL;
	if (p->accepted)
		server = path_hear(w, p->server_evd, p->server, 0,
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
};

KUNIT_ARRAY_PARAM(path, path_steps, walk_desc);

static void kdapl_paths(struct kunit *test)
{
	struct dat_ia *ia = to_kit(test)->ia;
	struct dat_psp *psp;
	struct path_kit *p;

	p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	p->cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	p->other_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	p->client_evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	p->server_evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	p->dto = kit_evd(test, 64, DAT_EVD_DTO_FLAG);
	KUNIT_ASSERT_EQ(test, dat_psp_create(ia, KIT_PORT, p->cr_evd,
					     DAT_PSP_CONSUMER_FLAG, &psp), 0);
	KUNIT_ASSERT_EQ(test, dat_psp_create(ia, PATH_OTHER_PORT, p->other_evd,
					     DAT_PSP_PROVIDER_FLAG, &psp), 0);
	KUNIT_ASSERT_EQ(test, dat_psp_create(ia, PATH_THIRD_PORT, p->other_evd,
					     DAT_PSP_CONSUMER_FLAG, &psp), 0);
	fake_script.complete = FAKE_INLINE;
	walk_run(test, test->param_value, p);
}

static int path_init(struct kunit *test)
{
	int ret = kit_init(test);

	kdapl_disconnect_timeout_ms = PATH_DEADLINE_MS;
	kdapl_drep_grace_ms = PATH_DEADLINE_MS;
	return ret;
}

static struct kunit_case kdapl_paths_cases[] = {
	KUNIT_CASE_PARAM(kdapl_paths, path_gen_params),
	{}
};

static struct kunit_suite kdapl_paths_suite = {
	.name = "kdapl_paths",
	.init = path_init,
	.exit = kit_exit,
	.suite_exit = walk_report,
	.test_cases = kdapl_paths_cases,
};

kunit_test_suite(kdapl_paths_suite);

MODULE_DESCRIPTION("Suite: failures in the life of a connection");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
