# SPDX-License-Identifier: LGPL-2.1-or-later
# What scripts about debugged.c share beyond tests/lib.sh: SCRIPT ESPY PROGRAMS-DIR.
. "${0%/*}/../lib.sh"
progs=$(realpath "$2")
source=$(dirname "$(realpath "$0")")/debugged.c
need_source bpf
cd "$dir" || exit 1
line() { # WORD: the line with this comment
	grep -n "/\* line $1" "$source" | cut -d: -f1
}
