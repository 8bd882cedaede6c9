# SPDX-License-Identifier: LGPL-2.1-or-later
# A few calls of many: the source may change how it watches while the program runs. Nothing is lost or told twice on the way,
# and 32-bit calls are seen, or it is said that some may be missing.
. "$(dirname "$0")/lib.sh"
wait=${WAIT:-3} # tenths of a second until the change is over
wait_s=$((wait / 10)).$((wait % 10))
calls() { # FILE: rmdirs in it
	grep -c 'rmdir.* = -1 ENOENT' "$1" # or its second half
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

for i in 1 2 3; do
	trace -f -e trace=rmdir -o "$dir/busy" "$progs/narrow_calls" busy 350 >"$dir/made" 2>"$dir/err"
	expect "busy, run $i: every call once" "$(cat "$dir/made")" "$(calls "$dir/busy")"
done
expect "nothing is said" "" "$(messages "$dir/err")"
# Another espy has changed over before: the kernel then runs the programs in another order.
trace_bg -e trace=unlink -o "$dir/other" sleep 3 2>"$dir/other.err" &
sleep "$wait_s"
sleep 0.3
trace -f -e trace=rmdir -o "$dir/busy" "$progs/narrow_calls" busy 350 >"$dir/made" 2>"$dir/err"
expect "busy, beside another espy: every call once" "$(cat "$dir/made")" "$(calls "$dir/busy")"
wait
trace -f -e trace=rmdir -o "$dir/idle" "$progs/narrow_calls" idle 24 2>"$dir/err"
expect "a task that was silent meanwhile" 48 "$(calls "$dir/idle")"
trace -f -e trace=rmdir@64 -o "$dir/busy" "$progs/narrow_calls" busy 250 >"$dir/made"
expect "64-bit calls alone" "$(cat "$dir/made")" "$(calls "$dir/busy")"

trace -f -e trace=rmdir -o "$dir/int80" "$progs/narrow_calls" int80 200 "${wait}00" 2>"$dir/err"
all_or_said "32-bit calls of a 64-bit program" 200 "$(calls "$dir/int80")" "$dir/err"

if [ -x "$progs/calls32" ] && "$progs/calls32"; then
	trace -f -e trace=rmdir -o "$dir/early" "$progs/calls32" 2>"$dir/err"
	expect "a 32-bit program from the beginning" 1000 "$(calls "$dir/early")"
	trace -f -e trace=rmdir -o "$dir/late" sh -c "sleep $wait_s"'; "$0"; "$1" busy 100' "$progs/calls32" "$progs/narrow_calls" >"$dir/made" 2>"$dir/err"
	all_or_said "a 32-bit program, later" $((1000 + $(cat "$dir/made"))) "$(calls "$dir/late")" "$dir/err"
	trace -f -e trace=rmdir -o "$dir/again" sh -c "sleep $wait_s"'; "$0"; sleep 0.1; "$0"; "$0"' "$progs/calls32" 2>"$dir/err"
	seen=$(calls "$dir/again")
	if [ "$seen" -ge 2000 ]; then ok "only the first can miss any"; else not_ok "only the first can miss any: $seen of 3000"; fi
else
	echo "# no 32-bit programs here (the compiler has no -m32, or the kernel does not run them)"
fi
finish
