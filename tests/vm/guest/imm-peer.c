// SPDX-License-Identifier: GPL-2.0
/*
 * imm-peer <address> <port>: a peer for immediate data that shares no code with
 * the kernel's side of it (tests/vm/modules/imm.c): user space, libibverbs.
 *
 * It takes one connection. Both ends say in their private data where the other may
 * write. Then the kernel writes with immediate data, and what came is looked at byte
 * by byte; then it is this end that writes, and sends. The exit status says whether
 * all was as it should be.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/types.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

enum {
	AREA = 4096,		/* bytes that the kernel may write to */
	OURS = AREA,		/* behind it: what is sent from here */
	BYTES = 64,		/* of a write */
	SECONDS = 30,		/* for all of it */
};

/* Private data of both ends, as imm.c has it. */
struct where {
	__be64 addr;
	__be32 rkey;
	__be32 length;
};

/* As they are in memory, whatever this machine makes of them as a number. */
static const __u8 first_imm[4] = { 0x01, 0x02, 0x03, 0x04 };
static const __u8 second_imm[4] = { 0xf1, 0xf2, 0xf3, 0xf4 };

static __u8 buf[2 * AREA];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "imm-peer: %s\n", what);
	exit(1);
}

static struct rdma_cm_id *take_connection(const char *addr, const char *port)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_all = 1,
	};
	struct rdma_cm_id *listener, *id;
	struct rdma_addrinfo *res;

	if (rdma_getaddrinfo(addr, port, &hints, &res))
		die("rdma_getaddrinfo");
	if (rdma_create_ep(&listener, res, NULL, &attr))
		die("rdma_create_ep");
	if (rdma_listen(listener, 1))
		die("rdma_listen");
	if (rdma_get_request(listener, &id))
		die("rdma_get_request");
	return id;
}

/* The next receive, of a write of so many bytes; buf is what the first one made it. */
static void expect_write(struct rdma_cm_id *id, __u32 length, const __u8 *imm)
{
	__u8 got[4];
	struct ibv_wc wc;
	int i;

	if (rdma_get_recv_comp(id, &wc) <= 0)
		die("rdma_get_recv_comp");
	memcpy(got, &wc.imm_data, sizeof(got));
	printf("%s: opcode %d flags 0x%x, %u bytes, immediate data %02x %02x %02x %02x\n",
	       ibv_wc_status_str(wc.status), wc.opcode, wc.wc_flags, wc.byte_len,
	       got[0], got[1], got[2], got[3]);
	need(wc.status == IBV_WC_SUCCESS, "the receive failed");
	need(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wc_flags & IBV_WC_WITH_IMM,
	     "that is no write with immediate data");
	need(!memcmp(got, imm, sizeof(got)), "other immediate data, or in another order");
	need(wc.byte_len == length, "another length");
	for (i = 0; i < BYTES; i++)
		need(buf[i] == 0x10 + i, "other bytes");
	need(!buf[BYTES], "more bytes than those");
}

static void post(struct rdma_cm_id *id, struct ibv_mr *mr, enum ibv_wr_opcode opcode,
		 const struct where *to)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(buf + OURS),
		.length = BYTES,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.imm_data = htonl(0x01020304),
		.wr.rdma.remote_addr = be64toh(to->addr),
		.wr.rdma.rkey = ntohl(to->rkey),
	}, *bad;
	struct ibv_wc wc;

	if (ibv_post_send(id->qp, &wr, &bad))
		die("ibv_post_send");
	if (rdma_get_send_comp(id, &wc) <= 0)
		die("rdma_get_send_comp");
	printf("opcode %d: %s\n", opcode, ibv_wc_status_str(wc.status));
	need(wc.status == IBV_WC_SUCCESS, "the request failed");
}

int main(int argc, char **argv)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = 7,
	};
	struct where ours, theirs;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	int i;

	if (argc != 3) {
		fprintf(stderr, "usage: imm-peer <address> <port>\n");
		return 2;
	}
	alarm(SECONDS);
	id = take_connection(argv[1], argv[2]);
	need(id->event->param.conn.private_data_len >= sizeof(theirs),
	     "the request does not say where to write");
	memcpy(&theirs, id->event->param.conn.private_data, sizeof(theirs));
	need(ntohl(theirs.length) >= BYTES, "there is no room for a write");

	mr = ibv_reg_mr(id->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("ibv_reg_mr");
	/* A write leaves the buffer of the receive that it takes alone. */
	for (i = 0; i < 2; i++)
		if (rdma_post_recv(id, NULL, buf + OURS, 1, mr))
			die("rdma_post_recv");
	ours.addr = htobe64((uintptr_t)buf);
	ours.rkey = htonl(mr->rkey);
	ours.length = htonl(AREA);
	param.private_data = &ours;
	param.private_data_len = sizeof(ours);
	if (rdma_accept(id, &param))
		die("rdma_accept");

	expect_write(id, BYTES, first_imm);
	expect_write(id, 0, second_imm);

	for (i = 0; i < BYTES; i++)
		buf[OURS + i] = 0x80 + i;
	post(id, mr, IBV_WR_RDMA_WRITE_WITH_IMM, &theirs);
	post(id, mr, IBV_WR_SEND_WITH_IMM, &theirs);

	/* The kernel's end of it, as it has seen all; any other ends in the alarm. */
	do {
		rdma_ack_cm_event(id->event);
		if (rdma_get_cm_event(id->channel, &id->event))
			die("rdma_get_cm_event");
	} while (id->event->event != RDMA_CM_EVENT_DISCONNECTED);
	rdma_disconnect(id);
	puts("all well");
	return 0;
}
