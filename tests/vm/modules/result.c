// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <linux/string.h>

#include "result.h"

/* The text behind "key=", or NULL. */
static const char *find_arg(const struct vmtest *t, const char *key)
{
	size_t len = strlen(key);
	const char *p = t->args;

	while (p && *p) {
		if (!strncmp(p, key, len) && p[len] == '=')
			return p + len + 1;
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return NULL;
}

void vmtest_arg_text(const struct vmtest *t, const char *key,
		     const char *otherwise, char *out, size_t size)
{
	const char *value = find_arg(t, key);

	strscpy(out, value ? value : otherwise, size);
	*strchrnul(out, ' ') = '\0';
}

u32 vmtest_arg(const struct vmtest *t, const char *key, u32 otherwise)
{
	char value[16];
	u32 number;

	vmtest_arg_text(t, key, "", value, sizeof(value));
	return kstrtou32(value, 0, &number) ? otherwise : number;
}

static void vsay(struct vmtest *t, const char *prefix, struct va_format *vaf)
{
	t->len += scnprintf(t->report + t->len, VMTEST_RESULT_SIZE - t->len,
			    "%s %pV", prefix, vaf);
}

static void end_line(struct vmtest *t)
{
	t->len += scnprintf(t->report + t->len, VMTEST_RESULT_SIZE - t->len,
			    "\n");
}

/* A remark, no result. */
void vmtest_say(struct vmtest *t, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	vsay(t, "#", &vaf);
	va_end(args);
	end_line(t);
}

/* One result, named by @fmt. Returns @ok. */
bool vmtest_check(struct vmtest *t, bool ok, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	vsay(t, ok ? "ok" : "not_ok", &vaf);
	va_end(args);
	end_line(t);
	t->failed += !ok;
	return ok;
}

/* One result, named by @fmt; says what it got if it is not what it wants. */
bool vmtest_equal(struct vmtest *t, s64 got, s64 want, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	bool ok = got == want;
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	vsay(t, ok ? "ok" : "not_ok", &vaf);
	va_end(args);
	if (!ok)
		t->len += scnprintf(t->report + t->len,
				    VMTEST_RESULT_SIZE - t->len,
				    " # got %lld, want %lld", got, want);
	end_line(t);
	t->failed += !ok;
	return ok;
}
