/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/fd_table.h"

#include <stdlib.h>
#include <string.h>

/* A descriptor below this is found by its number alone. Nearly all are. */
#define LOW_FDS 1024u

struct espy_fd_process {
	uint32_t tgid;
	uint32_t low_cnt;	   /* of low */
	struct espy_fd_name **low; /* by number; grows */
	struct espy_fd_name *high; /* all others: large numbers, AT_FDCWD */
	UT_hash_handle hh;
};

static struct espy_fd_process *process_of(struct espy_fd_table *t, uint32_t tgid)
{
	struct espy_fd_process *p = t->last;

	if (p && p->tgid == tgid)
		return p;
	HASH_FIND(hh, t->by_tgid, &tgid, sizeof(tgid), p);
	if (p)
		t->last = p;
	return p;
}

static struct espy_fd_name *find_in(struct espy_fd_process *p, int fd)
{
	struct espy_fd_name *n;

	if ((uint32_t)fd < LOW_FDS)
		return (uint32_t)fd < p->low_cnt ? p->low[fd] : NULL;
	HASH_FIND(hh, p->high, &fd, sizeof(fd), n);
	return n;
}

struct espy_fd_name *espy_fd_table__find(struct espy_fd_table *t, uint32_t tgid, int fd)
{
	struct espy_fd_process *p = process_of(t, tgid);

	return p ? find_in(p, fd) : NULL;
}

static struct espy_fd_process *make_process(struct espy_fd_table *t, uint32_t tgid)
{
	struct espy_fd_process *p = espy_budget__alloc(t->budget, sizeof(*p));

	if (!p)
		return NULL;
	p->tgid = tgid;
	HASH_ADD(hh, t->by_tgid, tgid, sizeof(p->tgid), p);
	t->last = p;
	return p;
}

static bool reserve_low(struct espy_fd_table *t, struct espy_fd_process *p, uint32_t fd)
{
	uint32_t cnt = p->low_cnt ? p->low_cnt : 16;

	if (fd < p->low_cnt)
		return true;
	while (cnt <= fd)
		cnt *= 2;
	const size_t more = (cnt - p->low_cnt) * sizeof(struct espy_fd_name *);
	struct espy_fd_name **low = espy_budget__take(t->budget, more) ? reallocarray(p->low, cnt, sizeof(*low)) : NULL;

	if (!low) /* no memory counts as no budget: the name is only missing */
		return false;
	memset(low + p->low_cnt, 0, more);
	p->low = low;
	p->low_cnt = cnt;
	return true;
}

struct espy_fd_name *espy_fd_table__entry(struct espy_fd_table *t, uint32_t tgid, int fd)
{
	struct espy_fd_process *p = process_of(t, tgid);
	struct espy_fd_name *n = p ? find_in(p, fd) : NULL;

	if (n)
		return n;
	if (!p)
		p = make_process(t, tgid);
	if (!p || ((uint32_t)fd < LOW_FDS && !reserve_low(t, p, (uint32_t)fd)))
		return NULL;
	n = espy_budget__alloc(t->budget, sizeof(*n));
	if (!n)
		return NULL;
	n->fd = fd;
	n->netlink = ESPY_NETLINK_UNKNOWN;
	if ((uint32_t)fd < LOW_FDS)
		p->low[fd] = n;
	else
		HASH_ADD(hh, p->high, fd, sizeof(n->fd), n);
	return n;
}

static void set_text(struct espy_fd_table *t, char **at, const char *text, size_t len)
{
	if (*at) {
		espy_budget__give(t->budget, strlen(*at) + 1);
		free(*at);
		*at = NULL;
	}
	if (!text)
		return;
	len = strnlen(text, len);
	if (espy_budget__take(t->budget, len + 1)) {
		*at = strndup(text, len);
		if (!*at)
			espy_budget__give(t->budget, len + 1);
	}
}

void espy_fd_table__set_name(struct espy_fd_table *t, struct espy_fd_name *n, const char *text, size_t len)
{
	set_text(t, &n->name, text, len);
	set_text(t, &n->detail, NULL, 0);
	n->detail_asked = n->told = n->unbound = false;
	n->netlink = ESPY_NETLINK_UNKNOWN;
}

void espy_fd_table__set_detail(struct espy_fd_table *t, struct espy_fd_name *n, const char *text, size_t len)
{
	set_text(t, &n->detail, text, len);
}

static void drop(struct espy_fd_table *t, struct espy_fd_process *p, struct espy_fd_name *n)
{
	if ((uint32_t)n->fd < LOW_FDS)
		p->low[n->fd] = NULL;
	else
		HASH_DEL(p->high, n);
	set_text(t, &n->name, NULL, 0);
	set_text(t, &n->detail, NULL, 0);
	free(n);
	espy_budget__give(t->budget, sizeof(*n));
}

void espy_fd_table__drop(struct espy_fd_table *t, uint32_t tgid, uint32_t first, uint32_t last,
			 bool (*gone)(void *ctx, const struct espy_fd_name *n), void *ctx)
{
	struct espy_fd_process *p = process_of(t, tgid);
	struct espy_fd_name *n, *next;

	if (!p)
		return;
	for (uint32_t fd = first; fd <= last && fd < p->low_cnt; fd++)
		if (p->low[fd] && (!gone || gone(ctx, p->low[fd])))
			drop(t, p, p->low[fd]);
	if (first == last) {
		n = first < LOW_FDS ? NULL : find_in(p, (int)first);
		if (n && (!gone || gone(ctx, n)))
			drop(t, p, n);
		return;
	}
	HASH_ITER(hh, p->high, n, next)
	if ((uint32_t)n->fd >= first && (uint32_t)n->fd <= last && (!gone || gone(ctx, n)))
		drop(t, p, n);
}

static void copy(struct espy_fd_table *t, uint32_t tgid, const struct espy_fd_name *from)
{
	struct espy_fd_name *n = espy_fd_table__entry(t, tgid, from->fd);

	if (!n)
		return;
	set_text(t, &n->name, from->name, SIZE_MAX);
	set_text(t, &n->detail, from->detail, SIZE_MAX);
	n->detail_asked = from->detail_asked;
	n->told = from->told;
	n->unbound = from->unbound;
	n->netlink = from->netlink;
}

void espy_fd_table__fork(struct espy_fd_table *t, uint32_t parent, uint32_t child)
{
	struct espy_fd_process *p;
	struct espy_fd_name *n, *next;

	if (parent == child)
		return;
	espy_fd_table__forget(t, child);
	p = process_of(t, parent);
	if (!p)
		return;
	for (uint32_t fd = 0; fd < p->low_cnt; fd++)
		if (p->low[fd])
			copy(t, child, p->low[fd]);
	HASH_ITER(hh, p->high, n, next)
	copy(t, child, n);
}

static void free_process(struct espy_fd_table *t, struct espy_fd_process *p)
{
	struct espy_fd_name *n, *next;

	for (uint32_t fd = 0; fd < p->low_cnt; fd++)
		if (p->low[fd])
			drop(t, p, p->low[fd]);
	HASH_ITER(hh, p->high, n, next)
	drop(t, p, n);
	HASH_DEL(t->by_tgid, p);
	if (t->last == p)
		t->last = NULL;
	espy_budget__give(t->budget, sizeof(*p) + p->low_cnt * sizeof(*p->low));
	free(p->low);
	free(p);
}

void espy_fd_table__forget(struct espy_fd_table *t, uint32_t tgid)
{
	struct espy_fd_process *p = process_of(t, tgid);

	if (p)
		free_process(t, p);
}

void espy_fd_table__each(struct espy_fd_table *t, void (*fn)(void *ctx, uint32_t tgid, const struct espy_fd_name *n),
			 void *ctx)
{
	struct espy_fd_process *p, *next_p;
	struct espy_fd_name *n, *next;

	HASH_ITER(hh, t->by_tgid, p, next_p)
	{
		for (uint32_t fd = 0; fd < p->low_cnt; fd++)
			if (p->low[fd])
				fn(ctx, p->tgid, p->low[fd]);
		HASH_ITER(hh, p->high, n, next)
		fn(ctx, p->tgid, n);
	}
}

void espy_fd_table__free(struct espy_fd_table *t)
{
	struct espy_fd_process *p, *next;

	HASH_ITER(hh, t->by_tgid, p, next)
	free_process(t, p);
}
