// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_rping: client and server of the rping protocol, as a kernel consumer of
 * kdapl. It is a test of kdapl against an independent peer, and the example of
 * how to use it: evd.c is the part that every consumer needs.
 */
#include <linux/module.h>

#include "debugfs.h"

static int __init rping_init(void)
{
	rping_debugfs_init();
	return 0;
}

static void __exit rping_exit(void)
{
	rping_debugfs_exit();
}

module_init(rping_init);
module_exit(rping_exit);

MODULE_DESCRIPTION("rping over kdapl");
MODULE_LICENSE("GPL");
