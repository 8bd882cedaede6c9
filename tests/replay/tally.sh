#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tally.sh ESPY SOURCE PROGRAMS-DIR TALLIED: --count-by and --hist count exactly, live and from a trace; what is wrong is said with its place.
. "${0%/*}/lib.sh"
prog=$(realpath "$4")
cd "$dir" || exit 1
mkdir files
here=$(realpath files)
record -q -o all "$prog" files 2>err
# table NAME OPTIONS...: the tables are those of standard input, live and from the trace
table() {
	name=$1
	shift
	cat >want
	trace "$@" -o live "$prog" files 2>err
	[ ! -s err ] || cat err
	same "$name" want live
	show "$@" all >shown 2>err
	same "$name, from a trace" want shown
}
table "--hist: by powers of two, failed calls apart" --hist 'preadv: ret' <<'END'
preadv: ret
     from        to     count
--------- --------- --------- ----------------------------------------
        0         0         1 @@@@@@@@@@@@@@@@@@@@
        1         1         1 @@@@@@@@@@@@@@@@@@@@
        2         3         2 @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
        4         7         1 @@@@@@@@@@@@@@@@@@@@
        8        15         0
       16        31         0
       32        63         0
       64       127         0
      128       255         0
      256       511         0
      512      1023         2 @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
             failed         5
--------- --------- --------- ----------------------------------------
              total        12
END
table "--count-by: texts, and what cannot be read" --count-by 'mkdirat: path' <<'END'
mkdirat: path
% total     count value
------- --------- ----------------
  75.00         3 "/no/such/a"
  25.00         1 "/no/such/b \"quoted\""
------- --------- ----------------
 100.00         4 total
1 event without a value
END
table "numbers by their names, several tables" --count-by 'fadvise64: advice' --count-by 'preadv: errno' --count-by 'mkdirat: mode' <<'END'
fadvise64: advice
% total     count value
------- --------- ----------------
  50.00         2 POSIX_FADV_RANDOM
  25.00         1 0x4d /* POSIX_FADV_??? */
  25.00         1 POSIX_FADV_NORMAL
------- --------- ----------------
 100.00         4 total

preadv: errno
% total     count value
------- --------- ----------------
  58.33         7 0
  41.67         5 EBADF
------- --------- ----------------
 100.00        12 total

mkdirat: mode
% total     count value
------- --------- ----------------
  60.00         3 0755
  40.00         2 0700
------- --------- ----------------
 100.00         5 total
END
table "files behind descriptors; the most frequent alone" --count-by 'fdatasync,preadv: path' --count-by 'preadv: ret' --top 2 <<END
fdatasync,preadv: path
% total     count value
------- --------- ----------------
 100.00        10 "$here/file"
------- --------- ----------------
 100.00        10 total
5 events without a value

preadv: ret
% total     count value
------- --------- ----------------
  41.67         5 -EBADF
  16.67         2 1000
  41.67         5 (5 other values)
------- --------- ----------------
 100.00        12 total
END
table "all calls that are selected" -e trace=getppid,fdatasync --count-by name <<'END'
name
% total     count value
------- --------- ----------------
  50.00         3 "fdatasync"
  50.00         3 "getppid"
------- --------- ----------------
 100.00         6 total
END
# The source ptrace is told of no new names of tasks.
[ "$source" != bpf ] || table "names of tasks" --count-by 'getppid: comm' <<'END'
getppid: comm
% total     count value
------- --------- ----------------
  66.67         2 "other name"
  33.33         1 "tallied"
------- --------- ----------------
 100.00         3 total
END
table "what a pointer leads to, and filters" --hist 'preadv: iov[0].len' --where 'ret >= 4' <<'END'
preadv: iov[0].len
     from        to     count
--------- --------- --------- ----------------------------------------
        4         7         1 @@@@@@@@@@@@@@@@@@@@
        8        15         0
       16        31         0
       32        63         0
       64       127         0
      128       255         0
      256       511         0
      512      1023         2 @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
--------- --------- --------- ----------------------------------------
              total         3
END
trace --hist 'getppid: duration' -o live "$prog" files
has "times" live '^ *total  *3$'
has "times have units" live '^ *[0-9.]*[num]*s  *[0-9.]*[num]*s  *[123] @'
# The same counts beside lines and in the table of calls; and an engine that records gets everything.
trace -C --count-by 'preadv: errno' -o live "$prog" files
expect "-C: the lines" 12 "$(grep -c '^preadv(' live)"
has "-C: the table of calls" live ' 12  *5 preadv$'
has "-C: the values" live ' 5 EBADF$'
trace --count-by 'preadv: errno' --record beside -o live "$prog" files 2>err
expect "--record beside it" 3 "$(show -e trace=getppid beside 2>&1 | grep -c '^getppid')"
show -p 1 --count-by 'preadv: errno' all >shown
has "a filter that lets nothing through" shown '^ 100.00  *0 total$'

# ---- counted in the kernel: the same as by espy, which counts what conditions let through, and no calls are sent
records() { # OPTIONS...: records of the calls of the program
	trace --stats "$@" -o live "$prog" files 2>err
	sed -n 's/^espy: source bpf: \([0-9]*\) records.*/\1/p' err
}
if [ "$source" = bpf ]; then
	set -- --hist 'preadv: ret' --count-by 'fadvise64: advice' --count-by 'mkdirat: mode' --hist 'exit_group: status'
	few=$(records "$@")
	mv live kernel
	many=$(records "$@" --where 'tid > 0')
	same "the kernel counts as espy does" kernel live
	[ "$few" -le 4 ] && [ "$many" -gt 20 ] && ok "no calls are sent" || not_ok "records: $few, $many"
	set -- --count-by 'preadv: ret' --count-by 'exit_group: ret' --count-by 'fdatasync: fd' --count-by 'mkdirat: errno'
	trace "$@" -o kernel "$prog" files
	trace "$@" --where 'tid > 0' -o live "$prog" files
	same "values, and calls that do not return" kernel live
	has "a call that does not return has no result" kernel '^1 event without a value$'
	trace -f --count-by 'getppid: pid' -o kernel sh -c '"$@"; "$@"; exit 0' sh "$prog" files
	has "numbers of processes" kernel ' 3 [0-9]*$'
	trace --hist 'preadv: duration' --hist 'getppid: duration' -o live "$prog" files
	expect "times" "12 3" "$(sed -n 's/^ *total  *//p' live | paste -sd' ')"
	trace -c --count-by name -o live "$prog" files
	want=$(sed -n 's/^100.00 .* \([0-9][0-9]*\)  *[0-9]* total$/\1/p' live)
	trace --count-by errno -o live "$prog" files
	has "of all calls those are counted that -c counts" live "^ 100.00  *$want total$"
fi

# ---- the end by a signal, whoever counts
for value in name errno; do
	rm -f files/done
	"$espy" trace --source="$source" -I2 --count-by "getppid: $value" -o live "$prog" files wait 2>err &
	pid=$!
	wait_for 60 test -e files/done
	kill -TERM $pid
	wait $pid
	has "a signal ends it with the table of $value" live '^ *100.00  *3 total$'
done

# ---- what is wrong
wrong() { # OPTION TEXT MESSAGE
	trace "$1" "$2" true >out 2>err
	expect "$1 '$2' is refused" 1 $?
	expect "$1 '$2'" "espy: $1 '$2', $3" "$(cat err)"
}
wrong --count-by 'read: ret < 0' "column 11: nothing is expected behind the name of a value, not '<'"
wrong --count-by 'opnat: path' "column 1: invalid system call 'opnat'; did you mean 'openat'?"
wrong --count-by 'pthname' "column 1: no system call that is watched has 'pthname'; did you mean 'pathname'?"
wrong --hist 'openat: path' "column 9: path is no number, and has no powers of two; --count-by counts texts, too"
wrong --count-by 'app:done: id' "column 1: nothing selects 'app:done': a mark is selected by -m, a probe by -u or -K"
wrong --hist ' : x' "column 1: a call, a mark or a probe is expected before the colon"
wrong --hist '' "column 1: a name is expected, not the end"
trace -e trace=read --hist 'write: ret' true 2>err
has "a call that is not watched" err "column 1: none of these system calls is watched$"
trace --top 3 true 2>err
has "--top alone" err 'top must be given with --count-by$'
finish
