#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What bash offers at several places of a command line.
. "$(dirname "$0")/lib.sh"
command -v bash >/dev/null || { echo "SKIP: bash is not installed"; exit 77; }

cat >"$dir/complete" <<'END'
. "$1/completions/espy.bash"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_espy 2>/dev/null
echo "${COMPREPLY[*]}"
END
: >some.espy
: >espy.trace
# offers WANT words...: as readline cuts them
offers() {
	want=$1
	shift
	same "$* -> $want" "$want" "$(bash "$dir/complete" "$root" "$espy" "$@")"
}
offers 'trace' tr
offers 'doctor' help d
offers '--trace --trace-fds --trace-path' trace --trace
offers 'ptrace' trace --source = p
offers 'auto bpf ptrace' trace --source =
offers 'ptrace' trace --source p
offers 'raw' trace -X r
offers 'successful,failed' trace --status = successful,fa
offers 'openat openat2' trace -e trace = openat
offers 'read,openat read,openat2' trace -e trace = read,openat
offers 'openat openat2' trace -e openat
offers '%file %fstat %fstatfs' trace --trace = %f
offers 'syscalls' list s
offers '64' list --abi 6
offers '' list --nosuch
offers 'some.espy' show so
offers 'some.espy' show -T so
offers '' show some.espy so
offers 'some.espy' info so
offers 'some.espy' info some.espy so
offers 'espy.trace' record -o espy
offers '' record nosuch-program
offers 'some.espy' record cat so
# Numbers of processes: for snapshot those of flight recorders, for resume of what is held.
if "$espy" doctor --source=bpf >/dev/null; then
	sleep 600 &
	sleeper=$!
	"$espy" record -q --ring 1M -o ring.espy -p $sleeper 2>"$dir/err" &
	ring=$!
	is_offered() {
		[ -n "$(bash "$dir/complete" "$root" "$espy" snapshot $ring)" ]
	}
	wait_for 60 is_offered
	offers "$ring" snapshot $ring
	offers '' snapshot $sleeper
	offers '' resume $sleeper
	kill -INT $ring
	kill $sleeper
	wait
fi
# zsh is not needed to see that its file is one.
command -v zsh >/dev/null && { run 0 zsh -n "$root/completions/_espy"; }
finish
