#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# installed.sh SOURCE-DIR BUILD-DIR: what is installed serves a program outside of the tree, by the snippets of docs/markers.md for make,
# meson and CMake, and the agent is linked in by who asks for it, although no program with marks calls it. INSTALLED=short: without CMake, and by
# one command of each compiler.
set -u
docs=$1/docs/markers.md
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
n=0

fail() {
	printf 'not ok %s\n' "$*"
	bad=1
}
command -v pkg-config >/dev/null || { echo "SKIP: no pkg-config"; exit 77; }
env -u DESTDIR meson install -C "$2" --no-rebuild --destdir "$dir/root" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
pc=$(find "$dir/root" -name espy-agent.pc)
prefix=$dir/root$(sed -n 's/^prefix=//p' "$pc")
PKG_CONFIG_PATH=$(dirname "$pc")
PKG_CONFIG=$dir/pkg-config
printf '#!/bin/sh\nexec %s --define-variable=prefix="%s" "$@"\n' "$(command -v pkg-config)" "$prefix" >"$PKG_CONFIG"
chmod +x "$PKG_CONFIG"
export PKG_CONFIG_PATH PKG_CONFIG
PATH=$dir:$PATH
cat >"$dir/app.c" <<'END'
#include <espy/mark.h>
int main(int argc, char **argv)
{
	MARK(app_request_done, "argc=%d name=%s", argc, argv[0]);
	return 0;
}
END
# snippet NAME: the indented lines of docs below "NAME:"
snippet() {
	awk -v name="$1:" '$0 == name { on = 1; next } on && /^[^ ]/ { exit } on { sub(/^    /, ""); print }' "$docs"
}
# made NAME PROGRAM WITH-AGENT (yes or no)
made() {
	n=$((n + 1))
	"$2" || fail "$1: it does not run"
	readelf -n "$2" | grep -q 'Provider: app' || fail "$1: it has no marks"
	if [ "$3" = yes ]; then
		readelf -d "$2" | grep -q 'NEEDED.*libespy-agent.so.1' || fail "$1: the agent is not linked in: $(readelf -d "$2" | grep NEEDED)"
	else
		readelf -d "$2" | grep -q 'NEEDED.*espy' && fail "$1: it needs a library"
	fi
}
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libespy-agent.so)")
export LD_LIBRARY_PATH

mkdir "$dir/make" && cp "$dir/app.c" "$dir/make"
{ snippet Makefile; echo 'app: app.c'; } >"$dir/make/Makefile"
grep -q espy-mark "$dir/make/Makefile" || fail "$docs: no snippet for make"
make -C "$dir/make" >"$dir/out" 2>&1 || fail "make: $(cat "$dir/out")"
made make "$dir/make/app" yes
for cc in 'gcc -Wl,--as-needed' 'clang -fuse-ld=lld -Wl,--as-needed' clang 'gcc -fuse-ld=gold -Wl,--as-needed'; do
	command -v ${cc%% *} >/dev/null || continue
	[ "${INSTALLED-} $cc" != 'short clang' ] || break
	case $cc in *fuse-ld*) ld=${cc#*fuse-ld=} && command -v "ld.${ld%% *}" >/dev/null || continue ;; esac
	# shellcheck disable=SC2046 # words are meant to be split
	$cc "$dir/app.c" $("$PKG_CONFIG" --cflags --libs espy-agent) -o "$dir/app" || fail "$cc"
	made "$cc" "$dir/app" yes
	# shellcheck disable=SC2046
	$cc "$dir/app.c" $("$PKG_CONFIG" --cflags --libs espy-mark) -o "$dir/app" || fail "$cc"
	made "$cc, marks alone" "$dir/app" no
done

mkdir "$dir/meson" && cp "$dir/app.c" "$dir/meson"
{
	echo "project('app', 'c')"
	snippet meson
	echo "executable('with', 'app.c', dependencies: dependency('espy-agent'))"
} >"$dir/meson/meson.build"
if meson setup "$dir/meson/b" "$dir/meson" >"$dir/out" 2>&1 && ninja -C "$dir/meson/b" >>"$dir/out" 2>&1; then
	made meson "$dir/meson/b/app" no
	made 'meson, with the agent' "$dir/meson/b/with" yes
else
	fail "meson: $(tail -20 "$dir/out")"
fi

if [ "${INSTALLED-}" != short ] && command -v cmake >/dev/null; then
	mkdir "$dir/cmake" && cp "$dir/app.c" "$dir/cmake"
	{
		echo 'cmake_minimum_required(VERSION 3.10)'
		echo 'project(app C)'
		echo 'add_executable(app app.c)'
		snippet CMake
		echo 'add_executable(with app.c)'
		echo 'pkg_check_modules(ESPY_AGENT REQUIRED IMPORTED_TARGET espy-agent)'
		echo 'target_link_libraries(with PRIVATE PkgConfig::ESPY_AGENT)'
	} >"$dir/cmake/CMakeLists.txt"
	if cmake -DPKG_CONFIG_EXECUTABLE="$PKG_CONFIG" -S "$dir/cmake" -B "$dir/cmake/b" >"$dir/out" 2>&1 &&
		cmake --build "$dir/cmake/b" >>"$dir/out" 2>&1; then
		made CMake "$dir/cmake/b/app" no
		made 'CMake, with the agent' "$dir/cmake/b/with" yes
	else
		fail "CMake: $(tail -20 "$dir/out")"
	fi
fi
for file in include/espy/mark.h include/espy/agent.h share/doc/espy/markers.md share/doc/espy/examples/marks.c; do
	[ -f "$prefix/$file" ] || fail "$file is not installed"
done
gcc -I"$prefix/include" "$prefix/share/doc/espy/examples/marks.c" -o "$dir/marks" || fail "the installed example"
echo "$n programs"
exit $bad
