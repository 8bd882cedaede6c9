# SPDX-License-Identifier: LGPL-2.1-or-later
# espy is kept from running while it holds a task - frozen, stopped, killed, traced, starved, held by other espys: the task runs on
# within a bounded time, and no other user of BPF waits for long.
. "${0%/*}/../trouble/lib.sh"
. "${0%/*}/worker.sh"
# A cgroup that a failed test has left: whoever is in it goes on, and ends.
freezer=
clean_group() {
	clean
	[ -n "$freezer" ] && [ -d "$freezer" ] || return
	echo 0 >"$freezer/cgroup.freeze"
	echo 1 >"$freezer/cgroup.kill"
	wait_for 10 rmdir "$freezer"
}
trap clean_group EXIT
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }
"$progs/bpf_user" "$dir/probe" &
user=$!
wait_for 60 test -s "$dir/probe" || { echo "SKIP: bpf_user"; kill $user; exit 77; }
kill $user
# bounded NAME: the longest that the user of BPF waited is below a second, which is the promise. Where the machine is busy with other things,
# attaching takes long without espy, too: then it may take twenty times what it takes alone, and without an end of its own a hold would last for
# as long as this test waits, which is half a minute.
bounded() {
	kill $user
	wait $user 2>/dev/null
	set -- "$1" $(cat "$dir/user")
	longest=${3%.*} most=1000
	longest=${longest:-30000}
	if [ "$longest" -ge $most ]; then
		"$progs/bpf_user" "$dir/alone" &
		user=$!
		wait_for 60 three_rounds || not_ok "$1: a user of BPF alone makes no three rounds"
		kill $user
		wait $user 2>/dev/null
		most=$(awk '{ n = int($2 * 20); print n < 30000 ? n : 30000 }' "$dir/alone")
	fi
	[ "$longest" -lt "$most" ] && ok "$1: the longest that a user of BPF waited: $longest ms" ||
		not_ok "$1: a user of BPF waited for $longest ms, and may for $most"
}
three_rounds() {
	[ "$(awk '{ print $1 }' "$dir/alone")" -ge 3 ]
}

# told: sets $times to how often a task was told to be held
told() {
	times=0
	while read -r line; do
		case $line in *'is held after unlinkat'*) times=$((times + 1)) ;; esac
	done <"$dir/err"
}
is_told() {
	told
	[ $times -gt 0 ]
}
holds_now() { # at the moment, before something happens to it
	from=0
	read -r from <"$dir/count"
	told
	told_before=$times
}
held_again() {
	told
	[ $times -gt "$told_before" ]
}
helper() {
	pgrep -x espy-hold -P "$job"
}
# Attaches to the worker and waits until it is held. COMMAND...: before espy.
begin() {
	rm -f "$dir/stop" "$dir/count" "$dir/err"
	: >"$dir/count"
	"$progs/unlinks" "$dir" &
	worker=$!
	"$@" "$progs/fresh" "$espy" trace --source=bpf -q -f -e trace=unlinkat --pause-on unlinkat -o "$dir/out" -p $worker </dev/null 2>"$dir/err" &
	job=$!
	wait_for 60 is_told || not_ok "nobody is held: $(cat "$dir/err")"
	"$progs/bpf_user" "$dir/user" &
	user=$!
	holds_now
}
# What must be true while espy stands still.
while_still() { # NAME
	wait_for 60 went_on && ok "$1: the task runs on" || not_ok "$1: the task stays held"
	set -- "$1" $(cat "$dir/user")
	user_from=${2:-0}
	wait_for 60 users_rounds && ok "$1: another user of BPF goes on" || not_ok "$1: another user of BPF waits"
}
goes_on() { # NAME
	wait_for 60 held_again && ok "$1: then espy holds again" || not_ok "$1: then espy holds nobody"
	has "$1: what happened is told" "$dir/err" 'did not run for a while: the tasks that were held ran on'
}
end() { # NAME
	kill -INT $job 2>/dev/null
	wait $job 2>/dev/null
	: >"$dir/stop"
	wait $worker
	bounded "$1"
}

cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "$cgroups" ] && freezer=$(mktemp -d "$cgroups/espy-test.XXXXXX" 2>/dev/null) && [ -e "$freezer/cgroup.freeze" ]; then
	begin sh -c "echo \$\$ >$freezer/cgroup.procs; exec \"\$@\"" sh
	echo 1 >"$freezer/cgroup.freeze"
	wait_for 60 grep -q 'frozen 1' "$freezer/cgroup.events" || not_ok "frozen: not so"
	while_still frozen
	echo 0 >"$freezer/cgroup.freeze"
	goes_on frozen
	end frozen
	wait_for 60 rmdir "$freezer" || not_ok "frozen: the cgroup cannot be removed"
else
	echo "no cgroups that can be frozen: left out"
fi

begin
kill -STOP $job $(helper)
while_still "stopped, all of it"
kill -CONT $job $(helper) 2>/dev/null # it may have ended by its deadline
goes_on "stopped, all of it"
holds_now
kill -STOP $job
while_still "stopped, espy alone"
kill -CONT $job
goes_on "stopped, espy alone"
holds_now
kill -STOP "$(helper)"
while_still "stopped, the helper alone"
goes_on "stopped, the helper alone"
end stopped

begin
"$progs/seize" "$dir/seized" $job $(helper) &
tracer=$!
if wait_for 60 test -e "$dir/seized"; then
	while_still "in a debugger"
	rm "$dir/seized"
	wait $tracer
	goes_on "in a debugger"
else
	not_ok "in a debugger: not so"
fi
end "in a debugger"

begin
kill -9 $job $(helper)
while_still "killed, all of it"
end "killed, all of it"

# As the out-of-memory killer would, which cannot choose the helper.
begin
kill -9 $job
while_still "killed, espy alone"
end "killed, espy alone"

# Its output is a pipe that nobody empties: the ring fills, and the task is held at each call, each time for --max-hold at most.
mkfifo "$dir/full"
exec 3<>"$dir/full"
rm -f "$dir/stop" "$dir/count"
: >"$dir/count"
sh -c 'n=0; while [ ! -e "$1/stop" ]; do n=$((n + 1)); echo $n 1<>"$1/count"; done' sh "$dir" 3>&- &
worker=$!
"$progs/fresh" "$espy" trace --source=bpf -q -f --lossless=always --max-hold 100ms --buffer 1M -o "$dir/full" -p $worker </dev/null 2>"$dir/err" 3>&- &
job=$!
is_held() {
	grep -q request_wait_answer "/proc/$worker/wchan"
}
wait_for 60 is_held || not_ok "the output stands still: nobody is held: $(cat "$dir/err")"
"$progs/bpf_user" "$dir/user" 3>&- &
user=$!
holds_now
while_still "the output stands still"
cat <&3 >/dev/null &
reader=$!
end "the output stands still"
kill $reader
exec 3>&-

# Of little weight among many who never sleep (SPINNERS: how many). It may be held up, or not: the task does not stay held for more than that.
begin nice -n 19
spinners=
for i in $(seq "${SPINNERS:-8}"); do
	sh -c 'while :; do :; done' &
	spinners="$spinners $!"
done
"$espy" resume $worker >/dev/null 2>&1
user_from=0
wait_for 60 users_rounds && ok "starved: another user of BPF goes on" || not_ok "starved: another user of BPF waits"
kill $spinners
wait $spinners 2>/dev/null
end starved

# Several that hold each other: all in one cgroup, each watching all of it.
all_ended() {
	for one in $jobs; do
		ended "$one" || return 1
	done
}
several() { # COUNT
	rm -f "$dir"/t.*
	jobs=
	freezer=$(mktemp -d "$cgroups/espy-test.XXXXXX")
	for i in $(seq "$1"); do
		sh -c "echo \$\$ >$freezer/cgroup.procs; exec \"\$@\"" sh "$progs/fresh" "$espy" record --source=bpf --force --cgroup "$freezer" \
			--lossless=always --buffer=1M -o "$dir/t.$i" </dev/null 2>"$dir/err.$i" &
		jobs="$jobs $!"
	done
	for i in $(seq "$1"); do
		wait_for 60 test -e "$dir/t.$i" || not_ok "$1 at once: no $i"
	done
	"$progs/bpf_user" "$dir/user" &
	user=$!
	sh -c "echo \$\$ >$freezer/cgroup.procs; exec $progs/make_calls 1000" &
	maker=$!
	wait_for 60 ended $maker && ok "$1 at once: who is watched ends" || not_ok "$1 at once: who is watched does not end"
	user_from=$(awk '{ print $1 }' "$dir/user")
	wait_for 60 users_rounds && ok "$1 at once: another user of BPF goes on" || not_ok "$1 at once: another user of BPF waits"
	kill -INT $jobs
	wait_for 60 all_ended && ok "$1 at once: they end" || not_ok "$1 at once: they do not end"
	kill -9 $jobs $maker 2>/dev/null
	bounded "$1 at once"
	wait
	wait_for 60 rmdir "$freezer" || not_ok "$1 at once: the cgroup cannot be removed"
}
if [ -n "$cgroups" ] && [ "$(id -u)" = 0 ]; then
	several 3
	[ -z "${ROUNDS-}" ] || several 5
fi
finish
