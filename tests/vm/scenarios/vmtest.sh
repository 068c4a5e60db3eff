# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Sourced by scenarios that have tests of kdapl_vmtest run in the kernel.

VMTEST=/sys/kernel/debug/kdapl_vmtest

# The KASAN kernel is slower, so there some numbers are smaller.
debug_kernel()
{
	grep -q ' kasan_report$' /proc/kallsyms
}

# vmtest <test> [key=value...]: runs it, and reports its results as ours
vmtest()
{
	if ! echo "$* near=$IP0 far=$IP1" >$VMTEST/run; then
		not_ok "$*" "cannot be run"
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
