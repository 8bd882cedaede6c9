# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by bench/run, whose variables and functions it uses: what recording costs, how fast it is written and shown, how
# large a trace is. CPU time is of espy alone: programs are attached to, so that theirs is not in it.

# What a trace of the same facts costs the program: times, names of descriptors, structures in full.
t_trace_all() { "$espy" trace --lossless=never -ttt -T -yy -v -o "$tmp/out" "$@"; }
t_record() { "$espy" record -q --lossless=never --force -o "$tmp/rec" "$@"; }
echo "recording" >&2
for kind in getppid read openat; do
	for i in $(seq "$rounds"); do
		for t in native trace_all record; do
			per $t $kind 200000 >>"$tmp/rec.$kind.$t"
		done
	done
	n=$(median "$tmp/rec.$kind.native")
	row "$kind: espy record adds" "$(calc "$(median "$tmp/rec.$kind.record") - $n")" "ns" ""
	row "$kind: record adds, over trace -ttt -T -yy -v" \
		"$(calc "($(median "$tmp/rec.$kind.record") - $n) / ($(median "$tmp/rec.$kind.trace_all") - $n)")" "x" "1"
done

# From ring to file: espy watches a program that was there before it, and one that does nothing.
for i in $(seq "$rounds"); do
	attached_cpu "$espy" sh -c 'sleep 1; exec dd if=/dev/zero of=/dev/null bs=1 count=500000' >>"$tmp/rec.cpu"
	calls=$(calls_of "$espy" "$tmp/rec")
	attached_cpu "$espy" sleep 1 >>"$tmp/rec.cpu0"
	"$espy" record -q --lossless=always --force -o "$tmp/rec" dd if=/dev/zero of=/dev/null bs=1 count=500000 2>/dev/null
	cpu_of "$espy" show "$tmp/rec" >>"$tmp/show.cpu"
	cpu_of "$espy" show -c "$tmp/rec" >>"$tmp/count.cpu"
	cpu_of "$espy" show --json "$tmp/rec" >>"$tmp/json.cpu"
done
row "from ring to compressed file, one core" "$(calc "$calls / 1000000 / ($(median "$tmp/rec.cpu") - $(median "$tmp/rec.cpu0"))")" "million calls/s" "1.5"
row "espy show, text, one core" "$(calc "1 / $(median "$tmp/show.cpu")")" "million calls/s" "2"
row "espy show --json, one core" "$(calc "1 / $(median "$tmp/json.cpu")")" "million calls/s" "2"
row "espy show -c, one core" "$(calc "1 / $(median "$tmp/count.cpu")")" "million calls/s" ""

# Conditions: what each record costs behind the source, and what a call costs the program that the kernel rejects.
"$espy" record -q --lossless=always --force -o "$tmp/rec" "$percall" openat 1000000 "$tmp/ns" 2>/dev/null
for i in $(seq "$rounds"); do
	cpu_of "$espy" show -c "$tmp/rec" >>"$tmp/where.none"
	cpu_of "$espy" show -c --where 'path ^= "/nope/"' "$tmp/rec" >>"$tmp/where.path"
	cpu_of "$espy" show -c --where 'path =~ "^/etc/.*x"' "$tmp/rec" >>"$tmp/where.regex"
done
for w in path regex; do # seconds of a million calls are microseconds of one
	row "--where on a path ($w), behind the source" "$(calc "1000 * ($(median "$tmp/where.$w") - $(median "$tmp/where.none"))")" "ns" "100"
done
t_not_named() { "$espy" trace -e 'trace=!openat' -o "$tmp/out" "$@"; }
t_rejected() { "$espy" trace --where 'ret == 77' -o "$tmp/out" "$@"; }
for i in $(seq "$rounds"); do
	for t in native not_named rejected; do
		per $t openat 200000 >>"$tmp/where.openat.$t"
	done
done
n=$(median "$tmp/where.openat.native")
row "openat: not in -e trace= adds" "$(calc "$(median "$tmp/where.openat.not_named") - $n")" "ns" ""
row "openat: rejected by --where adds, over that" \
	"$(calc "$(median "$tmp/where.openat.rejected") - $(median "$tmp/where.openat.not_named")")" "ns" "30"

# Size, of what people do: git, an interpreter, a compiler
# size_of NAME PATH COMMAND...: with that PATH, by which the size of a mix goes: python3 may be a script that starts many programs
size_of() {
	name=$1 with=$2
	shift 2
	env PATH="$with" "$espy" record -q --force -f -o "$tmp/mix.espy" "$@" >/dev/null 2>&1
	calls=$(calls_of "$espy" "$tmp/mix.espy")
	size=$(wc -c <"$tmp/mix.espy") fixed=$("$build/bench/sections" "$tmp/mix.espy" | awk '$1 == "descriptions" { print $2 }')
	row "a trace of $name ($calls calls)" "$(calc "$size / 1000")" "kB" ""
	row "$name: descriptions of calls" "$(calc "$fixed / 1000")" "kB" ""
	row "$name: bytes a call, the whole file" "$(calc "$size / $calls")" "bytes" "$size_budget"
	if have strace && have zstd; then
		strace=$(command -v strace)
		env PATH="$with" "$strace" -f -ttt -T -o "$tmp/mix.txt" "$@" >/dev/null 2>&1
		row "$name, over the text of strace -f -ttt -T by zstd -3" "$(calc "$size / $(zstd -q -3 -c "$tmp/mix.txt" | wc -c)")" "x" "$ratio_budget"
	fi
}
size_budget=26 ratio_budget=''
size_of "git, python and gcc" "$PATH" sh -c "$mix" "$tmp/work"
size_of "git, python and gcc of /usr/bin" /usr/bin:/bin sh -c "$mix" "$tmp/work"
# long ones: half of what is left of find is noise, in which its directories are sorted
size_budget=14
size_of "100 times gcc" /usr/bin:/bin sh -c 'cd "$0"; for i in $(seq 100); do gcc -c hello.c; done' "$tmp/work"
size_of "find -ls" /usr/bin:/bin find /usr -ls
# what they are made of; for small ones there is no budget
size_budget=''
size_of "git alone" /usr/bin:/bin sh -c 'cd "$0" && git status' "$tmp/work"
size_of "python alone" /usr/bin:/bin python3 -c "import json, re"
size_of "gcc alone" /usr/bin:/bin sh -c 'cd "$0" && gcc -o hello hello.c' "$tmp/work"
size_of "ls" /usr/bin:/bin ls /
