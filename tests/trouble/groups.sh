# SPDX-License-Identifier: LGPL-2.1-or-later
# --cgroup and --all: whole groups and the system, never espy itself. Only the bpf source can.
. "$(dirname "$0")/lib.sh"

if [ "$source" = ptrace ]; then
	trace --all -o "$dir/out" 2>"$dir/err"
	expect "ptrace --all: exit status" 1 $?
	has "ptrace --all: refused with the reason" "$dir/err" 'cannot watch the whole system'
	finish
fi

trace_bg --all -e trace=openat,execve -o "$dir/all" 2>"$dir/err" &
espy_pid=$!
wait_for 60 sh -c "cat /etc/hostname >/dev/null; (:) ; grep -q 'openat(AT_FDCWD, \"/etc/hostname\"' '$dir/all'"
sleep 0.3
kill -INT $espy_pid
wait $espy_pid
expect "--all: exit status" 0 $?
has "--all: a program that nobody named" "$dir/all" 'openat(AT_FDCWD, "/etc/hostname", O_RDONLY) *= 3'
expect "--all: ends of tasks of which nothing else was shown" 0 "$(awk '/\(/ { met[$1] = 1 } /\+\+\+ exited/ && !met[$1]' "$dir/all" | wc -l)"
expect "--all: espy itself is not there" 0 "$(grep -c "^$espy_pid " "$dir/all")"

cat >"$dir/cgroup.sh" <<'END'
cg=$1/cg espy=$2 dir=$1 progs=$3
mkdir "$cg" && mount -t cgroup2 none "$cg" && mkdir "$cg/espy-test" || exit 77
"$progs/fresh" "$espy" trace --cgroup "$cg/espy-test" -e trace=openat -o "$dir/group" &
espy_pid=$!
in_group() { # FILE: a task joins and reads it, until espy has seen one that did
	for i in $(seq 600); do
		sh -c 'echo $$ >"$1/cgroup.procs"; cat "$2"' sh "$cg/espy-test" "$1" >/dev/null
		grep -q "\"$1\"" "$dir/group" && return
		sleep 0.1
	done
}
in_group /etc/group
cat /etc/hostname >/dev/null
in_group /etc/passwd
kill -INT $espy_pid
wait $espy_pid
rmdir "$cg/espy-test"
umount "$cg"
END
if unshare -m sh "$dir/cgroup.sh" "$dir" "$espy" "$progs" 2>"$dir/err"; then
	has "--cgroup: a task of the group, from the moment it joins" "$dir/group" '"/etc/passwd", O_RDONLY) *= 3'
	hasnt "--cgroup: no task outside it" "$dir/group" '/etc/hostname'
else
	echo "no cgroup v2 tree can be mounted here: $(head -n 1 "$dir/err")"
fi
finish
