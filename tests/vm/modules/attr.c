// SPDX-License-Identifier: GPL-2.0
/*
 * What an adapter says of itself: each limit can be reached, and not passed.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <dat/dat_ib_extensions.h>

#include "result.h"
#include "side.h"
#include "tests.h"

enum {
	/* The longest EVD that a small machine has the memory for. */
	ATTR_QLEN = 100000,
};

struct attrs {
	struct dat_ia_attr ia;
	struct dat_provider_attr provider;
	struct side side;
	struct dat_evd *recv;
	struct dat_evd *request;
};

static int attr_evd(struct attrs *a, int qlen, struct dat_evd **evd)
{
	return dat_evd_kcreate(a->side.ia, qlen, DAT_UPCALL_DISABLE, NULL,
			       DAT_EVD_DTO_FLAG, evd);
}

/* What transports differ in. */
static void attr_transport(struct vmtest *t, struct attrs *a)
{
	char transport[8];
	bool iwarp;

	vmtest_arg_text(t, "transport", "rxe", transport, sizeof(transport));
	iwarp = !strcmp(transport, "siw");
	vmtest_check(t, !strcmp(a->ia.vendor_name, transport),
		     "the vendor is %s", a->ia.vendor_name);
	vmtest_equal(t, a->ia.extension_supported,
		     iwarp ? DAT_EXTENSION_NONE : DAT_EXTENSION_IB,
		     "extensions");
	vmtest_equal(t, a->provider.rdma_write_for_rdma_read_req, iwarp,
		     "what the sink of a read needs");
	vmtest_equal(t, a->provider.max_private_data_size, iwarp ? 251 : 56,
		     "private data");
	vmtest_check(t, a->provider.fmr_supported && a->provider.srq_supported &&
		     !a->provider.lmr_sync_req && !a->provider.ha_supported,
		     "fast registration, SRQs, coherent memory, one path");
}

/* The longest EVDs, and EPs with the longest queues. */
static void attr_queues(struct vmtest *t, struct attrs *a)
{
	struct dat_ep_attr attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = a->ia.max_message_size,
		.max_rdma_size = a->ia.max_rdma_size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = a->ia.max_dto_per_ep,
		.max_request_dtos = a->ia.max_dto_per_ep,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = a->ia.max_rdma_read_per_ep_in,
		.max_rdma_read_out = a->ia.max_rdma_read_per_ep_out,
	};
	int qlen = min_t(int, a->ia.max_evd_qlen, ATTR_QLEN);
	struct dat_evd *none;
	struct dat_ep *ep;
	int ret;

	vmtest_check(t, a->ia.max_dto_per_ep > 1000 &&
		     a->ia.max_dto_per_ep <= ATTR_QLEN, "%d DTOs in an EP",
		     a->ia.max_dto_per_ep);
	vmtest_equal(t, attr_evd(a, qlen, &a->recv), 0, "an EVD for %d events",
		     qlen);
	vmtest_equal(t, attr_evd(a, qlen, &a->request), 0, "another");
	if (a->ia.max_evd_qlen < INT_MAX)
		vmtest_equal(t, attr_evd(a, a->ia.max_evd_qlen + 1, &none),
			     -ENOMEM, "not for more than %d",
			     a->ia.max_evd_qlen);
#define EP()	dat_ep_create(a->side.ia, a->side.pz, a->recv, a->request,	\
			      a->side.conn, &attr, &ep)
	ret = EP();
	if (vmtest_equal(t, ret, 0, "an EP of the largest kind"))
		dat_ep_free(ep);
	attr.max_request_dtos++;
	ret = EP();
	vmtest_check(t, ret == -EINVAL || ret == -ENOSPC,
		     "not with one more DTO (%d)", ret);
	attr.max_request_dtos = 4;
	attr.max_recv_dtos = 4;
	attr.max_rdma_read_out++;
	vmtest_equal(t, EP(), -EINVAL, "not with one more read");
	attr.max_rdma_read_out = 0;
	attr.max_rdma_read_in++;
	vmtest_equal(t, EP(), -EINVAL, "not for one more of the peer's");
	attr.max_rdma_read_in = 0;
	/* siw knows no limit. */
	if (++attr.max_message_size)
		vmtest_equal(t, EP(), -EINVAL, "not with longer messages");
	attr.max_message_size = 1;

	attr.max_recv_iov = a->ia.max_iov_segments_per_dto;
	attr.max_request_iov = a->ia.max_iov_segments_per_dto;
	attr.max_rdma_write_iov = a->ia.max_iov_segments_per_rdma_write;
	attr.max_rdma_read_iov = a->ia.max_iov_segments_per_rdma_read;
	ret = EP();
	if (vmtest_equal(t, ret, 0, "an EP with %d, %d and %d segments",
			 attr.max_request_iov, attr.max_rdma_write_iov,
			 attr.max_rdma_read_iov))
		dat_ep_free(ep);
	attr.max_rdma_write_iov++;
	vmtest_equal(t, EP(), -EINVAL, "not with one more of a write");
	attr.max_rdma_write_iov = 1;
	attr.max_rdma_read_iov++;
	vmtest_equal(t, EP(), -EINVAL, "not with one more of a read");
#undef EP
}

static void attr_srq(struct vmtest *t, struct attrs *a)
{
	struct dat_srq_attr attr = {
		.max_recv_dtos = a->ia.max_recv_per_srq,
		.max_recv_iov = 1,
	};
	struct dat_srq *srq = NULL;
	int ret;

	ret = dat_srq_create(a->side.ia, a->side.pz, &attr, &srq);
	if (vmtest_equal(t, ret, 0, "an SRQ of %d buffers", attr.max_recv_dtos))
		dat_srq_free(srq);
	vmtest_check(t, a->ia.max_recv_per_srq <= a->ia.max_evd_qlen,
		     "an EVD can report them");
	attr.max_recv_dtos++;
	vmtest_equal(t, dat_srq_create(a->side.ia, a->side.pz, &attr, &srq),
		     -EINVAL, "not of one more");
}

static void attr_memory(struct vmtest *t, struct attrs *a)
{
	u64 limit = 0, alignment;
	struct dat_lmr *lmr;
	int pages, ret;

	ret = dat_ia_memtype_hint(a->side.ia, DAT_MEM_TYPE_VIRTUAL, 1ULL << 40,
				  DAT_MEM_OPTIMIZE_DONT_CARE, &limit,
				  &alignment);
	vmtest_check(t, !ret && limit == a->ia.max_lmr_block_size,
		     "the hint says %llu bytes, as the attribute", limit);
	pages = limit >> PAGE_SHIFT;
	ret = dat_lmr_allocate(a->side.ia, a->side.pz, pages, DAT_LMR_SCOPE_PZ,
			       &lmr);
	if (vmtest_equal(t, ret, 0, "a registration of %d pages", pages))
		dat_lmr_free(lmr);
	vmtest_equal(t, dat_lmr_allocate(a->side.ia, a->side.pz, pages + 1,
					 DAT_LMR_SCOPE_PZ, &lmr), -EMSGSIZE,
		     "not of one more");
}

/**
 * vmtest_attr() - the attributes of the near adapter
 * @t: transport=
 */
void vmtest_attr(struct vmtest *t)
{
	struct attrs *a = kzalloc(sizeof(*a), GFP_KERNEL);
	char addr[64];
	int ret = -ENOMEM;

	vmtest_arg_text(t, "near", "10.0.0.1", addr, sizeof(addr));
	if (a)
		ret = side_open(&a->side, addr, 16, false);
	if (!vmtest_equal(t, ret, 0, "open the IA of %s", addr))
		goto out_free;
	ret = dat_ia_query(a->side.ia, NULL, DAT_IA_FIELD_ALL, &a->ia,
			   DAT_PROVIDER_FIELD_ALL, &a->provider);
	if (vmtest_equal(t, ret, 0, "its attributes")) {
		attr_transport(t, a);
		attr_queues(t, a);
		attr_srq(t, a);
		attr_memory(t, a);
	}
	side_close(&a->side);
out_free:
	kfree(a);
}
