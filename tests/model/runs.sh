# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The configurations, sourced by check.sh: run NAME EXPECTED FLAGS.
# EXPECTED is ok or the error that a broken twin has to end with.

run() {
	printf '%s\t%s\t%s\n' "$1" "$2" "$3"
}

# as pan words them
lost='assertion violated  !(lost_wakeup)'
overlap='assertion violated (incall==0)'
after='assertion violated  !(down)'
unarmed='assertion violated ((policy==0)||armed)'
uaf='assertion violated  !(freed)'
deadlock='invalid end state'

classes="REPORT_ARM REPORT_NOARM NEVER_FIRE NEVER_EDGE REPORT_EMPTY INSIDE LATE SYNC"

# What is shipped is the default: RUN=CFIRST, two CPUs
for class in $classes; do
	for pol in NOTIFY SINGLE; do
		both="-DCLASS=$class -DPOL=$pol"
		# every kind, and all that a second thread may do
		all="-DKN -DKS -DKI -DNCOMP=2"
		# these have callbacks of their own that find nothing
		case $class in
		REPORT_EMPTY) all="-DKN -DKI -DNCOMP=2 -DSTRAY=0 -DT2=T2_ENABLE" ;;
		NEVER_FIRE | INSIDE | LATE | SYNC) all+=" -DSTRAY=0" ;;
		esac
		run "$class-$pol" ok "$both $all"
		run "$class-$pol-three" ok \
			"$both -DKN -DNCOMP=3 -DSTRAY=0 -DLIES=1 -DT2=T2_ENABLE"
		# internal completions never cease: it is served all the same
		run "$class-$pol-live" ok \
			"$both -DLIVE=1 -DKN -DENDLESS -DNCOMP=1 -DSTRAY=0 -DLIES=1 -DT2=T2_DISABLE"
	done
done

for pol in NOTIFY SINGLE; do
	p="-DPOL=$pol"
	run "endless-$pol" ok \
		"$p -DKN -DENDLESS -DNCOMP=1 -DSTRAY=0 -DT2=T2_ENABLE"
	run "endless-late-$pol" ok \
		"$p -DCLASS=LATE -DKN -DENDLESS -DNCOMP=1 -DSTRAY=0 -DT2=T2_TEARDOWN"
	run "teardown-$pol-live" ok \
		"$p -DLIVE=2 -DKN -DENDLESS -DNCOMP=1 -DSTRAY=0 -DT2=T2_TEARDOWN"
	# room in the budget for an upcall after the upcall
	run "budget-two-$pol" ok \
		"$p -DBUDGET=2 -DKN -DKI -DNCOMP=3 -DSTRAY=0 -DT2=T2_ENABLE"
	run "posted-$pol" ok "$p -DKN -DKR -DNCOMP=2"
	run "three-cpus-$pol" ok "$p -DNCPU=3 -DKN -DNCOMP=2 -DT2=T2_ENABLE"
	run "two-producers-$pol" ok \
		"$p -DCLASS=LATE -DNPROD=2 -DKN -DNCOMP=2 -DSTRAY=0 -DT2=T2_ENABLE"
	run "work-$pol" ok "$p -DRUN=WORK -DKN -DKS -DKI -DNCOMP=2"
	run "work-$pol-live" ok \
		"$p -DLIVE=1 -DRUN=WORK -DKN -DENDLESS -DNCOMP=1 -DSTRAY=0 -DT2=T2_DISABLE"
	run "any-$pol" ok "$p -DANY -DKN -DKI -DKR -DNCOMP=2 -DSTRAY=0"
	run "free-$pol" ok "$p -DFREE -DKN -DKR -DNCOMP=2 -DT2=T2_TEARDOWN"
	run "free-work-$pol" ok \
		"$p -DFREE -DRUN=WORK -DKN -DKR -DNCOMP=2 -DT2=T2_TEARDOWN"
	run "watchdog-$pol" ok \
		"$p -DWATCHDOG -DKN -DKI -DNCOMP=2 -DSTRAY=0 -DT2=T2_ENABLE"
	lossy="$p -DCLASS=LOSSY -DWATCHDOG -DKN -DKI -DNCOMP=2 -DSTRAY=0"
	run "watchdog-lossy-$pol" ok "$lossy -DT2=T2_ENABLE"
	run "watchdog-lossy-$pol-live" ok "$lossy -DLIVE=1 -DT2=T2_DISABLE"
	# a bit that is held over the run, and TRIGGERED
	run "held-$pol" ok "$p -DRUN=IRQPOLL -DKN -DKS -DKI -DNCOMP=2"
	run "held-$pol-live" ok \
		"$p -DLIVE=1 -DRUN=IRQPOLL -DKN -DENDLESS -DNCOMP=1 -DSTRAY=0 -DT2=T2_DISABLE"
done

many="-DUSE_MANY -DPOL=MANY -DKN"
two="$many -DNCOMP=2"
for pol in NOTIFY SINGLE; do
	run "many-to-$pol" ok "$two -DPOL2=$pol -DMAXRUN=1 -DT2=T2_SWITCH"
	run "many-to-$pol-three" ok \
		"$many -DBIG -DNCOMP=3 -DNCPU=3 -DPOL2=$pol -DSTRAY=0 -DT2=T2_SWITCH"
done
run many-from-SINGLE ok \
	"-DUSE_MANY -DPOL=SINGLE -DPOL2=MANY -DKN -DNCOMP=2 -DT2=T2_SWITCH"
run many-late ok "$two -DCLASS=LATE -DMAXRUN=1 -DSTRAY=0 -DT2=T2_SWITCH"
run many-endless-live ok \
	"$many -DLIVE=1 -DENDLESS -DNCOMP=1 -DSTRAY=0 -DT2=T2_DISABLE"
run many-teardown ok "$two -DT2=T2_TEARDOWN"
run many-free ok "$two -DFREE -DT2=T2_TEARDOWN"
run many-work ok "$two -DRUN=WORK -DNCPU=2 -DT2=T2_SWITCH+T2_TEARDOWN"

# broken twins
n2="-DKN -DNCOMP=2"
ki="-DKN -DKI -DNCOMP=2"
held="-DRUN=IRQPOLL"
run twin-no-look-after-notify "$lost" "$n2 -DT_NOMISSED -DT_NOPOLL"
run twin-no-extra-poll "$lost" "-DCLASS=NEVER_EDGE $n2 -DT_NOPOLL"
run twin-no-extra-poll-fire "$lost" "-DCLASS=NEVER_FIRE $n2 -DT_NOPOLL"
run twin-late-callback-ignored "$lost" "-DCLASS=LATE $n2 -DT_LATE"
run twin-arm-unlocked "$lost" "$n2 -DT_UNLOCKED"
run twin-no-look-after-upcall "$lost" "$n2 -DT_NOAGAIN"
run twin-no-look-after-upcall-single "$unarmed" "-DPOL=SINGLE $n2 -DT_NOAGAIN"
run twin-no-look-after-upcall-many "$lost" \
	"$two -DPOL2=SINGLE -DT2=T2_SWITCH -DT_NOAGAIN"
run twin-no-triggered "$lost" "$held $n2 -DT_NOTRIG"
run twin-no-triggered-live "acceptance cycle" \
	"-DLIVE=1 $held $ki -DSTRAY=0 -DT2=T2_DISABLE -DT_NOTRIG"
run twin-triggered-after-schedule "$lost" "$held $n2 -DT_SCHEDFIRST"
run twin-triggered-before-complete "$lost" "$held $n2 -DT_TESTFIRST"
run twin-teardown-not-sticky "$after" "$n2 -DT_STICKY -DT2=T2_TEARDOWN"
run twin-teardown-no-wait "$overlap" "$n2 -DT_NOWAIT -DT2=T2_TEARDOWN"
run twin-no-yielded "$lost" "$ki -DT_NOYIELDED"
run twin-no-yielded-teardown-live "acceptance cycle" \
	"-DLIVE=2 $ki -DSTRAY=0 -DT2=T2_TEARDOWN -DT_NOYIELDED"
run twin-over-budget-leaves "$lost" "-DKN -DKI -DNCOMP=3 -DT_DROP"
run twin-reported-is-armed "$lost" "-DCLASS=REPORT_EMPTY $n2 -DT_TRUST"
run twin-handler-takes-lock "$deadlock" "-DCLASS=INSIDE $n2 -DT_HANDLER_LOCKS"
run twin-pending-ignored-many "$lost" \
	"$held -DNCPU=2 $two -DPOL2=SINGLE -DMAXRUN=1 -DT2=T2_SWITCH -DT_PENDING"
run twin-pending-forgotten-by-leaver "$lost" \
	"$held $many -DBIG -DNCOMP=3 -DNCPU=3 -DPOL2=SINGLE -DSTRAY=0 -DT2=T2_SWITCH -DT_FORGET -DREVERSE"
run twin-single-beside-many "$overlap" "$two -DPOL2=SINGLE -DT2=T2_SWITCH -DT_OVERLAP"
run twin-free-without-rcu "$uaf" \
	"-DFREE -DKN -DKR -DNCOMP=2 -DT2=T2_TEARDOWN -DT_NORCU"
run twin-lost-callback-no-watchdog "$lost" "-DCLASS=LOSSY $ki"
run twin-watchdog-sees-cq-only "$lost" \
	"-DCLASS=LOSSY -DWATCHDOG $ki -DSTRAY=0 -DT2=T2_ENABLE -DT_CQONLY"

#
# close.pml
#

g="-DSIDE0=C_GRACEFUL" both="-DSIDE0=C_GRACEFUL -DSIDE1=C_GRACEFUL"
run close-one ok "$g -DNREQ=2 -DPOLITE"
run close-both ok "$both -DNREQ=2 -DPOLITE"
run close-abrupt ok "-DSIDE0=C_ABRUPT"
run close-abrupt-graceful ok "-DSIDE0=C_ABRUPT -DSIDE1=C_GRACEFUL"
run close-abrupt-both ok "-DSIDE0=C_ABRUPT -DSIDE1=C_ABRUPT"
run close-timers ok "$g -DTIMERS"
run close-timers-both ok "$both -DTIMERS -DNREQ=0"
run close-lost ok "$g -DLOSS"
run close-lost-timers ok "$g -DLOSS -DTIMERS"
run close-lost-timers-both ok "$both -DLOSS -DTIMERS -DNREQ=0"
run close-stuck ok "$g -DSTUCK=2 -DTIMERS -DNREQ=1"
run close-free ok "-DSIDE0=C_FREE -DSIDE1=C_GRACEFUL+C_FREE -DNREQ=0"
run close-free-abrupt ok "-DSIDE0=C_ABRUPT+C_FREE"
run close-free-timers ok "-DSIDE0=C_GRACEFUL+C_FREE -DTIMERS -DNREQ=0"
run close-free-stuck ok "-DSIDE0=C_FREE -DSTUCK=1 -DTIMERS"
run close-removal ok "$g -DREMOVE"
run close-removal-alone ok "-DSIDE0=C_NONE -DREMOVE"
run close-removal-free ok "-DSIDE0=C_GRACEFUL+C_FREE -DREMOVE -DLOSS -DTIMERS -DNREQ=0"

run twin-close-error-first 'assertion violated ((rude' "$g -DT_ERROR_FIRST"
run twin-close-no-grace 'assertion violated (out[i]<=held[i])' "$g -DPOLITE -DT_NO_GRACE"
run twin-close-crossing-unanswered 'assertion violated ((cm[0]!=3)' \
	"$both -DT_CROSSING_UNANSWERED"
run twin-close-unanswered-later 'assertion violated ((cm[0]!=3)' \
	"$both -DTIMERS -DT_UNANSWERED_LATER"
run twin-close-two-terminals 'assertion violated (terminal[i]==1)' \
	"$g -DREMOVE -DT_TWO_TERMINALS"
run twin-close-terminal-early 'assertion violated (out[i]==0)' "$g -DT_TERMINAL_EARLY"
run twin-close-no-flush-timeout "$deadlock" "$g -DSTUCK=2"
run twin-close-free-no-flush-timeout "$deadlock" "-DSIDE0=C_FREE -DSTUCK=1"
run twin-close-without-cause 'assertion violated may_err[i]' "$g -DT_NO_CAUSE"
