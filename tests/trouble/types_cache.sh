# SPDX-License-Identifier: LGPL-2.1-or-later
# The kernel's types are searched once after the machine has booted. What was found is kept for root alone; a file that somebody
# else could write, or that is damaged, or of another boot, is not believed. In a /run of this test's own.
. "${0%/*}/lib.sh"
[ "$(id -u)" = 0 ] || { echo "SKIP: only root keeps types"; exit 77; }
if [ -z "${OWN_RUN:-}" ]; then
	unshare -m mount -t tmpfs none /run 2>/dev/null || { echo "SKIP: no mount namespace of its own is to be had"; exit 77; }
	rm -rf "$dir"
	OWN_RUN=1 exec unshare -m sh -c 'mount -t tmpfs none /run && exec sh "$@"' sh "$0" "$espy" "$source" "$progs"
fi
kept=/run/espy/kernel-types
# searches NAME yes|no COMMANDS: does an espy that starts after these commands of the shell read all types of the kernel? It works
# either way, and leaves a good file. The espy that observes writes the file, too, so the commands run when it has begun.
searches() {
	"$espy" trace -f -e trace=openat -o "$dir/calls" sh -c "$3; exec '$espy' trace -e trace=close -o '$dir/out' true" 2>"$dir/err"
	now=no
	! grep -q '"/sys/kernel/btf/vmlinux".*= [0-9]' "$dir/calls" || now=yes
	expect "$1: it searches the types" "$2" $now
	has "$1: it shows calls" "$dir/out" 'close(3)'
	expect "$1: a good file is there" "$(stat -c '%F %u %a' $kept) $(cmp "$dir/good" $kept)" 'regular file 0 600 '
}
"$espy" trace -o /dev/null true
cp $kept "$dir/good"
expect "the directory is root's alone" '0 700' "$(stat -c '%u %a' /run/espy)"
boot=$(cat /proc/sys/kernel/random/boot_id)
searches "a file of this boot" no :
searches "no file" yes "rm $kept"
searches "no directory" yes "rm -r /run/espy"
searches "an empty file" yes ": >$kept"
searches "a file cut off" yes "truncate -s 9000 $kept"
searches "a byte changed in the types" yes "printf X | dd of=$kept bs=1 seek=20000 conv=notrunc 2>/dev/null"
searches "a file of another boot" yes "sed -i s/$boot/00000000-0000-4000-8000-000000000000/ $kept"
searches "a file that anybody may write" yes "chmod 666 $kept"
searches "a file of somebody else" yes "chown 65534 $kept"
searches "a link to the file" yes "mv $kept /run/elsewhere; ln -s /run/elsewhere $kept"
searches "a file of an espy that calls other functions" yes "'$progs/keep_functions'"
searches "a file of an espy that follows other tracepoints" yes "'$progs/keep_points'"
# Nothing is kept in a directory that somebody else may change.
"$espy" trace -f -e trace=openat -o "$dir/calls" sh -c "chmod 777 /run/espy; exec '$espy' trace -o '$dir/out' true"
has "a directory that anybody may write: it searches" "$dir/calls" '"/sys/kernel/btf/vmlinux".*= [0-9]'
finish
