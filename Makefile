# SPDX-License-Identifier: GPL-2.0
#
# Targets for people; `make help` lists them. What is built is said in Kbuild.

KDIR ?= $(shell scripts/kdir)
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
INSTALL_MOD_DIR ?= updates

export TEST_KERNEL ONLY JOBS V ACCEL CPU_MODEL MEM SMP KERNEL_VARIANT KERNEL_ARGS BOOT_LIMIT SILENCE_LIMIT RUN_LIMIT BOOTS PROFILE MINUTES SEED TRANSPORT

.PHONY: modules modules_install clean run shell test stress coverage bench model check dkms-install help check-kdir

modules: check-kdir
	@release=$$(scripts/kdir release "$(KDIR)"); test "$$release" = "$$(uname -r)" || \
		echo "Building for kernel $$release; $$(uname -r), which runs, cannot load that (KDIR= names another tree)."
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

check-kdir:
	@test -e "$(KDIR)/Makefile" || { \
		echo "There is no kernel build tree$(if $(KDIR), in $(KDIR)); install one with: apt-get install linux-headers-amd64"; \
		exit 1; }

modules_install: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_DIR=$(INSTALL_MOD_DIR) modules_install

# build/ holds the objects of other kernels and the logs.
clean:
	$(if $(wildcard $(KDIR)/Makefile),$(MAKE) -C $(KDIR) M=$(CURDIR) clean)
	rm -rf build

run shell:
	@tests/vm/run $@

test:
	@tests/vm/test

stress:
	@tests/vm/stress

coverage:
	@tests/vm/coverage

bench:
	@tests/bench/run

model:
	@scripts/setup model
	@$(MAKE) -C tests/model

check:
	@scripts/check.sh

dkms-install:
	@command -v dkms >/dev/null || { echo "DKMS is missing; install it with: apt-get install dkms"; exit 1; }
	mkdir -p /usr/src/kdapl-$(VERSION)
	cp -r Kbuild dkms.conf COPYING drivers include /usr/src/kdapl-$(VERSION)/
	dkms add -m kdapl -v $(VERSION)
	dkms build -m kdapl -v $(VERSION)
	dkms install -m kdapl -v $(VERSION)

help:
	@echo "  make                  kdapl.ko, and kdapl_rping.ko and kdapl_hello.ko, which use it, for KDIR (now: $(KDIR))"
	@echo "  make modules_install  install them (INSTALL_MOD_PATH, INSTALL_MOD_DIR)"
	@echo "  make dkms-install     install the sources and build them with DKMS"
	@echo "  make clean            remove what was built"
	@echo
	@echo "In a virtual machine; nothing is loaded into the running kernel:"
	@echo "  make run              the demonstration on Debian's kernel, over rxe"
	@echo "  make shell            the same machine with a prompt"
	@echo "  make test             all tests (ONLY=pattern, JOBS=n, V=1: see Documentation/testing.rst);"
	@echo "                        KERNEL_VARIANT=kcsan: with the data race detector"
	@echo "  make coverage         all tests again, counting which lines of kdapl.ko they reach"
	@echo "  make stress           everything at random (MINUTES=n, SEED=n, TRANSPORT=rxe|siw)"
	@echo
	@echo "  make bench            cost beside raw verbs, in instructions (BOOTS=n, PROFILE=row)"
	@echo "  make check            static checks"
	@echo "  make model            model checker"
