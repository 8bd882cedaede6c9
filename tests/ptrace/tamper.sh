#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tamper.sh ESPY TAMPER-CALLS: -e inject= and -e fault=: what the program sees, and what the lines say.
calls=$(realpath "$2")
wait_sh=$(realpath "$(dirname "$0")/../wait.sh")
. "${0%/*}/../cli/lib.sh"
. "$wait_sh"
pid=
trap '[ -z "$pid" ] || { pkill -9 -P $pid; kill -9 $pid; } 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
"$espy" doctor --source=ptrace >"$dir/doctor" 2>&1 || { echo "SKIP: $(tail -n 1 "$dir/doctor")"; exit 77; }
own=$(ps -o pgid= -p $$ | tr -d ' ')

# saw NAME LINES RULE...: what the program printed of its calls of getpgid
saw() {
	what=$1 name=$1 lines=$2
	shift 2
	"$espy" trace -o log -e trace=getpgid,statfs "$@" "$calls" >out 2>err
	same "$name: $*" "$lines" "$(grep '^[0-9]:\|^thread\|^read' out | tr '\n' '|')"
}
# logged LINES: what the trace shows of them
logged() {
	same "... its lines" "$1" "$(grep '^getpgid' log | sed "s/  *= $own/ = OWN/; s/  *= / = /" | tr '\n' '|')"
}
ok="own errno 0 signals 0" eperm="other errno 1 signals 0"
read='read -1 wwww|'
saw "an error" "1: $ok|2: $eperm|3: $ok|4: $eperm|5: $ok|6: $eperm|$read" -e inject=getpgid:error=EPERM:when=2+2
logged "getpgid(0) = OWN|getpgid(0) = -1 EPERM (Operation not permitted) (INJECTED)|getpgid(0) = OWN|getpgid(0) = -1 EPERM (Operation not permitted) (INJECTED)|getpgid(0) = OWN|getpgid(0) = -1 EPERM (Operation not permitted) (INJECTED)|"
saw "a value" "1: $ok|2: 42 errno 0 signals 0|3: 42 errno 0 signals 0|4: $ok|5: $ok|6: $ok|$read" -e inject=getpgid:retval=42:when=2..3
saw "a fault" "1: $ok|2: $ok|3: $ok|4: $ok|5: other errno 38 signals 0|6: other errno 38 signals 0|$read" --fault=getpgid:when=5+
saw "another call" "1: 42 errno 0 signals 0|2: $ok|3: $ok|4: $ok|5: $ok|6: $ok|$read" --inject=getpgid:syscall=getuid:retval=42:when=1
saw "a signal" "1: $ok|2: own errno 0 signals 1|3: own errno 0 signals 1|4: own errno 0 signals 1|5: own errno 0 signals 1|6: own errno 0 signals 1|$read" \
	-e inject=getpgid:signal=USR2:when=2
shows '^--- SIGUSR2 {si_signo=SIGUSR2, si_code=SI_KERNEL} ---' log
saw "delays" "1: $ok late|2: $ok|3: $ok late|4: $ok|5: $ok|6: $ok|$read" -e inject=getpgid:delay_enter=400ms:delay_exit=600000:when=1..3+2
logged "getpgid(0) = OWN (DELAYED)|getpgid(0) = OWN|getpgid(0) = OWN (DELAYED)|getpgid(0) = OWN|getpgid(0) = OWN|getpgid(0) = OWN|"
saw "bytes" "1: $ok|2: $ok|3: $ok|4: $ok|5: $ok|6: $ok|read 3 ABCw|" -e 'inject=statfs:poke_exit=@arg2=414243:retval=3'
"$espy" trace -o log -e trace=getpgid -e inject=getpgid:poke_enter=@arg1=41:when=1 "$calls" >out 2>err
shows "^espy: Failed to tamper with process [0-9]*: couldn't poke\$" err
"$espy" trace -o log -e trace=getpgid -e inject=getpgid:delay_enter=+.4e9ns:delay_exit=+6e5:syscall=gettid:when=1 "$calls" >out 2>err
shows '^1: .* late$' out
saw "a fault by another call" "1: other errno 38 signals 0|2: $ok|3: $ok|4: $ok|5: $ok|6: $ok|$read" -e fault=getpgid:syscall=gettid:when=1
saw "the last rule counts" "1: $ok|2: 42 errno 0 signals 0|3: $ok|4: $ok|5: $ok|6: $ok|$read" -e inject=getpgid:error=1 -e inject=%process,getpgid:retval=42:when=2
# What is not traced is not changed.
"$espy" trace -o log -e trace=read -e inject=getpgid:error=1 "$calls" >out 2>err
same "a call that is not traced" 0 "$(grep -c 'errno 1' out)"

# Each task counts for itself.
"$espy" trace -f -o log -e trace=getpgid -e inject=getpgid:error=EIO:when=2 "$calls" threads >out 2>err
same "each thread's second call" "thread 1 0|thread -1 5|thread 1 0|thread 1 0|thread -1 5|thread 1 0|" "$(tr '\n' '|' <out)"

# One that waits holds nobody else up, and being killed or let go of ends the wait, which is longer than this test waits. In the delay
# it stands in getpgid (121).
gone() { ! kill -0 $pid; }
"$espy" trace -f -o log -e trace=getpgid -e inject=getpgid:delay_enter=600s:when=1 \
	sh -c ". '$wait_sh'; '$calls' >slow & p=\$!; wait_for 60 grep -q '^121 ' /proc/\$p/syscall && echo delayed; kill -9 \$p; wait \$p; echo through" >out 2>err &
pid=$!
if wait_for 60 gone; then echo "ok a delayed task can be killed"; else echo "not ok a delayed task that was killed is waited for"; kill -9 $pid; bad=1; fi
wait $pid
same "... and others go on" "delayed through" "$(tr '\n' ' ' <out | sed 's/ $//')"
"$espy" trace -I1 -o log -e trace=getpgid -e inject=getpgid:delay_enter=600s "$calls" >out 2>err &
pid=$!
delayed() { grep -q '^121 ' "/proc/$(pgrep -P $pid)/syscall"; }
wait_for 60 delayed || { echo "not ok the program comes to no delay: $(cat err)"; bad=1; }
kill -INT $pid
if wait_for 60 gone; then echo "ok ^C does not wait for a delay"; else echo "not ok ^C waits for a delay"; kill -9 $pid; bad=1; fi
wait $pid
pid=

# A value that looks like an error is shown as a value, and told.
"$espy" trace -o log -e trace=getpgid -e inject=getpgid:retval=-1:when=1 "$calls" >out 2>err
shows '^getpgid(0)  *= -1 (INJECTED)$' log
shows 'Inadvertent injection of error 1 is possible for retval=18446744073709551615' err

# A number of a user is no error, however large.
"$espy" trace -o log -e trace=geteuid -e inject=geteuid:retval=0xffffffffffffffff id >out 2>err
shows '^geteuid()  *= 18446744073709551615 (INJECTED)$' log
# One that is longer than what the call returns is shown whole; what it stands for is named.
"$espy" trace -o log -e trace=getpgid -e inject=getpgid:retval=841540765612359407:when=1 "$calls" >out 2>err
shows '^getpgid(0)  *= 841540765612359407 (INJECTED)$' log
"$espy" trace -o log -e trace=arch_prctl -e inject=arch_prctl:retval=3:when=2+ "$calls" >out 2>err
shows '^arch_prctl(ARCH_REQ_XCOMP_PERM, 0x2 /. XFEATURE_YMM .*= 0x3 (XFEATURE_MASK_FPSSE) (INJECTED)$' log
# Names stand behind a result where there are any, in every style but that of numbers.
"$espy" trace -o log -e trace=arch_prctl -e inject=arch_prctl:retval=0x97800:when=2+ "$calls" >out 2>err
shows '^arch_prctl(ARCH_REQ_XCOMP_PERM, 0x2 /. XFEATURE_YMM .*= 0x97800 (INJECTED)$' log
"$espy" trace -X verbose -o log -e trace=arch_prctl -e inject=arch_prctl:retval=1:when=2+ "$calls" >out 2>err
shows '^arch_prctl(0x1023 .*= 0x1 (XFEATURE_MASK_FP) (INJECTED)$' log
"$espy" trace -X raw -o log -e trace=arch_prctl -e inject=arch_prctl:retval=1:when=2+ "$calls" >out 2>err
shows '^arch_prctl(0x1023, 0x2) *= 0x1 (INJECTED)$' log
# Bytes behind what is known of a struct are shown again after success.
"$espy" trace -o log -e trace=clone3 -e inject=clone3:retval=42 "$calls" >out 2>err
shows '^clone3({flags=0, exit_signal=SIGCHLD, stack=NULL, stack_size=0, /. bytes 88..95 ./ "\\x41\\x41.*"} => {/. bytes 88..95 ./ "\\x41.*"}, 96) *= 42 (INJECTED)$' log

# What a field became has its name where the description says so.
"$espy" trace -o log -e trace=ioctl -e inject=ioctl:poke_exit=@arg3=aa000000000000000100000000000000:retval=0 "$calls" >out 2>err
shows '^ioctl(-1, UFFDIO_API, {api=0xaa, features=0 => features=UFFD_FEATURE_PAGEFAULT_FLAG_WP, ioctls=0}) *= 0 (INJECTED: args, retval)$' log

# An argument that the call does not have.
"$espy" trace -o log -e trace=getpgid -e inject=getpgid:poke_enter=@arg2=00 "$calls" >out 2>err
shows "^espy: Failed to tamper with process [0-9]*: requested to tamper with argument #2, but system call 'getpgid' has only 1 arguments\$" err

# Recorded, it is shown the same.
"$espy" record --source=ptrace -o t -e trace=getpgid -e inject=getpgid:error=EIO:delay_exit=1:when=2 "$calls" >out 2>err
"$espy" show t >shown 2>err
shows '^getpgid(0)  *= -1 EIO (Input/output error) (INJECTED) (DELAYED)$' shown
finish
