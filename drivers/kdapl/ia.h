/* SPDX-License-Identifier: GPL-2.0 */
/* Interface adapters: one opening of one port of one ib_device. */
#ifndef _KDAPL_IA_H
#define _KDAPL_IA_H

#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/socket.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_attr.h>
#include <dat/dat_ib_extensions.h>

#include "obj.h"

struct kdapl_device;
struct kdapl_lmr_table;

/* FMR pools are kdapl's addition to the types of DAT. */
#define KDAPL_HANDLE_POOL	DAT_HANDLE_TYPE_EXTENSION_BASE
#define KDAPL_HANDLE_TYPES	(KDAPL_HANDLE_POOL + 1)

enum kdapl_ia_flags {
	KDAPL_IA_REMOVING,	/* device removal has begun: hurry */
	KDAPL_IA_CLOSING,	/* dat_ia_close() owns the objects */
	KDAPL_IA_OWN_ASYNC_EVD,	/* the async EVD was made by dat_ia_open() */
	KDAPL_IA_ASYNC_HANDLER,	/* the device tells us of its events */
	KDAPL_IA_COUNTING,	/* the DTOs of its EPs are counted */
	KDAPL_IA_LOSES_WAKEUPS,	/* the log has said so of its device */
};

/*
 * struct dat_ia - an open interface adapter
 *
 * The gate: every call that may reach a verb, other than those that find a
 * NULL cq or a closed queue under their own spinlock, runs between
 * kdapl_ia_enter() and kdapl_ia_leave(). Device removal closes the gate, waits
 * for the callers inside and then owns all verbs objects of the IA. Nothing
 * waits for an upcall or for another consumer's call inside the gate.
 *
 * Immutable after opening: @obj, @ibdev, @port, @net, @addr, @other_addr, @name,
 * @dev_attr, @port_attr, @iwarp, @ib_cm, @async_evd.
 */
struct dat_ia {
	struct kdapl_obj obj;
	struct kdapl_device *device;	/* registry.c */
	struct list_head device_node;	/* on device->ias; registry.c */
	struct ib_device *ibdev;	/* only inside the gate */
	u32 port;
	struct net *net;
	struct sockaddr_storage addr;
	struct sockaddr_storage other_addr;	/* of the other family, or 0 */
	char name[DAT_NAME_MAX_LENGTH];
	struct ib_device_attr dev_attr;	/* a copy: the device may go away */
	struct ib_port_attr port_attr;
	char dev_name[IB_DEVICE_NAME_MAX];
	enum rdma_driver_id driver_id;
	bool dma_coherent;
	bool iwarp;
	bool ib_cm;			/* rdma_cap_ib_cm() of the port */

	refcount_t callers;		/* one for the open gate itself */
	struct completion idle;		/* callers is 0: the gate is shut */
	struct completion removed;	/* no verbs object is left */
	unsigned long flags;		/* enum kdapl_ia_flags, atomic bits */

	/*
	 * Guards objs, the consumer contexts of its objects and their places
	 * on the lists. Leaf, never held over another kdapl lock; process
	 * and softirq context: irqsave.
	 */
	spinlock_t lock;
	struct list_head objs[KDAPL_HANDLE_TYPES];
	atomic_t counts[KDAPL_HANDLE_TYPES];

	/*
	 * LMRs by lmr_context >> 8: lmr.c. Posts look them up under RCU; the
	 * mutex guards what changes: entries, size, and which are in use.
	 */
	struct kdapl_lmr_table __rcu *lmr_table;
	u32 lmr_generation;	/* changes with every entry of it */
	struct mutex lmr_mutex;		/* changes of the table */
	struct ida lmr_ida;
	u8 lmr_uses;
	struct mutex reserved_mutex;	/* guards the next; outside lmr_mutex */
	struct dat_lmr *reserved_lmr;	/* made at first use */
	struct xarray frmrs;		/* struct kdapl_frmr by key >> 8 */

	struct dat_evd *async_evd;
	struct ib_event_handler event_handler;

	/* For the counters of the extensions: counters.c. */
	u64 made[KDAPL_HANDLE_TYPES];	/* objects shown so far; under @lock */
	u64 counter_base[DCNT_IA_ALL_COUNTERS];	/* under @lock */
	atomic64_t psp_any;
	atomic64_t cr_accepted;
	atomic64_t cr_rejected;
	atomic64_t async_errors;
	atomic64_t async_qp_errors;
	atomic64_t async_cq_errors;
	atomic64_t srq_reclaimed;	/* buffers that freed SRQs still had */

	struct list_head debugfs_node;	/* debugfs.c */
	struct kdapl_debugfs_dir *debugfs_dir;
};

/* 0, or -ENODEV once the device is going or gone. Never sleeps. */
int kdapl_ia_enter(struct dat_ia *ia);
void kdapl_ia_leave(struct dat_ia *ia);
/* Takes a device's verbs objects away from an IA; its handles live on. */
void kdapl_ia_remove_device(struct dat_ia *ia);
/*
 * The object behind @prev, the first one for NULL, with a reference; drops that
 * of @prev. Objects that come and go meanwhile are seen or not.
 */
struct kdapl_obj *kdapl_ia_next(struct dat_ia *ia, enum dat_handle_type type,
				struct kdapl_obj *prev);

static inline bool kdapl_ia_removing(struct dat_ia *ia)
{
	return test_bit(KDAPL_IA_REMOVING, &ia->flags);
}

static inline bool kdapl_ia_has_atomics(const struct dat_ia *ia)
{
	return !ia->iwarp && ia->dev_attr.atomic_cap != IB_ATOMIC_NONE;
}

#endif /* _KDAPL_IA_H */
