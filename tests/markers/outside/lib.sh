# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts beside it share beyond tests/lib.sh: SCRIPT ESPY AGENT PROGRAMS-DIR.
. "${0%/*}/../../lib.sh"
# What was started ends with the script, however that ends; also what the programs have started themselves.
end_tree() { # PID
	for child in $(pgrep -P "$1"); do
		end_tree "$child"
	done
	kill -9 "$1"
}
end_all() {
	# Not jobs -p, which has the numbers of those that have ended, too.
	jobs -l >"$dir/jobs"
	for job in $(sed -n 's/^\[[0-9]*\] *[+-]* *\([0-9][0-9]*\) *\(Running\|Stopped\).*/\1/p' "$dir/jobs"); do
		end_tree "$job"
	done 2>/dev/null
	rm -rf "$dir"
}
trap end_all EXIT
trap 'exit 1' INT TERM
agent=$(realpath "$2") progs=$(realpath "$3")
[ "$(uname -m)" = x86_64 ] || { echo "SKIP: the agent is for x86-64"; exit 77; }
ESPY_AGENT=$agent
export ESPY_AGENT
# meson sets it: malloc then fills what it gives, and a program of mallocs is hardly ever outside.
unset MALLOC_PERTURB_
# start_any PROGRAM...: in the background; its number in $pid. It is what it is to be, or has ended.
start_any() {
	: >"$dir/its-output"
	SAYS_READY=1 "$@" >"$dir/its-output" 2>"$dir/its-errors" & pid=$!
	wait_for 60 is_no_shell || not_ok "the shell has not become: $*"
}
is_no_shell() { # or has ended; while a process ends it has no program, and is no zombie yet
	# Twice: it may lose its program between the first look and the comparison.
	if [ -e "/proc/$pid/exe" ] && [ ! "/proc/$pid/exe" -ef "/proc/$$/exe" ] && [ -e "/proc/$pid/exe" ]; then
		return
	fi
	is_gone $pid
}
# start PROGRAM...: the same with one that says when it has begun (subjects.c, confined.c)
start() {
	start_any "$@"
	wait_for 60 has_begun || not_ok "it does not begin: $*"
}
has_begun() {
	while read -r its_line; do
		case $its_line in *ready*) return 0 ;; esac
	done <"$dir/its-output"
	is_gone $pid
}
# is_gone PID: it has ended
is_gone() {
	look "$1" State
	case $value in '' | Z) return 0 ;; esac
	return 1
}
# in_call PID NUMBER...: the first thread sleeps in one of these calls, not stopped
in_call() {
	look "$1" State
	[ "$value" = S ] || return 1
	read -r its_call _ <"/proc/$1/syscall" || return 1
	shift
	for one in "$@"; do
		[ "$one" != "$its_call" ] || return 0
	done
	return 1
}
untraced() { # PID
	look "$1" TracerPid
	[ "$value" = 0 ]
}
# refused NAME PID PATTERN: the agent is not loaded into it, with a reason like that, and nothing is changed
refused() {
	"$espy" trace -p "$2" -m 'app:*' -o "$dir/lines" >"$dir/out" 2>&1 && not_ok "$1: espy says it worked"
	has "$1" "$dir/out" "$3"
	[ -n "$(state "$2")" ] || not_ok "$1: the program is gone"
	grep -q '^espy-agent$' /proc/"$2"/task/*/comm 2>/dev/null && not_ok "$1: there is an agent in it"
}
has_line() { # PATTERN: there is one, or none will come
	grep -q "$1" "$dir/lines" || ! kill -0 $tracer
}
# works NAME PID PATTERN: the agent is loaded, and lines like that come; ARGS: more of them for espy
works() {
	# A program that is nearly always in malloc comes to no safe point in time now and then, and espy says so: then again.
	for attempt in 1 2 3; do
		rm -f "$dir/lines"
		# shellcheck disable=SC2086 # words are meant to be split
		"$espy" trace ${ARGS:-} -p "$2" -m 'app:*' -o "$dir/lines" >"$dir/out" 2>&1 & tracer=$!
		wait_for 60 has_line "$3"
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
	! is_gone "$2" || not_ok "$1: the program is gone: $(cat "$dir/its-errors")"
	untraced "$2" || not_ok "$1: the program is still traced"
}
