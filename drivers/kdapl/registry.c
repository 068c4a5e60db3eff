// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: devices and the names of interface adapters
 *
 * An IA stands for a port of an ib_device that has an IP address. Which port an
 * address belongs to is rdma_cm's to say: an id is bound to each address of the
 * opener's network namespace, and the id then knows device and port. So nothing
 * here depends on how a driver relates to its network devices.
 *
 * ib_core calls registry_remove() once and does not wait for verbs objects, so
 * that returns only when no IA has any: each IA is taken off its device's list
 * and stripped. An IA that is being closed at that moment has left the list
 * already, and with it its last verbs object, or waits in kdapl_registry_detach().
 */
#include "registry.h"

#include <linux/export.h>
#include <linux/inet.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include <dat/kdat.h>

#include "addr.h"
#include "cm.h"
#include "ia.h"
#include "kunit.h"

/**
 * struct kdapl_device - an ib_device that kdapl may use
 * @node: on registry_devices
 * @ibdev: the device
 * @ias: open IAs
 */
struct kdapl_device {
	struct list_head node;
	struct ib_device *ibdev;
	struct list_head ias;
};

/*
 * Guards registry_devices and the lists of IAs. Inside a handler mutex of
 * rdma_cm at most, never around one: no rdma_cm call is made under it.
 */
static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(registry_devices);

static int registry_add(struct ib_device *ibdev)
{
	struct kdapl_device *device;

	device = kzalloc(sizeof(*device), GFP_KERNEL);
	if (!device)
		return -ENOMEM;
	device->ibdev = ibdev;
	INIT_LIST_HEAD(&device->ias);

	mutex_lock(&registry_lock);
	list_add_tail(&device->node, &registry_devices);
	mutex_unlock(&registry_lock);
	return 0;
}

static struct kdapl_device *registry_find_locked(const char *name)
{
	struct kdapl_device *device;

	lockdep_assert_held(&registry_lock);

	list_for_each_entry(device, &registry_devices, node)
		if (!strcmp(dev_name(&device->ibdev->dev), name))
			return device;
	return NULL;
}

static void registry_remove(struct ib_device *ibdev, void *client_data)
{
	struct kdapl_device *device, *found = NULL;
	struct dat_ia *ia;

	mutex_lock(&registry_lock);
	list_for_each_entry(device, &registry_devices, node)
		if (device->ibdev == ibdev) {
			found = device;
			list_del(&device->node);
			break;
		}
	while (found && !list_empty(&found->ias)) {
		ia = list_first_entry(&found->ias, struct dat_ia, device_node);
		list_del_init(&ia->device_node);
		/* For the time until kdapl_ia_remove_device() is done. */
		kdapl_obj_get(&ia->obj);
		mutex_unlock(&registry_lock);

		kdapl_ia_remove_device(ia);
		kdapl_obj_put(&ia->obj);

		mutex_lock(&registry_lock);
	}
	mutex_unlock(&registry_lock);
	kfree(found);
}

static struct ib_client registry_client = {
	.name = "kdapl",
	.add = registry_add,
	.remove = registry_remove,
};

int kdapl_registry_attach(struct dat_ia *ia, const char *name)
{
	struct kdapl_device *device;
	int ret = -ENODEV;

	mutex_lock(&registry_lock);
	device = registry_find_locked(name);
	if (device) {
		ia->device = device;
		ia->ibdev = device->ibdev;
		list_add_tail(&ia->device_node, &device->ias);
		ret = 0;
	}
	mutex_unlock(&registry_lock);
	return ret;
}

void kdapl_registry_detach(struct dat_ia *ia)
{
	bool removed;

	mutex_lock(&registry_lock);
	removed = list_empty(&ia->device_node);
	list_del_init(&ia->device_node);
	mutex_unlock(&registry_lock);

	/* The removal still works on it. */
	if (removed)
		wait_for_completion(&ia->removed);
}

void kdapl_registry_name(const struct kdapl_port *port, char *name)
{
	if (port->port == 1)
		strscpy(name, port->device, DAT_NAME_MAX_LENGTH);
	else
		snprintf(name, DAT_NAME_MAX_LENGTH, "%s:%u", port->device,
			 port->port);
}

static int registry_cm_event(struct rdma_cm_id *id,
			     struct rdma_cm_event *event)
{
	return 0;
}

/* The port that an address belongs to; -ENODEV: none that can do RDMA. */
static int registry_bind(struct net *net, const struct sockaddr_storage *ss,
			 struct kdapl_port *port)
{
	struct rdma_cm_id *id;
	int ret;

	id = kdapl_cm_ops->create_id(net, registry_cm_event, NULL, RDMA_PS_TCP,
				     IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);

	port->addr = *ss;
	ret = kdapl_cm_ops->bind_addr(id, (struct sockaddr *)&port->addr);
	if (!ret && !id->device)
		ret = -ENODEV;
	if (!ret) {
		/* The id keeps the device; its name is enough from here on. */
		strscpy(port->device, dev_name(&id->device->dev),
			sizeof(port->device));
		port->port = id->port_num;
		port->addr = *ss;
	}
	kdapl_cm_ops->destroy_id(id);
	return ret;
}

static bool registry_known(const char *device)
{
	bool known;

	mutex_lock(&registry_lock);
	known = registry_find_locked(device);
	mutex_unlock(&registry_lock);
	return known;
}

static int registry_compare(const void *a, const void *b)
{
	const struct kdapl_port *x = a, *y = b;
	int order = strcmp(x->device, y->device);

	return order ?: (int)x->port - (int)y->port;
}

/*
 * The first address of the other family that comes along is kept, if it can be
 * the source of more than one link.
 */
static void registry_other_family(struct kdapl_port *port,
				  const struct sockaddr_storage *ss)
{
	if (ss->ss_family && port->addr.ss_family != ss->ss_family &&
	    !port->other.ss_family && !kdapl_addr_is_link_local(ss))
		port->other = *ss;
}

/*
 * All ports of a namespace, by name, each with the address that it prefers.
 * Returns their number or a negative errno; *ports is the caller's to free.
 */
static int registry_ports(struct net *net, struct kdapl_port **ports)
{
	struct kdapl_addrs addrs = {};
	struct kdapl_port *all = NULL;
	unsigned int i, j, n = 0;
	int ret;

	ret = kdapl_addr_list(net, &addrs);
	if (ret)
		goto out_free;
	ret = -ENOMEM;
	all = kcalloc(addrs.num + 1, sizeof(*all), GFP_KERNEL);
	if (!all)
		goto out_free;

	for (i = 0; i < addrs.num; i++) {
		ret = registry_bind(net, &addrs.addr[i], &all[n]);
		if (ret == -ENOMEM)
			goto out_free;
		if (ret || !registry_known(all[n].device))
			continue;
		for (j = 0; j < n; j++)
			if (!registry_compare(&all[j], &all[n]))
				break;
		if (j == n)
			n++;
		else
			registry_other_family(&all[j], &all[n].addr);
	}
	sort(all, n, sizeof(*all), registry_compare, NULL);
	*ports = all;
	all = NULL;
	ret = n;
out_free:
	kfree(all);
	kfree(addrs.addr);
	return ret;
}

/**
 * kdapl_registry_find - the port that a name stands for
 * @net: the namespace
 * @name: an IA name, or the text of one of its addresses
 * @port: the port
 *
 * Context: process; sleeps.
 * Return: 0; -ENODEV: none; -ENOMEM.
 */
int kdapl_registry_find(struct net *net, const char *name,
			struct kdapl_port *port)
{
	char canonical[DAT_NAME_MAX_LENGTH], other[DAT_NAME_MAX_LENGTH];
	struct sockaddr_storage ss = {};
	struct kdapl_port *ports;
	bool by_addr;
	int i, n, ret;

	might_sleep();

	by_addr = !inet_pton_with_scope(net, AF_UNSPEC, name, NULL, &ss);
	if (by_addr) {
		if (kdapl_addr_is_loopback(&ss))
			return -ENODEV;
		ret = registry_bind(net, &ss, port);
		if (ret == -ENOMEM)
			return ret;
		if (ret || !registry_known(port->device))
			return -ENODEV;
		kdapl_registry_name(port, canonical);
		name = canonical;
	}

	n = registry_ports(net, &ports);
	if (n < 0)
		return n;
	ret = by_addr ? 0 : -ENODEV;
	for (i = 0; i < n; i++) {
		kdapl_registry_name(&ports[i], other);
		if (strcmp(other, name))
			continue;
		if (by_addr) {
			registry_other_family(port, &ports[i].addr);
			registry_other_family(port, &ports[i].other);
		} else {
			*port = ports[i];
		}
		ret = 0;
		break;
	}
	kfree(ports);
	return ret;
}

/**
 * dat_registry_list_providers - names of the IAs that can be opened
 * @max_to_return: how many fit into @list
 * @number_entries: OUT: how many were filled in; with @max_to_return 0, how
 *	many there are
 * @list: OUT: pointers to the caller's own structs, one for each
 *
 * IAs of the caller's network namespace, in the order of their names. Origin:
 * DAT 2.0; that @max_to_return 0 is an error and still tells the number is the
 * specification's own rule.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: NULL, @max_to_return negative or 0; -ENOMEM.
 */
int dat_registry_list_providers(int max_to_return, int *number_entries,
				struct dat_provider_info *list[])
{
	struct kdapl_port *ports;
	int i, n;

	might_sleep();

	if (!number_entries || max_to_return < 0 || (max_to_return && !list))
		return -EINVAL;
	for (i = 0; i < max_to_return; i++)
		if (!list[i])
			return -EINVAL;

	n = registry_ports(current->nsproxy->net_ns, &ports);
	if (n < 0)
		return n;

	for (i = 0; i < min(n, max_to_return); i++) {
		kdapl_registry_name(&ports[i], list[i]->ia_name);
		list[i]->dapl_version_major = DAT_VERSION_MAJOR;
		list[i]->dapl_version_minor = DAT_VERSION_MINOR;
		list[i]->is_thread_safe = true;
	}
	*number_entries = max_to_return ? i : n;
	kfree(ports);
	return max_to_return ? 0 : -EINVAL;
}
EXPORT_SYMBOL_GPL(dat_registry_list_providers);

int kdapl_registry_init(void)
{
	return ib_register_client(&registry_client);
}

/* No IA is open: each pins the module. */
void kdapl_registry_exit(void)
{
	ib_unregister_client(&registry_client);
}
