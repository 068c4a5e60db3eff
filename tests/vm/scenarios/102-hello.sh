# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# cpus: 1
#
# The small consumer, drivers/ulp/hello.c, against a peer in user space that shares
# no code with it: ucmatose of rdmacm-utils.

. /lib/kdapl/lib.sh
. /scenarios/rping.sh

# hello: loads it, which says how it went.
hello()
{
	dmesg_mark
	load kdapl_hello device=$DEV0 addr=$IP1 2>/tmp/error
}

ucmatose -b $IP1 -C 1 -S 64 >/tmp/ucmatose.log 2>&1 &
peer=$!
need listening 7471
check "a message each way" hello
check "64 bytes came" dmesg_has "64 bytes from $IP1"
# It would wait for ever for one that does not come.
wait_until "! kill -0 $peer 2>/dev/null" 20 || kill $peer
wait $peer
check_eq "the peer is content" $? 0
check "it unloads" unload kdapl_hello

if hello; then
	not_ok "with no peer it fails" "it was loaded"
else
	check "with no peer it fails" grep -q 'Connection refused' /tmp/error
fi
check "and says so" dmesg_has "no exchange with $IP1"
