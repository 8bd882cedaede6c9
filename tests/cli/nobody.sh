#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Without privilege: what is said, and that ptrace is taken.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || { echo "SKIP: needs root, to become nobody"; exit 77; }
command -v setpriv >/dev/null || { echo "SKIP: setpriv is not installed"; exit 77; }
nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}
chmod 755 "$dir"
# The build may lie where nobody may look.
cp "$espy" "$dir/espy"
espy=$dir/espy
nobody "$espy" --version >/dev/null || { echo "SKIP: nobody may not run programs in $dir"; exit 77; }

run 1 nobody "$espy" trace --source=bpf true
shows '^espy: .*CAP_BPF\|^espy: .*root' "$dir/err"
run 1 nobody "$espy" trace -u root true
says "espy: You must be root to use the -u option"
run 1 nobody "$espy" trace -p 1
shows '^espy: .*1.*: Operation not permitted' "$dir/err"
nobody "$espy" doctor --source=ptrace >"$dir/doctor" 2>&1 || { echo "SKIP: ptrace: $(cat "$dir/doctor")"; exit $((bad ? 1 : 77)); }
run 4 nobody "$espy" trace -e trace=exit_group sh -c 'exit 4'
shows '^exit_group(4)  *= ?$' "$dir/err"
same "the fall-back is said once" 1 "$(grep -c '^espy: ' "$dir/err")"
run 0 nobody "$espy" doctor
shows 'ptrace  *yes'
# Root of a user namespace of its own has all capabilities there, and none that BPF asks for.
if nobody unshare -Ur true 2>/dev/null; then
	run 4 nobody unshare -Ur "$espy" trace -e trace=exit_group sh -c 'exit 4'
	shows '^exit_group(4)  *= ?$' "$dir/err"
	shows '^espy: using the ptrace source.*user namespace' "$dir/err"
fi
# As root, for nobody.
run 0 "$espy" trace -o /dev/null -u 65534:65534 id -u
same "-u UID:GID" 65534 "$(cat "$dir/out")"
run 0 "$espy" trace -o /dev/null -u 65534:65534 id -G
same "... without further groups" 65534 "$(cat "$dir/out")"
run 0 "$espy" trace -o /dev/null -u nobody id -un
same "-u USER" nobody "$(cat "$dir/out")"
finish
