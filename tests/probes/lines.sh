#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# lines.sh ESPY PROGRAMS-DIR: probes on lines of source.
. "${0%/*}/debugged.sh"
trace() {
	"$espy" trace --source=bpf -o got "$@" >/dev/null 2>err
}
middle=$(line middle)
loop=$(line loop)
inlined=$(line inlined)
comment=$(line comment)
many=$(grep -n '^PROBED long many' "$source" | cut -d: -f1)
hits() { # PLACE
	grep -c "^$1()" got
}
# has_lines PROGRAM: everything about one build of the program
has_lines() {
	name=${1##*/}
	begin=$("$espy" list functions "$1" many | sed -n 's/.* many  (debugged\.c:\([0-9]*\))$/\1/p')
	trace -u "$1:debugged.c:$middle" -u "$1:probes/debugged.c:$loop" -u "$1:debugged.c:$inlined" -u "$1:debugged.c:$comment" -u "$1:debugged.c:$begin" "$1"
	expect "$name: a line of a function" 2 "$(hits "$name:debugged.c:$middle")"
	expect "$name: a line that runs several times, by a longer name" 3 "$(hits "$name:probes/debugged.c:$loop")"
	expect "$name: all copies of an inlined function" 3 "$(hits "$name:debugged.c:$inlined")"
	expect "$name: a comment: the line behind it" 2 "$(hits "$name:debugged.c:$((comment + 1))")"
	expect "$name: which is said, and of no other line" "espy: debugged.c:$comment has no code: the probe is at the next line that has, debugged.c:$((comment + 1))" \
		"$(grep 'has no code' err)"
	# Compilers take the name or the brace.
	[ "$begin" = "$many" ] || [ "$begin" = $((many + 1)) ] && ok "$name: list functions names lines" || not_ok "$name: many begins at line $many, not '$begin'"
	expect "$name: and -u takes them" 1 "$(hits "$name:debugged.c:$begin")"
}
refused() { # NAME PATTERN PROBE
	trace -u "$3" true && not_ok "$1: it was taken"
	has "$1" err "$2"
}

has_lines "$progs/debugged-O0"
has_lines "$progs/debugged-O2"
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	mkdir $cc
	$cc -g -O2 -o $cc/debugged "$source" && has_lines "$dir/$cc/debugged"
done

# ---- recorded, and shown again
program=$progs/debugged-O2
trace --record t -u "$program:debugged.c:$middle" -u "$program:many" "$program"
"$espy" show -o shown t 2>err
cmp -s got shown && ok "shown again" || not_ok "shown again: $(diff got shown)"
"$espy" show -qq -o shown -u "debugged-O2:debugged.c:$middle" t 2>err
expect "chosen from a trace by its line" "2 0" "$(grep -c "^debugged-O2:debugged.c:$middle" shown) $(grep -c many shown)"

# ---- the debug information lies in another file, which the build-id names
cp "$program" with
strip -o stripped with 2>err
if [ -s stripped ]; then
	refused "a stripped file" "stripped has no debug information with lines: build it with -g, or install" "$dir/stripped:debugged.c:$middle"
	mkdir .debug
	objcopy --only-keep-debug with .debug/with.debug
	objcopy --strip-all --add-gnu-debuglink=.debug/with.debug with stripped
	trace -u "$dir/stripped:debugged.c:$middle" ./stripped
	expect "a stripped file with a debug file" 2 "$(hits "stripped:debugged.c:$middle")"
fi

# ---- refusals, in words
refused "a source of another name" "no source of .*debugged-O2 is called 'debugegd.c'; there is debugged.c\$" "$program:debugegd.c:$middle"
refused "a name of nothing" "no source of .*debugged-O2 is called 'completely/else.c' (espy list functions names them)\$" "$program:completely/else.c:3"
refused "behind the end" "debugged-O2 has no code of a line so far down: the last one with code is debugged.c:[1-9][0-9]*\$" "$program:debugged.c:100000"
refused "a return of a line" "a function returns, a line does not" "$program:debugged.c:$middle%return"
refused "an argument of a line" "arguments are known where a function begins or returns: name a register here" "$program:debugged.c:$middle(\$arg1)"
finish
