#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# replaced.sh ESPY PROGRAMS-DIR: probes in a process (-p) whose program was replaced or moved on the disk since it began.
. "${0%/*}/../lib.sh"
. "${0%/*}/../trouble/descendants.sh"
trap 'end_descendants; rm -rf "$dir"' EXIT
probed=$(realpath "$2")/probed
need_source bpf
cd "$dir" || exit 1
mkfifo in
# begins: a copy of the program that waits for bytes, at $pid
begins() {
	rm -rf x moved out
	cp "$probed" x
	./x wait <in >out &
	pid=$!
	exec 3>in
	wait_for 60 grep -q ready out || not_ok "the program does not begin"
}
ends() {
	exec 3>&-
	wait $pid
}
# replaces: another file takes its name
replaces() {
	cp "$probed" new
	mv new x
}
# hits PROBE some|none: attaches, lets the program go on once, and waits for the hits of its two calls
hits() {
	rm -f got err # what an earlier one has said is no answer
	"$espy" trace -p $pid -u "$1" -o got 2>err 3>&- &
	tracer=$!
	wait_for 60 grep -q attached err || not_ok "not attached: $(cat err)"
	echo >&3
	[ "$2" = none ] || wait_for 60 sh -c '[ "$(grep -c :handle got)" -ge 2 ]' || not_ok "$1: no hits: $(cat err)"
	[ "$2" = none ] || return 0
	kill $tracer
	wait $tracer
}

begins
hits ./x:handle some
ends
expect "a relative path" 2 "$(grep -c '^x:handle()' got)"
hasnt "nothing is said of the file itself" err 'map'

begins
replaces
hits ./x:handle some
ends
expect "a relative path whose file was replaced: the old file is probed" 2 "$(grep -c '^x:handle()' got)"
has "it is said" err "process $pid has mapped $dir/x, which was replaced or removed since: the probe is in the old file, /proc/$pid/map_files/"

begins
rm x
hits ./x:handle some
ends
expect "the same of one that was removed" 2 "$(grep -c '^x:handle()' got)"

begins
mkdir moved
mv x moved
replaces
hits ./x:handle none
has "one that was moved: it is said" err "process $pid does not map ./x, but another file: $dir/moved/x. To probe that one: -u /proc/$pid/map_files/"
probe=$(sed -n 's/.*To probe that one: -u //p' err)
hits "$probe" some
ends
expect "and what is offered works" 2 "$(grep -c '^x:handle()' got)"

begins
cp "$probed" y
hits ./y:handle none
has "a file that is not mapped: it is said" err "process $pid does not map ./y now"
ends
rm in
finish
