# SPDX-License-Identifier: LGPL-2.1-or-later
# Lossless mode as a user meets it: a slow reader costs time, not events; who can keep up is never held.
. "$(dirname "$0")/../trouble/lib.sh"
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }

n=20000
slowly() { # OPTIONS... : through a pipe that is emptied slowly, out of a small ring
	trace --buffer 1M -o "|$progs/slow_reader $dir/slow" "$@" 2>"$dir/err"
}
count() {
	grep -c "^$1" "$dir/slow"
}

slowly "$progs/make_calls" $n
expect "auto: $n x getppid" $n "$(count 'getppid() ')"
expect "auto: $n x writev" $n "$(count 'writev(')"
hasnt "auto: nothing lost in place" "$dir/slow" 'lost here'
hasnt "auto: nothing lost at the end" "$dir/err" 'lost'
has "the pauses are told" "$dir/err" ': [0-9]* pauses*, [0-9.]* ms in all, [0-9.]* ms at most; 1 task held: [0-9]* ('

slowly -f sh -c "for i in 1 2 3 4; do '$progs/make_calls' $((n / 4)) & done; wait"
expect "four at once: $n x writev" $n "$(grep -c ' writev(' "$dir/slow")"
hasnt "four at once: nothing lost" "$dir/err" 'lost'
has "four tasks were held" "$dir/err" '; [4-9] tasks held: '

slowly --lossless=never "$progs/make_calls" $n
has "never: some are lost" "$dir/err" 'lost: no room'
hasnt "never: nobody is held" "$dir/err" ' held'

# Who has to wait is not stopped: its parent sees nothing, nor does it itself.
cat >"$dir/parent.sh" <<'S'
set -m
"$1" 3000 &
wait $!
echo "status $?"
jobs
S
slowly -f sh "$dir/parent.sh" "$progs/make_calls" >"$dir/parent"
has "a parent sees its child's end" "$dir/parent" '^status 0$'
hasnt "and no stop" "$dir/parent" 'Stopped'
hasnt "nor a signal" "$dir/slow" 'SIGSTOP'

# A reader that keeps up with ordinary programs.
for cmd in 'ls -lR /etc' 'sh -c "i=0; while [ \$i -lt 300 ]; do /bin/true; i=\$((i + 1)); done"' \
	'grep -r localhost /etc' 'find /usr/share -name x*'; do
	eval "trace -f --buffer 64M --lossless=always -o '$dir/out' $cmd" >/dev/null 2>"$dir/err"
	hasnt "64 MB, $cmd: nobody is held" "$dir/err" 'pause'
done

# Who may be the one that takes our output is not held: the shell that espy is started from.
sh -c "'$espy' trace --source=bpf --stats -p \$\$ -o '$dir/out' 2>'$dir/err' & sleep 1; kill -INT \$!; wait"
hasnt "-p of an ancestor: not for it" "$dir/err" 'lossless mode'
trace --stats -o "$dir/out" true 2>"$dir/err"
has "a short command: not made ready at all" "$dir/err" 'lossless mode: not needed so far'
trace --lossless=always --all -o "$dir/out" 2>"$dir/err"
has "always is not for --all" "$dir/err" 'lossless=always is not for --all'
trace --lossless=sometimes true 2>"$dir/err"
has "a wrong word is refused" "$dir/err" "invalid --lossless argument: 'sometimes'"

# kill -9 while many are held: they run on.
mkfifo "$dir/pipe"
trace_bg -f --buffer 1M -o "$dir/pipe" sh -c "for i in 1 2 3 4; do '$progs/make_calls' $((n / 4)) & done; wait; echo done >'$dir/done'" 2>/dev/null &
espy_pid=$!
exec 3<"$dir/pipe" # opened, and never read
held() { # ours: another test may hold somebody as well
	for p in $(pgrep -f "^$progs/make_calls"); do
		grep -q request_wait_answer "/proc/$p/wchan" 2>/dev/null && return 0
	done
	return 1
}
if wait_for 20 held; then ok "nobody reads: they are held"; else not_ok "nobody reads: none is held"; fi
helper=$(pgrep -x espy-hold -P $espy_pid)
kill -9 $espy_pid
wait_for 20 test -s "$dir/done" && ok "killed with -9: they run to their end" || not_ok "killed with -9: they do not run on"
exec 3<&-
wait $espy_pid 2>/dev/null
wait_for 10 test ! -e "/proc/${helper:-self}" && ok "the helper is gone" || not_ok "a helper is left"
finish
