// SPDX-License-Identifier: GPL-2.0
/* What all suites need; see kit.h. */
#include <linux/module.h>

#include "../../drivers/kdapl/ep.h"
#include "../../drivers/kdapl/evd.h"
#include "../../drivers/kdapl/main.h"
#include "kit.h"

static bool full;
module_param(full, bool, 0444);
MODULE_PARM_DESC(full, "Repeat as often as it takes to tell a rare fault (default: no)");

unsigned int kit_rounds(unsigned int few, unsigned int many)
{
	return full ? many / KIT_PIECES : few;
}
EXPORT_SYMBOL_GPL(kit_rounds);

const void *kit_pieces(const void *prev, char *desc)
{
	unsigned long piece = (unsigned long)prev + 1;

	if (piece > (full ? KIT_PIECES : 1))
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "piece %lu", piece);
	return (const void *)piece;
}
EXPORT_SYMBOL_GPL(kit_pieces);

int kit_init(struct kunit *test)
{
	struct kit *kit;

	kit = kunit_kzalloc(test, sizeof(*kit), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, kit);
	kit->test = test;
	kit->disconnect_ms = kdapl_disconnect_timeout_ms;
	kit->grace_ms = kdapl_drep_grace_ms;
	kit->flush_ms = kdapl_flush_timeout_ms;
	kit->doubt_ms = kdapl_doubt_ms;
	test->priv = kit;
	fake_hca_reset();
	kit->live = fake_hca_live_total();
	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_NAME, 8, &kit->async, &kit->ia),
			0);
	KUNIT_ASSERT_EQ(test, dat_pz_create(kit->ia, &kit->pz), 0);
	return 0;
}
EXPORT_SYMBOL_GPL(kit_init);

void kit_close(struct kit *kit)
{
	if (!kit->ia)
		return;
	KUNIT_EXPECT_EQ(kit->test, dat_ia_close(kit->ia, DAT_CLOSE_ABRUPT_FLAG),
			0);
	kit->ia = NULL;
	kit->async = NULL;
}
EXPORT_SYMBOL_GPL(kit_close);

void kit_replug(struct kunit *test, enum fake_proto proto)
{
	struct kit *kit = to_kit(test);

	kit_close(kit);
	fake_hca_unplug();
	KUNIT_ASSERT_EQ(test, fake_hca_plug(proto), 0);
	KUNIT_ASSERT_EQ(test, dat_ia_open(FAKE_NAME, 8, &kit->async, &kit->ia),
			0);
	KUNIT_ASSERT_EQ(test, dat_pz_create(kit->ia, &kit->pz), 0);
}
EXPORT_SYMBOL_GPL(kit_replug);

void kit_exit(struct kunit *test)
{
	struct kit *kit = to_kit(test);

	if (!kit)
		return;
	/* What a test has broken must not break the way down. */
	WRITE_ONCE(fake_script.hook, NULL);
	fake_hca_fail(FAKE_ANY, 1, 0, 0);
	fake_cm_fail(FAKE_CM_ANY, 1, 0, 0);
	kit_close(kit);
	KUNIT_EXPECT_TRUE(test, KIT_WAIT(fake_hca_live_total() == kit->live));
	KUNIT_EXPECT_EQ(test, fake_qp_overflows(), 0U);
	kdapl_disconnect_timeout_ms = kit->disconnect_ms;
	kdapl_drep_grace_ms = kit->grace_ms;
	kdapl_flush_timeout_ms = kit->flush_ms;
	kdapl_doubt_ms = kit->doubt_ms;
}
EXPORT_SYMBOL_GPL(kit_exit);

void kit_exit_replug(struct kunit *test)
{
	kit_exit(test);
	fake_hca_unplug();
	KUNIT_EXPECT_EQ(test, fake_hca_plug(FAKE_PROTO_IB), 0);
}
EXPORT_SYMBOL_GPL(kit_exit_replug);

static void kit_upcall_func(void *instance_data, const struct dat_event *event,
			    bool more)
{
	struct kit_upcall *up = instance_data;
	int running, overlap;
	unsigned long flags;

	atomic_inc(&up->calls);
	running = atomic_inc_return(&up->running);
	overlap = atomic_read(&up->overlap);
	while (running > overlap &&
	       !atomic_try_cmpxchg(&up->overlap, &overlap, running))
		;
	WRITE_ONCE(up->in_task, in_task());
	WRITE_ONCE(up->more, more);

	if (event) {
		spin_lock_irqsave(&up->lock, flags);
		if (up->count < KIT_RECORD)
			up->events[up->count] = *event;
		/* Who waits for it has not the lock. */
		WRITE_ONCE(up->count, up->count + 1);
		spin_unlock_irqrestore(&up->lock, flags);
	} else {
		atomic_inc(&up->nulls);
	}
	if (up->action)
		up->action(up, event, more);
	while (READ_ONCE(up->hold)) {
		if (in_task())
			usleep_range(100, 500);
		else
			cpu_relax();
	}
	atomic_dec(&up->running);
	atomic_inc(&up->done);
}

struct kit_upcall *kit_upcall(struct kunit *test)
{
	struct kit_upcall *up;

	up = kunit_kzalloc(test, sizeof(*up), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, up);
	spin_lock_init(&up->lock);
	up->object.instance_data = up;
	up->object.upcall_func = kit_upcall_func;
	return up;
}
EXPORT_SYMBOL_GPL(kit_upcall);

struct dat_evd *kit_evd_up(struct kunit *test, int qlen,
			   enum dat_evd_flags flags,
			   enum dat_upcall_policy policy,
			   struct kit_upcall *up)
{
	struct dat_evd *evd = NULL;

	KUNIT_ASSERT_EQ(test, dat_evd_kcreate(to_kit(test)->ia, qlen, policy,
					      up ? &up->object : NULL, flags,
					      &evd), 0);
	KUNIT_ASSERT_NOT_NULL(test, evd);
	if (up)
		up->evd = evd;
	return evd;
}
EXPORT_SYMBOL_GPL(kit_evd_up);

struct dat_evd *kit_evd(struct kunit *test, int qlen, enum dat_evd_flags flags)
{
	return kit_evd_up(test, qlen, flags, DAT_UPCALL_DISABLE, NULL);
}
EXPORT_SYMBOL_GPL(kit_evd);

enum dat_upcall_policy kit_policy(struct dat_evd *evd)
{
	struct dat_evd_param param = { .upcall_policy = 42 };

	dat_evd_query(evd, DAT_EVD_FIELD_UPCALL_POLICY, &param);
	return param.upcall_policy;
}
EXPORT_SYMBOL_GPL(kit_policy);

int kit_qlen(struct dat_evd *evd)
{
	struct dat_evd_param param = {};

	dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param);
	return param.evd_qlen;
}
EXPORT_SYMBOL_GPL(kit_qlen);

int kit_post_se(struct dat_evd *evd, unsigned long tag)
{
	struct dat_event event = { .event_number = DAT_SOFTWARE_EVENT };

	event.event_data.software_event_data.pointer = (void *)tag;
	return dat_evd_post_se(evd, &event);
}
EXPORT_SYMBOL_GPL(kit_post_se);

unsigned long kit_se_tag(const struct dat_event *event)
{
	return (unsigned long)event->event_data.software_event_data.pointer;
}
EXPORT_SYMBOL_GPL(kit_se_tag);

unsigned int kit_drain(struct dat_evd *evd)
{
	struct dat_event event;
	unsigned int n = 0;

	while (!dat_evd_dequeue(evd, &event))
		n++;
	return n;
}
EXPORT_SYMBOL_GPL(kit_drain);

unsigned int kit_runners(struct dat_evd *evd)
{
	unsigned int runners;
	unsigned long flags;

	spin_lock_irqsave(&evd->lock, flags);
	runners = evd->runners;
	spin_unlock_irqrestore(&evd->lock, flags);
	return runners;
}
EXPORT_SYMBOL_GPL(kit_runners);

struct dat_event kit_next(struct dat_evd *evd)
{
	struct dat_event event = {};

	if (!KIT_WAIT(!dat_evd_dequeue(evd, &event)))
		event.event_number = 0;
	return event;
}
EXPORT_SYMBOL_GPL(kit_next);

struct dat_ep *kit_ep(struct kunit *test, struct dat_evd *recv,
		      struct dat_evd *request, struct dat_evd *connect,
		      int depth)
{
	struct dat_ep_attr attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = 1U << 20,
		.max_rdma_size = 1U << 20,
		.qos = DAT_QOS_BEST_EFFORT,
		.request_completion_flags = to_kit(test)->ep_flags,
		.recv_completion_flags = to_kit(test)->ep_flags,
		.max_recv_dtos = recv ? depth : 0,
		.max_request_dtos = request ? depth : 0,
		.max_recv_iov = recv ? 2 : 0,
		.max_request_iov = request ? 2 : 0,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.max_rdma_read_iov = request ? 1 : 0,
		.max_rdma_write_iov = request ? 2 : 0,
	};
	struct kit *kit = to_kit(test);
	struct dat_ep *ep = NULL;

	KUNIT_ASSERT_EQ(test, dat_ep_create(kit->ia, kit->pz, recv, request,
					    connect, &attr, &ep), 0);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	return ep;
}
EXPORT_SYMBOL_GPL(kit_ep);

enum dat_ep_state kit_state(struct dat_ep *ep)
{
	enum dat_ep_state state = -1;
	bool recv, request;

	dat_ep_get_status(ep, &state, &recv, &request);
	return state;
}
EXPORT_SYMBOL_GPL(kit_state);

int kit_post_recv(struct dat_ep *ep, unsigned long cookie)
{
	union dat_context context = { .as_index = cookie };

	return dat_ep_post_recv(ep, 0, NULL, context,
				DAT_COMPLETION_DEFAULT_FLAG);
}
EXPORT_SYMBOL_GPL(kit_post_recv);

int kit_post_send(struct dat_ep *ep, unsigned long cookie,
		  enum dat_completion_flags flags)
{
	union dat_context context = { .as_index = cookie };

	return dat_ep_post_send(ep, 0, NULL, context, flags);
}
EXPORT_SYMBOL_GPL(kit_post_send);

struct ib_qp *kit_qp(struct dat_ep *ep)
{
	return READ_ONCE(ep->qp);
}
EXPORT_SYMBOL_GPL(kit_qp);

struct ib_cq *kit_cq(struct dat_evd *evd)
{
	return READ_ONCE(evd->cq);
}
EXPORT_SYMBOL_GPL(kit_cq);

void kit_source(struct kunit *test, struct kit_source *source,
		struct dat_evd *evd, int depth)
{
	memset(source, 0, sizeof(*source));
	source->evd = evd;
	source->ep = kit_ep(test, evd, NULL, NULL, depth);
	KUNIT_ASSERT_NOT_NULL(test, kit_qp(source->ep));
}
EXPORT_SYMBOL_GPL(kit_source);

void kit_source_post(struct kunit *test, struct kit_source *source,
		     unsigned int n)
{
	while (n--)
		KUNIT_ASSERT_EQ(test, kit_post_recv(source->ep,
						    source->posted++), 0);
}
EXPORT_SYMBOL_GPL(kit_source_post);

void kit_source_complete(struct kit_source *source)
{
	if (fake_qp_complete(kit_qp(source->ep), false, 1, IB_WC_SUCCESS))
		source->completed++;
}
EXPORT_SYMBOL_GPL(kit_source_complete);

void kit_address(struct sockaddr_in *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = htonl(FAKE_IP4);
}
EXPORT_SYMBOL_GPL(kit_address);

int kit_connect(struct dat_ep *ep, u16 port)
{
	struct sockaddr_in addr;

	kit_address(&addr);
	return dat_ep_connect(ep, (struct sockaddr *)&addr, port,
			      DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}
EXPORT_SYMBOL_GPL(kit_connect);

void kit_pair_listen(struct kunit *test, struct kit_pair *pair)
{
	memset(pair, 0, sizeof(*pair));
	pair->cr_evd = kit_evd(test, 4, DAT_EVD_CR_FLAG);
	pair->conn_evd = kit_evd(test, 8, DAT_EVD_CONNECTION_FLAG);
	KUNIT_ASSERT_EQ(test, dat_psp_create(to_kit(test)->ia, KIT_PORT,
					     pair->cr_evd,
					     DAT_PSP_CONSUMER_FLAG,
					     &pair->psp), 0);
}
EXPORT_SYMBOL_GPL(kit_pair_listen);

void kit_expect_end(struct kunit *test, struct dat_evd *evd, struct dat_ep *ep,
		    enum dat_event_number number)
{
	struct dat_event event = kit_next(evd);

	KUNIT_EXPECT_EQ(test, (int)event.event_number, (int)number);
	KUNIT_EXPECT_PTR_EQ(test, event.event_data.connect_event_data.ep_handle,
			    ep);
	KUNIT_EXPECT_EQ(test, (int)kit_state(ep), DAT_EP_STATE_DISCONNECTED);
	KIT_SETTLE();
	KUNIT_EXPECT_EQ(test, dat_evd_dequeue(evd, &event), -EAGAIN);
}
EXPORT_SYMBOL_GPL(kit_expect_end);

void kit_pair_accept(struct kunit *test, struct kit_pair *pair,
		     struct dat_ep *client, struct dat_ep *server)
{
	struct dat_event event;
	struct dat_cr *cr;

	pair->client = client;
	pair->server = server;
	KUNIT_ASSERT_EQ(test, kit_connect(pair->client, KIT_PORT), 0);
	event = kit_next(pair->cr_evd);
	KUNIT_ASSERT_EQ(test, (int)event.event_number,
			(int)DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	KUNIT_ASSERT_EQ(test, dat_cr_accept(cr, pair->server, 0, NULL), 0);
}
EXPORT_SYMBOL_GPL(kit_pair_accept);

void kit_pair_connect(struct kunit *test, struct kit_pair *pair,
		      struct dat_ep *client, struct dat_ep *server)
{
	struct dat_event event;

	kit_pair_accept(test, pair, client, server);
	event = kit_next(pair->conn_evd);
	KUNIT_ASSERT_EQ(test, (int)event.event_number,
			(int)DAT_CONNECTION_EVENT_ESTABLISHED);
	event = kit_next(pair->conn_evd);
	KUNIT_ASSERT_EQ(test, (int)event.event_number,
			(int)DAT_CONNECTION_EVENT_ESTABLISHED);
}
EXPORT_SYMBOL_GPL(kit_pair_connect);

void kit_pair(struct kunit *test, struct kit_pair *pair,
	      struct dat_evd *recv, struct dat_evd *request, int depth)
{
	kit_pair_listen(test, pair);
	kit_pair_connect(test, pair,
			 kit_ep(test, recv, request, pair->conn_evd, depth),
			 kit_ep(test, recv, request, pair->conn_evd, depth));
}
EXPORT_SYMBOL_GPL(kit_pair);
