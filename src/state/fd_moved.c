/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gives descriptors other names when their files get other names, or lose them. A path of the call that equals a
 * descriptor's name tells the new name. Links may lie between: a new path is asked for, and so is a name of which only
 * the last part equals that of the path. The answer may come late, and then be about another file.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "state/fd_name.h"
#include "state/resolve.h"
#include "state/state.h"

#define GONE " (deleted)"

struct path {
	char text[2 * PATH_MAX];
	bool rooted; /* the directory where it begins is known */
	bool sure;   /* rooted, and no part `..` lies behind one that may be a link */
};

struct move {
	struct espy_resolve *r;
	struct path from, to; /* to.text empty: the file has lost its name */
	bool exchange;
};

/* Tells whether the last parts of a name and of a path are equal. A path begins with a slash, or is empty. */
static bool ends_alike(const char *name, const struct path *p)
{
	return p->text[0] && !strcmp(strrchr(name, '/'), strrchr(p->text, '/'));
}

/* Appends the parts of a path, without empty ones and `.`. p has no links yet. */
static void append(struct path *p, const char *text, size_t len)
{
	size_t used = strlen(p->text);
	size_t clean = used; /* bytes without links */

	for (const char *end = text + len; text < end;) {
		const char *slash = memchr(text, '/', (size_t)(end - text));
		const size_t n = (size_t)((slash ? slash : end) - text);

		if (n == 2 && !memcmp(text, "..", 2)) {
			p->sure &= used <= clean;
			while (used && p->text[--used] != '/')
				;
			clean = used < clean ? used : clean;
		} else if (n && !(n == 1 && *text == '.') && used + n + 2 <= sizeof(p->text)) {
			p->text[used] = '/';
			memcpy(p->text + used + 1, text, n);
			used += n + 1;
		}
		p->text[used] = 0;
		text += n + 1;
	}
}

/* Makes the path that argument reg points to, from the root on. Returns false if it was not captured. */
static bool make_path(struct espy_resolve *r, const struct espy_call_view *v, unsigned reg, struct path *p)
{
	const struct espy_item *it = reg < v->nargs ? espy_call_view__arg_item(v, reg, false) : NULL;
	const struct espy_fd_name *dir;
	const char *text;
	size_t len;

	if (!it && reg < v->nargs)
		it = espy_call_view__arg_item(v, reg, true);
	if (!it)
		return false;
	text = (const char *)espy_item__bytes(it);
	len = strnlen(text, it->len < PATH_MAX ? it->len : PATH_MAX);
	if (!len)
		return false;
	p->rooted = true;
	if (text[0] != '/') {
		const bool at = reg && v->image->plans[v->plan].fd_args >> (reg - 1) & 1;

		dir = espy_resolve__fd(r, v->tid, at ? (int)v->args[reg - 1] : AT_FDCWD, false);
		p->rooted = dir && dir->name[0] == '/';
		if (p->rooted)
			append(p, dir->name, strlen(dir->name) - espy_fd_gone_suffix(dir->name));
	}
	p->sure = p->rooted;
	append(p, text, len);
	return true;
}

/* Writes the name of what was at or below `from`, and is at or below `to`. Returns false if the name is of neither. */
static bool renamed(const struct path *from, const struct path *to, const char *name, char *out, size_t size)
{
	const size_t len = strlen(from->text);

	return from->rooted && to->rooted && !strncmp(name, from->text, len) && (!name[len] || name[len] == '/') &&
	       snprintf(out, size, "%s%s", to->text, name + len) < (int)size;
}

/* Writes the name that a file has after the move, by the paths alone. Returns false if they do not tell it. */
static bool by_path(const struct move *m, const char *name, char *out, size_t size)
{
	const struct path *gone = m->to.text[0] ? &m->to : &m->from;

	if (m->to.text[0] && renamed(&m->from, &m->to, name, out, size))
		return true;
	if (m->exchange)
		return renamed(&m->to, &m->from, name, out, size);
	return gone->rooted && !strcmp(name, gone->text) && snprintf(out, size, "%s" GONE, name) < (int)size;
}

/*
 * Tells whether a descriptor can have got this name by the move. It may be another file by now, or removed since: told, if
 * the paths of the call tell a name.
 */
static bool is_possible(const struct move *m, const char *name, const char *now, bool told)
{
	const size_t len = strlen(name);

	if (now[0] != '/')
		return false;
	return (!told && !strncmp(now, name, len) && !strcmp(now + len, GONE)) || ends_alike(now, &m->to) ||
	       (m->exchange && ends_alike(now, &m->from));
}

static void move_one(void *ctx, uint32_t tgid, const struct espy_fd_name *n)
{
	const struct move *m = ctx;
	char by_text[2 * PATH_MAX + sizeof(GONE)], now[PATH_MAX];

	if (!n->name || n->name[0] != '/' || espy_fd_gone_suffix(n->name))
		return;
	const bool told = by_path(m, n->name, by_text, sizeof(by_text));
	if (!told && !ends_alike(n->name, &m->from) && !ends_alike(n->name, &m->to))
		return;
	if (m->r->lookups->fd_link && (m->to.text[0] || !told || !m->from.sure)) {
		const size_t len = m->r->lookups->fd_link(tgid, n->fd, now, sizeof(now) - 1);

		now[len] = 0;
		if (is_possible(m, n->name, now, told)) {
			espy_resolve__learn(m->r, tgid, n->fd, now, len);
			return;
		}
	}
	if (told)
		espy_resolve__set(m->r, tgid, n->fd, by_text, strlen(by_text));
}

void espy_resolve__moved(struct espy_resolve *r, const struct espy_call_view *v, unsigned from, unsigned to)
{
	struct move m = { .r = r };

	if (!make_path(r, v, from, &m.from) || (to != ESPY_NO_ARG && !make_path(r, v, to, &m.to)))
		return;
	/* Behind the new path renameat2 has its flags. */
	m.exchange = to != ESPY_NO_ARG && to + 1 < v->nargs && v->args[to + 1] & RENAME_EXCHANGE;
	espy_fd_table__each(&r->fds, move_one, &m);
}
