# SPDX-License-Identifier: LGPL-2.1-or-later
# A traced program is a file of a server that answers no more, or once: -k, -m and -u do without what the file would say, and espy goes on.
. "${0%/*}/lib.sh"
mkdir "$dir/layer"
cp "$(command -v tail)" "$dir/layer/program" # it makes a call now and then, and maps no other file of that server
: >"$dir/followed"
cat >"$dir/inside.sh" <<'S'
echo $SERVER >"$1/server"
exec "$1/layer/program" -f ---disable-inotify -s 0.02 "$1/followed"
S
calls() {
	read -r call _ <"/proc/$program/syscall" && [ "$call" = 230 ]
}
begun() {
	calls || ended $program
}
# begin [-o]: the program, under an overlay. False: it cannot be done here.
begin() {
	"$progs/put_server" $1 "$dir/layer/program" sh "$dir/inside.sh" "$dir" >"$dir/said" 2>&1 &
	program=$!
	wait_for 60 begun
	calls || { cat "$dir/said"; grep -q SKIP "$dir/said" && return 1; }
	server=$(cat "$dir/server")
}
begin "" || exit 77
go_on() { # the server answers again, and all that waited ends
	kill -CONT "$server" 2>/dev/null
	clean
}
trap go_on EXIT
# with SIGNAL NAME LINE ARGUMENTS...: behind that signal to the server espy says or shows such a line, and ends when it is told to
with() {
	kill -$1 "$server"
	name="$1, $2" line=$3
	shift 3
	rm -f "$dir/out" "$dir/err" # what the one before has said is no sign of this one
	trace_bg "$@" -p $program -o "$dir/out" 2>"$dir/err" &
	job=$!
	says() {
		grep -q "$line" "$dir/out" "$dir/err"
	}
	wait_for 60 says && ok "$name: espy goes on" || not_ok "$name: espy waits: $(cat "$dir/err")"
	kill -INT $job 2>/dev/null
	wait_for 60 ended $job && ok "$name: espy ends" || not_ok "$name: espy does not end"
	kill -CONT "$server"
	kill -9 $job 2>/dev/null
	wait $job
	[ $? != 139 ] || not_ok "$name: espy crashes when it ends"
}
# stopped NAME: a server that answers no more
stopped() {
	case $source in
	ptrace) with STOP "$1, -k" 'clock_nanosleep(' -k -e trace=clock_nanosleep ;;
	*) [ "$1" = unmounted ] || with STOP "$1, -u" 'Connection timed out' -u program:main -e trace=none ;;
	esac
	with STOP "$1, -m" 'no such mark\|no thread of\|timed out' -m 'app:*' -e trace=none
}
end() { # NAME
	kill $program
	wait $program
	expect "$1: the program ends well" 143 $?
}
stopped "a file"
# With USR1 it answers once.
[ "$source" = bpf ] || with USR1 -k '^ > .*/program(' -k -e trace=clock_nanosleep # the copy of the program is unwound
with USR1 -m 'no such mark\|no thread of\|timed out' -m 'app:*' -e trace=none
end "a file"
# An overlay asks the server in the name of everybody.
if begin -o; then
	stopped "below an overlay"
	end "below an overlay"
fi
# The mount is gone from the tree, and in use.
begin ""
if nsenter -m -t $program umount -l "$dir/layer/program" 2>/dev/null; then
	stopped "unmounted"
	end "unmounted"
fi
finish
