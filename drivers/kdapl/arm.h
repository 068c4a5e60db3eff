/* SPDX-License-Identifier: GPL-2.0 */
/* The arming protocol of an EVD. */
#ifndef _KDAPL_ARM_H
#define _KDAPL_ARM_H

#include "evd.h"

int kdapl_arm_locked(struct dat_evd *evd, u32 absorbed, bool strict);

#endif /* _KDAPL_ARM_H */
