# SPDX-License-Identifier: LGPL-2.1-or-later
# Nothing is lost: not from the first call on, not with thousands of threads, not with records as long as the buffer has room
# for few of. A buffer that cannot hold one record is refused. ROUNDS: each thread makes a hundred calls, not thirty.
. "${0%/*}/../trouble/lib.sh"
"$espy" doctor >"$dir/doctor"
grep -q 'yes *holds tasks' "$dir/doctor" || { echo "SKIP: $(grep 'holds tasks' "$dir/doctor")"; exit 77; }
record() { # CALLS OPTIONS... : all of them are there
	want=$1
	shift
	"$espy" record --source=bpf $rings --force -f -e trace=write -o "$dir/t" "$@" 2>"$dir/err"
	expect "$*: status" 0 $?
	expect "$*: all calls" "$want" "$("$espy" show "$dir/t" 2>/dev/null | grep -c 'write([0-9]*, "x*"\.*, [0-9]*) *= [0-9]*$')"
	has "$*: none lost" "$dir/err" ', 0 lost, '
}
each=${ROUNDS:+100}
each=${each:-30}
record $((2000 * each)) "$progs/burst" 2000 $each 10
record $((2000 * each)) --lossless=always --buffer 4M "$progs/burst" 2000 $each 10
record 4000 --lossless=always -s 60000 "$progs/burst" 400 10 60000

"$espy" trace --source=bpf $rings --buffer 8K -o "$dir/out" true 2>"$dir/err"
expect "too small for a record: status" 1 $?
has "too small for a record: said, with the least" "$dir/err" 'a buffer of [0-9]* KB cannot hold the longest record of these calls: --buffer=[0-9]*K is the least'
least=$(sed -n 's/.*--buffer=\([0-9]*K\) is the least.*/\1/p' "$dir/err")
trace --buffer "$least" -o "$dir/out" true 2>"$dir/err" && ok "the least will do" || not_ok "the least will not do: $(cat "$dir/err")"
finish
