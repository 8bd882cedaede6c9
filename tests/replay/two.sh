#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Two espys at one process, which come while it runs, see what they see, and what each has recorded shows the lines that it wrote. Only
# one of them can stop it. LINES: so many each.
. "${0%/*}/lib.sh"
lines=${LINES:-1000}
cat >"$dir/target.sh" <<'END'
i=0
while [ ! -e "$1/stop" ]; do
	: <"$0"; exec 7<"$0" 8>"$1/scratch"; exec 9<&7; echo $i >&8; read x <&9; exec 7<&- 9<&-
	(umask 22; exit 3); cd /; cd "$1"; exec 8>&-; i=$((i + 1))
	exec 7</dev/null; exec 7<&-
done
END
has_lines() { # FILE
	[ -s "$1" ] && [ "$(wc -l <"$1")" -ge "$lines" ]
}
# together OPTIONS: of both, and of what shows their traces
together() {
	rm -f "$dir/stop" "$dir"/one* "$dir"/two* # the lines of an earlier turn are none of this one
	sh "$dir/target.sh" "$dir" 2>/dev/null &
	target=$!
	trace_bg -f "$@" --force --record "$dir/one" -o "$dir/one.live" -p $target 2>"$dir/one.err" &
	a=$!
	source=bpf
	trace_bg -f "$@" --force --record "$dir/two" -o "$dir/two.live" -p $target 2>"$dir/two.err" &
	b=$!
	source=$first
	for t in one two; do
		wait_for 60 has_lines "$dir/$t.live" || not_ok "$* $t: $(wc -l <"$dir/$t.live") lines: $(tail -n 2 "$dir/$t.err")"
	done
	: >"$dir/stop"
	wait $target $a $b
	for t in one two; do
		show -f "$@" -o "$dir/$t.shown" "$dir/$t" 2>"$dir/err" || not_ok "$* $t: show: $(cat "$dir/err")"
		same "$* $t: $(wc -l <"$dir/$t.live") lines" "$dir/$t.live" "$dir/$t.shown"
	done
}
first=$source
"$espy" doctor --source=bpf >/dev/null 2>&1 || { echo "SKIP: only one espy can stop a process"; exit 77; }
together -yy -Y
together -ttt -T -r -i -x
together -v -y --decode-pids=comm,pidns -n
finish
