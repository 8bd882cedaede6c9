# SPDX-License-Identifier: LGPL-2.1-or-later
# Lossless mode as a user meets it: a slow reader costs time, not events; who can keep up is never held. ROUNDS: thousands of calls.
. "${0%/*}/../trouble/lib.sh"
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }

n=$((${ROUNDS:-4} * 1000))
# slowly COUNT OPTIONS... : out of a small ring, through a pipe that nobody empties before so many tasks are held, and then slowly
slowly() {
	count=$1
	shift
	rm -f "$dir/go"
	trace_bg --buffer 1M -o "|$progs/slow_reader $dir/slow $dir/go" "$@" 2>"$dir/err" &
	job=$!
	wait_for 60 held_below $job "$count" || not_ok "$*: fewer than $count tasks are held: $(cat "$dir/err")"
	: >"$dir/go"
	wait $job
}
count() {
	grep -c "^$1" "$dir/slow"
}

slowly 1 "$progs/make_calls" $n
expect "auto: $n x getppid" $n "$(count 'getppid() ')"
expect "auto: $n x writev" $n "$(count 'writev(')"
hasnt "auto: nothing lost in place" "$dir/slow" 'lost here'
hasnt "auto: nothing lost at the end" "$dir/err" 'lost'
has "holds are told while they happen" "$dir/err" 'the traced program outruns espy: tasks were held [0-9]* times* so far'
has "the pauses are told" "$dir/err" ': [0-9]* pauses*, [0-9.]* ms in all, [0-9.]* ms at most; 1 task held: [0-9]* ('

slowly 4 -f sh -c "for i in 1 2 3 4; do '$progs/make_calls' $((n / 4)) & done; wait"
expect "four at once: $n x writev" $n "$(grep -c ' writev(' "$dir/slow")"
hasnt "four at once: nothing lost" "$dir/err" 'lost'
has "four tasks were held" "$dir/err" '; [4-9] tasks held: '

# The reader waits until the program has ended.
rm -f "$dir/go"
trace --lossless=never --buffer 1M -o "|$progs/slow_reader $dir/slow $dir/go" "$progs/make_calls" $n "$dir/go" 2>"$dir/err"
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
slowly 1 -f sh "$dir/parent.sh" "$progs/make_calls" >"$dir/parent"
has "a parent sees its child's end" "$dir/parent" '^status 0$'
hasnt "and no stop" "$dir/parent" 'Stopped'
hasnt "nor a signal" "$dir/slow" 'SIGSTOP'

# A reader that keeps up with ordinary programs.
for cmd in 'ls -lR /etc' 'sh -c "i=0; while [ \$i -lt 100 ]; do /bin/true; i=\$((i + 1)); done"' \
	'grep -r localhost /etc' 'find /usr/share -name x*'; do
	eval "trace -f --buffer 64M --lossless=always -o '$dir/out' $cmd" >/dev/null 2>"$dir/err"
	hasnt "64 MB, $cmd: nobody is held" "$dir/err" 'pause'
done

# What runs already is held only if it is said so.
mkfifo "$dir/never_read"
exec 4<>"$dir/never_read"
rounds() {
	od -An -tu8 -N8 "$dir/busy.n" | tr -d ' '
}
runs_on() { # it has made as many calls as do not fit the ring
	[ "$(rounds)" -gt $((from + 50000)) ]
}
is_held() { # it sleeps because they do not
	grep -q request_wait_answer /proc/$busy/task/*/wchan
}
is_let_go() { # held, it makes a few calls nevertheless, a hold for each
	is_held || return
	held_at=$(rounds)
	wait_for 60 further
}
further() {
	[ "$(rounds)" -gt $((held_at + 5)) ]
}
outran() { # EVENT OPTIONS...: a process that makes calls while espy can write none of them
	event=$1
	shift
	rm -f "$dir/busy"
	"$progs/busy_threads" "$dir/busy" 1 >"$dir/busy.out" &
	busy=$!
	wait_for 60 test -s "$dir/busy" || not_ok "the busy program did not start"
	rm -f "$dir/err" # what the last one said is not what this one says
	"$progs/fresh" "$espy" trace --source=bpf $rings --stats --buffer 1M "$@" -p $busy -o "$dir/never_read" 2>"$dir/err" &
	job=$!
	wait_for 60 grep -q attached "$dir/err" || not_ok "not attached"
	from=$(rounds)
	wait_for 60 "$event" || not_ok "$*: nobody outruns espy ($event): $(($(rounds) - from)) rounds"
	cat <&4 >/dev/null &
	reader=$!
	kill -INT $job
	wait $job
	kill $busy $reader
	wait $busy $reader 2>/dev/null
}
outran runs_on
hasnt "-p: not for it" "$dir/err" 'lossless mode\|held'
has "-p: what finds no room is lost and counted" "$dir/err" ' events* lost: no room'
outran is_held --lossless=always
has "-p, always: held" "$dir/err" ' pauses*, .* held: '
hasnt "-p, always: nothing lost" "$dir/err" ' lost: no room'
outran is_let_go --lossless=always --max-hold 20ms
has "-p, always, --max-hold: held" "$dir/err" ' pauses*, .* held: '
has "-p, always, --max-hold: not for longer" "$dir/err" ': [0-9]* of them ended before there was room, after 20 ms (--max-hold)'
exec 4>&-
trace --stats -o "$dir/out" true 2>"$dir/err"
has "a command: made ready before it begins" "$dir/err" 'lossless mode: tasks can be held'
trace --lossless=always --all -o "$dir/out" 2>"$dir/err"
has "always is not for --all" "$dir/err" 'lossless=always is not for --all'
trace --lossless=sometimes true 2>"$dir/err"
has "a wrong word is refused" "$dir/err" "invalid --lossless argument: 'sometimes'"

# kill -9 while many are held: they run on.
n=20000
mkfifo "$dir/pipe"
trace_bg -f --buffer 1M -o "$dir/pipe" sh -c "for i in 1 2 3 4; do '$progs/make_calls' $((n / 4)) & done; wait; echo done >'$dir/done'" 2>/dev/null &
espy_pid=$!
exec 3<"$dir/pipe" # opened, and never read
if wait_for 60 held_below $espy_pid 1; then ok "nobody reads: they are held"; else not_ok "nobody reads: none is held"; fi
helper=$(pgrep -x espy-hold -P $espy_pid)
kill -9 $espy_pid
wait_for 60 test -s "$dir/done" && ok "killed with -9: they run to their end" || not_ok "killed with -9: they do not run on"
exec 3<&-
wait $espy_pid 2>/dev/null
wait_for 60 test ! -e "/proc/${helper:-self}" && ok "the helper is gone" || not_ok "a helper is left"
finish
