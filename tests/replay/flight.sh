# SPDX-License-Identifier: LGPL-2.1-or-later
# The flight recorder: nothing is written before it is wanted; each way to want it; what the trace then holds.
. "${0%/*}/../trouble/lib.sh"
[ "$source" = bpf ] || { echo "SKIP: the flight recorder needs the source bpf"; exit 77; }
cd "$dir" || exit 1

lines() { # of calls that the trace shows
	"$espy" show -f "$@" 2>>"$dir/show.err"
}

# The end: the newest calls up to it, the oldest overwritten.
# On one processor: each has a ring of its own, and what came before a task moved stays in the other one's.
cpu=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')
taskset -c "$cpu" "$espy" record --ring 1M -o end.espy -- "$progs/make_calls" 30000 >/dev/null 2>err
expect "the command's status" 0 $?
lines end.espy >text
has "the last call is there" text '^exit_group(0) *= ?$'
has "and the end" text '^+++ exited with 0 +++$'
hasnt "the first is not" text '^execve('
"$espy" record --ring 1M -o small.espy -- true 2>err.small
has "a small trace is told in small units" err.small ' records, [1-9][0-9.]* \(bytes\|kB\); '
has "how much was overwritten is told" err ': the end: .* older ones were overwritten'
kept=$(grep -c '(' text)
[ "$kept" -gt 1000 ] && ok "$kept calls were kept" || not_ok "only $kept calls were kept"

# Of a processor that was busy last little is left, of another one what is much older: where it begins is told in that place.
set -- $(taskset -pc $$ | sed 's/.*: *//; s/[-,]/ /g')
if [ $# -ge 2 ]; then
	"$espy" record --ring 1M -f -o two.espy -- sh -c "taskset -c $1 '$progs/make_calls' 30000; exec taskset -c $2 '$progs/make_calls' 30000" 2>err
	lines two.espy >text
	has "two processors: from when on nothing is missing is told" err 'older ones were overwritten, whole since '
	"$espy" show -c two.espy >counts 2>&1
	hasnt "two processors: what was overwritten is not lost" counts 'lost'
	grep -n 'of one CPU lost before here: overwritten' text | cut -d: -f1 >places
	expect "two processors: both begin somewhere" 2 "$(wc -l <places)"
	expect "two processors: one of them at the top" 1 "$(head -n 1 places)"
	# between the two the end of the first program, then the second one, without its beginning
	sed "$(tail -n 1 places)q" text >above
	sed "1,$(tail -n 1 places)d" text >below
	has "two processors: above it the first program ends" above 'exited with 0'
	hasnt "two processors: below it, nothing is missing: no program begins" below 'execve('
	has "two processors: below it the second one ends" below '^\(\[pid *[0-9]*\] \)*+++ exited with 0 +++$'
	sum=$(awk '/ of one CPU lost before here/ { n += $2 } END { print n }' text)
	expect "two processors: what is told adds up" "$(sed -n 's/.*; \([0-9]*\) older ones.*/\1/p' err)" "$sum"
else
	echo "only one processor: left out"
fi

# A crash.
"$espy" record --ring 1M -o crash.espy -- sh -c 'true; kill -SEGV $$' 2>err
expect "the signal is passed on" 139 $?
lines crash.espy >text
has "how it ended" text '+++ killed by SIGSEGV'

# A program that runs until there is a file `stop`, and what it has done by then.
cat >loop.sh <<'END'
while [ ! -e stop ]; do
	/bin/true
	echo >>count
done
END
ran() { # some times, since it was last asked
	[ -e count ] && [ "$(wc -l <count)" -gt $((from + 3)) ]
}
from=0
# The socket of a flight recorder, in either of the places for it.
socket_of() {
	for place in /run/espy "${XDG_RUNTIME_DIR:-/nowhere}/espy"; do
		[ ! -S "$place/flight.$1" ] || { echo "$place/flight.$1"; return; }
	done
	return 1
}
# SIGUSR1: a trace now, another one later; nothing before.
"$progs/fresh" "$espy" record --ring 1M -f -o usr1.espy -- sh loop.sh 2>err &
job=$!
wait_for 60 ran || not_ok "the program does not run: $(cat err)"
[ -e usr1.espy ] && not_ok "written before it was wanted" || ok "nothing is written before it is wanted"
kill -USR1 $job
wait_for 60 grep -q 'usr1.espy: asked for' err && ok "SIGUSR1" || not_ok "SIGUSR1 wrote nothing"
lines usr1.espy >text
has "a whole trace" text 'execve("/bin/true"'
hasnt "that is not damaged" show.err 'damaged'
kill -USR1 $job
wait_for 60 grep -q 'usr1.espy.2: asked for' err && ok "SIGUSR1 again" || not_ok "the second SIGUSR1 wrote nothing"
: >stop
wait $job
[ -e usr1.espy.3 ] && ok "and the end" || not_ok "no trace of the end"

# One that is killed leaves its socket; the next one takes it away.
mkfifo end
"$espy" record --ring 1M -o killed.espy -- sh -c 'read -r line <end' 2>err & killed=$!
wait_for 60 socket_of $killed
socket=$(socket_of $killed || echo none)
kill -9 $killed
wait $killed 2>/dev/null
exec 8<>end
echo >&8
exec 8>&-
[ -S "$socket" ] && ok "a socket of one that was killed" || not_ok "no socket of a flight recorder that runs"
"$espy" record --ring 1M -o next.espy -- true 2>err
[ -S "$socket" ] && not_ok "a socket of one that was killed stays" || ok "is taken away by the next one"

# espy snapshot: waits until the trace is there, and tells its name.
rm -f stop count
"$progs/fresh" "$espy" record --ring 1M -f --after 200ms -o snap.espy -- sh loop.sh 2>err &
job=$!
wait_for 60 socket_of $job || not_ok "a flight recorder has no socket: $(cat err)"
wait_for 60 ran || not_ok "the program does not run: $(cat err)"
"$espy" snapshot $job >said 2>&1
expect "snapshot: status" 0 $?
expect "snapshot: the name" "$(realpath snap.espy)" "$(cat said)"
lines "$(cat said)" >text
has "snapshot: a whole trace" text 'execve("/bin/true"'
"$espy" snapshot $job >said 2>&1
expect "snapshot again: the next name" "$(realpath snap.espy.2)" "$(cat said)"
: >stop
wait $job
"$espy" snapshot $job 2>said
expect "snapshot of one that has ended: status" 1 $?
has "snapshot of one that has ended: said" said 'is no flight recorder'
"$espy" snapshot $$ 2>said
expect "snapshot of another process: status" 1 $?
expect "no socket is left" "" "$(socket_of $job)"

# A call that comes out in a certain way, and what followed.
# What follows at once is seen if it takes no longer than the time that was asked for; what comes later begins when the trace is written.
exec 8<>end
"$espy" record --ring 1M -f --snapshot-on 'openat: ret == -ENOENT && path == "./nowhere"' --after 3s -o on.espy -- \
	sh -c 'cat /etc/passwd; cat ./nowhere; /bin/echo behind; read -r line; /bin/echo later' <end >/dev/null 2>err &
job=$!
wait_for 60 grep -q 'on.espy: triggered' err
echo >&8
wait $job
has "it came true" err 'on.espy: triggered'
lines on.espy >text
has "the call" text 'openat(AT_FDCWD, "./nowhere", O_RDONLY) = -1 ENOENT'
has "what was before" text '"/etc/passwd"'
has "what followed" text 'behind'
hasnt "not what came much later" text 'later\\n'

# That a trace cannot be written is said before anything is watched, not when it is wanted.
echo mine >there.espy
for name in there.espy no/such/dir.espy; do
	"$espy" record --ring 1M -o $name -- touch ran 2>err
	expect "$name: status" 1 $?
	expect "$name: the program does not run" no "$([ -e ran ] && echo yes || echo no)"
	expect "$name: said once" 1 "$(wc -l <err)"
done
# But what an earlier one has left is no reason to lose a later trace.
echo mine >left.espy.2
"$espy" record --ring 1M -f --snapshot-on 'openat: path == "/no/such"' -o left.espy -- sh -c 'cat /no/such; read -r line' <end >/dev/null 2>err &
job=$!
wait_for 60 grep -q 'left.espy: triggered' err || not_ok "no trace of what was asked for: $(cat err)"
echo >&8
wait $job
expect "an older left.espy.2: untouched" mine "$(cat left.espy.2)"
lines left.espy.3 >text
has "and the end is in left.espy.3" text '^+++ exited with 0 +++$'

# Words that make no sense together.
"$espy" record --snapshot-on 'openat' -o no.espy -- true 2>err
expect "--snapshot-on alone: status" 1 $?
has "--snapshot-on alone" err 'needs --ring'
"$espy" record --ring 1M --snapshot-on 'openat: rett == 1' -o no.espy -- true 2>err
expect "a bad comparison: status" 1 $?
has "a bad comparison" err 'rett'
"$espy" record --source ptrace --ring 1M -o no.espy -- true 2>err
expect "the ptrace source: status" 1 $?
has "the ptrace source" err 'flight recorder'
finish
