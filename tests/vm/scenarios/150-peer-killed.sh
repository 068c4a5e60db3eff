# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 900
# load: kdapl kdapl_rping
#
# The peer dies in the middle of the traffic, or its device, or ours.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

# ended <session> <words> <seconds>: with an error, with nothing lost
ended()
{
	if ! krping_done "$1" "$3"; then
		not_ok "$2" "not done: $(tr '\n' ';' <"$RPING/$1")"
		return
	fi
	check_eq "$2: nothing is lost" "$(krping_lost "$1")" 0
	[ "$(krping_result "$1")" = 0 ] || step "$(krping_get "$1" result)"
}

step "rping -s is killed"
rping -s -a $IP1 >/tmp/rping.log 2>&1 &
pid=$!
need listening 7174
need krping client name=c device=$DEV0 addr=$IP1
need krping_busy c 10
kill -9 $pid
ended c "the server is killed" 20
check "the client says so" test "$(krping_result c)" != 0
krping remove c

step "rping -c is killed"
need krping server name=s addr=$IP1 persist=1
need listening 7174
rping -c -a $IP1 -I $IP0 -C 1000000 >/tmp/rping.log 2>&1 &
pid=$!
need krping_busy s 10
kill -9 $pid
check "the server goes on" wait_until "krping_is s connections 1" 20
rping -c -a $IP1 -I $IP0 -C 3 -V >/tmp/rping.log 2>&1
check_eq "and serves the next client" $? 0
need krping stop s
ended s "a client is killed" 20
krping remove s

# A kernel peer: while a program has the device open, ib_uverbs would wait for it.
step "the peer's device is deleted"
need krping server name=s addr=$IP1
need listening 7174
need krping client name=c device=$DEV0 addr=$IP1
need krping_busy c 10
check "delete $DEV1" del_rdma "$TRANSPORT" 1
ended c "the peer's device is deleted" 90
check "the client says so" test "$(krping_result c)" != 0
krping remove c
ended s "our own end of it" 20
check "the server says so" test "$(krping_result s)" != 0
krping remove s
need add_rdma "$TRANSPORT" 1

step "our device is deleted"
rping -s -P -a $IP1 >/tmp/rping.log 2>&1 &
need listening 7174
for i in 1 2 3 4; do
	need krping client name=c$i device=$DEV0 addr=$IP1
	# One by one: siw's MPA timer runs while rping is busy with another.
	need krping_busy c$i 10
done
begin=$(cut -d . -f 1 /proc/uptime)
check "delete $DEV0" del_rdma "$TRANSPORT" 0
end=$(cut -d . -f 1 /proc/uptime)
# Waiting for the consumer, or for a peer, would take for ever or a minute.
check "within twenty seconds" test $((end - begin)) -le 20
for i in 1 2 3 4; do
	ended c$i "our device is deleted, client $i" 20
	check "client $i says so" test "$(krping_result c$i)" != 0
	krping remove c$i
done
need add_rdma "$TRANSPORT" 0
need krping client name=c device=$DEV0 addr=$IP1 count=3 verify=1
check_session c "the new device serves" 3
krping remove c
