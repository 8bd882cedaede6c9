#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# --secontext: the contexts of SELinux behind descriptors and paths, as they are when the call begins. Files have them as attributes,
# also where SELinux is not at work; those of tasks are tested in tests/vm.
labelled=$(realpath "$3")
. "${0%/*}/lib.sh"
need_tracing
mkdir files
"$labelled" files label >why || { echo "SKIP: $(cat why)"; exit 77; }
calls=openat,poll,renameat,connect
traced() { # OPTIONS...: the calls that lead to the files, without the program's own loading
	"$espy" trace --source=ptrace -a 0 -e trace=$calls -e quiet=exit -o lines "$@" "$labelled" files || echo "not ok status $?"
	sed '/^openat(AT_FDCWD[^"]*"\//d; s/ 3<[^>]*>/ 3/' lines
}
same "types" 'openat(AT_FDCWD, "file" [user_tmp_t], O_RDONLY|O_CLOEXEC) = 3 [user_tmp_t]
openat(AT_FDCWD, "dir" [dir_t], O_RDONLY|O_CLOEXEC|O_DIRECTORY) = 4 [dir_t]
openat(4 [dir_t], "odd" [odd\135\33\13331m], O_RDONLY|O_CLOEXEC) = 5 [odd\135\33\13331m]
openat(AT_FDCWD, "bare", O_RDONLY|O_CLOEXEC) = 6
poll([{fd=3 [user_tmp_t], events=POLLIN}, {fd=6, events=POLLIN}], 2, 0) = 2 ([{fd=3, revents=POLLIN}, {fd=6, revents=POLLIN}])
renameat(AT_FDCWD, "file" [user_tmp_t], 4 [dir_t], "moved") = 0
renameat(4 [dir_t], "moved" [user_tmp_t], AT_FDCWD, "file") = 0
connect(7, {sa_family=AF_UNIX, sun_path="file" [user_tmp_t]}, 110) = -1 ECONNREFUSED (Connection refused)
connect(7, {sa_family=AF_UNIX, sun_path=@"ile"}, 110) = -1 ECONNREFUSED (Connection refused)' "$(traced --secontext | sed 's/@"ile\(\\0\)*"/@"ile"/')"
calls=connect
same "whole contexts, and what descriptors are" 'connect(7<UNIX-STREAM:[N]>, {sa_family=AF_UNIX, sun_path="file" [system_u:object_r:user_tmp_t:s0]}, 110) = -1 ECONNREFUSED (Connection refused)' \
	"$(traced -e secontext=full -yy | sed -n '1s/\[[0-9]*\]/[N]/p')"
calls=openat
same "a word of strace for none" 'openat(AT_FDCWD, "file", O_RDONLY|O_CLOEXEC) = 3' "$(traced --secontext=none | head -n 1)"
same "all but whole contexts" 'openat(AT_FDCWD, "file" [user_tmp_t], O_RDONLY|O_CLOEXEC) = 3 [user_tmp_t]' "$(traced --secontext='!full,mismatch' | head -n 1)"
calls=getcwd
same "a name that the call has written" 'getcwd("DIR/files/dir", 4096) = N' "$(traced --secontext | sed "s,$(realpath .),DIR,; s/= [0-9]*\$/= N/")"
"$espy" trace -e trace=openat -o lines "$labelled" files
lacks '\[user_tmp_t' lines
run 1 "$espy" trace --secontext=ful true

run 1 "$espy" trace --json --secontext true
run 0 "$espy" record -o t.espy "$labelled" files
run 0 "$espy" show --secontext -e trace=openat t.espy
says "espy: --secontext has no effect: a trace holds no contexts of SELinux"

# What the policy has for files is the affair of libselinux: here with a database of our own.
cat >mismatch.sh <<'END'
mount -t tmpfs none /etc/selinux && mkdir -p /etc/selinux/ours/contexts/files || exit 77
printf 'SELINUX=permissive\nSELINUXTYPE=ours\n' >/etc/selinux/config
printf '%s(/.*)? system_u:object_r:user_tmp_t:s0\n%s -d system_u:object_r:wanted_t:s0\n' "$1" "$1/dir" >/etc/selinux/ours/contexts/files/file_contexts
shift
exec "$@"
END
if [ -d /etc/selinux ] && unshare -m sh mismatch.sh "$dir/files" true 2>/dev/null && ldconfig -p | grep -q libselinux.so.1; then
	ours() { # OPTION
		unshare -m sh mismatch.sh "$dir/files" "$espy" trace --source=ptrace -a 0 -e trace=openat -e quiet=exit -o lines "$1" "$labelled" files
		grep '"dir"\|"file"' lines
	}
	same "what the policy has for the file" 'openat(AT_FDCWD, "file" [user_tmp_t], O_RDONLY|O_CLOEXEC) = 3 [user_tmp_t]
openat(AT_FDCWD, "dir" [dir_t!!wanted_t], O_RDONLY|O_CLOEXEC|O_DIRECTORY) = 4 [dir_t!!wanted_t]' "$(ours --secontext=mismatch)"
	same "the whole of both" 'openat(AT_FDCWD, "dir" [system_u:object_r:dir_t:s0:c0,c1!!system_u:object_r:wanted_t:s0], O_RDONLY|O_CLOEXEC|O_DIRECTORY) = 4 [system_u:object_r:dir_t:s0:c0,c1!!system_u:object_r:wanted_t:s0]' \
		"$(ours --secontext=full,mismatch | tail -n 1)"
else
	echo "# without libselinux, or a mount namespace: the policy's contexts are not tested"
fi
finish
