# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 300
# load: kdapl kdapl_vmtest
#
# A close hurts nobody: what the peer sends until its DREP goes succeeds, and is
# here before the last event; what we have outstanding when its DREQ comes gets
# its grace; and it all happens without the consumer. Each is shown to fail when
# what is behind it is missing: with an id that owns its QP, and with a grace of
# nothing. iWARP closes both halves at once: there remains that all is reported,
# and the end once, last, and in time.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

PARAM=/sys/module/kdapl/parameters
# No close may end because a deadline has passed, so that one that hangs shows.
echo 60000 >$PARAM/disconnect_timeout_ms
echo 30000 >$PARAM/drep_grace_ms

step "what the peer sends is on its way for 20 ms"
netem 1 delay 20ms
vmtest last_send
[ $TRANSPORT = siw ] || vmtest last_send_owned
netem_off 1

if [ $TRANSPORT = rxe ]; then
	step "what we send is on its way for 100 ms"
	netem 0 delay 100ms
	vmtest grace
	netem_off 0
	# Longer than a DREQ takes to get to us, and less than until they are sent again.
	netem 0 delay 900ms
	echo 0 >$PARAM/drep_grace_ms
	vmtest grace lost=1
	netem_off 0
	step "the peer has no receives"
	echo 2000 >$PARAM/drep_grace_ms
	vmtest grace_over grace=2000
	echo 30000 >$PARAM/drep_grace_ms
fi

step "nobody dequeues"
netem 0 delay 20ms
vmtest deaf limit=20000
netem_off 0
