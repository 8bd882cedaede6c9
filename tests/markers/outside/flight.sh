#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The flight recorder of marks: the newest are kept, what was overwritten is counted, exactly, while the program writes on.
. "${0%/*}/lib.sh"
# count TRACE: how many events of app:flood, the first and the last, and whether one is missing in between
count() {
	"$espy" show "$1" 2>/dev/null | awk -F'app:flood[(]i=' '
		NF == 2 { i = $2 + 0; if (!n++) first = i; else if (i != last + 1) gap = " gap after " last; last = i }
		END { print n + 0, first, last gap }'
}
# overwritten N FILE: as the N-th trace's line says
overwritten() {
	sed -n 's/.*; \([0-9]*\) older ones were overwritten.*/\1/p' "$2" | sed -n "$1p"
}
"$espy" record --ring 1M -m app:flood -o "$dir/end" "$progs/subjects" flood 300000 2>"$dir/err"
expect "the exit status is the command's" 0 $?
set -- $(count "$dir/end") ""
expect "the newest are there" 299999 "$3"
expect "all of them from one on" "" "$4"
expect "kept and overwritten are what happened" 300000 $(($1 + $(overwritten 1 "$dir/err")))
has "since when it is whole" "$dir/err" 'whole since [0-9]'
"$espy" show "$dir/end" >"$dir/out" 2>/dev/null
expect "how the command ended" "+++ exited with 0 +++" "$(tail -n 1 "$dir/out")"
# What fits is kept whole.
"$espy" record --force --ring 1M -m 'app:*' -o "$dir/end" "$progs/subjects" marks 20 2>"$dir/err"
"$espy" show "$dir/end" >"$dir/out" 2>/dev/null
"$espy" trace -m 'app:*' -o "$dir/live" "$progs/subjects" marks 20 2>/dev/null
if cmp -s "$dir/live" "$dir/out"; then ok "as live"; else not_ok "not as live"; diff "$dir/live" "$dir/out" | head; fi

# A program that writes on meanwhile: each trace is in order, stands alone, and the sums agree with each other.
"$progs/subjects" flood & pid=$!
"$espy" record -p $pid --ring 16M -m app:flood -o "$dir/run" 2>"$dir/err" & a=$!
more() { [ "$(grep -c overwritten "$dir/err")" -ge "$1" ]; }
# The signal is caught, and the program writes: its marks are on.
is_on() { grep -q '^SigCgt:.*[2367abef]..$' "/proc/$a/status" && "$espy" list -p $pid markers | grep -q "^app:flood .* on .* by espy $a"; }
wait_for 60 is_on || not_ok "the flight recorder does not begin: $(cat "$dir/err")"
for i in 1 2; do
	if [ $i = 2 ]; then "$espy" snapshot $a >/dev/null 2>&1; else kill -USR1 $a; fi
	wait_for 60 more $i || not_ok "no trace $i within a minute: $(cat "$dir/err")"
done
kill -INT $a
wait $a
kill $pid
begun=
i=0
for file in "$dir/run" "$dir"/run.[2-9]; do
	i=$((i + 1))
	set -- $(count "$file") ""
	[ "$1" = 0 ] && continue # on a machine with much to do the program may have gone round and round meanwhile
	expect "trace $i has no gap" "" "$4"
	: "${begun:=$(($3 + 1 - $1 - $(overwritten $i "$dir/err")))}"
	expect "trace $i: kept and overwritten are what happened" "$begun" $(($3 + 1 - $1 - $(overwritten $i "$dir/err")))
done
[ -n "$begun" ] || not_ok "no trace has any event"
[ $i -ge 3 ] || not_ok "there are only $i traces"

# Processes that have ended: their marks stay, as far as there is room.
"$espy" record -f --force --ring 1M -m app:short -o "$dir/kids" "$progs/short" forks 40 2>"$dir/err"
"$espy" show "$dir/kids" >"$dir/out" 2>/dev/null
expect "40 children, all kept" 40 "$(grep -c 'app:short(' "$dir/out")"
"$espy" record -f --force --ring 256k -m app:short -o "$dir/kids" "$progs/short-linked" forks 100 20 2>"$dir/err"
"$espy" show "$dir/kids" >"$dir/out" 2>/dev/null
kept=$(grep -c 'app:short(' "$dir/out")
expect "100 children, as many as there is room for" 100 $((kept + $(overwritten 1 "$dir/err")))
[ "$kept" -ge 50 ] && [ "$kept" -lt 100 ] || not_ok "of 100 children $kept were kept"
expect "the newest" 99 "$(sed -n 's/.*app:short(i=\([0-9]*\)).*/\1/p' "$dir/out" | sort -n | tail -n 1)"
"$espy" record --force --ring 1M -m app:short --via=kernel -o "$dir/x" true 2>"$dir/err"
has "--via=kernel has no flight recorder" "$dir/err" 'mutually exclusive'

"$espy" doctor --source=bpf >/dev/null 2>&1 || { echo "not run: what needs the source bpf"; finish; }
"$espy" record --force --ring 4M -e trace=openat,close -m 'app:*' -o "$dir/both" "$progs/subjects" turns 1000 2>"$dir/err"
"$espy" show "$dir/both" >"$dir/out" 2>/dev/null
expect "marks and calls in the order of the program" 4000 "$(grep -E '/dev/null|^close\(|^app:' "$dir/out" | awk '
	/\/dev\/null/ { kind = 0; on = 1 } /^app:opened/ { kind = 1 } /^close\(/ { kind = 2 } /^app:closed/ { kind = 3 }
	!on { next } kind != want { print "line " NR ": " $0; bad = 1; exit } { want = (want + 1) % 4; n++ } END { if (!bad) print n }')"
"$espy" record --force --ring 1M -e trace=openat,close -m 'app:*' -o "$dir/both" "$progs/subjects" turns 60000 2>"$dir/err"
"$espy" show "$dir/both" >"$dir/out" 2>/dev/null
expect "also when most was overwritten" "" "$(sed -n 's/^app:closed(i=\([0-9]*\)).*/\1/p' "$dir/out" | awk 'NR > 1 && $1 != last + 1 { print NR; exit } { last = $1 }')"
expect "up to the end" 59999 "$(sed -n 's/^app:closed(i=\([0-9]*\)).*/\1/p' "$dir/out" | tail -n 1)"
"$progs/subjects" turns 1000000 >/dev/null & pid=$!
"$espy" record -p $pid --force --ring 1M -e trace=openat -m app:closed --snapshot-on 'openat: ret >= 0' -o "$dir/trig" 2>"$dir/err" & a=$!
if wait_for 60 grep -q 'triggered' "$dir/err"; then ok "a trigger takes marks along"; else not_ok "no trigger"; cat "$dir/err"; fi
kill -INT $a
wait $a
kill $pid 2>/dev/null
"$espy" show "$dir/trig" >"$dir/out" 2>/dev/null
has "in its trace too" "$dir/out" 'app:closed('
finish
