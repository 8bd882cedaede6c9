# SPDX-License-Identifier: LGPL-2.1-or-later
# --decode-pids=pidns: what programs in a pid namespace call each other, and what espy calls them.
. "${0%/*}/lib.sh"
trace -f --decode-pids=pidns -o "$dir/out" "$progs/pid_namespace" >"$dir/first"
case $? in
0) ;;
77) echo "SKIP: no pid namespace can be made here"; exit 77 ;;
*) not_ok "the program: $(tail -n 3 "$dir/out")" ;;
esac
first=$(cat "$dir/first")
child=$(sed -n "s@^$first .*clone.* = 2 /\* \([0-9]*\) in strace's PID NS \*/\$@\1@p" "$dir/out")
[ "$child" ] || not_ok "the result of fork: $(grep "^$first .* = 2" "$dir/out")"
outside() { # PATTERN of the call, its number inside, outside
	has "$1" "$dir/out" "^[0-9]* .*$1.*$2 /\* $3 in strace's PID NS \*/"
}
outside 'getppid.*)  *= ' 1 "$first"
outside 'gettid.*)  *= ' 2 "$child"
outside 'kill(' 2 "$child"
outside 'getpriority(PRIO_PROCESS, ' 2 "$child"
outside 'ioprio_get(IOPRIO_WHO_PROCESS, ' 2 "$child"
outside 'prctl(PR_SET_PTRACER, ' 2 "$child"
outside 'wait4(' 2 "$child"
hasnt "the result of wait4: its task is gone" "$dir/out" "wait4(.*) *= [23] /"
# The parent learns of this one's birth when it has ended already.
brief=$(sed -n "s@^$first .*vfork.* = 3 /\* \([0-9]*\) in strace's PID NS \*/\$@\1@p" "$dir/out")
[ "$brief" ] || not_ok "the result of vfork: $(grep "^$first .* = 3" "$dir/out")"
outside 'wait4(' 3 "$brief"
hasnt "outside nothing is added" "$dir/out" "$first /\*"
trace -f --decode-pids=comm,pidns -o "$dir/out" "$progs/pid_namespace" >"$dir/first"
has "with names" "$dir/out" "gettid.*)  *= 2<pid_namespace> /\* [0-9]* in strace's PID NS \*/"
trace -f -Y -o "$dir/out" "$progs/pid_namespace" >"$dir/first"
has "names alone" "$dir/out" "gettid.*)  *= 2<pid_namespace>\$"
trace -f --decode-pids=pidns --record "$dir/both" -o "$dir/out" "$progs/pid_namespace" >"$dir/first"
"$espy" show -f --decode-pids=pidns -o "$dir/shown" "$dir/both"
expect "a trace shows the same" '' "$(diff "$dir/out" "$dir/shown")"
# A child that espy does not watch: no record tells of its end.
mkfifo "$dir/go" "$dir/end"
unshare -pf sh -c ': <"$1"; (: <"$2"); exit 0' sh "$dir/go" "$dir/end" &
outer=$!
blocked() {
	inner=$(descendants $outer) && [ "$inner" ] && [ "$(state "$inner")" = S ]
}
wait_for 60 blocked || not_ok "no shell in a pid namespace"
rm -f "$dir/out" "$dir/err" # what the one before has said is no sign of this one
trace_bg --decode-pids=pidns --record "$dir/alone" -o "$dir/out" -p "$inner" 2>"$dir/err" &
wait_for 60 grep -q "$inner attached" "$dir/err" || not_ok "not attached: $(cat "$dir/err")"
: >"$dir/go"
wait_for 60 grep -q "= 2 /\* [0-9]* in strace's PID NS \*/\$" "$dir/out" || not_ok "not watched: the result of fork: $(tail -n 3 "$dir/out")"
: >"$dir/end"
wait $! $outer
has "not watched: the result of wait4: its task is gone" "$dir/out" "wait4(-1, .*) *= 2\$"
"$espy" show --decode-pids=pidns -o "$dir/shown" "$dir/alone"
expect "not watched: a trace shows the same" '' "$(diff "$dir/out" "$dir/shown")"
# In a new pid namespace /proc is still that of the outer one, and knows other numbers. espy is its first process.
if [ "$source" = ptrace ] && unshare -Urpf true 2>/dev/null; then
	unshare -Urpf "$espy" trace --source=ptrace -f -y --decode-pids=pidns -o "$dir/out" "$progs/pid_namespace" >"$dir/first"
	expect "below another /proc: status" 0 $?
	first=$(cat "$dir/first")
	outside 'getppid.*)  *= ' 1 "$first"
	outside 'wait4(' 2 '[0-9]*'
	has "below another /proc: paths" "$dir/out" "openat(AT_FDCWD<$(pwd)>,"
fi
"$espy" record -q -f --source="$source" -o "$dir/t" "$progs/pid_namespace" >"$dir/first"
"$espy" show --decode-pids=pidns "$dir/t" >"$dir/shown"
has "from a trace" "$dir/shown" "getppid.*)  *= 1 /\* $(cat "$dir/first") in strace's PID NS \*/"
finish
