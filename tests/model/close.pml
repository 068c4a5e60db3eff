/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The close protocol of two EPs that are connected to each other: disconnect
 * calls, DREQ and DREP that cross or get lost, deadlines, the grace for
 * requests under way, flush, device removal and free. See README for what each
 * name is called in C and for what is left out.
 *
 * Configured by -D:
 *   SIDE0 SIDE1  what the consumer of that side does (bit mask of C_*)
 *   NREQ         requests that a side posts while it may
 *   LOSS         the network may lose a DREQ or a DREP
 *   TIMERS       deadlines, grace and flush time-outs may run out at any time
 *   REMOVE       the device of side 0 may be removed at any time
 *   STUCK        the device may keep posted requests without flushing them:
 *                1 that of side 0, 2 both
 *   T_*          the broken twins
 */

#define C_NONE		0
#define C_GRACEFUL	1
#define C_ABRUPT	2
#define C_FREE		4	/* dat_ep_free() as it is, or after a close */

/* phases: enum kdapl_close_phase */
#define NONE	0
#define DRAIN	1
#define DREQ	2
#define GRACE	3
#define FLUSH	4
#define DONE	5

/* the QP */
#define RTS	1
#define ERR	2
#define GONE	3

/* the id: states of ib_cm */
#define EST	1
#define DREQ_SENT 2
#define DREQ_RCVD 3
#define TIMEWAIT 4
#define NOID	5

#ifndef SIDE0
#define SIDE0	C_GRACEFUL
#endif
#ifndef SIDE1
#define SIDE1	C_NONE
#endif
#ifndef NREQ
#define NREQ	1
#endif

byte phase[2], qp[2] = RTS, cm[2] = EST;
bool up[2] = true;		/* CONNECTED or DISCONNECT_PENDING */
bool asked[2];			/* DISCONNECT_PENDING: no posts any more */
byte out[2];			/* contexts that are not home */
byte held[2];			/* of these, held back by GRACE */
byte wire[2];			/* requests of a side on their way */
byte posted[2];			/* by the consumer, so far */
byte terminal[2];		/* terminal events posted */
bool freed[2], removed[2];
bool busy[2];			/* the work runs */

/* notes for the work: enum kdapl_ep_todo */
bool n_graceful[2], n_abrupt[2], n_disconnected[2], n_broken[2];
bool n_free[2], n_remove[2];

bool dreq_to[2], drep_to[2];	/* messages on their way to a side */
bool lost_of[2];		/* a DREQ of this side is gone for good */
bool consumer_done[2], remover_done = false;

bool may_err[2];		/* DREQ, DREP, deadline, abrupt, removal */
bool rude[2];			/* has ended without asking its peer */
bool drep_sent[2];

/* A free that waits for the flush is no news: it must not hide a hang. */
#define free_goes_on(i) (n_free[i] && (removed[i] || phase[i] != FLUSH))
#define news(i)	(n_graceful[i] || n_abrupt[i] || n_disconnected[i] || \
		 n_broken[i] || free_goes_on(i) || n_remove[i])
#define quiet(i) (!news(i) && !busy[i] && !dreq_to[i] && !drep_to[i] && !wire[i] && \
		  consumer_done[0] && consumer_done[1] && remover_done && \
		  !lost_of[i])

#ifdef LOSS
#define together true
#else
#define together ((phase[0] == NONE) == (phase[1] == NONE))
#endif
#define through(i) (quiet(i) && (phase[i] == DONE || phase[i] == NONE))
/* Nothing is under way and nobody will begin; a close has reached both. */
#define all_through (through(0) && through(1) && together)

/* rdma_disconnect() */
inline disconnect(i)
{
	atomic {
		if
		:: cm[i] == EST ->
			cm[i] = DREQ_SENT;
			dreq_to[1 - i] = true
		:: cm[i] == DREQ_RCVD ->
			cm[i] = TIMEWAIT;
			drep_sent[i] = true;
			may_err[i] = true;
			drep_to[1 - i] = true
		:: else
		fi
	}
}

/* rdma_destroy_id(): ib_cm itself sends what is due */
inline drop_id(i)
{
	disconnect(i);
	atomic {
		if
		:: cm[i] == DREQ_SENT -> lost_of[i] = false
		:: else
		fi;
		cm[i] = NOID;
		n_disconnected[i] = false
	}
}

/* Software reports what is still out: the QP is gone. */
inline drop_qp(i)
{
	qp[i] = GONE;
	atomic {
		out[i] = 0;
		held[i] = 0;
		wire[i] = 0
	}
}

inline finish(i)
{
	atomic {
		if
		:: up[i] && !freed[i] && !n_free[i] ->
			/* every request was reported before */
			assert(out[i] == 0);
			terminal[i]++;
			assert(terminal[i] == 1)
		:: else
		fi;
#ifndef T_TWO_TERMINALS
		up[i] = false;
#endif
		phase[i] = DONE
	}
}

inline start_flush(i)
{
	atomic {
		assert(may_err[i]);
		phase[i] = FLUSH
	};
	atomic {
		if
		:: qp[i] == RTS -> qp[i] = ERR
		:: else
		fi
	}
#ifdef T_TERMINAL_EARLY
	;finish(i)
#endif
}

inline abrupt(i)
{
	atomic {
		rude[i] = true;
		may_err[i] = true
	};
	if
	:: phase[i] != DREQ -> disconnect(i)
	:: else
	fi;
	start_flush(i)
}

/* close_start_grace() */
inline start_grace(i)
{
	phase[i] = GRACE
}

/* close_disconnected() */
inline on_disconnected(i)
{
	if
	:: (phase[i] == NONE || phase[i] == DRAIN) && up[i] ->
#ifdef T_NO_GRACE
		disconnect(i);
		start_flush(i)
#else
		start_grace(i)
#endif
	:: phase[i] == DREQ ->
		may_err[i] = true;
#ifndef T_CROSSING_UNANSWERED
		disconnect(i);
#endif
		start_flush(i)
	:: phase[i] == FLUSH || phase[i] == DONE ->
#ifndef T_UNANSWERED_LATER
		disconnect(i)
#else
		skip
#endif
	:: else
	fi
}

/* kdapl_flush_now() */
inline on_remove(i)
{
	atomic {
		rude[i] = true;
		may_err[i] = true;
		removed[i] = true
	};
	drop_id(i);
	drop_qp(i);
	finish(i)
}

/* One run of ep_work(). */
inline ep_work(i)
{
	if
	:: n_remove[i] ->
		n_remove[i] = false;
		on_remove(i)
	:: else
	fi;
	if
	:: !removed[i] && n_free[i] && up[i] && phase[i] != FLUSH ->
		abrupt(i)
	:: else
	fi;
	if
	:: !removed[i] && n_abrupt[i] ->
		n_abrupt[i] = false;
		if
		:: up[i] && phase[i] != FLUSH && phase[i] != DONE ->
			abrupt(i)
		:: else
		fi
	:: else
	fi;
	if
	:: !removed[i] && n_graceful[i] ->
		n_graceful[i] = false;
		if
		:: up[i] && phase[i] == NONE ->
#ifdef T_ERROR_FIRST
			/* what rdma_disconnect() does to an id with a QP */
			may_err[i] = true;
			start_flush(i);
			disconnect(i)
#else
			phase[i] = DRAIN
#endif
		:: else
		fi
	:: else
	fi;
	if
	:: !removed[i] && n_broken[i] ->
		n_broken[i] = false;
		if
		:: up[i] && phase[i] != FLUSH && phase[i] != DONE ->
			abrupt(i)
		:: else
		fi
	:: else
	fi;
	if
	:: !removed[i] && n_disconnected[i] ->
		n_disconnected[i] = false;
		on_disconnected(i)
	:: else
	fi;
	if
	:: removed[i] ->
		atomic {
			n_graceful[i] = false;
			n_abrupt[i] = false;
			n_broken[i] = false;
			n_disconnected[i] = false
		}
	:: else
	fi;
	/* freed: once nothing is under way */
	if
	:: n_free[i] && (phase[i] == DONE || removed[i]) ->
		n_free[i] = false;
		drop_id(i);
		drop_qp(i);
		freed[i] = true
	:: else
	fi
}

proctype work(byte i)
{
	do
	:: news(i) -> busy[i] = true; ep_work(i); busy[i] = false

	/* close_look(): what a phase waits for has come */
	:: !removed[i] && phase[i] == DRAIN && out[i] == 0 ->
		phase[i] = DREQ;
		disconnect(i)
	:: !removed[i] && phase[i] == GRACE && out[i] - held[i] == 0 ->
#ifdef T_NO_CAUSE
		start_flush(i);
		disconnect(i)
#else
		disconnect(i);
		start_flush(i)
#endif
	:: !removed[i] && phase[i] == FLUSH && out[i] == 0 ->
		finish(i)
#ifdef TIMERS
	/* the deadline of the call: the DREQ, and on */
	:: !removed[i] && phase[i] == DRAIN ->
		atomic {
			rude[i] = true;
			may_err[i] = true
		};
		phase[i] = DREQ;
		disconnect(i);
		start_flush(i)
	:: !removed[i] && phase[i] == DREQ ->
		atomic {
			rude[i] = true;
			may_err[i] = true
		};
		start_flush(i)
	/* the grace is over */
	:: !removed[i] && phase[i] == GRACE ->
		rude[i] = true;
		disconnect(i);
		start_flush(i)
	/* flush_timeout_ms */
	:: !removed[i] && phase[i] == FLUSH ->
		drop_qp(i);
		finish(i)
#endif
	:: all_through -> break
	od
}

/* ib_cm and the wire */
inline take_dreq(i)
{
	atomic {
		dreq_to[i] ->
		dreq_to[i] = false;
		if
#ifdef LOSS
		:: lost_of[1 - i] = true
#endif
		:: cm[i] == EST || cm[i] == DREQ_SENT ->
			cm[i] = DREQ_RCVD;
			n_disconnected[i] = true
		/* ib_cm answers for an id that is through, or gone */
		:: cm[i] == TIMEWAIT || cm[i] == NOID -> drep_to[1 - i] = true
		:: cm[i] == DREQ_RCVD
		fi
	}
}

inline take_drep(i)
{
	atomic {
		drep_to[i] ->
		drep_to[i] = false;
		if
#ifdef LOSS
		:: cm[i] == DREQ_SENT -> lost_of[i] = true
#endif
		:: cm[i] == DREQ_SENT ->
			cm[i] = TIMEWAIT;
			may_err[i] = true;
			n_disconnected[i] = true
		:: cm[i] != DREQ_SENT
		fi
	}
}

/* All its tries are used up: rdma_cm says DISCONNECTED. */
inline give_up(i)
{
	atomic {
		lost_of[i] ->
		lost_of[i] = false;
		if
		:: cm[i] == DREQ_SENT ->
			cm[i] = TIMEWAIT;
			rude[i] = true;
			may_err[i] = true;
			n_disconnected[i] = true
		:: else
		fi
	}
}

/* A request arrives and is acknowledged, or not. */
inline carry(i)
{
	atomic {
		wire[i] > 0 ->
		wire[i]--;
		if
		:: qp[i] == RTS && qp[1 - i] == RTS -> out[i]--
		:: qp[i] == RTS && qp[1 - i] != RTS ->
			/*
			 * Hurt by its peer's close: only if either has ended
			 * without asking, or we have said that we are done.
			 */
			assert(rude[1 - i] || rude[i] || drep_sent[i]);
			out[i]--;
			n_broken[i] = true
		/* it is flushed instead */
		:: qp[i] != RTS
		fi
	}
}

proctype network()
{
	do
	:: take_dreq(0)
	:: take_dreq(1)
	:: take_drep(0)
	:: take_drep(1)
	:: give_up(0)
	:: give_up(1)
	:: carry(0)
	:: carry(1)
	:: all_through -> break
	od
}

/* A QP in error flushes, unless the device forgets some. */
proctype device(byte i)
{
	do
	:: atomic {
		qp[i] == ERR && out[i] > 0 ->
#ifdef POLITE
		/* what was posted in time and not held back is never flushed */
		assert(out[i] <= held[i]);
		held[i]--;
#endif
		out[i]--;
		if
		:: wire[i] > out[i] -> wire[i] = out[i]
		:: else
		fi
	   }
#ifdef STUCK
	:: qp[i] == ERR && i < STUCK -> break
#endif
	:: all_through -> break
	od
}

/* dat_ep_post_*(): the gate is open, holds back, or is shut. */
inline post(i)
{
	atomic {
		if
		:: up[i] && !asked[i] && !freed[i] && phase[i] == NONE &&
		   qp[i] == RTS ->
			out[i]++;
			wire[i]++
		:: up[i] && !asked[i] && !freed[i] && phase[i] == GRACE ->
			out[i]++;
			held[i]++
		:: else
		fi;
		posted[i]++
	}
}

proctype consumer(byte i; byte does)
{
	do
	:: posted[i] < NREQ -> post(i)
	:: break
	od;
	if
	:: does & C_GRACEFUL ->
		atomic {
			if
			:: up[i] ->
				asked[i] = true;
				n_graceful[i] = true
			:: else
			fi
		}
	:: does & C_ABRUPT ->
		atomic {
			if
			:: up[i] ->
				asked[i] = true;
				n_abrupt[i] = true
			:: else
			fi
		}
	:: !(does & (C_GRACEFUL | C_ABRUPT))
	:: does & C_FREE
	fi;
	if
	:: does & C_FREE -> n_free[i] = true
	:: else
	fi;
	consumer_done[i] = true
}

#ifdef REMOVE
proctype remover()
{
	if
	:: n_remove[0] = true
	:: skip
	fi;
	remover_done = true
}
#endif

init
{
	atomic {
		run work(0);
		run work(1);
		run network();
		run device(0);
		run device(1);
		run consumer(0, SIDE0);
		run consumer(1, SIDE1);
#ifdef REMOVE
		run remover()
#else
		remover_done = true
#endif
	};
	/* Everybody is through: each connection that ended was told once. */
	(_nr_pr == 1);
	assert(cm[0] != DREQ_RCVD && cm[1] != DREQ_RCVD);
	assert(freed[0] || terminal[0] == 1 || phase[0] == NONE);
	assert(freed[1] || terminal[1] == 1 || phase[1] == NONE)
}
