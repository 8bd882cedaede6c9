#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A copy of espy with capabilities (setcap) in the hands of an ordinary user: it shows what ptrace would let that user see.
. "${0%/*}/lib.sh"

[ "$(id -u)" = 0 ] || { echo "SKIP: needs root, to become nobody"; exit 77; }
for p in setpriv setcap; do
	command -v $p >/dev/null || { echo "SKIP: $p is not installed"; exit 77; }
done
nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}
# For use with &: $! is the command itself.
nobody_bg() {
	exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}
chmod 755 "$dir"
mkdir "$dir/out.d" && chown 65534:65534 "$dir/out.d"
root_espy=$espy
cp "$espy" "$dir/espy" && espy=$dir/espy
setcap cap_bpf,cap_perfmon+ep "$espy" 2>/dev/null || { echo "SKIP: the file system of $dir takes no capabilities"; exit 77; }
nobody "$espy" trace --source=bpf -o "$dir/out.d/own" true 2>"$dir/why" || { echo "SKIP: $(head -n 1 "$dir/why")"; exit 77; }

shows '^execve("/' "$dir/out.d/own"
shows '^+++ exited with 0 +++' "$dir/out.d/own"

# A program of root that is there already, and everything at once.
sleep 600 &
of_root=$!
run 1 nobody "$espy" trace --source=bpf -p $of_root
shows "Operation not permitted" "$dir/err"
run 1 nobody "$espy" trace --source=bpf -p 1
run 1 nobody timeout 60 "$espy" trace --source=bpf --all -o "$dir/out.d/all"
shows 'capabilities of this espy are those of its file' "$dir/err"
run 1 nobody timeout 60 "$espy" trace --source=bpf --cgroup /sys/fs/cgroup -o "$dir/out.d/cgroup"
run 1 nobody timeout 60 "$espy" trace -m '*' --via kernel -o "$dir/out.d/marks" true
kill $of_root

# A set-user-id program reads what the user may not read. The secret is read by root, and seen by nobody.
echo 'the-secret-of-root' >"$dir/secret" && chmod 600 "$dir/secret"
cp "$(command -v head)" "$dir/root-head" && chmod 4755 "$dir/root-head"
run 0 nobody "$espy" trace --source=bpf -f -s 100 -o "$dir/out.d/set-id" sh -c "'$dir/root-head' '$dir/secret'; echo after"
shows '^the-secret-of-root$'
lacks 'the-secret-of-root' "$dir/out.d/set-id"
shows 'write(1, "after' "$dir/out.d/set-id"
shows 'runs a program that its user may not trace' "$dir/err"
run 0 nobody "$espy" trace --source=bpf -f -s 100 -o "$dir/out.d/set-id" "$dir/root-head" "$dir/secret"
lacks 'the-secret-of-root' "$dir/out.d/set-id"
run 0 nobody "$espy" record -f -o "$dir/out.d/trace" "$dir/root-head" "$dir/secret"
lacks 'the-secret-of-root' "$dir/out.d/trace"
# So does a program that the user may execute and not read, and one with capabilities.
cp "$(command -v head)" "$dir/no-read" && chmod 711 "$dir/no-read"
run 0 nobody "$espy" trace --source=bpf -f -o "$dir/out.d/no-read" sh -c "'$dir/no-read' /dev/null; echo after"
lacks 'openat.*/dev/null' "$dir/out.d/no-read"
cp "$(command -v head)" "$dir/cap-head" && chmod 755 "$dir/cap-head" && setcap cap_dac_read_search+ep "$dir/cap-head"
run 0 nobody "$espy" trace --source=bpf -f -s 100 -o "$dir/out.d/cap" sh -c "'$dir/cap-head' '$dir/secret'; echo after"
shows '^the-secret-of-root$'
lacks 'the-secret-of-root' "$dir/out.d/cap"
# A set-group-id program, and a process of the user that has made itself unreadable, or lives in another user namespace.
cp "$(command -v head)" "$dir/group-head" && chown root:root "$dir/group-head" && chmod 2755 "$dir/group-head"
echo 'the-secret-of-root' >"$dir/group-secret" && chmod 640 "$dir/group-secret"
run 0 nobody "$espy" trace --source=bpf -f -s 100 -o "$dir/out.d/set-gid" sh -c "'$dir/group-head' '$dir/group-secret'; echo after"
shows '^the-secret-of-root$'
lacks 'the-secret-of-root' "$dir/out.d/set-gid"
if perl -e 1 2>/dev/null; then
	# prctl(PR_SET_DUMPABLE, 0)
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		perl -e 'syscall(157, 4, 0, 0, 0, 0) == 0 or exit 1; $| = 1; print "hidden\n"; sleep 600' >"$dir/hidden" &
	hidden=$!
	wait_for 60 grep -q hidden "$dir/hidden" || { echo "not ok no process hides"; bad=1; }
	run 1 nobody "$espy" trace --source=bpf -p $hidden
	shows 'Operation not permitted' "$dir/err"
	kill $hidden
fi
if nobody unshare -Ur true 2>/dev/null; then
	run 0 nobody "$espy" trace --source=bpf -f -o "$dir/out.d/userns" sh -c "unshare -Ur '$dir/root-head' /dev/null; echo after"
	lacks 'openat.*/dev/null' "$dir/out.d/userns"
	shows 'write(1, "after' "$dir/out.d/userns"
fi

# Its user reaches it from another shell, also without XDG_RUNTIME_DIR (su, cron): snapshots, and tasks that it holds.
unset XDG_RUNTIME_DIR
until_there() { # FILE PATTERN
	wait_for 60 grep -q "$2" "$1"
	shows "$2" "$1"
}
nobody_bg sleep 600 &
sleeper=$!
# Before its exec it is a process of root's, or one that may not be traced.
wait_for 60 grep -qx sleep "/proc/$sleeper/comm" || { echo "not ok nobody sleeps"; bad=1; }
nobody_bg "$espy" record --source=bpf --ring 1M -o "$dir/out.d/ring" -p $sleeper 2>"$dir/ring.err" &
ring=$!
snaps() {
	nobody "$espy" snapshot $ring >"$dir/snapped"
}
wait_for 60 snaps || cat "$dir/ring.err"
shows "^$dir/out.d/ring" "$dir/snapped"
kill -INT $ring
kill $sleeper
wait $ring
# Holding needs CAP_SYS_ADMIN and a /dev/fuse that is open to users, as it is on most machines.
setcap cap_bpf,cap_perfmon,cap_sys_admin+ep "$espy"
mknod "$dir/fuse" c 10 229
cat >"$dir/hold.sh" <<'END'
mount --bind "$1/fuse" /dev/fuse || exit 77
cd "$1/out.d"
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
	"$1/espy" trace --pause-on 'openat: path == "/etc/hostname"' cat /etc/hostname >hold.out 2>hold.err </dev/null
END
: >"$dir/out.d/hold.err"
if "$espy" doctor | grep -q 'yes *holds tasks'; then
	chmod 600 "$dir/fuse"
	run 1 unshare -m sh "$dir/hold.sh" "$dir"
	refused='/dev/fuse: Permission denied (as root: chmod 666 /dev/fuse, as it is on most systems; or run espy as root)'
	shows "^espy: tasks cannot be held here: $refused\$" "$dir/out.d/hold.err"
	same "no other reason is given" 1 "$(grep -c '^espy: ' "$dir/out.d/hold.err")"
	: >"$dir/out.d/hold.err"
	chmod 666 "$dir/fuse"
	unshare -m sh "$dir/hold.sh" "$dir" &
	holding=$!
	until_there "$dir/out.d/hold.err" ' is held after openat; it runs on at `espy resume [0-9]*` or the end of espy'
	held=$(sed -n 's/.*: task \([0-9]*\) (cat) is held.*/\1/p' "$dir/out.d/hold.err")
	run 0 nobody "$espy" resume "$held"
	shows "^$held runs on: espy [0-9]* has let go of 1 task$"
	wait $holding
	same "the program ended well" 0 $?
fi
setcap cap_bpf,cap_perfmon+ep "$espy"

# A user who has these capabilities, and not by the file of espy, is not bound by this either.
cp "$root_espy" "$dir/plain"
capable() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon "$@"
}
if capable true 2>/dev/null; then
	dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
	maker=$!
	run 0 capable timeout 60 "$dir/plain" trace --source=bpf --all -e trace=read --syscall-limit=100 -o "$dir/out.d/all"
	shows 'read(' "$dir/out.d/all"
	kill $maker
fi
# Root itself is not bound by this: its capabilities are its own.
run 0 "$espy" trace --source=bpf -f -s 100 -o "$dir/of-root" "$dir/root-head" "$dir/secret"
shows 'the-secret-of-root' "$dir/of-root"
finish
