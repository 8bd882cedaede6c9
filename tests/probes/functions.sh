# SPDX-License-Identifier: LGPL-2.1-or-later
# functions.sh ESPY PROGRAMS-DIR: --functions shows functions as a tree of their calls, live and from a trace.
. "${0%/*}/../lib.sh"
. "${0%/*}/../trouble/descendants.sh"
trap 'end_descendants; rm -rf "$dir"' EXIT
progs=$(realpath "$2")
need_source bpf
cd "$dir" || exit 1
trace() {
	"$espy" trace --source=bpf "$@"
}
plain() { # FILE: without times and numbers of processes
	sed 's/ <[0-9.]*>$//; s/ <unavailable>$//; s/  *= [0-9]*$/ = N/; s/^\[pid *[0-9]*\] //; s/^[0-9][0-9 ]\{4\}[0-9]* //' "$1"
}

# ---- recursion, and calls in between
trace --functions 'probed:factorial(n=%di:s32)' --functions 'probed:main' --functions probed:handle -e trace=getppid -o out "$progs/probed" >/dev/null 2>err
cat >want <<'END'
probed:main() {
  probed:handle()
  getppid() = N
  probed:handle()
  probed:factorial(n=3) {
    probed:factorial(n=2) {
      probed:factorial(n=1)
    } /* probed:factorial */
  } /* probed:factorial */
} /* probed:main */
+++ exited with 0 +++
END
plain out >got
expect "a tree of calls" "$(cat want)" "$(cat got)"
expect "each return has its time" 6 "$(grep -c ' <[0-9]*\.[0-9]*>$' out)"
has "the end tells beginnings from returns" err '^espy: probed:factorial%return: 3 events'

# ---- the same from a trace, with other functions left out
trace --functions 'probed:*(x=%di:x)' -e trace=getppid -o live --record t "$progs/probed" >/dev/null 2>&1
"$espy" show --functions 'probed:*' -e trace=getppid -o shown t 2>/dev/null
same_text() {
	cmp -s live shown && ok "shown again: $(wc -l <shown) lines" || not_ok "shown again: $(diff live shown | head -n 6)"
}
same_text
"$espy" show --functions 'probed:factorial' -o shown t 2>/dev/null
expect "some of them" "3 3" "$(grep -c 'factorial(' shown) $(grep -c '^ *} /\* probed:factorial \*/\|factorial(.*) <' shown)"
"$espy" show -qq -u 'probed:factorial' -o shown t 2>/dev/null
hasnt "without the option it is a list" shown '[{}]'

# ---- functions that are left by longjmp: what called them is found again
trace --functions 'probed:main' --functions 'probed:jumps' --functions 'probed:leave' --functions 'probed:factorial' -o out "$progs/probed" jump >/dev/null 2>&1
plain out | tail -n 5 >got
cat >want <<'END'
  probed:factorial() {
    probed:factorial()
  } /* probed:factorial */
} /* probed:main */
+++ exited with 0 +++
END
expect "after longjmp the tree goes on at the right place" "$(cat want)" "$(cat got)"
expect "and has what was left so" 100 "$(grep -c 'probed:leave()' out)"

# ---- each task has a tree of its own
trace -f --functions 'probed:main' --functions 'probed:factorial' -o out "$progs/probed" fork >/dev/null 2>&1
child=$(sed -n '/^[0-9]* /{s/ .*//p}' out | sort -u | tail -n 1)
grep "^$child " out | plain /dev/stdin >got
cat >want <<'END'
probed:factorial() {
  probed:factorial() {
    probed:factorial()
  } /* probed:factorial */
} /* probed:factorial */
+++ exited with 0 +++
END
expect "a child" "$(cat want)" "$(cat got)"

# ---- limits
trace --functions 'probed:main' --functions 'probed:factorial' --functions probed:handle --depth 2 -e trace=getppid -o out "$progs/probed" >/dev/null 2>err
cat >want <<'END'
probed:main() {
  probed:handle()
  getppid() = N
  probed:handle()
  probed:factorial()
} /* probed:main */
+++ exited with 0 +++
END
plain out >got
expect "--depth 2" "$(cat want)" "$(cat got)"
# No function of it takes an hour: only that has a line in which a call is made.
trace --functions 'probed:main' --functions 'probed:factorial(n=%di:s32)' --functions probed:handle --min-time 3600s -e trace=getppid -o out "$progs/probed" >/dev/null 2>err
cat >want <<'END'
probed:main() {
  getppid() = N
} /* probed:main */
+++ exited with 0 +++
END
plain out >got
expect "--min-time, and a call" "$(cat want)" "$(cat got)"
trace --functions 'probed:main' --functions 'probed:factorial(n=%di:s32)' --min-time 3600s -o out "$progs/probed" jump >/dev/null 2>err
expect "--min-time alone: nothing has a line" "+++ exited with 0 +++" "$(cat out)"
trace --functions 'probed:main' --functions 'probed:factorial(n=%di:s32)' --min-time 1ns -ttt -o out "$progs/probed" >/dev/null 2>err
[ "$(grep -c 'factorial(n=' out)" = 3 ] && [ "$(grep -c 'probed:main() {' out)" = 1 ] && ok "--min-time that all take: all have lines" ||
	not_ok "--min-time that all take: $(cat out)"
sort -sc -k1,1n out 2>err && ok "a line that has waited has the time of the beginning" || not_ok "times: $(cat err out)"
"$espy" trace --depth 3 true 2>err && not_ok "--depth alone: accepted"
has "--depth alone: refused" err 'depth and --min-time must be given with --functions'

# ---- refusals
for word in 'probed:handle if x > 3' 'probed:handle%return'; do
	"$espy" trace --functions "$word" true 2>err && not_ok "$word: accepted"
	has "$word: refused" err 'functions have neither a condition nor %return (-u)'
done
finish
