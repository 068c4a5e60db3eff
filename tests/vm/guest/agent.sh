#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# agent.sh run|test: does what the host asks for over ttyS1, and reports there.
#
#    guest says                       host says
#    hello
#    ready                            kunit <module>
#                                     scenario <name> <transport>
#                                     leaks
#                                     bye
#    begin <item> <timeout>
#    ok <name>
#    not_ok <name> # <reason>
#    skip <name> # <reason>
#    log <a line that explains the last failure>
#    end <item>
#    audit <objects created> <destroyed>
#    dirty                            (the kernel can no longer be trusted: reboot)
#    tick                             (still alive)
#    bye <passed> <failed> <skipped>
#    exit <status>                    (mode run)

. /lib/kdapl/lib.sh

# Anything of this kind in the kernel log is a failure.
trouble='WARNING:|BUG:|BUG |KASAN|KCSAN|UBSAN|Oops|general protection|Call Trace'
trouble="$trouble|INFO: task .* blocked|INFO: trying to register|soft lockup|hard LOCKUP"
trouble="$trouble|possible (circular|recursive|irq)|inconsistent lock state|[Ss]uspicious RCU"
trouble="$trouble|DEBUG_LOCKS_WARN_ON|turning off the locking|refcount_t:|ODEBUG|DMA-API:"
trouble="$trouble|rcu.*(stall|starved)|workqueue lockup|bad: scheduling|list_(add|del) corruption"
trouble="$trouble|unregister_netdevice: waiting|kmemleak: .*(disabled|suspected)"

kcsan=/sys/kernel/debug/kcsan

log_lines()
{
	sed 's/^/log /' >/dev/ttyS1
}

fail_item()
{
	report "not_ok $1 # $2"
}

# Sets $now, in whole seconds; without a process, which is slow in emulation.
look_at_clock()
{
	read -r now _ </proc/uptime
	now=${now%.*}
}

# header <file> <key> <default>: a line "# key: value" of the comment in front, as
# $value.
header()
{
	value=$3
	while read -r _hash _key _value && [ "$_hash" = "#" ] || [ "$_hash" = "#!/bin/sh" ]; do
		if [ "$_key" = "$2:" ]; then
			value=$_value
			break
		fi
	done <"$1"
}

# What the kernel said while an item ran.
check_log()
{
	item=$1
	allow=$2

	log_checkpoint
	if [ -e /tmp/log.overrun ]; then
		fail_item "$item" "the kernel log overran: parts of it were not checked"
		return
	fi
	# The lines a scenario provokes on purpose, and no others.
	checked=/tmp/log
	if [ -n "$allow" ]; then
		checked=/tmp/log.checked
		grep -vE "$allow" /tmp/log >$checked
	fi
	if grep -qE "$trouble" $checked; then
		fail_item "$item" "kernel log: $(grep -m 1 -E "$trouble" $checked | sed 's/^\[[^]]*\] *//')"
		first=$(grep -n -m 1 -E "$trouble" $checked | cut -d : -f 1)
		tail -n "+$((first > 3 ? first - 3 : 1))" $checked | head -n 70 | log_lines
		# Lockdep is off after its first report.
		dirty=1
	fi

	# Every object created has been destroyed.
	{
		read -r sums
		read -r left
	} </tmp/audit
	report "$sums"
	if [ -n "$left" ]; then
		fail_item "$item" "$(grep -c '^left' /tmp/audit) objects with unequal numbers of created and destroyed"
		grep '^left' /tmp/audit | head -n 20 | log_lines
	fi
}

# Runs a command in a session of its own, for so many seconds at most; its
# output is the log of the item. Status 124 if it had to be killed.
limited()
{
	_limit=$1
	shift
	setsid "$@" &
	_pid=$!
	look_at_clock
	_end=$((now + _limit))
	_step=0.02
	while kill -0 $_pid 2>/dev/null; do
		look_at_clock
		if [ "$now" -ge $_end ]; then
			show_blocked
			kill -KILL -$_pid 2>/dev/null
			sleep 2
			if kill -0 $_pid 2>/dev/null; then
				# Sleeping in the kernel for good.
				dirty=1
				hung=1
				return 124
			fi
			wait $_pid
			return 124
		fi
		# Many are done at once.
		pause $_step
		case $_step in
		0.02) _step=0.05 ;;
		0.05) _step=0.1 ;;
		*) _step=0.2 ;;
		esac
	done
	wait $_pid
	_rc=$?
	# What it left in the background.
	kill -KILL -$_pid 2>/dev/null
	return $_rc
}

show_blocked()
{
	for _task in /proc/[0-9]*; do
		_state=$(sed -n 's/^State:\t\(.\).*/\1/p' "$_task/status" 2>/dev/null)
		[ "$_state" = D ] || continue
		echo "blocked: ${_task#/proc/} $(cat "$_task/comm")"
		cat "$_task/stack"
	done 2>/dev/null | tee /tmp/blocked
}

clean_up()
{
	# One that a scenario has taken away.
	for _file in /sys/devices/system/cpu/cpu*/online; do
		read -r _online <"$_file"
		[ "$_online" = 1 ] || echo 1 >"$_file"
	done 2>/dev/null
	if ! unload_all >/tmp/unload; then
		fail_item "$1" "$(cat /tmp/unload)"
		dirty=1
	fi
	if ! nothing_set_up; then
		limited 120 sh -c '. /lib/kdapl/lib.sh; teardown_transport; teardown_veth'
		if [ $? = 124 ]; then
			fail_item "$1" "removing the RDMA devices hangs"
			head -n 40 /tmp/blocked | log_lines
			dirty=1
		fi
	fi
}

run_scenario()
{
	name=$1
	export TRANSPORT=$2
	item="$name/$2"
	file=/scenarios/$name.sh
	header "$file" timeout 120
	timeout=$((value + more))
	report "begin $item $timeout"
	echo "=== scenario $item"
	[ ! -e /tmp/failed ] || rm /tmp/failed
	log_begin
	: >/tmp/reported

	if prepare "$file"; then
		limited "$timeout" sh "$file"
		rc=$?
		pause 0.1
		if [ $rc = 124 ]; then
			fail_item "$item" "not done after $timeout seconds"
			head -n 40 /tmp/blocked | log_lines
		elif [ $rc != 0 ] && [ ! -e /tmp/failed ]; then
			fail_item "$item" "ended with status $rc"
		elif [ ! -s /tmp/reported ]; then
			fail_item "$item" "reported no result"
		fi
	fi
	clean_up "$item"
	header "$file" allow-log ""
	check_log "$item" "$value"
	report "end $item"
}

prepare()
{
	header "$1" setup veth
	setup=$value
	case $setup in
	none) ;;
	net) setup_veth ;;
	veth) setup_veth && setup_transport "$TRANSPORT" ;;
	*) echo "no such setup: $setup"; false ;;
	esac
	# shellcheck disable=SC2181 # of the whole case
	if [ $? != 0 ]; then
		fail_item "$item" "the set-up '$setup' failed"
		return 1
	fi
	header "$1" load kdapl
	for module in $value; do
		[ "$module" != none ] || continue
		if ! load "$module"; then
			fail_item "$item" "$module cannot be loaded"
			return 1
		fi
	done
}

run_kunit()
{
	item=kunit/$1
	timeout=$((600 + more))
	report "begin $item $timeout"
	echo "=== $item"
	log_begin
	# The watchdog would deliver what a suite wants to see stranded.
	load kdapl watchdog_ms=0 || fail_item "$item" "kdapl cannot be loaded"
	# Or what a suite lets fail would look like trouble in the log.
	for _file in /sys/kernel/debug/kdapl/fail_*/verbose; do
		[ ! -e "$_file" ] || echo 0 >"$_file"
	done
	if [ -e /modules/fake_hca.ko ]; then
		full && set -- "$1" full=1
		load fake_hca $2 || fail_item "$item" "fake_hca cannot be loaded"
	fi
	limited $timeout sh -c ". /lib/kdapl/lib.sh; load $1"
	rc=$?
	if [ $rc = 124 ]; then
		fail_item "$item" "not done after $timeout seconds"
		head -n 40 /tmp/blocked | log_lines
	elif [ $rc != 0 ]; then
		fail_item "$item" "cannot be loaded (status $rc)"
	fi
	dmesg_since /tmp/log.from | sed 's/^\[[^]]*\] //' >/tmp/ktap
	cat /tmp/ktap
	awk -f /lib/kdapl/ktap.awk -v item="$item" /tmp/ktap | tee -a /tmp/results >/dev/ttyS1
	clean_up "$item"
	check_log "$item" ""
	report "end $item"
}

# Without watchpoints there are no reports. Modules that count their lines have none.
check_races()
{
	[ -e $kcsan ] || return 0
	! grep -q kdapl.coverage=1 /proc/cmdline || return 0
	grep -q '^setup_watchpoints: [1-9]' $kcsan ||
		fail_item leaks "KCSAN has watched nothing: $(head -n 3 $kcsan | tr '\n' ' ')"
}

# Twice: an object is reported only by a scan some seconds after its birth.
scan_leaks()
{
	leaks=/sys/kernel/debug/kmemleak
	report "begin leaks 900"
	check_races
	if [ ! -e $leaks ]; then
		grep -q kdapl.leaks=no /proc/cmdline ||
			fail_item leaks "this kernel has no kmemleak"
		report "end leaks"
		return
	fi
	sleep 5
	if ! echo scan >$leaks; then
		fail_item leaks "kmemleak refuses to scan"
	fi
	sleep 1
	echo scan >$leaks
	cat $leaks >/tmp/leaks
	if [ -s /tmp/leaks ]; then
		fail_item leaks "$(grep -c '^unreferenced' /tmp/leaks) unreferenced objects"
		head -n 100 /tmp/leaks | log_lines
	fi
	report "end leaks"
}

# Which lines ran, over ttyS3: what the kernel has counted since it booted, also
# for modules that are no longer loaded.
send_coverage()
{
	[ -n "$(find /sys/kernel/debug/gcov -name '*.gcda' 2>/dev/null | head -n 1)" ] || return 0
	rm -rf /tmp/coverage
	# The files have no size that tar could go by.
	(cd /sys/kernel/debug/gcov && find . -name '*.gcda') | while read -r _file; do
		mkdir -p "/tmp/coverage/${_file%/*}"
		cat "/sys/kernel/debug/gcov/$_file" >"/tmp/coverage/$_file"
	done
	stty -F /dev/ttyS3 raw -echo
	tar -c -C /tmp coverage | gzip >/dev/ttyS3
}

case $1 in
run)
	rc=0
	setup_veth && setup_transport rxe && load kdapl || rc=1
	if [ $rc = 0 ]; then
		sh /scenarios/run.sh
		rc=$?
	fi
	sync
	sleep 0.2
	echo "exit $rc" >/dev/ttyS1
	;;
test)
	exec 3<>/dev/ttyS1
	dirty=0
	hung=0
	# For a run that is to take longer than its scenario says.
	more=$(sed -n 's/.*kdapl\.more=\([0-9]*\).*/\1/p' /proc/cmdline)
	more=${more:-0}
	: >/tmp/results
	# It is off until somebody says so.
	[ ! -e $kcsan ] || echo on >$kcsan
	while :; do
		pause 5
		echo tick
	done >/dev/ttyS1 &
	report hello
	while :; do
		if [ $dirty = 1 ]; then
			# What ran before is still owed its scan, if the kernel
			# can give it.
			[ $hung = 1 ] || scan_leaks
			report dirty
			break
		fi
		report ready
		read -r command arg1 arg2 <&3 || break
		case $command in
		kunit) run_kunit "$arg1" ;;
		scenario) run_scenario "$arg1" "$arg2" ;;
		leaks) scan_leaks ;;
		bye) break ;;
		*) report "log unknown command '$command'" ;;
		esac
	done
	send_coverage
	report "bye $(grep -c '^ok ' /tmp/results) $(grep -c '^not_ok ' /tmp/results) $(grep -c '^skip ' /tmp/results)"
	;;
esac
