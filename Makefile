# SPDX-License-Identifier: GPL-2.0-or-later
#
# One non-recursive Makefile. V=1 shows the commands, DEBUG=1 builds without optimisation,
# SAN=1 builds with AddressSanitizer and UndefinedBehaviorSanitizer into a directory of its own.

VERSION := 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=
B       := build$(if $(SAN),-san)$(if $(DEBUG),-debug)

# Debian puts bpftool in /usr/sbin, which isn't on every user's path.
export PATH := $(PATH):/usr/sbin:/sbin

CC       ?= gcc
CLANG    ?= $(firstword $(foreach c,clang-19 clang,$(if $(shell command -v $(c)),$(c))) clang-19)
BPFTOOL  ?= bpftool
ARCH     := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))

comma     := ,
SAN_FLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined)
CFLAGS    ?= $(if $(DEBUG),-O0,-O2) -g
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DEBOLT_VERSION='"$(VERSION)"' \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter \
	-Wno-missing-field-initializers -fno-omit-frame-pointer -Isrc -I$(B)/gen $(SAN_FLAGS) $(CFLAGS)
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

.PHONY: all clean
all: $(B)/ebolt

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

clean:
	$(Q)rm -rf build build-san build-debug build-san-debug

.SECONDARY:
-include $(LIB_OBJ:.o=.d) $(B)/obj/main.d
