# SPDX-License-Identifier: LGPL-2.1-or-later
# INT and TERM given twice end espy, whatever it waits for.
. "${0%/*}/lib.sh"

# The signal that was sent does not wait for espy any more, or espy has ended of it: two of one kind are no more than one while they wait.
caught() { # SIGNAL
	ended $job && return
	case $1 in INT) set -- 2 ;; TERM) set -- 15 ;; esac
	for set in $(sed -n 's/^S[hi][dg]Pnd:[[:space:]]*//p' "/proc/$job/status"); do
		[ $((0x$set >> ($1 - 1) & 1)) = 0 ] || return 1
	done
}
ends() { # NAME SIGNAL
	kill -"$2" $job
	wait_for 60 caught "$2" || not_ok "$1: espy does not take the first $2"
	kill -"$2" $job 2>/dev/null
	wait_for 60 ended $job && ok "$1, $2 twice: it ends" || { not_ok "$1, $2 twice: it does not end"; kill -9 $job; }
	wait $job 2>/dev/null
}
"$progs/busy_threads" "$dir/busy" 1 >"$dir/busy.out" &
busy=$!
wait_for 60 test -s "$dir/busy" || not_ok "the busy program did not start"

# Its output is a pipe that nobody empties, as if the traced program were to do that.
mkfifo "$dir/pipe"
exec 3<>"$dir/pipe"
for sig in INT TERM; do
	trace_bg -f -p $busy -o "$dir/pipe" 2>"$dir/err" &
	job=$!
	blocked() {
		grep -q pipe "/proc/$job/wchan"
	}
	wait_for 60 blocked || not_ok "the pipe does not fill: $(cat "/proc/$job/wchan") $(cat "$dir/err")"
	ends "an output that nobody reads" $sig
done
exec 3>&-

# Whether this process is in a group of which the CPU time is limited (tests/slow quota=).
throttled() {
	while read -r _ at _ options _; do
		case ,$options, in *,cpu,*) ;; *) continue ;; esac
		own=$(sed -n 's/^[0-9]*:\([^:]*,\)*cpu\(,[^:]*\)*://p' /proc/self/cgroup)
		[ "$(cat "$at$own/cpu.cfs_quota_us" 2>/dev/null || echo -1)" -le 0 ] || return 0
	done </proc/mounts
	case $(cat "/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/cpu.max" 2>/dev/null) in [0-9]*) return 0 ;; esac
	return 1
}

# A page of the traced program's that does not come.
page_does_not_come() {
	"$progs/late_page" "$dir/hangs" 2>"$dir/late.err" &
	late=$!
	ready() {
		test -e "$dir/hangs" || ! kill -0 $late
	}
	wait_for 60 ready
	if [ -e "$dir/hangs" ]; then
		trace_bg -f -p $late -o "$dir/out" 2>"$dir/err" &
		job=$!
		wait_for 60 grep -q "^$late  *getppid()" "$dir/out" || not_ok "not attached: $(cat "$dir/err")"
		ends "a page that does not come" INT
	fi
	kill $late 2>/dev/null
	wait $late 2>/dev/null
}
# When ptrace has interrupted its call, the kernel asks for the page again and again: in a group with little CPU time nothing else would run.
if [ "$source" = ptrace ] && throttled; then
	echo "skip a page that does not come: the CPU time of this group is limited"
else
	page_does_not_come
fi

# A command that is not there yet: its file, or its interpreter, is one of a server that answers nothing.
cp "$progs/make_calls" "$dir/served"
printf '#!%s\n' "$dir/served" >"$dir/script"
chmod +x "$dir/script"
"$progs/late_file" "$dir/served" true
if [ $? != 77 ]; then
	for command in served script; do
		exec "$progs/fresh" "$progs/late_file" "$dir/served" "$espy" trace --source="$source" -I 2 -o "$dir/out" "$dir/$command" 2>"$dir/err" &
		job=$!
		waits() {
			for waits_pid in $job $(descendants $job); do
				grep -q fuse_get_req "/proc/$waits_pid/wchan" && return
			done
			return 1
		}
		wait_for 60 waits || not_ok "$command: nobody waits for the server: $(cat "$dir/err")"
		ends "a $command that nobody serves" INT
		[ -z "$(pgrep -f "$dir/served")" ] && ok "and so does the command" || not_ok "the command is left: $(pgrep -a -f "$dir/served")"
	done
fi

kill $busy
wait $busy
has "the traced program computes what it always did" "$dir/busy.out" 'all is well'
finish
