# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# The job of "make run": the rping of rdmacm-utils, in user space, against
# kdapl_rping in the kernel, in both directions over the wire, and the kernel as
# client with its buffers shown by each kind of registration. What is written
# here goes to the user's terminal. The number of pings is 100, or that of
# kdapl.count= on the kernel's command line (KERNEL_ARGS=kdapl.count=1000).
#
# "lost" is kdapl_rping's own count: events due for what it posted and connected,
# less those that it dequeued, plus each that lay in a queue for a second without
# an upcall. "spurious" is kdapl's.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

N=$(sed -n 's/.*kdapl\.count=\([0-9]*\).*/\1/p' /proc/cmdline)
N=${N:-100}
rc=0

# evd_lines <session> <device>: its EVDs, with kdapl's view of each. They stand
# in the report in the order of creation; 0x100 is the IA's own.
evd_lines()
{
	evds=/sys/kernel/debug/kdapl/$2/evds
	{ head -n 1 "$evds"; tail -n +2 "$evds" | sort -n; } >/tmp/evds
	awk -v session="$1" '
		FNR == 1 { file++ }
		file == 1 && FNR == 1 {
			for (i = 1; i <= NF; i++)
				column[$i] = i
			next
		}
		file == 1 {
			if ($column["flags"] != "0x100")
				spurious[n++] = $column["spurious"]
			next
		}
		/^evd / {
			sub(/ lost /, " spurious " spurious[k++] " lost ")
			sub(/^evd /, "evd " session "-")
			print
		}' /tmp/evds "$RPING/$1"
}

fail()
{
	echo "FAILED: $*"
	rc=1
}

# kernel_client <words> [mem=...]: against rping -s; sets $line and $evds
kernel_client()
{
	words=$1
	shift
	rping -s -a $IP1 -C "$N" >/tmp/server.log 2>&1 &
	need listening 7174
	need krping client name=client device=$DEV0 addr=$IP1 count="$N" verify=1 keep=1 "$@"
	krping_done client 300 || fail "$words hangs"
	[ "$(krping_result client)" = 0 ] || fail "$words: $(krping_get client result)"
	[ "$(krping_pings client)" = "$N" ] || fail "$words: not all pings"
	[ "$(krping_verified client)" = "$N" ] || fail "$words: wrong data"
	[ "$(krping_lost client)" = 0 ] || fail "$words: events were lost"
	line="$words -> rping -s: $(krping_pings client) pings, $(krping_verified client) verified"
	evds=$(evd_lines client $DEV0)
	krping remove client
	wait
}

# With the watchdog off, a wake-up that is lost stays lost.
need unload kdapl
need load kdapl watchdog_ms=0
need load kdapl_rping

kernel_client "kernel client"
lines=$line
first_evds=$evds
for mem in fmr pool rmr; do
	kernel_client "kernel client, mem=$mem" mem=$mem
	lines="$lines
$line"
done

need krping server name=server addr=$IP1 verify=1 keep=1
need listening 7174
rping -c -a $IP1 -I $IP0 -C "$N" -v -V >/tmp/client.log 2>&1 || fail "rping -c: $(tail -n 1 /tmp/client.log)"
krping_done server 30 || fail "the kernel server hangs"
[ "$(krping_result server)" = 0 ] || fail "kernel server: $(krping_get server result)"
# rping verifies, and prints a ping when it is right; the server verifies too.
pings=$(grep -c '^ping data: rdma-ping-' /tmp/client.log)
verified=$(krping_verified server)
[ "$pings" = "$N" ] || fail "rping -c: $pings pings"
[ "$verified" = "$N" ] || fail "kernel server: $verified pings were right"
[ "$(krping_lost server)" = 0 ] || fail "kernel server: events were lost"
evds="$first_evds
$(evd_lines server $DEV1)"
krping remove server

need unload kdapl_rping
echo "$lines"
echo "rping -c -> kernel server: $pings pings, $verified verified"
echo "$evds"
exit $rc
