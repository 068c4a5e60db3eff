/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of fake_hca.ko share. */
#ifndef _FAKE_PRIV_H
#define _FAKE_PRIV_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "fake_hca.h"

struct fake_hca {
	struct ib_device ibdev;
	enum fake_proto proto;
};

struct fake_pd {
	struct ib_pd ibpd;
};

struct fake_mr {
	struct ib_mr ibmr;
	u32 pages;
	u32 max_pages;
	u32 key;		/* of the registration that is in force */
	int access;		/* what that lets do */
	bool valid;
};

struct fake_cqe {
	struct ib_wc wc;
};

struct fake_cq {
	struct ib_cq ibcq;
	spinlock_t lock;	/* all below; inside a QP's lock */
	struct fake_cqe *cqe;
	unsigned int size;
	unsigned int head;
	unsigned int tail;
	bool armed;
	unsigned int owed;	/* late callbacks */
	unsigned int callbacks;
	atomic_t inflight;
};

/* A ring of posted requests. */
struct fake_wq {
	struct fake_wr *wr;
	unsigned int size;
	unsigned int head;
	unsigned int tail;
};

struct fake_srq {
	struct ib_srq ibsrq;
	struct fake_wq rq;	/* under fake_qp_lock, as is limit */
	u32 limit;
};

struct fake_qp {
	struct ib_qp ibqp;
	struct list_head node;	/* fake_qps, under fake_qp_lock */
	enum ib_qp_state state;
	bool sig_all;
	struct fake_wq sq;
	struct fake_wq rq;
	struct fake_qp *peer;
	struct ib_qp_attr attr;
	struct work_struct work;
};

extern atomic_t fake_live[FAKE_OBJECTS];
extern struct workqueue_struct *fake_wq;

int fake_verb_begin(enum fake_verb verb, const void *object, int arg);
void fake_verb_done(enum fake_verb verb, const void *object, int arg, int ret);
void fake_log_reset(void);

static inline void fake_verb_hook(enum fake_verb verb, const void *object)
{
	void (*hook)(enum fake_verb verb, const void *object, void *ctx);

	hook = READ_ONCE(fake_script.verb_hook);
	if (hook)
		hook(verb, object, READ_ONCE(fake_script.hook_ctx));
}

static inline struct fake_cq *to_fake_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct fake_cq, ibcq);
}

static inline struct fake_qp *to_fake_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct fake_qp, ibqp);
}

static inline struct fake_srq *to_fake_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct fake_srq, ibsrq);
}

/* Where the QP's receives are. */
static inline struct fake_wq *fake_qp_rq(struct fake_qp *qp)
{
	return qp->ibqp.srq ? &to_fake_srq(qp->ibqp.srq)->rq : &qp->rq;
}

static inline struct fake_mr *to_fake_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct fake_mr, ibmr);
}

struct ib_mr *fake_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *fake_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 virt, int access, struct ib_udata *udata);
struct ib_mr *fake_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg);
int fake_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int fake_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		   unsigned int *offset);
/* The registration with this key is over. Any context, as the next. */
void fake_mr_end(u32 key);
/* What a successful request does to an MR. */
void fake_mr_work(const struct fake_wr *wr);
/* As devices do: no registration over another, no invalidation by a guess. */
bool fake_mr_refuses(const struct fake_wr *wr);

int fake_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata);
int fake_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int fake_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int fake_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/* Under fake_qp_lock. */
struct fake_qp *fake_qp_lookup(u32 num);
/* What an iWARP device does with the two QPs of a connection. */
void fake_qp_connect(u32 num, u32 other_num);
int fake_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata);
int fake_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int fake_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int fake_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int fake_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

extern spinlock_t fake_qp_lock;
extern unsigned int fake_qp_overflowed;

/* Under fake_qp_lock. */
static inline bool fake_wq_empty(const struct fake_wq *wq)
{
	return wq->head == wq->tail;
}

static inline struct fake_wr *fake_wq_head(struct fake_wq *wq)
{
	return &wq->wr[wq->head % wq->size];
}

int fake_wq_alloc(struct fake_wq *wq, u32 size);
/* A slot for a new request, or NULL if the queue is full. */
struct fake_wr *fake_wq_push(struct fake_wq *wq, const struct ib_sge *sge,
			     int num_sge);
void fake_srq_taken(struct fake_srq *srq);

int fake_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata);
int fake_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int fake_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int fake_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

void fake_qp_finish(struct fake_qp *qp, bool send, enum ib_wc_status status,
		    u32 len, u32 inv_rkey);
void fake_qp_reset_counters(void);

extern struct net_device *fake_netdev;

int fake_net_init(void);
void fake_net_exit(void);
int fake_cm_init(void);
void fake_cm_exit(void);
void fake_cm_reset(void);

#endif /* _FAKE_PRIV_H */
