#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# probe_calls.sh ESPY PROGRAMS-DIR: the kernel's code for probes makes calls in the program (uretprobe, uprobe), which are none of the
# program's and are left out; a return from a signal handler is shown, also of a signal that came in such a call.
. "${0%/*}/../lib.sh"
. "${0%/*}/../trouble/descendants.sh"
trap 'end_descendants; rm -rf "$dir"' EXIT
progs=$(realpath "$2")
prog=$progs/probe_calls
rounds=${ROUNDS:-200}
need_source bpf
probes="-u $prog:returns%return -u $prog:long_nop"
calls='trace=rt_sigreturn,uretprobe,uprobe,getppid'

# counts NAME FILE: of the calls, by the name that begins a line
counts() {
	sed 's/^[0-9]* *//' "$1" | sed -n 's/^\(rt_sigreturn\|uretprobe\|uprobe\|getppid\)(.*/\1/p' | sort | uniq -c | sed 's/^ *//' | tr '\n' ' '
}
# table FILE: the same of a table of -c
table() {
	awk '$NF ~ /^(rt_sigreturn|uretprobe|uprobe|getppid)$/ { print $4, $NF }' "$1" | LC_ALL=C sort -k 2 | tr '\n' ' '
}

# ---- espy's own probes
"$espy" trace --source=bpf -f $probes -e "$calls" -o "$dir/got" "$prog" $rounds $rounds >"$dir/out" 2>"$dir/err"
handled=$(cat "$dir/out")
[ "${handled:-0}" -ge "$rounds" ] || not_ok "the program does not handle its signals: $(cat "$dir/err")"
has "the probe of the return is hit" "$dir/got" 'returned'
has "the other one is hit" "$dir/got" 'long_nop()'
expect "calls of the program alone" "1 getppid $handled rt_sigreturn " "$(counts "$dir/got")"
"$espy" trace --source=bpf $probes -e trace=all -o "$dir/got" "$prog" 20 >"$dir/out" 2>"$dir/err"
expect "no signal, no return from a handler" "1 getppid " "$(counts "$dir/got")"

# ---- those of another tracer
"$espy" trace --source=bpf --all $probes -e trace=none -o "$dir/other" 2>"$dir/ready" &
other=$!
# It is ready when it has seen a hit.
seen() {
	"$prog" 1 >"$dir/out"
	grep -q returned "$dir/other" && grep -q long_nop "$dir/other"
}
wait_for 60 seen || not_ok "the other tracer sees no hit: $(cat "$dir/ready")"
for source in bpf ptrace; do
	"$espy" trace --source=$source -f -e "$calls" -o "$dir/got" "$prog" 30 20 >"$dir/out" 2>"$dir/err"
	expect "$source: calls of the program alone beside another tracer" "1 getppid $(cat "$dir/out") rt_sigreturn " "$(counts "$dir/got")"
	"$espy" trace --source=$source -f -c -e "$calls" -o "$dir/got" "$prog" 30 20 >"$dir/out" 2>"$dir/err"
	expect "$source: counted" "1 getppid $(cat "$dir/out") rt_sigreturn " "$(table "$dir/got")"
done
"$espy" trace --source=ptrace -e inject=uretprobe,uprobe:error=EPERM -o "$dir/got" "$prog" 30 >"$dir/out" 2>"$dir/err"
expect "ptrace: nothing is injected into them" 0 "$(cat "$dir/out")"
kill $other
wait $other

# ---- made by the program itself
for source in bpf ptrace; do
	"$espy" trace --source=$source -o "$dir/got" "$prog" own >"$dir/out" 2>"$dir/err"
	has "$source: the program's own uretprobe" "$dir/got" '^uretprobe()  *= -1 E'
	has "$source: and its own uprobe" "$dir/got" '^uprobe()  *= -1 E'
done
finish
