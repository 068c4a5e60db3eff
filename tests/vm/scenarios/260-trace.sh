# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe
# cpus: 1
# timeout: 120
# load: kdapl kdapl_rping
#
# With all tracepoints on, pings with registered memory go as before, and each
# tracepoint has its line, in words. Off again, nothing is said any more.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

TRACE=/sys/kernel/debug/tracing
EVENTS=$TRACE/events/kdapl

# session <words>: pings from the first connection to the last event
session()
{
	need krping server name=s addr=$IP1 verify=1
	need listening 7174
	need krping client name=c device=$DEV0 addr=$IP1 count=5 verify=1 mem=fmr
	check_session c "$1" 5
	krping remove c
	krping remove s
}

# traced <event> <regular expression of what it says>
traced()
{
	check "$1 says $2" grep -Eq "kdapl_$1: $2" /tmp/trace
	seen="$seen kdapl_$1"
}

need test -e $EVENTS/enable
need sh -c "echo 1 >$EVENTS/enable"
session "pings while everything is traced"
echo 0 >$EVENTS/enable
cat $TRACE/trace >/tmp/trace
step "$(grep -c ' kdapl_' /tmp/trace) lines"

seen=
traced evd_post 'evd=[1-9][0-9]* event=0x04001$'
traced evd_dequeue 'evd=[1-9][0-9]* event=0x04001$'
traced evd_arm 'evd=[1-9][0-9]* policy=NOTIFY$'
traced evd_upcall 'evd=[1-9][0-9]* generation=[1-9][0-9]* more=[01]$'
traced ep_state 'ep=[1-9][0-9]* UNCONNECTED -> ACTIVE$'
traced ep_state 'ep=[1-9][0-9]* [A-Z_]* -> DISCONNECTED$'
traced cm_event 'owner=[1-9][0-9]* [A-Z][A-Z_]* \([0-9]+\) status=0$'
traced dto_post 'ep=[1-9][0-9]* SEND len=[1-9][0-9]* result=0$'
traced dto_complete 'ep=[1-9][0-9]* SEND [A-Z][A-Z_]* \(0\)$'
traced reg 'lmr=[1-9][0-9]* via=[1-9][0-9]* key=0x[0-9a-f]{8} result=0$'
traced inv 'lmr=[1-9][0-9]* ep=[1-9][0-9]* key=0x[0-9a-f]{8} result=0$'
# Only for a consumer that was raced by its events.
seen="$seen kdapl_evd_busy"
for event in "$EVENTS"/kdapl_*; do
	case " $seen " in
	*" ${event##*/} "*) ;;
	*) not_ok "${event##*/}" "nobody looked for it" ;;
	esac
done

echo >$TRACE/trace
session "and pings again"
check_eq "lines behind the end of tracing" "$(grep -c ' kdapl_' $TRACE/trace)" 0
