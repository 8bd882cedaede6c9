#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# make install and make uninstall: SCRIPT ESPY SOURCE-DIR BUILD-DIR. What is installed works, and is removed again.
. "${0%/*}/lib.sh"
build=$3
command -v make >/dev/null || { echo "SKIP: make is not installed"; exit 77; }
[ -f "$root/Makefile" ] || { echo "SKIP: no Makefile"; exit 77; }
# What the user has installed stays listed as it is.
[ ! -d "$build/installed" ] || mv "$build/installed" kept
user_build=$build
give_back() {
	rm -rf "$user_build/installed"
	[ ! -d "$dir/kept" ] || mv "$dir/kept" "$user_build/installed"
	rm -rf "$dir"
}
trap give_back EXIT
to_make() {
	env -u MAKEFLAGS -u MAKELEVEL -u PREFIX make --no-print-directory -C "$root" BUILD="$build" "$@"
}
run 0 to_make install DESTDIR="$dir/to"
installed=$(find to -name espy -type f -path '*/bin/*')
same "one command" 1 "$(echo "$installed" | grep -c .)"
run 0 "$installed" --version
for page in espy espy-trace espy-info espy-doctor espy-list espy-snapshot espy-resume; do
	command -v scdoc >/dev/null && same "$page.1" 1 "$(find to -name "$page.1" | wc -l)"
done
run 0 to_make uninstall
same "nothing is left" "" "$(find to 2>/dev/null)"
run 2 to_make uninstall
says "espy: nothing was installed from $build"
# Two prefixes: each is removed by its name, and no other goes with it. By a build of two files, since another prefix means to build anew.
mkdir tiny && echo text >tiny/one && echo text >tiny/two
echo "project('tiny') install_data('one', 'two', install_dir: get_option('datadir') / 'tiny')" | sed 's/) /)\n/' >tiny/meson.build
build=$dir/build
run 0 meson setup --prefix="$dir/a" "$build" tiny
run 0 to_make install
run 0 to_make install PREFIX="$dir/b"
run 2 to_make uninstall PREFIX="$dir/c"
says "espy: nothing was installed from $build under $dir/c; there is: $dir/a $dir/b (PREFIX=...)"
run 0 to_make uninstall PREFIX="$dir/a"
same "what is named is gone, the other stays" "0 2" "$(find a -type f 2>/dev/null | wc -l) $(find b -type f | wc -l)"
run 2 to_make uninstall PREFIX="$dir/a"
run 0 to_make uninstall
same "the other was the last" 0 "$(find b -type f 2>/dev/null | wc -l)"
# A prefix that is given counts, whatever the build was made for; another one is not even looked at.
to_make -n install PREFIX="$dir/other" >plan
shows "meson configure .* --prefix=$dir/other" plan
shows '^test "command line" = file ||' plan
to_make -n install >plan
shows '^test "file" = file ||' plan
finish
