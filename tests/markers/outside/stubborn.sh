#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs into which the agent can hardly be loaded: espy waits for them, says so, and harms none. SCRIPT ESPY AGENT PROGRAMS-DIR CASE:
# each case waits for eight seconds and more, so that each is a test of its own.
. "${0%/*}/lib.sh"
case $4 in
handler)
	# A process that never comes to a safe point is waited for, eight seconds; what others do is seen meanwhile. Were they kept waiting,
	# what is said of that process would come first, always; on a machine with much to do it does so now and then.
	for attempt in 1 2 3 4 5; do
		rm -f "$dir/lines" "$dir/goes-until" "$dir/in-handler"
		GOES_UNTIL="$dir/goes-until" "$espy" trace -f -m 'app:*' -e trace=rt_sigqueueinfo -o "$dir/lines" \
			sh -c "'$progs/subjects' handler & echo \$! >'$dir/in-handler'; exec '$progs/subjects' marks" 2>"$dir/err" & tracer=$!
		wait_for 60 grep -q 'app:req_done(id=' "$dir/lines" || not_ok "no marks beside a process that comes to no safe point"
		grep -q 'can be loaded safely' "$dir/err" && waited=yes || waited=no
		wait_for 60 grep -q 'can be loaded safely' "$dir/err" || not_ok "nothing is said of a process that comes to no safe point"
		pid=$(cat "$dir/in-handler")
		wait_for 60 untraced "$pid"
		lives "a process that comes to no safe point" "$pid"
		wait_for 60 in_call "$pid" 34 || not_ok "a process that comes to no safe point does not wait in its handler any more"
		kill "$pid"
		: >"$dir/goes-until"
		wait $tracer
		[ $waited = yes ] || break
	done
	expect "a process that comes to no safe point: are others kept waiting?" no $waited
	;;
vforks)
	start "$progs/subjects" vforks 300
	works "a program whose first thread waits for vfork children" $pid 'app:vforked(i='
	kill -9 $pid
	# The same for longer than espy tries to let go of that thread: it is let go of when it wakes.
	start "$progs/subjects" vforks 9000
	works "a program whose first thread waits for a vfork child for long" $pid 'app:vforked(i='
	kill -9 $pid
	;;
stuck)
	# No thread can be used, one of them cannot even be let go of: espy says so, and does not take itself for a debugger.
	start "$progs/subjects" stuck
	is_stuck() { [ -n "$(pgrep -P $pid)" ] && grep -q '^SigBlk:.*2..$' /proc/$pid/task/*/status; }
	wait_for 60 is_stuck || not_ok "it has no child, or no thread in a handler"
	"$espy" trace -p $pid -m 'app:*' -o /dev/null >"$dir/out" 2>&1
	has "a process none of whose threads can be used" "$dir/out" 'can be loaded safely'
	# An espy that is told to end does not wait for it any longer, and has nothing to say then.
	"$espy" trace -p $pid -m 'app:*' -o /dev/null >"$dir/out" 2>&1 & tracer=$!
	tries() { grep -q '^TracerPid:.[1-9]' /proc/$pid/task/*/status; }
	wait_for 60 tries || not_ok "espy does not try to load its agent"
	kill -INT $tracer
	wait $tracer
	expect "an espy that is told to end while it waits for a safe point says nothing" "" "$(cat "$dir/out")"
	lives "a process none of whose threads can be used" $pid
	pkill -9 -P $pid
	kill -9 $pid
	;;
*)
	not_ok "no case '$4'"
	;;
esac
finish
