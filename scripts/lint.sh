#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `make lint` checks. Every step runs, whatever an earlier one found; fails if any did.
set -u

cd "$(dirname "$0")/.." || exit 1
MAKE=${MAKE:-make}
failed=0

# step NAME COMMAND...
step() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		printf 'ok      %s\n' "$name"
	else
		printf 'FAILED  %s\n%s\n' "$name" "$out" | sed '2,$s/^/        | /'
		failed=1
	fi
}

formatted() {
	local files
	# Only what git knows, or would add: not what a build made. vmlinux.h keeps the kernel's
	# own layout of types.
	mapfile -t files < <(git ls-files -co --exclude-standard -- 'src/*.[ch]' 'bpf/*.[ch]' \
		'tests/*.[ch]' 'tests/*.cc')
	clang-format --dry-run -Werror "${files[@]}"
}

no_leftovers() {
	! git grep -nE 'TODO|FIXME' -- src bpf tests docs README.md Makefile scripts/deps.sh \
		scripts/demo.sh scripts/check-includes.sh
}

licensed() {
	local file want bad=0
	while read -r file; do
		case $file in
		bpf/* | vmlinux/* | *.bpf.c) want=GPL-2.0-only ;;
		*) want=GPL-2.0-or-later ;;
		esac
		head -3 "$file" | grep -q "SPDX-License-Identifier: $want\$\|SPDX-License-Identifier: $want \*/" ||
			{
				echo "$file: no SPDX-License-Identifier: $want"
				bad=1
			}
	done < <(git ls-files -co --exclude-standard -- Makefile '*.[ch]' '*.cc' '*.def' '*.sh' '*.py' \
		tests/run tests/vm/run tests/vm/init .ci/run)
	return $bad
}

man_pages() {
	local page out bad=0
	for page in docs/man/*.1; do
		out=$(groff -ww -man -Tutf8 -z "$page" 2>&1)
		[ -n "$out" ] && echo "$page: $out" && bad=1
		MANROFFSEQ='' LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" >/dev/null 2>&1 || {
			echo "$page: man can't render it"
			bad=1
		}
	done
	return $bad
}

scripts() {
	local files
	mapfile -t files < <(git ls-files -co --exclude-standard -- '*.sh' tests/run tests/vm/run .ci/run)
	shellcheck -s bash -S warning "${files[@]}"
}

python() {
	/usr/bin/python3 - <<-'EOF'
		import ast, glob, sys
		bad = 0
		for path in glob.glob("tests/**/*.py", recursive=True):
		    source = open(path).read()
		    ast.parse(source, path)
		    for number, line in enumerate(source.splitlines(), 1):
		        if len(line) > 100:
		            print(f"{path}:{number}: {len(line)} columns")
		            bad = 1
		sys.exit(bad)
	EOF
}

step 'formatting (clang-format)' formatted
step 'include directions' scripts/check-includes.sh
step 'licence lines' licensed
step 'nothing left to do' no_leftovers
step 'man pages render' man_pages
step 'scripts (shellcheck)' scripts
[ -x /usr/bin/python3 ] && step 'Python' python
step 'no warnings (gcc)' "$MAKE" --no-print-directory -s B=build/lint WERROR=1 all
exit $failed
