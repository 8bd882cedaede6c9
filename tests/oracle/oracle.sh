#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# One program of the oracle: it is run under strace and under espy (both sources where they run), and
# the traces are compared. Exit status 0: equal, or every difference is explained in `differences`;
# 1: a difference is not; 77: cannot be done here, with the reason.
#
#     oracle.sh ESPY COMPARE NAME
#     oracle.sh ESPY COMPARE /path/of/a/test/program [ARG...]
#
# KEEP=directory keeps the traces there.
set -u
. "${0%/*}/own_net.sh"
espy=$1 compare=$2 name=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/programs.sh"

. "$here/harness.sh"

command -v strace >/dev/null || skip "strace is not installed"
compare=$(absolute "$compare")
opts=${OPTS-}

# The tracer's side: who, then the command
trace() {
	case $who in
	strace) $clean strace -f $opts -o "$top/$who" "$@" ;;
	*) $clean "$espy" trace --source "$who" $rings -f $opts -o "$top/$who" -- "$@" ;;
	esac >"$top/out" 2>"$top/err" </dev/null
	cp "$top/err" "$top/$who.err" # the files have the same name for all: -y shows it
}

set_flag=
[ $how = set ] && set_flag=-s

compare_all() {
	status=0
	for s in $sources; do
		if [ ! -s "$top/$s" ]; then
			echo "espy --source $s wrote nothing:"
			head -n 5 "$top/$s.err"
			status=1
			continue
		fi
		"$compare" $set_flag -n strace -m "$s" "$here/differences" "$top/strace" "$top/$s" || status=1
	done
	case $sources in
	*bpf*) [ -s "$top/bpf" ] && [ -s "$top/ptrace" ] && [ $status = 0 ] &&
		{ "$compare" $set_flag -n bpf -m ptrace "$here/differences" "$top/bpf" "$top/ptrace" || status=1; } ;;
	esac
	return $status
}

# Each run is a run of its own: a program may draw another random name, meet another timing, find what the run before
# left in a cache. What espy shows wrongly it shows wrongly each time: only a difference in all of three rounds counts.
for round in 1 2 3; do
	run strace "$@"
	[ -s "$top/strace" ] || skip "strace cannot trace here: $(head -n 1 "$top/strace.err")"
	for s in $sources; do
		run "$s" "$@"
	done
	if [ -n "${KEEP-}" ]; then
		mkdir -p "$KEEP"
		for s in strace $sources; do cp "$top/$s" "$KEEP/$(basename "$name").$s" 2>/dev/null; done
	fi
	compare_all && exit 0
	echo "round $round differs"
done
exit 1
