# SPDX-License-Identifier: LGPL-2.1-or-later
# Where tasks cannot be held unseen - no /dev/fuse, no privilege to mount it - it is said why, and what happens instead.
. "${0%/*}/../trouble/lib.sh"
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }
calls=4000

# A place with an empty /dev; no CAP_SYS_ADMIN.
cat >"$dir/nodev.sh" <<'S'
mount -t tmpfs none /dev && mknod /dev/null c 1 3 && chmod 666 /dev/null && exec "$@"
S
nodev="unshare -m sh $dir/nodev.sh"
noadmin='setpriv --bounding-set -sys_admin --inh-caps -sys_admin'
# slowly WHERE OPTIONS...: out of a small ring, through a pipe that is emptied slowly
slowly() {
	where=$1
	shift
	$where "$espy" trace --source=bpf --buffer 1M -o "|$progs/slow_reader $dir/slow" "$@" "$progs/make_calls" $calls 2>"$dir/err" </dev/null
}
whole=$(trace --buffer 64M -o "$dir/whole" "$progs/make_calls" $calls && wc -l <"$dir/whole")

seen() {
	grep -vc 'lost here' "$dir/slow"
}

check() { # NAME REASON COMMAND...: that runs another one in the place of that name
	name=$1 reason=$2
	shift 2
	if ! "$@" true 2>"$dir/err"; then
		echo "$name: not to be had here, left out: $(cat "$dir/err")"
		return
	fi
	tried=$((tried + 1))
	"$@" "$espy" doctor >"$dir/doctor"
	has "$name: doctor" "$dir/doctor" "no  *holds tasks without stopping them .*: $reason"
	slowly "$*"
	expect "$name, auto: status" 0 $?
	lost=$(sed -n 's/^espy: \([0-9]*\) events* lost: no room.*/\1/p' "$dir/err")
	expect "$name, auto: seen and lost are all" "$whole" $(($(seen) + ${lost:-0}))
	has "$name, auto: it is said why" "$dir/err" "^espy: lossless mode: not possible: $reason"
	# Who insists is told that it cannot be; nobody is stopped by a signal instead.
	slowly "$*" --lossless=always
	expect "$name, always: status" 1 $?
	has "$name, always: refused, and why" "$dir/err" "^espy: tasks cannot be held here: $reason"
	"$@" "$espy" trace --source=bpf --pause-on 'fstat: fd == 4242' -o "$dir/out" "$progs/make_calls" 1 </dev/null 2>"$dir/err"
	expect "$name, --pause-on: status" 1 $?
	has "$name, --pause-on: refused, and why" "$dir/err" "^espy: tasks cannot be held here: $reason"
}
tried=0
check 'no CAP_SYS_ADMIN' 'a FUSE file system: Operation not permitted (CAP_SYS_ADMIN is needed)' $noadmin
check 'no /dev/fuse' '/dev/fuse: No such file or directory (FUSE of the kernel; a container must be given the device)' $nodev
# SIGKILL does not reach whom a version 1 freezer has frozen, the helper neither: nobody is held from there.
freezers=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' /proc/mounts)
if [ "$(id -u)" = 0 ] && [ -n "$freezers" ] && freezer=$(mktemp -d "$freezers/espy-test.XXXXXX" 2>/dev/null); then
	sh -c "echo \$\$ >$freezer/cgroup.procs; exec \"\$@\"" sh "$espy" trace --source=bpf --pause-on getppid -o "$dir/out" true </dev/null 2>"$dir/err"
	expect "a version 1 freezer, --pause-on: status" 1 $?
	has "a version 1 freezer, --pause-on: refused, and why" "$dir/err" 'tasks cannot be held here: espy runs in a version 1 freezer cgroup'
	wait_for 60 rmdir "$freezer" || not_ok "the freezer cannot be removed"
else
	echo "no version 1 freezer: left out"
fi
[ $tried -gt 0 ] || { echo "SKIP: neither unshare nor setpriv can be used here"; exit 77; }
finish
