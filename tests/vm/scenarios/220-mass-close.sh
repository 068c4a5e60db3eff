# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 600
# load: kdapl kdapl_vmtest
#
# Many endpoints that end together: every end comes, once and last, nothing stays
# behind, no thread is made for each, and an endpoint takes no longer when there
# are many. One kind has a shared receive queue on one side, and of one the device of
# a side is removed. Fewer of them on the kernel with KASAN; 1,000 on Debian's, and on
# that one, over siw too, with
#
#	make test ONLY=220-mass-close KERNEL_ARGS='kdapl.full=1 kdapl.more=3000'
#
# And a device is deleted whose consumer sleeps for ever, with everything open, requests
# posted, and traffic coming in. The removal waits for nobody, and the consumer is told.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

KDAPL=/sys/kernel/debug/kdapl
few=50 many=500
if few; then
	few=8 many=32
	[ "$TRANSPORT" = rxe ] || few=4 many=16
fi

# endpoints: of all IAs, by debugfs
endpoints()
{
	cat $KDAPL/*/eps | grep -cv '^ep'
}

# per_endpoint <what>: the microseconds that the last report says
per_endpoint()
{
	sed -n "s/^# $1: .* per endpoint us \([0-9]*\)\$/\1/p" $VMTEST/report
}

# round <kind> <pairs>: sets create, connect, ended and freed, in microseconds
round()
{
	how=$1 srq=0
	[ "$1" != srq ] || how=graceful srq=1
	vmtest mass_open "pairs=$2" srq=$srq
	create=$(per_endpoint create) connect=$(per_endpoint connect)
	check_eq "$1, $2 pairs: endpoints in debugfs" "$(endpoints)" $((2 * $2))
	[ "$1" != removed ] || check "$1, $2 pairs: rdma link delete" del_rdma $TRANSPORT 1
	vmtest mass_end "kind=$how"
	ended=$(per_endpoint end) freed=$(per_endpoint free)
	check_eq "$1, $2 pairs: endpoints left in debugfs" "$(endpoints)" 0
	vmtest mass_close
	check_eq "$1, $2 pairs: IAs left in debugfs" "$(ls -d $KDAPL/*/eps 2>/dev/null)" ''
	[ "$1" != removed ] || need add_rdma $TRANSPORT 1
}

# add <few|many>: to the sums of all kinds, since a single time is noisy, and to the
# most of a kind, in which the machine may have stood still
add()
{
	for what in create connect ended freed; do
		eval "took=\$$what most=\${${what}_most:-0}"
		[ -n "$took" ] || not_ok "$kind: the time to $what" "not reported"
		eval "${what}_$1=\$((\${${what}_$1:-0} + \${took:-0}))"
		[ "$1" != many ] || [ "${took:-0}" -le "$most" ] || eval "${what}_most=$took"
	done
}

kinds=0
for kind in graceful abrupt peer freed closed removed srq; do
	step "$kind"
	round $kind $few
	add few
	round $kind $many
	add many
	kinds=$((kinds + 1))
done

# Emulated machines are noisy, so with a margin, and without the worst.
for what in create connect ended freed; do
	eval "few_us=\$((${what}_few / kinds)) many_us=\$(((${what}_many - ${what}_most) / (kinds - 1)))"
	check "$what: $many_us us an endpoint of many, $few_us of few" \
		test "$many_us" -le $((3 * few_us + 300))
done

step "a consumer that sleeps"
# A message that nobody receives waits; iWARP ends the connection for it.
sends=2
[ "$TRANSPORT" = rxe ] || sends=0
# The kernel with KASAN, beside other machines, takes 1 to 4 s.
limit=5
! debug_kernel || limit=10
# None of these is what ends it. But siw does not always flush the end that stays, whose
# free waits for the last of them: not so long that it counts as hung.
for param in disconnect_timeout_ms drep_grace_ms flush_timeout_ms; do
	echo $((2 * limit))000 >/sys/module/kdapl/parameters/$param
done
vmtest asleep_open sends=$sends
begin=$(hundredths)
check "rdma link delete" del_rdma $TRANSPORT 0
took=$(($(hundredths) - begin))
check "asleep: the removal takes less than $limit s (${took}0 ms)" test $took -lt ${limit}00
vmtest asleep_end
need add_rdma $TRANSPORT 0
