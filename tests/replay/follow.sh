# SPDX-License-Identifier: LGPL-2.1-or-later
# show -F while it is being written; sets of files; other places.
. "${0%/*}/lib.sh"
# -F ends when the recording ends, and has then all of it.
mkfifo "$dir/go"
exec 8<>"$dir/go"
go() { # the program that waits goes on
	echo >&8
}
# is_there FILE PATTERN: a block that shows it has been written
is_there() {
	show "$1" | grep -q "$2"
}
"$espy" record -q --source="$source" -f -o "$dir/t" sh -c 'i=0; while [ $i -lt 30 ]; do cat /etc/passwd >/dev/null; [ $i != 20 ] || read -r line; i=$((i + 1)); done' <"$dir/go" &
e=$!
wait_for 60 test -s "$dir/t"
timeout 100 "$espy" show -F "$dir/t" >"$dir/followed" 2>"$dir/err" &
f=$!
wait_for 60 test -s "$dir/followed" && ok "-F: text comes while the program runs" || not_ok "-F: no text"
kill -0 $e 2>/dev/null && ok "-F: the program still runs" || not_ok "-F: the program had ended before"
go
wait $e
wait $f
expect "-F: exit status" 0 $?
show "$dir/t" >"$dir/whole"
same "-F: the whole text" "$dir/whole" "$dir/followed"

# Calls that come later than others have their descriptions later: read from front to back, and by the directory.
record -q -f -o "$dir/late" sh -c 'read -r line; mkdir "$1"; read -r line; rmdir "$1"; read -r line; ln -s a "$1"; rm "$1"' sh "$dir/later" <"$dir/go" &
e=$!
for call in 'read(0' 'mkdir(.*) *= 0' 'rmdir(.*) *= 0'; do
	wait_for 60 is_there "$dir/late" "$call" || not_ok "descriptions that come later: no block with $call"
	go
done
wait $e
for o in "-c" "-v -yy" "--from +1"; do
	show $o "$dir/late" >"$dir/whole" 2>&1
	expect "descriptions that come later, $o: exit status" 0 $?
	[ "$o" = "--from +1" ] || show $o - <"$dir/late" >"$dir/piped" 2>&1
	[ "$o" = "--from +1" ] && head -c "$(($(wc -c <"$dir/late") - 20))" "$dir/late" >"$dir/cut" && show $o "$dir/cut" >"$dir/piped" 2>"$dir/err"
	same "descriptions that come later, $o: without a directory" "$dir/whole" "$dir/piped"
done
has "descriptions that come later: they are used" "$dir/whole" 'symlink.*("a", '

# What comes later may be a signal and no call: its part of the descriptions says nothing of the calls before it.
(record -q -o "$dir/late-signal" sh -c 'echo $$ >"$1"; exec sleep 600' sh "$dir/pid" 2>/dev/null) &
e=$!
wait_for 60 test -s "$dir/pid"
wait_for 60 is_there "$dir/late-signal" '^execve("' || not_ok "a signal that comes later: no block is written before"
kill -TERM "$(cat "$dir/pid")"
wait $e
show -v -yy - <"$dir/late-signal" >"$dir/piped" 2>&1
show -v -yy "$dir/late-signal" >"$dir/whole" 2>&1
expect "a signal that comes later: exit status" 0 $?
same "a signal that comes later: without a directory" "$dir/whole" "$dir/piped"
has "a signal that comes later: the calls before it" "$dir/whole" '^execve("'
has "a signal that comes later: it" "$dir/whole" '^--- SIGTERM {si_signo=SIGTERM'

# a set of files: together, and each alone. Calls run over the end of a file: a shell waits for another one meanwhile, once for so long that
# espy notes the call before it returns. A file has a block at least, which ends at 2 MB: each dd fills one.
cat >"$dir/much.sh" <<'END'
for i in ${2:-1 2 3 4 5 6}; do
	sh "$1" 4
	sh -c '[ $1 != 2 ] || sleep 1; exec dd if=/dev/zero of=/dev/null bs=4096 count=300' sh $i 2>/dev/null # sleeps: it is watched
done
END
record -q -f -s 4096 --compress none --rotate 128k -o "$dir/set" sh -c 'sh "$1" "$2"; :' sh "$dir/much.sh" "$dir/work.sh"
record -q -f -s 4096 --compress none --rotate 128k --keep 3 -o "$dir/kept" sh "$dir/much.sh" "$dir/work.sh" "1 2 3 4 5"
n=$(ls "$dir"/set.* | wc -l)
[ "$n" -gt 4 ] && ok "--rotate: $n files" || not_ok "--rotate: $n files"
expect "--keep: files" 3 "$(ls "$dir"/kept.* | wc -l)"
show -f -y -ttt -s 32 -o "$dir/whole" "$dir/set" 2>"$dir/err"
expect "a set: exit status, messages" "0 0" "$? $(wc -c <"$dir/err")"
expect "a set: all processes" 69 "$(grep -c '+++ exited with' "$dir/whole")"
: >"$dir/alone"
i=0
while [ -f "$dir/set.$i" ]; do
	show -f -y -ttt -s 32 -o "$dir/one" "$dir/set.$i" 2>"$dir/err$i" || not_ok "file $i alone: $(head -n 1 "$dir/err$i")"
	[ -s "$dir/err$i" ] && not_ok "file $i alone: $(head -n 1 "$dir/err$i")" # such as descriptions that it does not have
	cat "$dir/one" >>"$dir/alone"
	i=$((i + 1))
done
# joined TEXT: each call in one line, where it ends. Each file shows the beginning of a call that runs when the file ends; the
# file in which the call ends shows the end, or the call as a whole.
joined() {
	awk '
		{ gsub(/ +=/, " ="); pid = $1 }
		/ <unfinished \.\.\.>$/ && !/ resumed>/ {
			line = substr($0, 1, length($0) - length(" <unfinished ...>"))
			if (pid in begun && begun[pid] != line)
				print begun[pid] " <another begins>"
			begun[pid] = line
			next
		}
		pid in begun && match($0, /<\.\.\. [^ ]+ resumed>/) {
			print begun[pid] substr($0, RSTART + RLENGTH)
			delete begun[pid]
			next
		}
		pid in begun && index($0, begun[pid]) == 1 { delete begun[pid] }
		{ print }
		END { for (pid in begun) print begun[pid] " <never ends>" }' "$1"
}
[ "$(grep -c unfinished "$dir/alone")" -gt "$(grep -c unfinished "$dir/whole")" ] && ok "calls run over the ends of files" ||
	not_ok "no call runs over the end of a file"
joined "$dir/whole" >"$dir/a"
joined "$dir/alone" >"$dir/b"
hasnt "each call begins and ends" "$dir/a" '<another begins>$\|<never ends>$\| resumed>'
same "each file alone gives its lines ($i files)" "$dir/a" "$dir/b"
show "$dir/kept" >"$dir/text" 2>"$dir/err"
expect "the newest of a set: exit status" 0 $?
has "the newest of a set: the end is there" "$dir/text" '+++ exited with 0 +++'

# In the middle, by checkpoint: the same lines as from the front. Descriptors were opened long before.
record -q -s 4096 -o "$dir/long" dd if=/dev/zero of=/dev/null bs=4096 count=8000 2>/dev/null
show -y --absolute-timestamps=unix,ns "$dir/long" >"$dir/whole" 2>/dev/null
at=$(sed -n "$(($(wc -l <"$dir/whole") * 9 / 10)),\$p" "$dir/whole" | sed -n '/^[0-9]/{s/ .*//p;q}')
show -y --absolute-timestamps=unix,ns --from "@$at" "$dir/long" >"$dir/got" 2>/dev/null
tail -n "$(wc -l <"$dir/got")" "$dir/whole" >"$dir/want"
same "from the middle: the lines of the whole, names of descriptors too ($(wc -l <"$dir/got") lines)" "$dir/want" "$dir/got"
grep -q "^$at" "$dir/got" && [ "$(wc -l <"$dir/got")" -lt "$(wc -l <"$dir/whole")" ] && ok "from the middle: from there on" || not_ok "from the middle: from $(head -n 1 "$dir/got")"

# Elsewhere: other files, no /proc, another time zone, nothing of this machine
record -q -f -o "$dir/e" sh "$dir/work.sh" 10
for o in "-yy -Y -t" "-v -s 200 -ttt -T" "-c" "-P /etc/passwd"; do
	show $o "$dir/e" >"$dir/here" 2>&1
	unshare -m -u -p -f sh -c 'mount -t tmpfs none /proc && mount -t tmpfs none /etc && mount -t tmpfs none /dev && hostname elsewhere
		exec "$@"' sh env TZ=Asia/Tokyo "$espy" show $o - <"$dir/e" >"$dir/there" 2>"$dir/err"
	if [ -s "$dir/err" ] && grep -q unshare "$dir/err"; then
		echo "no other namespace to be had: left out"
		break
	fi
	same "shown elsewhere with $o" "$dir/here" "$dir/there"
done
finish
