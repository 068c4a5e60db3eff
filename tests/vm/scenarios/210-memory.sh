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

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

rounds=1000
if debug_kernel; then
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
