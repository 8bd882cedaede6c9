# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced where a script ends whatever it has left behind.

# descendants PID: the processes below it. Starts no program.
descendants() {
	for below_file in /proc/"$1"/task/*/children; do
		below_kids=
		read -r below_kids <"$below_file"
		for below_kid in $below_kids; do
			echo "$below_kid"
			descendants "$below_kid"
		done
	done 2>/dev/null
}
end_descendants() { # of this shell
	left=$(descendants $$)
	[ -z "$left" ] || kill -9 $left 2>/dev/null
}
