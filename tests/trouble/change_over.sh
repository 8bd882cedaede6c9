# SPDX-License-Identifier: LGPL-2.1-or-later
# A session begins with programs at all calls and changes over to those of the calls that need it. Here the kernel's counts of runs say
# whether it has: no time is looked at.
. "${0%/*}/lib.sh"

# changes NAME PROGRAM REFERENCE PATTERN option...: PROGRAM runs no more while REFERENCE runs on, and --stats says what runs
changes() {
	name=$1 program=$2 reference=$3 pattern=$4
	shift 4
	# Another session may watch single calls meanwhile; then this one does not change over, and says why.
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		changes_once "$@"
		grep -q 'another tracer watches single calls' "$dir/err" || break
		echo "# $name: another tracer, again"
	done
	[ $status != 77 ] || { echo "SKIP: $(cat "$dir/counts")"; exit 77; }
	[ $status = 0 ] && ok "$name: $(cat "$dir/counts")" || not_ok "$name: $(cat "$dir/counts")"
	has "$name: said" "$dir/err" "^espy: source bpf: $pattern\$"
}
changes_once() {
	"$espy" "$@" --stats -o /dev/null dd if=/dev/zero of=/dev/null bs=1 2>"$dir/err" &
	tracer=$!
	"$progs/run_counts" $tracer "$program" "$reference" 200000 60 >"$dir/counts"
	status=$?
	pkill -P $tracer -x dd
	wait $tracer 2>/dev/null
}
changes "all calls: no program at the entry" espy_raw_enter espy_raw_exit \
	'programs run at the exits of all calls, and at the entries of [1-9][0-9]*' trace --lossless=never
changes "a few rare calls: none at the exit of others" espy_raw_exit espy_one_exit 'programs run at [1-9] calls only' \
	trace --lossless=never -e trace=read,getppid
changes "record" espy_raw_enter espy_raw_exit 'programs run at all calls: the times of entries are wanted (-T, record)' record --force --lossless=never

# No call that needs its entry: none has a program from the first call on.
"$espy" trace --stats -e trace=read,write,getppid -o /dev/null true 2>"$dir/err"
has "nothing needs the entry: said" "$dir/err" '^espy: source bpf: programs run at the exits of all calls, and at no entry$'
finish
