/* SPDX-License-Identifier: GPL-2.0 */
/* What there is to see of the objects, under <debugfs>/kdapl. */
#ifndef _KDAPL_DEBUGFS_H
#define _KDAPL_DEBUGFS_H

struct dat_ia;
struct dentry;

/* The root: also for consumers' own directories, should they want any. */
extern struct dentry *kdapl_debugfs_root;

/* All openings of one name share a directory. */
void kdapl_debugfs_add(struct dat_ia *ia);
void kdapl_debugfs_remove(struct dat_ia *ia);

void kdapl_debugfs_init(void);
void kdapl_debugfs_exit(void);

#endif /* _KDAPL_DEBUGFS_H */
