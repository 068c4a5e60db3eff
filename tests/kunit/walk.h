/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every failing point of a call: it is made with its 1st, 2nd, ... step failing,
 * until none is left to fail. What fails is a verb, a call of the CM, an
 * allocation, or one of kdapl's own points; all but the allocations also where the
 * call has other contexts do its work, and those in one work item, if it is named.
 * After each time, kdapl and the device have to have what they had before.
 */
#ifndef _WALK_H
#define _WALK_H

#include <linux/workqueue.h>

#include "kit.h"

enum walk_kind {
	WALK_VERBS,
	WALK_CM,
	WALK_MEMORY,		/* of the caller's task */
	WALK_WORK,		/* memory, too: of the work item that walk_work() names */
	WALK_OWN,		/* enum kdapl_fault_point, one after the other */
	WALK_KINDS = WALK_OWN + 4,
};

/**
 * struct walk - a call and its objects
 * @test: the test
 * @step: what is walked
 * @priv: the caller's
 * @out: what a create call made
 * @points: failing points found, by kind
 * @failing: a failure is armed, so that the call may fail
 * @work: walk_work() was called
 */
struct walk {
	struct kunit *test;
	const struct walk_step *step;
	void *priv;
	void *out;
	unsigned int points[WALK_KINDS];
	bool failing;
	bool work;
};

/**
 * struct walk_step - how a call is made
 * @name: of the call
 * @prepare: what it needs, made anew for each time; may be NULL
 * @call: the call; 0 or an errno
 * @undo: takes back what it did when it had succeeded; may be NULL
 * @finish: the opposite of @prepare; may be NULL
 * @never: nothing in it can fail, which is looked after
 */
struct walk_step {
	const char *name;
	void (*prepare)(struct walk *w);
	int (*call)(struct walk *w);
	void (*undo)(struct walk *w);
	void (*finish)(struct walk *w);
	bool never;
};

/*
 * For struct walk_step.prepare: allocations in the function of @work, which is idle
 * and is of an object that does not outlive this time, are to fail as well. The call
 * returns behind the run of it that matters.
 */
void walk_work(struct walk *w, struct work_struct *work);
void walk_run(struct kunit *test, const struct walk_step *step, void *priv);
/* As suite_exit: says how many points there were. */
void walk_report(struct kunit_suite *suite);

static inline void walk_desc(const struct walk_step *step, char *desc)
{
	strscpy(desc, step->name, KUNIT_PARAM_DESC_SIZE);
}

#endif /* _WALK_H */
