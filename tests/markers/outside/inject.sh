#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The agent is loaded into programs at any moment of their lives; all of them live, and their waiting calls go on waiting.
# ROUNDS: how often; a loop of malloc, a sleeper, a spinner and a python with threads ten times as often (twice for one round).
. "${0%/*}/lib.sh"
times=${ROUNDS:-1} many=$((times * 10))
[ "$times" -gt 1 ] || many=2
for mode in sleep spin malloc; do
	"$progs/inject_many" "$many" "$agent" "$progs/subjects" $mode || bad=1
done
for mode in epoll read threads signals; do
	"$progs/inject_many" "$times" "$agent" "$progs/subjects" $mode || bad=1
done
python=$(command -v python3) && python=$("$python" -c 'import sys; print(sys.executable)') && cat >"$dir/threads.py" <<'END'
import threading, json
def work():
    while True:
        assert json.loads(json.dumps({"a": [1, 2.5, "x"] * 50}))["a"][1] == 2.5
for i in range(3):
    threading.Thread(target=work).start()
work()
END
[ -z "$python" ] || "$progs/inject_many" "$many" "$agent" "$python" "$dir/threads.py" || bad=1
# espy is killed at any moment of it: the program lives, unharmed and untraced. If that is the moment between the stop and
# the repair, epoll_wait fails with EINTR, as it does for every program that was stopped and goes on (signal(7)).
EINTR_IS_FAIR=1
export EINTR_IS_FAIR
ticks() { # PID: what it has computed, in hundredths of a second
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}
# goes_on PID FROM: it sleeps in the call in which it is to, or has computed for 50 ms since it had those ticks
goes_on() {
	in_call "$1" 35 219 230 232 || [ "$(ticks "$1")" -ge $(($2 + 5)) ]
}
for mode in spin malloc sleep epoll signals threads; do
	dead=0
	for i in $(seq "$times"); do
		start "$progs/subjects" $mode
		"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null & a=$!
		sleep "0.0$((i % 5))$((i % 7))" # sleeps: a moment of chance
		kill -9 $a
		wait $a 2>/dev/null
		from=$(ticks $pid)
		either() { is_gone $pid || { untraced $pid && goes_on $pid "$from"; }; }
		if ! wait_for 60 either || is_gone $pid; then
			dead=$((dead + 1))
			echo "# $mode, $i: state $(state $pid), tracer $(tracer $pid), call $(cat /proc/$pid/syscall), $(cat "$dir/its-errors")"
		fi
		kill -9 $pid
		wait $pid 2>/dev/null
	done
	expect "$mode: espy killed while it loads the agent, $times times: programs hurt" 0 $dead
done
# The same at the moment in which most is changed, as far as espy may: a thread that is put first must find back by itself.
for mode in sleep spin read signals threads; do
	"$progs/inject_many" -k "$times" "$(realpath "$progs/libslow.so")" "$progs/subjects" $mode || bad=1
done
# Programs that end, or become another one, in the middle of it: espy ends or has its marks, and who lives is unharmed.
for i in $(seq "$times"); do
	"$progs/subjects" marks $((i % 4 + 1)) & pid=$!
	sleep "0.00$((i % 9))" # sleeps: a moment of chance
	"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null
	wait $pid
	[ $? = 0 ] || not_ok "a program that ends while the agent is loaded, $i: it ended otherwise"
done
ok "programs that end while the agent is loaded"
# By SIGTERM: SIGINT is ignored in what a shell starts in the background, and lost if espy has no handler yet.
for ms in 1 40; do
	start "$progs/subjects" execs $ms
	for i in $(seq "$times"); do
		"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null & tracer=$!
		sleep 0.3 # sleeps: a moment of chance
		kill $tracer 2>/dev/null
		wait $tracer
		lives "execs each $ms ms, $i" $pid
	done
	kill -9 $pid
	ok "a program that becomes another one each $ms ms"
done
# What stays: the library, one thread that sleeps, and its area of memory. Nothing else of the program is changed.
traits() { # PID: of its first thread, and what it has open
	# Signals 32 and 33 are the libc's own, which takes them over with the first thread; whoever runs this may ignore them.
	grep -E '^(State|TracerPid|SigPnd|ShdPnd|SigBlk|SigIgn|CapEff|NoNewPrivs|Seccomp)' "/proc/$1/status" |
		sed '/^SigIgn/s/.[0-9a-f]\([0-9a-f]\{7\}\)$/--\1/'
	find "/proc/$1/fd" -mindepth 1 -printf '%f %l\n' | sort
	readlink "/proc/$1/cwd" "/proc/$1/exe"
	sed 's/ .*//' "/proc/$1/syscall"
}
start "$progs/subjects" read
wait_for 60 in_call $pid 0 || not_ok "it does not read"
traits $pid >"$dir/before"
for i in 1 2; do
	"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null & tracer=$!
	wait_for 60 grep -q memfd:espy-ring /proc/$pid/maps || not_ok "its ring does not come"
	kill -INT $tracer
	wait $tracer
	wait_for 60 not grep -q memfd:espy-ring /proc/$pid/maps
done
wait_for 60 in_call $pid 0 || not_ok "it does not read any more"
hasnt "its ring goes with the session" /proc/$pid/maps 'memfd:espy-ring'
traits $pid >"$dir/after"
expect "what a program has open, blocks and ignores is as it was" "$(cat "$dir/before")" "$(cat "$dir/after")"
expect "one more thread" 2 "$(find /proc/$pid/task -mindepth 1 -maxdepth 1 | wc -l)"
expect "its name" espy-agent "$(cat /proc/$pid/task/*/comm | grep -v subjects)"
expect "the library is there once" 1 "$(grep -c 'r-xp .*libespy-agent' /proc/$pid/maps)"
kill $pid
# Stopped and let go on again and again while the agent is loaded: it works, or is refused; the program stops and goes on as told.
start "$progs/subjects" marks
for i in $(seq "$times"); do
	"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null & tracer=$!
	for k in 1 2 3 4 5 6; do
		kill -STOP $pid
		sleep "0.0$k" # sleeps: a moment of chance
		kill -CONT $pid
		sleep "0.0$((7 - k))" # sleeps: a moment of chance
	done
	kill $tracer 2>/dev/null
	wait $tracer
	lives "a program that is stopped and goes on, $i" $pid
done
kill -STOP $pid
wait_for 60 grep -q '^State:.T' /proc/$pid/status
expect "a program that is stopped and goes on: it can be stopped" T "$(state $pid)"
kill -CONT $pid
wait_for 60 not grep -q '^State:.T' /proc/$pid/status
works "a program that was stopped and goes on" $pid 'app:req_done(id='
kill $pid
# Threads, children and new images all the time: nothing of it comes to harm, nobody stays traced.
"$progs/inject_many" -x "$many" "$agent" "$progs/subjects" churn 0 || bad=1
finish
