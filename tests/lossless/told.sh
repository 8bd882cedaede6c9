# SPDX-License-Identifier: LGPL-2.1-or-later
# What is told of pauses and losses: while espy records, at its end, by trace, and by whoever shows the trace.
. "$(dirname "$0")/../trouble/lib.sh"
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }
pauses='[1-9][0-9]* pauses*, [0-9.]* ms in all, [0-9.]* ms at most; [23] tasks held: [0-9]* ([0-9]*, [0-9.]* ms), [0-9]* ([0-9]*, [0-9.]* ms)'
n=6000
two="'$progs/make_calls' $n & '$progs/make_calls' $n & wait"

# A trace of calls that are all alike compresses to nothing, and no reader of it is slow: none is compressed here.
# Without a terminal: what there is to say at the end, and that tasks are held while they are.
while_held='the traced program outruns espy: tasks were held [0-9]* times* so far (--lossless, --max-hold)'
"$espy" record --source=bpf -f --compress=none --buffer 1M -o /dev/fd/3 sh -c "$two" 2>"$dir/err" 3>&1 >/dev/null | "$progs/slow_reader" "$dir/t"
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

"$espy" record --source=bpf -f --compress=none --lossless=never --buffer 1M -o /dev/fd/3 sh -c "$two" 2>"$dir/err" 3>&1 >/dev/null | "$progs/slow_reader" "$dir/t"
lost=$(sed -n 's/^espy: \([0-9]*\) events lost: no room.*/\1/p' "$dir/err")
has "record, not lossless: the last line" "$dir/err" "^espy: /dev/fd/3: .* MB in 1 file, $lost lost, 0 pauses\$"

trace -f --buffer 1M -o "|$progs/slow_reader '$dir/slow'" sh -c "$two" 2>"$dir/err"
has "trace: told while it happens" "$dir/err" "^espy: $while_held\$"
expect "trace: else one line" 1 "$(grep -v "$cut" "$dir/err" | grep -vc "$while_held")"
has "trace: pauses" "$dir/err" "^espy: $pauses"

# On a terminal: one line, written again and again.
command -v script >/dev/null || { echo "no script(1): no terminal"; finish; }
script -qec "sh -c \"'$espy' record --source=bpf -f --compress=none --buffer 1M -o /dev/fd/3 sh -c \\\"$two; sleep 3\\\" 3>&1 >/dev/null | '$progs/slow_reader' '$dir/t'\"" /dev/null </dev/null >"$dir/tty"
tr '\r' '\n' <"$dir/tty" | grep '^[0-9]*:[0-9][0-9]  [0-9]* calls  [0-9.]* MB  [0-9]* lost  [0-9]* paused ' >"$dir/lines"
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
