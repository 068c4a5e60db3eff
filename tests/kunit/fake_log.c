// SPDX-License-Identifier: GPL-2.0
/* The log of verb calls, and the failures among them. */
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "fake_priv.h"

#define FAKE_LOG_SIZE	16384U

/* Guards all below; a leaf, taken in any context. */
static DEFINE_SPINLOCK(log_lock);
static struct fake_log log[FAKE_LOG_SIZE];
static unsigned int log_next;

static enum fake_verb fail_verb;
static unsigned int fail_after;
static unsigned int fail_count;
static int fail_error;

/* Returns the errno that the script has for this call, else 0. */
int fake_verb_begin(enum fake_verb verb, const void *object, int arg)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&log_lock, flags);
	if (fail_count && (fail_verb == FAKE_ANY || fail_verb == verb)) {
		if (fail_after) {
			fail_after--;
		} else {
			fail_count--;
			ret = fail_error;
		}
	}
	spin_unlock_irqrestore(&log_lock, flags);
	if (ret)
		fake_verb_done(verb, object, arg, ret);
	return ret;
}

void fake_verb_done(enum fake_verb verb, const void *object, int arg, int ret)
{
	unsigned long flags;

	spin_lock_irqsave(&log_lock, flags);
	if (log_next < FAKE_LOG_SIZE) {
		log[log_next].verb = verb;
		log[log_next].object = object;
		log[log_next].arg = arg;
		log[log_next].ret = ret;
		log_next++;
	}
	spin_unlock_irqrestore(&log_lock, flags);
}

void fake_log_reset(void)
{
	unsigned long flags;

	spin_lock_irqsave(&log_lock, flags);
	log_next = 0;
	fail_count = 0;
	spin_unlock_irqrestore(&log_lock, flags);
}

void fake_hca_fail(enum fake_verb verb, unsigned int nth, unsigned int count,
		   int error)
{
	unsigned long flags;

	spin_lock_irqsave(&log_lock, flags);
	fail_verb = verb;
	fail_after = nth - 1;
	fail_count = count;
	fail_error = error;
	spin_unlock_irqrestore(&log_lock, flags);
}
EXPORT_SYMBOL_GPL(fake_hca_fail);

unsigned int fake_hca_fail_left(void)
{
	return READ_ONCE(fail_count);
}
EXPORT_SYMBOL_GPL(fake_hca_fail_left);

/* Calls of a verb that succeeded; @object NULL: of any object. */
unsigned int fake_log_count(enum fake_verb verb, const void *object)
{
	unsigned int i, count = 0;
	unsigned long flags;

	spin_lock_irqsave(&log_lock, flags);
	for (i = 0; i < log_next; i++)
		if (log[i].verb == verb && log[i].ret >= 0 &&
		    (!object || log[i].object == object))
			count++;
	spin_unlock_irqrestore(&log_lock, flags);
	return count;
}
EXPORT_SYMBOL_GPL(fake_log_count);

/* Index of the first such call at or behind @from, or -1. */
int fake_log_find(enum fake_verb verb, const void *object, unsigned int from)
{
	unsigned long flags;
	unsigned int i;
	int found = -1;

	spin_lock_irqsave(&log_lock, flags);
	for (i = from; i < log_next && found < 0; i++)
		if (log[i].verb == verb &&
		    (!object || log[i].object == object))
			found = i;
	spin_unlock_irqrestore(&log_lock, flags);
	return found;
}
EXPORT_SYMBOL_GPL(fake_log_find);

bool fake_log_get(unsigned int index, struct fake_log *entry)
{
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&log_lock, flags);
	if (index < log_next) {
		*entry = log[index];
		found = true;
	}
	spin_unlock_irqrestore(&log_lock, flags);
	return found;
}
EXPORT_SYMBOL_GPL(fake_log_get);

/* Completions that were polled off @cq before entry @before of the log. */
unsigned int fake_log_polled(const struct ib_cq *cq, unsigned int before)
{
	unsigned int i, sum = 0;
	unsigned long flags;

	spin_lock_irqsave(&log_lock, flags);
	for (i = 0; i < min(log_next, before); i++)
		if (log[i].verb == FAKE_POLL_CQ && log[i].object == cq &&
		    log[i].ret > 0)
			sum += log[i].ret;
	spin_unlock_irqrestore(&log_lock, flags);
	return sum;
}
EXPORT_SYMBOL_GPL(fake_log_polled);
