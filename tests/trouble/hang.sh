# SPDX-License-Identifier: LGPL-2.1-or-later
# A call that hangs is shown while it hangs, once, and its end later.
. "$(dirname "$0")/lib.sh"

mkfifo "$dir/fifo"
sleep 3 >"$dir/fifo" &
writer=$!
trace_bg -o "$dir/out" cat "$dir/fifo" &
espy_pid=$!
wait_for 3 grep -q 'read(3.* <unfinished \.\.\.>$' "$dir/out"
has "read from a silent pipe is shown before it ends" "$dir/out" '^read(3.* <unfinished \.\.\.>$'
kill $writer
wait $writer 2>/dev/null
wait $espy_pid
expect "shown once" 1 "$(grep -c '^read(3.* <unfinished' "$dir/out")"
has "its end is shown" "$dir/out" '^<\.\.\. read resumed>.*= 0$'

sleep 30 &
target=$!
trace_bg -o "$dir/out2" -p $target 2>"$dir/err" &
espy_pid=$!
if wait_for 3 grep -q 'nanosleep(' "$dir/out2"; then
	ok "attach: the call that the task sits in is shown"
else
	[ "$source" = ptrace ] && has "attach" "$dir/out2" 'restart_syscall\|nanosleep' || not_ok "attach: nothing shown: $(cat "$dir/out2")"
fi
kill -INT $espy_pid
wait $espy_pid
kill $target
wait $target 2>/dev/null
finish
