# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe
# timeout: 400
# load: kdapl kdapl_vmtest
#
# Calls that wait, made from upcalls. Not over siw: that of 6.1 takes a socket's
# callback lock with and without bottom halves, which lockdep reports when a
# listener goes under connects, and leaks the struct siw_cep of what was aborted.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

rounds=200
! debug_kernel || rounds=40
vmtest deadlock rounds=$rounds
