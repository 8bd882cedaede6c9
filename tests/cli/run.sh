#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Commands that are really traced: their end, their environment, where the lines go.
. "${0%/*}/lib.sh"
source=${3:-auto}
[ "$source" = auto ] && need_tracing
[ "$source" = auto ] || "$espy" doctor --source="$source" >doctor 2>&1 || { echo "SKIP: source $source: $(tail -n 1 doctor)"; exit 77; }
# So that `sh -c` can call it too, and by one process only.
cat >trace <<END
#!/bin/sh
exec "$espy" trace --source=$source "\$@"
END
chmod +x trace
trace=$dir/trace

# The end of the command is the end of espy.
run 0 "$trace" -o out true
shows '^execve(".*/true", \["true"\]' out
shows '^+++ exited with 0 +++$' out
run 7 "$trace" -o /dev/null sh -c 'exit 7'
run 143 sh -c '"$0" -o /dev/null sh -c "kill -TERM \$\$"; exit $?' "$trace"
run 137 sh -c '"$0" -o /dev/null sh -c "kill -KILL \$\$"; exit $?' "$trace"
run 138 sh -c '"$0" -o out sh -c "kill -USR1 \$\$"; exit $?' "$trace"
shows '^+++ killed by SIGUSR1 +++$' out
[ ! -e core ] && echo "ok no core file of espy"

# What the command gets.
run 5 "$trace" -o /dev/null -E A=5 -E HOME sh -c 'test -z "${HOME+x}" && exit $A'
run 0 "$trace" -o /dev/null --argv0=other sh -c 'echo $0' x
run 0 "$trace" -o out --argv0=other true
shows '^execve(".*/true", \["other"\]' out
run 0 "$trace" -o /dev/null -- echo -x --all
same "words behind PROG are its own" "-x --all" "$(cat "$dir/out")"

# Where the lines go.
run 0 "$trace" -e trace=none true
shows '^+++ exited with 0 +++$' "$dir/err"
same "nothing on standard output" "" "$(cat "$dir/out")"
printf 'first\n' >file
run 0 "$trace" -A -o file -e trace=none true
same "-A appends" "first
+++ exited with 0 +++" "$(cat file)"
run 0 "$trace" -o file -e trace=none true
same "-o writes anew" "+++ exited with 0 +++" "$(cat file)"
run 0 "$trace" -o '|cat >piped' -e trace=none true
same "-o '|command'" "+++ exited with 0 +++" "$(cat piped)"
run 0 "$trace" -o '!cat >piped2' -e trace=none true
same "-o '!command'" "+++ exited with 0 +++" "$(cat piped2)"
run 0 "$trace" -ff -o each -e trace=none sh -c 'true & wait; /bin/true; exit 0'
same "-ff: a file for each process" 3 "$(ls each.* | wc -l)"
reads='read x </etc/passwd; read y </dev/null; true'
run 0 "$trace" -e decode-fds=dev -e trace=read -o fds sh -c "$reads"
shows '^read(0, "' fds
shows '^read(0</dev/null<char 1:3>>, "", ' fds
run 0 "$trace" -e decode-fds=path,pidfd -e trace=read -o fds sh -c "$reads"
shows '^read(0</etc/passwd>, "' fds
shows '^read(0</dev/null>, "", ' fds
run 1 "$trace" -y -e decode-fds=path true
says "espy: -y and --decode-fds cannot be provided simultaneously"
run 1 "$trace" -q -e quiet=exit true
says "espy: -q and -e quiet/--quiet cannot be provided simultaneously"
command -v ionice >/dev/null && {
	run 0 "$trace" -X raw -e trace=ioprio_get -o prio ionice -p $$
	shows '^ioprio_get(0x1, [0-9]*) *= [0-9]*$' prio
}
run 1 "$trace" -o nosuch/file true
shows "^espy: Can't fopen 'nosuch/file': No such file or directory$" "$dir/err"
run 1 "$trace" -ff -o nosuch/file sh -c ': >ran'
shows "^espy: Can't fopen 'nosuch/file': No such file or directory$" "$dir/err"
[ ! -e ran ] && echo "ok -ff: the program does not begin without a place for its lines" || { echo "not ok -ff: the program has run"; bad=1; }
[ -c /dev/full ] && {
	run 1 "$trace" -o /dev/full true
	shows 'No space left on device' "$dir/err"
}

# Standard error is closed: no line goes into a file of the command.
run 0 sh -c '"$0" -o out sh -c "echo text >kept" 2>&-' "$trace"
same "the command's file holds the command's text" text "$(cat kept)"

# Standard output is closed: what was to go there is missed, and it is said; what goes elsewhere is not disturbed.
run 5 sh -c '"$0" -o out sh -c "exit 5" >&-' "$trace"
same "nothing is said" "" "$(cat "$dir/err")"
sleep 600 &
sleeper=$!
run 1 sh -c '"$0" record --source="$1" -o - -p $2 >&-' "$espy" "$source" $sleeper
shows 'Bad file descriptor$' "$dir/err"
kill $sleeper

# What espy says of what it has written.
run 0 "$espy" record --source="$source" -e trace=none -o few true
shows '^espy: few: \([02-9] calls\|1 call\), [0-9]* records, [0-9.]* \(bytes\|kB\) in 1 file, 0 lost, 0 pauses$' "$dir/err"
run 0 "$espy" record --source="$source" --compress=none --rotate 20k --keep 2 -o set dd if=/dev/zero of=/dev/null bs=1 count=20000
shows '^espy: set: .* in [0-9]* files (the newest 2 are kept), 0 lost,' "$dir/err"
same "--keep 2" 2 "$(ls set.* | wc -l)"
# A reader that goes away is no error: a pipe to head is how a trace is looked into.
run 0 "$espy" record --source="$source" -o long dd if=/dev/zero of=/dev/null bs=1 count=5000
"$espy" show long 2>err | head -n 1 >first
same "show | head: the first line" execve "$(cut -d'(' -f1 first)"
same "show | head: silent" "" "$(cat err)"

# Programs that cannot be run.
: >noexec
run 1 "$trace" ./noexec
shows '^espy: .*Permission denied$' "$dir/err"
run 1 "$trace" /
shows '^espy: .*Permission denied$' "$dir/err"
# A process that is gone.
sh -c 'exit 0' &
gone=$!
wait $gone
run 1 "$trace" -p $gone
shows "$gone.*No such process" "$dir/err"
run 1 "$trace" -p 4194305
shows "4194305.*No such process" "$dir/err"

# -D: the command has the number of the process that was started.
run 0 sh -c 'sh -c "echo \$\$; exec \"\$0\" -D -o daemon -e trace=execve sh -c \"echo \\\$\\\$\"" "$0" | uniq | wc -l' "$trace"
same "-D keeps the number" 1 "$(tr -d ' ' <"$dir/out")"
wait_for 60 grep -q exited daemon
shows '^execve(' daemon
# -c
run 0 "$trace" -c -o table ls /
shows '^% time     seconds  usecs/call     calls    errors syscall$' table
shows '^100.00 .* total$' table

command -v pgrep >/dev/null || {
	echo "pgrep is not installed: signals are left out"
	finish
}

# Signals: with -o FILE PROG they are for the command; else espy ends and takes the command with it.
"$trace" -o out2 sleep 600 &
pid=$!
wait_for 60 grep -q execve out2
wait_for 60 pgrep -P $pid -x sleep
kill -TERM $pid
# It has the signal, if it takes it; and is there later, or the end of the command would not be passed on.
has_term() {
	for set in $(sed -n 's/^S[hi][dg]Pnd:[[:space:]]*//p' /proc/$pid/status); do
		[ $((0x$set >> 14 & 1)) = 0 ] || return 1
	done
}
wait_for 60 has_term
kill -0 $pid 2>/dev/null && echo "ok -o FILE PROG: SIGTERM is not for espy" || { echo "not ok espy is gone"; bad=1; }
pkill -USR1 -P $pid -x sleep
wait $pid
same "... and the command's end is passed on" 138 $?
"$trace" -e trace=execve -I 2 sleep 600 2>err2 &
pid=$!
wait_for 60 grep -q execve err2
wait_for 60 pgrep -P $pid -x sleep
child=$(pgrep -P $pid -x sleep)
kill -TERM $pid
wait $pid
same "SIGTERM ends espy by SIGTERM" 143 $?
if [ -n "$child" ] && wait_for 60 test ! -e "/proc/$child"; then echo "ok and the command too"; else echo "not ok the command '$child' lives on"; bad=1; fi

# Attached: ^C lets go, the process lives.
sleep 600 &
target=$!
"$trace" -o out3 -p $target 2>err3 &
pid=$!
wait_for 60 grep -q attached err3
kill -INT $pid
wait $pid
status=$?
same "-p: SIGINT ends the trace well" 0 $status
kill -0 $target && echo "ok the process lives" || { echo "not ok the process is gone"; bad=1; }

# The name under which espy is called stands before each message, however long it is.
ln -s "$espy" strace
long=$(printf '%0600d' 0 | sed 's,0,./,g')strace
"$long" -f -o out4 -p $target 2>err4 &
pid=$!
wait_for 60 grep -q attached err4
kill -INT $pid
wait $pid
same "a name of 1 206 bytes: messages are whole" "$long: Process $target attached
$long: Process $target detached" "$(cat err4)"
kill $target
# --all on a terminal: whoever carries the text to the user's eyes is left out, or it would never end.
if [ "$source" = bpf ] && command -v script >/dev/null; then
	# The rest of the machine may be silent: somebody is to make calls.
	dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
	maker=$!
	script -qec "'$espy' trace --all -e trace=read,write --syscall-limit=3000" /dev/null </dev/null >typescript
	shows '^espy: not watched, since it carries what espy writes: script ([0-9]*)' typescript
	writer=$(sed -n 's/.*what espy writes: script (\([0-9]*\)).*/\1/p' typescript)
	lacks "^\\[pid *$writer\\]" typescript
	# This shell holds both ends of a pipe until it has started both commands, and its child is a shell until it is cat.
	cat_reads_alone() { pgrep -P $$ -x cat && ! ls -l /proc/$$/fd | grep -F "$1"; }
	{ wait_for 60 cat_reads_alone "$(readlink /proc/self/fd/2)"; exec "$espy" trace --all -e trace=read,write --syscall-limit=3000; } 2>&1 | cat >typescript
	shows '^espy: not watched, since it carries what espy writes: cat ([0-9]*)' typescript
	lacks "^\\[pid *$(sed -n 's/.*what espy writes: cat (\([0-9]*\)).*/\1/p' typescript)\\]" typescript
	# A terminal inside a terminal: both.
	if command -v tmux >/dev/null; then
		TERM=xterm script -qec "tmux -S '$dir/tmux.sock' -f /dev/null new-session \"'$espy' trace --all -e trace=write --syscall-limit=300 2>&1 | tee '$dir/inside'\"" \
			/dev/null </dev/null >/dev/null
		shows '^espy: not watched, since they carry what espy writes: .*tmux: server ([0-9]*)' inside
		shows '^espy: not watched, .*script ([0-9]*)' inside
		sed -n '/not watched/p; 1,2p' inside | cat -v
		tmux -S "$dir/tmux.sock" kill-server 2>/dev/null
	fi
	kill $maker
fi
finish
