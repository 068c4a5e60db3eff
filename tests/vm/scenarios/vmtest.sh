# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Sourced by scenarios that have tests of kdapl_vmtest run in the kernel.

VMTEST=/sys/kernel/debug/kdapl_vmtest

# vmtest <test> [key=value...]: runs it, and reports its results as ours
vmtest()
{
	if ! echo "$* near=$IP0 far=$IP1" >$VMTEST/run; then
		not_ok "$*" "cannot be run, or has more results than its report has room for"
		return 1
	fi
	while read -r _word _text; do
		case $_word in
		ok) ok "$_text" ;;
		not_ok) not_ok "${_text%% # *}" "${_text#* # }" ;;
		*) step "$_text" ;;
		esac
	done <<-END
		$(cat $VMTEST/report)
	END
}

TRACE=/sys/kernel/debug/tracing

# ids_begin: from here on the ids of rdma_cm are counted, as it traces them
ids_begin()
{
	need test -d $TRACE/events/rdma_cma/cm_id_attach
	echo >$TRACE/trace
	echo 1 >$TRACE/events/rdma_cma/cm_id_attach/enable
	echo 1 >$TRACE/events/rdma_cma/cm_id_destroy/enable
}

# ids_end <words> <number>: there were so many at least, and they are gone
ids_end()
{
	echo 0 >$TRACE/events/rdma_cma/cm_id_attach/enable
	echo 0 >$TRACE/events/rdma_cma/cm_id_destroy/enable
	_made=$(grep -c ' cm_id_attach: ' $TRACE/trace)
	check "$1: ids that were made: $_made of $2 or more" test "$_made" -ge "$2"
	check_eq "$1: ids that were destroyed" "$(grep -c ' cm_id_destroy: ' $TRACE/trace)" "$_made"
}

# stress_word <key> <default>: from the kernel command line, kdapl.<key>=
stress_word()
{
	_value=$(sed -n "s/.*kdapl\.$1=\([0-9]*\).*/\1/p" /proc/cmdline)
	echo "${_value:-$2}"
}

# stress_number <lost|leaked|stuck|wrong>: from the report of the last run
stress_number()
{
	awk -v key="$1" '
		/^# lost / {
			for (i = 2; i < NF; i++)
				if ($i == key)
					print $(i + 1)
		}' $VMTEST/report
}

# stress [key=value...]: the test of that name, with everything that is in debugfs
# being read meanwhile, and the kernel log before it overruns
stress()
{
	vmtest stress "$@" transport="$TRANSPORT" &
	_pid=$!
	while kill -0 $_pid 2>/dev/null; do
		cat /sys/kernel/debug/kdapl/*/* >/dev/null 2>&1
		log_checkpoint
		sleep 3
	done
	wait $_pid
}
