# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 400
# load: kdapl kdapl_rping
#
# Connects that come to nothing end in time, with an event that says why.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

ECONNREFUSED=-111 ETIMEDOUT=-110 EHOSTUNREACH=-113

# fails <words> <seconds> <errno> <client arguments...>
fails()
{
	_words=$1 _seconds=$2 _errno=$3
	shift 3
	if ! krping client name=c device=$DEV0 "$@"; then
		not_ok "$_words" "cannot start"
		return
	fi
	check "$_words: ends" krping_done c "$_seconds"
	check_eq "$_words: errno" "$(krping_result c)" "$_errno"
	check_eq "$_words: lost" "$(krping_lost c)" 0
	krping remove c
}

fails "nobody listens" 10 $ECONNREFUSED addr=$IP1 port=7199

if [ "$TRANSPORT" = rxe ]; then
	need netem_cm 0 loss 100%
	fails "no answer within the timeout" 10 $ETIMEDOUT addr=$IP1 timeout=2000000
	netem_off 0

	# The answer is lost, so the server has accepted when the client gives up.
	need krping server name=s addr=$IP1 persist=1
	need listening 7174
	need netem_cm 1 loss 100%
	fails "the answer is lost" 10 $ETIMEDOUT addr=$IP1 timeout=2000000
	netem_off 1
	need krping client name=c device=$DEV0 addr=$IP1 count=3 verify=1
	check_session c "the next client is served" 3
	krping remove c
	krping remove s
else
	# siw's connect waits for TCP and cannot be interrupted: three seconds.
	echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
	need netem 0 loss 100%
	fails "no answer within the timeout" 15 $ETIMEDOUT addr=$IP1 timeout=2000000
	netem_off 0

	# They connect to its TCP port and close, all before siw has a chance to look.
	need krping server name=s addr=$IP1 persist=1
	need listening 7174
	good=0
	for _ in $(seq 50); do
		chrt -f 50 nc $IP1 7174 -e true && good=$((good + 1))
	done
	check_eq "50 peers that say nothing find a listener" $good 50
	need krping client name=c device=$DEV0 addr=$IP1 count=3 verify=1
	check_session c "who listens outlives them" 3
	krping remove c
	krping remove s
fi

need ip route add unreachable 10.9.9.0/24
fails "no route" 15 $EHOSTUNREACH addr=10.9.9.9 timeout=8000000
ip route del unreachable 10.9.9.0/24

step "stop a connect that is under way"
need netem 0 loss 100%
need krping client name=c device=$DEV0 addr=$IP1 timeout=100000000
need wait_until "krping_is c state connecting" 10
need krping stop c
check "it ends at once" krping_done c 5
check_eq "without an error" "$(krping_result c)" 0
krping remove c
netem_off 0
