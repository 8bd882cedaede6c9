#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# matrix.sh SOURCE-DIR LIBESPY-AGENT: marks with every compiler that is here, in C and C++, at several levels and kinds of output.
# Each program is run with its marks off and on. Also: a static program, a stripped one, marks without code (ESPY_NO_MARKS), formats
# that do not fit, and that only the marks that are on cost anything. MATRIX=c or MATRIX=c++: of each compiler of the machine's own version
# for that language the kinds of output, at one level each. MATRIX=beside: what is beside the programs.
set -u
root=$1
agent=$(realpath "$2")
here=$root/tests/markers/inside
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
bad=0

fail() {
	printf 'not ok %s\n' "$*"
	bad=1
}
inc="-I$root -I$root/src -I$root/include"
for f in matrix_main own_espy; do
	gcc -O1 -D_GNU_SOURCE $inc -Wno-unused-parameter -c "$here/$f.c" -o "$dir/$f.o" || exit 1
done
warn='-Wall -Wextra -Wshadow -Wpedantic -Werror'
rest="$dir/matrix_main.o $dir/own_espy.o -Wl,--no-as-needed $agent -Wl,-rpath,$(dirname "$agent") -ldl -pthread"

# try NAME COMPILE-COMMAND...: makes $dir/t, which is run
try() {
	what=$1
	shift
	if ! "$@" >"$dir/out" 2>&1; then
		fail "$what: $(head -5 "$dir/out")"
	elif ! "$dir/t" >"$dir/out" 2>&1; then
		fail "$what: $(cat "$dir/out")"
	else
		n=$((n + 1))
	fi
	rm -f "$dir/t"
}
# What a program is made with, a line each.
gc='-ffunction-sections -fdata-sections -Wl,--gc-sections' no_pie='-fno-pie -no-pie'
if [ "${MATRIX:-all}" = all ]; then
	cc_list='gcc clang clang-16 clang-19' cxx_list='g++ clang++ clang++-16 clang++-19' stds='14 17 20' usdts='0 2' least=40
	sans='address,undefined thread'
	kinds="-O0
-O1
-O2
-O3
-Os
-O2 -flto
-O2 $gc
-O2 $no_pie
-O2 -masm=intel
-O2 -masm=intel -DESPY_MARK_USDT=2
-O3 -funroll-loops -fcf-protection=full
-O2 -s"
	shared='-O0
-O2
-O2 -flto'
	no_goto="-O0
-O1
-O3
-O2 -flto
-O2 -masm=intel
-O2 -DESPY_MARK_USDT=2
-O2 $gc"
else
	cc_list='gcc clang' cxx_list=g++ stds= usdts= least=4 sans=address,undefined
	case $MATRIX in c) cxx_list= ;; c++) cc_list= ;; *) cc_list='' cxx_list='' ;; esac
	kinds="-O0 -masm=intel -DESPY_MARK_USDT=2
-O3 -flto $gc $no_pie -funroll-loops -fcf-protection=full -s"
	[ "$MATRIX" = c ] && shared=-O2 || shared='-O2 -std=c++20'
	no_goto='-O2 -masm=intel'
fi
# each LINES command...: the command with the words of each line behind it
each() {
	lines=$1
	shift
	while read -r words; do
		# shellcheck disable=SC2086 # words
		"$@" $words </dev/null
	done <<-END
		$lines
	END
}
# One program, and one with its marks in a shared library: COMPILER SOURCE STANDARD FLAGS...
program() {
	cc=$1 src=$2 std=$3
	shift 3
	# shellcheck disable=SC2086 # $rest and the like are words
	try "$cc $std $*" "$cc" $warn "$std" "$@" $inc "$src" $rest -o "$dir/t"
}
library() {
	cc=$1 src=$2 std=$3
	shift 3
	# shellcheck disable=SC2086 # $rest and the like are words
	"$cc" $warn "$std" "$@" -fPIC -shared $inc "$src" -o "$dir/libsample.so" >"$dir/out" 2>&1 ||
		fail "$cc $std $* -shared: $(head -5 "$dir/out")"
	# shellcheck disable=SC2086
	try "$cc $std $* -shared" "$cc" $rest "$dir/libsample.so" -Wl,-rpath,"$dir" -o "$dir/t"
}
variants() { # COMPILER SOURCE STANDARD
	each "$kinds" program "$@"
	each "$shared" library "$@"
}
for cc in $cc_list; do
	command -v $cc >/dev/null || continue
	variants $cc "$here/sample.c" -std=c11
	for san in $sans; do
		echo 'int main(void) { return 0; }' >"$dir/san.c"
		$cc -fsanitize=$san "$dir/san.c" -o "$dir/san" 2>/dev/null || continue
		try "$cc -fsanitize=$san" $cc -O1 -g -fsanitize=$san $inc "$here/sample.c" $rest -o "$dir/t"
	done
	each "$no_goto" program "$cc" "$here/sample.c" -std=gnu17 -DESPY_MARK_GOTO=0
	for usdt in $usdts; do
		program "$cc" "$here/sample.c" -std=gnu17 -O2 -DESPY_MARK_USDT=$usdt
	done
done
for cc in $cxx_list; do
	command -v $cc >/dev/null || continue
	variants $cc "$here/sample.cc" -std=c++11
	try "$cc callback" $cc -std=c++11 -O2 $warn $inc "$here/callback.cc" -Wl,--no-as-needed $agent \
		-Wl,-rpath,"$(dirname "$agent")" -o "$dir/t"
	for usdt in $usdts; do
		program "$cc" "$here/sample.cc" -std=c++11 -O2 -DESPY_MARK_USDT=$usdt
	done
	for std in $stds; do
		program "$cc" "$here/sample.cc" -std=c++$std -O2
	done
done

finish() {
	echo "$n programs"
	[ $n -ge $least ] || fail "only $n programs"
	exit $bad
}
case ${MATRIX:-all} in c | c++) finish ;; esac

# other linkers
for ld in gold lld; do
	command -v ld.$ld >/dev/null || continue
	try "gcc with $ld" gcc -fuse-ld=$ld -O2 -ffunction-sections -Wl,--gc-sections $inc "$here/sample.c" $rest -o "$dir/t"
	[ "${MATRIX:-all}" = beside ] ||
		try "g++ with $ld" g++ -fuse-ld=$ld -O2 -ffunction-sections -Wl,--gc-sections $inc "$here/sample.cc" $rest -o "$dir/t"
done

# two files with the same marks in one link, with link-time optimisation too
cat >"$dir/two.c" <<END
#include "espy/mark.h"
int two(int i);
int two(int i) { MARK(two_same, "i=%d", i); return i; }
END
cat >"$dir/main.c" <<END
#include "espy/mark.h"
int two(int i);
int main(int argc, char **argv) { (void)argv; MARK(two_same, "i=%d", argc); return two(0); }
END
for flags in -O2 '-O2 -flto'; do
	try "two files $flags" gcc $flags $inc "$dir/two.c" "$dir/main.c" -o "$dir/t"
done

# a static program runs, and its marks can be found
gcc -O2 -static $inc -DSTATIC "$dir/two.c" "$dir/main.c" -o "$dir/t" && "$dir/t" || fail 'static'
readelf -n "$dir/t" 2>/dev/null | grep -q espy || fail 'static: no note'
gcc -O2 -s $inc "$dir/two.c" "$dir/main.c" -o "$dir/t" && readelf -n "$dir/t" 2>/dev/null | grep -q espy || fail 'stripped: no note'

# beside probes of <sys/sdt.h>, which leaves the assembler in another mode
if echo '#include <sys/sdt.h>' | gcc -E - >/dev/null 2>&1; then
	cat >"$dir/sdt.c" <<END
#include <sys/sdt.h>
#include "espy/mark.h"
int main(int argc, char **argv)
{
	DTRACE_PROBE2(sdt, before, argc, argv);
	MARK(sdt_mark, "argc=%d name=%s", argc, argv[0]);
	DTRACE_PROBE1(sdt, after, argc);
	return 0;
}
END
	for cc in gcc clang; do
		command -v $cc >/dev/null || continue
		try "$cc with sys/sdt.h" $cc -O2 $inc "$dir/sdt.c" -o "$dir/t"
	done
fi

# ESPY_NO_MARKS leaves nothing
gcc -O2 $warn -DESPY_NO_MARKS $inc -c "$here/sample.c" -o "$dir/none.o" || fail 'ESPY_NO_MARKS'
readelf -SW "$dir/none.o" | grep -q 'espy\|stapsdt' && fail 'ESPY_NO_MARKS leaves sections'
g++ -DESPY_NO_MARKS $inc -fsyntax-only "$here/sample.cc" || fail 'ESPY_NO_MARKS in C++'

# formats are checked as those of printf, with ESPY_NO_MARKS too: the compiler names lines 4 to 8, and not line 9
cat >"$dir/bad.c" <<END
#include "espy/mark.h"
void f(void);
void f(void) {
	MARK(bad_mark1, "%d", "text");
	MARK(bad_mark2, "%s", 1);
	MARK(bad_mark3, "%d");
	MARK(bad_mark4, "no", 1);
	MARK(bad_mark5, "%zu", 1);
	MARK(good_mark, "%d", 1);
}
END
for flags in '' -DESPY_NO_MARKS; do
	for cc in 'gcc -x c' 'clang -x c' 'g++ -x c++'; do
		command -v ${cc%% *} >/dev/null || continue
		$cc $flags -Wall -Wextra -Werror=format -Werror=format-extra-args $inc -c "$dir/bad.c" -o /dev/null >"$dir/out" 2>&1
		named=$(sed -n '/^In file/d; s/.*bad\.c:\([0-9]*\):.*/\1/p' "$dir/out" | sort -un | paste -sd' ')
		[ "$named" = '4 5 6 7 8' ] && [ "$(grep -c 'error:.*format' "$dir/out")" = 5 ] || fail "$cc $flags: wrong formats in lines $named: $(head -3 "$dir/out")"
	done
done

# what cannot be an argument is an error, and too many are
for cnt in 17 18; do
	cat >"$dir/bad.c" <<-END
		#include "espy/mark.h"
		void f(__int128 x);
		void f(__int128 x) {
			MARK(bad_mark1, "%d", x);
			MARK(bad_mark2, ""$(printf ', 1%.0s' $(seq $cnt)));
			MARK(good_mark, "%d", (int)x);
		}
	END
	for cc in gcc clang clang-19 'g++ -x c++' 'clang++ -x c++' 'clang++-19 -x c++'; do
		command -v ${cc%% *} >/dev/null || continue
		$cc -w $inc -c "$dir/bad.c" -o /dev/null >"$dir/out" 2>&1
		named=$(sed -n '/^In file/d; s/.*bad\.c:\([0-9]*\):.*/\1/p' "$dir/out" | sort -un | paste -sd' ')
		[ "$named" = '4 5' ] || fail "$cc: an argument that cannot be, and $cnt: lines $named: $(cat "$dir/out")"
		grep -q _at_most_16_arguments "$dir/out" || fail "$cc, too many arguments: $(cat "$dir/out")"
	done
done

# a bit-field, of a type of its own for gcc, is a number
for cc in gcc clang clang-19; do
	command -v $cc >/dev/null || continue
	cat >"$dir/bits.c" <<-END
		#include "espy/mark.h"
		struct bits { int a : 5; long long b : 40; };
		void f(struct bits *x);
		void f(struct bits *x) { MARK(bits_mark, "a=%d b=%lld p=%p", x->a, (long long)x->b, (void *)x); }
	END
	$cc $warn $inc -c "$dir/bits.c" -o "$dir/bits.o" || fail "$cc: bit-fields"
	readelf -nW "$dir/bits.o" | grep -q 'Arguments: -[48]@0(%rax) -8@8(%rax) 8@16(%rax)' || fail "$cc: bit-fields: $(readelf -nW "$dir/bits.o")"
done

# not with the large code model, in plain words
gcc -mcmodel=large $inc -c "$dir/two.c" -o /dev/null 2>"$dir/out" && fail '-mcmodel=large'
grep -q 'error.*mcmodel=large' "$dir/out" || fail "-mcmodel=large: $(cat "$dir/out")"
gcc -mcmodel=large -DESPY_NO_MARKS $inc -c "$dir/two.c" -o /dev/null || fail '-mcmodel=large without marks'

# the header gives clang nothing to warn of (what is about old standards, padding and the samples' own code is not meant)
for cc in 'clang -std=c11' 'clang-19 -std=c11' 'clang++ -std=c++11' 'clang++-19 -std=c++20'; do
	command -v ${cc%% *} >/dev/null || continue
	x=c
	case $cc in *++*) x=cc ;; esac
	$cc -Weverything -Wno-padded -Wno-double-promotion -Wno-c++98-compat -Wno-c++98-compat-pedantic $inc -fsyntax-only "$here/sample.$x" \
		>"$dir/out" 2>&1
	grep -E 'mark\.h:.*warning|warning: .*(espy_|-Wused-but|-Wsign-conv)' "$dir/out" && fail "$cc -Weverything"
done

# off: one NOP and nothing else in a function that only has a mark
printf '#include "espy/mark.h"\nvoid f(int a, int b);\nvoid f(int a, int b) { MARK(only_mark, "%%d %%d", a, b); }\n' >"$dir/f.c"
gcc -O2 -fcf-protection=none $inc -c "$dir/f.c" -o "$dir/f.o"
hot=$(objdump -d --no-show-raw-insn "$dir/f.o" | sed -n '/<f>:/,/ret/p' | grep -c '^ ')
[ "$hot" -le 2 ] || fail "a mark that is off costs $hot instructions: $(objdump -d "$dir/f.o")"

# many marks in one function
{
	echo '#include "espy/mark.h"'
	echo 'void f(int a, int b, const char *s);'
	echo 'void f(int a, int b, const char *s) {'
	i=0
	while [ $i -lt 200 ]; do
		echo "MARK(time_mark$i, \"a=%d b=%d s=%s\", a, b, s);"
		i=$((i + 1))
	done
	echo '}'
} >"$dir/many.c"
gcc -O2 $inc -c "$dir/many.c" -o "$dir/many.o" || fail '200 marks'
[ "$(readelf -n "$dir/many.o" | grep -c 'Provider: time')" = 200 ] || fail '200 USDT notes'
finish
