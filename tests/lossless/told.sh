# SPDX-License-Identifier: LGPL-2.1-or-later
# What is told of pauses and losses: while espy records, at its end, by trace, and by whoever shows the trace. ROUNDS: thousands of calls.
. "${0%/*}/../trouble/lib.sh"
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }
pauses='[1-9][0-9]* pauses*, [0-9.]* ms in all, [0-9.]* ms at most; [23] tasks held: [0-9]* ([0-9]*, [0-9.]* ms), [0-9]* ([0-9]*, [0-9.]* ms)'
# Each makes more calls than find room in the ring and in the block of a trace that nobody takes (1 + 2 MB), and they begin together: else one
# could be done before the other has begun, and two are never held.
n=$((${ROUNDS:-8} * 1000))
two="'$progs/make_calls' $n '$dir/one' '$dir/two' & '$progs/make_calls' $n '$dir/two' '$dir/one' & wait"

# A trace of calls that are all alike compresses to nothing, and no reader of it is slow: none is compressed here.
# Without a terminal: what there is to say at the end, and that tasks are held while they are.
while_held='the traced program outruns espy: tasks were held [0-9]* times* so far (--lossless, --max-hold)'
mkfifo "$dir/pipe"
record() { # OPTIONS... : into a pipe that nobody empties before $event
	rm -f "$dir/go" "$dir"/one* "$dir"/two*
	"$progs/slow_reader" "$dir/t" "$dir/go" <"$dir/pipe" &
	reader=$!
	"$espy" record --source=bpf -f --compress=none --buffer 1M "$@" -o /dev/fd/3 sh -c "$two" 2>"$dir/err" 3>"$dir/pipe" >/dev/null &
	job=$!
	wait_for 60 "$event" || not_ok "$*: nobody outruns espy: $(cat "$dir/err")"
	: >"$dir/go"
	wait $job $reader
}
both_held() {
	held_below $job 2
}
both_done() {
	[ -e "$dir/one" ] && [ -e "$dir/two" ]
}
event=both_held
record
has "record: told while it happens" "$dir/err" "^espy: $while_held\$"
cut='of them ended before there was room, after 10 ms (--max-hold)'
expect "record: else two lines" 2 "$(grep -v "$cut" "$dir/err" | grep -vc "$while_held")"
has "record: pauses" "$dir/err" "^espy: $pauses"
sum=$(sed -n 's/^espy: \([0-9]*\) pauses*, .*/\1/p' "$dir/err")
has "record: the last line" "$dir/err" "^espy: /dev/fd/3: [0-9]* calls, [0-9]* records, [0-9.]* MB in 1 file, 0 lost, $sum pauses*\$"
"$espy" show "$dir/t" >"$dir/text" 2>"$dir/said"
expect "show: all calls" $((2 * n)) "$(grep -c 'writev(' "$dir/text")"
expect "show: the same pauses" "$(grep ' tasks held: ' "$dir/err")" "$(cat "$dir/said")"
each=$(sed 's/.* held: //; s/[0-9]* (\([0-9]*\), [^)]*)/\1/g; s/, /+/g' "$dir/said" | awk -F+ '{ print $1 + $2 + $3 }')
expect "the pauses of the tasks add up" "$sum" "$each"

event=both_done
record --lossless=never
lost=$(sed -n 's/^espy: \([0-9]*\) events lost: no room.*/\1/p' "$dir/err")
has "record, not lossless: the last line" "$dir/err" "^espy: /dev/fd/3: .* MB in 1 file, $lost lost, 0 pauses\$"

rm -f "$dir/go" "$dir"/one* "$dir"/two*
trace_bg -f --buffer 1M -o "|$progs/slow_reader '$dir/slow' '$dir/go'" sh -c "$two" 2>"$dir/err" &
job=$!
wait_for 60 both_held || not_ok "trace: nobody outruns espy: $(cat "$dir/err")"
: >"$dir/go"
wait $job
has "trace: told while it happens" "$dir/err" "^espy: $while_held\$"
expect "trace: else one line" 1 "$(grep -v "$cut" "$dir/err" | grep -vc "$while_held")"
has "trace: pauses" "$dir/err" "^espy: $pauses"

# On a terminal: one line, written again and again.
command -v script >/dev/null || { echo "no script(1): no terminal"; finish; }
# The program ends when a line has it all: when two of them say the same of calls and pauses.
lines() {
	awk 'BEGIN { RS = "[\r\n]" } /^[0-9]+:[0-9][0-9]  [0-9]+ calls  [0-9.]+ MB  [0-9]+ lost  [0-9]+ paused /' "$dir/tty" >"$dir/lines"
}
has_all() {
	lines
	awk -v n=$((12 * n)) '{ before = said; said = $2 > n ? $2 " " $8 : "" } END { exit !(said != "" && said == before) }' "$dir/lines"
}
rm -f "$dir/go" "$dir"/one* "$dir"/two*
mkfifo "$dir/end"
exec 8<>"$dir/end"
cat >"$dir/on_tty.sh" <<END
'$espy' record --source=bpf -f --compress=none --buffer 1M -o /dev/fd/3 sh -c "$two; read -r line <'$dir/end'" 3>&1 >/dev/null | '$progs/slow_reader' '$dir/t' '$dir/go'
END
script -qfec "sh '$dir/on_tty.sh'" /dev/null </dev/null >"$dir/tty" &
job=$!
wait_for 60 both_held || not_ok "on a terminal: nobody outruns espy: $(cat "$dir/tty")"
: >"$dir/go"
wait_for 60 has_all || not_ok "no progress line has it all: $(tail -n 2 "$dir/lines")"
echo >&8
wait $job
lines
[ -s "$dir/lines" ] && ok "a progress line" || { not_ok "no progress line:"; head -c 500 "$dir/tty"; }
sum=$(sed -n 's/.*espy: \([0-9]*\) pauses*, .*/\1/p' "$dir/tty")
# The last one came behind the last call: it has them all.
calls=$(sed -n 's/.*espy: \/dev\/fd\/3: \([0-9]*\) calls, .*/\1/p' "$dir/tty")
tail -n 1 "$dir/lines" >"$dir/last"
has "progress: losses and pauses" "$dir/last" "  0 lost  $sum paused"
[ "$(awk '{ print $2 }' "$dir/last")" -gt $((12 * n)) ] && [ "$(awk '{ print $2 }' "$dir/last")" -le "$calls" ] && ok "progress: calls" ||
	not_ok "progress: of $calls calls $(cat "$dir/last")"
hasnt "progress: gone at the end" "$dir/tty" 'paused [^\r]*espy: -:'
finish
