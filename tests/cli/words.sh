#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is refused, in which words: commands, options, expressions. Nothing is traced.
. "${0%/*}/lib.sh"

try_help="Try 'espy trace --help' for more information."
run 1 "$espy"
says "Try 'espy --help' for more information."
run 1 "$espy" trce
says "espy: unknown command 'trce' (did you mean 'trace'?)"
run 1 "$espy" xyzzy
says "espy: unknown command 'xyzzy'"
run 1 "$espy" --foo
says "espy: unrecognized option '--foo'"
run 1 "$espy" trace
says "espy trace: must have PROG [ARGS], -p PID, --cgroup PATH or --all"
says "$try_help"
run 1 "$espy" trace --foo true
says "espy trace: unrecognized option '--foo'"
says "$try_help"
run 1 "$espy" trace --folow-forks true
says "espy trace: unrecognized option '--folow-forks' (did you mean '--follow-forks'?)"
run 1 "$espy" trace -j true
says "espy trace: invalid option -- 'j'"
run 1 "$espy" trace -e nosuch true
says "espy: invalid system call 'nosuch'"
run 1 "$espy" trace -e trace=opennat true
says "espy: invalid system call 'opennat'; did you mean 'openat'?"
run 1 "$espy" trace -e trace=read,%memroy true
says "espy: invalid system call '%memroy'; did you mean '%memory'?"
run 1 "$espy" trace -e trase=read true
says "espy: invalid expression 'trase=read': there is no 'trase='; did you mean 'trace'?"
run 1 "$espy" trace -e foo=read true
says "espy: invalid system call 'foo=read'"
run 1 "$espy" trace -e signal=SIGTREM true
says "espy: invalid signal 'SIGTREM'; did you mean 'SIGTERM'?"
run 1 "$espy" trace -e status=failled true
says "espy: invalid status 'failled'; did you mean 'failed'?"
run 1 "$espy" trace -e signal=FOO true
says "espy: invalid signal 'FOO'"
run 1 "$espy" trace -e status=foo true
says "espy: invalid status 'foo'"
run 1 "$espy" trace -e read=x true
says "espy: invalid descriptor 'x'"
run 1 "$espy" trace -e trace=read@65 true
says "espy: incorrect personality designator '65' in qualification 'read@65'"
for rule in read read:foo read:error=0 read:error=4096 read:error=EFOO read:error=1:retval=2 read:error=1:error=2 read:retval=x \
	read:retval=0x10000000000000000 read:signal=0 read:signal=65 read:signal=FOO read:syscall=getuid read:error=1:syscall=open \
	read:delay_enter=x read:delay_exit= read:poke_enter=@arg1=0 read:poke_enter=@arg1=zz read:poke_exit=@arg7=00 \
	read:poke_enter=@arg1=00,@arg1=01 read:poke_enter= read:when=1 read:error=1:when=0 read:error=1:when=5..3 read:error=1:when=2.. \
	read:error=1:when=2+0 read:error=1:when=+ read:error=1:when=65536 read:error=1:when=27..65535 read:error=1:when=1:when=2 read:delay_enter=0x10 \
	read:delay_exit=inf; do
	run 1 "$espy" trace -e inject=$rule true
	says_why "espy: invalid inject argument '$rule'"
done
for rule in read:signal=1 read:retval=1 read:delay_enter=1; do
	run 1 "$espy" trace -e fault=$rule true
	says_why "espy: invalid fault argument '$rule'"
done
run 1 "$espy" trace -e inject= true
says "espy: invalid system call '': the names of calls stand in front (CALLS:error=ENOENT)"
run 1 "$espy" trace -e inject=read:erorr=EIO true
says "espy: invalid inject argument 'read:erorr=EIO': there is no 'erorr='; did you mean 'error'?"
run 1 "$espy" trace -e inject=read:error=ENOETN true
says "espy: invalid inject argument 'read:error=ENOETN': error= takes an error (ENOENT, 2), once; did you mean 'ENOENT'?"
run 1 "$espy" trace -e inject=raed:error=EIO true
says "espy: invalid system call 'raed'; did you mean 'read'?"
run 1 "$espy" trace -u malloc true
says "espy: Cannot find user 'malloc'; did you mean the probe -u libc:malloc?"
run 1 "$espy" trace -u 'malloc%return' true
says "espy: Cannot find user 'malloc%return'; did you mean the probe -u libc:malloc%return?"
run 1 "$espy" trace -u 'malloc(size=%di) if size > 9' true
says "espy: Cannot find user 'malloc(size=%di) if size > 9'; did you mean the probe -u 'libc:malloc(size=%di) if size > 9'?"
run 1 "$espy" trace -u nosuchfunction true
says "espy: Cannot find user 'nosuchfunction'; a probe names a file, too: -u FILE:FUNCTION, or -u kernel:FUNCTION"
run 1 "$espy" trace -u 'libc:malloc(size=%di)%return' true
says "espy trace: invalid -u argument: 'libc:malloc(size=%di)%return', at character 22: %return stands before the arguments: PLACE%return(...)"
run 1 "$espy" trace -u libc:malloc%retrun true
says "espy trace: invalid -u argument: 'libc:malloc%retrun', at character 12: there is no '%retrun'; did you mean '%return'?"
run 1 "$espy" trace --inject=nosuch:error=1 true
says "espy: invalid system call 'nosuch'"
run 1 "$espy" trace --source=bpf -e inject=read:error=1 true
says "espy: -e inject= needs a source that stops the task: use --source=ptrace"
run 1 "$espy" show -e inject=read:error=1 nothing
says "espy: inject=read:error=1: the calls of a trace cannot be changed"
run 1 "$espy" trace nosuch-program
says "espy: Cannot find executable 'nosuch-program'"
run 1 "$espy" trace ./nosuch-program
says "espy: Cannot stat './nosuch-program': No such file or directory"
run 1 "$espy" trace ''
# Escape sequences do not reach the terminal.
run 1 "$espy" trace "$(printf './\033[31m')"
says "espy: Cannot stat './\\033[31m': No such file or directory"
run 1 "$espy" trace -e "$(printf 'a\033[31m')" true
says "espy: invalid system call 'a\\033[31m'"
run 1 "$espy" trace -p abc
says "espy: Invalid process id: 'abc'"
run 1 "$espy" trace --source=perf true
says "espy trace: invalid --source argument: 'perf' (auto, bpf or ptrace)"
run 1 "$espy" record -o "$dir" true
says "espy: $dir is a directory: -o takes the name of a file"
run 1 "$espy" record --force -o "$dir" true
says "espy: $dir is a directory: -o takes the name of a file"
# PROG and the trace in one pipe, one terminal: nobody could tell them apart.
run 1 "$espy" record -o - echo text
says "espy record: the trace cannot go to standard output, where PROG writes, too: name a file, or give the trace a descriptor of its own (-o /dev/fd/3 PROG 3>&1 >/dev/null | ...)"
sh -c '{ "$0" record -o /dev/fd/1 echo text || echo $? >status; } | cat' "$espy" 2>err
same "the same pipe by another name" 1 "$(cat status)"
run 1 "$espy" trace -u nosuch-user true
run 1 "$espy" trace -o '' true
run 1 "$espy" trace --all --source=ptrace
run 1 "$espy" list nosuch
says "espy list: cannot list 'nosuch': syscalls, functions, markers, tracepoints or hooks"
run 1 "$espy" list syscalls %nosuch
says "espy list: unknown class '%nosuch'"
run 1 "$espy" list syscalls '^nosuch$'
run 1 "$espy" list syscalls '['
run 1 "$espy" doctor patient
run 1 "$espy" doctor --source=nosuch
finish
