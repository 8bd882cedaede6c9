#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/stacks.sh BUILD-DIR [ROUNDS]: what a stack of 22 frames (-k) adds to a getppid, by turns, and how many stacks a second espy unwinds. The second is
# espy's own CPU while a program runs that it was attached to, less that of the same program without -k.
set -u
build=$(realpath "$1")
rounds=${2:-7}
calls=100000
espy=$build/espy
percall=$build/bench/percall
spent=$build/bench/spent
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/lib.sh"

# Few calls: the program shall not wait for espy.
deep() {
	"$@" "$percall" getppid 5000 "$tmp/ns" 16 >/dev/null 2>&1
	cat "$tmp/ns"
}
# attached OPTION...: espy's CPU seconds
attached() {
	sh -c "sleep 1; exec '$percall' getppid $calls '$tmp/ns' 16" &
	cpu_of "$espy" record --source=bpf --lossless=always --force -e trace=getppid "$@" -o "$tmp/rec" -p $!
	wait $! 2>/dev/null
}
for i in $(seq "$rounds"); do
	deep env >>"$tmp/native"
	deep "$espy" trace --source=bpf -e trace=getppid -o /dev/null >>"$tmp/plain"
	deep "$espy" trace --source=bpf -k -e trace=getppid -o /dev/null >>"$tmp/stack"
	deep "$espy" trace --source=ptrace -k -e trace=getppid -o /dev/null >>"$tmp/stopped"
	attached >>"$tmp/cpu"
	attached -k >>"$tmp/cpu.stack"
done
for row in native plain stack stopped cpu cpu.stack; do
	eval "$(echo $row | tr . _)=$(median "$tmp/$row")"
done
printf '%-46s %8.0f\n' 'ns a getppid, native' "$native" 'added by espy trace' "$(calc "$plain - $native")" \
	'added by espy trace -k' "$(calc "$stack - $native")" 'added by espy trace -k --source=ptrace' "$(calc "$stopped - $native")"
printf '%-46s %8.0f\n' 'thousand stacks a second, one core' "$(calc "$calls / 1000 / ($cpu_stack - $cpu)")"
