#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/probes_agent.sh BUILD-DIR [ROUNDS]: what a hit of a probe costs by the agent and by the kernel, by turns, beside the call itself;
# and how long the agent works to switch a thousand places. Look at the ratios.
set -u
build=$(realpath "$1")
rounds=${2:-5}
espy=$build/espy
[ -x "$espy" ] || espy=$build/src/cli/espy
program=$build/bench/probes_jumped
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/lib.sh"

# hit ROW WAY CALLS PROBE: nanoseconds of a call: the median of batches
hit() {
	"$espy" record --force --via "$2" -o "$tmp/trace" -u "probes_jumped:jumped_step$4" "$program" "$3" 2>/dev/null | cut -d ' ' -f 2 >>"$tmp/$1"
}
agent_ns() { # PID: what the agent's thread has run
	for task in /proc/"$1"/task/*; do
		[ "$(cat "$task/comm")" != espy-agent ] || cut -d ' ' -f 1 "$task/schedstat"
	done
}
# cost PROBE: what the agent of process $pid runs for a session with it, its ring included
cost() {
	before=$(agent_ns "$pid")
	timeout -s INT 1 "$espy" trace --via agent -o "$tmp/text" -p "$pid" -u "$1" 2>/dev/null
	calc "($(agent_ns "$pid") - $before) / 1e6"
}
switch() {
	mkfifo "$tmp/fifo"
	sqlite3 <"$tmp/fifo" &
	pid=$!
	exec 3>"$tmp/fifo"
	timeout -s INT 1 "$espy" trace --via agent -o "$tmp/text" -p "$pid" -u libsqlite3:sqlite3_open 2>/dev/null
	one=$(cost libsqlite3:sqlite3_open)
	all=$(cost 'libsqlite3:*($arg1)')
	places=$("$espy" list -v functions libsqlite3 | grep -c -- '--via agent: +')
	calc "($all - $one) / $places * 1000" >>"$tmp/switched"
	echo >>"$tmp/switched"
	exec 3>&-
	rm -f "$tmp/fifo"
	wait "$pid"
}
for i in $(seq "$rounds"); do
	"$program" 1000000 | cut -d ' ' -f 2 >>"$tmp/none"
	hit agent agent 1000000 ''
	hit numbers agent 1000000 '($arg1:d, $arg2:d)'
	hit test agent 1000000 '(a=$arg1:d) if a == -1'
	hit return agent 1000000 '%return(=$retval:d)'
	hit stack agent 1000000 '($arg1:d, $stack0:x)'
	hit pointer agent 100000 '($arg1:d, +0(%sp):x, +64(%sp):string)'
	hit kernel kernel 20000 '($arg1:d, $arg2:d)'
	switch
done
for row in none agent numbers test return stack pointer kernel switched; do
	eval "$row=$(median "$tmp/$row")"
done
printf '%-52s %8s\n' 'nanoseconds of a call' median
printf '%-52s %8.1f\n' 'no probe' "$none" 'by the agent' "$agent" 'by the agent, two numbers' "$numbers" \
	'by the agent, a condition that fails' "$test" 'by the agent, a return with its duration' "$return" \
	'by the agent, a number of the stack' "$stack" \
	'by the agent, a text through a pointer' "$pointer" 'by the kernel, two numbers' "$kernel"
printf '%-52s %8.0f\n' 'the kernel takes so many times as long' "$(calc "($kernel - $none) / ($numbers - $none)")"
printf '%-52s %8.1f\n' 'milliseconds of the agent for 1 000 places' "$switched"
