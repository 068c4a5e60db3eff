# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced: how the virtual machine is started. The accelerator is emulation
# unless asked otherwise: it works everywhere, also inside virtual machines.

QEMU=${QEMU:-qemu-system-x86_64}
ACCEL=${ACCEL:-tcg,thread=multi}
MEM=${MEM:-1536}
SMP=${SMP:-2}
# The guest takes the time stamp counters of more than one emulated CPU for not in
# step, and reads the HPET instead, which is a device: emulation stops for each
# look at the clock. They are in step: they are the host's.
CLOCK=${CLOCK-tsc=reliable}
# What costs emulation more than it gives: strings are moved a byte at a time with
# `erms`, each copy from or to user space ends a block of translated code with `smap`,
# and the state of AVX is copied at each switch.
CPU_MODEL=${CPU_MODEL:-max,-erms,-smap,-smep,-pku,-la57,-avx,-avx2,-xsave}

# pick_kernel <kernel>: Debian's own kernel (`stock`), or a variant of the test
# kernel (tests/vm/config/), which is built first. Sets kdir, what modules are built
# against; image, what boots; extra, what else the initramfs needs; and config, what
# is built besides kdapl.
# shellcheck disable=SC2034 # for the caller
pick_kernel()
{
	local release

	if [[ $1 == stock ]]; then
		kdir=${KDIR:-$("$top/scripts/kdir")}
		[[ -n $kdir ]] || die "There are no kernel headers; install them with: apt-get install linux-headers-amd64"
		release=$("$top/scripts/kdir" release "$kdir")
		image=$("$top/scripts/stock-kernel" "$release")
		extra=$("$top/tests/vm/mkinitramfs" kernel "$release" "$image")
		# It has no KUnit.
		config=(CONFIG_KDAPL_VM_TEST=y)
	else
		"$top/scripts/setup" kernel
		kdir=$("$top/scripts/test-kernel" "$1")
		image=$kdir
		extra=
		config=(CONFIG_KDAPL_KUNIT_TEST=y CONFIG_KDAPL_VM_TEST=y)
	fi
	if [[ -e $image/arch/x86/boot/bzImage ]]; then
		image=$image/arch/x86/boot/bzImage
	elif [[ -d $image ]]; then
		image=$image/vmlinux
	fi
}

# qemu_args <vmlinux> <initrd> <mode> [more of the kernel command line]
# Fills the array `qemu`; the caller adds three -serial options: console,
# results, output of jobs.
qemu_args()
{
	qemu=("$QEMU" -nodefaults -no-user-config -display none -nic none -no-reboot
		-accel "$ACCEL" -cpu "$CPU_MODEL" -smp "$SMP" -m "$MEM"
		-kernel "$1" -initrd "$2"
		# A panic ends the machine, and an oops is a panic.
		-append "console=ttyS0 panic=-1 oops=panic loglevel=${LOGLEVEL:-6} \
log_buf_len=8M no_timer_check nokaslr mitigations=off random.trust_cpu=on \
kunit.enable=1 $CLOCK kdapl.mode=$3 ${*:4} ${KERNEL_ARGS:-}")
}
