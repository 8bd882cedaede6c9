# SPDX-License-Identifier: LGPL-2.1-or-later
# What a descriptor is comes with the calls: the text of a call is the same whatever else is watched, of descriptors that
# came by any way; and nobody asks /proc for it while calls go on.
. "$(dirname "$0")/lib.sh"
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

# Opens of /proc by espy, as a tracer of espy sees them, of a short loop and of a long one.
opens() { # CALLS
	"$espy" trace --source=ptrace -f -qq -e trace=open,openat,openat2,readlink,readlinkat,getxattr -o "$dir/opens" \
		"$espy" record -q --source="$source" --lossless=never --force -o "$dir/t.espy" "$progs/send_recv" "$1"
	grep -c '"/proc/' "$dir/opens"
}
if [ "$source" = bpf ]; then
	short=$(opens 10)
	long=$(opens 20000)
	if [ "$long" -le $((short + 20)) ]; then ok "a loop of calls opens nothing"; else
		not_ok "$short opens of /proc for 10 calls, $long for 20000"
	fi
fi
finish
