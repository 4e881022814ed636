#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Gets a kernel to boot: tests/vm/kernel.sh KERNEL prints the directory that holds its vmlinuz,
# the modules that tests want (*.ko) and a file "package" with the version; or fails with the reason
# as the last line on standard error.
#
# Kernels are Debian's own packages, taken apart and never installed, kept in $EBOLT_VM_CACHE
# (default: ebolt-vm in the user's cache directory) until somebody removes them. Which mirror: the one
# that apt uses here already, with the suite replaced; the package lists are private to this
# script, so that no suite that is asked here can ever reach the machine's own installations.
set -u

fail() {
	echo "$*" >&2
	exit 1
}

kernel=${1:?usage: kernel.sh KERNEL}
cache=${EBOLT_VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ebolt-vm}

# What may hold it: suites as "label suite" (whether of the security archive), and the names.
# The cloud flavour has all drivers that QEMU's machine needs built in, and is small.
case $kernel in
5.10)
	suites=('main bullseye' 'security bullseye-security')
	names='linux-image-5\.10\.0-[0-9]+-cloud-amd64(-unsigned)?'
	;;
6.1)
	suites=('main bookworm' 'security bookworm-security')
	names='linux-image-6\.1\.0-[0-9]+-cloud-amd64(-unsigned)?'
	;;
6.12)
	suites=('main bookworm' 'security bookworm-security')
	names='linux-image-6\.12\.[0-9.]+\+deb12[0-9.]*-cloud-amd64(-unsigned)?'
	;;
7)
	suites=('main sid')
	names='linux-binary(-unsigned)?-7\.[0-9.]+\+deb[0-9]+-cloud-amd64'
	;;
*) fail "unknown kernel '$kernel': 5.10, 6.1, 6.12 or 7" ;;
esac

dir=$cache/$kernel
if [ -s "$dir/package" ]; then
	echo "$dir"
	exit 0
fi
[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || fail "kernels come from Debian amd64"
mkdir -p "$cache" || fail "can't create $cache"
work=$(mktemp -d "$cache/tmp.XXXXXX") || fail "can't write to $cache"
trap 'rm -rf "$work"' EXIT

# repository LABEL: "URI KEYRING" of the archive with this label that apt uses here.
repository() {
	apt-get indextargets --format '$(LABEL)|$(REPO_URI)|$(SIGNED_BY)' 'Created-By: Packages' |
		awk -F'|' -v label="$1" '$1 == label { print $2, $3; exit }'
}

list=$work/sources.list
for suite in "${suites[@]}"; do
	case $suite in
	main*) label=Debian ;;
	*) label=Debian-Security ;;
	esac
	read -r uri _ < <(repository "$label")
	[ -n "${uri:-}" ] || fail "apt knows no archive labelled $label here"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri ${suite#* } main"
done >"$list" || exit 1

mkdir -p "$work"/{lists/partial,archives/partial,deb,root}
own=(-q -o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=/dev/null
	-o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root
	-o Acquire::Languages=none -o Acquire::Retries=2)
echo "fetching package lists for Linux $kernel" >&2
apt-get "${own[@]}" update >"$work/log" 2>&1 ||
	fail "the package lists can't be fetched: $(grep -m1 -E '^(E|W|Err)' "$work/log")"
mapfile -t found < <(apt-cache "${own[@]}" pkgnames | grep -xE "$names" | sort -rV)
[ ${#found[@]} -gt 0 ] || fail "no package of it in ${suites[*]#* }"

# The lists may name versions whose files are gone: the next ones are as good.
got=
for name in "${found[@]:0:6}"; do
	echo "fetching $name" >&2
	if (cd "$work/deb" && apt-get "${own[@]}" download "$name" >"$work/log" 2>&1); then
		got=$name
		break
	fi
done
[ -n "$got" ] || fail "none of its packages can be fetched: $(grep -m1 '^E' "$work/log")"
# Since 7.x the modules are a package of their own. They are not vital.
version=$(sed -E 's/^linux-[a-z]+-(unsigned-)?//; s/-unsigned$//' <<<"$got")
if [[ $got == linux-binary-* ]]; then
	(cd "$work/deb" && apt-get "${own[@]}" download "linux-modules-$version" >/dev/null 2>&1)
fi
for deb in "$work"/deb/*.deb; do
	dpkg -x "$deb" "$work/root" || fail "$(basename "$deb") can't be unpacked"
done

new=$work/new
mkdir "$new"
image=$(find "$work/root" -name 'vmlinuz*' -type f | head -1)
[ -n "$image" ] || fail "no kernel image in $got"
mv "$image" "$new/vmlinuz"
# Not built in; some tests mount one.
file=$(find "$work/root" -name 'overlay.ko*' -type f | head -1)
case $file in
*.xz) xz -dc "$file" >"$new/overlay.ko" ;;
*.zst) zstd -qdc "$file" >"$new/overlay.ko" ;;
*.ko) mv "$file" "$new/" ;;
esac
echo "$version $(dpkg-deb -f "$work/deb/${got}_"*.deb Version)" >"$new/package"
rm -rf "$dir"
mv "$new" "$dir" || fail "can't write $dir"
echo "$dir"
