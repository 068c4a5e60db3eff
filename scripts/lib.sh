# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by the scripts of this directory and of tests/vm: sourced, not run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kdapl
build=${KDAPL_BUILD:-$top/build}
jobs=${MAKE_JOBS:-$(nproc)}
# How modules are built for a kernel of our own, by whatever builds them: objects
# with other flags would be compiled anew.
strict=(W=1 KCFLAGS=-Werror)
export LC_ALL=C

# Objects that have been compiled before, in this tree or in one that was here, are
# taken from the cache.
use_ccache()
{
	[[ -d /usr/lib/ccache ]] || return 0
	PATH=/usr/lib/ccache:$PATH
	export PATH CCACHE_DIR=$cache/ccache CCACHE_MAXSIZE=2G CCACHE_DEPEND=1
}

say()
{
	printf '==> %s\n' "$*"
}

die()
{
	printf '%s\n' "$*" >&2
	exit 1
}

# Kills a process and everything below it.
kill_tree()
{
	local child

	for child in $(ps -o pid= --ppid "$1" 2>/dev/null); do
		kill_tree "$child"
	done
	kill "$1" 2>/dev/null || true
}

# step <limit in seconds> <log> <progress function or ""> command...
#
# Runs a slow command with its output in a log. Each half minute one line of
# progress; past the limit, or on failure, the end of the log and status 1.
step()
{
	local limit=$1 log=$2 progress=$3 pid rc=0 start=$SECONDS next=30 status

	shift 3
	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	# shellcheck disable=SC2064 # the pid of this step is meant
	trap "kill_tree $pid; trap - INT TERM; exit 130" INT TERM
	while kill -0 "$pid" 2>/dev/null; do
		if ((SECONDS - start >= limit)); then
			kill_tree "$pid"
			wait "$pid" 2>/dev/null || true
			trap - INT TERM
			tail -n 20 "$log" >&2
			printf 'gave up after %d s: %s (log: %s)\n' "$limit" "$*" "$log" >&2
			return 1
		fi
		if ((SECONDS - start >= next)); then
			next=$((next + 30))
			status=
			[[ -z $progress ]] || status=$("$progress" "$log")
			printf '    %d:%02d %s\n' $(((SECONDS - start) / 60)) \
				$(((SECONDS - start) % 60)) "$status"
		fi
		sleep 0.3
	done
	wait "$pid" || rc=$?
	trap - INT TERM
	if ((rc)); then
		tail -n 30 "$log" >&2
		printf 'failed with status %d: %s (log: %s)\n' "$rc" "$*" "$log" >&2
		return 1
	fi
}

# take_lock <file>: waits for other builds that use the same cache.
take_lock()
{
	mkdir -p "$(dirname "$1")"
	exec {lock_fd}>"$1"
	if ! flock -n "$lock_fd"; then
		# Not among what a script prints for its caller.
		say "waiting for another build that uses $1" >&2
		flock -w 3600 "$lock_fd" || die "the lock $1 is still held after an hour"
	fi
}

drop_lock()
{
	exec {lock_fd}>&-
}
