/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The life of a connection in pieces that cope with whatever fails in them: who
 * was told that an attempt is under way hears of its end, once.
 */
#ifndef _PATH_KIT_H
#define _PATH_KIT_H

#include "../../drivers/kdapl/lmr.h"
#include "walk.h"

#define PATH_OTHER_PORT	(KIT_PORT + 1)
#define PATH_THIRD_PORT	(KIT_PORT + 2)
#define PATH_RSP_PORT	(KIT_PORT + 3)

/* Registered in one piece, so that the fake device takes it as it is. */
#define PATH_BYTES	512

struct path_kit {
	struct dat_evd *cr_evd;
	struct dat_evd *other_evd;
	struct dat_evd *dto;
	struct dat_evd *client_evd;	/* connection events */
	struct dat_evd *server_evd;
	struct dat_ep *client;
	struct dat_ep *server;		/* NULL: it comes with the request */
	/* How @client connects, if not by kit_connect(). */
	int (*connect)(struct path_kit *p, u16 port);
	struct dat_ep *model[2];	/* connected, for @connect */
	struct dat_cr *cr;
	enum dat_event_number client_event;
	bool accepted;
	u8 *memory;
	struct dat_lmr *lmr;
};

/* With this as init and kit_exit_replug() as exit, and the step as parameter. */
int path_init(struct kunit *test);
void path_run(struct kunit *test);

/* Of a step: two EPs, and their end, when all has been heard. */
void path_prepare(struct walk *w);
void path_finish(struct walk *w);
/* From dat_ep_connect() to a request on @evd, or to the end. */
int path_request(struct walk *w, u16 port, struct dat_evd *evd);
/* The request is there, or the attempt has ended without; for KIT_WAIT(). */
bool path_arrived(struct path_kit *p, struct dat_evd *evd);
/* Accepts the request, if there is one; with @ep NULL the EP that it has. */
void path_accept(struct walk *w, struct dat_ep *ep);
/* Something for the close to bring home: receives, a success that is silent. */
void path_traffic(struct dat_ep *ep);
/*
 * What an EP hears from now on, to its end; true if it was connected. @number: of
 * the event that was heard already, or 0.
 */
bool path_hear(struct walk *w, struct dat_evd *evd, struct dat_ep *ep,
	       enum dat_event_number number, enum dat_close_flags how);
/* Both to their ends, the client first. */
enum dat_event_number path_server_event(struct path_kit *p);
int path_end(struct walk *w, enum dat_close_flags how);

#endif /* _PATH_KIT_H */
