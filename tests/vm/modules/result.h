/* SPDX-License-Identifier: GPL-2.0 */
/* What a test was asked to do, and what came of it. */
#ifndef _VMTEST_RESULT_H
#define _VMTEST_RESULT_H

#include <linux/types.h>

enum {
	VMTEST_RESULT_SIZE = 65536,	/* bytes of report */
};

/**
 * struct vmtest - one run of one test
 * @args: its key=value words
 * @report: lines "ok NAME", "not_ok NAME # REASON" or "# WORDS"
 * @len: bytes in @report
 * @failed: how many were not ok
 */
struct vmtest {
	char *args;
	char *report;
	size_t len;
	unsigned int failed;
};

u32 vmtest_arg(const struct vmtest *t, const char *key, u32 otherwise);
void vmtest_arg_text(const struct vmtest *t, const char *key,
		     const char *otherwise, char *out, size_t size);

__printf(2, 3) void vmtest_say(struct vmtest *t, const char *fmt, ...);
__printf(3, 4)
bool vmtest_check(struct vmtest *t, bool ok, const char *fmt, ...);
__printf(4, 5)
bool vmtest_equal(struct vmtest *t, s64 got, s64 want, const char *fmt, ...);

#endif /* _VMTEST_RESULT_H */
