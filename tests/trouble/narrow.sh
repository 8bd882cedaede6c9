# SPDX-License-Identifier: LGPL-2.1-or-later
# A few calls of many: the source may change how it watches while the program runs. Nothing is lost or told twice on the way,
# and 32-bit calls are seen, or it is said that some may be missing.
. "${0%/*}/lib.sh"
# Is the change over? The program for all calls is let go of then. The source ptrace changes nothing.
changed() { # PID of espy
	[ "$source" = bpf ] || return 0
	cat "/proc/$1"/fdinfo/* >"$dir/fds" 2>/dev/null
	grep -q '^tp_name:.*sched_process_exec' "$dir/fds" && ! grep -q '^tp_name:.*sys_exit' "$dir/fds"
}
# Beside another espy that has changed over it may find calls on their way whenever it looks, and goes on as it began: nobody has to
# wait for that. What is shown must be right all the same.
kept() {
	echo "# espy has not changed over; another one may keep it from that"
}
back() { # it watches all calls again
	[ "$source" = bpf ] || return 0
	! changed "$1"
}
calls() { # FILE: rmdirs in it
	grep -sc 'rmdir.* = -1 ENOENT' "$1" # or its second half
}
told='32-bit calls before they could be watched: some of them may be missing'
# all_or_said NAME WANTED SEEN MESSAGES: all, or exactly counted, or said
all_or_said() {
	lost=$(sed -n 's/.*: \([0-9]*\) 32-bit calls .* began before they could be watched: lost$/\1/p' "$4" | awk '{ n += $1 } END { print n + 0 }')
	if [ "$3" = "$2" ]; then
		ok "$1: all $2"
	elif [ "$lost" != 0 ]; then
		expect "$1: $3 seen, $lost lost" "$2" $(($3 + lost))
	elif [ "$3" -lt "$2" ] && grep -q "$told" "$4"; then
		ok "$1: $3 of $2, and it is said"
	else
		not_ok "$1: $3 of $2 and no word of it"
		cat "$4"
	fi
}

# Who has to lose what it has no room for gets room.
room=
"$espy" doctor | grep -q 'yes *holds tasks' || room='--buffer 64M'
beyond() { # so many calls are shown
	[ "$(calls "$dir/busy")" -gt "$goal" ]
}
changed_or_many() {
	changed $job || [ "$(calls "$dir/busy")" -gt 30000 ]
}
# ROUNDS: how often, and the program never rests.
rounds=${ROUNDS:-1}
nap=${ROUNDS:+0}
busy() { # NAME OPTIONS... : a busy program from before the change until it is behind it
	name=$1
	shift
	rm -f "$dir/stop" "$dir/busy"
	trace_bg $room -f "$@" -o "$dir/busy" "$progs/narrow_calls" busy "$dir/stop" ${nap:-1000} >"$dir/made" 2>"$dir/err" &
	job=$!
	wait_for 60 changed_or_many
	changed $job || kept
	goal=$(($(calls "$dir/busy") + 1000))
	wait_for 60 beyond || not_ok "$name: $goal calls are not shown"
	: >"$dir/stop"
	wait $job
	expect "$name: every call once" "$(cat "$dir/made")" "$(calls "$dir/busy")"
}
for i in $(seq "$rounds"); do
	busy "busy, run $i" -e trace=rmdir
done
expect "nothing is said" "" "$(messages "$dir/err")"
# Another espy has changed over before: the kernel then runs the programs in another order.
mkfifo "$dir/end" "$dir/go" "$dir/more"
exec 7<>"$dir/end" 8<>"$dir/go" 9<>"$dir/more" # also for reading: nobody waits for who opens
trace_bg -e trace=unlink -o "$dir/other" sh -c 'read -r line' <&7 2>"$dir/other.err" &
other=$!
wait_for 5 changed $other || kept
busy "busy, beside another espy" -e trace=rmdir
echo >&7
wait $other
# One of these is silent until the change is over.
printf . >"$dir/flag"
trace_bg -f -e trace=rmdir -o "$dir/idle" "$progs/narrow_calls" idle 24 "$dir/flag" 2>"$dir/err" &
job=$!
wait_for 5 changed $job || kept
printf x 1<>"$dir/flag"
wait $job
expect "a task that was silent meanwhile" 48 "$(calls "$dir/idle")"
busy "64-bit calls alone" -e trace=rmdir@64

if echo | "$progs/narrow_calls" int80 1; then
	trace_bg -f -e trace=rmdir -o "$dir/int80" "$progs/narrow_calls" int80 200 <&8 2>"$dir/err" &
	job=$!
	wait_for 5 changed $job || kept
	echo >&8
	wait $job
	all_or_said "32-bit calls of a 64-bit program" 200 "$(calls "$dir/int80")" "$dir/err"
else
	echo "# no 32-bit calls of 64-bit programs here (the machine ends a program that makes one)"
fi
if [ -x "$progs/calls32" ] && "$progs/calls32"; then
	trace -f -e trace=rmdir -o "$dir/early" "$progs/calls32" 2>"$dir/err"
	expect "a 32-bit program from the beginning" 1000 "$(calls "$dir/early")"
	trace_bg -f -e trace=rmdir -o "$dir/late" sh -c 'read -r line; "$0"; "$1" some 1000' "$progs/calls32" "$progs/narrow_calls" <&8 2>"$dir/err" &
	job=$!
	wait_for 5 changed $job || kept
	echo >&8
	wait $job
	all_or_said "a 32-bit program, later" 2000 "$(calls "$dir/late")" "$dir/err"
	trace_bg -f -e trace=rmdir -o "$dir/again" sh -c 'read -r line; "$0"; read -r line; "$0"; "$0"' "$progs/calls32" <&9 2>"$dir/err" &
	job=$!
	wait_for 5 changed $job || kept
	echo >&9
	wait_for 60 back $job || not_ok "espy does not watch all calls again"
	echo >&9
	wait $job
	seen=$(calls "$dir/again")
	if [ "$seen" -ge 2000 ]; then ok "only the first can miss any"; else not_ok "only the first can miss any: $seen of 3000"; fi
else
	echo "# no 32-bit programs here (the compiler has no -m32, or the kernel does not run them)"
fi
finish
