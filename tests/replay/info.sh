# SPDX-License-Identifier: LGPL-2.1-or-later
# What espy info says of a trace: what the recorder said of it, and what show finds in it.
. "${0%/*}/lib.sh"
info() {
	"$espy" info "$@"
}
row() { # FILE NAME: the value of a line of info
	sed -n "s/^$2: //p" "$1"
}
value() { # KEY: a number or word of $dir/json
	sed -n "s/.*\"$1\":\"*\\([^,\"}]*\\).*/\\1/p" "$dir/json"
}

record -f -o "$dir/t" sh "$dir/work.sh" 3 2>"$dir/err"
said=$(sed -n 's/^espy: .*: \([0-9]*\) calls, \([0-9]*\) records, .* in 1 file, 0 lost, .*/\1 \2/p' "$dir/err")
info "$dir/t" >"$dir/text"
expect "status" 0 $?
expect "calls, as the recorder said" "${said% *}" "$(row "$dir/text" calls)"
has "records and size" "$dir/text" "^size: ${said#* } records, $(stat -c %s "$dir/t") bytes in 1 file\$"
show "$dir/t" >"$dir/shown" 2>/dev/null
# The source bpf records a child's return from fork as a call; in the text it is part of its parent's line.
returns=0
[ "$source" = ptrace ] || returns=$(($(row "$dir/text" tasks) - 1))
expect "calls, as show counts them" "$(grep -cE '\) += |resumed>.*= ' "$dir/shown")" $(($(row "$dir/text" calls) - returns))
expect "signals" "$(grep -c -- '--- SIG' "$dir/shown")" "$(row "$dir/text" signals)"
expect "tasks" "$(grep -c '+++ exited' "$dir/shown")" "$(row "$dir/text" tasks)"
has "host" "$dir/text" "^host: $(uname -n), Linux $(uname -r) $(uname -m), [0-9]* CPU"
expect "command" "sh $dir/work.sh 3" "$(row "$dir/text" command)"
expect "end" "the program ended with status 0" "$(row "$dir/text" end)"
expect "lost" nothing "$(row "$dir/text" lost)"
has "source" "$dir/text" "^source: $source"
start=$(row "$dir/text" start)
age=$(($(date +%s) - $(date -d "$start" +%s)))
[ $age -ge 0 ] && [ $age -lt 600 ] && ok "start: $start" || not_ok "start: $start, $age s ago"

info --json "$dir/t" >"$dir/json"
expect "--json: one line" 1 "$(wc -l <"$dir/json")"
expect "--json: calls" "${said% *}" "$(value calls)"
expect "--json: kernel" "$(uname -r)" "$(value kernel)"
has "--json: command" "$dir/json" "\"command\":\[\"sh\",\"$dir/work.sh\",\"3\"\]"
has "--json: end" "$dir/json" '"finished":true,"program_end":{"exit":0}'
if command -v python3 >/dev/null; then
	info --json "$dir/t" "$dir/t" | python3 -c 'import json, sys
for line in sys.stdin: o = json.loads(line); assert o["calls"] > 0 and o["lost"] == 0 and o["host"]'
	expect "--json: another program reads it" 0 $?
fi

# Words with blanks and quotes, a program that is killed, a time zone, a selection.
TZ=Asia/Kolkata record -e trace=%process -P /no/such -o "$dir/k" sh -c 'kill -9 $$ # it'"'"'s' 2>/dev/null
info "$dir/k" >"$dir/text"
expect "words are quoted" "sh -c 'kill -9 \$\$ # it'\\''s'" "$(row "$dir/text" command)"
expect "a killed program" "signal 9 killed the program" "$(row "$dir/text" end)"
expect "what was selected" "'-etrace=%process' -P/no/such" "$(row "$dir/text" selected | sed "s/^-etrace=%process/'&'/")"
has "the time zone of the recorder" "$dir/text" '^start: .* +0530$'
# A name that would obey on a terminal.
record -o "$dir/e" sh -c ': "$0"' "$(printf 'a\033[31mb\377')" 2>/dev/null
info "$dir/e" >"$dir/text"
expect "no control character" 0 "$(LC_ALL=C tr -d '\n\040-\176' <"$dir/text" | wc -c)"
info --json "$dir/e" >"$dir/json"
expect "--json: no control character" 0 "$(LC_ALL=C tr -d '\n\040-\176' <"$dir/json" | wc -c)"

# A process by number, let go of.
sleep 600 &
sleeper=$!
"$espy" record --source="$source" -o "$dir/p" -p $sleeper 2>"$dir/err" &
recorder=$!
begun() { [ -s "$dir/p" ]; }
wait_for 60 begun || not_ok "no trace"
kill -INT $recorder
wait $recorder
info "$dir/p" >"$dir/text"
expect "a process by number" "1 process by number" "$(row "$dir/text" watched | sed 's/,.*//')"
kill $sleeper

# A set of which the oldest files are gone; standard input; what is cut off, or no trace at all.
record --rotate 20k --keep 2 --compress=none -o "$dir/set" dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null
info "$dir/set" >"$dir/text"
expect "a set: files and their size" "$(cat "$dir"/set.* | wc -c) bytes in 2 files" "$(row "$dir/text" size | sed 's/.*records, //')"
info - <"$dir/t" >"$dir/text"
expect "standard input" "${said% *} calls, $(stat -c %s "$dir/t") bytes" \
	"$(row "$dir/text" calls) calls, $(row "$dir/text" size | sed 's/.*records, \(.* bytes\).*/\1/')"
head -c 4000 "$dir/t" >"$dir/cut"
info "$dir/cut" >"$dir/text" 2>"$dir/err"
expect "cut off: status" 1 $?
has "cut off: said" "$dir/text" '^end: the recording did not end in order, at offset [0-9]'
info "$0" >"$dir/text" 2>"$dir/err"
expect "no trace: status" 1 $?
expect "no trace: nothing is said of it" "" "$(cat "$dir/text")"
info >"$dir/text" 2>"$dir/err"
expect "no name: status" 1 $?

# Losses, by reason: as the recorder counts them.
if [ "$source" = bpf ]; then
	record -q --lossless=never --buffer 64k -o "$dir/lossy" dd if=/dev/zero of=/dev/null bs=1 count=60000 2>"$dir/err"
	sed -n 's/^espy: \([0-9]* events* lost: .*\)/\1/p' "$dir/err" | sort >"$dir/want"
	info "$dir/lossy" | sed -n 's/^lost: //p' | sed 's/ events*:/ events lost:/; s/^nothing$//; /^$/d' | sort >"$dir/have"
	sed -i 's/ events* lost:/ events lost:/' "$dir/want"
	same "losses" "$dir/want" "$dir/have"
	[ -s "$dir/want" ] || echo "# nothing was lost: espy kept up"
fi
finish
