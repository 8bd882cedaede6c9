#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# espy list markers: of programs, stripped ones, libraries and processes; beside readelf and bpftrace, which see the same.
. "${0%/*}/lib.sh"

"$espy" list markers "$progs/subjects" >"$dir/list" 2>&1
has "a mark with format and place" "$dir/list" '^app:req_done  *mark  -  .*subjects.c:[0-9]*  *0x[0-9a-f]*  "id=%u path=%s took=%g"'
expect "every mark is listed" \
	"app:begun app:child app:churned app:closed app:crowd app:flood app:opened app:parent app:req_done app:req_start app:vforked other:thing" \
	"$(grep -v '^#' "$dir/list" | cut -d' ' -f1 | sort -u | tr '\n' ' ' | sed 's/ $//')"
hasnt "the USDT twin of a mark is not listed twice" "$dir/list" ' usdt '

if command -v strip >/dev/null; then
	strip -o "$dir/stripped" "$progs/subjects"
	expect "a stripped program has the same marks" "$(grep -v '^#' "$dir/list")" \
		"$("$espy" list markers "$dir/stripped" | grep -v '^#')"
fi
if [ -x "$progs/sdt" ]; then
	"$espy" list markers "$progs/sdt" >"$dir/sdt" 2>&1
	grep ' usdt ' "$dir/sdt" | sed 's/^\([^ ]*\) .* \(0x[0-9a-f]*\) .*/\1 \2/' | sort >"$dir/ours"
	if command -v readelf >/dev/null; then
		readelf -n "$progs/sdt" 2>/dev/null | awk '/Provider:/ { p = $2 } /Name:/ { n = $2 }
			/Location:/ { sub(/,/, "", $2); sub(/^0x0*/, "0x", $2); print p ":" n, $2 }' | sort >"$dir/theirs"
		[ -s "$dir/theirs" ] && expect "the same probes as readelf" "$(cat "$dir/theirs")" "$(cat "$dir/ours")"
	fi
	if command -v bpftrace >/dev/null && [ "$(id -u)" = 0 ]; then
		bpftrace -l "usdt:$progs/sdt:*" 2>/dev/null | sed 's/.*:\([^:]*:[^:]*\)$/\1/' | sort -u >"$dir/theirs"
		[ -s "$dir/theirs" ] && expect "the same probes as bpftrace" "$(cat "$dir/theirs")" \
			"$(cut -d' ' -f1 "$dir/ours" | sort -u)"
	fi
	has "arguments as the note has them" "$dir/sdt" '^app:three .*@'
fi

"$espy" list markers /dev/null >"$dir/out" 2>&1 && not_ok "a device is a program"
has "what is no program is named" "$dir/out" '/dev/null: this is no program'
head -c 3000 "$progs/subjects" >"$dir/cut"
"$espy" list markers "$dir/cut" >"$dir/out" 2>&1 && not_ok "a file that was cut off is a program"
has "a file that was cut off is refused in words" "$dir/out" 'espy: '
"$espy" list markers >"$dir/out" 2>&1 && not_ok "nothing is enough"
has "what is missing is said" "$dir/out" 'PROGRAM or -p PID is missing'

"$progs/subjects" marks & pid=$!
wait_for 60 sh -c "readlink /proc/$pid/exe | grep -q subjects"
"$espy" list markers -p $pid >"$dir/out" 2>&1
has "a process without agent" "$dir/out" "^# process $pid: no agent in it"
has "its marks are off" "$dir/out" '^app:req_done  *mark  off '
"$espy" trace -p $pid -m app:req_done -o "$dir/trace" 2>/dev/null & tracer=$!
if wait_for 60 grep -q req_done "$dir/trace"; then ok "marks of a running process"; else not_ok "no marks came"; fi
"$espy" list -p $pid markers >"$dir/out" 2>&1
has "the agent and who uses it" "$dir/out" "^# process $pid: agent .*in use by espy $tracer"
has "on, and by whom" "$dir/out" "^app:req_done  *mark  on .* by espy $tracer"
has "what nobody asked for is off" "$dir/out" '^app:req_start  *mark  off '
kill -INT $tracer
wait $tracer
off() { "$espy" list -p $pid markers | grep -q '^app:req_done  *mark  off '; }
if wait_for 60 off; then ok "off when espy ends"; else not_ok "it stays on"; fi
kill $pid
finish
