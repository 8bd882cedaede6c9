/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/resolve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uthash.h>
#include "session/fd_text.h"

struct fd_key {
	uint32_t tgid;
	int32_t fd;
};

struct espy_fd_name {
	struct fd_key key;
	char *name;  /* as /proc/PID/fd shows it; NULL: not told */
	int netlink; /* protocol, if it is a netlink socket; else -1 */
	UT_hash_handle hh;
};

/* A FDNAME record that waits for the call that it belongs to. */
struct fd_news {
	uint32_t tgid;
	int32_t fd;
	char *name;
};

/* What calls do to descriptors, beyond making one (for that the source sends FDNAME records). */
enum fd_effect { FD_NOTHING, FD_CLOSES_ONE, FD_CLOSES_RANGE, FD_MAKES_SOCKET, FD_REPLACES, FD_CHANGES_CWD };
static const struct {
	const char *call;
	enum fd_effect effect;
} fd_effects[] = {
	{ "close", FD_CLOSES_ONE },    { "close_range", FD_CLOSES_RANGE },
	{ "socket", FD_MAKES_SOCKET }, { "dup2", FD_REPLACES },
	{ "dup3", FD_REPLACES },       { "chdir", FD_CHANGES_CWD },
	{ "fchdir", FD_CHANGES_CWD },
};

static enum fd_effect effect_of(const char *name)
{
	for (size_t i = 0; i < sizeof(fd_effects) / sizeof(fd_effects[0]); i++)
		if (!strcmp(name, fd_effects[i].call))
			return fd_effects[i].effect;
	return FD_NOTHING;
}

bool espy_resolve__needs_call(const char *name)
{
	enum fd_effect e = effect_of(name);

	return e == FD_CLOSES_ONE || e == FD_CLOSES_RANGE || e == FD_CHANGES_CWD;
}

static struct espy_fd_name *find(struct espy_resolve *r, uint32_t tgid, int fd)
{
	struct fd_key key = { .tgid = tgid, .fd = fd };
	struct espy_fd_name *n;

	HASH_FIND(hh, r->names, &key, sizeof(key), n);
	return n;
}

static void drop(struct espy_resolve *r, struct espy_fd_name *n)
{
	HASH_DEL(r->names, n);
	free(n->name);
	free(n);
}

/* The entry, made if there is none; NULL without memory: the name then is asked of /proc each time. */
static struct espy_fd_name *entry(struct espy_resolve *r, uint32_t tgid, int fd)
{
	struct espy_fd_name *n = find(r, tgid, fd);

	if (n)
		return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->key = (struct fd_key){ .tgid = tgid, .fd = fd };
	n->netlink = -1;
	HASH_ADD(hh, r->names, key, sizeof(n->key), n);
	return n;
}

static void set(struct espy_resolve *r, uint32_t tgid, int fd, const char *name, size_t len)
{
	struct espy_fd_name *n = entry(r, tgid, fd);

	if (!n)
		return;
	free(n->name);
	n->name = strndup(name, len);
}

int espy_resolve__fdname(struct espy_resolve *r, const struct espy_rec_fdname *rec)
{
	size_t room = rec->rec.size - sizeof(*rec);
	size_t len = strnlen((const char *)(rec + 1), rec->name_sz < room ? rec->name_sz : room);
	struct fd_news *p = reallocarray(r->news, r->news_cnt + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	r->news = p;
	p[r->news_cnt] =
		(struct fd_news){ .tgid = rec->rec.tgid, .fd = rec->fd, .name = strndup((const char *)(rec + 1), len) };
	r->news_cnt++;
	return 0;
}

static void apply_news(struct espy_resolve *r)
{
	for (size_t i = 0; i < r->news_cnt; i++) {
		if (r->news[i].name)
			set(r, r->news[i].tgid, r->news[i].fd, r->news[i].name, strlen(r->news[i].name));
		free(r->news[i].name);
	}
	r->news_cnt = 0;
	r->stream_only = false;
}

void espy_resolve__before_args(struct espy_resolve *r, const struct espy_call_view *v)
{
	/* dup3(3, 30): as an argument 30 is what it was before the call, as the result what it is now. */
	if (v->nr < ESPY_MAX_SYSCALLS && r->effects[v->image->abi][v->nr] == FD_REPLACES)
		r->stream_only = true;
	else
		apply_news(r);
}

void espy_resolve__before_result(struct espy_resolve *r)
{
	apply_news(r);
}

static void close_range_of(struct espy_resolve *r, uint32_t tgid, uint32_t first, uint32_t last)
{
	struct espy_fd_name *n, *next;

	if (first == last) {
		n = find(r, tgid, (int)first);
		if (n)
			drop(r, n);
		return;
	}
	HASH_ITER(hh, r->names, n, next)
	if (n->key.tgid == tgid && (uint32_t)n->key.fd >= first && (uint32_t)n->key.fd <= last)
		drop(r, n);
}

void espy_resolve__call(struct espy_resolve *r, const struct espy_call_view *v)
{
	struct espy_fd_name *n;

	if (v->ret < 0 || v->nr >= ESPY_MAX_SYSCALLS)
		return;
	switch (r->effects[v->image->abi][v->nr]) {
	case FD_CLOSES_ONE:
		close_range_of(r, v->tgid, (uint32_t)v->args[0], (uint32_t)v->args[0]);
		break;
	case FD_CLOSES_RANGE:
		close_range_of(r, v->tgid, (uint32_t)v->args[0], (uint32_t)v->args[1]);
		break;
	case FD_MAKES_SOCKET:
		n = (int)v->args[0] == AF_NETLINK ? entry(r, v->tgid, (int)v->ret) : NULL;
		if (n)
			n->netlink = (int)v->args[2];
		break;
	case FD_CHANGES_CWD:
		n = find(r, v->tgid, AT_FDCWD);
		if (n)
			drop(r, n);
		break;
	default:
		break;
	}
}

void espy_resolve__fork(struct espy_resolve *r, uint32_t parent, uint32_t child)
{
	struct espy_fd_name *n, *next;

	HASH_ITER(hh, r->names, n, next)
	{
		struct espy_fd_name *copy = n->key.tgid == parent ? entry(r, child, n->key.fd) : NULL;

		if (!copy)
			continue;
		free(copy->name);
		copy->name = n->name ? strdup(n->name) : NULL;
		copy->netlink = n->netlink;
	}
}

void espy_resolve__forget(struct espy_resolve *r, uint32_t tgid)
{
	struct espy_fd_name *n, *next;

	HASH_ITER(hh, r->names, n, next)
	if (n->key.tgid == tgid)
		drop(r, n);
}

/* from: whose /proc entry is read, "self" or a number. */
static void seed_from(struct espy_resolve *r, uint32_t tgid, const char *from)
{
	char path[96], link[4096];
	struct espy_fd_name *n, *next;

	snprintf(path, sizeof(path), "/proc/%s/fd", from);
	DIR *d = opendir(path);
	if (!d)
		return; /* it has ended meanwhile: what was known before is the best there is */
	HASH_ITER(hh, r->names, n, next)
	if (n->key.tgid == tgid && n->key.fd >= 0)
		drop(r, n);
	for (struct dirent *e; (e = readdir(d));) {
		ssize_t len = e->d_name[0] == '.' ? -1 : readlinkat(dirfd(d), e->d_name, link, sizeof(link));

		/* of ours, a command gets those that stay open at its exec */
		if (len > 0 && (strcmp(from, "self") || !(fcntl(atoi(e->d_name), F_GETFD) & FD_CLOEXEC)))
			set(r, tgid, atoi(e->d_name), link, (size_t)len);
	}
	closedir(d);
	snprintf(path, sizeof(path), "/proc/%s/cwd", from);
	ssize_t len = readlink(path, link, sizeof(link));
	if (len > 0)
		set(r, tgid, AT_FDCWD, link, (size_t)len);
}

void espy_resolve__seed(struct espy_resolve *r, uint32_t tgid)
{
	char from[16];

	snprintf(from, sizeof(from), "%u", tgid);
	seed_from(r, tgid, from);
}

/*
 * A new image: exec has closed some descriptors, which no record tells. Those that are gone from /proc are forgotten;
 * no name is taken from there, since by now the program may have gone on. The standard ones stay even if they are
 * gone: programs close them at their end, and that is when short ones are looked at.
 */
void espy_resolve__exec(struct espy_resolve *r, uint32_t tgid)
{
	char path[64];
	struct espy_fd_name *n, *next;
	uint64_t open[16] = { 0 };
	bool any = false;

	snprintf(path, sizeof(path), "/proc/%u/fd", tgid);
	DIR *d = opendir(path);
	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		unsigned fd = (unsigned)atoi(e->d_name);

		if (e->d_name[0] == '.')
			continue;
		any = true;
		if (fd < 1024)
			open[fd / 64] |= UINT64_C(1) << (fd % 64);
	}
	closedir(d);
	if (!any)
		return; /* it has ended */
	HASH_ITER(hh, r->names, n, next)
	if (n->key.tgid == tgid && n->key.fd > 2 && n->key.fd < 1024 && !(open[n->key.fd / 64] >> (n->key.fd % 64) & 1))
		drop(r, n);
}

void espy_resolve__inherit(struct espy_resolve *r, uint32_t tgid)
{
	seed_from(r, tgid, "self");
}

static bool put_fd(void *ctx, uint32_t tid, int fd, struct espy_buf *b)
{
	struct espy_resolve *r = ctx;
	struct espy_task *task = espy_tasks__find(r->tasks, tid);
	uint32_t tgid = task ? task->tgid : tid;
	char path[64], link[4096];
	const char *name = NULL;

	if (fd < 0 && fd != AT_FDCWD)
		return false;
	if (fd == AT_FDCWD)
		snprintf(path, sizeof(path), "/proc/%u/cwd", tid);
	else
		snprintf(path, sizeof(path), "/proc/%u/fd/%d", tid, fd);
	struct espy_fd_name *n = find(r, tgid, fd);
	if (n)
		name = n->name;
	if (!name && r->stream_only)
		return false;
	if (!name) {
		ssize_t len = readlink(path, link, sizeof(link) - 1);

		if (len < 0)
			return false;
		link[len] = '\0';
		name = link;
		set(r, tgid, fd, link, (size_t)len);
	}
	espy_fd_text(b, name, path, tid, r->all);
	return true;
}

static bool put_comm(void *ctx, uint32_t pid, struct espy_buf *b)
{
	char path[64], comm[64];

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, comm, sizeof(comm));
	close(fd);
	if (n <= 0)
		return false;
	if (comm[n - 1] == '\n')
		n--;
	espy_buf__putc(b, '<');
	espy_text__quote(b, (const uint8_t *)comm, (size_t)n, ESPY_HEX_NONE, "<>", false);
	espy_buf__putc(b, '>');
	return true;
}

static bool put_ifname(void *ctx, uint32_t index, struct espy_buf *b)
{
	char name[IF_NAMESIZE];

	(void)ctx;
	if (!if_indextoname(index, name))
		return false;
	espy_text__quote(b, (const uint8_t *)name, strlen(name), ESPY_HEX_NONE, NULL, false);
	return true;
}

static bool netlink_proto(void *ctx, uint32_t tid, int fd, unsigned *proto)
{
	struct espy_resolve *r = ctx;
	struct espy_task *task = espy_tasks__find(r->tasks, tid);
	struct espy_fd_name *n = find(r, task ? task->tgid : tid, fd);
	char path[64], link[64];
	const char *name = n ? n->name : NULL;

	if (n && n->netlink >= 0) {
		*proto = (unsigned)n->netlink;
		return true;
	}
	if (!name) {
		snprintf(path, sizeof(path), "/proc/%u/fd/%d", tid, fd);
		ssize_t len = readlink(path, link, sizeof(link) - 1);

		if (len < 0)
			return false;
		link[len] = '\0';
		name = link;
	}
	return espy_netlink_proto(name, tid, proto);
}

void espy_resolve__init(struct espy_resolve *r, struct espy_tasks *tasks, const struct espy_image *images, bool fds,
			bool all, bool comm)
{
	*r = (struct espy_resolve){
		.resolver = {
			.ctx = r,
			.fd = fds ? put_fd : NULL,
			.pid = comm ? put_comm : NULL,
			.ifname = put_ifname,
			.netlink_proto = netlink_proto,
		},
		.tasks = tasks,
		.all = all,
	};
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < images[abi].syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++)
			r->effects[abi][nr] =
				(uint8_t)effect_of(espy_image__str(&images[abi], images[abi].syscalls[nr].name));
	r->complete = r->resolver;
	r->complete.fd = put_fd;
}

void espy_resolve__free(struct espy_resolve *r)
{
	struct espy_fd_name *n, *next;

	apply_news(r);
	free(r->news);
	HASH_ITER(hh, r->names, n, next)
	drop(r, n);
}
