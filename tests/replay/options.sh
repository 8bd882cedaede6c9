# SPDX-License-Identifier: LGPL-2.1-or-later
# A trace that was recorded without a word of how it will be shown gives the lines that espy trace gives with that option.
. "${0%/*}/lib.sh"
# what differs from run to run: addresses, numbers of processes, random bytes, times
plain() { # FILE
	sed -e 's/0x[0-9a-f]\{6,\}/ADDR/g' -e 's/  *= /= /' -e '/set_tid_address(/d' -e "/getrandom(/d" -e "s/st_atime=.*//" "$1"
}
# The program runs alone and in one way: its lines depend on nothing else.
cd "$dir" && echo text >file
work="cat $dir/file"
record -q -o t $work >/dev/null 2>&1
for opts in "" "-v" "-x" "-xx" "-X raw" "-X verbose" "-N" "-n" "-a 60" "-s 7" "-y" "-yy" "-z" "-Z" \
	"-e trace=!mmap" "-e trace=!%file" "-e trace=openat,read" "-e !openat,close" "-e trace=/^r" "-e trace=none" \
	"-e raw=read" "-e abbrev=none" "-e verbose=none" "-e status=failed" "-P $dir/file" "--trace-fds=0,1" "--trace-fds=!3" \
	"-q" "-qq" "-qqq" "-e quiet=exit"; do
	# what /proc told of a program that was not stopped depends on who was quicker
	[ "$source$opts" = "bpf-yy" ] && continue
	"$espy" trace --source="$source" $opts -o live $work >/dev/null 2>/dev/null
	plain live >want
	show $opts t 2>err | plain /dev/stdin >got
	same "show $opts: $(wc -l <want) lines" want got
done
# What was left out when recording stays left out, also calls that are needed for the names of descriptors.
for opts in "-e trace=!close,openat" "-e trace=!%desc" "-e trace=read" "-z"; do
	record -q --force $opts -o t2 $work >/dev/null
	show $opts t | plain /dev/stdin >want
	show t2 | plain /dev/stdin >got
	same "record $opts: $(wc -l <want) lines" want got
done
# The place of a call is kept if that was asked for.
record -q --force -i -o t3 $work >/dev/null
show -i t3 >got
has "record -i" got '^\[0000[0-9a-f]*[1-9a-f][0-9a-f]*\] read(3'
show -i t >got
has "without: shown as unknown" got '^\[?*\] read(3'
finish
