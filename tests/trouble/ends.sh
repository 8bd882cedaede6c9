# SPDX-License-Identifier: LGPL-2.1-or-later
# espy is stopped, killed, or its target dies: no traced program is harmed.
. "${0%/*}/lib.sh"

sleeps() {
	[ "$(state "$1")" = S ]
}
mkfifo "$dir/never"
for sig in INT TERM HUP; do
	"$progs/fresh" cat "$dir/never" &
	target=$!
	rm -f "$dir/err" # what the last one said is not what this one says
	trace_bg -o "$dir/out" -p $target 2>"$dir/err" &
	espy_pid=$!
	wait_for 60 grep -q attached "$dir/err" || not_ok "$sig: never attached: $(cat "$dir/err")"
	kill -$sig $espy_pid
	wait $espy_pid
	expect "SIG$sig with -p: exit status" 0 $?
	# it goes back to its sleep by itself, when it has a processor
	wait_for 60 sleeps $target && ok "SIG$sig: the target sleeps on" || not_ok "SIG$sig: the target is $(state $target)"
	expect "SIG$sig: nobody traces it" 0 "$(tracer $target)"
	has "SIG$sig: said" "$dir/err" "Process $target detached"
	kill $target
	wait $target 2>/dev/null
done

# kill -9 of espy while a command and an attached process make calls all the time
sh -c 'while :; do : </dev/null; done' &
target=$!
rm -f "$dir/out"
trace_bg -o "$dir/out" -p $target 2>"$dir/err" &
espy_pid=$!
wait_for 60 test -s "$dir/out" || not_ok "kill -9, attached: no call is shown: $(cat "$dir/err")"
kill -9 $espy_pid
wait $espy_pid 2>/dev/null
runs() {
	case $(state "$1") in R | S) ;; *) return 1 ;; esac
}
wait_for 60 runs $target && ok "kill -9, attached: the target runs on" || not_ok "kill -9, attached: state $(state $target)"
expect "kill -9, attached: nobody traces it" 0 "$(tracer $target)"
kill $target
wait $target 2>/dev/null

trace_bg -o "$dir/out" "$progs/spin_calls" "$dir/pid2" >"$dir/spin2.out" &
espy_pid=$!
wait_for 60 test -s "$dir/pid2" || not_ok "kill -9, command: it does not begin"
kill -9 $espy_pid
wait $espy_pid 2>/dev/null
target=$(cat "$dir/pid2")
wait_for 60 runs $target || not_ok "kill -9, command: state $(state $target)"
kill $target
wait_for 60 grep -q 'all is well' "$dir/spin2.out"
has "kill -9, command: it runs to its end" "$dir/spin2.out" 'all is well'

# the target is killed in the middle
trace -o "$dir/out" sh -c 'kill -9 $$'
expect "target killed: its signal is passed on" 137 $?
has "target killed: said" "$dir/out" '+++ killed by SIGKILL +++'

# a process that was stopped before: the signal is told, and it stays stopped
sleep 600 &
target=$!
kill -STOP $target
stopped() {
	[ "$(state $target)" = T ]
}
wait_for 60 stopped || not_ok "it does not stop"
trace_bg -I1 -o "$dir/stopped" -p $target 2>"$dir/err" &
espy_pid=$!
wait_for 60 grep -q '^--- stopped by SIG[A-Z]* ---$' "$dir/stopped" || not_ok "stopped before: $(cat "$dir/err" "$dir/stopped")"
kill -INT $espy_pid
wait $espy_pid
wait_for 60 stopped || not_ok "stopped before: it runs"
kill -9 $target
wait $target 2>/dev/null

# a stopped task dies of the lowest of its signals, and takes no other
trace_bg -e trace=pause -o "$dir/stop" sleep 600 &
espy_pid=$!
begun() {
	target=$(pgrep -x sleep -P $espy_pid)
}
wait_for 60 begun || not_ok "to be stopped: it does not begin"
kill -STOP $target
wait_for 60 grep -q '^--- stopped by SIGSTOP ---$' "$dir/stop" || not_ok "stopped: not told: $(cat "$dir/stop")"
kill -HUP $target
kill -CONT $target
wait $espy_pid
has "stopped: its end" "$dir/stop" '^+++ killed by SIGHUP +++$'
hasnt "stopped: the signal that it never took" "$dir/stop" 'SIGCONT'

# a watched process that waits for the command to go: a zombie is still there
sh -c 'until read p <"$1"; do :; done; while kill -0 "$p"; do :; done' sh "$dir/number" 2>/dev/null &
target=$!
timeout 60 "$espy" trace --source="$source" -e none -o "$dir/out" -p $target sh -c 'echo $$ >"$1.new" && mv "$1.new" "$1"' sh "$dir/number" 2>"$dir/err"
expect "a process that waits for the command: status" 0 $?
kill $target 2>/dev/null

# a program's child that is espy's by birth: the program waits until it has gone
for follow in '' -f; do
	trace $follow -e none -o "$dir/out" "$progs/leave_child"
	expect "a child left to espy ${follow:-alone}: status" 0 $?
	has "a child left to espy ${follow:-alone}: the program's end" "$dir/out" 'exited with 0'
done

sh -c 'exit 0' &
gone=$!
wait $gone
trace -p $gone 2>"$dir/err"
expect "a pid that is gone: exit status" 1 $?
has "a pid that is gone: said" "$dir/err" 'No such process'
finish
