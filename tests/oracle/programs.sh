# SPDX-License-Identifier: LGPL-2.1-or-later
# The programs of the oracle, sourced by oracle.sh. For each NAME
#     mode, needs   how it is compared: `order` (line by line for each task) or `set` (shapes of lines,
#                   where the course differs from run to run); the commands that must be installed
#     setup_NAME    before each run, in an empty directory $work (not traced)
#     run_NAME      runs the program by way of trace()
#     drive_NAME    while a server is traced: talks to it and ends it

mode() {
	case $1 in
	bash | git_clone | make | python_threads | python_subprocess | curl | redis | nginx | tmux) echo set ;;
	*) echo order ;;
	esac
}

needs() {
	case $1 in
	ls | cat | cp | find | sort | tar | grep | bash) echo "$1" ;;
	git_*) echo git ;;
	gcc) echo gcc ;;
	make) echo "make gcc" ;;
	python_*) echo python3 ;;
	perl | curl | sqlite3 | tmux) echo "$1" ;;
	redis) echo "redis-server redis-benchmark redis-cli" ;;
	nginx) echo "nginx curl" ;;
	ssh_keygen) echo ssh-keygen ;;
	esac
	case $1 in curl) echo python3 ;; esac
}

# kept NAME: made once by the function make_NAME, in a folder of its own; each run has a copy
kept() {
	if [ ! -d "$top/kept" ]; then
		mkdir "$top/kept"
		(cd "$top/kept" && "make_$1")
	fi
	cp -a "$top/kept/." .
}
make_files() { # a small tree with a bit of everything
	mkdir -p tree/a/b tree/c
	for i in 1 2 3 4 5 6 7 8; do
		echo "line $i of a file" >"tree/a/f$i.txt"
		echo "main() { return $i; }" >"tree/a/b/p$i.c"
	done
	: >tree/empty
	ln -s a/f1.txt tree/link
	ln -s nowhere tree/dangling
	ln tree/a/f2.txt tree/c/hard
	mkfifo tree/fifo
	head -c 200000 /dev/zero | tr '\0' 'x' >tree/big
	find tree -exec touch -h -d '2020-01-02 03:04:05 UTC' {} +
}
files() {
	kept files
}

setup_ls() { files; }
run_ls() { trace ls -la tree tree/a; }
setup_cat() { files; }
run_cat() { trace cat tree/a/f1.txt tree/empty tree/big tree/nothing; }
setup_cp() { files; }
# cp and tar take what is in a folder by inode, and these depend on what other tests create and remove: each folder has one file.
run_cp() { trace cp -a tree/a/f*.txt tree/a/b/p1.c tree/c tree/big tree/link copy/; }
setup_cp() { files; mkdir copy; }
setup_find() { files; }
run_find() { trace find tree -name '*.c' -size -2 -newer tree/empty -print; }
setup_sort() { files; seq 1 3000 | tr 0-9 7294816350 >numbers; }
run_sort() { trace sort --parallel=1 -n -u numbers -o sorted; }
setup_tar() { files; }
run_tar() { trace tar cf x.tar tree/a/f*.txt tree/a/b/p1.c tree/c tree/big tree/link tree/dangling tree/fifo; }
setup_grep() { files; }
run_grep() { trace grep -rn "file" tree/a tree/c; }

setup_bash() { files; }
run_bash() {
	trace bash -c 'for i in 1 2 3 4 5 6; do cat tree/a/f1.txt | tr a-z A-Z | wc -c >/dev/null; done'
}

make_repo() {
	git init -q repo && cd repo && git config user.email a@b.c && git config user.name n && git config gc.auto 0
	for i in 1 2 3 4 5; do
		echo "content $i" >"f$i"
		touch -d "2020-01-0$i" "f$i" # else git looks into files that are as new as its index
		git add -A
		GIT_AUTHOR_DATE="2020-01-0$i 00:00:00 +0000" GIT_COMMITTER_DATE="2020-01-0$i 00:00:00 +0000" git commit -q -m "change $i"
	done
	echo more >>f1
}
repo() { # git looks into files that are not the ones of its index: it is told of the copies
	kept repo
	git -C repo update-index -q --refresh
}
setup_git_status() { repo; }
run_git_status() { trace git -C repo status; }
setup_git_log() { repo; }
run_git_log() { trace git --no-pager -C repo log --stat; }
setup_git_clone() { repo; }
run_git_clone() { trace git clone -q repo clone; }

setup_gcc() { printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' >h.c; }
run_gcc() { trace gcc -O1 -c h.c -o h.o; }
setup_make() {
	printf 'int f(void) { return 1; }\n' >f.c
	printf 'int main(void) { return 0; }\n' >main.c
	printf 'p: main.o f.o\n\tgcc -o p main.o f.o\n%%.o: %%.c\n\tgcc -c $< -o $@\n' >Makefile
}
run_make() { trace make -s; }

run_python_threads() { trace "$python" -S -E "$here/progs/threads.py"; }
run_python_subprocess() { trace "$python" -S -E "$here/progs/subprocesses.py"; }
run_python_sockets() { trace "$python" -S -E "$here/progs/sockets.py"; }
run_python_sqlite() { trace "$python" -S -E "$here/progs/database.py"; }
setup_perl() { files; }
run_perl() { trace perl -e 'open F, "<", "tree/a/f1.txt"; print <F>; opendir D, "tree"; print sort readdir D; print `echo sub`; unlink "tree/empty"; printf "%d\n", -s "tree/big"'; }

setup_curl() {
	files
	rm -f port
	"$python" -S -E "$here/progs/server.py" >/dev/null 2>&1 &
	server=$!
	wait_until "the server makes no port" test -e port
}
run_curl() { trace curl -s -o out "http://127.0.0.1:$(cat port)/tree/a/f1.txt"; kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || :; }
run_sqlite3() { trace sqlite3 x.db "create table t(a); insert into t values(1),(2),(3); select sum(a) from t;"; }
run_ssh_keygen() { trace ssh-keygen -q -t ed25519 -N "" -f key; }

run_redis() { serve redis trace redis-server --port 0 --unixsocket "$work/redis.sock" --save "" --appendonly no --daemonize no; }
drive_redis() {
	wait_until "the server does not listen" listens "$work/redis.sock"
	redis-benchmark -s "$work/redis.sock" -q -n 200 -c 2 -t get,set,lpush >/dev/null 2>&1
	redis-cli -s "$work/redis.sock" shutdown nosave >/dev/null 2>&1
}

setup_nginx() {
	files
	# Below those that the kernel gives away by itself. In a network of its own it is free; else another one is tried (run_nginx).
	port=$((20000 + $(od -An -tu2 -N2 /dev/urandom) % 12000))
	mkdir -p logs
	cat >nginx.conf <<END
daemon off; worker_processes 1; pid $work/nginx.pid; error_log $work/logs/e.log; user $(id -un);
events { worker_connections 64; }
http { access_log $work/logs/a.log; client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3;
uwsgi_temp_path $work/t4; scgi_temp_path $work/t5; server { listen 127.0.0.1:$port; root $work/tree; } }
END
}
run_nginx() {
	for try in 1 2 3 4 5; do
		serve nginx trace nginx -p "$work" -c "$work/nginx.conf"
		grep -q 'Address already in use' logs/e.log || return 0
		rm -rf "${work:?}"/*
		setup_nginx
	done
}
begun_or_ended() {
	[ -s nginx.pid ] || ended "$tracer"
}
answered() { # each connection is closed behind its last answer: a client that breaks off is answered in another way each time
	curl -fs --noproxy '*' -o got -o got -o got "http://127.0.0.1:$port/a/f1.txt" "http://127.0.0.1:$port/big" "http://127.0.0.1:$port/c/hard"
}
drive_nginx() {
	wait_until "the server does not begin" begun_or_ended
	[ -s nginx.pid ] || return 0
	wait_until "the server does not answer" answered
	kill -QUIT "$(cat nginx.pid)"
}
setup_tmux() { mkfifo end; }
run_tmux() { serve tmux trace tmux -D -S "$work/tmux.sock" -f /dev/null; }
no_session() {
	! tmux -S "$work/tmux.sock" has-session
}
drive_tmux() {
	wait_until "the server does not listen" listens "$work/tmux.sock"
	tmux -S "$work/tmux.sock" new-session -d -x 80 -y 24 "echo hello; read -r line <'$work/end'" 2>/dev/null
	echo >end
	wait_until "the session does not end" no_session
	tmux -S "$work/tmux.sock" kill-server 2>/dev/null || :
}
