#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# --count-by and --hist of marks: texts and numbers, alone and beside calls, live and from a trace.
. "${0%/*}/lib.sh"
rows() { # FILE TALLY: counts and values of its table
	awk -v of="$2" '$0 == of { on = 1; next } /^$/ { on = 0 } on && /^ *[0-9.]+ +[0-9]+ / { print $2, $3 }' "$1" | paste -sd' '
}
for via in agent kernel; do
	"$espy" trace --via $via -m 'app:*' --count-by 'app:req_done: path' --hist 'id' -o "$dir/out" "$progs/subjects" marks 5 2>"$dir/err"
	expect "texts, via $via" '3 "/even" 2 "/odd" 5 total' "$(rows "$dir/out" 'app:req_done: path')"
	has "numbers of all marks, via $via" "$dir/out" '^ *2  *3  *4 @*$'
	has "numbers add up, via $via" "$dir/out" '^ *total  *10$'
done
"$espy" trace -e trace=getppid -m 'app:*,other:*' --count-by name --count-by 'other:thing: arg0' --hist 'app:req_done: took' -o "$dir/out" \
	"$progs/subjects" marks 3 2>"$dir/err"
expect "names" '3 "req_done" 3 "req_start" 3 "thing" 9 total' "$(rows "$dir/out" name)"
expect "as the format says" '1 0 1 0x1 1 0x2 3 total' "$(rows "$dir/out" 'other:thing: arg0')"
has "fractions count as what is before the point" "$dir/out" '^ *0  *0  *3 @*$'
"$espy" record -o "$dir/t" -m 'app:*' "$progs/subjects" marks 5 2>"$dir/err"
"$espy" show --count-by 'app:req_done: path' "$dir/t" >"$dir/out" 2>"$dir/err"
expect "from a trace" '3 "/even" 2 "/odd" 5 total' "$(rows "$dir/out" 'app:req_done: path')"
"$espy" show -m 'app:req_done if id > 1' --count-by path "$dir/t" >"$dir/out" 2>"$dir/err"
expect "that a condition selects" '2 "/even" 1 "/odd" 3 total' "$(rows "$dir/out" path)"
finish
