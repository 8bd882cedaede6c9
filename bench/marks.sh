#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/marks.sh BUILD-DIR [ROUNDS]: marks beside LTTng-UST, by turns, if LTTng is installed. Look at the ratios.
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
rounds=${2:-3}
inject=$build/tests/markers/outside agent=$(realpath "$build/agent/libespy-agent.so")
dir=$(mktemp -d)
trap 'lttng destroy espy-marks >/dev/null 2>&1; [ -n "$daemon" ] && kill "$daemon" 2>/dev/null; rm -rf "$dir"' EXIT
daemon=
if command -v lttng-sessiond >/dev/null && cc -O2 -I"$here" "$here/marks_lttng.c" -o "$dir/lttng" -llttng-ust -ldl 2>"$dir/err"; then
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
	"$build/bench/marks" 100
	[ -x "$dir/lttng" ] && "$dir/lttng"
	# For how long a thread stands when the agent is loaded, in programs that wait, work, have four threads, are confined.
	for program in "subjects sleep" "subjects spin" "subjects threads" "confined container"; do
		# shellcheck disable=SC2086 # words are meant to be split
		"$inject/inject_many" 20 "$agent" "$inject"/$program
	done
	i=$((i + 1))
done
