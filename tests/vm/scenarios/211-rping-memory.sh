# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# unproven: siw
# timeout: 600
# load: kdapl kdapl_rping
#
# The kernel as client of rping -s and of itself, its buffers shown by each way.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

for mem in lmr fmr pool rmr; do
	for size in 64 4097 65535; do
		rping -s -a $IP1 -C 20 -S $size -v -V >/tmp/rping.log 2>&1 &
		need listening 7174
		need krping client name=c device=$DEV0 addr=$IP1 count=20 verify=1 size=$size mem=$mem
		check_session c "rping -s, mem=$mem, $size bytes" 20
		krping remove c
		wait
	done
	need krping server name=s addr=$IP1 verify=1 size=65536
	need listening 7174
	need krping client name=c device=$DEV0 addr=$IP1 count=20 verify=1 size=65536 mem=$mem merged=1
	check_session c "kernel to kernel, mem=$mem: client" 20
	check_session s "kernel to kernel, mem=$mem: server" 20
	krping remove c
	krping remove s
done
