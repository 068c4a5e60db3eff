/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ib_device without hardware, and a connection manager without a network.
 *
 * fake_hca.ko registers one device, "fake0", with two ports. The addresses of the
 * first are FAKE_IP4 and FAKE_IP6; the second has none, unless
 * fake_cm_script.second_port says that FAKE_IP6 is its. A suite scripts how the
 * device behaves: what req_notify does, who completes work requests and where,
 * which verb fails, and what happens between any two steps of the code under test
 * (hooks). Everything the suites set goes back to its default with
 * fake_hca_reset().
 */
#ifndef _FAKE_HCA_H
#define _FAKE_HCA_H

#include <rdma/ib_verbs.h>

#define FAKE_NAME	"fake0"
#define FAKE_IP4	0xc6336401	/* 198.51.100.1, for documentation */
#define FAKE_IP4_TEXT	"198.51.100.1"
/* 2001:db8::1, for documentation */
#define FAKE_IP6	{ { .u6_addr8 = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } } }
#define FAKE_IP6_TEXT	"2001:db8::1"
#define FAKE_NETDEV	"fakehca"
#define FAKE_PORTS	2

enum fake_verb {
	FAKE_ANY,		/* fail_nth only: whichever comes n-th */
	FAKE_ALLOC_PD,
	FAKE_CREATE_CQ,
	FAKE_REQ_NOTIFY,
	FAKE_CREATE_QP,
	FAKE_MODIFY_QP,
	FAKE_POST_SEND,
	FAKE_POST_RECV,
	FAKE_ALLOC_MR,
	FAKE_MAP_MR_SG,
	FAKE_CREATE_SRQ,
	FAKE_MODIFY_SRQ,
	FAKE_POST_SRQ_RECV,
	FAKE_FAILABLE,		/* those above can be made to fail */
	FAKE_POLL_CQ = FAKE_FAILABLE,
	FAKE_DEALLOC_PD,
	FAKE_DESTROY_CQ,
	FAKE_DESTROY_QP,
	FAKE_DEREG_MR,
	FAKE_DESTROY_SRQ,
	FAKE_VERBS,
};

/* What ib_req_notify_cq() does; the names of providers say whose way it is. */
enum fake_notify {
	FAKE_REPORTS_ARMS,	/* > 0 if completions wait, armed too (rxe) */
	FAKE_REPORTS_ONLY,	/* > 0 if completions wait, then not armed (bnxt_re) */
	FAKE_NEVER_REPORTS,	/* 0; those that wait never fire (the strict reading) */
	FAKE_FIRES_AT_ONCE,	/* 0; those that wait fire inside the call (mlx4) */
	FAKE_REPORTS_EMPTY,	/* > 0 over an empty queue, script.empty_reports times */
	FAKE_NOTIFY_CLASSES,
};

/* When a completion fires the handler of an armed CQ. */
enum fake_fire {
	FAKE_FIRE_NOW,		/* in the context of whoever completed it */
	FAKE_FIRE_LATE,		/* when the test calls fake_cq_late() */
};

/* Who completes posted work requests. */
enum fake_complete {
	FAKE_MANUAL,		/* the test, with fake_qp_complete() */
	FAKE_INLINE,		/* the poster, on its stack (siw) */
	FAKE_WORKER,		/* a work item, script.delay_us later */
};

/* Who flushes them when the QP moves to error. */
enum fake_flush {
	FAKE_FLUSH_INLINE,
	FAKE_FLUSH_WORKER,
	FAKE_FLUSH_MANUAL,
	FAKE_FLUSH_NEVER,	/* nobody: siw with an idle transmitter */
};

enum fake_step {
	FAKE_BEFORE_POLL,
	FAKE_AFTER_POLL,
	FAKE_BEFORE_NOTIFY,
	FAKE_INSIDE_NOTIFY,	/* armed, the answer is fixed */
	FAKE_AFTER_NOTIFY,
};

enum fake_object {
	FAKE_PD,
	FAKE_CQ,
	FAKE_QP,
	FAKE_MR,
	FAKE_SRQ,
	FAKE_ID,		/* rdma_cm_ids of the fake CM */
	FAKE_OBJECTS,
};

/**
 * struct fake_script - how the device behaves
 * @notify: class of all CQs
 * @fire: when they fire
 * @empty_reports: answers of FAKE_REPORTS_EMPTY that are left
 * @poll_errors: looks into CQs that fail, from now on
 * @complete: who completes requests
 * @flush: who flushes them
 * @delay_us: at most so long waits the worker before each completion
 * @cpu: where the worker runs, -1 for anywhere
 * @hook: called at each step of each CQ, outside the device's locks
 * @verb_hook: called when a send was posted (%FAKE_POST_SEND, the QP), in what the
 *	poster holds, and before a QP comes (%FAKE_CREATE_QP, the QP) or goes
 *	(%FAKE_DESTROY_QP, the QP) or an MR goes (%FAKE_DEREG_MR, the MR), where
 *	sleeping is allowed; outside the device's locks
 * @hook_ctx: for @hook and @verb_hook
 * @manual_reg: REG_MR and LOCAL_INV follow @complete; else they are done at once
 * @signal_all: unsignalled requests have completions too
 */
struct fake_script {
	enum fake_notify notify;
	enum fake_fire fire;
	unsigned int empty_reports;
	unsigned int poll_errors;
	enum fake_complete complete;
	enum fake_flush flush;
	unsigned int delay_us;
	int cpu;
	void (*hook)(enum fake_step step, struct ib_cq *cq, void *ctx);
	void (*verb_hook)(enum fake_verb verb, const void *object, void *ctx);
	void *hook_ctx;
	bool manual_reg;
	bool signal_all;
};

/* One call of a verb. */
struct fake_log {
	enum fake_verb verb;
	const void *object;	/* the ib_cq, ib_qp, ib_mr or ib_pd */
	int arg;		/* poll: completions; modify: new state */
	int ret;
};

enum fake_proto {
	FAKE_PROTO_IB,
	FAKE_PROTO_IWARP,
};

extern struct fake_script fake_script;

/* Device */
void fake_hca_reset(void);
struct ib_device *fake_hca_ibdev(void);
int fake_hca_plug(enum fake_proto proto);
void fake_hca_unplug(void);
int fake_hca_live(enum fake_object object);
int fake_hca_live_total(void);
void fake_hca_event(enum ib_event_type type);

/*
 * Failures: the @nth call (from 1) of @verb from now on answers @error, and so
 * do the @count - 1 after it. fake_hca_fail_left() says how many of them are
 * still to come.
 */
void fake_hca_fail(enum fake_verb verb, unsigned int nth, unsigned int count,
		   int error);
unsigned int fake_hca_fail_left(void);

/* Log: the calls since the last reset, oldest first. */
unsigned int fake_log_count(enum fake_verb verb, const void *object);
int fake_log_find(enum fake_verb verb, const void *object, unsigned int from);
bool fake_log_get(unsigned int index, struct fake_log *entry);
unsigned int fake_log_polled(const struct ib_cq *cq, unsigned int before);

/* Completion queues */
bool fake_cq_push(struct ib_cq *cq, const struct ib_wc *wc);
void fake_cq_stray(struct ib_cq *cq);

/**
 * struct fake_held - a callback that is held in front of its handler
 * @hold: as long as it is set
 * @inside: the callback has begun
 */
struct fake_held {
	bool hold;
	bool inside;
};

/* A stray callback that the destruction of its CQ does not wait for. */
void fake_cq_stray_held(struct ib_cq *cq, struct fake_held *held);
void fake_cq_late(struct ib_cq *cq);
bool fake_cq_armed(struct ib_cq *cq);
unsigned int fake_cq_waiting(struct ib_cq *cq);
unsigned int fake_cq_callbacks(struct ib_cq *cq);

/* Whether a registration with this key is in force. */
bool fake_mr_valid(u32 key);
/* Its enum ib_access_flags; -1: none is. */
int fake_mr_access(u32 key);

/* Queue pairs */

/* A work request that the device holds. */
struct fake_wr {
	u64 wr_id;
	enum ib_wr_opcode opcode;	/* sends */
	unsigned int flags;		/* enum ib_send_flags */
	u32 len;
	u32 rkey;
	u64 remote_addr;
	u32 imm;
	int access;		/* of a registration */
	u64 compare_add;
	u64 swap;
	int num_sge;
	struct ib_sge sge[4];		/* the first ones */
};

unsigned int fake_qp_complete(struct ib_qp *qp, bool send, unsigned int n,
			      enum ib_wc_status status);
unsigned int fake_qp_receive(struct ib_qp *qp, u32 len, u32 inv_rkey);
/* The same with immediate data, of a message or of an RDMA write. */
unsigned int fake_qp_receive_imm(struct ib_qp *qp, u32 len, u32 imm,
				 bool write);
unsigned int fake_qp_flush(struct ib_qp *qp);
unsigned int fake_qp_posted(struct ib_qp *qp, bool send);
bool fake_qp_peek(struct ib_qp *qp, bool send, unsigned int index,
		  struct fake_wr *wr);
enum ib_qp_state fake_qp_state(struct ib_qp *qp);
void fake_qp_attr(struct ib_qp *qp, struct ib_qp_attr *attr);
void fake_qp_event(struct ib_qp *qp, enum ib_event_type type);
unsigned int fake_qp_overflows(void);

/*
 * Shared receive queues. A message to a QP that has one takes a buffer of it;
 * then the level is looked at, as rxe does.
 */
unsigned int fake_srq_posted(struct ib_srq *srq);
unsigned int fake_srq_limit(struct ib_srq *srq);
/* Takes the oldest buffer away, as a QP does that dies over a message. */
bool fake_srq_lose(struct ib_srq *srq);
void fake_srq_event(struct ib_srq *srq, enum ib_event_type type);

#endif /* _FAKE_HCA_H */
