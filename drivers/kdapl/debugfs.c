// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: debugfs
 *
 * <debugfs>/kdapl/<ia>/<kind>: a header line, then a line for each object of
 * that kind. All openings of an adapter share a directory. What is printed is a
 * snapshot without locks of the objects: numbers of one line need not fit
 * together to the last event.
 *
 * An object cannot go while it is printed, since its line holds a reference; nor
 * what it points to, of which it has a reference until it goes itself, or which is
 * looked at under the lock that the object lets go of it with; an IA neither, since
 * it leaves its directory first.
 */
#include "debugfs.h"

#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "ia.h"
#include "obj.h"
#include "queue.h"

struct kdapl_debugfs_dir {
	struct list_head node;
	struct list_head ias;
	struct dentry *dentry;
	char name[DAT_NAME_MAX_LENGTH];
};

struct dentry *kdapl_debugfs_root;

/* Outermost: serialises the coming and going of directories. */
static DEFINE_MUTEX(debugfs_dirs_lock);
static LIST_HEAD(debugfs_dirs);
/* Guards the lists of IAs; taken by readers, who must not meet the above. */
static DEFINE_MUTEX(debugfs_ias_lock);

static const char *debugfs_policy(enum dat_upcall_policy policy)
{
	switch (policy) {
	case DAT_UPCALL_TEARDOWN:
		return "TEARDOWN";
	case DAT_UPCALL_DISABLE:
		return "DISABLE";
	case DAT_UPCALL_SINGLE_INSTANCE:
		return "SINGLE_INSTANCE";
	case DAT_UPCALL_NOTIFY:
		return "NOTIFY";
	case DAT_UPCALL_MANY:
		return "MANY";
	default:
		return "?";
	}
}

static u32 debugfs_id(const struct dat_evd *evd)
{
	return evd ? evd->obj.id : 0;
}

static void debugfs_evds_head(struct seq_file *s)
{
	seq_puts(s, "evd ia flags context policy armed runners qlen queued reserved feeders software cr dto connection bind async dequeued upcalls busy spurious missed rescued yields overflow refused high_water\n");
}

static void debugfs_evds_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct dat_evd *evd = container_of(obj, struct dat_evd, obj);
	const struct kdapl_evd_stats *st = &evd->stats;
	int i;

	seq_printf(s, "%u %u 0x%x %s %s %u %u %u %u %u %u", obj->id,
		   obj->ia->obj.id, evd->flags,
		   evd->softirq ? "softirq" : "process",
		   debugfs_policy(READ_ONCE(evd->policy)),
		   READ_ONCE(evd->armed), READ_ONCE(evd->runners),
		   READ_ONCE(evd->qlen),
		   READ_ONCE(evd->live) + READ_ONCE(evd->wc_left),
		   READ_ONCE(evd->reserved), READ_ONCE(evd->feeders));
	for (i = 0; i < DAT_EVD_STREAMS; i++)
		seq_printf(s, " %llu", READ_ONCE(st->events[i]));
	seq_printf(s, " %llu %llu %lld %llu %llu %llu %llu %llu %llu %u\n",
		   READ_ONCE(st->dequeued), READ_ONCE(st->upcalls),
		   atomic64_read(&st->busy), READ_ONCE(st->spurious),
		   READ_ONCE(st->missed), READ_ONCE(st->rescued),
		   READ_ONCE(st->yields), READ_ONCE(st->overflow),
		   READ_ONCE(st->refused), READ_ONCE(st->high_water));
}

static void debugfs_eps_head(struct seq_file *s)
{
	seq_puts(s, "ep ia state recv_evd request_evd connect_evd recv_depth recv_posted recv_credits request_depth request_posted request_credits close\n");
}

static void debugfs_eps_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct dat_ep *ep = container_of(obj, struct dat_ep, obj);
	const struct kdapl_queue *recv = &ep->recv, *req = &ep->req;
	u32 recv_evd, request_evd, connect_evd;

	/* The EP feeds its EVDs as long as they stand there. */
	spin_lock_irq(&ep->lock);
	recv_evd = debugfs_id(ep->config.recv_evd);
	request_evd = debugfs_id(ep->config.request_evd);
	connect_evd = debugfs_id(ep->config.connect_evd);
	spin_unlock_irq(&ep->lock);

	seq_printf(s, "%u %u %s %u %u %u %u %u %u %u %u %u %u\n", obj->id,
		   obj->ia->obj.id, kdapl_ep_state_name(READ_ONCE(ep->state)),
		   recv_evd, request_evd, connect_evd,
		   READ_ONCE(recv->depth), kdapl_queue_outstanding(recv),
		   READ_ONCE(recv->posted) - READ_ONCE(recv->released),
		   READ_ONCE(req->depth), kdapl_queue_outstanding(req),
		   READ_ONCE(req->posted) - READ_ONCE(req->released),
		   READ_ONCE(ep->phase));
}

void kdapl_debugfs_show(struct kdapl_debugfs_dir *dir, struct seq_file *s,
			enum dat_handle_type type,
			void (*line)(struct seq_file *s, struct kdapl_obj *obj))
{
	struct kdapl_obj *obj;
	struct dat_ia *ia;

	mutex_lock(&debugfs_ias_lock);
	list_for_each_entry(ia, &dir->ias, debugfs_node)
		for (obj = kdapl_ia_next(ia, type, NULL); obj;
		     obj = kdapl_ia_next(ia, type, obj))
			line(s, obj);
	mutex_unlock(&debugfs_ias_lock);
}

static int debugfs_evds_show(struct seq_file *s, void *unused)
{
	debugfs_evds_head(s);
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_EVD,
			   debugfs_evds_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_evds);

static int debugfs_eps_show(struct seq_file *s, void *unused)
{
	debugfs_eps_head(s);
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_EP,
			   debugfs_eps_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_eps);

static struct kdapl_debugfs_dir *debugfs_dir_get(const char *name)
{
	struct kdapl_debugfs_dir *dir;

	lockdep_assert_held(&debugfs_dirs_lock);

	list_for_each_entry(dir, &debugfs_dirs, node)
		if (!strcmp(dir->name, name))
			return dir;

	dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	if (!dir)
		return NULL;
	INIT_LIST_HEAD(&dir->ias);
	strscpy(dir->name, name, sizeof(dir->name));
	dir->dentry = debugfs_create_dir(name, kdapl_debugfs_root);
	debugfs_create_file("evds", 0400, dir->dentry, dir,
			    &debugfs_evds_fops);
	debugfs_create_file("eps", 0400, dir->dentry, dir, &debugfs_eps_fops);
	kdapl_debugfs_mem_create(dir->dentry, dir);
	kdapl_debugfs_cm_create(dir->dentry, dir);
	list_add_tail(&dir->node, &debugfs_dirs);
	return dir;
}

void kdapl_debugfs_add(struct dat_ia *ia)
{
	struct kdapl_debugfs_dir *dir;

	mutex_lock(&debugfs_dirs_lock);
	dir = debugfs_dir_get(ia->name);
	if (dir) {
		mutex_lock(&debugfs_ias_lock);
		list_add_tail(&ia->debugfs_node, &dir->ias);
		ia->debugfs_dir = dir;
		mutex_unlock(&debugfs_ias_lock);
	}
	mutex_unlock(&debugfs_dirs_lock);
}

void kdapl_debugfs_remove(struct dat_ia *ia)
{
	struct kdapl_debugfs_dir *dir = ia->debugfs_dir;
	bool last;

	if (!dir)
		return;

	mutex_lock(&debugfs_dirs_lock);
	mutex_lock(&debugfs_ias_lock);
	list_del_init(&ia->debugfs_node);
	ia->debugfs_dir = NULL;
	last = list_empty(&dir->ias);
	mutex_unlock(&debugfs_ias_lock);

	/* Waits for readers, so the lock that they want is free again. */
	if (last) {
		list_del(&dir->node);
		debugfs_remove(dir->dentry);
		kfree(dir);
	}
	mutex_unlock(&debugfs_dirs_lock);
}

void kdapl_debugfs_init(void)
{
	kdapl_debugfs_root = debugfs_create_dir("kdapl", NULL);
}

void kdapl_debugfs_exit(void)
{
	debugfs_remove(kdapl_debugfs_root);
}
