#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# `espy resume` and `espy snapshot` of root do not speak to sockets of other users: what answers there, and when, its owner decides.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || { echo "SKIP: needs root, to become another user"; exit 77; }
command -v setpriv >/dev/null || { echo "SKIP: setpriv is not installed"; exit 77; }
# A user without a name: other tests run espy as nobody at the same time, which uses the same place.
somebody() {
	setpriv --reuid=65533 --regid=65533 --clear-groups "$@"
}
# The first python3 of PATH may lie where other users may not look.
for python in python3 /usr/bin/python3 ''; do
	[ -z "$python" ] || ! somebody "$python" -c 'import selectors' 2>/dev/null || break
done
[ -n "$python" ] || { echo "SKIP: other users have no python3"; exit 77; }
user=/run/user/65533
[ ! -e $user ] || { echo "SKIP: $user is in use"; exit 77; }
mkdir -p $user && chown 65533:65533 $user && chmod 700 $user || exit 1
trap 'kill $stranger 2>/dev/null; rm -rf "$dir" $user' EXIT

# It listens by every name that a flight recorder or a holder could have, takes every request, and answers nothing.
cat >"$dir/stranger.py" <<'END'
import os, selectors, socket, sys
os.makedirs("/run/user/65533/espy", mode=0o700)
sel = selectors.DefaultSelector()
for kind in ("hold", "flight"):
    for number in range(1, 101):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind("/run/user/65533/espy/%s.%d" % (kind, number))
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
# Not by the function: the number would be that of a shell.
setpriv --reuid=65533 --regid=65533 --clear-groups "$python" "$dir/stranger.py" >"$dir/log" 2>&1 &
stranger=$!
n=0
while ! grep -q ready "$dir/log" && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done
shows '^ready' "$dir/log"

run 1 timeout 60 "$espy" resume 1
run 1 timeout 60 "$espy" snapshot 1
lacks '^asked' "$dir/log"
finish
