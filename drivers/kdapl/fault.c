// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: failures on demand
 *
 * Each point has a directory fail_<point> beside those of the IAs, with the files
 * of Documentation/fault-injection/ of the kernel: probability, interval, times,
 * space, task-filter and so on. Every call that comes to a point has size 1, so
 * that "space" counts calls. All of them fail with -ENOMEM, which is what a device
 * says that has run out of something.
 */
#include <linux/debugfs.h>
#include <linux/fault-inject.h>

#include "debugfs.h"
#include "fault.h"
#include "kunit.h"

static struct fault_attr fault_attrs[KDAPL_FAULT_POINTS] = {
	[0 ... KDAPL_FAULT_POINTS - 1] = FAULT_ATTR_INITIALIZER,
};

int kdapl_fault(enum kdapl_fault_point point)
{
	return should_fail(&fault_attrs[point], 1) ? -ENOMEM : 0;
}

void kdapl_fault_init(void)
{
	static const char * const names[] = {
		[KDAPL_FAULT_ALLOC] = "fail_alloc",
		[KDAPL_FAULT_CREATE] = "fail_create",
		[KDAPL_FAULT_MODIFY] = "fail_modify",
		[KDAPL_FAULT_POST] = "fail_post",
	};
	int i;

	for (i = 0; i < KDAPL_FAULT_POINTS; i++)
		fault_create_debugfs_attr(names[i], kdapl_debugfs_root,
					  &fault_attrs[i]);
}

#ifdef CONFIG_KDAPL_KUNIT_TEST
void kdapl_fault_set(enum kdapl_fault_point point, unsigned int nth)
{
	struct fault_attr *attr = &fault_attrs[point];

	WRITE_ONCE(attr->probability, 0);
	attr->verbose = 0;
	atomic_set(&attr->space, nth);
	atomic_set(&attr->times, 1);
	WRITE_ONCE(attr->probability, nth ? 100 : 0);
}

KDAPL_EXPORT_FOR_TEST(kdapl_fault_set);

bool kdapl_fault_hit(enum kdapl_fault_point point)
{
	return !atomic_read(&fault_attrs[point].times);
}

KDAPL_EXPORT_FOR_TEST(kdapl_fault_hit);
#endif
