# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by the lib.sh of the folders that trace programs: SCRIPT ESPY ... Each check prints ok or not ok; the script ends
# with finish. $dir is for scratch.
set -u
. "${0%/*}/../wait.sh"
espy=$(realpath "$1")
dir=$(mktemp -d)
bad=0
trap 'rm -rf "$dir"' EXIT
ok() {
	echo "ok $*"
}
not_ok() {
	echo "not ok $*"
	bad=1
}
# expect NAME WANT GOT
expect() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1: wanted '$2', got '$3'"; fi
}
# has NAME FILE PATTERN (basic regular expression)
has() {
	if grep -q -- "$3" "$2"; then ok "$1"; else
		not_ok "$1: no line like: $3"
		tail -n 15 "$2"
	fi
}
hasnt() {
	if grep -q -- "$3" "$2"; then not_ok "$1: there is: $(grep -- "$3" "$2" | head -n 1)"; else ok "$1"; fi
}
# look PID NAME: sets $value to that of /proc/PID/status, or to nothing if it is gone. Starts no program.
look() {
	value=
	while read -r look_name value look_rest; do
		[ "$look_name" != "$2:" ] || return 0
	done 2>/dev/null <"/proc/$1/status"
	value=
}
field() { # PID NAME: the same as output
	look "$1" "$2"
	echo "$value"
}
state() { # of a process: R, S, T, t, Z
	field "$1" State
}
tracer() {
	field "$1" TracerPid
}
takes_interrupts() { # PID: it has a handler for SIGINT, which a shell leaves ignored in what it starts in the background
	look "$1" SigCgt
	case $value in *[2367abef]) return 0 ;; esac
	return 1
}
not() { # COMMAND...: for wait_for
	! "$@"
}
# need_source NAME: skips where it cannot run
need_source() {
	"$espy" doctor --source="$1" >"$dir/doctor" 2>&1 || {
		echo "SKIP: source $1: $(tail -n 1 "$dir/doctor")"
		exit 77
	}
}
finish() {
	exit $bad
}
