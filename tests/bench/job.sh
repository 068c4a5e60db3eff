# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# The guest's part of tests/bench/run, which sets $addr and $row. The device is
# one of its own, which talks to itself: a packet costs no interface.

. /lib/kdapl/lib.sh

addr=${addr:?} row=${row?}

bench=/sys/kernel/debug/kdapl_bench

# Waits for the host, which traces or stops to.
tell_host()
{
	echo "profile $1" >/dev/ttyS1
	read -r _ </dev/ttyS1
}

need modprobe dummy numdummies=0
need ip link add bench0 type dummy
need ip addr add "$addr/24" dev bench0
need ip link set bench0 up
need rdma link add rxebench type rxe netdev bench0
need wait_until 'grep -qs ":ffff:0a09:0001" /sys/class/infiniband/rxebench/ports/1/gids/*' 10
# No watchdog: it would look by the way.
need unload kdapl
need load kdapl watchdog_ms=0
need load kdapl_bench
# Not by the way: each message of kdapl would be counted.
for module in kdapl rdma_cm ib_core; do
	[ ! -e /sys/kernel/debug/dynamic_debug/control ] ||
		echo "module $module -p" >/sys/kernel/debug/dynamic_debug/control
done

rc=0
if [ -n "$row" ]; then
	sed -n 's/^[^ ]* [tTwW] /symbol &/p' /proc/kallsyms
	echo "$addr profile $row" >$bench/run &
	# It measures the row first, so that everything is warm.
	need wait_until "grep -q Y $bench/held || ! kill -0 $!" 60
	tell_host begin
	echo 0 >$bench/held
	wait $! || rc=1
	tell_host end
else
	echo "$addr all" >$bench/run || rc=1
fi
cat $bench/result
[ $rc != 0 ] || grep -q '^done' $bench/result || rc=1
need unload kdapl_bench
exit $rc
