#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# espy show -m: of a trace with more, the lines that a live session with the same -m would have printed.
. "${0%/*}/lib.sh"
# same NAME TRACE PROGRAM...: for a few rules
same() {
	name=$1 trace=$2
	shift 2
	for rule in 'app:*' 'app:req_done if id >= 1 && path == "/odd"' 'other:thing if arg0 < 1.5' 'req_done if took > 0.25 && path ^= "/e"' \
		'*:*ing,app:req_start if id != 2' 'nosuch' \
		'app:req_done if id == 0 || path =~ "^/o.d$"' 'app:* if id in {1, 3} && !(path == "/odd")' 'req_done if path $= "n" && took < .4' \
		'app:* if !(took > 0.25)' 'other:thing if arg0 has 2 || arg1 == 97' 'app:* if nosuch < 1'; do
		"$espy" trace -m "$rule" -o "$dir/live" "$progs/subjects" "$@" 2>"$dir/live.err"
		"$espy" show -m "$rule" "$trace" >"$dir/shown" 2>"$dir/shown.err"
		if cmp -s "$dir/live" "$dir/shown"; then ok "$name, $rule: $(wc -l <"$dir/live") lines"; else
			not_ok "$name, $rule:"
			diff "$dir/live" "$dir/shown" | head -n 8
		fi
	done
	has "$name: a condition that cannot be asked is told" "$dir/shown.err" "2 marks of 'app:\*' cannot be asked"
	grep -q "2 marks of 'app:\*' cannot be asked" "$dir/live.err" || grep -q "cannot be asked" "$dir/live.err" ||
		not_ok "$name: told live too"
}
"$espy" record -m '*' -o "$dir/marks" "$progs/subjects" marks 4 2>/dev/null
same "a trace of marks" "$dir/marks" marks 4
"$espy" trace --json -m '*' -o "$dir/live" --record "$dir/json" "$progs/subjects" marks 4 2>/dev/null
"$espy" show --json -m '*' "$dir/json" >"$dir/shown" 2>/dev/null
expect "as JSON: live and replay" "$(cat "$dir/live")" "$(cat "$dir/shown")"
has "as JSON: arguments by name" "$dir/shown" '"provider":"app","name":"req_done","args":{"id":3,"path":"/odd","took":0.75}}$'
has "as JSON: arguments without names" "$dir/shown" '"provider":"other","name":"thing","args":{"arg0":1,"arg1":98}}$'
"$espy" doctor --source=bpf >/dev/null 2>&1 || { echo "not run: what needs the source bpf"; finish; }
"$espy" record -e trace=all -m '*' -o "$dir/both" "$progs/subjects" marks 4 2>/dev/null
same "a trace of marks and calls" "$dir/both" marks 4
has "it has calls" "$dir/both" . && "$espy" show "$dir/both" | grep -q '^exit_group' || not_ok "no calls in the trace"
"$espy" show -m 'app:req_done if id == 3' -e trace=exit_group "$dir/both" >"$dir/shown" 2>&1
expect "both, if both are asked for" 'app:req_done(id=3, path="/odd", took=0.75)
exit_group(0)                           = ?
+++ exited with 0 +++' "$(cat "$dir/shown")"
# What the agent cannot test is not recorded either; nor by a flight recorder.
for via in agent kernel; do
	"$espy" record --via $via -m 'app:req_done if id == 0 || path =~ "^/o.d$"' -o "$dir/some" --force "$progs/subjects" marks 4 2>/dev/null
	expect "a recording of some, via $via" 'app:req_done(id=0, path="/even", took=0)
app:req_done(id=1, path="/odd", took=0.25)
app:req_done(id=3, path="/odd", took=0.75)
+++ exited with 0 +++' "$("$espy" show "$dir/some" 2>/dev/null)"
done
# What was shown live and what its trace shows, with the same words.
for f in "" -f; do
	"$espy" trace $f -e trace=openat,close -m 'app:* if i >= 10' -o "$dir/live" --record="$dir/t$f" "$progs/subjects" turns 50 2>/dev/null
	"$espy" show -e trace=openat,close -m 'app:* if i >= 10' -o "$dir/shown" "$dir/t$f" 2>/dev/null
	if cmp -s "$dir/live" "$dir/shown" && [ "$(grep -c 'app:' "$dir/live")" = 80 ]; then ok "live = replay $f"; else
		not_ok "live = replay $f:"
		diff "$dir/live" "$dir/shown" | head -n 8
	fi
done
"$espy" record -f -e trace=all -m '*' -o "$dir/forks" "$progs/subjects" forks 4 2>/dev/null
"$espy" show -m 'app:child if k >= 5' "$dir/forks" >"$dir/shown" 2>/dev/null
expect "of children too" 20 "$(grep -c 'app:child(' "$dir/shown")"
expect "and nothing else but how the command ended" "+++ exited with 0 +++" "$(grep -v 'app:child(' "$dir/shown" | sed 's/^\[pid *[0-9]*\] //')"
finish
