#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What bash offers at several places of a command line.
. "${0%/*}/lib.sh"
command -v bash >/dev/null || { echo "SKIP: bash is not installed"; exit 77; }

# One bash answers all questions, a line of words with tabs between for each.
cat >"$dir/complete" <<'END'
. "$1/completions/espy.bash"
while IFS=$'\t' read -ra COMP_WORDS; do
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	_espy 2>/dev/null
	echo "${COMPREPLY[*]}"
done
END
mkfifo asked answered
bash "$dir/complete" "$root" <asked >answered &
exec 6>asked 7<answered
ask() { # words...: what is offered, in $answer
	(IFS='	'; printf '%s\n' "$espy	$*") >&6
	read -r answer <&7
}
: >some.espy
: >espy.trace
# offers WANT words...: as readline cuts them
offers() {
	want=$1
	shift
	ask "$@"
	same "$* -> $want" "$want" "$answer"
}
offers 'trace' tr
offers 'doctor' help d
offers '--tracepoint --trace --trace-fds --trace-path' trace --trace
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
	is_espy() {
		[ "/proc/$ring/exe" -ef "$espy" ]
	}
	wait_for 60 is_espy
	offers "$ring" snapshot $ring
	offers '' snapshot $sleeper
	offers '' resume $sleeper
	kill $ring $sleeper
	wait $ring $sleeper
fi
if "$espy" doctor | grep -q 'yes *holds tasks'; then
	: >held
	"$espy" trace -q -e trace=unlinkat --pause-on unlinkat -o lines rm held 2>"$dir/err" &
	wait_for 60 grep -q 'is held after' "$dir/err"
	held=$(sed -n 's/.*: task \([0-9]*\) .* is held after.*/\1/p' "$dir/err")
	# The message comes a moment before the task sleeps, and a held task wakes up now and then to sleep again.
	is_offered() {
		ask resume "$held"
		[ "$answer" = "$held" ]
	}
	wait_for 60 is_offered
	same "resume $held -> $held" "${held:-a task that is held}" "$answer"
	"$espy" resume "$held" >"$dir/out"
	wait $!
fi
exec 6>&-
wait
# zsh is not needed to see that its file is one.
command -v zsh >/dev/null && { run 0 zsh -n "$root/completions/_espy"; }
finish
