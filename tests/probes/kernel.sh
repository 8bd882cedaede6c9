# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel.sh ESPY: functions of the kernel (-u kernel:NAME) in the stream of calls: parameters by name, returns, patterns, conditions,
# recorded and shown again. What espy says where it cannot is tested on every kernel; the rest where functions can be probed.
. "${0%/*}/../lib.sh"
need_source bpf
trace() {
	"$espy" trace --source=bpf "$@"
}
# Reads of a size that no other program reads at a time.
# shellcheck disable=SC2086 # words
reads="dd if=/dev/zero of=/dev/null bs=77 count=50"

# ---- what cannot be
refused() { # NAME PATTERN PROBE
	trace -u "$3" -o "$dir/out" true 2>"$dir/err" && not_ok "$1: accepted"
	has "$1" "$dir/err" "$2"
}
refused "an unknown function" "the kernel has no function 'vfs_rea': .*did you mean 'vfs_read'?" kernel:vfs_rea
refused "a pattern of nothing" "no function of the kernel is called like 'nothing_here_\*'" 'kernel:nothing_here_*'
refused "a function that holds a lock of espy's" "'_raw_spin_lock_irqsave' of the kernel cannot be probed: espy's own" kernel:_raw_spin_lock_irqsave
refused "an address" "at character 8: the name of a function of the kernel is expected" kernel:0x1234
refused "a line" "at character 8: the name of a function of the kernel is expected" kernel:read_write.c:12
refused "a parameter inside of a function" "parameters are known where a function begins or returns" 'kernel:vfs_read+5(file)'
refused "a return of an offset" "a function returns from its beginning" 'kernel:vfs_read+5%return'
if [ -r /sys/kernel/btf/vmlinux ]; then
	refused "an unknown parameter" "there is no parameter 'size' of vfs_read(); there are file, buf, count, pos" 'kernel:vfs_read(size)'
	refused "a misspelt parameter" "there is no parameter 'fiel' of vfs_read(); did you mean 'file'?" 'kernel:vfs_read(fiel)'
	refused "an unknown member" "file->f_flag: there is no member 'f_flag'; did you mean 'f_flags'?" 'kernel:vfs_read(file->f_flag)'
	refused "an unknown name of a condition" "the condition of a probe: .*size" 'kernel:vfs_read if size > 3'
	refused "no result" "kfree() has no result" 'kernel:kfree%return(=$retval->x)'
fi
refused "the kernel's function without its file" "Cannot find user 'vfs_read%return'; did you mean the probe -u kernel:vfs_read%return?" vfs_read%return
"$espy" trace --source=ptrace -u kernel:vfs_read true 2>"$dir/err" && not_ok "ptrace: accepted"
has "not by ptrace" "$dir/err" 'ptrace source cannot put probes'

# ---- which there are
"$espy" list functions kernel 'vfs_rea?' >"$dir/list" 2>"$dir/err"
expect "a list" vfs_read "$(cat "$dir/list")"
"$espy" list -v functions kernel:vfs_read >"$dir/list" 2>"$dir/err"
[ ! -r /sys/kernel/btf/vmlinux ] || has "with parameters" "$dir/list" '^    size_t count$'
"$espy" list functions kernel '_raw_spin_lock*' >"$dir/list" 2>"$dir/err" && not_ok "locks: $(head -n 3 "$dir/list")"
has "none of those that are refused" "$dir/err" "no function of the kernel that can be probed matches '_raw_spin_lock\*'"

# ---- can they be probed here?
trace -u 'kernel:vfs_read(count)' -o "$dir/out" $reads 2>"$dir/err" || {
	grep 'functions of the kernel cannot be probed: this kernel has no kprobes' "$dir/err" || not_ok "no reason: $(cat "$dir/err")"
	[ $bad = 0 ] || finish
	echo "SKIP: $(cat "$dir/err")"
	exit 77
}

# ---- entries
expect "a parameter by its name" 50 "$(grep -c '^kernel:vfs_read(count=77)$' "$dir/out")"
hasnt "no calls without -e trace=" "$dir/out" 'exit_group'
trace -u 'kernel:vfs_read(size=$arg3:u, buf=$arg2:p) if size == 77' -o "$dir/out" $reads 2>/dev/null
expect "arguments by their places" 50 "$(grep -c '^kernel:vfs_read(size=77, buf=0x[0-9a-f]*)$' "$dir/out")"
trace -u '  p:mine/reads   vfs_read %dx:u if arg1 == 77' -o "$dir/out" $reads 2>/dev/null
expect "ftrace's words" 50 "$(grep -c '^mine:reads(arg1=77)$' "$dir/out")"
trace --probe 'vfs_read(n=%dx:u) if n == 77' -o "$dir/out" $reads 2>/dev/null
expect "perf's words" 50 "$(grep -c '^kernel:vfs_read(n=77)$' "$dir/out")"
trace -u 'kernel:vfs_read(b=%bx, n=%dx:u) if n == 77' -o "$dir/out" $reads 2>/dev/null
expect "a register that is no argument" 50 "$(grep -c '^kernel:vfs_read(b=0x[0-9a-f]*, n=77)$' "$dir/out")"
trace -e trace=openat -u 'kernel:do_sys_openat2(dfd, filename:string) if filename == "/no/such"' -o "$dir/out" cat /no/such 2>/dev/null
has "text of the program" "$dir/out" '^kernel:do_sys_openat2(dfd=-100, filename="/no/such")$'
[ "$(grep -n do_sys_openat2 "$dir/out" | cut -d: -f1)" -lt "$(grep -n '^openat.*/no/such' "$dir/out" | cut -d: -f1)" ] && ok "in front of the call that ends" ||
	not_ok "another order: $(cat "$dir/out")"
trace -u 'kernel:do_sys_openat2(filename:ustring) if filename ^= "/no"' -o "$dir/out" cat /no/such 2>/dev/null
has "text of the program only" "$dir/out" '^kernel:do_sys_openat2(filename="/no/such")$'
trace -u 'kernel:vfs_read(file->f_path.dentry->d_name.name:string, file->f_path.dentry->d_name.name:ustring, count) if count == 77' -o "$dir/out" $reads 2>/dev/null
expect "text behind pointers of the kernel" 50 "$(grep -c '^kernel:vfs_read(.*name="zero", .*name=0x[0-9a-f]*, count=77)$' "$dir/out")"
trace -u 'kernel:vfs_read(file->f_flags, *pos, file->f_path) if count == 77' -o "$dir/out" $reads 2>/dev/null
expect "numbers behind pointers, a struct" 50 "$(grep -c '^kernel:vfs_read(file.f_flags=[0-9]*, pos=[0-9]*, file.f_path={mnt=0x[0-9a-f]*, dentry=0x[0-9a-f]*}, count=77)$' "$dir/out")"

# ---- by the kernel's types (fentry, fexit), where they are: the kinds of links 24 and 25
links() { # so many of that kind are attached
	cat "/proc/$tracer/fdinfo/"* 2>/dev/null | grep -c "^attach_type:[[:space:]]*$1\$"
}
attached() {
	[ "$(links 24) $(links 25)" = "$1" ]
}
is_attached() {
	grep -q "Process $traced attached" "$dir/err"
}
ways() { # NAME COUNTS OPTION...
	name=$1
	counts=$2
	shift 2
	sleep 1000 &
	traced=$!
	"$espy" trace --source=bpf "$@" -o "$dir/out" -p $traced 2>"$dir/err" &
	tracer=$!
	if wait_for 60 is_attached && attached "$counts"; then ok "$name"; else not_ok "$name: $(links 24) $(links 25), not $counts; $(cat "$dir/err")"; fi
	kill $traced
	wait $traced $tracer 2>/dev/null
}
if "$espy" doctor | grep -q '^functions of the kernel  *yes.*fentry'; then
	ways "numbers by fentry" "1 0" -u 'kernel:vfs_read(count)'
	ways "returns by fexit" "2 1" -u 'kernel:vfs_read(count)' -u 'kernel:vfs_read%return(count, =$retval)'
	ways "texts, stacks, registers, patterns by kprobes" "0 0" -u 'kernel:vfs_read(file->f_path.dentry->d_name.name:string)' -u 'kernel:vfs_rea?(count)' \
		-u 'kernel:vfs_read(count, %bx)' -u 'kernel:vfs_read%return'
	ways "with -k by kprobes" "0 0" -k -u 'kernel:vfs_read(count)'
	trace -u 'kernel:vfs_read(count) if count == 77' -u 'kernel:vfs_read(count, file->f_path.dentry->d_name.name:string) if count == 77' -o "$dir/out" $reads 2>/dev/null
	expect "both ways at one function" "50 50" "$(grep -c '^kernel:vfs_read(count=77)$' "$dir/out") $(grep -c '^kernel:vfs_read(count=77, .*="zero")$' "$dir/out")"
	trace -u 'kernel:vfs_read%return(count, *pos, =$retval) if retval == 77 && duration < 60s' -o "$dir/out" $reads 2>/dev/null
	expect "a return by fexit" 50 "$(grep -c '^kernel:vfs_read(count=77, pos=[0-9]*) *= 77 <0\.[0-9]*>$' "$dir/out")"
fi

# ---- inside
at=none
for at in 5 9; do # behind the room for probes, with and without ENDBR
	trace -u "kernel:vfs_read+$at" -o "$dir/out" $reads 2>"$dir/err" && break
	at=none
done
if [ $at != none ]; then
	[ "$(grep -c "^kernel:vfs_read+0x$at()" "$dir/out")" -ge 50 ] && ok "an instruction" || not_ok "an instruction: $(head -n 3 "$dir/out")"
else
	not_ok "an instruction: $(cat "$dir/err")"
fi
refused "the middle of one" 'the kernel refuses a probe at its function vfs_read, so far behind its beginning: no instruction that can be probed' kernel:vfs_read+2

# ---- returns
trace -u 'kernel:vfs_read%return(count, file->f_path.dentry->d_name.name:string, =$retval) if count == 77' -o "$dir/out" $reads 2>/dev/null
expect "a return with its result, duration and parameters" 50 "$(grep -c '^kernel:vfs_read(count=77, .*="zero") *= 77 <0\.[0-9]*>$' "$dir/out")"
trace -u 'kernel:vfs_read%return(=$retval:s64) if retval == -21' -o "$dir/out" cat / 2>/dev/null
has "a negative result" "$dir/out" '^kernel:vfs_read() *= -21 <0'
trace -u 'r:back vfs_read $retval' -u 'kernel:vfs_read%return(n=$arg3:u) if n == 77 && duration < 60s' -o "$dir/out" $reads 2>/dev/null
expect "two probes of a return" 50 "$(grep -c '^kernel:vfs_read(n=77) *returned <0\.[0-9]*>$' "$dir/out")"
[ "$(grep -c '^kernel:back(arg1=[0-9]*) *returned <0' "$dir/out")" -ge 50 ] && ok "each" || not_ok "each: $(head -n 3 "$dir/out")"

# ---- patterns
trace -u 'kernel:vfs_rea?(count)' -u 'kernel:vfs_writ* if count == 77' -o "$dir/out" $reads 2>"$dir/err"
expect "a pattern" 50 "$(grep -c '^kernel:vfs_write(count=77)$' "$dir/out")"
expect "another" 50 "$(grep -c '^kernel:vfs_read(count=77)$' "$dir/out")"
trace -c -u 'kernel:vfs_*' -u 'kernel:vfs_*%return' -o "$dir/out" $reads 2>"$dir/err"
[ "$(awk '$NF == "kernel:vfs_read" { print $(NF - 1) }' "$dir/out")" -ge 50 ] && [ "$(awk '$NF == "kernel:vfs_write%return" { print $(NF - 1) }' "$dir/out")" -ge 50 ] &&
	ok "many functions, counted" || not_ok "counted: $(cat "$dir/out" "$dir/err")"

# ---- whose
trace -u 'kernel:vfs_read(count)' -o "$dir/out" sh -c "$reads; :" 2>/dev/null
hasnt "children only with -f" "$dir/out" 'count=77'
trace -f -u 'kernel:vfs_read(count)' -o "$dir/out" sh -c "$reads; :" 2>/dev/null
expect "with -f" 50 "$(grep -c 'kernel:vfs_read(count=77)$' "$dir/out")"

# ---- tables, trees, stacks
trace -u 'kernel:vfs_read(count)' --count-by 'kernel:vfs_read: count' --hist 'kernel:vfs_read: count' -o "$dir/out" $reads 2>/dev/null
has "counted by value" "$dir/out" ' 50 77$'
has "by powers of two" "$dir/out" '^ *64  *127  *50 @'
trace --functions 'kernel:vfs_read(count)' -e trace=read -o "$dir/out" $reads 2>/dev/null
expect "as a tree" 50 "$(grep -c '^kernel:vfs_read(count=77) *<0\.[0-9]*>$' "$dir/out")"
trace -k -u 'kernel:vfs_read if count == 77' -o "$dir/out" $reads 2>/dev/null
[ "$(grep -c '^ > ' "$dir/out")" -ge 50 ] && ok "stacks of the program" || not_ok "stacks: $(head -n 6 "$dir/out")"

# ---- recorded
trace -qq -f -e trace=read --rings=cpu -u 'kernel:vfs_read(file->f_path.dentry->d_name.name:string, count)' -u 'kernel:vfs_read%return(=$retval)' --record "$dir/t" -o "$dir/live" $reads 2>/dev/null
"$espy" show -qq -o "$dir/shown" "$dir/t"
cmp -s "$dir/live" "$dir/shown" && [ "$(grep -c 'vfs_read(.*zero.*count=77)$' "$dir/live")" = 50 ] && ok "shown again: the same text" ||
	not_ok "another text: $(head -n 3 "$dir/live"; diff "$dir/live" "$dir/shown" | head -n 4)"
"$espy" show -qq -u 'kernel:vfs_* if count == 77' "$dir/t" >"$dir/shown" 2>/dev/null
expect "show -u" 50 "$(grep -c '^kernel:vfs_read(' "$dir/shown")"
"$espy" show --json "$dir/t" >"$dir/json"
has "JSON" "$dir/json" '"kind":"probe",.*"provider":"kernel","name":"vfs_read","args":{.*"count":77.*"place":"entry"'
has "JSON of a return" "$dir/json" '"provider":"kernel","name":"vfs_read".*"place":"return"'
finish
