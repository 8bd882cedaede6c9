# SPDX-License-Identifier: LGPL-2.1-or-later
# --decode-pids=pidns: what programs in a pid namespace call each other, and what espy calls them.
. "$(dirname "$0")/lib.sh"
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
outside 'wait4(' 2 "$child"
hasnt "the result of wait4: its task is gone" "$dir/out" "wait4(.*) *= 2 /"
hasnt "outside nothing is added" "$dir/out" "$first /\*"
trace -f --decode-pids=comm,pidns -o "$dir/out" "$progs/pid_namespace" >"$dir/first"
has "with names" "$dir/out" "gettid.*)  *= 2<pid_namespace> /\* [0-9]* in strace's PID NS \*/"
trace -f -Y -o "$dir/out" "$progs/pid_namespace" >"$dir/first"
has "names alone" "$dir/out" "gettid.*)  *= 2<pid_namespace>\$"
"$espy" record -q -f --source="$source" -o "$dir/t" "$progs/pid_namespace" >"$dir/first"
"$espy" show --decode-pids=pidns "$dir/t" >"$dir/shown"
has "from a trace" "$dir/shown" "getppid.*)  *= 1 /\* $(cat "$dir/first") in strace's PID NS \*/"
finish
