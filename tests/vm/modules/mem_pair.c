// SPDX-License-Identifier: GPL-2.0
/*
 * The connection that memory is shown over, and what the peer does with it. See
 * mem.h.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mem.h"
#include "result.h"

/*
 * Byte i of a pattern is seed + i + i / 256: each 256 of them are a stretch of this,
 * so that they can be copied and compared at a time. With KASAN byte by byte takes
 * longer than the transfer.
 */
static u8 mem_ramp[2 * 256];

static const u8 *mem_stretch(u8 seed, u32 i)
{
	u32 n;

	if (!mem_ramp[1])
		for (n = 0; n < sizeof(mem_ramp); n++)
			mem_ramp[n] = n;
	return mem_ramp + (u8)(seed + (i >> 8));
}

void mem_fill(u8 *buf, u32 length, u8 seed)
{
	u32 i;

	for (i = 0; i < length; i += 256)
		memcpy(buf + i, mem_stretch(seed, i), min(length - i, 256U));
}

bool mem_is(const u8 *buf, u32 length, u8 seed)
{
	u32 i;

	for (i = 0; i < length; i += 256)
		if (memcmp(buf + i, mem_stretch(seed, i), min(length - i, 256U)))
			return false;
	return true;
}

static int mem_ep(struct side *side, struct dat_ep **ep, u32 size)
{
	struct dat_ep_attr attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = size,
		.max_rdma_size = size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = MEM_DEPTH,
		.max_request_dtos = MEM_DEPTH,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	return dat_ep_create(side->ia, side->pz, side->recv, side->request,
			     side->conn, &attr, ep);
}

void mem_drain(struct dat_evd *evd)
{
	struct dat_event event;

	while (!dat_evd_dequeue(evd, &event))
		;
}

int mem_pair_another(struct mem_pair *p, struct dat_ep **near_ep,
		     struct dat_ep **far_ep)
{
	int ret;

	ret = mem_ep(&p->near, near_ep, p->size + 2 * MEM_GUARD);
	if (!ret)
		ret = mem_ep(&p->far, far_ep, p->size + 2 * MEM_GUARD);
	if (!ret)
		ret = side_pair(&p->near, *near_ep, &p->far, *far_ep, MEM_PORT);
	return ret;
}

int mem_pair_connect(struct mem_pair *p)
{
	int ret = 0;

	if (p->near_ep)
		ret = dat_ep_free(p->near_ep);
	if (!ret && p->far_ep)
		ret = dat_ep_free(p->far_ep);
	p->near_ep = NULL;
	p->far_ep = NULL;
	mem_drain(p->near.conn);
	mem_drain(p->far.conn);
	return ret ? ret : mem_pair_another(p, &p->near_ep, &p->far_ep);
}

static int mem_local(struct mem_pair *p)
{
	union dat_region_description region;
	u64 length = p->size + MEM_GUARD, limit, addr;
	u32 rkey;
	int ret;

	p->local = kvzalloc(p->size + 2 * MEM_GUARD, GFP_KERNEL);
	if (!p->local)
		return -ENOMEM;
	/* On iWARP the sink of a read is one registration of the device. */
	ret = dat_ia_memtype_hint(p->near.ia, DAT_MEM_TYPE_VIRTUAL, length,
				  DAT_MEM_OPTIMIZE_DONT_CARE, &limit, &addr);
	if (ret)
		return ret;
	if (p->near.iwarp)
		length = min(length, limit);
	region.for_va = p->local;
	return dat_lmr_kcreate(p->near.ia, DAT_MEM_TYPE_VIRTUAL, region, length,
			       p->near.pz, MEM_LOCAL, DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, &p->local_lmr,
			       &p->local_key, &rkey, &length, &addr);
}

static bool mem_is_siw(struct side *side)
{
	struct dat_ia_attr *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	bool siw;

	siw = attr && !dat_ia_query(side->ia, NULL, DAT_IA_FIELD_IA_VENDOR_NAME,
				    attr, 0, NULL) &&
	      !strcmp(attr->vendor_name, "siw");
	kfree(attr);
	return siw;
}

bool mem_pair_open(struct vmtest *t, struct mem_pair *p, u32 size)
{
	int ret;

	memset(p, 0, sizeof(*p));
	p->size = size;
	if (!sides_open(t, &p->near, &p->far, 64, false))
		return false;
	p->siw = mem_is_siw(&p->far);
	ret = mem_local(p);
	if (!ret)
		ret = dat_psp_create(p->far.ia, MEM_PORT, p->far.conn,
				     DAT_PSP_CONSUMER_FLAG, &p->psp);
	if (!ret)
		ret = mem_pair_connect(p);
	if (!ret)
		return true;
	vmtest_equal(t, ret, 0, "a connection");
	mem_pair_close(p);
	return false;
}

void mem_pair_close(struct mem_pair *p)
{
	side_close(&p->near);
	side_close(&p->far);
	kvfree(p->local);
}

/* What a completion says: of a bind, or of any other request. */
static int mem_status(const struct dat_event *event)
{
	if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		return event->event_data.rmr_completion_event_data.status;
	return event->event_data.dto_completion_event_data.status;
}

int mem_far_done(struct mem_pair *p)
{
	struct dat_event event;
	int ret;

	ret = side_wait(p->far.request, &event, SIDE_TIMEOUT_MS);
	if (ret)
		return ret;
	return mem_status(&event) ? -EIO : 0;
}

int mem_tell(struct mem_pair *p)
{
	struct dat_event event;
	int ret;

	ret = side_post_recv(&p->near, p->near_ep, 0);
	if (!ret)
		ret = side_post_send(&p->far, p->far_ep, 0);
	if (!ret)
		ret = mem_far_done(p);
	if (!ret)
		ret = side_wait(p->near.recv, &event, SIDE_TIMEOUT_MS);
	return !ret && mem_status(&event) ? -EIO : ret;
}

int mem_done(struct mem_pair *p)
{
	struct dat_event event;
	int ret;

	ret = side_wait(p->near.request, &event, SIDE_TIMEOUT_MS);
	return ret ? ret : mem_status(&event);
}

int mem_rdma(struct mem_pair *p, bool read, u64 addr, u32 rkey, u32 offset,
	     u32 length)
{
	struct dat_lmr_triplet local = {
		.virtual_address = (uintptr_t)p->local + offset,
		.segment_length = length,
		.lmr_context = p->local_key,
	};
	struct dat_rmr_triplet remote = {
		.virtual_address = addr,
		.segment_length = length,
		.rmr_context = rkey,
	};
	union dat_context cookie = {};
	int ret;

	if (read)
		ret = dat_ep_post_rdma_read(p->near_ep, 1, &local, cookie,
					    &remote, 0);
	else
		ret = dat_ep_post_rdma_write(p->near_ep, 1, &local, cookie,
					     &remote, 0);
	return ret ? ret : mem_done(p);
}
