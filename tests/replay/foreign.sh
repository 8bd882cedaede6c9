# SPDX-License-Identifier: LGPL-2.1-or-later
# Traces from somebody who means harm: foreign.sh ESPY FOREIGN
. "${0%/*}/../lib.sh"
foreign=$(realpath "$2")
cd "$dir" || exit 1

# What a trace says of its selection opens nothing, writes nothing and runs nothing.
for words in "-o pwned" "-opwned" "--output=pwned" "-o|touch${IFS}pwned" "--output=|touch\${IFS}pwned" "--record=pwned" "pwned -o pwned" "-- pwned" \
	"--describe=/etc/passwd" "-F" "--output-separately" "-e inject=all:retval=1"; do
	# shellcheck disable=SC2086 # words are meant to be split
	"$foreign" select t $words
	timeout 60 "$espy" show t >text 2>err
	st=$?
	if [ $st -ne 1 ] || [ "$(echo pwned*)" != 'pwned*' ]; then
		not_ok "a trace selected by '$words': status $st, $(ls)"
	else
		ok "a trace selected by '$words' is refused"
	fi
	rm -f pwned*
done
"$foreign" select t "-e/((a*)*)*b" "-z" "--trace=/((b*)*)*c" "-etrace=/(.{1000}){1000}"
if timeout 60 "$espy" show t >text 2>err; then ok "patterns of a trace are not compiled"; else not_ok "patterns: $(head -n 1 err)"; fi

# No text of it reaches the terminal as it is.
"$foreign" text t
for o in "" "-y" "-yy -Y" "-c" "-yy -Y -v -tt -r -T -X verbose"; do
	# shellcheck disable=SC2086
	"$espy" show $o t >text 2>err || not_ok "text, $o: $(head -n 1 err)"
	if [ "$(cat text err | LC_ALL=C tr -d '\n\040-\176' | wc -c)" = 0 ] && [ -s text ]; then
		ok "no control character with '$o'"
	else
		not_ok "a control character with '$o', or no text"
	fi
done

# What it claims there is does not fill the memory.
"$foreign" many t
(ulimit -v 900000; timeout 200 "$espy" show -e trace=none t >text 2>err)
st=$?
if [ $st = 0 ] && grep -q 'claims more tasks' err; then ok "a million tasks with open calls: bounded, and told"; else
	not_ok "a million tasks: status $st: $(head -n 2 err)"
fi
exit $bad
