#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Other users at the socket on which espy waits for calls of agents: they are given nothing, and keep nobody from calling. ROUNDS: how many
# hundred children call beside thousands of silent connections, rather than fifty; and four times as many are born elsewhere.
. "${0%/*}/lib.sh"
n=${ROUNDS:+$((ROUNDS * 100))}
n=${n:-50}
kids=${ROUNDS:+20}
kids=${kids:-5}
[ "$(id -u)" = 0 ] || { echo "SKIP: it takes root to be somebody else"; exit 77; }
chmod 755 "$dir"
name_of() { # PID: the socket of that espy
	sed -n "s/.* @\(espy-agent-$1-[0-9a-f]*\)$/\1/p" /proc/net/unix | head -n 1
}

# espy is killed, and somebody else listens under its name at once: the program's children do not give it their descriptors.
"$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/short" forking $kids "$dir/rounds" 2>"$dir/err" & a=$!
if wait_for 60 grep -q 'app:short' "$dir/out"; then ok "children call"; else
	not_ok "no child has called in $(wc -c <"$dir/rounds") rounds: $(cat "$dir/err")"
fi
prog=$(pgrep -P $a short)
name=$(name_of $a)
[ -n "$name" ] || not_ok "no socket of espy"
mkfifo "$dir/end"
"$progs/stranger" take "$name" 4000 >"$dir/taken" <"$dir/end" & stranger=$!
exec 4>"$dir/end"
wait_for 60 grep -q waits "$dir/taken" || not_ok "the stranger does not begin"
kill -9 $a
wait $a 2>/dev/null
wait_for 60 grep -q listens "$dir/taken" || not_ok "the name does not become free"
# Children of five rounds, from their first moment to their end.
rounds=$(wc -c <"$dir/rounds")
went_round() { [ "$(wc -c <"$dir/rounds")" -gt $((rounds + 5)) ]; }
wait_for 60 went_round || not_ok "the program does not go on without espy"
exec 4>&-
wait $stranger
kill "$prog" 2>/dev/null
has "somebody else listens in its place" "$dir/taken" '^calls [0-9]'
sed "s/^/# /" "$dir/taken"
expect "and is given no descriptor" 0 "$(sed -n 's/.*descriptors //p' "$dir/taken")"

gone() { [ -z "$(state $a)" ] || [ "$(state $a)" = Z ]; }
more_lines() { [ "$(wc -l <"$dir/out")" -gt $((lines + 2 * kids)) ]; }
begin() { # espy watches a program that forks all the time; a: espy, prog: the program, name: espy's socket, tag: as the program was given it
	rm -f "$dir/out"
	"$espy" trace -f -m 'app:*' -o "$dir/out" "$progs/short" forking $kids 2>"$dir/err" & a=$!
	wait_for 60 grep -q 'app:short' "$dir/out" || not_ok "no child has called: $(cat "$dir/err")"
	prog=$(pgrep -P $a short)
	name=$(name_of $a)
	tag=$(tr '\0' '\n' <"/proc/$prog/environ" | sed -n 's/^ESPY_AGENT_CALL=[^,]*\(,[0-9a-f]*\).*/\1/p')
	strangers=
}
give() { # KIND CALLER: a stranger gives espy a descriptor; "$dir/given" tells whether it could
	rm -f "$dir/given" # the words of the stranger before
	served=$dir/served.${#strangers}
	: >"$served"
	"$progs/stranger" $1 "$2" "$served" >"$dir/given" 2>&1 & strangers="$strangers $!"
	wait_for 60 test -s "$dir/given"
}
dismiss() { # CASE: espy ends when its program does, whatever it was given
	kill "$prog"
	wait_for 60 gone && ok "$1: espy ends" || not_ok "$1: espy does not end: $(state $a)"
	for stranger in $strangers; do
		pkill -P $stranger
		kill $stranger 2>/dev/null
		wait $stranger 2>/dev/null
	done
	pkill -P $a short
	wait $a
}

# given CASE KIND [tagged]: espy is given a descriptor whose close waits - for a server that does not answer, where no signal ends the
# wait, or for an hour - and goes on, and ends. tagged: the stranger knows the tag of the session.
given() {
	begin
	give $2 "$name${3:+$tag}"
	if grep -q given "$dir/given"; then
		wait_for 60 grep -q 'hung up' "$dir/given" && ok "$1: it is refused" || not_ok "$1: espy waits"
		lines=$(wc -l <"$dir/out")
		wait_for 60 more_lines && ok "$1: children are heard" || not_ok "$1: no child is heard any more"
	else
		echo "$1: left out: $(cat "$dir/given")"
	fi
	dismiss "$1"
}
given "a file of a strange server" give
given "a file of a strange server, with the tag" give tagged
given "a connection that lingers" linger

# One after the other, until so many processes of espy wait for such a close that it begins no further one: espy says so, answers no process
# any more, and ends. Not each of them keeps a process waiting: some are refused unread.
many() {
	begin
	is_told() { grep -q 'descriptors that cannot be closed: no process is answered any more' "$dir/err"; }
	hung_up_or_told() { grep -q 'hung up' "$dir/given" || is_told; }
	for i in $(seq 40); do
		give give "$name$tag"
		grep -q given "$dir/given" || break # it cannot be done here, or espy does not listen any more
		wait_for 60 hung_up_or_told || not_ok "stranger $i: espy waits"
		! is_told || break
	done
	if ! grep -q SKIP "$dir/given"; then
		wait_for 60 is_told && ok "after $i that cannot be closed: told" || not_ok "after $i that cannot be closed: nothing is told: $(cat "$dir/err")"
		hasnt "espy does not listen any more" /proc/net/unix " 00010000 .*@$name" # a connection may last
	else
		echo "many that cannot be closed: left out: $(cat "$dir/given")"
	fi
	dismiss "after $i that cannot be closed"
}
[ -z "${ROUNDS-}" ] || many

# Thousands of connections that say nothing: every child is heard.
"$espy" trace -f -m 'app:*' -o "$dir/out" sh -c "while [ ! -e '$dir/go' ]; do sleep 0.05; done; exec '$progs/short-linked' forks $n" \
	2>"$dir/err" & a=$!
wait_for 60 grep -q "@espy-agent-$a-" /proc/net/unix
name=$(name_of $a)
[ -n "$name" ] || not_ok "no socket of espy"
"$progs/stranger" keep "$name" 5120 >"$dir/kept" & stranger=$!
wait_for 60 grep -q kept "$dir/kept" || not_ok "the connections are not made"
touch "$dir/go"
wait $a
kill $stranger
wait $stranger 2>/dev/null
lost=$(sed -n 's/.*: \([0-9]*\) child[a-z]* ended before.*/\1/p' "$dir/err")
seen=$(grep -c 'app:short(i=' "$dir/out")
sed "s/^/# /" "$dir/err"
expect "$n children: seen, or told that they were not" $n $((seen + ${lost:-0}))
[ "$seen" -ge $((n * 9 / 10)) ] && ok "$seen of $n were seen" || not_ok "only $seen of $n were seen"
finish
