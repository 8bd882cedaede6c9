#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# --where: a condition selects the same calls where the kernel tests it, where espy does (a trace), and where the source cannot
# (ptrace). WHERE_CALLS is the program. ROUNDS: each condition is tested live as well; without, each fourth one is, and all of a trace.
. "${0%/*}/lib.sh"
prog=$(realpath "$4")
cd "$dir" || exit 1
mkdir files
# Neither addresses nor numbers of processes differ in what is compared.
plain() {
	sed -e 's/^[0-9][0-9]* *//' -e 's/0x[0-9a-f]\{6,\}/ADDR/g' -e 's/  *= /= /' -e 's/\[pid *[0-9]*\] //' -e 's/pid=[0-9]*/pid=N/' \
		-e 's/kill([0-9]*,/kill(N,/; s/wait4([0-9]*,/wait4(N,/; s/= [0-9][0-9][0-9][0-9]*$/= N/' -e '/unfinished/d; s/.*resumed>//' \
		-e '/^+++\|^---\|^strace\|^espy/d' | LC_ALL=C sort
}
live() { # EXPR...
	setarch -R "$espy" trace --source="$source" -f -qq -e 'trace=!getpid,getrandom,brk,mmap,munmap,mprotect,arch_prctl,rseq,prlimit64,set_robust_list,set_tid_address,restart_syscall,newfstatat' \
		"$@" -o live.out "$prog" "$dir/files" >/dev/null 2>live.err || cat live.err
	plain <live.out
}
command -v setarch >/dev/null || { echo "setarch (util-linux) is not installed"; exit 77; }
setarch -R "$espy" record --source="$source" -f -q -e 'trace=!getpid,getrandom,brk,mmap,munmap,mprotect,arch_prctl,rseq,prlimit64,set_robust_list,set_tid_address,restart_syscall,newfstatat' \
	-o all "$prog" "$dir/files" >/dev/null 2>&1
all=$("$espy" show -qq all | plain | wc -l)
[ "$all" -gt 60 ] && ok "$all calls" || not_ok "only $all calls"
# try EXPR LEAST MOST: live and shown are equal, and as many lines as they should be
tried=0
try() {
	"$espy" show -qq --where "$1" all 2>show.err | plain >got
	[ -s show.err ] && cat show.err
	n=$(wc -l <got)
	tried=$((tried + 1))
	if [ -n "${ROUNDS-}" ] || [ $((tried % 4)) = 0 ]; then
		live --where "$1" >want
		same "$1: $n lines" want got
	fi
	[ "$n" -ge "$2" ] && [ "$n" -le "$3" ] || not_ok "$1: $n lines"
}
while IFS=' ' read -r least most expr; do
	try "$expr" "$least" "$most"
done <<'END'
5 30 ret < 0
5 30 errno != 0
30 999 ret >= 0
2 12 errno == ENOENT || ret == -EFAULT
3 20 ret in {-ENOENT, -EBADF, -EFAULT}
4 999 path ^= "/etc/"
4 999 path ^= '/etc/'
8 12 name == "write"
8 12 syscall in {"write", "writev"} && fd > 2
4 4 name == "openat" && path *= "/files/file"
4 4 path =~ "/files/file[0-9]$" && name =~ "^open"
2 2 flags has O_CREAT|O_EXCL
1 1 flags has O_WRONLY && flags has O_DIRECTORY
4 4 name == "openat" && flags has O_RDWR && !(ret < 0)
1 30 name == "openat" && flags has O_RDONLY && ret == -ENOENT
2 40 !(path != "") && name == "close"
4 4 fd in {20, 21, 22, 23}
1 4 fd == -1
1 1 name == "close" && fd == 77
1 1 name == "write" && buf == "hello\x0a"
4 4 name == "write" && buf == "hel*" && count < 10
4 4 name == "write" && count in {3, 4, 5, 6} && buf != "nothing"
4 4 name == "write" && buf ^= "xxxx" && !(buf == "xxxx")
1 1 msg.msg_iov[0].iov_base ^= "GET"
1 1 msg.iov[0].base == "PUT /index"
1 1 msg.msg_iov[1].iov_len == 4
1 2 name == "sendmsg" && flags has MSG_NOSIGNAL
1 1 signum == SIGCHLD
1 1 name == "kill" && arg.signum == 0
1 1 argv[1] == "one"
1 1 argv[2] ^= "tw"
1 3 duration > 15ms && name =~ "sleep"
30 999 duration < 10s && tid > 0
2 2 (name == "unlink" || name == "mkdir") && ret < 0
4 4 name == "unlink" && path $= "0" || name == "unlink" && path $= "1" || name == "unlink" && path =~ "[23]$"
8 16 ret == 200 || name == "pread64" && ret < 0 || name == "pread64" && ret > 40
1 4 name == "socketpair" || name == "openat" && mode & 1
END
# A text is compared with texts, in quotes of either kind; a number beside it is refused, with its place.
"$espy" trace --source="$source" --where "path == 5" -o live.out true 2>said && not_ok "a text and a number: taken"
has "a text and a number: refused" said "column 9: path is a text: a \"text\" is expected, not a number"
# The short forms are conditions, and all of them must hold; so it is in a recording, which shows what was asked for.
"$espy" trace --source="$source" -qq -e trace=close,write --comm 'where_c*' --where 'fd == -1' -o live.out "$prog" "$dir/files" >/dev/null 2>&1
expect "--comm and --where" 1 "$(grep -c 'close(-1)' live.out)"
expect "and nothing else" 1 "$(grep -vc '^---' live.out)"
# On a machine that is busy a short call may take long.
"$espy" trace --source="$source" -qq --uid "$(id -u)" --duration 3s -e trace=nanosleep,clock_nanosleep,close -o live.out "$prog" "$dir/files" 3100 >/dev/null 2>&1
expect "--uid and --duration" 1 "$(grep -c 'nanosleep(' live.out)"
expect "and no short call" 0 "$(grep -c 'close(' live.out)"
record -q --where 'name == "write" && ret == 200' -o some "$prog" "$dir/files" >/dev/null 2>&1
expect "a recording shows what it was asked for" 4 "$("$espy" show -qq some | grep -c '= 200')"
expect "and nothing else" 0 "$("$espy" show -qq some | grep -v '^---' | grep -vc '= 200')"
# What is asked of the task becomes part of the trace.
record -q --force --uid "$(id -un)" --comm where_calls --where 'name == "unlink" && cgroup ^= "/"' -o some "$prog" "$dir/files" >/dev/null 2>&1
if grep -q '^0::' /proc/self/cgroup; then
	expect "uid, comm and cgroup are known in a trace" 5 "$("$espy" show -qq some | grep -c '^unlink')"
fi
record -q --force --uid 4242 -o some "$prog" "$dir/files" >/dev/null 2>&1
expect "nothing of another user" 0 "$("$espy" show -qq some | grep -vc '^---')"
"$espy" trace --source="$source" -c --where 'ret < 0' -e trace=close "$prog" "$dir/files" >/dev/null 2>counts
has "-c counts what meets it" counts ' 2  *2 close'
# What cannot be is told, with its place.
wrong() { # EXPR TEXT
	"$espy" trace --source="$source" --where "$1" true 2>err && not_ok "$1 is taken"
	has "$1" err "$2"
}
wrong 'pth == "x"' "column 1: no system call that is watched has 'pth'"
wrong 'ret < 0 && flags has O_CREATT' "column 22: 'O_CREATT' is neither a number nor an error"
wrong 'ret == ENOENT' "column 8: an error is returned as a negative number"
wrong 'duration > 5' "column 12: a time has a unit"
wrong "duration > '5'" "column 12: a time has a unit"
wrong 'comm == 7' "column 9: comm is a text"
wrong 'ret == "x"' "column 8: ret is a number"
wrong 'flags == "O_RDONLY"' "column 10: flags is no text"
wrong 'name == "opennat"' "holds for no system call"
wrong 'path =~ "a(b"' "column 9: this is no regular expression"
wrong 'path =~ "((a{200}){200})"' "it repeats too much"
wrong 'ret <' "column 6: .* not the end"
"$espy" trace --source="$source" --explain --where 'ret < 0 && path =~ "[xy]"' -e trace=openat,close true 2>err >/dev/null
if [ "$source" = bpf ]; then
	has "--explain" err 'openat.*: the kernel tests ret < 0; espy tests path =~ "\[xy\]"'
else
	has "--explain" err 'openat.*: the kernel tests nothing; espy tests ret < 0 && path =~ "\[xy\]"'
fi
finish
