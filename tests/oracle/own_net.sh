# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced at the beginning of oracle.sh and replay.sh with their arguments: the script begins anew in a network namespace of its own.
# Ports and abstract names are free there, and nobody else's packets are counted. Where that cannot be, it goes on as it is.
if [ -z "${ESPY_OWN_NET-}" ] && command -v ip >/dev/null && unshare -n ip link set lo up 2>/dev/null; then
	export ESPY_OWN_NET=1
	# An interface beside lo, so that there is more to say of interfaces. It stays down: nothing changes by itself.
	exec unshare -n sh -c '
		printf "%s\n" "link set lo up" "link add espy0 type veth peer name espy1" "addr add 192.0.2.1/24 dev espy0" |
			ip -force -batch - 2>/dev/null
		exec "$0" "$@"' "$0" "$@"
fi
