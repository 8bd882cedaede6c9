#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Marks on their way to a file, more than anybody reads: what is in the trace and what was lost is what happened, exactly.
. "${0%/*}/lib.sh"

n=60000
# lost FILE: the sum of what espy says at its end
lost() { sed -n 's/.*: \([0-9]*\) events* lost: .*/\1/p' "$1" | awk '{ n += $1 } END { print n + 0 }'; }
# look_at TEXT: how many events it has ($seen) and says are lost in their place ($in_place). They have the arguments that were written, in order;
# $wrong is the first that has not.
look_at() {
	awk -v n=$n '
		(at = index($0, "app:flood(i=")) {
			seen++
			split(substr($0, at + 12), word, /, n=|\)/)
			if (!wrong && (word[2] != n || word[1] + 0 >= n || word[1] !~ /^[0-9]+$/ || (seen > 1 && word[1] + 0 <= last)))
				wrong = NR ": " $0
			last = word[1] + 0
		}
		/^\+\+\+ [0-9]+ events? lost here/ { split($0, word, " "); lost += word[2] }
		END { print seen + 0, lost + 0, wrong }' "$1" >"$dir/look"
	read -r seen in_place wrong <"$dir/look"
}
counted() { # NAME TRACE, and what record said in $dir/err
	"$espy" show "$2" >"$dir/text" 2>"$dir/said" || not_ok "$1: show fails"
	look_at "$dir/text"
	lost=$(lost "$dir/err")
	expect "$1: seen + lost = happened" $n $((seen + lost))
	expect "$1: the losses stand where they happened" "$lost" "$in_place"
	expect "$1: the arguments, in order" "" "$wrong"
	expect "$1: the sum at the end is that of the events" "$seen" \
		"$(sed -n 's/.*app:flood: \([0-9]*\) events.*/\1/p' "$dir/err")"
}

"$espy" record -m app:flood -o "$dir/tiny" --buffer=1M "$progs/subjects" flood $n 2>"$dir/err"
expect "record: the status is the command's" 0 $?
counted "a ring of 1 MB" "$dir/tiny"
[ "$lost" -gt 0 ] && ok "and it was too small" || echo "note: even 1 MB was enough"

"$espy" record -m app:flood -o "$dir/large" "$progs/subjects" flood $n 2>"$dir/err"
counted "the usual ring" "$dir/large"
# 32 bytes in the ring: a ring that holds them all loses none, however slow the reader is.
"$espy" record -m app:flood -o "$dir/all" --buffer=20M "$progs/subjects" flood $n 2>"$dir/err"
counted "a ring that holds everything" "$dir/all"
expect "a ring that holds everything: none lost" 0 "$lost"

# Text and trace at once: the text of the trace is the same.
"$espy" trace -m app:flood --record="$dir/both" -o "$dir/live" --buffer=1M "$progs/subjects" flood $n 2>"$dir/err"
counted "a trace beside the text" "$dir/both"
if cmp -s "$dir/live" "$dir/text"; then ok "live = replay"; else not_ok "live and replay differ: $(cmp "$dir/live" "$dir/text")"; fi

n=150000
# A set of small files: each of them knows the definitions, and no event is between two of them.
"$espy" record -m app:flood -o "$dir/set" --compress none --rotate=64k "$progs/subjects" flood $n 2>"$dir/err"
[ -e "$dir/set.3" ] && ok "a rotated set" || not_ok "no rotated set: $(ls "$dir")"
counted "a rotated set" "$dir/set"
"$espy" show "$dir/set.2" >"$dir/part" 2>/dev/null
look_at "$dir/part"
expect "a file of the set alone" "" "$wrong"
has "a file of the set knows its marks" "$dir/part" 'app:flood(i='

# Killed in the middle: what was written up to then can be shown.
"$progs/subjects" paced 2000000000 & pid=$!
"$espy" record -p $pid -m app:flood -o "$dir/killed" 2>/dev/null & e=$!
grown() { [ "$(stat -c %s "$dir/killed" 2>/dev/null || echo 0)" -gt 10000 ]; }
wait_for 60 grown || not_ok "nothing is written"
kill -9 $e
wait $e 2>/dev/null
kill -9 $pid
wait $pid 2>/dev/null
"$espy" show "$dir/killed" >"$dir/text" 2>/dev/null
n=2000000000
look_at "$dir/text"
expect "a killed recorder: the arguments, in order" "" "$wrong"
has "a killed recorder: there are some" "$dir/text" 'app:flood(i='

# Beside system calls, where two streams become one.
if "$espy" doctor --source=bpf >"$dir/doctor" 2>&1; then
	n=60000
	"$espy" record -e trace=openat,close -m app:flood -o "$dir/calls" --buffer=1M "$progs/subjects" flood $n 2>"$dir/err"
	counted "beside calls" "$dir/calls"
	n=3000
	"$espy" record -e trace=openat,close -m 'app:*' -o "$dir/turns" "$progs/subjects" turns $n 2>"$dir/err"
	"$espy" show "$dir/turns" 2>/dev/null | sed -n 's/.*openat(AT_FDCWD, "\/dev\/null".*/o/p; s/.*app:opened(.*/m/p; s/.*close(.*/c/p; s/.*app:closed(.*/n/p' |
		tr -d '\n' >"$dir/order"
	expect "calls and marks in turn" $n "$(grep -o omcn "$dir/order" | wc -l)"
	if [ "$(grep -o omcn "$dir/order" | wc -l)" != $n ]; then # what came in between
		cat "$dir/err"
		sed 's/omcn/./g; s/\.\.*/./g' "$dir/order"
		"$espy" show -ttt "$dir/turns" 2>&1 | tail -n 20
	fi
else
	echo "note: without the source bpf nothing is tested beside calls: $(tail -n 1 "$dir/doctor")"
fi
finish
