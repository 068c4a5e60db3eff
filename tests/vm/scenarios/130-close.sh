# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 900
# load: kdapl kdapl_vmtest
#
# Ends of connections: after everything else, once, in time, whoever begins and
# whether or not anybody answers.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

pairs=500 rounds=300 limit=2000 settle=0
if few; then
	pairs=64 rounds=60
elif full; then
	# Behind the last one, longer than a time-wait.
	rounds=1000 settle=5000
fi
# Emulated, with KASAN, 500 of them take 3 s.
! debug_kernel || limit=6000

vmtest close_order
vmtest close_passive
vmtest close_both pairs=$pairs limit=$limit
ids_begin
vmtest close_free rounds=$rounds settle=$settle
ids_end "connect, cut and free" $((1 + 2 * rounds))

step "with the wire cut"
(
	wait_until "grep -qsw CONNECTED /sys/kernel/debug/kdapl/*/eps" 20
	sleep 0.5
	netem 0 loss 100%
	netem 1 loss 100%
) &
vmtest close_dead settle=4000
netem_off 0
netem_off 1
