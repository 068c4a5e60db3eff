/* SPDX-License-Identifier: GPL-2.0 */
/* What a session is told on its command line. */
#ifndef _RPING_PARAM_H
#define _RPING_PARAM_H

#include <linux/socket.h>
#include <linux/types.h>

#include <dat/dat.h>

enum {
	RPING_NAME_LEN = 32,
	RPING_PORT = 7174,
	RPING_SIZE = 64,		/* bytes */
	RPING_SIZE_MAX = 64 * 1024,	/* bytes */
};

/* How a client shows its buffers to the server. */
enum rping_mem_how {
	RPING_MEM_LMR,		/* registered for good */
	RPING_MEM_FMR,		/* by a fast registration for each ping */
	RPING_MEM_POOL,		/* by a mapping of an FMR pool for each ping */
	RPING_MEM_RMR,		/* through a window that is bound for each ping */
};

/**
 * struct rping_param - parameters of a session
 * @server: wait for a client, else be one
 * @name: of the session, and of its debugfs file
 * @device: IA name, or a local IP address; empty: chosen from @addr, or the
 *	first IA there is
 * @addr_text: as given; empty: none
 * @addr: client: the server's address; server: the address to listen on
 * @port: of the server
 * @count: pings, 0 = until the connection ends
 * @size: bytes in a ping
 * @timeout: microseconds that a connect may take
 * @mem: client: how it shows its buffers to the server
 * @verify: check the data of each ping
 * @single: SINGLE_INSTANCE upcalls, else NOTIFY
 * @merged: one EVD for all streams, else three
 * @persist: server: serve one client after the other until stopped
 * @keep: keep the objects until the session is removed, for a look at them
 */
struct rping_param {
	bool server;
	char name[RPING_NAME_LEN];
	char device[DAT_NAME_MAX_LENGTH];
	char addr_text[64];
	struct sockaddr_storage addr;
	u16 port;
	u32 count;
	u32 size;
	u32 timeout;
	enum rping_mem_how mem;
	bool verify;
	bool single;
	bool merged;
	bool persist;
	bool keep;
};

int rping_param_parse(struct rping_param *param, char *line);

#endif /* _RPING_PARAM_H */
