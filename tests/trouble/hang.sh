# SPDX-License-Identifier: LGPL-2.1-or-later
# A call that hangs is shown while it hangs, once, and its end later.
. "${0%/*}/lib.sh"

mkfifo "$dir/fifo"
exec 8<>"$dir/fifo" # a writer, which writes nothing
trace_bg -o "$dir/out" cat "$dir/fifo" 8>&- &
espy_pid=$!
if wait_for 60 sh -c "tail -n 1 '$dir/out' | grep -q '^read(3$'"; then
	ok "read from a silent pipe is shown before it ends"
else
	not_ok "read from a silent pipe is not shown before it ends: $(tail -n 1 "$dir/out")"
fi
exec 8>&-
wait $espy_pid
expect "shown once, its line finished in place" 1 "$(grep -c '^read(3, "", 131072) *= 0$' "$dir/out")"
hasnt "not in two parts" "$dir/out" 'unfinished\|resumed'

# A line of another task ends the first part.
# Sleeps of a minute: what is looked at is their text. The one that is to come between begins when the other is shown.
cat >"$dir/two.sh" <<'END'
sleep 60 & # sleeps: a program that is watched
echo $! >"$1/first"
read -r line <"$1/go"
sleep 61 & # sleeps: a program that is watched
echo $! >"$1/second"
wait
END
mkfifo "$dir/go"
trace_bg -f -o "$dir/two" sh "$dir/two.sh" "$dir" &
espy_pid=$!
sleeps() { # SECONDS: the call is shown, and hangs
	grep -q "nanosleep(CLOCK_REALTIME, 0, {tv_sec=$1, " "$dir/two"
}
wait_for 60 sleeps 60 || not_ok "a sleep is not shown while it lasts: $(tail -n 3 "$dir/two")"
echo >"$dir/go"
wait_for 60 sleeps 61 || not_ok "the other sleep is not shown while it lasts: $(tail -n 3 "$dir/two")"
# A stop that is not seen ends the sleep for a moment: the call ends, and another one goes on.
kill -STOP "$(cat "$dir/first")"
kill -CONT "$(cat "$dir/first")"
resumed() {
	grep -q '<\.\.\. clock_nanosleep resumed>' "$dir/two"
}
wait_for 60 resumed
kill "$(cat "$dir/first")" "$(cat "$dir/second")"
wait $espy_pid
grep -v '^[0-9]* *[+-]' "$dir/two" >"$dir/calls"
has "another task's line comes between: the first part ends" "$dir/calls" '^[0-9]* *clock_nanosleep(.* <unfinished \.\.\.>$'
has "another task's line comes between: the rest has a line of its own" "$dir/calls" '^[0-9]* *<\.\.\. clock_nanosleep resumed>'

sleep 600 & # sleeps: a program that is watched
target=$!
trace_bg -o "$dir/out2" -p $target 2>"$dir/err" &
espy_pid=$!
call='nanosleep('
[ "$source" = bpf ] || call='nanosleep(\|restart_syscall(' # the stop has ended it, and it goes on by another call
wait_for 60 grep -q "$call" "$dir/out2" && ok "attach: the call that the task sits in is shown" ||
	not_ok "attach: nothing shown: $(cat "$dir/out2")"
kill -INT $espy_pid
wait $espy_pid
kill $target
wait $target 2>/dev/null

# The task dies in it: what the call would have written is not shown.
trace_bg -e trace=clock_nanosleep -o "$dir/dies" sleep 600 &
espy_pid=$!
wait_for 60 grep -q 'nanosleep(' "$dir/dies" || not_ok "the call of a task that is to die is not shown"
kill -9 "$(pgrep -x sleep -P $espy_pid)"
wait $espy_pid
has "a task that dies in its call" "$dir/dies" '^clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=600, tv_nsec=0} <unfinished \.\.\.>) *= ?$'
# The stop that lets go of a task has interrupted its call, which the kernel makes again: it has no end to show. The
# first of so many tasks have stopped before the last one is asked to.
cat >"$dir/many.sh" <<'END'
for _ in $(seq 50); do
	sleep 600 & # sleeps: a program that is watched
done
wait
END
trace_bg -f -I1 -e trace=clock_nanosleep -o "$dir/left" sh "$dir/many.sh" &
espy_pid=$!
all_sleep() {
	[ "$(grep -c 'nanosleep(CLOCK_REALTIME, 0, {tv_sec=600' "$dir/left")" = 50 ]
}
wait_for 60 all_sleep || not_ok "not all sleep: $(tail -n 3 "$dir/left")"
targets=$(sed -n 's/^\([0-9]*\) *clock_nanosleep(.*/\1/p' "$dir/left")
kill -INT $espy_pid
wait $espy_pid
# shellcheck disable=SC2086 # a list
kill $targets
hasnt "let go of in a call: it does not end" "$dir/left" 'ERESTART'

# -e status=detached: the half line waits until the task is let go of. A stopping source has it once the task sleeps in the call.
if [ "$source" = ptrace ]; then
	trace_bg -I1 -e status=detached -e trace=clock_nanosleep -o "$dir/let" sleep 600 &
	espy_pid=$!
	sleeps() {
		target=$(pgrep -x sleep -P $espy_pid) && grep -q '^230 ' "/proc/$target/syscall" && [ "$(state "$target")" = S ]
	}
	wait_for 60 sleeps || not_ok "status=detached: it does not sleep"
	kill -INT $espy_pid
	wait $espy_pid
	kill "$target" 2>/dev/null
	expect "status=detached: the line" 'clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=600, tv_nsec=0} <detached ...>' "$(cat "$dir/let")"
fi
finish
