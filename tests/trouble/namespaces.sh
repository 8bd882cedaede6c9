# SPDX-License-Identifier: LGPL-2.1-or-later
# --namespace=new: the namespaces that calls make and enter, live and from a trace.
. "${0%/*}/lib.sh"

[ "$(id -u)" = 0 ] && unshare -u true 2>/dev/null || { echo "namespaces cannot be made here"; exit 77; }
mkfifo "$dir/go"
# while_there LOG CALL COMMAND...: the command stays until espy has told of the call, so that the answers are of a task that is there.
while_there() {
	log=$1 call=$2
	shift 2
	"$@" <"$dir/go" >"$dir/names" 2>"$dir/err" &
	exec 8>"$dir/go"
	wait_for 60 grep -qs "$call" "$log"
	exec 8>&-
	wait $!
}
# Names of namespaces, as the result shows them.
names() {
	paste -sd, "$dir/names" | sed 's/,/, /'
}
told() { # told NAME CALL LOG
	expect "$1" "$2" "$(grep -o "${2%%(*}(.*" "$3" | head -n 1 | tr -s ' ')"
}
both='readlink /proc/self/ns/net /proc/self/ns/uts; cat'
while_there "$dir/new" 'unshare(.*= ' "$espy" trace --source="$source" -q -f -e namespace=new -e trace=unshare -o "$dir/new" unshare -u -n sh -c "$both"
told "unshare: the namespaces that it has made" "unshare(CLONE_NEWUTS|CLONE_NEWNET) = 0 ($(names))" "$dir/new"
while_there "$dir/entered" 'setns(.*= ' "$espy" trace --source="$source" -q --namespace=new -e trace=setns -o "$dir/entered" nsenter --uts=/proc/self/ns/uts \
	sh -c 'readlink /proc/self/ns/uts; cat'
told "setns: the namespace that it has entered" "setns(3, CLONE_NEWUTS) = 0 ($(names))" "$dir/entered"
while_there "$dir/clone" 'clone(.*= ' "$espy" trace --source="$source" -q -f -e namespace=new -e trace=clone -o "$dir/clone" "$progs/new_namespace"
told "clone: that of the child" "clone(child_stack=NULL, flags=CLONE_NEWUTS|SIGCHLD) = $(sed -n 's/.*) *= \([0-9]*\).*/\1/p' "$dir/clone") ($(names))" "$dir/clone"
trace -e trace=unshare -o "$dir/plain" unshare -u true
told "not asked for: not shown" "unshare(CLONE_NEWUTS) = 0" "$dir/plain"
"$espy" trace -o "$dir/chosen" -e namespace=new -e trace=unshare unshare -u true
has "a task that ends at once, by the source that is chosen" "$dir/chosen" '^unshare(CLONE_NEWUTS) *= 0 (uts:\[[0-9]*\])$'
"$espy" trace -e namespace=old true 2>"$dir/err"
has "another word" "$dir/err" "invalid -e namespace= argument: 'old'"

# A trace has what the text beside it has asked for; that text tells when it has.
while_there "$dir/beside" 'unshare(.*= ' "$espy" trace --source="$source" -q -f -e namespace=new -e trace=unshare -o "$dir/beside" --record "$dir/trace" unshare -u -n sh -c "$both"
"$espy" show -e namespace=new -e trace=unshare "$dir/trace" >"$dir/shown"
told "from a trace" "unshare(CLONE_NEWUTS|CLONE_NEWNET) = 0 ($(names))" "$dir/shown"
finish
