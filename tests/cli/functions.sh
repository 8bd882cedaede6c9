#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# functions.sh ESPY SOURCE PROGRAM: functions of a file, by the names of their linker and of their programmer.
program=$(realpath "$3")
. "${0%/*}/lib.sh"
run 0 "$espy" list functions "$program" plain
shows '^0x[0-9a-f]* *[0-9]*  \(+0\|+0x[1-9a-f]\|stepped\) *plain$'
run 0 "$espy" list functions "$program" 'pl?i*'
shows '  plain$'
run 0 "$espy" list functions "$program:pl?i*"
shows '  plain$'
run 0 "$espy" list functions "$program" '_ZN99never'
shows '  _ZN99never$'
# Names of C++ and Rust need the library of C++, which is no part of espy.
if ldconfig -p 2>/dev/null | grep -q 'libstdc++\.so\.6'; then
	run 0 "$espy" list functions "$program" 'store::*'
	shows '  _ZN5store4findERKNS_3keyE  store::find(store::key const&)$'
	run 0 "$espy" list functions "$program" '*fmt*'
	shows '  core::fmt::write$'
	run 0 "$espy" list functions "$program" store::find
	shows '  store::find(store::key const&)$'
	# -u takes them without types, and shows them so.
	if "$espy" doctor --source=bpf >/dev/null 2>&1; then
		run 0 "$espy" trace -qq -o "$dir/hits" -u "$program:store::find(x=%di:d)" -u "$program:core::*%return(=\$retval:d)" "$program"
		same "probes by such names" 'cli-mangled:store::find(x=1) cli-mangled:core::fmt::write() = 3' \
			"$(sed 's/ <[0-9.]*>$//; s/  *= / = /' "$dir/hits" | grep cli-mangled | paste -sd' ')"
		run 1 "$espy" trace -u "$program:store::fnid" "$program"
		says "espy: cli-mangled ($program) has no function 'store::fnid'; there is store::find"
	fi
fi
# The offset is one that a probe takes.
run 0 "$espy" list functions "$program" plain
offset=$(sed -n 's/^\(0x[0-9a-f]*\) .*/\1/p' "$dir/out")
same "one offset" 1 "$(echo "$offset" | grep -c '^0x[0-9a-f]*[1-9a-f]')"
if "$espy" doctor --source=bpf >/dev/null 2>&1; then
	run 0 "$espy" trace -e trace=none -q -o "$dir/hits" -u "$program:$offset" "$program"
	same "a probe there is hit" 1 "$(grep -c 'plain' "$dir/hits")"
fi
run 1 "$espy" list functions "$program" 'nosuch*'
says "espy: $program: no function matches 'nosuch*'"
run 1 "$espy" list functions
run 1 "$espy" list functions /dev/null
run 1 "$espy" list functions "$program" a b
printf '\177ELF\2\1\1 garbage' >"$dir/garbage"
run 1 "$espy" list functions "$dir/garbage"
finish
