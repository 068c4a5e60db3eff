# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
# timeout: 300
# load: kdapl kdapl_rping
#
# kdapl's own points of the kernel's fault injection, over the real CM: whatever
# fails first, second or third, both consumers come to an end and can be removed,
# nothing is left (each scenario is audited for that), and then it works.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

FAULTS=/sys/kernel/debug/kdapl

# arm <point> <n>: the n-th call that comes to the point fails; 0: none
arm()
{
	echo 0 >"$FAULTS/fail_$1/probability"
	[ "$2" != 0 ] || return 0
	echo 0 >"$FAULTS/fail_$1/verbose"
	echo "$2" >"$FAULTS/fail_$1/space"
	echo 1 >"$FAULTS/fail_$1/times"
	echo 100 >"$FAULTS/fail_$1/probability"
}

# round: both ends; whether the client came to its end, or could not begin
round()
{
	krping server name=s addr=$IP1 verify=1 2>/dev/null || return 0
	listening 7174 5 || return 0
	krping client name=c device=$DEV0 addr=$IP1 count=3 verify=1 2>/dev/null || return 0
	krping_done c 60
}

need test -d $FAULTS/fail_alloc
hits=0
for point in alloc create modify post; do
	for n in 1 2 3; do
		arm $point $n
		check "fail_$point $n: the client comes to an end" round
		hit=$(cat $FAULTS/fail_$point/times)
		arm $point 0
		[ "$hit" != 0 ] || hits=$((hits + 1))
		krping remove c 2>/dev/null
		krping remove s 2>/dev/null
	done
done
# iWARP's QP is moved by its driver: there fail_modify has the moves to INIT alone,
# one for each of two EPs.
want=12
[ "$TRANSPORT" = rxe ] || want=11
check_eq "failures that came to pass" $hits $want
need krping server name=s addr=$IP1 verify=1
need listening 7174
need krping client name=c device=$DEV0 addr=$IP1 count=10 verify=1
check_session c "and then it works" 10
krping remove c
krping remove s
