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

rounds=200 closes=200
if few; then
	rounds=40 closes=40
elif full; then
	# Every other one is without psp_free.
	rounds=400
fi
vmtest deadlock rounds=$rounds closes=$closes
