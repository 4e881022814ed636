#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Includes point one way (docs/architecture.md): what each directory of src/ may include, beside
# itself and the system's headers. Prints each include that points elsewhere, and fails.
#
#	scripts/check-includes.sh [ROOT]
set -u

cd "${1:-$(dirname "$0")/..}" || exit 1

# The top: main.c and session.[ch] stand in src/ itself. generated: build/gen's skeletons.
allowed() {
	case $1 in
	base) echo ;;
	object) echo bpf base ;;
	proc) echo bpf object base ;;
	profile) echo bpf proc object base ;;
	output) echo bpf profile proc object base ;;
	collect) echo bpf object base generated ;;
	source) echo bpf collect object base ;;
	session) echo bpf source output profile proc object base ;;
	cmd) echo bpf session source collect output profile proc object base ;;
	main) echo cmd base ;;
	*) echo unknown ;;
	esac
}

# The part that a file of src/ belongs to, or that an include names.
part_of() {
	case $1 in
	*bpf/*.h | *bpf/*.def) echo bpf ;;
	*.skel.h) echo generated ;;
	*/*) echo "${1%%/*}" ;;
	*.h | *.c) echo "${1%.*}" ;;
	esac
}

bad=0
while IFS=: read -r file line text; do
	from=$(part_of "${file#src/}")
	included=${text#*\"}
	included=${included%%\"*}
	to=$(part_of "$included")
	[ "$from" = "$to" ] && continue
	case " $(allowed "$from") " in
	*" $to "*) ;;
	*)
		echo "$file:$line: src/$from must not include \"$included\" (may: $(allowed "$from"))"
		bad=1
		;;
	esac
done < <(grep -rn --include='*.[ch]' '^#[[:space:]]*include[[:space:]]*"' src)

# What the kernel side shares with user space is types: it includes nothing of src/.
if grep -rn --include='*.[ch]' '^#[[:space:]]*include[[:space:]]*".*src/' bpf; then
	echo "bpf/ must not include from src/"
	bad=1
fi
exit $bad
