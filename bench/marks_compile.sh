#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench/marks_compile.sh [ROUNDS [COMPILER...]]: what a mark costs to compile.
#
# Files of 500 marks with two integers and a string, each mark in a function of its own ("apart") or all in one ("together"), at -O0
# and -O2, assembled to an object. Measured is processor time (user + system) of the compiler and all that it starts, the median of
# ROUNDS; from it is taken that of the same file in which the marks are
#     nothing   compiled away (-DESPY_NO_MARKS): all that a mark costs. The budget is for this.
#     calls     calls of a variadic function that is elsewhere, with the same arguments: what it costs more than a line of a log
# INCLUDE in the environment: another folder to take espy/mark.h from, to compare versions of it.
set -u
rounds=${1:-3}
[ $# -gt 0 ] && shift
marks=500
budget=2
include=${INCLUDE:-$(realpath "$(dirname "$0")")/../include}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# source MACRO together|apart: the file on stdout
source() {
	echo '#ifdef CALLS'
	echo '#ifdef __cplusplus'
	echo 'extern "C"'
	echo '#endif'
	echo '__attribute__((__format__(__printf__, 2, 3))) void app_log(const char *name, const char *format, ...);'
	echo '#define MARK(name, ...) app_log(#name, __VA_ARGS__)'
	echo '#else'
	echo '#include "espy/mark.h"'
	echo '#endif'
	[ "$1" = together ] && echo 'void f(int a, int b, const char *s) {'
	i=0
	while [ $i -lt $marks ]; do
		mark="MARK(app_request_done$i, \"id=%d size=%d path=%s\", a, b, s);"
		[ "$1" = apart ] && mark="void f$i(int a, int b, const char *s) { $mark }"
		echo "$mark"
		i=$((i + 1))
	done
	[ "$1" = together ] && echo '}'
}

# cost COMMAND...: processor time of the command in ms, the median
cost() {
	r=0
	while [ $r -lt "$rounds" ]; do
		# the second line of `times` is what the children took
		(
			"$@" || exit 1
			times
		) >"$dir/times" || return 1
		sed -n '2{s/[ms]/ /g;p;}' "$dir/times" | awk '{ printf "%.0f\n", 60000 * ($1 + $3) + 1000 * ($2 + $4) }'
		r=$((r + 1))
	done | sort -n | sed -n "$((rounds / 2 + 1))p"
}

for how in apart together; do
	source $how >"$dir/$how.c"
	cp "$dir/$how.c" "$dir/$how.cc"
done
[ $# -gt 0 ] || set -- gcc g++ clang clang++ clang-16 clang++-16 clang-19 clang++-19
for cc in "$@"; do
	command -v "$cc" >/dev/null || continue
	x=c
	case $cc in *++*) x=cc ;; esac
	for o in -O0 -O2; do
		for how in apart together; do
			f="$dir/$how.$x"
			with=$(cost "$cc" $o -I"$include" -c "$f" -o "$dir/o")
			none=$(cost "$cc" $o -I"$include" -DESPY_NO_MARKS -c "$f" -o "$dir/o")
			calls=$(cost "$cc" $o -I"$include" -DCALLS -c "$f" -o "$dir/o")
			if [ -z "$with" ] || [ -z "$none" ] || [ -z "$calls" ]; then
				echo "compile time of a mark, $cc $o, $how: it does not compile"
				continue
			fi
			awk -v w="$with" -v n="$none" -v c="$calls" -v m=$marks -v b=$budget -v what="$cc $o, $how" 'BEGIN {
				printf "%-52s  %.2f ms; over calls: %.2f%s\n", "compile time of a mark, " what, (w - n) / m, (w - c) / m,
					((w - n) / m > b ? "; over the budget of " b : "")
			}'
		done
	done
done
