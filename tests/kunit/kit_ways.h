/* SPDX-License-Identifier: GPL-2.0 */
/* The ways in which an upcall can be made, as parameters of a case. */
#ifndef _KIT_WAYS_H
#define _KIT_WAYS_H

#include <kunit/test.h>
#include <linux/string.h>

#include <dat/dat.h>

struct kit_way {
	const char *name;
	enum dat_evd_flags flags;
	enum dat_upcall_policy policy;
};

static const struct kit_way kit_ways[] = {
	{ "NOTIFY in softirq", DAT_EVD_DTO_FLAG, DAT_UPCALL_NOTIFY },
	{ "NOTIFY in a thread", DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG,
	  DAT_UPCALL_NOTIFY },
	{ "SINGLE in softirq", DAT_EVD_DTO_FLAG, DAT_UPCALL_SINGLE_INSTANCE },
	{ "SINGLE in a thread", DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG,
	  DAT_UPCALL_SINGLE_INSTANCE },
	{ "MANY in softirq", DAT_EVD_DTO_FLAG, DAT_UPCALL_MANY },
	{ "MANY in a thread", DAT_EVD_DTO_FLAG | DAT_EVD_UPCALL_THREAD_FLAG,
	  DAT_UPCALL_MANY },
};

static inline void kit_way_desc(const struct kit_way *way, char *desc)
{
	strscpy(desc, way->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kit_way, kit_ways, kit_way_desc);

#endif /* _KIT_WAYS_H */
