# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that do odd things: exec from a thread that is not the leader, arguments changed by another thread.
. "${0%/*}/lib.sh"

trace -f -o "$dir/exec" "$progs/thread_exec" >"$dir/prog.out"
expect "exec from a thread: exit status" 0 $?
has "exec from a thread: the new image ran" "$dir/prog.out" '^after exec$'
has "exec from a thread: said" "$dir/exec" '+++ superseded by execve in pid [0-9]* +++'
caller=$(sed -n 's/.* superseded by execve in pid \([0-9]*\) +++/\1/p' "$dir/exec")
has "exec from a thread: its execve begins in that thread" "$dir/exec" "^$caller *execve(\"/bin/echo\", .* <unfinished \.\.\.>\$"
expect "exec from a thread: and ends behind that, in the place of the first one" "<... execve resumed>) = 0" \
	"$(sed -n '/superseded/{n;s/^[0-9]* *//;p;}' "$dir/exec" | tr -s ' ')"
# Where no line of the leader comes between, the half line tells the new number. Its return has the number of execve.
trace -f -e trace=execveat -o "$dir/at" "$progs/thread_exec" at >"$dir/prog.out"
leader=$(sed -n 's/^\([0-9]*\) *+++ superseded by .*/\1/p' "$dir/at")
has "execveat from a thread: its first half" "$dir/at" "^[0-9]* *execveat(-1, \"/bin/echo\", .*, 0 <pid changed to $leader \.\.\.>\$"
has "execveat from a thread: its second half" "$dir/at" "^$leader *<\.\.\. execveat resumed>) *= 0\$"
trace -f -e trace=execveat "$progs/thread_exec" at 2>"$dir/live" >"$dir/prog.out"
has "execveat from a thread: one task is left" "$dir/live" '^+++ superseded by execve in pid [0-9]* +++$'
trace -f -e trace=execve -o "$dir/not" "$progs/thread_exec" at >"$dir/prog.out"
expect "execveat from a thread: it is no execve" 1 "$(grep -c 'execve(' "$dir/not")"
has "exec from a thread: its execve is shown with arguments" "$dir/exec" 'execve("/bin/echo", \["echo", "after exec"\], '
has "exec from a thread: the calls of the new image" "$dir/exec" 'write(1, "after exec\\n", 11) *= 11'
expect "exec from a thread: one exit" 1 "$(grep -c '+++ exited' "$dir/exec")"

# A process ends with its first thread, also if that has called exit() long before the others.
trace -f -o "$dir/leaves" "$progs/leader_leaves" >"$dir/leaves.out"
read -r first other <"$dir/leaves.out"
printf '%s +++ exited with 0 +++\n' "$other" "$first" >"$dir/want"
grep '+++' "$dir/leaves" | tr -s ' ' >"$dir/got"
expect "a first thread that ends early: its end is told last" "$(cat "$dir/want")" "$(cat "$dir/got")"

trace -f -o "$dir/race" "$progs/race_args" >"$dir/race.out"
expect "arguments changed by another thread: the program is unharmed" "$(cat "$dir/race.out")" "20000 calls"
expect "arguments changed by another thread: every call is shown" 20000 "$(grep -c 'openat(AT_FDCWD, "/nonexistent/[ab]*"' "$dir/race")"

trace -o "$dir/hostile" "$progs/hostile_calls" >"$dir/hostile.out"
expect "bad pointers, huge vectors: the program is unharmed" "survived" "$(tail -n 1 "$dir/hostile.out")"
has "a bad pointer is shown as an address" "$dir/hostile" 'openat(AT_FDCWD, 0x1, O_RDONLY) *= -1 EFAULT (Bad address)'
trace -v -s 4096 -e trace=readv -o "$dir/full" "$progs/hostile_calls" >"$dir/hostile.out"
expect "calls that fill a record: each is shown" 64 "$(grep -c '^readv([0-9]*, \[.*\], 1024) *= [1-9][0-9]*$' "$dir/full")"
has "a vector longer than the kernel takes" "$dir/hostile" 'writev(1, .*, 2000000000) *= -1 EINVAL'
# Where bpf(2) is refused in spite of all capabilities espy goes on by ptrace, and says so once.
for error in 1 38; do
	[ "$(id -u)" = 0 ] && "$espy" doctor --source=bpf >/dev/null 2>&1 || break
	"$progs/refuse_bpf" $error "$espy" trace -f sh -c 'true & wait' 2>"$dir/refused"
	expect "bpf(2) is refused ($error): status" 0 $?
	has "bpf(2) is refused ($error): traced" "$dir/refused" 'exited with 0'
	expect "bpf(2) is refused ($error): said once" 1 "$(grep -c 'using the ptrace source.*bpf(2): ' "$dir/refused")"
	"$progs/refuse_bpf" $error "$espy" trace --source=bpf -o "$dir/refused" true 2>"$dir/err"
	expect "bpf(2) is refused ($error), --source=bpf: status" 1 $?
	has "bpf(2) is refused ($error), --source=bpf: why" "$dir/err" 'bpf(2): .*seccomp'
done
# A stop interrupts a sleep, twice: the call with which the kernel goes on says what it goes on with, live and replayed.
trace_bg -f -o "$dir/stops" --record "$dir/stops.espy" sh -c 'sleep 600 & echo $! >"$0"; wait' "$dir/sleeper" & # sleeps: a program that is watched
job=$!
wait_for 60 test -s "$dir/sleeper" || not_ok "the program does not begin"
sleeper=$(cat "$dir/sleeper")
in_sleep() { # clock_nanosleep or restart_syscall
	grep -qE '^(230|219) ' "/proc/$sleeper/syscall" && [ "$(state "$sleeper")" = S ]
}
stopped() {
	case $(state "$sleeper") in [Tt]) ;; *) return 1 ;; esac
}
for i in 1 2; do
	wait_for 60 in_sleep || not_ok "stop $i: it does not sleep: $(cat "/proc/$sleeper/syscall")"
	kill -STOP "$sleeper"
	wait_for 60 stopped || not_ok "stop $i: its state is $(state "$sleeper")"
	kill -CONT "$sleeper"
done
restarted() {
	[ "$(grep -c 'restart_syscall(<... resuming interrupted' "$dir/stops")" -ge 2 ]
}
wait_for 60 restarted
kill "$sleeper"
wait $job
expect "restart_syscall: what was interrupted" 2 \
	"$(grep -c 'restart_syscall(<... resuming interrupted clock_nanosleep \.\.\.>' "$dir/stops")"
"$espy" show -o "$dir/stops.shown" "$dir/stops.espy"
expect "restart_syscall: replayed" "$(grep restart_syscall "$dir/stops")" "$(grep restart_syscall "$dir/stops.shown")"
# A signal that is ignored during a call which is not shown stands in front of the next one that is.
trace -T -e trace=openat -o "$dir/out" sh -c "trap '' USR1; kill -USR1 \$\$; : </etc/passwd" 2>/dev/null
expect "an ignored signal, then the call behind it" "SIGUSR1 openat" "$(sed -n 's/^--- \(SIGUSR1\) .*/\1/p; s/^\(openat\)(.*passwd".*/\1/p' "$dir/out" | paste -sd' ')"
finish
