# SPDX-License-Identifier: GPL-2.0-or-later
#
# One non-recursive Makefile. V=1 shows the commands, DEBUG=1 builds without optimisation,
# SAN=1 builds with AddressSanitizer and UndefinedBehaviorSanitizer into a directory of its own,
# WERROR=1 makes warnings errors.
#
#	make			the program: build/ebolt
#	make deps		what building and testing need, from Debian's packages (as root)
#	make demo		deps, build, sample this machine for a few seconds (as root)
#	make check [T=PATTERN]	deps, build, all tests (as root, else the live ones are skipped)
#	make check-vm [K=6.1,6.12] [T=PATTERN]	the live tests on other kernels, in QEMU
#	make lint		formatting, include directions, warnings, man pages
#	make bench		the cost of sampling, beside other samplers (as root)
#	make install		to $(DESTDIR)$(PREFIX); uninstall takes it away again
#
# Nothing is asked of a compiler while this file is read: on a machine that has none, `deps`,
# `demo` and `check` first install it, and build in a second make.

VERSION := 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=
B       := build$(if $(SAN),-san)$(if $(DEBUG),-debug)

# Debian puts bpftool in /usr/sbin, which isn't on every user's path.
export PATH := $(PATH):/usr/sbin:/sbin

CC       ?= gcc
# Expanded where it is used, not here.
CLANG    ?= $(firstword $(foreach c,clang-19 clang,$(if $(shell command -v $(c)),$(c))) clang-19)
BPFTOOL  ?= bpftool
ARCH     := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))

comma     := ,
SAN_FLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined)
CFLAGS    ?= $(if $(DEBUG),-O0,-O2) -g
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DEBOLT_VERSION='"$(VERSION)"' \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter \
	-Wno-missing-field-initializers $(if $(WERROR),-Werror) -fno-omit-frame-pointer \
	-Isrc -I$(B)/gen $(SAN_FLAGS) $(CFLAGS)
LIBS       := -lbpf -lelf -lz -llzma -liberty

ifeq ($(V),1)
  Q :=
  msg =
else
  Q := @
  msg = @printf '  %-8s %s\n' "$(1)" "$(2)";
endif

# Everything but main() goes into one archive, which the tests link too.
LIB_SRC := $(filter-out src/main.c,$(wildcard src/*.c src/*/*.c))
LIB_OBJ := $(LIB_SRC:src/%.c=$(B)/obj/%.o)
# One BPF object a bpf/*.bpf.c, embedded through its generated skeleton.
SKELS   := $(patsubst bpf/%.bpf.c,$(B)/gen/%.skel.h,$(wildcard bpf/*.bpf.c))

.PHONY: all deps demo check check-vm lint bench install uninstall clean workloads test-programs
# @: keeps make from saying that there is nothing to do.
all: $(B)/ebolt
	@:

$(B)/ebolt: $(B)/obj/main.o $(B)/libebolt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libebolt.a: $(LIB_OBJ)
	$(call msg,AR,$@)
	$(Q)rm -f $@; ar rcs $@ $^

$(B)/obj/%.o: src/%.c | $(SKELS)
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/*.def vmlinux/*.h)
	$(call msg,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) \
		-Ivmlinux -Ibpf -c -o $@.tmp $<
	$(Q)$(BPFTOOL) gen object $@ $@.tmp && rm -f $@.tmp

$(B)/gen/%.skel.h: $(B)/bpf/%.bpf.o
	$(call msg,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

# ---- tests -------------------------------------------------------------------------------------

# tests/unit/test_FILE.c: one cmocka program each. tests/fuzz/fuzz_PARSER.c: linked with replay.c
# it runs its target over files.
UNIT_TESTS   := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/test_*.c))
FUZZ_REPLAYS := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_CFLAGS  = $(ALL_CFLAGS) -Itests -DTEST_BUILD_DIR='"$(abspath $(B))"' \
	-DTEST_SOURCE_DIR='"$(CURDIR)"'

$(B)/tests/unit/%: tests/unit/%.c $(B)/libebolt.a
	$(call msg,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(B)/libebolt.a -lcmocka $(LIBS)

$(B)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c $(B)/libebolt.a
	$(call msg,FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) $(LDFLAGS) -o $@ $< tests/fuzz/replay.c $(B)/libebolt.a $(LIBS)

# What live tests need of ebolt's own parts.
LIVE_PROGRAMS := $(B)/tests/live/task_sources

$(B)/tests/live/%: tests/live/%.c $(B)/libebolt.a
	$(call msg,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) $(LDFLAGS) -o $@ $< $(B)/libebolt.a $(LIBS)

# The workloads: always clang-19 with frame pointers in leaves too (gcc 12 leaves them out
# whatever it is told, and a leaf without a frame hides its caller), never sanitized.
W          := $(B)/workloads
WL_CLANG   ?= clang-19
WL_CFLAGS  := -std=gnu11 -D_GNU_SOURCE -O2 -g1 -Wall -Wextra -Wno-unused-parameter \
	-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -pthread
WORKLOADS  := $(patsubst tests/workloads/%.c,$(W)/%,$(wildcard tests/workloads/*.c)) \
	$(patsubst tests/workloads/%.cc,$(W)/%,$(wildcard tests/workloads/*.cc))
WL_LIB     := $(patsubst tests/workloads/lib/%.c,$(W)/lib%.so,$(wildcard tests/workloads/lib/*.c))

# What llvm-bolt is to take: lld's default PIE layout, with its relocations kept.
$(W)/mix $(W)/branchy: WL_LD := -fuse-ld=lld -Wl,--emit-relocs
# BOLT leaves functions alone whose jump tables it doesn't recognise.
$(W)/branchy: WL_LD += -fno-jump-tables
$(W)/plt $(W)/moved: $(WL_LIB)
$(W)/plt: WL_LD := -L$(W) -lcallee -Wl,-rpath,'$$ORIGIN' -Wl,-z,lazy
$(W)/moved: WL_LD := -L$(W) -lmoved -Wl,-rpath,'$$ORIGIN' -ldl

$(W)/one $(W)/two: tests/workloads/steps.h tests/workloads/image.h
$(W)/churn: tests/workloads/image.h
$(W)/churn: WL_LD := -ldl
# Bound at once: what binds lazily runs through the first PLT entry, which is no function.
$(W)/one $(W)/two: WL_LD := -fuse-ld=lld -Wl,--emit-relocs -Wl,-z,now -ldl

# At a fixed address, both at the same.
$(W)/exec_a $(W)/exec_b: tests/workloads/exec_pair.h
$(W)/exec_a $(W)/exec_b: WL_LD := -nostdlib -static -ffreestanding

$(W)/%: tests/workloads/%.c tests/workloads/workload.h
	$(call msg,WORKLOAD,$@)
	@mkdir -p $(@D)
	$(Q)$(WL_CLANG) $(WL_CFLAGS) -o $@ $< $(WL_LD)

# The programs that test_matrix.py tells apart, one a way to link.
$(W)/links/built: tests/live/links.py $(wildcard tests/workloads/links/*) \
		tests/workloads/image.h tests/workloads/workload.h
	$(call msg,WORKLOAD,$(@D))
	$(Q)WL_CLANG=$(WL_CLANG) tests/live/links.py $(@D) && touch $@

# C++ without its library: templates and namespaces are all that is wanted of it.
$(W)/%: tests/workloads/%.cc tests/workloads/workload.h
	$(call msg,WORKLOAD,$@)
	@mkdir -p $(@D)
	$(Q)$(WL_CLANG) -x c++ -std=c++17 -fno-exceptions -fno-rtti \
		$(filter-out -std=%,$(WL_CFLAGS)) -o $@ $<

$(W)/lib%.so: tests/workloads/lib/%.c tests/workloads/workload.h tests/workloads/image.h
	$(call msg,WORKLOAD,$@)
	@mkdir -p $(@D)
	$(Q)$(WL_CLANG) $(WL_CFLAGS) -shared -fPIC -o $@ $<

workloads: $(WORKLOADS) $(WL_LIB) $(W)/links/built
	@:
test-programs: all workloads $(UNIT_TESTS) $(FUZZ_REPLAYS) $(LIVE_PROGRAMS)
	@:

# ---- benchmarks --------------------------------------------------------------------------------

# The least that a sampler can do, to measure ours against.
BENCH := $(B)/tests/bench/minimal $(B)/tests/bench/minimal.bpf.o

$(B)/tests/bench/%.bpf.o: tests/bench/%.bpf.c $(wildcard vmlinux/*.h)
	$(call msg,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) \
		-Ivmlinux -Ibpf -c -o $@ $<

$(B)/tests/bench/%: tests/bench/%.c
	$(call msg,BENCH,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< -lbpf

# ---- what people call --------------------------------------------------------------------------

JOBS = -j$(shell nproc 2>/dev/null || echo 1)

deps:
	$(Q)scripts/deps.sh build test lint

demo:
	$(Q)scripts/deps.sh build demo
	$(Q)$(MAKE) --no-print-directory $(JOBS) all $(W)/branchy
	$(Q)B=$(B) scripts/demo.sh

check:
	$(Q)scripts/deps.sh build test
	$(Q)$(MAKE) --no-print-directory $(JOBS) test-programs
	$(Q)B=$(B) SAN=$(SAN) tests/run '$(T)'

# Without QEMU the tests skip, and say why.
check-vm:
	$(Q)scripts/deps.sh build test
	$(Q)scripts/deps.sh vm || true
	$(Q)$(MAKE) --no-print-directory $(JOBS) all workloads $(LIVE_PROGRAMS)
	$(Q)B=$(B) T='$(T)' tests/vm/run $(subst $(comma), ,$(K))

lint:
	$(Q)scripts/deps.sh build lint
	$(Q)MAKE="$(MAKE)" scripts/lint.sh

bench:
	$(Q)scripts/deps.sh build test
	$(Q)$(MAKE) --no-print-directory $(JOBS) all workloads $(BENCH)
	$(Q)B=$(B) tests/bench/run

MAN := $(wildcard docs/man/*.1)

install: all
	$(call msg,INSTALL,$(DESTDIR)$(PREFIX)/bin/ebolt)
	$(Q)install -D -m 755 $(B)/ebolt $(DESTDIR)$(PREFIX)/bin/ebolt
	$(Q)install -d $(DESTDIR)$(PREFIX)/share/man/man1
	$(Q)install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1/

uninstall:
	$(Q)rm -f $(DESTDIR)$(PREFIX)/bin/ebolt \
		$(patsubst docs/man/%,$(DESTDIR)$(PREFIX)/share/man/man1/%,$(MAN))

clean:
	$(Q)rm -rf build build-san build-debug build-san-debug

.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(B)/obj/main.d $(UNIT_TESTS:=.d)
