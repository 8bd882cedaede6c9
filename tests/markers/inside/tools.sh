#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tools.sh SOURCE-DIR LIBESPY-AGENT [ESPY]: gdb, perf, SystemTap, bpftrace and readelf list the same marks; gdb stops at one; bpftrace sees their arguments while they are
# on, and by itself, without espy, each event once: by the agent, which finds the semaphores raised, and without agent where
# the sites look themselves (ESPY_MARK_USDT 2). A uprobe on the USDT note of a mark leaves the agent's site alone, and the
# variables of the function; with espy's own (--via kernel), too. TOOLS=short: by the first compiler alone.
set -u
root=$1
agent=$(realpath "$2")
here=$root/tests/markers/inside
dir=$(mktemp -d)
pid='' tracer=''
trap 'kill $pid $tracer 2>/dev/null; wait; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$here/../../wait.sh"
bad=0

fail() {
	printf 'not ok %s\n' "$*"
	bad=1
}
gcc -O2 -D_GNU_SOURCE -I"$root" -I"$root/src" -I"$root/include" "$here/sample.c" "$here/tools_main.c" "$here/own_espy.c" \
	-Wl,--no-as-needed "$agent" -Wl,-rpath,"$(dirname "$agent")" -o "$dir/t" || exit 1
readelf -n "$dir/t" 2>/dev/null | sed -n 's/^ *Provider: //p;s/^ *Name: //p' | paste -d: - - | sort -u >"$dir/want"
grep -q '^sample:leaf$' "$dir/want" || fail "readelf: $(cat "$dir/want")"
grep -q '^nounderscore:nounderscore$' "$dir/want" || fail "a name without an underscore: $(cat "$dir/want")"
grep -q ':code$' "$dir/want" && fail 'MARK_INLINE has no arguments to show'

if command -v gdb >/dev/null; then
	gdb -nx -batch -ex 'info probes stap' "$dir/t" 2>/dev/null | awk '$1 == "stap" && $NF ~ /\/t$/ { print $2 ":" $3 }' | sort -u >"$dir/gdb"
	cmp -s "$dir/want" "$dir/gdb" || fail "gdb lists: $(cat "$dir/gdb")"
	# at a probe, with arguments; the site sees by the semaphore that gdb watches it
	gcc -O2 -I"$root/include" -DESPY_MARK_USDT=2 "$here/counted.c" -o "$dir/self-gcc" || exit 1
	gdb -nx -batch -ex 'set confirm off' -ex 'break -probe-stap counted:leaf' -ex 'run 3' -ex 'p $_probe_argc' -ex 'p $_probe_arg1' \
		-ex continue -ex 'p $_probe_arg1' -ex 'x/s $_probe_arg2' "$dir/self-gcc" >"$dir/gdb" 2>"$dir/err"
	if grep -q 'Breakpoint 1, ' "$dir/gdb"; then
		sed -n 's/^\$[0-9]* = //p' "$dir/gdb" | paste -sd' ' | grep -qx '3 0 3' || fail "gdb shows arguments: $(cat "$dir/gdb")"
		grep -q "\"$dir/self-gcc\"" "$dir/gdb" || fail "gdb shows a string: $(cat "$dir/gdb")"
	else
		echo "gdb cannot run programs here: $(cat "$dir/err")"
	fi
fi
if command -v perf >/dev/null && perf --buildid-dir "$dir/perf" buildid-cache --add "$dir/t" 2>/dev/null; then
	perf --buildid-dir "$dir/perf" list sdt 2>/dev/null | sed -n 's/^ *sdt_\([^ @]*\).*/\1/p' | sort -u >"$dir/perf.list"
	cmp -s "$dir/want" "$dir/perf.list" || fail "perf lists: $(cat "$dir/perf.list")"
fi
# Where the kernel's headers are not, it does not even list.
if command -v stap >/dev/null && stap -L "process(\"$dir/t\").mark(\"*\")" >"$dir/stap" 2>/dev/null; then
	sed 's/^[^:]*://' "$dir/want" | sort -u >"$dir/names"
	sed -n 's/.*\.mark("\([^"]*\)").*/\1/p' "$dir/stap" | sort -u | cmp -s "$dir/names" - || fail "stap lists: $(cat "$dir/stap")"
fi
if ! command -v bpftrace >/dev/null || [ "$(id -u)" != 0 ]; then
	echo 'bpftrace is not here, or this is not root: not tried'
	exit $bad
fi
bpftrace -l "usdt:$dir/t:*" 2>/dev/null | sed 's/^usdt:[^:]*://' | sort -u >"$dir/bpftrace"
if [ ! -s "$dir/bpftrace" ]; then
	echo 'bpftrace cannot list here: not tried'
	exit $bad
fi
cmp -s "$dir/want" "$dir/bpftrace" || fail "bpftrace lists: $(cat "$dir/bpftrace")"

"$dir/t" on >"$dir/out" 2>&1 &
pid=$!
wait_for 60 grep -qx on "$dir/out" || fail "the program does not begin: $(cat "$dir/out")"
bpftrace -e "usdt:$dir/t:sample:leaf { if ((int32)arg1 == 3 * (int32)arg0) { @right = count(); } else { @wrong = count(); } printf(\"leaf\n\"); }
	usdt:$dir/t:sample:inline { @text[str(arg0)] = count(); printf(\"inline\n\"); }" >"$dir/seen" 2>"$dir/err" & tracer=$!
some() { [ "$(grep -c leaf "$dir/seen")" -ge 10 ] && [ "$(grep -c inline "$dir/seen")" -ge 10 ]; }
wait_for 60 some || fail "bpftrace sees fewer than ten events of each kind: $(tail -n 5 "$dir/seen") $(cat "$dir/err")"
kill -INT $tracer
wait $tracer
tracer=
grep -q '@right: [0-9]' "$dir/seen" || fail "bpftrace sees no events: $(cat "$dir/seen" "$dir/err")"
grep -q '@wrong: [1-9]' "$dir/seen" && fail "bpftrace sees wrong arguments: $(cat "$dir/seen")"
grep -q '@text\[text\]' "$dir/seen" || fail "bpftrace sees no string: $(cat "$dir/seen")"
kill -0 $pid || fail "the program died: $(cat "$dir/out")"
kill $pid
wait $pid 2>/dev/null
pid=

# bpftrace alone: it starts the program, and none of the events may be missing, not even the first
right="usdt:PROGRAM:counted:leaf { if ((int32)arg1 == 3 * (int32)arg0) { @right = count(); } else { @wrong = count(); } }
	usdt:PROGRAM:counted:loop { @loop = count(); @sum = sum((int32)arg0); }
	usdt:PROGRAM:counted:end { @end = count(); }"
counted() {
	timeout 120 bpftrace -e "$(printf %s "$right" | sed "s|PROGRAM|$1|g")" "$@" >"$dir/seen" 2>"$dir/err"
}
# seen WHAT: 1000 of each, the arguments right
seen() {
	for want in '@right: 1000' '@loop: 1000' '@sum: 499500' '@end: 1'; do
		grep -qx "$want" "$dir/seen" || fail "$1, $want: $(cat "$dir/seen" "$dir/err")"
	done
	grep -q '@wrong: [1-9]' "$dir/seen" && fail "$1: wrong arguments: $(cat "$dir/seen")"
}
with_agent="-Wl,--no-as-needed $agent -Wl,-rpath,$(dirname "$agent")"
compilers='gcc clang'
[ "${TOOLS-}" != short ] || compilers=gcc
for cc in $compilers; do
	command -v $cc >/dev/null || continue
	$cc -O2 -I"$root/include" "$here/counted.c" $with_agent -o "$dir/agent-$cc" || exit 1
	[ -x "$dir/self-$cc" ] || $cc -O2 -I"$root/include" -DESPY_MARK_USDT=2 "$here/counted.c" -o "$dir/self-$cc" || exit 1
	$cc -O2 -I"$root/include" "$here/counted.c" -o "$dir/plain-$cc" || exit 1
	for how in agent self; do
		counted "$dir/$how-$cc" -c "$dir/$how-$cc 1000"
		seen "bpftrace -c, $how, $cc"
	done
done

[ $# -gt 2 ] || exit $bad
espy=$(realpath "$3")
# a program that runs already: the agent looks once a second, and has found all three marks watched when it says so
"$dir/agent-gcc" 1000 "$dir/go" >"$dir/out" 2>&1 &
pid=$!
counted "$dir/agent-gcc" -p $pid & tracer=$!
watched() { [ "$("$espy" list -p $pid markers | grep -c '^counted:.* on .* by another tool$')" = 3 ]; }
wait_for 60 watched || fail "bpftrace -p: the agent does not see that it is there: $("$espy" list -p $pid markers) $(cat "$dir/err")"
: >"$dir/go"
wait $pid || fail "bpftrace -p: $(cat "$dir/out")"
pid=
wait $tracer
tracer=
seen 'bpftrace -p, agent'

# told not to look, the agent does not
ESPY_AGENT_USDT=off counted "$dir/agent-gcc" -c "$dir/agent-gcc 1000"
grep -q '@right: [1-9]' "$dir/seen" && fail "ESPY_AGENT_USDT=off: $(cat "$dir/seen")"

# espy through the kernel: the semaphore is raised as by others, and an event is still one event
for how in plain self; do
	for cc in gcc clang; do
		[ -x "$dir/$how-$cc" ] || continue
		"$espy" trace -s 4096 --via kernel -m 'counted:*' -o "$dir/text" "$dir/$how-$cc" 1000 2>"$dir/err" ||
			fail "espy --via kernel, $how, $cc: $(cat "$dir/err")"
		seq 0 999 | awk -v text="$dir/$how-$cc" '{ printf "counted:leaf(i=%d, triple=%d, text=\"%s\")\n", $1, 3 * $1, text }' >"$dir/want"
		grep '^counted:leaf' "$dir/text" | cmp -s - "$dir/want" ||
			fail "espy --via kernel, $how, $cc: $(grep -c '^counted:leaf' "$dir/text") of 1000: $(head -3 "$dir/text" "$dir/err")"
	done
done
exit $bad
