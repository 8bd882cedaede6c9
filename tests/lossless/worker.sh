# SPDX-License-Identifier: LGPL-2.1-or-later
# What tests of holds have beside espy: a process that is held, and a user of BPF ($progs/bpf_user "$dir/user").

# A process that makes a call again and again, with a pause, and counts: the number is written over the one before, and never shorter.
cat >"$dir/work.sh" <<'S'
. "$2"
n=0
while [ ! -e "$1/stop" ]; do
	: >"$1/x"
	rm "$1/x"
	n=$((n + 1))
	echo $n 1<>"$1/count"
	wait_a_tick
done
S
wait_sh=$(realpath "$(dirname "$0")/../wait.sh")
went_on() { # beyond $from, by a few
	read -r now <"$dir/count"
	[ "$now" -gt $((from + 3)) ]
}
users_rounds() { # beyond $user_from, by a few
	now=0
	read -r now _ <"$dir/user"
	[ "${now:-0}" -gt $((user_from + 3)) ]
}
