/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the fake connection manager share. */
#ifndef _FAKE_CM_PRIV_H
#define _FAKE_CM_PRIV_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "fake_cm.h"

struct fake_id {
	struct rdma_cm_id id;
	struct kref ref;
	struct mutex handler_mutex;	/* as rdma_cm's: held in the handler */
	struct work_struct work;	/* delivers the notes */

	/* Below: under fake_cm_lock. */
	struct list_head node;
	struct list_head notes;
	struct fake_id *peer;
	bool dead;
	bool listening;
	bool passive;
	bool answered;		/* passive: accepted or rejected */
	bool connected;
	bool dreq_sent;
	bool dreq_rcvd;
	struct rdma_conn_param mine;
	struct rdma_conn_param theirs;
};

/* An event on its way to an id. */
struct fake_note {
	struct list_head node;
	enum rdma_cm_event_type type;
	int status;
	struct rdma_conn_param param;
	u8 pdata[256];
	struct fake_id *from;	/* CONNECT_REQUEST: who asks */
};

/* Guards the ids and their relations; a leaf. */
extern spinlock_t fake_cm_lock;

static inline struct fake_id *to_fake_id(struct rdma_cm_id *id)
{
	return container_of(id, struct fake_id, id);
}

int fake_cm_begin(enum fake_cm_call call);
void fake_cm_done(enum fake_cm_call call, const struct rdma_conn_param *param,
		  const void *pdata, u8 pdata_len, u8 reason);
/* Somebody is (1) or is no more (-1) about to destroy an id. */
void fake_cm_destroying(int change);
struct fake_id *fake_id_new(rdma_cm_event_handler handler, void *context,
			    enum rdma_ucm_port_space ps);
void fake_id_put(struct fake_id *id);
struct fake_id *fake_id_listener_locked(u16 port);
u16 fake_id_port(const struct sockaddr_storage *addr);
void fake_cm_queue_locked(struct fake_id *id, enum rdma_cm_event_type type,
			  int status, const struct rdma_conn_param *param,
			  struct fake_id *from);
void fake_id_unlink(struct fake_id *id);

extern const struct kdapl_cm_ops fake_cm_ops;

#endif /* _FAKE_CM_PRIV_H */
