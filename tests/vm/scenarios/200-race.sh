# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 5400
# load: none
#
# The race between the last look at a queue and the arming of its upcall, in a
# closed loop on two CPUs. The control run arms a raw CQ without looking: if that
# one loses nothing, the test is no test.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

count=200000
! debug_kernel || count=3000
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
