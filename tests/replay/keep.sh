# SPDX-License-Identifier: LGPL-2.1-or-later
# Traces of earlier days show the same text, whatever has changed in espy since: keep.sh ESPY [write NAME]
set -u
espy=$1
keep=$(cd "$(dirname "$0")/keep" && pwd)
out=$(mktemp)
trap 'rm -f "$out"' EXIT
bad=0 n=0
show() { # trace, name of the text, options
	trace=$1 text=${1%.espy}.$2
	shift 2
	n=$((n + 1))
	TZ=Asia/Tokyo "$espy" show "$@" "$trace" >"$out" 2>&1 || { echo "not ok $trace $*: $(head -n 1 "$out")"; bad=1; }
	if [ "$write" ]; then
		cp "$out" "$text"
	elif cmp -s "$out" "$text"; then
		echo "ok $(basename "$trace") $*: $(wc -l <"$text") lines"
	else
		echo "not ok $(basename "$trace") $*: other text than $(basename "$text"):"
		diff "$text" "$out" | head -n 10
		bad=1
	fi
}
write=${2:-} which=${3:-}
for trace in "$keep"/${which:+$which-}*.espy; do
	show "$trace" txt
	show "$trace" full.txt -v -yy -Y -tt -T -r -n -s 64
	show "$trace" raw.txt -X raw -xx --absolute-timestamps=unix,ns
	show "$trace" count.txt -c -S name
done
[ "$write" ] || [ $n -ge 8 ] || { echo "not ok: only $n texts: the kept traces are not there"; bad=1; }
exit $bad
