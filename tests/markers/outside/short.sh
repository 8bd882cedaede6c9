#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Children that have one mark and live for less than five milliseconds: none of their marks is missed. ROUNDS: how often a mother leaves,
# and a twentieth of the number that others have; without, programs are fewer.
. "${0%/*}/lib.sh"
rounds=${ROUNDS:-1}
n=$((rounds * 20)) few=${ROUNDS:+20}
few=${few:-6}
# all NAME COUNT FILE: each of the numbers from 0 on once
all() {
	expect "$1" "$(seq 0 $(($2 - 1)))" "$(sed -n 's/.*app:short(i=\([0-9]*\)).*/\1/p' "$3" | sort -n)"
}
for prog in short short-linked; do
	"$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/$prog" forks $n 2>"$dir/err"
	all "$n by fork, $prog" $n "$dir/out"
	hasnt "no losses, $prog" "$dir/err" lost
	"$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/$prog" forks $n 30 2>"$dir/err"
	all "$n by fork, thirty at a time, $prog" $n "$dir/out"
done
"$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/short-linked" runs $n 2>"$dir/err"
all "$n programs that are linked with the agent" $n "$dir/out"
expect "and the mother ends well" "+++ exited with 0 +++" "$(tail -n 1 "$dir/out" | sed 's/^[0-9]* *//')"
"$espy" trace -f -m 'app:*' --via=preload -o "$dir/out" "$progs/short" runs $n 2>"$dir/err"
all "$n programs that are given it (--via=preload)" $n "$dir/out"
"$espy" trace -f -m 'app:*' --via=preload -o "$dir/out" sh -c "exec '$progs/short' runs $few" 2>"$dir/err"
all "behind a shell" $few "$dir/out"
"$espy" record -f -m 'app:*' -o "$dir/t" "$progs/short-linked" runs $few 2>"$dir/err"
"$espy" show "$dir/t" >"$dir/out" 2>/dev/null
all "recorded" $few "$dir/out"
for i in $(seq $rounds); do
	"$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/short" leaves 0 2>"$dir/err"
	all "a mother that does not wait" 1 "$dir/out"
	"$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/short-linked" leaves 200 2>"$dir/err"
	all "and a child that gets no processor for long" 1 "$dir/out"
	"$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/short-linked" waits $few 5 2>"$dir/err"
	all "children that get a processor late" $few "$dir/out"
done
if "$espy" doctor --source=bpf >/dev/null 2>&1; then
	"$espy" trace -f -e trace=execve -m 'app:*' -o "$dir/out" "$progs/short-linked" runs $few 2>"$dir/err"
	all "beside system calls" $few "$dir/out"
fi
# By ptrace, whose tracer has the agents' threads in its hands as well.
if "$espy" doctor --source=ptrace >/dev/null 2>&1; then
	"$espy" trace --source=ptrace -f -e trace=execve -m 'app:*' -o "$dir/out" "$progs/short" forks $few 2>"$dir/err"
	all "by ptrace: children" $few "$dir/out"
	"$espy" trace --source=ptrace -f -e trace=execve -m 'app:*,app:none' -o "$dir/out" "$progs/short" runs $few 2>"$dir/err"
	all "by ptrace: programs" $few "$dir/out"
	"$espy" trace --source=ptrace -e trace=execve -m 'app:*' -o "$dir/out" "$progs/short" mark 0 2>"$dir/err"
	all "by ptrace: one program" 1 "$dir/out"
fi
# Programs without an agent, by vfork or fork: watched as soon as espy has seen them. They run until then.
for how in "exec '$progs/short' spawns" "'$progs/subjects' marks; true" "('$progs/subjects' marks); true"; do
	rm -f "$dir/out" "$dir/goes-until"
	GOES_UNTIL="$dir/goes-until" "$espy" trace -f -m 'app:*' -o "$dir/out" sh -c "$how" 2>"$dir/err" & a=$!
	if wait_for 60 grep -q 'app:' "$dir/out"; then ok "a program without an agent: $how"; else
		not_ok "a program without an agent: $how: no mark within a minute: $(cat "$dir/err")"
	fi
	: >"$dir/goes-until"
	wait $a
done
# A process into which espy loads the agent has the address of espy in its environment: it must not wait for an answer from an espy that
# waits for it. That wait would last for five seconds; what the machine does with such a process may take long as well, now and then.
for attempt in 1 2 3; do
	rm -f "$dir/out" "$dir/goes-until"
	GOES_UNTIL="$dir/goes-until" "$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/short" spawns >"$dir/ticks" 2>"$dir/err" & a=$!
	wait_for 60 grep -q 'app:' "$dir/out" || not_ok "a process with the address of espy: no mark: $(cat "$dir/err")"
	: >"$dir/goes-until"
	wait $a
	longest=$(sed -n 's/^longest //p' "$dir/ticks")
	[ "${longest:-9999}" -ge 4500 ] || break
done
[ "${longest:-9999}" -lt 4500 ] && ok "a process with the address of espy is not kept waiting" ||
	not_ok "a process with the address of espy is kept waiting for $longest ms"
"$espy" trace -p 1 -m x --via=preload 2>"$dir/err"
has "preload is for a command" "$dir/err" 'PROG'

# What is left in the environment does no harm: nobody listens any more, or somebody who does not answer.
ESPY_AGENT_CALL=espy-agent-nobody,1 "$progs/short-linked" mark 1
expect "nobody listens" 0 $?
for value in "" , x "$(printf '%0200d' 1),12" espy-agent-nobody,zz; do
	ESPY_AGENT_CALL=$value "$progs/short-linked" mark 1 || not_ok "a bad address: '$value'"
done
rm -f "$dir/out" # what is waited for must be of this espy
"$espy" trace -f -m 'app:*' -o "$dir/out" sh -c "'$progs/short-linked' runs 40; echo \$? >'$dir/ended'" 2>/dev/null & a=$!
wait_for 60 grep -q 'app:short(i=3)' "$dir/out" || not_ok "espy is killed: nothing was seen before"
kill -9 $a
wait $a 2>/dev/null
wait_for 60 test -s "$dir/ended"
expect "espy is killed: the command and its children go on" 0 "$(cat "$dir/ended")"
finish
