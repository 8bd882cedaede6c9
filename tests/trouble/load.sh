# SPDX-License-Identifier: LGPL-2.1-or-later
# What loading costs: the kernel's verifier looks at few instructions, of which it keeps the number (Linux 5.16). Time would
# depend on the machine.
. "${0%/*}/lib.sh"
looked() { # MOST-OF-ONE MOST-OF-ALL NAME option...
	one=$1 all=$2 name=$3
	shift 3
	rm -f "$dir/go" "$dir/out"
	mkfifo "$dir/go"
	exec 9<>"$dir/go" # also for writing: nobody waits for a program that never began
	"$espy" "$@" -o "$dir/out" sh -c ": >'$dir/began'; read line <'$dir/go'" 2>"$dir/err" &
	tracer=$!
	wait_for 60 test -e "$dir/began"
	cat /proc/$tracer/fdinfo/* 2>/dev/null | sed -n 's/^verified_insns:[[:space:]]*//p' >"$dir/insns"
	echo go >&9
	wait $tracer
	rm -f "$dir/began"
	most=$(sort -n "$dir/insns" | tail -n 1)
	sum=$(awk '{ n += $1 } END { print n + 0 }' "$dir/insns")
	if [ ! -s "$dir/insns" ]; then
		echo "SKIP: this kernel does not say how much its verifier has looked at"
		exit 77
	elif [ "$most" -le "$one" ] && [ "$sum" -le "$all" ]; then
		ok "$name: $sum instructions, $most of one program"
	else
		not_ok "$name: $sum instructions looked at, $most of one program; budget $all and $one"
	fi
}
looked 10000 26000 "trace" trace
looked 10000 34000 "record" record -q --force
looked 18000 46000 "trace --where" trace --where 'path == "/espy/a/path"'
looked 10000 15000 "trace -u" trace -u libc:malloc
looked 10000 20000 "trace -u of a return" trace -u libc:malloc%return
finish
