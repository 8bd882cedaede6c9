# SPDX-License-Identifier: LGPL-2.1-or-later
# --pause-on and espy resume as a user meets them.
. "${0%/*}/../trouble/lib.sh"
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "SKIP: looks for sockets where those of root are"; exit 77; }

touch "$dir/a" "$dir/b" "$dir/c"
trace_bg -e trace=unlink,unlinkat --pause-on "unlinkat: path == \"$dir/b\"" -o "$dir/out" -- rm "$dir/a" "$dir/b" "$dir/c" \
	</dev/null 2>"$dir/err" &
job=$!
wait_for 60 grep -q 'is held after unlinkat' "$dir/err" && ok "it is told" || not_ok "it is not told: $(cat "$dir/err")"
has "in one line" "$dir/err" 'task [0-9]* (rm) is held after unlinkat; it runs on at `espy resume [0-9]*` or the end of espy; `gdb -p [0-9]*` takes it over'
pid=$(sed -n 's/.*: task \([0-9]*\) (rm).*/\1/p' "$dir/err")
[ ! -e "$dir/b" ] && [ -e "$dir/c" ] && ok "held after that call, before the next" || not_ok "held elsewhere: $(ls "$dir")"
# The kernel keeps it asleep for espy; between two rounds of its patience it is elsewhere for a moment.
sleeps_held() { # PID
	grep -q request_wait_answer /proc/"$1"/task/*/wchan
}
sleeps() {
	[ "$(state "$pid")" = S ]
}
wait_for 60 sleeps_held "$pid" && wait_for 60 sleeps && ok "it sleeps" || not_ok "it does not sleep: $(state "$pid"), $(cat "/proc/$pid/wchan")"
stays 1 test -e "$dir/c" && wait_for 60 sleeps_held "$pid" && ok "and stays held" || not_ok "it went on: $(state "$pid"), $(ls "$dir")"
"$espy" resume 1 2>"$dir/other"
expect "another task is not held: status" 1 $?
has "another task is not held" "$dir/other" 'no espy that you may speak to holds task 1 '
"$espy" resume --by $$ "$pid" 2>"$dir/other"
expect "another espy does not hold it" 1 $?
"$espy" resume "$pid" >"$dir/answer"
expect "resume" "0 $pid runs on: espy $job has let go of 1 task" "$? $(cat "$dir/answer")"
wait $job
expect "the command ends well" 0 $?
[ ! -e "$dir/c" ] && ok "it ran on" || not_ok "it did not run on"
expect "three calls are shown once" 3 "$(grep -c '^unlinkat(' "$dir/out")"
hasnt "none as unfinished" "$dir/out" 'unfinished'
has "the pause is told at the end" "$dir/err" ': 1 pause, '

# Killed with -9, espy holds nobody any more.
trace_bg -f --pause-on getppid -o "$dir/out" sh -c "'$progs/make_calls' 1; echo yes >'$dir/done'" </dev/null 2>"$dir/err" &
job=$!
wait_for 60 grep -q 'is held after getppid' "$dir/err" && ok "held" || not_ok "it is not held"
kill -9 $job
wait $job 2>/dev/null
wait_for 60 test -s "$dir/done" && ok "killed with -9: it runs on" || not_ok "killed with -9: it does not run on"

# Two espys hold one task: each has to let go.
"$progs/busy_threads" "$dir/busy" 1 >"$dir/busy.out" &
busy=$!
wait_for 60 test -s "$dir/busy" || not_ok "the busy program did not start"
rounds() {
	od -An -tu8 -N8 "$dir/busy.n" | tr -d ' '
}
trace_bg -q -f -p $busy --pause-on write -o /dev/null </dev/null 2>"$dir/err1" &
one=$!
wait_for 60 grep -q 'is held after write' "$dir/err1" || not_ok "the first does not hold it"
trace_bg -f -p $busy --pause-on write -o /dev/null </dev/null 2>"$dir/err2" &
two=$!
wait_for 60 grep -q 'attached' "$dir/err2" || not_ok "the second did not attach"
"$espy" resume --by $one $busy >"$dir/answer" # the call that the second did not see
wait_for 60 grep -q 'is held after write' "$dir/err2" && ok "the second holds it, too" || not_ok "the second does not hold it"
held_twice() {
	[ "$(grep -c 'is held after write' "$dir/err1")" -ge 2 ]
}
wait_for 60 held_twice || not_ok "the first did not tell that it holds it again"
from=$(rounds)
"$espy" resume --by $one $busy >"$dir/answer" || not_ok "the first did not hold it again"
same_round() {
	[ "$(rounds)" = "$from" ]
}
wait_for 60 sleeps_held $busy && stays 1 same_round && wait_for 60 sleeps_held $busy && ok "let go by one, held by the other" ||
	not_ok "let go by one, and not held by the other: $(rounds) rounds, $from before"
"$espy" resume --by $two $busy >"$dir/answer" || not_ok "the second did not hold it"
went_on() {
	[ "$(rounds)" -gt "$from" ]
}
wait_for 60 went_on && ok "let go by both it runs on" || not_ok "let go by both it does not run on"
kill -INT $one $two
wait $one $two
from=$(($(rounds) + 1000))
wait_for 60 went_on && ok "at the end of both it runs freely" || not_ok "it is held after the end of both"
kill $busy
wait $busy
has "and computes what it always did" "$dir/busy.out" 'all is well'

trace --pause-on 'unlinkat: pth == "x"' true 2>"$dir/err"
expect "a bad trigger: status" 1 $?
has "a bad trigger" "$dir/err" "pause-on 'unlinkat: pth == \"x\"', column 11: unlinkat has no argument 'pth'; there are ret, errno, pid, tid, comm, uid, dirfd, pathname, flags"
"$espy" trace --source=ptrace --pause-on getppid true 2>"$dir/err"
expect "the ptrace source: status" 1 $?
has "the ptrace source cannot" "$dir/err" 'pause-on needs the source bpf'
finish
