# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced where a script ends whatever it has left behind.

# descendants PID: the processes below it
descendants() {
	ps -eo pid,ppid | awk -v top="$1" '
		{ pid[NR] = $1; of[$1] = $2 }
		END {
			below[top] = 1
			do {
				more = 0
				for (i in pid)
					if (!(pid[i] in below) && of[pid[i]] in below)
						more = below[pid[i]] = 1
			} while (more)
			for (p in below) if (p != top) print p
		}'
}
end_descendants() { # of this shell
	left=$(descendants $$)
	[ -z "$left" ] || kill -9 $left 2>/dev/null
}
