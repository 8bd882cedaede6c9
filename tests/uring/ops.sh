# SPDX-License-Identifier: LGPL-2.1-or-later
# ops.sh ESPY PROGRAM_DIR: operations of io_uring, by every kind of ring, live and from a trace.
espy=$(realpath "$1")
progs=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

same() { # same NAME WANT GOT
	if cmp -s "$2" "$3"; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		diff "$2" "$3" | head -n 20
		failed=1
	fi
}

if ! "$espy" trace --source=bpf -o "$dir/none" true 2>"$dir/why"; then
	cat "$dir/why"
	exit 77
fi
# Lines without the spaces before =. Which operation is under way when the program ends is then cancelled, seen or not.
lines() {
	sed 's/ *= \(-\{0,1\}[0-9?]\)/ = \1/; /^+++/d; /^accept.* ECANCELED /d'
}
for ring in plain sqpoll wide direct; do
	rm -rf "$dir/work"
	mkdir "$dir/work"
	(cd "$dir/work" && "$espy" trace --source=bpf -e trace=all@io_uring -o "$dir/got" "$progs/ops" "$ring" 3>"$dir/want" 2>"$dir/err")
	status=$?
	if [ $status = 77 ]; then
		echo "ok - $ring # SKIP $(cat "$dir/err")"
		continue
	fi
	[ $status = 0 ] || { cat "$dir/err"; failed=1; }
	lines <"$dir/got" >"$dir/lines"
	same "a ring that is $ring: each operation has its line" "$dir/want" "$dir/lines"
done

rm -rf "$dir/work"
mkdir "$dir/work"
(cd "$dir/work" && "$espy" record --source=bpf --io-uring -o "$dir/trace" "$progs/ops" 3>"$dir/want" 2>/dev/null)
"$espy" show -e trace=all@io_uring "$dir/trace" | lines >"$dir/lines"
same "from a trace: the same lines" "$dir/want" "$dir/lines"

rm -rf "$dir/work"
mkdir "$dir/work"
(cd "$dir/work" && "$espy" trace --source=bpf -e trace=openat,io_uring_enter -o "$dir/got" "$progs/ops" 3>"$dir/want" 2>/dev/null)
grep '@io_uring' "$dir/got" >"$dir/lines"
: >"$dir/nothing"
same "without --io-uring: no operation" "$dir/nothing" "$dir/lines"

# Descriptors are named as those of calls, also when the program has closed them since.
rm -rf "$dir/work"
mkdir "$dir/work"
(cd "$dir/work" && "$espy" trace --source=bpf -y -e trace=openat@io_uring,openat2@io_uring,close@io_uring -o "$dir/got" "$progs/ops" 3>"$dir/want" 2>/dev/null)
sed -n 's/^close@io_uring([0-9]*<\(.*\)>) *= 0$/\1/p' "$dir/got" >"$dir/lines"
printf '%s\n' "$dir/work/new" "$dir/work/new" >"$dir/want"
same "-y: names of descriptors" "$dir/want" "$dir/lines"

(cd "$dir/work" && "$espy" trace --source=bpf -c --io-uring -e trace=chdir,nop@io_uring,all@io_uring "$progs/ops" 3>/dev/null 2>"$dir/table")
sed -n 's/.* \(unlinkat\|nop\)$/\1/p' "$dir/table" | sort >"$dir/lines"
printf 'nop\nunlinkat\n' >"$dir/want"
same "-c: operations have a table of their own" "$dir/want" "$dir/lines"

"$espy" trace --source=ptrace --io-uring true 2>"$dir/lines"
echo "espy: the ptrace source cannot see operations of io_uring (--io-uring)" >"$dir/want"
same "a source that cannot: said" "$dir/want" "$dir/lines"
exit $failed
