# SPDX-License-Identifier: LGPL-2.1-or-later
# Where a trace goes: names, modes, full disks, limits, pipes. ROUNDS: how often a recording ends beside programs that make calls.
. "${0%/*}/lib.sh"
record -q -o "$dir/t" true
expect "mode of a trace" 600 "$(stat -c %a "$dir/t")"
cp "$dir/t" "$dir/t0"
record -q -o "$dir/t" true 2>"$dir/err"
expect "it exists: exit status" 1 $?
has "it exists: said" "$dir/err" "exists: --force"
same "it exists: untouched" "$dir/t0" "$dir/t"
(umask 0; record -q --force -o "$dir/t" echo hello >/dev/null)
expect "--force" 0 $?
show "$dir/t" >"$dir/text"
has "--force: the new one" "$dir/text" 'write(1, "hello\\n", 6)'
expect "mode of a trace that replaces one, without umask" 600 "$(stat -c %a "$dir/t")"
record -q -o "$dir/no/such/dir/t" true 2>"$dir/err"
expect "no such directory: exit status" 1 $?
has "no such directory: said" "$dir/err" 'No such file or directory'
record -q -o "$dir/nothing" /no/such/program 2>"$dir/err"
record -q -o "$dir/nothing" "$dir/t" 2>>"$dir/err"
record -q --rotate 1M -o "$dir/nothing" -p 2147483646 2>>"$dir/err"
expect "nothing was watched: no file is left" "" "$(ls "$dir" | grep nothing)"
(cd "$dir" && record -q true && show espy.trace >text2)
has "without -o: espy.trace" "$dir/text2" 'exited with 0'

# pipes
record -q -o /dev/fd/3 sh -c 'echo hello' 3>&1 >/dev/null | show - >"$dir/text"
has "through a pipe" "$dir/text" 'write(1, "hello\\n", 6)'
record -o /dev/fd/3 dd if=/dev/zero of=/dev/null bs=1 count=60000 2>"$dir/err" 3>&1 >/dev/null | head -c 20000 >/dev/null
has "a pipe that is closed: said" "$dir/err" 'Broken pipe'
has "a pipe that is closed: the program runs on" "$dir/err" '60000 bytes'

# a full disk, a file-size limit: as much as fits reads. One block fits (2 MB, of which less than half are left), a second one does not.
much="dd if=/dev/urandom of=/dev/null bs=512 count=5000"
if mkdir "$dir/small" && mount -t tmpfs -o size=1200k tmpfs "$dir/small" 2>/dev/null; then
	record -s 512 -o "$dir/small/t" $much 2>"$dir/err"
	expect "full disk: exit status" 1 $?
	has "full disk: said" "$dir/err" 'No space left on device'
	has "full disk: the program runs on" "$dir/err" '5000+0 records'
	show "$dir/small/t" >"$dir/text" 2>"$dir/err"
	expect "full disk: status of show" 1 $?
	[ "$(wc -l <"$dir/text")" -gt 1000 ] && ok "full disk: $(wc -l <"$dir/text") lines can be shown" || not_ok "full disk: $(wc -l <"$dir/text") lines"
	has "full disk: show tells that it did not end" "$dir/err" 'did not end in order, at offset [0-9]'
	umount -l "$dir/small"
else
	echo "no tmpfs to fill: left out"
fi
(ulimit -f 2400; exec "$espy" record --source="$source" -s 512 -o "$dir/lim" $much 2>"$dir/err")
expect "file-size limit: exit status" 1 $?
has "file-size limit: said" "$dir/err" 'File too large'
has "file-size limit: the program runs on" "$dir/err" '5000+0 records'
show "$dir/lim" >"$dir/text" 2>"$dir/err"
[ "$(wc -l <"$dir/text")" -gt 1000 ] && ok "file-size limit: $(wc -l <"$dir/text") lines can be shown" || not_ok "file-size limit: $(wc -l <"$dir/text") lines"
(ulimit -f 1600; exec "$espy" record -q -e trace=execve --source="$source" -o "$dir/lim2" sh -c 'head -c 2000000 /dev/zero >"$0"; echo $? >"$1"' "$dir/zeros" "$dir/st" 2>/dev/null)
expect "a limit of the program's own still kills it" 153 "$(cat "$dir/st")"

# a directory in which nothing may be written: root may, so somebody else tries
mkdir "$dir/ro" && chmod 555 "$dir/ro"
if [ "$(id -u)" = 0 ] && [ "$source" = ptrace ] && setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null && chmod 755 "$dir" &&
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$espy"; then
	setpriv --reuid=65534 --regid=65534 --clear-groups "$espy" record --source=ptrace -o "$dir/ro/t" true 2>"$dir/err"
	expect "a directory without permission: exit status" 1 $?
	has "a directory without permission: said" "$dir/err" 'Permission denied'
	chmod 755 "$dir/ro"
fi

# Descriptions are written when the first task is watched.
begun() {
	[ "$(stat -c %s "$1")" -gt 1000 ]
}

grows() { # behind its descriptions
	[ "$(stat -c %s "$1")" -gt 20000 ]
}
# ^C ends it in order; the program runs on
"$espy" record --source="$source" -o "$dir/int" -p $$ 2>"$dir/err" &
e=$!
wait_for 60 begun "$dir/int"
i=0; while [ $i -lt 50 ]; do : <"$0"; i=$((i + 1)); done
kill -INT $e
wait $e
show "$dir/int" >"$dir/text" 2>"$dir/err"
expect "interrupted: the trace ended in order" 0 "$?$(wc -c <"$dir/err" | sed 's/^0$//')"
sed "s/^/# /" "$dir/err"
has "interrupted: it has what was done" "$dir/text" 'openat('

# The same while many make calls: one that stands is let go of before the last look at it, which is nothing to be told.
spin=
for i in 1 2; do
	"$progs/spin_calls" "$dir/spin.$i" >/dev/null &
	spin="$spin $!"
done
for i in $(seq "${ROUNDS:-1}"); do
	rm -f "$dir/int"
	"$espy" record -q --source="$source" -o "$dir/int" -p "$(echo $spin | tr ' ' ,)" 2>"$dir/err" &
	e=$!
	wait_for 60 grows "$dir/int" || not_ok "interrupted while calls are made, $i: nothing is written"
	kill -INT $e
	wait $e
	show "$dir/int" 2>>"$dir/err" >/dev/null
	expect "interrupted while calls are made, $i" "0" "$?$(cat "$dir/err")"
done
kill $spin

# two recordings of one task (only one can stop it)
if [ "$source" = bpf ]; then
	"$espy" record --source=bpf -o "$dir/one" -p $$ 2>"$dir/err1" &
	a=$!
	"$espy" record --source=bpf -o "$dir/two" -p $$ 2>"$dir/err2" &
	b=$!
	wait_for 60 begun "$dir/one"
	wait_for 60 begun "$dir/two"
	i=0; while [ $i -lt 50 ]; do : <"$0"; i=$((i + 1)); done
	kill -INT $a $b
	wait $a $b
	for t in one two; do
		show -e trace=openat "$dir/$t" | grep -c "$(basename "$0")" >"$dir/n"
		expect "two recordings of one task: $t" 50 "$(cat "$dir/n")"
	done
fi
finish
