/* SPDX-License-Identifier: GPL-2.0 */
/* The control file, and one file for each session. */
#ifndef _RPING_DEBUGFS_H
#define _RPING_DEBUGFS_H

void rping_debugfs_init(void);
void rping_debugfs_exit(void);

#endif /* _RPING_DEBUGFS_H */
