#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# A child that its parent forks after espy has opened its session there, and before it has given the rules: its marks are seen nevertheless.
# gdb stops espy at that moment.
. "${0%/*}/lib.sh"
command -v gdb >/dev/null || { echo "SKIP: gdb is not installed"; exit 77; }
GOES_UNTIL=$dir/end
export GOES_UNTIL
"$progs/short-linked" bears "$dir/now" & parent=$!
has_agent() { grep -q '^espy-agent$' /proc/$parent/task/*/comm; }
wait_for 60 has_agent || not_ok "the program has no agent"
# The child has its own agent, too, before espy goes on.
cat >"$dir/meanwhile" <<END
. "${0%/*}/../../wait.sh"
: >"$dir/now"
child_has_agent() { child=\$(pgrep -P $parent) && grep -q '^espy-agent\$' /proc/\$child/task/*/comm; }
wait_for 60 child_has_agent
pgrep -P $parent >"$dir/child"
END
gdb -nx -batch -ex 'set confirm off' -ex 'handle SIGINT SIGTERM SIGCHLD nostop noprint pass' -ex 'break rules_on' -ex run -ex delete -ex "shell sh '$dir/meanwhile'" -ex continue \
	--args "$espy" trace -f -p $parent -m 'app:short' -e trace=none -o "$dir/lines" >"$dir/gdb" 2>&1 & gdb=$!
wait_for 60 test -s "$dir/child" || not_ok "espy is not stopped, or there is no child: $(cat "$dir/gdb")"
child=$(cat "$dir/child")
ticked() { grep -q "^$child .*app:short(i=[0-9]*)" "$dir/lines"; }
cannot=
if grep -q 'Breakpoint 1, ' "$dir/gdb"; then
	wait_for 10 ticked && ok "the marks of the child are seen" || not_ok "no mark of the child $child: $(tail -n 3 "$dir/lines" "$dir/gdb")"
else
	echo "SKIP: gdb cannot stop espy here: $(tail -n 3 "$dir/gdb")"
	cannot=1
fi
: >"$dir/end"
wait $parent
wait $gdb
[ -z "$cannot" ] || exit 77
finish
