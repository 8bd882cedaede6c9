# SPDX-License-Identifier: LGPL-2.1-or-later
# A call hangs on a page that nobody brings in: espy shows the call, and goes on showing everyone else's meanwhile.
. "${0%/*}/lib.sh"
"$progs/late_page" "$dir/hangs" 2>"$dir/late.err" &
late=$!
ready() {
	test -e "$dir/hangs" || ! kill -0 $late
}
wait_for 60 ready
test -e "$dir/hangs" || { cat "$dir/late.err"; exit 77; }
"$progs/busy_threads" "$dir/busy" 1 >"$dir/busy.out" &
busy=$!
wait_for 60 test -s "$dir/busy" || not_ok "the busy program did not start"

if [ "${WHO:-}" = all ]; then
	set -- --all
else
	set -- -f -p $late -p $busy
fi
trace_bg "$@" -e trace=write,getppid -o "$dir/out" 2>"$dir/err" &
job=$!
wait_for 60 grep -q "^$late  *getppid()" "$dir/out" || not_ok "not attached: $(cat "$dir/err")"
# With --all no call is shown before it ends.
if [ "${WHO:-}" != all ]; then
	wait_for 60 grep -q 'write([0-9]*, 0x[0-9a-f]*, 100 <unfinished \.\.\.>$' "$dir/out" &&
		ok "the call that hangs is shown, its data as an address" || not_ok "the call that hangs is not shown: $(grep unfinished "$dir/out" | head -n 5)"
fi
lines=$(wc -l <"$dir/out")
more() {
	[ "$(wc -l <"$dir/out")" -gt $((lines + 1000)) ]
}
wait_for 60 more && ok "everyone else is shown meanwhile" || not_ok "espy waits for the page"
kill -INT $job
wait_for 60 ended $job && ok "and espy ends when it is told to" || { not_ok "espy does not end"; kill -9 $job; }
wait $job
kill $late
wait $late
expect "the page comes: the program goes on" 0 $?
kill $busy
wait $busy
has "and the other one computes what it always did" "$dir/busy.out" 'all is well'
[ -z "$(pgrep -x espy-look -P $$)" ] && ok "nobody is left" || not_ok "a process is left"
finish
