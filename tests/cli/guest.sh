#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# -e kvm=vcpu: why each KVM_RUN of a guest returned, as the guest's program saw it.
guest=$(realpath "$3")
. "${0%/*}/lib.sh"
"$guest" >plain 2>why || { echo "SKIP: $(cat why)"; exit 77; }
same() { # same NAME WANT GOT
	cmp -s "$2" "$3" && echo "ok $1" && return
	echo "not ok $1"
	diff "$2" "$3"
	bad=1
}
"$espy" trace -e kvm=vcpu -e trace=ioctl -a 0 -o lines "$guest" >seen
# The two reasons of this guest, and the one that ends it: <linux/kvm.h>.
sed 's/\([0-9]*\) 2$/\1 KVM_EXIT_IO/; s/\([0-9]*\) 6$/\1 KVM_EXIT_MMIO/; s/\([0-9]*\) 5$/\1 KVM_EXIT_HLT/
	s/\([0-9]*\) \(.*\)/ioctl(\1, KVM_RUN, 0) = 0 (\2)/' seen >want
grep KVM_RUN lines >got
same "the reason of each KVM_RUN" want got
grep -q HLT want && echo "ok the guest has halted" || { echo "not ok the guest has halted"; bad=1; }
# As strace says it.
if command -v strace >/dev/null && strace -e kvm=vcpu -e trace=ioctl -a 0 -o theirs "$guest" >/dev/null 2>&1; then
	grep KVM_RUN theirs >want
	same "the lines of strace" want got
fi
"$espy" trace -e trace=ioctl -a 0 -o lines "$guest" >/dev/null
sed 's/ (.*//' got >want
grep KVM_RUN lines >got
same "without the option: no reason" want got
finish
