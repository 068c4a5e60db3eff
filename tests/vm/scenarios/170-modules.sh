# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 600
#
# Loads and unloads: alone, refused under a consumer, and right after traffic.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

loads=100 rounds=20
if few; then
	loads=15 rounds=4
	# It is the same module.
	[ "$TRANSPORT" = rxe ] || loads=5
elif full; then
	rounds=200
fi

need unload kdapl
good=0
i=0
while [ $i -lt $loads ]; do
	load kdapl && rmmod kdapl && good=$((good + 1))
	i=$((i + 1))
done
check_eq "$loads loads and unloads" $good $loads

need load kdapl_rping
rmmod kdapl 2>/tmp/error
check "unload is refused under a consumer" test -d /sys/module/kdapl
before=$(cat /sys/module/kdapl/refcnt)
need krping server name=s addr=$IP1
need listening 7174
check_eq "an open IA is one more reference" "$(cat /sys/module/kdapl/refcnt)" $((before + 1))
rmmod kdapl 2>/dev/null
check "unload is refused with an IA open" test -d /sys/module/kdapl
krping remove s
check_eq "which goes with the IA" "$(cat /sys/module/kdapl/refcnt)" "$before"
need unload kdapl_rping
check "then it succeeds" unload kdapl 10

# On rxe some are still connecting when the end comes. siw of 6.1 does not bear a
# peer that goes while rping accepts, or whose MPA timer of ten seconds ends then:
# iw_cm's cm_conn_est_handler() meets its BUG_ON(), or siw_qp_cm_drop() writes into
# a siw_cep that it has just freed. So there they connect one by one.
clients='1 2 3 4 5 6 7 8'
[ "$TRANSPORT" = rxe ] || clients='1 2 3 8'

# How many clients there are that have not ended, and so closed their IA.
alive()
{
	_n=0
	for _c in $clients; do
		krping_is c$_c state "done" || _n=$((_n + 1))
	done
	echo $_n
}

# kdapl_rping itself, and an IA of each that has not failed to connect.
referred()
{
	most=$(alive)
	read -r refs </sys/module/kdapl/refcnt
	least=$(alive)
	[ "$refs" -gt "$least" ] && [ "$refs" -le $((1 + most)) ]
}

good=0
i=0
while [ $i -lt $rounds ]; do
	i=$((i + 1))
	load kdapl_rping || break
	rping -s -P -a $IP1 >/dev/null 2>&1 &
	pid=$!
	listening 7174 || break
	for n in $clients; do
		krping client name=c$n device=$DEV0 addr=$IP1 count=0 || break 2
		[ "$TRANSPORT" = rxe ] || krping_busy c$n || break 2
	done
	krping_busy c8 || break
	if ! wait_until referred 5; then
		step "$refs references for $least to $most clients"
		break
	fi
	# Every other time the peer dies first.
	[ $((i % 2)) = 0 ] || kill -9 $pid
	rmmod kdapl_rping || break
	unload kdapl 10 || break
	[ $((i % 2)) = 1 ] || kill -9 $pid
	wait $pid 2>/dev/null
	good=$((good + 1))
	[ $((i % 20)) != 0 ] || log_checkpoint
done
check_eq "$rounds rounds of connects, traffic and unload" $good $rounds
