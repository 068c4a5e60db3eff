// SPDX-License-Identifier: GPL-2.0
/* The fake connection manager: its ids, and the events that they get. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../../drivers/kdapl/cm.h"
#include "fake_cm_priv.h"
#include "fake_priv.h"

struct fake_cm_script fake_cm_script;
EXPORT_SYMBOL_GPL(fake_cm_script);

DEFINE_SPINLOCK(fake_cm_lock);
static LIST_HEAD(fake_ids);
static struct lock_class_key fake_handler_key;

static struct fake_cm_record cm_last[FAKE_CM_CALLS];
static unsigned int cm_count[FAKE_CM_CALLS];
static enum fake_cm_call cm_fail_call;
static unsigned int cm_fail_after;
static unsigned int cm_fail_count;
static int cm_fail_error;
static unsigned int cm_destroying;
static unsigned int cm_destroying_most;

int fake_cm_begin(enum fake_cm_call call)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fake_cm_lock, flags);
	if (cm_fail_count &&
	    (cm_fail_call == FAKE_CM_ANY || cm_fail_call == call)) {
		if (cm_fail_after) {
			cm_fail_after--;
		} else {
			cm_fail_count--;
			ret = cm_fail_error;
		}
	}
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return ret;
}

void fake_cm_done(enum fake_cm_call call, const struct rdma_conn_param *param,
		  const void *pdata, u8 pdata_len, u8 reason)
{
	struct fake_cm_record *record = &cm_last[call];
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	cm_count[call]++;
	memset(record, 0, sizeof(*record));
	if (param)
		record->param = *param;
	record->pdata_len = pdata_len;
	if (pdata)
		memcpy(record->pdata, pdata, pdata_len);
	record->reason = reason;
	spin_unlock_irqrestore(&fake_cm_lock, flags);
}

void fake_cm_fail(enum fake_cm_call call, unsigned int nth, unsigned int count,
		  int error)
{
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	cm_fail_call = call;
	cm_fail_after = nth - 1;
	cm_fail_count = count;
	cm_fail_error = error;
	spin_unlock_irqrestore(&fake_cm_lock, flags);
}
EXPORT_SYMBOL_GPL(fake_cm_fail);

unsigned int fake_cm_fail_left(void)
{
	return READ_ONCE(cm_fail_count);
}
EXPORT_SYMBOL_GPL(fake_cm_fail_left);

unsigned int fake_cm_count(enum fake_cm_call call)
{
	return READ_ONCE(cm_count[call]);
}
EXPORT_SYMBOL_GPL(fake_cm_count);

void fake_cm_last(enum fake_cm_call call, struct fake_cm_record *record)
{
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	*record = cm_last[call];
	spin_unlock_irqrestore(&fake_cm_lock, flags);
}
EXPORT_SYMBOL_GPL(fake_cm_last);

void fake_cm_destroying(int change)
{
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	cm_destroying += change;
	cm_destroying_most = max(cm_destroying_most, cm_destroying);
	spin_unlock_irqrestore(&fake_cm_lock, flags);
}

unsigned int fake_cm_destroying_most(void)
{
	return READ_ONCE(cm_destroying_most);
}
EXPORT_SYMBOL_GPL(fake_cm_destroying_most);

void fake_cm_reset(void)
{
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	memset(&fake_cm_script, 0, sizeof(fake_cm_script));
	memset(cm_last, 0, sizeof(cm_last));
	memset(cm_count, 0, sizeof(cm_count));
	cm_fail_count = 0;
	cm_destroying_most = 0;
	spin_unlock_irqrestore(&fake_cm_lock, flags);
}

u16 fake_id_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

struct fake_id *fake_id_listener_locked(u16 port)
{
	struct fake_id *id;

	lockdep_assert_held(&fake_cm_lock);

	list_for_each_entry(id, &fake_ids, node)
		if (id->listening &&
		    fake_id_port(&id->id.route.addr.src_addr) == port)
			return id;
	return NULL;
}

static void fake_id_release(struct kref *ref)
{
	kfree(container_of(ref, struct fake_id, ref));
}

void fake_id_put(struct fake_id *id)
{
	kref_put(&id->ref, fake_id_release);
}

static struct fake_note *fake_id_next_note(struct fake_id *id)
{
	struct fake_note *note = NULL;
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	if (!id->dead && !list_empty(&id->notes)) {
		note = list_first_entry(&id->notes, struct fake_note, node);
		list_del(&note->node);
	}
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return note;
}

/* Off the list and away from its peer, who hears of it if that is due. */
void fake_id_unlink(struct fake_id *id)
{
	struct fake_note *note, *next;
	struct fake_id *peer = NULL;
	unsigned long flags;
	LIST_HEAD(notes);

	spin_lock_irqsave(&fake_cm_lock, flags);
	id->dead = true;
	list_del_init(&id->node);
	list_splice_init(&id->notes, &notes);
	peer = id->peer;
	if (peer) {
		id->peer = NULL;
		peer->peer = NULL;
		if (id->connected || id->dreq_rcvd || id->dreq_sent) {
			if (!peer->dreq_rcvd) {
				peer->dreq_rcvd = true;
				fake_cm_queue_locked(peer,
						     RDMA_CM_EVENT_DISCONNECTED,
						     0, NULL, NULL);
			}
		} else if (!id->passive || !id->answered) {
			/* What ib_cm sends for an id that goes half-way. */
			fake_cm_queue_locked(peer, RDMA_CM_EVENT_REJECTED,
					     id->passive ?
					     IB_CM_REJ_CONSUMER_DEFINED :
					     IB_CM_REJ_TIMEOUT, NULL, NULL);
		}
	}
	spin_unlock_irqrestore(&fake_cm_lock, flags);

	list_for_each_entry_safe(note, next, &notes, node) {
		if (note->from)
			fake_id_put(note->from);
		kfree(note);
	}
	if (peer) {
		fake_id_put(peer);
		fake_id_put(id);
	}
}

/* The id is the handler's to destroy: what rdma_cm does on a non-zero answer. */
static void fake_id_destroy_self(struct fake_id *id)
{
	fake_cm_done(FAKE_CM_DESTROY_ID, NULL, NULL, 0, 0);
	atomic_dec(&fake_live[FAKE_ID]);
	fake_id_unlink(id);
	fake_id_put(id);
}

static void fake_id_link_peers(struct fake_id *a, struct fake_id *b)
{
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	kref_get(&a->ref);
	kref_get(&b->ref);
	a->peer = b;
	b->peer = a;
	spin_unlock_irqrestore(&fake_cm_lock, flags);
}

/*
 * Makes the id of a new connection and shows it to the listener's handler, with
 * both handler locks held as in rdma_cm. The listener's is the caller's.
 */
static struct fake_id *fake_cm_arrive(struct fake_id *listener,
				      struct fake_id *from,
				      struct rdma_cm_event *event)
{
	struct fake_id *id;
	int ret;

	id = fake_id_new(listener->id.event_handler, listener->id.context,
			 listener->id.ps);
	if (!id)
		return NULL;
	id->passive = true;
	id->theirs = event->param.conn;
	id->id.device = listener->id.device ?: fake_hca_ibdev();
	id->id.port_num = 1;
	id->id.route.addr.src_addr = listener->id.route.addr.src_addr;
	if (from) {
		id->id.route.addr.dst_addr = from->id.route.addr.src_addr;
		fake_id_link_peers(id, from);
	} else {
		struct sockaddr_in *sin =
			(struct sockaddr_in *)&id->id.route.addr.dst_addr;

		sin->sin_family = AF_INET;
		sin->sin_port = htons(4711);
		sin->sin_addr.s_addr = htonl(FAKE_IP4 + 1);
	}

	mutex_lock_nested(&id->handler_mutex, SINGLE_DEPTH_NESTING);
	ret = id->id.event_handler(&id->id, event);
	mutex_unlock(&id->handler_mutex);
	if (ret) {
		fake_id_destroy_self(id);
		return NULL;
	}
	return id;
}

static void fake_id_work(struct work_struct *work)
{
	struct fake_id *id = container_of(work, struct fake_id, work);
	struct rdma_cm_event event;
	struct fake_note *note;
	int ret = 0;

	while (!ret) {
		note = fake_id_next_note(id);
		if (!note)
			break;
		memset(&event, 0, sizeof(event));
		event.event = note->type;
		event.status = note->status;
		event.param.conn = note->param;
		if (note->param.private_data_len)
			event.param.conn.private_data = note->pdata;
		mutex_lock(&id->handler_mutex);
		/* It may have been destroyed while we waited for the lock. */
		if (!id->dead && note->type == RDMA_CM_EVENT_CONNECT_REQUEST)
			fake_cm_arrive(id, note->from, &event);
		else if (!id->dead)
			ret = id->id.event_handler(&id->id, &event);
		mutex_unlock(&id->handler_mutex);
		if (note->from)
			fake_id_put(note->from);
		kfree(note);
	}
	if (ret)
		fake_id_destroy_self(id);
}

struct fake_id *fake_id_new(rdma_cm_event_handler handler, void *context,
			    enum rdma_ucm_port_space ps)
{
	struct fake_id *id;
	unsigned long flags;

	id = kzalloc(sizeof(*id), GFP_KERNEL);
	if (!id)
		return NULL;
	kref_init(&id->ref);
	mutex_init(&id->handler_mutex);
	lockdep_set_class(&id->handler_mutex, &fake_handler_key);
	INIT_WORK(&id->work, fake_id_work);
	INIT_LIST_HEAD(&id->notes);
	id->id.event_handler = handler;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = IB_QPT_RC;
	atomic_inc(&fake_live[FAKE_ID]);

	spin_lock_irqsave(&fake_cm_lock, flags);
	list_add_tail(&id->node, &fake_ids);
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return id;
}

/* The size of the field that carries private data, which is what is reported. */
static u8 fake_cm_field(enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return 56;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return 196;
	case RDMA_CM_EVENT_REJECTED:
		return 148;
	default:
		return 0;
	}
}

void fake_cm_queue_locked(struct fake_id *id, enum rdma_cm_event_type type,
			  int status, const struct rdma_conn_param *param,
			  struct fake_id *from)
{
	struct ib_device *ibdev = fake_hca_ibdev();
	struct fake_note *note;

	lockdep_assert_held(&fake_cm_lock);

	/* Not for those who make allocations fail: it stands for a packet. */
	note = kzalloc(sizeof(*note), GFP_ATOMIC | __GFP_NOFAIL);
	if (WARN_ON(!note))
		return;
	note->type = type;
	note->status = status;
	if (param) {
		/* One side's initiator depth is the other's resources. */
		note->param = *param;
		note->param.responder_resources = param->initiator_depth;
		note->param.initiator_depth = param->responder_resources;
		if (param->private_data)
			memcpy(note->pdata, param->private_data,
			       param->private_data_len);
	}
	if (ibdev && rdma_ib_or_roce(ibdev, 1))
		note->param.private_data_len = fake_cm_field(type);
	if (from)
		kref_get(&from->ref);
	note->from = from;
	list_add_tail(&note->node, &id->notes);
	queue_work(fake_wq, &id->work);
}

static struct fake_id *fake_id_get_alive(struct rdma_cm_id *cm_id)
{
	struct fake_id *id, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	list_for_each_entry(id, &fake_ids, node)
		if (&id->id == cm_id) {
			kref_get(&id->ref);
			found = id;
			break;
		}
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	return found;
}

bool fake_cm_alive(struct rdma_cm_id *cm_id)
{
	struct fake_id *id = fake_id_get_alive(cm_id);

	if (!id)
		return false;
	fake_id_put(id);
	return true;
}
EXPORT_SYMBOL_GPL(fake_cm_alive);

int fake_cm_event(struct rdma_cm_id *cm_id, enum rdma_cm_event_type type,
		  int status, const void *pdata, u8 pdata_len)
{
	struct rdma_cm_event event = {
		.event = type,
		.status = status,
		.param.conn = {
			.private_data = pdata,
			.private_data_len = pdata_len,
			.responder_resources = 4,
			.initiator_depth = 4,
			.qp_num = 0xfff,
		},
	};
	struct fake_id *id;
	int ret = -ENOENT;

	id = fake_id_get_alive(cm_id);
	if (!id)
		return ret;
	mutex_lock(&id->handler_mutex);
	if (!id->dead) {
		id->theirs = event.param.conn;
		if (type == RDMA_CM_EVENT_ESTABLISHED)
			id->connected = true;
		if (type == RDMA_CM_EVENT_DISCONNECTED)
			id->dreq_rcvd = true;
		ret = id->id.event_handler(&id->id, &event);
	}
	mutex_unlock(&id->handler_mutex);
	if (ret > 0)
		fake_id_destroy_self(id);
	fake_id_put(id);
	return ret;
}
EXPORT_SYMBOL_GPL(fake_cm_event);

struct rdma_cm_id *fake_cm_request(u16 port, const void *pdata, u8 pdata_len)
{
	struct rdma_cm_event event = {
		.event = RDMA_CM_EVENT_CONNECT_REQUEST,
		.param.conn = {
			.private_data = pdata,
			.private_data_len = pdata_len,
			.responder_resources = 4,
			.initiator_depth = 4,
			.qp_num = 0xfff,
		},
	};
	struct fake_id *listener, *id = NULL;
	unsigned long flags;

	spin_lock_irqsave(&fake_cm_lock, flags);
	listener = fake_id_listener_locked(port);
	if (listener)
		kref_get(&listener->ref);
	spin_unlock_irqrestore(&fake_cm_lock, flags);
	if (!listener)
		return NULL;

	mutex_lock(&listener->handler_mutex);
	if (!listener->dead)
		id = fake_cm_arrive(listener, NULL, &event);
	mutex_unlock(&listener->handler_mutex);
	fake_id_put(listener);
	return id ? &id->id : NULL;
}
EXPORT_SYMBOL_GPL(fake_cm_request);

int fake_cm_init(void)
{
	kdapl_cm_set_ops(&fake_cm_ops);
	return 0;
}

void fake_cm_exit(void)
{
	kdapl_cm_set_ops(NULL);
	flush_workqueue(fake_wq);
}
