# SPDX-License-Identifier: LGPL-2.1-or-later
# What a descriptor is comes with the calls: the text of a call is the same whatever else is watched, of descriptors that
# came by any way; and nobody asks /proc for it while calls go on.
. "${0%/*}/lib.sh"
sent() { # how each message is shown, by its length
	sed -n 's/^.*sendto(30[^,]*, \(.*\), \([0-9]*\), 0, .*/\2 \1/p' "$1" |
		sed 's/^\([0-9]*\) \[*{nlmsg_len=.*nlmsg_type=NLMSG_NOOP.*/\1 netlink/; s/^\([0-9]*\) ".*/\1 bytes/' | tr '\n' ','
}
want='16 netlink,17 bytes,20 netlink,24 netlink,28 netlink,'
for how in "" "-y" "-yy" "-e trace=sendto" "-e trace=sendto -yy" "-e trace=sendto,recvmsg,close -y"; do
	trace -f $how -o "$dir/out" "$progs/netlink_fds"
	expect "netlink ${how:-with every call}" "$want" "$(sent "$dir/out")"
done
"$espy" record -q --source="$source" -f -e trace=sendto -o "$dir/t.espy" "$progs/netlink_fds"
"$espy" show "$dir/t.espy" >"$dir/out"
expect "netlink from a trace" "$want" "$(sent "$dir/out")"

# What espy asks of /proc about files, as another espy sees it, for a short loop and for a long one. How the tasks fare it also
# asks once in a while, however few calls they make. The other one is not the source at work: a task has one tracer.
other=ptrace
[ "$source" = bpf ] || other=bpf
asks() { # CALLS command-of-espy option...
	calls=$1
	shift
	"$espy" trace --source=$other -f -qq -e trace=open,openat,openat2,readlink,readlinkat,getxattr -o "$dir/opens" \
		"$espy" "$@" --source="$source" -o "$dir/t.espy" "$progs/send_recv" "$calls"
	grep -c '"/proc/[^"]*/\(fd\|fdinfo\|net\|cwd\|root\|maps\|mountinfo\)[/"]' "$dir/opens"
}
# A call that hangs is looked up, and on a machine with much to do any call may (--hang).
long=5000
[ "$source" = bpf ] || long=1000
"$espy" doctor --source=$other >/dev/null 2>&1 &&
	for how in "record -q --hang 0 --lossless=never --force" "trace --hang 0 --lossless=never -yy"; do
		few=$(asks 10 $how)
		many=$(asks $long $how)
		if [ "$many" -le $((few + 20)) ]; then ok "$how: a loop of calls asks nothing"; else
			not_ok "$how: /proc was asked $few times for 10 calls, $many times for $long"
		fi
	done
finish
