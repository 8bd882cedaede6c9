#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where the agent cannot or must not be loaded: refused, with the reason, and nothing is changed.
. "${0%/*}/lib.sh"
if [ -x "$progs/subjects-static" ]; then
	start "$progs/subjects-static" marks
	refused "a static program" $pid 'it is linked statically'
	kill $pid
fi
for arch in i386 x32; do
	[ -x "$progs/subjects-$arch" ] || continue
	start_any "$progs/subjects-$arch"
	if [ -z "$(state $pid)" ] || [ "$(state $pid)" = Z ]; then
		echo "# this kernel executes no $arch programs"
		continue
	fi
	refused "a program for $arch" $pid 'is not an x86-64 program'
	kill $pid
done
start "$progs/subjects" marks
kill -STOP $pid
wait_for 60 grep -q '^State:.*T' /proc/$pid/status
refused "a stopped program" $pid 'is stopped'
kill -CONT $pid
if command -v strace >/dev/null; then
	strace -qq -o /dev/null -p $pid & tracer=$!
	wait_for 60 not grep -q '^TracerPid:.0' /proc/$pid/status
	refused "a program under a tracer" $pid 'is being traced by process'
	kill $tracer
	wait $tracer 2>/dev/null
fi
if command -v gdb >/dev/null; then
	gdb -q -nx -batch -p $pid -ex 'shell exec sleep 600' >/dev/null 2>&1 & tracer=$!
	wait_for 60 grep -q "^TracerPid:.$tracer$" /proc/$pid/status
	refused "a program in a debugger" $pid 'is being traced by process'
	expect "a program in a debugger: whose it is" $tracer "$(tracer $pid)"
	pkill -P $tracer
	wait $tracer
	lives "a program that a debugger has left" $pid
fi
kill $pid
# One that has ended, and nobody has asked how.
sh -c '"$1" marks 1 & echo $! >"$2/zombie"; exec sleep 600' sh "$progs/subjects" "$dir" & parent=$!
wait_for 60 sh -c "grep -q '^State:.Z' /proc/\$(cat '$dir/zombie')/status"
refused "a program that has ended" "$(cat "$dir/zombie")" 'has ended'
kill $parent
start "$progs/subjects" headless
wait_for 60 grep -q '^State:.Z' /proc/$pid/status
refused "a program whose first thread has ended" $pid 'the first thread of process [0-9]* has ended'
kill $pid
# espy waits for no page of the stack that only the program could bring in.
start "$progs/subjects" late_stack
in_pause_or_gone() { in_call $pid 34 || is_gone $pid; }
wait_for 60 in_pause_or_gone
if ! is_gone $pid; then
	refused "a stack that cannot be read" $pid 'no thread of process [0-9]* came to a point where a library can be loaded safely'
	in_call $pid 34 && ok "and its call goes on" || not_ok "its call was ended: $(state $pid)"
	kill $pid
fi
# Between vfork and exec a child works in its parent's memory.
start "$progs/subjects" vforks 600000
wait_for 60 sh -c "[ -n \"\$(pgrep -P $pid)\" ]"
child=$(pgrep -P $pid)
refused "a vfork child" "$child" "works in the memory of its parent $pid"
kill "$child" $pid
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	# Readable by everyone, as an installed espy would be.
	chmod 755 "$dir"
	cp "$espy" "$dir/espy" && cp "$agent" "$dir/agent.so" && cp "$progs/subjects" "$dir/subjects"
	start "$dir/subjects" marks
	ESPY_AGENT=$dir/agent.so setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/espy" trace -p $pid -m 'app:*' \
		>"$dir/out" 2>&1 && not_ok "another user's program: espy says it worked"
	has "another user's program" "$dir/out" 'belongs to user 0'
	kill $pid
	cp "$progs/subjects" "$dir/setuid" && chown 65534 "$dir/setuid" && chmod 4755 "$dir/setuid"
	start "$dir/setuid" marks
	if [ "$(sed -n 's/^Uid:[[:space:]]*\([0-9]*\)[[:space:]]*\([0-9]*\).*/\1 \2/p' /proc/$pid/status)" = "0 65534" ]; then
		refused "a set-user-id program" $pid 'set-user-id'
	fi
	kill $pid
	# One's own: no privilege is needed.
	start setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/subjects" marks
	wait_for 60 grep -qx subjects /proc/$pid/comm
	ESPY_AGENT=$dir/agent.so setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/espy" trace -p $pid \
		-m 'app:*' >"$dir/out" 2>&1 & tracer=$!
	wait_for 60 grep -q 'app:req_done(id=' "$dir/out"
	kill -INT $tracer
	wait $tracer
	has "one's own program, without privilege" "$dir/out" 'app:req_done(id='
	kill $pid
fi
ESPY_AGENT=/nonexistent/agent.so "$espy" trace -m 'app:*' "$progs/subjects" marks 1 >"$dir/out" 2>&1
has "no library" "$dir/out" 'libespy-agent.so) was not found'
"$espy" trace -p 999999999 -m 'app:*' >"$dir/out" 2>&1 && not_ok "a process that does not exist"
has "a process that does not exist" "$dir/out" 'espy: process 999999999 is not there'
expect "and it is said once" 1 "$(wc -l <"$dir/out")"
# The library is there, but what it needs is not: espy says what, and it is tried again with the next espy.
if command -v prlimit >/dev/null; then
	start "$progs/subjects" marks
	prlimit --pid $pid --fsize=0:
	"$espy" trace -p $pid -m 'app:*' -o /dev/null >"$dir/out" 2>&1 && not_ok "a limit of file sizes: espy says it worked"
	has "a limit of file sizes" "$dir/out" 'its agent could not start: File too large (prlimit'
	prlimit --pid $pid --fsize=unlimited:
	works "and without it" $pid 'app:req_done(id='
	kill $pid
fi
# With ESPY_AGENT=off it does not begin by itself; who names the process asks for it.
start env ESPY_AGENT=off "$progs/subjects" marks
works "ESPY_AGENT=off" $pid 'app:req_done(id='
works "ESPY_AGENT=off, again" $pid 'app:req_done(id='
kill $pid
finish
