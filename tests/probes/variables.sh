#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# variables.sh ESPY PROGRAMS-DIR: probes that fetch parameters and variables by name. The program says what they must find.
. "${0%/*}/debugged.sh"
trace() {
	"$espy" trace --source=bpf -o got "$@" >told 2>err
}
plain() { # FILE: the probes alone, as the program tells them, in an order of their own
	grep -v '^+++' "$1" | sed 's/ <[0-9.]*>$//; s/  *= / = /; s/^[^:]*://; s/^debugged\.c:[0-9]*(weight/mixed(weight/; s/^debugged\.c:[0-9]*(i=/loop(i=/' | LC_ALL=C sort
}
# finds PROGRAM: everything about one build of the program, but for what stands in vector registers
finds() {
	name=${1##*/}
	set -- "$1" -u "$1:handle(req->id, req->path, req->at.x, req->at.y, req->state, req->ready, req->level, req->delta, req->urgent, req->name, req->weight, req->ratio, len, state, last, small)" \
		-u "$1:handle(*req, served)" \
		-u "$1:handle(req->values[1], value=req->values[2]:x64, text, req->name[0], bytes=text:bytes[2], total, old=+0(req):s32, n=+0(req->path):char)" \
		-u "$1:handle%return(req->id, =\$retval)" -u "$1:by_value(at, n)" -u "$1:by_halves(halves, large, last)" -u "$1:by_label(labelled, first=labelled.label[0]:u8)" -u "$1:mixed(n)" -u "$1:many(a,f,g,h)" \
		-u "$1:find%return(req->id, id, =\$retval->id)" -u "$1:find%return(n=\$retval->name, =\$retval)" -u "$1:state_of%return(n, =\$retval)"
	program=$1
	shift
	rm -f t
	trace --record t "$@" "$program"
	grep -v '^mixed(weight\|^loop(i' told | LC_ALL=C sort >want
	plain got >have
	cmp -s want have && [ -s want ] && ok "$name: $(wc -l <want) hits" || not_ok "$name: $(cat err; diff want have)"
	cp got live
	"$espy" show -o shown t 2>err
	cmp -s live shown && ok "$name: shown again" || not_ok "$name: shown again: $(diff live shown)"
}
finds "$progs/debugged-O0"
finds "$progs/debugged-O2"
cc=$("$progs/debugged-O2" compiler)
for other in gcc clang; do
	[ $other = "$cc" ] || ! command -v $other >/dev/null && continue
	for level in O0 O2; do
		$other -g -$level -o debugged-$level-$other "$source" && finds "$dir/debugged-$level-$other"
	done
done

# ---- on a line, where values have come to the stack
program=$progs/debugged-O0
trace -u "$program:debugged.c:$(line mixed)(weight, ratio)" -u "$program:debugged.c:$(line loop)(i, sum)" "$program"
grep '^mixed(weight\|^loop(i' told | LC_ALL=C sort >want
plain got >have
cmp -s want have && ok "variables of a line" || not_ok "variables of a line: $(cat err; diff want have)"

# ---- the copies of an inlined function
program=$progs/debugged-O2
inlined=debugged.c:$(line inlined)
trace -u "$program:$inlined(n)" "$program"
expect "copies of a line" 3 "$(grep -c "^debugged-O2:$inlined(" got)"
has "some of which have the variable" got "^debugged-O2:$inlined(n=9)\$"
trace -u "$progs/debugged-O0:$inlined(sum)" "$progs/debugged-O0"
has "a variable around one of them" got "^debugged-O0:$inlined(sum=9)\$"
has "which the others lack" err "1 of 2 places of $inlined lack a variable that is named: there is no variable 'sum' at this place of state_of"
trace -u "$program:$inlined(none)" "$program" && not_ok "a variable that no copy has: accepted"
has "a variable that no copy has" err "2 of 2 places of $inlined lack a variable that is named: there is no variable 'none' at this place of "

# ---- conditions
set --
n=0
for condition in 'req->id == 8' 'state == BUSY && req->level == 5' 'req->ratio < 0 || req->delta > 0' 'last == true && req->values[2] == 9' \
	'req->path == "/first" && req->at.x > -4' 'req->path == "/first" && req->at.x > -3'; do
	n=$((n + 1))
	set -- "$@" -u "$program:handle(c$n=len:u) if $condition"
done
trace "$@" "$program"
expect "what meets conditions" "c1 c2 c3 c4 c5 " "$(sed -n 's/^debugged-O2:handle(\(c[0-9]\)=.*/\1/p' got | sort | tr '\n' ' ')"
has "variables of a condition are shown" got '^debugged-O2:handle(c2=5, state=BUSY, req.level=5)$'
rm -f t
trace --record t -u "$program:handle(*req) if req.id in {7, 9}" "$program"
expect "if with a struct that is shown" 1 "$(grep -c '^debugged' got)"
shown() { # CONDITION
	"$espy" show -qq -u "debugged-O2:handle if $1" t | grep -c handle
}
expect "a condition on a trace" "1 0 1 1" "$(shown 'req->state == BUSY') $(shown 'req.delta > 0') $(shown 'req.name == "seven"') $(shown 'req->ratio < -0.2')"
"$espy" show --json t >json 2>err
has "as JSON" json '"req.id":7,"req.path":"/first",.*"req.state":{"$":"enum","num":7,"name":"BUSY"},.*"req.delta":-6,"req.urgent":{"$":"enum","num":1,"name":"true"},.*"req.ratio":-0.25,'
"$espy" show --count-by 'debugged-O2:handle: req.state' t >tally 2>err
has "counted by a constant" tally ' 1 BUSY$'

# ---- a pattern takes the functions that have the variable
trace -u "$program:m*(n)" "$program"
expect "a pattern" "debugged-O2:main();debugged-O2:many();debugged-O2:mixed(n=3);" "$(grep '^debugged' got | sort | tr '\n' ';')"
has "which is said" err "2 of 3 functions of $program lack a variable that is named: there is no variable 'n' at this place of "
trace -u "$program:m*(n) if n == 3" "$program"
expect "a pattern with a condition" "debugged-O2:mixed(n=3)" "$(grep '^debugged' got)"
trace --functions "$program:*(n)" "$program"
expect "functions, some of which have the variable" "debugged-O2:main() {;debugged-O2:find() <>;debugged-O2:loop(n=3) {;debugged-O2:triple(n=0) <>;" \
	"$(sed 's/<[0-9.]*>/<>/; s/^ *//' got | grep 'main() {\|find()\|loop(n\|triple(n=0)' | tr '\n' ';')"

# ---- the debug information lies in another file
cp "$program" with
strip -o stripped with 2>err
if [ -s stripped ]; then
	id=$(readelf -n with | sed -n 's/.*Build ID: //p')
	mkdir -p .debug
	objcopy --only-keep-debug with .debug/with.debug
	objcopy --strip-all --add-gnu-debuglink=.debug/with.debug with stripped
	trace -u './stripped:handle(req->id, total)' ./stripped
	expect "a stripped file with a debug file" "stripped:handle(req.id=7, total=5000000000)" "$(head -n 1 got)"
	[ -n "$id" ] && ok "which has a build-id" || not_ok "the program has no build-id"
fi

# ---- C++: members of the object and of its bases, references
cat >classes.cc <<'END'
#include <cstdio>
namespace shop {
struct base { int base_id = 5; };
struct item : base {
	int count = 3;
	const char *name = "it";
	int total(int &factor);
};
__attribute__((noinline)) int item::total(int &factor) { asm volatile("" ::: "memory"); return count * factor; }
static int sold = 42;
__attribute__((noinline)) void sell(const item &item, bool fast) { asm volatile("" : : "r"(&item), "r"(fast) : "memory"); sold++; }
}
int main() { shop::item item; int factor = 4; std::puts(item.name); item.total(factor); shop::sell(item, true); return shop::sold != 43; }
END
for cc in g++ clang++; do
	$cc -g -O1 -o classes classes.cc 2>err || continue # a compiler of C++, or its library, need not be there
	ldconfig -p | grep -q 'libstdc++\.so\.6' || continue
	trace -u './classes:shop::item::total(this->count, *this, factor)' -u './classes:shop::sell(item, item.base_id, item.name, fast, sold)' ./classes
	expect "$cc" 'classes:shop::item::total(this.count=3, this={base_id=5, count=3, name="it"}, factor=4);classes:shop::sell(item={base_id=5, count=3, name="it"}, item.base_id=5, item.name="it", fast=true, sold=42);' \
		"$(grep '^classes' got | tr '\n' ';')"
done

# ---- what can be named
"$espy" list -v functions "$program" handle >list 2>err
has "list -v functions says what the agent can do" list '^    --via agent: +0x*[0-9a-f]*$'
sed -i '/^    --via agent: /d' list
expect "list -v functions" "long int \$retval;struct request *req;const char *text;unsigned int len;enum state state;_Bool last;signed char small;" \
	"$(sed -n 's/^    //p' list | grep -v sum | tr '\n' ';')"
"$espy" list -v functions "$progs/debugged-O0" handle >list 2>err
has "list -v functions says what has no value" list '^    long int sum  (it has no value yet where the function begins: name a line of it'
"$espy" list -v syscalls >list 2>err && not_ok "list -v syscalls: accepted"
has "list -v of what has no variables" err 'goes with functions only'

# ---- refusals, in words
cp "$program" none
objcopy --strip-debug none
refused() { # NAME PATTERN PROBE
	trace -u "$3" true && not_ok "$1: it was taken"
	has "$1" err "$2"
}
refused "another name" "there is no variable 'smal' at this place of handle; did you mean 'small'?" "$program:handle(smal)"
refused "a name of nothing" "there is no variable 'x' at this place of handle; there are req, text, len, state, last, small, sum\$" "$program:handle(x)"
refused "another member" "req->pahh: there is no member 'pahh'; did you mean 'path'?" "$program:handle(req->pahh)"
refused "no struct" "len.x: what stands before 'x' is no struct" "$program:handle(len.x)"
refused "an array" "req->values: it is an array: name an element" "$program:handle(req->values)"
refused "behind an array" "the array has 3 elements, from 0 on" "$program:handle(req->values[3])"
refused "no pointer" "\*len: it is no pointer" "$program:handle(*len)"
refused "too many pointers" "at most 6 pointers can be followed" "$program:handle(req->next->next->next->next->next->next->id)"
refused "a pattern of functions without it" "functions of $program lack a variable that is named: there is no variable 'x'" "$program:m*(x)"
refused "optimised away" "'sum' is optimised away at this place; it has a value at handle+0x[0-9a-f]* to +0x" "$program:handle(sum)"
refused "not there yet" "'sum' has no value yet where the function begins: name a line" "$progs/debugged-O0:handle(sum)"
second=$(objdump -d --no-show-raw-insn --disassemble=handle "$progs/debugged-O0" | awk -F: '/^ +[0-9a-f]+:/ { n++; if (n == 2) { gsub(/ /, "", $1); print $1 } }')
refused "in the prologue" "'len' is not in its place before 0x[0-9a-f]* bytes of the function have run" \
	"$progs/debugged-O0:handle+$((0x$second - 0x$(nm "$progs/debugged-O0" | awk '$3 == "handle" { print $1 }')))(len)"
refused "a vector register" "'weight' is in a vector register where the function begins" "$progs/debugged-O0:mixed(weight)"
refused "a return and the stack" "h: it lies on the stack, and is not kept until the function returns" "$program:many%return(h)"
refused "a condition on no variable" "no argument 'm'; beside its arguments .*; there is no variable 'm' at this place of handle" "$program:handle if m == 3"
refused "a condition on no constant" "'BUSYY' is neither a number nor an error, nor a constant of state" "$program:handle if state == BUSYY"
refused "no debug information" "it has no debug information of this place, which knows variables: build it with -g" "./none:handle(x)"
finish
