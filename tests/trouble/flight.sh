# SPDX-License-Identifier: LGPL-2.1-or-later
# The flight recorder of the command: a trace when it is asked for, when the target ends, and when espy is stopped; each
# ends with the newest that had happened.
. "$(dirname "$0")/lib.sh"

record() {
	"$espy" record --source="$source" "$@"
}
record_bg() {
	exec "$progs/fresh" "$espy" record --source="$source" "$@"
}
show() {
	"$espy" show "$@" 2>>"$dir/err"
}
n=100000

# The end of the target; more is made than the ring holds.
record --ring 1M -o "$dir/end" "$progs/make_calls" $n 2>"$dir/err"
show "$dir/end" >"$dir/text"
has "the newest calls are there" "$dir/text" 'writev([0-9]*, \[{iov_base="one"'
has "and the end" "$dir/text" '^exit_group(0) *= ?'
has "and what became of it" "$dir/text" '+++ exited with 0 +++'
over=$(sed -n 's/.*; \([0-9]*\) older ones were overwritten.*/\1/p' "$dir/err")
[ "${over:-0}" -gt 0 ] && ok "older ones were overwritten ($over), as was meant" || not_ok "nothing overwritten: $(cat "$dir/err")"
small=$(wc -l <"$dir/text")
[ "$small" -gt 1000 ] && ok "the ring was full of calls ($small lines)" || not_ok "only $small lines"

# A ring that holds everything shows what trace shows.
record --ring 256M -o "$dir/all" "$progs/make_calls" 2000 2>"$dir/err"
show "$dir/all" >"$dir/text"
expect "a large ring holds all" 2000 "$(grep -c '^getppid() ' "$dir/text")"

# A snapshot, another one, the end of espy; the program runs on.
"$progs/spin_calls" "$dir/pid" 8 >"$dir/said" &
spin=$!
wait_for 5 test -s "$dir/pid"
record_bg --ring 1M -p $spin -o "$dir/snap" 2>"$dir/err" &
recorder=$!
wait_for 10 grep -q attached "$dir/err"
sleep 0.5
kill -USR1 $recorder
wait_for 10 test -s "$dir/snap" || not_ok "no trace after SIGUSR1"
wait_for 10 grep -q 'snap: asked for' "$dir/err"
kill -USR1 $recorder
wait_for 10 grep -q 'snap.2: asked for' "$dir/err"
kill -INT $recorder
wait $recorder
for f in snap snap.2 snap.3; do
	show "$dir/$f" >"$dir/text"
	calls=$(grep -c '^getpid() ' "$dir/text")
	[ "$calls" -gt 1000 ] && ok "$f: $calls calls" || not_ok "$f: only $calls calls: $(cat "$dir/err")"
done
expect "the program lives" "$spin" "$(cat "$dir/pid")"
[ "$(state "$spin")" ] && ok "and runs" || not_ok "the program has gone"
kill $spin 2>/dev/null
wait $spin 2>/dev/null
finish
