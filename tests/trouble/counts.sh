# SPDX-License-Identifier: LGPL-2.1-or-later
# Exact counts: what was seen + what was lost = what happened.
. "${0%/*}/lib.sh"

n=${ROUNDS:+2000}
n=${n:-1000}
[ "$source" = bpf ] && n=$((${ROUNDS:-10} * 1000))
lost_of() { # lines "+++ N events lost here"
	sed -n 's/^+++ \([0-9]*\) events* lost here.*/\1/p' "$1" | awk '{ s += $1 } END { print s + 0 }'
}

trace -o "$dir/out" "$progs/make_calls" $n 2>"$dir/err"
count() { # how often a line begins so
	grep -c "^$1" "$dir/out"
}
expect "$n x getppid" $n "$(count 'getppid() ')"
expect "$n x lseek" $n "$(count 'lseek([0-9]*, 4242, SEEK_SET) ')"
expect "$n x write" $n "$(count 'write([0-9]*, "marker", 6) ')"
expect "$n x fstat" $n "$(count 'fstat(4242, ')"
expect "$n x openat" $n "$(count 'openat(AT_FDCWD, "/nonexistent/marker", O_RDONLY) ')"
expect "$n x writev" $n "$(count 'writev([0-9]*, \[{iov_base="one", iov_len=3}, {iov_base="two", iov_len=3}, {iov_base="three", iov_len=5}\], 3) *= 11')"
hasnt "nothing lost" "$dir/out" 'lost here'

if [ "$source" = bpf ]; then
	# All records of a run that loses none; those of the life of the task are among them.
	records_of() {
		sed -n 's/.*: source bpf: \([0-9]*\) records.*/\1/p' "$1"
	}
	trace --stats -e trace=getppid -o "$dir/all" "$progs/make_calls" $n "$dir/whole" 2>"$dir/err"
	all=$(records_of "$dir/err")
	# A ring far too small and a reader that is slow: the text goes through a pipe that nobody empties before the program has ended.
	trace_bg --stats --lossless=never --buffer 64K -e trace=getppid -o "|$progs/slow_reader $dir/slow $dir/ended" "$progs/make_calls" $n "$dir/ended" 2>"$dir/err" &
	wait $!
	notes=$(grep -c 'lost here' "$dir/slow")
	lost=$(lost_of "$dir/slow")
	expect "small ring, slow reader: records seen + lost" "$all" $(($(records_of "$dir/err") - notes + lost))
	[ "$lost" -gt 0 ] && ok "some were lost ($lost), as was meant" || not_ok "none lost: the test tests nothing"
	sum=$(sed -n 's/.*: \([0-9]*\) events* lost: .*/\1/p' "$dir/err" | awk '{ s += $1 } END { print s + 0 }')
	expect "the sum at the end equals what stood in place" "$lost" "$sum"
fi

f=$((${ROUNDS:-2} * 100))
[ "$source" = bpf ] || [ "$f" -lt 300 ] || f=300
trace -f -q -e trace=exit_group -o "$dir/forks" "$progs/make_forks" $f
expect "$f children, none missed" $f "$(grep -c 'exit_group(3' "$dir/forks")"
expect "$f ends" $f "$(grep -c '+++ exited with 3 +++' "$dir/forks")"

trace -f -o "$dir/threads" "$progs/make_threads" 200 50
expect "200 threads x 50 calls" 10000 "$(grep -c ' getppid(' "$dir/threads")"

trace -c -o "$dir/c" "$progs/make_calls" $n
expect "-c counts getppid exactly" $n "$(awk '$NF == "getppid" { print $4 }' "$dir/c")"
# Without -w the time on the CPU counts, of which a call that sleeps takes little; also in the table behind the text.
for how in -c -C '-c -w' '-C -w'; do
	# shellcheck disable=SC2086 # words
	trace $how -U total_time,name -e trace=clock_nanosleep -o "$dir/c" sleep 0.5
	awk -v wall="${how#-[cC]}" '$NF == "clock_nanosleep" && NF == 2 { ok = (wall == "") == ($1 < 0.4) } END { exit !ok }' "$dir/c" &&
		ok "$how: the time of a call that sleeps" || not_ok "$how: the time of a call that sleeps: $(cat "$dir/c")"
done
trace -f -c -U calls,errors,name -o "$dir/c" "$progs/make_forks" $f
# one that SIGCHLD interrupts is begun again, and is an error (ERESTARTNOINTR)
expect "-f -c counts a fork once, not in the child as well" "$f" \
	"$(awk '$NF ~ /^(clone|clone3|fork|vfork)$/ { print $1 - (NF > 2 ? $2 : 0) }' "$dir/c")"
finish
