#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that have confined themselves: the agent is loaded where the filters allow what it takes, and only there.
# In every case the program lives on. ROUNDS: each call that the agent needs is forbidden once, not some of them.
. "${0%/*}/lib.sh"
is_confined() { # or has ended
	grep -q '^Seccomp:.[12]' /proc/$pid/task/*/status || is_gone $pid
}
confined() {
	start "$progs/confined" "$@"
	# The filter is there, or one of its threads has it.
	wait_for 60 is_confined || not_ok "confined $*: it has no filter"
	lives "confined $*" $pid
}
# forbidden NAME PATTERN FILTER...
forbidden() {
	name=$1 pattern=$2
	shift 2
	confined "$@"
	refused "$name" $pid "$pattern"
	lives "$name" $pid
	kill -9 $pid
	wait $pid 2>/dev/null
}
# allowed NAME FILTER...
allowed() {
	name=$1
	shift
	confined "$@"
	works "$name" $pid "${LINE:-app:tick(of=}"
	kill -9 $pid
	wait $pid 2>/dev/null
}
start "$progs/confined" deny log ptrace
if [ -z "$(field $pid Seccomp)" ] || [ "$(field $pid Seccomp)" = 0 ]; then
	echo "SKIP: this kernel has no seccomp filters: $(cat "$dir/its-errors")"
	exit 77
fi
kill -9 $pid
forbidden "strict mode" 'strict seccomp' strict
forbidden "strict mode of one thread" 'strict seccomp' -w strict
if [ "$(id -u)" != 0 ] || [ "$(field $$ Seccomp)" != 0 ]; then
	forbidden "a filter that cannot be read" 'seccomp filter that espy may not read (it takes root' container
	finish
fi
confined deny log ptrace
"$espy" trace -p $pid -m 'app:*' -o "$dir/lines" >"$dir/out" 2>&1 & tracer=$!
wait_for 60 has_line app:tick
kill -INT $tracer
wait $tracer
if grep -q 'this kernel does not let be read' "$dir/out"; then
	echo "SKIP: this kernel shows no filters (CONFIG_CHECKPOINT_RESTORE)"
	exit 77
fi
has "a filter that only writes to the log" "$dir/lines" 'app:tick(of="main"'
kill -9 $pid
if command -v setpriv >/dev/null; then
	chmod 755 "$dir"
	cp "$espy" "$dir/espy" && cp "$agent" "$dir/agent.so" && cp "$progs/confined" "$dir/confined"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/confined" container & pid=$!
	wait_for 60 grep -q '^Seccomp:.2' /proc/$pid/status
	ESPY_AGENT=$dir/agent.so setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/espy" trace -p $pid -m 'app:*' \
		>"$dir/out" 2>&1 && not_ok "without privilege: espy says it worked"
	has "without privilege" "$dir/out" 'seccomp filter that espy may not read (it takes root'
	lives "without privilege" $pid
	kill -9 $pid
fi

allowed "what a container engine forbids" container
LINE='app:child(i=' ARGS=-f allowed "the same, and it forks" -f container
allowed "clone3 is said not to exist" deny enosys clone3 ptrace
allowed "the filter of all threads at once" -t deny kill ptrace keyctl
forbidden "the filter of all threads at once, with a call of the agent in it" 'forbids membarrier (it would get a SIGSYS)' \
	-t deny trap membarrier
needed='openat futex rt_sigreturn tgkill mmap membarrier exit'
[ -z "${ROUNDS-}" ] || needed="$needed read close getpid madvise rt_sigprocmask gettid munmap prctl memfd_create ftruncate fcntl mprotect clock_gettime rseq"
for call in $needed; do
	forbidden "$call would fail" "forbids $call .*(Operation not permitted), which the agent needs" deny errno $call
done
forbidden "a new thread would kill it" 'forbids clone3 (it would be killed)' deny kill clone3 clone
forbidden "clone3 does not exist, and clone would kill it" 'forbids clone (it would be killed)' deny-enosys-kill clone3 clone
forbidden "its tracer decides" 'forbids memfd_create (another process decides about it)' deny trace memfd_create
forbidden "no new code" 'forbids mprotect of code, to write (Operation not permitted)' no-code
# Errors that do no harm, but being killed would.
allowed "calls that may fail" deny errno getrandom set_robust_list sched_getaffinity close_range
forbidden "calls that may fail, but must not kill" 'forbids close_range (it would be killed)' deny kill close_range

# Another thread is confined than the one that is used.
allowed "one thread may neither start threads nor fork" -w deny kill memfd_create openat clone clone3 fork
forbidden "one thread must not come to a mark" 'thread [0-9]* of process [0-9]* runs under a seccomp filter that forbids gettid' \
	-w deny kill gettid
forbidden "one thread must not fork" 'forbids memfd_create (it would be killed), which the agent does in each child' \
	-w deny kill memfd_create

# Who calls anything else than docs/markers.md says is killed.
agent_calls=$(sed -n '/^`futex`/,/\.$/p' "$(dirname "$0")/../../../docs/markers.md" | tr -cd 'a-z0-9_` \n' | tr ' ' '\n' | sed -n 's/`\(.*\)`/\1/p')
expect "calls that docs/markers.md names" yes "$([ "$(echo "$agent_calls" | wc -l)" -gt 25 ] && echo yes)"
# shellcheck disable=SC2086 # words are meant to be split
allowed "nothing but what the agent needs" only $agent_calls clock_nanosleep exit_group
# shellcheck disable=SC2086
LINE='app:child(i=' ARGS=-f allowed "nothing but that, and it forks" -f only $agent_calls clock_nanosleep exit_group wait4

# A sleep that was stopped goes on by a call of its own, which is forbidden here.
confined -s deny kill restart_syscall
is_on() { "$espy" list -p $pid markers | grep -q "^app:tick .* on .* by espy $tracer"; }
rests() { untraced $pid && in_call $pid 230; }
for i in 1 2 3; do
	"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null & tracer=$!
	wait_for 60 is_on || not_ok "a sleep that must not be gone on with, $i: its mark does not go on"
	wait_for 60 rests || not_ok "a sleep that must not be gone on with, $i: it does not sleep: $(cat /proc/$pid/syscall)"
	kill -INT $tracer
	wait $tracer
	lives "a sleep that must not be gone on with, $i" $pid
done
ok "a sleep that must not be gone on with"
kill -9 $pid
finish
