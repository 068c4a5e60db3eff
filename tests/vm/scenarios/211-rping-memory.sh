# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 600
# load: kdapl kdapl_rping
#
# The kernel as client of rping -s and of itself, its buffers shown by each way. A
# large ping takes most of a second on the kernel with KASAN.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

for mem in lmr fmr pool rmr; do
	for size in 64 4097 65535; do
		count=5
		rping -s -a $IP1 -C $count -S $size -v -V >/tmp/rping.log 2>&1 &
		need listening 7174
		need krping client name=c device=$DEV0 addr=$IP1 count=$count verify=1 size=$size mem=$mem
		check_session c "rping -s, mem=$mem, $size bytes" $count
		krping remove c
		wait
	done
	need krping server name=s addr=$IP1 verify=1 size=65536
	need listening 7174
	need krping client name=c device=$DEV0 addr=$IP1 count=4 verify=1 size=65536 mem=$mem merged=1
	check_session c "kernel to kernel, mem=$mem: client" 4
	check_session s "kernel to kernel, mem=$mem: server" 4
	krping remove c
	krping remove s
done
