/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors of each process, kept from the stream; and the resolver, which asks the tables first. */
#include "session/resolve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "session/fd_text.h"
#include "session/resolve_impl.h"
#include "session/socket_text.h"

/* A FDNAME record, or a fact that was asked for with it known, that waits for the call that it belongs to. */
struct fd_news {
	uint32_t tgid;
	int32_t fd;
	char *name;
	struct espy_rec_fact *fact; /* NULL: a name */
};

/* Descriptors that one call can make, and more: SCM_RIGHTS brings 253 at most. */
#define NEWS_MAX 1024u

/* What calls do to descriptors, beyond making one (for that the source sends FDNAME records). */
enum fd_effect {
	FD_NOTHING,
	FD_CLOSES_ONE,
	FD_CLOSES_RANGE,
	FD_MAKES_SOCKET,
	FD_REPLACES,
	FD_CHANGES_CWD,
	FD_CHANGES_SOCKET, /* its address or its peer */
	FD_SENDS,	   /* may give it an address */
	FD_RENAMES_TASK,
	FD_MAPS_FILE,
};
static const struct {
	const char *call;
	enum fd_effect effect;
} fd_effects[] = {
	{ "close", FD_CLOSES_ONE },	  { "close_range", FD_CLOSES_RANGE },
	{ "socket", FD_MAKES_SOCKET },	  { "dup2", FD_REPLACES },
	{ "dup3", FD_REPLACES },	  { "chdir", FD_CHANGES_CWD },
	{ "fchdir", FD_CHANGES_CWD },	  { "bind", FD_CHANGES_SOCKET },
	{ "connect", FD_CHANGES_SOCKET }, { "listen", FD_CHANGES_SOCKET },
	{ "sendto", FD_SENDS },		  { "sendmsg", FD_SENDS },
	{ "prctl", FD_RENAMES_TASK },	  { "mmap", FD_MAPS_FILE },
};

static enum fd_effect effect_of(const char *name)
{
	for (size_t i = 0; i < sizeof(fd_effects) / sizeof(fd_effects[0]); i++)
		if (!strcmp(name, fd_effects[i].call))
			return fd_effects[i].effect;
	return FD_NOTHING;
}

static enum fd_effect effect_on_fds(const struct espy_resolve *r, const struct espy_call_view *v)
{
	return v->nr < ESPY_MAX_SYSCALLS ? (enum fd_effect)r->effects[v->image->abi][v->nr] : FD_NOTHING;
}

bool espy_resolve__needs_call(const char *name)
{
	enum fd_effect e = effect_of(name);

	return e == FD_CLOSES_ONE || e == FD_CLOSES_RANGE || e == FD_REPLACES || e == FD_CHANGES_CWD;
}

/* What is told of a text that is foreign: no control characters, and no longer than an answer can be. */
static size_t bounded(size_t len)
{
	return len < ESPY_ANSWER_MAX ? len : ESPY_ANSWER_MAX;
}

void espy_resolve__set(struct espy_resolve *r, uint32_t tgid, int fd, const char *name, size_t len)
{
	struct espy_fd_name *n = espy_fd_table__entry(&r->fds, tgid, fd);

	if (n)
		espy_fd_table__set_name(&r->fds, n, name, bounded(len));
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

static int add_news(struct espy_resolve *r, struct fd_news news)
{
	/* More than any call can make: nothing takes them, so they are of no call. */
	if (r->news_cnt == NEWS_MAX)
		apply_news(r);
	struct fd_news *p = r->news_cnt < r->news_cap ? r->news : reallocarray(r->news, r->news_cap + 16, sizeof(*p));

	if (!p) {
		free(news.name);
		free(news.fact);
		return -ENOMEM;
	}
	if (r->news_cnt == r->news_cap)
		r->news_cap += 16;
	r->news = p;
	p[r->news_cnt++] = news;
	return 0;
}

int espy_resolve__fdname(struct espy_resolve *r, const struct espy_rec_fdname *rec)
{
	size_t room = rec->rec.size - sizeof(*rec);
	size_t len = strnlen((const char *)(rec + 1), bounded(rec->name_sz < room ? rec->name_sz : room));

	if (rec->rec.flags & ESPY_FDNAME_ALONE) {
		espy_resolve__set(r, rec->rec.tgid, rec->fd, (const char *)(rec + 1), len);
		return 0;
	}
	return add_news(r, (struct fd_news){ .tgid = rec->rec.tgid,
					     .fd = rec->fd,
					     .name = strndup((const char *)(rec + 1), len) });
}

void espy_resolve__fact(struct espy_resolve *r, const struct espy_rec_fact *f)
{
	struct fd_news news = { 0 };

	if (f->rec.flags & ESPY_FACT_AFTER_NAMES && f->rec.size <= sizeof(*f) + ESPY_ANSWER_MAX)
		news.fact = malloc(f->rec.size);
	if (!news.fact) {
		espy_resolve__apply_fact(r, f);
		return;
	}
	memcpy(news.fact, f, f->rec.size);
	add_news(r, news);
}

void espy_resolve__dump_news(struct espy_resolve *r, espy_record_fn fn, void *ctx)
{
	struct {
		struct espy_rec_fdname f;
		char name[ESPY_ANSWER_MAX + 8];
	} rec;

	for (size_t i = 0; i < r->news_cnt; i++) {
		const struct fd_news *n = &r->news[i];

		if (n->fact)
			fn(ctx, &n->fact->rec);
		if (n->fact || !n->name)
			continue;
		const size_t len = strlen(n->name) + 1, size = (sizeof(rec.f) + len + 7) & ~(size_t)7;

		memset(&rec, 0, size);
		rec.f = (struct espy_rec_fdname){ .rec = { .size = (uint32_t)size,
							   .type = ESPY_REC_FDNAME,
							   .tid = n->tgid,
							   .tgid = n->tgid,
							   .time_ns = r->now_ns },
						  .fd = n->fd,
						  .name_sz = (uint32_t)len };
		memcpy(rec.name, n->name, len);
		fn(ctx, &rec.f.rec);
	}
}

void espy_resolve__begin(struct espy_resolve *r, uint64_t time_ns)
{
	r->record++;
	r->now_ns = time_ns;
	r->news_taken = false;
}

void espy_resolve__before_args(struct espy_resolve *r, const struct espy_call_view *v)
{
	const enum fd_effect e = effect_on_fds(r, v);

	/*
	 * dup3(3, 30): as an argument 30 is what it was before the call, as the result what it is now. The same is true
	 * of a socket that is connected; but of that /proc may be asked if nothing was ever told. What was not open (EBADF)
	 * may be by now: /proc would tell of another file.
	 */
	r->stream_only = e == FD_REPLACES || v->ret == -EBADF;
	if (!r->stream_only && e != FD_CHANGES_SOCKET)
		apply_news(r);
}

void espy_resolve__before_result(struct espy_resolve *r)
{
	apply_news(r);
}

static void close_range_of(struct espy_resolve *r, uint32_t tgid, uint32_t first, uint32_t last)
{
	espy_fd_table__drop(&r->fds, tgid, first, last < INT_MAX ? last : INT_MAX, NULL, NULL);
}

void espy_resolve__call(struct espy_resolve *r, const struct espy_call_view *v)
{
	struct espy_fd_name *n;

	if (v->ret < 0)
		return;
	switch (effect_on_fds(r, v)) {
	case FD_CLOSES_ONE:
		close_range_of(r, v->tgid, (uint32_t)v->args[0], (uint32_t)v->args[0]);
		break;
	case FD_CLOSES_RANGE:
		close_range_of(r, v->tgid, (uint32_t)v->args[0], (uint32_t)v->args[1]);
		break;
	case FD_MAKES_SOCKET:
		n = (int)v->args[0] == AF_NETLINK ? espy_fd_table__entry(&r->fds, v->tgid, (int)v->ret) : NULL;
		if (n)
			n->netlink = (int)v->args[2];
		r->netlink |= n != NULL;
		break;
	case FD_CHANGES_CWD:
		espy_fd_table__drop(&r->fds, v->tgid, (uint32_t)AT_FDCWD, (uint32_t)AT_FDCWD, NULL, NULL);
		break;
	case FD_SENDS:
		n = espy_fd_table__find(&r->fds, v->tgid, (int)v->args[0]);
		if (n && n->unbound)
			n->detail_asked = false;
		break;
	default:
		break;
	}
}

bool espy_resolve__changes_socket(const struct espy_resolve *r, const struct espy_call_view *v)
{
	const enum fd_effect e = effect_on_fds(r, v);

	return e == FD_CHANGES_SOCKET || e == FD_SENDS;
}

bool espy_resolve__maps_file(const struct espy_resolve *r, const struct espy_call_view *v)
{
	return v->image->abi == ESPY_ABI_X86_64 && effect_on_fds(r, v) == FD_MAPS_FILE;
}

bool espy_resolve__renames_task(const struct espy_resolve *r, const struct espy_call_view *v)
{
	return effect_on_fds(r, v) == FD_RENAMES_TASK && v->args[0] == PR_SET_NAME;
}

void espy_resolve__fork(struct espy_resolve *r, const struct espy_rec_fork *f)
{
	espy_resolve__copy_comm(r, f->rec.tid, f->child_tid);
	espy_fd_table__fork(&r->fds, f->rec.tgid, f->child_tgid);
}

void espy_resolve__forget(struct espy_resolve *r, uint32_t tid, uint32_t tgid, bool process)
{
	espy_resolve__forget_comm(r, tid);
	if (process)
		espy_fd_table__forget(&r->fds, tgid);
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

	snprintf(path, sizeof(path), "/proc/%s/fd", from);
	DIR *d = opendir(path);
	if (!d)
		return; /* it has ended meanwhile: what was known before is the best there is */
	espy_fd_table__drop(&r->fds, tgid, 0, INT_MAX, NULL, NULL);
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

static bool was_closed(void *ctx, const struct espy_fd_name *n)
{
	const struct espy_resolve *r = ctx;

	return !(r->open_fds[n->fd / 64] >> (n->fd % 64) & 1);
}

/*
 * A new image: exec has closed some descriptors, which no record tells. Those that are gone from /proc are forgotten;
 * no name is taken from there, since by now the program may have gone on. The standard ones stay even if they are
 * gone: programs close them at their end, and that is when short ones are looked at.
 */
void espy_resolve__exec(struct espy_resolve *r, uint32_t tgid)
{
	if (r->live ? !ask_open_fds(r, tgid) : r->open_fds_of != tgid)
		return;
	r->open_fds_of = 0;
	espy_fd_table__drop(&r->fds, tgid, 3, 8 * sizeof(r->open_fds) - 1, was_closed, r);
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
static struct espy_fd_name *name_of(struct espy_resolve *r, uint32_t tid, uint32_t tgid, int fd)
{
	struct espy_fd_name *n = espy_fd_table__find(&r->fds, tgid, fd);
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
	n = espy_fd_table__find(&r->fds, tgid, fd);
	return n && n->name ? n : NULL;
}

/*
 * What is known of a socket by the stream, and may have changed since: asked by its inode, as its number may be another
 * file's meanwhile. The protocol stays what it was.
 */
static bool ask_told(struct espy_fd_name *n, uint32_t tid, struct espy_buf *to)
{
	struct espy_fact_socket s;
	unsigned long ino;
	char proto[16];

	if (!n->detail || !espy_socket_inode(n->name, &ino))
		return false;
	snprintf(proto, sizeof(proto), "%.*s", (int)strcspn(n->detail, ":"), n->detail);
	if (!espy_socket_ask(&s, proto, ino, tid))
		return false;
	n->unbound = espy_socket_is_unbound(&s);
	return espy_socket_text(to, &s);
}

/* What a socket or a device was stays true when nobody can be asked any more; what an anonymous inode holds does not. */
static bool stays_true(const struct espy_fd_name *n)
{
	return n->detail && strncmp(n->name, "anon_inode:", strlen("anon_inode:"));
}

static void ask_detail(struct espy_resolve *r, uint32_t tid, uint32_t tgid, struct espy_fd_name *n)
{
	struct espy_buf now = { 0 };
	char path[64];

	if (n->detail_asked && (n->told || n->asked_at == r->record))
		return;
	n->asked_at = r->record;
	n->detail_asked = true;
	link_path(path, sizeof(path), tid, n->fd);
	bool known = n->told ? ask_told(n, tid, &now) : espy_fd_detail(&now, n->name, path, tid);
	bool same = known ? n->detail && strlen(n->detail) == now.len && !memcmp(n->detail, now.data, now.len)
			  : !n->detail || stays_true(n);
	if (!same) {
		espy_fd_table__set_detail(&r->fds, n, known ? now.data : NULL, now.len);
		espy_resolve__note(r, ESPY_FACT_FD_DETAIL, tgid, tgid, n->fd, now.data,
				   known ? (uint32_t)now.len : ESPY_FACT_NO_ANSWER);
	}
	espy_buf__free(&now);
}

void espy_resolve__ask_fd(struct espy_resolve *r, uint32_t tid, uint32_t tgid, int fd)
{
	struct espy_fd_name *n = fd < 0 && fd != AT_FDCWD ? NULL : name_of(r, tid, tgid, fd);

	if (n && r->all && r->live && !(r->gathering && n->detail_asked))
		ask_detail(r, tid, tgid, n);
}

static bool put_fd(void *ctx, uint32_t tid, int fd, struct espy_buf *b)
{
	struct espy_resolve *r = ctx;
	const uint32_t tgid = process_of(r, tid);
	struct espy_fd_name *n = fd < 0 && fd != AT_FDCWD ? NULL : name_of(r, tid, tgid, fd);

	if (!n)
		return false;
	if (r->all && r->live)
		ask_detail(r, tid, tgid, n);
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
	struct espy_fd_name *n = espy_fd_table__find(&r->fds, tgid, fd);
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
	n = espy_fd_table__entry(&r->fds, tgid, fd);
	if (n)
		n->netlink = (int)*proto;
	r->netlink = true;
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
	apply_news(r);
	free(r->news);
	espy_resolve__free_facts(r);
	espy_fd_table__free(&r->fds);
}
