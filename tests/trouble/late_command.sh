# SPDX-License-Identifier: LGPL-2.1-or-later
# espy's command reads from a page that only the command itself brings in, or a server that is traced too: espy does not wait for it.
. "${0%/*}/lib.sh"
# late NAME COMMAND...: espy shows the call with an address, and goes on.
late() {
	name=$1
	shift
	rm -f "$dir/hangs" "$dir/out"
	trace_bg -f -e trace=write,getppid -o "$dir/out" "$@" >"$dir/said" 2>"$dir/err" &
	job=$!
	ready() {
		test -s "$dir/hangs" || ended $job
	}
	wait_for 60 ready || not_ok "$name: the page is not wanted: $(cat "$dir/err")"
	if ended $job && grep -q SKIP "$dir/said" "$dir/err"; then
		cat "$dir/said" "$dir/err"
		return
	fi
	wait_for 60 grep -q 'write([0-9]*, 0x[0-9a-f]*, 100 <unfinished \.\.\.>$' "$dir/out" &&
		ok "$name: the call that hangs is shown, its data as an address" || not_ok "$name: the call that hangs is not shown: $(tail -n 3 "$dir/out")"
	lines=$(wc -l <"$dir/out")
	more() {
		[ "$(wc -l <"$dir/out")" -gt $((lines + 20)) ]
	}
	wait_for 60 more && ok "$name: the other thread is shown meanwhile" || { not_ok "$name: espy waits for the page"; kill -9 $job; }
	kill "$(cat "$dir/hangs")"
	wait $job
	expect "$name: the page comes, the program goes on" 0 $?
}
late "a page of its own" "$progs/late_page" "$dir/hangs"
head -c 8192 /dev/zero >"$dir/mapped"
late "a page of a server" "$progs/put_server" "$dir/mapped" "$progs/late_page" "$dir/hangs" "$dir/mapped"

trace_bg -k -e trace=gettid -o "$dir/out" "$progs/late_page" "$dir/hangs" stack 2>"$dir/err" &
job=$!
wait_for 60 ended $job || { not_ok "a stack in such a page: espy waits for it"; kill -9 $job; }
wait $job
status=$?
if [ $status = 77 ] || grep -q 'libdw' "$dir/err"; then
	cat "$dir/err"
else
	expect "a stack in such a page: status" 0 $status
	has "a stack in such a page: the call" "$dir/out" '^gettid()  *= [0-9]'
fi
finish
