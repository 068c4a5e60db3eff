/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The connection manager as kdapl uses it, and what EPs and service points
 * share of it. Every call of rdma_cm goes through kdapl_cm_ops, so that a test
 * can put a scripted one there.
 */
#ifndef _KDAPL_CM_H
#define _KDAPL_CM_H

#include <rdma/rdma_cm.h>

#include <dat/dat_attr.h>
#include <dat/dat_event.h>

struct dat_ep;
struct dat_ia;

/**
 * struct kdapl_cm_ops - rdma_cm, call by call
 * @create_id: rdma_create_id()
 * @destroy_id: rdma_destroy_id(): no handler of the id runs when it returns;
 *	never called from one
 * @bind_addr: rdma_bind_addr(): sets id->device and id->port_num for an
 *	address of an RDMA port
 * @listen: rdma_listen()
 * @resolve_addr: rdma_resolve_addr()
 * @resolve_route: rdma_resolve_route()
 * @connect: rdma_connect(), from outside the id's handler
 * @accept: rdma_accept() from outside the id's handler: it takes the handler
 *	lock itself; with NULL the active side's answer to CONNECT_RESPONSE
 * @reject: rdma_reject()
 * @disconnect: rdma_disconnect(): sends a DREQ, or the DREP that is due; with
 *	neither due it does nothing
 * @notify: rdma_notify()
 * @init_qp_attr: rdma_init_qp_attr()
 * @set_afonly: rdma_set_afonly()
 * @set_ack_timeout: rdma_set_ack_timeout()
 * @lock_handler: rdma_lock_handler(): held while id->context changes
 * @unlock_handler: rdma_unlock_handler()
 *
 * But for accept and create_id the signatures are rdma_cm's own. All may sleep.
 */
struct kdapl_cm_ops {
	struct rdma_cm_id *(*create_id)(struct net *net,
					rdma_cm_event_handler handler,
					void *context,
					enum rdma_ucm_port_space ps,
					enum ib_qp_type qp_type);
	void (*destroy_id)(struct rdma_cm_id *id);
	int (*bind_addr)(struct rdma_cm_id *id, struct sockaddr *addr);
	int (*listen)(struct rdma_cm_id *id, int backlog);
	int (*resolve_addr)(struct rdma_cm_id *id, struct sockaddr *src_addr,
			    const struct sockaddr *dst_addr,
			    unsigned long timeout_ms);
	int (*resolve_route)(struct rdma_cm_id *id, unsigned long timeout_ms);
	int (*connect)(struct rdma_cm_id *id, struct rdma_conn_param *param);
	int (*accept)(struct rdma_cm_id *id, struct rdma_conn_param *param);
	int (*reject)(struct rdma_cm_id *id, const void *private_data,
		      u8 private_data_len, u8 reason);
	int (*disconnect)(struct rdma_cm_id *id);
	int (*notify)(struct rdma_cm_id *id, enum ib_event_type event);
	int (*init_qp_attr)(struct rdma_cm_id *id, struct ib_qp_attr *qp_attr,
			    int *qp_attr_mask);
	int (*set_afonly)(struct rdma_cm_id *id, int afonly);
	int (*set_ack_timeout)(struct rdma_cm_id *id, u8 timeout);
	void (*lock_handler)(struct rdma_cm_id *id);
	void (*unlock_handler)(struct rdma_cm_id *id);
};

/* Changed only by tests, while no IA is open. */
extern const struct kdapl_cm_ops *kdapl_cm_ops;

/* NULL puts rdma_cm back. */
void kdapl_cm_set_ops(const struct kdapl_cm_ops *ops);

/* The handler of all ids; id->context is the object that has the id. */
int kdapl_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);

/* The largest private data of any transport: conn_param's length is a u8. */
#define KDAPL_PRIVATE_DATA_MAX	255
/* Bytes before the private data of a reject; libdapl puts them there. */
#define KDAPL_REJECT_HEADER	4

/**
 * struct kdapl_cm_outcome - an event of an id, and the state it finds
 * @event: the event
 * @status: its status: an errno, or the reason of a reject
 * @iwarp: the transport's numbers, not InfiniBand's
 * @has_data: the event carried private data
 * @active: the side that called dat_ep_connect()
 * @state: of the EP
 */
struct kdapl_cm_outcome {
	enum rdma_cm_event_type event;
	int status;
	bool iwarp;
	bool has_data;
	bool active;
	enum dat_ep_state state;
};

/* The DAT event that it makes, 0 for none. */
enum dat_event_number kdapl_cm_map(const struct kdapl_cm_outcome *outcome);

/*
 * The private data of a reject as it travels: out gets at most
 * KDAPL_REJECT_HEADER + len bytes; returns their number.
 */
u8 kdapl_cm_frame_reject(u8 *out, const void *data, u8 len);
/* Where the peer's own bytes begin: past the header if there is one. */
u8 kdapl_cm_reject_offset(const u8 *data, u8 len);

/* TCP port of a connection qualifier, as libdapl has it; 0 for none. */
u16 kdapl_cm_qual_to_port(u64 conn_qual);
u16 kdapl_cm_port(const struct sockaddr_storage *addr);
void kdapl_cm_set_port(struct sockaddr_storage *addr, u16 port);
/* Bytes of an AF_INET or AF_INET6 address, 0 for any other family. */
size_t kdapl_cm_addr_size(int family);

#endif /* _KDAPL_CM_H */
