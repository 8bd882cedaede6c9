#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What fish offers at several places of a command line.
. "${0%/*}/lib.sh"
command -v fish >/dev/null || { echo "SKIP: fish is not installed"; exit 77; }
PATH=$(dirname "$espy"):$PATH
HOME=$dir
export HOME PATH
: >some.espy
cat >"$dir/complete" <<'END'
source $argv[1]
complete -C $argv[2]
END
# offers WANT LINE: words, each without what stands behind it
offers() {
	fish --no-config "$dir/complete" "$root/completions/espy.fish" "$2" >"$dir/offered" 2>"$dir/err"
	same "$2: status, messages" "0 0" "$? $(wc -c <"$dir/err")"
	same "$2 -> $1" "$1" "$(cut -f 1 "$dir/offered" | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"
}
offers trace 'espy tr'
offers doctor 'espy help d'
offers '--trace --trace-fds --trace-path --tracepoint' 'espy trace --trace'
offers '--source=ptrace' 'espy trace --source=p'
offers '--status=successful,failed' 'espy trace --status=successful,fa'
offers 'trace=openat trace=openat2' 'espy trace -e trace=openat'
offers 'trace=read,openat trace=read,openat2' 'espy trace -e trace=read,openat'
offers syscalls 'espy list sy'
offers some.espy 'espy show so'
offers some.espy 'espy show -T so'
offers some.espy 'espy info so'
offers '' 'espy list --nosuch'
offers '' 'espy record nosuch-program'
finish
