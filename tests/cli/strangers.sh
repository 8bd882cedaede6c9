#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# `espy resume` and `espy snapshot` of root do not speak to sockets of other users: what answers there, and when, its owner decides.
. "${0%/*}/lib.sh"

[ "$(id -u)" = 0 ] || { echo "SKIP: needs root, to become another user"; exit 77; }
command -v setpriv >/dev/null || { echo "SKIP: setpriv is not installed"; exit 77; }
# A user without a name: other tests run espy as nobody at the same time, which uses the same place.
somebody() {
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}
uid=65533
# The first python3 of PATH may lie where other users may not look.
for python in python3 /usr/bin/python3 ''; do
	[ -z "$python" ] || ! somebody "$python" -c 'import selectors' 2>/dev/null || break
done
[ -n "$python" ] || { echo "SKIP: other users have no python3"; exit 77; }
# One whose place nobody uses: not this test either, from another tree.
mkdir -p /run/user
until mkdir "/run/user/$uid" 2>/dev/null; do
	uid=$((uid - 1))
	[ $uid -gt 65000 ] || { echo "SKIP: no place can be made in /run/user"; exit 77; }
done
user=/run/user/$uid
clean_user() {
	clean
	rm -rf "$user"
}
trap clean_user EXIT
chown "$uid:$uid" "$user" && chmod 700 "$user" || exit 1

# It listens by every name that a flight recorder or a holder could have, takes every request, and answers nothing.
cat >"$dir/stranger.py" <<'END'
import os, selectors, socket, sys
os.makedirs(sys.argv[1] + "/espy", mode=0o700)
sel = selectors.DefaultSelector()
for kind in ("hold", "flight"):
    for number in range(1, 101):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind("%s/espy/%s.%d" % (sys.argv[1], kind, number))
        s.listen(8)
        sel.register(s, selectors.EVENT_READ)
print("ready", flush=True)
kept = []
while True:
    for key, _ in sel.select():
        kept.append(key.fileobj.accept())
        print("asked", flush=True)
END
chmod 755 "$dir" && chmod 644 "$dir/stranger.py"
# Not by the function: the job would be a shell, and it is the server that ends with the test.
setpriv --reuid="$uid" --regid="$uid" --clear-groups "$python" "$dir/stranger.py" "$user" >"$dir/log" 2>&1 &
wait_for 60 grep -q ready "$dir/log"
what='the stranger'
shows '^ready' "$dir/log"

run 1 timeout 60 "$espy" resume 1
run 1 timeout 60 "$espy" snapshot 1
lacks '^asked' "$dir/log"
finish
