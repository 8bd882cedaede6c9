#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The doctor says yes or no to everything, and its status agrees with its words.
. "$(dirname "$0")/lib.sh"

"$espy" doctor >"$dir/out" 2>"$dir/err"
status=$?
what="espy doctor"
for row in kernel architecture BTF 'BPF ring buffer' 'BPF task storage' tracefs 'yama ptrace_scope' 'seccomp filters' ptrace 'marks: the agent' 'marks: loading it' 'marks: USDT probes' \
	'marks: time stamps'; do
	shows "^$row  *\(yes\|no\|partly\|-\) "
done
shows '^  bpf  *\(yes\|no\)'
shows '^  ptrace  *\(yes\|no\)'
if grep -q '^  \(bpf\|ptrace\)  *yes' "$dir/out"; then want=0; else want=1; fi
same "status agrees" $want $status
same "nothing on standard error" "" "$(cat "$dir/err")"
for s in bpf ptrace; do
	"$espy" doctor --source=$s >"$dir/one"
	one=$?
	if grep -q "^  $s  *yes" "$dir/out"; then want=0; else want=1; fi
	same "--source=$s agrees" $want $one
done
finish
