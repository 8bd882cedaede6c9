#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The doctor says yes or no to everything, and its status agrees with its words.
. "${0%/*}/lib.sh"

"$espy" doctor >"$dir/out" 2>"$dir/err"
status=$?
what="espy doctor"
for row in kernel architecture BTF 'BPF ring buffer' 'BPF task storage' tracefs 'functions of the kernel' 'yama ptrace_scope' 'seccomp filters' ptrace 'marks: the agent' 'marks: loading it' 'marks: USDT probes' \
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
# What a row says is true of the machine, and no row denies a denial.
lacks 'never'
lacks '  no  *.* not '
grep -q ' tracefs ' /proc/self/mounts && lacks '^tracefs .*not mounted'
if [ "$(id -u)" = 0 ]; then
	if setpriv --reuid=65534 --regid=65534 --clear-groups "$espy" doctor >"$dir/user" 2>/dev/null; then
		grep -q ' tracefs ' /proc/self/mounts && lacks '^tracefs .*not mounted' "$dir/user"
		shows 'setcap cap_bpf,cap_perfmon+ep): every user may then watch programs that ptrace would show that user, and no others' "$dir/user"
		shows '^BPF ring buffer  *-  *cannot be asked without CAP_BPF' "$dir/user"
	fi
fi
if unshare -Ur true 2>/dev/null; then
	unshare -Ur "$espy" doctor >"$dir/inside"
	lacks '^BPF [a-z ]* *no ' "$dir/inside"
	shows '^BPF ring buffer  *-  *cannot be asked from inside a user namespace' "$dir/inside"
	shows '^user and capabilities *partly .* inside this user namespace only$' "$dir/inside"
	grep -q ' tracefs ' /proc/self/mounts && lacks '^tracefs .*not mounted' "$dir/inside"
fi
# A pid namespace of its own, as in a privileged container: bpf says why not, and ptrace takes its place with the numbers of there.
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	unshare --pid --fork --mount-proc "$espy" doctor >"$dir/inside"
	shows '^pid namespace *partly *not the first one' "$dir/inside"
	shows '^  bpf *no  *espy runs in a pid namespace of its own' "$dir/inside"
	unshare --pid --fork --mount-proc sh -c '"$0" trace -f -e trace=getpid sh -c "echo \$\$ >\"$1\""' \
		"$espy" "$dir/pid" 2>"$dir/err"
	shows '^espy: using the ptrace source, .*espy runs in a pid namespace of its own' "$dir/err"
	shows "+++ exited with 0" "$dir/err"
	same "numbers of that namespace" "$(cat "$dir/pid")" "$(sed -n 's/^getpid() *= \([0-9]*\)$/\1/p; s/^[0-9]* *getpid() *= \([0-9]*\)$/\1/p' "$dir/err" | head -n 1)"
fi
finish
