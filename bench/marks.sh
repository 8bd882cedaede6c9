#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/marks.sh BUILD-DIR [ROUNDS]: marks beside LTTng-UST and USDT, by turns, where those are installed: what one hit costs, what a
# recording takes, which instructions one adds that is off. Look at the ratios. What cannot be measured here is said.
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
rounds=${2:-3}
espy=$build/espy
[ -x "$espy" ] || espy=$build/src/cli/espy
flood=$build/bench/marks_flood
inject=$build/tests/markers/outside agent=$(realpath "$build/agent/libespy-agent.so")
dir=$(mktemp -d)
trap 'lttng destroy espy-marks >/dev/null 2>&1; [ -n "$daemon" ] && kill "$daemon" 2>/dev/null; rm -rf "$dir"' EXIT
daemon=
have() {
	command -v "$1" >/dev/null 2>&1
}
median() {
	sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
missing() { # ROW WHY
	printf '%-36s not measured: %s\n' "$1" "$2"
}

# a hundred marks in a hundred places each
{
	echo '#include "espy/mark.h"'
	for f in $(seq 100); do
		printf 'void f%d(int i);\nvoid f%d(int i)\n{\n' "$f" "$f"
		seq 100 | sed 's/.*/	MARK(many_&, "i=%d", i);/'
		echo '}'
	done
} >"$dir/many.c"
cc -O0 -fPIC -shared -I"$here/../include" "$dir/many.c" -o "$dir/many.so" || exit 1

if have lttng-sessiond && cc -O2 -I"$here" "$here/marks_lttng.c" -o "$dir/lttng" -llttng-ust -ldl 2>"$dir/err"; then
	export LTTNG_HOME="$dir"
	if ! pgrep -x lttng-sessiond >/dev/null; then
		lttng-sessiond --no-kernel >/dev/null 2>&1 &
		daemon=$!
		sleep 2
	fi
	lttng create espy-marks --output="$dir/trace" >/dev/null 2>&1 &&
		lttng enable-channel -u c --subbuf-size=4M --num-subbuf=8 >/dev/null 2>&1 &&
		lttng enable-event -u 'marks_lttng:*' -c c >/dev/null 2>&1 && lttng start >/dev/null 2>&1 || rm -f "$dir/lttng"
fi
i=0
while [ $i -lt "$rounds" ]; do
	"$build/bench/marks" 100 "$dir/many.so"
	[ -x "$dir/lttng" ] && "$dir/lttng"
	# For how long a thread stands when the agent is loaded, in programs that wait, work, have four threads, are confined.
	for program in "subjects sleep" "subjects spin" "subjects threads" "confined container"; do
		# shellcheck disable=SC2086 # words are meant to be split
		"$inject/inject_many" 20 "$agent" "$inject"/$program
	done
	i=$((i + 1))
done

# --- from the ring to the compressed file: espy record, a ring of 64 MB, marks of two integers ---
children_s() { # of what times has written: seconds of processor time of all children that have ended
	sed -n 2p "$1" | tr 'ms' '  ' | awk '{ print 60 * $1 + $2 + 60 * $3 + $4 }'
}
record_rows() { # MILLIONS [RATE]
	n=$(($1 * 1000000))
	rm -f "$dir/trace.espy"
	times >"$dir/before" # not in a substitution: that has no children yet
	if ! "$espy" record --buffer=64M -m flood:two -o "$dir/trace.espy" "$flood" mark $n $2 >"$dir/out" 2>"$dir/err"; then
		missing "recorded to a file" "$(tail -n 1 "$dir/err")"
		return 1
	fi
	times >"$dir/after"
	# That of the program, for which espy has waited, is in it.
	own=$(awk -v before="$(children_s "$dir/before")" -v after="$(children_s "$dir/after")" '{ print after - before - $5 }' "$dir/out")
	written=$(sed -n 's/.*flood:two: \([0-9]*\) events.*/\1/p' "$dir/err")
	lost=$(sed -n 's/.*: \([0-9]*\) events* lost: .*/\1/p' "$dir/err" | awk '{ n += $1 } END { print n + 0 }')
	# What the trace holds, asked of the trace: each i but the lost ones, once.
	shown=$("$espy" show "$dir/trace.espy" 2>/dev/null | grep -c '^flood:two(')
	[ "$((shown + lost))" = $n ] && [ "$shown" = "$written" ] && exact='seen + lost = written' ||
		exact="WRONG: $shown shown, $written recorded, $lost lost"
	if [ -z "$2" ]; then
		printf '%-36s %6.1f million/s  (%s made, %d of %d lost; %s)\n' "recorded, as fast as it goes" \
			"$(sed -n 's/.*flood:two: .* \([0-9]*\) per second.*/\1/p' "$dir/err" | awk '{ print $1 / 1e6 }')" \
			"$(sed 's/,.*//' "$dir/out")" "$lost" "$n" "$exact"
	else
		printf '%-36s %6d events  (of %d, %s made; %s)\n' "recorded, $2 million/s: lost" "$lost" "$n" \
			"$(sed 's/,.*//' "$dir/out")" "$exact"
	fi
	awk -v own="$own" -v n="$written" -v size="$(stat -c %s "$dir/trace.espy")" 'BEGIN { print 1e9 * own / n, size / n }' >>"$dir/own"
}
if [ -x "$espy" ] && record_rows 30 && record_rows 30 10 && record_rows 30 14; then
	cut -d ' ' -f 1 "$dir/own" | median | awk '{ printf "%-36s %6.1f ns  (one core takes %.1f million/s)\n",
		"recorded, espy'\''s own time an event", $1, 1e3 / $1 }'
	cut -d ' ' -f 2 "$dir/own" | median | awk '{ printf "%-36s %6.2f bytes\n", "recorded, in the file an event", $1 }'
fi

# --- a USDT probe, which is a trap into the kernel, for comparison ---
hit() { # N command...: ns of a hit
	n=$1
	shift
	"$@" 2>"$dir/err" | sed -n 's/.*million\/s, \([0-9.]*\) ns.*/\1/p'
}
bpftrace_hit() {
	hit "$1" bpftrace -q -o "$dir/count" -e "usdt:$flood:flood:trap { @ = count(); }" -c "$flood usdt $1"
}
if "$flood" usdt 1000 >/dev/null; then
	printf '%-36s %6.2f ns\n' "USDT, nobody looks" "$(for i in 1 2 3; do hit 1000000 "$flood" usdt 1000000; done | median)"
	if have bpftrace && [ -n "$(bpftrace_hit 1000)" ] && grep -q '1000' "$dir/count"; then
		printf '%-36s %6.0f ns\n' "USDT, counted by bpftrace" "$(for i in 1 2 3; do bpftrace_hit 200000; done | median)"
	else
		missing "USDT, counted by bpftrace" "bpftrace is not here, or may not"
	fi
	ns=$(hit 200000 "$espy" record --via kernel -m flood:trap -o "$dir/usdt.espy" "$flood" usdt 200000)
	if [ -n "$ns" ] && grep -q 'flood:trap: 200000 events' "$dir/err"; then
		printf '%-36s %6.0f ns\n' "USDT, espy record --via kernel" "$ns"
	else
		missing "USDT, espy record --via kernel" "$(tail -n 1 "$dir/err")"
	fi
else
	missing "USDT" "this was built without <sys/sdt.h>"
fi

# --- what a mark that is off adds to a hot loop, in instructions: no clock, so no noise ---
instructions() { # with|without: of one round
	for n in 1000 11000; do
		valgrind --tool=callgrind --callgrind-out-file=/dev/null "$dir/loop" "$1" $n 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
	done | paste -sd ' ' | awk '{ print ($2 - $1) / 10000 }'
}
for cc in gcc clang; do
	for level in -O2 -O3; do
		row="off, instructions, $cc $level"
		if ! have valgrind || ! have $cc; then
			missing "$row" "there is no valgrind, or no $cc"
		elif ! $cc $level -I"$here/../include" "$here/marks_loop.c" -o "$dir/loop" 2>"$dir/err"; then
			missing "$row" "$(head -n 1 "$dir/err")"
		else
			with=$(instructions with) without=$(instructions without)
			printf '%-36s %6.1f instructions  (%.1f with it, %.1f without)\n' "$row" \
				"$(awk "BEGIN { print $with - $without }")" "$with" "$without"
		fi
	done
done

# --- what a mark takes to compile ---
"$here/marks_compile.sh" 1
