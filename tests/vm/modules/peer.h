/* SPDX-License-Identifier: GPL-2.0 */
/* A raw peer with a buffer, that sends and receives. */
#ifndef _VMTEST_PEER_H
#define _VMTEST_PEER_H

#include "raw.h"

enum {
	PEER_BYTES = 64,	/* of a message */
};

/**
 * struct peer - see above
 * @raw: connection and QP
 * @buf: sent from and received to; nobody looks at what is in it
 */
struct peer {
	struct raw raw;
	u8 buf[PEER_BYTES];
};

/**
 * struct peer_tally - how requests ended
 * @success: so many succeeded
 * @failed: and so many did not
 * @first_error: status of the first that did not: enum ib_wc_status
 */
struct peer_tally {
	int success;
	int failed;
	int first_error;
};

void peer_init(struct peer *peer);
/* One message; the queue has room for raw.depth. */
int peer_send(struct peer *peer);
int peer_recv(struct peer *peer);
/* Waits until so many have ended: 0 or -ETIMEDOUT. */
int peer_sends_end(struct peer *peer, int want, struct peer_tally *tally);
int peer_recvs_end(struct peer *peer, int want, struct peer_tally *tally);
void peer_close(struct peer *peer);

#endif /* _VMTEST_PEER_H */
