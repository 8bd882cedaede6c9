# SPDX-License-Identifier: LGPL-2.1-or-later
# -yy: what each socket is at each call, of a program that ends before anyone can ask; the same in a trace.
. "${0%/*}/lib.sh"
want='TCP:[N]
TCP:[127.0.0.1:P->127.0.0.1:P]
TCP:[127.0.0.1:P->127.0.0.1:P]
UDP:[N]
UDP:[127.0.0.1:P->127.0.0.1:P]
TCPv6:[N]
TCPv6:[[::1]:P->[::1]:P]
TCPv6:[[::1]:P->[::1]:P]
UNIX-STREAM:[N]
UNIX-STREAM:[N]
UNIX-STREAM:[N->N,@"espy-N"]
NETLINK:[N]
NETLINK:[ROUTE:N]
UNIX:[N->N]
pid:N'
seen() {
	sed -n 's/^shutdown([0-9]*<\(.*\)>, 0x4d .*/\1/p' "$1" | sed 's/\([].1]\):[0-9]\{1,5\}\([]-]\)/\1:P\2/g; s/\(espy-\|pid:\|:\[\|->\|ROUTE:\)[0-9]\{1,\}\([],"]\|->\|$\)/\1N\2/g; s/->[0-9]\{1,\}\([],]\)/->N\1/'
}
for i in 1 2 3 4 5; do
	trace -yy -o "$dir/out" "$progs/socket_states"
	expect "run $i" "$want" "$(seen "$dir/out")"
done
trace -yy -e trace=shutdown -o "$dir/out" "$progs/socket_states"
expect "without the calls that make them" "$want" "$(seen "$dir/out")"
"$espy" record -q --source="$source" -o "$dir/t.espy" "$progs/socket_states"
"$espy" show -yy "$dir/t.espy" >"$dir/out"
expect "from a trace" "$want" "$(seen "$dir/out")"
finish
