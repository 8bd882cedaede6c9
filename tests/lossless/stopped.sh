# SPDX-License-Identifier: LGPL-2.1-or-later
# espy itself is stopped (^Z, SIGSTOP) while it holds tasks: they run on, nobody who loads BPF programs has to wait, and espy
# goes on when it is continued.
. "${0%/*}/../trouble/lib.sh"
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }
said='did not run for a while: the tasks that were held ran on'

is_state() { # PID LETTER
	[ "$(state "$1")" = "$2" ]
}
loads() { # NAME: another espy begins and ends, as it cannot while a task holds up the kernel
	if timeout 60 "$espy" trace --source=bpf -o "$dir/other" true && grep -q 'exited with 0' "$dir/other"; then ok "$1"; else not_ok "$1"; fi
}
told() { # the number of times that a task was told to be held
	grep -c 'is held after' "$dir/err"
}

# A pause by hand, SIGSTOP.
cat >"$dir/work.sh" <<'S'
while [ ! -e "$1/stop" ]; do
	: >"$1/x"
	rm "$1/x"
	echo >>"$1/count"
done
S
trace_bg -f -e trace=unlinkat --pause-on unlinkat -o "$dir/out" sh "$dir/work.sh" "$dir" </dev/null 2>"$dir/err" &
job=$!
wait_for 60 grep -q 'is held after unlinkat' "$dir/err" && ok "held" || not_ok "not held: $(cat "$dir/err")"
kill -STOP $job
wait_for 60 is_state $job T || not_ok "espy does not stop"
wait_for 60 test -s "$dir/count" && ok "espy is stopped: the task runs on" || not_ok "espy is stopped: the task stays held"
loads "BPF programs can be loaded"
runs_on() {
	[ "$(wc -l <"$dir/count")" -gt 3 ]
}
wait_for 60 runs_on && ok "nobody is held meanwhile" || not_ok "held while espy is stopped"
kill -CONT $job
held_again() {
	[ "$(told)" -gt 1 ]
}
wait_for 60 held_again && ok "espy goes on: held again" || not_ok "espy goes on: not held again"
has "what happened is told" "$dir/err" "$said"

# Stopped once more, and killed: no matter whether its helper was quicker.
kill -STOP $job
from=$(wc -l <"$dir/count")
kill -9 $job
went_on() {
	[ "$(wc -l <"$dir/count")" -gt $((from + 2)) ]
}
wait_for 60 went_on && ok "stopped, then killed: the task runs on" || not_ok "stopped, then killed: the task stays held"
: >"$dir/stop"
wait $job 2>/dev/null

# The helper is killed while espy is stopped; espy goes on with another one. In a folder of its own: what the first one has said
# there, and its program, which nobody waits for, are not to be taken for this one's.
second=$dir/second
mkdir "$second"
trace_bg -f -e trace=unlinkat --pause-on unlinkat -o "$second/out" sh "$dir/work.sh" "$second" </dev/null 2>"$second/err" &
job=$!
wait_for 60 grep -q 'is held after unlinkat' "$second/err" || not_ok "not held: $(cat "$second/err")"
kill -STOP $job
wait_for 60 test -s "$second/count" || not_ok "espy is stopped: the task stays held"
kill -9 "$(pgrep -x espy-hold -P $job)"
kill -CONT $job
wait_for 60 grep -q "$said" "$second/err" && ok "the helper was killed meanwhile: said" || not_ok "the helper was killed: not said"
another() {
	pgrep -x espy-hold -P $job
}
wait_for 60 another && ok "and there is another one" || not_ok "and there is no other one"
: >"$second/stop"
ended() { # it may be held once more
	! kill -0 $job || { "$espy" resume --by $job "$(sed -n 's/.*: task \([0-9]*\) .* is held after.*/\1/p' "$second/err" | tail -n 1)"; false; }
}
wait_for 60 ended || not_ok "it does not end"
wait $job
expect "and the command ends well" 0 $?

# Lossless, ^Z: what finds no room is counted. Nothing else is missing.
n=4000
trace --lossless=always -o "$dir/whole" "$progs/make_calls" $n || not_ok "a whole trace"
"$progs/fresh" -g "$espy" trace --source=bpf --buffer 1M -o "|$progs/slow_reader $dir/slow $dir/go" "$progs/make_calls" $n 2>"$dir/err" &
job=$!
sleepers() {
	grep -q request_wait_answer "/proc/$(pgrep -x make_calls -P $job)/wchan"
}
wait_for 60 sleepers && ok "lossless: held" || not_ok "lossless: never held"
# As ^Z does, but for espy alone: the program shall not get signals that the whole trace does not have.
kill -TSTP $job
wait_for 60 is_state $job T && ok "^Z stops espy" || not_ok "^Z does not stop espy"
loads "^Z: BPF programs can be loaded"
subject=$(pgrep -x make_calls -P $job)
wait_for 60 is_state "$subject" Z && ok "^Z: the program runs to its end" || not_ok "^Z: the program is $(state "$subject")"
kill -CONT $job
: >"$dir/go"
wait $job
expect "fg: the command's status" 0 $?
has "fg: what happened is told" "$dir/err" "$said\|nobody could be held for a while, because espy did not run"
has "fg: the pauses are told" "$dir/err" ': [0-9]* pauses*, [0-9.]* ms in all, [0-9.]* ms at most; 1 task held: '
has "fg: the end of the program is there" "$dir/slow" '^+++ exited with 0 +++$'
lost=$(sed -n 's/^.*: \([0-9]*\) events* lost: no room.*/\1/p' "$dir/err")
seen=$(grep -vc 'lost here' "$dir/slow")
expect "seen and lost are all there is" "$(wc -l <"$dir/whole")" "$((seen + ${lost:-0}))"
finish
