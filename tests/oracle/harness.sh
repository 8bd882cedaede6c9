# SPDX-License-Identifier: LGPL-2.1-or-later
# What oracle.sh and replay.sh share: the environment of a run, its directory, servers. Sourced with $espy and $name set;
# the script that sources it has a function trace, which runs a command under the tracer $who.

. "$here/../wait.sh"
. "$here/../trouble/descendants.sh"
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
trap 'end_descendants; rm -rf "$top"' EXIT
trap 'exit 1' INT TERM
unset TMPDIR

# wait_until WHAT command...: within a minute, or the test has failed
wait_until() {
	what=$1
	shift
	wait_for 60 "$@" || { echo "not ok: $name under $who: $what"; head -n 5 "$top/err"; exit 1; }
}
# A server listens at the socket of that absolute name. There is a moment between its name and that.
listens() {
	grep -q "^[^ ]* [^ ]* [^ ]* 00010000 .* $1\$" /proc/net/unix
}
ended() {
	! kill -0 "$1"
}

# A server is traced in the background, and driven meanwhile
serve() {
	served=$1
	shift
	"$@" &
	tracer=$!
	"drive_$served"
	wait_until "the server does not end" ended $tracer
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
if "$espy" doctor --source=bpf >"$top/probe" 2>&1; then
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
