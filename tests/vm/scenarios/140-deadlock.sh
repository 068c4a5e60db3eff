# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# unproven: rxe siw
# timeout: 400
# load: kdapl kdapl_vmtest
#
# Calls that wait, made from upcalls.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

rounds=200
! debug_kernel || rounds=40
vmtest deadlock rounds=$rounds
