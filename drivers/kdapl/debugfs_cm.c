// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: debugfs files of service points, connection requests, SRQs and PZs
 */
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/seq_file.h>

#include "cr.h"
#include "debugfs.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "pz.h"
#include "sp.h"
#include "srq.h"

/* A service point feeds its EVD as long as it is on the list. */
static void debugfs_sps_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct kdapl_sp *sp = container_of(obj, struct kdapl_sp, obj);

	seq_printf(s, "%u %u %s %llu %u %s %s\n", obj->id, obj->ia->obj.id,
		   kdapl_obj_kind(obj->type), sp->conn_qual, sp->evd->obj.id,
		   kdapl_sp_makes_eps(sp) ? "provider" : "consumer",
		   READ_ONCE(sp->id) ? "listening" : "gone");
}

static int debugfs_sps_show(struct seq_file *s, void *unused)
{
	seq_puts(s, "sp ia kind qualifier evd eps state\n");
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_PSP,
			   debugfs_sps_line);
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_RSP,
			   debugfs_sps_line);
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_CSP,
			   debugfs_sps_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_sps);

static void debugfs_crs_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct dat_cr *cr = container_of(obj, struct dat_cr, obj);

	seq_printf(s, "%u %u %u %u %pISpc %u %s\n", obj->id, obj->ia->obj.id,
		   cr->evd->obj.id, cr->ep ? cr->ep->obj.id : 0,
		   &cr->remote_addr, cr->pdata_len,
		   test_bit(KDAPL_CR_GONE, &cr->flags) ? "gone" :
		   test_bit(KDAPL_CR_TAKEN, &cr->flags) ? "taken" : "waiting");
}

static int debugfs_crs_show(struct seq_file *s, void *unused)
{
	seq_puts(s, "cr ia evd ep peer private_data state\n");
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_CR, debugfs_crs_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_crs);

static void debugfs_srqs_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct dat_srq *srq = container_of(obj, struct dat_srq, obj);

	seq_printf(s, "%u %u %u %s %u %u %d %u %u %u %u\n", obj->id,
		   obj->ia->obj.id, srq->pz->obj.id,
		   READ_ONCE(srq->error) ? "ERROR" : "OPERATIONAL",
		   READ_ONCE(srq->depth), READ_ONCE(srq->posted),
		   atomic_read(&srq->used), READ_ONCE(srq->users),
		   READ_ONCE(srq->low_watermark), READ_ONCE(srq->armed),
		   READ_ONCE(srq->strays));
}

static int debugfs_srqs_show(struct seq_file *s, void *unused)
{
	seq_puts(s, "srq ia pz state depth available outstanding eps low_watermark armed strays\n");
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_SRQ,
			   debugfs_srqs_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_srqs);

static void debugfs_pzs_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct dat_pz *pz = container_of(obj, struct dat_pz, obj);

	seq_printf(s, "%u %u %d %u\n", obj->id, obj->ia->obj.id,
		   atomic_read(&pz->users), !!READ_ONCE(pz->reg));
}

static int debugfs_pzs_show(struct seq_file *s, void *unused)
{
	seq_puts(s, "pz ia users loopback\n");
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_PZ, debugfs_pzs_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_pzs);

void kdapl_debugfs_cm_create(struct dentry *dentry,
			     struct kdapl_debugfs_dir *dir)
{
	debugfs_create_file("sps", 0400, dentry, dir, &debugfs_sps_fops);
	debugfs_create_file("crs", 0400, dentry, dir, &debugfs_crs_fops);
	debugfs_create_file("srqs", 0400, dentry, dir, &debugfs_srqs_fops);
	debugfs_create_file("pzs", 0400, dentry, dir, &debugfs_pzs_fops);
}
