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

# report <session> <key>: the words behind a key of a session's report
krping_get()
{
	sed -n "s/^$2 //p" "$RPING/$1" 2>/dev/null
}

# The errno in a session's report, 0 for success.
krping_result()
{
	_result=$(krping_get "$1" result)
	echo "${_result%% *}"
}

krping_pings()
{
	_pings=$(krping_get "$1" pings)
	echo "${_pings%% *}"
}

krping_verified()
{
	_pings=$(krping_get "$1" pings)
	echo "${_pings##* }"
}

# krping_busy <session> [pings]: they flow; if not, what there is is shown
krping_busy()
{
	wait_until "[ \"\$(krping_pings $1)\" -ge ${2:-1} ]" 60 && return
	cat $RPING/*
	return 1
}

# krping_done <session> <seconds>: waits for its end
krping_done()
{
	wait_until "grep -q '^state done' $RPING/$1" "${2:-60}"
}

# The sum of what the EVDs of a session lost; "?" if there is no such number.
krping_lost()
{
	awk '/^evd / { n++; lost += $NF } END { print n ? lost : "?" }' "$RPING/$1"
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
	if [ "$(krping_result "$1")" != 0 ] || [ "$(krping_lost "$1")" != 0 ] ||
	   { [ -n "$3" ] && [ "$(krping_pings "$1")" != "$3" ]; } ||
	   [ "$(krping_pings "$1")" != "$(krping_verified "$1")" ]; then
		not_ok "$2" "$(tr '\n' ';' <"$RPING/$1")"
		return 1
	fi
	ok "$2"
}
