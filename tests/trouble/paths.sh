# SPDX-License-Identifier: LGPL-2.1-or-later
# -P: every call that touches the path, by whatever name and descriptor, and no other: what is renamed has another path from then
# on. The kernel leaves out what touches nothing, where it can.
. "${0%/*}/lib.sh"
tab=$(printf '\t')
mkdir "$dir/d"
shown() { # the calls of a text, in order
	grep -v -e '^espy: ' -e resumed -e '+++' -e '---' "$1" | sed 's/^\[pid *[0-9]*\] *//; s/^[0-9]* *//; s/(.*//; s/newfstatat/stat/' | tr '\n' ' '
}
for name in plain 'qu"ote' "a${tab}tab" 'back\slash' 'ümlaut' '<angle>'; do
	rm -f "$dir/d/$name"
	trace -f -qq -P "$dir/d/$name" -o "$dir/out" "$progs/touch_path" "$dir/d" "$name"
	expect "made: $name" "openat write close dup2 close stat rename " "$(shown "$dir/out")"
done
: >"$dir/d/there"
trace -f -qq --stats -P "$dir/d/there" -o "$dir/out" "$progs/touch_path" "$dir/d" there 9<"$dir/d/there" 2>"$dir/err"
expect "inherited" "fcntl lseek openat write close dup2 close stat rename " "$(shown "$dir/out")"
if [ "$source" = bpf ]; then
	records=$(sed -n 's/^.*source bpf: \([0-9]*\) records.*/\1/p' "$dir/err")
	if [ "${records:-10000}" -lt 200 ]; then ok "$records records of 10000 calls"; else
		not_ok "the kernel sent ${records:-nothing} records of 10000 calls that touch nothing"
	fi
fi
: >"$dir/d/there"
trace -f -qq -y -P "$dir/d/there" -o "$dir/out" "$progs/touch_path" "$dir/d" there 9<"$dir/d/there"
expect "with -y" "fcntl lseek openat write close dup2 close stat rename " "$(shown "$dir/out")"
has "by name" "$dir/out" 'lseek(9<.*/d/there>, 0, SEEK_SET)'
# Among the descriptors of poll and select.
asked() {
	shown "$1" | sed 's/p*select6*/select/g'
}
: >"$dir/d/there"
trace -qq -P "$dir/d/there" -o "$dir/out" "$progs/ask_fds" "$dir/d/there"
expect "poll and select" "openat poll select poll select " "$(asked "$dir/out")"
trace -qq -e trace-fds=4 -e trace=poll,select,pselect6 -o "$dir/out" "$progs/ask_fds" "$dir/d/there"
expect "poll and select by number" "poll select poll select " "$(asked "$dir/out")"
trace -qq -e trace-fds='!3' -e trace=poll,select,pselect6,openat -o "$dir/out" "$progs/ask_fds" "$dir/d/there"
expect "all numbers but one: what is none does not count, nor does a result" "poll select poll select " "$(asked "$dir/out")"
# What it has left out is counted, and who tests what is told.
calls() { # FILE: calls in it
	grep -c '^[a-z_0-9]*(.* = ' "$1"
}
trace -qq -o "$dir/all" "$progs/make_calls" 1000
trace -qq --explain --stats -P /nonexistent/marker -o "$dir/out" "$progs/make_calls" 1000 2>"$dir/err"
expect "calls that touch it" 1000 "$(calls "$dir/out")"
kernel=$(sed -n 's/^espy: paths: the kernel left out \([0-9]*\) calls*, and .*/\1/p' "$dir/err")
here=$(sed -n 's/^espy: paths: \(.*and \)*espy \(left out \)*\([0-9]*\) of .*/\3/p' "$dir/err")
expect "shown and left out are all" "$(calls "$dir/all")" $(($(calls "$dir/out") + ${kernel:-0} + ${here:-0}))
if [ "$source" = bpf ]; then
	has "explained" "$dir/err" '^espy: paths: the kernel tests inodes and last components; espy tests whole paths of the calls that come$'
	[ "${kernel:-0}" -ge 5000 ] && ok "most were left out by the kernel" || not_ok "the kernel left out ${kernel:-none}"
else
	has "explained" "$dir/err" "^espy: paths: the source ptrace tests none; espy tests all calls that come\$"
fi
trace -qq --explain -e trace=openat,fstat -o "$dir/out" true 2>"$dir/err"
has "calls: explained" "$dir/err" "^espy: calls: 2 are chosen; the source $source passes over others"
# One that programs of 32 bits alone make, and one that all make.
trace -qq --explain -e trace=waitpid,openat -o "$dir/out" true 2>"$dir/err"
has "calls of other programs: explained" "$dir/err" "^espy: calls: 2 are chosen;"
trace -qq --explain -e trace=all -o "$dir/out" true 2>"$dir/err"
hasnt "calls without a name do not count" "$dir/err" "^espy: calls: 1024 "
finish
