# SPDX-License-Identifier: LGPL-2.1-or-later
# Behind the name of a traced program there is a FIFO by now: espy does not open it.
. "${0%/*}/lib.sh"
cp "$(command -v tail)" "$dir/program"
: >"$dir/followed"
"$dir/program" -f ---disable-inotify -s 0.02 "$dir/followed" &
program=$!
calls() {
	read -r call _ <"/proc/$program/syscall" && [ "$call" = 230 ]
}
wait_for 60 calls || not_ok "the program makes no calls"
# without NAME LINE ARGUMENTS...: espy shows or says such a line, and ends
without() {
	name=$1 line=$2
	shift 2
	rm -f "$dir/out" "$dir/err" "$dir/t"
	exec "$progs/fresh" "$espy" "$@" --source="$source" -p $program 2>"$dir/err" &
	job=$!
	says() {
		grep -q "$line" "$dir/out" "$dir/err" || { [ -s "$dir/t" ] && "$espy" show "$dir/t" | grep -q "$line"; }
	}
	wait_for 60 says && ok "$name: espy goes on" || not_ok "$name: espy waits: $(cat "$dir/err")"
	kill -INT $job 2>/dev/null
	wait_for 60 ended $job && ok "$name: espy ends" || { not_ok "$name: espy does not end"; kill -9 $job; }
	wait $job
	[ $? != 139 ] || not_ok "$name: espy crashes when it ends"
}
all() { # NAME
	without "$1, -k" 'clock_nanosleep(' trace -k -e trace=clock_nanosleep -o "$dir/out"
	without "$1, record -k" 'clock_nanosleep(' record -k -o "$dir/t"
	without "$1, -m" 'no such mark\|no thread of\|cannot be read' trace -m 'app:*' -e trace=none -o "$dir/out"
	[ "$source" = ptrace ] || without "$1, -u" 'program' trace -u program:main -e trace=none -o "$dir/out"
}
rm "$dir/program"
mkfifo "$dir/program"
# Whoever opens it to read lets this one go on.
sh -c 'echo >"$1/program"; : >"$1/opened"' sh "$dir" &
writer=$!
waits() {
	grep -q wait_for_partner "/proc/$writer/wchan"
}
wait_for 60 waits || not_ok "nobody waits for a reader: $(cat "/proc/$writer/wchan")"
all "a FIFO"
waits && [ ! -e "$dir/opened" ] && ok "the FIFO was not opened" || not_ok "the FIFO was opened"
kill $writer $program
wait $writer $program 2>/dev/null
finish
