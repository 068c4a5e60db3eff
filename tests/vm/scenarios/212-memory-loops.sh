# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 900
# load: kdapl kdapl_vmtest
#
# A pool over and over: 100,000 rounds of map and unmap on two endpoints, after which
# there is as much memory as before; and 1,000 connections that end while it has
# mappings under way, after which no registration is in a state that it should not
# be in. The kernel with KASAN does 60 of them, and 20,000 rounds; all on Debian's own,
# with KERNEL_VARIANT=stock, which has no siw.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

connections=1000
rounds=100000
if few; then
	connections=60
	rounds=20000
fi

vmtest mem_rounds rounds=$rounds
vmtest mem_reconnect rounds=$connections
check "no registration in a state that it should not be in" \
	sh -c "! dmesg | grep -E \"not free|doesn't match|already valid\""
