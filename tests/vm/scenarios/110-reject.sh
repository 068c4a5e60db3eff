# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 400
# load: kdapl kdapl_vmtest
#
# Rejects and private data: what a consumer sends is what the other one gets,
# and a peer that is not kdapl reads and writes the same bytes as libdapl.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

vmtest reject
vmtest pdata
