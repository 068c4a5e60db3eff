# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 900
# load: kdapl kdapl_vmtest
#
# RDMA to every kind of memory, to the byte: lengths around the ends of pages and
# around what the device takes at once. What the peer may not do is refused there,
# moves nothing, and ends the connection. Atomic operations, and reads into windows.
#
# Immediate data is a number for a consumer of ours, and the same four bytes on the
# wire for a peer that is not: it is in user space, and looks at them itself. Not over
# siw: iWARP of 6.1 has no immediate data, and kdapl refuses such writes there.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

rounds=1000
if debug_kernel || few; then
	rounds=200
fi

vmtest mem_kinds
vmtest mem_atomic
vmtest mem_sink
vmtest mem_refused
vmtest mem_limit
step "pools"
vmtest mem_pool rounds=$rounds
vmtest mem_pool rounds=$rounds exposure=0
vmtest mem_pool rounds=$rounds exposure=2000 kill=25
check "no registration in a state that it should not be in" \
	sh -c "! dmesg | grep -E \"not free|doesn't match|already valid\""

[ "$TRANSPORT" = rxe ] || exit 0
step "immediate data"
PORT=20260
imm-peer $IP1 $PORT >/tmp/peer.log 2>&1 &
pid=$!
need wait_until "rdma resource show cm_id | grep -q 'LISTEN.*:$PORT\>'" 20
vmtest imm port=$PORT
wait $pid
check_eq "the peer in user space ends well" $? 0
cat /tmp/peer.log
