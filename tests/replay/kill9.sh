# SPDX-License-Identifier: LGPL-2.1-or-later
# espy is killed with -9 at a random moment while it records, many times: what was written can be shown, the program runs on.
. "${0%/*}/lib.sh"
rounds=${ROUNDS:-12} workers=6

# It ends by itself: espy may be killed before the number of the program is known, and then nobody else ends it.
program='echo $$ >"$1"; exec dd if=/dev/zero of=/dev/null bs=1 count=1500000 2>/dev/null'
runs() { # or has ended
	[ ! -e "/proc/$1" ] || grep -q '^State:.[RZX]' "/proc/$1/status"
}

# One round: NUMBER, in a directory of its own. What was found goes to the file `found` there, a word and the rest in a line.
round() {
	rm -f t
	delay=$(awk -v seed="$1$$" -v odd=$(($1 % 2)) 'BEGIN { srand(seed); printf "%.3f", rand() * (odd ? 0.15 : 0.35) }')
	"$espy" record -q --source="$source" -f -o t sh -c "$program" sh "pid.$1" &
	e=$!
	# One half from the start on, the other one from the first block of records on.
	[ $(($1 % 2)) = 0 ] || wait_for 60 has_block
	sleep "$delay" # sleeps: a moment of chance
	kill -9 $e
	wait $e 2>/dev/null
	if [ -s "pid.$1" ]; then
		pid=$(cat "pid.$1")
		wait_for 60 runs "$pid" || echo "hung after $delay: $(state "$pid")" >>found
		kill -9 "$pid" 2>/dev/null
	fi
	[ -s t ] || return # it had not begun
	echo begun >>found
	timeout 60 "$espy" show t >text 2>err
	st=$?
	[ -s text ] && echo shown >>found
	! grep -q descriptions err || echo "harm after $delay: $(grep descriptions err)" >>found # each block stands behind its own
	[ $st -le 1 ] || echo "harm after $delay: status $st: $(head -n 1 err)" >>found
}
has_block() {
	[ "$(stat -c %s t)" -gt 20000 ] # more than descriptions of its calls
}
w=0
while [ $w -lt $workers ]; do
	mkdir "$dir/$w"
	(
		cd "$dir/$w" || exit 1
		i=$w
		while [ $i -lt "$rounds" ]; do
			round $i
			echo round >>found
			i=$((i + workers))
		done
	) &
	w=$((w + 1))
done
wait
cat "$dir"/[0-9]*/found >"$dir/found"
of() {
	grep -c "^$1" "$dir/found"
}
expect "rounds" "$rounds" "$(of round)"
for pid in $(cat "$dir"/[0-9]*/pid.*); do
	wait_for 60 test ! -e "/proc/$pid" || not_ok "$pid is left: $(state "$pid")"
	kill -9 "$pid" 2>/dev/null
done
expect "killed $rounds times: every trace can be opened" "" "$(grep '^harm' "$dir/found")"
expect "killed $rounds times: the program runs on" "" "$(grep '^hung' "$dir/found")"
[ "$(of shown)" -ge $((rounds / 3)) ] && ok "text was there in $(of shown) of $(of begun) that had begun" ||
	not_ok "text was there in $(of shown) of $(of begun) that had begun: too few to be a test"
finish
