# SPDX-License-Identifier: LGPL-2.1-or-later
# json.sh ESPY SOURCE PROGRAMS-DIR SCHEMA ORACLE-PROGRAM...: --json is what its schema says, tells what happened, is the same from a
# trace, and goes with filters, files and tables.
. "${0%/*}/lib.sh"
here=$(dirname "$(realpath "$0")")
python=$(command -v /usr/bin/python3 python3 | head -n 1)
schema=$(realpath "$4")
[ -n "$python" ] || { echo "SKIP: no python3"; exit 77; }
shift 4
oracle=$(realpath "$@")
cd "$dir" || exit 1

# One python answers all questions.
mkfifo asked answered
"$python" "$here/json_check.py" "$schema" - <asked >answered 2>&1 &
exec 6>asked 7<answered
# ask WORDS...: the lines of the answer in the file check, the last one in $answer too. Returns its status.
ask() {
	(IFS='	'; printf '%s\n' "$*") >&6
	answer=
	: >check
	while read -r line <&7; do
		case $line in .[0-9]) return "${line#.}" ;; esac
		answer=$line
		printf '%s\n' "$line" >>check
	done
	case $answer in SKIP*) echo "$answer"; exit 77 ;; esac
	return 1
}
# valid NAME FILE
valid() {
	if ask valid "$2"; then ok "$1: $answer"; else
		not_ok "$1:"
		cat check
	fi
}
# value NAME FILE EXPRESSION WANT: of a Python expression on `events`, the objects in the file
value() {
	ask value "$2" "$3"
	expect "$1" "$4" "$answer"
}
# refused NAME PATTERN OPTIONS...
refused() {
	name=$1 pattern=$2
	shift 2
	trace "$@" true >out 2>err </dev/null
	expect "$name is refused" 1 $?
	has "$name: the words" err "$pattern"
}

# ---- programs that make many calls: valid, and the same from a trace
: >all
for prog in $oracle; do
	timeout 60 "$espy" trace --source="$source" -f --json -o live --record t --force -- "$prog" >/dev/null 2>err </dev/null
	show --json -o shown t 2>err2
	same "$(basename "$prog"): live and replay, $(wc -l <live) lines" live shown
	cat live >>all
done
valid "their objects" all

# ---- what happened
printf 'plain' >text
printf 'caf\303\251\n' >utf8
printf 'a\377b' >binary
cat >work.py <<'END'
import os, signal
for name in ("text", "utf8", "binary"):
    fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    os.read(fd, 4096)
    os.close(fd)
try:
    os.open("/no/such", os.O_RDWR)
except FileNotFoundError:
    pass
os.write(os.open("out", os.O_CREAT | os.O_WRONLY, 0o640), b"x" * 5000)
os.lseek(os.open("text", os.O_RDONLY), 2, os.SEEK_SET)
if not os.fork():
    os.read(os.open("go", os.O_RDONLY), 1)
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
END
# The child ends when the call in which its parent waits has been shown.
mkfifo go
exec 8<>go
trace_bg -f --json -o live --record t --force -- "$python" work.py 2>err &
job=$!
wait_for 60 grep -q '"call_begin".*"wait4"' live || not_ok "a call that hangs is not shown: $(cat err)"
echo >&8
wait $job
expect "the command's status" 0 $?
show --json t >shown
same "a mixed piece of work: live and replay" live shown
valid "a mixed piece of work" live
value "the first object" live 'events[0]' "{'kind': 'begin', 'format': 'espy', 'version': 1}"
value "flags by name" live '[c["args"]["flags"]["names"] for c in calls("openat") if c["args"]["pathname"] == "text"][0]' \
	"['O_RDONLY', 'O_CLOEXEC']"
value "and their number" live '[c["args"]["flags"]["num"] for c in calls("openat") if c["args"]["pathname"] == "text"][0]' 524288
value "a descriptor and its path" live '[c["ret"]["path"] for c in calls("openat") if c["args"]["pathname"] == "text"][0]' "$dir/text"
value "text" live '"plain" in [c["args"]["buf"] for c in calls("read")]' True
value "UTF-8" live '"café\n" in [c["args"]["buf"] for c in calls("read")]' True
value "what is no UTF-8" live '{"$": "bytes", "base64": "Yf9i"} in [c["args"]["buf"] for c in calls("read")]' True
value "an error by name" live '[(c["ret"], c["error"]) for c in calls("openat") if c["args"]["pathname"] == "/no/such"]' "[(-2, 'ENOENT')]"
value "a string that was cut" live '[c["args"]["buf"] for c in calls("write", ret=5000)][0]' \
	"{'\$': 'bytes', 'text': '$(printf '%32s' '' | tr ' ' x)', 'cut': True, 'size': 5000}"
value "a number and its name" live 'calls("lseek")[-1]["args"]["whence"]' "{'\$': 'enum', 'num': 0, 'name': 'SEEK_SET'}"
value "times are digits" live 'all(e["time"].isdigit() for e in events[1:])' True
value "durations are numbers" live 'all(isinstance(c["duration"], int) for c in calls("read"))' True
value "the name of the task" live 'calls("lseek")[-1]["comm"][:6]' python
value "a child" live 'len(kind("fork"))' 1
value "its end" live '[e["signal"] for e in kind("exit")]' "['SIGKILL', None]"
value "what it did to its parent" live '[(e["signal"], e["info"]["si_code"]["name"]) for e in kind("signal")]' "[('SIGCHLD', 'CLD_KILLED')]"
value "the call that it died in, or its kill" live '[c["ret"] for c in calls("kill")] in ([None], [0])' True
value "calls that hang" live 'sorted({e["name"] for e in kind("call_begin")} & {"wait4", "clock_nanosleep", "select", "pselect6"})[-1]' wait4
value "they have an end, too" live 'len(calls("wait4"))' 1

# A call whose end is not seen: of a task that is let go of.
exec 8>&-
sh -c 'read x <go; exec sleep 300' &
sleeper=$!
trace_bg --json -o left -p $sleeper 2>err &
tracer=$!
wait_for 60 grep -q '"attach"' left
echo >go
wait_for 60 grep -q '"call_begin".*nanosleep' left
kill -INT $tracer
wait $tracer
kill $sleeper
valid "a call without an end" left
value "it has begun" left 'kind("call_begin")[-1]["tid"] == kind("detach")[0]["tid"]' True

# ---- files, filters, tables
trace -ff --json -o sep -- sh -c 'true; cat text >/dev/null; exit 3' 2>err
expect "-ff: the command's status" 3 $?
expect "-ff: a file each" 2 "$(ls sep.* | wc -l)"
cat sep.* >all
valid "-ff" all
expect "-ff: each begins as an output does" 2 "$(head -qn 1 sep.* | grep -c '"kind":"begin"')"
for f in sep.*; do
	value "-ff: $(grep -c . "$f") objects of one task" "$f" 'len({e["tid"] for e in events[1:]})' 1
done
trace --json -e trace=openat --where 'ret < 0' -o live -- cat text /no/such >/dev/null 2>&1
value "a condition" live 'set((c["name"], c["error"]) for c in kind("call"))' "{('openat', 'ENOENT')}"
show --json -Z -e trace=openat t >shown
value "filters of a trace" shown 'set(c["error"] for c in kind("call"))' "{'ENOENT'}"
trace --json -e raw=openat -e verbose=none -o live -- cat text >/dev/null 2>&1
value "arguments as numbers" live 'sorted(calls("openat")[-1]["args"])' "['arg1', 'arg2', 'arg3', 'arg4']"
trace --json -i --syscall-limit=3 -o live -- cat text >/dev/null 2>&1
value "a limit" live 'len(kind("call"))' 3
value "the place of a call" live 'kind("call")[-1]["ip"][:2]' 0x
trace --json -c -o live -- cat text >/dev/null 2>&1
valid "-c" live
value "-c: only counts" live 'sorted({e["kind"] for e in events})' "['begin', 'summary', 'summary_total']"
value "-c: they add up" live 'sum(e["calls"] for e in kind("summary")) == kind("summary_total")[0]["calls"] > 5' True
show --json -C t >shown
valid "-C" shown
value "-C: calls and counts" shown 'len([c for c in kind("call") if c["ret"] is not None]) == kind("summary_total")[0]["calls"]' True
trace --json --count-by openat:flags --count-by errno --count-by comm --hist read:ret --hist duration -o live -- cat text /no/such >/dev/null 2>&1
valid "--count-by, --hist" live
value "--count-by: errors by name" live '[c["count"] for c in kind("count") if c["of"] == "errno" and c["value"] != 0 and c["value"]["name"] == "ENOENT"][0] > 0' True
value "--hist: the rows add up" live 'all(sum(h["count"] for h in kind("hist") if h["of"] == t["of"]) + t["failed"] == t["count"] > 1 for t in kind("hist_total"))' True
trace --json -yy -Y -o live -- sh -c 'cat text | cat' >/dev/null 2>&1
valid "-yy -Y" live
[ "$source" = bpf ] && {
	record --ring 256k -q -o ring -- "$progs/make_calls" 30000 2>err
	show --json ring >shown
	valid "a flight recorder's trace" shown
	value "what was overwritten" shown 'kind("loss")[0]["reason"] if kind("loss") else "overwritten"' overwritten
}

# ---- options that make no sense together
refused "-T" 'json and -T/--syscall-times are mutually exclusive: each object has it' --json -T
refused "-x" 'json and -x/--strings-in-hex are mutually exclusive' --json -x
refused "-k" 'json and -k/--stack-trace are mutually exclusive' --json -k
refused "-U" 'json and -U/--summary-columns are mutually exclusive' --json -c -U calls
refused "a sink of no name that is known" 'sink=nosuch: there is no sink of this name' --sink=nosuch
trace --sink=json -o live -- true 2>/dev/null
value "--sink=json" live 'events[0]["format"]' espy
refused "a dump" 'json and -e read= or -e write= are mutually exclusive' --json -e read=0
finish
