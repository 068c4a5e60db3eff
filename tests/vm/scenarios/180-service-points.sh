# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 400
# load: kdapl kdapl_vmtest
#
# Service points that make EPs, requests that are passed on, and listeners on
# socket addresses.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

vmtest sp
