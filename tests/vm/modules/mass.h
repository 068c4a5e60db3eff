/* SPDX-License-Identifier: GPL-2.0 */
/* Many connections that end together: see mass.c. */
#ifndef _VMTEST_MASS_H
#define _VMTEST_MASS_H

#include <linux/ktime.h>
#include <linux/types.h>

#include "side.h"
#include "threads.h"

enum {
	MASS_PORT = 20230,
	MASS_RECVS = 2,		/* receives of each EP */
	MASS_SENDS = 1,		/* sends of each near EP, and room in the far */
	MASS_EVENTS = MASS_RECVS + MASS_SENDS + 2,
	MASS_WINDOW = 32,	/* connections that are made at a time */
};

/**
 * struct mass_ep - one endpoint
 * @ep: NULL once it is freed
 * @reported: events of its requests
 * @ends: DISCONNECTED and BROKEN events; which of them it may be, right_end() says.
 *	On iWARP either: it closes both halves at once, and a send that is under way
 *	may fail with the connection
 */
struct mass_ep {
	struct dat_ep *ep;
	u32 reported;
	u32 ends;
};

/**
 * struct mass_side - one side
 * @side: its IA; the EVD of connections has all streams
 * @eps: one a pair
 * @removed: its device is, so each end is BROKEN
 * @established: so many EPs are connected
 * @done: so many had their end
 * @success: requests that succeeded
 * @late: events behind the end of an EP
 * @other: events that nobody expects
 */
struct mass_side {
	struct side side;
	struct mass_ep *eps;
	bool removed;
	u32 established;
	u32 done;
	u32 success;
	u32 late;
	u32 other;
};

struct mass {
	struct mass_side near;
	struct mass_side far;
	u32 pairs;
	u32 accepted;
	struct threads threads;	/* from before the first EP on */
	struct dat_srq *srq;	/* of the far side, or NULL */
};

/* Between mass_open and mass_close, else NULL; under the lock of vmtest. */
extern struct mass *mass;

/* All events that are there; true if there were any. */
bool mass_take_events(struct mass *m, struct mass_side *s);
/* Takes events until *count is @want on both sides, or only near ones. */
int mass_take_until(struct mass *m, u32 *near, u32 *far, u32 want, u32 ms);
/* Of both EPs of a pair together. */
void mass_say_time(struct vmtest *t, const char *what, ktime_t start,
		   u32 endpoints);
u32 mass_srq_depth(const struct mass *m);

#endif /* _VMTEST_MASS_H */
