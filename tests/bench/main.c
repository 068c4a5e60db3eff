// SPDX-License-Identifier: GPL-2.0
/*
 * The table of rows (one more is an entry here and a function on each side; the raw
 * one may be missing), how they are measured, and the files in debugfs: "run" takes
 * "<address> all", "<address> row <row>" or "<address> profile <row>", which waits
 * before its last pass until somebody sets "held" to 0; "result" has what the last
 * run said:
 *
 *	cost <row> <side> <median> <least> <most>	1/100 instructions an op
 *	budget <row> <most> <known> <what it is>	1/100 instructions an op
 *	wake <form> <burst> <median> <least> <most>, for each of upcalls, switches
 *		and racing upcalls
 *	fact <key> <median> <least> <most> <budget, or 0> <what it is>
 *
 * Under -icount shift=0 one cycle of the TSC is one guest instruction.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "bench.h"

enum {
	RESULT_SIZE = 16384,
	SETTLE_ROOM = 6,	/* packets */
	SETTLE_MOST = 1024,
};

struct bench_row {
	const char *name;
	const char *work;
	u32 budget;		/* instructions an op */
	u32 known;		/* of a budget that is not met: the most it may cost */
	int (*raw)(struct raw *raw, struct bench_pass *pass);
	int (*kdapl)(struct kd *kd, struct bench_pass *pass);
};

static const struct bench_row rows[] = {
	{
		.name = "batch",
		.work = "dequeue, 16 waiting, in one batch, per event",
		.budget = 110,
		.raw = raw_row_batch,
		.kdapl = kd_row_batch,
	}, {
		.name = "single",
		.work = "dequeue, 16 waiting, one by one, per event",
		.budget = 160,
		.raw = raw_row_single,
		.kdapl = kd_row_single,
	}, {
		.name = "empty",
		.work = "dequeue on an empty DTO EVD",
		.budget = 120,
		.raw = raw_row_empty,
		.kdapl = kd_row_empty,
	}, {
		.name = "enable",
		.work = "enable on an empty EVD",
		.budget = 230,
		.raw = raw_row_enable,
		.kdapl = kd_row_enable,
	}, {
		.name = "busy",
		.work = "-EBUSY answer with events in the ring",
		.budget = 60,
		.kdapl = kd_row_busy,
	}, {
		.name = "send",
		.work = "post_send, one segment, signalled",
		.budget = 540,
		.raw = raw_row_send,
		.kdapl = kd_row_send,
	}, {
		.name = "recv",
		.work = "post_recv, one segment",
		.budget = 360,
		.raw = raw_row_recv,
		.kdapl = kd_row_recv,
	}, {
		.name = "polled",
		.work = "ping-pong 64 B, polled, an iteration",
		.budget = 26900,
		.raw = raw_row_polled,
		.kdapl = kd_row_polled,
	}, {
		.name = "upcall",
		.work = "ping-pong 64 B, by upcall, an iteration",
		.budget = 39200,
		.raw = raw_row_upcall,
		.kdapl = kd_row_upcall,
	}, {
		.name = "fmr",
		.work = "fmr and invalidate, one page, completed",
		.budget = 3750,
		.known = 4030,		/* see Documentation/performance.rst */
		.raw = raw_row_fmr,
		.kdapl = kd_row_fmr,
	}, {
		.name = "pool",
		.work = "FMR pool map, cache hit",
		.budget = 250,
		.kdapl = kd_row_pool,
	},
};

static DEFINE_MUTEX(bench_lock);	/* guards all of this */
static char *result;
static size_t result_len;
static struct dentry *dir;
static u64 overhead;			/* of an empty section */
static bool held;			/* a profile waits for who writes it down */

/**
 * bench_begin() - start of a timed section
 *
 * A function, so that a profile finds the section in a trace.
 *
 * Return: for bench_end().
 */
noinline u64 bench_begin(void)
{
	return get_cycles();
}

noinline void bench_end(struct bench_pass *pass, u64 begin)
{
	pass->insns += get_cycles() - begin - overhead;
}

void bench_settle(void)
{
	usleep_range(8000, 8100);
}

void bench_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	result_len += vscnprintf(result + result_len, RESULT_SIZE - result_len,
				 fmt, args);
	va_end(args);
}

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void bench_figure(struct bench_figure *figure, u64 passes[BENCH_PASSES])
{
	sort(passes, BENCH_PASSES, sizeof(*passes), compare, NULL);
	figure->median = passes[BENCH_PASSES / 2];
	figure->least = passes[0];
	figure->most = passes[BENCH_PASSES - 1];
}

void bench_fact(const char *key, const struct bench_figure *figure, u64 budget,
		const char *what)
{
	bench_say("fact %s %llu %llu %llu %llu %s\n", key, figure->median,
		  figure->least, figure->most, budget, what);
}

static int one_pass(const struct bench_row *row, struct raw *raw,
		    struct kd *kd, bool kdapl, struct bench_pass *pass)
{
	return kdapl ? row->kdapl(kd, pass) : row->raw(raw, pass);
}

static bool same_slab(const void *a, const void *b)
{
	return virt_to_head_page(a) == virt_to_head_page(b);
}

/*
 * A message needs two packets at a time. If the slab that the CPU takes their memory
 * from has room for one, and so has the next one, each message changes slabs, for as
 * long as nobody else allocates: 555 instructions more for a ping-pong, on either side.
 * So there is room in front of every measurement.
 */
int bench_settle_slabs(void)
{
	struct sk_buff *skb, *last = NULL;
	struct sk_buff_head list;
	int row = 0, n;

	__skb_queue_head_init(&list);
	local_bh_disable();
	for (n = 0; n < SETTLE_MOST && row < SETTLE_ROOM; n++) {
		skb = alloc_skb(BENCH_MSG, GFP_ATOMIC);
		if (!skb)
			break;
		if (last && same_slab(skb, last) &&
		    same_slab(skb->head, last->head))
			row++;
		else
			row = 1;
		__skb_queue_tail(&list, skb);
		last = skb;
	}
	__skb_queue_purge(&list);
	local_bh_enable();
	return row == SETTLE_ROOM ? 0 : -ENOMEM;
}

static int measure(const struct bench_row *row, struct raw *raw, struct kd *kd,
		   bool kdapl)
{
	struct bench_figure figure;
	u64 cost[BENCH_PASSES];
	int i, ret;

	ret = bench_settle_slabs();
	if (ret)
		return ret;
	for (i = -BENCH_WARM_UP; i < BENCH_PASSES; i++) {
		struct bench_pass pass = {};

		ret = one_pass(row, raw, kd, kdapl, &pass);
		if (ret)
			return ret;
		if (i >= 0)
			cost[i] = div_u64(pass.insns * 100, pass.ops);
	}
	bench_figure(&figure, cost);
	bench_say("cost %s %s %llu %llu %llu\n", row->name,
		  kdapl ? "kdapl" : "raw", figure.median, figure.least,
		  figure.most);
	return 0;
}

static void calibrate(void)
{
	struct bench_pass pass = {};
	unsigned long flags;
	int i;

	overhead = 0;
	local_irq_save(flags);
	for (i = 0; i < BENCH_CALLS; i++)
		bench_end(&pass, bench_begin());
	local_irq_restore(flags);
	overhead = div_u64(pass.insns, BENCH_CALLS);
}

/* In a trace: from here on it is kdapl's side. */
static noinline void bench_kdapl(void)
{
	barrier();
}

/*
 * Each side once, a few operations; for a trace of what is executed. What comes
 * before was measured, so it is as warm as it is there.
 */
static int trace_row(const struct bench_row *row, struct raw *raw, struct kd *kd)
{
	struct bench_pass theirs = { .small = true };
	struct bench_pass ours = { .small = true };
	int ret = 0;

	WRITE_ONCE(held, true);
	while (READ_ONCE(held))
		bench_settle();
	if (row->raw)
		ret = one_pass(row, raw, kd, false, &theirs);
	bench_kdapl();
	if (!ret)
		ret = one_pass(row, raw, kd, true, &ours);
	bench_say("profile %s %u %u\n", row->name, theirs.ops, ours.ops);
	return ret;
}

static int run(const char *addr, const char *what, const char *which)
{
	struct sockaddr_storage to;
	struct raw *raw = NULL;
	struct kd *kd = NULL;
	bool found = false;
	int ret, i;

	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, addr, "0", &to);
	if (ret)
		return ret;
	raw = kzalloc(sizeof(*raw), GFP_KERNEL);
	kd = kzalloc(sizeof(*kd), GFP_KERNEL);
	ret = -ENOMEM;
	if (!raw || !kd)
		goto out_free;
	ret = raw_open(raw, &to);
	if (!ret)
		ret = kd_open(kd, &to, addr);
	if (ret)
		bench_say("error opening: %d\n", ret);

	for (i = 0; !ret && i < ARRAY_SIZE(rows); i++) {
		const struct bench_row *row = &rows[i];

		if (strcmp(what, "all") && strcmp(which, row->name))
			continue;
		found = true;
		bench_say("budget %s %u %u %s\n", row->name,
			  row->budget * 100, row->known * 100, row->work);
		if (row->raw)
			ret = measure(row, raw, kd, false);
		if (!ret)
			ret = measure(row, raw, kd, true);
		if (!ret && !strcmp(what, "profile"))
			ret = trace_row(row, raw, kd);
		if (ret)
			bench_say("error in row %s: %d\n", row->name, ret);
	}
	if (!ret && !strcmp(what, "all")) {
		ret = wake_run(raw, kd) ?: scale_run(kd) ?:
		      memory_run(raw, kd);
		if (ret)
			bench_say("error behind the rows: %d\n", ret);
	}
	if (!ret && !found)
		ret = -ENOENT;
	kd_close(kd);
	raw_close(raw);
out_free:
	kfree(kd);
	kfree(raw);
	return ret;
}

/* "<address> all", "<address> row <row>", "<address> profile <row>" */
static ssize_t run_write(struct file *file, const char __user *from,
			 size_t count, loff_t *pos)
{
	char *text, *rest, *addr, *what, *which;
	int ret;

	text = memdup_user_nul(from, min_t(size_t, count, 255));
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = strim(text);
	addr = strsep(&rest, " ");
	what = strsep(&rest, " ");
	which = strsep(&rest, " ");

	mutex_lock(&bench_lock);
	result_len = 0;
	ret = what ? run(addr, what, which ? which : "") : -EINVAL;
	if (!ret)
		bench_say("done\n");
	mutex_unlock(&bench_lock);
	kfree(text);
	return ret ? ret : count;
}

static ssize_t result_read(struct file *file, char __user *to, size_t count,
			   loff_t *pos)
{
	ssize_t n;

	mutex_lock(&bench_lock);
	n = simple_read_from_buffer(to, count, pos, result, result_len);
	mutex_unlock(&bench_lock);
	return n;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.write = run_write,
};

static const struct file_operations result_fops = {
	.owner = THIS_MODULE,
	.read = result_read,
};

static int __init bench_init(void)
{
	result = kzalloc(RESULT_SIZE, GFP_KERNEL);
	if (!result)
		return -ENOMEM;
	dir = debugfs_create_dir("kdapl_bench", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("result", 0400, dir, NULL, &result_fops);
	debugfs_create_bool("held", 0600, dir, &held);
	/* Here, where no profile is made of it. */
	calibrate();
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove(dir);
	kfree(result);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("kdapl beside raw verbs");
MODULE_LICENSE("GPL");
