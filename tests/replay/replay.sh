#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Live equals replay: one program is traced with lines and a trace at once, and what `espy show` makes of the trace must
# be the same, byte for byte. Then it is recorded without lines, and must show with every way of presentation what a
# trace in that way has to show: as many lines, no descriptor without a name that had one.
#
#     replay.sh ESPY NAME | /path/of/a/test/program
#
# OPTIONS=apart: the options of lines in four groups rather than in two, and all of it by each source. Otherwise the first source alone
# has the second group, and the recording without lines.
set -u
. "${0%/*}/../oracle/own_net.sh"
espy=$1 name=$2
here=$(cd "$(dirname "$0")/../oracle" && pwd) # where the programs look for their parts
. "$here/programs.sh"
. "$here/harness.sh"

# who: SOURCE OPTIONS
trace() {
	rm -f "$top/trace"
	$clean "$espy" trace --source "${who%% *}" $rings -f ${who#* } -o "$top/live" --record "$top/trace" -- "$@" \
		>"$top/out" 2>"$top/err" </dev/null
}

bad=0
if [ "${OPTIONS-}" = apart ]; then
	set -- "-qq" "-v -s 200" "-yy -Y -i -n" "-ttt -T -r -x -X verbose"
	recorders=$sources
else
	set -- "-qq -yy -Y -i -n" "-v -s 200 -ttt -T -r -x -X verbose"
	recorders=${sources%% *}
fi
for s in $sources; do
	[ "${OPTIONS-}" = apart ] || [ "$s" = "$recorders" ] || set -- "$1"
	for opts; do
		# -s is said again: how much was kept of each string was said when recording
		run "$s $opts"
		if [ ! -s "$top/live" ] || [ ! -s "$top/trace" ]; then
			echo "not ok $s $opts: nothing was written:"
			head -n 5 "$top/err"
			bad=1
			continue
		fi
		"$espy" show $opts -o "$top/shown" "$top/trace" 2>"$top/err" || { echo "not ok $s $opts: show failed"; cat "$top/err"; bad=1; }
		if cmp -s "$top/live" "$top/shown"; then
			echo "ok $s $opts: $(wc -l <"$top/live") lines, $(wc -c <"$top/trace") bytes"
		else
			echo "not ok $s $opts: live and replay differ:"
			diff "$top/live" "$top/shown" | head -n 10
			bad=1
		fi
	done
done

# Without lines: the trace must know as much
trace() {
	rm -f "$top/trace"
	$clean "$espy" record -q --source "${who%% *}" $rings -f -o "$top/trace" -- "$@" >"$top/out" 2>"$top/err" </dev/null
}
for s in $recorders; do
	run "$s "
	for opts in "" "-v" "-yy -Y" "-c"; do
		"$espy" show $opts "$top/trace" >"$top/shown" 2>"$top/err" || { echo "not ok record, $s $opts: show failed"; cat "$top/err"; bad=1; }
		[ -s "$top/err" ] && { echo "not ok record, $s $opts: $(head -n 1 "$top/err")"; bad=1; }
		[ -s "$top/shown" ] || { echo "not ok record, $s $opts: nothing is shown"; bad=1; }
		# A file that was opened has a name afterwards, also in a trace that was recorded without a word of -y.
		if [ "$opts" = "-yy -Y" ] && grep -E 'openat\(.* = [0-9]+$' "$top/shown" >"$top/nameless"; then
			echo "not ok record, $s: a descriptor without a name: $(head -n 1 "$top/nameless")"
			bad=1
		fi
	done
done
[ $bad = 0 ] && echo "ok recorded without lines"
exit $bad
