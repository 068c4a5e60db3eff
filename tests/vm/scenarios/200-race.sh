# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 5400
# load: none
#
# The race between the last look at a queue and the arming of its upcall, in a
# closed loop on two CPUs. The control run arms a raw CQ without looking: if that
# one loses nothing, the test is no test.
#
# Then a flood, over rxe: four peers, and a receiver that has one CPU, first on a
# machine that has no other, then with the peers on the other one, so that they are
# never slower. With siw the receiver is where its socket was busy.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

count=200000
if debug_kernel || few; then
	count=3000
	[ "$TRANSPORT" = rxe ] || count=1500
fi
# A number of one's own: KERNEL_ARGS=kdapl.race=1000000
own=$(sed -n 's/.*kdapl\.race=\([0-9]*\).*/\1/p' /proc/cmdline)
count=${own:-$count}

# It could hide what is looked for.
need load kdapl watchdog_ms=0
need load kdapl_vmtest

vmtest race form=raw count=20000 stop=3
vmtest race form=notify count="$count"
vmtest race form=single count="$count"
# A few at a time, and upcalls in process context.
vmtest race form=notify count=$((count / 10)) window=8
vmtest race form=notify count=$((count / 10)) merged=1
vmtest race form=single count=$((count / 10)) merged=1 window=8

[ "$TRANSPORT" = rxe ] || exit 0
ms=1000
! full || ms=30000
step "a flood, on one CPU"
second=/sys/devices/system/cpu/cpu1/online
[ ! -e $second ] || need sh -c "echo 0 >$second"
vmtest flood ms=$ms
[ -e $second ] || exit 0
need sh -c "echo 1 >$second"
step "a flood, from the other CPU"
need sh -c "echo 1 >/sys/class/net/$NET1/queues/rx-0/rps_cpus"
need sh -c "echo 2 >/sys/class/net/$NET0/queues/rx-0/rps_cpus"
vmtest flood ms=$ms
