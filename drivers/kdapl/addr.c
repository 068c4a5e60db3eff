// SPDX-License-Identifier: GPL-2.0
/*
 * kdapl: the IP addresses of a network namespace
 */
#include "addr.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

bool kdapl_addr_is_link_local(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;

	return ss->ss_family == AF_INET6 &&
	       ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL;
}

/* IPv4 before IPv6, and addresses that need no scope before those that do. */
static int addr_rank(const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET)
		return 0;
	return kdapl_addr_is_link_local(ss) ? 2 : 1;
}

bool kdapl_addr_is_loopback(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ss;

	if (ss->ss_family == AF_INET)
		return ipv4_is_loopback(sin->sin_addr.s_addr);
	return ipv6_addr_loopback(&sin6->sin6_addr);
}

static int addr_add_addr(struct kdapl_addrs *addrs,
			 const struct sockaddr_storage *ss)
{
	struct sockaddr_storage *bigger;
	unsigned int max;

	if (kdapl_addr_is_loopback(ss))
		return 0;
	if (addrs->num == addrs->max) {
		max = addrs->max ? 2 * addrs->max : 16;
		bigger = krealloc_array(addrs->addr, max, sizeof(*bigger),
					GFP_ATOMIC);
		if (!bigger)
			return -ENOMEM;
		addrs->addr = bigger;
		addrs->max = max;
	}
	addrs->addr[addrs->num++] = *ss;
	return 0;
}

static int addr_dev_addrs4(struct net_device *dev,
			   struct kdapl_addrs *addrs)
{
	struct sockaddr_storage ss = { .ss_family = AF_INET };
	struct sockaddr_in *sin = (struct sockaddr_in *)&ss;
	struct in_device *in_dev = __in_dev_get_rtnl(dev);
	const struct in_ifaddr *ifa;
	int ret;

	if (!in_dev)
		return 0;
	in_dev_for_each_ifa_rtnl(ifa, in_dev) {
		sin->sin_addr.s_addr = ifa->ifa_local;
		ret = addr_add_addr(addrs, &ss);
		if (ret)
			return ret;
	}
	return 0;
}

static int addr_dev_addrs6(struct net_device *dev,
			   struct kdapl_addrs *addrs)
{
	struct sockaddr_storage ss = { .ss_family = AF_INET6 };
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ss;
	struct inet6_dev *in6_dev;
	struct inet6_ifaddr *ifa;
	int ret = 0;

	if (!IS_ENABLED(CONFIG_IPV6))
		return 0;
	in6_dev = __in6_dev_get(dev);
	if (!in6_dev)
		return 0;

	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifa, &in6_dev->addr_list, if_list) {
		sin6->sin6_addr = ifa->addr;
		sin6->sin6_scope_id =
			ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL ?
			dev->ifindex : 0;
		ret = addr_add_addr(addrs, &ss);
		if (ret)
			break;
	}
	read_unlock_bh(&in6_dev->lock);
	return ret;
}

/* Stable: equally good ones stay in the order of their interfaces. */
static void addr_sort(struct kdapl_addrs *addrs)
{
	struct sockaddr_storage tmp;
	unsigned int i, j;

	for (i = 1; i < addrs->num; i++) {
		tmp = addrs->addr[i];
		for (j = i; j && addr_rank(&addrs->addr[j - 1]) >
				 addr_rank(&tmp); j--)
			addrs->addr[j] = addrs->addr[j - 1];
		addrs->addr[j] = tmp;
	}
}

/**
 * kdapl_addr_list - the addresses of a network namespace
 * @net: the namespace
 * @addrs: OUT: those of all interfaces that are up, but for loopback ones, in
 *	the order of preference; the array is the caller's to free, also on errors
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int kdapl_addr_list(struct net *net, struct kdapl_addrs *addrs)
{
	struct net_device *dev;
	int ret = 0;

	rtnl_lock();
	for_each_netdev(net, dev) {
		if (dev->flags & IFF_LOOPBACK || !(dev->flags & IFF_UP))
			continue;
		ret = addr_dev_addrs4(dev, addrs);
		if (!ret)
			ret = addr_dev_addrs6(dev, addrs);
		if (ret)
			break;
	}
	rtnl_unlock();

	addr_sort(addrs);
	return ret;
}
