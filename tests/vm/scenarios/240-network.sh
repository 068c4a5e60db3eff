# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 600
# load: kdapl kdapl_rping
#
# The network goes from under connections: the link, then the address. Whoever has
# something outstanding is told in the transport's own time, the other end when it
# can be told; nothing is lost, nothing hangs, and what comes back serves again.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

# siw dies when TCP gives up; a quarter of an hour is too long for a test.
echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
echo 5 >/proc/sys/net/ipv4/tcp_retries2

ended()
{
	krping_is "$1" state "done"
}

# A client and a server, and pings between them.
begin()
{
	need krping server name=s addr=$IP1
	need listening 7174
	need krping client name=c device=$DEV0 addr=$IP1
	need krping_busy c 10
}

# What the link took along.
routes_back()
{
	ip route replace $IP1 dev $NET0 table 100
	ip route replace $IP0 dev $NET1 table 101
	ip -6 addr replace $IP1_6/64 dev $NET1 nodad
	ip -6 route replace $IP1_6 dev $NET0 table 100
	ip -6 route replace $IP0_6 dev $NET1 table 101
	wait_until "ping -c 1 -w 2 -I $IP0 $IP1 >/dev/null 2>&1" 20
}

# finish <words>: the client calls it a failure if it is told, both can be removed, and
# the network serves again. The end that has nothing outstanding but receives hears by a
# DREQ, or by a reset of TCP, or not at all, as what should have told it was sent while
# there was no way: neither transport has a sign of life.
finish()
{
	for _end in c s; do
		if krping_done $_end 5; then
			check_eq "$1: $_end has lost nothing" "$(krping_lost $_end)" 0
			[ $_end = s ] ||
				check "$1: the client calls it a failure" test "$(krping_result c)" != 0
		else
			step "$1: $_end was not told"
		fi
		step "$_end: $(krping_get $_end result)"
		check "$1: $_end is removed" krping remove $_end
	done
	if [ "$TRANSPORT" = rxe ]; then
		# Its QP of the CM receives nothing more once it had no route for
		# a packet, as for the DREQ of the end whose link was away.
		need del_rdma rxe 1
		need add_rdma rxe 1
	fi
	need krping server name=s addr=$IP1
	need listening 7174
	need krping client name=c device=$DEV0 addr=$IP1 count=5 verify=1
	check_session c "$1: it serves again" 5
	krping remove c
	krping remove s
}

# told <words>: one of the two hears of it while the network is away
told()
{
	check "$1: one end is told" wait_until "ended c || ended s" 60
}

step "link down"
begin
need ip link set $NET1 down
told "link down"
need ip link set $NET1 up
need routes_back
finish "link down"

# Shorter than rxe's retries, but what it has to send while there is no route is an
# error at once; siw gives up all connections of the interface.
step "link down and up again"
begin
need ip link set $NET1 down
need ip link set $NET1 up
need routes_back
before=$(krping_pings c)
check "link down, shortly: the pings go on, or one end is told" \
	wait_until "krping_flows c $((before + 20)) || ended c || ended s" 60
if ended c || ended s; then
	step "one end was told"
	finish "link down, shortly"
else
	krping stop c
	check "link down, shortly: the client stops" krping_done c 60
	check_eq "link down, shortly: well, and nothing is lost" \
		"$(krping_result c) $(krping_lost c)" '0 0'
	krping remove c
	krping remove s
fi

step "the address is removed"
begin
need ip addr del $IP1/24 dev $NET1
told "no address"
if krping client name=x device=$DEV0 addr=$IP1 timeout=5000000; then
	check "a connect to it ends" krping_done x 60
	check "with an error" test "$(krping_result x)" != 0
	krping remove x
fi
check "nobody opens it any more" \
	sh -c "! echo server name=y addr=$IP1 >$RPING/control 2>/dev/null"
need ip addr add $IP1/24 dev $NET1
need routes_back
finish "no address"
