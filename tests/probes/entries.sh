#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# entries.sh ESPY PROGRAMS-DIR: a probe on a function lies at the first instruction that the kernel emulates, if that is hit as often and
# with the same arguments; else at the first instruction of all.
. "${0%/*}/../lib.sh"
prog=$(realpath "$2")/entries
need_source bpf

# lies FUNCTION ARGUMENTS AT HITS: with one call of each number from 1 to 3
lies() {
	"$espy" trace --source=bpf -u "$prog:$1$2" -o "$dir/got" "$prog" "$1" 3 >"$dir/out" 2>"$dir/err"
	expect "$1$2 lies at" "$3" "$(cut -d ' ' -f 1 "$dir/out")"
	expect "$1$2: hits" "$4" "$(grep -v '^+++' "$dir/got" | sed 's/^[^(]*(//; s/).*//' | tr '\n' ' ')"
}
all='i=1 i=2 i=3 '
lies pushes '(i=%di:d)' 0 "$all"
lies leads '(i=%di:d)' 4 "$all"
lies leads '(i=%di:d, text=%si:string)' 4 'i=1, text="text" i=2, text="text" i=3, text="text" '
lies leads '(a=%ax:d) if a > 1000000000' 0 ''
lies marked '(i=%di:d) if i > 1' 11 'i=2 i=3 '
lies loads '(i=%di:d)' 12 "$all"
lies last '(i=%di:d)' 4 "$all"
# Registers, memory
lies changes '(i=%di:d)' 0 "$all"
lies changes '' 4 '   '
lies changes_second '(text=%si:string)' 0 'text="text" text="text" text="text" '
lies changes_second '(i=%di:d) if i != 2' 2 'i=1 i=3 '
lies changes_byte '(i=%di:d)' 0 "$all"
lies changes_byte '(text=%si:string)' 3 'text="text" text="text" text="text" '
lies changes_stack '(i=%di:d)' 4 "$all"
lies changes_stack '(i=%di:d, s=$stack) if s == 1' 0 ''
lies writes '(i=%di:d)' 0 "$all"
lies steps '(i=%di:d)' 0 "$all"
# The address of the instruction is another one, and who asks for it gets that of the function.
lies leads '(i=%di:d, at=%ip) if at == 1' 0 ''
# Jumps from the function itself, from another one, by a table; a second function.
for function in loops loops_far loops_next chooses outer; do
	lies $function '(i=%di:d)' 0 "$all"
done
# A place that is named as an instruction is that one; a return is where it was.
at=$("$espy" list functions "$prog" leads | cut -d ' ' -f 1)
"$espy" trace -u "$prog:$at(i=%di:d)" -o "$dir/got" "$prog" leads 3 >"$dir/out" 2>"$dir/err"
expect "an offset in the file" 0 "$(cut -d ' ' -f 1 "$dir/out")"
expect "an offset in the file: the name of a hit" 3 "$(grep -c '^entries:leads(i=' "$dir/got")"
"$espy" trace -u "$prog:leads+7" -o "$dir/got" "$prog" leads 3 >"$dir/out" 2>"$dir/err"
expect "an instruction in it" 7 "$(cut -d ' ' -f 1 "$dir/out")"
lies leads '%return(i=$arg1:d)' 0 "$all"
"$espy" trace -u "$prog:lead*(i=%di:d)" -o "$dir/got" "$prog" leads 3 >"$dir/out" 2>"$dir/err"
expect "a pattern" "4 3" "$(cut -d ' ' -f 1 "$dir/out") $(grep -c '^entries:leads(i=' "$dir/got")"
# A function that dies in its first instruction was entered.
"$espy" trace -u "$prog:faults(i=%di:d)" -o "$dir/got" "$prog" faults 1 >"$dir/out" 2>"$dir/err"
has "the hit before a fault" "$dir/got" '^entries:faults(i=1)$'
has "the fault" "$dir/got" 'SIGSEGV'

# What a list says of them.
"$espy" list functions "$prog" >"$dir/list"
for line in '+0 pushes' '+0x4 leads' '+0x4 last' '+0xb marked' '+0xc loads' 'stepped changes' 'stepped changes_second' '+0x4 changes_stack' \
	'stepped writes' 'stepped faults' 'stepped loops' 'stepped loops_far' 'stepped loops_next' 'stepped chooses' 'stepped outer' \
	'+0 inner' 'stepped steps' 'refused locks'; do
	expect "the list: ${line#* }" "$line" "$(awk -v name="${line#* }" '$4 == name { print $3, $4 }' "$dir/list")"
done
finish
