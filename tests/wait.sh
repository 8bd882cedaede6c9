# SPDX-License-Identifier: LGPL-2.1-or-later
# Waiting, for every script: the one place where a test sleeps (tests/layers.sh refuses others). A machine may be slow, so a test waits
# for an event, for up to a minute.

# wait_for SECONDS command...: until the command succeeds. Returns 1 when the seconds are over.
wait_for() {
	wait_end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -le $wait_end ] || return 1
		sleep 0.02
	done
}
# stays SECONDS command...: the command succeeds again and again, for that long. Returns 1 as soon as it does not.
stays() {
	stays_end=$(($(date +%s) + $1 + 1))
	shift
	while "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $stays_end ] || return 0
		sleep 0.02
	done
	return 1
}
