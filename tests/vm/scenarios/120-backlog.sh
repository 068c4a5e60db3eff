# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe
# cpus: 1
# timeout: 400
# load: kdapl kdapl_vmtest
#
# More connection requests than the EVD of a service point has room for. Not over
# siw: that of 6.1 calls through a freed id (siw_drop_listeners()) when a listener
# goes whose requests were refused.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

ids_begin
vmtest backlog
# A listener, and two for each connect: of 4 that found room, and 6 that came twice.
# Those with which dat_ia_open() looks an address up come on top of that.
ids_end "backlog" 33
