# SPDX-License-Identifier: LGPL-2.1-or-later
# Waiting, for every script: the one place where a test sleeps (tests/layers.sh refuses others). A machine may be slow, so a test waits
# for an event, for up to a minute.
#
# A poll starts no program: the time comes from /proc/uptime, and the pause from the FIFO of tests/guard.c. Without guard the pause is
# a sleep.

wait_a_tick() {
	read -r wait_tick 2>/dev/null <"${ESPY_TEST_TICKS:-/dev/null}" || sleep 0.02
}
# wait_ends SECONDS: sets wait_end to the moment so many seconds from now.
wait_ends() {
	read -r wait_now wait_rest </proc/uptime
	wait_end=$((${wait_now%.*} + $1))
}
wait_is_over() {
	read -r wait_now wait_rest </proc/uptime
	[ "${wait_now%.*}" -gt "$wait_end" ]
}
# wait_for SECONDS command...: until the command succeeds. Returns 1 when the seconds are over.
wait_for() {
	wait_ends "$1"
	shift
	wait_polls=0
	until "$@" >/dev/null 2>&1; do
		! wait_is_over || return 1
		wait_a_tick
		# A command that goes on failing is asked less often, each tenth of a second at last: most commands start a program.
		wait_polls=$((wait_polls + 1)) wait_more=$((wait_polls / 4))
		[ $wait_more -lt 4 ] || wait_more=4
		while [ $wait_more -gt 0 ]; do
			wait_a_tick
			wait_more=$((wait_more - 1))
		done
	done
}
# stays SECONDS command...: the command succeeds again and again, for that long. Returns 1 as soon as it does not.
stays() {
	wait_ends "$1"
	shift
	while "$@" >/dev/null 2>&1; do
		! wait_is_over || return 0
		wait_a_tick
	done
	return 1
}
