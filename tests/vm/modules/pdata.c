// SPDX-License-Identifier: GPL-2.0
/*
 * Private data: what arrives is what was sent. IB carries a field of a fixed
 * size, so the receiver is told that size and finds zeros behind the data;
 * iWARP carries the length.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cm.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20130,
	IB_REQ = 56,
	IB_REP = 196,
	/* 148 in the message, of which libdapl's framing takes four. */
	IB_REJ = 144,
	/* siw counts it in a byte, MPA's own four included. */
	IWARP_MAX = 251,
	/* The framing of a reject. */
	REJECT_HEADER = 4,
};

static void fill(u8 *data, int size, u8 seed)
{
	int i;

	for (i = 0; i < size; i++)
		data[i] = seed + i;
}

/* @size bytes as by fill(), then zeros up to @got. */
static bool same(const u8 *data, int got, int size, u8 seed)
{
	int i;

	if (got < size)
		return false;
	for (i = 0; i < got; i++)
		if (data[i] != (i < size ? (u8)(seed + i) : 0))
			return false;
	return true;
}

static int field(const struct side *side, int ib, int size)
{
	return side->iwarp ? size : ib;
}

static void check_event(struct vmtest *t, const struct side *side,
			const struct dat_event *event, int ib, int size,
			const char *what)
{
	const struct dat_connection_event_data *data =
		&event->event_data.connect_event_data;

	vmtest_equal(t, data->private_data_size, field(side, ib, size),
		     "%s: size for %d bytes", what, size);
	vmtest_check(t, same(data->private_data, data->private_data_size,
			     size, 0x80), "%s: content of %d bytes", what,
		     size);
}

/* One connect with @size bytes in the request and in the answer. */
static void exchange(struct vmtest *t, struct side *near, struct side *far,
		     u64 port, int size, bool accept)
{
	struct dat_ep *near_ep = NULL, *far_ep = NULL;
	struct dat_cr_param param = {};
	const char *what = accept ? "accept" : "reject";
	u8 *data = kzalloc(IWARP_MAX, GFP_KERNEL);
	struct dat_event event;
	struct dat_cr *cr;
	int ret;

	ret = data ? 0 : -ENOMEM;
	if (!ret)
		ret = side_ep(near, 1, 1, &near_ep);
	if (!ret)
		ret = side_ep(far, 1, 1, &far_ep);
	if (ret)
		goto out;
	fill(data, size, 0x10);
	ret = side_connect(near, near_ep, far, port, SIDE_TIMEOUT_MS, data,
			   size);
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	if (ret)
		goto out;

	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	vmtest_equal(t, ret ? ret : param.private_data_size,
		     field(near, IB_REQ, size), "request: size for %d bytes",
		     size);
	vmtest_check(t, !ret && same(param.private_data,
				     param.private_data_size, size, 0x10),
		     "request: content of %d bytes", size);

	fill(data, size, 0x80);
	if (accept)
		ret = dat_cr_accept(cr, far_ep, size, data);
	else
		ret = dat_cr_reject(cr, size, data);
	if (ret)
		goto out;
	ret = side_expect(near->conn,
			  accept ? DAT_CONNECTION_EVENT_ESTABLISHED :
				   DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	if (ret)
		goto out;
	check_event(t, near, &event, accept ? IB_REP : IB_REJ, size, what);
	if (accept)
		ret = side_expect(far->conn, DAT_CONNECTION_EVENT_ESTABLISHED,
				  &event);
out:
	vmtest_equal(t, ret, 0, "%s with %d bytes", what, size);
	if (near_ep)
		dat_ep_free(near_ep);
	if (far_ep)
		dat_ep_free(far_ep);
	kfree(data);
}

/* Refused by us, so that the peer hears nothing at all. */
static void too_long(struct vmtest *t, struct side *near, struct side *far,
		     u64 port)
{
	int size = (near->iwarp ? IWARP_MAX : IB_REQ) + 1;
	struct dat_ep *ep;
	struct dat_event event;
	enum dat_ep_state state;
	u8 *data;
	int ret;

	data = kzalloc(size, GFP_KERNEL);
	if (!data)
		return;
	ret = side_ep(near, 1, 1, &ep);
	if (ret) {
		vmtest_equal(t, ret, 0, "an EP");
		goto out;
	}
	ret = side_connect(near, ep, far, port, SIDE_TIMEOUT_MS, data, size);
	vmtest_equal(t, ret, -EINVAL, "%d bytes are refused", size);
	vmtest_equal(t, side_wait(far->conn, &event, 300), -ETIMEDOUT,
		     "and never leave");
	ret = dat_ep_get_status(ep, &state, NULL, NULL);
	vmtest_check(t, !ret && state == DAT_EP_STATE_UNCONNECTED,
		     "and leave the EP as it was");
	dat_ep_free(ep);
out:
	kfree(data);
}

void vmtest_pdata(struct vmtest *t)
{
	static const int ib_sizes[] = { 0, 1, 40, 56 };
	static const int iwarp_sizes[] = { 0, 1, IWARP_MAX };
	struct side near, far;
	struct dat_psp *psp;
	const int *sizes;
	unsigned int i, n;
	int most_in_reject;
	int ret;

	if (!sides_open(t, &near, &far, 64, false))
		return;
	sizes = near.iwarp ? iwarp_sizes : ib_sizes;
	n = near.iwarp ? ARRAY_SIZE(iwarp_sizes) : ARRAY_SIZE(ib_sizes);
	most_in_reject = near.iwarp ? IWARP_MAX - REJECT_HEADER : IB_REQ;

	ret = dat_psp_create(far.ia, PORT, far.conn, DAT_PSP_CONSUMER_FLAG,
			     &psp);
	vmtest_equal(t, ret, 0, "a PSP");
	if (!ret) {
		for (i = 0; i < n; i++) {
			exchange(t, &near, &far, PORT, sizes[i], true);
			exchange(t, &near, &far, PORT,
				 min_t(int, sizes[i], most_in_reject), false);
		}
		too_long(t, &near, &far, PORT);
	}
	side_close(&near);
	side_close(&far);
}
