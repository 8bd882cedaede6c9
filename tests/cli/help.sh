#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# --help of each command, --version, the lists; and --help, manual pages and completion name the same options.
. "${0%/*}/lib.sh"

run 0 "$espy" --help
for c in trace record show info resume snapshot list mark doctor; do shows "^  $c "; done
run 0 "$espy" help
run 0 "$espy" --version
shows '^espy [0-9]'
for c in trace record show info resume snapshot list mark doctor; do
	run 0 "$espy" "$c" --help
	shows "^Usage: espy $c"
	cp "$dir/out" "$dir/help"
	run 0 "$espy" help "$c"
	same "help $c is $c --help" "$(cat "$dir/help")" "$(cat "$dir/out")"
	lacks '.\{121\}'
done
run 1 "$espy" help nosuch
# The long pages begin with ten options that matter and three examples, each of which is a command line that espy understands.
for c in trace record show; do
	run 0 "$espy" "$c" --help
	same "$c: ten options first" 10 "$(sed -n '/^What is needed most:/,/^$/p' "$dir/out" | grep -c '^  -')"
	same "$c: three examples" 3 "$(sed -n '/^Examples:/,/^$/p' "$dir/out" | grep -c "^  espy $c ")"
	same "$c: they come first" Usage: "$(sed -n '/^What is needed most:/q; s/ .*//p' "$dir/out" | head -n 1)"
	sed -n '/^What is needed most:/,/^$/s/^  \(-[^ ]*\).*/\1/p' "$dir/out" >"$dir/first"
	"$espy" --list-options "$c" | cut -f1,2 | tr '\t' '\n' >"$dir/table"
	same "$c: all of them are options" "" "$(grep -vxF -f "$dir/table" "$dir/first")"
done

run 0 "$espy" list syscalls
shows '^ *0  read  *[a-z]*  *%desc$'
shows '^ *59  execve  .*%file,%process'
run 0 "$espy" list syscalls '^openat2?$'
same "calls by a regular expression" 2 "$(grep -c openat "$dir/out")"
run 0 "$espy" list syscalls %%stat
lacks ' read '
run 0 "$espy" list --abi=32 syscalls '^stat64$'
shows '^ *195  stat64'
run 0 "$espy" list hooks
shows '^hook  ioctl_cmd$'
# A full disk is an error of the command.
[ -c /dev/full ] && run 1 sh -c '"$0" list syscalls >/dev/full' "$espy"

for c in trace record show info resume snapshot list mark doctor; do
	run 0 "$espy" --list-options "$c"
	cut -f1,2 "$dir/out" | tr '\t' '\n' | grep -v '^-$' | sort -u >"$dir/table"
	run 0 "$espy" "$c" --help
	sed -n 's/^  \(-[^ ].*\)/\1/p' "$dir/out" | sed 's/  .*//' | tr ',[= ' '\n\n\n\n' | grep -E '^(-[A-Za-z]|--[a-z0-9-]+)$' |
		sort -u >"$dir/in-help"
	same "$c: --help names what the table has" "$(cat "$dir/table")" "$(cat "$dir/in-help")"
	# bash completes every one of them.
	command -v bash >/dev/null && {
		bash -c '. "$1/completions/espy.bash"
			COMP_WORDS=("$2" "$3" -) COMP_CWORD=2
			_espy
			printf "%s\n" "${COMPREPLY[@]}"' bash "$root" "$espy" "$c" | sort -u >"$dir/in-bash"
		same "$c: bash completes what the table has" "$(cat "$dir/table")" "$(cat "$dir/in-bash")"
	}
done
# espy-trace(1): a line of its own for each option, in its section OPTIONS.
run 0 "$espy" --list-options trace
cut -f1,2 "$dir/out" | tr '\t' '\n' | grep -v '^-$' | sort -u >"$dir/table"
sed -n '/^# OPTIONS/,/^# EXIT/p' "$root/docs/espy-trace.1.scd" | grep '^\*-' | sed 's/\*//g; s/_[^_]*_//g' |
	tr ',[=] ' '\n\n\n\n\n' | grep -E '^(-[A-Za-z]|--[a-z0-9-]+)$' | sort -u >"$dir/in-manual"
same "espy-trace(1) names what the table has" "$(cat "$dir/table")" "$(cat "$dir/in-manual")"
# described COMMAND FILE...: its options that no line of the files describes: one that begins with *, and has the option before another *
described() {
	c=$1
	shift
	"$espy" --list-options "$c" | awk -F'\t' -v c="$c" '
		FILENAME != "-" { if (/^\*/) line[n++] = substr($0, 2); next }
		{
			for (i = 1; i <= 2; i++) {
				found = $i == "-"
				for (k = 0; k < n && !found; k++)
					found = index(line[k], $i "*")
				if (!found)
					print c, $i
			}
		}' "$@" -
}
# What record and show share with trace is described there.
for c in record show; do
	described "$c" "$root/docs/espy-$c.1.scd" "$root/docs/espy-trace.1.scd" >"$dir/missing"
	same "espy-$c(1), or espy-trace(1), names the options of $c" "" "$(cat "$dir/missing")"
done
for c in info resume snapshot list mark doctor; do
	described "$c" "$root/docs/espy-$c.1.scd" >"$dir/missing"
	same "espy-$c(1) names the options of $c" "" "$(cat "$dir/missing")"
done
finish
