#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Marks in the stream: values, filters, order among calls, children, another program, losses, death of either side.
. "${0%/*}/lib.sh"

"$espy" trace -m 'app:*' -o "$dir/out" "$progs/subjects" marks 4 2>"$dir/err"
expect "the exit status is the command's" 0 $?
cat >"$dir/want" <<'END'
app:req_start(id=0)
app:req_done(id=0, path="/even", took=0)
app:req_start(id=1)
app:req_done(id=1, path="/odd", took=0.25)
app:req_start(id=2)
app:req_done(id=2, path="/even", took=0.5)
app:req_start(id=3)
app:req_done(id=3, path="/odd", took=0.75)
+++ exited with 0 +++
END
expect "marks from the first instruction on" "$(cat "$dir/want")" "$(cat "$dir/out")"
has "rates at the end" "$dir/err" 'app:req_done: 4 events, [0-9]* per second'
"$espy" trace -m 'app:req_done if id >= 1 && path == "/odd"' -m other:thing -o "$dir/out" "$progs/subjects" marks 4 2>/dev/null
cat >"$dir/want" <<'END'
other:thing(0, 'a')
app:req_done(id=1, path="/odd", took=0.25)
other:thing(0x1, 'b')
other:thing(0x2, 'c')
app:req_done(id=3, path="/odd", took=0.75)
other:thing(0x3, 'd')
+++ exited with 0 +++
END
expect "conditions, two rules, a char and hex" "$(cat "$dir/want")" "$(cat "$dir/out")"
"$espy" trace -m 'app:req_done if id < 1.5 && took >= 0' -o "$dir/out" "$progs/subjects" marks 4 2>/dev/null
expect "an integer beside a fraction" 2 "$(grep -c '^app:req_done(id=[01],' "$dir/out")"
"$espy" trace -m 'app:req_done if nosuch > 1' -o "$dir/out" "$progs/subjects" marks 1 2>"$dir/err"
has "a condition that cannot be asked" "$dir/err" "1 mark of 'app:req_done' cannot be asked"
"$espy" trace -m 'app:x if a >> 1' true 2>"$dir/err"
has "a mistake is shown with its place" "$dir/err" 'at character 13'

# Exact counts: what was seen and what was lost is what happened. ROUNDS: how many hundred thousand.
n=$((${ROUNDS:-2} * 100000))
# told FILE: the number of events that espy says are lost
told() {
	sed -n 's/.*: \([0-9]*\) events* lost: .*/\1/p' "$1" | awk '{ n += $1 } END { print n + 0 }'
}
"$espy" trace -m app:flood -o "$dir/out" --buffer=1M "$progs/subjects" flood $n 2>"$dir/err"
awk -F'[=,]' '
	/^app:flood\(i=/ { if ($2 + 0 <= last && seen && !disorder) disorder = NR; last = $2 + 0; seen++; next }
	/^\+\+\+ [0-9]+ events? lost here/ { split($0, word, " "); lost += word[2] }
	END { print seen + 0, lost + 0, disorder + 0 }' "$dir/out" >"$dir/counts"
read -r seen in_place disorder <"$dir/counts"
lost=$(told "$dir/err")
expect "seen + lost = happened" $n $((seen + lost))
expect "losses are shown in place" "$lost" "$in_place"
expect "in order: the line that is not" 0 "$disorder"

# More threads than chunks: they share.
"$espy" trace -f -m app:crowd -o "$dir/out" --buffer=1M "$progs/subjects" crowd 200 2>"$dir/err"
seen=$(grep -c 'app:crowd(' "$dir/out")
lost=$(told "$dir/err")
expect "a crowd: seen + lost = happened" 30000 $((seen + lost))
awk '/app:crowd\(/ { n = split($0, w, /[(=,) ]+/); if (w[1] != w[6]) wrong++; 
	if (w[1] in last && w[4] + 0 <= last[w[1]]) order++; last[w[1]] = w[4] + 0 }
	END { print wrong + 0, order + 0 }' "$dir/out" >"$dir/awk"
expect "a crowd: no wrong thread, none out of order" "0 0" "$(cat "$dir/awk")"

"$espy" trace -f -m 'app:child' -o "$dir/out" "$progs/subjects" forks 4 2>/dev/null
expect "children by fork" 40 "$(grep -c 'app:child(' "$dir/out")"
"$espy" trace -m 'app:*' -o "$dir/out" sh -c "exec '$progs/subjects' marks 100" 2>/dev/null
has "another program in the same process" "$dir/out" 'app:req_done(id=99,'

# Two espys at once, each its own marks; the first is killed.
"$progs/subjects" marks & pid=$!
"$espy" trace -p $pid -m app:req_start -o "$dir/a" 2>"$dir/ea" & a=$!
"$espy" trace -p $pid -m app:req_done -o "$dir/b" 2>"$dir/eb" & b=$!
if wait_for 60 grep -q req_start "$dir/a" && wait_for 60 grep -q req_done "$dir/b"; then ok "two espys"; else
	not_ok "two espys"
	cat "$dir/ea" "$dir/eb"
fi
hasnt "each has its own marks" "$dir/a" req_done
kill -9 $a
wait $a 2>/dev/null
off() { "$espy" list -p $pid markers | grep -q '^app:req_start  *mark  off '; }
if wait_for 60 off; then ok "killed: its marks go off"; else not_ok "killed: its marks stay on"; fi
n=$(wc -l <"$dir/b")
more() { [ "$(wc -l <"$dir/b")" -gt $((n + 5)) ]; }
if wait_for 60 more; then ok "the other one goes on"; else not_ok "the other one has stopped"; fi
# The program dies at a bad moment.
kill -9 $pid
if wait_for 60 not kill -0 $b; then ok "the program is killed: espy ends"; else not_ok "espy waits for a dead program"; kill -9 $b; fi
wait $b
for i in $(seq "${ROUNDS:-2}"); do
	"$progs/subjects" flood & pid=$!
	"$espy" trace -p $pid -m app:flood -o "$dir/flood" 2>"$dir/err" & a=$!
	wait_for 60 test -s "$dir/flood"
	kill -9 $pid
	if wait_for 60 not kill -0 $a; then :; else not_ok "a flood is killed: espy does not end"; kill -9 $a; fi
	wait $a || { not_ok "a flood is killed: espy fails"; cat "$dir/err"; }
	rm -f "$dir/flood"
done
ok "programs killed in the middle of records"

# Something else stands at a site (the byte of a breakpoint; the program does not come there): it is left alone.
"$progs/subjects" marks & pid=$!
wait_for 60 sh -c "readlink /proc/$pid/exe | grep -q subjects"
at=$("$espy" list markers -p $pid | sed -n 's/^app:flood .* \(0x[0-9a-f]*\) .*/\1/p')
byte_at() { dd if=/proc/$pid/mem bs=1 count=1 iflag=skip_bytes skip=$(($1)) 2>/dev/null | od -An -tx1 | tr -d ' \n'; }
printf '\314' | dd of=/proc/$pid/mem bs=1 oflag=seek_bytes seek=$((at)) conv=notrunc 2>/dev/null
rm -f "$dir/out"
if [ "$(byte_at "$at")" = cc ]; then
	"$espy" trace -p $pid -m 'app:flood,app:req_done' -o "$dir/out" 2>"$dir/err" & a=$!
	wait_for 60 grep -q req_done "$dir/out"
	has "a site with a breakpoint is refused" "$dir/err" '1 place could not be switched on'
	"$espy" list -p $pid markers >"$dir/list"
	has "and shown so" "$dir/list" '^app:flood  *mark  refused:probed '
	expect "and left intact" cc "$(byte_at "$at")"
	kill -INT $a
	wait $a
	expect "also afterwards" cc "$(byte_at "$at")"
fi
kill $pid
[ -x "$progs/hostile" ] && {
	"$progs/hostile" >"$dir/garbage" & pid=$!
	"$espy" trace -p $pid -m 'app:*' -o "$dir/out" 2>"$dir/err" & a=$!
	enough() { [ "$(grep -c garbage "$dir/garbage")" -ge 5 ]; }
	wait_for 60 enough || not_ok "garbage in the ring: too little of it to tell: $(grep -c garbage "$dir/garbage")"
	kill -INT $a
	wait_for 60 not kill -0 $a || kill -9 $a
	wait $a
	expect "garbage in the ring: espy ends as asked" 0 $?
	hasnt "and does not crash" "$dir/err" 'Segmentation\|AddressSanitizer'
	kill -9 $pid
}
# What is called as the agent's memory may be anything: nothing is opened but what it is to be.
"$progs/false_memfd" >"$dir/said" & pid=$!
wait_for 60 test -s "$dir/said"
if grep -q ready "$dir/said"; then
	"$espy" trace -p $pid -m 'app:*' -o "$dir/out" 2>"$dir/err"
	has "a FIFO in the place of the agent's memory: it is said" "$dir/err" 'is not one of ours'
	kill $pid
	wait $pid
	expect "a FIFO in the place of the agent's memory: it is not opened" 0 $?
else
	cat "$dir/said"
fi
# While a thread stands for the agent to be loaded, espy does not read the list of mappings, which may be long (Linux 6.11).
if "$espy" doctor --source=bpf >/dev/null 2>&1 && [ "$(printf '6.11\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.11 ]; then
	start "$progs/subjects" sleep
	"$espy" trace -f -y --source=bpf -e trace=ptrace,read -o "$dir/calls" "$espy" trace -p $pid -m 'app:*' -o "$dir/out" 2>"$dir/err" & a=$!
	wait_for 60 grep -q 'PTRACE_DETACH' "$dir/calls" || not_ok "nothing is loaded: $(cat "$dir/err")"
	kill -9 $pid
	wait $a
	expect "no list of mappings is read while a thread stands" '' "$(awk '
		/PTRACE_(INTERRUPT|ATTACH)/ { stands = 1 } /PTRACE_(CONT|DETACH|LISTEN|SYSCALL)/ { stands = 0 }
		stands && /read\(.*\/maps>/' "$dir/calls" | head -n 1)"
fi
finish
