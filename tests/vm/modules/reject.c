// SPDX-License-Identifier: GPL-2.0
/*
 * Rejects against a peer that is not kdapl: what libdapl would see of ours, and
 * what we make of libdapl's, of a plain consumer's and of nobody's.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>

#include "raw.h"
#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20140,
	/* The word in front of a libdapl reject's private data. */
	FRAME = 4,
};

/* DAT 2.0 in its upper half; the lower one is the provider's version. */
static bool frame_ok(const u8 *data)
{
	return data[0] == 2 && data[1] == 0;
}

/* Our reject, with the eyes of a plain rdma_cm client. */
static void ours(struct vmtest *t, struct side *near, struct side *far)
{
	static const u8 words[] = "no room";
	struct dat_event event;
	struct dat_psp *psp;
	struct raw *raw;
	int ret;

	raw = kmalloc(sizeof(*raw), GFP_KERNEL);
	if (!raw)
		return;
	raw_init(raw);
	ret = dat_psp_create(far->ia, PORT, far->conn, DAT_PSP_CONSUMER_FLAG,
			     &psp);
	if (ret)
		goto out;
	ret = raw_connect(raw, &near->addr, &far->addr, PORT, NULL, 0);
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	if (!ret)
		ret = dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle,
				    sizeof(words), words);
	if (!ret)
		ret = raw_wait(raw, RDMA_CM_EVENT_REJECTED, SIDE_TIMEOUT_MS);
	if (!ret) {
		if (!near->iwarp)
			vmtest_equal(t, raw->status, IB_CM_REJ_CONSUMER_DEFINED,
				     "our reject: its reason");
		vmtest_check(t, raw->pdata_len >= FRAME + (int)sizeof(words),
			     "our reject: has private data");
		vmtest_check(t, frame_ok(raw->pdata),
			     "our reject: begins with the version");
		vmtest_check(t, !memcmp(raw->pdata + FRAME, words,
					sizeof(words)),
			     "our reject: the data follows");
	}
	raw_close(raw);
	dat_psp_free(psp);
out:
	vmtest_equal(t, ret, 0, "our reject reaches a plain client");
	kfree(raw);
}

/* Somebody else's reject, as kdapl reports it. */
static void theirs(struct vmtest *t, struct side *near, struct side *far,
		   const void *data, u8 len, enum dat_event_number want,
		   const char *what)
{
	struct dat_connection_event_data *got;
	struct dat_ep *ep = NULL;
	struct dat_event event;
	struct raw *raw;
	int ret;

	raw = kmalloc(sizeof(*raw), GFP_KERNEL);
	if (!raw)
		return;
	raw_init(raw);
	memcpy(raw->reject, data, len);
	raw->reject_len = len;
	ret = raw_listen(raw, &far->addr, PORT + 1);
	if (ret)
		goto out;
	ret = side_ep(near, 1, 1, &ep);
	if (!ret)
		ret = side_connect(near, ep, far, PORT + 1, SIDE_TIMEOUT_MS,
				   NULL, 0);
	if (!ret)
		ret = side_wait(near->conn, &event, SIDE_TIMEOUT_MS);
	if (ret)
		goto out_close;
	vmtest_equal(t, event.event_number, want, "%s: the event", what);
	got = &event.event_data.connect_event_data;
	if (len > FRAME)
		vmtest_check(t, got->private_data_size >= len - FRAME &&
			     !memcmp(got->private_data, data + FRAME,
				     len - FRAME),
			     "%s: the data without the version", what);
out_close:
	if (ep)
		dat_ep_free(ep);
	raw_close(raw);
out:
	vmtest_equal(t, ret, 0, "%s", what);
	kfree(raw);
}

/* No listener at all. */
static void no_listener(struct vmtest *t, struct side *near, struct side *far)
{
	struct dat_event event;
	struct dat_ep *ep;
	int ret;

	ret = side_ep(near, 1, 1, &ep);
	if (ret)
		return;
	ret = side_connect(near, ep, far, PORT + 2, SIDE_TIMEOUT_MS, NULL, 0);
	if (!ret)
		ret = side_wait(near->conn, &event, SIDE_TIMEOUT_MS);
	vmtest_equal(t, ret ? ret : event.event_number,
		     DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		     "nobody listens");
	dat_ep_free(ep);
}

/*
 * A consumer who has the request and says nothing, until we give up: on iWARP that
 * is heard of when its CM has given up, too.
 */
static void unanswered(struct vmtest *t, struct side *near, struct side *far)
{
	struct dat_ep *ep = NULL;
	struct dat_event event;
	struct dat_psp *psp;
	struct dat_cr *cr;
	int ret;

	ret = dat_psp_create(far->ia, PORT + 3, far->conn,
			     DAT_PSP_CONSUMER_FLAG, &psp);
	vmtest_equal(t, ret, 0, "a service point for requests without answers");
	if (ret)
		return;
	ret = side_ep(near, 1, 1, &ep);
	if (!ret)
		ret = side_connect(near, ep, far, PORT + 3, SIDE_TIMEOUT_MS,
				   NULL, 0);
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	vmtest_equal(t, ret, 0, "a request comes");
	if (ret)
		goto out;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	vmtest_equal(t, dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), 0,
		     "its sender disconnects");
	ret = side_wait(near->conn, &event, 3 * SIDE_TIMEOUT_MS);
	vmtest_equal(t, ret ? ret : event.event_number,
		     DAT_CONNECTION_EVENT_DISCONNECTED, "and hears of the end");
	vmtest_equal(t, side_wait(near->conn, &event, 200), -ETIMEDOUT,
		     "once");
	vmtest_equal(t, dat_ep_reset(ep), 0, "and can use the EP again");
	/* What its connection manager says of that is no matter here. */
	dat_cr_reject(cr, 0, NULL);
out:
	if (ep)
		dat_ep_free(ep);
	dat_psp_free(psp);
}

void vmtest_reject(struct vmtest *t)
{
	static const u8 framed[] = { 2, 0, 2, 9, 'b', 'u', 's', 'y' };
	struct side near, far;

	if (!sides_open(t, &near, &far, 64, false))
		return;
	ours(t, &near, &far);
	theirs(t, &near, &far, framed, sizeof(framed),
	       DAT_CONNECTION_EVENT_PEER_REJECTED, "libdapl's reject");
	theirs(t, &near, &far, framed, FRAME,
	       DAT_CONNECTION_EVENT_PEER_REJECTED,
	       "libdapl's reject without data");
	no_listener(t, &near, &far);
	unanswered(t, &near, &far);
	side_close(&near);
	side_close(&far);
}
