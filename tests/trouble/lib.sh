# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts beside it share beyond tests/lib.sh: SCRIPT ESPY SOURCE PROGRAMS-DIR.
. "${0%/*}/../lib.sh"
. "${0%/*}/../trouble/descendants.sh"
source=$2 progs=$(realpath "$3")
need_source "$source"
rings=${RINGS:+--rings=$RINGS} # RINGS=cpu: the same with a ring for each CPU
trace() {
	"$espy" trace --source="$source" $rings "$@"
}
# For use with &: $! is espy itself.
trace_bg() {
	exec "$progs/fresh" "$espy" trace --source="$source" $rings "$@"
}
# held_below PID COUNT: so many of the processes below it have a task that is held
held_below() {
	held_cnt=0
	for held_pid in $(descendants "$1"); do
		for held_file in "/proc/$held_pid"/task/*/wchan; do
			held_at=
			read -r held_at <"$held_file"
			[ "$held_at" != request_wait_answer ] || held_cnt=$((held_cnt + 1))
			[ "$held_at" != request_wait_answer ] || break
		done 2>/dev/null
	done
	[ $held_cnt -ge "$2" ]
}
# ended PID: of a child of this shell
ended() {
	! kill -0 "$1"
}
# Whatever a test has left behind ends with it.
clean() {
	end_descendants
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
# messages FILE: what espy said. That it did not get to run is the machine's doing.
messages() {
	grep -v 'did not run' "$1"
}
