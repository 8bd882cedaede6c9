/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors of each process, kept from the stream. The lookups answer the questions that the stream leaves open. */
#include "state/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/align.h"
#include "base/array.h"
#include "state/socket_ask.h"
#include "state/socket_text.h"
#include "state/state.h"

/* A FDNAME record, or a fact learned behind it, that waits for the call to which it belongs. */
struct fd_news {
	uint32_t tgid;
	int32_t fd;
	char *name;
	struct espy_rec_fact *fact; /* NULL: a name */
	bool late;		    /* not before the call is shown */
};

/* More descriptors than one call can make: SCM_RIGHTS brings 253 at most. */
#define NEWS_MAX 1024u

/* Returns the plan of a call, which tells its effect on descriptors. It may come from a trace. */
static const struct espy_plan *plan_of(const struct espy_call_view *v)
{
	static const struct espy_plan none = { .effect = ESPY_EFFECT_NONE };

	return v->call != ESPY_NONE && v->plan < v->image->plan_cnt ? &v->image->plans[v->plan] : &none;
}

/* Returns argument A or B of the plan's effect. */
static uint64_t arg(const struct espy_call_view *v, unsigned n)
{
	return n < ESPY_MAX_ARGS ? v->args[n] : 0;
}

static uint64_t arg_a(const struct espy_call_view *v)
{
	return arg(v, ESPY_EFFECT_A(plan_of(v)->effect_args));
}

static uint64_t arg_b(const struct espy_call_view *v)
{
	return arg(v, ESPY_EFFECT_B(plan_of(v)->effect_args));
}

bool espy_state__needs_call(const struct espy_image *img, uint32_t nr)
{
	switch (img->plans[img->call_plans[nr].plan].effect) {
	case ESPY_EFFECT_CLOSES:
	case ESPY_EFFECT_CLOSES_RANGE:
	case ESPY_EFFECT_REPLACES:
	case ESPY_EFFECT_CHANGES_CWD:
	case ESPY_EFFECT_MOVES:
		return true;
	default:
		return img->plans[img->call_plans[nr].plan].flags & ESPY_PLAN_NEW_IMAGE;
	}
}

/* Bounds the length of a foreign text by that of an answer. */
static size_t bounded(size_t len)
{
	return len < ESPY_ANSWER_MAX ? len : ESPY_ANSWER_MAX;
}

void espy_resolve__set(struct espy_resolve *r, uint32_t tgid, int fd, const char *name, size_t len)
{
	struct espy_fd_name *n = espy_fd_table__entry(&r->fds, tgid, fd);

	if (!n)
		return;
	espy_fd_table__set_name(&r->fds, n, name, bounded(len));
	n->named_at = r->record;
}

static void apply_each_news(struct espy_resolve *r, bool late)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->news_cnt; i++) {
		struct fd_news *n = &r->news[i];

		if (n->late && !late) {
			r->news[kept++] = *n;
			continue;
		}
		if (n->fact)
			espy_resolve__apply_fact(r, n->fact);
		else if (n->name)
			espy_resolve__set(r, n->tgid, n->fd, n->name, strlen(n->name));
		free(n->name);
		free(n->fact);
	}
	r->news_cnt = kept;
}

/* Applies the waiting news. late: also news that wait until the call is shown. Most calls bring none. */
static inline void apply_news(struct espy_resolve *r, bool late)
{
	if (r->news_cnt)
		apply_each_news(r, late);
	r->stream_only = false;
	r->news_taken = true;
}

static int add_news(struct espy_resolve *r, struct fd_news news)
{
	/* No call can make so many: no call takes them. */
	if (r->news_cnt == NEWS_MAX)
		apply_news(r, true);
	if (!espy_array__grow(r->news, r->news_cnt, r->news_cap)) {
		free(news.name);
		free(news.fact);
		return -ENOMEM;
	}
	r->news[r->news_cnt++] = news;
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

	news.late = f->rec.flags & ESPY_FACT_AFTER_ARGS;
	if (f->rec.flags & (ESPY_FACT_AFTER_NAMES | ESPY_FACT_AFTER_ARGS) && f->rec.size <= sizeof(*f) + ESPY_ANSWER_MAX)
		news.fact = malloc(f->rec.size);
	if (!news.fact) {
		espy_resolve__apply_fact(r, f);
		return;
	}
	memcpy(news.fact, f, f->rec.size);
	add_news(r, news);
}

int espy_resolve__dump_news(struct espy_resolve *r, espy_record_fn fn, void *ctx)
{
	int stop = 0;

	struct {
		struct espy_rec_fdname f;
		char name[ESPY_ANSWER_MAX + 8];
	} rec;

	for (size_t i = 0; i < r->news_cnt && !stop; i++) {
		const struct fd_news *n = &r->news[i];

		if (n->fact)
			stop = fn(ctx, &n->fact->rec);
		if (n->fact || !n->name)
			continue;
		const size_t len = strlen(n->name) + 1, size = espy_pad8(sizeof(rec.f) + len);

		memset(&rec, 0, size);
		rec.f = (struct espy_rec_fdname){ .rec = { .size = (uint32_t)size,
							   .type = ESPY_REC_FDNAME,
							   .tid = n->tgid,
							   .tgid = n->tgid,
							   .time_ns = r->now_ns },
						  .fd = n->fd,
						  .name_sz = (uint32_t)len };
		memcpy(rec.name, n->name, len);
		stop = fn(ctx, &rec.f.rec);
	}
	return stop;
}

void espy_resolve__begin(struct espy_resolve *r, uint64_t time_ns)
{
	r->record++;
	r->now_ns = time_ns;
	r->news_taken = r->call_shown = false;
}

/* Tells whether no unwatched call can change the detail: that of a device, or of a connection with both ends. */
static bool is_final(const struct espy_fd_name *n)
{
	return (n->name && n->name[0] == '/') || (n->detail && strstr(n->detail, "->"));
}

static void ask_again(struct espy_resolve *r, const struct espy_call_view *v)
{
	struct espy_fd_name *n = espy_fd_table__find(&r->fds, v->tgid, (int)arg_a(v));

	if (n && !n->told && !is_final(n))
		n->detail_asked = false;
}

void espy_resolve__before_args(struct espy_resolve *r, const struct espy_call_view *v)
{
	const unsigned e = plan_of(v)->effect;

	if (e == ESPY_EFFECT_CHANGES_SOCKET || e == ESPY_EFFECT_SENDS)
		ask_again(r, v);

	/*
	 * dup3(3, 30): the argument 30 is the file before the call, the result the file behind it. A connected socket
	 * is alike, but if the stream has told nothing of it, /proc may. After EBADF the number may be open by now:
	 * /proc would name another file.
	 */
	r->stream_only = e == ESPY_EFFECT_REPLACES || v->ret == -EBADF;
	if (!r->stream_only && e != ESPY_EFFECT_CHANGES_SOCKET)
		apply_news(r, false);
}

void espy_resolve__before_result(struct espy_resolve *r)
{
	apply_news(r, false);
}

void espy_resolve__call_shown(struct espy_resolve *r)
{
	r->call_shown = true;
	apply_news(r, true);
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
	switch (plan_of(v)->effect) {
	case ESPY_EFFECT_CLOSES:
		close_range_of(r, v->tgid, (uint32_t)arg_a(v), (uint32_t)arg_a(v));
		break;
	case ESPY_EFFECT_CLOSES_RANGE:
		close_range_of(r, v->tgid, (uint32_t)arg_a(v), (uint32_t)arg_b(v));
		break;
	case ESPY_EFFECT_MAKES_SOCKET:
		n = (int)arg_a(v) == AF_NETLINK ? espy_fd_table__entry(&r->fds, v->tgid, (int)v->ret) : NULL;
		if (n)
			n->netlink = (int)arg_b(v);
		r->netlink |= n != NULL;
		break;
	case ESPY_EFFECT_REPLACES:
		n = espy_fd_table__find(&r->fds, v->tgid, (int)v->ret);
		if (n && !n->told) {
			const struct espy_fd_name *from = espy_fd_table__find(&r->fds, v->tgid, (int)arg_b(v));

			n->netlink = from ? from->netlink : ESPY_NETLINK_UNKNOWN;
		}
		break;
	case ESPY_EFFECT_CHANGES_CWD:
		n = espy_fd_table__find(&r->fds, v->tgid, AT_FDCWD);
		if (n && n->named_at == r->record)
			break; /* this call has told it */
		espy_fd_table__drop(&r->fds, v->tgid, (uint32_t)AT_FDCWD, (uint32_t)AT_FDCWD, NULL, NULL);
		break;
	case ESPY_EFFECT_RENAMES:
		if (!v->ret)
			espy_resolve__comm_changed(r, v->tid);
		break;
	case ESPY_EFFECT_MOVES:
		espy_resolve__moved(r, v, ESPY_EFFECT_A(plan_of(v)->effect_args),
				    ESPY_EFFECT_B(plan_of(v)->effect_args));
		break;
	case ESPY_EFFECT_SENDS:
		n = espy_fd_table__find(&r->fds, v->tgid, (int)arg_a(v));
		if (n && n->unbound)
			n->detail_asked = false;
		break;
	default:
		break;
	}
}

bool espy_resolve__maps_file(const struct espy_call_view *v)
{
	return v->image->abi == ESPY_ABI_NATIVE && plan_of(v)->effect == ESPY_EFFECT_MAPS;
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

void espy_resolve__learn(struct espy_resolve *r, uint32_t tgid, int fd, const char *link, size_t len)
{
	espy_resolve__set(r, tgid, fd, link, len);
	espy_resolve__note(r, ESPY_FACT_FD_LINK, tgid, tgid, fd, link, (uint32_t)len);
}

struct seed {
	struct espy_resolve *r;
	uint32_t tgid;
};

static void begin_seed(void *ctx)
{
	const struct seed *s = ctx;

	espy_fd_table__drop(&s->r->fds, s->tgid, 0, INT_MAX, NULL, NULL);
}

static void seed_fd(void *ctx, int fd, const char *link, size_t len)
{
	const struct seed *s = ctx;

	espy_resolve__learn(s->r, s->tgid, fd, link, len);
}

void espy_resolve__seed(struct espy_resolve *r, uint32_t tgid, bool ours)
{
	struct seed s = { .r = r, .tgid = tgid };

	if (r->lookups->each_fd)
		r->lookups->each_fd(tgid, ours, begin_seed, seed_fd, &s);
}

/* Asks for the open descriptors of a process. Returns false if it has ended. */
static bool ask_open_fds(struct espy_resolve *r, uint32_t tgid)
{
	uint32_t fds[8 * sizeof(r->open_fds)];
	size_t all = r->lookups->open_fds(tgid, fds, sizeof(fds) / sizeof(fds[0])), cnt = 0;

	memset(r->open_fds, 0, sizeof(r->open_fds));
	for (size_t i = 0; i < all; i++) {
		if (fds[i] >= 8 * sizeof(r->open_fds))
			continue;
		r->open_fds[fds[i] / 64] |= UINT64_C(1) << (fds[i] % 64);
		fds[cnt++] = fds[i];
	}
	if (!cnt)
		return false;
	espy_resolve__note(r, ESPY_FACT_OPEN_FDS, tgid, tgid, 0, fds, (uint32_t)cnt * 4);
	return true;
}

static bool was_closed(void *ctx, const struct espy_fd_name *n)
{
	const struct espy_resolve *r = ctx;

	return !(r->open_fds[n->fd / 64] >> (n->fd % 64) & 1);
}

/*
 * Forgets the descriptors that an exec has closed and no record tells: /proc has lost them. It takes no name from
 * there, since the program may have gone on by now. The standard ones stay: programs close them at their end, which is
 * when short programs are looked at.
 */
void espy_resolve__exec(struct espy_resolve *r, uint32_t tgid)
{
	if (r->open_fds_of != tgid && !(r->lookups->open_fds && ask_open_fds(r, tgid)))
		return;
	r->open_fds_of = 0;
	espy_fd_table__drop(&r->fds, tgid, 3, 8 * sizeof(r->open_fds) - 1, was_closed, r);
}

/* Returns the entry of a descriptor whose name is known or can be asked for; else NULL. */
static struct espy_fd_name *name_of(struct espy_resolve *r, uint32_t tid, uint32_t tgid, int fd)
{
	struct espy_fd_name *n = espy_fd_table__find(&r->fds, tgid, fd);
	char link[4096];

	if (n && n->name)
		return n;
	if (r->stream_only || !r->lookups->fd_link)
		return NULL;
	const size_t len = r->lookups->fd_link(tid, fd, link, sizeof(link));
	if (!len)
		return NULL;
	espy_resolve__learn(r, tgid, fd, link, len);
	n = espy_fd_table__find(&r->fds, tgid, fd);
	return n && n->name ? n : NULL;
}

/*
 * Asks again for a socket that the stream told of, since it may have changed: by its inode, as its number may be
 * another file's by now. The protocol stays.
 */
static bool ask_told(struct espy_resolve *r, struct espy_fd_name *n, uint32_t tid, struct espy_buf *to)
{
	struct espy_fact_socket s;
	unsigned long ino;
	char proto[16];

	if (!n->detail || !espy_socket_inode(n->name, &ino))
		return false;
	snprintf(proto, sizeof(proto), "%.*s", (int)strcspn(n->detail, ":"), n->detail);
	if (!r->lookups->socket || !r->lookups->socket(tid, ino, proto, &s))
		return false;
	n->unbound = espy_socket_is_unbound(&s);
	return espy_socket_text(to, &s);
}

/* Tells whether a detail stays true when the task is gone: not that of an anonymous inode. */
static bool stays_true(const struct espy_fd_name *n)
{
	return n->detail && strncmp(n->name, "anon_inode:", strlen("anon_inode:"));
}

static void ask_detail(struct espy_resolve *r, uint32_t tid, uint32_t tgid, struct espy_fd_name *n)
{
	struct espy_buf now = { 0 };

	if (n->detail_asked && (n->told || n->asked_at == r->record || is_final(n)))
		return;
	n->asked_at = r->record;
	n->detail_asked = true;
	bool known = n->told ? ask_told(r, n, tid, &now) : r->lookups->fd_detail(tid, n->fd, n->name, &now);
	bool same = known ? n->detail && strlen(n->detail) == now.len && !memcmp(n->detail, now.data, now.len)
			  : !n->detail || stays_true(n);
	if (!same) {
		espy_fd_table__set_detail(&r->fds, n, known ? now.data : NULL, now.len);
		espy_resolve__note(r, ESPY_FACT_FD_DETAIL, tgid, tgid, n->fd, now.data,
				   known ? (uint32_t)now.len : ESPY_FACT_NO_ANSWER);
	}
	espy_buf__free(&now);
}

/* Adds the peer to the detail of a socket that the stream told of before its connection was accepted. */
static void complete_pair(struct espy_resolve *r, struct espy_fd_name *n)
{
	char text[ESPY_ANSWER_MAX];
	unsigned long ino;
	int at;

	if (!n->told || !n->detail || n->pairs == r->pair_cnt)
		return;
	n->pairs = r->pair_cnt;
	if (sscanf(n->detail, "UNIX-STREAM:[%lu%n", &ino, &at) != 1 || n->detail[at] == '-')
		return;
	for (uint32_t i = 0; i < ESPY_PAIRS && i < r->pair_cnt; i++) {
		if (r->pairs[i].ino != ino)
			continue;
		const int len = snprintf(text, sizeof(text), "%.*s->%llu%s", at, n->detail,
					 (unsigned long long)r->pairs[i].peer, n->detail + at);
		if (len > 0 && (size_t)len < sizeof(text))
			espy_fd_table__set_detail(&r->fds, n, text, (size_t)len);
		return;
	}
}

static uint32_t process_of(const struct espy_resolve *r, uint32_t tid)
{
	const struct espy_task *task = espy_tasks__find(r->tasks, tid);

	return task ? task->tgid : tid;
}

struct espy_fd_name *espy_resolve__fd(struct espy_resolve *r, uint32_t tid, int fd, bool details)
{
	const uint32_t tgid = process_of(r, tid);
	struct espy_fd_name *n = fd < 0 && fd != AT_FDCWD ? NULL : name_of(r, tid, tgid, fd);

	if (n && details)
		complete_pair(r, n);
	if (n && details && r->lookups->fd_detail && !(r->ask_once && n->detail_asked))
		ask_detail(r, tid, tgid, n);
	return n;
}

static bool netlink_proto(void *resolve, uint32_t tid, int fd, unsigned *proto)
{
	struct espy_resolve *r = resolve;
	const uint32_t tgid = process_of(r, tid);
	struct espy_fd_name *n = espy_fd_table__find(&r->fds, tgid, fd);

	if (n && n->netlink != ESPY_NETLINK_UNKNOWN) {
		*proto = (unsigned)n->netlink;
		return n->netlink >= 0;
	}
	if (!r->lookups->netlink)
		return false;
	const bool is = r->lookups->netlink(tid, fd, n ? n->name : NULL, proto);
	n = espy_fd_table__entry(&r->fds, tgid, fd);
	if (n)
		n->netlink = is ? (int)*proto : ESPY_NETLINK_NONE;
	if (is) {
		r->netlink = true;
		espy_resolve__note(r, ESPY_FACT_NETLINK, tgid, tgid, fd, proto, 4);
	}
	return is;
}

static bool ask_fd(void *resolve, uint32_t tid, int fd, bool details, struct espy_fd_answer *answer)
{
	const struct espy_fd_name *n = espy_resolve__fd(resolve, tid, fd, details);

	if (n)
		*answer = (struct espy_fd_answer){ .name = n->name, .detail = details ? n->detail : NULL };
	return n;
}

/* Contexts are no part of a trace: most recordings would pay for a question for each path, and show none. */
static const char *ask_task_context(void *resolve, uint32_t tid)
{
	struct espy_resolve *r = resolve;
	const size_t len =
		r->lookups->task_context ? r->lookups->task_context(tid, r->context, sizeof(r->context) - 1) : 0;

	r->context[len] = '\0';
	return len ? r->context : NULL;
}

static bool ask_file_context(void *resolve, uint32_t tid, int fd, const char *path, bool expected,
			     struct espy_context_answer *answer)
{
	struct espy_resolve *r = resolve;
	const size_t len = r->lookups->file_context ? r->lookups->file_context(tid, fd, path, expected, r->context,
									       sizeof(r->context) - 1)
						    : 0;

	r->context[len] = '\0';
	const size_t first = strlen(r->context);

	*answer = (struct espy_context_answer){ .actual = r->context,
						.expected = first < len ? r->context + first + 1 : NULL };
	return len;
}

static bool ask_interrupted(void *resolve, uint32_t tid, unsigned *nr)
{
	const struct espy_resolve *r = resolve;
	const struct espy_task *task = espy_tasks__find(r->tasks, tid);

	if (!task || task->interrupted_nr == ESPY_NR_UNKNOWN)
		return false;
	*nr = task->interrupted_nr;
	return true;
}

static int32_t utc_offset(void *resolve, int64_t sec)
{
	return espy_zone__offset(((const struct espy_resolve *)resolve)->zone, sec);
}

struct espy_resolver espy_resolve__resolver(struct espy_resolve *r)
{
	return (struct espy_resolver){
		.ctx = r,
		.fd = ask_fd,
		.comm = espy_resolve__comm,
		.pid = espy_resolve__pid,
		.ifname = espy_resolve__ifname,
		.genl = espy_resolve__genl,
		.namespaces = espy_resolve__namespaces,
		.vcpu_exit = espy_resolve__vcpu_exit,
		.task_context = ask_task_context,
		.file_context = ask_file_context,
		.netlink_proto = netlink_proto,
		.interrupted = ask_interrupted,
		.utc_offset = r->zone->cnt ? utc_offset : NULL,
	};
}

void espy_resolve__clear(struct espy_resolve *r)
{
	apply_news(r, true);
	free(r->news);
	espy_resolve__clear_names(r);
	espy_fd_table__free(&r->fds);
}
