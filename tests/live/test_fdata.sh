#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fdata against BOLT itself. For programs that compilers and linkers make in different ways, a
# sample at every byte of their code goes through ebolt's writer and through perf2bolt 19 (by a
# perf.data file laid out so that perf2bolt maps it right): all records must be equal. Then
# llvm-bolt must take what ebolt writes, and a recording of a program whose samples perf2bolt 19
# loses must optimise it.
set -u

cd "$(dirname "$0")/../.." || exit 1
here=$PWD/tests/live
B=${B:-build}
EBOLT=${EBOLT:-$PWD/$B/ebolt}
LLVM=/usr/lib/llvm-19/bin
CC=${CC:-gcc}
d=$(mktemp -d) || exit 1
trap 'rm -rf "$d"' EXIT
nr=0 failed=0

ok() { nr=$((nr + 1)); echo "ok $nr - $1"; }
skip() { nr=$((nr + 1)); echo "ok $nr - $1 # SKIP $2"; }
not_ok() {
	nr=$((nr + 1)) failed=1
	echo "not ok $nr - $1"
	head -n 20 "${2:-/dev/null}" | sed 's/^/# /'
}

# verdict TITLE FILE: good where the file, which says what is wrong, is empty.
verdict() {
	if [ -s "$2" ]; then
		not_ok "$1" "$2"
	else
		ok "$1"
	fi
}

# missing TOOL...: the first that isn't there.
missing() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || { echo "no ${tool##*/}"; return 0; }
	done
	return 1
}

# ---- programs ----------------------------------------------------------------------------------

# Local functions and data of one name in several files, aliases, entries inside a function, a
# cold part, calls to libc.
cat >"$d/a.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const int helper_tab[4] = { 1, 2, 3, 4 };
__attribute__((noinline)) static int helper(int x)
{
	volatile int y = x;
	for (int i = 0; i < 10; i++)
		y += i;
	return y;
}
int b_entry(int), c_entry(int), outer(void);
__attribute__((noinline)) int alias_real(int x) { return helper(x) * 3 + helper_tab[x & 3]; }
int alias_a(int) __attribute__((alias("alias_real")));
int a_weak(int) __attribute__((weak, alias("alias_real")));
__asm__(".text\n.p2align 4\n.globl outer\n.type outer,@function\nouter:\n mov $1,%eax\n"
	".type inner,@function\ninner:\n nop\n.globl inner_label\ninner_label:\n nop\n ret\n"
	".size outer,.-outer\n.size inner,1\n");
int main(int c, char **v)
{
	unsigned s = 0, n = c > 1 ? atoi(v[1]) : 1000;
	for (unsigned i = 0; i < n; i++)
		s += alias_a(i) + b_entry(i) + c_entry(i) + outer();
	if (c > 5)
		abort();
	printf("%u %zu\n", s, strlen(v[0]) > 0);
	return 0;
}
EOF
cat >"$d/b.c" <<'EOF'
static const char helper_data[] = "x";
static int tab[3] = { 4, 5, 6 };
__attribute__((noinline)) static int helper(int x)
{
	volatile int y = x * tab[(unsigned)x % 3];
	for (int i = 0; i < 12; i++)
		y ^= i;
	return y + helper_data[0];
}
int b_entry(int x) { return helper(x) + 1; }
EOF
cat >"$d/c.c" <<'EOF'
#include <stdlib.h>
static volatile int tab = 2;
__attribute__((noinline, cold)) static void fail(int x) { exit(x & 1); }
__attribute__((noinline)) static int helper(int x)
{
	volatile int y = x;
	if (x < -1 && tab == 3)
		fail(x);
	for (int i = 0; i < 7; i++)
		y -= i;
	return y;
}
int c_entry(int x) { return helper(x) + tab; }
EOF
# COMDAT, exceptions with cold parts, anonymous namespaces, identical functions to be folded.
for i in 1 2; do
	cat >"$d/$i.cc" <<EOF
#include <algorithm>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
static int cmp(const std::string &a, const std::string &b) { return a.size() < b.size() + $i; }
namespace {
struct S {
	virtual int f(int x) { if (x < 0) throw std::runtime_error("x"); return x * $i; }
	virtual ~S() {}
};
}
__attribute__((noinline)) static int same1(int x) { return x * x + 17; }
__attribute__((noinline)) static int same2(int x) { return x * x + 17; }
int run$i(int c)
{
	std::map<std::string, int> m;
	std::vector<std::string> w;
	for (int i = 0; i < 1000; i++)
		w.push_back(std::to_string(m[std::to_string(i)]++ + i));
	std::sort(w.begin(), w.end(), cmp);
	S *s = new S;
	try { s->f(c - 10); } catch (std::exception &e) { std::cout << e.what(); }
	return same1(c) + same2(c) + w.size();
}
EOF
done
cat >"$d/main.cc" <<'EOF'
#include <iostream>
int run1(int), run2(int);
int main(int c, char **) { std::cout << run1(c) + run2(c) << "\n"; }
EOF
cat >"$d/arm.c" <<'EOF'
extern int ext(int);
static int tab[4] = { 1, 2, 3, 4 };
__attribute__((noinline)) static int helper(int x)
{
	volatile int y = x;
	for (int i = 0; i < 10; i++)
		y += tab[i & 3];
	return ext(y);
}
int f(int x) { return helper(x) + 1; }
__asm__(".text\n.globl outer\n.type outer,%function\nouter: nop\nnop\n.type inner,%function\n"
	"inner: nop\nret\n.word 12345\n.size outer,.-outer\n");
EOF

# ---- every byte --------------------------------------------------------------------------------

# differences NAME: records of $d/NAME that one side has and the other hasn't.
differences() {
	diff <(tail -n +2 "$d/$1.ours" | LC_ALL=C sort) <(tail -n +2 "$d/$1.bolt" | LC_ALL=C sort) |
		grep '^[<>]' >"$d/$1.diff"
}

# every_byte NAME TITLE: compares what both make of $d/NAME, into $d/NAME.diff. 0: could compare.
every_byte() {
	python3 "$here/every_byte.py" "$d/$1" "$d/$1.data" >"$d/$1.log" 2>&1 &&
		"$LLVM/perf2bolt" -nl -p "$d/$1.data" -o "$d/$1.bolt" "$d/$1" >>"$d/$1.log" 2>&1 &&
		"$d/fdata_every_byte" "$d/$1" >"$d/$1.ours" 2>>"$d/$1.log" && {
		differences "$1"
		[ "$(wc -l <"$d/$1.bolt")" -gt 100 ] && return 0
		echo "perf2bolt wrote next to nothing" >>"$d/$1.log"
	}
	tail -n 5 "$d/$1.log" >"$d/$1.why"
	not_ok "$2" "$d/$1.why"
	return 1
}

# compare NAME TITLE COMPILER ARG...
compare() {
	local name=$1 title="every byte: $2" why
	shift 2
	if why=$(missing "$1" ld.bfd ld.lld-19); then
		skip "$title" "$why"
	elif ! (cd "$d" && "$@" -o "$name") >"$d/$name.log" 2>&1; then
		skip "$title" "can't be built: $(tail -n 1 "$d/$name.log" | tr '#' ' ')"
	elif every_byte "$name" "$title"; then
		verdict "$title" "$d/$name.diff"
	fi
}

# Without relocations perf2bolt gives up bytes behind a function's stated end that its disassembler
# doesn't take for padding. Nothing else may differ.
compare_static() {
	local title="every byte: static, all of libc"
	if ! (cd "$d" && "$CC" -O2 -static a.c b.c c.c -o static) >/dev/null 2>&1; then
		skip "$title" "no static libc"
		return
	fi
	every_byte static "$title" || return
	python3 - "$d/static" "$d/static.diff" >"$d/static.why" 2>&1 <<'EOF'
import subprocess, sys
sizes = {}
for line in subprocess.run(["readelf", "-sW", sys.argv[1]], stdout=subprocess.PIPE,
                           check=True).stdout.decode().splitlines():
    f = line.split()
    if len(f) >= 8 and f[3] == "FUNC":
        sizes.setdefault(f[7], int(f[2], 0))
lines = open(sys.argv[2]).read().splitlines()
bad = [x for x in lines if x[0] != "<" or
       int(x.split()[3], 16) < sizes.get(x.split()[2].split("/")[0], 1 << 60)]
for x in bad or lines[64:]:
    print(x)
EOF
	verdict "$title" "$d/static.why"
}

compare_all() {
	local lld="-fuse-ld=lld" r="-Wl,--emit-relocs"
	compare gcc "gcc, GNU ld, PIE" "$CC" -O2 "$r" a.c b.c c.c
	compare clang "clang, lld, PIE" clang-19 -O2 $lld "$r" a.c b.c c.c
	compare nopie "gcc, GNU ld, no PIE, no relocations" "$CC" -O2 -no-pie a.c b.c c.c
	compare so "shared library, bound at once" "$CC" -O2 -fPIC -shared -Wl,-z,now a.c b.c c.c
	compare ibt "GNU ld with IBT" "$CC" -O2 -fcf-protection -Wl,-z,ibtplt a.c b.c c.c
	compare cxx "C++, gcc" g++ -O2 "$r" 1.cc 2.cc main.cc
	compare icf "C++, clang, folded by lld" clang++-19 -O2 $lld "$r" -ffunction-sections \
		-Wl,--icf=all 1.cc 2.cc main.cc
	compare lto "C++, clang, LTO" clang++-19 -O2 -flto $lld 1.cc 2.cc main.cc
	compare shapes "assembly, PIE by lld" clang-19 -nostdlib $lld "$r" "$here/shapes.s" \
		"$here/shapes2.s" "$here/shapes3.s"
	compare shapes_bfd "assembly, no PIE by GNU ld" "$CC" -nostdlib -no-pie "$r" \
		"$here/shapes.s" "$here/shapes2.s" "$here/shapes3.s"
	compare arm64 "arm64, clang, lld" clang-19 --target=aarch64-linux-gnu -O2 -fPIC -shared \
		-nostdlib $lld "$r" arm.c
	compare_static
}
NR_COMPARED=12

# ---- llvm-bolt takes it ------------------------------------------------------------------------

llvm_bolt_reads_every_record() {
	local title="llvm-bolt takes every function's records and normalises them"
	if [ ! -s "$d/clang.ours" ]; then
		skip "$title" "nothing to read"
		return
	fi
	"$LLVM/llvm-bolt" "$d/clang" -o "$d/clang.bolted" -data="$d/clang.ours" \
		-reorder-blocks=ext-tsp >"$d/bolt.log" 2>&1
	# perf2bolt's file of the same records is the measure of how many functions that gives.
	"$LLVM/llvm-bolt" "$d/clang" -o "$d/clang.bolted2" -data="$d/clang.bolt" \
		-reorder-blocks=ext-tsp >"$d/bolt2.log" 2>&1
	if [ "$(grep -o '[0-9]* out of .* profile' "$d/bolt.log")" = \
		"$(grep -o '[0-9]* out of .* profile' "$d/bolt2.log")" ] &&
		grep -q 'BOLT-INFO: [1-9][0-9]* out of .* have non-empty' "$d/bolt.log" &&
		grep -q 'normalizing samples by instruction count' "$d/bolt.log" &&
		[ "$("$d/clang.bolted")" = "$("$d/clang")" ]; then
		ok "$title"
	else
		not_ok "$title" "$d/bolt.log"
	fi
}

# ebolt's refusals, as llvm-bolt's: of its own output, of a stripped file.
refuses_as_bolt_does() {
	local title="refuses what llvm-bolt refuses" file
	"$LLVM/llvm-bolt" "$d/clang" -o "$d/bolted" >/dev/null 2>&1
	"$LLVM/llvm-bolt" "$d/clang" -enable-bat -o "$d/bat" >/dev/null 2>&1
	"$LLVM/llvm-bolt" "$d/nopie" -o "$d/bolted_norelocs" >/dev/null 2>&1
	cp "$d/clang" "$d/stripped" && strip "$d/stripped"
	(cd "$d" && "$CC" -c b.c -o object.o)
	: >"$d/why"
	for file in bolted bat bolted_norelocs stripped object.o; do
		"$LLVM/llvm-bolt" "$d/$file" -o "$d/x" >/dev/null 2>&1 &&
			echo "llvm-bolt takes $file" >>"$d/why"
		"$d/fdata_every_byte" "$d/$file" >/dev/null 2>"$d/err" &&
			echo "ebolt takes $file" >>"$d/why"
		grep -q "no BOLT profile can be made of $d/$file: " "$d/err" || cat "$d/err" >>"$d/why"
	done
	verdict "$title" "$d/why"
}

# A default PIE by clang and lld, of which perf2bolt 19 maps no sample.
records_a_default_pie() {
	local title="a recording of a PIE that perf2bolt 19 can't map" sum
	if [ ! -x "$EBOLT" ]; then
		skip "$title" "no $EBOLT"
		return
	elif [ "$(id -u)" -ne 0 ]; then
		skip "$title" "needs root"
		return
	fi
	if ! "$EBOLT" record -F 997 -o "$d/x.fdata" --binary "$d/clang" -- "$d/clang" 20000000 \
		>"$d/out" 2>"$d/x.log"; then
		not_ok "$title" "$d/x.log"
		return
	fi
	sum=$(awk 'NR > 1 { n += $NF } END { print n + 0 }' "$d/x.fdata")
	"$LLVM/llvm-bolt" "$d/clang" -o "$d/x.bolted" -data="$d/x.fdata" -reorder-blocks=ext-tsp \
		-reorder-functions=hfsort+ >"$d/bolt.log" 2>&1
	if [ "$sum" -gt 100 ] && grep -q "x.fdata: $sum samples" "$d/x.log" &&
		grep -q 'BOLT-INFO: [1-9][0-9]* out of .* have non-empty' "$d/bolt.log" &&
		[ "$("$d/x.bolted" 20000000)" = "$(cat "$d/out")" ]; then
		ok "$title"
	else
		cat "$d/bolt.log" >>"$d/x.log"
		not_ok "$title" "$d/x.log"
	fi
}

# ------------------------------------------------------------------------------------------------

if why=$(missing "$LLVM/perf2bolt" "$LLVM/llvm-bolt" perf python3 clang-19 "$CC" readelf); then
	echo "1..0 # SKIP $why"
	exit 0
fi
echo "1..$((NR_COMPARED + 3))"
if ! $CC -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc -g \
	${SAN:+-fsanitize=address,undefined} -o "$d/fdata_every_byte" \
	"$here/fdata_every_byte.c" "$B/libebolt.a" -lbpf -lelf -lz -llzma -liberty >"$d/log" 2>&1; then
	echo "Bail out! fdata_every_byte.c: $(tail -n 1 "$d/log")"
	exit 1
fi
compare_all
llvm_bolt_reads_every_record
refuses_as_bolt_does
records_a_default_pie
exit $failed
