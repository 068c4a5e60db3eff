// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations that need a connection (iWARP), with their n-th step failing, for
 * every n: they are posted by the work of an EP.
 */
#include <linux/module.h>

#include "path_kit.h"

static int path_register(struct walk *w)
{
	union dat_region_description region = {};
	struct kit *kit = to_kit(w->test);
	struct path_kit *p = w->priv;
	u32 lctx = 0, rctx = 0;
	u64 length, va;
	int ret;

	p->lmr = NULL;
	region.for_va = p->memory;
	ret = dat_lmr_kcreate(kit->ia, DAT_MEM_TYPE_VIRTUAL, region, PATH_BYTES,
			      kit->pz, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			      DAT_VA_TYPE_VA, 0, &p->lmr, &lctx, &rctx, &length,
			      &va);
	KUNIT_EXPECT_EQ(w->test, !p->lmr, !!ret);
	KUNIT_EXPECT_EQ(w->test, lctx && rctx, !ret);
	return ret;
}

static void path_unregister(struct walk *w)
{
	struct path_kit *p = w->priv;

	KUNIT_EXPECT_EQ(w->test, dat_lmr_free(p->lmr), 0);
}

/* Memory that waits for the connection which is to be made. */
static void path_prepare_memory(struct walk *w)
{
	path_prepare(w);
	KUNIT_ASSERT_EQ(w->test, path_register(w), 0);
}

/* Who is told of a connection may tell the peer of the key. */
static int path_memory(struct walk *w)
{
	struct path_kit *p = w->priv;
	int ret;

	ret = path_request(w, KIT_PORT, p->cr_evd);
	if (ret)
		return ret;
	path_accept(w, p->server);
	if (!p->client_event)
		p->client_event = kit_next(p->client_evd).event_number;
	if (p->client_event == DAT_CONNECTION_EVENT_ESTABLISHED)
		KUNIT_EXPECT_TRUE(w->test, fake_mr_valid(p->lmr->rkey));
	return path_end(w, DAT_CLOSE_GRACEFUL_FLAG);
}

static void path_finish_memory(struct walk *w)
{
	path_finish(w);
	path_unregister(w);
}

/* Memory that a connection which is there is to register. */
static void path_prepare_connected(struct walk *w)
{
	struct path_kit *p = w->priv;

	path_prepare(w);
	KUNIT_ASSERT_EQ(w->test, path_request(w, KIT_PORT, p->cr_evd), 0);
	path_accept(w, p->server);
	p->client_event = kit_next(p->client_evd).event_number;
	KIT_EXPECT_EVENT(w->test, p->server_evd,
			 DAT_CONNECTION_EVENT_ESTABLISHED);
}

static int path_register_now(struct walk *w)
{
	struct path_kit *p = w->priv;
	int ret = path_register(w);

	if (!ret)
		KUNIT_EXPECT_TRUE(w->test, fake_mr_valid(p->lmr->rkey));
	return ret;
}

/* A registration that was refused has not hurt the connections. */
static void path_finish_connected(struct walk *w)
{
	struct path_kit *p = w->priv;

	KUNIT_EXPECT_EQ(w->test, (int)kit_state(p->server),
			DAT_EP_STATE_CONNECTED);
	KUNIT_EXPECT_TRUE(w->test, path_hear(w, p->client_evd, p->client,
					     p->client_event,
					     DAT_CLOSE_ABRUPT_FLAG));
	path_hear(w, p->server_evd, p->server, 0, DAT_CLOSE_ABRUPT_FLAG);
	path_finish(w);
}

static const struct walk_step path_memory_steps[] = {
	{ "an LMR that waits for the connection", path_prepare_memory,
	  path_memory, NULL, path_finish_memory },
	{ "dat_lmr_kcreate over a connection", path_prepare_connected,
	  path_register_now, path_unregister, path_finish_connected },
};

KUNIT_ARRAY_PARAM(path_memory, path_memory_steps, walk_desc);

static void kdapl_paths_memory(struct kunit *test)
{
	kit_replug(test, FAKE_PROTO_IWARP);
	path_run(test);
}

static struct kunit_case kdapl_paths_memory_cases[] = {
	KUNIT_CASE_PARAM(kdapl_paths_memory, path_memory_gen_params),
	{}
};

static struct kunit_suite kdapl_paths_memory_suite = {
	.name = "kdapl_paths_memory",
	.init = path_init,
	.exit = kit_exit_replug,
	.suite_exit = walk_report,
	.test_cases = kdapl_paths_memory_cases,
};

kunit_test_suite(kdapl_paths_memory_suite);

MODULE_DESCRIPTION("Suite: failures in registrations by a connection");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
