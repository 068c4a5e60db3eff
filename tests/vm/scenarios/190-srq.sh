# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 400
# load: kdapl kdapl_vmtest
#
# Two connections that receive from one shared receive queue, with its low
# watermark.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

vmtest srq
