# SPDX-License-Identifier: LGPL-2.1-or-later
# --from, --to, --pid: exactly the lines of the whole text that lie there.
. "${0%/*}/lib.sh"
record -q -f -o "$dir/t" sh "$dir/work.sh" 12
show -ttt -r "$dir/t" >"$dir/whole" 2>"$dir/err"
expect "the whole text" 0 $?
lines=$(wc -l <"$dir/whole")

# The pieces of neighbouring times are the whole. A time is a line's own: with nanoseconds it is exact.
show --absolute-timestamps=unix,ns "$dir/t" | sed -n 's/^\[pid *[0-9]*\] //; s/^\([0-9.]*\) .*/\1/p' | sort -u >"$dir/times"
n=$(wc -l <"$dir/times")
for i in 1 2 3 4 5 6 7 8 9; do
	at=$(sed -n "$((n * i / 10 + 1))p" "$dir/times")
	after=$(echo "$at" | awk '{ split($1, p, "."); ns = p[2] + 1; printf "%s.%09d", p[1], ns }')
	show -ttt -r --to "@$at" "$dir/t" >"$dir/before" 2>>"$dir/err"
	show -ttt -r --from "@$after" "$dir/t" >"$dir/after" 2>>"$dir/err"
	[ -s "$dir/before" ] && [ -s "$dir/after" ] || not_ok "cut $i: a piece is empty"
	cat "$dir/before" "$dir/after" >"$dir/both"
	same "cut $i: $(wc -l <"$dir/before") + $(wc -l <"$dir/after") lines of $lines" "$dir/whole" "$dir/both"
done
a=$(sed -n "$((n / 3))p" "$dir/times") b=$(sed -n "$((n / 2))p" "$dir/times")
show -ttt -r --from "@$a" --to "@$b" "$dir/t" >"$dir/middle"
grep -Fx -f "$dir/middle" "$dir/whole" >"$dir/found"
same "a piece of the middle ($(wc -l <"$dir/middle") lines)" "$dir/found" "$dir/middle"
[ -s "$dir/middle" ] || not_ok "a piece of the middle is empty"
show --from +1000 "$dir/t" >"$dir/none"
expect "from after the end: nothing" 0 "$(wc -l <"$dir/none")"

# Seconds count from the first thing that happened, not from when espy was started.
show -ttt -r --from +0 "$dir/t" >"$dir/all"
same "--from +0: everything" "$dir/whole" "$dir/all"
some=$(awk 'NR == 1 { a = $1 } NR == 20 { printf "%.6f", $1 - a }' "$dir/times")
show --to "+$some" "$dir/t" >"$dir/some"
has "--to +$some: the beginning" "$dir/some" '^execve('
hasnt "--to +$some: not the end" "$dir/some" '+++ exited with 0 +++$'
# also those that happened before espy knew that it had begun: a command runs while it is being told of
show --to +0 "$dir/t" >"$dir/some"
expect "--to +0: no call has ended" 0 "$(wc -l <"$dir/some")"
show --from +0.0001 "$dir/t" >"$dir/some"
has "--from +0.0001: the first call ends later" "$dir/some" '^brk('

# --pid
show --always-show-pid "$dir/t" >"$dir/whole"
for pid in $(sed -n 's/^\[pid *\([0-9]*\)\].*/\1/p' "$dir/whole" | sort -u | head -n 5); do
	show --always-show-pid --pid "$pid" "$dir/t" >"$dir/one"
	grep "^\[pid *$pid\]" "$dir/whole" >"$dir/want"
	same "--pid $pid: $(wc -l <"$dir/want") lines" "$dir/want" "$dir/one"
done
finish
