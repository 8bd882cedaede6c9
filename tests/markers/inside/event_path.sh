#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# event_path.sh ARCHIVE: the event path of the agent calls nothing but what it may, and touches general registers only. Of the
# stubs to which probed functions return it has the address alone.
set -u
calls=$(nm -u "$1" | awk '$1 == "U" { print $2 }' | grep -vxE \
	'agent|clock_gettime|__errno_location|espy_agent_keep_fpu|espy_agent_rseq_(write|swap)|espy_agent_stubs|_GLOBAL_OFFSET_TABLE_|__tls_get_addr' |
	grep -vxF "$(nm --defined-only "$1" | awk 'NF == 3 { print $3 }')")
[ -z "$calls" ] || {
	echo "not ok the event path calls $calls"
	exit 1
}
nm -u "$1" | grep -q __tls_get_addr && {
	echo 'not ok the event path calls __tls_get_addr, which may call malloc'
	exit 1
}
[ "$(objdump -d "$1" | grep -c 'espy_agent_event>:')" = 1 ] || {
	echo "not ok no event path in $1"
	exit 1
}
vector=$(objdump -d "$1" | grep -E '%[xyz]mm|%st|%mm' | head -3)
[ -z "$vector" ] || {
	echo "not ok the event path uses vector registers: $vector"
	exit 1
}
