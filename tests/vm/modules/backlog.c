// SPDX-License-Identifier: GPL-2.0
/*
 * More requests than the EVD of a PSP can hold: those beyond are rejected at
 * once, so that their senders learn of it, and nothing else suffers.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>

/* For what is counted. */
#include "../../../drivers/kdapl/evd.h"
#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20150,
	ROOM = 4,	/* asked for; there may be more */
	EXTRA = 6,	/* requests beyond the room */
	CLIENTS_MAX = 64 + EXTRA,
	CONNECT_TIMEOUT_MS = 60000,
	/* ib_cm's, or nearly: what was dropped would take that much. */
	CM_RETRY_MS = 4000,
};

struct clients {
	struct side near;
	struct side far;
	struct dat_evd *cr_evd;
	struct dat_psp *psp;
	struct dat_ep *near_ep[CLIENTS_MAX];
	struct dat_ep *far_ep[CLIENTS_MAX];
	bool established[CLIENTS_MAX];
	int room;
	int count;
};

static int index_of(const struct clients *c, const struct dat_ep *ep)
{
	int i;

	for (i = 0; i < c->count; i++)
		if (c->near_ep[i] == ep)
			return i;
	return -1;
}

static int set_up(struct clients *c)
{
	struct dat_evd_param param;
	int ret, i;

	ret = dat_evd_kcreate(c->far.ia, ROOM, DAT_UPCALL_DISABLE, NULL,
			      DAT_EVD_CR_FLAG, &c->cr_evd);
	if (!ret)
		ret = dat_evd_query(c->cr_evd, DAT_EVD_FIELD_EVD_QLEN, &param);
	if (ret)
		return ret;
	c->room = param.evd_qlen;
	c->count = c->room + EXTRA;
	if (c->count > CLIENTS_MAX)
		return -E2BIG;
	for (i = 0; i < c->count && !ret; i++) {
		ret = side_ep(&c->near, 1, 1, &c->near_ep[i]);
		if (!ret)
			ret = side_ep(&c->far, 1, 1, &c->far_ep[i]);
	}
	if (!ret)
		ret = dat_psp_create(c->far.ia, PORT, c->cr_evd,
				     DAT_PSP_CONSUMER_FLAG, &c->psp);
	return ret;
}

static void connect(struct vmtest *t, struct clients *c, int i, int *failed)
{
	if (side_connect(&c->near, c->near_ep[i], &c->far, PORT,
			 CONNECT_TIMEOUT_MS, NULL, 0))
		(*failed)++;
}

/* Accepts what is queued, up to @max; returns how many there were. */
static int accept_all(struct vmtest *t, struct clients *c, int from, int max)
{
	struct dat_event event;
	int n = 0;

	while (n < max && !side_wait(c->cr_evd, &event, n ? 500 : 3000)) {
		int ret;

		ret = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
				    c->far_ep[from + n], 0, NULL);
		if (ret)
			vmtest_equal(t, ret, 0, "accept %d", from + n);
		n++;
	}
	return n;
}

/* Collects one connection event for each of @n EPs. */
static void collect(struct clients *c, int n, int *established, int *rejected,
		    int *other)
{
	struct dat_event event;

	*established = 0;
	*rejected = 0;
	*other = 0;
	while (n-- && !side_wait(c->near.conn, &event, SIDE_TIMEOUT_MS)) {
		int i = index_of(c, event.event_data.connect_event_data.ep_handle);

		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			(*established)++;
			if (i >= 0)
				c->established[i] = true;
		} else if (event.event_number ==
			   DAT_CONNECTION_EVENT_NON_PEER_REJECTED) {
			(*rejected)++;
		} else {
			(*other)++;
		}
	}
}

static void run(struct vmtest *t, struct clients *c)
{
	int established, rejected, other, failed = 0, i, took;
	unsigned long start = jiffies;
	struct dat_event event;

	for (i = 0; i < c->count; i++)
		connect(t, c, i, &failed);
	vmtest_equal(t, failed, 0, "all connects are started");

	collect(c, EXTRA, &established, &rejected, &other);
	took = jiffies_to_msecs(jiffies - start);
	vmtest_equal(t, rejected, EXTRA, "those beyond the room are rejected");
	vmtest_equal(t, established + other, 0, "and nothing else happened");
	vmtest_check(t, took < CM_RETRY_MS,
		     "sooner than a request is sent again");
	vmtest_say(t, "it took %d ms", took);
	vmtest_equal(t, side_wait(c->near.conn, &event, 200), -ETIMEDOUT,
		     "one event each");
	vmtest_equal(t, READ_ONCE(c->cr_evd->stats.refused), EXTRA,
		     "so many the EVD has refused");

	vmtest_equal(t, accept_all(t, c, 0, c->count), c->room,
		     "the others are queued");
	collect(c, c->room, &established, &rejected, &other);
	vmtest_equal(t, established, c->room, "and can be accepted");

	failed = 0;
	for (i = 0; i < c->count; i++) {
		if (c->established[i])
			continue;
		if (dat_ep_reset(c->near_ep[i]))
			failed++;
		/* Never more than there is room for at a time. */
		connect(t, c, i, &failed);
		accept_all(t, c, c->room + other, 1);
		other++;
	}
	vmtest_equal(t, failed, 0, "those rejected try again");
	collect(c, EXTRA, &established, &rejected, &other);
	vmtest_equal(t, established, EXTRA, "and succeed");
	vmtest_equal(t, READ_ONCE(c->cr_evd->stats.refused), EXTRA,
		     "none was refused again");
	vmtest_equal(t, READ_ONCE(c->cr_evd->stats.overflow), 0,
		     "no event was lost");
	vmtest_equal(t, side_wait(c->far.async_evd, &event, 0), -ETIMEDOUT,
		     "nor was anything said of that");
}

void vmtest_backlog(struct vmtest *t)
{
	static struct clients clients;
	struct clients *c = &clients;
	int ret;

	memset(c, 0, sizeof(*c));
	if (!sides_open(t, &c->near, &c->far, 1024, false))
		return;
	ret = set_up(c);
	vmtest_equal(t, ret, 0, "%d clients for a PSP with room for %d",
		     c->count, c->room);
	if (!ret)
		run(t, c);
	side_close(&c->near);
	side_close(&c->far);
}
