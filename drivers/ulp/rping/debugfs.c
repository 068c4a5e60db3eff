// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs kdapl_rping/control takes one command per write:
 *
 *	client addr=ADDRESS [name=NAME] [device=IA] [port=7174] [count=0]
 *	       [size=64] [verify=0] [form=notify|single] [merged=0]
 *	       [timeout=10000000] [keep=0] [mem=lmr|fmr|pool|rmr]
 *	server [addr=ADDRESS] [persist=0] ... and those above, but mem=lmr only
 *	stop NAME		ask the session to end, do not wait
 *	remove NAME		stop it, wait, and forget it
 *
 * The write fails with the reason if the command does. kdapl_rping/NAME is the
 * report of a session.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "debugfs.h"
#include "session.h"

enum {
	RPING_LINE_MAX = 1024,	/* bytes of a command */
};

/* Protects the list of sessions; held over their start, not over their end. */
static DEFINE_MUTEX(rping_sessions_lock);
static LIST_HEAD(rping_sessions);
static struct dentry *rping_dir;

static int session_show(struct seq_file *m, void *v)
{
	rping_session_show(m->private, m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(session);

static struct rping_session *session_find(const char *name)
{
	struct rping_session *s;

	lockdep_assert_held(&rping_sessions_lock);

	list_for_each_entry(s, &rping_sessions, list)
		if (!strcmp(s->param.name, name))
			return s;
	return NULL;
}

static int session_add(const struct rping_param *param)
{
	struct rping_session *s;
	int ret = 0;

	mutex_lock(&rping_sessions_lock);
	if (session_find(param->name)) {
		ret = -EEXIST;
		goto out_unlock;
	}
	s = rping_session_start(param);
	if (IS_ERR(s)) {
		ret = PTR_ERR(s);
		goto out_unlock;
	}
	list_add_tail(&s->list, &rping_sessions);
	s->file = debugfs_create_file(s->param.name, 0400, rping_dir, s,
				      &session_fops);
out_unlock:
	mutex_unlock(&rping_sessions_lock);
	return ret;
}

static int session_stop(const char *name)
{
	struct rping_session *s;

	mutex_lock(&rping_sessions_lock);
	s = session_find(name);
	if (s)
		rping_session_stop(s);
	mutex_unlock(&rping_sessions_lock);
	return s ? 0 : -ENOENT;
}

/* Off the list, so ours alone: wait for readers, then for the thread. */
static void session_forget(struct rping_session *s)
{
	debugfs_remove(s->file);
	rping_session_destroy(s);
}

static int session_remove(const char *name)
{
	struct rping_session *s;

	mutex_lock(&rping_sessions_lock);
	s = session_find(name);
	if (s)
		list_del(&s->list);
	mutex_unlock(&rping_sessions_lock);
	if (!s)
		return -ENOENT;

	session_forget(s);
	return 0;
}

static int command(char *line)
{
	struct rping_param *param;
	int ret;

	if (!strncmp(line, "stop ", 5))
		return session_stop(strim(line + 5));
	if (!strncmp(line, "remove ", 7))
		return session_remove(strim(line + 7));

	param = kmalloc(sizeof(*param), GFP_KERNEL);
	if (!param)
		return -ENOMEM;
	ret = rping_param_parse(param, line);
	if (!ret)
		ret = session_add(param);
	kfree(param);
	return ret;
}

static ssize_t control_write(struct file *file, const char __user *buf,
			     size_t count, loff_t *pos)
{
	char *line;
	int ret;

	if (count >= RPING_LINE_MAX)
		return -E2BIG;
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	ret = command(strim(line));
	kfree(line);
	return ret ? ret : count;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
	.llseek = noop_llseek,
};

void rping_debugfs_init(void)
{
	rping_dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("control", 0200, rping_dir, NULL, &control_fops);
}

/* The control file goes first, so that nothing new can start. */
void rping_debugfs_exit(void)
{
	struct rping_session *s, *next;

	debugfs_lookup_and_remove("control", rping_dir);
	/* All at once, then one by one: they close side by side. */
	list_for_each_entry(s, &rping_sessions, list)
		rping_session_stop(s);
	list_for_each_entry_safe(s, next, &rping_sessions, list)
		session_forget(s);
	debugfs_remove(rping_dir);
}
