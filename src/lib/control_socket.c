/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/control_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/run_dir.h"
#include "lib/session_impl.h"

/* No user runs more of them at a time. So a user cannot delay another for long by filling the directory. */
#define SOCKETS_MAX 256
/* An answer may wait for a trace of gigabytes to be written. */
#define WAIT_MAX_MS (10 * 60 * 1000)

static bool is_ours(const char *dir)
{
	struct stat st;

	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

#define PLACES 3

/*
 * Writes the n-th directory in which sockets of this user may be. Returns false if there is no such place. A command that
 * su or cron starts, or that has capabilities, may lack XDG_RUNTIME_DIR. The espy that it asks may have it: so all count.
 */
static bool place(unsigned n, char *dir, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char of_user[32];

	if (!geteuid())
		return !n && (size_t)snprintf(dir, size, ESPY_RUN_DIR) < size;
	switch (n) {
	case 0:
		return runtime && *runtime == '/' && is_ours(runtime) && (size_t)snprintf(dir, size, "%s/espy", runtime) < size;
	case 1:
		snprintf(of_user, sizeof(of_user), "/run/user/%u", (unsigned)geteuid());
		return is_ours(of_user) && (size_t)snprintf(dir, size, "%s/espy", of_user) < size;
	default:
		return (size_t)snprintf(dir, size, "/tmp/espy-%u", (unsigned)geteuid()) < size;
	}
}

/* Writes the directory in which an espy of this user listens. Returns false if there is none. */
static bool user_dir(char *dir, size_t size)
{
	for (unsigned n = 0; n < PLACES; n++)
		if (place(n, dir, size))
			return true;
	return false;
}

/* A good socket may be so long without a listener: an espy listens to its socket right after it has bound it. */
#define STALE_S 10

/*
 * Returns whether no process listens to that socket, nor will: the process of its name has ended, or the socket is
 * older than an espy takes to listen.
 */
static bool is_stale(int dir, const char *name, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *dot = strrchr(name, '.');
	struct stat st;
	bool refused;
	int fd;

	if (!dot || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISSOCK(st.st_mode) ||
	    (size_t)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", path, name) >= sizeof(addr.sun_path))
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	refused = fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return refused &&
	       ((kill((pid_t)strtol(dot + 1, NULL, 10), 0) && errno == ESRCH) || time(NULL) - st.st_ctime > STALE_S);
}

/* Removes the sockets that espys ended by SIGKILL have left behind. The directory is ours alone. */
static void remove_stale(const char *path)
{
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));)
		if (is_stale(dirfd(d), e->d_name, path))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

/* Returns the descriptor or -errno. */
static int listen_at(const char *prefix, struct sockaddr_un *addr)
{
	char dir[80];
	int fd;

	if (!user_dir(dir, sizeof(dir)))
		return -ENOENT;
	if ((mkdir(dir, 0700) && errno != EEXIST) || !is_ours(dir))
		return -EACCES;
	remove_stale(dir);
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/%s.%d", dir, prefix, (int)getpid());
	unlink(addr->sun_path); /* of an earlier process with this number */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) || listen(fd, 16)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

struct espy_control *espy_control__listen(struct espy_session *s, const char *prefix, const char *command)
{
	struct espy_control *c = malloc(sizeof(*c));

	if (c)
		c->sock = listen_at(prefix, &c->addr);
	if (c && c->sock >= 0)
		return c;
	espy_session__say(s, ESPY_TOPIC_GENERAL, "`espy %s` cannot reach this espy (a socket in %s: %s)", command,
			  geteuid() ? "$XDG_RUNTIME_DIR/espy or /tmp" : ESPY_RUN_DIR, strerror(c ? -c->sock : ENOMEM));
	free(c);
	return NULL;
}

void espy_control__close(struct espy_control *c)
{
	if (!c)
		return;
	unlink(c->addr.sun_path);
	close(c->sock);
	free(c);
}

/* Returns whether the other end is a process of this user or of root: espy answers and believes no other. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && (!peer.uid || peer.uid == geteuid());
}

int espy_control__accept(const struct espy_control *c, char text[ESPY_CONTROL_TEXT])
{
	while (c) {
		const int fd = accept4(c->sock, NULL, NULL, SOCK_CLOEXEC);
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (fd < 0)
			break;
		/* a process that connects asks at once */
		const ssize_t n =
			is_trusted(fd) && poll(&p, 1, 100) > 0 ? recv(fd, text, ESPY_CONTROL_TEXT - 1, MSG_DONTWAIT) : -1;
		if (n > 0) {
			text[n] = '\0';
			return fd;
		}
		close(fd);
	}
	return -EAGAIN;
}

void espy_control__answer(int fd, const char *text)
{
	send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT); /* it may have gone */
	close(fd);
}

static void each_in(const char *dir, const char *prefix, void (*fn)(void *, const char *, const char *, pid_t),
		    void *ctx)
{
	const size_t len = strlen(prefix);
	struct dirent *e;
	DIR *d = is_ours(dir) ? opendir(dir) : NULL;

	for (unsigned met = 0; d && met < SOCKETS_MAX && (e = readdir(d));) {
		char *end;
		long espy;

		if (strncmp(e->d_name, prefix, len) || e->d_name[len] != '.')
			continue;
		espy = strtol(e->d_name + len + 1, &end, 10);
		if (espy > 0 && !*end) {
			fn(ctx, dir, e->d_name, (pid_t)espy);
			met++;
		}
	}
	if (d)
		closedir(d);
}

void espy_control__each(const char *prefix, void (*fn)(void *, const char *, const char *, pid_t), void *ctx)
{
	char dirs[PLACES][300];

	for (unsigned n = 0; n < PLACES; n++) {
		bool again = !place(n, dirs[n], sizeof(dirs[n]));

		if (again)
			dirs[n][0] = '\0';
		for (unsigned k = 0; k < n && !again; k++)
			again = !strcmp(dirs[k], dirs[n]);
		if (!again)
			each_in(dirs[n], prefix, fn, ctx);
	}
}

int espy_control__ask(const char *dir, const char *file, unsigned wait_ms, const char *request,
		      char answer[ESPY_CONTROL_TEXT])
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const unsigned ms = wait_ms ? wait_ms : WAIT_MAX_MS;
	const struct timeval wait = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	int err = 0, fd;

	if ((size_t)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", dir, file) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	/* With a time limit the kernel takes up none of these calls again that a signal has interrupted. */
	while ((err = connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0) == -EINTR)
		;
	if (err == -ECONNREFUSED && is_ours(dir))
		unlink(addr.sun_path); /* an espy that was killed has left it */
	if (!err && !is_trusted(fd))
		err = -EPERM;
	while (!err && send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		err = errno == EINTR ? 0 : -errno;
	if (!err) {
		ssize_t n;

		while ((n = recv(fd, answer, ESPY_CONTROL_TEXT - 1, 0)) < 0 && errno == EINTR)
			;
		err = n > 0 ? 0 : n ? -errno : -EPIPE;
		answer[n > 0 ? n : 0] = '\0';
	}
	close(fd);
	return err;
}
