# SPDX-License-Identifier: LGPL-2.1-or-later
# record --ring --snapshot-on: each kind of comparison asks for the trace, and what does not hold does not.
. "${0%/*}/../trouble/lib.sh"
snap() { # TRIGGER: is a trace written because of it?
	rm -f "$dir"/T*
	"$espy" record --ring 4M --snapshot-on "$1" -o "$dir/T" "$progs/make_calls" 3 2>"$dir/err"
	grep -c 'T: triggered: ' "$dir/err"
}
yes() {
	expect "met: $1" 1 "$(snap "$1")"
}
no() {
	expect "not met: $1" 0 "$(snap "$1")"
}
yes 'openat: ret == -ENOENT && path == "/nonexistent/marker"'
no 'openat: ret == -ENOSPC'
yes 'openat: errno == ENOENT'
yes 'openat: pathname == "/nonexistent/*" && flags == O_RDONLY && dirfd == AT_FDCWD'
no 'openat: pathname == "/nonexistent/mark" && errno != 0'
no 'openat: pathname == "/nonexistent/marker2*"'
no 'openat: pathname == "/nonexistent/*" && errno == 0'
yes 'lseek: offset == 4242 && whence == SEEK_SET && fd >= 3'
no 'lseek: offset < 4242 && whence == SEEK_SET && offset != 0 && ret > 4242'
yes 'fstat: fd == 4242 && ret < 0 && errno >= EBADF && errno <= 9'
no 'fstat: fd == 4242 && ret >= 0'
yes 'write: buf == "marker" && count == 6'
yes 'write: buf == "mark*"'
no 'write: buf == "marke"'
yes 'write: buf != "other" && ret == 6'
yes 'getppid'
no 'getppid: pid == 1'
no 'getppid: tid == 1'
no 'getpgid'

# The record that met it is in the trace; what came after it is in, too, if that was asked for.
rm -f "$dir"/T*
"$espy" record --ring 4M --snapshot-on 'openat: errno == ENOENT && path == "/nonexistent/marker"' -o "$dir/T" "$progs/make_calls" 3 2>"$dir/err"
"$espy" show "$dir/T" >"$dir/shown" 2>&1
has "the call is in the trace" "$dir/shown" 'openat(AT_FDCWD, "/nonexistent/marker", O_RDONLY) = -1 ENOENT'
"$espy" record --snapshot-on getppid -o "$dir/X" true 2>"$dir/err"
expect "without --ring: status" 1 $?
has "without --ring it is refused" "$dir/err" 'snapshot-on needs --ring'
"$espy" record --ring 1M -o - true 2>"$dir/err"
expect "standard output has room for one trace: status" 1 $?
has "and it is said" "$dir/err" 'ring needs the name of a file'
finish
