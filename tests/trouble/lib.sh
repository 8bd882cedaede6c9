# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts beside it share beyond tests/lib.sh: SCRIPT ESPY SOURCE PROGRAMS-DIR.
. "$(dirname "$0")/../lib.sh"
source=$2 progs=$(realpath "$3")
need_source "$source"
rings=${RINGS:+--rings=$RINGS} # RINGS=cpu: the same with a ring for each CPU
trace() {
	"$espy" trace --source="$source" $rings "$@"
}
# For use with &: $! is espy itself.
trace_bg() {
	exec "$progs/fresh" "$espy" trace --source="$source" $rings "$@"
}
# messages FILE: what espy said. That it did not get to run is the machine's doing.
messages() {
	grep -v 'did not run' "$1"
}
