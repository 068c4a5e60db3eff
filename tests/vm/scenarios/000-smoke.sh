# transports: rxe siw
# cpus: 1
# timeout: 60
# setup: veth
#
# The harness itself: both ends are there, reach each other, and the module is
# loaded. Every other scenario relies on this.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

check "kdapl is loaded" test -d /sys/module/kdapl
check "$DEV0 exists" test -e "/sys/class/infiniband/$DEV0"
check "$DEV1 exists" test -e "/sys/class/infiniband/$DEV1"

# Traffic between the ends goes over the wire, not through the loopback device.
before=$(cat /sys/class/net/$NET0/statistics/tx_packets)
check "IPv4 from end 0 to end 1" ping -c 2 -w 5 -I $IP0 $IP1
check "IPv6 from end 1 to end 0" ping -6 -c 2 -w 5 -I $IP1_6 $IP0_6
after=$(cat /sys/class/net/$NET0/statistics/tx_packets)
check "packets crossed the wire" test $((after - before)) -ge 4

rping -s -a $IP1 -C 3 -S 64 &
server=$!
need listening 7174
check "user-space rping over $TRANSPORT" rping -c -a $IP1 -I $IP0 -C 3 -S 64 -v
wait $server
