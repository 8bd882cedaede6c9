#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# count.sh ESPY PROGRAMS-DIR: -u with -c and -C counts hits, live and from a trace.
. "${0%/*}/../lib.sh"
probed=$(realpath "$2")/probed
need_source bpf
trace() {
	"$espy" trace --source=bpf "$@" 2>&1
}

# ---- counted: by probe, with the time in the function of returns; no calls unless they are chosen
counts() { # FILE: hits and names of the table of probes; whether times are there
	awk '$NF == "probe" { on = 1 } on && NF == 5 && $NF != "probe" && !/^-----/ { print $4, $5, ($2 == "-" ? "-" : $2 > 0 ? "timed" : "0") }' "$1" |
		LC_ALL=C sort -k 2 | tr '\n' ' '
}
want='3 probed:factorial%return timed 2 probed:handle - 5 total timed '
set -- -u probed:handle -u probed:factorial%return
trace -c "$@" "$probed" >"$dir/got"
expect "-c: hits and times" "$want" "$(counts "$dir/got")"
hasnt "-c: no calls" "$dir/got" syscall
trace -c -e trace=getppid "$@" "$probed" >"$dir/got"
expect "-c: beside calls" "$want" "$(counts "$dir/got")"
has "-c: the calls" "$dir/got" ' 1 *getppid$'
trace -C "$@" "$probed" >"$dir/got"
expect "-C: the table" "$want" "$(counts "$dir/got")"
expect "-C: the lines" 5 "$(grep -c '^probed:' "$dir/got")"
trace -c -U calls,name "$@" "$probed" >"$dir/got"
has "-c: columns of one's own" "$dir/got" ' 3 probed:factorial%return$'
trace -c -u probed:handle -u probed:factorial "$probed" >"$dir/got"
expect "-c: without times the most frequent first" "probed:factorial probed:handle" \
	"$(sed -n 's/.* \(probed:[a-z]*\)$/\1/p' "$dir/got" | paste -sd' ')"
trace -c --json "$@" "$probed" | grep '^{' >"$dir/got"
has "-c --json: a probe" "$dir/got" '^{"kind":"summary_probe","name":"probed:handle","hits":2,"total_time":0,"min_time":0,"max_time":0,"avg_time":0}$'
has "-c --json: their sum" "$dir/got" '^{"kind":"summary_probe_total","hits":5,"total_time":[1-9]'
python=$(command -v /usr/bin/python3 python3 | head -n 1)
here=$(dirname "$(realpath "$0")")
if [ -n "$python" ]; then
	"$python" "$here/../replay/json_check.py" "$here/../../docs/espy.schema.json" "$dir/got" >"$dir/check" 2>&1
	case $? in 0 | 77) ok "-c --json: as the schema says" ;; *) not_ok "-c --json: $(cat "$dir/check")" ;; esac
fi
"$espy" record -o "$dir/c.espy" -e trace=getppid "$@" "$probed" >"$dir/err" 2>&1
"$espy" show -c "$dir/c.espy" >"$dir/got" 2>&1
expect "show -c" "$want" "$(counts "$dir/got")"
has "show -c: the calls" "$dir/got" ' 1 *getppid$'
"$espy" show -c -u probed:handle "$dir/c.espy" >"$dir/got" 2>&1
expect "show -c -u: of that probe" "2 probed:handle - 2 total - " "$(counts "$dir/got")"
hasnt "show -c -u: no calls" "$dir/got" syscall

# ---- by the values of their arguments
rows() { # FILE TALLY: counts and values of its table
	awk -v of="$2" '$0 == of { on = 1; next } /^$/ { on = 0 } on && /^ *[0-9.]+ +[0-9]+ / { print $2, $3 }' "$1" | paste -sd' '
}
set -- -u 'probed:factorial(n=$arg1:d)' -u 'probed:factorial%return(=$retval:d)' -u probed:handle
trace "$@" --count-by 'probed:factorial: n' --count-by name --hist 'probed:factorial%return: duration' --hist retval "$probed" >"$dir/got"
expect "--count-by: of a probe" '1 1 1 2 1 3 3 total' "$(rows "$dir/got" 'probed:factorial: n')"
expect "--count-by: names of all" '6 "factorial" 2 "handle" 8 total' "$(rows "$dir/got" name)"
expect "--hist: times and results of returns" 2 "$(grep -c '^ *total  *3$' "$dir/got")"
has "--hist: a time" "$dir/got" '^ *[0-9.]*[num]*s  *[0-9.]*[num]*s  *[123] @'
"$espy" record -o "$dir/t.espy" "$@" "$probed" >"$dir/err" 2>&1
"$espy" show --count-by 'probed:factorial: n' "$dir/t.espy" >"$dir/got" 2>&1
expect "show --count-by" '1 1 1 2 1 3 3 total' "$(rows "$dir/got" 'probed:factorial: n')"
trace --count-by 'probed:factorial: n' "$probed" >"$dir/got"
has "a probe that nothing selects" "$dir/got" "nothing selects 'probed:factorial': a mark is selected by -m, a probe by -u or -K$"

# ---- in the kernel: no events are sent, and the tables are those of a recording
records() { # FILE: how many records there were
	sed -n 's/.*source bpf: \([0-9]*\) records.*/\1/p' "$1"
}
# same_tables NAME WHO TALLY... : WHO is kernel or espy, which counts
same_tables() {
	name=$1 who=$2
	shift 2
	trace --stats "$@" "$probed" storm 1000 >"$dir/live"
	"$espy" show "$@" "$dir/s.espy" >"$dir/shown" 2>&1
	sed '/^espy: /d' "$dir/live" >"$dir/tables"
	expect "$name: as from a recording" "$(cat "$dir/shown")" "$(cat "$dir/tables")"
	if [ "$who" = kernel ]; then
		expect "$name: no event is sent" less "$([ "$(records "$dir/live")" -lt 100 ] && echo less)"
	else
		expect "$name: events are sent" more "$([ "$(records "$dir/live")" -ge 1000 ] && echo more)"
	fi
}
storm='probed:storm(i=$arg1:s64, bad=+0($arg1):u32)'
"$espy" record --force -o "$dir/s.espy" -u "$storm" -u 'probed:factorial(n=$arg1:d)' "$probed" storm 1000 >"$dir/err" 2>&1 || cat "$dir/err"
set -- -u "$storm" -u 'probed:factorial(n=$arg1:d)'
same_tables "values" kernel "$@" --count-by 'probed:storm: i' --top 5
same_tables "powers of two" kernel "$@" --hist 'probed:storm: i' --hist n
same_tables "values that cannot be read" kernel "$@" --count-by bad --hist bad
same_tables "of some probes" kernel "$@" --count-by n --hist 'probed:fact*: n'
same_tables "a text" espy "$@" --count-by name
same_tables "five tallies" espy "$@" --count-by i --count-by n --hist i --hist n --count-by bad
trace --stats -u "$storm if i >= 10 && i < 13 || i == 999" --count-by i "$probed" storm 1000 >"$dir/got"
expect "a condition in the kernel" '1 10 1 11 1 12 1 999 4 total' "$(rows "$dir/got" i)"
expect "a condition in the kernel: no event is sent" less "$([ "$(records "$dir/got")" -lt 100 ] && echo less)"
trace --stats -u "$storm" -u 'probed:factorial%return' --hist duration --count-by pid "$probed" storm 1000 >"$dir/got"
expect "times and processes: no event is sent" less "$([ "$(records "$dir/got")" -lt 100 ] && echo less)"
has "times" "$dir/got" '^ *total  *3$'
has "processes" "$dir/got" ' 1003 total$'
trace -c --stats -u "$storm" -u 'probed:factorial%return' "$probed" storm 1000 >"$dir/got"
expect "-c: hits and times in the kernel" '3 probed:factorial%return timed 1000 probed:storm - 1003 total timed ' "$(counts "$dir/got")"
has "-c: no program runs at calls" "$dir/got" '^espy: source bpf: no program runs at calls$'
expect "-c: no event is sent" less "$([ "$(records "$dir/got")" -lt 100 ] && echo less)"
trace -c --json -u 'probed:factorial%return' "$probed" | sed -n 's/.*"summary_probe".*total_time":\([0-9]*\),"min_time":\([0-9]*\),"max_time":\([0-9]*\).*/\1 \2 \3/p' >"$dir/got"
expect "-c: the least, the longest and the sum" ordered \
	"$(awk '$2 > 0 && $2 <= $3 && $2 + $3 < $1 && $1 <= $2 + 2 * $3 { print "ordered" }' "$dir/got")"
"$espy" record --stats --force -o "$dir/r.espy" -u "$storm" "$probed" storm 10 >"$dir/got" 2>&1
has "record of probes alone: no program runs at calls" "$dir/got" '^espy: source bpf: no program runs at calls$'
trace --stats -e trace=getppid -u "$storm" --hist i --count-by ret "$probed" storm 1000 >"$dir/got"
has "beside calls: the hits" "$dir/got" '^ *total  *1000$'
has "beside calls: the calls" "$dir/got" ' 1 total$'
finish
