/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel versions, and the only place that knows of any.
 * Code is written for the newest kernel; each block names what changed.
 */
#ifndef _KDAPL_COMPAT_H
#define _KDAPL_COMPAT_H

#include <linux/version.h>

#if KERNEL_VERSION(6, 1, 0) > LINUX_VERSION_CODE
#error "kdapl needs Linux 6.1 or later"
#endif

#endif /* _KDAPL_COMPAT_H */
