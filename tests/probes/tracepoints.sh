# SPDX-License-Identifier: LGPL-2.1-or-later
# tracepoints.sh ESPY: tracepoints of the kernel (-K) in the stream of calls: their fields, patterns, conditions, recorded and shown again.
. "${0%/*}/../lib.sh"
. "${0%/*}/../trouble/descendants.sh"
trap 'end_descendants; rm -rf "$dir"' EXIT
need_source bpf
"$espy" list tracepoints sched:sched_process_exec >"$dir/list" 2>&1 || { echo "SKIP: $(cat "$dir/list")"; exit 77; }
trace() {
	"$espy" trace --source=bpf "$@"
}
# events FILE: lines of tracepoints in it
events() {
	grep -c '^\(\[pid *[0-9]*\] \|[0-9]*  *\)*[a-z_]*:[a-z_]*(' "$1"
}

# ---- which there are
has "a list with fields" "$dir/list" '^sched:sched_process_exec  *filename pid old_pid$'
"$espy" list tracepoints 'sch?d' >"$dir/list"
hasnt "a pattern of systems" "$dir/list" '^[^s]'
has "has their tracepoints" "$dir/list" '^sched:sched_switch  *prev_comm prev_pid prev_prio prev_state next_comm next_pid next_prio$'
"$espy" list tracepoints nothing 2>"$dir/err" && not_ok "nothing: listed"
has "nothing fits" "$dir/err" "no tracepoint matches 'nothing'"

# ---- fields
true=/bin/true
trace -f -K sched:sched_process_exec -o "$dir/out" sh -c "'$true'; '$true'" 2>"$dir/err"
expect "text that lies elsewhere in the record" 2 "$(grep -c "sched:sched_process_exec(filename=\"$true\", pid=[0-9]*, old_pid=[0-9]*)\$" "$dir/out")"
has "the end says how many" "$dir/err" 'sched:sched_process_exec: [23] events'
hasnt "no calls without -e trace=" "$dir/out" 'exit_group'
trace -K sched:sched_process_exec -o "$dir/out" sh -c "'$true'; '$true'"
hasnt "children only with -f" "$dir/out" "\"$true\""
trace -K signal:signal_generate -e trace=kill -o "$dir/out" sh -c 'trap : USR1; kill -USR1 $$'
has "numbers, and text in the record" "$dir/out" '^signal:signal_generate(sig=10, errno=0, code=0, comm="sh", pid=[0-9]*, group=1, result=0)$'
has "beside calls" "$dir/out" '^kill([0-9]*, SIGUSR1) *= 0$'
[ "$(grep -n 'signal_generate' "$dir/out" | cut -d: -f1)" -lt "$(grep -n '^kill' "$dir/out" | cut -d: -f1)" ] && ok "in order" ||
	not_ok "the event comes behind the call that makes it"
# It is of another source of facts: what strace calls ENOENT.
trace -K 'raw_syscalls:sys_exit if ret == -2' -e trace=all -o "$dir/out" cat /nonexistent/file 2>"$dir/err"
expect "negative numbers: as many as calls failed" "$(grep -c '= -1 ENOENT' "$dir/out")" "$(grep -c '^raw_syscalls:sys_exit(id=-*[0-9]*, ret=-2)$' "$dir/out")"
trace -K 'raw_syscalls:sys_enter if id == 7777' -o "$dir/out" sh -c 'exit 0'
hasnt "another condition: none" "$dir/out" 'raw_syscalls'
trace -K 'raw_syscalls:sys_enter if id == 231' -o "$dir/out" sh -c 'exit 7'
has "an array: its bytes" "$dir/out" '^raw_syscalls:sys_enter(id=231, args="\\7\\0'

# ---- names of values, as the kernel tells them
trace -K sched:sched_switch -o "$dir/out" sleep 0.01
has "flags" "$dir/out" '^sched:sched_switch(.* prev_state=S, '
trace -K 'sched:sched_switch if prev_state & S' -o "$dir/some" sleep 0.01
[ "$(events "$dir/some")" -ge 1 ] && ! grep sched_switch "$dir/some" | grep -qv prev_state=S && ok "a condition names them" ||
	not_ok "a condition names them: $(cat "$dir/some")"
trace --json -K sched:sched_switch -o "$dir/out" sleep 0.01
has "flags as JSON" "$dir/out" '"prev_state":{"$":"flags","num":1,"names":\["S"\]}'
# Its text is longer than the page that the kernel gives at a time.
trace -K kmem:mm_page_alloc -o "$dir/out" sh -c :
has "flags of several bits" "$dir/out" '^kmem:mm_page_alloc(.* gfp_flags=[A-Z_|]*GFP_[A-Z_|]*, '

# ---- conditions
trace -f -K "sched:sched_process_exec if filename == \"$true\"" -o "$dir/out" sh -c "'$true'; env true; uname >/dev/null"
[ "$(events "$dir/out")" -ge 1 ] && ! grep sched_process_exec "$dir/out" | grep -qv "\"$true\"" && ok "text is tested" ||
	not_ok "text is not tested: $(cat "$dir/out")"
trace -f --stats -K 'sched:sched_process_exec if filename $= "/true"' -o "$dir/out" sh -c "'$true'; uname >/dev/null"
expect "what the kernel does not test, espy does" 1 "$(events "$dir/out")"
trace -f -K 'sched:sched_process_* if filename ^= "/"' -o "$dir/out" sh -c "'$true'; '$true'"
[ "$(events "$dir/out")" -ge 2 ] && ! grep : "$dir/out" | grep -q 'sched_process_exit\|sched_process_fork' && ok "of a pattern those without the field are left out" ||
	not_ok "of a pattern: $(cat "$dir/out")"

# ---- recorded
trace -qq -f -K 'sched:sched_process_*' -e trace=execve --record "$dir/t" -o "$dir/live" sh -c "'$true'"
"$espy" show -qq -o "$dir/shown" "$dir/t"
cmp -s "$dir/live" "$dir/shown" && ok "shown again: $(events "$dir/live") events, the same text" || not_ok "another text: $(diff "$dir/live" "$dir/shown" | head -n 4)"
"$espy" show -qq -K 'sched:*exec if pid > 1' "$dir/t" >"$dir/shown" 2>/dev/null
expect "show -K" "$(grep -c 'sched:sched_process_exec(' "$dir/live")" "$(events "$dir/shown")"
"$espy" show --json "$dir/t" >"$dir/json"
has "JSON" "$dir/json" '"kind":"probe",.*"provider":"sched","name":"sched_process_exec","args":{"filename":".*"place":"tracepoint"'
trace -f -c -K sched:sched_process_exec -o "$dir/out" sh -c "'$true'; '$true'"
has "counted" "$dir/out" ' 2 sched:sched_process_exec$\| 3 sched:sched_process_exec$'

# ---- several processes, each event once
sleep 600 & a=$! # sleeps: a program to watch
sleep 600 & b=$! # sleeps: a program to watch
trace -K sched:sched_process_exit -p $a -p $b -o "$dir/out" 2>"$dir/err" & tracer=$!
wait_for 60 grep -q "$b attached" "$dir/err" || not_ok "not attached: $(cat "$dir/err")"
kill $a $b
wait $tracer
expect "two processes" 2 "$(events "$dir/out")"

# ---- a real server: calls, a probe and a tracepoint in one stream, in order, and shown again
server() {
	command -v redis-server >/dev/null && command -v redis-cli >/dev/null || { echo "# no redis-server: left out"; return; }
	"$espy" list functions redis-server processCommand >/dev/null 2>&1 || { echo "# redis-server has no symbols: left out"; return; }
	socket=$dir/redis
	redis-server --port 0 --unixsocket "$socket" --save '' --daemonize no >/dev/null & redis=$!
	answers() { redis-cli -s "$socket" ping | grep -q PONG; }
	wait_for 60 answers || { not_ok "the server does not answer"; return; }
	"$espy" trace --source=bpf -qq -e trace=%network,read,write -u 'redis-server:processCommand(c=%di)' -K sched:sched_waking -m '*' -p $redis --record "$dir/t" --force -o "$dir/live" \
		2>"$dir/err" & tracer=$!
	# A client that is still on its CPU when the answer comes is not woken.
	wait_for 60 sh -c "redis-cli -s '$socket' set espy seen >/dev/null; grep -q 'read(.*espy' '$dir/live' && grep -q 'sched_waking(comm=.redis-cli' '$dir/live'"
	kill $tracer
	wait $tracer
	kill $redis
	wait $redis
	order=$(grep -n 'read(.*espy\|processCommand(c=0x\|write(.*"+OK' "$dir/live" | sed -n '/read(/,$p' | sed 's/.*\(read\|processCommand\|write\)(.*/\1/' | head -n 3 | paste -sd' ')
	expect "a server reads, works, and answers" "read processCommand write" "$order"
	has "and wakes its client" "$dir/live" 'sched:sched_waking(comm="redis-cli"'
	"$espy" show -qq -o "$dir/shown" "$dir/t" 2>/dev/null
	cmp -s "$dir/live" "$dir/shown" && ok "a server, shown again: the same text" || not_ok "a server, shown again: $(diff "$dir/live" "$dir/shown" | head -n 4)"
}
server

# ---- what cannot be
refused() { # NAME PATTERN TRACEPOINT
	trace -K "$3" -o "$dir/out" true 2>"$dir/err" && not_ok "$1: accepted"
	has "$1" "$dir/err" "$2"
}
refused "no colon" "'vfs_read', at character 1: a tracepoint of the kernel is expected, SYSTEM:NAME" vfs_read
refused "no name" "at character 7: the name of a tracepoint is expected" sched:
refused "arguments" "at character 19: 'if' or the end is expected: a tracepoint has the fields" 'sched:sched_switch(x=%di)'
refused "another name" "the kernel has no tracepoint 'sched:sched_swich'; did you mean 'sched:sched_switch'?" sched:sched_swich
refused "a pattern of nothing" "the kernel has no tracepoint 'sched:nothing\*'" 'sched:nothing*'
refused "no such field" "the condition of -K 'sched:sched_switch': .* no argument 'prio'" 'sched:sched_switch if prio < 3'
"$espy" trace --source=ptrace -K sched:sched_switch true 2>"$dir/err" && not_ok "ptrace: accepted"
has "not by ptrace" "$dir/err" 'ptrace source cannot .*tracepoints (-K)'
finish
