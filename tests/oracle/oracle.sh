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
espy=$1 compare=$2 name=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/programs.sh"

skip() { echo "SKIP: $*"; exit 77; }

command -v strace >/dev/null || skip "strace is not installed"
[ -x "$espy" ] || skip "$espy is not built"
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }
espy=$(absolute "$espy")
compare=$(absolute "$compare")
case $name in */*) name=$(absolute "$name") ;; esac
python=$(command -v python3 || echo python3)
if [ -x /usr/bin/python3 ]; then python=/usr/bin/python3; fi
case $name in
/*) how=order ;;
*)
	for c in $(needs "$name"); do
		command -v "$c" >/dev/null || skip "$c is not installed"
	done
	how=$(mode "$name")
	;;
esac

# The same small environment for all, whoever starts the test
export LC_ALL=C TZ=UTC HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1
clean="env -i PATH=$PATH LC_ALL=C TZ=UTC HOME=/nonexistent TERM=dumb GIT_CONFIG_NOSYSTEM=1
PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 PERL_HASH_SEED=0"
unset GIT_DIR TMUX
top=$(mktemp -d "${TMPDIR:-/tmp}/espy-oracle.XXXXXX") || exit 1
trap 'rm -rf "$top"' EXIT
trap 'exit 1' INT TERM
port=$((20000 + $$ % 20000))
unset TMPDIR

wait_for() { # a file appears
	n=0
	while [ ! -e "$1" ] && [ $n -lt 100 ]; do
		sleep 0.05
		n=$((n + 1))
	done
}

# The tracer's side: who, then the command
trace() {
	case $who in
	strace) $clean strace -f $opts -o "$top/$who" "$@" ;;
	*) $clean "$espy" trace --source "$who" -f $opts -o "$top/$who" -- "$@" ;;
	esac >"$top/out" 2>"$top/err" </dev/null
	cp "$top/err" "$top/$who.err" # the files have the same name for all: -y shows it
}

# A server is traced in the background, and driven meanwhile
serve() {
	served=$1
	shift
	"$@" &
	tracer=$!
	"drive_$served"
	n=0
	while kill -0 "$tracer" 2>/dev/null && [ $n -lt 100 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	kill "$tracer" 2>/dev/null
	wait "$tracer" 2>/dev/null
}

run() { # one tracer, in a fresh directory that has the same name each time
	who=$1
	shift
	work=$top/work
	rm -rf "$work"
	mkdir "$work"
	cd "$work" || exit 1
	case $name in
	/*) trace "$name" "$@" ;;
	*)
		if command -v "setup_$name" >/dev/null; then "setup_$name"; fi
		"run_$name"
		;;
	esac
	cd "$top" || exit 1
}

opts=${OPTS-}

sources=ptrace
if "$espy" trace --source bpf -o /dev/null -- true >/dev/null 2>"$top/probe"; then
	sources="bpf ptrace"
else
	echo "note: the bpf source does not run here: $(head -n 1 "$top/probe")"
fi

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
