# SPDX-License-Identifier: LGPL-2.1-or-later
# espy is killed with -9 at any moment, beside a busy program with many threads and beside commands of its own:
# nothing that was traced stops, hangs or computes something else.
. "${0%/*}/lib.sh"
rounds=${ROUNDS:-3}
# With more rounds the threads are never at rest.
nap=${ROUNDS:+0}
nap=${nap:-10000}

progress() { # of the busy program: the first word of its mapped counter
	od -An -tu8 -N8 "$dir/busy.n" 2>/dev/null
}
advances() {
	[ "$(progress)" != "$from" ]
}
harm() { # of a process: a task that is stopped or traced
	for t in /proc/"$1"/task/*; do
		its_state='' its_tracer=''
		while read -r name value _; do
			case $name in State:) its_state=$value ;; TracerPid:) its_tracer=$value && break ;; esac
		done 2>/dev/null <"$t/status"
		case $its_state$its_tracer in [tT]* | *[1-9]*) echo "${t##*/}: state $its_state, tracer $its_tracer" ;; esac
	done
}
unharmed() {
	[ -z "$(harm "$1")" ]
}

"$progs/busy_threads" "$dir/busy" 8 0 $nap >"$dir/busy.out" &
busy_job=$!
wait_for 60 test -s "$dir/busy" || { not_ok "the busy program did not start"; finish; }
busy=$(cat "$dir/busy")
i=0 harmed='' stuck='' early=0 died=0
while [ $i -lt "$rounds" ]; do
	i=$((i + 1))
	# some while it sets up, some in the middle of the work
	delay=$(awk -v seed="$i$$" 'BEGIN { srand(seed); printf "%.3f", rand() * 0.9 }')
	"$espy" trace --source="$source" -o "$dir/out" -f -p "$busy" 2>/dev/null &
	attached=$!
	spin=$dir/spin.$i # an older one may still begin
	"$espy" trace --source="$source" -o "$dir/out2" -f "$progs/busy_threads" "$spin" 3 300 $nap >"$spin.out" 2>/dev/null &
	command=$!
	sleep "$delay" # sleeps: a moment of chance
	kill -9 $attached $command 2>/dev/null # the command may have ended
	wait $attached $command 2>/dev/null
	# A stop that was on its way may be seen for a moment.
	wait_for 60 unharmed "$busy"
	h=$(harm "$busy")
	[ -z "$h" ] || harmed="$harmed round $i after $delay: $h;"
	from=$(progress)
	wait_for 60 advances || stuck="$stuck round $i after $delay;"
	# The command may not have got as far as its execve; one that has runs to its end.
	if [ -s "$spin" ]; then
		wait_for 60 grep -q 'all is well' "$spin.out" || { died=$((died + 1)); not_ok "round $i after $delay: the command: $(cat "$spin.out") $(grep State "/proc/$(cat "$spin")/status" 2>&1)"; }
	else
		early=$((early + 1))
	fi
done
expect "killed $rounds times: nothing is stopped or traced" "" "$harmed"
expect "the busy program goes on" "" "$stuck"
expect "commands that ran: none is harmed (of $((rounds - early)))" 0 "$died"
# A parked command whose tracer is dead must not wait for ever.
left() {
	ps -eo pid,ppid,args | awk -v d="$dir/spin." 'index($0, d) && !/awk/'
}
nobody() {
	[ -z "$(left)" ]
}
wait_for 60 nobody
expect "nobody is left behind" "" "$(left)"
kill "$busy"
wait_for 60 grep -q well "$dir/busy.out" || not_ok "the busy program never ended"
wait $busy_job
expect "the busy program's result" 0 $?
finish
