# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 400
# setup: net
# load: kdapl kdapl_rping
#
# An IA belongs to the network namespace that has its address: who opens it from
# another one does not find it, and it stays as long as the IA is open. rxe of 6.1
# has no traffic outside of the initial namespace, so pings between two of them are
# siw's part.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

# "ip netns exec" covers /sys, and debugfs with it.
mkdir -p /tmp/debug
mount -t debugfs debugfs /tmp/debug
far="ip netns exec far"
far_krping()
{
	$far sh -c "echo $* >/tmp/debug/kdapl_rping/control" 2>/tmp/error
}

need teardown_veth
need ip netns add far
need ip link add $NET0 type veth peer name $NET1 netns far
need ip addr add $IP0/24 dev $NET0
need ip link set $NET0 up
need $far ip link set lo up
need $far ip addr add $IP1/24 dev $NET1
need $far ip link set $NET1 up
need wait_until "ping -c 1 -w 2 $IP1 >/dev/null 2>&1" 10
modprobe -q -a ib_uverbs rdma_ucm "rdma_$TRANSPORT" siw 2>/dev/null
need rdma link add "${TRANSPORT}0" type "$TRANSPORT" netdev $NET0
need $far rdma link add "${TRANSPORT}1" type "$TRANSPORT" netdev $NET1
sleep 1

check "our own address is an IA here" krping server name=near addr=$IP0
krping remove near
krping server name=x addr=$IP1 2>/tmp/error
check "the far address is none here" grep -q "No such device" /tmp/error
far_krping server name=x addr=$IP0
check "our address is none there" grep -q "No such device" /tmp/error
if far_krping server name=far addr=$IP1; then
	ok "the far address is an IA there"
else
	not_ok "the far address is an IA there" "$(cat /tmp/error)"
fi
krping remove far

if [ "$TRANSPORT" = siw ]; then
	$far rping -s -a $IP1 >/tmp/rping.log 2>&1 &
	# A listener of siw is one of TCP.
	need wait_until "$far grep -q ':1C06 .* 0A ' /proc/net/tcp" 20
	need krping client name=c device=${TRANSPORT}0 addr=$IP1 count=20 verify=1
	check_session c "pings between two namespaces" 20
	krping remove c
	# It makes the sockets of a thread of the kernel in the initial namespace: no
	# server of ours can be in another one.
	$far rdma link delete "${TRANSPORT}1"
	umount /tmp/debug
	ip netns del far
	exit
fi
skip "pings between two namespaces" "rxe of 6.1 has no traffic outside of the initial one"

step "the namespace loses its name, with an IA open in it"
if far_krping server name=far addr=$IP1; then
	ok "the far address is an IA again"
else
	not_ok "the far address is an IA again" "$(cat /tmp/error)"
fi
need listening 7174
umount /tmp/debug
need ip netns del far
sleep 2
check "it is still there" test -d /sys/class/net/$NET0
check "and so is its server" listening 7174
krping remove far
check "it goes with its last IA" wait_until "[ ! -d /sys/class/net/$NET0 ]" 30
check "and its device with it" wait_until "[ ! -d /sys/class/infiniband/${TRANSPORT}1 ]" 10
