#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# stacks.sh ESPY PROGRAMS-DIR: -k at probes and at calls, of programs that have ended before espy looks at them. ROUNDS: how often one is run.
. "${0%/*}/../lib.sh"
stacked=$(realpath "$2")/stacked
need_source bpf
trace() {
	"$espy" trace --source=bpf "$@" 2>&1
}
# ways FILE: each line of an event by its name, and behind it the functions of the program, innermost first
ways() {
	awk -v program="$stacked" '
		/^ > / { if (index($2, program "(") == 1) { sub(/^[^(]*\(/, "", $2); sub(/\+.*/, "", $2); way = way " " $2 } next }
		way != "" { print way }
		{ way = "" }
		/\(/ { sub(/^\[pid *[0-9]*\] /, ""); sub(/^[0-9]+ +/, ""); sub(/\(.*/, ""); way = $0 }
		END { if (way != "") print way }' "$1" | grep -v '^+++'
}
leaf='stacked:leaf leaf middle outer main _start'
for i in $(seq "${ROUNDS:-5}"); do
	trace -k -u stacked:leaf "$stacked" >"$dir/got"
	expect "run $i: a program that ends at once" "$leaf" "$(ways "$dir/got")"
done
expect "and the library that calls main" 1 "$(grep -c '^ > /.*libc[^ ]*(__libc_start_main' "$dir/got")"

# The kernel puts an address of its own in the place of a return address where a return is probed.
all="$leaf
getppid leaf middle outer main _start
stacked:leaf middle outer main _start
stacked:middle outer main _start
stacked:outer main _start"
set -- -u "$stacked:leaf(n=%di:d)" -u "$stacked:middle%return" -u "$stacked:outer%return" -e trace=getppid
trace -k "$@" "$stacked" >"$dir/got"
expect "returns that are probed" "$(echo "$all" | sed 3d)" "$(ways "$dir/got")"
trace -k "$@" -u stacked:leaf%return "$stacked" >"$dir/got"
expect "the innermost, too" "$all" "$(ways "$dir/got")"
trace -k -f "$@" "$stacked" fork >"$dir/got"
expect "in a child" "$(echo "$all" | sed 3d)" "$(ways "$dir/got")"
trace -k -f "$@" sh -c "$stacked; :" >"$dir/got"
expect "in a program that a shell starts" "$(echo "$all" | sed 3d)" "$(ways "$dir/got" | grep -v '^getppid$')" # the shell's own
trace -k "$@" -u stacked:jumps%return -u stacked:deeper%return "$stacked" jump >"$dir/got"
expect "after a longjmp" "$(echo "$all" | sed 3d)" "$(ways "$dir/got")"

# A hit that a condition leaves out has no stack.
trace -k -u 'stacked:leaf(n=%di:d) if n == 1' -u stacked:outer "$stacked" >"$dir/got"
expect "a condition" "stacked:outer outer main _start" "$(ways "$dir/got")"
trace -k --stack-trace-frame-limit=2 -u stacked:leaf "$stacked" >"$dir/got"
expect "two frames" "stacked:leaf leaf middle" "$(ways "$dir/got")"
trace -u stacked:leaf "$stacked" >"$dir/got"
hasnt "none without -k" "$dir/got" '^ > '

# A tracepoint tells where the program stands that the kernel works for.
nr=$(printf '#include <sys/syscall.h>\nSYS_getppid\n' | cc -E -P - | tail -n 1)
trace -k -K "raw_syscalls:sys_enter if id == $nr" "$stacked" >"$dir/got"
expect "a tracepoint" "raw_syscalls:sys_enter leaf middle outer main _start" "$(ways "$dir/got")"

trace -k --force --record="$dir/t" -o "$dir/live" "$@" "$stacked" >"$dir/err"
"$espy" show -k "$dir/t" >"$dir/got" 2>&1
expect "recorded" "$(echo "$all" | sed 3d)" "$(ways "$dir/got")"
expect "the same text" "$(cat "$dir/live")" "$(grep -v '^espy:' "$dir/got")"
finish
