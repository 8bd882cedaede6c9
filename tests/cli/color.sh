#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Colours: which lines have them, that they change nothing else, and strace's own bytes.
. "${0%/*}/lib.sh"
unset STRACE_COLORS NO_COLOR
ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1"
	bad=1
}
equal() { # equal NAME WANT GOT
	cmp -s "$2" "$3" && ok "$1" && return
	not_ok "$1"
	diff "$2" "$3" | head -n 10 | cat -v
}
esc=$(printf '\033')
plain() {
	sed "s/$esc\[[0-9;]*m//g"
}
# Without a source of events: lines of a trace are the same each time.
"$espy" record -f -q --source=ptrace -o trace sh -c 'cat /nonexistent; sleep 0.01; kill -9 $$' 2>/dev/null
for o in '' -v '-y -tt' '-T -i' '-X verbose' '-X raw' -x '-N -q' '-e write=1,2' '-C' '-f -z'; do
	# shellcheck disable=SC2086 # words
	"$espy" show --color=never $o trace >want 2>&1
	# shellcheck disable=SC2086
	"$espy" show --color=always $o trace >colored 2>&1
	plain <colored >got
	equal "show $o: the same text" want got
	grep -q "$esc" colored && ok "show $o: coloured" || not_ok "show $o: no colours"
done
"$espy" show --json --color=always trace | grep -q "$esc" && not_ok "JSON has colours" || ok "JSON has none"
"$espy" show trace >got
grep -q "$esc" got && not_ok "auto: a file has colours" || ok "auto: none in a file"

"$espy" show --color=always -e trace=openat trace 2>/dev/null | grep '/nonexistent' >got
printf '%b\n' '\033[33mopenat\033[0m(\033[35m\033[34mAT_FDCWD\033[35m\033[0m, \033[35m"/nonexistent"\033[0m, \033[35m\033[34mO_RDONLY\033[35m\033[0m\033[0m)\033[0m \033[0m=\033[0m\033[0m \033[32m-1\033[0m \033[31mENOENT\033[0m \033[31m(No such file or directory)\033[0m\033[0m' >want
sed 's/.*\(\[33mopenat\)/\1/' want >want.line
sed 's/.*\(\[33mopenat\)/\1/' got >got.line
equal "a call that fails: the bytes" want.line got.line
STRACE_COLORS='syscall=1;32: error = 7 :nonsense:retval=red' "$espy" show --color=always -e trace=openat trace 2>/dev/null |
	grep '/nonexistent' | sed 's/.*\(\[1;32m\)/\1/' >got
sed 's/\[33mopenat/[1;32mopenat/; s/\[31m/[7m/g' want.line >want
equal "STRACE_COLORS" want got

if command -v script >/dev/null; then
	TERM=xterm script -qec "'$espy' trace --source=ptrace -e trace=exit_group true" /dev/null </dev/null >tty
	grep -q "$esc\[33mexit_group" tty && ok "auto: a terminal has colours" || not_ok "auto: a terminal has none: $(cat tty)"
	TERM=dumb script -qec "'$espy' trace --source=ptrace -e trace=exit_group true" /dev/null </dev/null >tty
	grep -q "$esc" tty && not_ok "a dumb terminal has colours" || ok "a dumb terminal has none"
	TERM=xterm NO_COLOR=1 script -qec "'$espy' trace --source=ptrace -e trace=exit_group true" /dev/null </dev/null >tty
	grep -q "$esc" tty && not_ok "NO_COLOR: colours" || ok "NO_COLOR: none"
fi
run 1 "$espy" trace --color=sometimes true
shows "color.*'sometimes'" "$dir/err"
finish
