/* SPDX-License-Identifier: GPL-2.0 */
/* Counters of the DAT extensions, for consumers that ask for them. */
#ifndef _KDAPL_COUNTERS_H
#define _KDAPL_COUNTERS_H

#include <linux/jump_label.h>
#include <linux/types.h>

#include <dat/dat_ib_extensions.h>

struct dat_ep;
struct ib_wc;

/* On while some IA counts the DTOs of its EPs: a no-op on the data path else. */
DECLARE_STATIC_KEY_FALSE(kdapl_counters_key);

/* Under the post lock, and under the EVD lock. */
void kdapl_counters_post_locked(struct dat_ep *ep, u8 op, u32 bytes);
void kdapl_counters_recv_locked(struct dat_ep *ep, const struct ib_wc *wc);
/* The IA is being closed. */
void kdapl_counters_close(struct dat_ia *ia);

static __always_inline void kdapl_counters_post(struct dat_ep *ep, u8 op,
						u32 bytes)
{
	if (static_branch_unlikely(&kdapl_counters_key))
		kdapl_counters_post_locked(ep, op, bytes);
}

static __always_inline void kdapl_counters_recv(struct dat_ep *ep,
						const struct ib_wc *wc)
{
	if (static_branch_unlikely(&kdapl_counters_key))
		kdapl_counters_recv_locked(ep, wc);
}

#endif /* _KDAPL_COUNTERS_H */
