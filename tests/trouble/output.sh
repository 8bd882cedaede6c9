# SPDX-License-Identifier: LGPL-2.1-or-later
# The place for the text fails: the user is told, the program runs to its end.
. "${0%/*}/lib.sh"

trace -o /dev/full sh -c 'i=0; while [ $i -lt 3000 ]; do : <"$0"; i=$((i + 1)); done; echo done >"$1"' "$0" "$dir/done" 2>"$dir/err"
expect "full disk: exit status" 1 $?
has "full disk: said, with the errno text" "$dir/err" 'writing to /dev/full: No space left on device'
has "full disk: the program ran to its end" "$dir/done" done

trace -o '|head -n 1 >/dev/null' sh -c 'i=0; while [ $i -lt 3000 ]; do : <"$0"; i=$((i + 1)); done; echo done >"$1"' "$0" "$dir/done2" 2>"$dir/err"
has "closed pipe: the program ran to its end" "$dir/done2" done
has "closed pipe: said" "$dir/err" 'Broken pipe'

trace -o "$dir/no/such/dir/file" true 2>"$dir/err"
expect "directory that is not there: exit status" 1 $?
has "directory that is not there: said" "$dir/err" 'No such file or directory'

trace -o "|cat >$dir/piped" true
has "|command gets the text" "$dir/piped" '+++ exited with 0 +++'
trace -o "$dir/out" true
trace -A -o "$dir/out" true
expect "-A appends" 2 "$(grep -c '+++ exited with 0 +++' "$dir/out")"

esc=$(printf 'a\033[31mb\233c')
mkdir "$dir/names"
: >"$dir/names/$esc"
trace -v -o "$dir/esc" ls "$dir/names" >/dev/null
trace -v -y -o "$dir/esc2" cat "$dir/names/$esc"
cat "$dir/esc2" >>"$dir/esc"
has "a name with escape sequences is shown in octal" "$dir/esc" 'a\\33\[31mb\\233c'
expect "no control character in the text" 0 "$(LC_ALL=C tr -d '\n\040-\176' <"$dir/esc" | wc -c)"
finish
