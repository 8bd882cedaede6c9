#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# installed.sh BUILD-DIR: what is installed serves a program outside of the tree, by pkg-config, with the shared library and with the
# static one. Every header can be included alone, by C and C++.
set -u
build=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0

fail() {
	printf 'not ok %s\n' "$*"
	bad=1
}
command -v pkg-config >/dev/null || { echo "SKIP: no pkg-config"; exit 77; }
env -u DESTDIR meson install -C "$build" --no-rebuild --destdir "$dir/root" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
pc=$(find "$dir/root" -name espy.pc)
prefix=$dir/root$(sed -n 's/^prefix=//p' "$pc")
example=$prefix/share/doc/espy/examples/mini_strace.c
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libespy.so.0)")
export LD_LIBRARY_PATH

pc() {
	PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$prefix" "$@" espy
}
# made NAME: $dir/app traces a program
made() {
	"$dir/app" sh -c 'exit 5' >"$dir/out" 2>&1
	if [ $? = 5 ] && grep -q 'exited with 5' "$dir/out"; then
		echo "ok $1"
	else
		fail "$1: $(tail -5 "$dir/out")"
	fi
}
# shellcheck disable=SC2046
{
	cc "$example" $(pc --cflags --libs) -o "$dir/app" 2>"$dir/out" || fail "the shared library: $(cat "$dir/out")"
	made "with the shared library"
	readelf -d "$dir/app" | grep -q 'NEEDED.*libespy\.so\.0' || fail "it does not need libespy.so.0"
	cc "$example" $(pc --cflags --libs --static | sed 's/-lespy/-l:libespy.a/') -o "$dir/app" 2>"$dir/out" ||
		fail "the static library: $(cat "$dir/out")"
	made "with the static library"
	readelf -d "$dir/app" | grep -q 'NEEDED.*libespy\.so' && fail "it needs libespy.so"
	for header in espy event sinks value; do
		echo "#include <espy/$header.h>" >"$dir/h.c"
		cc -std=c99 -Wall -Wextra -Wpedantic -Werror $(pc --cflags) -c "$dir/h.c" -o "$dir/h.o" || fail "espy/$header.h in C"
		if command -v c++ >/dev/null; then
			c++ -Wall -Wextra -Werror -x c++ $(pc --cflags) -c "$dir/h.c" -o "$dir/h.o" || fail "espy/$header.h in C++"
		fi
	done
}
for page in espy.3 espy_session.3 espy_engine.3 espy_event.3 espy_value.3 espy_filter.3 espy_output.3 espy_trace.3; do
	! command -v scdoc >/dev/null || [ -f "$prefix/share/man/man3/$page" ] || fail "$page is not installed"
done
exit $bad
