#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# -m with --all and --cgroup: every process that has an agent, those that come later too, and none that has not.
. "${0%/*}/lib.sh"
# Others may run this test at the same time: what is counted is by the numbers of our processes.
mine() { # FILE PID: how many lines of the process
	grep -c "^$2  *app:short(" "$1"
}
start() { # linked, or not
	"$progs/$1" ticks & started=$!
	pids="$pids $started"
}
pids=
trap 'kill $pids 2>/dev/null; end_all' EXIT
start short-linked; a=$started
start short-linked; b=$started
start short; none=$started
has_agent() {
	grep -qx espy-agent "/proc/$1"/task/*/comm
}
wait_for 60 has_agent $a || not_ok "no agent in $a"
wait_for 60 has_agent $b || not_ok "no agent in $b"
# ends NAME FILE: espy, asked to end, says how many there were
ends() {
	kill -INT $espy_pid
	wait $espy_pid
	has "$1: the last line counts them" "$2" 'process.* with an agent, marks of [1-9]'
}
watch() { # NAME FILE OPTIONS...
	name=$1 file=$2
	shift 2
	"$espy" trace "$@" -m app:short -o "$file" 2>"$file.err" & espy_pid=$!
}
both() { # FILE PATTERN PATTERN
	grep -q "$2" "$1" && grep -q "$3" "$1"
}
watch all "$dir/all" --all
wait_for 60 both "$dir/all" "^$a  *app:short(" "^$b  *app:short(" || not_ok "--all: not both are seen"
start short-linked; later=$started
if wait_for 60 grep -q "^$later  *app:short(" "$dir/all"; then ok "--all: one that begins later"; else not_ok "--all: one that begins later is not seen"; fi
"$progs/short-linked" forking 3 & forking=$!
pids="$pids $forking"
kids() { [ "$(grep -c "app:short(i=[012], n=-$forking)" "$dir/all")" -ge 3 ]; }
if wait_for 60 kids; then ok "--all: children"; else not_ok "--all: children are not seen"; fi
ends --all "$dir/all.err"
expect "--all: nothing is loaded into a process without an agent" 0 "$(mine "$dir/all" $none)"
grep -q libespy-agent /proc/$none/maps && not_ok "the agent was loaded into $none"
"$espy" trace --all -m app:short --via=kernel 2>"$dir/err"
has "--via=kernel is refused" "$dir/err" '\--via is for a command'
if "$espy" doctor --source=bpf >/dev/null 2>&1; then
	watch "all and calls" "$dir/both" --all -e trace=nanosleep,clock_nanosleep
	wait_for 60 both "$dir/both" "^$a  *app:short(" "^$none  *.*nanosleep" ||
		not_ok "--all with calls: not both are seen"
	start short-linked; later=$started
	if wait_for 60 grep -q "^$later  *app:short(" "$dir/both"; then ok "--all with calls: one that begins later"; else not_ok "--all with calls: one that begins later is not seen"; fi
	ends "--all with calls" "$dir/both.err"
fi
root=$(sed -n 's/^cgroup2 \([^ ]*\) .*/\1/p' /proc/mounts | head -n 1)
if [ -n "$root" ] && group=$(mktemp -d "$root/espy-marks-XXXXXX" 2>/dev/null) && mkdir "$group/inner" 2>/dev/null; then
	empty() { ! grep -q . "$group/inner/cgroup.procs" "$group/cgroup.procs"; }
	trap 'kill $pids 2>/dev/null; end_all; wait_for 60 empty; rmdir "$group/inner" "$group"' EXIT
	echo $b >"$group/inner/cgroup.procs"
	watch cgroup "$dir/cgroup" --cgroup "$group"
	if wait_for 60 grep -q "^$b  *app:short(" "$dir/cgroup"; then ok "--cgroup: one below it"; else not_ok "--cgroup: nothing is seen"; fi
	echo $a >"$group/cgroup.procs"
	if wait_for 60 grep -q "^$a  *app:short(" "$dir/cgroup"; then ok "--cgroup: one that comes in"; else not_ok "--cgroup: one that comes in is not seen"; fi
	ends --cgroup "$dir/cgroup.err"
	expect "--cgroup: none but these" 0 "$(mine "$dir/cgroup" $later)"
else
	echo "not run: no cgroup v2 tree to make a group in"
fi
"$espy" trace --cgroup /no/such/group -m app:short 2>"$dir/err"
has "a cgroup that is none" "$dir/err" "cgroup '/no/such/group'"
finish
