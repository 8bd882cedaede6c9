# SPDX-License-Identifier: LGPL-2.1-or-later
# espy is killed with -9 while it records: what was written can be shown. ROUNDS=200 for as many as the issue asks.
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS:-15}
i=0 harm='' shown=0 hung='' begun=0
while [ $i -lt "$rounds" ]; do
	i=$((i + 1))
	rm -f "$dir/t" "$dir/pid"
	delay=$(awk -v seed="$i$$" 'BEGIN { srand(seed); printf "%.3f", rand() * 2 }')
	"$espy" record -q --source="$source" -f -o "$dir/t" sh -c 'echo $$ >"$1"; exec dd if=/dev/zero of=/dev/null bs=1 2>/dev/null' sh "$dir/pid" &
	e=$!
	sleep "$delay"
	kill -9 $e
	wait $e 2>/dev/null
	if [ -s "$dir/pid" ]; then
		pid=$(cat "$dir/pid")
		wait_for 30 grep -q '^State:.R' "/proc/$pid/status" || hung="$hung round $i after $delay: $(state "$pid");"
		kill -9 "$pid"
	fi
	[ -s "$dir/t" ] || continue # it had not begun
	begun=$((begun + 1))
	timeout 60 "$espy" show "$dir/t" >"$dir/text" 2>"$dir/err"
	st=$?
	[ -s "$dir/text" ] && shown=$((shown + 1))
	case $st in
	0 | 1) ;;
	*) harm="$harm round $i after $delay: status $st: $(head -n 1 "$dir/err");" ;;
	esac
done
expect "killed $rounds times: every trace can be opened" "" "$harm"
expect "killed $rounds times: the program runs on" "" "$hung"
[ $shown -gt 0 ] && ok "text was there in $shown of $begun that had begun" || not_ok "no round left any text"
finish
