#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs every configuration of the models: check.sh [name pattern]
# A line a run; the last line is "N passed, N failed".
#
# A configuration passes only on an exhaustive search without an error; a
# twin only on the very error it was broken for.  A build that fails, a
# search cut short by depth, memory or time is a failure for both.  All of them
# together have ten minutes of processor time: more is a failure, too, so that
# what is added is paid for elsewhere.
#
# MODEL_CACHE=1: a search is the same whenever model, flags, tools and this script
# are, and so is what it finds. One that has passed is not made again, and its line
# says so.

set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/../../scripts/lib.sh"
use_ccache
out=${BUILD:-$build}/model
jobs=${JOBS:-2}
limit=${MODEL_TIMEOUT:-180}
memlim=${MODEL_MEM_MB:-4000}
total_limit=${MODEL_TOTAL:-600}

# one_run name expected flags
one_run() {
	local name=$1 expect=$2 flags=$3
	local dir=$out/$name live=-DSAFETY opt=-O1 args='' t0 t1 rc states why=
	local model=arm known line

	# words are meant to be split in $flags, $live and $args
	# shellcheck disable=SC2086
	{
	# a small search is over sooner than the optimiser
	case $name in
	twin-* | *-live | *-three) opt=-O0 ;;
	esac
	case $flags in
	*-DBIG*) opt=-O1 ;;
	esac
	case $name in
	close-* | twin-close-*) model=close ;;
	esac
	case $flags in
	*-DLIVE*) live=-DNFAIR=3 args='-a -f' ;;
	# the other order of the search, where it is the shorter way to an error
	*-DREVERSE*) live='-DSAFETY -DREVERSE -DT_REVERSE' ;;
	esac
	known=$cache/model/$({
		cat "$here/$model.pml" "$here/check.sh"
		echo "$name $expect $flags $opt $live $args"
		spin -V
		gcc -dumpfullversion
	} | sha256sum | cut -c 1-32)
	if [ -n "${MODEL_CACHE:-}" ] && [ -s "$known" ]; then
		printf '%s (as before)\n' "$(cat "$known")"
		touch "$known"
		return
	fi
	rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" || exit 1
	t0=$(date +%s%N)
	if ! spin $flags -a "$here/$model.pml" >spin.log 2>&1; then
		why="spin refused it, see $dir/spin.log"
	# in two steps: the cache of compiled objects takes no whole programs
	elif ! { gcc $opt -w $live -DMEMLIM="$memlim" -c pan.c &&
			gcc -o pan pan.o; } >gcc.log 2>&1; then
		why="pan.c does not build, see $dir/gcc.log"
	else
		# processor time, so that a busy machine is no failure
		(
			ulimit -t "$limit"
			exec timeout $((limit * 10)) \
				./pan -m100000 -w23 $args >pan.log 2>&1
		)
		rc=$?
		states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
		if [ $rc -eq 124 ] || [ $rc -ge 128 ]; then
			why="not done after $limit s"
		elif grep -qE 'max search depth|MEMLIM|out of memory|Bit statespace' pan.log; then
			why="search cut short, see $dir/pan.log"
		elif [ "$expect" = ok ]; then
			{ [ $rc -eq 0 ] && grep -q 'errors: 0$' pan.log &&
			  grep -q '^Full statespace search' pan.log &&
			  ! grep -q 'Search not completed' pan.log; } ||
				why="$(grep -m1 '^pan:1:' pan.log), see $dir"
		else
			grep -m1 '^pan:1:' pan.log | grep -qF -- "$expect" ||
				why="no \"$expect\" but: $(grep -m1 -E '^pan:1:|errors:' pan.log)"
		fi
	fi
	t1=$(date +%s%N)
	}
	[ -z "$why" ] && rm -f pan pan.? _spin_nvr.tmp
	line=$(printf '%-6s %-34s %9s states %4d s  %s\n' \
		"$([ -z "$why" ] && echo ok || echo FAILED)" "$name" \
		"${states:--}" $(((t1 - t0 + 500000000) / 1000000000)) \
		"${why:-$([ "$expect" = ok ] || echo "$expect")}")
	echo "$line"
	if [ -z "$why" ]; then
		mkdir -p "$cache/model"
		# whole, or not there
		echo "$line" >"$known.$$" && mv "$known.$$" "$known"
	fi
}

if [ "${1-}" = --one ]; then
	one_run "$2" "$3" "$4"
	exit 0
fi

list() {
	# shellcheck source=tests/model/runs.sh
	. "$here/runs.sh" | awk -F '\t' -v name="$1" '$1 ~ name'
}

# those that nothing asks for any more
[ ! -d "$cache/model" ] || find "$cache/model" -type f -mtime +30 -delete

mkdir -p "$out" && results=$(mktemp "$out/results.XXXXXX") || exit 1
trap 'rm -f "$results"' EXIT
list "${1-}" | tr '\t' '\n' |
	xargs -r -d '\n' -n 3 -P "$jobs" "$0" --one | tee "$results"
passed=$(grep -c '^ok ' "$results")
failed=$(($(list "${1-}" | wc -l) - passed))
# its second line has user and system time of all children, xargs' as well
times >"$results"
seconds=$(awk -F '[ms ]' 'NR == 2 { print int($1 * 60 + $2 + $4 * 60 + $5) }' "$results")
if [ "$seconds" -gt "$total_limit" ]; then
	echo "FAILED the whole took $seconds s of processor time, at most $total_limit"
	failed=$((failed + 1))
fi
echo "# $seconds s of processor time"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
