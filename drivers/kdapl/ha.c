// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: which adapters stand in for each other: none
 *
 * A connection has one path, through one port, and nothing moves it to another.
 */
#include <linux/export.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <dat/kdat.h>

#include "registry.h"

static int ha_exists(const char *name)
{
	struct kdapl_port port = {};

	if (strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return -EINVAL;
	return kdapl_registry_find(current->nsproxy->net_ns, name, &port);
}

/**
 * dat_ia_ha_related - whether connections of one adapter may use another
 * @ia_name: an adapter, as for dat_ia_open()
 * @other_name: another one
 * @related: OUT: false
 *
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL, or a name that is too long; -ENODEV: no such adapter
 * in the caller's network namespace; -ENOMEM.
 */
int dat_ia_ha_related(const char *ia_name, const char *other_name,
		      bool *related)
{
	int ret;

	might_sleep();

	if (!ia_name || !other_name || !related)
		return -EINVAL;
	ret = ha_exists(ia_name);
	if (!ret)
		ret = ha_exists(other_name);
	if (ret)
		return ret;
	*related = false;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_ia_ha_related);

/**
 * dat_registry_providers_related - what the providers of two adapters say of them
 * @name1: an adapter, as for dat_ia_open()
 * @name2: another one
 * @relationship: OUT: %DAT_HA_FALSE: there is one provider, and it says so of
 *	either
 *
 * Origin: DAT 2.0.
 *
 * Context: process; sleeps.
 * Return: as dat_ia_ha_related().
 */
int dat_registry_providers_related(const char *name1, const char *name2,
				   enum dat_ha_relationship *relationship)
{
	bool related;
	int ret;

	if (!relationship)
		return -EINVAL;
	ret = dat_ia_ha_related(name1, name2, &related);
	if (ret)
		return ret;
	*relationship = related ? DAT_HA_TRUE : DAT_HA_FALSE;
	return 0;
}
EXPORT_SYMBOL_GPL(dat_registry_providers_related);
