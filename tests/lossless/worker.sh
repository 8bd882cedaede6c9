# SPDX-License-Identifier: LGPL-2.1-or-later
# What tests of holds have beside espy: a process that is held ($progs/unlinks "$dir", which counts), and a user of BPF
# ($progs/bpf_user "$dir/user").

went_on() { # beyond $from, by a few
	read -r now <"$dir/count"
	[ "$now" -gt $((from + 3)) ]
}
users_rounds() { # beyond $user_from, by a few
	now=0
	read -r now _ <"$dir/user"
	[ "${now:-0}" -gt $((user_from + 3)) ]
}
