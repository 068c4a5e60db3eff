# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 900
# load: kdapl kdapl_rping
#
# The kernel as client of rping -s: sizes, address families, upcall forms, one
# EVD or three, and many connections in a row.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

# against <words> <address> <device> <pings> [more for the client...]
against()
{
	_words=$1 _addr=$2 _device=$3 _count=$4
	shift 4
	rping -s -a "$_addr" -S 65535 >/tmp/rping.log 2>&1 &
	_pid=$!
	listening 7174 || { not_ok "$_words" "rping -s does not listen"; return; }
	if krping client name=c device="$_device" addr="$_addr" count="$_count" verify=1 "$@"; then
		check_session c "$_words" "$_count"
		krping remove c
	else
		not_ok "$_words" "cannot start: $?"
	fi
	wait_until "! kill -0 $_pid 2>/dev/null" 10 || kill $_pid
	wait $_pid
	check_eq "$_words: rping -s ends well" $? 0
}

for size in 1 64 4095 4096 4097 65535; do
	against "$size bytes" $IP1 $DEV0 5 size=$size
done
against "IPv6" $IP1_6 $IP0_6 20
against "IPv6, IA by name" $IP1_6 $DEV0 20
against "SINGLE_INSTANCE" $IP1 $DEV0 50 form=single
against "one EVD" $IP1 $DEV0 50 merged=1
against "one EVD, SINGLE_INSTANCE" $IP1 $DEV0 50 merged=1 form=single

rping -s -P -a $IP1 >/tmp/rping.log 2>&1 &
need listening 7174
good=0
for i in $(seq 20); do
	krping client name=c$i device=$DEV0 addr=$IP1 count=3 verify=1 &&
	krping_done c$i 30 && [ "$r_result $r_lost $r_pings" = '0 0 3' ] && good=$((good + 1))
	krping remove c$i
done
check_eq "20 connects and closes in a row" $good 20

# They ping at once, but connect one by one: a request that comes while rping takes
# another makes it forget the first.
step "several at once"
for i in 1 2 3 4; do
	need krping client name=p$i device=$DEV0 addr=$IP1 verify=1
	need krping_busy p$i
done
for i in 1 2 3 4; do
	check "client $i of 4 goes on" krping_busy p$i $(($(krping_pings p$i) + 5))
done
for i in 1 2 3 4; do
	krping stop p$i
	check_session p$i "client $i of 4 at once"
	krping remove p$i
done
