#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Installs what is missing of Debian's packages, and nothing else:
#
#	scripts/deps.sh GROUP...	groups: build, demo, test, lint, vm
#
# Silent where nothing is missing. As another user than root it says what to run instead. The
# package lists are fetched only where apt doesn't know a package, or an install failed with the
# lists at hand (they may name versions that the mirror no longer has).
set -u

packages() {
	case $1 in
	build)
		echo gcc libc6-dev make clang-19 bpftool libbpf-dev libelf-dev zlib1g-dev \
			liblzma-dev libiberty-dev
		;;
	demo) echo clang-19 lld-19 ;;
	test)
		echo libcmocka-dev g++ lld-19 bolt-19 llvm-19 linux-perf bpftrace python3 binutils \
			xz-utils util-linux btrfs-progs stress-ng libc6-dbg \
			default-jdk-headless php-cli erlang-base mono-runtime mono-mcs
		;;
	vm) echo qemu-system-x86 busybox-static cpio ;;
	lint) echo clang-format shellcheck man-db groff-base ;;
	*)
		echo "deps.sh: unknown group '$1': build, demo, test, lint or vm" >&2
		return 1
		;;
	esac
}

wanted=()
for group in "$@"; do
	list=$(packages "$group") || exit 2
	read -r -d '' -a names <<<"$list"
	wanted+=("${names[@]}")
done

if ! command -v dpkg-query >/dev/null; then
	echo "deps.sh: not a Debian system: install the likes of: ${wanted[*]}" >&2
	exit 0
fi

installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null)
missing=()
for name in "${wanted[@]}"; do
	grep -qxF "$name installed" <<<"$installed" || missing+=("$name")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "Missing packages: ${missing[*]}" >&2
	echo "Run: sudo apt-get install ${missing[*]}" >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)

install_missing() {
	"${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null >&2
}

echo "Installing: ${missing[*]}" >&2
# Prints nothing for a package that the lists at hand don't know.
known=$(apt-cache madison "${missing[@]}" 2>/dev/null | awk '{ print $1 }' | sort -u)
for name in "${missing[@]}"; do
	if ! grep -qxF "$name" <<<"$known"; then
		"${apt[@]}" update </dev/null >&2
		break
	fi
done
install_missing && exit 0
echo "deps.sh: trying once more, with fresh package lists" >&2
"${apt[@]}" update </dev/null >&2
install_missing && exit 0
echo "deps.sh: could not install ${missing[*]}: see above; \`make deps\` tries again" >&2
exit 1
