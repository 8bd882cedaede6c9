#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# no_return.sh ESPY: the kernel puts an address of its own in the place of the return address where a return is probed, in every
# program that maps the file. Functions that do not bear that are left out, so programs that nobody watches go on as ever.
. "${0%/*}/../lib.sh"
. "${0%/*}/../trouble/descendants.sh"
trap 'end_descendants; rm -rf "$dir"' EXIT
need_source bpf
cd "$dir" || exit 1

refused() { # FUNCTION WHY
	"$espy" trace -u "libc:$1%return" -o out true 2>err
	expect "$1: refused" 1 $?
	has "$1: and why" err "no probe can be at the return of $1: $2"
}
refused _setjmp 'it may return twice'
refused vfork 'it may return twice'
refused dlsym 'it finds out by its return address'
"$espy" trace -u libc:_setjmp -o out true 2>err
expect "its entry may be probed" 0 $?

"$espy" trace -u 'libc:*setjmp%return' -o out true 2>err
has "a pattern leaves them out" err 'functions of .* are left out: a probe at their return would break the program'

# Bash comes back from each command by longjmp, and Python starts programs by vfork.
work='t=0; for i in 1 2 3 4 5 6 7 8; do x=$(echo $i | cat); t=$((t + x)); done; (exit 3); echo $t $?'
mkfifo go
"$espy" trace -f -o out -u 'libc:*jmp*%return if pid == 1' -u 'libc:*fork*%return if pid == 1' -u 'libc:*context*%return if pid == 1' \
	-u 'libc:dl*%return if pid == 1' sh -c ': >begun; read line <go' 2>err &
wait_for 60 test -e begun
expect "bash beside it" "36 3" "$(timeout 60 bash -c "$work" 2>&1)"
if command -v python3 >/dev/null; then
	got=$(timeout 60 python3 -c 'import subprocess; print(sum(int(subprocess.check_output(["echo", str(i)], close_fds=False)) for i in range(9)))' 2>&1)
	expect "Python beside it" 36 "$got"
fi
echo >go
wait $!

cxx=$(ldconfig -p 2>/dev/null | sed -n 's/.*libstdc++\.so\.6 .*x86-64.* => //p' | head -n 1)
if [ -n "$cxx" ]; then
	"$espy" trace -u "$cxx:*bad_alloc*%return" -o out true 2>err
	has "what becomes of exceptions is said" err 'an exception or panic that leaves a function whose return is probed ends the program'
	"$espy" trace -u "$cxx:*bad_alloc*" -o out true 2>err
	hasnt "not where the entry is probed" err 'exception'
fi
finish
