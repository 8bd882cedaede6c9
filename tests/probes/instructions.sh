#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# instructions.sh READER: READER compares what it knows of every instruction of real programs with what objdump says.
set -u
reader=$1
command -v objdump >/dev/null || {
	echo "SKIP: there is no objdump"
	exit 77
}
bad=0
for file in /lib/x86_64-linux-gnu/libc.so.6 /lib64/libc.so.6 "$(command -v bash)" "$reader"; do
	[ -r "$file" ] || continue
	got=$(objdump -d -w --insn-width=16 "$file" 2>/dev/null | "$reader") || bad=1
	echo "$file: $got"
done
exit $bad
