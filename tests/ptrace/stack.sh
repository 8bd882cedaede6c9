#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# stack.sh ESPY STACK-CALLS FILE-OF-IT [bpf|ptrace]: -k, -kk and their limits, live and from a trace, by this source; without one: which source is taken.
calls=$(realpath "$2") source=$(realpath "$3") by=${4:-}
. "${0%/*}/../cli/lib.sh"
"$espy" doctor --source="${by:-bpf}" >"$dir/doctor" 2>&1 || { echo "SKIP: $(tail -n 1 "$dir/doctor")"; exit 77; }

# ours FILE: the functions of the program, in order, joined by blanks
ours() {
	sed -n "s,^ > $calls(\([a-z_]*\)+0x[0-9a-f]*) \[0x[0-9a-f]*\].*,\1,p" "$1" | tr '\n' ' '
}

# Passively where that goes; as strace by ptrace, which knows any stack. taken COMMAND...
taken() {
	"$@" -k -e trace=getpgid --stats -o log "$calls" 2>err
	sed -n 's/^[^ ]*: source \([a-z]*\):.*/\1/p' err | head -n 1
}
if [ -z "$by" ]; then
	same "nobody is stopped" bpf "$(taken "$espy" trace)"
	ln -s "$(realpath "$espy")" strace
	same "but as strace" ptrace "$(taken ./strace)"
	finish
fi

run 3 "$espy" trace --source="$by" -k -e trace=getpgid -o log "$calls"
same "the way to the call" "innermost deeper deeper deeper main _start " "$(ours log)"
same "the line of the call, then its frames" getpgid "$(head -n 1 log | cut -d'(' -f1)"
shows '^ > /[^ ]*libc[^ ]*(syscall+0x[0-9a-f]*) \[0x[0-9a-f]*\]$' log

# A call that does not return: its frames stand behind the end of the task.
run 3 "$espy" trace --source="$by" -k -e trace=exit_group -o log "$calls"
same "the end comes first" "exit_group(3)                           = ?
+++ exited with 3 +++" "$(head -n 2 log)"
same "then the way to it" "leave main _start " "$(ours log)"

# Frames lie behind an array that is not there yet, and in the stacks of threads.
run 3 "$espy" trace --source="$by" -k -e trace=getpgid -o log "$calls" wide
same "behind a large array" "innermost deeper deeper wide main _start " "$(ours log)"
run 3 "$espy" trace --source="$by" -f -k -e trace=getpgid -o log "$calls" thread
same "in a thread" "innermost deeper deeper in_thread " "$(ours log)"
lacks 'too many' log

line=$(grep -n 'the line of the innermost frame' "$source" | cut -d: -f1)
run 3 "$espy" trace --source="$by" -kk -e trace=getpgid -o log "$calls"
shows "^ > $calls(innermost+0x[0-9a-f]*) .*stack_calls.c:$line\$" log
run 3 "$espy" trace --source="$by" --stack-trace=source -e trace=getpgid -o log "$calls"
shows "stack_calls.c:$line\$" log
run 3 "$espy" trace --source="$by" --stack-trace=symbol -e trace=getpgid -o log "$calls"
lacks 'stack_calls.c:' log

run 3 "$espy" trace --source="$by" -k --stack-trace-frame-limit=3 -e trace=getpgid -o log "$calls"
same "three frames" 3 "$(grep -c '^ > /' log)"
same "and that there are more" " > too many stack frames" "$(grep '^ >' log | tail -n 1)"
run 3 "$espy" trace --source="$by" -k --stack-trace-frame-limit=1024 -e trace=getpgid -o log "$calls" 3000
same "1 024 frames" 1024 "$(grep -c '^ > /' log)"
run 3 "$espy" trace --source="$by" -k -e trace=getpgid -o log "$calls" 3000
same "256 without a word" 256 "$(grep -c '^ > /' log)"
# A call that is left out leaves no stack. stacks FILE: stacks, lines of openat
stacks() {
	awk '/^ > / { if (last !~ /^ > /) n++ } { last = $0 } /^openat\(/ { calls++ } END { print n + 0, calls + 0 }' "$1"
}
: >"$dir/wanted"
for how in --where=path=="\"$dir/wanted\"" "--trace-path=$dir/wanted"; do
	run 0 "$espy" trace --source="$by" -k -e trace=openat "$how" -o log --force --record=few cat "$dir/wanted"
	same "$how: one call, one stack" "1 1" "$(stacks log)"
	run 0 "$espy" show -k few
	same "$how: and shown" "1 1" "$(stacks out)"
done
run 1 "$espy" trace --source="$by" -k -Z -e trace=openat -o log cat "$dir/wanted" "$dir/none"
same "-Z: as many stacks as calls" "$(grep -c '^openat(' log) $(grep -c '^openat(' log)" "$(stacks log)"
run 1 "$espy" trace --stack-trace=foo true
run 1 "$espy" trace --stack-trace-frame-limit=0 true

# In a trace: the same lines, and none without -k.
run 3 "$espy" trace --source="$by" -kk -e trace=getpgid,exit_group -o log --record=t "$calls"
run 0 "$espy" show -kk t
same "live and shown" "$(sed 's/= [0-9]*$/= N/' log)" "$(sed 's/= [0-9]*$/= N/' out)"
run 0 "$espy" show t
lacks '^ >' out
# Another file by that path is not what ran.
cp "$calls" mine && chmod u+w mine
run 3 "$espy" trace --source="$by" -k -e trace=getpgid -o log --record=other "$dir/mine"
cp /bin/true new && mv new mine
run 0 "$espy" show -k other
shows "^ > $dir/mine() \[0x[0-9a-f]*\]\$" out

# Of a process that runs, and that nobody stops.
[ "$by" = bpf ] || finish

# A ring that has no room for a stack.
run 1 "$espy" trace --source=bpf -k --buffer=32K -e trace=getpgid -o log "$calls" wide
shows 'a buffer of 32 KB cannot hold the longest record' err
run 3 "$espy" trace --source=bpf -k --lossless=never --buffer=32K -e trace=getpgid -o log "$calls" wide
same "a stack that was lost" "+++ 1 event lost here: no room in the ring buffer +++
getpgid(0)" "$(head -n 2 log | sed 's/ *=.*//')"
stacks_come() { [ "$(grep -c '^getpgid(' log)" -ge 3 ]; }
# passive DEPTH ARGUMENTS...: the first whole stack is in the file `one`
passive() {
	depth=$1
	shift
	rm -f end log
	"$calls" "$depth" "$dir/end" & subject=$!
	"$espy" trace --source=bpf -k -e trace=getpgid -p $subject -o log "$@" 2>err & tracer=$!
	wait_for 60 stacks_come || { echo "not ok passively: no stack: $(cat err)"; bad=1; }
	: >end
	wait $subject $tracer
	awk '/^getpgid/ && n++ == 2 { exit } n == 2' log >one # the first may be one that was on its way
}
passive 2
same "passively: the way to the call" "innermost deeper deeper deeper main _start " "$(ours one)"
shows '^ > /[^ ]*libc[^ ]*(syscall+0x[0-9a-f]*) \[0x[0-9a-f]*\]$' one
passive 2 --stack-trace-frame-limit=3
same "passively: three frames, and that there are more" "3  > too many stack frames" "$(grep -c '^ > /' one) $(tail -n 1 one)"
passive 3000 --stack-trace-frame-limit=1024
same "passively: a stack beyond its copy" " > too many stack frames" "$(tail -n 1 one)"
passive 2 --record=few --force
run 0 "$espy" show -k few
same "passively: live and shown" "$(cat log)" "$(cat out)"
run 0 "$espy" trace --source=bpf -k -e trace=getpgid -o log --rings=cpu true
finish
