# SPDX-License-Identifier: LGPL-2.1-or-later
# espy is in a memory cgroup that is full while it holds a task: first nothing there gets memory, then the kernel kills espy. The task runs
# on within a bounded time, and no other user of BPF waits for long.
. "${0%/*}/../trouble/lib.sh"
. "${0%/*}/worker.sh"
group=
clean_group() {
	clean
	[ -z "$group" ] || wait_for 10 rmdir "$group"
}
trap clean_group EXIT
# Whose memory is limited, by either version: a directory, the file of its limit, and what is used.
find_group() {
	mounted=$(awk '$3 == "cgroup2" || $3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2 }' /proc/mounts)
	for top in $mounted; do
		group=$(mktemp -d "$top/espy-test.XXXXXX" 2>/dev/null) || continue
		for limit in memory.limit_in_bytes memory.max; do
			[ ! -e "$group/$limit" ] || return 0
		done
		rmdir "$group"
	done
	group=
	return 1
}
[ "$(id -u)" = 0 ] || { echo "SKIP: it takes root to make a cgroup"; exit 77; }
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }
find_group || { echo "SKIP: there are no memory cgroups"; exit 77; }
case $limit in
memory.max) used=memory.current ;;
*) used=memory.usage_in_bytes ;;
esac
"$progs/bpf_user" "$dir/user" &
user=$!
wait_for 60 test -s "$dir/user" || { echo "SKIP: bpf_user"; exit 77; }

: >"$dir/count"
"$progs/unlinks" "$dir" &
worker=$!
in_group() { # OOM-SCORE COMMAND...
	sh -c "echo \$\$ >$group/cgroup.procs; echo \$1 >/proc/self/oom_score_adj; shift; exec \"\$@\"" sh "$@"
}
in_group 1000 "$progs/fresh" "$espy" trace --source=bpf -q -f -e trace=unlinkat --pause-on unlinkat -o "$dir/out" -p $worker </dev/null 2>"$dir/err" &
job=$!
wait_for 60 grep -q 'is held after unlinkat' "$dir/err" || not_ok "nobody is held: $(cat "$dir/err")"

user_goes_on() { # NAME
	user_from=0
	read -r user_from _ <"$dir/user"
	wait_for 60 users_rounds && ok "$1: another user of BPF goes on" || not_ok "$1: another user of BPF waits"
}
# The eater takes all that the group has; espy is the one to be chosen. In version 1 nobody is killed as long as that is forbidden: the eater
# waits for memory, and so does espy where it wants some.
is_full() { # a task waits for memory; what is used goes down again when another task gives some back
	while read -r is_what is_value; do
		[ "$is_what $is_value" != 'under_oom 1' ] || return 0
	done <"$group/memory.oom_control"
	return 1
}
most=$((($(cat "$group/$used") + 16777216) / 4096 * 4096))
[ ! -e "$group/memory.oom_control" ] || echo 1 >"$group/memory.oom_control"
echo $most >"$group/$limit"
in_group 0 tail /dev/zero &
eater=$!
if [ -e "$group/memory.oom_control" ]; then
	wait_for 60 is_full || not_ok "the group does not become full: $(cat "$group/$used") of $most"
	user_goes_on "no memory"
	echo 0 >"$group/memory.oom_control"
fi
wait_for 60 ended $job || { not_ok "espy is not killed"; kill -9 $job; }
kill -9 $eater
wait $job
expect "what ended espy" 137 $?
from=0
read -r from <"$dir/count"
wait_for 60 went_on && ok "killed for want of memory: the task runs on" || not_ok "killed for want of memory: the task stays held"
user_goes_on "killed for want of memory"
: >"$dir/stop"
wait $worker && ok "the task ends well" || not_ok "the task ends with $?"
kill $user
wait $user $eater 2>/dev/null
read -r _ longest <"$dir/user"
# The promise is a second. The machine may be busy with other things; without an end of its own the hold would last for as long as this test waits.
[ "${longest%.*}" -lt 30000 ] && ok "the longest that a user of BPF waited: $longest ms" || not_ok "a user of BPF waited for $longest ms"
wait_for 60 rmdir "$group" && group= || not_ok "the cgroup cannot be removed"
finish
