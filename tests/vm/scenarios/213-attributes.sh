# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 300
# load: kdapl kdapl_vmtest
#
# What an adapter says of itself is true: every limit can be reached, none passed.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

vmtest attr transport=$TRANSPORT
