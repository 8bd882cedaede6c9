#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# hardened.sh ESPY AGENT LIBRARY BUILD CC WORD...: what is built is what meson.build asks for. The words name what not every compiler or
# kind of build has: cf (-fcf-protection), stack (canaries), fortify (checked string functions).
set -u
espy=$1 agent=$2 library=$3 build=$4 cc=$5
shift 5
dir=$(mktemp -d)
bad=0
trap 'rm -rf "$dir"' EXIT
command -v readelf >/dev/null || { echo "SKIP: no readelf"; exit 77; }
has() { # NAME FILE PATTERN
	grep -Eq -- "$3" "$2" && echo "ok $1" || { echo "not ok $1"; bad=1; }
}
hasnt() {
	grep -E -- "$3" "$2" && { echo "not ok $1"; bad=1; } || echo "ok $1"
}
wants() {
	case " $words " in *" $1 "*) return 0 ;; esac
	return 1
}
words=$*
for file in "$espy" "$agent" "$library"; do
	name=$(basename "$file")
	readelf -Whlnd "$file" >"$dir/elf" || exit 1
	has "$name: its place is not fixed" "$dir/elf" '^ *Type: *DYN'
	has "$name: relocated data is read only" "$dir/elf" 'GNU_RELRO'
	has "$name: all symbols are bound at the start" "$dir/elf" 'BIND_NOW|Flags:.* NOW'
	has "$name: says what its stack is" "$dir/elf" 'GNU_STACK'
	hasnt "$name: the stack holds no code, nor does what can be written" "$dir/elf" '^ *(LOAD|GNU_STACK) .* RWE '
	hasnt "$name: no code is relocated" "$dir/elf" 'TEXTREL'
	hasnt "$name: looks for libraries nowhere else" "$dir/elf" 'RPATH|RUNPATH'
done
readelf -Wd "$espy" >"$dir/elf"
has "espy: is an executable of any place" "$dir/elf" 'Flags:.* PIE'
readelf -W --dyn-syms "$espy" >"$dir/symbols"
wants stack && has "espy: canaries" "$dir/symbols" ' __stack_chk_fail'
wants fortify && has "espy: checked string functions" "$dir/symbols" ' __(memcpy|snprintf|vsnprintf|read|strcpy|strcat|memset|memmove)_chk'
# Where control may go. One object without the note is enough for the linker to leave it out of the file.
if wants cf && [ "$(uname -m)" = x86_64 ]; then
	find "$build/src" "$build/agent" -name '*.o' ! -name '*.bpf.o' >"$dir/objects"
	# shellcheck disable=SC2046 # no name of these has a space
	readelf -Wn $(cat "$dir/objects") | awk '/^File: / { file = $2; seen[file] = 0 } /x86 feature: .*IBT.*SHSTK/ { seen[file] = 1 }
		END { for (f in seen) if (!seen[f]) print f }' >"$dir/without"
	[ -s "$dir/objects" ] && [ ! -s "$dir/without" ] && echo "ok $(wc -l <"$dir/objects") objects say where control may go" ||
		{ echo "not ok objects that do not say where control may go:"; head "$dir/without"; bad=1; }
	echo 'int main(void) { return 0; }' >"$dir/t.c"
	# shellcheck disable=SC2086 # the compiler may have arguments
	$cc -fcf-protection -shared -fPIC -o "$dir/t.so" "$dir/t.c" && $cc -fcf-protection -o "$dir/t" "$dir/t.c" || exit 1
	for pair in "$espy $dir/t" "$agent $dir/t.so" "$library $dir/t.so"; do
		set -- $pair
		if readelf -Wn "$2" | grep -q 'x86 feature: .*IBT'; then
			readelf -Wn "$1" >"$dir/elf"
			has "$(basename "$1"): says where control may go" "$dir/elf" 'x86 feature: .*IBT.*SHSTK'
		else
			echo "# the C library's own objects do not say where control may go, so nothing that is linked with them does"
		fi
	done
fi
exit $bad
