#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tools.sh SOURCE-DIR LIBESPY-AGENT: gdb, bpftrace and readelf list the same marks; bpftrace sees their arguments while they are on; a
# uprobe on the USDT note of a mark leaves the agent's site alone.
set -u
root=$1
agent=$(realpath "$2")
here=$root/tests/markers/inside
dir=$(mktemp -d)
pid=
trap '[ -n "$pid" ] && kill $pid 2>/dev/null; rm -rf "$dir"' EXIT
bad=0

fail() {
	printf 'not ok %s\n' "$*"
	bad=1
}
gcc -O2 -D_GNU_SOURCE -I"$root" -I"$root/src" -I"$root/include" "$here/sample.c" "$here/tools_main.c" "$here/control.c" \
	-Wl,--no-as-needed "$agent" -Wl,-rpath,"$(dirname "$agent")" -o "$dir/t" || exit 1
readelf -n "$dir/t" 2>/dev/null | sed -n 's/^ *Provider: //p;s/^ *Name: //p' | paste -d: - - | sort -u >"$dir/want"
grep -q '^sample:leaf$' "$dir/want" || fail "readelf: $(cat "$dir/want")"
grep -q '^nounderscore:nounderscore$' "$dir/want" || fail "a name without an underscore: $(cat "$dir/want")"
grep -q ':code$' "$dir/want" && fail 'MARK_INLINE has no arguments to show'

if command -v gdb >/dev/null; then
	gdb -nx -batch -ex 'info probes stap' "$dir/t" 2>/dev/null | awk '$1 == "stap" && $NF ~ /\/t$/ { print $2 ":" $3 }' | sort -u >"$dir/gdb"
	cmp -s "$dir/want" "$dir/gdb" || fail "gdb lists: $(cat "$dir/gdb")"
fi
if ! command -v bpftrace >/dev/null || [ "$(id -u)" != 0 ]; then
	echo 'bpftrace is not here, or this is not root: not tried'
	exit $bad
fi
bpftrace -l "usdt:$dir/t:*" 2>/dev/null | sed 's/^usdt:[^:]*://' | sort -u >"$dir/bpftrace"
if [ ! -s "$dir/bpftrace" ]; then
	echo 'bpftrace cannot list here: not tried'
	exit $bad
fi
cmp -s "$dir/want" "$dir/bpftrace" || fail "bpftrace lists: $(cat "$dir/bpftrace")"

"$dir/t" on >"$dir/out" 2>&1 &
pid=$!
sleep 1
timeout 60 bpftrace -e "usdt:$dir/t:sample:leaf { if ((int32)arg1 == 3 * (int32)arg0) { @right = count(); } else { @wrong = count(); } }
	usdt:$dir/t:sample:inline { @text[str(arg0)] = count(); }
	interval:s:3 { exit(); }" >"$dir/seen" 2>"$dir/err"
grep -q '@right: [0-9]' "$dir/seen" || fail "bpftrace sees no events: $(cat "$dir/seen" "$dir/err")"
grep -q '@wrong: [1-9]' "$dir/seen" && fail "bpftrace sees wrong arguments: $(cat "$dir/seen")"
grep -q '@text\[text\]' "$dir/seen" || fail "bpftrace sees no string: $(cat "$dir/seen")"
kill -0 $pid || fail "the program died: $(cat "$dir/out")"
exit $bad
