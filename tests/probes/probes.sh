#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# probes.sh ESPY PROGRAMS-DIR: probes on functions and instructions, by the kernel.
. "${0%/*}/../lib.sh"
. "${0%/*}/../trouble/descendants.sh"
trap 'end_descendants; rm -rf "$dir"' EXIT
progs=$(realpath "$2")
probed=$progs/probed
need_source bpf
trace() {
	"$espy" trace --source=bpf "$@" 2>&1
}
lines() { # the probes alone, without times
	grep -v -e '^+++' -e '^espy: ' | sed 's/ <[0-9.]*>$//; s/  *= / = /'
}

# ---- what is fetched, in order with calls
trace -e trace=getppid -u "$probed:handle(id=+0(%di):s32, path=+0(+8(%di)):string, b=%si:bytes[%dx], len=\$arg3:u, delta=%ecx:d, who=\$comm)" \
	-u 'probed:factorial%return(n=$arg1:s32, =$retval:s32)' "$probed" | lines >"$dir/got"
ppid=$(sed -n 's/getppid() = //p' "$dir/got")
cat >"$dir/want" <<END
probed:handle(id=1, path="/the/path", b="ab\\0cd\\n\\377", len=7, delta=-5, who="probed")
getppid() = $ppid
probed:handle(id=2, path="/the/path", b="ab\\0", len=3, delta=6, who="probed")
probed:factorial(n=1) = 1
probed:factorial(n=2) = 2
probed:factorial(n=3) = 6
END
expect "arguments, texts and results" "$(cat "$dir/want")" "$(cat "$dir/got")"

got=$(trace -u 'probed:handle(next=+0(+16(%di)):s32, high=+0(+4096(%di)):x8, far=+0(\16):u64, zero=+0(\0):string)' "$probed" | lines | head -n 1)
case $got in
'probed:handle(next=2, high='*', far=?, zero=NULL)') ok "pointers, and what cannot be read" ;;
*) not_ok "pointers: $got" ;;
esac
expect "a return without result" "probed:factorial() returned" "$(trace -u probed:factorial%return "$probed" | lines | sed 's/  *returned/ returned/' | head -n 1)"
trace -T -u 'probed:factorial%return' "$probed" >"$dir/got"
has "how long it took" "$dir/got" ' returned <[0-9]*\.[0-9]*>$'

# ---- conditions
set --
for condition in 'n == 2' 'n > 1 && n <= 2' '!(n == 1 || n == 3)' 'n in {2, 9}' 'n & 2 && n < 3' 'n == 2 && pid != 0'; do
	set -- "$@" -u "probed:factorial(n=%di:s32) if $condition"
done
expect "six conditions, each of which one call meets" "6 probed:factorial(n=2)" "$(trace "$@" "$probed" | lines | sort | uniq -c | sed 's/^ *//')"
got=$(trace -u 'probed:handle(path=+0(+8(%di)):string, d=%cx:s32) if path ^= "/the" && d < 0' "$probed" | lines | wc -l)
expect "if text and a negative number" 1 "$got"
got=$(trace -u 'probed:handle(path=+0(+8(%di)):string) if path == "/the/path" && path =~ "p.th$"' "$probed" | lines | wc -l)
expect "the kernel tests a part, espy the rest" 2 "$got"
got=$(trace -u 'probed:factorial%return(=$retval:d) if duration > 3600s || retval == 6' "$probed" | lines)
expect "if duration and result" "probed:factorial() = 6" "$got"

# ---- places
at=$(nm "$probed" | awk '$3 == "handle" { print $1 }')
next=$(objdump -d --no-show-raw-insn --disassemble=handle "$probed" | awk -F: '/^ +[0-9a-f]+:/ { n++; if (n == 2) { gsub(/ /, "", $1); print $1 } }')
off=$((0x$next - 0x$at))
set --
for place in "probed:handle" "$probed:handle" "probed:$((0x$at))" "probed:0x$at" "handle@probed" "handle@$probed" \
	"p:x $probed:0x$at" "p $probed:0x$at" "probed:handl*"; do
	set -- "$@" -u "$place"
done
expect "nine ways to say the same" "16 probed:handle() 2 probed:x()" "$(echo $(trace "$@" "$probed" | lines | sort | uniq -c))"
expect "an instruction and its name" "2 probed:handle+0x$(printf %x $off)()" "$(echo $(trace -u "probed:handle+$off" "$probed" | lines | uniq -c))"
expect "an event's own name, arguments as ftrace has them" 'probed:x(arg1=0x1, b=7)' \
	"$(trace -u "p:x $probed:0x$at +0(%di):x32 b=%dx:u8" "$probed" | lines | head -n 1)"
expect "returns as ftrace has them" 'probed:f(arg1=0x6)' "$(trace -u "r:f $probed:factorial \$retval:x32" "$probed" | sed 's/  *returned.*//' | grep 0x6)"

# ---- refusals, in words
refused() { # NAME PATTERN PROBE
	trace -u "$3" "$probed" >"$dir/got" && not_ok "$1: it was taken"
	has "$1" "$dir/got" "$2"
}
refused "unknown symbol" "has no function 'hamdle'; there is handle" 'probed:hamdle'
refused "unknown file" "no program or library 'probd'" 'probd:handle'
refused "data" "'probed_data' of probed is data" 'probed:probed_data'
refused "offset outside" "handle' of probed has .* bytes: offset 0x1000 is outside" 'probed:handle+4096'
refused "no code" "no code at offset 0" 'probed:0'
refused "pattern without match" "is called like 'nothing\*'" 'probed:nothing*'
refused "no program" "is no x86-64 program" '/etc/passwd:x'
refused "unknown argument" "no argument 'm'" 'probed:handle(n=%di) if m > 2'
refused "duration at an entry" "duration is known where a function returns" 'probed:handle if duration > 1ms'
mid=$((off - 1))
case $mid in 0) mid=$((off + 1)) ;; esac
refused "the middle of an instruction" "is in the middle of an instruction, which begins at handle+" "probed:handle+$mid"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$probed" >"$dir/shim"
refused "a script that starts a program" "shim is a script (.*), which starts $probed: the probe is -u $probed:handle\$" "$dir/shim:handle"
printf '#! /bin/sh -e\nprobed\n' >"$dir/shim"
refused "a script" "is a script (.*), which /bin/sh runs: name that program (-u /bin/sh:handle), or the one that the script starts\$" "$dir/shim:handle"
printf '#!/usr/bin/env -S probed -x\n' >"$dir/shim"
usual=$PATH
PATH=$(dirname "$probed"):$PATH
refused "a script of env" "is a script (.*), which $probed runs: name that program (-u $probed:handle), or the one that the script starts\$" "$dir/shim:handle"
PATH=$usual
printf '#!/usr/bin/env no-such-program\n' >"$dir/shim"
refused "a script of env and no program" "is a script (.*), which /usr/bin/env runs:" "$dir/shim:handle"
printf '#!/usr/bin/env' >"$dir/shim"
refused "a script of env alone" "is a script (.*), which /usr/bin/env runs:" "$dir/shim:handle"
"$espy" trace --source=ptrace -u probed:handle "$probed" >"$dir/got" 2>&1 && not_ok "ptrace has taken a probe"
has "ptrace says that it cannot" "$dir/got" 'the ptrace source cannot put probes'
"$espy" trace -e inject=getpid:retval=1 -u probed:handle "$probed" >"$dir/got" 2>&1 && not_ok "-e inject= has taken a probe"
has "and why it was taken" "$dir/got" '^espy: -e inject= needs a source that stops the task, and the ptrace source cannot put probes'
expect "-k goes with probes" "$(trace -u probed:handle "$probed" | grep -c '^probed:handle')" "$(trace -k -u probed:handle "$probed" | grep -c '^probed:handle')"

# ---- whose
expect "without -f the child is none of ours" 2 "$(trace -u probed:handle "$probed" fork | grep -c '^probed:handle')"
expect "with -f it is" 4 "$(trace -f -u probed:handle "$probed" fork | grep -c 'probed:handle()')"
mkfifo "$dir/in"
"$probed" wait <"$dir/in" >"$dir/out" &
pid=$!
exec 3>"$dir/in"
wait_for 60 grep -q ready "$dir/out" || not_ok "-p: the program does not begin"
addr=$((0x$at + 0x$(sed -n '1s/-.*//p' "/proc/$pid/maps")))
"$espy" trace -p $pid -u probed:handle -u "pid $pid:$addr" -o "$dir/got" 2>"$dir/err" 3>&- &
tracer=$!
wait_for 60 grep -q attached "$dir/err" || not_ok "-p: not attached: $(cat "$dir/err")"
"$probed" # another process: not ours
echo >&3
wait_for 60 sh -c "[ \$(grep -c handle '$dir/got') -ge 4 ]" || not_ok "-p: $(grep -c handle "$dir/got") hits of 4"
exec 3>&-
wait $pid $tracer
expect "-p: of that process alone; a place twice" 4 "$(grep -c 'probed:handle()' "$dir/got")"
rm "$dir/in"

# ---- several probes of one return: each has what the function was called with
trace -u 'probed:factorial%return(n=$arg1:s32, =$retval:s32)' -u 'probed:factorial%return(m=$arg1:s32)' -u 'probed:factorial%return(k=$arg1:s32)' \
	"$probed" | sed -n 's/^probed:factorial(\([nmk]=[0-9?]*\)).*/\1/p' | LC_ALL=C sort | tr '\n' ' ' >"$dir/got"
expect "three probes of a return" 'k=1 k=2 k=3 m=1 m=2 m=3 n=1 n=2 n=3 ' "$(cat "$dir/got")"
trace -T -u 'probed:leave%return' -u 'probed:factorial%return(n=$arg1:s32)' -u 'probed:factorial%return(m=$arg1:s32)' "$probed" jump >"$dir/got"
expect "and after 100 longjmps" 'm=2 n=2 ' "$(grep '^probed:factorial' "$dir/got" | tail -n 2 | sed 's/.*(\(.=[0-9?]*\)).*/\1/' | LC_ALL=C sort | tr '\n' ' ')"

# ---- a longjmp leaves frames behind; what comes later is right
trace -u 'probed:leave%return' -u 'probed:factorial%return(n=$arg1:s32, =$retval:s32)' "$probed" jump | lines >"$dir/got"
expect "returns after 100 longjmps" 'probed:factorial(n=2) = 2' "$(tail -n 1 "$dir/got")"

# ---- exact counts: seen + lost = done
n=20000
trace --stats -u 'probed:storm(i=%di:u)' -o "$dir/got" "$probed" storm $n >"$dir/err"
lost=$(sed -n 's/.* \([0-9]*\) lost.*/\1/p' "$dir/err")
expect "every hit is seen or counted as lost" $n $(($(grep -c '^probed:storm' "$dir/got") + ${lost:-0}))
trace --rings=cpu -u 'probed:storm(i=%di:u, who=$comm)' -o "$dir/got" "$probed" storm 500 >"$dir/err"
expect "a ring for each CPU" 'probed:storm(i=499, who="probed")' "$(grep '^probed:storm' "$dir/got" | tail -n 1)"

# ---- many at once
trace -f -u 'probed:*' -u 'libc:*alloc*(=%di)' true >"$dir/got"
has "a result where none is" "$dir/got" 'only where a function returns'
trace -u 'libc:*alloc*(n=%di)' bash -c : >"$dir/got"
has "a pattern over a library" "$dir/got" '^libc:malloc(n=0x'
trace -u 'libc:*set*' -u 'libc:*get*' bash -c : >"$dir/got"
has "what the sums leave out are probes" "$dir/got" '^espy: and [0-9]* other probes*$'

# ---- live equals replay
set -- -e trace=getppid -u 'probed:handle(path=+0(+8(%di)):string, b=%si:bytes[8], n=%dx:u)' -u 'probed:factorial%return(n=$arg1:s32, =$retval:x32)'
trace --record "$dir/t.espy" -o "$dir/live" "$@" "$probed" >"$dir/err"
"$espy" show "$dir/t.espy" >"$dir/shown" 2>&1
cmp -s "$dir/live" "$dir/shown" && ok "live equals replay" || { not_ok "replay differs"; diff "$dir/live" "$dir/shown"; }
expect "probes chosen from a trace" "$(grep '= 0x6' "$dir/live")" "$("$espy" show -u 'probed:fact* if retval > 5' "$dir/t.espy" | grep -v exited)"
"$espy" record --ring 4M -o "$dir/ring.espy" "$@" "$probed" >"$dir/err" 2>&1
for trace in "$dir"/ring*.espy; do "$espy" show "$trace"; done >"$dir/shown" 2>&1
expect "the flight recorder has them" "$(lines <"$dir/live" | grep -c factorial)" "$(lines <"$dir/shown" | grep -c factorial)"
finish
