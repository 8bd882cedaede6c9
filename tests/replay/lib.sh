# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts beside it share beyond tests/trouble/lib.sh: SCRIPT ESPY SOURCE PROGRAMS-DIR.
. "${0%/*}/../trouble/lib.sh"
record() {
	"$espy" record --source="$source" "$@"
}
show() {
	"$espy" show "$@"
}
# same NAME FILE FILE
same() {
	if cmp -s "$2" "$3"; then ok "$1"; else
		not_ok "$1:"
		diff "$2" "$3" | head -n 8
	fi
}
# A mixed piece of work: processes, files, names, errors, signals.
work() {
	cat <<'END'
i=0
while [ $i -lt "${1:-20}" ]; do
	cat /etc/passwd /no/such >"$TMP.out" 2>&1
	ls / >"$TMP.out"
	i=$((i + 1))
done
trap : USR1
(kill -USR1 $$) &
wait
exec true
END
}
work >"$dir/work.sh"
TMP=$dir/tmp
export TMP
