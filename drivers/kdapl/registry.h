/* SPDX-License-Identifier: GPL-2.0 */
/* Devices, and the names under which their ports can be opened. */
#ifndef _KDAPL_REGISTRY_H
#define _KDAPL_REGISTRY_H

#include <linux/socket.h>
#include <net/net_namespace.h>

#include <dat/dat.h>

struct dat_ia;

/**
 * struct kdapl_port - a port that has an address in some namespace
 * @device: its ib_device's name
 * @port: its number
 * @addr: an address of it, with port 0
 * @other: one of the other family; its family is 0 if there is none
 */
struct kdapl_port {
	char device[DAT_NAME_MAX_LENGTH];
	u32 port;
	struct sockaddr_storage addr;
	struct sockaddr_storage other;
};

int kdapl_registry_find(struct net *net, const char *name,
			struct kdapl_port *port);
/* "rxe0", or "mlx5_0:2" for a port that is not the first. */
void kdapl_registry_name(const struct kdapl_port *port, char *name);
/*
 * Ties an IA to a device, or -ENODEV. Its gate is open, with the caller in it;
 * from here on removal of the device takes the IA into account.
 */
int kdapl_registry_attach(struct dat_ia *ia, const char *device);
/* The end of it; waits for a removal that is under way. */
void kdapl_registry_detach(struct dat_ia *ia);

int kdapl_registry_init(void);
void kdapl_registry_exit(void);

#endif /* _KDAPL_REGISTRY_H */
