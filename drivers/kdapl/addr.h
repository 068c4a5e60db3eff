/* SPDX-License-Identifier: GPL-2.0 */
/* The IP addresses of a network namespace. */
#ifndef _KDAPL_ADDR_H
#define _KDAPL_ADDR_H

#include <linux/socket.h>
#include <linux/types.h>
#include <net/net_namespace.h>

struct kdapl_addrs {
	struct sockaddr_storage *addr;
	unsigned int num;
	unsigned int max;
};

int kdapl_addr_list(struct net *net, struct kdapl_addrs *addrs);
bool kdapl_addr_is_link_local(const struct sockaddr_storage *ss);
bool kdapl_addr_is_loopback(const struct sockaddr_storage *ss);

#endif /* _KDAPL_ADDR_H */
