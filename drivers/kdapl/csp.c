// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: common service points
 *
 * A listener that is named as a socket is: by domain, type and protocol, and an
 * address with its port. Of these rdma_cm has streams over IPv4 and IPv6.
 */
#include <linux/export.h>
#include <linux/in.h>
#include <linux/net.h>
#include <linux/slab.h>

#include <dat/kdat.h>

#include "cm.h"
#include "evd.h"
#include "fault.h"
#include "ia.h"
#include "sp.h"

static void csp_release(struct kdapl_obj *obj)
{
	struct dat_csp *csp = container_of(obj, struct dat_csp, sp.obj);

	kdapl_obj_put(&csp->sp.evd->obj);
	kfree(csp);
}

static bool csp_comm_supported(const struct dat_comm *comm)
{
	return kdapl_cm_addr_size(comm->domain) && comm->type == SOCK_STREAM &&
	       (!comm->protocol || comm->protocol == IPPROTO_TCP);
}

/**
 * dat_csp_create - listen for connection requests on a socket address
 * @ia: the IA
 * @comm: AF_INET or AF_INET6, SOCK_STREAM, and 0 or IPPROTO_TCP
 * @address: an address of the IA's port, of the same family; with port 0 any
 *	port that is free, which dat_csp_query() tells
 * @evd: EVD with the CR stream; its length is the backlog
 * @csp: OUT: the service point
 *
 * As a PSP, for peers that use dat_ep_common_connect(), or dat_ep_connect() with
 * the port as qualifier. The consumer brings the EPs. Requests may come before
 * the call returns. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0; -EINVAL: NULL, an EVD of another IA or without the CR stream;
 * -EPROTONOSUPPORT: @comm; -EAFNOSUPPORT: @address is of another family;
 * -EADDRNOTAVAIL: it is not the IA's; -EADDRINUSE; -ENOMEM; -ENODEV: the device
 * is gone; else the errno of rdma_cm.
 */
int dat_csp_create(struct dat_ia *ia, const struct dat_comm *comm,
		   const struct sockaddr *address, struct dat_evd *evd,
		   struct dat_csp **csp)
{
	struct dat_csp *new;
	int ret;

	might_sleep();

	if (!ia || !comm || !address || !evd || !csp)
		return -EINVAL;
	if (!csp_comm_supported(comm))
		return -EPROTONOSUPPORT;
	if (address->sa_family != comm->domain)
		return -EAFNOSUPPORT;

	ret = kdapl_ia_enter(ia);
	if (ret)
		return ret;
	ret = kdapl_evd_get_feeder(evd, ia, DAT_EVD_CR_FLAG);
	if (ret)
		goto out_leave;

	ret = -ENOMEM;
	new = kdapl_fault_zalloc(sizeof(*new));
	if (!new)
		goto out_put_feeder;
	kdapl_sp_init(&new->sp, ia, DAT_HANDLE_TYPE_CSP, evd, csp_release);
	new->comm = *comm;
	memcpy(&new->addr, address, kdapl_cm_addr_size(address->sa_family));
	ret = kdapl_sp_listen(&new->sp, &new->addr,
			      kdapl_cm_port(&new->addr));
	if (ret)
		goto out_put;

	*csp = new;
	kdapl_sp_show(&new->sp);
	kdapl_ia_leave(ia);
	return 0;

out_put:
	kdapl_obj_put(&new->sp.obj);
out_put_feeder:
	kdapl_evd_put_feeder(evd);
out_leave:
	kdapl_ia_leave(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_csp_create);

/**
 * dat_csp_query - parameters of a common service point
 * @csp: the CSP
 * @mask: the fields of @param to fill in
 * @param: OUT; may be NULL if @mask is 0; its pointers are good as long as the
 *	CSP is
 *
 * Context: any.
 * Return: 0, or -EINVAL: NULL or unknown mask bits.
 */
int dat_csp_query(struct dat_csp *csp, enum dat_csp_param_mask mask,
		  struct dat_csp_param *param)
{
	if (!csp || mask & ~DAT_CSP_FIELD_ALL || (mask && !param))
		return -EINVAL;
	if (mask & DAT_CSP_FIELD_IA_HANDLE)
		param->ia_handle = csp->sp.obj.ia;
	if (mask & DAT_CSP_FIELD_COMM)
		param->comm = &csp->comm;
	if (mask & DAT_CSP_FIELD_IA_ADDRESS)
		param->address_ptr = (const struct sockaddr *)&csp->addr;
	if (mask & DAT_CSP_FIELD_EVD_HANDLE)
		param->evd_handle = csp->sp.evd;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_csp_query);

void kdapl_csp_destroy(struct dat_csp *csp)
{
	kdapl_sp_destroy(&csp->sp);
	kdapl_obj_put(&csp->sp.obj);
}

/**
 * dat_csp_free - stop listening
 * @csp: the CSP
 *
 * No request arrives after the call. Those that were delivered can still be
 * answered. Origin: DAT 2.0.
 *
 * Context: process; sleeps; also from process-context upcalls.
 * Return: 0, or -EINVAL: NULL.
 */
int dat_csp_free(struct dat_csp *csp)
{
	might_sleep();

	if (!csp)
		return -EINVAL;
	kdapl_csp_destroy(csp);
	return 0;
}
EXPORT_SYMBOL_GPL(dat_csp_free);
