/* SPDX-License-Identifier: GPL-2.0 */
/* Status mappings: pure tables, no state. */
#ifndef _KDAPL_ERRNO_H
#define _KDAPL_ERRNO_H

#include <rdma/ib_verbs.h>

#include <dat/dat_event.h>

enum dat_dto_completion_status kdapl_errno_wc(enum ib_wc_status status, u8 op);

#endif /* _KDAPL_ERRNO_H */
