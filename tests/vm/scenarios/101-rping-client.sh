# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 900
# load: kdapl kdapl_rping
#
# The kernel as server of rping -c, likewise, and of itself.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

# from <words> <server address> <client address> <pings> <bytes> [for the server...]
from()
{
	_words=$1 _addr=$2 _from=$3 _count=$4 _size=$5
	shift 5
	if ! krping server name=s addr="$_addr" verify=1 size=65536 "$@"; then
		not_ok "$_words" "cannot start"
		return
	fi
	need listening 7174
	rping -c -a "$_addr" -I "$_from" -C "$_count" -S "$_size" -v -V >/tmp/rping.log 2>&1
	check_eq "$_words: rping -c ends well" $? 0
	check_eq "$_words: pings" "$(grep -c '^ping data: rdma-ping-' /tmp/rping.log)" "$_count"
	check_session s "$_words: kernel server" "$_count"
	krping remove s
}

for size in 64 1024 4095 4096 4097 65535; do
	from "$size bytes" $IP1 $IP0 5 $size
done
from "IPv6" $IP1_6 $IP0_6 20 64
from "SINGLE_INSTANCE" $IP1 $IP0 50 64 form=single
from "one EVD" $IP1 $IP0 50 64 merged=1
from "one EVD, SINGLE_INSTANCE" $IP1 $IP0 50 64 merged=1 form=single

need krping server name=s addr=$IP1 verify=1 persist=1
need listening 7174
good=0
for _ in $(seq 20); do
	if rping -c -a $IP1 -I $IP0 -C 3 -V >/tmp/rping.log 2>&1; then
		good=$((good + 1))
	else
		step "status $?: $(tail -n 3 /tmp/rping.log | tr '\n' ';')"
	fi
done
check_eq "20 connects and closes in a row" $good 20
wait_until "krping_is s connections 20" 10
check_eq "the server saw 20" "$r_connections" 20
need krping stop s
check_session s "stopped while it listens" 60
krping remove s

# With one CPU nothing else runs until who asked for that sleeps. With two it may have run.
step "removed before the session's thread has run ($(nproc) CPUs)"
read -r before </sys/module/kdapl/refcnt
good=0
for _ in $(seq 20); do
	chrt -f 50 sh -c "
		echo server name=s addr=$IP1 >$RPING/control &&
		echo remove s >$RPING/control" && good=$((good + 1))
done
check_eq "20 removed at once are gone" $good 20
check_eq "and their IAs with them" "$(cat /sys/module/kdapl/refcnt)" "$before"

# kernel to kernel: sizes that rping refuses
for size in 1 2 65536; do
	need krping server name=s addr=$IP1 verify=1 size=65536
	need listening 7174
	need krping client name=c device=$DEV0 addr=$IP1 count=5 verify=1 size=$size
	check_session c "kernel to kernel, $size bytes: client" 5
	check_session s "kernel to kernel, $size bytes: server" 5
	krping remove c
	krping remove s
done

step "stop in the middle"
need krping server name=s addr=$IP1 verify=1
need listening 7174
need krping client name=c device=$DEV0 addr=$IP1 verify=1
need krping_busy c 10
need krping stop c
check_session c "the client stops" ""
# Between two pings it is an end like any other, in the middle it is not; over
# siw a request that was under way then fails, and one that is posted is refused.
check "the server ends with it" krping_done s 30
case $(krping_result s) in
0 | -104 | -5 | -107) ok "the server says how" ;;
*) not_ok "the server says how" "$(tr '\n' ';' <$RPING/s)" ;;
esac
check_eq "the server lost nothing" "$(krping_lost s)" 0
krping remove c
krping remove s

step "unload with sessions running"
need krping server name=s addr=$IP1 verify=1 persist=1
need listening 7174
need krping client name=c device=$DEV0 addr=$IP1 verify=1
need krping_busy c
check "unload stops all sessions" unload kdapl_rping
