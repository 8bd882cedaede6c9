#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Without privilege: what is said, and that ptrace is taken. ROUNDS: how often a name changes under espy.
. "${0%/*}/lib.sh"

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

# Which program it is, the user's rights decide, and whose it becomes, the very file.
cat >"$dir/ids.c" <<'END'
#include <stdio.h>
#include <unistd.h>
#ifndef NAME
#define NAME ""
#endif
int main(void) { printf(NAME "%d %d\n", getuid(), geteuid()); return 0; }
END
cc -DNAME='"own "' -o "$dir/own" "$dir/ids.c" || exit 1
cc -o "$dir/ids" "$dir/ids.c" || exit 1
cp "$dir/ids" "$dir/ids-root" && chown root:root "$dir/ids-root" && chmod 4755 "$dir/ids-root"
mkdir "$dir/closed" && cp "$dir/ids" "$dir/closed/ids" && chmod 700 "$dir/closed"
for source in bpf ptrace; do
	"$espy" doctor --source=$source >/dev/null 2>&1 || continue
	run 0 "$espy" trace --source=$source -o /dev/null -u nobody "$dir/ids"
	same "$source: the user's ids" "65534 65534" "$(cat "$dir/out")"
	run 0 "$espy" trace --source=$source -o /dev/null -u nobody "$dir/ids-root"
	same "$source: a set-user-id program has its owner's" "65534 0" "$(cat "$dir/out")"
	run 1 "$espy" trace --source=$source -o /dev/null -u nobody "$dir/closed/ids"
	shows 'closed/ids: Permission denied' "$dir/err"
	if mkdir -p "$dir/nosuid" && mount -t tmpfs -o nosuid none "$dir/nosuid" 2>/dev/null; then
		cp "$dir/ids" "$dir/nosuid/ids" && chmod 4755 "$dir/nosuid/ids"
		run 0 "$espy" trace --source=$source -o /dev/null -u nobody "$dir/nosuid/ids"
		same "$source: but not on a file system mounted nosuid" "65534 65534" "$(cat "$dir/out")"
		umount "$dir/nosuid"
	fi
done
# The user changes what the name leads to while espy looks: sometimes a set-user-id program of root, sometimes the user's own.
mkdir "$dir/swap" && chown 65534:65534 "$dir/swap"
nobody sh -c "cd '$dir/swap' && cp ../own own && ln -s own now && touch ready &&
	while [ -e ready ]; do ln -sf ../ids-root new && mv -T new now; ln -sf own new && mv -T new now; done" &
swapper=$!
wait_for 60 test -e "$dir/swap/ready" || { echo "not ok nobody changes the name"; bad=1; }
i=0 bad_ids=0
while [ $i -lt "${ROUNDS:-12}" ]; do
	# The program of root may have root's ids, that of the user never.
	"$espy" trace --source=ptrace -o /dev/null -u nobody "$dir/swap/now" >"$dir/ids-got" 2>/dev/null
	! grep -q '^own .* 0$' "$dir/ids-got" || bad_ids=$((bad_ids + 1))
	i=$((i + 1))
done
rm -f "$dir/swap/ready"
wait $swapper
same "a name that changes under espy gives nobody root's ids" 0 $bad_ids
finish
