# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# What scenarios are written with. See Documentation/testing.rst. A scenario
# starts with  . /lib/kdapl/lib.sh

# The two ends. Both are in one network namespace, and packets between them
# still cross the wire; setup_veth() says how and why.
export IP0=10.0.0.1 IP1=10.0.0.2 IP0_6=fd00::1 IP1_6=fd00::2
export NET0=veth0 NET1=veth1
export TRANSPORT="${TRANSPORT:-rxe}"
export DEV0="${TRANSPORT}0" DEV1="${TRANSPORT}1"

# busybox's shell prefers its own applets to programs of the same name.
ip()
{
	/bin/ip "$@"
}

tc()
{
	/bin/tc "$@"
}

# A kernel that has all built in comes without modules.
modprobe()
{
	[ ! -d /lib/modules ] || /sbin/modprobe "$@"
}

#
# Results
#

# Each line on this channel reaches the host, which counts. The copy is for
# the guest's own count, which has to be the same in the end.
report()
{
	echo "$*" >>/tmp/results
	echo "$*" >/tmp/reported
	echo "$*" >/dev/ttyS1
}

ok()
{
	echo "ok - $1"
	report "ok $1"
}

not_ok()
{
	echo "not ok - $1: ${2:-}"
	report "not_ok $1 # ${2:-no reason given}"
	# For the exit status of the script: see the end of run_scenario() in agent.sh.
	: >/tmp/failed
}

skip()
{
	echo "skip - $1: ${2:-}"
	report "skip $1 # ${2:-no reason given}"
}

# Only says where the scenario is: shown when it fails later.
step()
{
	echo "# $*"
}

# check <name> <command...>: ok if the command succeeds.
check()
{
	_name=$1
	shift
	if "$@"; then
		ok "$_name"
	else
		not_ok "$_name" "failed with status $?: $*"
	fi
}

# check_eq <name> <got> <wanted>
check_eq()
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got '$2', want '$3'"
	fi
}

# need <command...>: a precondition. Without it nothing that follows means
# anything, so the scenario ends here as a failure.
need()
{
	"$@" && return 0
	not_ok "precondition" "failed with status $?: $*"
	exit 1
}

# pause <seconds>: without a process. Starting one takes some 50 ms of a processor
# in emulation, so that a loop around sleep slows down what it waits for.
[ -p /tmp/pause ] || mkfifo /tmp/pause
pause()
{
	# shellcheck disable=SC3045 # this shell knows -t
	# Nobody writes there, so it ends when the time is up, and with status 1.
	read -r -t "$1" _ <>/tmp/pause || :
}

# hundredths: of a second, by the clock
hundredths()
{
	read -r _now _ </proc/uptime
	echo "${_now%.*}${_now#*.}"
}

# wait_until '<command>' <seconds>: polls until the command succeeds. By the
# clock: in emulation a look may take longer than the pause behind it.
wait_until()
{
	read -r _now _ </proc/uptime
	_until=$((${_now%.*} + $2 + 1))
	until eval "$1"; do
		read -r _now _ </proc/uptime
		[ "${_now%.*}" -lt "$_until" ] || return 1
		pause 0.05
	done
}

#
# How often
#

# The KASAN kernel is slower, so there some numbers are smaller.
debug_kernel()
{
	grep -q ' kasan_report$' /proc/kallsyms
}

# full: whether the kernel command line says kdapl.full=1: as often as it takes to
# tell a fault that is rare, however slow that is.
full()
{
	grep -q 'kdapl\.full=1' /proc/cmdline
}

# few: whether a number is to be smaller than that; kdapl.few=1 asks for it where the
# kernel is not slow.
few()
{
	{ debug_kernel && ! full; } ||
		grep -q 'kdapl\.few=1' /proc/cmdline
}

#
# Modules
#

# load <name> [parameters...]: a module of this project and what it depends on.
load()
{
	_module=$1
	shift
	[ ! -d "/sys/module/$_module" ] || return 0
	if [ ! -e "/modules/$_module.ko" ]; then
		echo "there is no module $_module"
		return 1
	fi
	while read -r _dep; do
		[ -n "$_dep" ] || continue
		[ ! -d "/sys/module/$_dep" ] || continue
		if [ -e "/modules/$_dep.ko" ]; then
			(load "$_dep") || return 1
		else
			modprobe "$_dep" || return 1
		fi
	done <"/modules/$_module.deps"
	# The created/destroyed messages are audited after each scenario.
	[ ! -e /sys/kernel/debug/dynamic_debug/control ] || set -- "$@" dyndbg=+p
	insmod "/modules/$_module.ko" "$@"
}

# unload <name>: waits a little for its users to go.
unload()
{
	[ -d "/sys/module/$1" ] || return 0
	wait_until "rmmod $1 2>/dev/null" "${2:-10}"
}

# unload_all: every module of this project, users before what they use.
unload_all()
{
	_round=0
	while [ $_round -lt 6 ]; do
		_stuck='' _gone=0
		for _file in /modules/*.ko; do
			_module=${_file##*/}
			_module=${_module%.ko}
			[ -d "/sys/module/$_module" ] || continue
			if rmmod "$_module" 2>/dev/null; then
				_gone=1
			else
				_stuck="$_stuck $_module"
			fi
		done
		[ -n "$_stuck" ] || return 0
		# Those that went may have been the users of the others.
		if [ $_gone = 0 ]; then
			_round=$((_round + 1))
			pause 0.3
		fi
	done
	echo "cannot be unloaded:$_stuck"
	return 1
}

# ours_loaded: names of the modules of this project that are loaded.
ours_loaded()
{
	for _file in /modules/*.ko; do
		_module=${_file##*/}
		_module=${_module%.ko}
		[ ! -d "/sys/module/$_module" ] || echo "$_module"
	done
}

#
# Topology
#

# Two interfaces on one wire:
#
#    veth0 10.0.0.1 fd00::1  ------------  veth1 10.0.0.2 fd00::2
#
# Network namespaces would be the obvious way to keep the kernel from talking
# to itself, but rxe of 6.1 sends and receives in the initial namespace only
# (rxe_find_route4() and its tunnel sockets use &init_net). So both ends stay
# there, and rules that come before the table of local addresses route what is
# for an address of one end through the other end:
#
# - "iif lo" is everything sent from here, by TCP as by rdma_cm;
# - "iif vethN" is how rdma_cm asks, for a request that came in on vethN, if the
#   way back leads through vethN; no packet ever has that form;
# - "oif vethN" is the same question in IPv6, and rxe's own route lookup.
setup_veth()
{
	modprobe -q veth 2>/dev/null
	# One process for each family: starting one is slow in emulation.
	ip -batch - <<-BATCH || return 1
		link add $NET0 type veth peer name $NET1
		addr add $IP0/24 dev $NET0
		addr add $IP1/24 dev $NET1
		addr add $IP0_6/64 dev $NET0 nodad
		addr add $IP1_6/64 dev $NET1 nodad
		link set $NET0 up
		link set $NET1 up
	BATCH
	for _sysctl in /proc/sys/net/ipv4/conf/*/accept_local; do
		echo 1 >"$_sysctl"
	done
	for _sysctl in /proc/sys/net/ipv4/conf/*/rp_filter; do
		echo 0 >"$_sysctl"
	done
	rules 4 add $IP0 $IP1 && rules 6 add $IP0_6 $IP1_6 || return 1
	wait_until "ping -c 1 -w 2 -I $IP0 $IP1 >/dev/null 2>&1" 10
}

# rules <4|6> <add|del> <address of end 0> <address of end 1> [last command of ip]:
# local addresses come after these rules, and back.
rules()
{
	if [ "$2" = add ]; then
		_routes="route add $4 dev $NET0 table 100
			route add $3 dev $NET1 table 101"
		_local=1000 _gone=0 _force=
	else
		_routes=
		_local=0 _gone=1000 _force=-force
	fi
	# shellcheck disable=SC2086 # it may be nothing
	ip "-$1" $_force -batch - <<-BATCH
		$_routes
		rule $2 pref 10 iif lo to $4 lookup 100
		rule $2 pref 10 iif $NET0 to $4 lookup 100
		rule $2 pref 10 oif $NET0 to $4 lookup 100
		rule $2 pref 10 iif lo to $3 lookup 101
		rule $2 pref 10 iif $NET1 to $3 lookup 101
		rule $2 pref 10 oif $NET1 to $3 lookup 101
		rule add pref $_local lookup local
		rule del pref $_gone lookup local
		${5-}
	BATCH
}

teardown_veth()
{
	[ -d /sys/class/net/$NET0 ] || return 0
	rules 6 del $IP0_6 $IP1_6
	rules 4 del $IP0 $IP1 "link del $NET0"
}

# setup_transport <rxe|siw>: a device of that kind on each end.
setup_transport()
{
	modprobe -q ib_uverbs 2>/dev/null
	modprobe -q rdma_ucm 2>/dev/null
	modprobe -q "rdma_$1" 2>/dev/null
	if [ "$1" = siw ]; then
		modprobe -q siw 2>/dev/null
	fi
	rdma -b - <<-BATCH || return 1
		link add ${1}0 type $1 netdev $NET0
		link add ${1}1 type $1 netdev $NET1
	BATCH
	rdma_usable "$1" 0 && rdma_usable "$1" 1
}

# add_rdma <rxe|siw> <0|1>; del_rdma likewise, also for a device in use.
add_rdma()
{
	rdma link add "$1$2" type "$1" netdev "veth$2" && rdma_usable "$1" "$2"
}

# Once its address is in the GID table.
rdma_usable()
{
	case $1 in
	rxe) wait_until "grep -qs ':ffff:0a00:000$(($2 + 1))' /sys/class/infiniband/rxe$2/ports/1/gids/*" 10 ;;
	esac
}

del_rdma()
{
	rdma link delete "$1$2"
}

# nothing_set_up: whether there is nothing to tear down.
nothing_set_up()
{
	for _dev in /sys/class/infiniband/rxe* /sys/class/infiniband/siw* /sys/class/net/$NET0; do
		[ ! -e "$_dev" ] || return 1
	done
}

teardown_transport()
{
	for _dev in /sys/class/infiniband/rxe* /sys/class/infiniband/siw*; do
		[ ! -e "$_dev" ] || echo "link delete ${_dev##*/}"
	done >/tmp/devices
	[ ! -s /tmp/devices ] || rdma -f -b /tmp/devices
}

#
# Trouble on the wire. Each takes an end (0 or 1) and acts on what that end sends.
#

# netem <end> <arguments of tc netem...>, e.g. netem 0 loss 10% delay 5ms
netem()
{
	_end=$1
	shift
	modprobe -q sch_netem 2>/dev/null
	tc qdisc replace dev "veth$_end" root netem "$@"
}

# netem_cm <end> <arguments of tc netem...>: the same for CM packets alone
# (RoCE v2: UDP port 4791, destination QP 1), over IPv4 and IPv6.
netem_cm()
{
	_end=$1
	shift
	modprobe -q -a sch_netem sch_prio cls_u32 2>/dev/null
	tc qdisc replace dev "veth$_end" root handle 1: prio bands 3 \
		priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 &&
	tc qdisc replace dev "veth$_end" parent 1:1 handle 10: netem "$@" &&
	tc filter add dev "veth$_end" parent 1: protocol ip prio 1 u32 \
		match ip protocol 17 0xff match u16 4791 0xffff at 22 \
		match u32 0x00000001 0x00ffffff at 32 flowid 1:1 &&
	tc filter add dev "veth$_end" parent 1: protocol ipv6 prio 2 u32 \
		match u8 17 0xff at 6 match u16 4791 0xffff at 42 \
		match u32 0x00000001 0x00ffffff at 52 flowid 1:1
}

netem_off()
{
	tc qdisc del dev "veth$1" root 2>/dev/null || true
}

#
# The kernel log
#

# dmesg_mark: from here on. dmesg_since prints what came after the last mark.
dmesg_mark()
{
	read -r _now _ </proc/uptime
	_mark="kdapl-mark-$_now-$$"
	echo "$_mark" >/tmp/mark
	echo "$_mark" >/dev/kmsg
}

# For agent.sh: the log of an item begins here. What came before is cleared away,
# or each look at the log would go through all of it.
log_begin()
{
	dmesg -c >/dev/null
	dmesg_mark
	echo "$_mark" >/tmp/log.from
	[ ! -e /tmp/log.overrun ] || rm /tmp/log.overrun
	: >/tmp/log
	echo "audit 0 0" >/tmp/audit
}

# log_checkpoint: takes what the kernel has said since the last time, so that it
# may be overwritten; a scenario that makes it say much calls this often enough.
# All but the lines of kdapl's objects is kept for the check at the end; of these
# the sums are, in the first line of /tmp/audit, and which of them are there: lines
# "left <kind> <id> <number>".
log_checkpoint()
{
	read -r _now _ </proc/uptime
	_to="kdapl-checkpoint-$_now-$$"
	read -r _from </tmp/log.from
	echo "$_to" >/dev/kmsg
	dmesg | awk -v from="$_from" -v to="$_to" '
		FILENAME == "/tmp/audit" {
			if ($1 == "audit") {
				created = $2
				destroyed = $3
			} else {
				n[$2 " " $3] = $4
			}
			next
		}
		index($0, to) { end = 1; exit }
		!found { found = index($0, from); next }
		/ kdapl: [^ ]+ [^ ]+ (created|destroyed)/ {
			sub(/^.* kdapl: /, "")
			n[$1 " " $2] += $3 ~ /^created/ ? 1 : -1
			$3 ~ /^created/ ? created++ : destroyed++
			next
		}
		{ print >>"/tmp/log" }
		END {
			if (!(found && end))
				print "overrun" >"/tmp/log.overrun"
			print "audit", created + 0, destroyed + 0 >"/tmp/audit"
			for (o in n)
				if (n[o])
					print "left", o, n[o] >"/tmp/audit"
		}' /tmp/audit -
	echo "$_to" >/tmp/log.from
}

# Fails if the mark itself has been overwritten: then the log is incomplete.
# shellcheck disable=SC2120 # the argument is for agent.sh
dmesg_since()
{
	read -r _mark <"${1:-/tmp/mark}"
	dmesg | awk -v mark="$_mark" '
		found { print }
		index($0, mark) { found = 1 }
		END { exit !found }'
}

# dmesg_has <extended regular expression>: since the last mark.
dmesg_has()
{
	# shellcheck disable=SC2119
	dmesg_since | grep -qE "$1"
}
