#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Through a link named strace: strace's command line, its words, its prefix.
. "${0%/*}/lib.sh"

ln -s "$espy" strace
PATH=$dir:$PATH
run 1 strace
says "strace: must have PROG [ARGS] or -p PID"
says "Try 'strace -h' for more information."
run 1 strace -j true
says "strace: invalid option -- 'j'"
run 1 strace --foo
says "strace: unrecognized option '--foo'"
run 1 strace -e nosuch true
says "strace: invalid system call 'nosuch'"
run 1 strace -e inject=read:error=x true
says "strace: invalid inject argument 'read:error=x'"
while read -r words; do
	run 1 strace $words
	says "strace: must have PROG [ARGS] or -p PID"
done <<-END
	-I always
	--absolute-timestamps=,
	--absolute-timestamps=s,,none
	--timestamps --absolute-timestamps=ns --timestamps=format:unix
END
while IFS='|' read -r words said; do
	run 1 strace $words
	says "strace: $said"
	says "Try 'strace -h' for more information."
done <<-END
	-e trace=getcwd@ohmy|incorrect personality designator 'ohmy' in qualification 'getcwd@ohmy'
	-s 1073741824|invalid -s argument: '1073741824'
	-DDDD -p 1|PROG [ARGS] must be specified with -D/--daemonize
	--daemonize=SESSION -p 1|PROG [ARGS] must be specified with -D/--daemonize
	-o ! -ff true|piping the output and -ff/--output-separately are mutually exclusive
	-FF -w true|option -F is deprecated, please use -f/--follow-forks instead
	-fF -w true|deprecated option -F ignored
	--seccomp-bpf -w true|--seccomp-bpf cannot be used without -f/--follow-forks, disabling
END
run 1 strace -f --follow-forks true
says "strace: -f and --follow-forks cannot be provided simultaneously"
run 1 strace --output-separately -ff true
says "strace: -ff and --output-separately cannot be provided simultaneously"
run 1 strace --secontext=nothing true
run 0 strace -o log --secontext=full,mismatch true
run 0 strace -o log --secontext true
strace --absolute-timestamps=format:unix --absolute-timestamps=precision:ms -o log -e trace=none true
shows '^[0-9]\{10\}\.[0-9]\{3\} +++ exited with 0 +++$' log
strace -e trace=none -bexecve sh -c 'exec sh -c "exit 3"' 2>err
same "a command that was let go of: status" 0 $?
shows '^strace: Process [0-9]* detached$' err
strace -o /dev/full true 2>err
same "a full disk: status" 0 $?
same "a full disk: words" 'strace: /dev/full: No space left on device' "$(cat err)"
# The command alone holds standard output: the pipe ends when it closes that.
mkfifo go
strace -qq -e trace=none -e signal=none sh -c 'exec >&-; read -r word <go' 2>err | {
	cat
	echo on >go
}
same "standard output is given up" '' "$(cat err)"
[ -p go ] && rm go
run 1 strace -D
says "strace: must have PROG [ARGS] or -p PID"
run 1 strace -e kvm=foo true
says "strace: invalid -e kvm= argument: 'foo'"
# What is wrong is shown, and nothing beside it; all and none stand alone; a list without words is shown whole.
while read -r wrong said; do
	run 1 strace -e "$wrong" true
	says "strace: invalid $said"
done <<-END
	trace=opennat system call 'opennat'
	inject=opeen:error=EIO system call 'opeen'
	inject=open:eror=EIO inject argument 'open:eror=EIO'
	inject=:error=EIO system call ''
	fault= system call ''
	fault=!:error=EIO system call '!'
	status=faild status 'faild'
	status=!, status '!,'
	status=all,none status 'all'
	status=failed,all status 'all'
	quiet=!! quiet '!!'
	quiet=attach,!exit quiet '!exit'
	decode-fds=, decode-fds ','
	decode-pids=all,comm decode-pids 'all'
	read=1,all descriptor 'all'
	write=!none,1 descriptor 'none'
	signal=all,TERM signal 'all'
END
# a name that no file can have, and more bytes to poke than may be asked for
long=$(printf '%4084s' '' | tr ' ' x)
run 1 strace -ff -o "$long" true
same "only the name as it was given" "$(cat err)" "strace: $long: File name too long"
run 1 strace "$long$long"
says "strace: exec: File name too long"
bytes=$(printf '%2050s' '' | tr ' ' 0)
run 1 strace -e "inject=chdir:poke_enter=@arg1=$bytes" true
shows "^strace: invalid inject argument 'chdir:poke_enter=@arg1=0000" err
run 1 strace -e trase=open,close true
says "strace: invalid system call 'trase=open'"
run 1 strace --tips=foo true
says "strace: invalid --tips argument: 'foo'"
run 1 strace --tips=format:random true
says "strace: invalid --tips argument: 'format:random'"
run 0 strace --tips=id:3,full
shows '^ | ' err
run 1 sh -c 'exec strace -p $$'
says "strace: I'm sorry, I can't let you do that, Dave."
run 1 ./strace --foo
says "./strace: unrecognized option '--foo'"
run 0 strace -h
shows '^Usage: strace '
run 0 strace -V
shows "^Optional features enabled: .*m32-mpers"
shows '^strace -- version [0-9]'
need_tracing
run 3 strace -f -o out -s 100 -e trace=execve,exit_group sh -c 'exit 3'
shows '^[0-9]* *execve(".*/sh", \["sh", "-c", "exit 3"\], 0x[0-9a-f]* /\* [0-9]* vars \*/) = 0$' out
shows '^[0-9]* *exit_group(3)  *= ?$' out
run 0 strace -Y --decode-pids=comm -f --seccomp-bpf -o out true
says "strace: Seccomp filter is requested but there are no syscalls to filter.  See -e trace to filter syscalls."
run 0 strace -f --seccomp-bpf -e trace=close -o out true
same "no message of a filter that has calls" "" "$(cat "$dir/err")"
run 0 strace -e trace=none true
same "no message of espy's own" "+++ exited with 0 +++" "$(cat "$dir/err")"
run 1 strace -p 99999999
says "strace: attach: ptrace(PTRACE_SEIZE, 99999999): No such process"
run 1 strace /etc/passwd
says "strace: exec: Permission denied"
# The status is the command's, also when nobody takes the lines.
run 4 strace -o '|exit 0' sh -c 'while strace -V >/dev/null && [ $((n += 1)) -lt 200 ]; do :; done; exit 4'
[ -c /dev/full ] && run 5 strace -o /dev/full sh -c 'exit 5'
run 3 strace --tips=2 -e trace=none sh -c 'exit 3'
shows '^ | ' err
# -n has the task's last call, though it is not shown; -i the place where the signal came.
for source in bpf ptrace; do
	run 3 strace --source=$source -n -i -e trace=none -o out sh -c 'trap : USR1; kill -USR1 $$; exit 3'
	shows '^\[  62\] \[0000[0-9a-f]*\] --- SIGUSR1 ' out
	shows '^\[ 231\] \[????????????????\] +++ exited' out
	run 0 strace --source=$source -i -e trace=kill,rt_sigreturn -o out sh -c 'trap : USR1; kill -USR1 $$; :'
	shows '^\[0000[0-9a-f]*\] rt_sigreturn' out
	same "$source: rt_sigreturn is not where kill is" 2 "$(sed -n 's/^\[\(0000[0-9a-f]*\)\] [kr].*/\1/p' out | sort -u | grep -c .)"
done
# -P takes names as they are written, and the files of descriptors, but not those of results.
: >named
for source in bpf ptrace; do
	run 0 strace --source=$source -P "$dir/named" -e trace=symlink,symlinkat -o links ln -sf "$dir/named" other
	lacks symlink links
	run 0 strace --source=$source -P "$dir/named" -e trace=openat,read -o out cat named "$dir/named"
	same "$source: -P" "read( openat(\"$dir/named\" read(" "$(sed -n 's/AT_FDCWD, //; s/^\(openat("[^"]*"\).*/\1/p; s/^\(read(\).*/\1/p' out | xargs -0 echo | tr '\n' ' ' | sed 's/ *$//')"
done
for status in -z -Z; do
	run 1 strace -c $status -U name,errors,calls -e trace=execve,openat -o table cat /nonexistent
	shows 'execve  *1$' table
	shows 'openat  *[1-9][0-9]*  *[1-9][0-9]*$' table
done
run 1 strace -C -z -U name,errors,calls -e trace=execve,openat -o table cat /nonexistent
shows 'openat  *[1-9][0-9]*  *[1-9][0-9]*$' table
lacks ' = -1 ' table
# Ended by a signal it dies of it, also after -p.
sleep 600 &
target=$!
strace -o out -p $target 2>err2 &
pid=$!
wait_for 60 grep -q attached err2 || { echo "not ok -p: not attached: $(cat err2)"; bad=1; }
kill -TERM $pid
wait $pid
same "-p: SIGTERM ends strace by SIGTERM" 143 $?
kill -0 $target && echo "ok the process lives" || { echo "not ok the process is gone"; bad=1; }
kill $target
finish
