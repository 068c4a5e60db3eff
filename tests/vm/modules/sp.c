// SPDX-License-Identifier: GPL-2.0
/*
 * Service points: one that makes the EPs itself, requests that are passed on,
 * listeners on socket addresses.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/net.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	PORT = 20170,
	OTHER_PORT = PORT + 1,
	CSP_PORT = PORT + 2,
};

static int set_up_ep(struct side *side, struct dat_ep *ep)
{
	struct dat_ep_param param = {
		.pz_handle = side->pz,
		.recv_evd_handle = side->recv,
		.request_evd_handle = side->request,
		.connect_evd_handle = side->conn,
		.ep_attr.max_recv_dtos = 4,
		.ep_attr.max_request_dtos = 4,
	};

	return dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE |
			     DAT_EP_FIELD_RECV_EVD_HANDLE |
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			     DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			     DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

static int established(struct side *near, struct side *far)
{
	struct dat_event event;
	int ret;

	ret = side_expect(near->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	if (ret)
		return ret;
	return side_expect(far->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* A message from @near to @ep of @far, where a buffer waits for it. */
static int message(struct side *near, struct dat_ep *from, struct side *far,
		   struct dat_ep *ep)
{
	struct dat_dto_completion_event_data *dto;
	struct dat_event event;
	int ret;

	ret = side_post_send(near, from, 1);
	if (!ret)
		ret = side_expect(far->recv, DAT_DTO_COMPLETION_EVENT, &event);
	if (ret)
		return ret;
	dto = &event.event_data.dto_completion_event_data;
	return dto->ep_handle == ep && dto->status == DAT_DTO_SUCCESS ? 0 :
								       -EPROTO;
}

/* The EP that comes with the request, from there to its last event. */
static void provider_ep(struct vmtest *t, struct side *near, struct side *far)
{
	struct dat_cr_param param = {};
	struct dat_ep *ep, *client;
	struct dat_event event;
	struct dat_psp *psp;
	struct dat_cr *cr;
	int ret;

	ret = dat_psp_create(far->ia, PORT, far->conn, DAT_PSP_PROVIDER_FLAG,
			     &psp);
	vmtest_equal(t, ret, 0, "a PSP that makes EPs");
	if (ret)
		return;
	ret = side_ep(near, 1, 4, &client);
	if (!ret)
		ret = side_connect(near, client, far, PORT, SIDE_TIMEOUT_MS,
				   NULL, 0);
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	vmtest_equal(t, ret, 0, "a request for it");
	if (ret)
		goto out;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param);
	ep = param.local_ep_handle;
	if (!vmtest_check(t, ep, "has an EP"))
		goto out;
	vmtest_equal(t, dat_cr_accept(cr, NULL, 0, NULL), -EBADFD,
		     "that cannot be used as it is");
	ret = set_up_ep(far, ep);
	if (!ret)
		ret = side_post_recv(far, ep, 1);
	if (!ret)
		ret = dat_cr_accept(cr, NULL, 0, NULL);
	if (!ret)
		ret = established(near, far);
	if (!ret)
		ret = message(near, client, far, ep);
	vmtest_equal(t, ret, 0, "and then carries a message");
	vmtest_equal(t, dat_ep_disconnect(client, DAT_CLOSE_GRACEFUL_FLAG), 0,
		     "until it is closed");
	ret = side_expect(far->conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	vmtest_equal(t, ret, 0, "which both sides hear of");
	vmtest_equal(t, dat_ep_free(ep), 0, "and freed like any other");
out:
	dat_psp_free(psp);
}

static void turned_away(struct vmtest *t, struct side *near, struct side *far)
{
	struct dat_event event;
	struct dat_ep *client;
	struct dat_psp *psp;
	int ret;

	ret = dat_psp_create(far->ia, PORT, far->conn, DAT_PSP_PROVIDER_FLAG,
			     &psp);
	if (!ret)
		ret = side_ep(near, 1, 4, &client);
	if (!ret)
		ret = side_connect(near, client, far, PORT, SIDE_TIMEOUT_MS,
				   NULL, 0);
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	if (!ret)
		ret = dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle,
				    0, NULL);
	vmtest_equal(t, ret, 0, "a request rejected, with its EP");
	if (ret)
		return;
	/* The connection before this one has ended on our side, too. */
	do {
		ret = side_wait(near->conn, &event, SIDE_TIMEOUT_MS);
	} while (!ret &&
		 event.event_data.connect_event_data.ep_handle != client);
	vmtest_equal(t, ret ?: event.event_number,
		     DAT_CONNECTION_EVENT_PEER_REJECTED, "and the peer hears it");
	dat_psp_free(psp);
	dat_ep_free(client);
}

/* To another service point, and the peer notices nothing. */
static void handoff(struct vmtest *t, struct side *near, struct side *far)
{
	static const u8 words[] = "for somebody else";
	struct dat_cr_arrival_event_data *data;
	struct dat_psp *first, *second = NULL;
	struct dat_cr_param param = {};
	struct dat_ep *client, *ep;
	struct dat_event event;
	int ret;

	ret = dat_psp_create(far->ia, PORT, far->conn, DAT_PSP_CONSUMER_FLAG,
			     &first);
	if (ret)
		goto out;
	ret = dat_psp_create(far->ia, OTHER_PORT, far->conn,
			     DAT_PSP_CONSUMER_FLAG, &second);
	if (!ret)
		ret = side_ep(far, 4, 4, &ep);
	if (!ret)
		ret = side_ep(near, 1, 4, &client);
	if (!ret)
		ret = side_connect(near, client, far, PORT, SIDE_TIMEOUT_MS,
				   words, sizeof(words));
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	data = &event.event_data.cr_arrival_event_data;
	if (!ret)
		ret = dat_cr_handoff(data->cr_handle, OTHER_PORT);
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	vmtest_equal(t, ret, 0, "a request passed on");
	if (ret)
		goto out_free;
	vmtest_equal(t, data->conn_qual, OTHER_PORT, "arrives there");
	vmtest_check(t, data->sp_handle.psp_handle == second,
		     "through that service point");
	dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, &param);
	vmtest_check(t, param.private_data_size >= (int)sizeof(words) &&
		     !memcmp(param.private_data, words, sizeof(words)),
		     "with its private data");
	ret = side_post_recv(far, ep, 1);
	if (!ret)
		ret = dat_cr_accept(data->cr_handle, ep, 0, NULL);
	if (!ret)
		ret = established(near, far);
	if (!ret)
		ret = message(near, client, far, ep);
	vmtest_equal(t, ret, 0, "and becomes a connection");
	dat_ep_free(client);
	dat_ep_free(ep);
out_free:
	if (second)
		dat_psp_free(second);
	dat_psp_free(first);
out:
	vmtest_equal(t, ret, 0, "handoff");
}

static void set_port(struct sockaddr_storage *addr, u16 port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static void common(struct vmtest *t, struct side *near, struct side *far)
{
	struct sockaddr_storage addr = far->addr;
	struct dat_comm comm = {
		.domain = addr.ss_family,
		.type = SOCK_STREAM,
	};
	struct dat_ep *client, *ep;
	struct dat_csp *csp;
	struct dat_event event;
	int ret;

	set_port(&addr, CSP_PORT);
	ret = dat_csp_create(far->ia, &comm, (struct sockaddr *)&addr,
			     far->conn, &csp);
	vmtest_equal(t, ret, 0, "a CSP");
	if (ret)
		return;
	ret = side_ep(near, 1, 4, &client);
	if (!ret)
		ret = side_ep(far, 4, 4, &ep);
	if (!ret)
		ret = side_post_recv(far, ep, 1);
	if (!ret)
		ret = dat_ep_common_connect(client, (struct sockaddr *)&addr,
					    SIDE_TIMEOUT_MS * USEC_PER_MSEC, 0,
					    NULL);
	if (!ret)
		ret = side_expect(far->conn, DAT_CONNECTION_REQUEST_EVENT,
				  &event);
	if (!ret)
		ret = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
				    ep, 0, NULL);
	if (!ret)
		ret = established(near, far);
	if (!ret)
		ret = message(near, client, far, ep);
	vmtest_equal(t, ret, 0, "connected by dat_ep_common_connect()");
	dat_csp_free(csp);
}

void vmtest_sp(struct vmtest *t)
{
	static struct side near, far;

	if (!sides_open(t, &near, &far, 64, false))
		return;
	provider_ep(t, &near, &far);
	turned_away(t, &near, &far);
	handoff(t, &near, &far);
	common(t, &near, &far);
	side_close(&near);
	side_close(&far);
}
