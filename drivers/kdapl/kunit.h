/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the KUnit suites may see of kdapl's inside: exported into a namespace
 * of its own, in test builds only.
 */
#ifndef _KDAPL_KUNIT_H
#define _KDAPL_KUNIT_H

#include <linux/export.h>

#ifdef CONFIG_KDAPL_KUNIT_TEST
#define KDAPL_EXPORT_FOR_TEST(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, KDAPL_KUNIT)
#else
#define KDAPL_EXPORT_FOR_TEST(symbol)
#endif

#endif /* _KDAPL_KUNIT_H */
