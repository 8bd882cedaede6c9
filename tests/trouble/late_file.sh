# SPDX-License-Identifier: LGPL-2.1-or-later
# A traced program has a file open whose server does not answer: espy does not wait for that server.
. "${0%/*}/lib.sh"
"$progs/late_file" >"$dir/said" &
late=$!
wait_for 60 test -s "$dir/said"
grep -q ready "$dir/said" || { cat "$dir/said"; exit 77; }
trace_bg -yy -e trace=fcntl -p $late -o "$dir/out" 2>"$dir/err" &
job=$!
lines() {
	[ "$(grep -c 'fcntl([0-9]*</dev/null>, F_GETFD)  *= 0$' "$dir/out")" -ge 20 ]
}
wait_for 60 lines && ok "its calls are shown, and the file by its name" || not_ok "its calls are not shown: $(cat "$dir/err" "$dir/out" | head)"
kill -INT $job
wait_for 60 ended $job && ok "espy ends when it is told to" || { not_ok "espy does not end"; kill -9 $job; }
kill $late
wait $late
expect "the program ends well" 0 $?
wait $job
finish
