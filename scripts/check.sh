#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh: everything that can be said about the sources without running
# them. The last line is "N passed, N failed" (", N skipped").
# ONLY=word runs just the checks whose name contains it.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$top"

# Files that may have more than 500 lines, and why.
#   (none)
long_files=()

# What checkpatch is not asked for:
#   FILE_PATH_CHANGES  asks for an entry in MAINTAINERS
#   EMBEDDED_FILENAME  this tree does not rename files often enough to mind
#   CONFIG_DESCRIPTION there is no Kconfig
checkpatch_ignore=FILE_PATH_CHANGES,CONFIG_DESCRIPTION
# TRACE_EVENT() is a language of its own that checkpatch takes for C.
checkpatch_ignore_trace=OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,COMPLEX_MACRO,MACRO_ARG_REUSE
checkpatch_ignore_trace+=,SPACING,LONG_LINE,TRAILING_SEMICOLON,MULTISTATEMENT_MACRO_USE_DO_WHILE

"$top/scripts/setup" build check kernel

work=$build/check
mkdir -p "$work"
kdir=${KDIR:-$(scripts/kdir)}
[[ -n $kdir ]] || die "There are no kernel headers; install them with: apt-get install linux-headers-amd64"
passed=0 failed=0 skipped=0

# verdict <name> <file with complaints>: ok if that is empty.
verdict()
{
	if [[ -s $2 ]]; then
		printf 'not ok - %s: %d complaints\n' "$1" "$(wc -l <"$2")"
		head -n 25 "$2" | sed 's/^/        /'
		failed=$((failed + 1))
	else
		printf 'ok - %s\n' "$1"
		passed=$((passed + 1))
	fi
}

skip()
{
	printf 'skip - %s: %s\n' "$1" "$2"
	skipped=$((skipped + 1))
}

wanted()
{
	[[ -z ${ONLY:-} || $1 == *"$ONLY"* ]]
}

# forbid <name> <extended regular expression> <file>...: lines that match.
forbid()
{
	local name=$1 pattern=$2

	shift 2
	wanted "$name" || return 0
	if (($# == 0)); then
		echo "there are no files to look at" >"$work/complaints"
	else
		grep -nHE -e "$pattern" "$@" >"$work/complaints" || true
	fi
	verdict "$name" "$work/complaints"
}

sources()
{
	find "$@" -type f -name '*.[ch]' -not -name '*.mod.c' | sort
}

mapfile -t all < <(sources drivers include tests)
mapfile -t product < <(sources drivers include)
mapfile -t public < <(sources include/dat)
mapfile -t consumers < <(sources drivers/ulp)
mapfile -t unconditional < <(printf '%s\n' "${all[@]}" | grep -vx drivers/kdapl/compat.h)

#
# Compilers
#

# complaints <log> <tree>: what was said about our files, by their own names.
complaints()
{
	grep -E '(warning|error|WARNING|ERROR|Warning|Error)' "$1" | grep -F -e "$2/" -e 'modpost' |
		sed "s|$2/||g" | sort -u
}

# built <name> <log> <tree> <status of the build>: the verdict, which is also that
# sparse looked at it.
built()
{
	{
		complaints "$2" "$3" || true
		(($4 == 0)) || echo "the build failed (log: $2)"
		grep -q '^  CHECK ' "$2" || echo "sparse did not run"
	} >"$work/complaints"
	verdict "$1" "$work/complaints"
}

# The tree of make bench, where a file with a warning makes no object (strict): what
# is there needs no second look but sparse's. In .ci/run it is that of make, too.
compile_release()
{
	local name='release build: W=1 and sparse' log=$work/check-release.log rc=0

	wanted "$name" || return 0
	step 1200 "$log" "" scripts/build-modules release "$kdir" "${strict[@]}" C=2 \
		CONFIG_KDAPL_BENCH=m 2>"$work/err" || rc=1
	built "$name" "$log" "$top" $rc
}

# The same with the tree of make test.
compile_test()
{
	local name='test build: W=1 and sparse' log=$work/check-test.log rc=0
	local tree=$build/kunit/src kernel

	wanted "$name" || return 0
	kernel=$(find "$cache" -maxdepth 2 -path '*/kernel-kunit-*/.complete' -printf '%T@ %h\n' 2>/dev/null |
		sort -n | tail -n 1 | cut -d ' ' -f 2)
	if [[ -z $kernel ]]; then
		skip "$name" "the test kernel is not built yet (make test)"
		return
	fi
	step 1200 "$log" "" scripts/build-modules kunit "$kernel" "${strict[@]}" C=2 \
		CONFIG_KDAPL_KUNIT_TEST=y CONFIG_KDAPL_VM_TEST=y 2>"$work/err" || rc=1
	built "$name" "$log" "$tree" $rc
}

# Every public header, alone and twice, as a translation unit of its own.
compile_headers()
{
	local name='public headers compile alone' dir=$work/headers header unit

	wanted "$name" || return 0
	rm -rf "$dir"
	mkdir -p "$dir"
	{
		echo "ccflags-y := -I$top/include -Werror"
		echo "obj-m := headers.o"
		echo "headers-y := main.o"
	} >"$dir/Kbuild"
	printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\n' >"$dir/main.c"
	for header in "${public[@]}"; do
		unit=$(basename "$header" .h)_alone
		printf '#include <%s>\n#include <%s>\n' "${header#include/}" "${header#include/}" >"$dir/$unit.c"
		echo "headers-y += $unit.o" >>"$dir/Kbuild"
	done
	: >"$work/complaints"
	((${#public[@]})) || echo "there are no public headers" >"$work/complaints"
	(use_ccache; make -C "$kdir" M="$dir" -k -j"$jobs" W=1 modules) >"$work/headers.log" 2>&1 ||
		{ grep -E 'error|Error' "$work/headers.log" | head -n 30 || true; } >>"$work/complaints"
	verdict "$name" "$work/complaints"
}

# 32 bits: pointers and dma_addr_t of different sizes, 64-bit divisions. Only
# compiled, never linked to a kernel, so undefined symbols say nothing, but
# those of libgcc do.
compile_i386()
{
	local name='i386' source key kernel tree=$build/i386/src

	wanted "$name" || return 0
	source=$(scripts/linux-source)
	key=$({ cat tests/vm/config/{kernel,i386}.config; basename "$source"; gcc -dumpfullversion; } | sha256sum | cut -c 1-16)
	kernel=$cache/i386-$key
	prepare_i386()
	{
		mkdir -p "$kernel" &&
		grep -v '^CONFIG_64BIT' tests/vm/config/kernel.config >"$kernel/fragment" &&
		cat tests/vm/config/i386.config >>"$kernel/fragment" &&
		make -C "$source" O="$kernel" ARCH=i386 KCONFIG_ALLCONFIG="$kernel/fragment" allnoconfig &&
		make -C "$source" O="$kernel" ARCH=i386 -j"$jobs" modules_prepare
	}
	if [[ ! -e $kernel/.complete ]]; then
		say "preparing a kernel tree for i386"
		step 1200 "$work/i386-kernel.log" "" prepare_i386 || { failed=$((failed + 1)); return 0; }
		touch "$kernel/.complete"
	fi
	rm -rf "${tree:?}"
	: >"$work/complaints"
	step 1200 "$work/i386.log" "" scripts/build-modules i386 "$kernel" ARCH=i386 W=1 \
		KBUILD_MODPOST_WARN=1 2>"$work/err" || echo "the build failed (log: $work/i386.log)" >"$work/complaints"
	{
		complaints "$work/i386.log" "$tree" |
			grep -v 'modpost: .* undefined!\|modpost: suppressed\|Symbol version dump' || true
		# modpost stops naming undefined symbols after the first few.
		find "$tree" -name '*.o' -exec nm -A -u {} + | sed "s|$tree/||" |
			grep -E ' __(u?div|u?mod|u?divmod)di[34]$' || true
	} >>"$work/complaints"
	verdict "$name: W=1" "$work/complaints"
}

#
# Exports
#

check_exports()
{
	local name='exports' symvers=$top/Module.symvers

	wanted "$name" || return 0
	: >"$work/complaints"
	if [[ ! -s $symvers ]]; then
		echo "the release build left no Module.symvers" >"$work/complaints"
	else
		awk -F '\t' '
			$3 !~ /kdapl$/ { print $2 ": exported by " $3 }
			$2 !~ /^dat_/ { print $2 ": not a name of the API" }
			$4 != "EXPORT_SYMBOL_GPL" { print $2 ": exported as " $4 }
			$5 != "" { print $2 ": in the namespace " $5 }
		' "$symvers" >"$work/complaints"
		cut -f 2 "$symvers" | sort >"$work/exported"
		sed -nE 's/^(int|void|bool|const char \*|u32|u64|size_t|ssize_t|unsigned int|(const )?struct [a-z_]+ \*?)[ *]*(dat_[a-z0-9_]+)\(.*/\3/p' \
			"${public[@]}" | sort -u >"$work/declared"
		comm -23 "$work/declared" "$work/exported" | sed 's/$/: declared in include\/dat but not exported/' >>"$work/complaints"
		comm -13 "$work/declared" "$work/exported" | sed 's/$/: exported but not declared in include\/dat/' >>"$work/complaints"
	fi
	verdict "$name" "$work/complaints"
}

# Documentation/api.rst against exports, headers, tests and errno.c.
check_api()
{
	local name='table of the API' symvers=$top/Module.symvers

	wanted "$name" || return 0
	if [[ -s $symvers ]]; then
		scripts/check-api "$symvers" >"$work/complaints" 2>&1 || echo "check-api failed" >>"$work/complaints"
	else
		echo "the release build left no Module.symvers" >"$work/complaints"
	fi
	verdict "$name" "$work/complaints"
}

#
# Scripts of the kernel
#

# checkpatch <more to ignore> <file>...: some at a time, as it takes long to begin.
checkpatch()
{
	local ignore=$checkpatch_ignore${1:+,$1} source

	shift
	source=$(scripts/linux-source)
	printf '%s\0' "$@" | xargs -0 -n 60 -P "$jobs" perl "$source/scripts/checkpatch.pl" --no-tree --strict \
		--terse --show-types --no-summary --ignore "$ignore" -f 2>&1 || true
}

check_style()
{
	local name=checkpatch file plain=()

	wanted "$name" || return 0
	for file in "${all[@]}"; do
		case $file in
		*/trace.h | */compat.h | */kdapl/errno.c) ;;
		*) plain+=("$file") ;;
		esac
	done
	{
		checkpatch '' "${plain[@]}"
		checkpatch "$checkpatch_ignore_trace" drivers/kdapl/trace.h
		checkpatch LINUX_VERSION_CODE drivers/kdapl/compat.h
		# The table of names has every errno of the API.
		checkpatch ENOSYS drivers/kdapl/errno.c
	} >"$work/complaints"
	verdict "$name" "$work/complaints"
}

check_kernel_doc()
{
	local name=kernel-doc source

	wanted "$name" || return 0
	source=$(scripts/linux-source)
	if "$source/scripts/kernel-doc" -none -Werror "${product[@]}" >"$work/kernel-doc.log" 2>&1; then
		: >"$work/complaints"
	else
		cp "$work/kernel-doc.log" "$work/complaints"
		[[ -s $work/complaints ]] || echo "kernel-doc failed" >"$work/complaints"
	fi
	verdict "$name" "$work/complaints"
}

check_shell()
{
	local name=shellcheck file

	wanted "$name" || return 0
	if ! command -v shellcheck >/dev/null; then
		skip "$name" "it is not installed"
		return
	fi
	: >"$work/complaints"
	# 1091: files that are found elsewhere at run time; 2154, 2034: variables
	# from, and for, such a file; 2086, in scenarios: lib.sh's names and
	# addresses are single words.
	for file in scripts/* .ci/run tests/vm/* tests/vm/guest/*.sh tests/vm/guest/init tests/vm/scenarios/*.sh \
		tests/model/*.sh; do
		[[ -f $file ]] || continue
		case $file in
		tests/vm/guest/* | tests/vm/scenarios/*) set -- -s dash -e SC2086 ;;
		*)
			head -n 3 "$file" | grep -qE '^#!.*sh|shell=' || continue
			set --
			;;
		esac
		shellcheck -f gcc -e SC1091,SC2154,SC2034 "$@" "$file" >>"$work/complaints" || true
	done
	verdict "$name" "$work/complaints"
}

check_length()
{
	local name='no file over 500 lines' file lines

	wanted "$name" || return 0
	: >"$work/complaints"
	for file in "${all[@]}" scripts/* tests/vm/*; do
		[[ -f $file ]] || continue
		[[ " ${long_files[*]:-} " != *" $file "* ]] || continue
		lines=$(wc -l <"$file")
		((lines <= 500)) || echo "$file: $lines lines" >>"$work/complaints"
	done
	verdict "$name" "$work/complaints"
}

check_version() {
	local name='one version' version

	wanted "$name" || return 0
	version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
	: >"$work/complaints"
	[[ -n $version ]] || echo "dkms.conf has no PACKAGE_VERSION" >"$work/complaints"
	grep -rnE 'MODULE_VERSION\("' drivers --include '*.[ch]' | grep -vF "\"$version\"" >>"$work/complaints" || true
	verdict "$name" "$work/complaints"
}

say "checking $(basename "$top") against $(basename "$kdir")"
compile_release
compile_test
compile_i386
compile_headers
check_exports
check_api
check_style
check_kernel_doc
forbid 'public headers are free of conditions and typedefs' \
	'LINUX_VERSION_CODE|KERNEL_VERSION|\<CONFIG_|IS_ENABLED|^[[:space:]]*typedef' "${public[@]}"
forbid 'version checks are in compat.h only' 'LINUX_VERSION_CODE|KERNEL_VERSION\(' "${unconditional[@]}"
forbid 'no BUG()' '\<BUG(_ON)?\(' "${all[@]}"
forbid 'no typedef in drivers' '^[[:space:]]*typedef' "${product[@]}"
forbid 'exports are GPL only' '\<EXPORT_SYMBOL(_NS)?\(' "${all[@]}"
forbid 'consumers use include/dat only' '#include[[:space:]]+[<"](rdma/|.*kdapl/)' "${consumers[@]}"
# Written so that this line does not find itself.
mapfile -t text < <(find Makefile Kbuild README.md drivers include tests scripts Documentation .ci -type f \
	\( -name '*.[ch]' -o -name Kbuild -o -name Makefile -o -name '*.sh' -o -name '*.rst' -o -name '*.md' \
	-o -name '*.pml' -o -path 'scripts/*' -o -path '.ci/*' \) -not -name '*.mod.c' 2>/dev/null | sort)
forbid 'nothing left to do' '\<(TO[D]O|FIX[M]E|X[X]X)\>' "${text[@]}"
check_length
check_version
check_shell

((passed + failed)) || echo "nothing ran${ONLY:+ (ONLY=$ONLY)}"
echo "$passed passed, $failed failed$( ((!skipped)) || echo ", $skipped skipped")"
((failed == 0 && passed > 0))
