# SPDX-License-Identifier: LGPL-2.1-or-later
# What descriptors are, though the calls that made them are not shown, of a program that ends before anyone can look.
. "${0%/*}/lib.sh"
file=$dir/file
echo 'more than one byte' >"$file"
want="<$file>
<$file>
<$file>
<$file>
<pipe:[]>
<$file>
<$file>"
names() { # what reads of one byte name, inode numbers left out
	sed -n 's/^read([0-9]*\(<.*>\), "m\{0,1\}.*", 1) *= 1$/\1/p' "$1" | sed 's/\[[0-9]*\]/[]/'
}
for i in 1 2 3 4 5; do
	trace -y -e trace=read -o "$dir/out" "$progs/pass_fds" "$file"
	expect "run $i: each descriptor that is read has its name" "$want" "$(names "$dir/out")"
done
trace -v -y -e trace=read,recvmsg -o "$dir/out" "$progs/pass_fds" "$file"
expect "with the call that brought some" "$want" "$(names "$dir/out")"
expect "and there" 253 "$(grep '^recvmsg' "$dir/out" | grep -o "[0-9]<$file>" | wc -l)"
trace -e trace=read -P "$file" -o "$dir/out" "$progs/pass_fds" "$file"
expect "-P: reads of the file" 6 "$(grep -c '^read.* = 1$' "$dir/out")"
"$espy" record -q --source="$source" -e trace=read -o "$dir/t.espy" "$progs/pass_fds" "$file"
"$espy" show -y "$dir/t.espy" >"$dir/out"
expect "and from a trace" "$want" "$(names "$dir/out")"
# Processes that use descriptors of the same number by turns: each of these is told once, not at each turn.
if [ "$source" = bpf ]; then
	"$espy" record -q --force --source=bpf -f -o "$dir/t.espy" "$progs/relay" 4 500
	told=$("$espy" info "$dir/t.espy" | sed -n 's/^calls: \([0-9]*\).*/\1/p; s/^size: \([0-9]*\) records.*/\1/p' | tr '\n' ' ')
	expect "one number in four processes: fewer than 200 records beside ${told%% *} calls" yes \
		"$(echo "$told" | awk '{ print ($1 >= 6000 && $2 - $1 < 200 ? "yes" : "calls, records: " $0) }')"
fi
# A descriptor that the program takes out of another process, which is watched or not.
for follow in '' -f; do
	for calls in read pidfd_getfd,read; do
		trace $follow -y -e trace=$calls -o "$dir/out" "$progs/take_fd" "$file"
		has "pidfd_getfd ${follow:-alone}, $calls: the name of what was taken" "$dir/out" "read([0-9]*<$file>, \(\"m\", 1) *= 1\| <unfinished \.\.\.>\)\$"
	done
	has "pidfd_getfd ${follow:-alone}: its result" "$dir/out" "pidfd_getfd([0-9]*<anon_inode:\[pidfd\]>, 77<$file>, 0) = [0-9]*<$file>\$"
done
# A descriptor of another process has the name that it has there.
trace -f -y -e trace=kcmp -o "$dir/out" "$progs/other_fds"
has "kcmp: the descriptors of two processes" "$dir/out" 'kcmp([0-9]*, [0-9]*, KCMP_FILE, 77</dev/null>, 77</dev/zero>)'
finish
