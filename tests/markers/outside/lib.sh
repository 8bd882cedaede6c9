# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts beside it share beyond tests/lib.sh: SCRIPT ESPY AGENT PROGRAMS-DIR.
. "$(dirname "$0")/../../lib.sh"
agent=$(realpath "$2") progs=$(realpath "$3")
[ "$(uname -m)" = x86_64 ] || { echo "SKIP: the agent is for x86-64"; exit 77; }
ESPY_AGENT=$agent
export ESPY_AGENT
# meson sets it: malloc then fills what it gives, and a program of mallocs is hardly ever outside.
unset MALLOC_PERTURB_
# start PROGRAM...: in the background; its number in $pid
start() {
	"$@" >/dev/null 2>"$dir/its-errors" & pid=$!
	wait_for 60 sh -c "! readlink /proc/$pid/exe | grep -Eq '/(ba|da)?sh$'"
	sleep 0.1
}
# refused NAME PID PATTERN: the agent is not loaded into it, with a reason like that, and nothing is changed
refused() {
	"$espy" trace -p "$2" -m 'app:*' -o "$dir/lines" >"$dir/out" 2>&1 && not_ok "$1: espy says it worked"
	has "$1" "$dir/out" "$3"
	[ -n "$(state "$2")" ] || not_ok "$1: the program is gone"
	grep -q '^espy-agent$' /proc/"$2"/task/*/comm 2>/dev/null && not_ok "$1: there is an agent in it"
}
# works NAME PID PATTERN: the agent is loaded, and lines like that come; ARGS: more of them for espy
works() {
	# A program that is nearly always in malloc comes to no safe point in time now and then, and espy says so: then again.
	for attempt in 1 2 3; do
		rm -f "$dir/lines"
		# shellcheck disable=SC2086 # words are meant to be split
		"$espy" trace ${ARGS:-} -p "$2" -m 'app:*' -o "$dir/lines" >"$dir/out" 2>&1 & tracer=$!
		wait_for 60 sh -c "grep -q '$3' '$dir/lines' || ! kill -0 $tracer"
		kill -INT $tracer 2>/dev/null
		wait $tracer
		grep -q 'can be loaded safely; try again' "$dir/out" || break
		[ $attempt = 3 ] || echo "# $1: no safe point, again"
	done
	if grep -q "$3" "$dir/lines" 2>/dev/null; then ok "$1"; else
		not_ok "$1: no line like: $3"
		tail -n 5 "$dir/out"
	fi
	lives "$1" "$2"
}
lives() { # NAME PID: it does, and nobody traces it
	case $(state "$2") in '' | Z) not_ok "$1: the program is gone: $(cat "$dir/its-errors")" ;; esac
	[ "$(tracer "$2")" = 0 ] || not_ok "$1: the program is still traced"
}
