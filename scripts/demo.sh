#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `make demo` does once all is built: samples this machine for five seconds while the
# workload `branchy` runs, and shows what came of it.
set -eu

B=${B:-build}
workload=$B/workloads/branchy
seconds=5

if [ "$(id -u)" -ne 0 ]; then
	echo "Sampling a whole machine needs root: sudo make demo" >&2
	exit 1
fi

"$workload" 60 >/dev/null &
pid=$!
trap 'kill "$pid" 2>/dev/null || :; wait "$pid" 2>/dev/null || :' EXIT

echo "Sampling this machine for $seconds seconds while $workload runs ..."
"$B/ebolt" record -a -F 997 -d "$seconds" --binary "$workload" -o demo.folded -o demo.fdata

echo
echo "The hottest functions (share of the samples, function, process):"
# A folded line is "comm;root;...;leaf count".
awk '{
	count = $NF
	sub(/ [0-9]+$/, "")
	n = split($0, part, ";")
	by[part[n] "\t" part[1]] += count
	total += count
}
END {
	for (k in by)
		printf "%.2f\t%s\n", 100 * by[k] / total, k
}' demo.folded | sort -rn | head -12 |
	awk -F'\t' '{ printf "  %6.2f%%  %-40s %s\n", $1, $2, $3 }'

cat <<EOF

demo.folded: $(wc -l <demo.folded) stacks. See it as a flame graph:
    flamegraph.pl demo.folded >demo.svg     (github.com/brendangregg/FlameGraph)
    or drop the file on https://www.speedscope.app

demo.fdata: $(($(wc -l <demo.fdata) - 1)) places in $workload, for BOLT (apt-get install bolt-19):
    llvm-bolt-19 $workload -data=demo.fdata -o branchy.bolt \\
        -reorder-blocks=ext-tsp -reorder-functions=hfsort+ -dyno-stats

Next: sudo $B/ebolt record -F 997 -o my.folded -- YOUR-PROGRAM
EOF
