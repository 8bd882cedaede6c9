# shellcheck shell=sh disable=SC2034,SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by bench/run and bench/compare, which set $tmp (a directory), $percall and $spent (programs of bench/): what both measure with.

# median FILE: of the numbers in it, one a line
median() {
	sort -g "$1" | awk '{ v[NR] = $1 } END { if (NR) print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; else print "nan" }'
}
have() {
	command -v "$1" >/dev/null 2>&1
}
calc() {
	awk "BEGIN { printf \"%.2f\", $1 }"
}

# A tracer NAME is a function t_NAME that runs a command under it.

# dd_time TRACER COUNT: dd's own figure, in seconds; the start-up of the tracer is not in it
dd_time() {
	t=$1
	"t_$t" dd if=/dev/zero of=/dev/null bs=1 count="$2" 2>"$tmp/err" >/dev/null
	sed -n 's/.*copied, \([0-9.e-]*\) s,.*/\1/p' "$tmp/err" | tail -n 1
}
# per TRACER KIND COUNT: nanoseconds of a call
per() {
	t=$1
	shift
	rm -f "$tmp/ns"
	"t_$t" "$percall" "$@" "$tmp/ns" >/dev/null 2>&1
	cat "$tmp/ns" 2>/dev/null
}
# cpu_of COMMAND...: user and system seconds of it and its children; wall_of: milliseconds that it ran
cpu_of() {
	rm -f "$tmp/spent"
	"$spent" "$tmp/spent" "$@" >/dev/null 2>&1
	cut -d' ' -f2 "$tmp/spent" 2>/dev/null
}
wall_of() {
	rm -f "$tmp/spent"
	"$spent" "$tmp/spent" "$@" >/dev/null 2>&1
	awk '{ print $1 * 1000 }' "$tmp/spent" 2>/dev/null
}
# attached_cpu ESPY COMMAND...: CPU seconds of `espy record` that watches a program which waits a second before it begins. The program's
# own time is not in it.
attached_cpu() {
	recorder=$1
	shift
	"$@" >/dev/null 2>&1 &
	cpu_of "$recorder" record --lossless=always --force -o "$tmp/rec" -p $!
	wait $! 2>/dev/null
}
# calls_of ESPY TRACE: how many calls the trace has
calls_of() {
	"$1" show -c -U calls,name "$2" | awk '$NF == "total" { print $1 }'
}
# render_rate BUILD [SECONDS]: million calls/s of decoding and text
render_rate() {
	"$1/bench/render_bench" "${2:-2}" | sed -n 's/.*: \([0-9.]*\) million calls.*/\1/p'
}
# trace_field BEFORE BEHIND: a figure in what trace_bench wrote to $tmp/trace, by the text on its two sides
trace_field() {
	sed -n "s/.*$1 *\([0-9.]*\) $2.*/\1/p" "$tmp/trace"
}

# What people do: git, an interpreter, a compiler. make_work makes what it works on in $tmp/work; sh -c "$mix" $tmp/work does it.
make_work() {
	mkdir "$tmp/work"
	(
		cd "$tmp/work" || exit
		printf '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n' >hello.c
		git init -q . && for f in 1 2 3 4 5 6 7 8 9; do echo $f >f$f; done && git add . &&
			git -c user.name=a -c user.email=a@b commit -q -m first
	) >/dev/null 2>&1
}
# shellcheck disable=SC2016
mix='cd "$0"; git status; python3 -c "import json, re"; gcc -o hello hello.c'

# mix_by FILE TRACER...: the same kinds of programs, each under the tracer, to which the name of its output is added; FILE: the outputs, one
# behind the other
mix_by() {
	all=$1
	shift
	n=0
	for c in "/usr/bin/git status" "/usr/bin/python3 -c pass" "/usr/bin/gcc $tmp/work/hello.c -o $tmp/work/hello"; do
		[ -x "${c%% *}" ] || continue
		n=$((n + 1))
		# shellcheck disable=SC2086
		"$@" "$tmp/mix.$n" $c >/dev/null 2>&1
	done
	cat "$tmp"/mix.[0-9]* >"$all" 2>/dev/null
	rm -f "$tmp"/mix.[0-9]*
	[ -s "$all" ]
}
