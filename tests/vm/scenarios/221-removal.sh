# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# transports: rxe siw
# timeout: 1200
# load: none
#
# Devices are deleted in a row, each time under connections in the making, with
# traffic, at their end, under registrations, and under consumers that do nothing
# about it. Each "rdma link delete" returns, each EP is told once, each request is
# reported, and whatever is freed afterwards is gone. Over siw it is luck whether a
# removal meets an end or a registration, and is not asked for.
#
# "kdapl.removals=100 kdapl.more=1500" on the kernel command line for so many.

. /lib/kdapl/lib.sh
. /scenarios/vmtest.sh

removals=$(stress_word removals 7)
# Over siw everything takes several times as long.
[ "$TRANSPORT" = rxe ] || removals=$(stress_word removals 3)
seed=$(stress_word seed 0)

echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
need load kdapl watchdog_ms=0
need load kdapl_vmtest

stress removals="$removals" seconds=$((100 + 25 * removals)) gap=300 seed="$seed"
# The removal waits for nobody but the device.
longest=$(sed -n 's/.*the longest took \([0-9]*\) ms/\1/p' $VMTEST/report)
check "each is over within 60 s (the longest: $longest ms)" test "${longest:-99999}" -le 60000
