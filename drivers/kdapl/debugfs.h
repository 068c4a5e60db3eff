/* SPDX-License-Identifier: GPL-2.0 */
/* What there is to see of the objects, under <debugfs>/kdapl. */
#ifndef _KDAPL_DEBUGFS_H
#define _KDAPL_DEBUGFS_H

#include <dat/dat.h>

struct dat_ia;
struct dentry;
struct kdapl_debugfs_dir;
struct kdapl_obj;
struct seq_file;

/* The root: also for consumers' own directories, should they want any. */
extern struct dentry *kdapl_debugfs_root;

/* All openings of one name share a directory. */
void kdapl_debugfs_add(struct dat_ia *ia);
void kdapl_debugfs_remove(struct dat_ia *ia);

/* A line for each object of a kind, of all IAs of a directory. */
void kdapl_debugfs_show(struct kdapl_debugfs_dir *dir, struct seq_file *s,
			enum dat_handle_type type,
			void (*line)(struct seq_file *s,
				     struct kdapl_obj *obj));
/* debugfs_mem.c: the files about memory; a line wants a reference on its object */
void kdapl_debugfs_lmr_line(struct seq_file *s, struct kdapl_obj *obj);
void kdapl_debugfs_pool_line(struct seq_file *s, struct kdapl_obj *obj);
void kdapl_debugfs_rmr_line(struct seq_file *s, struct kdapl_obj *obj);
void kdapl_debugfs_mem_create(struct dentry *dentry,
			      struct kdapl_debugfs_dir *dir);
/* debugfs_cm.c: service points, requests, SRQs, PZs */
void kdapl_debugfs_cm_create(struct dentry *dentry,
			     struct kdapl_debugfs_dir *dir);

void kdapl_debugfs_init(void);
void kdapl_debugfs_exit(void);

#endif /* _KDAPL_DEBUGFS_H */
