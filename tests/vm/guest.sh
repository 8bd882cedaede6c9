# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs inside the guest (busybox sh): the bpf source on this kernel.
part=$(sed 's/.*espy\.part=\([a-z]*\).*/\1/' /proc/cmdline)
echo "# kernel $(uname -r), $(nproc) CPUs"
check() { # name, command...
	name=$1
	shift
	if "$@" >/tmp/log 2>&1; then
		echo "ok $name"
	else
		echo "not ok $name"
		sed 's/^/# /' /tmp/log | tail -n 60
	fi
}
has() { # file, pattern
	grep -q -- "$2" "$1" || { echo "no line like: $2"; tail -n 12 "$1"; return 1; }
}
doctor() { espy doctor; }
trace_ls() {
	espy trace --source=bpf -f -o /tmp/ls.txt ls / >/dev/null || return 1
	has /tmp/ls.txt 'execve("/bin/ls", \["ls", "/"\], 0x[0-9a-f]* /\* [0-9]* vars \*/) = 0' && has /tmp/ls.txt 'getdents64(3, 0x[0-9a-f]* /\* [0-9]* entries \*/' &&
		has /tmp/ls.txt 'exit_group(0) *= ?' && has /tmp/ls.txt '+++ exited with 0 +++'
}
exact_count() {
	espy trace --source=bpf -o /tmp/dd.txt dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/tmp/dd.err || return 1
	seen=$(grep -c '^read(0, "\\0", 1) *= 1$' /tmp/dd.txt)
	[ "$seen" = 20000 ] || { echo "seen $seen of 20000"; cat /tmp/dd.err; return 1; }
}
in_out() {
	espy trace --source=bpf -f -T -o /tmp/sh.txt sh -c 'ls / | cat | wc -l; sleep 0.1' >/dev/null || return 1
	has /tmp/sh.txt 'wait4(-1' && has /tmp/sh.txt 'SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED' && has /tmp/sh.txt '<0\.[0-9]*>$'
}
forks() {
	espy trace --source=bpf -f -e trace=exit_group -o /tmp/fork.txt sh -c 'i=0; while [ $i -lt 200 ]; do (exit 3); i=$((i + 1)); done' || return 1
	seen=$(grep -c 'exit_group(3) *= ?' /tmp/fork.txt)
	[ "$seen" = 200 ] || { echo "seen $seen of 200 children"; return 1; }
}
counts() {
	espy trace --source=bpf -c -o /tmp/c.txt dd if=/dev/zero of=/dev/null bs=1 count=5000 2>/dev/null || return 1
	has /tmp/c.txt ' 500[0-9] .*read'
}
tallies() { # by the program of their own
	espy trace --source=bpf --hist 'read: ret' --count-by 'read: fd' --hist 'read: duration' -o /tmp/t.txt \
		dd if=/dev/zero of=/dev/null bs=1 count=5000 2>/dev/null || return 1
	has /tmp/t.txt '^ *1  *1  *500[0-9] @' && has /tmp/t.txt ' 500[0-9] 0$' && has /tmp/t.txt '^ *total  *50[0-9][0-9]$'
}
status() {
	espy trace --source=bpf -o /dev/null sh -c 'exit 7'
	[ $? = 7 ]
}
where() { # what the kernel tests: results and arguments before the capture, a text behind it
	espy trace --source=bpf -qq --where 'name == "write" && ret == 1 && fd == 1' -o /tmp/w.txt dd if=/dev/zero of=/dev/null bs=1 count=100 2>/dev/null || return 1
	[ "$(wc -l </tmp/w.txt)" = 100 ] || { echo "$(wc -l </tmp/w.txt) writes of 100"; return 1; }
	espy trace --source=bpf -qq --where 'ret == -ENOENT && path ^= "/no/"' -o /tmp/w.txt cat /no/such /tmp/such 2>/dev/null
	[ "$(wc -l </tmp/w.txt)" = 1 ] && has /tmp/w.txt '"/no/such"'
}
ptraced() {
	espy trace --source=ptrace -o /tmp/pt.txt ls / >/dev/null || return 1
	has /tmp/pt.txt 'exit_group(0)'
}
# More CPUs than the machine of the tests may have: by itself the source takes a ring for each from five on.
cpus() {
	check "doctor, $(nproc) CPUs" doctor
	for t in /tests/bpf_source_test_2 /tests/flight_test; do
		if [ -x "$t" ]; then check "$(basename "$t"), $(nproc) CPUs" "$t"; fi
	done
	check "order, $(nproc) CPUs" order
	check "exact_count, $(nproc) CPUs" exact_count
	check "forks, $(nproc) CPUs" forks
}
order() {
	ROUNDS=100 sh /tests/trouble/order.sh /bin/espy bpf /tests
}
if [ "$part" = cpus ]; then
	cpus
	exit
fi
# Without a policy all tasks have the context of the kernel.
contexts() {
	mount -t selinuxfs selinuxfs /sys/fs/selinux || return 1
	for source in ptrace bpf; do
		espy trace --source=$source --secontext -f -o /tmp/s.txt sh -c 'ls /; ls /tmp' >/dev/null || return 1
		has /tmp/s.txt '^[0-9]* *\[kernel\] execve(' && has /tmp/s.txt '^[0-9]* *\[kernel\] exit_group(0)' || return 1
	done
	espy trace -o /tmp/s.txt true && ! grep kernel /tmp/s.txt
}
if [ "$part" = selinux ]; then
	check "contexts of SELinux" contexts
	exit
fi
check doctor doctor
# What each option adds to the programs is let in by this kernel's verifier, too.
options() {
	bad=0
	libc=$(find /lib /usr/lib -name libc.so.6 2>/dev/null | head -n 1)
	for o in -y -yy -Y -T -k -c '-e trace=openat' '-P /etc/passwd' '--rings=cpu -yy' '-e read=all' '--rings=cpu -e write=all' '-f -k -yy -T -Y' "-u $libc:malloc" "-u $libc:malloc%return" \
		"-k -u $libc:malloc -u $libc:malloc%return" "--rings=cpu -k -u $libc:malloc%return -e trace=openat"; do
		# shellcheck disable=SC2086 # words
		espy trace --source=bpf $o -o /tmp/o.txt cat /etc/passwd >/dev/null && [ -s /tmp/o.txt ] || { echo "with $o"; bad=1; }
	done
	return $bad
}
check "each option loads" options
if espy doctor | grep -q '^functions of the kernel  *yes'; then
	echo "# $(espy doctor | grep '^functions of the kernel')"
	check "functions of the kernel" sh /tests/probes/kernel.sh /bin/espy
else
	echo "skip functions of the kernel: $(espy doctor | grep '^functions of the kernel')"
fi
check "operations of io_uring" sh /tests/uring/ops.sh /bin/espy /tests/uring
[ "$part" != options ] || exit
# the source alone: rings of all kinds
for t in /tests/bpf_source_test_1 /tests/bpf_source_test_2 /tests/flight_test; do
	if [ -x "$t" ]; then check "$(basename "$t")" "$t"; fi
done
# A kernel before 6.18 cannot hold a task: espy says so to the user that insists, and stops nobody instead.
refuses() {
	espy trace --source=bpf "$@" -o /tmp/refused.txt true 2>/tmp/refused.err && return 1
	has /tmp/refused.err 'tasks cannot be held here: the kernel cannot hold a task on its way out of a call (Linux 6.18 can)'
}
if ! espy doctor | grep -q 'yes *holds tasks'; then
	check "--lossless=always is refused" refuses --lossless=always
	check "--pause-on is refused" refuses --pause-on getppid
fi
check trace_ls trace_ls
check exact_count exact_count
check in_out in_out
check forks forks
check counts counts
check tallies tallies
check where where
check status status
check ptrace ptraced
narrow() {
	sh /tests/trouble/narrow.sh /bin/espy bpf /tests
}
check narrow narrow
# What descriptors are, from this kernel's structs. The loopback device is not up here.
script() {
	sh "/tests/trouble/$1.sh" /bin/espy bpf /tests
}
ifconfig lo 127.0.0.1 up 2>/dev/null
check names script names
check sockets script sockets
truth() {
	# shellcheck disable=SC2046
	espy trace --source=bpf -a 0 $("$1" --options 2>/dev/null) -o /tmp/got "$1" >/tmp/want
	[ $? = 77 ] && return 0
	sh /tests/compare /tmp/want /tmp/got
}
for t in /tests/truth_*; do
	[ "$t" != /tests/truth_cases ] || continue # it runs the lines of files that are not here
	check "$(basename "$t")" truth "$t"
done
