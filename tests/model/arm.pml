/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arm protocol of an EVD: arming, triggers, the runner, modify_upcall,
 * TEARDOWN and free, against every class of provider.  See README for what
 * each name is called in C and for what is left out.
 *
 * Atomic blocks are not the EVD lock: they join only what is indivisible for
 * everybody else.  What another CPU may do in between (the device, a
 * completion handler, irq_poll, all of which take no EVD lock) stays apart,
 * and `lk' is held over it.  A lock section that touches the device at most
 * once is one atomic block, for its one visible moment is that touch.
 *
 * Configured by -D:
 *   CLASS      the provider class, below
 *   POL        policy that the consumer asks for
 *   RUN        who calls run(): CFIRST (irq_poll that is completed before
 *              anything else is done) or WORK, as in C; or IRQPOLL, which holds
 *              irq_poll's bit to the end and has TRIGGERED in place of it
 *   NCPU       CPUs that may run the softirq at once
 *   NCOMP      completions (or posted events) of the finite kinds
 *   KN KS KI KR  kinds: may notify, silent, internal, posted into the ring
 *   ENDLESS    internal completions never cease
 *   STRAY      callbacks that nothing caused
 *   T2         what the second thread may do (bit mask)
 *   T_*        the broken twins
 */

/* policies */
#define OFF	0
#define NOTIFY	1
#define SINGLE	2
#define MANY	3

/* what ib_req_notify_cq() does, by provider */
#define REPORT_ARM	1	/* reports what is there and arms: cxgb4, irdma */
#define REPORT_NOARM	2	/* reports and does not arm: bnxt_re */
#define NEVER_FIRE	3	/* answers 0, fires for what is new: mlx4, qedr */
#define NEVER_EDGE	4	/* answers 0, only a later arrival fires */
#define REPORT_EMPTY	5	/* may report with nothing there */
#define INSIDE		6	/* fires on the caller's stack, inside the call */
#define LATE		7	/* tests, later clears its flag unlocked: rxe */
#define SYNC		8	/* as LATE, handler on the poster's stack: siw */
#define LOSSY		9	/* as REPORT_ARM, and one callback is lost */

#define IRQPOLL	1
#define WORK	2
#define CFIRST	3

/* kinds of completion */
#define N	1		/* makes an event that may notify */
#define S	2		/* makes an event that does not (unsignalled) */
#define I	3		/* makes no event (internal) */

#ifndef CLASS
#define CLASS	REPORT_ARM
#endif
#ifndef POL
#define POL	NOTIFY
#endif
#ifndef RUN
#define RUN	CFIRST
#endif
#ifndef NCPU
#if RUN == CFIRST
#define NCPU	2
#else
#define NCPU	1
#endif
#endif
#ifndef NPROD
#define NPROD	1
#endif
#ifndef NCOMP
#define NCOMP	3
#endif
#ifndef CQSZ
#define CQSZ	2
#endif
#ifndef BUDGET
#define BUDGET	1		/* 64 in C */
#endif
#ifndef ASKS
#define ASKS	1		/* "ask again" bound */
#endif
#ifndef STRAY
#define STRAY	1
#endif
#ifndef LIES
#define LIES	2		/* reports with nothing there */
#endif
#ifndef MAXRUN
#define MAXRUN	2		/* num_online_cpus() in C */
#endif

/* what the second thread may do */
#define T2_DISABLE	1
#define T2_ENABLE	2
#define T2_TEARDOWN	4
#define T2_DEQUEUE	8
#define T2_SWITCH	16	/* enables another policy than POL */
#ifndef T2
#define T2	(T2_DISABLE + T2_ENABLE + T2_TEARDOWN + T2_DEQUEUE)
#endif
#ifndef POL2
#define POL2	SINGLE
#endif

/* answers of modify_upcall() */
#define OK		0
#define EBUSY		1
#define ESHUTDOWN	2
#define AGAIN		3

/* the EVD: all under lk, except trg */
bit lk;
byte policy = OFF;
bit armed;
byte runners;
bit yielded;
#if RUN == IRQPOLL
bit gen;			/* enabled or disabled since the upcall began */
bit pending;
#endif
bit sticky;			/* TEARDOWN was asked for */
byte ringN, ringS;		/* queued events that may notify / are silent */
#if RUN == IRQPOLL
bit trg;			/* TRIGGERED, atomic bit */
#endif

/* irq_poll: SCHED bit and list; work item: PENDING bit */
bit sched;
bit queued;

/* the device */
chan cq = [CQSZ] of { byte };
bit hw;				/* its notify flag */
bit fresh;			/* something arrived since the last notify */
byte cb;			/* callbacks on their way */
byte left = NCOMP;
byte stray = STRAY;
#if CLASS == REPORT_EMPTY
byte lies = LIES;
#endif
#if CLASS == LOSSY
bit lose = 1;
#endif

/* what the properties look at */
byte act;			/* contexts that still have something to do */
byte incall;			/* upcalls running */
bit down;			/* TEARDOWN has returned */
bit wake;			/* the consumer thread was woken */
#if defined(LIVE) || defined(FREE)
bit tearing;			/* TEARDOWN is waiting */
bit waiting;			/* ... and it sleeps until then */
#endif
#ifdef FREE
bit freed;
byte readers;			/* RCU: a softirq is one */
byte handlers;
bit t1done;
#define TOUCH	assert(!freed)
#define READER_IN	readers++
#define READER_OUT	readers--
#define HANDLER_IN	handlers++
#define HANDLER_OUT	handlers--
#else
#define READER_IN	skip
#define READER_OUT	skip
#define HANDLER_IN	skip
#define HANDLER_OUT	skip
#define TOUCH	skip
#endif

#if RUN == IRQPOLL
#define NEWER		gen = (runners > 0)
#define SAME		gen = 0
#else
#define NEWER		skip
#define SAME		skip
#endif

#define NOTIFYING	(ringN > 0 || cq??[N])

/* ------------------------------------------------------------ triggers */

/* irq_poll_sched() and queue_work(): dropped while the bit is held */
#define SCHEDULE	if :: !sched -> sched = 1; queued = 1 :: else fi

/*
 * kdapl_upcall_trigger(): the mark first, then the schedule.  Of the two the
 * caller is `act' all along.
 */
#if RUN == IRQPOLL && !defined(T_NOTRIG)
#define MARK	trg = 1
#else
#define MARK	skip
#endif
#ifndef T_SCHEDFIRST
#define TRIGGER1	MARK
#define TRIGGER2	SCHEDULE
#else
#define TRIGGER1	SCHEDULE
#define TRIGGER2	MARK
#endif

/* ------------------------------------------------------------ the device */

#define FIRE	hw = 0; if :: cb < 2 -> cb++ :: else fi

/*
 * A completion arrives.  LATE and SYNC test and clear their flag after the
 * queue's lock was dropped; all others with it.
 */
inline push(kind, credit)
{
#if CLASS == LATE || CLASS == SYNC
	atomic {
		len(cq) < CQSZ && left >= credit ->
		left = left - credit; cq!kind; act++
	};
	if
	:: atomic { hw -> seen = 1 }
	:: atomic { !hw -> act-- }
	fi;
	if
	:: seen ->
		seen = 0;
#if CLASS == SYNC
		atomic { hw = 0; TRIGGER1 };
		atomic { TRIGGER2; act-- }
#else
		atomic { FIRE; act-- }
#endif
	:: else
	fi
#else
	atomic {
		len(cq) < CQSZ && left >= credit ->
		left = left - credit; cq!kind;
#if CLASS == NEVER_FIRE
		fresh = 1;
#endif
		if
		:: hw ->
#if CLASS == LOSSY
			if
			:: lose -> lose = 0; hw = 0
			:: else -> FIRE
			:: lose -> FIRE
			fi
#else
			FIRE
#endif
		:: else
		fi
	}
#endif
}

/*
 * ib_req_notify_cq(NEXT_COMP | REPORT_MISSED_EVENTS); ret: 1 is "> 0".
 * Inside an atomic block of the caller's.
 */
inline notify(ret)
{
#if CLASS == REPORT_ARM || CLASS == LATE || CLASS == SYNC || CLASS == LOSSY
	hw = 1; ret = (len(cq) > 0)
#elif CLASS == REPORT_NOARM
	if
	:: len(cq) > 0 -> ret = 1
	:: else -> hw = 1; ret = 0
	fi
#elif CLASS == NEVER_FIRE
	ret = 0; hw = 1;
	if
	:: len(cq) > 0 && fresh -> FIRE
	:: else
	fi;
	fresh = 0
#elif CLASS == NEVER_EDGE
	ret = 0; hw = 1
#elif CLASS == REPORT_EMPTY
	if
	:: len(cq) > 0 -> ret = 1; if :: hw = 1 :: true fi
	:: len(cq) == 0 -> hw = 1; ret = 0
	:: len(cq) == 0 && lies > 0 -> lies--; ret = 1; if :: hw = 1 :: true fi
	fi
#elif CLASS == INSIDE
	hw = 1; ret = 0;
	if
	:: len(cq) > 0 -> hw = 0; inside = 1
	:: else
	fi
#endif
}

/* the handler on the stack of notify's caller, who holds the EVD lock */
#if CLASS == INSIDE
#ifdef T_HANDLER_LOCKS
#define HANDLER_LOCK	atomic { !lk -> skip }
#else
#define HANDLER_LOCK	skip
#endif
#define INSIDE_CALL	\
	if \
	:: inside -> inside = 0; HANDLER_LOCK; \
		atomic { TRIGGER1 }; atomic { TRIGGER2 } \
	:: else \
	fi
#else
#define INSIDE_CALL	skip
#endif

active [NPROD] proctype producer()
{
	bit seen;
#ifdef KR
	bit posts;
#endif

end:
	do
#ifdef KN
	:: push(N, 1)
#endif
#ifdef KS
	:: push(S, 1)
#endif
#ifdef KI
	:: push(I, 1)
#endif
#ifdef KR
	/* dat_evd_post_se(), a CM handler: into the ring, then trigger */
	:: atomic {
		left > 0 && !lk -> left--; ringN++;
		if
		:: policy != OFF -> act++; HANDLER_IN; TRIGGER1; posts = 1
		:: else
		fi
	   };
	   if
	   :: atomic { posts -> posts = 0; TOUCH; TRIGGER2; act--; HANDLER_OUT }
	   :: else
	   fi
#endif
#ifdef ENDLESS
	:: push(I, 0)
#endif
#if STRAY > 0
	:: atomic { stray > 0 && cb < 2 -> stray--; cb++ }
#endif
	od
}

/* the completion handler: takes no lock, only triggers */
active proctype callback()
{
end:
	do
#if RUN == IRQPOLL || defined(FREE)
	:: atomic { cb > 0 -> cb--; act++; HANDLER_IN; TRIGGER1 };
	   atomic { TOUCH; TRIGGER2; act--; HANDLER_OUT }
#else
	/* one that is on its way is as good as one that has not begun */
	:: atomic { cb > 0 -> cb--; SCHEDULE }
#endif
	od
}

/* ------------------------------------------------------------ the run */

/*
 * Empties the CQ into the ring up to the first that may notify, with the
 * budget for internal ones.  As one atomic step: what arrives between two
 * polls is as good as having arrived before the first.
 */
inline drain(budget)
{
	do
	:: cq?[N] -> cq?N; ringN++; break
	:: cq?[S] -> cq?S; ringS++; got = 1
	:: cq?[I] ->
		if
		:: budget > 0 -> cq?I; budget--; got = 1
		:: else -> over = 1; break
		fi
	:: len(cq) == 0 -> break
	od
}

#ifdef T_NOPOLL
#define LOOK_IF(ret)	ret
#else
#define LOOK_IF(ret)	true
#endif
#ifdef T_NOMISSED
#define ANSWER(ret)	ret = 0
#else
#define ANSWER(ret)	skip
#endif

/* how a section ends */
#define R_ARM	1	/* steps 2 and 3, or again */
#define R_LEAVE	2
#define R_CALL	3
#define R_YIELD	4	/* budget or patience spent: ownership is kept */
#define R_HAND	5	/* MANY: armed or triggered, now the upcall */

/* the queue, after the lock was taken; in an atomic block */
#if RUN == IRQPOLL
inline look()
{
#ifndef T_PENDING
	need = need | pending;
#endif
	pending = 0;
	if
	:: policy == OFF -> go = R_LEAVE
	:: else ->
		if
		:: ringN == 0 -> drain(budget)
		:: else
		fi;
		if
		:: ringN > 0 && budget > 0 -> go = R_CALL
		:: ringN > 0 && budget == 0 -> go = R_YIELD
		:: ringN == 0 && over -> go = R_YIELD
		/* armed by a newer generation, nothing there: leave it so */
		:: ringN == 0 && !over && armed && !need ->
#ifndef USE_MANY
			assert(gen);
#endif
			go = R_LEAVE
		:: ringN == 0 && !over && (!armed || need) -> go = R_ARM
		fi
	fi;
	got = 0; over = 0; need = 0
}
#else
inline look()
{
	if
	:: policy == OFF -> go = R_LEAVE
#if defined(USE_MANY) && !defined(T_OVERLAP)
	/* the last of them looks again */
	:: policy != OFF && policy != MANY && runners > 1 -> go = R_LEAVE
	:: policy == MANY || (policy != OFF && runners == 1) ->
#else
	:: else ->
#endif
		if
		:: ringN == 0 -> drain(budget)
		:: else
		fi;
		if
		:: ringN > 0 && budget > 0 -> go = R_CALL
		:: ringN > 0 && budget == 0 -> go = R_YIELD
		:: ringN == 0 && over -> go = R_YIELD
#ifdef T_LATE
		/* twin: a callback with nothing to show is ignored */
		:: ringN == 0 && !over && armed -> go = R_LEAVE
		:: ringN == 0 && !over && !armed -> go = R_ARM
#else
		/* armed or not: a late callback may have eaten the arm */
		:: ringN == 0 && !over -> go = R_ARM
#endif
		fi
	fi;
	got = 0; over = 0
}
#endif

/* the queue, after notify answered ret; in an atomic block */
inline look_again()
{
	ANSWER(ret);
	if
	:: LOOK_IF(ret) -> drain(budget)
	:: else
	fi;
	if
	:: ringN > 0 && budget > 0 -> go = R_CALL
	:: ringN > 0 && budget == 0 -> go = R_YIELD
	:: ringN == 0 && over -> go = R_YIELD
	:: ringN == 0 && !over && got -> go = R_ARM
	:: ringN == 0 && !over && !got && !ret -> go = R_LEAVE
	:: ringN == 0 && !over && !got && ret ->
#ifdef T_TRUST
		/* twin: an answer > 0 is believed to have armed */
		go = R_LEAVE
#else
		if
		:: asks >= ASKS -> go = R_YIELD
		:: else -> asks++; go = R_ARM
		fi
#endif
	fi;
	got = 0; over = 0; ret = 0
}

/* whichever is first in the ring */
#define TAKE	\
	if \
	:: ringN > 0 -> ringN-- \
	:: ringS > 0 -> ringS-- \
	fi

#if NCPU > 1
/* CPUs are all alike, so of those that are idle the same one is always first. */
bit busy[NCPU];
#define CPU		(_pid - NPROD - 1)
#define MY_TURN		(CPU == 0 || busy[CPU - 1])
#define BUSY(is)	busy[CPU] = is
#else
#define MY_TURN		true
#define BUSY(is)	skip
#endif

/* another run after this one; under irq_poll it is seen on the way out */
#if RUN == IRQPOLL
#define AGAIN_AFTER	MARK
#else
#define AGAIN_AFTER	SCHEDULE
#endif

/* what go says, with the lock held; in an atomic block */
inline decided()
{
#ifdef USE_MANY
	if
	:: many && go != R_ARM ->
		if
		:: go != R_LEAVE -> AGAIN_AFTER
		:: else
		fi;
		go = R_HAND
	:: !many && go == R_CALL && policy == MANY ->
		many = 1; armed = 0;
#if RUN != IRQPOLL
		budget--;
#endif
		TAKE;
		if
		:: ringN > 0 -> AGAIN_AFTER; go = R_HAND
		:: else -> go = R_ARM
		fi
	:: else
	fi;
#endif
#ifdef T_DROP
	if
	:: go == R_YIELD -> go = R_LEAVE
	:: else
	fi;
#endif
	if
	:: go == R_ARM -> lk = 1
	:: go == R_LEAVE -> runners--; SAME; lk = 0
#ifdef USE_MANY
	:: go == R_HAND ->
		assert(!down);
		incall++; lk = 0
#endif
	:: go == R_CALL ->
		assert(policy != OFF && ringN > 0);
		if
		:: policy == NOTIFY -> policy = OFF
		:: else -> TAKE
		fi;
		armed = 0; SAME; budget--; lk = 0;
		/* the upcall: most often it wakes the thread */
		assert(!down);
		assert(incall == 0);
		incall++;
		if
		:: wake = 1
#if POL != NOTIFY
		:: true
#endif
		fi
	:: go == R_YIELD ->
#if RUN == IRQPOLL
		assert(!yielded);
#ifndef T_NOYIELDED
		yielded = 1;
#endif
		lk = 0;
		budget = 0; asks = 0; go = 0;
		/* the full weight: irq_poll calls again, SCHED stays held */
		queued = 1;
		act--; BUSY(0); READER_OUT
#else
		/* of several, as MANY allows, a new one will do */
		if
		:: runners > 1 -> runners--
		:: else ->
			assert(!yielded);
#ifndef T_NOYIELDED
			yielded = 1
#endif
		fi;
		lk = 0
#endif
	fi
}

#ifndef T_OVERLAP
#define MUST_WAIT	(policy != MANY || runners >= MAXRUN)
#else
#define MUST_WAIT	(policy == MANY && runners >= MAXRUN)
#endif
#if RUN == IRQPOLL
#define NOTE	pending = 1
#define NEED	need = 1
#else
#define NOTE	skip
#define NEED	skip
#endif

/*
 * kdapl_upcall_run(), called by irq_poll or as a work item.
 * need: somebody's trigger is to be answered, so that "armed" alone proves
 * nothing about the device (a late callback may have eaten the arm).
 */
active [NCPU] proctype softirq()
{
	byte budget, asks, go;
	bit ret, inside, got, over;
#if RUN == IRQPOLL
	bit need;
#endif
#ifdef USE_MANY
	bit many;
#endif

idle:
end:
	atomic {
		queued && MY_TURN -> queued = 0; BUSY(1); act++; READER_IN;
#if RUN == IRQPOLL
		trg = 0
#else
		/* irq_poll_complete(), or a work's bit, cleared before it runs */
		sched = 0
#endif
	};

	atomic {
		!lk ->
		TOUCH;
		if
		:: yielded -> yielded = 0; go = R_ARM
#ifdef USE_MANY
		:: !yielded && runners > 0 && MUST_WAIT ->
			NOTE; go = R_LEAVE
		:: !yielded && (runners == 0 || !MUST_WAIT) ->
			runners++; go = R_ARM
#else
		:: !yielded && runners > 0 -> NOTE; go = R_LEAVE
		:: !yielded && runners == 0 ->
#ifndef T_UNLOCKED
			/* policy on, not armed and no owner: asleep for ever */
			assert(policy == OFF || armed);
#endif
			runners = 1; go = R_ARM
#endif
		fi;
		if
		:: go == R_ARM ->
			budget = BUDGET; NEED;
			look();
			decided()
		:: else
		fi
	};

	do
	:: atomic { go == R_ARM -> armed = 1; notify(ret) };
	   INSIDE_CALL;
	   atomic { look_again(); decided() }
#ifndef T_NOAGAIN
	:: atomic { go == R_CALL && !lk -> incall--; look(); decided() }
#else
	/* twin: no look after the upcall */
	:: atomic { go == R_CALL && !lk -> incall--; go = R_LEAVE; decided() }
#endif
#if RUN != IRQPOLL
#ifdef USE_MANY
	/* the upcall of MANY ends */
#ifndef T_NOAGAIN
	:: atomic { go == R_HAND && !lk -> many = 0; incall--; look(); decided() }
#else
	:: atomic { go == R_HAND && !lk -> many = 0; incall--; go = R_LEAVE; decided() }
#endif
#endif
	/* whoever was triggered meanwhile may have taken over, and have ended */
	:: atomic { go == R_YIELD -> TOUCH; SCHEDULE; break }
	:: go == R_LEAVE -> break
#else
	:: go == 0 -> goto idle
	:: atomic {
		go == R_LEAVE || go == R_HAND ->
		budget = 0; asks = 0;
#ifdef T_TESTFIRST
		go = trg;
		break
#else
		sched = 0;		/* irq_poll_complete() */
		break
#endif
	   }
#endif
	od;

#if RUN == IRQPOLL && !defined(T_NOTRIG)
#ifdef T_TESTFIRST
	/* twin: TRIGGERED is looked at before SCHED is let go */
	sched = 0;
	if
	:: atomic { go -> go = 0; SCHEDULE }
	:: else
	fi;
#else
	if
	:: atomic { trg -> TOUCH };
	   atomic { TOUCH; SCHEDULE }
	:: atomic { !trg -> TOUCH }
	fi;
#endif
#endif
#if RUN == IRQPOLL && defined(USE_MANY)
	if
	:: many ->
		/* the upcall of MANY ends */
		atomic {
			!lk -> incall--; runners--; many = 0;
#ifndef T_PENDING
			if
			:: pending && policy == OFF -> pending = 0
			:: pending && policy != OFF &&
			   (policy == MANY || runners == 0) ->
				pending = 0; many = 1; MARK
#ifdef T_FORGET
			/* twin: cleared by a leaver that may not go on */
			:: pending && policy != OFF && policy != MANY &&
			   runners > 0 -> pending = 0
#endif
			:: else
			fi
#endif
		};
		atomic {
			if
			:: many -> many = 0; SCHEDULE
			:: else
			fi
		}
	:: else
	fi;
#endif
	atomic { budget = 0; asks = 0; act--; READER_OUT; go = 0; BUSY(0); goto idle }
}

/* ------------------------------------------------------------ the caller */

/*
 * With DAT_UPCALL_INVOC_ANY -EBUSY is no answer: it is in force, and a run
 * follows.
 */
#define ANYHOW(any, pol)	\
	if \
	:: any -> ans = OK; policy = pol; armed = 1; NEWER; TRIGGER1; TRIGGER2 \
	:: else \
	fi

/*
 * dat_evd_modify_upcall() to an enabling policy; the answer is in ans.
 */
inline enable(pol, any)
{
	atomic {
		!lk ->
		if
		:: sticky -> ans = ESHUTDOWN
		:: !sticky && ringN + ringS > 0 -> ans = EBUSY; ANYHOW(any, pol)
		:: else ->
			ans = AGAIN; old = armed; b = BUDGET;
			armed = 1; notify(ret);
#ifndef T_UNLOCKED
			lk = 1
#endif
		fi
	};
	do
	:: ans == AGAIN ->
		INSIDE_CALL;
		atomic {
#ifdef T_UNLOCKED
			!lk;
#endif
			ANSWER(ret);
			if
			:: LOOK_IF(ret) -> drain(b)
			:: else
			fi;
			if
			:: ringN + ringS > 0 -> ans = EBUSY
			:: ringN + ringS == 0 && over -> ans = EBUSY
			:: ringN + ringS == 0 && !over && got
			:: ringN + ringS == 0 && !over && !got && !ret ->
				ans = OK
			:: ringN + ringS == 0 && !over && !got && ret ->
#ifdef T_TRUST
				ans = OK
#else
				if
				:: asks >= ASKS -> ans = EBUSY
				:: else -> asks++
				fi
#endif
			fi;
			got = 0; over = 0; ret = 0;
			if
			:: ans == OK ->
				policy = pol; NEWER; lk = 0
			:: ans == EBUSY -> armed = old; ANYHOW(any, pol); lk = 0
			:: else
			fi
		}
		if
		:: atomic { ans == AGAIN -> armed = 1; notify(ret) }
		:: else
		fi
	:: atomic { ans != AGAIN -> asks = 0; b = 0; old = 0; break }
	od
}

inline disable()
{
	atomic { !lk -> policy = OFF; armed = 0; NEWER }
}

/* the consumer's thread: disable - drain - enable, on and on at -EBUSY */
active proctype consumer()
{
	byte ans, b, asks;
	bit ret, inside, old, got, over;

	do
	:: disable();
	   do
	   :: /* dat_evd_dequeue() until -EAGAIN */
		do
		:: atomic {
			!lk ->
			if
			:: ringN > 0 -> ringN--
			:: ringS > 0 -> ringS--
			:: ringN + ringS == 0 ->
				if
				:: cq?[N] -> cq?N
				:: cq?[S] -> cq?S
				:: cq?[I] -> cq?I
				:: len(cq) == 0 -> break
				fi
#ifdef ANY
			/* it may leave events to the upcall that follows */
			:: true -> break
#endif
			fi
		   }
		od;
#ifdef ANY
		enable(POL, true);
#else
		enable(POL, false);
#endif
		if
		:: ans == EBUSY
		:: else -> break
		fi
	   od;
	   if
	   :: ans == ESHUTDOWN -> break
	   :: else -> ans = 0
	   fi;
#if defined(LIVE) || defined(FREE)
	   waiting = 1;
#endif
end:	   atomic {
		wake -> wake = 0;
#if defined(LIVE) || defined(FREE)
		waiting = 0
#endif
	   }
	od
#ifdef FREE
	;
	t1done = 1
#endif
}

/* the second thread does one thing at any time */
active proctype second()
{
	byte ans, b, asks;
	bit ret, inside, old, got, over;

	if
#if T2 & T2_DISABLE
	:: disable()
#endif
#if T2 & T2_ENABLE
	:: enable(POL, false);
	   /* told -EBUSY: the first thread does its duty */
	   if :: ans == EBUSY -> wake = 1 :: else fi
#endif
#if T2 & T2_SWITCH
	:: enable(POL2, false);
	   if :: ans == EBUSY -> wake = 1 :: else fi
#endif
#if T2 & T2_DEQUEUE
	/* takes one, a batch goes into the ring */
	:: atomic {
		!lk ->
		do
		:: cq?[N] -> cq?N; ringN++
		:: cq?[S] -> cq?S; ringS++
		:: cq?[I] -> cq?I
		:: len(cq) == 0 || true -> break
		od;
		if
		:: ringN > 0 -> ringN--
		:: ringS > 0 -> ringS--
		:: else
		fi
	   }
#endif
#if T2 & T2_TEARDOWN
	:: atomic {
		!lk -> policy = OFF; armed = 0; NEWER;
#if defined(LIVE) || defined(FREE)
		tearing = 1;
#endif
#ifndef T_STICKY
		sticky = 1
#endif
	   };
#ifndef T_NOWAIT
	   atomic { !lk && runners == 0 -> down = 1; assert(incall == 0) };
#else
	   atomic { down = 1; assert(incall == 0) };
#endif
	   enable(POL, false);
#ifndef T_STICKY
	   assert(ans == ESHUTDOWN)
#endif
#ifdef FREE
	   /*
	    * dat_evd_free(): nobody feeds it or calls it any more (the
	    * caller's duty and the reference counts'), no handler after
	    * ib_destroy_cq(), then the runs.
	    */
	   atomic {
		((waiting && !wake) || t1done) && !handlers ->
		left = 0; stray = 0; cb = 0; hw = 0
	   };
#if RUN != WORK
	   atomic { !sched -> sched = 1 };	/* irq_poll_disable() */
#else
	   atomic { sched = 1; queued = 0 };	/* cancel_work_sync() */
#endif
#ifndef T_NORCU
	   !readers;		/* synchronize_rcu(); the work's own wait */
#endif
	   freed = 1
#endif
#endif
	fi
}

#ifdef T_CQONLY
#define LOOK_HERE	(armed && policy != OFF && runners == 0 && len(cq) > 0)
#else
#define LOOK_HERE	(armed && policy != OFF && runners == 0 && (len(cq) > 0 || ringN > 0))
#endif

#ifdef WATCHDOG
/*
 * Once a second: the CQ of an armed EVD into the ring.  What is found there,
 * or was in the ring already (a dequeue or a refused enable polled it), is the
 * run's, which also arms again.
 */
active proctype watchdog()
{
	byte b;
	bit got, over;

end:
	do
	:: atomic {
		!lk && LOOK_HERE ->
		b = BUDGET; drain(b); b = 0; got = 0; over = 0;
		act++; TRIGGER1
	   };
	   atomic { TRIGGER2; act-- }
	od
}
#endif

/* ------------------------------------------------------------ properties */

#if defined(WATCHDOG) && CLASS == LOSSY
#define RESCUE	LOOK_HERE	/* the watchdog's next look */
#else
#define RESCUE	false
#endif

#ifndef LIVE
/* moves only where a wakeup is lost: nothing in motion that would look */
active proctype observer()
{
	bit lost_wakeup;

end:
	atomic {
		policy != OFF && NOTIFYING && !lk && !act && !queued && !cb && !RESCUE ->
		lost_wakeup = 1;
		assert(!lost_wakeup)
	}
}
#endif

#ifdef LIVE
/*
 * Under weak fairness.  An event that may notify is owed to somebody while a
 * policy is on, or while the consumer's thread is awake or about to be.
 */
#define owed	(NOTIFYING && !sticky && (policy != OFF || !waiting || wake))

#if LIVE == 1
ltl served { [] (owed -> <> !owed) }
#else
ltl torn_down { [] (tearing -> <> down) }
#endif
#endif
