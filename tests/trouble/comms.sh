# SPDX-License-Identifier: LGPL-2.1-or-later
# -Y: what tasks are called at each call, whoever renamed them; of tasks that ran before espy as well; from a trace, too.
. "${0%/*}/lib.sh"
calls=getppid,getuid,getgid,geteuid
named() { # NAME CALL of each call, in the order of the program
	sed -n 's/^[^<]*<\([^>]*\)>\]* *\(get\(pp\|u\|g\|eu\)id\)(.*/\1 \2/p' "$1" | tr '\n' ','
}
want='by-prctl getppid,by-write getuid,by-another getgid,rename_task geteuid,'
if [ "$source" = bpf ]; then # who writes to a name is not seen by a tracer of calls
	trace -f -Y -e trace=$calls -o "$dir/out" "$progs/rename_task"
	expect "-Y of some calls" "$want" "$(named "$dir/out")"
fi
trace -f -Y -o "$dir/out" "$progs/rename_task"
has "-Y after prctl" "$dir/out" '^[0-9]*<by-prctl> *getppid()'
has "-Y after exec" "$dir/out" '^[0-9]*<rename_task> *geteuid()'
has "prctl itself bears the old name" "$dir/out" '^[0-9]*<rename_task> *prctl(PR_SET_NAME'
"$espy" record -q --source="$source" -f -o "$dir/t.espy" "$progs/rename_task"
"$espy" show -f -Y -o "$dir/out" "$dir/t.espy"
has "from a trace" "$dir/out" '<by-prctl>\]* *getppid()'
has "from a trace, after exec" "$dir/out" '<rename_task>\]* *geteuid()'
if [ "$source" = bpf ]; then
	expect "from a trace, each" "$want" "$(named "$dir/out")"
	# tasks that are there already
	"$progs/fresh" "$progs/make_calls" 1000000000 & old=$!
	trace_bg --all -Y -e trace=getppid,getuid,getgid,geteuid -o "$dir/all" 2>"$dir/err" & espy_pid=$!
	wait_for 60 grep -q "^$old" "$dir/all" || not_ok "--all -Y: no call of a task that was there: $(cat "$dir/err")"
	"$progs/rename_task" & new=$!
	wait $new
	wait_for 60 grep -q "^$new<rename_task> *geteuid()" "$dir/all" || not_ok "--all -Y: no call of a task that came"
	kill -INT $espy_pid
	wait $espy_pid
	kill -9 $old
	wait $old 2>/dev/null
	# Others may have given themselves an empty name.
	expect "--all -Y: calls of tasks without a name" 0 "$(grep "^\($old\|$new\)[^0-9]" "$dir/all" | grep -v '^[0-9]*<..*>' | grep -c '(')"
	has "--all -Y: a task that was there" "$dir/all" "^$old<make_calls>"
	has "--all -Y: a task that came" "$dir/all" "^$new<by-prctl> *getppid()"
fi
finish
