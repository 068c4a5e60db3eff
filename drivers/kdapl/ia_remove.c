// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the removal of the device under an IA
 *
 * The gate is shut, calls inside are waited for, then each object gives up its
 * verbs objects, those first that others point to. The consumer's handles stay,
 * as orphans: their free calls find the gate shut, wait until the removal is
 * through, and free memory only. No action of the consumer is needed for the
 * removal to end: the one thing it waits for are calls that are inside the gate,
 * and those wait for nobody but the device.
 */
#include <net/net_namespace.h>

#include "async.h"
#include "cr.h"
#include "ep.h"
#include "evd.h"
#include "fmr_pool.h"
#include "ia.h"
#include "lmr.h"
#include "pz.h"
#include "rmr.h"
#include "sp.h"
#include "srq.h"

enum {
	/* EPs that a removal has at work at a time. */
	IA_REMOVE_EPS = 16,
};

/*
 * Each EP's own work does it. It sleeps in the CM and in the device, and a
 * workqueue takes another thread for each work that does: so only some at a time.
 */
static void ia_remove_eps(struct dat_ia *ia)
{
	struct kdapl_obj *begun = NULL, *obj = NULL;
	bool more = true;
	int ahead = 0;

	do {
		while (more && ahead < IA_REMOVE_EPS) {
			begun = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EP, begun);
			if (!begun) {
				more = false;
				break;
			}
			kdapl_ep_kick(container_of(begun, struct dat_ep, obj),
				      KDAPL_EP_TODO_REMOVE);
			ahead++;
		}
		obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EP, obj);
		if (obj)
			kdapl_ep_remove_device(container_of(obj, struct dat_ep,
							    obj));
		ahead--;
	} while (obj);
	if (begun)
		kdapl_obj_put(begun);
}

void kdapl_ia_remove_device(struct dat_ia *ia)
{
	static const enum dat_handle_type sps[] = {
		DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_CSP,
	};
	struct kdapl_obj *obj = NULL;
	unsigned int i;

	might_sleep();

	set_bit(KDAPL_IA_REMOVING, &ia->flags);
	kdapl_ia_leave(ia);
	wait_for_completion(&ia->idle);

	kdapl_async_unregister(ia);

	for (i = 0; i < ARRAY_SIZE(sps); i++)
		while ((obj = kdapl_ia_next(ia, sps[i], obj)))
			kdapl_sp_unlisten(container_of(obj, struct kdapl_sp,
						       obj));
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_CR, obj)))
		kdapl_cr_remove_device(container_of(obj, struct dat_cr, obj));

	ia_remove_eps(ia);

	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_RMR, obj)))
		kdapl_rmr_remove_device(container_of(obj, struct dat_rmr, obj));
	while ((obj = kdapl_ia_next(ia, KDAPL_HANDLE_POOL, obj)))
		kdapl_pool_remove_device(container_of(obj, struct dat_fmr_pool,
						      obj));
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_SRQ, obj)))
		kdapl_srq_remove_device(container_of(obj, struct dat_srq, obj));
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_LMR, obj)))
		kdapl_lmr_remove_device(container_of(obj, struct dat_lmr, obj));

	/* The last event of the device: behind it EVDs cannot be enabled. */
	kdapl_async_post(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, ia,
			 DAT_IA_CATASTROPHIC_ERROR);
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_EVD, obj)))
		kdapl_evd_remove_device(container_of(obj, struct dat_evd, obj));
	while ((obj = kdapl_ia_next(ia, DAT_HANDLE_TYPE_PZ, obj)))
		kdapl_pz_remove_device(container_of(obj, struct dat_pz, obj));

	/*
	 * Nobody makes ids any more, and a consumer may never free its orphans:
	 * they must not keep the namespace.
	 */
	put_net(ia->net);
	ia->net = NULL;

	complete_all(&ia->removed);
}
