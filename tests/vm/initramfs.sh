#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Packs the memory disk of the virtual machines:
#
#	B=build tests/vm/initramfs.sh OUT
#
# In it: busybox; the programs that the tests call, Python with the parts of its library that they
# import, and the shared libraries that ldd names for all of these, each at its path on this
# machine; the tree as far as live tests need it, as /ebolt; and tests/vm/init.
set -u

cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
out=$1
root=$(mktemp -d) && chmod 755 "$root" || exit 1
umask 022
trap 'rm -rf "$root"' EXIT

fail() {
	echo "initramfs.sh: $*" >&2
	exit 1
}

# Merged /usr, as Debian's.
mkdir -p "$root"/{dev,etc,proc,root,run,sys,tmp,var,usr/{bin,sbin,lib,lib64},ebolt/{"$B",tests/vm}}
for dir in bin sbin lib lib64; do
	ln -s "usr/$dir" "$root/$dir"
done

# put FILE...: at the same path. A link is followed: what is wanted is the content.
put() {
	local file dir
	for file in "$@"; do
		dir=$root$(dirname "$file")
		mkdir -p "$dir" && rm -f "$root$file" && cp -L --preserve=mode "$file" "$dir/" ||
			fail "can't copy $file"
	done
}

busybox=$(command -v busybox) || fail "busybox-static is not installed"
"$busybox" true && ! ldd "$busybox" >/dev/null 2>&1 || fail "$busybox is not static"
cp "$busybox" "$root/usr/bin/busybox"
"$busybox" --list | while read -r applet; do
	ln -s busybox "$root/usr/bin/$applet" 2>/dev/null
done

# Where busybox has no such applet, or one that does less; those that aren't here are left out,
# and a test that needs one says so.
programs=(bash dash awk env grep mktemp mount mountpoint nsenter sed setpriv sleep timeout umount
	unshare ldd readelf objcopy nm strip xz python3)
for program in "${programs[@]}"; do
	path=$(PATH=/usr/bin:/usr/sbin command -v "$program") && put "$path"
done
ln -sf dash "$root/usr/bin/sh"

mapfile -t python < <(tests/vm/python_files.py tests/live/*.py tests/vm/hold.py)
[ ${#python[@]} -gt 0 ] || fail "the parts of Python's library can't be found"
put "${python[@]}"
# Where Python looks for its library.
put "$(/usr/bin/python3 -c 'import os; print(os.__file__)')"
mkdir -p "$root$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("platstdlib"))')/lib-dynload"

cp tests/run "$root/ebolt/tests/"
cp -r tests/live "$root/ebolt/tests/"
cp -r tests/workloads "$root/ebolt/tests/"
cp tests/vm/{excluded,hold.py} "$root/ebolt/tests/vm/"
cp tests/vm/init "$root/init"
cp "$B/ebolt" "$root/ebolt/$B/" || fail "$B/ebolt is not built"
cp -r "$B/workloads" "$root/ebolt/$B/" || fail "$B/workloads are not built"
mkdir -p "$root/ebolt/$B/tests" && cp -r "$B/tests/live" "$root/ebolt/$B/tests/" ||
	fail "$B/tests/live is not built"
rm -rf "$root/ebolt/tests/live/__pycache__"

# Compiled by an emulated CPU, they would take half a minute.
/usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash "$root/usr/lib" "$root/ebolt" \
	>/dev/null || fail "Python files can't be compiled"

mapfile -t libs < <(find "$root/usr" "$root/ebolt" -type f \
	\( -perm -u+x -o -name '*.so*' \) -print0 | xargs -0 ldd 2>/dev/null |
	grep -oE '^\s+(\S+ => )?/\S+' | grep -oE '/\S+$' | grep -v "^$root" | sort -u)
[ ${#libs[@]} -gt 0 ] || fail "ldd names no libraries"
put "${libs[@]}"
# The C library opens it when a thread ends, Python's too.
put "$(ldconfig -p | awk '/libgcc_s\.so\.1 .*x86-64/ { print $NF; exit }')"

cat >"$root/etc/passwd" <<-END
	root:x:0:0:root:/root:/bin/sh
	nobody:x:65534:65534:nobody:/:/bin/false
END
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
echo '127.0.0.1 localhost' >"$root/etc/hosts"

(cd "$root" && find . -print0 | cpio --null --quiet -o -H newc -R 0:0) >"$out.tmp" &&
	mv "$out.tmp" "$out" || fail "can't write $out"
