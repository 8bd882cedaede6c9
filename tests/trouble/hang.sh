# SPDX-License-Identifier: LGPL-2.1-or-later
# A call that hangs is shown while it hangs, once, and its end later.
. "$(dirname "$0")/lib.sh"

mkfifo "$dir/fifo"
sleep 60 >"$dir/fifo" &
writer=$!
trace_bg -o "$dir/out" cat "$dir/fifo" &
espy_pid=$!
if wait_for 60 sh -c "tail -n 1 '$dir/out' | grep -q '^read(3, $'"; then
	ok "read from a silent pipe is shown before it ends"
else
	not_ok "read from a silent pipe is not shown before it ends: $(tail -n 1 "$dir/out")"
fi
kill $writer
wait $writer 2>/dev/null
wait $espy_pid
expect "shown once, its line finished in place" 1 "$(grep -c '^read(3, "", 131072) *= 0$' "$dir/out")"
hasnt "not in two parts" "$dir/out" 'unfinished\|resumed'

# A line of another task ends the first part.
trace -f -o "$dir/two" sh -c 'sleep 1 & sleep 2; wait'
grep -v '^[0-9]* *[+-]' "$dir/two" >"$dir/calls"
has "another task's line comes between: the first part ends" "$dir/calls" '^[0-9]* *clock_nanosleep(.* <unfinished \.\.\.>$'
has "another task's line comes between: the rest has a line of its own" "$dir/calls" '^[0-9]* *<\.\.\. clock_nanosleep resumed>'

sleep 60 &
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
pkill -9 -x sleep -P $espy_pid
wait $espy_pid
has "a task that dies in its call" "$dir/dies" '^clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=600, tv_nsec=0},  <unfinished \.\.\.>) *= ?$'
finish
