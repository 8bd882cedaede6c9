#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/compare.sh SOURCE-DIR BUILD [whole]: bench/compare takes its options, refuses what is none, and judges by its rule. whole: also
# compares this build with itself, in one round, whatever the speeds are.
set -u
root=$(realpath "$1") build=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0

is() { # WHAT WANTED GOT
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		printf 'not ok %s: %s instead of %s\n' "$1" "$3" "$2"
		bad=1
	fi
}
compare() { # STATUS ARGUMENT...
	want=$1
	shift
	"$root/bench/compare" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	is "status of compare $*" "$want" "$got"
	[ "$got" = "$want" ] || cat "$dir/err"
}

if ! git -C "$root" rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
	echo "SKIP: $root is no git repository"
	exit 77
fi
compare 0 --help
is "groups named by --help" 1 "$(grep -c 'per-call dd start text show json record size$' "$dir/out")"
compare 2
compare 2 --only
compare 2 --fast HEAD
compare 2 --build "$build" --only text,speed HEAD
compare 2 --build "$build" HEAD HEAD
compare 2 --build "$build" no-such-commit
is "the commit is named" 1 "$(grep -c no-such-commit "$dir/err")"
compare 2 --build "$dir" HEAD
ROUNDS=none compare 2 --build "$build" HEAD

# The rule: each figure has its values of old and new, round by round.
figure() { # NAME old... : new...
	name=$1 side=old round=1
	shift
	for x; do
		if [ "$x" = : ]; then
			side=new round=1
			continue
		fi
		printf '%s\tns\t%s\t%s\t%s\n' "$name" $round $side "$x"
		round=$((round + 1))
	done
}
judged() { # WANTED STATUS, figures in $dir/values
	table=$(awk -v rounds=3 -f "$root/bench/compare.awk" "$dir/values")
	is "status for: $1" "$2" $?
	is "judged: $1" "$1" "$(echo "$table" | awk '$2 == "ns" { printf "%s%s", n++ ? " " : "", $NF }')"
}
figure a 100 100 100 : 104 104 104 >"$dir/values"  # not by more than 1.05
figure b 100 100 100 : 90 106 120 >>"$dir/values"  # the spread contains 1
figure c 100 200 300 : 80 160 240 >>"$dir/values"  # a slower machine is that for both sides
figure d 100 100 100 : nan nan nan >"$dir/lacks"
figure e nan nan nan : 100 100 100 >>"$dir/values" # the old one has no such figure
judged "same same better -" 0
figure f 100 200 300 : 110 220 330 >>"$dir/values"
judged "same same better - worse" 1
mv "$dir/lacks" "$dir/values"
judged "worse" 1

# This build as the old one, too: nothing is built.
if [ "${3:-}" = whole ]; then
	git clone -q --shared --no-checkout "$root" "$dir/old" && ln -s "$build" "$dir/old/build"
	ROUNDS=1 "$root/bench/compare" --build "$build" --keep "$dir/old" --only start,text,size HEAD >"$dir/out" 2>"$dir/err"
	got=$?
	[ $got = 1 ] && got=0 # which of the two is faster is chance
	is "status of a comparison" 0 $got
	is "rows" 6 "$(grep -cE '(same|better|worse)$' "$dir/out")"
	[ $bad = 0 ] || cat "$dir/out" "$dir/err"
fi
exit $bad
