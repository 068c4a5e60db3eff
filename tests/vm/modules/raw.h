/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer that is not kdapl: rdma_cm and verbs, nothing between, so that tests
 * see what goes over the wire.
 */
#ifndef _VMTEST_RAW_H
#define _VMTEST_RAW_H

#include <linux/socket.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

enum {
	RAW_PDATA = 256,	/* bytes kept of an event's private data */
};

/**
 * struct raw - an rdma_cm_id, its QP, and the last event that it heard
 * @id: NULL for a listener's child until a request comes
 * @event: the last event, -1 = none yet
 * @status: of @event; for a reject the reason
 * @pdata: private data of @event
 * @pdata_len: bytes of it
 * @wait: woken for each event
 * @child: listener: takes the first request; NULL: reject all
 * @reject: listener: the private data of its rejects
 * @reject_len: bytes of it
 * @depth: entries of each queue
 * @comp: completion handler of @recv_cq, or NULL
 * @comp_context: its context
 * @ready: posts the first receives, before the connection is there, or NULL
 * @qp: the QP
 * @apart: the QP is not the id's: rdma_disconnect() leaves it alone
 * @dreq: called in the handler of a DISCONNECTED event, or NULL
 * @answer_ms: how long after that event the DREP goes, 0 = at once
 * @last_words: called before a DREP that goes later, or NULL
 * @answer: sends that
 */
struct raw {
	struct rdma_cm_id *id;
	int event;
	int status;
	u8 pdata[RAW_PDATA];
	int pdata_len;
	wait_queue_head_t wait;
	struct raw *child;
	u8 reject[RAW_PDATA];
	u8 reject_len;

	u32 depth;
	ib_comp_handler comp;
	void *comp_context;
	int (*ready)(struct raw *raw);
	struct ib_qp *qp;
	bool apart;
	void (*dreq)(struct raw *raw);
	unsigned int answer_ms;
	void (*last_words)(struct raw *raw);
	struct delayed_work answer;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
};

void raw_init(struct raw *raw);
int raw_listen(struct raw *raw, const struct sockaddr_storage *addr, u16 port);
int raw_connect(struct raw *raw, const struct sockaddr_storage *from,
		const struct sockaddr_storage *to, u16 port, const void *pdata,
		u8 len);
int raw_wait(struct raw *raw, enum rdma_cm_event_type event, unsigned int ms);
void raw_close(struct raw *raw);

#endif /* _VMTEST_RAW_H */
