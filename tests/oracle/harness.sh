# SPDX-License-Identifier: LGPL-2.1-or-later
# What oracle.sh and replay.sh share: the environment of a run, its directory, servers. Sourced with $espy and $name set;
# the script that sources it has a function trace, which runs a command under the tracer $who.

skip() { echo "SKIP: $*"; exit 77; }

[ -x "$espy" ] || skip "$espy is not built"
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }
espy=$(absolute "$espy")
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
	[ -e "$1" ] || { echo "not ok: nobody made $1"; exit 1; }
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

sources=ptrace
if "$espy" trace --source bpf -o /dev/null -- true >/dev/null 2>"$top/probe"; then
	sources="bpf ptrace"
else
	echo "note: the bpf source does not run here: $(head -n 1 "$top/probe")"
fi
# RINGS=cpu: the same under rings per CPU, which only the bpf source has.
rings=${RINGS:+--rings=$RINGS}
if [ -n "$rings" ]; then
	[ "$sources" != ptrace ] || skip "rings need the source bpf: $(head -n 1 "$top/probe")"
	sources=bpf
fi
