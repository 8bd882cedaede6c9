# SPDX-License-Identifier: LGPL-2.1-or-later
# As many CPUs as there are, one ring or one for each: what can only have happened in one order is shown in that order, each
# task's calls in theirs, and all of them.
. "${0%/*}/lib.sh"
cpus=$(nproc)
runners=$((cpus > 32 ? 32 : cpus < 2 ? 2 : cpus)) rounds=${ROUNDS:-500}
numbers=$(seq $((runners * rounds)) | cksum)
for kind in one cpu; do
	rings=--rings=$kind # taken by trace
	for select in "-e trace=lseek" ""; do
		# shellcheck disable=SC2086 # words are meant to be split
		trace -f $select -o "$dir/out" "$progs/relay" "$runners" "$rounds" 2>"$dir/err"
		expect "$rings ${select:-all calls}: a number that goes round among $runners: status, messages" "0 " "$? $(messages "$dir/err")"
		expect "$rings ${select:-all calls}: in its order" "$numbers" "$(sed -n 's/.* lseek(-1, \([0-9]*\), SEEK_SET).*/\1/p' "$dir/out" | cksum)"
	done
	trace -f -o "$dir/out" sh -c "i=0; while [ \$i -lt $((2 * runners)) ]; do '$progs/make_calls' $rounds & i=\$((i + 1)); done; wait" 2>"$dir/err"
	expect "$rings: $((2 * runners)) at once: status, messages" "0 " "$? $(messages "$dir/err")"
	awk -v n="$rounds" '
		function is(pid, name) {
			if (name != step[seen[pid] % 6])
				bad[pid] = 1
			seen[pid]++
		}
		BEGIN { split("getppid lseek write fstat openat writev", list); for (i = 1; i <= 6; i++) step[i - 1] = list[i] }
		/^[0-9]+ +getppid\(\)/ { is($1, "getppid") }
		/^[0-9]+ +lseek\([0-9]+, 4242, SEEK_SET\)/ { is($1, "lseek") }
		/^[0-9]+ +write\([0-9]+, "marker", 6\)/ { is($1, "write") }
		/^[0-9]+ +fstat\(4242, / { is($1, "fstat") }
		/^[0-9]+ +openat\(AT_FDCWD, "\/nonexistent\/marker"/ { is($1, "openat") }
		/^[0-9]+ +writev\([0-9]+, / { is($1, "writev") }
		END { for (pid in seen) if (!bad[pid] && seen[pid] == 6 * n) good++; print good + 0 }' "$dir/out" >"$dir/good"
	expect "$rings: all calls of each, in their order" $((2 * runners)) "$(cat "$dir/good")"
done
finish
