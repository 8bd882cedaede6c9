#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/layers.sh SOURCE-DIR: the layers of docs/architecture.md hold. Each rule is first tried on a tree that breaks it:
# a rule that finds nothing there proves nothing.
set -u
root=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0

# includes DIR: `FILE:LINE FROM TO` of every include of a header of ours; one without a folder lies beside the file.
includes() {
	(cd "$1" && grep -srnE '^[ \t]*#[ \t]*include[ \t]+"' src --include='*.c' --include='*.h' --include='*.def') |
		sed -nE 's,^(src/([a-z]+)/[^:]*:[0-9]+):[^"]*"([^"]+)".*,\1 \2 \3,p' |
		awk '{ to = $3; if (to !~ /\//) to = $2; else sub(/\/.*/, "", to); print $1, $2, to }'
}
# upward DIR: includes that do not point downward. MAY lists what each layer may include besides itself; a source knows no
# event, an event neither session nor source; the command only what the library promises (espy/), and the helpers that all may use.
upward() {
	includes "$1" | awk '
		BEGIN {
			may["base"] = " "
			may["arch"] = " base "
			may["record"] = " arch base "
			may["describe"] = " record arch base "
			may["symbols"] = " agent record arch base "
			may["source"] = " symbols agent describe record arch base "
			may["trace"] = " record arch base "
			may["event"] = " state describe record arch base "
			may["state"] = " source describe record arch base "
			may["filter"] = " agent event state source describe record arch base "
			may["sink"] = " event state filter symbols source trace describe record arch base "
			may["lib"] = " sink event state filter symbols source trace describe record arch base "
			may["cli"] = " base "
			may["inspect"] = " cli filter symbols source describe record arch base "
		}
		!($2 in may) { print $1 ": no such layer: " $2; next }
		$2 != $3 && index(may[$2], " " $3 " ") == 0 { print $1 ": " $2 " includes " $3 }'
}
# entered DIR: a source is used through the headers in src/source, not through those in its folder; and a header that says whose it
# is alone ("Private to src/lib/", or by its name: X_impl.h, X_parts.h) is included in that folder only.
entered() {
	own=$(cd "$1" && grep -srlE 'Private to src/' src --include='*.h' | sed 's,^src/,,')
	(cd "$1" && grep -srnE '^[ \t]*#[ \t]*include[ \t]+"[a-z]+/' src --include='*.c' --include='*.h') |
		sed -nE 's,^(src/([^:]*)/[^/:]*:[0-9]+):[^"]*"([^"]+)".*,\1 \2 \3,p' |
		awk -v own="$own" '
			BEGIN { n = split(own, o, /[ \n]+/); for (i = 1; i <= n; i++) alone[o[i]] = 1 }
			{ to = $3; sub(/\/[^\/]*$/, "", to) }
			($3 in alone || $3 ~ /_(impl|parts)\.h$/) && $2 != to && index($2 "/", to "/") != 1 { print $1 ": " $3 " is private to " to; next }
			to ~ /^source\// { split(to, t, "/"); split($2, f, "/"); if (!(f[1] == "source" && f[2] == t[2])) print $1 ": " $3 " is inside a source" }'
}
# called DIR: calls by which a library would end the program or write to its terminal. _exit is for children only.
called() {
	(cd "$1" && grep -srnE '(^|[^a-z_>.])((printf|puts|putchar|perror|exit|abort|err|errx|warn|warnx)\(|(v?fprintf|v?dprintf|writev?|fputs|putc|fputc|fwrite)\((.*(stderr|stdout|STD(OUT|ERR)_FILENO)|[12],))' \
		src agent --include='*.c' --include='*.h') |
		grep -vE '^src/(cli|inspect)/|^src/describe/tool[a-z_]*\.c:|^[^:]*:[0-9]+:[ \t]*(\*|/\*|//)|\.bpf\.[ch]:'
}
# typed DIR: a source that looks at types: what it needs of them stands in plans and call sets.
typed() {
	(cd "$1" && grep -srnE '(img|image)(->|\.)(types|fields|tables|cases|exprs|calls)([^a-z_]|$)|ESPY_(T|FMT|TF|FF|X)_[A-Z]|"describe/(asks|hooks|call_view|describe)\.h"' \
		src/source --include='*.c' --include='*.h')
}
# named DIR: system calls by their number outside the descriptions; `syscall(SYS_x` makes one, which is no knowledge.
named() {
	(cd "$1" && grep -srnE '(SYS|__NR)_[a-z0-9_]+' src --include='*.c' --include='*.h') |
		grep -vE 'syscall\(SYS_|^[^:]*:[0-9]+:[ \t]*(\*|/\*)'
}

# call_names DIR: strings that are the name of a call. Words that mean something else as well are left out, as are the command's
# options, the words of the description language, names of the kernel's types, and functions of libc.
call_names() {
	(cd "$1" && names=$(awk '$1 ~ /^[0-9]+$/ { print $2 }' descriptions/*.syscalls | sort -u |
		grep -vxE 'bpf|exit|fork|ptrace|read|select|signal|stat|sync|time|times|uprobe|write' | paste -sd'|') &&
		grep -srnE "\"($names)\"" src agent --include='*.c' --include='*.h') |
		grep -vE '^src/(cli|inspect|describe)/|^src/source/(bpf/load/btf|agent/safe_point)\.c:|^src/symbols/no_return\.c:'
}

# machine DIR: numbers of calls, and instructions as bytes, outside src/arch.
machine() {
	(cd "$1" && grep -srnE '(^|[^A-Z_])NR(32)?_[A-Z][A-Z0-9_]* [0-9]+|0x40000000[^u]|[=|] ?0x(cc|e8|e9)([^0-9a-f]|$)|0x0f, ?0x(05|1f)' src agent --include='*.c' --include='*.h') |
		grep -vE '^src/arch/|\.bpf\.[ch]:|RECORD_DISCARDED'
}

# registers DIR: ABIs, registers and instructions of one machine outside src/arch and the injection.
registers() {
	(cd "$1" && grep -srnE 'ESPY_ABI_(X86_64|I386|X32)|ESPY_REG_([A-D]X|[SD]I|BP|R[0-9]+|FLAGS)|AUDIT_ARCH_|EM_(X86|AARCH)|__x86_64__|rdtsc|->thread_info|(->|\.)([er]?([a-d]x|[sd]i|bp)|r(ip|sp|[89]|1[0-5])|orig_r?ax|cs|eflags)([^a-z0-9_]|$)|asm(__)?( (__)?volatile(__)?)?\("[^".]|__builtin_ia32_|cpuid' \
		src agent --include='*.c' --include='*.h') |
		grep -vE '^src/(arch/|source/agent/remote|trace/crc32c\.c:)|^src/source/bpf/kernel/[a-z]+\.bpf\.[ch]:[0-9]+:.*asm volatile|^[^:]*:[0-9]+:[ \t]*(\*|/\*)'
}

# long DIR: files of more than 600 lines and functions of more than 80.
long() {
	(cd "$1" && find src agent include -name '*.[chS]' 2>/dev/null | sort | xargs -r awk '
		FNR == 1 { if (last) too_long(); last = FILENAME; at = 0 }
		{ lines = FNR }
		/^\{/ { at = FNR; name = head }
		/^[^ \t#\/{}*].*\(/ { head = $0 }
		/^\}/ && at { if (FNR - at - 1 > 80) print FILENAME ":" at ": " FNR - at - 1 " lines: " name; at = 0 }
		END { too_long() }
		function too_long() { if (lines > 600) print last ": " lines " lines" }')
}

# scheduled DIR: calls that change how a task is scheduled, but for the caller itself (0).
scheduled() {
	(cd "$1" && grep -srnE '(sched_set(attr|scheduler|param)|setpriority)(\(|,)' src agent --include='*.c' --include='*.h') |
		grep -vE '(setpriority\(PRIO_PROCESS|sched_set(scheduler|param)\(|SYS_sched_set[a-z]+), ?0,|sched_set(scheduler|param)\(0,|^[^:]*:[0-9]+:[ \t]*(\*|/\*|//)'
}

# sleeping DIR: BPF programs that read memory which may have to come in. While one waits nobody can load BPF programs, so only a hold
# may, which has an end of its own.
sleeping() {
	(cd "$1" && grep -srnE 'bpf_copy_from_user' src/source/bpf/kernel --include='*.c' --include='*.h') |
		grep -vE '^src/source/bpf/kernel/pause\.bpf\.c:|^[^:]*:[0-9]+:[ \t]*(\*|/\*|//)'
}

# same_name DIR: files whose name another one has, too: a name in a message or a comment means one file.
same_name() {
	(cd "$1" && find agent bench fuzz include src tests -name '*.[chS]' -o -name '*.def') 2>/dev/null |
		awk -F/ '$NF != "source.c" { where[$NF] = where[$NF] " " $0; n[$NF]++ } END { for (f in n) if (n[f] > 1) print f ":" where[f] }'
}

# unshown DIR: what docs/security.md names as the test of a promise, and is none.
unshown() {
	awk -F'|' 'NF > 4 { print $(NF - 1) }' "$1/docs/security.md" 2>/dev/null | grep -o '`[^`]*`' | tr -d '`' | sort -u | while read -r name; do
		case $name in fuzz/run | tests/slow | slow | 'make check-vm') continue ;; esac
		last=${name##*[ /]}
		last=${last#replay-}
		[ -n "$(find "$1/tests" -name "$last.sh" -o -name "${last}_test.c" -o -name "$last.c")" ] ||
			grep -rqs --include=meson.build "'$name'" "$1/tests" || echo "docs/security.md: no test: $name"
	done
}
# waiting DIR: lines of tests that sleep. A test waits for an event, by tests/wait.sh and tests/wait.h. What sleeps in quotes or in the
# background is a program that is watched; another one says so behind "sleeps:", in a comment on its line.
waiting() {
	(cd "$1" && find tests -name '*.sh' -o -name '*.[ch]' -o -name '*.py' -o -name run -o -name slow -o -name threads) 2>/dev/null |
		grep -vE '^tests/(wait\.(sh|h)|layers\.sh)$' | sort | (cd "$1" && xargs -r awk '
			/sleeps:/ { next }
			FILENAME ~ /\.[ch]$/ {
				if (/(^|[^a-z_])(u?sleep|(clock_)?nanosleep|wait_moment_us)\(/ && !/^[ \t]*(\*|\/\*)/) print FILENAME ":" FNR ": " $0
				next
			}
			FILENAME ~ /\.py$/ {
				if (/time\.sleep\(/) print FILENAME ":" FNR ": " $0
				next
			}
			{
				line = $0
				gsub(/\\./, "", line)
				gsub(/\047[^\047]*\047|"[^"]*"/, "Q", line)
				sub(/(^|[ \t])#.*/, "", line)
				if (line ~ /(^|[;&|(){}]|do|then|else)[ \t]*sleep[ \t]+[Q0-9.$A-Za-z]*[ \t]*(;|\)|\||&&|$)/) print FILENAME ":" FNR ": " $0
			}')
}

# holds RULE WHAT: nothing is found in the tree
holds() {
	found=$($1 "$root")
	if [ -z "$found" ]; then
		echo "ok $2"
	else
		printf 'not ok %s\n%s\n' "$2" "$found"
		bad=1
	fi
}
# finds RULE COUNT: the rule finds what is wrong in the broken tree
finds() {
	n=$($1 "$dir" | grep -c .)
	if [ "$n" = "$2" ]; then
		echo "ok $1 finds what is wrong"
	else
		printf 'not ok %s finds %s of %s faults\n' "$1" "$n" "$2"
		bad=1
	fi
}

for layer in base arch record describe symbols source/bpf/kernel event trace state filter sink lib cli inspect; do
	mkdir -p "$dir/src/$layer"
done
cat >"$dir/src/event/a.c" <<'END'
#include "a.h"
#include "event/decoder.h"
#include "record/record.h"
#include "source/source.h"
	printf("a line of a library\n");
	snprintf(buf, sizeof(buf), "this is none");
END
cat >"$dir/src/source/bpf/b.c" <<'END'
#include "event/decoder.h"
#  include "lib/session.h"
#define NR_READ 0
	if (nr == SYS_read || !strcmp(name, "openat"))
		write(2, "a line", 6);
	fprintf(stderr, "another");
	if (img->types[i].fmt == ESPY_FMT_FD)
		exit(1);
	fd = syscall(SYS_fsopen, "tracefs", 0);
	setpriority(PRIO_PROCESS, 0, -10);
	syscall(SYS_sched_setattr, tid, &first, 0);
	if (regs->rdi && regs.orig_rax == ESPY_ABI_NATIVE && v->ip)
		abi = ESPY_ABI_I386;
	reg = ESPY_REG_R10;
END
cat >"$dir/src/source/bpf/kernel/c.bpf.h" <<'END'
	bpf_copy_from_user_task(to, n, from, task, 0);
	bpf_probe_read_user(to, n, from);
END
printf '#include "cli/options.h"\n#include "state/tasks.h"\n#include <espy/espy.h>\n' >"$dir/src/cli/d.c"
printf '/* Private to src/lib/. */\n' >"$dir/src/lib/e.h"
printf '#include "lib/e.h"\n#include "source/bpf/b.h"\n#include "event/walk_impl.h"\n' >"$dir/src/sink/e.c"
printf '#include "lib/e.h"\n#include "lib/session.h"\n' >"$dir/src/lib/g.c"
finds entered 3
finds upward 5
mkdir "$dir/descriptions"
echo '257 openat 4 desc,file' >"$dir/descriptions/x.syscalls"
finds called 4
finds named 1
finds machine 1
mkdir "$dir/agent"
printf '\t__asm__ __volatile__("cpuid");\n\tasm volatile("" ::: "memory");\n' >"$dir/agent/a.c"
finds registers 4
rm "$dir/agent/a.c"
{
	echo 'int f(void)'
	echo '{'
	yes '	g();' | head -n 96
	echo '}'
	yes '' | head -n 560
} >"$dir/src/lib/h.c"
finds long 2
finds typed 1
finds call_names 1
finds scheduled 1
touch "$dir/agent/b.c" "$dir/src/lib/source.c" "$dir/src/source/source.c"
finds sleeping 1
mkdir -p "$dir/tests/x"
cat >"$dir/tests/x/a.sh" <<'END'
sleep 0.3
while ! test -e x; do sleep "$n"; done
sleep 60 &
trace sh -c 'sleep 1; echo'
sleep 0.01 # sleeps: a moment of chance
END
printf '\tusleep(10);\n\tusleep(10); /* sleeps: a program that is watched */\n\tsyscall(SYS_nanosleep, 0, 0);\n' >"$dir/tests/x/waits.c"
finds waiting 3
mkdir "$dir/docs"
printf '| to | promise | test |\n|---|---|---|\n| a | `no` | `x/a`, `b` |\n' >"$dir/docs/security.md"
finds unshown 1
finds same_name 1

[ "$(includes "$root" | wc -l)" -ge 100 ] || {
	echo "not ok the tree at $root has no includes"
	bad=1
}
holds upward "includes point downward only"
holds entered "what is private is not included from elsewhere"
holds called "libraries neither print nor exit"
holds named "no system call is named outside the descriptions"
holds machine "what depends on the machine stands in src/arch"
holds registers "ABIs and registers of one machine stand in src/arch"
holds typed "no source looks at types"
holds call_names "no call is known by its name"
holds scheduled "no task is scheduled otherwise than it was"
holds sleeping "no BPF program but a hold waits for memory"
holds long "no file and no function is much too long"
holds same_name "no two files have one name"
holds waiting "tests wait for events"
holds unshown "each promise of docs/security.md has a test"
exit $bad
