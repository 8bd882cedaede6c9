# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by bench/run, whose variables and functions it uses: sockets, and servers that run already and of which espy record
# captures everything; what they then do of what they did before, and what was lost.

left() { # NAME WHY: said in the table, too
	echo "$1: $2, left out" | tee -a "$tmp/left" >&2
}

# --- 400 000 send and recv: half of it is what two tasks that talk all day do ---
echo "sockets" >&2
for i in $(seq "$rounds"); do
	for t in native record; do
		per $t socket 400000 >>"$tmp/sock.$t"
	done
done
n=$(median "$tmp/sock.native")
getppid=$(calc "$(median "$tmp/rec.getppid.record") - $(median "$tmp/rec.getppid.native")")
row "send, recv: native" "$n" "ns a call" ""
row "400000 send, recv: espy record" "$(calc "$(median "$tmp/sock.record") / $n")" "x native" ""
row "send, recv: record adds" "$(calc "$(median "$tmp/sock.record") - $n")" "ns a call" ""
row "send, recv: record adds, over getppid" "$(calc "$(median "$tmp/sock.record") - $n - $getppid")" "ns a call" ""
if have strace; then
	for i in 1 2 3; do
		per strace socket 10000 >>"$tmp/sock.strace"
	done
	row "send, recv: strace" "$(calc "$(median "$tmp/sock.strace") / $n")" "x native" ""
fi
proc_asked() { # CALLS: how often espy opens or reads links of /proc, as another espy sees it
	"$espy" trace --source=ptrace -f -qq -e trace=open,openat,openat2,readlink,readlinkat -o "$tmp/asked" \
		"$espy" record -q --lossless=never --force -o "$tmp/rec" "$percall" socket "$1" /dev/null
	grep -c '"/proc/' "$tmp/asked"
}
row "/proc asked by espy record, for 20000 more calls on sockets" "$(calc "$(proc_asked 20100) - $(proc_asked 100)")" "times" "20"

# --- servers ---
wait_for_port() {
	n=0
	until "$@" >/dev/null 2>&1 || [ $n = 100 ]; do
		sleep 0.1
		n=$((n + 1))
	done
}
# under WAY TRACER...: what $rate says that was done under a tracer that has begun, and the tracer's share of a CPU
under() {
	way=$1
	shift
	"$@" 2>"$tmp/srv.err" &
	tracer=$!
	sleep 1
	begin=$(cpu_and_time $tracer)
	$rate >>"$tmp/srv.$way"
	echo "$begin $(cpu_and_time $tracer)" | awk '{ print 100 * ($3 - $1) / ($4 - $2) }' >>"$tmp/srv.cpu.$way"
	kill -INT $tracer
	wait $tracer 2>/dev/null
}
# the CPU time of a process, and the time, in hundredths of a second
cpu_and_time() {
	awk '{ sub(/.*\) /, ""); cpu = $12 + $13; getline <"/proc/uptime"; print cpu, 100 * $1 }' "/proc/$1/stat"
}
# captured NAME BUDGET PIDS RATE: the command RATE prints how much was done
captured() {
	name=$1 budget=$2 pids=$3 rate=$4
	rm -f "$tmp"/srv.*
	for i in 1 2 3; do
		$rate >>"$tmp/srv.native"
		under floor "$build/bench/floor" -p "$pids"
		under light "$espy" record -q --data none --force -f -o "$tmp/rec" -p "$pids"
		under nowhere "$espy" record -q --force -f -o /dev/null -p "$pids"
		under espy "$espy" record -q --stats --force -f -o "$tmp/rec" -p "$pids"
		sed -n 's/^.* \([0-9]*\) lost,.*/\1/p' "$tmp/srv.err" >>"$tmp/srv.lost"
		sed -n 's/^.*tasks were held \([0-9]*\) time.*/\1/p' "$tmp/srv.err" >>"$tmp/srv.held"
	done
	share() { # WAY
		calc "100 * $(median "$tmp/srv.$1") / $(median "$tmp/srv.native")"
	}
	row "$name throughput, everything captured" "$(share espy)" "% of native" "$budget or more"
	row "$name: espy's own CPU meanwhile" "$(median "$tmp/srv.cpu.espy")" "% of one" ""
	row "$name throughput, to /dev/null" "$(share nowhere)" "% of native" ""
	row "$name throughput, --data none" "$(share light)" "% of native" ""
	row "$name throughput, bare record" "$(share floor)" "% of native" ""
	row "$name: the bare record's reader meanwhile" "$(median "$tmp/srv.cpu.floor")" "% of one" ""
	row "$name: lost" "$(awk '{ n += $1 } END { print n + 0 }' "$tmp/srv.lost")" "events" "0"
	row "$name: held" "$(awk '{ n += $1 } END { print n + 0 }' "$tmp/srv.held")" "times" "0"
}

if have redis-server && have redis-benchmark; then
	echo "redis" >&2
	redis-server --port 16399 --save '' --appendonly no --daemonize no >/dev/null 2>&1 &
	redis=$!
	wait_for_port redis-cli -p 16399 ping
	redis_rate() {
		redis-benchmark -p 16399 -t get -n 60000 -c 20 --csv 2>/dev/null | awk -F'"' '$2 == "GET" { print $4 }'
	}
	captured "redis GET" 90 $redis redis_rate
	kill $redis
	wait $redis 2>/dev/null
else
	left redis "redis-server and redis-benchmark are not installed (tools/deps bench)"
fi

if have nginx && have wrk; then
	echo "nginx" >&2
	mkdir "$tmp/www"
	head -c 1000 /dev/zero | tr '\0' x >"$tmp/www/file"
	chmod 755 "$tmp" "$tmp/www"
	cat >"$tmp/nginx.conf" <<-END
		daemon off; worker_processes 1; pid $tmp/nginx.pid; error_log /dev/null;
		events {}
		http { access_log off; sendfile on; server { listen 127.0.0.1:16480; root $tmp/www; } }
	END
	nginx -p "$tmp" -e /dev/null -c "$tmp/nginx.conf" >/dev/null 2>&1 &
	nginx=$!
	wait_for_port wrk -t1 -c1 -d1s http://127.0.0.1:16480/file
	nginx_rate() {
		wrk -t1 -c20 -d3s http://127.0.0.1:16480/file | sed -n 's/^Requests.sec: *//p'
	}
	captured "nginx" 75 "$(pgrep -d , -P $nginx),$nginx" nginx_rate
	kill $nginx
	wait $nginx 2>/dev/null
else
	left nginx "nginx and wrk are not installed (tools/deps bench)"
fi

# Debian's PostgreSQL has its programs in folders of their own, and refuses to run as root.
pg=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
pg=${pg:-$(dirname "$(command -v initdb 2>/dev/null || echo /nowhere/initdb)")}
as_user() { "$@"; }
[ "$(id -u)" != 0 ] || as_user() { runuser -u postgres -- "$@"; }
if [ -x "$pg/initdb" ] && [ -x "$pg/pgbench" ] && { [ "$(id -u)" != 0 ] || id postgres >/dev/null 2>&1; }; then
	echo "PostgreSQL" >&2
	chmod 755 "$tmp"
	mkdir "$tmp/pg"
	[ "$(id -u)" != 0 ] || chown postgres "$tmp/pg"
	as_user "$pg/initdb" -D "$tmp/pg/data" -A trust >/dev/null 2>&1
	as_user "$pg/postgres" -D "$tmp/pg/data" -k "$tmp/pg" -p 16432 -c listen_addresses= >/dev/null 2>&1 &
	wait_for_port as_user "$pg/pg_isready" -h "$tmp/pg" -p 16432
	as_user "$pg/pgbench" -h "$tmp/pg" -p 16432 -i -s 5 postgres >/dev/null 2>&1
	pg_rate() {
		as_user "$pg/pgbench" -h "$tmp/pg" -p 16432 -S -n -c 4 -T 3 postgres 2>/dev/null | sed -n 's/^tps = \([0-9.]*\) .*/\1/p'
	}
	captured "pgbench -S" 85 "$(head -n 1 "$tmp/pg/data/postmaster.pid")" pg_rate
	as_user "$pg/pg_ctl" -D "$tmp/pg/data" -m fast stop >/dev/null 2>&1
else
	left PostgreSQL "it is not installed (tools/deps bench)"
fi
