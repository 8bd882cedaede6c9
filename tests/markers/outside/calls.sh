#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Marks and system calls in one stream, in the order of the program; live and recorded; and by the kernel's probes.
. "${0%/*}/lib.sh"
need_source bpf
strict() { # FILE: open, opened, close, closed, again and again
	grep -E '/dev/null|^close\(|^app:' "$1" | awk '
		/\/dev\/null/ { kind = 0; on = 1 } /^app:opened/ { kind = 1 } /^close\(/ { if (!on) next; kind = 2 }
		/^app:closed/ { kind = 3 }
		!on { next }
		kind != want { print "line " NR ": " $0; bad = 1; exit } { want = (want + 1) % 4; n++ }
		END { if (!bad) print n }'
}
for via in agent kernel; do
	"$espy" trace --via $via -e trace=openat,close -m 'app:*' -o "$dir/out" "$progs/subjects" turns 500 2>"$dir/err"
	expect "order of marks and calls, via $via" 2000 "$(strict "$dir/out")"
	hasnt "nothing of the agent is in the stream, via $via" "$dir/out" 'libespy-agent'
	"$espy" trace --via $via -m 'app:req_done if id >= 1 && path ^= "/o"' -o "$dir/out" "$progs/subjects" marks 4 2>/dev/null
	expect "a condition, via $via" 'app:req_done(id=1, path="/odd", took=0.25)' "$(head -n 1 "$dir/out")"
done
"$espy" record -e trace=openat,close -m 'app:*' -o "$dir/t" "$progs/subjects" turns 200 2>/dev/null
"$espy" show "$dir/t" >"$dir/out" 2>"$dir/err"
expect "order in a trace" 800 "$(strict "$dir/out")"
if [ -x "$progs/sdt" ]; then
	"$espy" trace --via kernel -m 'app:*' -o "$dir/out" "$progs/sdt" 3 2>/dev/null
	expect "probes of <sys/sdt.h>, semaphores and all" 'app:three(0, PTR, 1)
app:kinds(-3, 200)
app:real(0.5)
app:three(1, PTR, 2)
app:kinds(-3, 200)
app:real(0.5)
app:three(2, PTR, 3)
app:kinds(-3, 200)
app:real(0.5)
+++ exited with 0 +++' "$(sed 's/0x[0-9a-f]*/PTR/' "$dir/out")"
	# An address is the string there if the user says so; conditions can ask for it.
	"$espy" trace --via kernel -s 1000 -m 'app:three(str arg1)' -o "$dir/out" "$progs/sdt" 2 2>/dev/null
	expect "strings on demand" "app:three(0, \"$progs/sdt\", 1)
app:three(1, \"$progs/sdt\", 2)
+++ exited with 0 +++" "$(cat "$dir/out")"
	"$espy" trace --via kernel -s 1000 -m 'app:three(str arg1) if arg1 $= "/sdt" && arg0 == 1' -o "$dir/out" "$progs/sdt" 2 2>/dev/null
	expect "strings on demand, with a condition" "app:three(1, \"$progs/sdt\", 2)" "$(head -n 1 "$dir/out")"
	"$espy" record -q --force -o "$dir/t" -s 1000 --via kernel -m 'app:three(str arg1)' "$progs/sdt" 2 2>/dev/null
	expect "strings on demand, replayed" "app:three(0, \"$progs/sdt\", 1)" "$("$espy" show -s 1000 "$dir/t" | head -n 1)"
	"$espy" trace -m 'app:three(str arg1)' "$progs/sdt" 2 2>"$dir/err"
	expect "strings on demand without --via kernel: refused" 1 $?
	has "strings on demand without --via kernel: said" "$dir/err" 'is for USDT probes: add --via kernel'
	# A library that is loaded while its program is watched, and by a program that a watched one starts.
	for how in '' -f; do
		rm -f "$dir/out" "$dir/late" "$dir/go"
		if [ "$how" ]; then begin='"$0" "$1" "$2" & echo $! >"$3"; wait'; else begin='echo $$ >"$3"; exec "$0" "$1" "$2"'; fi
		set -- sh -c "$begin" "$progs/late" "$progs/late.so" "$dir/go" "$dir/late"
		"$espy" trace $how --via kernel -m 'late:work(str arg1)' -o "$dir/out" "$@" 2>"$dir/err" & a=$!
		runs() { readlink "/proc/$(cat "$dir/late")/exe" | grep -q '/late$'; }
		wait_for 60 runs || not_ok "a library that is loaded later $how: the program does not begin: $(cat "$dir/err")"
		: >"$dir/go"
		if wait_for 60 grep -q 'late:work([0-9]*, "hello")' "$dir/out"; then
			ok "a library that is loaded later $how"
		else
			not_ok "a library that is loaded later $how: $(cat "$dir/err")"
		fi
		kill "$(cat "$dir/late")"
		wait $a
	done
	rm -f "$dir/out" # what is waited for must be of this espy
	"$progs/sdt" & pid=$!
	"$espy" trace -p $pid --via kernel -m 'app:three if arg2 >= 3' -o "$dir/out" 2>/dev/null & a=$!
	if wait_for 60 grep -q 'app:three(' "$dir/out"; then ok "a process that runs, via kernel"; else not_ok "no probe was hit"; fi
	kill -INT $a
	wait $a
	kill $pid
fi
# The NOPs are put back.
rm -f "$dir/out"
"$progs/subjects" marks & pid=$!
"$espy" trace -p $pid --via kernel -m 'app:req_done' -o "$dir/out" 2>/dev/null & a=$!
if wait_for 60 grep -q 'app:req_done(' "$dir/out"; then ok "switched from outside"; else not_ok "no mark was hit"; fi
"$espy" list -p $pid markers >"$dir/list"
has "shown as on" "$dir/list" '^app:req_done  *mark  on '
kill -INT $a
wait $a
"$espy" list -p $pid markers >"$dir/list"
has "and put back" "$dir/list" '^app:req_done  *mark  off '
has "without an agent" "$dir/list" 'no agent in it'
kill $pid
# Counted: by name, and no calls unless they are chosen.
counts() { # FILE: the rows of the table of marks
	awk '$NF == "mark" { on = 1 } on && NF == 2 && $NF != "mark" && !/^-----/' "$1" | sed 's/^ *//' | paste -sd' '
}
want='300 app:opened 300 app:closed 600 total'
for via in agent kernel; do
	"$espy" trace -c --via $via -m 'app:*' "$progs/subjects" turns 300 2>"$dir/out"
	expect "-c, via $via" "$want" "$(counts "$dir/out")"
	hasnt "-c, via $via: no calls" "$dir/out" syscall
done
"$espy" trace -C -e trace=openat -m 'app:*' "$progs/subjects" turns 300 2>"$dir/out"
expect "-C: the table" "$want" "$(counts "$dir/out")"
expect "-C: the lines" 600 "$(grep -c '^app:' "$dir/out")"
has "-C: the calls" "$dir/out" ' 3[0-9][0-9]  *[0-9]* openat$'
"$espy" trace -c -m 'app:opened' -u subjects:main "$progs/subjects" turns 300 2>"$dir/out"
expect "-c: beside a probe" '300 app:opened 300 total' "$(counts "$dir/out")"
has "-c: the probe" "$dir/out" ' 1 subjects:main$'
"$espy" record -q --force -e trace=openat -m 'app:*' -o "$dir/t" "$progs/subjects" turns 300 2>/dev/null
"$espy" show -c "$dir/t" >"$dir/out" 2>&1
expect "show -c" "$want" "$(counts "$dir/out")"
"$espy" trace -c --json -m 'app:*' "$progs/subjects" turns 300 2>&1 | grep '^{' >"$dir/out"
has "-c --json: a mark" "$dir/out" '^{"kind":"summary_mark","name":"app:closed","hits":300}$'
has "-c --json: their sum" "$dir/out" '^{"kind":"summary_mark_total","hits":600}$'
python=$(command -v /usr/bin/python3 python3 | head -n 1)
if [ -n "$python" ]; then
	here=$(dirname "$(realpath "$0")")
	"$python" "$here/../../replay/json_check.py" "$here/../../../docs/espy.schema.json" "$dir/out" >"$dir/check" 2>&1
	case $? in 0 | 77) ok "-c --json: as the schema says" ;; *) not_ok "-c --json: $(cat "$dir/check")" ;; esac
fi
finish
