#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# symbols.sh SOURCE-DIR LIBESPY.SO LIBESPY.A: libespy offers the functions of its headers, each with its version, and nothing else.
set -u
source=$1 shared=$2 static=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0

# same WHAT: $dir/have is what the headers say
same() {
	if diff "$dir/headers" "$dir/have" >"$dir/diff"; then
		echo "ok $1"
	else
		printf 'not ok %s (<: in the headers alone)\n' "$1"
		cat "$dir/diff"
		bad=1
	fi
}
cat "$source"/include/espy/*.h |
	sed -nE 's/.*ESPY_API [^(]*[ *](espy_[a-z0-9_]+)\(.*/\1/p' | LC_ALL=C sort >"$dir/headers"
[ "$(wc -l <"$dir/headers")" -ge 50 ] || { echo "not ok the headers have few functions"; exit 1; }
sed -nE 's/^\t(espy_[a-z0-9_]+);$/\1/p' "$source/src/lib/libespy.map" | LC_ALL=C sort >"$dir/have"
same "the version script names the functions of the headers"
nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort | sed 's/@@ESPY_0\.1$//' >"$dir/have"
same "libespy.so exports them, with the version ESPY_0.1, and nothing else"
# What a sanitizer adds to each object is not ours.
nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | grep -vE '^__(asan|odr_asan|tsan|ubsan)' | LC_ALL=C sort >"$dir/have"
same "libespy.a exports nothing else"
# Each function has a place in a manual page's synopsis.
cat "$source"/docs/*.3.scd | tr -d '*\\' | grep -oE 'espy_[a-z0-9_]+\(' | tr -d '(' | LC_ALL=C sort -u >"$dir/pages"
LC_ALL=C comm -12 "$dir/headers" "$dir/pages" >"$dir/have"
same "a manual page shows each function"
readelf -d "$shared" | grep -q 'SONAME.*libespy\.so\.0' || { echo "not ok its name is libespy.so.0"; bad=1; }
exit $bad
