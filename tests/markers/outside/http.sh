#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# http.sh ESPY AGENT EXAMPLES-DIR: the small HTTP server of the examples, its marks and its calls in one stream: what each
# thread does comes in the order in which it does it.
. "${0%/*}/lib.sh"
need_source bpf
command -v bash >/dev/null || { echo "SKIP: bash is the client here"; exit 77; }
mkdir "$dir/www"
echo hello >"$dir/www/a"
"$espy" trace -f -e trace=accept4,openat,sendfile,close -m 'http:*' -o "$dir/out" "$progs/httpd" -n 20 0 "$dir/www" \
	>"$dir/port" 2>"$dir/err" & tracer=$!
wait_for 60 grep -q port "$dir/port" || { cat "$dir/err"; not_ok "the server did not start"; kill $tracer; finish; }
port=$(sed -n 's/^port //p' "$dir/port")
for i in $(seq 20); do
	bash -c 'exec 3<>/dev/tcp/127.0.0.1/$0; printf "GET /a HTTP/1.0\r\n\r\n" >&3; cat <&3' "$port" >>"$dir/answer" 2>/dev/null
done
has "the server works while it is watched" "$dir/answer" hello
wait $tracer
expect "its status" 0 $?
expect "all requests" 20 "$(grep -c 'http:done(id=' "$dir/out")"
# Of each thread that served one: request, openat, sendfile, sent, done.
sed -E 's/^([0-9]+) +/\1 /' "$dir/out" | awk '
	/http:request\(/ { step[$1] = 1; next }
	/openat\(.*"a"/ && step[$1] == 1 { step[$1] = 2; next }
	/sendfile\(/ && step[$1] == 2 { step[$1] = 3; next }
	/http:sent\(/ && step[$1] == 3 { step[$1] = 4; next }
	/http:done\(/ { if (step[$1] == 4) good++; else bad++ }
	END { print good + 0, bad + 0 }' >"$dir/order"
expect "in order, in every thread" "20 0" "$(cat "$dir/order")"
# accept4() returns the descriptor that the mark right behind it shows. (A call that waits long is shown in two lines.)
expect "a call and the mark behind it" 20 "$(grep -E ' (accept4\(|<\.\.\. accept4 resumed>).* = [0-9]+$| http:accept\(' "$dir/out" | awk '
	/accept4/ { fd = $NF } /http:accept\(/ { n += $0 ~ "fd=" fd "\\)" } END { print n + 0 }')"
[ $bad = 0 ] || head -n 40 "$dir/out"
finish
