// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: debugfs: LMRs, pools of fast registrations, RMRs
 *
 * See debugfs.c. Keys and addresses are not shown.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "debugfs.h"
#include "ep.h"
#include "fmr_pool.h"
#include "frmr.h"
#include "ia.h"
#include "kunit.h"
#include "lmr.h"
#include "pz.h"
#include "rmr.h"

static const char *debugfs_fr_state(const struct kdapl_frmr *fr)
{
	switch (kdapl_frmr_state(fr)) {
	case KDAPL_FRMR_FREE:
		return "FREE";
	case KDAPL_FRMR_TAKEN:
		return "TAKEN";
	case KDAPL_FRMR_VALID:
		return "VALID";
	case KDAPL_FRMR_ENDING:
		return "ENDING";
	case KDAPL_FRMR_UNKNOWN:
		return "UNKNOWN";
	case KDAPL_FRMR_DEAD:
		return "DEAD";
	default:
		return "?";
	}
}

static const char *debugfs_lmr_state(const struct dat_lmr *lmr)
{
	if (lmr->fr)
		return debugfs_fr_state(lmr->fr);
	switch (READ_ONCE(lmr->state)) {
	case KDAPL_LMR_READY:
		return "READY";
	case KDAPL_LMR_DEFERRED:
		return "DEFERRED";
	case KDAPL_LMR_POSTED:
		return "POSTED";
	case KDAPL_LMR_FAILED:
		return "FAILED";
	default:
		return "?";
	}
}

void kdapl_debugfs_lmr_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct dat_lmr *lmr = container_of(obj, struct dat_lmr, obj);

	seq_printf(s, "%u %u %u 0x%x 0x%x %s %llu %u %u %s %d\n", obj->id,
		   obj->ia->obj.id, lmr->pz->obj.id, READ_ONCE(lmr->mem_type),
		   READ_ONCE(lmr->priv),
		   READ_ONCE(lmr->va_type) == DAT_VA_TYPE_ZB ? "ZB" : "VA",
		   READ_ONCE(lmr->length), !!lmr->fr, !!(lmr->fr || lmr->mr),
		   debugfs_lmr_state(lmr), max(atomic_read(&lmr->binds), 0));
}

KDAPL_EXPORT_FOR_TEST(kdapl_debugfs_lmr_line);

static int debugfs_lmrs_show(struct seq_file *s, void *unused)
{
	seq_puts(s, "lmr ia pz mem_type privileges va_type length fast mr state rmrs\n");
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_LMR,
			   kdapl_debugfs_lmr_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_lmrs);

void kdapl_debugfs_pool_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct dat_fmr_pool *pool = container_of(obj, struct dat_fmr_pool, obj);
	const struct kdapl_pool_stats *st = &pool->stats;
	int i;

	seq_printf(s, "%u %u %u %u %d %d %d %d %d %d %u", obj->id,
		   obj->ia->obj.id, pool->pz->obj.id,
		   pool->ep ? pool->ep->obj.id : 0, pool->param.min_fmrs,
		   pool->param.max_fmrs, READ_ONCE(pool->count),
		   READ_ONCE(pool->num_clean), READ_ONCE(pool->mapped),
		   READ_ONCE(pool->num_dirty), pool->param.max_exposure_ms);
	seq_printf(s, " %llu %llu %llu %llu %llu %llu %llu %llu",
		   READ_ONCE(st->hits), READ_ONCE(st->revived),
		   READ_ONCE(st->misses), READ_ONCE(st->empty),
		   READ_ONCE(st->batches), READ_ONCE(st->ended),
		   READ_ONCE(st->forced), READ_ONCE(st->late));
	for (i = 0; i < KDAPL_POOL_BUCKETS; i++)
		seq_printf(s, " %llu", READ_ONCE(st->exposure[i]));
	seq_puts(s, "\n");
}

KDAPL_EXPORT_FOR_TEST(kdapl_debugfs_pool_line);

/* lt8: exposed for less than 8 ms, and not less than 4. */
static int debugfs_pools_show(struct seq_file *s, void *unused)
{
	int i;

	seq_puts(s, "pool ia pz ep min max count clean mapped dirty max_exposure_ms hits revived misses empty batches ended forced late");
	for (i = 0; i < KDAPL_POOL_BUCKETS - 1; i++)
		seq_printf(s, " lt%u", 1U << i);
	seq_puts(s, " more\n");
	kdapl_debugfs_show(s->private, s, KDAPL_HANDLE_POOL,
			   kdapl_debugfs_pool_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_pools);

void kdapl_debugfs_rmr_line(struct seq_file *s, struct kdapl_obj *obj)
{
	struct dat_rmr *rmr = container_of(obj, struct dat_rmr, obj);
	bool bound = READ_ONCE(rmr->current_window) >= 0;

	seq_printf(s, "%u %u %u %s %u %u %u 0x%x %s %s\n", obj->id,
		   obj->ia->obj.id, rmr->pz->obj.id,
		   rmr->scope == DAT_RMR_SCOPE_EP ? "EP" : "PZ", bound,
		   READ_ONCE(rmr->busy),
		   bound ? READ_ONCE(rmr->triplet.segment_length) : 0,
		   bound ? READ_ONCE(rmr->priv) : 0,
		   debugfs_fr_state(&rmr->window[0].fr),
		   debugfs_fr_state(&rmr->window[1].fr));
}

KDAPL_EXPORT_FOR_TEST(kdapl_debugfs_rmr_line);

static int debugfs_rmrs_show(struct seq_file *s, void *unused)
{
	seq_puts(s, "rmr ia pz scope bound busy length privileges mr0 mr1\n");
	kdapl_debugfs_show(s->private, s, DAT_HANDLE_TYPE_RMR,
			   kdapl_debugfs_rmr_line);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(debugfs_rmrs);

void kdapl_debugfs_mem_create(struct dentry *dentry,
			      struct kdapl_debugfs_dir *dir)
{
	debugfs_create_file("lmrs", 0400, dentry, dir, &debugfs_lmrs_fops);
	debugfs_create_file("pools", 0400, dentry, dir, &debugfs_pools_fops);
	debugfs_create_file("rmrs", 0400, dentry, dir, &debugfs_rmrs_fops);
}
