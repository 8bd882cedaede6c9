#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The agent is loaded into programs at any moment of their lives; all of them live, and their waiting calls go on waiting.
# ESPY_TEST_TIMES: how often (100 each in a full run).
. "$(dirname "$0")/lib.sh"
times=${ESPY_TEST_TIMES:-10}
for mode in sleep epoll read spin malloc threads signals; do
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
[ -z "$python" ] || "$progs/inject_many" "$times" "$agent" "$python" "$dir/threads.py" || bad=1
# espy is killed at any moment of it: the program lives, unharmed and untraced. If that is the moment between the stop and
# the repair, epoll_wait fails with EINTR, as it does for every program that was stopped and goes on (signal(7)).
EINTR_IS_FAIR=1
export EINTR_IS_FAIR
for mode in spin malloc sleep epoll signals; do
	dead=0
	for i in $(seq "$times"); do
		"$progs/subjects" $mode & pid=$!
		sleep 0.05
		"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null & a=$!
		sleep "0.0$((i % 5))$((i % 7))"
		kill -9 $a
		wait $a 2>/dev/null
		sleep 0.05
		if ! kill -0 $pid 2>/dev/null || [ "$(field $pid TracerPid)" != 0 ]; then dead=$((dead + 1)); fi
		kill -9 $pid
		wait $pid 2>/dev/null
	done
	expect "$mode: espy killed while it loads the agent, $times times: programs hurt" 0 $dead
done
# Programs that end, or become another one, in the middle of it: espy ends or has its marks, and who lives is unharmed.
for i in $(seq "$times"); do
	"$progs/subjects" marks $((i % 4 + 1)) & pid=$!
	sleep "0.00$((i % 9))"
	"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null
	wait $pid
	[ $? = 0 ] || not_ok "a program that ends while the agent is loaded, $i: it ended otherwise"
done
ok "programs that end while the agent is loaded"
for ms in 1 40; do
	start "$progs/subjects" execs $ms
	for i in $(seq "$times"); do
		"$espy" trace -p $pid -m 'app:*' -o /dev/null 2>/dev/null & tracer=$!
		sleep 0.3
		kill -INT $tracer 2>/dev/null
		wait $tracer
		lives "execs each $ms ms, $i" $pid
	done
	kill -9 $pid
	ok "a program that becomes another one each $ms ms"
done
start "$progs/subjects" vforks 300
works "a program whose first thread waits for vfork children" $pid 'app:vforked(i='
kill -9 $pid
finish
