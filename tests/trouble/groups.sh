# SPDX-License-Identifier: LGPL-2.1-or-later
# --cgroup and --all: whole groups and the system, never espy itself. Only the bpf source can.
. "${0%/*}/lib.sh"

if [ "$source" = ptrace ]; then
	trace --all -o "$dir/out" 2>"$dir/err"
	expect "ptrace --all: exit status" 1 $?
	has "ptrace --all: refused with the reason" "$dir/err" 'cannot watch the whole system'
	finish
fi

trace_bg --all -e trace=openat,execve -o "$dir/all" 2>"$dir/err" &
espy_pid=$!
seen() { # in the trace, all the calls of a program that ends
	cat /etc/hostname >/dev/null
	grep -q 'openat(AT_FDCWD, "/etc/hostname", O_RDONLY) *= 3' "$dir/all"
}
wait_for 60 seen || not_ok "--all: no call of another program is shown"
# The end of a task of which nothing was shown would come before what is shown of later ones.
(:)
shown=$(grep -c . "$dir/all")
later() {
	seen && [ "$(grep -c . "$dir/all")" -gt $((shown + 10)) ]
}
wait_for 60 later || not_ok "--all: it shows no more calls"
kill -INT $espy_pid
wait $espy_pid
expect "--all: exit status" 0 $?
has "--all: a program that nobody named" "$dir/all" 'openat(AT_FDCWD, "/etc/hostname", O_RDONLY) *= 3'
expect "--all: ends of tasks of which nothing else was shown" 0 "$(awk '/\(/ { met[$1] = 1 } /\+\+\+ exited/ && !met[$1]' "$dir/all" | wc -l)"
expect "--all: espy itself is not there" 0 "$(grep -c "^$espy_pid " "$dir/all")"

cat >"$dir/cgroup.sh" <<'END'
. "$4/wait.sh"
cg=$1/cg espy=$2 dir=$1 progs=$3
mkdir "$cg" && mount -t cgroup2 none "$cg" && test=$(mktemp -d "$cg/espy-test.XXXXXX") || exit 77
"$progs/fresh" "$espy" trace --cgroup "$test" -e trace=openat -o "$dir/group" &
espy_pid=$!
in_group() { # FILE: a task joins and reads it, until espy has seen one that did
	sh -c 'echo $$ >"$1/cgroup.procs"; cat "$2"' sh "$test" "$1" >/dev/null
	grep -q "\"$1\"" "$dir/group"
}
wait_for 60 in_group /etc/group || echo "no task of the group is seen" >&2
cat /etc/hostname >/dev/null
wait_for 60 in_group /etc/passwd || echo "no other task of the group is seen" >&2
kill -INT $espy_pid
wait $espy_pid
wait_for 60 rmdir "$test" # who has just ended may still be in it
umount "$cg"
END
if unshare -m sh "$dir/cgroup.sh" "$dir" "$espy" "$progs" "$(dirname "$0")/.." 2>"$dir/err"; then
	has "--cgroup: a task of the group, from the moment it joins" "$dir/group" '"/etc/passwd", O_RDONLY) *= 3'
	hasnt "--cgroup: no task outside it" "$dir/group" '/etc/hostname'
else
	echo "no cgroup v2 tree can be mounted here: $(head -n 1 "$dir/err")"
fi
finish
