# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# long: yes
# timeout: 600
# load: none
#
# Everything at random from four threads, with devices deleted under them: what is
# owed to them comes, what they gave back is gone, and nobody hangs. The sum of
# what the threads, kdapl's own messages, debugfs and kmemleak know is one line.
#
# kdapl.seconds= and kdapl.seed= on the kernel command line (make stress).

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

seconds=$(stress_word seconds 120)
seed=$(stress_word seed 0)
[ "$TRANSPORT" = rxe ] || seconds=$(stress_word seconds 30)

# siw's connect waits for TCP.
echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
# It could hide a wake-up that was lost.
need load kdapl watchdog_ms=0
need load kdapl_vmtest

step "what is counted can be other than 0"
# fault <fault> <what it must count as> <seconds>
fault()
{
	echo "stress fault=$1 seconds=$3 stuck=5000 owed=4000 transport=$TRANSPORT near=$IP0 far=$IP1" >$VMTEST/run
	check "fault '$1' is counted as $2" test "$(stress_number "$2")" -gt 0
	step "$(sed -n 's/^# \(\(lost\|leaked\|stuck\|wrong\): .*\)/\1/p' $VMTEST/report | head -n 3)"
}
# It is the same program: on the kernel with KASAN over the faster transport alone.
if [ "$TRANSPORT" = rxe ] || ! few; then
	fault event lost 90
	fault wakeup lost 90
	fault leak leaked 2
	fault stuck stuck 10
fi

step "the run"
stress seconds="$seconds" more=180 seed="$seed"
lost=$(stress_number lost)
leaked=$(stress_number leaked)
stuck=$(stress_number stuck)

# What else there may be: in debugfs, in the log, in memory.
left=$(find /sys/kernel/debug/kdapl -mindepth 2 -name eps | wc -l)
check_eq "no IA is left in debugfs" "$left" 0
leaked=$((leaked + left))
log_checkpoint
left=$(grep -c '^left' /tmp/audit)
check_eq "all $(sed -n 's/^audit \([0-9]*\) .*/\1/p' /tmp/audit) objects that were created were destroyed" "$left" 0
leaked=$((leaked + left))
if ! unload kdapl_vmtest 30 || ! unload kdapl 30; then
	not_ok "the modules can be unloaded" "$(cat /sys/module/kdapl*/refcnt)"
	stuck=$((stuck + 1))
fi
if [ -e /sys/kernel/debug/kmemleak ]; then
	# A scan does not see what is younger than some seconds.
	sleep 5
	echo scan >/sys/kernel/debug/kmemleak
	echo scan >/sys/kernel/debug/kmemleak
	left=$(grep -c '^unreferenced' /sys/kernel/debug/kmemleak)
	check_eq "kmemleak finds nothing" "$left" 0
	leaked=$((leaked + left))
fi
echo "lost $lost leaked $leaked stuck $stuck"
