// SPDX-License-Identifier: GPL-2.0
/* The life of a connection, piece by piece; see path_kit.h. */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/main.h"
#include "path_kit.h"

/* Where something fails deadlines are all that there is left to wait for. */
#define PATH_DEADLINE_MS	50
/* Longer than any QP takes that does flush: else it is not seen to. */
#define PATH_FLUSH_MS		200

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

void path_prepare(struct walk *w)
{
	struct path_kit *p = w->priv;

	p->client = kit_ep(w->test, p->dto, p->dto, p->client_evd, 4);
	walk_work(w, &p->client->work.work);
	p->server = kit_ep(w->test, p->dto, p->dto, p->server_evd, 4);
	p->cr = NULL;
	p->client_event = 0;
	p->accepted = false;
}
EXPORT_SYMBOL_GPL(path_prepare);

void path_finish(struct walk *w)
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
EXPORT_SYMBOL_GPL(path_finish);

/* The request has come, or the attempt has ended without. */
bool path_arrived(struct path_kit *p, struct dat_evd *evd)
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
EXPORT_SYMBOL_GPL(path_arrived);

/* From dat_ep_connect() to a request, or to the end. */
int path_request(struct walk *w, u16 port, struct dat_evd *evd)
{
	struct path_kit *p = w->priv;
	int ret;

	ret = p->connect ? p->connect(p, port) : kit_connect(p->client, port);
	if (ret) {
		KUNIT_EXPECT_EQ(w->test, (int)kit_state(p->client),
				DAT_EP_STATE_UNCONNECTED);
		return ret;
	}
	KUNIT_EXPECT_TRUE(w->test, KIT_WAIT(path_arrived(p, evd)));
	return 0;
}
EXPORT_SYMBOL_GPL(path_request);

void path_accept(struct walk *w, struct dat_ep *ep)
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
EXPORT_SYMBOL_GPL(path_accept);

/* What an EP hears from now on, to its end; true if it was connected. */
bool path_hear(struct walk *w, struct dat_evd *evd, struct dat_ep *ep,
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
EXPORT_SYMBOL_GPL(path_hear);

/* Something for the close to bring home: receives, a success that is silent. */
void path_traffic(struct dat_ep *ep)
{
	kit_post_recv(ep, 1);
	kit_post_recv(ep, 2);
	kit_post_send(ep, 3, DAT_COMPLETION_SUPPRESS_FLAG);
}
EXPORT_SYMBOL_GPL(path_traffic);

/*
 * What the accepting end hears first, if the client is connected and it is going to
 * hear of that: an end that comes before its work has run would be all that it hears.
 */
enum dat_event_number path_server_event(struct path_kit *p)
{
	if (!p->accepted ||
	    p->client_event != DAT_CONNECTION_EVENT_ESTABLISHED)
		return 0;
	return kit_next(p->server_evd).event_number;
}
EXPORT_SYMBOL_GPL(path_server_event);

/* Both to their ends, the client first. */
int path_end(struct walk *w, enum dat_close_flags how)
{
	struct path_kit *p = w->priv;
	enum dat_event_number number;
	bool client, server = false;

	if (!p->client_event)
		p->client_event = kit_next(p->client_evd).event_number;
	number = path_server_event(p);
	if (p->client_event == DAT_CONNECTION_EVENT_ESTABLISHED)
		path_traffic(p->client);
	client = path_hear(w, p->client_evd, p->client, p->client_event, how);
	if (p->accepted)
		server = path_hear(w, p->server_evd, p->server, number, how);
	return client && server ? 0 : -EIO;
}
EXPORT_SYMBOL_GPL(path_end);

void path_run(struct kunit *test)
{
	struct dat_ia *ia = to_kit(test)->ia;
	struct dat_psp *psp;
	struct path_kit *p;

	p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	p->memory = kunit_kzalloc(test, PATH_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p->memory);
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
EXPORT_SYMBOL_GPL(path_run);

int path_init(struct kunit *test)
{
	int ret = kit_init(test);

	kdapl_disconnect_timeout_ms = PATH_DEADLINE_MS;
	kdapl_drep_grace_ms = PATH_DEADLINE_MS;
	kdapl_flush_timeout_ms = PATH_FLUSH_MS;
	kdapl_doubt_ms = PATH_DEADLINE_MS;
	return ret;
}
EXPORT_SYMBOL_GPL(path_init);
