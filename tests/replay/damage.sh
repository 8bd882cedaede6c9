# SPDX-License-Identifier: LGPL-2.1-or-later
# A trace that is cut off, or in which bits have flipped: no crash; exit status 1; the place is told; whole blocks are shown.
. "${0%/*}/lib.sh"
# ROUNDS: how many bits are flipped, and one more than the cuts that are made.
rounds=${ROUNDS:-15}
record -q -f -o "$dir/t" sh "$dir/work.sh" 8
show -f "$dir/t" >"$dir/whole" || not_ok "the trace shows"
size=$(wc -c <"$dir/t")

bad_cuts='' quiet='' i=1
while [ $i -lt $rounds ]; do
	head -c $((size * i / rounds)) "$dir/t" >"$dir/cut"
	show "$dir/cut" >"$dir/text" 2>"$dir/err"
	st=$?
	[ $st -eq 1 ] || bad_cuts="$bad_cuts $i:$st"
	grep -q 'offset\|did not end\|not a trace\|descriptions\|ends' "$dir/err" || quiet="$quiet $i"
	# what is shown is the beginning of the whole, but for a call that had not ended there
	sed '$d' "$dir/text" >"$dir/text1"
	head -c "$(wc -c <"$dir/text1")" "$dir/whole" | cmp -s - "$dir/text1" || not_ok "cut at $i/$rounds: other text"
	i=$((i + 1))
done
expect "$((rounds - 1)) cuts: exit status 1" "" "$bad_cuts"
expect "$((rounds - 1)) cuts: told" "" "$quiet"

# Larger, so that there are eight blocks of about equal size: all before the damage is shown, and two blocks may lie behind it.
record -q -o "$dir/big" dd if=/dev/zero of=/dev/null bs=1 count=$((60000 + rounds * 2000)) 2>/dev/null
show "$dir/big" >"$dir/whole"
size=$(wc -c <"$dir/big")
head -c $((size * 9 / 10)) "$dir/big" >"$dir/cut"
show "$dir/cut" >"$dir/text" 2>"$dir/err"
expect "nine tenths of a large trace: exit status" 1 $?
has "nine tenths: the offset is told" "$dir/err" 'offset [0-9]'
[ "$(wc -l <"$dir/text")" -gt $(($(wc -l <"$dir/whole") / 2)) ] && ok "nine tenths: more than half is shown" || not_ok "nine tenths: $(wc -l <"$dir/text") lines"
head -c $(($(wc -c <"$dir/text") - 200)) "$dir/whole" >"$dir/a"
head -c $(($(wc -c <"$dir/text") - 200)) "$dir/text" >"$dir/b"
same "nine tenths: it is the beginning" "$dir/a" "$dir/b"

crashed='' i=0 good=0
while [ $i -lt "$rounds" ]; do
	i=$((i + 1))
	cp "$dir/t" "$dir/flip"
	size=$(wc -c <"$dir/t")
	set -- $(awk -v seed="$i$$" -v n="$size" 'BEGIN { srand(seed); print int(rand() * n), int(rand() * 8) }')
	byte=$(od -An -tu1 -j "$1" -N 1 "$dir/t" | tr -d ' ')
	flipped=$((byte ^ (1 << $2)))
	printf "\\$(printf %o "$flipped")" | dd of="$dir/flip" bs=1 seek="$1" conv=notrunc 2>/dev/null
	timeout 60 "$espy" show "$dir/flip" >"$dir/text" 2>"$dir/err"
	st=$?
	case $st in
	1) ;;
	0) good=$((good + 1)) ;;
	*) crashed="$crashed byte $1 bit $2: $st;" ;;
	esac
done
expect "$rounds flipped bits: status is 1" "" "$crashed"
# A flip in what no reader looks at (a time of creation) may go unnoticed by status, nothing else may.
[ $good -le $((rounds / 10)) ] && ok "$rounds flipped bits: $good not noticed" || not_ok "$good of $rounds flips were not noticed"
finish
