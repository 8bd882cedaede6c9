#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# make install and make uninstall: SCRIPT ESPY SOURCE-DIR BUILD-DIR. What is installed works, and is removed again.
. "$(dirname "$0")/lib.sh"
build=$3 log=$3/meson-logs/install-log.txt
command -v make >/dev/null || { echo "SKIP: make is not installed"; exit 77; }
[ -f "$root/Makefile" ] || { echo "SKIP: no Makefile"; exit 77; }
# The list of what the user has installed stays as it is.
[ ! -f "$log" ] || cp "$log" kept
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
[ ! -f kept ] || cp kept "$log"
# A prefix that is given counts, whatever the build was made for; another one is not even looked at.
to_make -n install PREFIX="$dir/other" >plan
shows "meson configure .* --prefix=$dir/other" plan
shows '^test "command line" = file ||' plan
to_make -n install >plan
shows '^test "file" = file ||' plan
finish
