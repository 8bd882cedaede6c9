/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors of each process, kept from the stream; and the resolver, which asks the tables first. */
#include "session/resolve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "session/fd_text.h"
#include "session/resolve_impl.h"

/* A FDNAME record, or a fact that was asked for with it known, that waits for the call that it belongs to. */
struct fd_news {
	uint32_t tgid;
	int32_t fd;
	char *name;
	struct espy_rec_fact *fact; /* NULL: a name */
};

/* What calls do to descriptors, beyond making one (for that the source sends FDNAME records). */
enum fd_effect {
	FD_NOTHING,
	FD_CLOSES_ONE,
	FD_CLOSES_RANGE,
	FD_MAKES_SOCKET,
	FD_REPLACES,
	FD_CHANGES_CWD,
	FD_CHANGES_SOCKET, /* its address or its peer */
	FD_RENAMES_TASK,
	FD_MAPS_FILE,
};
static const struct {
	const char *call;
	enum fd_effect effect;
} fd_effects[] = {
	{ "close", FD_CLOSES_ONE },    { "close_range", FD_CLOSES_RANGE },
	{ "socket", FD_MAKES_SOCKET }, { "dup2", FD_REPLACES },
	{ "dup3", FD_REPLACES },       { "chdir", FD_CHANGES_CWD },
	{ "fchdir", FD_CHANGES_CWD },  { "bind", FD_CHANGES_SOCKET },
	{ "connect", FD_CHANGES_SOCKET }, { "listen", FD_CHANGES_SOCKET },
	{ "sendto", FD_CHANGES_SOCKET }, { "sendmsg", FD_CHANGES_SOCKET },
	{ "prctl", FD_RENAMES_TASK },	  { "mmap", FD_MAPS_FILE },
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

struct espy_fd_name *espy_resolve__find(struct espy_resolve *r, uint32_t tgid, int fd)
{
	struct espy_fd_key key = { .tgid = tgid, .fd = fd };
	struct espy_fd_name *n;

	HASH_FIND(hh, r->names, &key, sizeof(key), n);
	return n;
}

static void drop(struct espy_resolve *r, struct espy_fd_name *n)
{
	HASH_DEL(r->names, n);
	free(n->name);
	free(n->detail);
	free(n);
}

struct espy_fd_name *espy_resolve__entry(struct espy_resolve *r, uint32_t tgid, int fd)
{
	struct espy_fd_name *n = espy_resolve__find(r, tgid, fd);

	if (n)
		return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->key = (struct espy_fd_key){ .tgid = tgid, .fd = fd };
	n->netlink = -1;
	HASH_ADD(hh, r->names, key, sizeof(n->key), n);
	return n;
}

void espy_resolve__set_detail(struct espy_fd_name *n, const char *detail, size_t len)
{
	free(n->detail);
	n->detail = detail ? strndup(detail, len) : NULL;
}

void espy_resolve__set(struct espy_resolve *r, uint32_t tgid, int fd, const char *name, size_t len)
{
	struct espy_fd_name *n = espy_resolve__entry(r, tgid, fd);

	if (!n)
		return;
	free(n->name);
	n->name = strndup(name, len);
	espy_resolve__set_detail(n, NULL, 0);
	n->detail_asked = false;
}

static int add_news(struct espy_resolve *r, struct fd_news news)
{
	struct fd_news *p = reallocarray(r->news, r->news_cnt + 1, sizeof(*p));

	if (!p) {
		free(news.name);
		free(news.fact);
		return -ENOMEM;
	}
	r->news = p;
	p[r->news_cnt++] = news;
	return 0;
}

int espy_resolve__fdname(struct espy_resolve *r, const struct espy_rec_fdname *rec)
{
	size_t room = rec->rec.size - sizeof(*rec);
	size_t len = strnlen((const char *)(rec + 1), rec->name_sz < room ? rec->name_sz : room);

	return add_news(r, (struct fd_news){ .tgid = rec->rec.tgid,
					     .fd = rec->fd,
					     .name = strndup((const char *)(rec + 1), len) });
}

void espy_resolve__fact(struct espy_resolve *r, const struct espy_rec_fact *f)
{
	struct fd_news news = { 0 };

	if (f->rec.flags & ESPY_FACT_AFTER_NAMES)
		news.fact = malloc(f->rec.size);
	if (!news.fact) {
		espy_resolve__apply_fact(r, f);
		return;
	}
	memcpy(news.fact, f, f->rec.size);
	add_news(r, news);
}

static void apply_news(struct espy_resolve *r)
{
	for (size_t i = 0; i < r->news_cnt; i++) {
		struct fd_news *n = &r->news[i];

		if (n->fact)
			espy_resolve__apply_fact(r, n->fact);
		else if (n->name)
			espy_resolve__set(r, n->tgid, n->fd, n->name, strlen(n->name));
		free(n->name);
		free(n->fact);
	}
	r->news_cnt = 0;
	r->stream_only = false;
	r->news_taken = true;
}

void espy_resolve__begin(struct espy_resolve *r, uint64_t time_ns)
{
	r->now_ns = time_ns;
	r->news_taken = false;
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
		n = espy_resolve__find(r, tgid, (int)first);
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
		n = (int)v->args[0] == AF_NETLINK ? espy_resolve__entry(r, v->tgid, (int)v->ret) : NULL;
		if (n)
			n->netlink = (int)v->args[2];
		break;
	case FD_CHANGES_CWD:
		n = espy_resolve__find(r, v->tgid, AT_FDCWD);
		if (n)
			drop(r, n);
		break;
	default:
		break;
	}
}

bool espy_resolve__changes_socket(const struct espy_resolve *r, const struct espy_call_view *v)
{
	return v->nr < ESPY_MAX_SYSCALLS && r->effects[v->image->abi][v->nr] == FD_CHANGES_SOCKET;
}

bool espy_resolve__maps_file(const struct espy_resolve *r, const struct espy_call_view *v)
{
	return v->image->abi == ESPY_ABI_X86_64 && v->nr < ESPY_MAX_SYSCALLS &&
	       r->effects[v->image->abi][v->nr] == FD_MAPS_FILE;
}

bool espy_resolve__renames_task(const struct espy_resolve *r, const struct espy_call_view *v)
{
	return v->nr < ESPY_MAX_SYSCALLS && r->effects[v->image->abi][v->nr] == FD_RENAMES_TASK &&
	       v->args[0] == PR_SET_NAME;
}

void espy_resolve__fork(struct espy_resolve *r, const struct espy_rec_fork *f)
{
	const uint32_t parent = f->rec.tgid, child = f->child_tgid;
	struct espy_fd_name *n, *next;

	espy_resolve__copy_comm(r, f->rec.tid, f->child_tid);
	if (parent == child)
		return;
	HASH_ITER(hh, r->names, n, next)
	{
		struct espy_fd_name *copy = n->key.tgid == parent ? espy_resolve__entry(r, child, n->key.fd) : NULL;

		if (!copy)
			continue;
		free(copy->name);
		copy->name = n->name ? strdup(n->name) : NULL;
		espy_resolve__set_detail(copy, n->detail, n->detail ? strlen(n->detail) : 0);
		copy->detail_asked = n->detail_asked;
		copy->netlink = n->netlink;
	}
}

void espy_resolve__forget(struct espy_resolve *r, uint32_t tid, uint32_t tgid, bool process)
{
	struct espy_fd_name *n, *next;

	espy_resolve__forget_comm(r, tid);
	if (!process)
		return;
	HASH_ITER(hh, r->names, n, next)
	if (n->key.tgid == tgid)
		drop(r, n);
}

/* What was read from /proc, kept for later readers too. */
static void learn(struct espy_resolve *r, uint32_t tgid, int fd, const char *link, size_t len)
{
	espy_resolve__set(r, tgid, fd, link, len);
	espy_resolve__note(r, ESPY_FACT_FD_LINK, tgid, tgid, fd, link, (uint32_t)len);
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
			learn(r, tgid, atoi(e->d_name), link, (size_t)len);
	}
	closedir(d);
	snprintf(path, sizeof(path), "/proc/%s/cwd", from);
	ssize_t len = readlink(path, link, sizeof(link));
	if (len > 0)
		learn(r, tgid, AT_FDCWD, link, (size_t)len);
}

void espy_resolve__seed(struct espy_resolve *r, uint32_t tgid)
{
	char from[16];

	snprintf(from, sizeof(from), "%u", tgid);
	seed_from(r, tgid, from);
}

/* Which of its descriptors a process has open; false: it has ended. */
static bool ask_open_fds(struct espy_resolve *r, uint32_t tgid)
{
	uint32_t fds[8 * sizeof(r->open_fds)], cnt = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/fd", tgid);
	DIR *d = opendir(path);
	if (!d)
		return false;
	memset(r->open_fds, 0, sizeof(r->open_fds));
	for (struct dirent *e; (e = readdir(d));) {
		unsigned fd = (unsigned)atoi(e->d_name);

		if (e->d_name[0] == '.' || fd >= 8 * sizeof(r->open_fds) || cnt == 8 * sizeof(r->open_fds))
			continue;
		fds[cnt++] = fd;
		r->open_fds[fd / 64] |= UINT64_C(1) << (fd % 64);
	}
	closedir(d);
	if (!cnt)
		return false;
	espy_resolve__note(r, ESPY_FACT_OPEN_FDS, tgid, tgid, 0, fds, cnt * 4);
	return true;
}

/*
 * A new image: exec has closed some descriptors, which no record tells. Those that are gone from /proc are forgotten;
 * no name is taken from there, since by now the program may have gone on. The standard ones stay even if they are
 * gone: programs close them at their end, and that is when short ones are looked at.
 */
void espy_resolve__exec(struct espy_resolve *r, uint32_t tgid)
{
	struct espy_fd_name *n, *next;

	if (r->live ? !ask_open_fds(r, tgid) : r->open_fds_of != tgid)
		return;
	r->open_fds_of = 0;
	HASH_ITER(hh, r->names, n, next)
	if (n->key.tgid == tgid && n->key.fd > 2 && n->key.fd < 1024 &&
	    !(r->open_fds[n->key.fd / 64] >> (n->key.fd % 64) & 1))
		drop(r, n);
}

void espy_resolve__inherit(struct espy_resolve *r, uint32_t tgid)
{
	seed_from(r, tgid, "self");
}

static uint32_t process_of(struct espy_resolve *r, uint32_t tid)
{
	struct espy_task *task = espy_tasks__find(r->tasks, tid);

	return task ? task->tgid : tid;
}

static void link_path(char *path, size_t size, uint32_t tid, int fd)
{
	if (fd == AT_FDCWD)
		snprintf(path, size, "/proc/%u/cwd", tid);
	else
		snprintf(path, size, "/proc/%u/fd/%d", tid, fd);
}

/* What a descriptor is: from the table, else, of a live session, from /proc. NULL: it cannot be told. */
static struct espy_fd_name *name_of(struct espy_resolve *r, uint32_t tid, int fd)
{
	uint32_t tgid = process_of(r, tid);
	struct espy_fd_name *n = espy_resolve__find(r, tgid, fd);
	char path[64], link[4096];

	if (n && n->name)
		return n;
	if (r->stream_only || !r->live)
		return NULL;
	link_path(path, sizeof(path), tid, fd);
	ssize_t len = readlink(path, link, sizeof(link));
	if (len < 0)
		return NULL;
	learn(r, tgid, fd, link, (size_t)len);
	n = espy_resolve__find(r, tgid, fd);
	return n && n->name ? n : NULL;
}

static void ask_detail(struct espy_resolve *r, uint32_t tid, struct espy_fd_name *n)
{
	const uint32_t tgid = n->key.tgid;
	struct espy_buf now = { 0 };
	char path[64];

	if (r->gathering && n->detail_asked)
		return;
	n->detail_asked = true;
	link_path(path, sizeof(path), tid, n->key.fd);
	bool known = espy_fd_detail(&now, n->name, path, tid);
	bool same = known ? n->detail && strlen(n->detail) == now.len && !memcmp(n->detail, now.data, now.len)
			  : !n->detail;
	if (!same) {
		espy_resolve__set_detail(n, known ? now.data : NULL, now.len);
		espy_resolve__note(r, ESPY_FACT_FD_DETAIL, tgid, tgid, n->key.fd, now.data,
				   known ? (uint32_t)now.len : ESPY_FACT_NO_ANSWER);
	}
	espy_buf__free(&now);
}

static bool put_fd(void *ctx, uint32_t tid, int fd, struct espy_buf *b)
{
	struct espy_resolve *r = ctx;
	struct espy_fd_name *n = fd < 0 && fd != AT_FDCWD ? NULL : name_of(r, tid, fd);

	if (!n)
		return false;
	if (r->all && r->live)
		ask_detail(r, tid, n);
	const struct espy_buf detail = { .data = n->detail, .len = n->detail ? strlen(n->detail) : 0 };
	espy_fd_text(b, n->name, r->all && n->detail ? &detail : NULL);
	return true;
}

static bool put_comm(void *ctx, uint32_t pid, struct espy_buf *b)
{
	const char *comm = espy_resolve__comm(ctx, pid);

	if (!comm)
		return false;
	espy_buf__putc(b, '<');
	espy_text__quote(b, (const uint8_t *)comm, strlen(comm), ESPY_HEX_NONE, "<>", false);
	espy_buf__putc(b, '>');
	return true;
}

static bool put_ifname(void *ctx, uint32_t index, struct espy_buf *b)
{
	const char *name = espy_resolve__ifname(ctx, index);

	if (!name)
		return false;
	espy_text__quote(b, (const uint8_t *)name, strlen(name), ESPY_HEX_NONE, NULL, false);
	return true;
}

static bool netlink_proto(void *ctx, uint32_t tid, int fd, unsigned *proto)
{
	struct espy_resolve *r = ctx;
	uint32_t tgid = process_of(r, tid);
	struct espy_fd_name *n = espy_resolve__find(r, tgid, fd);
	char path[64], link[64];
	const char *name = n ? n->name : NULL;

	if (n && n->netlink >= 0) {
		*proto = (unsigned)n->netlink;
		return true;
	}
	if (!r->live)
		return false;
	if (!name) {
		link_path(path, sizeof(path), tid, fd);
		ssize_t len = readlink(path, link, sizeof(link) - 1);

		if (len < 0)
			return false;
		link[len] = '\0';
		name = link;
	}
	if (!espy_netlink_proto(name, tid, proto))
		return false;
	n = espy_resolve__entry(r, tgid, fd);
	if (n)
		n->netlink = (int)*proto;
	espy_resolve__note(r, ESPY_FACT_NETLINK, tgid, tgid, fd, proto, 4);
	return true;
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
		.live = true,
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
	espy_resolve__free_facts(r);
	HASH_ITER(hh, r->names, n, next)
	drop(r, n);
}
