# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced: how the virtual machine is started. The accelerator is emulation
# unless asked otherwise: it works everywhere, also inside virtual machines.

QEMU=${QEMU:-qemu-system-x86_64}
ACCEL=${ACCEL:-tcg,thread=multi}
MEM=${MEM:-1536}
SMP=${SMP:-2}

# qemu_args <vmlinux> <initrd> <mode> [more of the kernel command line]
# Fills the array `qemu`; the caller adds three -serial options: console,
# results, output of jobs.
qemu_args()
{
	qemu=("$QEMU" -nodefaults -no-user-config -display none -nic none -no-reboot
		-accel "$ACCEL" -cpu max -smp "$SMP" -m "$MEM"
		-kernel "$1" -initrd "$2"
		# A panic ends the machine, and an oops is a panic.
		-append "console=ttyS0 panic=-1 oops=panic loglevel=${LOGLEVEL:-6} \
log_buf_len=8M no_timer_check nokaslr mitigations=off random.trust_cpu=on \
kunit.enable=1 kdapl.mode=$3 ${*:4} ${KERNEL_ARGS:-}")
}
