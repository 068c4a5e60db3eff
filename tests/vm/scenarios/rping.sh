# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Sourced by scenarios that drive kdapl_rping, the consumer in the kernel.

RPING=/sys/kernel/debug/kdapl_rping

# krping <command...>: a line for the control file, e.g. client addr=... name=a
krping()
{
	echo "$*" >$RPING/control
}

# krping_get <session> <key>: the words behind a key of a session's report
krping_get()
{
	while read -r _key _value; do
		[ "$_key" != "$2" ] || { echo "$_value"; return; }
	done 2>/dev/null <"$RPING/$1"
}

# krping_read <session>: what its report says, without a process; nothing, if there
# is none. $r_result is the errno, 0 for success; $r_lost the sum of its EVDs, "?" if
# it has none.
krping_read()
{
	r_state='' r_result='' r_connections='' r_pings='' r_verified='' r_lost='?'
	while read -r _key _value; do
		case $_key in
		state) r_state=$_value ;;
		result) r_result=${_value%% *} ;;
		connections) r_connections=$_value ;;
		pings) r_pings=${_value%% *} r_verified=${_value##* } ;;
		evd) r_lost=$((${r_lost#\?} + ${_value##* })) ;;
		esac
	done 2>/dev/null <"$RPING/$1"
}

krping_result()
{
	krping_read "$1"
	echo "$r_result"
}

krping_pings()
{
	krping_read "$1"
	echo "$r_pings"
}

krping_verified()
{
	krping_read "$1"
	echo "$r_verified"
}

krping_lost()
{
	krping_read "$1"
	echo "$r_lost"
}

# krping_is <session> <key> <value>
krping_is()
{
	krping_read "$1"
	eval "[ \"\$r_$2\" = \"$3\" ]"
}

# krping_flows <session> [pings]
krping_flows()
{
	krping_read "$1"
	[ "${r_pings:-0}" -ge "${2:-1}" ]
}

# krping_busy <session> [pings]: they flow; if not, what there is is shown
krping_busy()
{
	wait_until "krping_flows $1 ${2:-1}" 60 && return
	cat $RPING/*
	return 1
}

# krping_done <session> <seconds>: waits for its end
krping_done()
{
	wait_until "krping_is $1 state done" "${2:-60}"
}

# listening <port>: somebody listens there
listening()
{
	wait_until "rdma resource show cm_id | grep -q 'LISTEN.*:$1\>'" "${2:-20}"
}

# check_session <session> <words> <pings>: it ended well, and lost nothing
check_session()
{
	if ! krping_done "$1" 90; then
		not_ok "$2" "not done: $(tr '\n' ';' <"$RPING/$1")"
		return 1
	fi
	krping_read "$1"
	if [ "$r_result" != 0 ] || [ "$r_lost" != 0 ] || [ "$r_pings" != "${3:-$r_pings}" ] ||
	   [ "$r_pings" != "$r_verified" ]; then
		not_ok "$2" "$(tr '\n' ';' <"$RPING/$1")"
		return 1
	fi
	ok "$2"
}
