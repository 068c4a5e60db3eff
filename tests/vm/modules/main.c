// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl_vmtest: what scenarios need to have done in the kernel.
 *
 * A line "TEST key=value ..." written to debugfs kdapl_vmtest/run runs that
 * test; the write returns when it is done, with -ENOSPC if there was more to
 * report than there is room for. kdapl_vmtest/report then has its results. near=
 * and far= are the IP addresses of the two devices.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "result.h"
#include "tests.h"

static const struct {
	const char *name;
	void (*run)(struct vmtest *t);
} tests[] = {
	{ "asleep_open", vmtest_asleep_open },
	{ "asleep_end", vmtest_asleep_end },
	{ "attr", vmtest_attr },
	{ "backlog", vmtest_backlog },
	{ "close_order", vmtest_close_order },
	{ "close_both", vmtest_close_both },
	{ "close_passive", vmtest_close_passive },
	{ "close_dead", vmtest_close_dead },
	{ "close_free", vmtest_close_free },
	{ "deadlock", vmtest_deadlock },
	{ "deaf", vmtest_deaf },
	{ "flood", vmtest_flood },
	{ "grace", vmtest_grace },
	{ "grace_over", vmtest_grace_over },
	{ "imm", vmtest_imm },
	{ "last_send", vmtest_last_send },
	{ "last_send_owned", vmtest_last_send_owned },
	{ "mass_open", vmtest_mass_open },
	{ "mass_end", vmtest_mass_end },
	{ "mass_close", vmtest_mass_close },
	{ "mem_atomic", vmtest_mem_atomic },
	{ "mem_kinds", vmtest_mem_kinds },
	{ "mem_limit", vmtest_mem_limit },
	{ "mem_pool", vmtest_mem_pool },
	{ "mem_refused", vmtest_mem_refused },
	{ "mem_rounds", vmtest_mem_rounds },
	{ "mem_reconnect", vmtest_mem_reconnect },
	{ "mem_sink", vmtest_mem_sink },
	{ "pdata", vmtest_pdata },
	{ "race", vmtest_race },
	{ "reject", vmtest_reject },
	{ "sp", vmtest_sp },
	{ "srq", vmtest_srq },
	{ "stress", vmtest_stress },
};

/* Protects vmtest: one test runs at a time, and no one reads meanwhile. */
static DEFINE_MUTEX(vmtest_lock);
static struct vmtest vmtest;
static struct dentry *vmtest_dir;

static int run_line(char *line)
{
	char *name = strsep(&line, " ");
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (strcmp(tests[i].name, name))
			continue;
		mutex_lock(&vmtest_lock);
		vmtest.args = line;
		vmtest.len = 0;
		vmtest.failed = 0;
		vmtest.report[0] = '\0';
		tests[i].run(&vmtest);
		vmtest.args = NULL;
		/* A result that found no room must not pass for a good one. */
		ret = vmtest.len < VMTEST_RESULT_SIZE - 1 ? 0 : -ENOSPC;
		mutex_unlock(&vmtest_lock);
		return ret;
	}
	return -ENOENT;
}

static ssize_t run_write(struct file *file, const char __user *buf,
			 size_t count, loff_t *pos)
{
	char *line;
	int ret;

	if (count > PAGE_SIZE)
		return -E2BIG;
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	ret = run_line(strim(line));
	kfree(line);
	return ret ? ret : count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
	.llseek = noop_llseek,
};

static int report_show(struct seq_file *m, void *v)
{
	mutex_lock(&vmtest_lock);
	seq_puts(m, vmtest.report);
	mutex_unlock(&vmtest_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(report);

static int __init vmtest_init(void)
{
	vmtest.report = kzalloc(VMTEST_RESULT_SIZE, GFP_KERNEL);
	if (!vmtest.report)
		return -ENOMEM;
	vmtest_dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("run", 0200, vmtest_dir, NULL, &run_fops);
	debugfs_create_file("report", 0400, vmtest_dir, NULL, &report_fops);
	return 0;
}

static void __exit vmtest_exit(void)
{
	debugfs_remove(vmtest_dir);
	vmtest_asleep_exit();
	vmtest_mass_exit();
	kfree(vmtest.report);
}

module_init(vmtest_init);
module_exit(vmtest_exit);

MODULE_DESCRIPTION("kernel-side parts of the kdapl scenarios");
MODULE_LICENSE("GPL");
