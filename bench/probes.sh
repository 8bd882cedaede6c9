#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/probes.sh BUILD-DIR [ROUNDS]: what a hit of a probe costs by the instruction under it, by turns: one that the kernel emulates
# (push), one that it steps over (lea), and that function's place of its name, which is the push behind the lea. Look at the ratios.
set -u
build=$(realpath "$1")
rounds=${2:-5}
espy=$build/espy
entries=$build/tests/probes/entries
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/lib.sh"

# hit ROW FUNCTION [PLACE]: nanoseconds of a call with the probe
hit() {
	"$espy" trace --source=bpf -o "$tmp/text" ${3:+-u "$entries:$3(i=%di:d)"} "$entries" "$2" 50000 2>/dev/null | cut -d ' ' -f 2 >>"$tmp/$1"
}
lea=$("$espy" list functions "$entries" leads | cut -d ' ' -f 1)
for i in $(seq "$rounds"); do
	hit none leads
	hit push pushes pushes
	hit lea leads "$lea"
	hit behind leads leads
done
for row in none push lea behind; do
	eval "$row=$(median "$tmp/$row")"
done
printf '%-46s %8s\n' 'nanoseconds of a call' median
printf '%-46s %8.0f\n' 'no probe' "$none" 'on a push' "$push" 'on a lea (-u FILE:0xOFFSET)' "$lea" 'on that function (-u FILE:FUNCTION)' "$behind"
printf '%-46s %8.2f\n' 'function by name / its first instruction' "$(calc "($behind - $none) / ($lea - $none)")"
