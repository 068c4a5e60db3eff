// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that nobody has taken when their EVD goes, and service points that go,
 * or are asked for more, at a rare moment.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/tracepoint.h>

#include "../../drivers/kdapl/cr.h"
#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/ia.h"
#include "kit.h"

#define END_PORT	4200

/* Kinds of listeners, by the EP of their requests. */
enum end_kind {
	END_PSP,
	END_PSP_PROVIDER,
	END_RSP,
	END_CSP,
};

static const struct end_case {
	const char *name;
	enum end_kind kind;
} end_cases[] = {
	{ "PSP", END_PSP },
	{ "PSP that makes EPs", END_PSP_PROVIDER },
	{ "RSP", END_RSP },
	{ "CSP", END_CSP },
};

static void end_desc(const struct end_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(end, end_cases, end_desc);

/* A listener of one kind, and what it needs. */
struct end_sp {
	enum end_kind kind;
	struct dat_evd *evd;
	struct dat_evd *conn;
	struct dat_ep *ep;	/* of an RSP */
	u64 qual;
	union {
		struct dat_psp *psp;
		struct dat_rsp *rsp;
		struct dat_csp *csp;
	};
};

static void end_prepare(struct kunit *test, struct end_sp *sp,
			enum end_kind kind, struct dat_evd *evd)
{
	sp->kind = kind;
	sp->evd = evd;
	if (kind == END_RSP) {
		sp->conn = kit_evd(test, 4, DAT_EVD_CONNECTION_FLAG);
		sp->ep = kit_ep(test, NULL, NULL, sp->conn, 0);
	}
}

static int end_listen(struct kunit *test, struct end_sp *sp)
{
	struct dat_comm comm = { .domain = AF_INET, .type = SOCK_STREAM };
	struct dat_ia *ia = to_kit(test)->ia;
	struct sockaddr_in addr;

	sp->qual = END_PORT;
	switch (sp->kind) {
	case END_RSP:
		return dat_rsp_create(ia, sp->qual, sp->ep, sp->evd, &sp->rsp);
	case END_CSP:
		kit_address(&addr);
		addr.sin_port = htons(END_PORT);
		return dat_csp_create(ia, &comm, (struct sockaddr *)&addr,
				      sp->evd, &sp->csp);
	case END_PSP:
		return dat_psp_create_any(ia, &sp->qual, sp->evd,
					  DAT_PSP_CONSUMER_FLAG, &sp->psp);
	default:
		return dat_psp_create(ia, sp->qual, sp->evd,
				      DAT_PSP_PROVIDER_FLAG, &sp->psp);
	}
}

static int end_free(struct end_sp *sp)
{
	switch (sp->kind) {
	case END_RSP:
		return dat_rsp_free(sp->rsp);
	case END_CSP:
		return dat_csp_free(sp->csp);
	default:
		return dat_psp_free(sp->psp);
	}
}

static int end_count(struct kunit *test, enum dat_handle_type type)
{
	return atomic_read(&to_kit(test)->ia->counts[type]);
}

/* Nothing is left that the consumer could not free. */
static void end_close(struct kunit *test, struct end_sp *sp)
{
	struct kit *kit = to_kit(test);
	int ret;

	if (sp->ep) {
		KUNIT_EXPECT_EQ(test, (int)kit_state(sp->ep),
				DAT_EP_STATE_UNCONNECTED);
		KUNIT_EXPECT_EQ(test, dat_ep_free(sp->ep), 0);
		KUNIT_EXPECT_EQ(test, dat_evd_free(sp->conn), 0);
	}
	KUNIT_EXPECT_EQ(test, dat_pz_free(kit->pz), 0);
	KUNIT_EXPECT_EQ(test, end_count(test, DAT_HANDLE_TYPE_CR), 0);
	KUNIT_EXPECT_EQ(test, end_count(test, DAT_HANDLE_TYPE_EP), 0);
	ret = dat_ia_close(kit->ia, DAT_CLOSE_GRACEFUL_FLAG);
	KUNIT_EXPECT_EQ(test, ret, 0);
	if (!ret)
		kit->ia = NULL;
}

/* The peers of requests that are lost with their EVD hear of it. */
static void kdapl_sp_end_evd_first(struct kunit *test)
{
	const struct end_case *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct end_sp sp = {};
	struct rdma_cm_id *id;

	end_prepare(test, &sp, c->kind, evd);
	KUNIT_ASSERT_EQ(test, end_listen(test, &sp), 0);
	id = fake_cm_request(sp.qual, NULL, 0);
	KUNIT_ASSERT_NOT_NULL(test, id);
	KUNIT_EXPECT_EQ(test, end_free(&sp), 0);
	KUNIT_EXPECT_TRUE(test, fake_cm_alive(id));

	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_REJECT), 1U);
	KUNIT_EXPECT_FALSE(test, fake_cm_alive(id));
	end_close(test, &sp);
}

/* One that was dequeued is the consumer's. */
static void kdapl_sp_end_evd_spares(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct rdma_cm_id *ids[3];
	struct end_sp sp = {};
	struct dat_event event;
	unsigned int i;

	end_prepare(test, &sp, END_PSP_PROVIDER, evd);
	KUNIT_ASSERT_EQ(test, end_listen(test, &sp), 0);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		ids[i] = fake_cm_request(sp.qual, NULL, 0);
		KUNIT_ASSERT_NOT_NULL(test, ids[i]);
	}
	event = KIT_EXPECT_EVENT(test, evd, DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_EXPECT_EQ(test, end_free(&sp), 0);

	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_REJECT), 2U);
	KUNIT_EXPECT_TRUE(test, fake_cm_alive(ids[0]));
	KUNIT_EXPECT_EQ(test, end_count(test, DAT_HANDLE_TYPE_EP), 1);
	KUNIT_EXPECT_EQ(test, dat_cr_reject(event.event_data
					    .cr_arrival_event_data.cr_handle,
					    0, NULL), 0);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_REJECT), 3U);
	end_close(test, &sp);
}

/* There is nobody left to tell. */
static void kdapl_sp_end_evd_of_orphans(struct kunit *test)
{
	const struct end_case *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct end_sp sp = {};

	end_prepare(test, &sp, c->kind, evd);
	KUNIT_ASSERT_EQ(test, end_listen(test, &sp), 0);
	KUNIT_ASSERT_NOT_NULL(test, fake_cm_request(sp.qual, NULL, 0));
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, end_free(&sp), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_REJECT), 0U);
	if (sp.ep) {
		KUNIT_EXPECT_EQ(test, dat_ep_free(sp.ep), 0);
		KUNIT_EXPECT_EQ(test, dat_evd_free(sp.conn), 0);
		sp.ep = NULL;
	}
	end_close(test, &sp);
	kit_close(to_kit(test));
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
	to_kit(test)->live = fake_hca_live_total();
}

/* A service point that is freed while it is being made. */
struct end_early {
	struct end_sp sp;
	bool freeing;
	unsigned int destroyed;	/* ids, by the time that the listen call returns */
};

static void end_free_early(struct kit_upcall *up, const struct dat_event *event,
			   bool more)
{
	const struct dat_cr_arrival_event_data *data =
		&event->event_data.cr_arrival_event_data;
	struct end_early *early = up->priv;
	struct end_sp sp = early->sp;

	dat_cr_reject(data->cr_handle, 0, NULL);
	/* The creating call has not told it yet. */
	sp.psp = data->sp_handle.psp_handle;
	WRITE_ONCE(early->freeing, true);
	end_free(&sp);
}

static void end_request_early(struct rdma_cm_id *id, void *ctx)
{
	struct sockaddr_in *sin =
		(struct sockaddr_in *)&id->route.addr.src_addr;
	struct end_early *early = ctx;

	if (!fake_cm_request(ntohs(sin->sin_port), NULL, 0) ||
	    !KIT_WAIT(READ_ONCE(early->freeing)))
		return;
	KIT_SETTLE();
	early->destroyed = fake_cm_count(FAKE_CM_DESTROY_ID);
}

/* Whose first request comes at once, and whose upcall has no need of more. */
static void kdapl_sp_end_in_listen(struct kunit *test)
{
	const struct end_case *c = test->param_value;
	struct kit_upcall *up = kit_upcall(test);
	struct end_early *early;
	unsigned int destroyed;
	struct dat_evd *evd;

	early = kunit_kzalloc(test, sizeof(*early), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, early);
	up->priv = early;
	up->action = end_free_early;
	evd = kit_evd_up(test, 4, DAT_EVD_CR_FLAG, DAT_UPCALL_SINGLE_INSTANCE,
			 up);
	end_prepare(test, &early->sp, c->kind, evd);
	destroyed = fake_cm_count(FAKE_CM_DESTROY_ID);
	fake_cm_script.in_listen_ctx = early;
	fake_cm_script.in_listen = end_request_early;
	KUNIT_EXPECT_EQ(test, end_listen(test, &early->sp), 0);
	/* That of the request, not the one that is being made to listen. */
	KUNIT_EXPECT_EQ(test, early->destroyed, destroyed + 1);
	KUNIT_EXPECT_NE(test, early->sp.qual, 0ULL);

	KUNIT_ASSERT_TRUE(test, KIT_WAIT(atomic_read(&up->done) == 1));
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_DESTROY_ID),
			destroyed + 2);
	KUNIT_EXPECT_EQ(test, end_count(test, DAT_HANDLE_TYPE_PSP), 0);
	KUNIT_EXPECT_EQ(test, end_count(test, DAT_HANDLE_TYPE_RSP), 0);
	KUNIT_EXPECT_EQ(test, end_count(test, DAT_HANDLE_TYPE_CSP), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	end_close(test, &early->sp);
}

/* A handoff, and the end of the service point that the request goes to. */
struct end_handoff {
	struct dat_cr *cr;
	struct end_sp sp;
	struct dat_evd *evd;
	int result;
	bool freeing;
	struct completion passed;
	struct completion freed;
};

static int end_pass_on(void *arg)
{
	struct end_handoff *h = arg;

	h->result = dat_cr_handoff(h->cr, h->sp.qual);
	kthread_complete_and_exit(&h->passed, 0);
}

static int end_free_all(void *arg)
{
	struct end_handoff *h = arg;

	WRITE_ONCE(h->freeing, true);
	end_free(&h->sp);
	dat_evd_free(h->evd);
	kthread_complete_and_exit(&h->freed, 0);
}

/* Whichever is first, the request is refused or still the consumer's. */
static void kdapl_sp_end_in_handoff(struct kunit *test)
{
	const struct end_case *c = test->param_value;
	struct dat_evd *evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	struct end_sp from = { .kind = END_PSP };
	struct end_handoff *h;
	struct dat_event event;
	struct rdma_cm_id *id;

	h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, h);
	init_completion(&h->passed);
	init_completion(&h->freed);
	end_prepare(test, &from, END_PSP, evd);
	KUNIT_ASSERT_EQ(test, end_listen(test, &from), 0);
	h->evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	end_prepare(test, &h->sp, c->kind, h->evd);
	KUNIT_ASSERT_EQ(test, end_listen(test, &h->sp), 0);
	id = fake_cm_request(from.qual, NULL, 0);
	KUNIT_ASSERT_NOT_NULL(test, id);
	event = KIT_EXPECT_EVENT(test, evd, DAT_CONNECTION_REQUEST_EVENT);
	h->cr = event.event_data.cr_arrival_event_data.cr_handle;

	WRITE_ONCE(fake_cm_script.hold_lock, true);
	KUNIT_EXPECT_FALSE(test, IS_ERR(kthread_run(end_pass_on, h, "pass_on")));
	/* It knows where to. */
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(test_bit(KDAPL_CR_TAKEN,
						  &h->cr->flags)));
	KUNIT_EXPECT_FALSE(test, IS_ERR(kthread_run(end_free_all, h, "free")));
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(READ_ONCE(h->freeing)));
	KIT_SETTLE();
	WRITE_ONCE(fake_cm_script.hold_lock, false);
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(completion_done(&h->passed)));
	KUNIT_ASSERT_TRUE(test, KIT_WAIT(completion_done(&h->freed)));

	if (h->result)
		KUNIT_EXPECT_EQ(test, dat_cr_reject(h->cr, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, fake_cm_count(FAKE_CM_REJECT), 1U);
	KUNIT_EXPECT_FALSE(test, fake_cm_alive(id));
	KUNIT_EXPECT_EQ(test, end_free(&from), 0);
	KUNIT_EXPECT_EQ(test, dat_evd_free(evd), 0);
	end_close(test, &h->sp);
}

/* What a post of an event finds; and the tracepoint, which is not exported. */
struct end_post {
	struct notifier_block finder;
	struct tracepoint *tp;
	struct dat_ep *ep;
	unsigned int seen;
	enum dat_ep_state state;
};

static int end_find_post(struct notifier_block *nb, unsigned long action,
			 void *data)
{
	struct end_post *post = container_of(nb, struct end_post, finder);
	const struct module *mod = ((struct tp_module *)data)->mod;
	struct tracepoint *tp;
	unsigned int i;

	for (i = 0; i < mod->num_tracepoints; i++) {
		tp = tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]);
		if (!strcmp(tp->name, "kdapl_evd_post"))
			post->tp = tp;
	}
	return NOTIFY_DONE;
}

/* Under the EVD's lock: nobody can have dequeued it yet. */
static void end_see_post(void *data, u32 evd, u32 number)
{
	struct end_post *post = data;

	if (number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	post->seen++;
	post->state = kit_state(post->ep);
}

/* Who gets the event of an RSP's request can act upon it at once. */
static void kdapl_sp_end_state_with_event(struct kunit *test)
{
	struct end_post *post;
	struct end_sp sp = {};
	struct rdma_cm_id *id;

	post = kunit_kzalloc(test, sizeof(*post), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, post);
	post->finder.notifier_call = end_find_post;
	KUNIT_ASSERT_EQ(test, register_tracepoint_module_notifier(&post->finder),
			0);
	unregister_tracepoint_module_notifier(&post->finder);
	KUNIT_ASSERT_NOT_NULL(test, post->tp);

	end_prepare(test, &sp, END_RSP, kit_evd(test, 4, DAT_EVD_CR_FLAG));
	post->ep = sp.ep;
	KUNIT_ASSERT_EQ(test, end_listen(test, &sp), 0);
	KUNIT_ASSERT_EQ(test, tracepoint_probe_register(post->tp, end_see_post,
							post), 0);
	id = fake_cm_request(sp.qual, NULL, 0);
	tracepoint_probe_unregister(post->tp, end_see_post, post);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_NOT_NULL(test, id);
	KUNIT_EXPECT_EQ(test, post->seen, 1U);
	KUNIT_EXPECT_EQ(test, (int)post->state,
			DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
}

/* A request that finds no room leaves the EP to the next one. */
static void kdapl_sp_end_rsp_without_room(struct kunit *test)
{
	struct dat_evd *evd = kit_evd(test, 4, DAT_EVD_CR_FLAG |
				      DAT_EVD_SOFTWARE_FLAG);
	struct end_sp sp = {};

	end_prepare(test, &sp, END_RSP, evd);
	KUNIT_ASSERT_EQ(test, end_listen(test, &sp), 0);
	while (!kit_post_se(evd, 1))
		;
	KUNIT_EXPECT_NULL(test, fake_cm_request(sp.qual, NULL, 0));
	KUNIT_EXPECT_EQ(test, (int)kit_state(sp.ep), DAT_EP_STATE_RESERVED);
	kit_drain(evd);
	KUNIT_EXPECT_NOT_NULL(test, fake_cm_request(sp.qual, NULL, 0));
	KUNIT_EXPECT_EQ(test, (int)kit_state(sp.ep),
			DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
}

static struct kunit_case kdapl_sp_end_cases[] = {
	KUNIT_CASE_PARAM(kdapl_sp_end_evd_first, end_gen_params),
	KUNIT_CASE(kdapl_sp_end_evd_spares),
	KUNIT_CASE_PARAM(kdapl_sp_end_evd_of_orphans, end_gen_params),
	KUNIT_CASE_PARAM(kdapl_sp_end_in_listen, end_gen_params),
	KUNIT_CASE_PARAM(kdapl_sp_end_in_handoff, end_gen_params),
	KUNIT_CASE(kdapl_sp_end_state_with_event),
	KUNIT_CASE(kdapl_sp_end_rsp_without_room),
	{}
};

static struct kunit_suite kdapl_sp_end_suite = {
	.name = "kdapl_sp_end",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kdapl_sp_end_cases,
};

kunit_test_suite(kdapl_sp_end_suite);

MODULE_DESCRIPTION("Suite: the end of service points and of their requests");
MODULE_IMPORT_NS(KDAPL_KUNIT);
MODULE_LICENSE("GPL");
