#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that see other files than espy: the agent's library is given to them.
. "${0%/*}/lib.sh"
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
unshare -m true 2>/dev/null || { echo "SKIP: no mount namespaces"; exit 77; }
root=$dir/root
mkdir -p "$root/proc"
cp "$progs/subjects" "$root/subjects"
ldd "$progs/subjects" | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^\//) print $i }' | while read -r lib; do
	mkdir -p "$root$(dirname "$lib")"
	cp -L "$lib" "$root$lib"
done
# behind UNSHARE-OPTIONS COMMANDS: a program behind them; its number in $pid
behind() {
	# shellcheck disable=SC2086 # words are meant to be split
	unshare $1 sh -c "$2" 2>/dev/null & shell=$!
	wait_for 60 sh -c "pgrep -x subjects -P $shell || grep -qx subjects /proc/$shell/comm"
	pid=$(pgrep -x subjects -P $shell || echo $shell)
}
end() {
	kill -9 "$pid"
	wait $shell 2>/dev/null
}
behind -m "mount -t tmpfs none '$(dirname "$agent")' && exec '$root/subjects' marks"
works "a mount namespace without the library" "$pid" 'app:req_done(id='
has "a mount namespace without the library: where it is from" /proc/"$pid"/maps 'r-xp .*/memfd:espy-agent.so'
expect "a mount namespace without the library: no descriptor of it is left" "" \
	"$(find /proc/"$pid"/fd -lname '*espy*')"
works "a second time" "$pid" 'app:req_done(id='
expect "a second time: it is loaded once" 1 "$(grep -c 'r-xp .*/memfd:espy-agent.so' /proc/"$pid"/maps)"
end
in_root="exec chroot '$root' /subjects marks"
behind -m "mount -t proc proc '$root/proc' && $in_root"
works "another root directory" "$pid" 'app:req_done(id='
end
behind "-m -p -f --kill-child" "mount -t proc proc '$root/proc' && $in_root"
works "processes with numbers of their own" "$pid" 'app:req_done(id='
end
if unshare -U -r -m -p -f true 2>/dev/null; then
	behind "-U -r -m -p -f --kill-child" "mount -t proc proc '$root/proc' && $in_root"
	works "a container of a user" "$pid" 'app:req_done(id='
	end
fi
behind -m "$in_root"
refused "another root directory without /proc" "$pid" 'sees another root directory (a container?), where neither'
end
# Under a name that is a link to it.
ln -s "$agent" "$dir/link.so"
start "$progs/subjects" marks
ESPY_AGENT=$dir/link.so
works "the library by a symbolic link" $pid 'app:req_done(id='
kill $pid
# The sanitizers of clang are linked into the program, which then has a dlopen() of its own in front of libc's.
here=$(dirname "$0")
for san in address thread; do
	clang -O1 -fsanitize=$san -I"$here/../../../include" "$here/subjects.c" -pthread -o "$dir/san" 2>/dev/null || continue
	start "$dir/san" marks
	works "clang -fsanitize=$san" $pid 'app:req_done(id='
	kill $pid
done
finish
