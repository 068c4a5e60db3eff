// SPDX-License-Identifier: GPL-2.0
/*
 * The command line of a session: `client` or `server`, then key=value words.
 */
#include <linux/errno.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "param.h"

static int param_bool(const char *value, bool *out)
{
	return kstrtobool(value, out);
}

static int param_text(const char *value, char *out, size_t size)
{
	return strscpy(out, value, size) < 0 ? -ENAMETOOLONG : 0;
}

/* The name becomes that of a file. */
static int param_name(const char *value, char *out)
{
	if (!*value || *value == '.' || strchr(value, '/') ||
	    !strcmp(value, "control"))
		return -EINVAL;
	return param_text(value, out, RPING_NAME_LEN);
}

static int param_form(const char *value, bool *single)
{
	if (!strcmp(value, "single"))
		*single = true;
	else if (!strcmp(value, "notify"))
		*single = false;
	else
		return -EINVAL;
	return 0;
}

static int param_mem(const char *value, enum rping_mem_how *how)
{
	static const char * const names[] = {
		[RPING_MEM_LMR] = "lmr",
		[RPING_MEM_FMR] = "fmr",
		[RPING_MEM_POOL] = "pool",
		[RPING_MEM_RMR] = "rmr",
	};
	int i = match_string(names, ARRAY_SIZE(names), value);

	if (i < 0)
		return -EINVAL;
	*how = i;
	return 0;
}

static int param_set(struct rping_param *param, const char *key,
		     const char *value)
{
	if (!strcmp(key, "name"))
		return param_name(value, param->name);
	if (!strcmp(key, "device"))
		return param_text(value, param->device, sizeof(param->device));
	if (!strcmp(key, "addr"))
		return param_text(value, param->addr_text,
				  sizeof(param->addr_text));
	if (!strcmp(key, "port"))
		return kstrtou16(value, 0, &param->port);
	if (!strcmp(key, "count"))
		return kstrtou32(value, 0, &param->count);
	if (!strcmp(key, "size"))
		return kstrtou32(value, 0, &param->size);
	if (!strcmp(key, "timeout"))
		return kstrtou32(value, 0, &param->timeout);
	if (!strcmp(key, "mem"))
		return param_mem(value, &param->mem);
	if (!strcmp(key, "verify"))
		return param_bool(value, &param->verify);
	if (!strcmp(key, "form"))
		return param_form(value, &param->single);
	if (!strcmp(key, "merged"))
		return param_bool(value, &param->merged);
	if (!strcmp(key, "persist"))
		return param_bool(value, &param->persist);
	if (!strcmp(key, "keep"))
		return param_bool(value, &param->keep);
	return -EINVAL;
}

static int param_check(struct rping_param *param)
{
	char port[8];

	if (!param->name[0])
		strscpy(param->name, param->server ? "server" : "client",
			sizeof(param->name));
	if (!param->size || param->size > RPING_SIZE_MAX || !param->port ||
	    !param->timeout || (param->server && param->mem != RPING_MEM_LMR))
		return -EINVAL;
	if (!param->addr_text[0])
		return param->server ? 0 : -EDESTADDRREQ;

	snprintf(port, sizeof(port), "%u", param->port);
	return inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC,
				    param->addr_text, port, &param->addr);
}

/**
 * rping_param_parse() - understand a command line
 * @param: filled in, with defaults for what @line does not say
 * @line: cut to pieces
 *
 * Context: Process; scope names of IPv6 addresses are those of the caller's
 * network namespace.
 * Return: 0; -EINVAL for an unknown word or a value out of range,
 * -EDESTADDRREQ for a client without an address, -ENAMETOOLONG.
 */
int rping_param_parse(struct rping_param *param, char *line)
{
	char *word;
	int ret;

	*param = (struct rping_param){
		.port = RPING_PORT,
		.size = RPING_SIZE,
		.timeout = 10 * USEC_PER_SEC,
	};

	word = strsep(&line, " \t");
	if (!strcmp(word, "server"))
		param->server = true;
	else if (strcmp(word, "client"))
		return -EINVAL;

	while ((word = strsep(&line, " \t"))) {
		char *value = word;
		char *key = strsep(&value, "=");

		if (!*key && !value)
			continue;
		if (!value)
			return -EINVAL;
		ret = param_set(param, key, value);
		if (ret)
			return ret;
	}
	return param_check(param);
}
