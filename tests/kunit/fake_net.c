// SPDX-License-Identifier: GPL-2.0
/*
 * A network interface that carries nothing but the addresses of the fake
 * device: kdapl finds adapters by the addresses of the opener's namespace.
 */
#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>

#include "fake_priv.h"

struct net_device *fake_netdev;

static netdev_tx_t fake_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops fake_netdev_ops = {
	.ndo_start_xmit = fake_xmit,
};

static void fake_netdev_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->flags |= IFF_NOARP;
	dev->netdev_ops = &fake_netdev_ops;
	eth_hw_addr_random(dev);
}

/* What "ip address add" does: nothing of it is exported to modules. */
static int fake_add_address(int family, const void *addr, int len, u8 prefix)
{
	struct {
		struct nlmsghdr nlh;
		struct ifaddrmsg ifa;
		u8 attrs[2 * NLA_HDRLEN + 2 * sizeof(struct in6_addr) + 8];
	} req = {
		.nlh.nlmsg_type = RTM_NEWADDR,
		.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE,
		.ifa.ifa_family = family,
		.ifa.ifa_prefixlen = prefix,
		.ifa.ifa_flags = IFA_F_NODAD,
		.ifa.ifa_index = fake_netdev->ifindex,
	};
	/* A destination stands for the rights of the sender's file. */
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	struct msghdr msg = { .msg_name = &to, .msg_namelen = sizeof(to) };
	struct nlattr *nla;
	struct socket *sock;
	struct kvec vec;
	int type, ret;

	req.nlh.nlmsg_len = offsetof(typeof(req), attrs);
	for (type = IFA_ADDRESS; type <= IFA_LOCAL; type++) {
		nla = (struct nlattr *)((u8 *)&req + req.nlh.nlmsg_len);
		nla->nla_type = type;
		nla->nla_len = NLA_HDRLEN + len;
		memcpy(nla + 1, addr, len);
		req.nlh.nlmsg_len += NLA_ALIGN(nla->nla_len);
	}

	ret = sock_create_kern(&init_net, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE,
			       &sock);
	if (ret)
		return ret;
	vec.iov_base = &req;
	vec.iov_len = req.nlh.nlmsg_len;
	ret = kernel_sendmsg(sock, &msg, &vec, 1, vec.iov_len);
	sock_release(sock);
	return ret < 0 ? ret : 0;
}

/* The answer goes to a socket that is gone: look for its effect instead. */
static bool fake_has_ip4(void)
{
	struct in_device *in_dev;
	bool found;

	rtnl_lock();
	in_dev = __in_dev_get_rtnl(fake_netdev);
	found = in_dev && in_dev->ifa_list;
	rtnl_unlock();
	return found;
}

int fake_net_init(void)
{
	const struct in6_addr ip6 = FAKE_IP6;
	__be32 ip4 = htonl(FAKE_IP4);
	int ret;

	fake_netdev = alloc_netdev(0, FAKE_NETDEV, NET_NAME_UNKNOWN,
				   fake_netdev_setup);
	if (!fake_netdev)
		return -ENOMEM;
	ret = register_netdev(fake_netdev);
	if (ret) {
		free_netdev(fake_netdev);
		return ret;
	}
	rtnl_lock();
	ret = dev_open(fake_netdev, NULL);
	rtnl_unlock();
	if (!ret)
		ret = fake_add_address(AF_INET, &ip4, sizeof(ip4), 24);
	if (!ret && IS_ENABLED(CONFIG_IPV6))
		ret = fake_add_address(AF_INET6, &ip6, sizeof(ip6), 64);
	if (!ret && !fake_has_ip4())
		ret = -EADDRNOTAVAIL;
	if (ret)
		fake_net_exit();
	return ret;
}

void fake_net_exit(void)
{
	unregister_netdev(fake_netdev);
	free_netdev(fake_netdev);
}
