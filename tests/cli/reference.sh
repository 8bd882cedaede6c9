#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What is decoded, in numbers and as a page; the page in docs/ is that of these descriptions.
. "${0%/*}/lib.sh"
run 0 "$espy" list
shows '^ *[0-9]* system calls, [0-9]* of them described$'
shows '^ *[0-9]* ioctl commands with a name, [0-9]* of them decoded$'
shows '^ *[1-9][0-9]* netlink attributes$'
run 0 "$espy" list --abi=32
shows '^ *[0-9]* system calls'
run 0 "$espy" list --markdown
shows '^| 257 | openat(dirfd dirfd, pathname in path, flags open_flags, mode permissions) | %desc %file |$'
shows '^| VIDIOC_S_INPUT | argp in u32 |$'
shows '^| SOL_SOCKET SO_LINGER |.*struct linger'
cmp -s "$dir/out" "$root/docs/reference.md" && echo "ok docs/reference.md is that page" || {
	echo "not ok docs/reference.md is older than the descriptions: espy list --markdown >docs/reference.md"
	diff "$root/docs/reference.md" "$dir/out" | head -n 10
	bad=1
}
run 1 "$espy" list --markdown syscalls
run 1 "$espy" list -p 1
finish
