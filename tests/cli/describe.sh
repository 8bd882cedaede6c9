#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# describe.sh ESPY SOURCE-DIR ESPY-DESCRIBE MY-DRIVER: --describe, with the example of the documents, and with files that are wrong.
describe=$(realpath "$3") driver=$(realpath "$4")
. "${0%/*}/lib.sh"
example=$root/docs/examples/my_driver.espy
cd "$root/descriptions" || exit 1
run 0 "$describe" --tables . --check ./*.espy "$example"
cd "$dir" || exit 1
need_tracing

run 0 "$espy" trace --describe="$example" -a 0 -e trace=ioctl -o out "$driver"
same "the driver's commands" 'ioctl(-1, MYDRV_RESET) = -1 EBADF (Bad file descriptor)
ioctl(-1, MYDRV_SET_CONFIG, {mode=MYDRV_MODE_RX, flags=MYDRV_LOOPBACK|MYDRV_TIMESTAMP|0x8, name="eth7", name_len=4}) = -1 EBADF (Bad file descriptor)
ioctl(-1, MYDRV_GET_STATUS, 0x8) = -1 EBADF (Bad file descriptor)
ioctl(-1, MYDRV_WAIT, [3]) = -1 EBADF (Bad file descriptor)
ioctl(-1, _IOC(_IOC_NONE, 0x6d, 0xe9, 0), 0x8) = -1 EBADF (Bad file descriptor)
+++ exited with 0 +++' "$(cat out)"
run 0 "$espy" trace -e trace=ioctl -o out "$driver"
lacks MYDRV out

# What cannot be used ends it before the command runs.
cat >wrong.espy <<'END'
struct wrong { a u33 }
END
run 1 "$espy" trace --describe=wrong.espy touch made
says 'wrong.espy:1:18: error: unknown type `u33`, expected a type of the language, a struct, a union, a pack or an alias'
[ ! -e made ] && echo "ok the command was not run" || { echo "not ok the command was run"; bad=1; }
run 1 "$espy" trace --describe=nowhere.espy true
shows 'nowhere.espy.*No such file or directory' "$dir/err"

# A name is foreign text, too.
name=$(printf 'x\033[31m\233.espy')
run 1 "$espy" trace --describe="$name" true
same "a name with escape sequences" 'x?[31m?.espy: cannot be read: No such file or directory' "$(head -n 1 "$dir/err")"
cp wrong.espy "$name"
run 1 "$espy" trace --describe="$name" true
same "no control character in a mistake" 0 "$(LC_ALL=C tr -d '\n\t\040-\176' <"$dir/err" | wc -c)"

# A file that never ends is not begun; the FIFO has no writer, and nobody types at the terminal.
mkfifo fifo
for f in fifo /proc/kmsg /proc/self/mem /dev/null /dev/ptmx .; do
	run 1 timeout 60 "$espy" trace --describe="$f" true
done
run 1 timeout 60 "$espy" trace --describe=fifo true
shows 'fifo: cannot be read: a description is a regular file' "$dir/err"

# The compiler recurses once for each level.
i=0
while [ $i -lt 50000 ]; do
	echo "struct qq$i { a qq$((i + 1)) }"
	i=$((i + 1))
done >deep.espy
echo "struct qq$i { a u32 }" >>deep.espy
run 1 "$espy" trace --describe=deep.espy true
shows 'deep.espy:[0-9]*:8: error: struct .qq[0-9]*. stands 32 levels deep in others' "$dir/err"
finish
