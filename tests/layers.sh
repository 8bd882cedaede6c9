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
# decoder, a decoder no source, a renderer (a visitor of the decoder) neither session nor source.
upward() {
	includes "$1" | awk '
		BEGIN {
			may["record"] = " "
			may["describe"] = " record "
			may["symbols"] = " agent record "
			may["source"] = " symbols agent describe record "
			may["decode"] = " describe record "
			may["render"] = " decode describe record "
			may["trace"] = " record "
			may["session"] = " source decode render trace describe record "
			may["cli"] = " symbols session source decode render trace describe record "
		}
		!($2 in may) { print $1 ": no such layer: " $2; next }
		$2 != $3 && index(may[$2], " " $3 " ") == 0 { print $1 ": " $2 " includes " $3 }'
}
# called DIR: calls by which a library would end the program or write to its terminal. _exit is for children only.
called() {
	(cd "$1" && grep -srnE '(^|[^a-z_>.])(printf|puts|putchar|perror|exit|abort|err|errx|warn|warnx)\(' \
		src/record src/describe src/symbols src/source src/decode src/render src/trace src/session --include='*.c' --include='*.h') |
		grep -vE '^src/describe/tool[a-z_]*\.c:|^[^:]*:[0-9]+:[ \t]*(\*|/\*)|\.bpf\.[ch]:'
}
# named DIR: system calls by their number outside the descriptions; `syscall(SYS_x` makes one, which is no knowledge.
named() {
	(cd "$1" && grep -srnE '(SYS|__NR)_[a-z0-9_]+' src --include='*.c' --include='*.h') |
		grep -vE 'syscall\(SYS_|^[^:]*:[0-9]+:[ \t]*(\*|/\*)|/\*[^*]*__NR_'
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

for layer in record describe source/bpf decode render session cli; do
	mkdir -p "$dir/src/$layer"
done
cat >"$dir/src/decode/a.c" <<'END'
#include "a.h"
#include "decode/walk.h"
#include "record/record.h"
#include "source/source.h"
	printf("a line of a library\n");
	snprintf(buf, sizeof(buf), "this is none");
END
cat >"$dir/src/source/bpf/b.c" <<'END'
#include "decode/decode.h"
#  include "session/session.h"
	if (nr == SYS_read)
		exit(1);
	fd = syscall(SYS_fsopen, "tracefs", 0);
END
finds upward 3
finds called 2
finds named 1

[ "$(includes "$root" | wc -l)" -ge 100 ] || {
	echo "not ok the tree at $root has no includes"
	bad=1
}
holds upward "includes point downward only"
holds called "libraries neither print nor exit"
holds named "no system call is named outside the descriptions"
exit $bad
