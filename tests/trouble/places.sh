# SPDX-License-Identifier: LGPL-2.1-or-later
# Odd places to run in: closed descriptors, few of them, long and strange words, programs that leave their parents,
# many children, processes that are gone. ROUNDS: hundreds of children.
. "${0%/*}/lib.sh"
cd "$dir" || exit 1

for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	sh -c "'$espy' trace --source=$source -o '$dir/out' sh -c 'exit 5' $closed"
	expect "closed $closed: exit status" 5 $?
	has "closed $closed: the trace is whole" "$dir/out" '^+++ exited with 5 +++$'
done
(
	ulimit -n 64
	trace -o "$dir/out" sh -c 'exit 5'
)
expect "64 descriptors" 5 $?

long=$(head -c 130000 /dev/zero | tr '\0' x)
LONG=$long trace -e trace=execve -o "$dir/out" true "$long" "$(printf 'a\nb\033[1m"\\')"
expect "a word of 130 000 bytes: exit status" 0 $?
has "a long word is cut, a strange one quoted" "$dir/out" '\["true", "x\{32\}"\.\.\., "a\\nb\\33\[1m\\"\\\\"\], 0x'
odd=$(printf 'd\n\033[31m"e')
mkdir "$odd" && cp /bin/true "$odd/p"
trace -o "$dir/out" "./$odd/p"
expect "a strange path: exit status" 0 $?
has "a strange path is one line" "$dir/out" '^execve("\./d\\n\\33\[31m\\"e/p", \['

trace -f -o "$dir/out" setsid -w sh -c 'exit 4'
expect "a session of its own" 4 $?
# The daemon lives until its parent has ended.
mkfifo "$dir/daemon"
exec 8<>"$dir/daemon"
trace_bg -f -o "$dir/out" sh -c '(setsid sh -c "read line; exit 9" <"$0" >/dev/null 2>&1 &); exit 6' "$dir/daemon" &
tracer=$!
wait_for 60 grep -q '+++ exited with 6 +++' "$dir/out" || not_ok "the parent of a daemon does not end"
echo >&8
wait $tracer
expect "the parent of a daemon: exit status" 6 $?
has "the daemon is seen to its end" "$dir/out" '+++ exited with 9 +++'
printf '#!/bin/sh\nexit 7\n' >script
chmod +x script
trace -o "$dir/out" ./script
expect "a script" 7 $?
printf '#!/nonexistent/x\n' >script
trace -o "$dir/out" ./script 2>err
expect "a script without its interpreter" 1 $?
has "a script without its interpreter: said" err 'exec: ./script: No such file or directory'

mkdir ff
n=$((${ROUNDS:-2} * 50))
trace -ff -e trace=exit_group -o ff/x "$progs/make_forks" $n
expect "-ff with $n children: exit status" 0 $?
expect "-ff: a file for each" $((n + 1)) "$(find ff -type f | wc -l)"
expect "-ff: each is whole" $n "$(grep -l '^+++ exited with 3 +++$' ff/* | wc -l)"
n=$((${ROUNDS:-2} * 200))
[ "$source" = ptrace ] && n=$((n / 4))
trace -f -e trace=exit_group -o "$dir/out" "$progs/make_forks" $n
expect "$n children: exit status" 0 $?
expect "$n children: the call of each" $n "$(grep -c ' exit_group(3' "$dir/out")"
expect "$n children: the end of each" $n "$(grep -c '+++ exited with 3 +++' "$dir/out")"

mkfifo "$dir/end"
cat "$dir/end" &
live=$!
(exit 0) &
gone=$!
wait $gone
trace_bg -o "$dir/out" -p $gone,$live 2>err &
tracer=$!
wait_for 60 grep -q "$live attached" err || not_ok "espy does not attach"
: >"$dir/end"
wait $tracer
expect "one process is gone, one ends meanwhile: exit status" 0 $?
has "the one that is gone: said" err "($gone): No such process"
has "the other to its end" "$dir/out" '^[0-9]* *+++ exited with 0 +++$'
for word in 0 -5 abc 99999999999; do
	trace -o "$dir/out" -p "$word" 2>err
	expect "-p $word: exit status" 1 $?
	has "-p $word: said" err "Invalid process id: '$word'"
done
finish
