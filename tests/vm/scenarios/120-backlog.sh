# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# unproven: rxe siw
# timeout: 400
# load: kdapl kdapl_vmtest
#
# More connection requests than the EVD of a service point has room for.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

vmtest backlog
