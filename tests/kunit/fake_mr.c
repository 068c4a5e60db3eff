// SPDX-License-Identifier: GPL-2.0
/* Memory regions of the fake device: registered and invalidated by requests. */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "fake_priv.h"

static atomic_t fake_key = ATOMIC_INIT(0x1000);
static DEFINE_XARRAY(fake_mrs);

static struct fake_mr *fake_mr_find(u32 key)
{
	return xa_load(&fake_mrs, key >> 8);
}

bool fake_mr_valid(u32 key)
{
	struct fake_mr *mr = fake_mr_find(key);

	return mr && READ_ONCE(mr->valid) && READ_ONCE(mr->key) == key;
}
EXPORT_SYMBOL_GPL(fake_mr_valid);

int fake_mr_access(u32 key)
{
	return fake_mr_valid(key) ? READ_ONCE(fake_mr_find(key)->access) : -1;
}
EXPORT_SYMBOL_GPL(fake_mr_access);

static struct fake_mr *fake_new_mr(u32 max_pages)
{
	struct fake_mr *mr;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_pages;
	mr->ibmr.lkey = atomic_inc_return(&fake_key) << 8;
	mr->ibmr.rkey = mr->ibmr.lkey;
	if (xa_err(xa_store(&fake_mrs, mr->ibmr.rkey >> 8, mr, GFP_KERNEL))) {
		kfree(mr);
		return ERR_PTR(-ENOMEM);
	}
	atomic_inc(&fake_live[FAKE_MR]);
	return mr;
}

struct ib_mr *fake_get_dma_mr(struct ib_pd *ibpd, int access)
{
	return &fake_new_mr(0)->ibmr;
}

struct ib_mr *fake_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 virt, int access, struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

struct ib_mr *fake_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg)
{
	struct fake_mr *mr;
	int ret;

	ret = fake_verb_begin(FAKE_ALLOC_MR, ibpd, max_num_sg);
	if (ret)
		return ERR_PTR(ret);
	if (type != IB_MR_TYPE_MEM_REG ||
	    max_num_sg > ibpd->device->attrs.max_fast_reg_page_list_len)
		return ERR_PTR(-EINVAL);
	mr = fake_new_mr(max_num_sg);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	fake_verb_done(FAKE_ALLOC_MR, ibpd, max_num_sg, 0);
	return &mr->ibmr;
}

int fake_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	fake_verb_hook(FAKE_DEREG_MR, ibmr);
	fake_verb_done(FAKE_DEREG_MR, ibmr, 0, 0);
	xa_erase(&fake_mrs, ibmr->rkey >> 8);
	kfree(to_fake_mr(ibmr));
	atomic_dec(&fake_live[FAKE_MR]);
	return 0;
}

static int fake_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct fake_mr *mr = to_fake_mr(ibmr);

	if (mr->pages == mr->max_pages)
		return -ENOMEM;
	mr->pages++;
	return 0;
}

int fake_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *offset)
{
	struct fake_mr *mr = to_fake_mr(ibmr);
	int ret;

	ret = fake_verb_begin(FAKE_MAP_MR_SG, ibmr, nents);
	if (ret)
		return ret;
	mr->pages = 0;
	ret = ib_sg_to_pages(ibmr, sg, nents, offset, fake_set_page);
	fake_verb_done(FAKE_MAP_MR_SG, ibmr, nents, ret);
	return ret;
}

void fake_mr_end(u32 key)
{
	struct fake_mr *mr = fake_mr_find(key);

	if (mr && mr->key == key)
		mr->valid = false;
}

/* What a successful request does to an MR. */
void fake_mr_work(const struct fake_wr *wr)
{
	struct fake_mr *mr = fake_mr_find(wr->rkey);

	if (wr->opcode == IB_WR_REG_MR && mr) {
		mr->access = wr->access;
		mr->valid = true;
		mr->key = wr->rkey;
	} else if (wr->opcode == IB_WR_LOCAL_INV) {
		fake_mr_end(wr->rkey);
	}
}

/* As devices do: no registration over another, no invalidation by a guess. */
bool fake_mr_refuses(const struct fake_wr *wr)
{
	struct fake_mr *mr;

	if (wr->opcode != IB_WR_REG_MR && wr->opcode != IB_WR_LOCAL_INV)
		return false;
	mr = fake_mr_find(wr->rkey);
	if (!mr)
		return true;
	return wr->opcode == IB_WR_REG_MR ? mr->valid : mr->key != wr->rkey;
}
