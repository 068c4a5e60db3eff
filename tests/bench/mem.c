// SPDX-License-Identifier: GPL-2.0
/*
 * Fast registration of a page and its end, on raw verbs and through kdapl, and a
 * hit in the cache of an FMR pool.
 */
#include <linux/err.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <rdma/rdma_cm.h>

#include <dat/kdat_fmr_pool.h>

#include "bench.h"

enum {
	MEM_REPS = 32,
};

/* What is registered, and what it needs: from the first pass to the last. */
static struct {
	void *page;
	struct ib_mr *mr;
	struct scatterlist sg;
	struct dat_lmr *lmr;
	struct dat_fmr_pool *pool;
} mem;

static int mem_page(void)
{
	if (!mem.page)
		mem.page = (void *)get_zeroed_page(GFP_KERNEL);
	return mem.page ? 0 : -ENOMEM;
}

static int raw_prepare(struct raw *raw)
{
	struct ib_mr *mr;

	if (mem.mr)
		return 0;
	if (mem_page())
		return -ENOMEM;
	sg_init_table(&mem.sg, 1);
	mr = ib_alloc_mr(raw->pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mem.mr = mr;
	return 0;
}

void raw_mem_close(struct raw *raw)
{
	if (!mem.mr)
		return;
	ib_dereg_mr(mem.mr);
	mem.mr = NULL;
}

/* The LMR and the pool went with the IA. */
void kd_mem_close(void)
{
	mem.lmr = NULL;
	mem.pool = NULL;
	free_page((unsigned long)mem.page);
	mem.page = NULL;
}

/* What a consumer remembers of it; see raw_post_send(). */
static struct raw_wr *raw_context(struct raw_end *end)
{
	struct raw_wr *ctx = &end->send_wr[end->send_head++ % BENCH_DEPTH];

	ctx->end = end;
	ctx->cookie = end->send_head;
	ctx->len = 0;
	return ctx;
}

/*
 * Not signalled: the completion of its end proves it done too. The page is mapped from
 * its registration to that end, as through kdapl.
 */
static noinline int raw_register(struct raw *raw, struct raw_end *end, void *page)
{
	struct ib_device *ibdev = raw->id->device;
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mem.mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
			  IB_ACCESS_REMOTE_WRITE,
	};

	sg_set_buf(&mem.sg, page, PAGE_SIZE);
	if (ib_dma_map_sg(ibdev, &mem.sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -ENOMEM;
	ib_update_fast_reg_key(mem.mr, ib_inc_rkey(mem.mr->rkey));
	if (ib_map_mr_sg(mem.mr, &mem.sg, 1, NULL, PAGE_SIZE) != 1)
		return -EIO;
	wr.key = mem.mr->rkey;
	wr.wr.wr_id = (uintptr_t)raw_context(end);
	return ib_post_send(end->qp, &wr.wr, NULL);
}

static noinline int raw_invalidate(struct raw *raw, struct raw_end *end)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = mem.mr->rkey,
		.wr_id = (uintptr_t)raw_context(end),
	};

	return ib_post_send(end->qp, &wr, NULL);
}

/* The one completion; -EIO: it is a failure, or not alone. */
static int raw_home(struct raw *raw, struct raw_end *end)
{
	int n;

	while (!(n = ib_poll_cq(end->send_cq, BENCH_WAITING, raw->wc)))
		cond_resched();
	if (n != 1 || raw->wc[0].status)
		return -EIO;
	ib_dma_unmap_sg(raw->id->device, &mem.sg, 1, DMA_BIDIRECTIONAL);
	return 0;
}

int raw_row_fmr(struct raw *raw, struct bench_pass *pass)
{
	int i, ret, reps = pass->small ? 1 : MEM_REPS;
	u64 begin;

	ret = raw_prepare(raw);
	for (i = 0; !ret && i < reps; i++) {
		begin = bench_begin();
		local_bh_disable();
		ret = raw_register(raw, &raw->a, mem.page) ?:
		      raw_invalidate(raw, &raw->a);
		local_bh_enable();
		if (!ret)
			ret = raw_home(raw, &raw->a);
		bench_end(pass, begin);
		pass->ops++;
	}
	return ret;
}

static int kd_prepare(struct kd *kd)
{
	if (mem.lmr)
		return 0;
	if (mem_page())
		return -ENOMEM;
	return dat_lmr_allocate(kd->ia, kd->pz, 1, DAT_LMR_SCOPE_PZ, &mem.lmr);
}

static int kd_home(struct kd *kd, struct kd_end *end)
{
	const struct dat_dto_completion_event_data *dto =
		&kd->events[0].event_data.dto_completion_event_data;
	int n;

	while (!(n = dat_evd_dequeue_batch(end->send_evd, kd->events,
					   BENCH_WAITING)))
		cond_resched();
	return n == 1 && !dto->status ? 0 : -EIO;
}

int kd_row_fmr(struct kd *kd, struct bench_pass *pass)
{
	union dat_region_description region;
	union dat_context cookie = { .as_ptr = &kd->a };
	int i, ret, reps = pass->small ? 1 : MEM_REPS;
	u32 lctx, rctx;
	u64 begin;

	ret = kd_prepare(kd);
	region.for_va = mem.page;
	for (i = 0; !ret && i < reps; i++) {
		begin = bench_begin();
		local_bh_disable();
		ret = dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_VIRTUAL, region, 1,
				  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				  kd->a.ep, cookie, DAT_COMPLETION_SUPPRESS_FLAG,
				  &lctx, &rctx) ?:
		      dat_lmr_invalidate(mem.lmr, kd->a.ep, cookie,
					 DAT_COMPLETION_DEFAULT_FLAG);
		local_bh_enable();
		if (!ret)
			ret = kd_home(kd, &kd->a);
		bench_end(pass, begin);
		pass->ops++;
	}
	return ret;
}

int kd_row_pool(struct kd *kd, struct bench_pass *pass)
{
	const struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = 1,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.min_fmrs = 4,
		.max_fmrs = 4,
		.cache = true,
		.max_exposure_ms = DAT_FMR_EXPOSURE_UNBOUNDED,
	};
	struct dat_fmr *first, *fmr;
	int i, ret = 0, again = 0;
	unsigned long flags;
	u64 begin, page;

	if (mem_page())
		return -ENOMEM;
	if (!mem.pool)
		ret = dat_fmr_pool_create(kd->ia, kd->pz, kd->a.ep, &param,
					  &mem.pool);
	page = virt_to_phys(mem.page);
	if (!ret)
		ret = dat_fmr_pool_map(mem.pool, NULL, &page, 1, 0, &first);
	if (ret)
		return ret;
	bench_settle();
	while (dat_evd_dequeue_batch(kd->a.send_evd, kd->events, BENCH_WAITING))
		;

	local_irq_save(flags);
	begin = bench_begin();
	for (i = 0; i < BENCH_CALLS; i++)
		ret |= dat_fmr_pool_map(mem.pool, NULL, &page, 1, 0, &fmr);
	bench_end(pass, begin);
	local_irq_restore(flags);
	pass->ops += BENCH_CALLS;
	again = ret || fmr != first;
	for (i = 0; i <= BENCH_CALLS; i++)
		ret |= dat_fmr_pool_unmap(first);
	return again ? -EIO : ret;
}
