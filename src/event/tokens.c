/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes tokens: their list, the texts that they lead to, and the questions to the resolver. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "describe/constant_names.h"
#include "event/walk_impl.h"

/* More values than any record has, even if a hook makes one of each of its bytes. */
#define TOKENS_MAX (1u << 22)
#define TOKENS_FIRST 256u

struct espy_token *espy_walk_room(struct espy_walk *w)
{
	struct espy_token_list *l = w->out;
	const uint32_t cap = l->cap ? l->cap * 2 : TOKENS_FIRST;
	struct espy_token *at = cap <= TOKENS_MAX ? reallocarray(l->at, cap + ESPY_TOKENS_SPARE, sizeof(*at)) : NULL;

	if (!at)
		return NULL;
	l->at = at;
	l->cap = cap;
	return &at[l->cnt++];
}

void espy_walk_close(struct espy_walk *w, uint32_t open)
{
	struct espy_token_list *l = w->out;

	w->role = ESPY_ROLE_NONE;
	if (open == ESPY_NO_TOKEN)
		return;
	/* The spare room is for the end of a begun group, whatever is left out of it. */
	struct espy_token *t = &l->at[l->cnt];

	*t = (struct espy_token){ .kind = ESPY_TOKEN_CLOSE,
				  .group = l->at[open].group,
				  .shown = w->shown,
				  .link = open,
				  .name = "" };
	l->at[open].link = l->cnt++;
}

/* ---- texts */

#define BLOCK_SIZE (16u * 1024u)

struct espy_decoder_block {
	struct espy_decoder_block *next;
	size_t size;
	char bytes[];
};

const char *espy_walk_keep(struct espy_walk *w, const void *bytes, size_t len)
{
	static const char nothing[sizeof(uint64_t)]; /* a number may be looked for there */
	struct espy_decoder *d = w->d;

	while (!d->block || d->block->size - d->block_used < len + 1) {
		struct espy_decoder_block **next = d->block ? &d->block->next : &d->blocks;

		if (!*next) {
			const size_t size = len + 1 > BLOCK_SIZE ? len + 1 : BLOCK_SIZE;

			*next = malloc(sizeof(**next) + size);
			if (!*next)
				return nothing;
			(*next)->next = NULL;
			(*next)->size = size;
		}
		d->block = *next;
		d->block_used = 0;
	}
	char *to = d->block->bytes + d->block_used;

	memcpy(to, bytes, len);
	to[len] = 0;
	d->block_used += len + 1;
	return to;
}

void espy_walk_free_texts(struct espy_decoder *d)
{
	while (d->blocks) {
		struct espy_decoder_block *next = d->blocks->next;

		free(d->blocks);
		d->blocks = next;
	}
}

static void put_millionths(struct espy_buf *b, uint64_t x)
{
	espy_buf__dec(b, x / 1000000);
	espy_buf__putc(b, '.');
	espy_buf__pad(b, x % 1000000, 6);
}

void espy_walk_remark(struct espy_walk *w, const struct espy_type *t)
{
	const char *text = espy_image__str(w->img, t->name);
	uint64_t number = espy_walk__eval(w, w->scope, t->len_a, w->ok);
	struct espy_buf b = { 0 };

	if (!strcmp(text, "...")) {
		espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
		return;
	}
	if (!strcmp(text, "???")) {
		espy_walk_elided(w, ESPY_ELIDED_UNKNOWN, 0);
		return;
	}
	if (!strcmp(text, "NULL")) {
		espy_walk_address(w, 0);
		return;
	}
	for (; *text; text++) {
		if (*text != '%' || !text[1]) {
			espy_buf__putc(&b, *text);
			continue;
		}
		text++;
		if (*text == 'u')
			espy_buf__dec(&b, number);
		else if (*text == 'd')
			espy_buf__sdec(&b, (int64_t)number);
		else if (*text == 'x')
			espy_buf__hex(&b, number);
		else if (*text == 'f')
			put_millionths(&b, number);
		else
			espy_buf__putc(&b, *text);
		number = espy_walk__eval(w, w->scope, t->len_b, w->ok);
	}
	struct espy_token *k = espy_walk_push(w, ESPY_TOKEN_REMARK);
	k->flags = t->flags & ESPY_TF_BARE ? ESPY_TOKF_STYLED : 0;
	k->len = (uint32_t)b.len;
	k->bytes = (const uint8_t *)(b.len ? espy_walk_keep(w, b.data, b.len) : "");
	espy_buf__free(&b);
}

/* ---- questions to the resolver */

/* Returns the task whose descriptor a number is: the task itself, or the process that the description names; 0: none.
 */
static uint32_t owner_of_fd(const struct espy_walk *w, const struct espy_type *t)
{
	const struct espy_resolver *r = w->d->resolver;

	if (!w->v || !t || t->len_a == ESPY_NONE)
		return w->tid;
	if (t->len_b != ESPY_NONE) /* it is shown as another descriptor of the task is, which the call made */
		return w->ok ? w->tid : 0;
	const uint32_t number = (uint32_t)espy_walk__eval(w, w->scope, t->len_a, w->ok);

	return (int32_t)number > 0 && r->pid ? r->pid(r->ctx, w->tid, number, true) : 0;
}

#define PATH_MOST 4096u

/* Puts an answer of the resolver about number num: a name, and a text about it (NULL: none). */
static void put_answer(struct espy_walk *w, enum espy_token_kind kind, uint64_t num, const char *name, const char *text)
{
	const size_t len = text ? strlen(text) : 0;

	espy_walk_put(w, (struct espy_token){
				  .kind = (uint8_t)kind,
				  .len = (uint32_t)len,
				  .name = espy_walk_keep(w, name, strlen(name)),
				  .num = num,
				  .bytes = text ? (const uint8_t *)espy_walk_keep(w, text, len) : NULL,
			  });
}

/* Puts the security context of a file: at a path that begins at fd, or (path NULL) the descriptor's own. */
static void ask_context(struct espy_walk *w, uint32_t owner, int fd, const char *path)
{
	const struct espy_resolver *r = w->d->resolver;
	struct espy_context_answer a;

	if (r && r->file_context && r->file_context(r->ctx, owner, fd, path, w->d->want.expected, &a))
		put_answer(w, ESPY_TOKEN_CONTEXT, (uint64_t)(int64_t)fd, a.actual, a.expected);
}

/* Returns the descriptor of a directory that was shown last before a path: the path begins there unless it is absolute. */
static int directory_before(const struct espy_walk *w)
{
	for (uint32_t i = w->out->cnt; i; i--) {
		const struct espy_token *k = &w->out->at[i - 1];

		if (k->kind == ESPY_TOKEN_INT && k->fmt == ESPY_FMT_DIRFD)
			return (int)k->num;
	}
	return AT_FDCWD;
}

void espy_walk_path_context(struct espy_walk *w, const uint8_t *bytes, size_t len)
{
	const size_t n = strnlen((const char *)bytes, len);

	if (n < len) /* the path is whole */
		ask_context(w, w->tid, directory_before(w), espy_walk_keep(w, bytes, n));
}

/* Puts the name of the file behind a descriptor, with its details if they are wanted. */
static void put_file(struct espy_walk *w, uint32_t owner, int asked, int fd)
{
	const struct espy_resolver *r = w->d->resolver;
	struct espy_fd_answer a = { 0 };

	if (!r->fd(r->ctx, owner, asked, w->d->want.details, &a))
		return;
	if (strlen(a.name) >= PATH_MOST) /* no path is so long: it could not be used */
		return;
	put_answer(w, ESPY_TOKEN_FD, (uint64_t)(int64_t)fd, a.name, a.detail);
}

/* t: the type of the number; NULL: it is one of a set. */
static void ask_fd(struct espy_walk *w, const struct espy_type *t, int fd)
{
	const uint32_t owner = owner_of_fd(w, t);
	const bool as = w->v && t && t->len_b != ESPY_NONE;

	if (!owner)
		return;
	const int asked = as ? (int)espy_walk__eval(w, w->scope, t->len_b, true) : fd;

	if (w->d->want.paths)
		put_file(w, owner, asked, fd);
	if (w->d->want.contexts && asked >= 0)
		ask_context(w, owner, asked, NULL);
}

void espy_walk_fd_set(struct espy_walk *w, const uint8_t *bits, uint64_t cnt)
{
	if (!(w->asks >> ESPY_FMT_FD & 1))
		return;
	for (uint64_t i = 0; i < cnt; i++)
		if (bits[i / 8] >> (i % 8) & 1)
			ask_fd(w, NULL, (int)i);
}

static void ask_comm(struct espy_walk *w, uint32_t pid)
{
	if (!w->d->want.comms)
		return;

	const struct espy_resolver *r = w->d->resolver;
	const char *comm = r->comm(r->ctx, pid);

	if (comm)
		put_answer(w, ESPY_TOKEN_COMM, pid, comm, NULL);
}

/*
 * Asks for a task by its number in the caller's pid namespace. A task that has ended keeps its number until the result
 * of a call tells its parent of the end; a process group keeps it longer.
 */
static void ask_task(struct espy_walk *w, enum espy_fmt fmt, uint32_t number)
{
	const struct espy_resolver *r = w->d->resolver;
	const bool gone = w->out != &w->d->result || fmt == ESPY_FMT_PGID || fmt == ESPY_FMT_SID;
	const uint32_t pid = r->pid ? r->pid(r->ctx, w->tid, number, gone) : number;

	if (!pid)
		return;
	/* A group or a session is no task: it has the number of one that may do something else by now. */
	if (fmt == ESPY_FMT_PID || fmt == ESPY_FMT_TID)
		ask_comm(w, pid);
	if (w->d->want.pids && pid != number)
		espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_PID, .num = pid, .name = "" });
}

static void put_numbered(struct espy_walk *w, const char *name, uint32_t number)
{
	if (name)
		put_answer(w, ESPY_TOKEN_NUMBERED, number, name, NULL);
}

static void ask_ifname(struct espy_walk *w, uint32_t index)
{
	const struct espy_resolver *r = w->d->resolver;

	put_numbered(w, index ? r->ifname(r->ctx, index) : NULL, index);
}

static void ask_genl(struct espy_walk *w, uint32_t family)
{
	const struct espy_resolver *r = w->d->resolver;
	const uint32_t at = w->out->cnt;

	if (!at || !espy_table__name(w->img, w->out->at[at - 1].link, family, sizeof(uint16_t)))
		put_numbered(w, r->genl(r->ctx, family), family);
}

/* Finds the seconds east of Greenwich. Returns false if the time has no date. */
static bool utc_offset(const struct espy_resolver *r, int64_t sec, int64_t *offset)
{
	time_t at = (time_t)sec;
	struct tm tm;

	if (r && r->utc_offset) {
		*offset = r->utc_offset(r->ctx, sec);
		return !__builtin_add_overflow(at, *offset, &at) && gmtime_r(&at, &tm);
	}
	if (!localtime_r(&at, &tm))
		return false;
	*offset = tm.tm_gmtoff;
	return true;
}

void espy_walk_date(struct espy_walk *w, int64_t sec, int64_t frac, unsigned flags)
{
	int64_t offset;

	if (w->d->want.dates && utc_offset(w->d->resolver, sec, &offset))
		espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_DATE,
						       .flags = (uint16_t)flags,
						       .num = (uint64_t)sec,
						       .want = (uint64_t)frac,
						       .addr = (uint64_t)offset });
}

/* Puts the date of seconds. A field NAME has its nanoseconds in NAME_nsec beside it; a second of more has no date. */
static void date_of(struct espy_walk *w, int64_t sec, const char *name)
{
	char sibling[64];
	uint64_t nsec = 0;
	size_t n = strlen(name);
	bool fraction = false;

	if (n && n + sizeof("_nsec") <= sizeof(sibling)) {
		memcpy(sibling, name, n);
		memcpy(sibling + n, "_nsec", sizeof("_nsec"));
		fraction = espy_walk_sibling(w, sibling, &nsec);
	}
	if ((sec || nsec) && nsec < 1000000000u)
		espy_walk_date(w, sec, fraction ? (int64_t)nsec : 0, 0);
}

/* Makes a set of signals of a number. */
static void make_sigset(struct espy_walk *w, struct espy_token *k)
{
	const char *bytes = espy_walk_keep(w, (const char *)&k->num, k->type->size);

	k->kind = ESPY_TOKEN_BITS;
	k->fmt = ESPY_FMT_SIGNAL;
	k->bytes = (const uint8_t *)bytes;
	k->len = k->type->size;
	k->num = k->len * 8;
}

/* Asks for more about a number, and puts it behind the number. */
static void ask(struct espy_walk *w, enum espy_fmt fmt, uint64_t num, const char *name)
{
	const uint32_t at = w->out->cnt;

	switch (fmt) {
	case ESPY_FMT_FD:
	case ESPY_FMT_DIRFD:
		/* AT_FDCWD has a path only if the call takes a directory */
		if (fmt == ESPY_FMT_FD && (int)num < 0)
			break;
		if (!at || !espy_table__name(w->img, w->out->at[at - 1].link, num, w->out->at[at - 1].type->size))
			ask_fd(w, at ? w->out->at[at - 1].type : NULL, (int)num);
		break;
	case ESPY_FMT_IFINDEX:
		ask_ifname(w, (uint32_t)num);
		break;
	case ESPY_FMT_GENL:
		ask_genl(w, (uint32_t)num);
		break;
	case ESPY_FMT_SIGSET:
		if (at)
			make_sigset(w, &w->out->at[at - 1]);
		break;
	case ESPY_FMT_PAGES:
		if (at) {
			w->out->at[at - 1].fmt = ESPY_FMT_HEX;
			w->out->at[at - 1].type = &espy_number_hex;
			w->out->at[at - 1].num = num << 12;
		}
		break;
	case ESPY_FMT_TIME:
		date_of(w, (int64_t)num, name);
		break;
	default:
		if ((int32_t)num > 0)
			ask_task(w, fmt, (uint32_t)num);
	}
	if (w->out->cnt > at && at)
		w->out->at[at - 1].flags |= ESPY_TOKF_MORE;
}

#define BIT(fmt) (1ull << (fmt))

uint64_t espy_walk_asks(const struct espy_decoder *d)
{
	const struct espy_resolver *r = d->resolver;
	uint64_t fmts = BIT(ESPY_FMT_SIGSET) | BIT(ESPY_FMT_PAGES);

	if (r && ((d->want.paths && r->fd) || (d->want.contexts && r->file_context)))
		fmts |= BIT(ESPY_FMT_FD) | BIT(ESPY_FMT_DIRFD);
	if (r && ((d->want.comms && r->comm) || (d->want.pids && r->pid)))
		fmts |= BIT(ESPY_FMT_PID) | BIT(ESPY_FMT_TID) | BIT(ESPY_FMT_PGID) | BIT(ESPY_FMT_SID);
	if (r && r->ifname)
		fmts |= BIT(ESPY_FMT_IFINDEX);
	if (r && r->genl)
		fmts |= BIT(ESPY_FMT_GENL);
	if (d->want.dates)
		fmts |= BIT(ESPY_FMT_TIME);
	return fmts;
}

void espy_walk_asked_integer(struct espy_walk *w, const struct espy_type *t, uint64_t num, const uint8_t *bytes,
			     size_t len, const char *name)
{
	espy_walk_fill_integer(espy_walk_push(w, ESPY_TOKEN_INT), t, num, bytes, len, name);
	if (w->asks >> (t->fmt & 63) & 1)
		ask(w, (enum espy_fmt)t->fmt, num, name);
}

void espy_walk_integer_as(struct espy_walk *w, const struct espy_type *t, enum espy_fmt fmt, uint64_t num, const char *name)
{
	struct espy_token *k = espy_walk_push(w, ESPY_TOKEN_INT);

	k->fmt = (uint8_t)fmt;
	k->link = t->table;
	k->type = t;
	k->num = num;
	if (!k->role)
		k->name = name;
	if (w->asks >> fmt & 1)
		ask(w, fmt, num, name);
}
