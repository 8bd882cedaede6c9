# SPDX-License-Identifier: LGPL-2.1-or-later
# The flight recorder beside a process that runs: what it holds when espy is asked, asked again and stopped; the process
# notices nothing. tests/replay/flight.sh has the other ways to ask.
. "${0%/*}/lib.sh"

n=2000
# A ring that holds everything: nothing is missing.
"$espy" record --source="$source" --ring 256M -o "$dir/all" "$progs/make_calls" $n 2>"$dir/err"
"$espy" show "$dir/all" >"$dir/text"
expect "a large ring holds all getppid" $n "$(grep -c '^getppid() ' "$dir/text")"
expect "and all writev" $n "$(grep -c '^writev(' "$dir/text")"

"$progs/spin_calls" "$dir/pid" >"$dir/said" &
spin=$!
wait_for 60 test -s "$dir/pid" || not_ok "the program does not begin"
# In place of this shell's child, so that $! is espy itself.
record_bg() {
	exec "$progs/fresh" "$espy" record --source="$source" "$@"
}
record_bg --ring 1M -p $spin -o "$dir/snap" 2>"$dir/err" &
recorder=$!
records() { # its programs are attached
	find "/proc/$recorder/fd" -lname '*bpf*link*' | grep -q . || return 1
}
wait_for 60 records || not_ok "espy attaches nothing: $(cat "$dir/err")"
made() {
	od -An -tu8 -N8 "$dir/pid.n" | tr -d ' '
}
many_made() { # calls since $from, all of which espy records
	[ "$(made)" -gt $((from + 200)) ]
}
from=$(made)
wait_for 60 many_made || not_ok "the program makes no calls"
kill -USR1 $recorder
wait_for 60 grep -q 'snap: asked for' "$dir/err" || not_ok "SIGUSR1: $(cat "$dir/err")"
from=$(made)
wait_for 60 many_made || not_ok "the program makes no calls after a snapshot"
kill -USR1 $recorder
wait_for 60 grep -q 'snap.2: asked for' "$dir/err" || not_ok "SIGUSR1 again: $(cat "$dir/err")"
from=$(made)
wait_for 60 many_made || not_ok "the program makes no more calls"
kill -INT $recorder
wait $recorder
has "what it held when it was stopped is told" "$dir/err" 'snap.3: stopped: '
for f in snap snap.2 snap.3; do
	"$espy" show "$dir/$f" >"$dir/text"
	calls=$(grep -c '^getpid() ' "$dir/text")
	[ "$calls" -gt 100 ] && ok "$f: $calls calls" || not_ok "$f: only $calls calls"
done
if kill -0 $spin 2>/dev/null; then ok "the program lives"; else not_ok "the program has ended"; fi
expect "nothing has ended it before" "" "$(cat "$dir/said")"
kill $spin 2>/dev/null
wait $spin 2>/dev/null
finish
