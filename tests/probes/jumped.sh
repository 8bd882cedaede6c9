#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# jumped.sh ESPY PROGRAMS-DIR: probes by the agent: the same text as the kernel's way, and programs that live and compute the same.
. "${0%/*}/../lib.sh"
. "${0%/*}/../trouble/descendants.sh"
trap 'end_descendants; rm -rf "$dir"' EXIT
progs=$(realpath "$2")
jumped=$progs/jumped
probed=$progs/probed
need_source bpf
rounds=${ROUNDS:-6}
lines() { # probes alone, without times
	grep -v -e '^+++' -e '^espy: ' | sed 's/ <[0-9.]*>$//; s/  *= / = /'
}

# ---- one meaning
same() { # NAME ARGUMENTS...: the text is the same both ways, and there is some
	name=$1
	shift
	"$espy" trace --via kernel -o "$dir/kernel" "$@" >/dev/null 2>"$dir/err"
	"$espy" trace --via agent -o "$dir/agent" "$@" >/dev/null 2>"$dir/err"
	[ "${mixed:-}" ] || hasnt "$name: all by the agent" "$dir/err" 'through the kernel'
	# Addresses and pids differ from run to run; the agent's thread of a child ends with it.
	sed -i 's/0x[0-9a-f]\{6,\}/ADDRESS/g; s/^[0-9]* *//; s/\(getppid() *=\) [0-9]*/\1 PID/; s/ <[0-9.]*>$//; /^+++ exited/d' "$dir/kernel" "$dir/agent"
	sort "$dir/kernel" >"$dir/kernel.sorted"
	sort "$dir/agent" >"$dir/agent.sorted"
	if [ -s "$dir/agent" ] && cmp "$dir/kernel${sorted:-}" "$dir/agent${sorted:-}"; then ok "$name"; else
		not_ok "$name"
		diff "$dir/kernel${sorted:-}" "$dir/agent${sorted:-}" | head -n 10
	fi
}
same "numbers, texts, bytes" -e trace=getppid \
	-u 'probed:handle(id=+0(%di):s32, path=+0(+8(%di)):string, b=%si:bytes[%dx], len=$arg3:u, delta=%ecx:d, who=$comm)' "$probed"
same "the way through pointers that lead nowhere" -s 3 \
	-u 'probed:handle(next=+0(+16(%di)):s32, far=+0(\16):u64, zero=+0(\0):string, path=+0(+8(%di)):string, x=+0(%dx):string)' "$probed"
same "registers, the stack" -u 'probed:factorial(%di, %r8, ret=$stack0:x, $stack1:x8, sp=%sp, s=%dil:d)' "$probed"
same "conditions" -u 'probed:handle(path=+0(+8(%di)):string, d=%cx:s32) if path ^= "/the" && d < 0' \
	-u 'probed:handle(path=+0(+8(%di)):string) if path != "/the/path"' -u 'probed:factorial(n=%di:s32) if n > 1 && !(n & 1) && pid != 0' \
	-u 'probed:factorial(n=%di:s32) if n in {2, 9}' "$probed"
same "several probes of one place" -u 'probed:factorial($arg1)' -u 'probed:factorial(n=$arg1:d)' "$probed"
same "an instruction in the middle" -u 'jumped:many+0x8($arg2:d)' "$jumped" once
sorted=.sorted
same "children, faults, fibres, longjmp" -f -u 'jumped:step($arg1:d)' -u jumped:deep -u jumped:leaves -u jumped:segfaults -u jumped:frames \
	-u 'jumped:many($arg6, +8(%sp):d)' -u jumped:relative -u jumped:jumps_first -u jumped:flags -u jumped:push_first -u 'jumped:borrows($arg1:d)' -u 'jumped:borrows_exactly($arg1:d)' \
	-u 'jumped:keeps_jump($arg1:d)' -u 'jumped:keeps_prefix($arg1:d)' -u 'jumped:by_memory($arg1:d)' -u 'jumped:keeps_jump%return(=$retval:d)' -e signal=SIGSEGV "$jumped" once
sorted=
for via in kernel agent; do
	"$espy" trace --via $via -u 'probed:factorial(n=$arg1:d)' --count-by 'probed:factorial: n' -o "$dir/$via" "$probed" >/dev/null 2>&1
	"$espy" trace --via $via -u 'probed:factorial(n=$arg1:d)' -c -o "$dir/$via.c" "$probed" >/dev/null 2>&1
done
expect "--count-by" "$(cat "$dir/kernel")" "$(cat "$dir/agent")"
expect "-c" "$(cat "$dir/kernel.c")" "$(cat "$dir/agent.c")"
"$jumped" once >"$dir/alone"
"$espy" trace --via agent -f -u 'jumped:*' -o "$dir/out" "$jumped" once >"$dir/got" 2>/dev/null
expect "backtraces and all else are the same" "$(cat "$dir/alone")" "$(cat "$dir/got")"
"$espy" record --via agent -o "$dir/t.espy" -u 'probed:factorial(n=$arg1:d)' "$probed" >/dev/null 2>&1
expect "recorded and shown" 'probed:factorial(n=3)' "$("$espy" show "$dir/t.espy" | lines | head -n 1)"

# ---- returns
same "returns" -u 'probed:factorial%return(n=$arg1:s32, =$retval:s32)' -u 'probed:handle%return(id=+0($arg1):s32, =$retval:d) if retval > 20' \
	-u 'probed:handle%return(path=+0(+8($arg1)):string, sp=%sp) if duration < 100s' "$probed"
same "entries and returns" -u 'probed:factorial(n=$arg1:d)' -u 'probed:factorial%return(=$retval:d)' "$probed"
mixed=1 # the agent finds no room near some
same "functions that longjmp leaves" -u probed:leave%return -u probed:jumps%return "$probed" jump
mixed=
# By the kernel a fault that a handler leaves by siglongjmp, fibres and exceptions are no matter of course.
"$jumped" once | sed '/frames$/d' >"$dir/alone"
"$espy" trace --via agent -f -u 'jumped:*%return' -u 'jumped:*' -o "$dir/out" "$jumped" once 2>"$dir/err" | sed '/frames$/d' >"$dir/got"
expect "all returns: the program does the same" "$(cat "$dir/alone")" "$(cat "$dir/got")"
has "returns in a child" "$dir/out" 'jumped:step() *returned'
# Without -f: what the agent cannot take of the library the kernel shall probe in this program alone.
"$espy" trace --via agent -u 'libc:*%return if pid == 1' -o "$dir/out" "$jumped" once 2>"$dir/err" | sed '/frames$/d' >"$dir/got"
expect "all returns of libc, too" "$(cat "$dir/alone")" "$(cat "$dir/got")"
if command -v g++ >/dev/null && g++ -O2 -fcf-protection=none -o "$dir/jumped_cxx" "${0%/*}/jumped_cxx.cc" -pthread 2>/dev/null; then
	"$espy" trace --via agent -f -u 'jumped_cxx:*%return if pid == 1' -o "$dir/out" "$dir/jumped_cxx" 300 >"$dir/got" 2>"$dir/err"
	expect "exceptions, and threads that end, through returns" "$("$dir/jumped_cxx" 300)" "$(cat "$dir/got")"
fi
"$espy" trace --via kernel -u libc:_setjmp%return true 2>"$dir/err"
has "a function that returns more than once" "$dir/err" 'no probe can be at the return of _setjmp'

# A call is under way when a second session comes, which wants what the first has not kept.
rm -f "$dir/ask"
mkfifo "$dir/ask"
cat <"$dir/ask" >/dev/null &
running=$!
exec 3>"$dir/ask"
returned() { # FILE LINES: so many calls of read() have returned into the file
	echo >&3
	[ "$(grep -c '^libc:read' "$1" 2>/dev/null)" -ge "$2" ]
}
"$espy" trace --via agent -u 'libc:read%return(=$retval:d)' -o "$dir/kept_none" -p "$running" 2>/dev/null 3>&- &
tracer=$!
wait_for 60 returned "$dir/kept_none" 1
"$espy" trace --via agent -u 'libc:read%return(fd=$arg1:d, =$retval:d)' -o "$dir/kept" -p "$running" 2>/dev/null 3>&- &
other=$!
wait_for 60 returned "$dir/kept" 2
kill -INT $tracer $other
wait $tracer $other
exec 3>&-
wait "$running"
expect "arguments that nobody has kept are unknown, and later ones known" 'libc:read(fd=?) libc:read(fd=0)' "$(lines <"$dir/kept" | head -n 2 | sed 's/ =.*//' | xargs)"

# ---- what goes through the kernel
far=no_room
"$espy" trace --via agent -u "jumped:$far%return" -u "jumped:$far" -u 'jumped:step' -o "$dir/out" "$jumped" once >/dev/null 2>"$dir/err"
has "a function without room goes through the kernel" "$dir/err" "jumped:$far goes through the kernel, since the agent cannot take it: "
has "and the agent has others" "$dir/out" '^jumped:step()'
"$espy" trace --via agent -k -u 'jumped:step' -o "$dir/out" "$jumped" once >/dev/null 2>"$dir/err"
has "stacks are the kernel's" "$dir/err" 'probes go through the kernel, since it copies the stacks'
"$espy" trace --via agent --all -u jumped:step 2>"$dir/err"
has "all processes are not for the agent" "$dir/err" 'is for a command or processes'

"$espy" trace --via agent -u 'jumped:locked(n=$arg1:d)' -o "$dir/out" "$jumped" once >/dev/null 2>"$dir/err"
has "an instruction that the kernel cannot probe" "$dir/out" '^jumped:locked(n=16)'
"$espy" trace --via kernel -u jumped:locked "$jumped" once >/dev/null 2>"$dir/err"
has "which it says" "$dir/err" 'the kernel cannot probe this instruction'
"$espy" trace --via kernel -u 'jumped:*ed' -o "$dir/out" "$jumped" once >/dev/null 2>"$dir/err"
has "of a pattern, too" "$dir/err" 'functions of .* are left out: they begin with an instruction that the kernel cannot probe'

# ---- an ordinary user
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	# What is built may lie where that user may not look.
	chmod 755 "$dir"
	cp "$espy" "$probed" "$(find "$(dirname "$espy")/../.." -name 'libespy-agent.so*' -type f | head -n 1)" "$dir"
	agent=$(echo "$dir"/libespy-agent.so*)
	got=$(cd "$dir" && ESPY_AGENT=$agent setpriv --reuid=65534 --regid=65534 --clear-groups ./espy trace --via agent -u './probed:factorial(n=$arg1:d)' ./probed 2>&1 | lines)
	expect "an ordinary user needs no rights" "$(printf 'probed:factorial(n=%s)\n' 3 2 1)" "$(echo "$got" | grep factorial)"
fi

# ---- threads, signals, and an espy that is killed
probes="-u jumped:step(\$arg1)?if?arg1==-3 -u jumped:push_first?if?pid==1 -u jumped:relative?if?pid==1 -u jumped:jumps_first?if?pid==1
	-u jumped:deep?if?pid==1 -u jumped:deep%return?if?pid==1 -u jumped:step%return(=\$retval:d)?if?retval==-3 -u jumped:leaves%return -u jumped:many?if?pid==1 -u jumped:floating?if?pid==1 -u jumped:flags?if?pid==1 -u jumped:leaves?if?pid==1
	-u jumped:borrows?if?pid==1 -u jumped:borrows_exactly%return?if?pid==1
	-u jumped:keeps_jump?if?pid==1 -u jumped:keeps_prefix%return?if?pid==1 -u jumped:by_memory?if?pid==1"
attach() { # espy at the program, in the background
	set -- "$1" $probes
	pid=$1
	shift
	for word; do
		shift
		set -- "$@" "$(echo "$word" | tr '?' ' ')"
	done
	"$espy" trace --via agent -o "$dir/out" -p "$pid" "$@" 2>"$dir/attached" &
	tracer=$!
}
text() { # how the text looks
	echo >&3
	wait_for 60 has_more
	tail -n 1 "$dir/said"
}
has_more() {
	[ "$(wc -l <"$dir/said")" -gt "$said" ] && said=$((said + 1))
}
looks() {
	[ "$(text)" = "$1" ]
}
storm() { # NAME THREADS [signals]
	name=$1
	shift
	rm -f "$dir/ask"
	mkfifo "$dir/ask"
	said=0
	"$jumped" run "$@" <"$dir/ask" >"$dir/said" 2>"$dir/wrong" &
	running=$!
	exec 3>"$dir/ask"
	wait_for 60 has_more || not_ok "$name: it does not begin"
	for i in $(seq "$rounds"); do
		attach "$running"
		# At first when all is there, then at moments of chance.
		if [ "$i" -le 2 ]; then
			wait_for 60 looks changed || not_ok "$name: no jump is there"
		else
			sleep "0.$(od -An -N2 -tu2 /dev/urandom | awk '{ printf "%03d", $1 % 300 }')" # sleeps: a moment of chance
		fi
		if [ $((i % 2)) = 0 ]; then
			kill -9 $tracer
		else
			wait_for 60 takes_interrupts $tracer || not_ok "$name: espy does not take SIGINT"
			kill -INT $tracer
		fi
		wait $tracer 2>/dev/null
		kill -0 "$running" 2>/dev/null || break
	done
	if wait_for 60 looks 'as it was'; then ok "$name: the text is put back"; else not_ok "$name: jumps are left"; fi
	exec 3>&-
	wait "$running"
	expect "$name: it ends well" 0 $?
	if tail -n 1 "$dir/said" | grep -q '^[1-9][0-9]* calls, 0 wrong$'; then ok "$name: no wrong result"; else
		not_ok "$name: $(tail -n 1 "$dir/said"), $(cat "$dir/wrong")"
	fi
}
storm "two threads" 2
storm "a hundred threads and signals" 100 signals

# ---- a breakpoint in what a jump has borrowed: that of a probe of another espy, by the kernel
rm -f "$dir/ask"
mkfifo "$dir/ask"
said=0
"$jumped" run 2 <"$dir/ask" >"$dir/said" 2>"$dir/wrong" &
running=$!
exec 3>"$dir/ask"
wait_for 60 has_more
"$espy" trace --via agent -u 'jumped:borrows if pid == 1' -o "$dir/out" -p "$running" 2>/dev/null &
tracer=$!
wait_for 60 looks changed || not_ok "no jump that borrows is there"
"$espy" trace --via kernel -u 'jumped:borrows+4(%di)' -o "$dir/second" -p "$running" 2>/dev/null &
other=$!
if wait_for 30 test -s "$dir/second"; then ok "a breakpoint in borrowed bytes is hit"; else not_ok "a breakpoint in borrowed bytes"; fi
kill -INT $other $tracer
wait $other $tracer 2>/dev/null
exec 3>&-
wait "$running"
expect "and the program ends well" 0 $?
has "with no wrong result" "$dir/said" '^[1-9][0-9]* calls, 0 wrong$'

# ---- libraries that come and go
"$espy" trace --via agent -u "$progs/libjumped.so:loaded(\$arg1:d)" -o "$dir/out" "$jumped" load "$progs/libjumped.so" loaded 5 >"$dir/got" 2>"$dir/err"
expect "a library that comes and goes" "$(printf 'probed, 100\n100\nprobed, 100\n100\nprobed, 100\n')" "$(cat "$dir/got")"
[ "$(grep -c 'loaded(arg1=9)' "$dir/out")" -ge 3 ] && ok "its probes are hit" || not_ok "hits in a library that comes late"

# ---- all functions of real programs
# shellcheck disable=SC2016
work='for i in 1 2 3; do echo $i | cat; done; printf "%s\n" b a c | sort; x=$(echo a b c | tr a d); echo $x; (exit 3); echo $?; [[ abc =~ b ]] && echo yes'
bash -c "$work" >"$dir/alone"
"$espy" trace --via agent -f -u 'libc:* if pid == 1' -u 'bash:* if pid == 1' -u 'bash:*%return if pid == 1' -u 'libc:*%return if pid == 1' -o /dev/null bash -c "$work" >"$dir/got" 2>"$dir/err"
expect "bash does the same with all its functions and libc's probed" "$(cat "$dir/alone")" "$(cat "$dir/got")"
if command -v sqlite3 >/dev/null; then
	sql='create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<500) insert into t select i, i*i from n; select sum(a), max(b), count(*) from t where b like "%1%"; select group_concat(a) from (select a from t order by b desc limit 5);'
	sqlite3 :memory: "$sql" >"$dir/alone"
	"$espy" trace --via agent -u 'libsqlite3:* if pid == 1' -u 'libsqlite3:*%return if pid == 1' -u 'libc:* if pid == 1' -o /dev/null sqlite3 :memory: "$sql" >"$dir/got" 2>"$dir/err"
	expect "sqlite3, too" "$(cat "$dir/alone")" "$(cat "$dir/got")"
fi
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null)
[ ! -x /usr/bin/python3.11 ] || python=/usr/bin/python3.11
if [ "$python" ]; then
	name=${python##*/}
	"$python" "${0%/*}/jumped.py" >"$dir/alone"
	"$espy" trace --via agent -u "$name:* if pid == 1" -u "$name:*%return if pid == 1" -u 'libc:* if pid == 1' -o /dev/null "$python" "${0%/*}/jumped.py" >"$dir/got" 2>"$dir/err"
	expect "python, too" "$(cat "$dir/alone")" "$(cat "$dir/got")"
fi
# ---- and in the long form
all_of() { # NAME "PROBES OF" COMMAND...: the command says the same with all functions of these files probed
	name=$1
	files=$2
	shift 2
	"$@" >"$dir/alone" 2>/dev/null
	for file in $files; do
		set -- -u "$file:* if pid == 1" -u "$file:*%return if pid == 1" "$@"
	done
	"$espy" trace --via agent -o /dev/null "$@" >"$dir/got" 2>"$dir/err"
	expect "$name: the same with all functions probed" "$(od -An -tx1 "$dir/alone" | md5sum)" "$(od -An -tx1 "$dir/got" | md5sum)"
}
serve() { # COMMAND...: a server answers; what it said is in $dir/got
	rm -f "$dir/socket"
	"$@" --port 0 --unixsocket "$dir/socket" --dir "$dir" --save '' >"$dir/log" 2>&1 &
	serving=$!
	wait_for 60 test -S "$dir/socket"
	redis-benchmark -s "$dir/socket" -n 2000 -q -t set,get,incr,lpush,lpop,sadd,hset,spop,zadd,zpopmin,mset >/dev/null 2>&1
	{
		redis-cli -s "$dir/socket" flushall
		redis-cli -s "$dir/socket" eval 'local s = 0 for i = 1, 1000 do s = s + i redis.call("zadd", "z", i, "k" .. i) end return s' 0
		redis-cli -s "$dir/socket" zrange z 3 9
		redis-cli -s "$dir/socket" dbsize
	} >"$dir/got" 2>&1
	redis-cli -s "$dir/socket" shutdown nosave >/dev/null 2>&1
	wait "$serving"
	echo "$?" >>"$dir/got"
}
if [ "$rounds" -ge 100 ]; then
	if [ -x "$dir/jumped_cxx" ]; then
		all_of "libstdc++" "$(ldd "$dir/jumped_cxx" | awk '/libstdc/ { print $3 }') libc" "$dir/jumped_cxx" 300
	fi
	if command -v openssl >/dev/null; then
		all_of "libcrypto, digests" libcrypto openssl dgst -sha512 "$espy"
		all_of "libcrypto, ciphers" libcrypto openssl enc -aes-256-cbc -pbkdf2 -pass pass:espy -S 0011223344556677 -in "$espy"
		all_of "libcrypto, numbers" libcrypto openssl prime 2305843009213693951
	fi
	if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
		serve redis-server
		mv "$dir/got" "$dir/alone"
		serve "$espy" trace --via agent -u 'redis-server:* if pid == 1' -u 'redis-server:*%return if pid == 1' -u 'libc:* if pid == 1' -o /dev/null redis-server
		expect "redis-server: the same with all functions probed" "$(cat "$dir/alone")" "$(cat "$dir/got")"
	fi
fi
finish
