// SPDX-License-Identifier: GPL-2.0
/*
 * A thread's IA on one of the devices: opened, closed in order or at once, and
 * the device deleted under it.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kmod.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <dat/dat_ib_extensions.h>

#include "stress.h"

enum {
	END_QLEN = 256,
	END_BUF = STRESS_CONNS * STRESS_CONN_BUF + STRESS_SRQ_DEPTH * STRESS_MSG,
};

void stress_upcall(void *data, const struct dat_event *event, bool more)
{
	struct stress_evd *evd = data;
	struct stress_worker *w = evd->end->w;

	if (w->s->fault == STRESS_FAULT_WAKEUP)
		return;
	stress_count(w, STRESS_WAKEUP);
	WRITE_ONCE(evd->notified, true);
	wake_up(&w->wait);
}

static int end_evds(struct stress_end *end)
{
	static const enum dat_evd_flags flags[] = {
		[EVD_CONN] = DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
		[EVD_RECV] = DAT_EVD_DTO_FLAG,
		[EVD_REQ] = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
	};
	int i, ret = 0;

	for (i = EVD_CONN; i < EVDS && !ret; i++)
		ret = dat_evd_kcreate(end->ia, END_QLEN, DAT_UPCALL_DISABLE,
				      NULL, flags[i], &end->evd[i].evd);
	return ret;
}

static int end_memory(struct stress_end *end)
{
	struct dat_fmr_pool_param param = {
		.mem_type = DAT_MEM_TYPE_PHYSICAL,
		.max_pages = STRESS_AREA / PAGE_SIZE,
		.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG |
			      DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
		.min_fmrs = STRESS_CONNS,
		.max_fmrs = 2 * STRESS_CONNS,
		.cache = true,
		.max_exposure_ms = stress_random(end->w, 2) ? 0 : 100,
	};
	union dat_region_description region = { .for_va = end->buf };
	u64 length, addr;
	u32 rkey;
	int ret;

	end->pool_atomic = end->w->s->atomics && stress_random(end->w, 2);
	if (end->pool_atomic)
		param.privileges |= (enum dat_mem_priv_flags)
				    DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	ret = dat_lmr_kcreate(end->ia, DAT_MEM_TYPE_VIRTUAL, region,
			      END_BUF, end->pz,
			      DAT_MEM_PRIV_LOCAL_READ_FLAG |
			      DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			      &end->lmr, &end->lkey, &rkey, &length, &addr);
	if (!ret)
		ret = dat_fmr_pool_create(end->ia, end->pz, NULL, &param,
					  &end->pool);
	return ret;
}

static void end_free(struct stress_end *end)
{
	int i;

	for (i = 0; i < STRESS_CONNS; i++) {
		stress_shown_set(&end->conn[i], SHOWN_NOT);
		stress_conn_set(&end->conn[i], CONN_NONE);
		kfree(end->conn[i].shown.mem);
	}
	kfree(end->buf);
	kfree(end);
}

static struct stress_end *end_alloc(struct stress_worker *w, int dev)
{
	struct stress_end *end;
	int i;

	end = kzalloc(sizeof(*end), GFP_KERNEL);
	if (!end)
		return NULL;
	INIT_LIST_HEAD(&end->node);
	end->w = w;
	end->dev = dev;
	end->serial = w->opened++;
	end->buf = kzalloc(END_BUF, GFP_KERNEL);
	for (i = 0; i < EVDS; i++)
		end->evd[i].end = end;
	for (i = 0; i < STRESS_CONNS; i++)
		end->conn[i].end = end;
	for (i = 0; i < STRESS_CONNS; i++) {
		struct stress_conn *conn = &end->conn[i];

		conn->buf = end->buf + i * STRESS_CONN_BUF;
		/* kmalloc of so much is in one piece, and starts at a page. */
		conn->shown.mem = kzalloc(STRESS_AREA, GFP_KERNEL);
		if (end->buf && conn->shown.mem)
			continue;
		end_free(end);
		return NULL;
	}
	return end;
}

/**
 * stress_end_open() - open an IA and what every EP there needs
 * @w: the thread
 * @dev: 0 or 1
 *
 * Return: 0, or an errno; -ENODEV is to be expected while the device is away.
 */
int stress_end_open(struct stress_worker *w, int dev)
{
	struct stress_end *end;
	int ret;

	end = end_alloc(w, dev);
	if (!end)
		return -ENOMEM;
	stress_doing(w, "dat_ia_open");
	ret = dat_ia_open(w->s->addr_text[dev], 16, &end->evd[EVD_ASYNC].evd,
			  &end->ia);
	if (ret) {
		end_free(end);
		return ret;
	}
	stress_doing(w, "set-up of an IA");
	ret = end_evds(end);
	if (!ret)
		ret = dat_pz_create(end->ia, &end->pz);
	if (!ret)
		ret = end_memory(end);
	if (!ret)
		ret = stress_srq_open(end);
	if (ret) {
		stress_end_close(end, false);
		return ret;
	}
	stress_count(w, STRESS_OPEN);
	w->end[dev] = end;
	stress_end_listen(end);
	return 0;
}

void stress_end_listen(struct stress_end *end)
{
	struct stress_worker *w = end->w;
	int ret;

	stress_doing(w, "dat_psp_create");
	ret = dat_psp_create(end->ia, STRESS_PORT + w->id,
			     end->evd[EVD_CONN].evd, DAT_PSP_CONSUMER_FLAG,
			     &end->psp);
	if (!ret)
		stress_count(w, STRESS_LISTEN);
	else if (ret != -ENODEV && ret != -EADDRINUSE && ret != -EADDRNOTAVAIL)
		stress_bad(w->s, &w->s->wrong, "dat_psp_create: %d", ret);
}

static void end_freed(struct stress_end *end, const char *call, int ret)
{
	if (ret)
		stress_bad(end->w->s, &end->w->s->leaked, "%s: %d", call, ret);
}

/* Each object by itself, those first that use others. */
static void end_free_objects(struct stress_end *end)
{
	struct stress_worker *w = end->w;
	int i;

	stress_doing(w, "dat_psp_free");
	if (end->psp)
		end_freed(end, "dat_psp_free", dat_psp_free(end->psp));
	stress_drain(end);
	stress_doing(w, "dat_cr_reject");
	if (end->cr)
		end_freed(end, "dat_cr_reject",
			  dat_cr_reject(end->cr, 0, NULL));
	end->cr = NULL;
	for (i = 0; i < STRESS_CONNS; i++)
		if (end->conn[i].ep)
			stress_conn_free(&end->conn[i]);
	stress_srq_close(end);
	stress_doing(w, "dat_fmr_pool_destroy");
	if (end->pool)
		end_freed(end, "dat_fmr_pool_destroy",
			  dat_fmr_pool_destroy(end->pool));
	stress_doing(w, "dat_lmr_free");
	if (end->lmr && !stress_fault(w->s, STRESS_FAULT_LEAK))
		end_freed(end, "dat_lmr_free", dat_lmr_free(end->lmr));
	stress_doing(w, "dat_evd_free");
	for (i = EVD_CONN; i < EVDS; i++)
		if (end->evd[i].evd)
			end_freed(end, "dat_evd_free",
				  dat_evd_free(end->evd[i].evd));
	stress_doing(w, "dat_pz_free");
	if (end->pz)
		dat_pz_free(end->pz);
}

void stress_end_close(struct stress_end *end, bool graceful)
{
	struct stress_worker *w = end->w;
	int ret;

	if (graceful) {
		end_free_objects(end);
		stress_doing(w, "dat_ia_close(GRACEFUL)");
		ret = dat_ia_close(end->ia, DAT_CLOSE_GRACEFUL_FLAG);
		if (!ret) {
			stress_count(w, STRESS_CLOSE_GRACEFUL);
			end_free(end);
			return;
		}
		stress_bad(w->s, &w->s->leaked,
			   "dat_ia_close(GRACEFUL) with everything freed: %d",
			   ret);
	}
	stress_doing(w, "dat_ia_close(ABRUPT)");
	ret = dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG);
	if (ret)
		stress_bad(w->s, &w->s->leaked, "dat_ia_close(ABRUPT): %d", ret);
	else
		stress_count(w, STRESS_CLOSE_ABRUPT);
	end_free(end);
}

/* /bin/rdma with up to six arguments: its exit status. */
static int run_rdma(char *a, char *b, char *c, char *d, char *e, char *f)
{
	char *argv[9] = { "/bin/rdma", "link", a, b, c, d, e, f };
	char *envp[2] = { "PATH=/bin:/sbin" };

	return call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
}

/* How many EPs are in which state when the device goes. */
static void remove_census(struct stress *s, int dev)
{
	int i;

	for (i = 0; i < CONN_STATES; i++)
		s->caught[i] += atomic_read(&s->census[dev][i]);
	s->caught_registering += atomic_read(&s->registering[dev]);
}

/* True if it is time for a removal, and @w is to make it. */
bool stress_removal_begin(struct stress_worker *w)
{
	struct stress *s = w->s;

	return time_after_eq(jiffies, READ_ONCE(s->next_removal)) &&
	       mutex_trylock(&s->remover);
}

/* Deletes a device, and makes it anew; nobody serves the IAs of @w meanwhile. */
void stress_removal_end(struct stress_worker *w)
{
	char name[8], net[8], type[8];
	struct stress *s = w->s;
	int dev, ret;
	ktime_t start;
	s64 ms;

	dev = stress_random(w, 2);
	snprintf(name, sizeof(name), "%s%d", s->transport, dev);
	snprintf(net, sizeof(net), "veth%d", dev);
	strscpy(type, s->transport, sizeof(type));

	stress_doing(w, "rdma link delete");
	remove_census(s, dev);
	start = ktime_get();
	ret = run_rdma("delete", name, NULL, NULL, NULL, NULL);
	ms = ktime_ms_delta(ktime_get(), start);
	s->removal_max_ms = max(s->removal_max_ms, ms);
	if (ret)
		stress_bad(s, &s->wrong, "rdma link delete %s: %d", name, ret);
	else
		stress_count(w, STRESS_REMOVAL);
	msleep(stress_random(w, 50));
	stress_doing(w, "rdma link add");
	ret = run_rdma("add", name, "type", type, "netdev", net);
	if (ret)
		stress_bad(s, &s->wrong, "rdma link add %s: %d", name, ret);
	WRITE_ONCE(s->next_removal, jiffies + s->removal_gap / 2 +
		   stress_random(w, s->removal_gap + 1));
	mutex_unlock(&s->remover);
}
