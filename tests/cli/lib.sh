# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by the scripts beside it: SCRIPT ESPY [SOURCE-DIR]. Each check prints ok or not ok; the script ends with finish.
set -u
. "${0%/*}/../wait.sh"
. "${0%/*}/../trouble/descendants.sh"
espy=$(realpath "$1") root=${2:-}
dir=$(mktemp -d)
bad=0
# Whatever a test has left behind ends with it.
clean() {
	end_descendants
	rm -rf "$dir"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1
# Words of the C library are compared.
LC_ALL=C
export LC_ALL

# run STATUS command...: output in $dir/out, messages in $dir/err
run() {
	want=$1
	shift
	what=$*
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ "$got" = "$want" ]; then
		echo "ok status $want: $what"
	else
		echo "not ok $what: status $got instead of $want"
		head -n 10 "$dir/out" "$dir/err"
		bad=1
	fi
}
# says LINE: messages of the last run have this whole line
says() {
	if grep -qxF -- "$1" "$dir/err"; then
		echo "ok says: $1"
	else
		echo "not ok $what: no message: $1"
		head -n 10 "$dir/err"
		bad=1
	fi
}
# says_why TEXT: a message of the last run begins with this text, and goes on behind a colon
says_why() {
	if awk -v text="$1: " 'index($0, text) == 1 && length($0) > length(text) { found = 1 } END { exit !found }' "$dir/err"; then
		echo "ok says: $1: ..."
	else
		echo "not ok $what: no message: $1: ..."
		head -n 10 "$dir/err"
		bad=1
	fi
}
# shows PATTERN [FILE]: a line like it (basic regular expression) in the output
shows() {
	if grep -q -- "$1" "${2:-$dir/out}"; then
		echo "ok shows: $1"
	else
		echo "not ok $what: no line like: $1"
		tail -n 10 "${2:-$dir/out}"
		bad=1
	fi
}
lacks() {
	if grep -q -- "$1" "${2:-$dir/out}"; then
		echo "not ok $what: there is: $(grep -- "$1" "${2:-$dir/out}" | head -n 1)"
		bad=1
	else
		echo "ok lacks: $1"
	fi
}
# same NAME WANT GOT
same() {
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		printf 'not ok %s\n--- wanted\n%s\n--- got\n%s\n' "$1" "$2" "$3"
		bad=1
	fi
}
# For tests that trace: skip where nothing can be traced.
need_tracing() {
	"$espy" doctor >"$dir/doctor" 2>&1 || {
		echo "SKIP: $(tail -n 1 "$dir/doctor")"
		exit 77
	}
}
finish() {
	exit $bad
}
