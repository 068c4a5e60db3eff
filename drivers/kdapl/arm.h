/* SPDX-License-Identifier: GPL-2.0 */
/* The arming protocol of an EVD. */
#ifndef _KDAPL_ARM_H
#define _KDAPL_ARM_H

#include "evd.h"

int kdapl_arm_locked(struct dat_evd *evd, bool strict, u32 absorbed);

#endif /* _KDAPL_ARM_H */
