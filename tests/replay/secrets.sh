# SPDX-License-Identifier: LGPL-2.1-or-later
# --data and --env keep bytes out of the file, not only out of the text.
. "${0%/*}/lib.sh"
head=plain-beginning-
secret=TheSecretOfThisTest
printf '%s%080d%s' "$head" 0 "$secret" >"$dir/file"
cat >"$dir/read.sh" <<'END'
dd if="$1" of="$2" bs=4096 status=none
END
# The stored records are not compressed: what is in them can be searched for.
holds() { grep -aqF "$2" "$1"; }
# A long string of one's own would be cut at -s anyway
record -q -f -s 500 --compress none -o "$dir/all" env TOKEN=EnvSecret$secret sh "$dir/read.sh" "$dir/file" "$dir/copy"
holds "$dir/all" "0$secret" && ok "by default data is there" || not_ok "the secret is not even in a whole trace: this test tests nothing"
holds "$dir/all" "EnvSecret" && ok "by default the environment is there" || not_ok "the environment is not even in a whole trace"
record -q -f -s 500 --compress none --data none --env none -o "$dir/none" env TOKEN=EnvSecret$secret sh "$dir/read.sh" "$dir/file" "$dir/copy"
if [ $? = 0 ]; then
	# its own command line stands in a trace: only what env was given there
	holds "$dir/none" "0$secret" && not_ok "--data none: data is in the file" || ok "--data none"
	holds "$dir/none" "$head" && not_ok "--data none: its beginning is in the file" || ok "--data none: not even its beginning"
else
	not_ok "--data none --env none"
fi
TOKEN=EnvSecret$secret "$espy" record --source="$source" -q -f --compress none --env none -o "$dir/env" sh "$dir/read.sh" "$dir/file" "$dir/copy" 2>"$dir/err"
expect "--env none: exit status" 0 $?
holds "$dir/env" EnvSecret && not_ok "--env none: the environment is in the file" || ok "--env none"
record -q -f -s 500 --compress none --data 64 -o "$dir/some" sh "$dir/read.sh" "$dir/file" "$dir/copy"
holds "$dir/some" "$head" && ok "--data 64: the beginning is there" || not_ok "--data 64: the beginning is not there"
holds "$dir/some" "0$secret" && not_ok "--data 64: more than that is in the file" || ok "--data 64: the rest is not"
# What is sent is read further than -s says, since it may be netlink's: --data is about that, too.
printf 'Sent%040d%s' 0 "$secret" >"$dir/short"
record -q --compress none -o "$dir/sent" "$progs/send_calls" "$dir/short" || not_ok "send_calls: exit status $?"
holds "$dir/sent" "0$secret" && ok "messages: by default they are there" || not_ok "messages are not even in a whole trace"
for bytes in none 4; do
	record -q --compress none --data $bytes -o "$dir/sent-$bytes" "$progs/send_calls" "$dir/short" || not_ok "send_calls: exit status $?"
	holds "$dir/sent-$bytes" "0$secret" && not_ok "--data $bytes: a message is in the file" || ok "--data $bytes: no message is in the file"
	holds "$dir/sent-$bytes" "$(echo $secret | cut -c1-5)" && not_ok "--data $bytes: a part of a message is in the file" || ok "--data $bytes: nor a part of one"
done
show "$dir/sent-4" >"$dir/text"
has "--data 4: the beginning of a message" "$dir/text" '^sendto(.*"Sent"\.\.\., '
has "--data 4: and of one of System V" "$dir/text" '^msgrcv(.*mtext="Sent"\.\.\.}'
show "$dir/none" | grep -q '^\(\[pid *[0-9]*\] \)*write(1' && ok "--data none: calls are shown" || not_ok "--data none: no write is shown"
finish
