#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# examples.sh SOURCE-DIR LIBESPY.SO EXAMPLES...: the programs of examples/library do what they say, by the best source that works here.
set -u
source=$1 LIBESPY=$2
export LIBESPY
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
for example in "$@"; do
	case $example in
	*mini_strace) mini_strace=$example ;;
	*file_audit) file_audit=$example ;;
	*path_latency) path_latency=$example ;;
	*only_opens) only_opens=$example ;;
	esac
done

# run STATUS COMMAND...: its output in $dir/out
run() {
	status=$1
	shift
	"$@" >"$dir/out" 2>&1
	got=$?
	[ "$got" = "$status" ] || {
		printf 'not ok exit status %s, not %s: %s\n' "$got" "$status" "$*"
		tail -20 "$dir/out"
		bad=1
	}
}
# says WHAT PATTERN
says() {
	if grep -qE "$2" "$dir/out"; then
		echo "ok $1"
	else
		printf 'not ok %s: no line has %s\n' "$1" "$2"
		tail -20 "$dir/out"
		bad=1
	fi
}

[ "$(wc -l <"$source/examples/library/mini_strace.c")" -lt 60 ] || { echo "not ok mini_strace has 60 lines or more"; bad=1; }
run 3 "$mini_strace" sh -c 'exit 3'
says "mini_strace shows calls" '^[0-9]+ execve\("/[^"]*sh", \["sh", "-c", "exit 3"\]'
says "mini_strace shows the end" '^[0-9]+ \+\+\+ exited with 3 \+\+\+$'
run 2 "$mini_strace" /no/such/program
says "mini_strace says what is wrong" 'No such file or directory'

echo data >"$dir/file"
ln -s file "$dir/link"
run 0 "$file_audit" sh -c "cd $dir && touch made; mv made moved; rm moved; cat nothing; true"
says "file_audit: who makes a file" "^touch\[[0-9]+\] openat $dir/made O_WRONLY\|O_CREAT"
says "file_audit: renames" "^mv\[[0-9]+\] renameat2? $dir/made"
says "file_audit: removes" "^rm\[[0-9]+\] unlinkat $dir/moved"
says "file_audit: what fails" "^cat\[[0-9]+\] openat $dir/nothing O_RDONLY: ENOENT$"

run 0 "$path_latency" od "$dir/file"
says "path_latency: reads of the file" "^$dir/file [1-9]( <[0-9]+us:[1-9])+$"

system=/usr:/lib:/lib64:/etc:/proc:/dev
for program in "$only_opens" "python3 $source/examples/library/only_opens.py"; do
	name=${program##*/}
	case $program in python3*) command -v python3 >/dev/null || continue ;; esac
	# shellcheck disable=SC2086
	{
		run 0 $program "$system:$dir" cat "$dir/link"
		run 7 $program / sh -c 'exit 7'
		run 99 $program "$system" sh -c "cat $dir/link; true"
		says "$name names the file behind a link" "process [0-9]+ opened $dir/file$"
	}
done
exit $bad
